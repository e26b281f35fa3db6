"""Step 2: one answer behind a coin flip, and what an observer learns from it."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.simulation.sentences import surest
from ui import theme
from ui.learn import jokes, pictures
from ui.learn.step import Message, Number, Scale, Step

PEOPLE = 10_000
CHANCES = (0.1, 1.0, 3.0)  # budgets whose chance of the truth stands in the picture


def _sample(at: float, seed: int) -> Number:
    """The share of people, in percent, about whom an observer who believes every answer is right."""
    rng = np.random.default_rng([seed, 2])
    laughed = rng.integers(0, 2, PEOPLE).astype(float)
    right = float(np.mean(CTB.release(laughed, at, rng) == laughed))
    return Number(100 * right, 100 * math.sqrt(right * (1 - right) / PEOPLE))


def _draw(right: Number, at: float, dark: bool, height: int) -> go.Figure:
    figure, grid = go.Figure(), np.geomspace(jokes.EPSILONS[0], jokes.EPSILONS[-1], 60)
    figure.add_scatter(
        x=grid,
        y=[surest(epsilon) for epsilon in grid],
        mode="lines",
        name="what the coin allows",
        line={"color": theme.quiet(dark), "width": 2},
        hovertemplate="%{y:.3~g}%",
    )
    named = [epsilon for epsilon in CHANCES if epsilon != at]
    figure.add_scatter(
        x=named,
        y=[surest(epsilon) for epsilon in named],
        mode="markers+text",
        text=[f"{surest(epsilon):.0f}%" for epsilon in named],
        textposition="top left",
        name="chances",
        showlegend=False,
        marker={"color": theme.quiet(dark), "size": 6},
        hoverinfo="skip",
    )
    shade = pictures.colour(pictures.PRIVATE, dark)
    pictures.dots(figure, [at], [right], "this observer", shade, at, joined=False)
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="privacy budget ε", type="log", tickvals=[0.1, 0.2, 0.5, 1, 2, 4, 8])
    figure.update_yaxes(title="right about (% of people)", range=[45, 103])
    return figure


def _told(right: Number, at: float) -> Message:
    luck = Number(right.value - 50, right.error)
    numbers = {"right": right, "limit": Number(round(surest(at), 1 if surest(at) < 99 else 2))}
    chance = f"At ε = {at:g} the coin tells the truth {numbers['limit'].value:g}% of the time. "
    head = f"{chance}The observer was right about **{right}%** of 10,000 people"
    if luck.verdict == "unclear":
        message = f"{head}: this cannot be told apart from blind guessing, which is right for 50%."
        return Message(message, numbers, "unclear")
    word = "more" if luck.value > 0 else "less"
    return Message(f"{head}, {word} than the 50% of blind guessing.", numbers, luck.verdict)


STEP = Step(
    name="coin",
    title="One answer behind a coin flip",
    idea="Did you laugh? Some people do not want to say. So your phone tosses a coin first, which you alone can see. "
    "The coin is not fair: most of the time it says “tell the truth”, and at other times “say the opposite”. The "
    "number **ε** (epsilon, the privacy budget) says how often you tell the truth. A small ε hides you well.",
    question="At {at}, an observer who sees your answer bets on it. How often is that bet right?",
    guess=Scale(50, 100, 50, "%", 3),
    unit="%",
    slider=jokes.slider(
        "Privacy budget ε: ← hides more · tells more →",
        "How much one answer may tell about you.",
    ),
    sample=_sample,
    draw=_draw,
    conclude=_told,
    measured=lambda right, at: right,
    bars=True,
    so="The smaller ε is, the more often the coin lies, and the less one answer reveals.",
    exact="Randomised response: the true bit is sent with probability e^ε / (1 + e^ε), else its opposite. Any answer "
    "is at most e^ε times as likely for one truth as for the other, which is ε-local differential privacy. If both "
    "truths were equally likely before, no one who sees one answer is right more often than e^ε / (1 + e^ε): 73.1% "
    "at ε = 1. The coin, not a promise of the app, sees to that. Two answers of one person spend 2 ε.",
    notes="Play it with real coins: two tosses, truth unless both are heads (truth three times in four, ε = ln 3 = "
    "1.1). Ask everyone a harmless question, and let one pupil bet on single answers. Stress that no one has to "
    "trust the app. Then ask the class the same question five times over: the mean answer gives each person away. So "
    "a promise counts answers.",
    exercise="A phone tells the truth three times in four. How sure can an observer be who was 50% sure before?",
    answer="75% sure. The odds of the truth are 3 to 1, so ε = ln 3, about 1.1.",
    page="mechanisms",
    link=lambda at: {"part": "guess", "mech": "ctb", "eps": f"{at:g}"},
    link_words="Play the same coin against an observer",
)
