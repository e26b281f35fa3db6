"""Does DP-TT hold on seeds and rates that no one looked at when its batches were chosen? A check of `dp-tt`.

``python -m benchmarks.stopping_check`` (a few minutes) plays two tables. The lengths of its batches were chosen on
`QUOTED`, the rates that documents quote; `FRESH` are others, drawn up afterwards.

1. Users until a decision at epsilon = 1 and delta = .05, divided by those of Top-Two, which keeps no promise: medians,
   and means over pairs of runs with the 95% interval.
2. Wrong recommendations at delta = .05 on ties and near ties, down to epsilon = .01, among `ERROR_CAP` users at most.

The exit code is 1 where a median ratio exceeds `RATIO`, or a share of errors is surely above delta: the lower end of
its exact binomial interval, whose level is split among all shares.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_core.simulation.results import interval
from bandit_core.studies.best_arm import StoppingResult, StoppingSpec, stopping
from benchmarks.measuring import print_table

QUOTED = ((0.02, 0.03), (0.05, 0.044, 0.04), (0.1, 0.12), (0.5, 0.45))
FRESH = (
    (0.01, 0.013),
    (0.07, 0.06, 0.055, 0.05),
    (0.22, 0.2),
    (0.35, 0.3, 0.3),
    (0.6, 0.64),
    (0.95, 0.92),
    (0.25, 0.2, 0.2, 0.15, 0.15, 0.1),
)
TIES = (
    (0.5, 0.5 - 1e-7),
    (0.03, 0.03 - 1e-8),
    (0.2, 0.2 - 1e-8),
    (0.9, 0.9 - 1e-8),
    (0.1, *[0.1 - 1e-8] * 2),
    (0.4, *[0.4 - 1e-8] * 5),
    (0.5, 0.49),
    (0.05, 0.048),
)
EPSILONS = (0.01, 0.03, 0.1, 1.0, 10.0)
DELTA, RATIO = 0.05, 1.5
CAP, ERROR_CAP = 10**9, 10**6
RUNS, ERROR_RUNS, SEED = 500, 2_000, 20_261_125


def played(policy: str, means: Sequence[float], **fields: Any) -> StoppingResult:
    """Runs of one policy at `DELTA` by its proved rule."""
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
    (result,) = stopping([StoppingSpec.of(arms=arms, policy=policy, delta=DELTA, **fields)])
    return result


def ratio(means: Sequence[float], runs: int, seed: int) -> tuple[float, tuple[float, float, float]]:
    """Ratio of the medians, and of the means with its interval: users of DP-TT over those of Top-Two."""
    fields = {"trials": runs, "seed": seed, "cap": CAP}
    private = played("dp-tt", means, epsilon=1.0, **fields)
    plain = played("top-two", means, **fields)
    mine, theirs = (each.users.astype(float) for each in (private, plain))
    found = mine.mean() / theirs.mean()
    ends = np.array(interval(mine - found * theirs)) / theirs.mean()
    return float(np.median(mine) / np.median(theirs)), (found, found + ends[0], found + ends[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--error-runs", type=int, default=ERROR_RUNS)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args(arguments)
    rows, failed = [], 0
    for name, instances in (("quoted", QUOTED), ("fresh", FRESH)):
        for means in instances:
            median, (mean, low, high) = ratio(means, asked.runs, asked.seed)
            failed += median > RATIO
            rows.append(
                [name, " / ".join(f"{each:g}" for each in means), median, f"{mean:.3g} ({low:.3g} to {high:.3g})"]
            )
    print_table(["rates", "", "medians, times Top-Two", "means, times Top-Two"], rows)
    level, rows = 1 - 0.05 / (len(TIES) * len(EPSILONS)), []
    for means in TIES:
        shares = []
        for epsilon in EPSILONS:
            found = played("dp-tt", means, epsilon=epsilon, trials=asked.error_runs, seed=asked.seed + 1, cap=ERROR_CAP)
            failed += found.wrong_limits(level)[0] > DELTA
            shares.append(f"{found.wrong_share:.2%} ({1 - found.not_stopped:.0%})")
        rows.append([" / ".join(f"{each:.9g}" for each in means), *shares])
    print_table(["wrong (decided at all)", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], rows)
    print("holds" if not failed else f"{failed} do not hold")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
