"""The parts of the Heavy tails page."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InvalidInput, links, simulate
from bandit_core.arms import _Law
from bandit_core.engine import estimated_seconds
from bandit_core.policies.heavy_family import epochs
from bandit_core.results import Result
from bandit_core.theory import heavy, robust_mean
from ui import charts, page_fields, state, theme, words

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
LAWS = {"pareto": "Pareto: never below a minimum, wild above", "student": "Student: wild on both sides"}
TRUST = {"central": "a curator is trusted", "local": "nobody is trusted"}
EXPONENTS = tuple(round(0.1 * step, 1) for step in range(2, 11))
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
HORIZONS = (10_000, 100_000, 1_000_000, 10_000_000)
TRIALS = 30
SAMPLES = tuple(round(10 ** (step / 4)) for step in range(4, 29))
DEFAULTS = {"instance": "S1", "law": "pareto", "v": "0.5", "budget": "1", "trust": "central", "users": "100000"}


@dataclass(frozen=True)
class Choice:
    """What the page's own controls say."""

    instance: str
    law: str
    v: float
    epsilon: float
    trust: str
    users: int
    theory_constants: bool

    @property
    def estimator(self) -> robust_mean.Estimator:
        """How the private policy of this trust model estimates a mean."""
        return "epoch" if self.trust == "central" else "local"


def _number_start(name: str, allowed: tuple[float, ...]) -> float:
    wanted = page_fields.number(name, DEFAULTS[name], allowed[0], allowed[-1])
    return min(allowed, key=lambda value: abs(value - wanted))


def controls() -> Choice:
    """The page's controls; their values live in the address."""
    first, second, third = st.columns(3)
    instance = first.selectbox(
        "Arms",
        list(INSTANCES),
        list(INSTANCES).index(page_fields.choice("instance", DEFAULTS["instance"], INSTANCES)),
        format_func=INSTANCES.__getitem__,
        key="heavy-instance",
        help="Three instances of Tao et al. 2022 with five arms, or the arms of the sidebar.",
    )
    law = second.selectbox(
        "Rewards",
        list(LAWS),
        list(LAWS).index(page_fields.choice("law", DEFAULTS["law"], LAWS)),
        format_func=LAWS.__getitem__,
        key="heavy-law",
        disabled=instance == "own",
        help="Both have moments up to the order 1.05 + v only.",
    )
    trust = third.selectbox(
        "Trust",
        list(TRUST),
        list(TRUST).index(page_fields.choice("trust", DEFAULTS["trust"], TRUST)),
        format_func=TRUST.__getitem__,
        key="heavy-trust",
        help="Central DP: noise on sums. Local DP: noise on every single reward.",
    )
    first, second, third = st.columns(3)
    v = first.select_slider(
        "Exponent v: ← wilder · tamer →",
        EXPONENTS,
        _number_start("v", EXPONENTS),
        key="heavy-v",
        help="Moments of order 1 + v are finite. v = 1: a finite variance; near 0: hardly more than a finite mean.",
    )
    epsilon = second.select_slider(
        "Budget ε: ← more private · less regret →",
        EPSILONS,
        _number_start("budget", EPSILONS),
        key="heavy-epsilon",
        help="The privacy budget. The theory of heavy tails covers ε up to 1.",
        format_func=lambda value: f"{value:g}",
    )
    users = third.select_slider(
        "Users",
        HORIZONS,
        int(_number_start("users", HORIZONS)),
        key="heavy-users",
        help="How many users arrive in one run.",
        format_func=words.count,
    )
    theory_constants = st.toggle(
        "Constants of the theory",
        key="heavy-theory",
        help="kappa = 1: the printed constants. They make the first epoch last up to 10^15 pulls.",
    )
    choice = Choice(instance, law, v, epsilon, trust, users, theory_constants)
    for name, value in (
        ("instance", instance),
        ("law", law),
        ("v", f"{v:g}"),
        ("budget", f"{epsilon:g}"),
        ("trust", trust),
        ("users", str(users)),
    ):
        state.keep_page_field(name, value, DEFAULTS[name])
    return choice


def _arms(choice: Choice) -> list[dict[str, Any]]:
    if choice.instance == "own":
        return state.experiment().spec()["arms"]
    shape = 1.05 + choice.v
    if choice.law == "pareto":
        return [{"kind": "pareto", "mean": mean, "shape": shape} for mean in MEANS[choice.instance]]
    return [{"kind": "student", "mean": mean, "scale": 0.2, "df": shape} for mean in MEANS[choice.instance]]


def _lines(choice: Choice) -> list[dict[str, Any]]:
    params: dict[str, Any] = {"v": choice.v} | ({"kappa": 1.0} if choice.theory_constants else {})
    epsilon = {"kind": "fixed", "value": choice.epsilon}
    private = ("dp-robust-ucb", "dp-robust-se") if choice.trust == "central" else ("ldp-robust-se",)
    lines: list[dict[str, Any]] = [{"policy": "robust-ucb", "params": params}]
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
    except InvalidInput as error:
        for text in dict.fromkeys(problem.allowed for problem in error.problems):
            st.error(text[0].upper() + text[1:])
        return None


def sample_slider(choice: Choice) -> int:
    """How many rewards of one arm have arrived."""
    return st.select_slider(
        "Rewards of this arm so far",
        SAMPLES,
        min(SAMPLES, key=lambda value: abs(value - 1000)),
        key="heavy-n",
        help="The level B grows with the number of rewards.",
        format_func=words.count,
    )


def _rule(choice: Choice, experiment: Experiment) -> dict[str, Any]:
    """The truncation rule of the page's private policy, in its first epoch."""
    instance = experiment.instances[-1]
    factor = 4 if choice.trust == "central" else 8
    return {
        "v": choice.v,
        "u": instance.parameters.u,
        "epsilon": choice.epsilon,
        "estimator": choice.estimator,
        "logarithm": math.log(factor * len(instance.arms) * experiment.horizon),
    }


def _best_arm(experiment: Experiment) -> _Law:
    return experiment.single_arms[int(np.argmax(experiment.means))]


def _level(choice: Choice, experiment: Experiment, n: int) -> float:
    return float(robust_mean.truncation_level(n, **_rule(choice, experiment)))


def tail_chart(choice: Choice, experiment: Experiment, n: int, dark: bool) -> go.Figure:
    """Chance of a reward beyond x, log-log, with the part beyond B shaded."""
    law, level = _best_arm(experiment), _level(choice, experiment, n)
    chances = np.geomspace(1, 1e-6, 300)
    sizes = np.abs(law.quantile(1 - chances / (2 if law.support[0] < 0 else 1)))
    colour = theme.policy_colour("dp-robust-se" if choice.trust == "central" else "ldp-robust-se", dark)
    figure = go.Figure()
    figure.add_scatter(
        x=sizes,
        y=chances,
        mode="lines",
        name="rewards",
        line={"color": colour, "width": 2.5},
        hovertemplate="%{y:.2~%}",
    )
    beyond = sizes >= level
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
    ends = [float(sizes[0]), max(float(sizes[-1]), 2 * level)]
    figure.update_xaxes(
        type="log", title="size of a reward", tickformat="~g", dtick=1, range=np.log10(np.maximum(ends, 1e-3))
    )
    figure.update_yaxes(type="log", title="chance of more", tickformat=".0e", dtick=1, range=[-6, 0.1])
    return figure


def tail_words(choice: Choice, experiment: Experiment, n: int) -> str:
    """How much is thrown away, as a share of rewards and of the mean."""
    law, level = _best_arm(experiment), _level(choice, experiment, n)
    first, _ = robust_mean.truncated_moments(law, level)
    lost = 1 - float(first) / law.law_mean if law.law_mean else 0.0
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
    figure.update_xaxes(type="log", title="rewards of the arm", tickformat="~s")
    figure.update_yaxes(type="log", title="error of the mean", tickformat="~g", dtick=1)
    return figure


def error_words(choice: Choice) -> str:
    """What the three curves are."""
    whose = "one sum of all rewards" if choice.trust == "central" else "every single reward"
    return f"Best arm. Noise is added to {whose}; standard deviations, and the absolute bias, in reward units."


def constants_words(choice: Choice, experiment: Experiment) -> str:
    """Which constants run, and what that costs the guarantee."""
    if choice.theory_constants:
        return (
            "Running with the **constants of the theory** (κ = 1): the bound on the regret is proved, but the first "
            "epoch may last longer than the whole run, and then nothing is learned."
        )
    names = ", ".join(
        f"{line.entry.title} κ = {instance.parameters.kappa:.2g}"
        for line, instance in zip(experiment.lines, experiment.instances, strict=True)
    )
    return (
        f"Running with **reduced constants** ({names}; chosen by experiment). The privacy noise is exact and the "
        "privacy guarantee is untouched; only the proof of the regret bound is lost."
    )


def band_words(result: Result) -> str:
    """What is shaded."""
    return f"{words.band(result.experiment.trials).capitalize()}. Regret in reward units."


def link_to_explore(experiment: Experiment) -> None:
    """The same picture in Explore."""
    st.page_link(
        "pages/explore.py",
        label="Open in Explore",
        icon=":material/arrow_forward:",
        query_params=links.write(experiment),
    )


@st.cache_data(max_entries=32, show_spinner="Simulating each exponent …")
def _points(choice: Choice) -> pd.DataFrame:
    rows = []
    for v in EXPONENTS:
        result = simulate(Experiment.model_validate(_document_at(choice, v)))
        for number, line in enumerate(result.lines):
            assert line is not None
            rows.append((number, v, float(line.mean[-1]), float(line.stderr[-1])))
    return pd.DataFrame(rows, columns=["line", "v", "regret", "stderr"])


def _document_at(choice: Choice, v: float) -> dict[str, Any]:
    at = replace(choice, v=v)
    return {"arms": _arms(at), "lines": _lines(at), "horizon": choice.users, "trials": 10}


def against_v(choice: Choice, dark: bool) -> None:
    """Regret at the horizon against the exponent."""
    st.subheader("Regret against v")
    if choice.instance == "own":
        st.caption("With your own arms the tails stay as they are; choose S1, S2 or S3 to vary them.")
        return
    cost = sum(estimated_seconds(Experiment.model_validate(_document_at(choice, v))) for v in EXPONENTS)
    wanted = st.toggle(
        "Simulate every exponent",
        key="heavy-against-v",
        help=f"{len(EXPONENTS)} experiments of 10 trials: {words.duration(cost)} when nothing is cached.",
    )
    if not wanted:
        return
    points = _points(choice)
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
    figure.update_yaxes(type="log", exponentformat="SI", title=f"regret after {words.count(choice.users)} users")
    st.plotly_chart(figure, key="against-v", config=charts.CONFIG, alt=charts.read_aloud(figure, "Regret against v"))
    st.caption("± 2 standard errors of 10 trials each.")


def epoch_table(experiment: Experiment) -> None:
    """The epochs of one run of the policy that plays in epochs."""
    with st.expander("The epochs of one run"):
        number = len(experiment.lines) - 1
        st.markdown(
            f"{experiment.lines[number].entry.title}, trial 0: in epoch τ every arm that is left is pulled R times, "
            "rewards beyond B count 0, and arms further than the threshold below the best are dropped."
        )
        frame = epochs(experiment.instances[number], experiment.seed, 0).astype({"left": str}, errors="ignore")
        st.dataframe(frame, hide_index=True, width="stretch", alt="Epochs of one run")


def theory(experiment: Experiment, dark: bool) -> None:
    """Bounds as shapes with an editable multiplier, printed ones that are superseded, and the paper's Table 1."""
    instance = experiment.instances[-1]
    with st.expander("What theory says"):
        multiplier = st.number_input(
            "Multiplier of the shapes", 1e-6, 1e6, 1.0, key="heavy-multiplier", format="%g",
            help="Most bounds are known in order only: this stands for their unknown constant.",
        )  # fmt: skip
        bounds = heavy.shapes(instance, multiplier)
        times = np.unique(np.geomspace(10, experiment.horizon, 80).round())
        figure = go.Figure()
        for bound in bounds:
            if bound.hidden or bound.worst_case:
                continue
            colour = theme.TRUST_COLOURS["local" if "LDP" in bound.name or "7" in bound.name else "central"]
            figure.add_scatter(
                x=times,
                y=bound.values(times, experiment.largest_gap),
                mode="lines",
                name=f"{'↑' if bound.side == 'upper' else '↓'} {escape(bound.label)}",
                line={"dash": theme.DASHES[bound.status], "width": 1.6, "color": colour},
                hovertemplate="%{y:,.3~g}",
            )
        charts.style(figure, 460, dark)
        figure.update_xaxes(type="log", title="users so far", tickformat="~s")
        figure.update_yaxes(type="log", title="regret", exponentformat="SI")
        st.plotly_chart(
            figure, key="heavy-shapes", config=charts.CONFIG, alt=charts.read_aloud(figure, "Shapes of the bounds")
        )
        hidden = [bound for bound in bounds if bound.hidden]
        if hidden:
            st.markdown("Not drawn:\n" + "\n".join(f"- :gray[**{bound.name}**: {bound.hidden}]" for bound in hidden))
        st.markdown("**Table 1 of the paper, for these arms** (shapes with the factor 1, nothing capped)")
        st.dataframe(heavy.table_1(instance), hide_index=True, width="stretch", alt="Table 1 for this instance")
