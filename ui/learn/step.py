"""What a step of the course is made of, and how its sentences compare two numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.experiments import links
from bandit_core.simulation.results import LineResult, Result
from bandit_core.spec.number_text import with_error

Verdict = Literal["more", "less", "unclear"]
ROOM = 2.0  # standard errors to each side, of numbers that come without an interval of their own
BARS = "± is one standard error; the bars are 95% intervals."


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


@dataclass(frozen=True, kw_only=True)
class Slider:
    """The one control of a step; its position is the address field ``at``."""

    label: str
    help: str
    stops: tuple[float, ...]
    start: float
    words: Callable[[float], str] = "{:g}".format


@dataclass(frozen=True)
class Choice:
    """A guess among ranges of the measured number, each as (words, low, high); they follow each other without gaps."""

    options: tuple[tuple[str, float, float], ...]

    def values(self) -> range:
        """Every guess that one can make: numbers of options."""
        return range(len(self.options))

    def message(self, guess: float) -> str:
        """The option with that number, in words."""
        return self.options[int(guess)][0]

    def fits(self, guess: float, measured: Number) -> bool:
        """Whether the option holds the number, give or take the error that is shown with it."""
        _, low, high = self.options[int(guess)]
        return low <= measured.value + measured.room and measured.value - measured.room < high


@dataclass(frozen=True)
class Scale:
    """A guess on a slider of whole numbers; it fits within ``near`` of the measured number."""

    low: int
    high: int
    start: int
    unit: str
    near: float

    def values(self) -> range:
        """Every guess that one can make."""
        return range(self.low, self.high + 1)

    def message(self, guess: float) -> str:
        """The guess in words."""
        return with_unit(f"{guess:g}", self.unit)

    def fits(self, guess: float, measured: Number) -> bool:
        """Whether it is near the number, give or take the error that is shown with it."""
        return abs(guess - measured.value) <= self.near + measured.room


def with_unit(number: object, unit: str) -> str:
    """A number and its unit in words: 73%, 3 laughs."""
    return f"{number}%" if unit == "%" else f"{number} {unit}"


@dataclass(frozen=True)
class Message:
    """The sentence of a step, with the numbers that stand in it by name, and what it says of their comparison."""

    text: str
    numbers: Mapping[str, Number]
    verdict: Verdict | str = ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One screen of the course: one idea, one gesture, one sentence.

    Either ``experiment`` gives what is played at a position of the slider, or ``sample`` draws something else at a
    position with a seed. ``draw`` gets what was found, the position, whether the ground is dark, and the height in
    pixels; ``conclude`` says it in a sentence and ``measured`` is the number that was to be guessed. ``so`` says
    why, in one sentence that holds at every position. ``question`` and ``exercise`` may hold the blank ``{at}`` for
    the position. ``page`` and ``link`` say where the same experiment stands with all controls. ``scene`` draws
    what the idea is about, before the guess, on dark ground or not and so high; ``below`` draws more below the picture
    of a finished run. ``second`` is a second part, with a guess of its own, folded away below. ``coins`` is a question
    that phones answer with one bit behind two coins, in place of a guess. ``other`` is a second slider, and the step at
    each of its positions. ``bars``: the picture has error bars.
    """

    name: str
    title: str
    idea: str
    question: str
    guess: Choice | Scale
    unit: str
    slider: Slider
    experiment: Callable[[float], Experiment] | None = None
    sample: Callable[[float, int], Any] | None = None
    draw: Callable[[Any, float, bool, int], go.Figure]
    conclude: Callable[[Any, float], Message]
    measured: Callable[[Any, float], Number]
    so: str
    exact: str
    notes: str
    exercise: str
    answer: str
    page: str = "explore"
    link: Callable[[float], dict[str, str]] | None = None
    link_words: str = "The same experiment in Explore"
    scene: Callable[[bool, int], go.Figure] | None = None
    below: Callable[[Result], None] | None = None
    more: tuple[str, ...] = field(default_factory=tuple)
    second: Step | None = None
    coins: str = ""
    other: tuple[Slider, Callable[[float], Step]] | None = None
    bars: bool = False

    def fields(self, at: float) -> dict[str, str]:
        """The fields of the address that opens exactly what the step shows on its ``page``."""
        if self.link is not None:
            return self.link(at)
        assert self.experiment is not None
        return links.write(self.experiment(at))

    def answer_to(self, measured: Number) -> str:
        """What was measured, with its unit."""
        return with_unit(measured, self.unit)

    def asks(self) -> str:
        """The question at the position where the slider starts."""
        return self.question.format(at=self.slider.words(self.slider.start))

    def says(self, found: Any, at: float) -> str:
        """What every view says below the picture."""
        return f"**So: {self.so}** {self.conclude(found, at).text}" + f" {BARS}" * self.bars

    def found(self, at: float, simulate: Callable[[Experiment], Any], seed: int | None = None) -> Any:
        """What the step shows at a position: a result of ``simulate``, or what ``sample`` draws.

        ``seed`` is another one than the step's own, which every view shows.
        """
        if self.experiment is not None:
            experiment = self.experiment(at)
            return simulate(experiment if seed is None else experiment.with_changes(seed=seed))
        assert self.sample is not None
        return self.sample(at, seed or 0)


def line_of(result: Result, number: int) -> LineResult:
    """A line that has been played."""
    line = result.lines[number]
    assert line is not None
    return line


def lost(result: Result, number: int) -> Number:
    """Mean regret of a line at the end."""
    line = line_of(result, number)
    return _known(float(line.mean[-1]), float(line.stderr[-1]), line.final_interval())


def difference(result: Result, one: int, other: int) -> Number:
    """How much more line ``one`` loses than line ``other``, over pairs of runs."""
    mine, theirs = line_of(result, one), line_of(result, other)
    return _known(*mine.difference_to(theirs), mine.difference_interval(theirs))


def ratio(result: Result, one: int, other: int) -> Number:
    """How many times as much, over pairs of runs."""
    mine, theirs = line_of(result, one), line_of(result, other)
    return _known(*mine.ratio_to(theirs), mine.ratio_interval(theirs))


def _known(value: float, error: float, ends: tuple[float, float]) -> Number:
    """A single run has no error that could be known, so nothing can be concluded from it."""
    return Number(value, error, ends) if math.isfinite(error) else Number(value, math.inf)


def size(number: Number) -> Number:
    """Without its sign."""
    if number.value >= 0:
        return number
    return Number(-number.value, number.error, None if number.ends is None else (-number.ends[1], -number.ends[0]))


def spread(estimates: np.ndarray, truth: float) -> Number:
    """Typical distance of ``estimates``, shape (repeats,), from the truth: root mean square, with its error."""
    squares = (estimates - truth) ** 2
    typical = float(np.sqrt(squares.mean()))
    error = float(squares.std(ddof=1) / np.sqrt(len(squares)))
    return Number(typical, error / (2 * typical) if typical else 0.0)
