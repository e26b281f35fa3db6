"""Who loses least, for every budget and every number of users at once, read off one sweep over budgets.

A policy that does not ask how many users will come plays its first n users as a run of n users would (the tests hold
every such policy to it, bit for bit), so each checkpoint of its curve is a run of that length. Policies that are made
for one number of users have no such curve and are left out, and so are those whose run keeps a weaker promise than the
budget says: they would win by it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Privacy
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.summaries import reference
from bandit_core.studies.sweep import SweepResult

MAX_ROWS = 24


@dataclass(frozen=True)
class First:
    """The line with the least mean regret, and the one after it.

    ``clear`` where the 95% interval of their difference over pairs of trials leaves out 0.
    """

    line: int
    second: int | None
    clear: bool
    regret: float
    stderr: float
    price: float
    price_stderr: float


@dataclass(frozen=True)
class Map:
    """``first[row][column]`` for ``users[row]`` and ``epsilons[column]``, for one trust model; None where undone."""

    privacy: Privacy
    epsilons: tuple[float, ...]
    users: tuple[int, ...]
    first: tuple[tuple[First | None, ...], ...]


def weaker(experiment: Experiment) -> set[int]:
    """Lines whose run keeps a weaker promise than their budget says: more than this epsilon, or one with a delta."""
    found = set()
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        guarantee = line.entry.guarantee(setup)
        more = line.epsilon is not None and (guarantee.epsilon or 0.0) > line.epsilon.largest * (1 + 1e-9)
        if more or guarantee.delta > 0:
            found.add(number)
    return found


def left_out(experiment: Experiment) -> set[int]:
    """Lines that take no part in the map: a weaker promise, or made for one number of users."""
    pairs = zip(experiment.lines, experiment.setups, strict=True)
    return weaker(experiment) | {
        number for number, (line, setup) in enumerate(pairs) if line.entry.knows_horizon(setup)
    }


def until(line: LineResult, place: int) -> LineResult:
    """The same trials up to the checkpoint at ``place``."""
    return LineResult(line.trials, line.regret[:, : place + 1], line.best_pulls[:, : place + 1], line.pulls)


def first_of(result: Result, place: int, contenders: Collection[int]) -> First | None:
    """Who of these lines has lost least at the checkpoint at ``place``; None where none of them is done."""
    done = {number: until(line, place) for number in contenders if (line := result.lines[number]) is not None}
    order = sorted(done, key=lambda number: float(done[number].mean[-1]))
    if not order:
        return None
    best, second = order[0], order[1] if len(order) > 1 else None
    clear = second is None or done[second].difference_interval(done[best])[0] > 0
    against = reference(result, best, place)
    price = (math.nan, math.nan) if against is None else done[best].ratio_to(until(against.played, place))
    mine = done[best]
    return First(best, second, clear, float(mine.mean[-1]), float(mine.stderr[-1]), *price)


def rows_of(times: np.ndarray) -> np.ndarray:
    """Places of at most `MAX_ROWS` checkpoints, evenly spread in the logarithm, with the last one."""
    wanted = np.geomspace(times[0], times[-1], MAX_ROWS)
    return np.unique(np.abs(np.log(times)[None, :] - np.log(wanted)[:, None]).argmin(axis=1))


def who_wins(swept: SweepResult, hidden: Collection[int] = ()) -> tuple[Map, ...]:
    """A `Map` for each trust model that has a line in it, no one trusted first; ``hidden`` lines take no part."""
    found = []
    times = swept.results[0].times
    places = rows_of(times)
    trusts: tuple[Privacy, ...] = ("local", "central")
    for privacy in trusts:
        columns = []
        for result in swept.results:
            out = left_out(result.experiment) | set(hidden)
            lines = enumerate(result.experiment.lines)
            kept = [number for number, line in lines if line.entry.privacy == privacy and number not in out]
            columns.append([first_of(result, int(place), kept) for place in places])
        if any(each is not None for column in columns for each in column):
            users = tuple(int(time) for time in times[places])
            found.append(Map(privacy, swept.epsilons, users, tuple(zip(*columns, strict=True))))
    return tuple(found)
