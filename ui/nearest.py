"""The picture to look at while the exact one waits for the compiler: of the shipped experiments the one nearest to it.

It is drawn by the page's own code and says, above and inside the picture, what it shows in place of what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InputError, Simulation
from bandit_core.experiments.experiment import Line, budget_words
from bandit_core.experiments.presets import load_preset
from bandit_core.experiments.shared_budget import at_shared, shared_budget
from bandit_core.simulation.results import Result
from bandit_core.simulation.summaries import split, with_companions
from bandit_core.spec.number_text import write_number
from bandit_core.studies.sweep import Sweep, SweepResult
from ui import charts, compile_ahead, epsilon_grid, figures, gallery, shared, theme, tradeoff_view, words

SWEPT = ("default", "trust-ladder")  # presets that Trade-off and Trust draw against the budget
LOWEST, HIGHEST = 0.1, 10.0  # budgets of these sweeps
OTHER_POSITIONS = {"wild-rewards": (0.3, 3.0), "users-with-features": (0.5, 1.0, 5.0)}  # of presets that are not swept
MOST_NAMED = 4  # differences in words
MOST_TRIED = 5  # experiments, in case the file lacks the nearest
VEIL = 0.4  # opacity of the ground over curves that are not the visitor's
UNLIKE = 10.0  # between one budget for all and budgets that differ from user to user; e^10 between two budgets
COMING = "The exact one is being compiled (first time on this machine) and replaces it by itself."


# ---------------------------------------------------------------------------------------------------------------
# Which one


@cache
def shipped() -> tuple[Experiment, ...]:
    """What pages show without being asked, at more than one budget; `benchmarks.first_pictures` ships all of it."""
    presets = [load_preset(name) for name in compile_ahead.FIRST]
    moved = [at_shared(load_preset(name), epsilon) for name in SWEPT for epsilon in swept_budgets(name)]
    moved += [at_shared(load_preset(name), each) for name, few in OTHER_POSITIONS.items() for each in few]
    return (*presets, *moved, *(gallery.home_experiment(epsilon) for epsilon in gallery.EPSILONS))


def swept_budgets(preset: str) -> tuple[float, ...]:
    """The budgets at which the preset ships, its own among them."""
    budget = shared_budget(load_preset(preset))
    own = () if budget is None or budget.fixed is None else (budget.fixed,)
    return tuple(sorted({*epsilon_grid.curve(LOWEST, HIGHEST, tradeoff_view.POINTS), *own}))


def _seen(asked: Experiment) -> list[int]:
    return [number for number in range(len(asked.lines)) if number not in asked.view.hidden]


def _pairs(asked: Experiment, other: Experiment) -> list[tuple[int, int]]:
    """Lines of the same policy, each once: those of ``asked`` that are drawn, and of ``other``."""
    left = list(range(len(other.lines)))
    found = []
    for mine in _seen(asked):
        line = asked.lines[mine]
        same = [theirs for theirs in left if other.lines[theirs].policy == line.policy]
        if same:
            nearest = min(same, key=lambda theirs: _budgets_apart(line, other.lines[theirs]))
            left.remove(nearest)
            found.append((mine, nearest))
    return found


def _budgets_apart(line: Line, other: Line) -> float:
    """How far apart two budgets are, as the logarithm of their ratio."""
    one, two = line.epsilon, other.epsilon
    if one == two:
        return 0.0
    if one is None or two is None or not one.fixed or not two.fixed:
        return UNLIKE
    return abs(math.log(one.fixed / two.fixed))


def _arms_apart(asked: Experiment, other: Experiment) -> float:
    """How far apart numbers of arms (and of features) and the hardness of telling them apart are; 0 for equal ones."""
    if (asked.arms, asked.contexts) == (other.arms, other.contexts):
        return 0.0
    apart = 1 + abs(math.log(asked.arm_count / other.arm_count))
    if asked.contexts is not None and other.contexts is not None:
        return apart + abs(math.log(asked.contexts.dimension / other.contexts.dimension))
    if asked.contexts is not None or other.contexts is not None:
        return apart + UNLIKE
    return apart + abs(float(asked.means.max() - other.means.max())) + abs(asked.largest_gap - other.largest_gap)


def _rest_apart(asked: Experiment, other: Experiment, pairs: list[tuple[int, int]]) -> int:
    """How many other things differ that change the picture."""
    names = ("feedback", "visits", "visits_delta", "trials", "seed")
    parameters = any(asked.lines[mine].params != other.lines[theirs].params for mine, theirs in pairs)
    return parameters + sum(getattr(asked, name) != getattr(other, name) for name in names)


def distance(asked: Experiment, other: Experiment) -> tuple[int, float] | None:
    """How far ``other`` is from what is asked: policies that it lacks, then all the rest. None without a common policy.

    The rest is how far budgets (mean), numbers of users and arms are apart, and how many other things differ; a factor
    of e counts as much as another thing.
    """
    pairs = _pairs(asked, other)
    if not pairs:
        return None
    budgets = [_budgets_apart(asked.lines[mine], other.lines[theirs]) for mine, theirs in pairs]
    apart = sum(budgets) / len(budgets) + abs(math.log(asked.horizon / other.horizon))
    apart += _arms_apart(asked, other) + _rest_apart(asked, other, pairs)
    return len(_seen(asked)) - len(pairs), apart


def by_distance(asked: Experiment, among: tuple[Experiment, ...]) -> list[Experiment]:
    """Those with a policy in common, the nearest first."""
    far = [(distance(asked, other), place) for place, other in enumerate(among)]
    return [among[place] for _, place in sorted((each, place) for each, place in far if each is not None)]


# ---------------------------------------------------------------------------------------------------------------
# As it is drawn, and what it is in words


@dataclass(frozen=True)
class StandIn:
    """What is drawn in place of the exact result, and in what it differs from that."""

    result: Any  # a Result, or a SweepResult
    differences: tuple[str, ...]

    @property
    def told(self) -> list[str]:
        """The differences, of which many are counted."""
        named = self.differences if len(self.differences) <= MOST_NAMED else self.differences[: MOST_NAMED - 1]
        more = len(self.differences) - len(named)
        return [*(named or ("without hidden lines",)), *([f"and {more} others"] if more else [])]


def _alike(asked: Experiment, other: Experiment, budgets: bool = True) -> Experiment:
    """The lines of ``other`` that are asked for, seen as is asked; without its ``budgets`` with the asked ones."""
    pairs, mine, theirs = _pairs(asked, other), asked.spec()["lines"], other.spec()["lines"]
    lines = [dict(theirs[place]) for _, place in pairs]
    for line, (place, _) in zip(lines, pairs, strict=True):
        if not budgets and "epsilon" in line:
            line["epsilon"] = mine[place]["epsilon"]
    view = asked.view.model_copy(update={"hidden": ()}).model_dump(mode="json")
    return other.with_changes(lines=lines, title="", note="", view=view)


def differences(asked: Experiment, shown: Experiment, budgets: bool = True) -> Iterator[str]:
    """In what the picture of ``shown`` (see `_alike`) differs from that of ``asked``, what matters most first."""
    pairs = _pairs(asked, shown)
    both = [(asked.lines[mine], shown.lines[theirs]) for mine, theirs in pairs]
    yield from _lacking(asked, {mine for mine, _ in pairs})
    if budgets:
        yield from _other_budgets(both)
    if asked.horizon != shown.horizon:
        yield f"{words.count(shown.horizon)} users in place of {words.count(asked.horizon)}"
    yield from _other_arms(asked, shown)
    if any(one.params != two.params for one, two in both):
        yield "other parameters of policies"
    coming = [words.coming(each.feedback.batch, each.feedback.delay, each.visits) for each in (shown, asked)]
    if coming[0] != coming[1]:
        yield f"people who come {coming[0]} in place of {coming[1]}"
    if asked.trials != shown.trials:
        yield f"{words.count(shown.trials)} runs in place of {words.count(asked.trials)}"
    if asked.seed != shown.seed:
        yield f"seed {shown.seed} in place of {asked.seed}"


def _lacking(asked: Experiment, paired: set[int]) -> Iterator[str]:
    """Lines that are asked for and not there, by the titles of their policies."""
    titles = [line.entry.title for line in asked.lines]
    there = {titles[number] for number in paired}
    missing = [titles[number] for number in _seen(asked) if number not in paired]
    if whole := [title for title in dict.fromkeys(missing) if title not in there]:
        yield f"without {' and '.join(whole)}"
    for title in dict.fromkeys(missing):
        if title in there:
            yield f"without {missing.count(title)} of the lines of {title}"


def _other_arms(asked: Experiment, shown: Experiment) -> Iterator[str]:
    if asked.contexts is not None and shown.contexts is not None:
        if asked.contexts.dimension != shown.contexts.dimension:
            yield f"users with {shown.contexts.dimension} features in place of {asked.contexts.dimension}"
        elif asked.contexts != shown.contexts and asked.arm_count == shown.arm_count:
            yield "other users"
    if asked.arm_count != shown.arm_count:
        yield f"{words.count(shown.arm_count)} arms in place of {words.count(asked.arm_count)}"
    elif asked.arms != shown.arms:
        yield "other arms"


def _other_budgets(pairs: list[tuple[Line, Line]]) -> Iterator[str]:
    changed = dict.fromkeys((one.epsilon, two.epsilon) for one, two in pairs if one.epsilon != two.epsilon)
    for one, two in changed:
        assert one is not None and two is not None  # of one policy
        asked = budget_words(one)
        yield f"{budget_words(two)} in place of {asked if two.fixed is None else asked.removeprefix('ε = ')}"


def of_result(asked: Experiment) -> StandIn | None:
    """The nearest shipped experiment, where the file has all of it."""
    for other in by_distance(asked, shipped())[:MOST_TRIED]:
        try:
            shown = _alike(asked, other)
            result = Simulation(with_companions(shown)).result()
        except InputError:  # more than this server computes
            continue
        if result.complete:
            return StandIn(split(result, shown), tuple(differences(asked, shown)))
    return None


def of_sweep(asked: Experiment, epsilons: tuple[float, ...]) -> StandIn | None:
    """The same at every budget of a grid that ships."""
    presets = {load_preset(name): name for name in SWEPT}
    for other in by_distance(asked, tuple(presets)):
        grid = swept_budgets(presets[other])
        try:
            shown = _alike(asked, other, budgets=False)
            result = Sweep(with_companions(shown), grid).result()
        except InputError:
            continue
        if all(point.complete for point in result.results):
            told = (*differences(asked, shown, budgets=False), *_other_points(epsilons, grid))
            return StandIn(result.without_companions(shown), told)
    return None


def _other_points(asked: tuple[float, ...], shown: tuple[float, ...]) -> Iterator[str]:
    ends = [f"{write_number(grid[0])} to {write_number(grid[-1])}" for grid in (shown, asked)]
    if ends[0] != ends[1]:
        yield f"ε from {ends[0]} in place of {ends[1]}"
    elif missing := [each for each in asked if each not in shown]:
        yield "no point at ε = " + ", ".join(map(write_number, missing))


# ---------------------------------------------------------------------------------------------------------------
# On the page


def sentence(found: StandIn) -> str:
    """What stands above the picture."""
    return f"Picture of other settings: {'; '.join(found.told)}. {COMING}"


def labelled(figure: go.Figure, found: StandIn, dark: bool) -> go.Figure:
    """The figure under a veil, with a label inside: also a photograph of it says what it is not."""
    ground = theme.GROUND[dark]
    figure.add_shape(
        type="rect", xref="paper", yref="paper", x0=0, x1=1, y0=0, y1=1, layer="above", line_width=0,
        fillcolor=theme.transparent(ground, VEIL),
    )  # fmt: skip
    rows = ["<b>Not your settings</b>", *(escape(row) for each in found.told for row in wrap(each, 36))]
    figure.add_annotation(
        text="<br>".join(rows),
        xref="x domain",
        yref="y domain",
        x=0.03,
        y=0.97,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        borderpad=8,
        bordercolor=theme.ink(dark),
        borderwidth=1,
        bgcolor=ground,
        font={"color": theme.ink(dark), "size": figure.layout.font.size},
    )
    return figure


def show(found: StandIn, draw: Callable[[Any], go.Figure]) -> None:
    """The sentence, and below it the picture as ``draw`` makes it of the result."""
    dark = theme.is_dark()
    st.info(words.plain(sentence(found)), icon=":material/hourglass_top:")
    figure = labelled(draw(found.result), found, dark)
    picture = shared.Picture(figure, f"{sentence(found)} {_described(found.result)}")
    figures.show(picture, "stand-in")


def _described(result: Result | SweepResult) -> str:
    return "Regret against privacy budgets." if isinstance(result, SweepResult) else charts.describe(result)
