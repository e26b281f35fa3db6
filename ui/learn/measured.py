"""Measured numbers of a lesson: what they are, and how a text names those of a played experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandit_core.experiments.catalogue import corridor
from bandit_core.simulation.results import Estimate, LineResult, Result, best_share_at_end
from bandit_core.spec.number_text import with_error
from bandit_core.studies.tradeoff import blind_regret

Verdict = Literal["more", "less", "unclear"]
ROOM = 2.0  # standard errors to each side, of numbers that come without an interval of their own


@dataclass(frozen=True)
class Number:
    """A measured number, its standard error (0 where there is none to speak of) and the ends of its 95% interval.

    Without ``ends`` the interval is `ROOM` errors to each side.
    """

    value: float
    error: float = 0.0
    ends: tuple[float, float] | None = None

    def __str__(self) -> str:
        return with_error(self.value, self.error)

    @property
    def room(self) -> float:
        """Some standard errors, as they are shown; the ``ends`` of skewed numbers may be far wider."""
        return ROOM * self.error

    @property
    def low(self) -> float:
        """Lower end of its interval; minus infinity where its error is unknown."""
        return self.value - self.room if self.ends is None else self.ends[0]

    @property
    def high(self) -> float:
        """Upper end of its interval; infinity where its error is unknown."""
        return self.value + self.room if self.ends is None else self.ends[1]

    @property
    def verdict(self) -> Verdict:
        """Whether its interval lies above 0, below, or neither."""
        if self.low > 0:
            return "more"
        return "less" if self.high < 0 else "unclear"

    @property
    def size(self) -> Number:
        """Without its sign."""
        if self.value >= 0:
            return self
        return Number(-self.value, self.error, None if self.ends is None else (-self.ends[1], -self.ends[0]))


def spread(estimates: np.ndarray, truth: float) -> Number:
    """Typical distance of ``estimates``, shape (repeats,), from the truth: root mean square, with its error."""
    squares = (estimates - truth) ** 2
    typical = float(np.sqrt(squares.mean()))
    error = float(squares.std(ddof=1) / np.sqrt(len(squares)))
    return Number(typical, error / (2 * typical) if typical else 0.0)


# ---------------------------------------------------------------------------------------------------------------
# Numbers of a played experiment. Lines are counted from 0.


def _line(result: Result, number: int) -> LineResult:
    line = result.lines[number]
    assert line is not None
    return line


def _without_error(estimate: Estimate) -> Number:
    """A single run has no error that could be known, so nothing can be concluded from it."""
    if not math.isfinite(estimate.stderr):
        return Number(estimate.value, math.inf)
    return Number(estimate.value, estimate.stderr, (estimate.low, estimate.high))


def lost(result: Result, number: int) -> Number:
    """Mean regret of a line at the end."""
    return _without_error(_line(result, number).final())


def difference(result: Result, one: int, other: int) -> Number:
    """How much more line ``one`` loses than line ``other``, over pairs of runs."""
    return _without_error(_line(result, one).difference(_line(result, other)))


def ratio(result: Result, one: int, other: int) -> Number:
    """How many times as much, over pairs of runs."""
    times = _without_error(_line(result, one).ratio(_line(result, other)))
    return times if math.isfinite(times.value) else Number(math.nan, math.inf)


def _above(result: Result, one: int, other: int) -> Number:
    """What line ``one`` loses where that is clearly more than line ``other`` does, else unknown."""
    return lost(result, one) if difference(result, one, other).verdict == "more" else Number(math.nan)


def _blind(result: Result) -> Number:
    """What choosing blindly loses on average."""
    return Number(blind_regret(result.experiment))


def _saved(result: Result, number: int) -> Number:
    """How much less a line loses than choosing blindly."""
    mine, blind = lost(result, number), blind_regret(result.experiment)
    return Number(blind - mine.value, mine.error, (blind - mine.high, blind - mine.low))


def _best_share(result: Result, number: int) -> Number:
    """Percent of the users who get the best arm in the second half."""
    return Number(100 * best_share_at_end(_line(result, number), result.times))


def _kept_epsilon(result: Result, number: int) -> Number:
    """The epsilon that a line is proved to keep, to three digits."""
    epsilon = result.experiment.lines[number].entry.guarantee(result.experiment.setups[number]).epsilon
    assert epsilon is not None
    return Number(float(f"{epsilon:.3g}"))


def _proof(result: Result, number: int) -> Number:
    """How many times what a line loses its proof allows; unknown where that is no less than choosing at random."""
    mine, mean = lost(result, number), _line(result, number).mean
    times = float(corridor(result.experiment, number, result.times, mean).edge[-1]) / mine.value
    return Number(times, times * mine.error / mine.value)


def _rate(result: Result, number: int) -> Number:
    """How many times the long-run rate of its guarantee a line loses; unknown where the picture shows none."""
    mine, mean = lost(result, number), _line(result, number).mean
    rate = float(corridor(result.experiment, number, result.times, mean).rate[-1])
    return Number(mine.value / rate, mine.error / rate)


def _u(result: Result, number: int) -> str:
    return f"{result.experiment.lines[number].params['u']:g}"


def _title(result: Result, number: int) -> str:
    return result.experiment.lines[number].entry.title


MEASURES: dict[str, Callable[..., Number | str]] = {
    "lost": lost, "difference": difference, "ratio": ratio, "above": _above, "blind": _blind, "saved": _saved,
    "best-share": _best_share, "kept": _kept_epsilon, "u": _u, "title": _title,
    "proof": _proof, "rate": _rate,
}  # fmt: skip
_LINE = re.compile(r"(at|best|\d+)(?:\+(\d+))?")


def is_measure(text: str) -> bool:
    """Whether `measure` can read a text."""
    name, *lines = text.split()
    return name in MEASURES and all(map(_LINE.fullmatch, lines))


def measure(text: str, result: Result, place: int) -> Number | str:
    """What a text asks of a result: the name of a measure and its lines, ``difference at+1 0``.

    ``at`` is the ``place`` of the slider, counted from 0, and ``best`` the line that lost least after the first.
    """
    name, *lines = text.split()
    return MEASURES[name](result, *(_number_of(line, result, place) for line in lines))


def _number_of(line: str, result: Result, place: int) -> int:
    match = _LINE.fullmatch(line)
    assert match is not None
    base, more = match.groups()
    if base == "best":
        return min(range(1, len(result.lines)), key=lambda number: lost(result, number).value)
    return (place if base == "at" else int(base)) + int(more or 0)
