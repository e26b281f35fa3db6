"""Lockstep against tournament: what `lockstep_wins` in bandit_core/kernels/index.py should say.

``python -m benchmarks.bench_samplers`` (one core, several minutes). Entries are the time of the tournament over that
of lockstep (and both in nanoseconds a pull): above 1 lockstep is the faster one. A pull of lockstep costs the same at
every horizon, so it is measured over fewer steps where it is slow.
"""

from __future__ import annotations

import sys

from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels import index
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from benchmarks.measuring import UCB, fastest, instance_of, machine, name_of, print_table, private

ARMS = (2, 5, 20, 50, 100, 300, 1000)
HORIZONS = (1_000, 10_000, 100_000, 1_000_000)
TRIALS = 32
BUDGET = 2e9  # arms x steps of one measurement of lockstep
GROUPS = {"kind": "discrete", "values": [0.0, 0.2, 1.0, 2.0, 100.0]}
LINES = [
    UCB,
    private("heldp-ucb-b", 2.0),
    private("heldp-ucb-b", 0.2),
    private("heldp-ucb-l", 2.0),
    private("heldp-ucb-b", GROUPS, 1.0),
]


def player(line: dict, arms: int, horizon: int, lockstep: bool):
    """A measurable run of one sampler, and its number of pulls."""
    trials = TRIALS if lockstep or horizon < 10**6 else 8
    instance, rows, times = instance_of(line, arms, horizon), streams(0, 0, trials), checkpoints(horizon)

    def work():
        chosen, index.lockstep_wins = index.lockstep_wins, lambda arms, horizon: lockstep
        try:
            registry()[line["policy"]].play(instance, rows.copy(), times, Signal())
        finally:
            index.lockstep_wins = chosen

    return work, horizon * trials


def main() -> None:
    """Print one table per line."""
    print(machine(), end="\n\n")
    for line in LINES:
        rows = []
        for arms in ARMS:
            ratios = []
            for horizon in HORIZONS:
                shortened = min(horizon, max(10_000, int(BUDGET / arms / TRIALS)))
                works = [player(line, arms, shortened, True), player(line, arms, horizon, False)]
                lockstep, tournament = fastest(works, 3)
                ratios.append(f"{tournament / lockstep:.2f} ({lockstep * 1e9:.0f}, {tournament * 1e9:.0f})")
                print(".", end="", file=sys.stderr, flush=True)
            rows.append([arms, *ratios])
        print_table([f"{name_of(line)}: arms", *(f"T = {horizon:g}" for horizon in HORIZONS)], rows)


if __name__ == "__main__":
    main()
