"""The audit of the Mechanisms page: which epsilon does this really have? Anyone can run it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import AuditResult
from bandit_core.auditing.subjects import Subject, audit, power, subjects
from bandit_core.spec.number_text import percent
from ui import charts, figures, lab_parts, page_fields, page_lock, state, stylesheet, theme, words
from ui.mechanisms.answer import FIELDS

KINDS = {"mechanism": "mechanism", "negative control": "negative control", "run": "policy run"}
_KEPT = 30  # results kept for a session


def _title(name: str) -> str:
    one = subjects()[name]
    return f"{one.title} ({KINDS[one.kind]})"


def _open_negative_control() -> None:
    """Callback: a negative control opens at a budget where it breaks its claim."""
    chosen = subjects()[st.session_state[state.own_key("mechanisms-subject")]]
    if chosen.kind == "negative control":
        st.session_state[state.own_key("mechanisms-eps")] = chosen.opens_at


def controls() -> tuple[Subject, float, int, float, int]:
    """Subject, claimed epsilon, samples, confidence, seed."""
    first, second = st.columns([3, 2])
    field = replace(FIELDS["subject"], allowed={name: _title(name) for name in subjects()})
    subject = subjects()[page_fields.ask(field, first, on_change=_open_negative_control)]
    epsilon = FIELDS.ask("eps", second, default=subject.opens_at)
    first, second, third = st.expander(
        "Change the samples, the confidence or the draw", key="mechanisms-audit"
    ).columns(3)
    help = "Seed of the samples. Trying many draws until one accuses is not an audit."
    seed = FIELDS.ask("draw", third, key="mechanisms-audit-draw", help=help)
    return subject, epsilon, FIELDS.ask("samples", first), FIELDS.ask("sure", second), seed


def result_chart(result: AuditResult, subject: Subject, dark: bool) -> go.Figure:
    """Claimed epsilon as a line; the event's loss as an interval, whose lower end is the bound."""
    shades = ("#f08838", "#58b7e0") if dark else (theme.TRUST_COLOURS["local"], theme.TRUST_COLOURS["central"])
    colour, quiet = shades[result.verdict != "violates"], theme.quiet(dark)
    low, seen, high = (value if math.isfinite(value) else math.nan for value in result.event_loss)
    low = max(0.0, low) if math.isfinite(low) else 0.0
    real = subject.real(result.epsilon) if subject.real else None
    ends = [result.epsilon, low, *(value for value in (seen, high, real) if value is not None and math.isfinite(value))]
    top = 1.15 * max(ends)

    def point(x: float, y: float, name: str, hover: str, marker: dict[str, Any], **more: Any) -> charts.Curve:
        return charts.Curve([x], [y], name, colour, hover, more={"mode": "markers", "marker": marker, **more})

    possible, faint = [result.lower_bound, top], theme.transparent(colour, 0.35)
    curves = [charts.Curve(possible, [1, 1], "where the true ε can be", faint, "", width=16)]
    if math.isfinite(high) and math.isfinite(seen):
        bars = charts.error_bars([seen], [low], [high], color=colour)
        name, marker = "loss of the event, with its interval", {"color": colour, "size": 10}
        curves.append(point(seen, 0.55, name, "seen: %{x:.3~g}<extra></extra>", marker, error_x=bars))
    marker = {"color": colour, "size": 14, "symbol": "triangle-right"}
    text = {"mode": "markers+text", "text": [f"{result.lower_bound:.3g}"], "textposition": "top center"}
    hover = "lower bound %{x:.3~g}<extra></extra>"
    curves.append(point(result.lower_bound, 1, "lower bound", hover, marker, **text))
    if real is not None:
        marker = {"symbol": "star", "size": 13, "color": quiet}
        curves.append(point(real, 0.2, "what it really is, by calculation", "%{x:.3~g}<extra></extra>", marker))
    place = "top right" if result.epsilon < 0.5 * top else "top left"
    claim = charts.Mark(result.epsilon, text=f"claimed ε = {result.epsilon:g}", place=place, colour=quiet)
    across = {"title": "ε", "range": [-0.03 * top, top], "zeroline": False}
    figure = charts.draw(curves, across, {"visible": False, "range": [-0.1, 1.5]}, 300, dark, [claim], closest=True)
    figure.layout.margin.t = charts.MODE_BAR + 20
    return figure


@st.cache_data(max_entries=32, show_spinner=False)
def _looked_at(name: str, epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples for the picture of where the audit looked."""
    rng = np.random.default_rng([seed, 1])
    return tuple(subjects()[name].sampler(np.full(20_000, float(which)), epsilon, rng) for which in (0, 1))  # type: ignore[return-value]


def event_chart(result: AuditResult, subject: Subject, seed: int, dark: bool) -> go.Figure:
    """Samples of both inputs, and the range of the event that tells them apart best."""
    samples, bars = _looked_at(subject.name, result.epsilon, seed), []
    both = np.concatenate(samples)
    values = np.unique(both)
    low, high = (float(x) for x in np.quantile(both, (0.003, 0.997)))
    few = len(values) <= 12
    edges = np.linspace(low, high, 41)
    for which, colour in enumerate((theme.quiet(dark), "#58b7e0" if dark else "#0072b2")):
        if few:
            x, y = values, np.array([np.mean(samples[which] == value) for value in values])
        else:
            counts, _ = np.histogram(np.clip(samples[which], low, high), edges)
            x, y = (edges[:-1] + edges[1:]) / 2, counts / len(samples[which])
        look = {"marker_color": theme.transparent(colour, 0.75), "marker_pattern_shape": "" if which else "/"}
        bars.append(go.Bar(x=x, y=y, name=f"input {which}", hovertemplate="%{y:.2%}", **look))
    margin, room = (0.5, 0.6) if few else (0.0, 0.02 * (high - low))
    across = {"title": "what is looked at", "range": [low - room, high + room], "dtick": 1 if few else None}
    figure = charts.draw(bars, across, {"title": "share", "tickformat": ".0%"}, 300, dark)
    left = result.event[0] + margin if math.isfinite(result.event[0]) else low - 1 - margin
    right = result.event[1] + margin if math.isfinite(result.event[1]) else high + 1 + margin
    figure.add_vrect(x0=left, x1=right, fillcolor=theme.TRUST_COLOURS["local"], opacity=0.16, line_width=0)
    figure.layout.barmode = "group" if few else "overlay"
    return figure


def _interval(event: tuple[float, float]) -> str:
    low, high = event
    if not math.isfinite(low):
        return f"at most {high:.3g}" if math.isfinite(high) else "anything at all"
    return f"above {low:.3g}" + (f", up to {high:.3g}" if math.isfinite(high) else "")


def _audited(subject: Subject, epsilon: float, samples: int, confidence: float, seed: int) -> AuditResult:
    bar = st.progress(0.0, "Drawing samples …")

    def drawn(share: float) -> None:
        bar.progress(min(1.0, share), "Drawing samples …")

    with page_lock.computing():
        result = audit(subject.name, epsilon, samples=samples, confidence=confidence, seed=seed, on_progress=drawn)
    bar.empty()
    return result


def show(result: AuditResult, subject: Subject, seed: int) -> None:
    """Verdict, pictures, and the numbers behind them."""
    at = f" at δ = {result.delta:g}" if result.delta else ""
    if result.verdict == "violates":
        st.error(
            f"**Violates its claim.** With confidence {100 * result.confidence:g}% the true ε is at least "
            f"**{result.lower_bound:.3g}**{at}; claimed is {result.epsilon:g}.",
            icon=":material/gpp_bad:",
        )
    else:
        st.success(
            f"**Consistent with its claim.** The audit found an ε of at least **{result.lower_bound:.3g}**{at}; "
            f"claimed is {result.epsilon:g}. That is no proof of privacy.",
            icon=":material/fact_check:",
        )
    left, right = st.columns(2)
    dark, claim = theme.is_dark(), f"Claimed epsilon {result.epsilon:g}, lower bound {result.lower_bound:.3g}"
    with left:
        st.markdown("**What was found**")
        figures.plot(result_chart(result, subject, dark), "audit-result", alt=f"{claim}: {result.verdict}")
    with right:
        st.markdown("**Where it looked** (shaded)")
        alt = f"Samples of both inputs, and the event {_interval(result.event)}"
        figures.plot(event_chart(result, subject, seed, dark), "audit-event", alt=alt)
    (p_low, p, p_high), (q_low, q, q_high) = result.chances
    with st.expander("The numbers behind the bound", key="mechanisms-bound"):
        st.markdown(
            f"The event: {subject.seen}, **{_interval(result.event)}**. After input {result.pair[0]:g} it was seen in "
            f"{percent(p)} of the samples ({percent(p_low)} to {percent(p_high)}), after input {result.pair[1]:g} in "
            f"{percent(q)} ({percent(q_low)} to {percent(q_high)}). The lower bound on ε is the logarithm of a ratio: "
            f"the lower end of the first interval{' minus δ' if result.delta else ''}, divided by the upper end of the "
            "second."
        )
    if subject.flaw:
        real = f" By calculation its ε here is {subject.real(result.epsilon):.3g}." if subject.real else ""
        st.markdown(f"**What is wrong with it.** {subject.flaw}{real}")
        st.caption(_caught_words(result, subject))
    elif subject.words:
        st.caption(subject.words)


def _caught_words(result: AuditResult, subject: Subject) -> str:
    """How often an audit of this size catches the negative control."""
    size = f"an audit with {words.count(result.samples)} samples for each input"
    if subject.real is not None and subject.real(result.epsilon) <= result.epsilon:
        return "At this ε the flaw does no harm, so there is nothing to catch."
    chance = power(result)
    described = (
        "practically always"
        if chance > 0.999
        else "hardly ever"
        if chance < 0.001
        else f"in {percent(round(chance, 2))} of draws"
    )
    again = f"{size} catches it {described}, if the event is as likely as it was here."
    return f"{'Caught' if result.verdict == 'violates' else 'Broken, and not caught'}: {again}"


def explanation() -> None:
    """In plain words: how it works, and what it cannot show."""
    st.markdown(stylesheet.asset("audit.md"))
    st.latex(r"\epsilon\ \ge\ \ln\frac{p_{\text{low}}-\delta}{q_{\text{high}}}")
    st.code("python -m bandit_core audit ctb-as-printed --epsilon 0.1", language="bash")


def draw() -> None:
    """The whole part."""
    st.markdown(
        "Is the claimed ε true? **Run the audit**: it looks for outputs that reveal the input, and computes a lower "
        "bound on ε. A *negative control* is broken on purpose."
    )
    subject, epsilon, samples, confidence, seed = controls()
    st.caption(
        f"Claim: {subject.guarantee}"
        + (f", δ = {subject.delta:g}" if subject.delta else "")
        + f". Inputs 0 and 1: {subject.inputs}. Looked at: {subject.seen}."
    )
    results: dict[tuple[object, ...], AuditResult] = st.session_state.setdefault("mechanisms-audits", {})
    key = (subject.name, epsilon, samples, confidence, seed)
    pressed = st.button(
        "Run the audit",
        type="primary",
        key="mechanisms-run",
        icon=":material/play_arrow:",
        help="Takes a second or two. A policy run may first have to be compiled.",
    )
    wanted = pressed or FIELDS.said("run")
    if wanted and key not in results:
        while len(results) >= _KEPT:
            results.pop(next(iter(results)))
        results[key] = _audited(subject, epsilon, samples, confidence, seed)
    if wanted:
        page_fields.keep(FIELDS["run"], True)
    if key in results:
        show(results[key], subject, seed)
    lab_parts.fold("How does an audit work, and what can it not show?", "mechanisms-audit-how", explanation)
