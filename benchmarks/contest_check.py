"""Check the contest for the best method on 72 settings with fresh seeds: is the choice right, and is its loss?

``python -m benchmarks.contest_check`` holds a contest for each setting (rates of 1 to 50%, four sets of lifts, 10,000
to 160,000 users, ε from 0.5 to 4) and plays the candidates again on a seed that chose nothing: 200 times, and 2,000
times those near the best. A cell is one level of trust of one setting. The command prints how many cells name a method
within 3% and within 6% of the best one, and how often the printed loss lies within two standard errors of its
difference from that of the fresh runs. Cells that fail are marked. ``--every N`` takes each N-th setting only,
``--users N`` those of so many users at most. All of it takes hours.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from bandit_core.model import Privacy
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import with_error
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_method import COMPARED, PRECISE, Method, Question, best_methods, candidates

RATES = (0.01, 0.031, 0.5)
LIFTS = ((0.2, 0.5), (0.08, 0.15), (0.15,), (0.05, 0.1, 0.2))
USERS = (10_000, 40_000, 160_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEED = 271_828
FEW, TRIALS = 200, 2000  # trials of all candidates, and of those that are near the best
NEAR = 1.3  # times the loss of the best one


@dataclass(frozen=True)
class Cell:
    """What a contest said of one level of trust, and what fresh trials say."""

    question: Question
    privacy: Privacy
    method: Method
    behind: float  # share of the best one's loss by which the named method loses more, at least 0
    error: float  # standard error of that share
    said: float
    said_error: float
    found: float
    found_error: float

    @property
    def covered(self) -> bool:
        """Whether printed and fresh loss are within two standard errors of their difference."""
        return abs(self.said - self.found) <= 2 * math.hypot(self.said_error, self.found_error)

    def __str__(self) -> str:
        means = ", ".join(f"{arm.expected:.4g}" for arm in self.question.arms)
        return (
            f"{means}; {self.question.horizon:,} users; ε = {self.question.epsilon:g}; {self.privacy}: "
            f"{self.method.title} {with_error(self.said, self.said_error)}, fresh "
            f"{with_error(self.found, self.found_error)}, {100 * self.behind:.1f} ± {100 * self.error:.1f}% behind"
        )


def settings() -> Iterator[Question]:
    """The 72 settings: every second ε at each combination of the rest, in turns."""
    for place, (rate, lifts, users) in enumerate(product(RATES, LIFTS, USERS)):
        arms = tuple(Bernoulli(mean=rate * (1 + lift)) for lift in (0.0, *lifts))
        for epsilon in EPSILONS[place % 2 :: 2]:
            yield Question(arms, users, epsilon, seed=2 * place)


def cells(question: Question, store: Store) -> Iterator[Cell]:
    """What a contest says of each level of trust, checked on fresh trials."""
    decision = best_methods(question, store=store)
    played: dict[Method, LineResult] = {}
    for privacy in COMPARED:
        row = decision.of(privacy)[0]
        here = {Method(each.lines[0].policy): each for each in candidates(replace(question, seed=SEED), privacy)}
        if row.method not in here:
            less = candidates(replace(question, seed=SEED, epsilon=row.method.spent or question.epsilon), privacy)
            here[row.method] = next(each for each in less if each.lines[0].policy == row.method.policy)
        for name, each in here.items():
            if name not in played:
                [played[name]] = simulate(each.with_changes(trials=FEW), store=store).lines  # type: ignore[list-item]
        least = min(float(played[name].mean[-1]) for name in here)
        for name, each in here.items():
            if name == row.method or played[name].mean[-1] < NEAR * least:
                [played[name]] = simulate(each.with_changes(trials=TRIALS), store=store).lines  # type: ignore[list-item]
        best = min(here, key=lambda name: float(played[name].mean[-1]))
        mine, value = played[row.method], float(played[best].mean[-1])
        behind, error, *_ = mine.difference(played[best])
        found = float(mine.mean[-1]), float(mine.stderr[-1])
        yield Cell(question, privacy, row.method, behind / value, error / value, *row.lost[:2], *found)


def summary(found: list[Cell]) -> str:
    """How many cells are right, in words."""
    within = [sum(each.behind <= share for each in found) for share in (0.03, 0.06)]
    precise = sum(each.said_error <= PRECISE * each.said for each in found)
    return (
        f"{len(found)} cells: {within[0]} name a method within 3% of the best, {within[1]} within 6%; the printed loss "
        f"is within two errors in {sum(each.covered for each in found)}; its error is at most 3% in {precise}."
    )


def main() -> int:
    """Check the settings; whether at least 98% of the cells are within 3%, all within 6%, and 95% of losses right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take each N-th setting only")
    parser.add_argument("--first", type=int, default=0, help="begin with this setting")
    parser.add_argument("--users", type=int, default=max(USERS), help="settings of so many users at most")
    options = parser.parse_args()
    found: list[Cell] = []
    asked = [each for each in settings() if each.horizon <= options.users][options.first :: options.every]
    for question in asked:
        for cell in cells(question, Store(None, 2**29)):
            found.append(cell)
            print("  " if cell.behind <= 0.03 and cell.covered else "! ", cell, sep="", flush=True)
    print(summary(found))
    right = (sum(each.behind <= 0.03 for each in found), sum(each.covered for each in found))
    whole = all(each.behind <= 0.06 for each in found)
    return 0 if whole and right[0] >= 0.98 * len(found) and right[1] >= 0.95 * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
