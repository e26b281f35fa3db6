"""The parts of the Heavy tails page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InputError, Simulation, simulate
from bandit_core.experiments import links
from bandit_core.policies.heavy_family import epochs
from bandit_core.simulation.costs import estimated_seconds, worker_count
from bandit_core.simulation.results import Result
from bandit_core.spec.rewards import RewardDistribution
from bandit_core.theory import robust_mean
from ui import charts, epsilon_grid, page_fields, render_lock, runner, state, theme, words

MEANS = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}
INSTANCES = {
    "S1": "S1: evenly spread means",
    "S2": "S2: most arms far behind",
    "S3": "S3: most arms close",
    "own": "the arms of the sidebar",
}
DISTRIBUTIONS = {"pareto": "Pareto: never below a minimum, wild above", "student": "Student: wild on both sides"}
TRUST = {"central": "a curator is trusted", "local": "nobody is trusted"}
EXPONENTS = tuple(round(0.1 * step, 1) for step in range(2, 11))
HORIZONS = tuple(10**power for power in range(4, 10))
STEP_BY_STEP = 10**7  # beyond so many users, policies that need a step for each of them are left out
TRIALS = 30
TRIALS_AGAINST_V = 10
LONGEST_SECONDS = 30  # that the picture against v may take
SAMPLES = tuple(round(10 ** (step / 4)) for step in range(4, 29))
DEFAULT_V = 0.9


@dataclass(frozen=True)
class Choice:
    """What the page's own controls say."""

    instance: str
    distribution: str
    v: float
    epsilon: float
    trust: str
    users: int
    theory_constants: bool

    @property
    def estimator(self) -> robust_mean.Estimator:
        """How the private policy of this trust model estimates a mean."""
        return "epoch" if self.trust == "central" else "local"


def controls() -> Choice:
    """The page's controls; their values live in the address."""
    first, second, third = st.columns(3)
    instances = list(INSTANCES)
    instance = first.selectbox(
        "Arms",
        instances,
        instances.index(page_fields.choice("instance", "S1", INSTANCES)),
        format_func=INSTANCES.__getitem__,
        key="heavy-instance",
        help="Three instances of Tao et al. 2022 with five arms, or the arms of the sidebar, which you can edit there.",
    )
    distribution = second.selectbox(
        "Rewards",
        list(DISTRIBUTIONS),
        list(DISTRIBUTIONS).index(page_fields.choice("law", "pareto", DISTRIBUTIONS)),
        format_func=DISTRIBUTIONS.__getitem__,
        key="heavy-law",
        disabled=instance == "own",
        help="Both have finite moments below the order 1.05 + v only. Arms of the sidebar keep their own "
        "distributions.",
    )
    trust = third.selectbox(
        "Trust",
        list(TRUST),
        list(TRUST).index(page_fields.choice("trust", "central", TRUST)),
        format_func=TRUST.__getitem__,
        key="heavy-trust",
        help="Central DP: noise on sums. Local DP: noise on every single reward.",
    )
    first, second, third = st.columns(3)
    with first:
        v = page_fields.slider(
            "Exponent v: ← wilder · tamer →",
            "v",
            EXPONENTS,
            f"{DEFAULT_V:g}",
            "heavy-v",
            "Moments of order 1 + v are finite. v = 1: a finite variance; near 0: hardly more than a finite mean. "
            + words.PUBLIC["moments"],
        )
    with second:
        epsilon = page_fields.slider(
            "Budget ε: ← more private · less regret →",
            "budget",
            epsilon_grid.between(0.1, 20),
            "1",
            "heavy-epsilon",
            "The privacy budget. The theory of heavy tails covers ε up to 1.",
        )
    with third:
        users = page_fields.slider(
            "Users",
            "users",
            HORIZONS,
            "100000",
            "heavy-users",
            "How many users arrive in one run. Local privacy needs many millions before anything is learned.",
            lambda value: words.count(int(value)),
        )
    theory_constants = page_fields.toggle(
        "Constants of the theory (κ = 1)",
        "printed",
        "heavy-printed",
        "The printed constants instead of reduced ones. They make the first epoch last up to 10^15 pulls.",
    )
    for name, value, default in (
        ("instance", instance, "S1"),
        ("law", distribution, "pareto"),
        ("trust", trust, "central"),
    ):
        state.keep_page_field(name, value, default)
    return Choice(instance, distribution, v, epsilon, trust, int(users), theory_constants)


def _arms(choice: Choice) -> list[dict[str, Any]]:
    if choice.instance == "own":
        return state.experiment().spec()["arms"]
    shape = 1.05 + choice.v
    if choice.distribution == "pareto":
        return [{"kind": "pareto", "mean": mean, "shape": shape} for mean in MEANS[choice.instance]]
    return [{"kind": "student", "mean": mean, "scale": 0.2, "df": shape} for mean in MEANS[choice.instance]]


def _lines(choice: Choice) -> list[dict[str, Any]]:
    """The lines to compare; the last one is the policy that the page explains."""
    params: dict[str, Any] = {"v": choice.v} | ({"kappa": 1.0} if choice.theory_constants else {})
    epsilon = {"kind": "fixed", "value": choice.epsilon}
    short = choice.users <= STEP_BY_STEP
    lines: list[dict[str, Any]] = [{"policy": "robust-ucb", "params": params}] if short else []
    private = ["dp-robust-ucb"] if short and choice.trust == "central" else []
    private += ["dp-robust-se"] if choice.trust == "central" or not short else []
    private += ["ldp-robust-se"] if choice.trust == "local" else []
    return lines + [{"policy": name, "epsilon": epsilon, "params": params} for name in private]


def experiment_of(choice: Choice) -> Experiment | None:
    """The experiment of the page; tells why there is none."""
    if choice.instance == "own" and state.experiment().contexts is not None:
        st.info("The experiment of the sidebar has users with features, not arms: choose S1, S2 or S3.")
        return None
    document = {
        "title": "Heavy tails",
        "arms": _arms(choice),
        "lines": _lines(choice),
        "horizon": choice.users,
        "trials": TRIALS,
        "view": {"y": "log", "bounds": False},
    }
    try:
        return Experiment.model_validate(document)
    except InputError as error:
        for text in dict.fromkeys(issue.allowed for issue in error.issues):
            st.error(text[0].upper() + text[1:])
        return None


def sample_slider() -> int:
    """How many rewards of one arm have arrived."""
    return int(
        page_fields.slider(
            "Rewards of this arm so far: slide to see B grow",
            "rewards",
            SAMPLES,
            "1000",
            "heavy-n",
            "The level B grows with the number of rewards.",
            lambda value: words.count(int(value)),
        )
    )


def _rule(choice: Choice, experiment: Experiment) -> dict[str, Any]:
    """The truncation rule of the page's private policy, in its first epoch."""
    instance = experiment.setups[-1]
    factor = 4 if choice.trust == "central" else 8
    return {
        "v": choice.v,
        "u": instance.parameters.u,
        "epsilon": choice.epsilon,
        "estimator": choice.estimator,
        "logarithm": math.log(factor * len(instance.arms) * experiment.horizon),
    }


def _best_arm(experiment: Experiment) -> RewardDistribution:
    return experiment.single_arms[int(np.argmax(experiment.means))]


def _level(choice: Choice, experiment: Experiment, n: int) -> float:
    return float(robust_mean.truncation_level(n, **_rule(choice, experiment)))


def tail_chart(choice: Choice, experiment: Experiment, n: int, dark: bool) -> go.Figure:
    """Chance of a reward beyond x, log-log, with the part beyond B shaded."""
    distribution, level = _best_arm(experiment), _level(choice, experiment, n)
    largest = float(np.max(np.abs(distribution.quantile(np.array([5e-7, 1 - 5e-7])))))
    smallest = max(distribution.support[0], largest * 1e-6, 0.01 * abs(distribution.expected)) or 1e-3
    sizes = np.unique(np.append(np.geomspace(smallest, max(largest, 1.5 * level), 400), level))
    chances = robust_mean.chance_beyond(distribution, sizes)
    colour = theme.policy_colour("dp-robust-se" if choice.trust == "central" else "ldp-robust-se", dark)
    figure = go.Figure()
    figure.add_scatter(
        x=sizes,
        y=np.where(chances > 1e-7, chances, np.nan),
        mode="lines",
        name="rewards",
        line={"color": colour, "width": 2.5},
        hovertemplate="%{y:.2~%}",
    )
    beyond = (sizes >= level) & (chances > 1e-7)
    figure.add_scatter(
        x=sizes[beyond],
        y=chances[beyond],
        mode="lines",
        line={"width": 0},
        fill="tozeroy",
        fillcolor=theme.transparent(colour, 0.25),
        name="counted as 0",
        hoverinfo="skip",
    )
    figure.add_vline(x=level, line={"dash": "dash", "width": 1.5, "color": "#888888"})
    figure.add_annotation(
        x=math.log10(level), y=0.02, text=f"B = {level:.3g}", showarrow=False, xanchor="left", xshift=6
    )
    charts.style(figure, 340, dark)
    figure.update_layout(hovermode="closest")
    figure.update_xaxes(
        type="log", title="size of a reward", **charts.AMOUNTS, dtick=1, range=np.log10([smallest, 1.4 * sizes[-1]])
    )
    figure.update_yaxes(type="log", title="chance of more", **charts.AMOUNTS, dtick=1, range=[-6, 0.1])
    return figure


def tail_words(choice: Choice, experiment: Experiment, n: int) -> str:
    """How much is thrown away, as a share of rewards and of the mean."""
    distribution, level = _best_arm(experiment), _level(choice, experiment, n)
    first, _ = robust_mean.truncated_moments(distribution, level)
    lost = 1 - float(first) / distribution.expected if distribution.expected else 0.0
    return f"After {words.count(n)} rewards B = {level:.3g}: what lies beyond carries {lost:.1%} of the mean."


def error_chart(choice: Choice, experiment: Experiment, n: int, dark: bool) -> go.Figure:
    """Bias, privacy noise and sampling error of the private robust mean against the number of rewards."""
    grid = np.unique(np.round(np.geomspace(10, 1e7, 61)).astype(np.int64))
    frame = robust_mean.errors(_best_arm(experiment), grid, **_rule(choice, experiment))
    shades = ("#d55e00", "#0072b2", "#7a828a") if not dark else ("#f08838", "#58b7e0", "#aab2ba")
    figure = go.Figure()
    for name, label, shade in zip(
        ("bias", "noise", "sampling"), ("truncation (bias)", "privacy noise", "chance (sampling)"), shades, strict=True
    ):
        figure.add_scatter(
            x=frame["n"], y=frame[name].abs(), mode="lines", name=label, line={"color": shade, "width": 2.5},
            hovertemplate="%{y:.3~g}",
        )  # fmt: skip
    figure.add_vline(x=n, line={"dash": "dash", "width": 1.5, "color": "#888888"})
    charts.style(figure, 340, dark)
    figure.update_xaxes(title="rewards of the arm", **charts.USERS_LOG)
    figure.update_yaxes(type="log", title="error of the mean", **charts.AMOUNTS, dtick=1)
    return figure


def error_words(choice: Choice) -> str:
    """What the three curves are."""
    whose = "one sum of all rewards" if choice.trust == "central" else "every single reward"
    return f"Best arm. Noise is added to {whose}; standard deviations, and the absolute bias, in reward units."


def constants_words(choice: Choice, experiment: Experiment) -> str:
    """Which constants run, and what that costs the guarantee."""
    local = choice.trust == "local"
    beyond = (
        f" At ε = {choice.epsilon:g} no theorem covers LDPRSE anyway: they stop at ε = 1."
        if local and choice.epsilon > 1
        else ""
    )
    if choice.theory_constants:
        return (
            "Running with the **constants of the theory** (κ = 1): the orders of regret below are proved for this run, "
            "but the first epoch may last longer than the whole run, and then nothing is learned. Privacy is what it "
            f"is with any κ.{beyond}"
        )
    names = ", ".join(
        f"{line.entry.title} κ = {instance.parameters.kappa:.2g}"
        for line, instance in zip(experiment.lines, experiment.setups, strict=True)
    )
    return (
        f"Running with **reduced constants** ({names}; chosen by experiment): with the printed ones next to nothing "
        "would be learned within this run. The privacy noise is exact and the privacy guarantee is untouched; what is "
        f"lost is the proof of the bound on the regret.{beyond}{_no_help_words(experiment)}"
    )


def _no_help_words(experiment: Experiment) -> str:
    """Says so where even reduced constants let the policy that plays in epochs drop no arm."""
    played = epochs(experiment.setups[-1], experiment.seed, 0)
    if len(str(played.iloc[-1]["left"]).split(",")) < len(experiment.setups[-1].arms):
        return ""
    return (
        f" **Here they do not help**: {experiment.lines[-1].entry.title} drops no arm before the users run out (table "
        "below), so it loses as much as choosing in turn. It takes more users, a larger ε or a v nearer to 1."
    )


def band_words(result: Result) -> str:
    """What is shaded, and what is left out."""
    told = f"{words.sentence(words.band(result.experiment.trials))}. Regret in reward units."
    if result.experiment.horizon > STEP_BY_STEP:
        told += (
            f" Beyond {words.count(STEP_BY_STEP)} users only policies that play in epochs are shown: with Pareto "
            "rewards they need one draw for an epoch, the others a step for every user."
        )
    return told


def link_to_explore(experiment: Experiment) -> None:
    """The same picture in Explore."""
    st.page_link(
        "pages/explore.py",
        label="Open in Explore",
        icon=":material/arrow_forward:",
        query_params=links.write(experiment),
    )


def _points(choice: Choice, told: Callable[[float], None]) -> pd.DataFrame:
    """Regret of every line at every exponent; ``told`` hears the share that is done, and may end it."""
    rows = []
    for place, v in enumerate(EXPONENTS):

        def show(running: Simulation, place: int = place) -> None:
            told((place + running.fraction) / len(EXPONENTS))

        told(place / len(EXPONENTS))
        result = simulate(Experiment.model_validate(_document_at(choice, v)), on_progress=show)
        for number, line in enumerate(result.lines):
            assert line is not None
            rows.append((number, v, float(line.mean[-1]), float(line.stderr[-1])))
    return pd.DataFrame(rows, columns=["line", "v", "regret", "stderr"])


def _document_at(choice: Choice, v: float) -> dict[str, Any]:
    at = replace(choice, v=v)
    return {"arms": _arms(at), "lines": _lines(at), "horizon": choice.users, "trials": TRIALS_AGAINST_V}


def _computed_points(choice: Choice) -> pd.DataFrame:
    """The same with a bar, once for each choice; any change of a control ends it, and what is done is kept."""
    known: tuple[Choice, pd.DataFrame] | None = st.session_state.get("heavy-points")
    if known is not None and known[0] == choice:
        return known[1]
    place = st.empty()
    with render_lock.computing():
        points = _points(choice, runner.bar(place, "simulating each exponent … (switch it off to stop)"))
    place.empty()
    st.session_state["heavy-points"] = (choice, points)
    return points


def against_v(choice: Choice, dark: bool) -> None:
    """Regret at the horizon against the exponent."""
    st.subheader("Regret against v")
    if choice.instance == "own":
        st.caption("With your own arms the tails stay as they are; choose S1, S2 or S3 to vary them.")
        return
    cost = sum(estimated_seconds(Experiment.model_validate(_document_at(choice, v))) for v in EXPONENTS)
    wanted = page_fields.toggle(
        f"Simulate every exponent ({words.duration(cost / worker_count())} when nothing is cached)",
        "against",
        "heavy-against-v",
        f"{len(EXPONENTS)} experiments of {TRIALS_AGAINST_V} trials, each with tails as wild as its v allows.",
    )
    if not wanted:
        return
    if cost / worker_count() > LONGEST_SECONDS:
        st.info(f"That would take {words.duration(cost / worker_count())} here. Choose fewer users, or Pareto rewards.")
        return
    points = _computed_points(replace(choice, v=DEFAULT_V))
    experiment = Experiment.model_validate(_document_at(choice, choice.v))
    colours = theme.line_colours(experiment, dark)
    figure = go.Figure()
    for number, part in points.groupby("line"):
        figure.add_scatter(
            x=part["v"],
            y=part["regret"],
            error_y={"type": "data", "array": 2 * part["stderr"]},
            mode="lines+markers",
            name=escape(experiment.label(int(number))),
            line={"color": colours[int(number)], "width": 2.5},
            hovertemplate="v = %{x}: %{y:,.4~g}",
        )
    charts.style(figure, 380, dark)
    figure.update_layout(hovermode="closest")
    figure.update_xaxes(title="exponent v  (← wilder · tamer →)")
    figure.update_yaxes(type="log", **charts.AMOUNTS, dtick=1, title=f"regret after {words.count(choice.users)} users")
    st.plotly_chart(
        figure,
        key="against-v",
        config=charts.CONFIG,
        alt=charts.read_aloud(figure, "Regret at the horizon against the exponent v"),
    )
    st.caption(
        f"± 2 standard errors of {TRIALS_AGAINST_V} trials each. The rewards change with v, too: their moments are "
        "finite below the order 1.05 + v only."
    )


def epoch_table(experiment: Experiment) -> None:
    """The epochs of one run of the policy that plays in epochs."""
    number = len(experiment.lines) - 1
    title = experiment.lines[number].entry.title
    frame = epochs(experiment.setups[number], experiment.seed, 0)
    with st.expander(f"The epochs of one run of {title}", expanded=True):
        st.markdown(
            "In epoch τ every arm that is left is pulled R times. Rewards beyond B count 0. Then arms whose mean is "
            "further below the best one than the threshold are dropped, and the next epoch is more precise."
        )
        whole = ["R", "first pull", "last pull"]
        shown = frame.rename(columns={"tau": "τ"}).drop(columns=["arms"])
        shown[whole] = shown[whole].map(lambda value: "–" if math.isnan(value) else f"{int(value):,}")
        real = ["D", "B", "err", "threshold", "noise"]
        shown[real] = shown[real].map(lambda value: "–" if math.isnan(value) else words.number(float(value)))
        shown["complete"] = shown["complete"].map({True: "yes", False: "no"})
        st.dataframe(shown, hide_index=True, width="stretch", key="epochs", alt="Epochs of one run")
        st.caption(f"{_fate(frame, experiment)} D: target precision; noise: scale of the Laplace noise; trial 0.")


def _fate(frame: pd.DataFrame, experiment: Experiment) -> str:
    """How the run ended."""
    last = frame.iloc[-1]
    left = [int(arm) for arm in str(last["left"]).split(",")]
    best = set(np.flatnonzero(experiment.means == experiment.means.max()).tolist())
    names = ", ".join(f"arm {arm} (mean {words.number(float(experiment.means[arm]))})" for arm in left[:5])
    if len(left) > 1:
        return f"When the users ran out, {len(left)} arms were left: {names}{', …' if len(left) > 5 else ''}."
    return f"The run settled on {names}, {'the best one' if left[0] in best else 'which is NOT the best one'}."
