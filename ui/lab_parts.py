"""Shared by the Lab's pages: folds that compute when opened, the slider for ε, the axes, and losses in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from bandit_core import Experiment
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.presets import load_preset, shared_budget
from bandit_core.simulation.results import Result, summaries
from ui import charts, epsilon_grid, figures, page_fields, shared, state, words
from ui.page_fields import Field

HEIGHT = 340  # of a page's first picture, in pixels, at least: it fills half of the window
GRID = epsilon_grid.between(0.1, 10)
_AXES = Field(
    "axes", "Axes", "linear", "Linear: equal steps are equal amounts. Logarithmic: equal steps are equal ratios.",
    "buttons", {"linear": "linear axes", "log": "log axes"},
)  # fmt: skip


def part(title: str, key: str, *fields: str, icon: str | None = None) -> ExpanderContainer:
    """A closed part of a page, which asks when it is opened; a link that has one of its ``fields`` opens it.

    It is open again where the page has left it out for a while, as when it waits for numbers.
    """
    opened = state.open_folds()
    if key not in st.session_state and (key in opened or any(state.page_field(name, "") for name in fields)):
        st.session_state[key] = True
    found = st.expander(title, icon=icon, key=key, on_change="rerun")
    (opened.add if found.open else opened.discard)(key)
    return found


def fold(title: str, key: str, draw: Callable[[], object], *fields: str, icon: str | None = None) -> None:
    """Such a part, drawn once it is open."""
    if (found := part(title, key, *fields, icon=icon)).open:
        with found:
            draw()


def fold_for_print(draw: Callable[[], go.Figure], file_name: str) -> None:
    """The curves of ``draw`` for a file, behind a headline."""
    fold("Picture for a paper or a slide", "print-fold", partial(figures.for_print, draw, file_name))


def heading(place: DeltaGenerator, experiment: Experiment, lesson_mode: bool) -> None:
    """Title and note. The first change takes them away, so their room is kept from then on."""
    title, note = words.heading(experiment)
    if not experiment.title:
        preset = load_preset(links.write(experiment).get("preset", "default"))
        alike = (preset.arms, preset.contexts) == (experiment.arms, experiment.contexts)
        title = f"{preset.title} (changed)" if alike else title
    with place.container():
        st.title(words.plain(title))
        if not lesson_mode and (note := note or "Changed from an example." * bool(state.base().note)):
            st.caption(words.plain(note))
    if not (experiment.title or lesson_mode):
        room = "".join(f"<p>{escape(text)}</p>" for text in words.heading(state.base()) if text)
        place.html(f'<div class="room" aria-hidden="true">{room}</div>')


def table(text: str, key: str) -> None:
    """A small table of `words.table`, which scrolls where the window is narrower; ``key`` as of any container."""
    st.container(key=f"table-{key}").markdown(text)


def epsilon(
    experiment: Experiment,
    name: str = "lab-epsilon",
    help: str = "How much one message or release may reveal about one user.",
) -> bool:
    """The budget that the private lines share, above the picture; whether there is one."""
    budget = shared_budget(experiment)
    if budget is None or budget.fixed is None:
        return False
    field = replace(epsilon_grid.SLIDER, name=name, help=help, allowed=GRID)
    page_fields.change(field, budget.fixed, lambda chosen: trust_table.moved(experiment, float(chosen)))
    return True


def axes(more: Callable[[Experiment], int | None] = lambda _: None) -> int | None:
    """The switch on a picture of regret over users: both axes linear or both logarithmic. A link may mix them.

    What ``more`` draws stands beside it, and what that returns is returned.
    """
    view = state.experiment().view
    now = view.x if view.x == view.y else None
    with st.container(key="axes", horizontal=True):
        page_fields.change(
            _AXES, now, lambda axis: state.experiment().with_changes(view=view.model_dump() | {"x": axis, "y": axis}),
            label_visibility="collapsed",
        )  # fmt: skip
        return more(state.experiment())


def regret(key: str, result: Result, with_axes: bool = True, message: str = "", direct: bool = False) -> None:
    """A page's first picture, below a ``message``, or the sentence on what users lose; ``direct``: labels at curves."""
    st.markdown(message or shared.once("losses", result, None, lambda: losses(result)))
    if with_axes:
        axes()
    draw = partial(charts.regret_chart, result, height=HEIGHT, direct_labels=direct)
    figures.draw(key, result, draw, partial(charts.describe, result), direct, tall=True)


def losses(result: Result) -> str:
    """The loss with the best and the worst private policy, and without privacy where it is played, in a sentence."""
    promises = [line.entry.promise for line in result.experiment.lines]
    private = [row for row in summaries(result) if promises[row.line].key != "none"]
    rows, against = sorted(private, key=lambda row: row.regret), [row.against for row in private if row.against]
    if not rows:
        return words.verdict(result)
    ends = rows[:1] + rows[1:][-1:]
    unlike = len({promises[row.line].who for row in ends}) > 1
    message = " and ".join(
        f"**{words.number(row.regret, 2)}** with **{words.called(row.label)}**"
        + f" ({promises[row.line].who})" * unlike
        + " (statistically tied with no privacy)" * (row.trials > 1 and row.against is not None and not row.differs)
        for row in ends
    )
    free = "no method without privacy is shown"
    if against:
        free = f"without privacy, **{words.number(float(against[0].played.mean[-1]), 2)}**"
    budget, users = words.budgets(result.experiment), words.count(result.experiment.horizon)
    alone = "in a single run, which proves little, " * (result.experiment.trials == 1)
    opening = f"{alone}{f'at {budget}, ' * bool(budget)}"
    return words.sentence(f"{opening}the lost reward of {users} users is {message}; {free}.")
