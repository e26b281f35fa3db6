"""Plain UCB on Bernoulli arms in the public simulators of `benchmarks.bench_peers`, run by their own interpreter.

``python peer_workers.py NAME MEANS HORIZON TRIALS JOBS`` prints one line of JSON. Imports nothing of this project: the
interpreter is that of the peers' environment.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path


def family() -> list[int]:
    """This process and its living descendants (Linux)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found = [os.getpid()]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def processor_seconds() -> float:
    """Processor time that the family has used."""
    ticks = 0
    for number in family():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_mib() -> float:
    """Sum of the largest resident memory that each member of the family has had, MiB."""
    total = 0.0
    for number in family():
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return total / 1024


def smpybandits(means: list[float], horizon: int, trials: int, jobs: int) -> float:
    """Final mean regret of its class UCB (index: mean + sqrt(2 ln t / N)), by its own Evaluator."""
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import Evaluator as module
    from SMPyBandits.Policies import UCB

    original = sys.modules["SMPyBandits.Environment.Evaluator"].delayed_play

    def play(*arguments, seed=None, **others):  # Python 3.11 refuses to seed with the integers of NumPy
        return original(*arguments, seed=None if seed is None else int(seed), **others)

    sys.modules["SMPyBandits.Environment.Evaluator"].delayed_play = play
    evaluator = module(
        {
            "horizon": horizon,
            "repetitions": trials,
            "n_jobs": jobs,
            "verbosity": 0,
            "environment": [{"arm_type": Bernoulli, "params": means}],
            "policies": [{"archtype": UCB, "params": {}}],
        }
    )
    evaluator.startOneEnv(0, evaluator.envs[0])
    return float(evaluator.getCumulatedRegret(0)[-1])


def mabwiser(means: list[float], horizon: int, trials: int, jobs: int) -> float:
    """Final mean regret of UCB1 (alpha = 1: the same index), asked and told one reward at a time as in production."""
    import numpy as np
    from mabwiser.mab import MAB, LearningPolicy

    lost = 0.0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        bandit = MAB(list(range(len(means))), LearningPolicy.UCB1(alpha=1.0), seed=trial, n_jobs=jobs)
        first = list(range(len(means)))
        rewards = (rng.random(len(means)) < np.array(means)).astype(float)
        bandit.fit(decisions=np.array(first), rewards=rewards)
        lost += sum(max(means) - mean for mean in means)
        for _ in range(horizon - len(means)):
            arm = bandit.predict()
            bandit.partial_fit(np.array([arm]), np.array([float(rng.random() < means[arm])]))
            lost += max(means) - means[arm]
    return lost / trials


def main() -> None:
    """Run one peer and report."""
    os.environ.update(NOPLOTS="True", MPLBACKEND="agg")
    name, means, (horizon, trials, jobs) = sys.argv[1], json.loads(sys.argv[2]), map(int, sys.argv[3:6])
    work = {"SMPyBandits": smpybandits, "mabwiser": mabwiser}[name]
    with contextlib.redirect_stdout(io.StringIO()):
        work(means, 50, 2, jobs)  # imports, and the workers' start
        start, processor = time.perf_counter(), processor_seconds()
        regret = work(means, horizon, trials, jobs)
        wall, processor = time.perf_counter() - start, processor_seconds() - processor
    message = {
        "wall": wall,
        "processor": processor,
        "regret": regret,
        "mib": peak_mib(),
        "versions": {name: version(name) for name in (name, "numpy", "scipy")} | {"python": sys.version.split()[0]},
    }
    print(json.dumps(message))


if __name__ == "__main__":
    main()
