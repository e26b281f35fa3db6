"""Plain UCB against public simulators, in one run: SMPyBandits (research) and MABWiser (production).

``python -m benchmarks.bench_peers [FOLDER]`` (Linux; some minutes). The peers get an environment of their own in FOLDER
(default: a temporary one, removed afterwards), because SMPyBandits needs NumPy < 2 and SciPy < 1.12:

    python -m venv FOLDER && FOLDER/bin/pip install SMPyBandits==0.9.7 "numpy<2" "scipy<1.12" mabwiser==2.7.4

Same arms (20 of Bernoulli rewards), same index, mean + sqrt(2 ln t / N), two processes or threads where the program
has them. Memory is the sum over its processes of the most that each has held. On a busy machine compare the processor
times: waiting is not counted there. The peers' interpreter runs this file, too, so nothing of the project is imported
at its top.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from importlib.metadata import version
from pathlib import Path

PACKAGES = ["SMPyBandits==0.9.7", "numpy<2", "scipy<1.12", "mabwiser==2.7.4"]
HORIZON, TRIALS, JOBS = 10_000, 50, 2
ARMS = [
    {"kind": "bernoulli", "mean": 0.9},
    *({"kind": "bernoulli", "mean": mean, "count": count} for mean, count in ((0.8, 5), (0.7, 5), (0.6, 5), (0.5, 4))),
]
REPEATS = 300  # of ours, before and after the peers: the clock of processes ticks in hundredths of a second
MEANS = [arm["mean"] for arm in ARMS for _ in range(arm.get("count", 1))]


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


PEERS = {"SMPyBandits": smpybandits, "mabwiser": mabwiser}


def work_as(name: str, means: str, *sizes: str) -> None:
    """Run one peer and report: one line of JSON."""
    os.environ.update(NOPLOTS="True", MPLBACKEND="agg")
    chances, (horizon, trials, jobs) = json.loads(means), map(int, sizes)
    work = PEERS[name]
    with contextlib.redirect_stdout(io.StringIO()):
        work(chances, 50, 2, jobs)  # imports, and the workers' start
        start, processor = time.perf_counter(), processor_seconds()
        regret = work(chances, horizon, trials, jobs)
        wall, processor = time.perf_counter() - start, processor_seconds() - processor
    message = {
        "wall": wall,
        "processor": processor,
        "regret": regret,
        "mib": peak_mib(),
        "versions": {name: version(name) for name in (name, "numpy", "scipy")} | {"python": sys.version.split()[0]},
    }
    print(json.dumps(message))


def ours() -> None:
    """Print one line of JSON, as the workers of the peers do."""
    from bandit_core import Experiment, simulate
    from bandit_core.simulation.store import Store

    spec = {"arms": ARMS, "lines": [{"policy": "ucb"}], "horizon": HORIZON, "trials": TRIALS}
    runs = [Experiment.model_validate(spec | {"seed": seed}) for seed in range(REPEATS + 1)]
    store = Store(None, 0)
    simulate(runs[-1], jobs=JOBS, store=store)
    start, used = time.perf_counter(), processor_seconds()
    regrets = [simulate(run, jobs=JOBS, store=store).lines[0].mean[-1] for run in runs[:-1]]
    wall, used = (time.perf_counter() - start) / REPEATS, (processor_seconds() - used) / REPEATS
    regret = float(sum(regrets) / REPEATS)
    print(json.dumps({"wall": wall, "processor": used, "regret": regret, "mib": peak_mib(), "versions": {}}))


def message(command: list[str]) -> dict:
    """The last line of a program's output, as JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def environment(folder: Path) -> str:
    """The interpreter of the peers, whose environment is made where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return str(python)


def compare(folder: Path) -> None:
    """Measure and print the tables."""
    from benchmarks.measuring import machine, print_table

    python = environment(folder)

    def peer(name: str, horizon: int, trials: int, jobs: int) -> dict:
        sizes = [str(horizon), str(trials), str(jobs)]
        return message([python, __file__, name, json.dumps(MEANS), *sizes])

    print(f"{machine()}; load average {os.getloadavg()[0]:.1f} before", end=", ")
    before = message([sys.executable, "-m", "benchmarks.bench_peers", "--ours"])
    research = peer("SMPyBandits", HORIZON, TRIALS, JOBS)
    production = peer("mabwiser", HORIZON, 1, 1)
    after = message([sys.executable, "-m", "benchmarks.bench_peers", "--ours"])
    print(f"{os.getloadavg()[0]:.1f} after", end="\n\n")
    # The slower of our two measurements is the one to compare with.
    mine = {key: max(before[key], after[key]) for key in ("processor", "wall", "mib")} | {"regret": after["regret"]}
    rows = []
    for name, found, trials, jobs in (
        ("Private Bandit Lab", mine, TRIALS, JOBS),
        ("SMPyBandits", research, TRIALS, JOBS),
        ("MABWiser", production, 1, 1),
    ):
        pulls = HORIZON * trials
        rows.append(
            [name, jobs, trials, found["processor"] / pulls * 1e9, found["processor"] / pulls / mine["processor"]
             * HORIZON * TRIALS, found["wall"] / pulls * 1e9, found["wall"] / pulls / mine["wall"] * HORIZON * TRIALS,
             found["mib"], found["regret"]]
        )  # fmt: skip
    head = [
        f"UCB, 20 arms, T = {HORIZON}", "workers", "trials", "processor, ns a step", "x ours",
        "wall clock, ns a step", "x ours", "peak memory, MiB", "final regret",
    ]  # fmt: skip
    print_table(head, rows)
    versions = research["versions"] | production["versions"]
    print("Peers: " + ", ".join(f"{name} {number}" for name, number in versions.items()))


def main() -> None:
    """Compare, in a given or a temporary environment; or be one of those that are compared."""
    if "--ours" in sys.argv[1:]:
        return ours()
    if sys.argv[1:2] and sys.argv[1] in PEERS:
        return work_as(*sys.argv[1:])
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where their environment is kept (default: nowhere)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(asked.folder or Path(folder))


if __name__ == "__main__":
    main()
