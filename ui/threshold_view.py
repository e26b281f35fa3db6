"""The parts of the Threshold page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, paths
from bandit_core.data.spreadsheets import defused_frame
from bandit_core.simulation.results import Result, linear_fit
from bandit_core.spec import notation, own_data
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import percent
from bandit_core.spec.own_data import remembered
from bandit_core.studies import sweep
from bandit_core.theory import threshold as theory
from ui import charts, figures, gallery, lab_parts, page_fields, runner, state, stylesheet, theme, words
from ui.page_fields import Field
from ui.page_requirements import with_users

EXAMPLES = {
    "Uniform between 0 and 2": "uniform(0, 2)",
    "Ren et al.: five groups of users": "discrete(0, 0.2, 1, 2, 100)",
    "Ren et al.: bell-shaped, about a sixth shares nothing": "clamped-gaussian(1, 1, 0, 100)",
    "Spread over orders of magnitude": "lognormal(1, 1)",
}
CHECK_USERS = tuple(10**power for power in range(4, 9))
CHECK_TRIALS = 4  # of ten million users and more; their regrets hardly differ


@dataclass(frozen=True)
class Search:
    """The whole searched curve and its minima."""

    thresholds: np.ndarray
    kept: np.ndarray
    v_l: np.ndarray
    v_b: np.ndarray
    v_w: np.ndarray
    best_l: float
    best_b: float


def _use(text: str) -> None:
    """Callback: the experiment of the other pages gets these users."""
    state.open_own(with_users(state.own_experiment(), text))


def distribution(experiment: Experiment) -> BudgetDistribution:
    """The distribution of budgets that most lines have."""
    budgets = Counter(line.epsilon for line in experiment.lines if line.epsilon is not None)
    return next(each for each, _ in budgets.most_common() if each.fixed is None)


def other_users(experiment: Experiment, spread: BudgetDistribution) -> None:
    """Ways to other distributions, and of this one to the other pages."""
    text = notation.write_epsilon(spread)
    named = {"".join(text.split()): name for name, text in EXAMPLES.items()}
    now = named.get("".join(text.split()), "as in the sidebar")
    users = Field(
        "threshold-users", "Users", "", "How ε varies from user to user; the sidebar takes any other. "
        f"{words.PUBLIC['budgets']}", "box", tuple(dict.fromkeys((now, *EXAMPLES))),
    )  # fmt: skip
    page_fields.change(users, now, lambda name: with_users(experiment, EXAMPLES.get(name, text)))
    if state.example_of() and any(line.entry.epsilon == "any" for line in state.own_experiment().lines):
        st.button(
            "Use these users on the other pages",
            key="threshold-use",
            on_click=own_data.bound(_use),
            args=(text,),
            help=f"Gives this spread of ε to each policy there that takes one: {text}.",
        )


@remembered(64)
def search(users: BudgetDistribution) -> Search:
    """V_L, V_B and V_w on the whole grid of thresholds."""
    grid, kept, v_l, v_b, v_w = theory.search(users)
    return Search(grid, kept, v_l, v_b, v_w, theory.recommended(users, "v_l"), theory.recommended(users, "v_b"))


def verdict(searched: Search) -> str:
    """The recommendation in sentences."""
    weighed, least = (words.number(float(np.nanmin(each)), 2) for each in (searched.v_w, searched.v_b))
    return (
        f"**Weigh each answer by its noise, and ignore no one**: predicted cost {weighed}, against {least} at the best "
        f"threshold. If all answers count alike, ignore users below **ε = {words.number(searched.best_b)}**."
    )


def slider(searched: Search, spread: BudgetDistribution) -> float:
    """The movable threshold, on the ε of the picture; for every new distribution it opens at the Bernoulli mechanism's
    recommendation.
    """
    best = searched.best_b, searched.best_l
    low, high = charts.budget_range(spread)
    grid = (float(f"{value:.3g}") for value in np.linspace(low, max(high, *best), 60))
    some = searched.thresholds.tolist() if charts.grouped(spread) else grid
    options = sorted({f"{value:.3g}": value for value in (*some, *best)}.values())  # one for every text
    field = Field(
        "min", "Threshold ε_min: ← keep more users · keep clearer answers →", searched.best_b,
        f"Answers of users with a smaller ε are discarded. {words.PUBLIC['eps_min']}",
        allowed=tuple(options), write="{:.3g}".format, key="threshold",
    )  # fmt: skip
    return float(page_fields.ask(page_fields.about(field, spread.model_dump_json())))


def clicked() -> None:
    """Callback: the threshold moves to the point of a curve that was clicked."""
    points = [point for point in st.session_state["cost"].selection.points if "customdata" in point]
    if points:
        page_fields.put("min", points[0]["customdata"])


def cost_chart(searched: Search, spread: BudgetDistribution, threshold: float, dark: bool) -> go.Figure:
    """The users' budgets, and below on the same axis V_L, V_B and V_w against the threshold, minima marked."""
    figure, kept = charts.density_chart(spread, threshold, dark, lab_parts.HEIGHT), charts.grouped(spread)
    across = charts.group_names(searched.thresholds) if kept else searched.thresholds
    _, high = charts.budget_range(spread)
    seen = np.full(len(searched.thresholds), True) if kept else (searched.thresholds <= high)
    lowest = []
    for name, values, cost, best, title in (
        ("heldp-ucb-l", searched.v_l, theory.v_l, searched.best_l, "V_L (Laplace)"),
        ("heldp-ucb-b", searched.v_b, theory.v_b, searched.best_b, "V_B (Bernoulli)"),
        ("heldp-ucb-bw", searched.v_w, theory.v_w, float(searched.thresholds[0]), "V_w (Bernoulli, weighed)"),
    ):
        colour = theme.policy_colour(name, dark)
        lowest.append(cost(spread, best))
        marker = {"size": 13, "symbol": "star", "color": colour}
        star = {"mode": "markers", "marker": marker, "yaxis": "y2", "cliponaxis": False, "customdata": [f"{best:.3g}"]}
        star["unselected"] = {"marker": {"opacity": 1}}
        hover, at = f"lowest at {best:.3g}: %{{y:,.4~g}}<extra></extra>", charts.group_names([best]) if kept else [best]
        dots = {"opacity": float(kept)}  # a point of a curve can be clicked, seen or not
        look: dict[str, Any] = {"mode": "lines+markers", "yaxis": "y2", "marker": {"size": 9, **dots}}
        look |= {"selected": {"marker": dots}, "unselected": {"marker": dots}}
        look["customdata"] = [f"{value:.3g}" for value in searched.thresholds]
        dash = "dash" if cost is theory.v_w else None  # its colour is near that of V_L on dark ground
        curve = charts.Curve(across, values, title, colour, "%{y:,.4~g}", dash, more=look)
        minimum = charts.Curve(at, lowest[-1:], "", colour, hover, listed=False, more=star)
        figure.add_traces([*curve.traces(), *minimum.traces()])
    costs = np.concatenate([each[seen] for each in (searched.v_l, searched.v_b, searched.v_w)])
    most = min(float(costs[np.isfinite(costs)].max(initial=1.0)), 50 * min(lowest))
    ends = np.log10([min(lowest) / 1.5, 1.5 * most])
    figure.update_shapes(yref="paper")
    figure.layout.yaxis.update(domain=(0.68, 1), title=None)
    up = charts.log_axis("predicted cost V", *ends, range=ends, tickfont={"size": charts.SIZE})
    figure.layout.yaxis2 = {**up, "domain": (0, 0.6), "anchor": "x"}
    figure.layout.xaxis.update(anchor="y2", title="ε of a user, and threshold ε_min")
    if not kept:
        figure.layout.xaxis.range = (0, max(high, threshold))
    figure.layout.showlegend = True
    return figure


def made(experiment: Experiment, distribution: BudgetDistribution) -> dict[str, Any]:
    """What the predicted costs follow from; nothing in them is random."""
    return {
        "spec": experiment.spec(),
        "distribution": notation.write_epsilon(distribution),
        "versions": {"private-bandit-lab": paths.project_version()},
    }


def legend(searched: Search, spread: BudgetDistribution, threshold: float) -> str:
    """What the chosen threshold keeps and costs, and what is marked."""
    v_l, v_b = (words.number(cost(spread, threshold), 2) for cost in (theory.v_l, theory.v_b))
    return (
        f"Above, the users; grey are ignored: ε_min = {threshold:.3g} keeps {percent(spread.share_above(threshold))}. "
        f"Below, the predicted cost: V_B = {v_b} and V_L = {v_l} there. Stars: lowest; with Laplace noise at "
        f"{words.number(searched.best_l)}. With weights (V_w) ignoring users never helps. "
        "Click a curve to move ε_min there."
    )


def played(experiment: Experiment, spread: BudgetDistribution, threshold: float, best: float) -> Experiment | None:
    """The chosen threshold, the best one and weighed bits on the arms of the sidebar; None, reported, where they
    refuse."""
    epsilon = spread.model_dump(mode="json", exclude_none=True)
    lines: list[dict[str, Any]] = [
        {"policy": "heldp-ucb-b", "epsilon": epsilon, "params": {"eps_min": value}, "label": f"{name} {value:.3g}"}
        for value, name in {threshold: "threshold", best: "best threshold"}.items()
    ]
    lines.append({"policy": sweep.WEIGHED, "epsilon": epsilon, "label": "weighed"})
    return _accepted(lambda: experiment.with_changes(lines=lines, view={"bounds": False}, title="", note=""))


def simulated(experiment: Experiment, spread: BudgetDistribution, threshold: float, best: float) -> None:
    """Regret at the chosen threshold, at the best one, and with weights."""
    asked = played(experiment, spread, threshold, best)
    result = None if asked is None else runner.result_of(asked, "threshold-regret")
    if result is None:
        return
    ends = [
        f"{words.number(float(line.mean[-1]), 2)} ({words.plain(result.experiment.label(number))})"
        for number, line in enumerate(result.lines)
        if line is not None
    ]
    st.markdown(
        f"**In simulation**, lost rewards after {words.count(result.experiment.horizon)} users: {', '.join(ends)}."
    )
    draw = partial(charts.regret_chart, result, height=lab_parts.HEIGHT, direct_labels=not theme.is_phone())
    figures.draw("threshold-regret", result, draw, partial(charts.describe, result), theme.is_phone())


def _accepted(make: Callable[[], Experiment]) -> Experiment | None:
    """What is made; None, and why, where the arms of the sidebar refuse it."""
    try:
        return make()
    except InputError as error:
        st.info(f"The simulation cannot run with these arms:\n{words.issues(error.issues[:1])}")
        return None


def check_fold(distribution: BudgetDistribution) -> None:
    """The check by simulation, once it is asked for."""
    st.markdown(
        "The check simulates both mechanisms at several thresholds, and weighed bits, with many users. If the "
        "prediction is right, the points of regret against V lie on a straight line."
    )
    check = check_experiment(distribution)
    if check is None:
        return
    switch = Field("check", "Check by simulation", False, size_words(check), "switch")
    if page_fields.ask(switch):
        result = runner.result_of(check_users(check), "threshold")
        if result is not None:
            check_panel(result)


def check_experiment(distribution: BudgetDistribution) -> Experiment | None:
    """Both mechanisms at several thresholds on the arms of the sidebar; None, told in words, where they refuse.

    It has users enough for the prediction to be right, whatever the sidebar's horizon (`check_users` changes that).
    """
    base = state.experiment()
    users, trials = max(base.horizon, sweep.ENOUGH_USERS), min(base.trials, CHECK_TRIALS)
    thresholds = sweep.spread_thresholds(distribution)
    return _accepted(
        lambda: sweep.experiment_of(base.with_changes(horizon=users, trials=trials), distribution, thresholds)
    )


def size_words(check: Experiment) -> str:
    """How large the check is."""
    return f"{len(check.lines)} policies, {words.count(check.horizon)} users, {check.trials} trials each."


def check_users(check: Experiment) -> Experiment:
    """The check at another number of users, if the visitor wants one."""
    users = st.select_slider(
        "Users of the check",
        sorted({*CHECK_USERS, check.horizon}),
        check.horizon,
        key=state.key(f"check-users {check.horizon}"),
        format_func=words.count,
        help="V predicts regret in the long run only. With fewer users the points leave the line.",
    )
    return check.with_changes(horizon=users)


def fit_chart(points: pd.DataFrame, dark: bool) -> go.Figure:
    """Regret against V, a point per line with two standard errors, and the straight line through all of them."""
    fit = linear_fit(points["v"].to_numpy(), points["regret"].to_numpy())
    grid = np.array([points["v"].min(), points["v"].max()])
    curves = [charts.Curve(grid, fit[1] + fit[0] * grid, "linear fit", "#888888", dash="dash", width=2)]
    for policy, (name, _) in sweep.MECHANISMS.items():
        part = points[points["policy"] == policy]
        if part.empty:
            continue
        more = {
            "mode": "markers",
            "marker": {"size": 10, "color": theme.policy_colour(policy, dark)},
            "error_y": {"type": "data", "array": 2 * part["stderr"]},
            "text": part["label"],
        }
        hover = "%{text}<br>V = %{x:.4~g}, regret = %{y:,.4~g}<extra></extra>"
        curves.append(charts.Curve(part["v"], part["regret"], f"{name} (± 2 standard errors)", hover=hover, more=more))
    across = {"title": "V (V_L for Laplace, V_B for Bernoulli, V_w weighed)", **charts.AMOUNTS}
    return charts.draw(curves, across, {"title": "regret at the horizon", **charts.AMOUNTS}, 420, dark, closest=True)


def line_words(r_squared: float, users: int) -> str:
    """What the fit says about the prediction."""
    if r_squared >= sweep.STRAIGHT:
        return "The points lie close to the line: here V predicts what each threshold costs."
    early = " V describes many users: try more." if users < sweep.ENOUGH_USERS else ""
    return f"The points do not lie close to a line: here V predicts the regret only roughly.{early}"


def check_panel(result: Result) -> None:
    """Regret against V with the linear fit, and every point as a link to its curve."""
    points = sweep.points(result)
    if len(points) < 2:
        return
    fit = linear_fit(points["v"].to_numpy(), points["regret"].to_numpy())
    st.markdown(
        f"Regret ≈ {words.number(fit[1])} + {words.number(fit[0])} · V with **R² = {fit[2]:.4f}** over "
        f"{len(points)} points at {words.count(result.experiment.horizon)} users. "
        + line_words(fit[2], result.experiment.horizon)
    )
    figures.plot(fit_chart(points, theme.is_dark()), "fit", alt=f"Regret against V; R squared {fit[2]:.4f}")
    shown = defused_frame(points.drop(columns="line"))
    st.dataframe(shown, hide_index=True, width="stretch", alt="Regret against V as a table")
    gallery.link_to_explore("Open these curves in Explore", result.experiment)


def explanation() -> None:
    """How the recommendation is computed."""
    st.markdown(stylesheet.asset("threshold.md"))
    st.latex(
        r"V_L=\frac1{p_0}\,\mathbb E\Big[\big(1+\tfrac4{\varepsilon}\big)^2"
        r"\,\Big|\,\varepsilon\ge\varepsilon_{\min}\Big],\qquad "
        r"V_B=\frac1{p_0}\,\mathbb E\Big[\Big(\tfrac{e^{\varepsilon}+1}{e^{\varepsilon}-1}\Big)^2"
        r"\,\Big|\,\varepsilon\ge\varepsilon_{\min}\Big],\qquad "
        r"V_w=1\Big/\mathbb E\Big[\tanh^2\tfrac{\varepsilon}2\,\mathbf 1\{\varepsilon\ge\varepsilon_{\min}\}\Big]"
    )
    st.caption(
        "V_L and V_B: Ren et al. 2020, section 4.2, with the conditioning on ε ≥ ε_min that the printed definition "
        "lacks (without it both are infinite if some users share nothing). V_w: HeLDP-UCB-BW, proved in this project. "
        f"{words.PUBLIC['budgets']} {words.PUBLIC['eps_min']}"
    )
