"""Do planned tests, and tests with looks, have the level and the power that are printed? They are played.

``python -m benchmarks.power_check`` (two minutes) plays a set of designs that has every pair of choices, `RUNS` tests
of each: successes are drawn and noised as each level of trust does, block by block; a variance is estimated from what
was released until then, without pooling. "Best" is Hsu's test, "baseline" Dunnett's.

* Level: all options are alike. Chance that a difference from the baseline lies beyond a boundary, or that any option
  lies so far ahead of a given one.
* Power: one option is ahead by the effect, and all others are alike. Chance that it lies beyond a boundary, or ahead of
  all others by one.

The exit code is 1 where one of them is off by more than `OFF` and three standard errors.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence

import numpy as np
from scipy import stats

from bandit_core.mechanisms.batch import levels, noisy_share
from bandit_core.theory.power import EVERY_TRUST, TestPlan
from benchmarks.measuring import print_table

RUNS, OFF = 40_000, 0.01
BASELINE, EFFECT, EPSILON, DELTA = 0.2, 0.03, 1.0, 1e-6
CHOICES = {
    "options": (2, 3, 4, 5),
    "looks": (1, 2, 3, 5, 10),
    "privacy": EVERY_TRUST,
    "test": (("best", 1.0), ("baseline", 1.0), ("baseline", 2.0), ("baseline", 0.5)),
    "spending": ("obrien-fleming", "pocock"),
    "sides": (2, 1),
}


def covering() -> list[tuple[object, ...]]:
    """Designs in which any two values of two choices occur together, chosen one by one as each covers the most."""
    every = list(itertools.product(*(range(len(values)) for values in CHOICES.values())))
    places = list(itertools.combinations(range(len(CHOICES)), 2))
    missing = {(*at, row[at[0]], row[at[1]]) for row in every for at in places}
    chosen = []
    while missing:
        gains = [sum((*at, row[at[0]], row[at[1]]) in missing for at in places) for row in every]
        row = every[int(np.argmax(gains))]
        missing -= {(*at, row[at[0]], row[at[1]]) for at in places}
        chosen.append(tuple(values[place] for values, place in zip(CHOICES.values(), row, strict=True)))
    return chosen


def released(plan: TestPlan, means: np.ndarray, users: np.ndarray, runs: int, random: np.random.Generator) -> tuple:
    """Estimated means and their variances, (runs, looks, options), at each look; ``users`` are those of a block."""
    shape, looks = (runs, plan.looks, len(means)), np.arange(1, plan.looks + 1)[:, None]
    reading = noise = 0.0
    if plan.privacy == "local":
        reading = 1 / np.tanh(EPSILON / 2)
    elif plan.privacy == "shuffle":
        reading = 1 / (1 - noisy_share(int(users.min()), EPSILON, DELTA))
    if reading:
        shares = random.binomial(users, 0.5 + (means - 0.5) / reading, shape).cumsum(axis=1) / (looks * users)
        return 0.5 + reading * (shares - 0.5), reading**2 * shares * (1 - shares) / (looks * users)
    added = np.zeros(shape)
    if plan.privacy == "central":
        added, noise = random.laplace(0, 1 / EPSILON, shape), 2 / EPSILON**2
    elif plan.privacy == "distributed":
        grid = levels(EPSILON, int(users.min()))
        added = stats.dlaplace.rvs(EPSILON / grid, size=shape, random_state=random) / grid
        noise = 2 / EPSILON**2
    seen = (random.binomial(users, means, shape) + added).cumsum(axis=1) / (looks * users)
    inside = np.clip(seen, 1e-9, 1 - 1e-9)
    return seen, inside * (1 - inside) / (looks * users) + noise * looks / (looks * users) ** 2


def played(plan: TestPlan, runs: int, random: np.random.Generator) -> tuple[float, float]:
    """Level and power of a design, as shares of played tests."""
    each = int(np.ceil(plan.users(BASELINE, EFFECT) / plan.looks))
    users = np.array([round(each * plan.split), *[each] * (plan.options - 1)])
    shares = []
    for ahead in (0.0, EFFECT):
        means = np.full(plan.options, BASELINE)
        means[1] += ahead
        seen, spread = released(plan, means, users, runs, random)
        given = 1 if plan.best else 0  # the option that all others are compared with
        others = [place for place in range(plan.options) if place != given]
        lead = (seen[..., others] - seen[..., [given]]) / np.sqrt(spread[..., others] + spread[..., [given]])
        limits = np.array(plan.test.boundaries)[:, None]
        if ahead and plan.best:
            beyond = (-lead >= limits).all(axis=2)
        elif ahead:
            beyond = lead[..., 0] >= limits[:, 0]
        else:
            beyond = ((np.abs(lead) if plan.sides == 2 and not plan.best else lead) >= limits).any(axis=2)
        shares.append(float(beyond.any(axis=1).mean()))
    return shares[0], shares[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each design; 1 where one is off."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--designs", type=int, default=None, help="only so many")
    parser.add_argument("--seed", type=int, default=20_261_127)
    asked = parser.parse_args(arguments)
    random, rows, worst, failed = np.random.default_rng(asked.seed), [], [0.0, 0.0], 0
    for options, looks, privacy, (goal, split), spending, sides in covering()[: asked.designs]:
        plan = TestPlan(0.05, 0.8, privacy, EPSILON, options, goal, sides, split, looks, spending, DELTA)
        level, power = played(plan, asked.runs, random)
        for place, (share, wanted) in enumerate(((level, 0.05), (power, 0.8))):
            worst[place] = max(worst[place], abs(share - wanted))
            failed += abs(share - wanted) > OFF + 3 * np.sqrt(wanted * (1 - wanted) / asked.runs)
        rows.append([goal, options, looks, spending, privacy, sides, split, f"{level:.4f}", f"{power:.4f}"])
    print_table(["test", "options", "looks", "spending", "trust", "sides", "split", "level .05", "power .8"], rows)
    print(f"{len(rows)} designs; at most {worst[0]:.4f} off the level and {worst[1]:.4f} off the power. ", end="")
    print("All hold." if not failed else f"{failed} do not hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
