"""The steps of the course in their order, each a file of words with a head of settings."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment, load_preset
from bandit_core.experiments import links, trust_table
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError, Issue, raise_any, unreadable, validated
from bandit_core.spec.field_types import Frozen
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, theme
from ui.learn import measured, pictures, samples
from ui.learn.measured import Number
from ui.learn.pictures import OPEN, Picture
from ui.player.slider import Shipped, shipped

# ---------------------------------------------------------------------------------------------------------------------
# A step of the course: a file of words with a head of settings, and what a step of any kind plays, draws and says.


FOLDER = Path(__file__).with_name("texts")
BARS = "± is one standard error; the bars are 95% intervals."
_SECTIONS = {
    "Question": "question", "So": "so", "The maths": "exact", "For the teacher": "notes", "Exercise": "exercise",
    "Answer": "answer", "Things to try": "more",
}  # fmt: skip
_STORY = {"horizon": 10_000, "trials": 500, "seed": load_preset("trust").seed}  # the same runs as on Start
_TIPS = 1000  # drawn before a guess
_BLANK = re.compile(r"{(\w+)}")


class Slider(Frozen):
    """The one control of a step; its position is the address field ``at``. ``first`` is the first stop in words."""

    label: str
    help: str
    stops: tuple[float, ...]
    start: float
    format: str = "{:g}"
    first: str = ""

    def words(self, at: float) -> str:
        """A position in words."""
        return self.first if self.first and at == self.stops[0] else self.format.format(at)


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

    def ends(self, guess: float) -> tuple[float, float]:
        """Where the option begins and ends."""
        return self.options[int(guess)][1:]

    def fits(self, guess: float, measured: Number) -> bool:
        """Whether the option holds the number, give or take the error that is shown with it."""
        low, high = self.ends(guess)
        return low <= measured.value + measured.room and measured.value - measured.room < high


class Scale(Frozen):
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

    def ends(self, guess: float) -> tuple[float, float]:
        """What is near enough."""
        return guess - self.near, guess + self.near

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
    verdict: measured.Verdict


class Step(Frozen):
    """One screen of the course: one idea, one gesture, one sentence. Every field stands in the step's file.

    ``question`` has the blank ``{at}`` for the position. A guess is one of the ``options``, whose ranges the ``limits``
    part, or stands on a ``scale``. ``setting`` is the experiment that is played at a position of the slider, which
    stands for each ``"at"`` in it, or a ``preset`` whose shared budget follows the slider; a step without draws
    something else (ui/learn/samples.py). ``numbers`` says by name what is measured of the experiment
    (ui/learn/measured.py). ``guessed`` is the one that is to be guessed, and ``compare`` the one that chooses between
    the ``sentences``: is it above 0 (more), below (less), neither (unclear), or exactly 0 (alike)? A sentence has
    blanks for numbers by name, for the position ``{at}`` and the one after it ``{next}``, and for ``{epsilon}``; what
    stands in brackets is left out where a number in it is unknown. ``so`` says why, at every position.
    ``page`` and ``link`` say where the same experiment stands with all controls. ``tips``: draw rewards before the
    guess. ``watch`` has the ``title`` of one run that plays below, and its words (ui/watch/watch.js). ``second`` is
    a second part, with a guess of its own, folded away below. ``coins`` is a question that phones answer with one bit
    behind two coins, in place of a guess. ``other`` is a second slider, for ``epsilon``. ``bars``: the picture has
    error bars. ``base`` is what a guess is a multiple of in the picture, or what it is added to where it is no number
    of times; empty: the picture shows guesses as they are; None: not at all.
    """

    name: str
    title: str
    idea: str
    question: str
    options: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    scale: Scale | None = None
    unit: str
    slider: Slider
    setting: dict[str, Any] = {}
    numbers: dict[str, str] = {}
    guessed: str
    compare: str
    sentences: dict[str, str]
    picture: Picture = Picture()
    so: str
    exact: str
    notes: str
    exercise: str
    answer: str
    page: str = "explore"
    link: dict[str, str] = {}
    link_words: str = "Open in Explore"
    tips: bool = False
    watch: dict[str, Any] = {}
    more: tuple[str, ...] = ()
    second: Step | None = None
    coins: str = ""
    epsilon: float = 1.0
    other: Slider | None = None
    bars: bool = False
    base: str | None = None

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def names(self) -> set[str]:
        """The numbers that its sentences, its picture and its guess name."""
        blanks = {name for text in self.sentences.values() for name in _BLANK.findall(text)}
        drawn = {each.numbers for each in self.picture.series}
        base = {self.base} if self.base else set()
        return blanks - {"at", "next", "epsilon"} | drawn | base | {self.guessed, self.compare}

    @property
    def guess(self) -> Choice | Scale:
        """How one guesses."""
        edges = pairwise((-math.inf, *self.limits, math.inf))
        return self.scale or Choice(tuple((text, *ends) for text, ends in zip(self.options, edges, strict=True)))

    @property
    def places(self) -> tuple[float, ...]:
        """Positions of what the picture shows."""
        return self.picture.places or self.slider.stops

    def experiment(self, at: float) -> Experiment:
        """What is played at a position of the slider."""
        if "preset" in self.setting:
            return trust_table.moved(load_preset(self.setting["preset"]), at)
        return Experiment.model_validate({**_STORY, **_put(self.setting, at)})

    def fields(self, at: float) -> dict[str, str]:
        """The fields of the address that opens exactly what the step shows on its ``page``."""
        if self.setting:
            return links.write(self.experiment(at))
        return {name: text.format(at=f"{at:g}", epsilon=f"{self.epsilon:g}") for name, text in self.link.items()}

    def content(self, at: float) -> Any:
        """What the step shows at a position: runs that ship, or what it draws otherwise.

        Raises
        ------
        InputError
            Where the file with the runs is missing or damaged.
        """
        return shipped(self.name, at, self.experiment(at)) if self.setting else self.sample(at, 0)

    def sample(self, at: float, seed: int) -> Any:
        """What a step without an experiment draws."""
        return samples.SAMPLES[self.name](at, seed, self.slider.stops, self.epsilon)

    def draw(self, content: Any, at: float, dark: bool, height: int) -> go.Figure:
        """The picture of what was found at a position, ``height`` in pixels."""
        if self.picture.kind == "own":
            figure: go.Figure = content.draw(at, dark, height)
            return figure
        return _KINDS[self.picture.kind](self, content, at, dark, height)

    def number(self, content: Any, name: str, at: float) -> Any:
        """A number by its name; some names stand for words."""
        if isinstance(content, Shipped):
            return content.numbers.get(f"{name} {at:g}", content.numbers[name])
        if self.setting:
            return measured.measure(self.numbers[name], content, self.places.index(at))
        return content.numbers(at)[name]

    def measured(self, content: Any, at: float) -> Number:
        """The number that was to be guessed."""
        number: Number = self.number(content, self.guessed, at)
        return number

    def aim(self, guess: float, at: float) -> dict[str, Any]:
        """Where a guess stands in the picture, see `ui.player.slider.ask`; nothing where the picture cannot show it."""
        if self.base is None:
            return {}
        content = self.content(at)
        base, times = self.number(content, self.base, at).value if self.base else 0.0, self.unit == "times"
        low, high = (end * base if times else end + base for end in self.guess.ends(guess))
        curves, place = self.picture.kind in ("curves", "blind"), self.slider.stops.index(at)
        x = float(content.times[-1]) if curves else place if self.picture.kind == "bars" else at
        ends = {"low": low, "high": high}
        return {"place": place, "x": x, **{end: value if math.isfinite(value) else None for end, value in ends.items()}}

    def conclude(self, content: Any, at: float) -> Message:
        """What was found, in a sentence."""
        compared: Number = self.number(content, self.compare, at)
        verdict = compared.verdict
        alike = "alike" in self.sentences and compared.value == compared.error == 0
        text = self.sentences["alike" if alike else verdict]
        values: dict[str, Any] = {"at": self.slider.words(at), "epsilon": f"{self.epsilon:g}"}
        if "{next}" in text:
            values["next"] = self.slider.words(self.places[self.places.index(at) + 1])
        asked = [name for name in _BLANK.findall(text) if name not in values]
        values |= {name: self.number(content, name, at) for name in asked}
        if self.compare in values:
            values[self.compare] = compared.size
        unknown = {name for name in asked if isinstance(values[name], Number) and not _is_known(values[name])}
        text = re.sub(r"\[(.*?)]", lambda part: "" if unknown & {*_BLANK.findall(part[1])} else part[1], text)
        numbers = {name: values[name] for name in _BLANK.findall(text) if isinstance(values[name], Number)}
        return Message(text.format_map(values), numbers, verdict)

    def answer_to(self, measured: Number) -> str:
        """What was measured, with its unit."""
        return with_unit(measured, self.unit)

    def asks(self) -> str:
        """The question at the position where the slider starts."""
        return self.question.format(at=self.slider.words(self.slider.start))

    def says(self, content: Any, at: float) -> str:
        """What every view says below the picture."""
        return f"**So: {self.so}** {self.conclude(content, at).text}" + f" {BARS}" * self.bars


def _curves(step: Step, result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret against users in a frame that does not move with the slider."""
    top = step.picture.top or 1.25 * blind_regret(result.experiment)
    log = result.experiment.view.y == "log"
    while not log and top < max(float(line.quantile(0.95)[-1]) for line in result.lines if line is not None):
        top *= 2
    vertical = (0.0, float(np.log10(top)) if log else top)
    shown = result if step.picture.bounds else charts.without_bounds(result)
    figure = charts.regret_chart(shown, dark, height, False, vertical=vertical)
    figure.update_yaxes(step.picture.y)
    return figure


def _blind(step: Step, result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret of one learner against users, beside choosing blindly."""
    loss = blind_regret(result.experiment)
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, 1.05 * loss))
    figure.data[-1].name = "the learner"
    look: dict[str, Any] = {"hover": "%{y:,.3~g}", "width": 2, "dash": "dash"}
    chance = charts.Curve([1, at], [loss / at, loss], "choosing blindly (on average)", theme.quiet(dark), **look)
    figure.add_traces([*chance.traces()])
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="linear", range=[1, at], exponentformat="B", dtick=None)
    figure.update_yaxes(title="laughs lost so far", type="linear", dtick=None)
    return figure


def _dots(step: Step, result: Any, at: float, dark: bool, height: int) -> go.Figure:
    """Numbers at every place; a vertical axis without a range ends above all of them."""
    curves, high = [], []
    for each in step.picture.series:
        numbers = [step.number(result, each.numbers, place) for place in step.places]
        high += [number.high for number in numbers if np.isfinite(number.high)]
        shade, here = pictures.colour(each.policy, dark), None if each.still else at
        curves.append(pictures.dots(step.places, numbers, each.name, shade, here, symbol=each.symbol))
    return _with_axes(step, curves, dark, height, {"range": [0, 1.05 * max(high, default=1.0)]})


def _bars(step: Step, result: Any, at: float, dark: bool, height: int) -> go.Figure:
    """The same as bars, with the one at the slider's position full."""
    [series], drawn = step.picture.series, []
    for name, place in zip(step.picture.names, step.places, strict=True):
        number = step.number(result, series.numbers, place)
        look = {
            "marker": {"color": pictures.colour(series.policy, dark), "opacity": 1.0 if place == at else 0.45},
            "error_y": {"type": "data", "array": [2 * number.error], "color": pictures.colour(OPEN, dark)},
            "hovertemplate": "%{y:,.3~g}",
        }
        drawn.append(go.Bar(x=[name], y=[number.value], name=series.name.format(step.slider.words(place)), **look))
    return _with_axes(step, drawn, dark, height, {})


def _with_axes(step: Step, curves: Sequence[Any], dark: bool, height: int, y: dict[str, Any]) -> go.Figure:
    figure = pictures.draw(curves, step.picture.x, y | step.picture.y, dark, height)
    if not step.picture.legend:
        figure.layout.showlegend = False
    return figure


_KINDS: dict[str, Callable[[Step, Any, float, bool, int], go.Figure]] = {
    "curves": _curves, "blind": _blind, "dots": _dots, "bars": _bars
}  # fmt: skip


def tips(step: Step, dark: bool, height: int) -> go.Figure:
    """Many rewards of the best arm, one after the other, before the guess."""
    experiment = step.experiment(step.slider.start)
    paid = experiment.arms[0].quantile(np.random.default_rng(experiment.seed).random(_TIPS))
    look = {"color": pictures.colour(OPEN, dark), "size": 5}
    curve = pictures.marks(np.arange(1, _TIPS + 1), paid, "tips", look, "%{y:.2~f}")
    across = {"title": f"{_TIPS:,} tips, one after the other", "range": [0, _TIPS + 1]}
    figure = pictures.draw([curve], across, {"title": "size of the tip", "rangemode": "tozero"}, dark, height)
    figure.layout.showlegend = False
    return figure


def _is_known(number: Number) -> bool:
    return math.isfinite(number.value) and math.isfinite(number.error)


def _put(setting: Any, at: float) -> Any:
    """The setting with the position in the place of each ``"at"``."""
    if isinstance(setting, dict):
        return {name: _put(value, at) for name, value in setting.items()}
    if isinstance(setting, list):
        return [_put(value, at) for value in setting]
    return at if setting == "at" else setting


def read(name: str, folder: Path = FOLDER) -> Step:
    """The step in the file of that name: settings (TOML) between two lines of ``+++``, then its words (Markdown).

    Raises
    ------
    InputError
        Where the file cannot be read or says something that is not allowed.
    """
    path = folder / f"{name}.md"
    try:
        _, head, body = path.read_text("utf-8").split("+++\n", 2)
        settings = tomllib.loads(head)
    except (OSError, ValueError) as error:
        raise InputError([unreadable("lesson", path.name, error)]) from None
    _, title, idea, *parts = re.split(r"^#+ (.+)\n", body, flags=re.MULTILINE)
    document = {**settings, "name": name, "title": title, "idea": _lines(idea)[0], "sentences": {}}
    if "second" in settings:
        document["second"] = read(settings["second"], folder)
    for heading, text in zip(parts[::2], map(_lines, parts[1::2]), strict=True):
        if heading.startswith("If "):
            document["sentences"] |= dict.fromkeys(heading.removeprefix("If ").split(" or "), text[0])
        else:
            document[_SECTIONS.get(heading, heading)] = text[1:] if heading == "Things to try" else text[0]
            if heading == "Question":
                document["options"] = text[1:]
    step: Step = validated(Step, document, (name,))
    raise_any(_problems(step))
    return step


def _problems(step: Step) -> Iterator[Issue]:
    """What does not fit together: options and their ranges, and the names of numbers."""
    if step.scale is None and len(step.limits) != len(step.options) - 1:
        yield Issue(f"{step.name}.limits", list(step.limits), "one between each option and the next")
    for name, text in step.numbers.items():
        if not measured.is_measure(text):
            allowed = f"one of {', '.join(measured.MEASURES)}, then its lines"
            yield Issue(f"{step.name}.numbers.{name}", text, allowed)
    for name in sorted(step.names - set(step.numbers)) if step.setting else ():
        yield Issue(step.name, name, f"no such number; allowed: {', '.join(step.numbers)}")


def _lines(text: str) -> list[str]:
    """A paragraph on one line, then the items of the list below it."""
    return [" ".join(item.split()) for item in re.split(r"^- ", text, flags=re.MULTILINE)]


# ---------------------------------------------------------------------------------------------------------------------
# The ten steps in their order, the second parts that some have, and all that a teacher can show.


MINUTES = 15
STEPS = tuple(map(read, ["choosing", "coin", "crowd", "learner", "price", "trust", "whom", "wild", "promise", "yours"]))
PARTS = tuple(part for step in STEPS for part in (step, step.second) if part is not None)  # as they are printed
EXTRAS = tuple(map(read, ("tradeoff", "toss", "noises", "outlier", "features")))  # each on its own, after the course
LESSONS = STEPS + EXTRAS
LECTURE = STEPS[1], STEPS[4], STEPS[5]  # a quarter of an hour before a class
ADDRESSES = {str(STEPS.index(step) + 1) if step in STEPS else step.name: step for step in LESSONS}


def named(name: str) -> Step:
    """The lesson of that name; the first one where there is none."""
    return next((step for step in LESSONS if step.name == name), LESSONS[0])


def address(step: Step) -> str:
    """What the field ``step`` of an address says of a lesson."""
    return next(field for field, each in ADDRESSES.items() if each is step)


def title(step: Step) -> str:
    """Its title, with its number in the course."""
    field = address(step)
    return f"{field}. {step.title}" if field.isdigit() else step.title


def on_button(label: str, step: Step) -> str:
    """What a button of a lesson's card says; eyes see the label, a screen reader says the lesson, too."""
    field = address(step)
    return f"{label} *lesson {f'{field}: ' * field.isdigit()}{step.title}*"


def beside(step: Step, by: int, lessons: tuple[Step, ...] = LESSONS) -> Step | None:
    """The lesson after it among some, or before it (``by`` = -1)."""
    place = lessons.index(step) + by
    return lessons[place] if 0 <= place < len(lessons) else None
