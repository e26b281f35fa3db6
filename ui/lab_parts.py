"""What the Lab's pages share: folds that compute once they are open, the slider for ε, and prices in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments.shared_budget import at_shared, shared_budget
from bandit_core.simulation.results import Result
from bandit_core.simulation.summaries import Summary, summaries
from ui import epsilon_grid, page_fields, state, words

HEIGHT = 420  # of a page's first picture, in pixels: about half of a laptop's window
GRID = epsilon_grid.between(0.1, 10)


def fold(title: str, key: str, draw: Callable[[], None], *fields: str) -> None:
    """A closed part of a page, drawn once it is open; a link that has one of its ``fields`` opens it."""
    if key not in st.session_state and any(state.page_field(name, "") for name in fields):
        st.session_state[key] = True
    opened = st.expander(title, key=key, on_change="rerun")
    if opened.open:
        with opened:
            draw()


def epsilon(experiment: Experiment) -> None:
    """The budget that the private lines share, above the picture; nothing where each has its own."""
    shared = shared_budget(experiment)
    if shared is None or shared.fixed is None:
        return
    page_fields.changes(
        "lab-epsilon",
        shared.fixed,
        partial(
            st.select_slider,
            "Privacy budget ε: ← more private · less regret →",
            sorted({*GRID, shared.fixed}),
            shared.fixed,
            format_func=lambda value: f"{value:g}",
            help="How much one message or release may reveal about one user.",
        ),
        lambda chosen: at_shared(experiment, float(chosen)),
    )


def prices(result: Result) -> str:
    """What the cheapest and the costliest private line lose, in one sentence; more where privacy seems to help."""
    rows = [row for row in summaries(result) if row.against is not None]
    if not rows:
        return words.verdict(result)
    ends = dict.fromkeys(pick(rows, key=lambda row: row.price).line for pick in (min, max))
    found = [next(row for row in rows if row.line == line) for line in ends]
    told = [_price(row) for row in found]
    whole = " the regret without privacy"
    if len(told) == 2 and told[0].endswith(whole):
        told[1] = told[1].removesuffix(whole)
    first = words.sentence(f"{opening(result)}{' and '.join(told)}.")
    return " ".join([first, *(f"{why}." for row in found if (why := words.below_one(row, result)))])


def opening(result: Result) -> str:
    """How a sentence on a result begins: ``at ε = 1, ``."""
    budget = words.budgets(result.experiment)
    return "in a single run, which proves little, " * (result.experiment.trials == 1) + f"at {budget}, " * bool(budget)


def _price(row: Summary) -> str:
    name = f"**{words.called(row.label)}**"
    if row.trials > 1 and not row.differs:
        return f"{name} is statistically tied with no privacy"
    return f"{name} has **{words.number(row.price, 2)} times** the regret without privacy"
