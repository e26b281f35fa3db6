"""The Mechanisms page: its controls, and what one answer shows (densities, loss, cost, promise, a stream)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots
from streamlit.delta_generator import DeltaGenerator

from bandit_core.mechanisms import Description, Mechanism, registry
from bandit_core.mechanisms.losses import profile, span
from bandit_core.studies import production
from bandit_core.studies.production import release_of
from ui import build_view, charts, epsilon_grid, figures, lab_parts, page_fields, theme, words
from ui.page_fields import Field, Fields

PARTS = {
    "answers": "One answer",
    "batch": "One batch",
    "sums": "Running sums",
    "guess": "Guess my reward",
    "audit": "Audit",
}
EPSILONS = epsilon_grid.between(0.1, 8)
DELTAS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2)
DIMENSIONS = (2, 3, 5, 10, 20)
ANSWERS = {name: one for name, one in registry().items() if one.kind == "answer"}
BATCHES = {name: one for name, one in registry().items() if one.kind == "batch"}
COUNTERS = {name: one for name, one in registry().items() if one.kind == "counter"}
_TITLES = {name: one.title for name, one in ANSWERS.items()}
_HOW = "How a user's device turns the reward into what it sends."
_FAR = "The user's reward. The guarantee holds for any two; those far apart are easiest to distinguish."
MAX_DRAW = 10**6
FIELDS = Fields(
    "mechanisms",
    Field("part", "Part", "answers", "One answer, a batch of answers, a curator's running sums, a guessing game, or an "
          "audit.", "buttons", PARTS),
    Field("eps", "ε: ← more private · less noise →", 1.0, "The privacy budget: no answer may be more than e^ε times as "
          "likely for one input as for the other.", allowed=EPSILONS),
    Field("mech", "Mechanism", "ctl", _HOW, "box", _TITLES),
    Field("with", "Compare with", "ctb", _HOW, "box", _TITLES | {"none": "nothing"}),
    Field("delta", "Allowed δ", 0.01, "For the Gaussian mechanism: chances may differ by the factor e^ε and, in "
          "addition, by δ.", allowed=DELTAS),
    Field("d", "Dimension d of the vector", 3, "For the l2-ball mechanism. The chart shows the coordinate along the "
          "vector.", allowed=DIMENSIONS, write=str),
    Field("x1", "Input A", 0.0, _FAR),
    Field("x2", "Input B", 1.0, _FAR),
    Field("crowd", "Mechanism", "shuffled-bits", "How the users of a batch add noise.", "box",
          {name: one.title for name, one in BATCHES.items()}),
    Field("users", "Users in the batch", 64, "Each adds a share of the noise. The more users, the smaller the share.",
          allowed=tuple(2**power for power in range(11)), write=words.count, key="users-of-batch"),
    Field("upto", "Length T of the stream", 1024, "Number of items. The hybrid mechanism need not know it in advance.",
          allowed=(64, 256, 1024, 4096, 16384), write=words.count),
    Field("draw", "Draw", 0, "Which random stream and noise the charts show.", "number", (0, MAX_DRAW)),
    Field("sums", "Published by", "binary,hybrid", "Counters whose sums are drawn.", "text"),
    Field("count", "Counter", "binary", "The counter that publishes the sum.", "box",
          {name: one.title for name, one in COUNTERS.items()}),
    Field("at", "Number of items", 8, "The sum that is published after this many items.",
          allowed=(1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64), write=str),
    Field("answers", "Answers so far (n)", 8, "How often the user has answered. Every answer spends ε once more.",
          "number", (1, 50)),
    Field("round", "Round", 1, "Every round draws a new secret. Same number, same round.", "number", (1, 10**6)),
    Field("subject", "What to audit", "ctb", "A mechanism, the choices of a whole policy, or a negative control, which "
          "breaks its claim on purpose.", "box"),
    Field("samples", "Samples for each input", 200_000, "More samples find smaller leaks. Half of them choose where to "
          "look, the other half measure.", allowed=(2000, 10_000, 40_000, 200_000, 1_000_000), write=words.count),
    Field("sure", "Confidence", 0.999, "How sure the bound is. At 95%, up to one sound mechanism in twenty is accused "
          "wrongly.", allowed=(0.9, 0.95, 0.99, 0.999, 0.9999), write=lambda value: f"{100 * value:g}%"),
    Field("run", "", False, "", "switch"),
)  # fmt: skip
SHOWN_USERS = 10
Pair = list[tuple[str, np.ndarray, str]]  # two distributions by name, values and colour


@dataclass(frozen=True)
class Shown:
    """One mechanism as the controls have it: its description, and itself at their settings."""

    described: Description
    mechanism: Mechanism

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.described.name


@dataclass(frozen=True)
class Choice:
    """What the controls say: one or two mechanisms at equal epsilon, and two inputs."""

    shown: tuple[Shown, ...]
    epsilon: float
    inputs: tuple[float, float]

    @property
    def content(self) -> tuple[tuple[Mechanism, ...], float, tuple[float, float]]:
        """What a picture of it follows from."""
        return tuple(one.mechanism for one in self.shown), self.epsilon, self.inputs


def _settings(names: list[str]) -> dict[str, float]:
    """Controls for what the chosen mechanisms take besides epsilon."""
    wanted = {setting for name in names for setting in ANSWERS[name].settings}
    return {
        setting: FIELDS.ask(name) for setting, name in (("delta", "delta"), ("dimension", "d")) if setting in wanted
    }


def _input_sliders(mechanisms: list[Mechanism]) -> tuple[float, float]:
    """The two inputs, within what all chosen mechanisms take."""
    low, high = max(one.domain[0] for one in mechanisms), min(one.domain[1] for one in mechanisms)
    if math.isinf(low):
        low, high, step, usual = -8.0, 8.0, 0.5, (-4.0, 4.0)
    else:
        step, usual = 0.05 if low == 0 else 0.1, (low, high)
    grid = tuple(round(low + step * number, 2) for number in range(round((high - low) / step) + 1))
    first, second = (
        FIELDS.ask(name, column, default=start, allowed=grid, key=f"mechanisms-{name}:{low:g}:{high:g}")
        for column, name, start in zip(st.columns(2), ("x1", "x2"), usual, strict=True)
    )
    return first, second


def opening() -> DeltaGenerator:
    """Where a part's first picture stands: above the controls that it needs, with room from the first moment."""
    return st.container(key="mechanisms-opening")


def choice(above: DeltaGenerator, compare: bool = True) -> Choice:
    """All controls of a part about single answers: the budget stands ``above`` the picture, the others in a fold."""
    epsilon: float = FIELDS.ask("eps", above)
    with st.expander("Change the mechanism or the inputs", key="mechanisms-change"):
        first, second = st.columns(2)
        names = [FIELDS.ask("mech", first)]
        if compare:
            other = FIELDS.ask("with", second)
            names += [other] if other not in ("none", names[0]) else []
        settings = _settings(names)
        shown = []
        for name in names:
            described = ANSWERS[name]
            given = {key: settings[key] for key in described.settings}
            shown.append(Shown(described, described.make(epsilon, **given)))
        inputs = _input_sliders([one.mechanism for one in shown])
    return Choice(tuple(shown), epsilon, inputs)


# ---------------------------------------------------------------------------------------------------------------
# The opening picture


def _pair(one: Shown, chosen: Choice, responses: np.ndarray, dark: bool) -> Pair:
    """(name, density of ``responses``, colour) of both inputs; the second is grey."""
    pair = []
    colours = (theme.mechanism_colour(one.name, dark), theme.quiet(dark))
    for label, value, colour in zip("AB", chosen.inputs, colours, strict=True):
        with np.errstate(over="ignore"):
            density = np.exp(one.mechanism.log_density(responses, value, chosen.epsilon))
        pair.append((f"input {label} = {value:g}", density, colour))
    return pair


def pair_chart(
    x: Any, pair: Pair, loss: np.ndarray, epsilon: float, axes: tuple[str, str], reach: float, dark: bool,
    ratio: str = "ln ratio",
) -> go.Figure:  # fmt: skip
    """Two distributions over ``x`` on top, their log ratio between the lines at plus and minus epsilon below.

    ``axes`` are titled so (the distributions, x); the ratio is shown up to ``reach``. Bars stand where ``x`` are names.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.06)
    bars, colour = isinstance(x, list), pair[0][2]
    top, below = {"row": 1, "col": 1}, {"row": 2, "col": 1}
    look: dict[str, Any]
    for (name, values, shade), dash in zip(pair, (None, "dash"), strict=True):
        if bars:
            look = {"marker_color": shade, "marker_pattern_shape": "/" if dash else "", "hovertemplate": "%{y:.1%}"}
            figure.add_bar(x=x, y=values, name=name, **look, **top)
        else:
            filled = {"fill": "tozeroy", "fillcolor": theme.transparent(shade, 0.2)}
            curve = charts.Curve(x, values, name, shade, "%{y:.3~g}", dash, more=filled)
            figure.add_traces([*curve.traces()], 1, 1)
    hover = "ln ratio %{y:.3~g}"
    if bars:
        look = {"marker_color": colour, "width": 0.35, "hovertemplate": hover, "showlegend": False}
        figure.add_bar(x=x, y=loss, name=ratio, **look, **below)
    else:
        figure.add_traces([*charts.Curve(x, loss, ratio, colour, hover, listed=False).traces()], 2, 1)
    quiet = theme.quiet(dark)
    ends = (epsilon, "ε", "top right"), (-epsilon, "−ε", "bottom right")
    charts.add_marks(figure, [charts.Mark(y=y, text=text, place=at, colour=quiet) for y, text, at in ends], **below)
    charts.style(figure, 400, dark)
    figure.layout.barmode = "group"
    figure.update_yaxes(title=axes[0], rangemode="tozero", **top)
    figure.update_yaxes(title="ln ratio", range=[-reach, reach], nticks=5, **below)
    figure.update_xaxes(title=axes[1], **below)
    return figure


def _responses(one: Shown, chosen: Choice, reach: float) -> np.ndarray:
    """What the server may see: both bits, or numbers up to where the log ratio is some ``reach`` times epsilon."""
    if one.mechanism.outputs == "bit":
        return np.array([0.0, 1.0])
    low, high = span(one.mechanism, chosen.inputs, chosen.epsilon, reach)
    return np.linspace(low + 1e-4 * (high - low), high - 1e-4 * (high - low), 400)


def density_chart(one: Shown, chosen: Choice, dark: bool) -> go.Figure:
    """The two output distributions and their log ratio."""
    epsilon, bits = chosen.epsilon, one.mechanism.outputs == "bit"
    reach = 2.5 if one.described.pure else 4.0  # so far that it crosses
    responses = _responses(one, chosen, reach)
    loss = np.asarray(one.mechanism.log_ratio(responses, *chosen.inputs, epsilon), float)
    top = max(epsilon, float(np.abs(loss[np.isfinite(loss)]).max(initial=0.0)))
    axes = ("chance", "what the server sees") if bits else ("density", "response that the server sees")
    x, pair = ["answer 0", "answer 1"] if bits else responses, _pair(one, chosen, responses, dark)
    figure = pair_chart(x, pair, loss, epsilon, axes, 1.45 * top, dark, "log ratio A : B")
    if not bits and one.mechanism.reach(epsilon) < math.inf and getattr(one.mechanism, "dimension", 3) < 3:
        low, high = span(one.mechanism, chosen.inputs, epsilon, reach)
        figure.update_yaxes(range=[0, 6 / (high - low)], row=1, col=1)  # the density has no largest value at the ends
    return figure


def picture_words(one: Shown, chosen: Choice) -> str:
    """What the opening picture says, with its number."""
    (delta,), (above,) = profile(one.mechanism, chosen.inputs, chosen.epsilon, [chosen.epsilon])
    if one.described.pure:
        responses = _responses(one, chosen, 6.0)
        largest = float(np.abs(one.mechanism.log_ratio(responses, *chosen.inputs, chosen.epsilon)).max())
        return (
            f"The largest log ratio is **{largest:.2g}**, at most ε = {chosen.epsilon:g}. So no answer is more than "
            f"{words.number(math.exp(largest), 2)} times as likely after one input as after the other."
        )
    if above == 0:
        return f"For these two inputs the chance of a log ratio above ε = {chosen.epsilon:g} rounds to 0."
    return (
        f"**The log ratio crosses the line**: with chance {above:.2g} it is above ε = {chosen.epsilon:g}. "
        f"These two inputs need δ = {delta:.2g}; allowed is {getattr(one.mechanism, 'delta', 0):g}."
    )


def densities(chosen: Choice) -> None:
    """The picture that carries the page's idea."""
    ends = f"{chosen.inputs[0]:g} and {chosen.inputs[1]:g}"
    for column, one in zip(st.columns(len(chosen.shown)), chosen.shown, strict=True):
        with column:
            title, text = one.described.title, picture_words(one, chosen)
            st.markdown(f"**{title}**")
            alt = f"Distributions of the answer of {title} for inputs {ends}, and their log ratio. "
            alt += text.replace("*", "")
            how = (one.mechanism, *chosen.content[1:])
            figures.draw(f"density-{one.name}", how, partial(density_chart, one, chosen), partial(str, alt))
            st.markdown(text)


# ---------------------------------------------------------------------------------------------------------------
# Cost and promise


def _estimate_sd(one: Shown, value: float, epsilon: float) -> float:
    """Standard deviation of the unbiased estimate from one answer; `estimate` is linear in the answer."""
    zero, unit = (float(one.mechanism.estimate(response, epsilon)) for response in (0.0, 1.0))
    return (unit - zero) * math.sqrt(float(one.mechanism.variance(value, epsilon)))


_COST_EPSILONS = np.geomspace(0.1, 8, 60)


def mean_chart(chosen: Choice, dark: bool) -> go.Figure:
    """Mean of the answer against epsilon."""
    curves = []
    for one in chosen.shown:
        for label, value, dash in zip("AB", chosen.inputs, (None, "dash"), strict=True):
            name, colour = f"{one.described.title}, input {label}", theme.mechanism_colour(one.name, dark)
            mean = [float(one.mechanism.mean(value, e)) for e in _COST_EPSILONS]
            curves.append(charts.Curve(_COST_EPSILONS, mean, name, colour, "%{y:.3~g}", dash))
    here = [charts.Mark(chosen.epsilon)]
    return charts.draw(curves, {"title": "ε"}, {"title": "mean of the answer"}, 360, dark, here)


def variance_chart(chosen: Choice, dark: bool) -> go.Figure:
    """Variance of the answer, raw and decoded, against epsilon."""
    curves = []
    for one in chosen.shown:
        title, colour, value = one.described.title, theme.mechanism_colour(one.name, dark), chosen.inputs[0]
        raw = [float(one.mechanism.variance(value, e)) for e in _COST_EPSILONS]
        decoded = [_estimate_sd(one, value, float(e)) ** 2 for e in _COST_EPSILONS]
        both = [(raw, "answer", None)] + [(decoded, "after decoding", "dot")] * (not np.allclose(raw, decoded))
        for y, what, dash in both:
            curves.append(charts.Curve(_COST_EPSILONS, y, f"{title}: {what}", colour, "%{y:.3~g}", dash))
    across = {"title": "ε", "type": "log", "tickvals": [0.1, 0.3, 1, 3, 8], "ticktext": ["0.1", "0.3", "1", "3", "8"]}
    return charts.draw(curves, across, charts.log_axis("variance"), 360, dark, [charts.Mark(chosen.epsilon)])


def cost(chosen: Choice) -> None:
    """What privacy costs: mean and variance against epsilon."""
    figures.beside(
        chosen.content,
        ("", "means", partial(mean_chart, chosen), "Mean of the answer",
         "Where the mean depends on ε, the server decodes the answers. Where both curves of a mechanism meet, its "
         "answers reveal nothing."),
        ("", "variances", partial(variance_chart, chosen), "Variance of the answer",
         f"For input A = {chosen.inputs[0]:g}. Dotted: after decoding into an unbiased estimate. Compare mechanisms "
         "by the decoded answer."),
    )  # fmt: skip
    decoded = {one.described.title: _estimate_sd(one, chosen.inputs[0], chosen.epsilon) for one in chosen.shown}
    parts = [
        f"{words.number(sd, 2)} with **{title}**, so {words.count(max(1, round((sd / 0.1) ** 2)))} users give a mean "
        "to ±0.1"
        for title, sd in decoded.items()
    ]
    st.markdown(f"At ε = {chosen.epsilon:g} one decoded answer has a standard deviation of {'; '.join(parts)}.")


def promise_chart(chosen: Choice, dark: bool) -> go.Figure:
    """The real delta at every epsilon, and the chance of a loss above it."""
    levels, curves = np.linspace(0, 2.5 * chosen.epsilon, 126), []
    for one in chosen.shown:
        colour, title = theme.mechanism_colour(one.name, dark), one.described.title
        both = profile(one.mechanism, chosen.inputs, chosen.epsilon, levels)
        for values, dash, text in zip(
            both, (None, "dot"), ("δ that is needed", "chance of a larger loss"), strict=True
        ):
            y = np.where(values > 1e-12, values, np.nan)
            curves.append(charts.Curve(levels, y, f"{title}: {text}", colour, "%{y:.2~e}", dash))
        if not one.described.pure:
            allowed = getattr(one.mechanism, "delta", 0.0)
            name = f"guaranteed: (ε, δ) = ({chosen.epsilon:g}, {allowed:g})"
            more = {"mode": "markers", "marker": {"symbol": "x", "size": 11, "color": colour}}
            curves.append(charts.Curve([chosen.epsilon], [allowed], name, colour, "%{y:.2~g}", more=more))
    low, high = np.log10([0.05 * chosen.epsilon, 2.5 * chosen.epsilon])
    across = charts.log_axis("privacy loss (nats)", low, high, range=[low, high])
    up = charts.log_axis("probability", range=[-7, 0.1])
    return charts.draw(curves, across, up, 380, dark, [charts.Mark(chosen.epsilon)])


def promise(chosen: Choice) -> None:
    """The delta that the guarantee needs, and the chance of a larger loss."""
    what = "The delta that is needed at each epsilon, and the chance of a larger loss"
    figures.draw("promise", chosen.content, partial(promise_chart, chosen), what)
    st.markdown(
        "**With normal noise, yes.** Its loss exceeds ε now and then, and δ measures by how much. A **pure** guarantee "
        "needs no δ: its curve ends at the dashed line."
        if any(not one.described.pure for one in chosen.shown)
        else "**No.** The guarantee is pure: no loss is larger than ε (dashed). Choose the Gaussian mechanism to see a "
        "guarantee with a δ."
    )


# ---------------------------------------------------------------------------------------------------------------
# The stream, and the facts


def stream(chosen: Choice) -> None:
    """The users' rewards beside what the server sees, and both averages."""
    sizes, help = (SHOWN_USERS, 100, 1_000, 10_000, 100_000), "The table shows the last ten of them."
    field = Field("so-far", "Users so far", SHOWN_USERS, help, allowed=sizes, write=words.count)
    seen = page_fields.draw(field, SHOWN_USERS, "mechanisms-users", persist_state="page")
    rng = np.random.default_rng(0)
    has = np.where(rng.random(seen) < 0.5, *chosen.inputs)
    table = {"user": np.arange(seen)[-SHOWN_USERS:] + 1, "has": has[-SHOWN_USERS:]}
    notes = []
    for one in chosen.shown:
        answers = one.mechanism.release(has, chosen.epsilon, np.random.default_rng(1))
        table[f"server sees: {one.described.title}"] = answers[-SHOWN_USERS:].round(2)
        decoded = one.mechanism.estimate(answers, chosen.epsilon)
        truth, error = _average(one, chosen, has)
        notes.append(
            f"{one.described.title}: the server's average is **{words.with_error(decoded.mean(), error)}**, "
            f"the true one {truth:.3g}"
        )
    lab_parts.table(words.table(pd.DataFrame(table)), "stream")
    st.markdown(f"After **{words.count(seen)}** users. " + "; ".join(notes) + ".")
    st.caption(
        "A coin gives every user input A or B. A single answer is noisy; the average of many comes close to the truth."
        + (
            " A sigmoid mechanism is decoded into the sigmoid of the reward."
            if any(one.name.endswith("-s") for one in chosen.shown)
            else ""
        )
    )


def _average(one: Shown, chosen: Choice, has: np.ndarray) -> tuple[float, float]:
    """What the server's average estimates (the average of what is randomised), and its standard error."""
    share = float(np.mean(has == chosen.inputs[0]))
    values, variances = [], []
    for value in chosen.inputs:
        values.append(float(one.mechanism.estimate(one.mechanism.mean(value, chosen.epsilon), chosen.epsilon)))
        variances.append(_estimate_sd(one, value, chosen.epsilon) ** 2)
    variance = share * variances[0] + (1 - share) * variances[1]
    return share * values[0] + (1 - share) * values[1], math.sqrt(variance / len(has))


def public() -> None:
    """What no mechanism hides."""
    message = "\n".join(f"- {sentence}" for sentence in words.PUBLIC.values())
    lab_parts.fold("What no mechanism here hides", "mechanisms-public", lambda: st.markdown(message))


def building(chosen: Choice) -> None:
    """Programs that draw this very noise where people use it, and what a simulation leaves out."""
    st.markdown(production.NOTICE)
    for one in chosen.shown:
        st.markdown(f"**{one.described.title}: who draws the noise**")
        build_view.answer_of(release_of(one.mechanism, chosen.epsilon), getattr(one.mechanism, "delta", 0.0))
    build_view.left_out(besides=tuple(words.PUBLIC.values()))


def facts(described: list[Description]) -> None:
    """Guarantee, sensitivity, formulas and source of each mechanism, as they stand beside its code."""
    lab_parts.fold("Guarantee and formulas", "mechanisms-facts", lambda: list(map(_fact, described)))


def _fact(one: Description) -> None:
    st.markdown(f"**{one.title}**: {one.words}\n\n**Guarantee**: {one.guarantee}. **Sensitivity**: {one.sensitivity}.")
    labels = {"density": "What comes out", "loss": "Privacy loss", "mean": "Mean", "variance": "Variance"}
    for name, label in labels.items():
        st.caption(label)
        st.latex(getattr(one.formulas, name))
    if one.remark:
        st.markdown(one.remark)
    st.caption(f"Source: {one.paper}.")
