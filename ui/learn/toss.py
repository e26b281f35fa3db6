"""Toss your own coin: each phone sends one bit behind two coins, and the class sees the share of yes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.spec.number_text import count
from ui import theme
from ui.learn import pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, spread

QUESTION = "Do you like pineapple on pizza?"
EPSILON = math.log(3)  # of two coins: the truth unless both show heads
SCRIPT = (Path(__file__).resolve().parent.parent / "assets" / "coins.js").read_text("utf-8")
STOPS = (10.0, 30.0, 100.0, 300.0, 1000.0)
SHARE, REPEATS = 0.6, 1000
ESTIMATE = "estimate (shaded: ± 2 standard errors)"


@dataclass(frozen=True)
class Bits:
    """What the phones of a class sent, in random order; the true share of yes where it is known."""

    bits: tuple[float, ...]
    truth: float | None = None
    typical: Number | None = None  # error of the estimate over repeats, in points

    def message(self) -> str:
        """The estimate in words, beside the truth where it is known."""
        share, yes = estimate(self), int(sum(self.bits))
        told = f"{yes} of {len(self.bits)} bits say yes. So about **{share}%** of the class mean yes."
        if self.truth is None:
            return told
        return f"{told} In truth {self.truth:.0f}% do."

    def estimates(self) -> np.ndarray:
        """The estimated share of yes after each bit, in percent."""
        means = np.cumsum(self.bits) / np.arange(1, len(self.bits) + 1)
        return 100 * CTB.estimate(means, EPSILON)


def error(phones: int | np.ndarray) -> np.ndarray:
    """Standard error of the estimate, in points: what the coins alone do, so it is the same for all true answers."""
    return 100 * np.sqrt(CTB.variance(1.0, EPSILON) / phones) / math.tanh(EPSILON / 2)


def estimate(found: Bits) -> Number:
    """The estimated share of yes in percent."""
    return Number(float(found.estimates()[-1]), float(error(len(found.bits))))


def _sample(at: float, seed: int) -> Bits:
    rng = np.random.default_rng([seed, 14])
    truth = np.zeros(int(at))
    truth[: round(SHARE * at)] = 1
    sent = CTB.release(np.tile(truth, (REPEATS, 1)), EPSILON, rng)
    typical = spread(100 * CTB.estimate(sent.mean(axis=1), EPSILON), 100 * truth.mean())
    return Bits(tuple(rng.permutation(sent[0]).tolist()), 100 * float(truth.mean()), typical)


def draw(found: Bits, at: float, dark: bool, height: int) -> go.Figure:
    """The estimate after each bit, two standard errors around it, and the truth where it is known."""
    figure, shade = go.Figure(), pictures.colour(pictures.PRIVATE, dark)
    phones, values = np.arange(1, len(found.bits) + 1), found.estimates()
    room = 2 * error(phones)
    band = {"x": phones, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(y=values + room, **band)
    figure.add_scatter(y=values - room, fill="tonexty", fillcolor=theme.transparent(shade, 0.2), **band)
    figure.add_scatter(
        x=phones, y=values, mode="lines", name=ESTIMATE, line={"color": shade, "width": 2.5},
        hovertemplate="%{y:.0f}%",
    )  # fmt: skip
    if found.truth is not None:
        figure.add_scatter(
            x=[1, STOPS[-1]], y=[found.truth] * 2, mode="lines", name="truth", hovertemplate="%{y:.0f}%",
            line={"color": theme.ink(dark), "width": 2, "dash": "dash"},
        )  # fmt: skip
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="phones that sent a bit", type="log", dtick=1, range=[0, 3])
    figure.update_yaxes(title="estimated share of yes (%)", tickvals=[0, 25, 50, 75, 100], range=[-50, 150])
    return figure


def _told(found: Bits, at: float) -> Message:
    share = estimate(found)
    more = Number(share.value - 50, share.error)
    tails = {
        "more": "So most mean yes.",
        "less": "So most mean no.",
        "unclear": "It is unclear whether most mean yes.",
    }
    return Message(f"{found.message()} {tails[more.verdict]}", {"share": share}, more.verdict)


def _measured(found: Bits, at: float) -> Number:
    assert found.typical is not None
    return found.typical


_OWN = f"""<form id="own-coins"><p><b>{QUESTION}</b> Press your true answer. It stays in this browser.</p>
<p><button data-answer="1">Yes</button> <button data-answer="0">No</button></p><output></output></form>
<style>#own-coins button {{font:inherit;color:inherit;background:none;border:1px solid;border-radius:.5rem;
min-height:2.75rem;padding:0 1.6rem;cursor:pointer}}</style>
<script>{SCRIPT}
document.getElementById("own-coins").addEventListener("submit", event => {{
  event.preventDefault();
  const coins = tossCoins(Number(event.submitter.dataset.answer));
  event.target.querySelector("output").textContent = coins.message + " You are alone here, so nothing is sent.";
}});
</script>"""


def own_coins() -> None:
    """The same coins for one person alone; the browser tosses them, and nothing is sent."""
    st.html(_OWN, unsafe_allow_javascript=True)


STEP = Step(
    name="toss",
    title="Toss your own coin",
    idea="Everyone answers one question, and no one has to say the truth. Your phone tosses **two coins** that you "
    "alone can see. Two heads: it sends the opposite of your answer. Otherwise it sends your answer. So one bit leaves "
    "your phone, a yes or a no, and no one knows if it is true.",
    question="{at} send one bit each. How far from the true share of yes is the estimate, as a rule?",
    guess=Choice((("less than 5 points", -np.inf, 5), ("5 to 12 points", 5, 12), ("more than 12 points", 12, np.inf))),
    unit="points",
    slider=Slider(
        label="Phones that send a bit",
        help="How many people answer once each.",
        stops=STOPS,
        start=30.0,
        words=lambda at: f"{count(int(at))} phones",
    ),
    sample=_sample,
    draw=draw,
    conclude=_told,
    measured=_measured,
    so="One bit tells little about you, but many bits together show what the class thinks.",
    exact="Two fair coins send the truth with probability 3/4, so ε = ln 3 = 1.1: randomised response, ε-local DP. "
    "From n bits with mean m the share of yes is estimated without bias by 1/2 + 2 (m - 1/2). For any true answers its "
    "standard error is the root of 3/(4 n): 16 points for 30 phones, 5 for 300. The simulated class has 60% yes. The "
    "measured error is a root mean square over 1,000 repeats.",
    notes="Let phones answer first, then ask for a show of hands, if the class wants to. Compare both. Ask one student "
    "what the bit of another one proves. Ask another question when you repeat it: two bits about the same answer tell "
    "more than one, 2 ln 3 in all.",
    exercise="Of 40 bits, 24 say yes. What share of the class do you estimate?",
    answer="The bits say 60%. Double the distance to 50%: 70% of the class, with an error of 14 points.",
    page="mechanisms",
    link=lambda at: {"mech": "ctb", "eps": "1.1"},
    link_words="The same coin, with all its numbers",
    coins=QUESTION,
)
