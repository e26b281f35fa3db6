"""The part of the Mechanisms page about counters: running sums that a trusted curator releases."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError
from bandit_core.mechanisms import Counter
from bandit_core.mechanisms.square_root import DELTA
from bandit_core.spec.errors import Issue
from ui import charts, figures, page_fields, state, stylesheet, theme, words
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


def error_chart(chosen: Sums, dark: bool) -> go.Figure:
    """Standard deviation of the noise against the number of items; the band is the spread from count to count."""
    curves = []
    for name in COUNTERS:
        times, least, usual, most = _windows(chosen, name)
        look: dict[str, Any] = {"dash": DASHES[name], "low": least, "high": most, "group": name}
        colour = theme.mechanism_colour(name, dark)
        curves.append(charts.Curve(times, usual, _titled(name), colour, "%{y:.3~g}", **look))
    items = {"title": "items so far", **charts.USERS_LOG}
    return charts.draw(curves, items, charts.log_axis("sd of the noise"), 440, dark)


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


def law_chart(chosen: Sums, name: str, count: int, dark: bool) -> go.Figure:
    """One published sum with and without the first item, and their log ratio."""
    x, pair = _laws(chosen, name, count)
    shades, loss = (theme.mechanism_colour(name, dark), theme.quiet(dark)), np.log(pair[0]) - np.log(pair[1])
    drawn = list(zip(("first item 1", "first item 0"), pair, shades, strict=True))
    axes = ("density", "published sum (all other items 0)")
    return pair_chart(x, drawn, loss, chosen.epsilon, axes, 1.45 * chosen.epsilon, dark)


def _laws(chosen: Sums, name: str, count: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Values of one published sum, and their densities with and without the first item."""
    counter = chosen.counter(name)
    sd = math.sqrt(counter.variance(count))
    x = np.linspace(-3 * sd, 1 + 3 * sd, 401)
    return x, (counter.density(count, x - 1), counter.density(count, x))


def law_words(chosen: Sums, name: str, largest: float) -> str:
    """What one published sum reveals at most, beside what all reveal."""
    described = f"In this range, this one sum reveals up to **{largest:.2g}** about the first item. "
    if COUNTERS[name].pure:
        return described + f"All sums together stay within ε = {chosen.epsilon:g}: see the last picture."
    return (
        f"{described}Normal noise has no largest loss: all sums together keep ε = {chosen.epsilon:g} with "
        f"δ = {DELTA:g}."
    )


def path_chart(chosen: Sums, names: list[str], dark: bool) -> go.Figure:
    """Released sums over one stream beside the true one."""
    true, released = _sums(chosen, names)
    shown = np.unique(np.round(np.linspace(1, chosen.horizon, min(400, chosen.horizon))).astype(int)) - 1
    faint = {"opacity": 0.6}
    curves = [charts.Curve(shown + 1, true[shown], "the true sum", theme.quiet(dark), "%{y:.0f}", width=5, more=faint)]
    for name, values in released.items():
        title, colour = COUNTERS[name].title, theme.mechanism_colour(name, dark)
        steps, y = {"line": {"color": colour, "width": 1.5, "shape": "hv"}}, values[shown].astype(np.float32)
        curves.append(charts.Curve(shown + 1, y, title, colour, "%{y:.1f}", more=steps))
    span = max(float(true[-1]), 1.0)
    up = {"title": "running sum", "range": [-0.6 * span, 1.7 * span]}
    return charts.draw(curves, {"title": "items so far", **charts.USERS}, up, 440, dark)


def _sums(chosen: Sums, names: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The true running sum of the stream, and what each counter publishes."""
    items = (np.random.default_rng([chosen.draw, 0]).random(chosen.horizon) < CHANCE).astype(float)
    noise = (chosen.draw, 1)
    published = {name: chosen.counter(name).release(items, np.random.default_rng(noise)) for name in names}
    return np.cumsum(items), published


def spending_chart(chosen: Sums, dark: bool) -> go.Figure:
    """The most that one item has spent, under the line at epsilon."""
    counts = np.unique(np.round(np.geomspace(1, chosen.horizon, 200)).astype(int))
    curves = []
    for name in COUNTERS:
        line = {"color": theme.mechanism_colour(name, dark), "width": 2.5, "dash": DASHES[name], "shape": "hv"}
        spent = chosen.counter(name).spent(counts)
        curves.append(charts.Curve(counts, spent, _titled(name), hover="%{y:.3~g}", more={"line": line}))
    limit = charts.Mark(y=chosen.epsilon, text="ε", place="top left", colour=theme.quiet(dark))
    up = {"title": "loss of one item", "range": [0, 1.25 * chosen.epsilon]}
    return charts.draw(curves, {"title": "items so far", **charts.USERS}, up, 440, dark, [limit])


def draw() -> None:
    """The whole part."""
    st.markdown(stylesheet.filled("sums.md", delta=f"{DELTA:g}"))
    above = opening()
    epsilon = FIELDS.ask("eps", above)
    with st.expander("Change the stream or the published sums", key="mechanisms-change"):
        chosen, (name, count), published = _stream(epsilon), _published(), _paths()
    _, (with_item, without) = _laws(chosen, name, count)
    largest = float(np.abs(np.log(with_item) - np.log(without)).max())
    streams = f"the sum published after {count} items for two streams that differ in the first item"
    true, released = _sums(chosen, published)
    errors = "; ".join(f"{COUNTERS[each].title} {sums[-1] - true[-1]:+.0f}" for each, sums in released.items())
    with above:
        figures.beside(
            chosen,
            ("**Can you see one person?** One published sum, with and without the first item", "sums-law",
             partial(law_chart, chosen, name, count),
             lambda: f"Distributions of {streams}; largest log ratio {largest:.2g}", law_words(chosen, name, largest)),
            ("**Published sums** and the true sum", "sums-path", partial(path_chart, chosen, published),
             "Released running sums and the true sum",
             f"One stream of items 0 or 1. Error at the end: {errors or 'nothing is drawn'}."),
            how=(name, count, *published),
        )  # fmt: skip
    figures.beside(
        chosen,
        ("**How large is the error?** Standard deviation of the noise at equal ε", "sums-error",
         partial(error_chart, chosen), "Standard deviation of the noise of each counter",
         "Curve: root mean square over nearby counts. Band: least to most noise among them.\n\n"
         f"{mean_errors(chosen)}"),
        ("**Largest privacy loss of one item** so far", "sums-spent", partial(spending_chart, chosen),
         "Largest privacy loss of a single item, never above epsilon",
         "Log ratio of all published sums for two streams that differ in one item. With normal noise: the ε that "
         f"holds at δ = {DELTA:g}."),
    )  # fmt: skip
    counted.draw(chosen.epsilon)
    facts(list(COUNTERS.values()))
