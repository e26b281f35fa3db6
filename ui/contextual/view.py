"""The parts of the page Users with features, and what its controls say of the experiment."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.auditing.runs import POLICIES as SENDERS
from bandit_core.auditing.runs import Messages, Users, first_users, messages
from bandit_core.experiments.presets import load_preset
from bandit_core.model.policy import Bound
from bandit_core.simulation.costs import cost, estimated_seconds, refuse
from bandit_core.simulation.results import Result
from bandit_core.spec.contexts import Contexts, Margin, Table
from bandit_core.spec.errors import Issue
from bandit_core.theory import contextual as theory
from ui import charts, figures, lab_parts, page_fields, shared, stylesheet, theme, words
from ui.page_fields import Field, Fields

# ---------------------------------------------------------------------------------------------------------------------
# The setting of the Contextual page: how many features and options, how rare close calls are, in the experiment.


DIMENSIONS = (2, 3, 5, 8)
ARMS = (2, 3, 5, 10, 20)
BETAS = tuple(round(0.1 * step, 1) for step in range(11))
_FORMER = Fields(  # fields of the address in former links
    "contextual",
    Field("eps", "", 1.0, "", allowed=(0.2, 8.0), place="epsilon"),
    Field("d", "", 2, "", allowed=DIMENSIONS, place="dimension"),
    Field("K", "", 2, "", allowed=ARMS, place="arms"),
    Field("beta", "", 0.5, "", allowed=BETAS, place="beta"),
    Field("upto", "", 1000, "", allowed=(1000, 300_000), place="horizon"),
)
BETA_HELP = (
    "The share of users whose two best options differ by at most h grows like h^β. β = 0: nearly equal options are "
    "common; β = 1: they are rare."
)


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    """The experiment with another ``dimension``, number of ``arms`` or margin exponent ``beta``.

    Raises
    ------
    InputError
        Where the experiment refuses that.
    """
    contexts = experiment.spec()["contexts"]
    if "beta" in fields:
        contexts["law"] = {"kind": "margin", "beta": fields["beta"]}
    contexts |= {name: value for name, value in fields.items() if name != "beta"}
    return experiment.with_changes(contexts=contexts)


def of_fields(fields: dict[str, str]) -> tuple[Experiment, list[Issue]]:
    """The experiment that a link in the page's former fields asks for, and what is wrong with it."""
    said, issues = _FORMER.read(fields)
    epsilon, horizon = said.pop("epsilon", None), said.pop("horizon", None)
    experiment = load_preset("users-with-features")
    lines = experiment.spec()["lines"]
    for line in lines:
        if "epsilon" in line and epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": epsilon}
    experiment = experiment.with_changes(lines=lines, horizon=horizon or experiment.horizon)
    return changed(experiment, **said) if said else experiment, issues


# ---------------------------------------------------------------------------------------------------------------------
# The parts of the Contextual page.


MAX_SECONDS = 1.0  # of drawing the users whose messages are shown; else there is no such picture
SHOWN_USERS = 5
USERS = {"title": "users so far", **charts.USERS_LOG}
_CONTROLS = (
    Field("contextual-dimension", "Features", 2, "Numbers in a context (dimension d).", allowed=DIMENSIONS,
          place="dimension"),
    Field("contextual-arms", "Options (arms)", 2, "How many options there are for every user.", allowed=ARMS,
          place="arms"),
    Field("contextual-beta", "Margin exponent β: ← close calls are common · rare →", 0.5, BETA_HELP,
          allowed=BETAS, place="beta"),
)  # fmt: skip
_BETA = Field(  # of the shapes; it changes no user
    "shapes_beta", "Margin exponent β of the shapes: ← close calls are common · rare →", 0.5, BETA_HELP,
    allowed=BETAS, key="contextual-beta",
)  # fmt: skip
_GREEDY = ("ldp-ols", "ldp-sgd")  # the policies that the margin theorems speak of


def controls(experiment: Experiment) -> None:
    """How many features and options there are, and how rare close calls are, as controls that change the experiment."""
    contexts = experiment.contexts
    assert contexts is not None
    if isinstance(contexts.law, Table) or len(contexts.given):
        return  # a data set, or a theta that is written out, fixes them

    for field, place in zip(_CONTROLS, st.columns(3), strict=True):
        value = getattr(contexts.law if field.place == "beta" else contexts, field.place, None)
        if value is not None:
            page_fields.change(field, value, partial(changed, experiment), place)


# ---------------------------------------------------------------------------------------------------------------
# What leaves the phone


def _sending_lines(experiment: Experiment) -> Experiment | None:
    """The experiment with one line for each policy whose messages can be shown, at the budget of its lines."""
    budgets = [line.epsilon for line in experiment.lines if line.epsilon is not None and line.epsilon.fixed is not None]
    epsilon = budgets[0].fixed if budgets else 1.0
    lines = []
    for policy in SENDERS:
        own = [line for line in experiment.spec()["lines"] if line["policy"] == policy]
        line = own[0] if own else {"policy": policy, "epsilon": {"kind": "fixed", "value": epsilon}}
        try:
            experiment.with_changes(lines=[line], view={})
        except InputError:  # least squares behind a curved link
            continue
        lines.append(line)
    return experiment.with_changes(lines=lines, view={}) if lines else None


def _sent_messages(experiment: Experiment) -> tuple[Users, list[Messages]]:
    assert experiment.contexts is not None
    users = first_users(experiment.contexts, experiment.seed, SHOWN_USERS)
    return users, [messages(experiment, line, users, (experiment.seed, line)) for line in range(len(experiment.lines))]


def _vectors(points: np.ndarray, colour: str, circle: float, dark: bool) -> go.Figure:
    """Numbered arrows from 0 (the first two features), and the circle of radius ``circle`` for scale."""
    flat = np.column_stack([points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))])
    reach, angles = 1.2 * max(circle, float(np.abs(flat).max())), np.linspace(0, 2 * np.pi, 90)
    filled = {"fill": "toself", "fillcolor": "rgba(138,148,158,0.25)"}
    curves = [charts.Curve(circle * np.cos(angles), circle * np.sin(angles), hover="", width=1.5, more=filled)]
    heads = {"mode": "lines+markers", "marker": {"size": [0, 18], "color": colour}, "cliponaxis": False}
    shade, number_font = theme.transparent(colour, 0.6), {"size": 13, "color": theme.readable_on(colour)}
    for number, (x, y) in enumerate(flat, 1):
        hover = f"user {number}: (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>"
        curves.append(charts.Curve([0, x], [0, y], "", shade, hover, width=1.5, more=heads))
    step = max(nice for nice in (10.0**power * base for power in range(-3, 6) for base in (1, 2, 5)) if nice <= reach)
    square = {"range": [-reach, reach], "zeroline": False, "constrain": "domain", "tickvals": [-step, 0, step]}
    up = {"title": "feature 2", "scaleanchor": "x", **square}
    figure = charts.draw(curves, {"title": "feature 1", **square}, up, 300, dark, closest=True)
    for number, (x, y) in enumerate(flat, 1):
        figure.add_annotation(x=x, y=y, text=str(number), showarrow=False, font=number_font)
    figure.layout.showlegend = False
    return figure


def _tuple(values: np.ndarray) -> str:
    """``(0.61, −0.79, 0.2, …)``."""
    shown = ", ".join(f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}" for value in values[:3])
    return f"({shown}{', …' if len(values) > 3 else ''})".replace("-", "−")


def _needed(sent: Messages) -> str:
    """How many messages it takes until their mean is known to a tenth."""
    return words.count(int(float(f"{(sent.spread / 0.1) ** 2:.2g}")) or 1)


def messages_panel(experiment: Experiment) -> None:
    """A few contexts beside what the server receives instead."""
    small = _sending_lines(experiment)
    few = small and small.with_changes(title="", note="", horizon=SHOWN_USERS, trials=1)
    if few is None or not _is_quick(few):
        st.caption("No policy here sends a message for every user.")
        return
    with st.spinner("Drawing what the phones send. A new machine compiles first: about 10 s.", show_time=True):
        users, message = shared.once("messages", few, None, lambda: _sent_messages(few))
    dark = theme.is_dark()
    bound = float(np.linalg.norm(users.contexts, axis=1).max())

    def arrows(what: str, points: np.ndarray, colour: str, circle: float, words_before: str) -> None:
        alt = f"{words_before}: " + "; ".join(map(_tuple, points))
        make = partial(_vectors, points, colour, circle)
        figures.draw(what, few, make, lambda: alt, config=figures.QUIET)

    columns = st.columns(1 + len(message))
    with columns[0]:
        st.markdown(f"**What {SHOWN_USERS} phones know**")
        grey = "#c0c8d0" if dark else "#505860"
        arrows("raw-contexts", users.contexts, grey, min(1.0, bound), f"Contexts of {SHOWN_USERS} users")
        drawn = "" if users.contexts.shape[1] < 3 else " Drawn: the first two features."
        st.caption(f"Contexts, choices and rewards never leave the phones. The disc has radius 1.{drawn}")
    for column, sent in zip(columns[1:], message, strict=True):
        with column:
            st.markdown(f"**What the server gets: {_title(sent.policy)}**")
            colour, before = theme.policy_colour(sent.policy, dark), "Messages of the same users under"
            arrows(f"sent-{sent.policy}", sent.sent, colour, 1.0, f"{before} {_title(sent.policy)}")
            st.caption(_caption(sent))
    needed = " or ".join(f"**{_needed(each)}** {_title(each.policy)}" for each in message)
    st.markdown(
        "The noise of one message hides its user; the noise of many averages out. To know the mean to within 0.1 in "
        f"every feature, the server needs about {needed} messages."
    )

    def numbers() -> None:
        st.dataframe(_table(users, message), hide_index=True, width="stretch", alt="Contexts and private messages")
        if experiment.contexts is not None and experiment.contexts.structure == "multi":
            st.caption(
                "Here every arm has its own parameter. To hide the choice, a user answers for all arms, with pure "
                "noise for the arms not chosen. The table shows the answers for the chosen arm."
            )

    lab_parts.fold("The same messages as numbers", "messages-table", numbers)


def _is_quick(few: Experiment) -> bool:
    try:
        refuse(cost(few))  # types of users are drawn here as they are in a run
    except InputError:
        return False
    return estimated_seconds(few, 1) <= MAX_SECONDS


def _title(policy: str) -> str:
    return {"ldp-ols": "LDP-OLS", "ldp-sgd": "LDP-SGD"}[policy]


def _caption(sent: Messages) -> str:
    budget = f"ε = {sent.epsilon:g} per message"
    if sent.policy == "ldp-ols":
        return (
            f"Reward times context plus normal noise of standard deviation {words.number(sent.spread)} ({budget}). "
            "Without noise it would lie in the disc of radius 1."
        )
    reach = float(np.linalg.norm(sent.sent[0]))
    chance = "" if sent.side is None else f": for these users in {100 * sent.side:.0f} of 100 cases"
    return (
        f"A random point at distance {words.number(reach)} from 0, more often on the side of the truth{chance} "
        f"({budget}). Without noise it would lie in the disc of radius 1."
    )


def _table(users: Users, message: list[Messages]) -> pd.DataFrame:
    rows = []
    for user in range(len(users.arms)):
        row = {
            "user": str(user + 1),
            "context (stays)": _tuple(users.contexts[user]),
            "arm (stays)": str(users.arms[user] + 1),
            "reward (stays)": f"{users.rewards[user]:.2f}".replace("-", "−"),
        }
        for sent in message:
            row[f"{_title(sent.policy)} sends"] = _tuple(sent.sent[user])
            if sent.matrices is not None:
                row[f"and a matrix, first row ({_title(sent.policy)})"] = _tuple(sent.matrices[user, 0])
        rows.append(row)
    return pd.DataFrame(rows)


# ---------------------------------------------------------------------------------------------------------------
# What the server learns


def warm_up_words(result: Result) -> str:
    """How much of the picture is warm-up, where that is a good part of it; nothing where it is not."""
    shown = result.experiment
    if shown.contexts is None or shown.contexts.structure != "multi":
        return ""
    rounds = [int(getattr(instance.parameters, "warm_up", 0)) * shown.arm_count for instance in shown.setups]
    users = max(rounds, default=0)
    if users < shown.horizon / 4:
        return ""
    share = "All of these users" if users >= shown.horizon else f"Of these, the first {words.count(users)} users"
    return f" {share} are the warm-up, in which arms take turns. Learning shows later."


def _curves(result: Result, values: list[np.ndarray | None], dark: bool) -> list[charts.Curve]:
    """One curve per visible line against the number of users."""
    hidden, hover = result.experiment.view.hidden, "%{y:.3~g}"
    return [
        charts.line_curve(result.experiment, number, result.times, y.astype(np.float32), colour, hover=hover)
        for number, (colour, y) in enumerate(zip(theme.line_colours(result.experiment, dark), values, strict=True))
        if y is not None and number not in hidden
    ]


def error_chart(result: Result, dark: bool) -> go.Figure:
    """Mean distance of the estimated from the true theta."""
    values = [line.error.mean(axis=0) if line and line.error is not None else None for line in result.lines]
    heights = np.concatenate([curve for curve in values if curve is not None] or [np.ones(1)])
    wide = np.nanmax(heights) > 30 * max(np.nanmin(heights), 1e-300)  # else whole powers of ten leave the axis bare
    distance = charts.log_axis("distance of estimate from θ", dtick=1 if wide else None)
    contexts = result.experiment.contexts
    nothing = [charts.Mark(y=1, dash="dot")] if contexts is not None and not len(contexts.given) else []
    return charts.draw(_curves(result, values, dark), USERS, distance, 400, dark, nothing)


def error_words(result: Result) -> str:
    """What the picture of the estimate's error shows."""
    contexts = result.experiment.contexts
    dotted = "Dotted: knowing nothing, as θ has length 1. " if contexts is not None and not len(contexts.given) else ""
    return (
        f"{dotted}To choose well the direction of θ is enough, so a policy can choose well before its estimate is "
        "close."
    )


def share_chart(result: Result, dark: bool) -> go.Figure:
    """Share of users who got their best arm, between one checkpoint and the next few."""
    step, values = 8, []
    times = np.concatenate([np.zeros(step), result.times.astype(float)])
    for line in result.lines:
        won = None if line is None else np.concatenate([np.zeros(step), line.best_pulls.mean(axis=0)])
        values.append(None if won is None else (won[step:] - won[:-step]) / (times[step:] - times[:-step]))
    users, blind = {"title": "users so far", **charts.USERS}, charts.Mark(y=1 / result.experiment.arm_count, dash="dot")
    share = {"title": "share of best choices", "tickformat": ".0%", "range": [0, 1.03]}
    return charts.draw(_curves(result, values, dark), users, share, 400, dark, [blind])


def learned(result: Result) -> None:
    """How many of the latest users got their best option, and how far off the server's estimate is."""
    figures.beside(
        result,
        ("**How many users get what is best for them?**", "share", partial(share_chart, result), "Best choices",
         "Share among the latest users at each point. Dotted: choosing at random."),
        ("**How far off is the server's estimate of θ?**", "error", partial(error_chart, result),
         "Error of the estimate", error_words(result)),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Regimes


_SWITCH = Field(
    "orders", "Draw shapes", False, "Shapes of the theorems, whose constants are not known: curves may lie on either "
    "side.", "switch", key="contextual-orders",
)  # fmt: skip
_MULTIPLIER = Field(
    "C", "Multiplier C", 1.0, "The theorems give the order only, not the constant: move the shapes up and down until "
    "they can be compared with the curves.", "number", (0.001, 1e6), key="contextual-C",
)  # fmt: skip


def _shapes(contexts: Contexts, epsilon: float, beta: float, multiplier: float) -> list[tuple[str, Bound]]:
    """The shapes that apply, with the words for their order."""
    power = f"T^{(1 - beta) / 2:.2g} / ε^{1 + beta:.2g}"
    if contexts.structure == "multi":
        margin = (f"{'(ln T / ε)²' if beta == 1 else power}", theory.theorem_4_1(epsilon, beta, multiplier))
        bounds = [margin]
    else:
        margin = (f"{'ln T / ε²' if beta == 1 else power}", theory.theorem_3_3(epsilon, beta, multiplier))
        bounds = [margin, ("√T / ε, any gaps", theory.theorem_3_1(epsilon, multiplier))]
    bounds.append(("T^0.75 / ε, adversarial contexts", theory.zheng(epsilon, multiplier)))
    return [(order, bound) for order, bound in bounds if not bound.not_applicable]


def _greedy_curves(result: Result) -> list[np.ndarray | None]:
    """Mean regret of each line that the margin theorems speak of, where it is positive."""
    lines = zip(result.experiment.lines, result.lines, strict=True)
    return [
        np.where(line.mean > 0, line.mean, np.nan) if line is not None and stated.policy in _GREEDY else None
        for stated, line in lines
    ]


def regime_chart(result: Result, epsilon: float, beta: float, multiplier: float | None, dark: bool) -> go.Figure:
    """Measured regret of the greedy private policies on log-log axes with the shapes at ``beta``.

    No shapes are drawn where ``multiplier`` is None.
    """
    shown, curves = result.experiment, _curves(result, _greedy_curves(result), dark)
    assert shown.contexts is not None
    shapes = [] if multiplier is None else _shapes(shown.contexts, epsilon, beta, multiplier)
    for (order, bound), colour in zip(shapes, (theme.GREY, "#b08d57", "#7f8fb0"), strict=False):
        values = bound.values(result.times, shown.largest_gap).astype(np.float32)
        name = f"{bound.name}, order-only, {bound.drawn_with}: {order}"
        curves.append(charts.bound_curve(bound, result.times, values, colour, name=name, hover="%{y:.3~g}"))
    return charts.draw(curves, USERS, charts.log_axis("regret"), 420, dark)


def regimes_panel(result: Result) -> None:
    """The measured regret of the greedy private policies, and shapes of the theorems about them."""
    shown = result.experiment
    assert shown.contexts is not None
    st.markdown(
        "A learner most often chooses wrongly where two options are nearly equal for a user, and then it loses little. "
        "The margin exponent β says how rare such close calls are. By the theorems of Han et al., the regret of "
        "LDP-OLS and LDP-SGD then grows at most like √T where they are common (β = 0), like T^((1−β)/2) between, and "
        "like ln T where they are rare (β = 1). For the optimistic policies of Zheng et al. it is T^(3/4)."
    )
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    distribution = shown.contexts.law
    with left:
        if isinstance(distribution, Margin):
            beta = distribution.beta
            st.caption(f"The users of this experiment have β = {beta:g}.")
        else:
            beta = page_fields.ask(_BETA)
            st.caption(
                f"The users of this experiment ({distribution.words}) state no β: it moves the shapes, not the curves. "
                "Write margin(0.5) as their distribution to move both."
            )
    with right:
        asked = page_fields.ask(_SWITCH)
        multiplier = page_fields.ask(_MULTIPLIER) if asked else None
    private = [
        line.epsilon.fixed
        for line in shown.lines
        if line.policy in _GREEDY and line.epsilon is not None and line.epsilon.fixed is not None
    ]
    epsilon = private[0] if private else 1.0
    what = f"Regret with order-only shapes at beta = {beta:g}" if asked else "Regret"
    make = partial(regime_chart, result, epsilon, beta, multiplier)
    figures.draw("regimes", result, make, what, epsilon, beta, multiplier)
    if asked:
        st.caption(
            f"Shapes at β = {beta:g}, ε = {epsilon:g}: constants and logarithms are left out, and they speak of long "
            "horizons."
        )


def explanation(result: Result | None) -> None:
    """How the page is computed."""
    st.markdown(stylesheet.asset("features.md"))
    st.latex(r"R_T=\sum_{t\le T}\Big(\max_a\mu(x_{t,a}^{\top}\theta)-\mu(x_{t,a_t}^{\top}\theta)\Big)")
    st.caption(
        "Han, Liang, Wang, Zhang 2021 (LDP-OLS, LDP-SGD, margin); Zheng, Cai, Huang, Li, Wang 2020 (LDP-LinUCB, "
        "LDP-GLOC); Shariff and Sheffet 2018 (sums of a curator). The printed radius of the l2-ball mechanism "
        "is corrected here."
    )
    if result is not None:
        st.caption(shared.once("verdict", result, None, lambda: words.verdict(result)))
