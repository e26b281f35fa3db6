"""Plain UCB against public simulators, in one run: SMPyBandits (research) and MABWiser (production).

``python -m benchmarks.bench_peers [FOLDER]`` (Linux; some minutes). The peers get an environment of their own in FOLDER
(default: a temporary one, removed afterwards), because SMPyBandits needs NumPy < 2 and SciPy < 1.12:

    python -m venv FOLDER && FOLDER/bin/pip install SMPyBandits==0.9.7 "numpy<2" "scipy<1.12" mabwiser==2.7.4

Same arms (20 of Bernoulli rewards), same index, mean + sqrt(2 ln t / N), two processes or threads where the program
has them. Memory is the sum over its processes of the most that each has held. On a busy machine compare the processor
times: waiting is not counted there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.measuring import machine, print_table
from benchmarks.peer_workers import peak_mib, processor_seconds

PACKAGES = ["SMPyBandits==0.9.7", "numpy<2", "scipy<1.12", "mabwiser==2.7.4"]
HORIZON, TRIALS, JOBS = 10_000, 50, 2
ARMS = [
    {"kind": "bernoulli", "mean": 0.9},
    *({"kind": "bernoulli", "mean": mean, "count": count} for mean, count in ((0.8, 5), (0.7, 5), (0.6, 5), (0.5, 4))),
]
REPEATS = 300  # of ours, before and after the peers: the clock of processes ticks in hundredths of a second
MEANS = [arm["mean"] for arm in ARMS for _ in range(arm.get("count", 1))]


def ours() -> None:
    """Print one line of JSON, as the workers of the peers do."""
    import time

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
    python, script = environment(folder), str(Path(__file__).with_name("peer_workers.py"))

    def peer(name: str, horizon: int, trials: int, jobs: int) -> dict:
        sizes = [str(horizon), str(trials), str(jobs)]
        return message([python, script, name, json.dumps(MEANS), *sizes])

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
    """Compare, in a given or a temporary environment."""
    if "--ours" in sys.argv[1:]:
        ours()
    elif len(sys.argv) > 1:
        compare(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder))


if __name__ == "__main__":
    main()
