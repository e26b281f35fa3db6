"""Check the contest for the best method on 84 settings with fresh seeds: is the choice right, and is its loss?

``python -m benchmarks.contest_check`` holds a contest for each table of settings (rates of 1 to 50%, four sets of
lifts, and two sets of low rates, 10,000 to 160,000 users, two ε of 0.5 to 4) and plays the candidates again on a seed
that chose nothing: 200 times, and 2,000 times those near the best. Where these do not tell whether the named method is
within 3% of the best one, both play on, 32,000 times at most: a few very costly runs in 2,000 move a loss by a tenth. A
cell is one level of trust of one setting; that without privacy is one in a table. The command prints how many cells
name a method within 3% and within 6% of the best one, how often the printed loss lies within two standard errors of its
difference from that of the fresh runs, and how often a loss is larger than one at a smaller ε or with less trust. Cells
that fail are marked. All of it takes hours. Tables are taken in steps of 11 through the grid, so that the first ones
are spread evenly: after ``--seconds N`` of processor time no other one begins. ``--first N`` begins with the N-th,
``--users N`` takes those of so many users at most.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

import numpy as np

from bandit_core.experiments.trust_table import Method
from bandit_core.model import Privacy
from bandit_core.policies import registry
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.questions import answer
from bandit_core.simulation.results import estimate
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import with_error
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_method import COMPARED, PRECISE, Question, Tried, candidates, contests, keeps

RATES = (0.01, 0.031, 0.5)
LIFTS = ((0.2, 0.5), (0.08, 0.15), (0.15,), (0.05, 0.1, 0.2))
LOW = ((0.02, 0.03), (0.05, 0.044, 0.04))
USERS = (10_000, 40_000, 160_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEED = 271_828
FEW, TRIALS, MOST = 200, 2000, 32_000  # trials of all candidates, of those near the best, and of close calls
ONE_SEED = 8000  # trials of one seed at most
STEP = 11  # through the grid; it shares no factor with the number of tables
NEAR = 1.3  # times the loss of the best one
WITHIN = 0.03  # share of the best one's loss


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
    def open(self) -> bool:
        """Whether the trials do not tell if the named method is within 3% of the best one."""
        return self.behind > WITHIN > self.behind - 2 * self.error

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


def settings() -> Iterator[tuple[Question, ...]]:
    """The 84 settings: a table of every second ε at each combination of the rest, in turns."""
    grid = [tuple(rate * (1 + lift) for lift in (0.0, *lifts)) for rate, lifts in product(RATES, LIFTS)]
    for place, (means, users) in enumerate(product((*grid, *LOW), USERS)):
        arms = tuple(Bernoulli(mean=mean) for mean in means)
        yield tuple(Question(arms, users, epsilon, seed=2 * place) for epsilon in EPSILONS[place % 2 :: 2])


class Fresh:
    """What methods lose at one question on trials that chose nothing, in reward units."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.played: dict[tuple[str, float | None], np.ndarray] = {}

    def losses(self, question: Question, method: Method, privacy: Privacy, trials: int = 0) -> np.ndarray:
        """The loss of each trial, (trials,): as many as are asked for, or more."""
        epsilon = method.spent or question.epsilon
        name = method.policy, None if registry()[method.policy].epsilon == "none" else float(epsilon)  # type: ignore[arg-type]
        if len(self.played.get(name, ())) < trials:
            asked = candidates(replace(question, epsilon=epsilon), privacy)
            [each] = [one for one in asked if one.lines[0].policy == method.policy]
            parts = [(first, min(ONE_SEED, trials - first)) for first in range(0, trials, ONE_SEED)]
            runs = [each.with_changes(trials=count, seed=SEED + first) for first, count in parts]
            lines = [line for run in runs for line in simulate(run, store=self.store).lines if line is not None]
            self.played[name] = np.concatenate([line.regret[:, -1] for line in lines])
        return self.played[name]


def cells(questions: Sequence[Question], store: Store) -> Iterator[Cell]:
    """What a contest says of each level of trust in each setting of a table, checked on fresh trials."""
    fresh = Fresh(store)
    for place, (question, decision) in enumerate(zip(questions, answer(contests(questions), store=store), strict=True)):
        for privacy in COMPARED[place > 0 :]:
            row = decision.of(privacy)[0]
            here = {row.method, *(Method(each.lines[0].policy) for each in candidates(question, privacy))}
            losses = partial(fresh.losses, question, privacy=privacy)
            near = NEAR * min(float(losses(method, trials=FEW).mean()) for method in here)
            for method in here:
                if method == row.method or losses(method).mean() < near:
                    losses(method, trials=TRIALS)
            trials = TRIALS
            while (cell := _cell(question, row, here, losses)).open and (trials := 2 * trials) <= MOST:
                for method in (row.method, min(here, key=lambda each: float(losses(each).mean()))):
                    losses(method, trials=trials)
            yield cell


def _cell(question: Question, row: Tried, here: Collection[Method], losses: Callable[[Method], np.ndarray]) -> Cell:
    """The named method against the best one, over pairs of the trials that both have."""
    mine, best = losses(row.method), min(map(losses, here), key=np.mean)
    pairs = min(len(mine), len(best))
    behind, value, found = estimate(mine[:pairs] - best[:pairs]), float(best.mean()), estimate(mine)
    said = *row.lost[:2], *found[:2]
    return Cell(question, row.privacy, row.method, behind.value / value, behind.stderr / value, *said)


def inversions(found: Sequence[Cell]) -> int:
    """How many pairs of cells of one table have the larger loss where there is more trust or a larger ε."""
    private = [each for each in found if each.privacy != "none"]
    return sum(
        one.said < other.said
        for one, other in permutations(private, 2)
        if (one.question.arms, one.question.horizon) == (other.question.arms, other.question.horizon)
        and one.question.epsilon <= other.question.epsilon  # type: ignore[operator]
        and keeps(one.privacy, other.privacy)
    )


def table(found: Sequence[Cell]) -> str:
    """The counts for each level of trust and for all, as Markdown."""
    rows = [
        "| trust | cells | within 3% | within 6% | loss within two errors | error at most 3% |",
        "|---|---|---|---|---|---|",
    ]
    for level in (*COMPARED, "all"):
        here = [each for each in found if level in (each.privacy, "all")]
        within = [sum(each.behind <= share for each in here) for share in (WITHIN, 2 * WITHIN)]
        precise = sum(each.said_error <= PRECISE * each.said for each in here)
        counts = (len(here), *within, sum(each.covered for each in here), precise)
        rows.append(f"| {level} | {' | '.join(map(str, counts))} |")
    return "\n".join(rows)


def main() -> int:
    """Check the tables; whether at least 98% of the cells are within 3%, all within 6%, and 95% of losses right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="begin with this table, in the order of the command")
    parser.add_argument("--users", type=int, default=max(USERS), help="tables of so many users at most")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="of processor time, after which no table begins"
    )
    options = parser.parse_args()
    found: list[Cell] = []
    asked = [each for each in settings() if each[0].horizon <= options.users]
    for questions in [asked[STEP * place % len(asked)] for place in range(len(asked))][options.first :]:
        if time.process_time() > options.seconds:
            break
        for cell in cells(questions, Store(None, 2**29)):
            found.append(cell)
            print("  " if cell.behind <= WITHIN and cell.covered else "! ", cell, sep="", flush=True)
    print(f"{table(found)}\n\nInversions: {inversions(found)}")
    right = (sum(each.behind <= WITHIN for each in found), sum(each.covered for each in found))
    whole = all(each.behind <= 2 * WITHIN for each in found) and not inversions(found)
    return 0 if whole and right[0] >= 0.98 * len(found) and right[1] >= 0.95 * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
