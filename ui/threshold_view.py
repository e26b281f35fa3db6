"""The parts of the Threshold page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, paths
from bandit_core.data.spreadsheets import defused_frame
from bandit_core.policies import registry
from bandit_core.simulation.results import Result, linear_fit
from bandit_core.spec import notation, own_data
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.errors import InputError
from bandit_core.spec.own_data import remembered
from bandit_core.studies import threshold_check
from bandit_core.theory import threshold as theory
from ui import charts, figures, gallery, lab_parts, page_fields, runner, state, templates, theme, words
from ui.page_fields import Field

EXAMPLES = {
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


def _with(experiment: Experiment, text: str) -> Experiment:
    """The experiment with this budget for every line that takes one, and the threshold chosen automatically."""
    document = experiment.spec()
    for line in document["lines"]:
        if registry()[line["policy"]].epsilon == "any":
            line["epsilon"] = notation.read_epsilon(text)
            line.pop("params", None)
            line.pop("label", None)
    return Experiment.model_validate(document)


def _use(text: str) -> None:
    """Callback: the experiment of the other pages gets these users."""
    state.open_own(_with(state.own_experiment(), text))


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
    page_fields.change(users, now, lambda name: _with(experiment, EXAMPLES.get(name, text)))
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
    bernoulli, laplace = words.number(searched.best_b), words.number(searched.best_l)
    below = f"below **ε = {bernoulli}**"
    if not np.isclose(searched.best_l, searched.best_b):
        below += f" with the Bernoulli mechanism, below **ε = {laplace}** with Laplace"
    weighed, least = (words.number(float(np.nanmin(each)), 2) for each in (searched.v_w, searched.v_b))
    return (
        f"**Weigh each answer by its noise, and ignore no one**: with the Bernoulli mechanism the predicted cost is "
        f"{weighed}, against {least} at the best threshold. A method that counts all answers alike (HeLDP-UCB-B, "
        f"HeLDP-UCB-L) should ignore users {below}."
    )


def slider(searched: Search, users: str) -> float:
    """The movable threshold; for every new distribution of ``users`` it opens at the Bernoulli mechanism's
    recommendation.
    """
    some = [*searched.thresholds[:: max(1, len(searched.thresholds) // 60)].tolist(), searched.best_l, searched.best_b]
    options = sorted({f"{value:.3g}": value for value in some}.values())  # one for every text on the slider
    return st.select_slider(
        "Threshold ε_min: ← keep more users · keep clearer answers →",
        options,
        searched.best_b,
        key=state.key(f"threshold {users}"),
        help=f"Answers of users with a smaller ε are discarded. {words.PUBLIC['eps_min']}",
        format_func=lambda value: f"{value:.3g}",
    )


def cost_chart(searched: Search, threshold: float, dark: bool) -> go.Figure:
    """V_L, V_B and V_w against the threshold, minima marked, logarithmic."""
    curves: list[charts.Curve] = []
    look: dict[str, Any] = {"mode": "lines+markers"} if len(searched.thresholds) < 20 else {}
    for name, values, best, title in (
        ("heldp-ucb-l", searched.v_l, searched.best_l, "V_L (Laplace)"),
        ("heldp-ucb-b", searched.v_b, searched.best_b, "V_B (Bernoulli)"),
        ("heldp-ucb-bw", searched.v_w, float(searched.thresholds[0]), "V_w (Bernoulli, weighed)"),
    ):
        colour, hover = theme.policy_colour(name, dark), "recommended<extra></extra>"
        star = {"mode": "markers", "marker": {"size": 13, "symbol": "star", "color": colour}}
        curves.append(charts.Curve(searched.thresholds, values, title, colour, "%{y:,.4~g}", more=look))
        lowest = [float(np.nanmin(values))]
        curves.append(charts.Curve([best], lowest, f"lowest at {best:.3g}", colour, hover, more=star))
    costs = np.concatenate([searched.v_l, searched.v_b, searched.v_w])
    costs = costs[np.isfinite(costs)]
    wide = len(costs) > 0 and costs.max() > 3000 * costs.min()
    across = charts.log_axis("threshold ε_min", *np.log10(searched.thresholds[[0, -1]]), tickangle=0)
    up = charts.log_axis("predicted cost V", dtick=1 if wide else "D2")
    return charts.draw(curves, across, up, lab_parts.HEIGHT, dark, [charts.Mark(threshold)])


def made(experiment: Experiment, distribution: BudgetDistribution) -> dict[str, Any]:
    """What the predicted costs follow from; nothing in them is random."""
    return {
        "spec": experiment.spec(),
        "distribution": notation.write_epsilon(distribution),
        "versions": {"private-bandit-lab": paths.project_version()},
    }


def legend(searched: Search, distribution: BudgetDistribution, threshold: float) -> str:
    """What the chosen threshold keeps and costs, and what is marked."""
    ratios = [
        words.number(cost(distribution, threshold) / float(np.nanmin(every)), 2)
        for cost, every in ((theory.v_b, searched.v_b), (theory.v_l, searched.v_l))
    ]
    share = f"{100 * distribution.share_above(threshold):.3g}%"
    return (
        f"Dashed: ε_min = {threshold:.3g} keeps {share} of the users. Cost relative to the lowest (stars): "
        f"{ratios[0]} with Bernoulli, {ratios[1]} with Laplace. With weights (V_w) ignoring users "
        "never helps."
    )


def kept_users(experiment: Experiment, distribution: BudgetDistribution, threshold: float) -> None:
    """How the budgets are spread, and the threshold."""
    make = partial(charts.density_chart, distribution, threshold, height=330)
    what = partial(charts.read_users_aloud, distribution, threshold)
    figures.draw("density", experiment, make, what, threshold)
    v_l, v_b, v_w = (cost(distribution, threshold) for cost in (theory.v_l, theory.v_b, theory.v_w))
    st.caption(
        f"Dashed: ε_min = {threshold:.3g}. Share of users kept: p₀ = {distribution.share_above(threshold):.3f}; "
        f"V_L = {words.number(v_l)}, V_B = {words.number(v_b)}, V_w = {words.number(v_w)}. {words.PUBLIC['budgets']} "
        f"{words.PUBLIC['eps_min']}"
    )


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
    # The sidebar gets the controls of the check.
    if page_fields.ask(switch, on_change=lambda: state.adopt(state.experiment())):
        result = runner.result_of(check_users(check), "threshold")
        if result is not None:
            check_panel(result)


def check_experiment(distribution: BudgetDistribution) -> Experiment | None:
    """Both mechanisms at several thresholds on the arms of the sidebar; None, told in words, where they refuse.

    It has users enough for the prediction to be right, whatever the sidebar's horizon (`check_users` changes that).
    """
    base = state.experiment()
    try:
        base = base.with_changes(
            horizon=max(base.horizon, threshold_check.ENOUGH_USERS), trials=min(base.trials, CHECK_TRIALS)
        )
        return threshold_check.experiment_of(base, distribution, threshold_check.spread_thresholds(distribution))
    except InputError as error:
        st.info(f"The check cannot run with these arms:\n{words.issues(error.issues[:1])}")
        return None


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
    for policy, (name, _) in threshold_check.MECHANISMS.items():
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
    if r_squared >= threshold_check.STRAIGHT:
        return "The points lie close to the line: here V predicts what each threshold costs."
    early = " V describes many users: try more." if users < threshold_check.ENOUGH_USERS else ""
    return f"The points do not lie close to a line: here V predicts the regret only roughly.{early}"


def check_panel(result: Result) -> None:
    """Regret against V with the linear fit, and every point as a link to its curve."""
    points = threshold_check.points(result)
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
    st.markdown(templates.text("threshold.md"))
    st.latex(
        r"V_L=\frac1{p_0}\,\mathbb E\Big[\big(1+\tfrac4{\varepsilon}\big)^2"
        r"\,\Big|\,\varepsilon\ge\varepsilon_{\min}\Big],\qquad "
        r"V_B=\frac1{p_0}\,\mathbb E\Big[\Big(\tfrac{e^{\varepsilon}+1}{e^{\varepsilon}-1}\Big)^2"
        r"\,\Big|\,\varepsilon\ge\varepsilon_{\min}\Big],\qquad "
        r"V_w=1\Big/\mathbb E\Big[\tanh^2\tfrac{\varepsilon}2\,\mathbf 1\{\varepsilon\ge\varepsilon_{\min}\}\Big]"
    )
    st.caption(
        "V_L and V_B: Ren et al. 2020, section 4.2, with the conditioning on ε ≥ ε_min that the printed definition "
        "lacks (without it both are infinite if some users share nothing). V_w: HeLDP-UCB-BW, proved in this project."
    )
