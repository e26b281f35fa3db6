"""The part of the Mechanisms page about batches: what a server sees of many users, and what one of them changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.mechanisms import Description
from bandit_core.mechanisms.batch import Batch, batch_delta
from ui import figures, theme, words
from ui.mechanisms.answer import BATCHES, FIELDS, facts, opening, pair_chart


@dataclass(frozen=True)
class Shown:
    """A mechanism as the controls have it, and what the server may see without and with one more reward of 1.

    ``seen`` (outcomes,) are means as the server reads them, in order; ``without`` and ``with_one`` their chances.
    """

    described: Description
    made: Batch
    seen: np.ndarray
    without: np.ndarray
    with_one: np.ndarray


def _shown(name: str, epsilon: float, users: int, delta: float) -> Shown:
    described = BATCHES[name]
    given = {"users": users, "delta": delta}
    made: Batch = described.make(epsilon, **{key: given[key] for key in described.settings})
    outcomes, without = made.law(0)
    seen = made.estimate(outcomes)
    order = np.argsort(seen)
    return Shown(described, made, seen[order], without[order], made.law(1)[1][order])


def controls(above: DeltaGenerator) -> tuple[Shown, float, float]:
    """The budget ``above`` the picture; mechanism, users of the batch and delta in a fold."""
    epsilon = FIELDS.ask("eps", above)
    first, second, third = st.expander("Change the mechanism or the users", key="mechanisms-change").columns(3)
    name, users, delta = FIELDS.ask("crowd", first), FIELDS.ask("users", second), 0.0
    if "delta" in BATCHES[name].settings:
        delta = FIELDS.ask("delta", third, help="Chances may differ by the factor e^ε and, in addition, by δ.")
    return _shown(name, epsilon, users, delta), epsilon, delta


def batch_chart(shown: Shown, epsilon: float, dark: bool) -> go.Figure:
    """Both distributions on top, their log ratio between the lines at plus and minus epsilon below."""
    colour, quiet = theme.mechanism_colour(shown.described.name, dark), theme.quiet(dark)
    likely = (shown.without > 1e-12) | (shown.with_one > 1e-12)
    seen, without, with_one = shown.seen[likely], shown.without[likely], shown.with_one[likely]
    with np.errstate(divide="ignore"):
        loss = np.clip(np.log(with_one) - np.log(without), -50, 50)
    pair = [("the user has 1", with_one, colour), ("the user has 0", without, quiet)]
    axes = ("chance", "mean of the batch as the server reads it")
    return pair_chart(seen, pair, loss, epsilon, axes, 2.5 * epsilon, dark, "log ratio")


def draw() -> None:
    """The whole part."""
    st.markdown(
        "Many users answer; the server sees **one number**. Each adds a share of the noise, so the others hide "
        "one user. Here the others have reward 0."
    )
    above = opening()
    shown, epsilon, delta = controls(above)
    with above:
        _picture(shown, epsilon, delta)
    facts([shown.described])


def _picture(shown: Shown, epsilon: float, delta: float) -> None:
    """What the server sees, and what it says about one user."""
    needed = batch_delta(shown.without, shown.with_one, epsilon)
    what = "What the server sees with and without one reward of 1, and their log ratio"
    figures.plot(batch_chart(shown, epsilon, theme.is_dark()), f"batch-{shown.described.name}", what)
    spread = float(np.sqrt(shown.without @ shown.seen**2 - (shown.without @ shown.seen) ** 2))
    allowed = f"these two inputs need δ = {needed:.2g}, and allowed is {delta:g}"
    st.markdown(
        f"For **{words.count(shown.made.users)}** users the mean has a standard deviation of "
        f"**{words.number(spread, 2)}**; " + (f"{allowed}." if delta else f"no log ratio is above ε = {epsilon:g}.")
    )
    st.caption(
        "The guarantee compares batches of the same size in which one reward differs. It needs every user of the "
        "batch to add their share."
    )
