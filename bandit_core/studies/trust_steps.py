"""What trust saves: the lines of an experiment in the order of their promises, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.model import PROMISES, Privacy
from bandit_core.simulation.results import LineResult, Result

CLEARLY = 3.0  # standard errors by which a line must be ahead of another one: many users and pairs are looked at


@dataclass(frozen=True)
class Step:
    """Two lines of neighbouring promises: what the one with more trust loses less at the horizon (reward units).

    ``saved`` and its standard error ``stderr`` are over pairs of trials.
    """

    stronger: int
    weaker: int
    saved: float
    stderr: float

    @property
    def clear(self) -> bool:
        """Whether the sign of what is saved is beyond doubt."""
        return abs(self.saved) > CLEARLY * self.stderr


@dataclass(frozen=True)
class Crossing:
    """``later`` loses less than ``earlier`` from ``users`` on, clearly at the horizon, and clearly more before that."""

    earlier: int
    later: int
    users: float


def ladder(experiment: Experiment) -> tuple[int, ...]:
    """The first visible line of each promise, the strongest promise (least trust) first."""
    first: dict[Privacy, int] = {}
    for number, line in enumerate(experiment.lines):
        if number not in experiment.view.hidden:
            first.setdefault(line.entry.privacy, number)
    return tuple(first[key] for key in sorted(first, key=lambda key: -len(PROMISES[key].implied())))


def _both(result: Result, one: int, other: int) -> tuple[LineResult, LineResult] | None:
    mine, theirs = result.lines[one], result.lines[other]
    return None if mine is None or theirs is None else (mine, theirs)


def steps(result: Result) -> tuple[Step, ...]:
    """The steps of the ladder between lines that are played; needs two trials for an error."""
    rungs = [line for line in ladder(result.experiment) if result.lines[line] is not None]
    found = []
    for stronger, weaker in pairwise(rungs):
        if (both := _both(result, stronger, weaker)) is not None:
            found.append(Step(stronger, weaker, *both[0].difference_to(both[1])))
    return tuple(found)


def _crossing(result: Result, one: int, other: int) -> Crossing | None:
    both = _both(result, one, other)
    if both is None:
        return None
    _, mine, theirs = np.intersect1d(both[0].trials, both[1].trials, return_indices=True)
    apart = both[0].regret[mine] - both[1].regret[theirs]
    if len(apart) < 2:
        return None
    mean, error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    ahead = np.where(np.abs(mean) > CLEARLY * error, np.sign(mean), 0)  # 1: the other one loses less
    if ahead[-1] == 0 or not (ahead == -ahead[-1]).any():
        return None
    lasting = np.flatnonzero(np.sign(mean) != ahead[-1])[-1] + 1
    earlier, later = (one, other) if ahead[-1] > 0 else (other, one)
    return Crossing(earlier, later, float(result.times[lasting]))


def crossings(result: Result) -> tuple[Crossing, ...]:
    """Every pair of lines of the ladder that clearly change places, by the number of users."""
    pairs = combinations(ladder(result.experiment), 2)
    found = (_crossing(result, one, other) for one, other in pairs)
    return tuple(sorted(filter(None, found), key=lambda each: each.users))
