"""Cost of one pull: the engine's kernels against straight ones, a bare draw loop, plain Python and NumPy.

``python -m benchmarks.bench_steps`` (one core, a few minutes). The straight kernels play fewer trials at the long
horizons (they play one after the other, so a pull costs the same); regrets are compared on the trials both played.
"""

from __future__ import annotations

import sys

import numpy as np

from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.labels import labels
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from benchmarks import straight
from benchmarks.measuring import UCB, fastest, instance_of, machine, name_of, print_table, private

TRIALS = 50
LINES = [UCB, private("heldp-ucb-b", 2.0), private("heldp-ucb-b", 0.2), private("heldp-ucb-l", 2.0)]
PLACES = [
    (20, 10_000, TRIALS, 9),
    (20, 1_000_000, 4, 3),
    (1000, 100_000, 2, 3),
]  # arms, horizon, straight trials, repeats


def straight_pulls(line: dict, means: np.ndarray, horizon: int, trials: int) -> np.ndarray:
    """Pulls of the straight kernel that belongs to the line."""
    rows = streams(0, 0, trials)
    order = labels(rows, len(means))
    if line["policy"] == "ucb":
        return straight.by_arm(order, straight.ucb(rows, means[order], horizon))
    play = straight.bits if line["policy"] == "heldp-ucb-b" else straight.laplace
    return straight.by_arm(order, play(rows, means[order], horizon, line["epsilon"]["value"]))


def main() -> None:
    """Print the tables."""
    print(machine(), end="\n\n")
    rows = []
    for arms, horizon, some, repeats in PLACES:
        for line in LINES:
            instance = instance_of(line, arms, horizon)
            policy, times, all_rows = registry()[line["policy"]], checkpoints(horizon), streams(0, 0, TRIALS)

            def ours(policy=policy, instance=instance, times=times, all_rows=all_rows):
                return policy.play(instance, all_rows.copy(), times, Signal())

            def theirs(line=line, instance=instance, horizon=horizon, some=some):
                return straight_pulls(line, instance.means, horizon, some)

            def bare(line=line, instance=instance, horizon=horizon, all_rows=all_rows):
                return straight.bare_draws(all_rows.copy(), instance.means, horizon, line["policy"] == "heldp-ucb-l")

            works = [(ours, horizon * TRIALS), (theirs, horizon * some), (bare, horizon * TRIALS)]
            mine, other, draw = fastest(works, repeats)
            same = int(np.sum(np.all(ours().pulls[:some] == theirs(), axis=1)))
            rows.append(
                [
                    arms,
                    f"{horizon:g}",
                    name_of(line),
                    mine * 1e9,
                    other * 1e9,
                    other / mine,
                    mine / draw,
                    f"{same}/{some}",
                ]
            )
            print(".", end="", file=sys.stderr, flush=True)
    head = ["arms", "T", "line", "ns a pull", "straight", "straight / ours", "ours / bare draws", "same pulls, trials"]
    print_table(head, rows)

    horizon = 10_000
    instance = instance_of(UCB, 20, horizon)
    times, all_rows, means = checkpoints(horizon), streams(0, 0, TRIALS), instance.means
    mine, python, numpy = fastest(
        [
            (lambda: registry()["ucb"].play(instance, all_rows.copy(), times, Signal()), horizon * TRIALS),
            (lambda: straight.plain_python(means.tolist(), horizon, 0), horizon),
            (lambda: straight.vectorised_numpy(means, horizon, TRIALS, 0), horizon * TRIALS),
        ],
        5,
    )
    print_table(
        ["ucb, 20 arms, T = 10 000, 50 trials", "ns a pull", "x ours"],
        [
            ["ours", mine * 1e9, 1.0],
            ["NumPy over trials", numpy * 1e9, numpy / mine],
            ["plain Python", python * 1e9, python / mine],
        ],
    )


if __name__ == "__main__":
    main()
