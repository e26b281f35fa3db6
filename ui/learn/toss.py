"""Toss your own coin: each phone sends one bit behind two coins, and the class sees the share of yes."""

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.mechanisms.randomised_response import CTB
from ui import charts, templates, theme
from ui.learn import pictures
from ui.learn.measured import Number, spread

EPSILON = math.log(3)  # of two coins: the truth unless both show heads
SCRIPT = templates.text("coins.js")
SHARE, REPEATS, MOST = 0.6, 1000, 1000.0
POINTS = 60  # of a curve, at most
ESTIMATE = "estimate (shaded: ± 2 standard errors)"


@dataclass(frozen=True)
class Bits:
    """What the phones of a class sent, in random order; the true share of yes where it is known."""

    bits: tuple[float, ...]
    truth: float | None = None
    typical: Number | None = None  # error of the estimate over repeats, in points

    def message(self) -> str:
        """The estimate in words, beside the truth where it is known."""
        yes = int(sum(self.bits))
        bits = f"{yes} of {len(self.bits)} bits say yes. So about **{self.share}%** of the class mean yes."
        if self.truth is None:
            return bits
        return f"{bits} In truth {self.truth:.0f}% do."

    @property
    def share(self) -> Number:
        """The estimated share of yes in percent."""
        return Number(float(self.estimates()[-1]), float(error(len(self.bits))))

    def estimates(self) -> np.ndarray:
        """The estimated share of yes after each bit, in percent."""
        means = np.cumsum(self.bits) / np.arange(1, len(self.bits) + 1)
        return 100 * CTB.estimate(means, EPSILON)

    def numbers(self, at: float) -> dict[str, Number | str | None]:
        """The message, the share, how much it is above one half, and the typical error."""
        lead = Number(self.share.value - 50, self.share.error)
        return {"message": self.message(), "share": self.share, "lead": lead, "typical": self.typical}

    def draw(self, at: float, dark: bool, height: int) -> go.Figure:
        """The estimate after each bit, two standard errors around it, and the truth where it is known."""
        most = len(self.bits)
        phones = np.unique(np.geomspace(1, most, min(most, POINTS)).round().astype(int))
        values = self.estimates()[phones - 1]
        room, shade = 2 * error(phones), pictures.colour(pictures.PRIVATE, dark)
        band = {"low": values - room, "high": values + room}
        curves = [charts.Curve(phones, values, ESTIMATE, shade, "%{y:.0f}%", **band)]
        if self.truth is not None:
            truth, ink = [self.truth] * 2, theme.ink(dark)
            curves.append(charts.Curve([1, MOST], truth, "truth", ink, "%{y:.0f}%", "dash", width=2))
        across = {"title": "phones that sent a bit", "type": "log", "dtick": 1, "range": [0, 3]}
        up = {"title": "estimated share of yes (%)", "tickvals": [0, 25, 50, 75, 100], "range": [-50, 150]}
        return pictures.draw(curves, across, up, dark, height)


def error(phones: int | np.ndarray) -> np.ndarray:
    """Standard error of the estimate, in points: what the coins alone do, so it is the same for all true answers."""
    return 100 * np.sqrt(CTB.variance(1.0, EPSILON) / phones) / math.tanh(EPSILON / 2)


def sample(at: float, seed: int) -> Bits:
    """The bits of a class of which 60% mean yes."""
    rng = np.random.default_rng([seed, 14])
    truth = np.zeros(int(at))
    truth[: round(SHARE * at)] = 1
    sent = CTB.release(np.tile(truth, (REPEATS, 1)), EPSILON, rng)
    typical = spread(100 * CTB.estimate(sent.mean(axis=1), EPSILON), 100 * truth.mean())
    return Bits(tuple(rng.permutation(sent[0]).tolist()), 100 * float(truth.mean()), typical)


def own_coins(question: str) -> None:
    """The same coins for one person alone; the browser tosses them, and nothing is sent."""
    st.html(templates.filled("own-coins.html", question=question, script=SCRIPT).rstrip(), unsafe_allow_javascript=True)
