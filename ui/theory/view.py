"""The page Theory: what "private" may mean, and every bound of the project, one card at a time."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import catalogue
from bandit_core.experiments.catalogue import Entry, Floor
from bandit_core.model import KIND_WORDS, MEASURES, PROMISES, Bound, Model, status_words
from bandit_core.policies import registry
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED
from ui import charts, diagrams, epsilon_grid, figures, page_fields, shared, state, theme, words
from ui.page_fields import Field

# ---------------------------------------------------------------------------------------------------------------------
# The fold of the Theory page: every bound of the project, one card at a time.


ALL = "all"
REWARDS = ("any", "[0, 1]", "0 or 1", "Gaussian", "heavy tails", "features")
KINDS = ("problem-dependent", "minimax", "Bayesian")
AXES = {"users": "users T", "epsilon": "budget ε", "arms": "arms K"}
_AXIS = Field(
    "axis", "Draw against", "users", "Users: up to the horizon. Budget and arms: at the horizon. More arms repeat the "
    "worse arms in turn.", "buttons", AXES, key="theory-against",
)  # fmt: skip
EPSILONS = epsilon_grid.curve(0.05, 20, 25)
BUDGET_TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
ARMS = (2, 3, 5, 8, 13, 20, 35, 60, 100)
FIRST = "local-exact-ldp-bound-0-or-1"
TABLE_KEY = "theory-table"


def draw(experiment: Experiment, listed: tuple[Entry, ...]) -> None:
    """Filters, table, and the card and picture of one bound."""
    shown = filters(listed)
    if not shown:
        st.info("No bound has all three properties. Choose “all” in one of them.")
        return
    table(shown, experiment)
    entry = choose(shown, listed)
    card(entry, experiment)
    picture(entry, experiment)


def _pick(label: str, options: tuple[str, ...], field: str, spoken: dict[str, str], text: str) -> str:
    words = {name: spoken.get(name, name) for name in (ALL, *options)}
    return str(page_fields.ask(Field(field, label, ALL, text, "box", words, key=f"theory-{field}")))


def filters(listed: tuple[Entry, ...]) -> list[Entry]:
    """Three filters; the bounds that pass them, those that apply first."""
    first, second, third = st.columns(3)
    with first:
        spoken: dict[str, str] = {key: promise.name for key, promise in PROMISES.items()}
        models = tuple(dict.fromkeys(entry.bound.model for entry in listed))
        model = _pick("Privacy guarantee", models, "about", spoken, "Which guarantee the bound is about.")
    with second:
        rewards = _pick(
            "Rewards", REWARDS, "laws", {"any": "any distribution"}, "Which reward distributions the bound holds for."
        )
    with third:
        kind = _pick("Kind", KINDS, "kind", {}, "; ".join(f"{name}: {text}" for name, text in KIND_WORDS.items()) + ".")
    shown_entries = [
        entry
        for entry in listed
        if model in (ALL, entry.bound.model)
        if rewards in (ALL, entry.bound.rewards)
        if kind in (ALL, entry.bound.kind)
    ]
    return sorted(shown_entries, key=lambda entry: entry.bound.not_applicable is not None)


def _spoken(model: Model) -> str:
    return PROMISES[model].name if model == "none" else f"under {PROMISES[model].name}"


def _listed(floors: tuple[Floor, ...]) -> str:
    parts = [f"**{words.number(floor.value, 2)}** {_spoken(floor.model)}" for floor in floors]
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]


def verdict(experiment: Experiment, listed: tuple[Entry, ...]) -> str:
    """What every policy must lose on these arms, by guarantee: at this horizon, and per tenfold number of users."""
    floors, growth = catalogue.floors(experiment, listed), catalogue.growth(listed)
    if not floors:
        return "No lower bound with known constants applies to these arms. Bounds without constants show the growth."
    epsilon = catalogue.usual_epsilon(experiment)
    text = (
        f"**What it must cost:** on the arms of the sidebar, with {words.count(experiment.horizon)} users and "
        f"ε = {epsilon:g}, every policy loses at least about {_listed(floors)}."
    )
    if growth:
        text += f" In the long run, ten times as many users add at least about {_listed(growth)}."
    return text


def _table(shown: list[Entry], experiment: Experiment) -> pd.DataFrame:
    horizon = np.array([float(experiment.horizon)])
    rows = [
        {
            "bound": entry.bound.label,
            "side": entry.bound.limits,
            "for": entry.bound.only or ", ".join(registry()[name].title for name in entry.policies) or "every policy",
            "value at T": "–"
            if entry.bound.not_applicable
            else words.number(float(entry.value(experiment, horizon)[0])),
            "guarantee": PROMISES[entry.bound.model].name,
            "rewards": entry.bound.rewards,
            "kind": entry.bound.kind,
            "status": "superseded" if entry.bound.superseded else entry.bound.status,
            "source": entry.bound.source,
        }
        for entry in shown
    ]
    return pd.DataFrame(rows)


def _row_chosen(keys: tuple[str, ...]) -> None:
    """Callback: a row of the table was clicked, the card follows."""
    rows = st.session_state[TABLE_KEY].selection.rows
    if rows and rows[0] < len(keys):
        state.keep_page_field("bound", keys[rows[0]], FIRST)


def table(shown: list[Entry], experiment: Experiment) -> None:
    """All bounds that pass the filters; a click on a row opens its card."""
    keys = tuple(entry.key for entry in shown)
    applying = sum(entry.bound.not_applicable is None for entry in shown)
    st.dataframe(
        shared.table("catalogue", experiment, keys, lambda: _table(shown, experiment)),
        hide_index=True,
        width="stretch",
        height=320,
        key=TABLE_KEY,
        on_select=lambda: _row_chosen(keys),
        selection_mode="single-row",
        alt="Every bound with its value for the experiment of the sidebar",
    )
    st.caption(
        f"{applying} of {len(shown)} bounds apply to the experiment of the sidebar. For the others the card says why "
        "not. Click a row to open its card."
    )


def choose(shown: list[Entry], listed: tuple[Entry, ...]) -> Entry:
    """The bound whose card is open: the one of the address, or the first where the filters hide that."""
    asked = page_fields.choice("bound", FIRST, {entry.key for entry in listed})
    state.keep_page_field("bound", asked, FIRST)
    opened = next((entry for entry in shown if entry.key == asked), shown[0])
    help = "Each bound has a card with its formula, source, assumptions, value and picture."
    field = Field("bound", "Card", FIRST, help, "box", {entry.key: _title(entry) for entry in shown})
    key = state.own_key(f"theory-card-{opened.key}")
    page_fields.draw(
        field, opened.key, key, on_change=lambda: state.keep_page_field("bound", st.session_state[key], FIRST)
    )
    return opened


def _title(entry: Entry) -> str:
    bound, whose = entry.bound, ", ".join(registry()[name].title for name in entry.policies)
    rewards = f" · {bound.rewards}" * (bound.rewards != "any")
    return f"{bound.sign} {bound.name}{f', {whose}' if whose else ''} · {PROMISES[bound.model].name}{rewards}"


def _value_words(bound: Bound, value: float, experiment: Experiment) -> str:
    """The value at the horizon, with no more said than the bound's status allows."""
    when, amount = f"At {words.count(experiment.horizon)} users", f"**{words.number(value)}**"
    if bound.status == "order-only":
        return f"{when} the curve is at {amount}. Its constant is unknown, so this is not a reliable limit."
    if bound.kind == "problem-dependent":
        whose = ", for the hardest distributions with these gaps" if bound.worst_case else ""
    else:
        whose = ", on the hardest arms"
    if bound.form == "slope":
        return (
            f"{when} the rate gives {amount}{whose}. It holds only in the limit: a curve may lie on either side here."
        )
    only = f", for {bound.only}" if bound.only else ""
    if bound.status == "as printed":
        only += ", if the printed theorem is true"
    return f"{when}: {amount} lost rewards at {'most' if bound.side == 'upper' else 'least'}{whose}{only}."


def card(entry: Entry, experiment: Experiment) -> None:
    """Formula, words, assumptions, status, source, and the value here."""
    bound = entry.bound
    grey = "gray" if bound.superseded else None
    with st.container(border=True):
        st.markdown(f":{grey}[**{words.plain(_title(entry))}**]" if grey else f"**{words.plain(_title(entry))}**")
        st.latex(rf"\textcolor{{gray}}{{{bound.formula}}}" if grey else bound.formula)
        st.markdown(bound.words)
        value = float(entry.value(experiment, np.array([float(experiment.horizon)]))[0])
        if bound.not_applicable:
            st.info(bound.not_applicable[0].upper() + bound.not_applicable[1:] + ".", icon=":material/visibility_off:")
        else:
            st.markdown(_value_words(bound, value, experiment))
        status = "cannot stand as printed" if bound.superseded else status_words(bound)
        holds = f"**Holds for:** {bound.only}  \n" if bound.only else ""
        st.caption(
            f"**Status:** {'superseded' if bound.superseded else bound.status}, {status}  \n"
            f"**Kind:** {bound.kind}, {KIND_WORDS[bound.kind]}  \n"
            f"{holds}**Assumes:** {bound.assumptions}  \n**Source:** {bound.source}"
        )


def chart(entry: Entry, experiment: Experiment, against: str, superseded: bool, dark: bool) -> go.Figure | None:
    """The bound against users, budget or arms; None where there is nothing to draw."""
    bound = entry.bound
    x: np.ndarray
    if against == "users":
        x = np.unique(np.geomspace(1, max(2, experiment.horizon), 120).round())
        y = entry.value(experiment, x)
    elif against == "epsilon":
        x, y = np.array(EPSILONS), catalogue.against_epsilon(entry, experiment, EPSILONS)
    else:
        x, y = np.array(ARMS, float), catalogue.against_arms(entry, experiment, ARMS)
    y = np.where(y > 0, y, np.nan)
    if not np.isfinite(y).any() or (bound.superseded and not superseded):
        return None
    look = {"colour": theme.GREY, "dash": "longdash"} if bound.superseded else {}
    name, colour = f"{bound.sign} {escape(bound.label)}", theme.LOOKS[bound.model].colour
    fields: dict[str, Any] = {"colour": colour, "name": name, "hover": "%{y:,.4~g}", "width": 2.5, **look}
    across = charts.log_axis("budget ε  (← more private · less private →)", tickvals=BUDGET_TICKS)
    if against == "users":
        across = {"title": "users so far", **charts.USERS_LOG}
    elif against == "arms":
        across = charts.log_axis("arms K", tickvals=ARMS)
    up = charts.log_axis("regret", *np.log10([np.nanmin(y), np.nanmax(y)]))
    curve = charts.bound_curve(bound, x, y, more={"showlegend": True}, **fields)
    return charts.draw([curve], across, up, 340, dark)


def picture(entry: Entry, experiment: Experiment) -> None:
    """The chart of the open card, or why there is none."""
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    against: str = page_fields.ask(_AXIS, left)
    help = "They are wrong as printed. Their card says why."
    drawn = page_fields.ask(
        Field("old", "Show superseded bounds, in grey", False, help, "switch", key="theory-old"), right
    )
    what = f"{entry.bound.label} against {AXES[against]}"
    make = partial(chart, entry, experiment, against, drawn)
    if figures.draw("theory-chart", experiment, make, what, entry.key, against, drawn) is None:
        if entry.bound.superseded and not drawn:
            st.caption("This bound is superseded. The switch draws it.")
        else:
            st.caption("Nothing to draw: the bound does not apply, or its value is not known.")
    elif entry.bound.kind != "problem-dependent":
        st.caption(f"A {entry.bound.kind} bound {KIND_WORDS[entry.bound.kind]}, not of those in the sidebar.")
    else:
        st.caption("The curve ends where always playing the worst arm would lose less.")


# ---------------------------------------------------------------------------------------------------------------------
# What the Theory page shows first: what "private" may mean.


FIRST_PROMISES: Model = "central"


def choice() -> Model:
    """Which promise to look at; kept in the address."""
    names = {name: definition.title for name, definition in DEFINITIONS.items()}
    help = "What people mean when they call a learner private."
    chosen: Model = page_fields.ask(
        Field("promise", "Privacy guarantee", FIRST_PROMISES, help, "buttons", names, key="theory-promise")
    )
    return chosen


def pictures(chosen: Model, dark: bool) -> None:
    """The map of implications beside the graphical model of the chosen promise."""
    left, right = st.container(key="theory-pictures").columns(2)
    with left:
        st.markdown("**Which guarantee implies which**")
        st.image(diagrams.implications(chosen, dark), width=460, alt=diagrams.implications_in_words())
    with right:
        st.markdown(f"**{DEFINITIONS[chosen].title}**: dashed is hidden, filled is seen")
        st.image(diagrams.promise(chosen, dark), width=460, alt=diagrams.promise_in_words(chosen))


def in_words(chosen: Model) -> None:
    """The chosen promise in plain words and as a formula, and its arrows."""
    definition = DEFINITIONS[chosen]
    st.markdown(f"**{definition.title}.** {definition.says}")
    st.latex(definition.formula)
    st.markdown(
        f"- **Neighbours:** {definition.neighbouring}.\n"
        f"- **Trusted:** {definition.trusted}.\n"
        f"- **Seen:** {definition.seen}.\n"
        f"- **Example:** {definition.example}"
        + (f"\n- **Lower bounds:** {definition.lower}" if definition.lower else "")
    )
    with st.expander("Why these arrows, and why not others?", key="theory-arrows"):
        arrows = [
            f"- **{DEFINITIONS[each.source].title} ⇒ {DEFINITIONS[each.target].title}** with {each.mark}: {each.why}"
            for each in IMPLICATIONS
        ]
        arrows += [
            f"- **{DEFINITIONS[first].title} ⇏ {DEFINITIONS[second].title}**: {why}"
            for first, second, why in NOT_IMPLIED
        ]
        st.markdown("\n".join(arrows))
        st.caption(
            "Instantaneous and environment privacy: Basu, Dimitrakakis and Tossou 2019. The budgets of the "
            "implications are derived here."
        )
    with st.expander("What units does a budget have?", key="theory-units"):
        st.markdown(
            "\n".join(f"- **{measure.name}**, {measure.symbol}: {measure.says}" for measure in MEASURES.values())
            + "\n\nOne converts into another in one direction only: "
            + "; ".join(measure.conversion for measure in MEASURES.values() if measure.conversion)
            + "."
        )
