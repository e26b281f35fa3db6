"""The part of the Mechanisms page about counters: running sums that a trusted curator releases."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError
from bandit_core.mechanisms import Counter
from bandit_core.mechanisms.square_root import DELTA
from bandit_core.spec.errors import Issue
from ui import charts, page_fields, state, theme, words
from ui.mechanisms import counted
from ui.mechanisms.answer import COUNTERS, FIELDS, facts, opening, pair_chart

DASHES = dict(
    zip(COUNTERS, itertools.cycle(("solid", "dashdot", "dash", "longdashdot", "longdash", "dot")), strict=False)
)
CHANCE = 0.4  # of an item that is 1


@dataclass(frozen=True)
class Sums:
    """All counters at one epsilon, over streams of one length."""

    epsilon: float
    horizon: int
    draw: int

    def counter(self, name: str) -> Counter:
        """The counter of that name."""
        counter: Counter = COUNTERS[name].started(self.epsilon, self.horizon)
        return counter


def _titled(name: str) -> str:
    """The counter's title, with its delta where its promise has one."""
    described = COUNTERS[name]
    return described.title if described.pure else f"{described.title} (δ = {DELTA:g})"


def _stream(epsilon: float) -> Sums:
    """Length of the stream, and which draw."""
    first, second = st.columns(2, vertical_alignment="bottom")
    return Sums(epsilon, FIELDS.ask("upto", first), FIELDS.ask("draw", second))


@st.cache_data(max_entries=64, show_spinner=False)
def _windows(chosen: Sums, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, and the least, the quadratic mean and the largest standard deviation of the noise around each."""
    counter = chosen.counter(name)
    ends = np.unique(np.round(np.geomspace(1, chosen.horizon, 48)).astype(int))
    sd = np.sqrt([counter.variance(count) for count in range(1, chosen.horizon + 1)])
    groups = [sd[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return (
        ends,
        np.array([group.min() for group in groups]),
        np.array([np.sqrt((group**2).mean()) for group in groups]),
        np.array([group.max() for group in groups]),
    )


def error_chart(chosen: Sums) -> go.Figure:
    """Standard deviation of the noise against the number of items; the band is the spread from count to count."""
    dark = theme.is_dark()
    figure = go.Figure()
    for name in COUNTERS:
        times, least, usual, most = _windows(chosen, name)
        colour = theme.mechanism_colour(name, dark)
        quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "legendgroup": name}
        figure.add_scatter(x=times, y=most, **quiet)
        figure.add_scatter(x=times, y=least, fill="tonexty", fillcolor=theme.transparent(colour, 0.15), **quiet)
        charts.curve(figure, times, usual, _titled(name), colour, "%{y:.3~g}", dash=DASHES[name], legendgroup=name)
    charts.style(figure, 440, dark)
    figure.update_xaxes(title="items so far", **charts.USERS_LOG)
    figure.update_yaxes(type="log", title="sd of the noise", **charts.AMOUNTS, dtick=1)
    return figure


@st.cache_data(max_entries=64, show_spinner=False)
def mean_errors(chosen: Sums) -> str:
    """The mean squared error of the trees and of the square root over all counts, in words."""
    described = []
    for name in ("binary", "hybrid", "k-ary", "square-root"):
        counter = chosen.counter(name)
        mean = np.mean([counter.variance(count) for count in range(1, chosen.horizon + 1)])
        described.append(f"{_titled(name)} **{words.number(float(mean))}**")
    return f"Mean squared error over all {words.count(chosen.horizon)} sums: {', '.join(described)}."


def _paths() -> list[str]:
    """Whose published sums are drawn."""
    field = replace(FIELDS["sums"], allowed=_check)
    names: list[str] = st.multiselect(
        field.label,
        list(COUNTERS),
        [name for name in page_fields.value(field).split(",") if name],
        format_func=lambda name: COUNTERS[name].title,
        key=state.own_key(field.key),
        help=field.help,
    )
    page_fields.keep(field, ",".join(names))
    return names


def _check(text: str) -> None:
    if not set(filter(None, text.split(","))) <= COUNTERS.keys():
        raise InputError([Issue("sums", text, f"names of {', '.join(COUNTERS)}, with commas between them")])


def _published() -> tuple[str, int]:
    """Which sum is looked at: its counter, and after how many items."""
    first, second = st.columns(2)
    return FIELDS.ask("count", first), FIELDS.ask("at", second)


def law_chart(chosen: Sums, name: str, count: int) -> tuple[go.Figure, float]:
    """Distributions of one published sum with and without the first item, and their log ratio; and its largest
    value.
    """
    dark, colour = theme.is_dark(), theme.mechanism_colour(name, theme.is_dark())
    counter = chosen.counter(name)
    sd = math.sqrt(counter.variance(count))
    x = np.linspace(-3 * sd, 1 + 3 * sd, 401)
    without, with_item = counter.density(count, x), counter.density(count, x - 1)
    pair = [("first item 1", with_item, colour), ("first item 0", without, theme.quiet(dark))]
    loss = np.log(with_item) - np.log(without)
    axes = ("density", "published sum (all other items 0)")
    figure = pair_chart(x, pair, loss, chosen.epsilon, axes, 1.45 * chosen.epsilon)
    return figure, float(np.abs(loss).max())


def distributions(chosen: Sums, name: str, count: int) -> None:
    """One published sum for two neighbouring streams."""
    figure, largest = law_chart(chosen, name, count)
    st.plotly_chart(
        figure,
        key="sums-law",
        config=charts.CONFIG,
        alt=f"Distributions of the sum published after {count} items for two streams that differ in the first "
        f"item; largest "
        f"log ratio {largest:.2g}",
    )
    described = f"In this range, this one sum reveals up to **{largest:.2g}** about the first item. "
    if COUNTERS[name].pure:
        described += f"All sums together stay within ε = {chosen.epsilon:g}: see the last picture."
    else:
        described += (
            f"Normal noise has no largest loss: all sums together keep ε = {chosen.epsilon:g} with δ = {DELTA:g}."
        )
    st.caption(described)


def path_chart(chosen: Sums, names: list[str]) -> tuple[go.Figure, dict[str, float]]:
    """Released sums over one stream beside the true one; and how far each ends from it."""
    dark = theme.is_dark()
    items = (np.random.default_rng([chosen.draw, 0]).random(chosen.horizon) < CHANCE).astype(float)
    true = np.cumsum(items)
    shown = np.unique(np.round(np.linspace(1, chosen.horizon, min(400, chosen.horizon))).astype(int)) - 1
    figure = go.Figure()
    charts.curve(figure, shown + 1, true[shown], "the true sum", theme.quiet(dark), "%{y:.0f}", width=5, opacity=0.6)
    ends = {}
    for name in names:
        described = COUNTERS[name]
        released = chosen.counter(name).release(items, np.random.default_rng([chosen.draw, 1]))
        ends[described.title] = float(released[-1] - true[-1])
        figure.add_scatter(
            x=shown + 1,
            y=released[shown].astype(np.float32),
            mode="lines",
            name=described.title,
            line={"color": theme.mechanism_colour(name, dark), "width": 1.5, "shape": "hv"},
            hovertemplate="%{y:.1f}",
        )
    charts.style(figure, 440, dark)
    figure.update_xaxes(title="items so far", **charts.USERS)
    span = max(float(true[-1]), 1.0)
    figure.update_yaxes(title="running sum", range=[-0.6 * span, 1.7 * span])
    return figure, ends


def spending_chart(chosen: Sums) -> go.Figure:
    """The most that one item has spent, under the line at epsilon."""
    dark = theme.is_dark()
    counts = np.unique(np.round(np.geomspace(1, chosen.horizon, 200)).astype(int))
    figure = go.Figure()
    for name in COUNTERS:
        counter = chosen.counter(name)
        figure.add_scatter(
            x=counts,
            y=counter.spent(counts),
            mode="lines",
            name=_titled(name),
            line={
                "color": theme.mechanism_colour(name, dark),
                "width": 2.5,
                "dash": DASHES[name],
                "shape": "hv",
            },
            hovertemplate="%{y:.3~g}",
        )
    figure.add_hline(
        y=chosen.epsilon,
        line={"dash": "dash", "width": 1.5, "color": theme.quiet(dark)},
        annotation_text="ε",
        annotation_position="top left",
    )
    charts.style(figure, 440, dark)
    figure.update_xaxes(title="items so far", **charts.USERS)
    figure.update_yaxes(title="loss of one item", range=[0, 1.25 * chosen.epsilon])
    return figure


def draw() -> None:
    """The whole part."""
    st.markdown(
        "A **trusted curator** publishes a running sum after each item. With a tree of partial sums, the noise grows "
        "only like a power of the logarithm.\n\n"
        "All counters keep the **same ε** for every item, over all releases (central DP). Only the square-root "
        f"factorisation also needs a δ = {DELTA:g}, so its guarantee is weaker."
    )
    above = opening()
    epsilon = FIELDS.ask("eps", above)
    with st.expander("Change the stream or the published sums"):
        chosen, (name, count), published = _stream(epsilon), _published(), _paths()
    left, right = above.columns(2)
    with left:
        st.markdown("**Can you see one person?** One published sum, with and without the first item")
        distributions(chosen, name, count)
    with right:
        st.markdown("**Published sums** and the true sum")
        figure, ends = path_chart(chosen, published)
        described = charts.read_aloud(figure, "Released running sums and the true sum")
        st.plotly_chart(figure, key="sums-path", config=charts.CONFIG, alt=described)
        described = "; ".join(f"{title} {error:+.0f}" for title, error in ends.items())
        st.caption(f"One stream of items 0 or 1. Error at the end: {described or 'nothing is drawn'}.")
    left, right = st.columns(2)
    with left:
        st.markdown("**How large is the error?** Standard deviation of the noise at equal ε")
        figure = error_chart(chosen)
        described = charts.read_aloud(figure, "Standard deviation of the noise of each counter")
        st.plotly_chart(figure, key="sums-error", config=charts.CONFIG, alt=described)
        st.caption(
            "Curve: root mean square over nearby counts. Band: least to most noise among them.\n\n"
            f"{mean_errors(chosen)}"
        )
    with right:
        st.markdown("**Largest privacy loss of one item** so far")
        figure = spending_chart(chosen)
        described = charts.read_aloud(figure, "Largest privacy loss of a single item, never above epsilon")
        st.plotly_chart(figure, key="sums-spent", config=charts.CONFIG, alt=described)
        st.caption(
            "Log ratio of all published sums for two streams that differ in one item. With normal noise: the ε that "
            f"holds at δ = {DELTA:g}."
        )
    counted.draw(chosen.epsilon)
    facts(list(COUNTERS.values()))
