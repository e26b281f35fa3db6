"""Many noises or one: a number of people, counted from noisy answers or by a curator who adds noise once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import plotly.graph_objects as go

from bandit_core.mechanisms.laplace import CTL
from bandit_core.spec.number_text import count
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, spread

STOPS = (1.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
REPEATS = 1000


@dataclass(frozen=True)
class Counts:
    """Typical error of the counted number at every number of people, at ε = 1. Laplace noise scales with 1/ε."""

    many: tuple[Number, ...]
    one: tuple[Number, ...]


def _sample(at: float, seed: int) -> Counts:
    rng = np.random.default_rng([seed, 11])
    many, one = [], []
    for people in map(int, STOPS):
        yes = rng.integers(0, 2, people).astype(float)
        noisy = CTL.release(np.tile(yes, (REPEATS, 1)), 1.0, rng).sum(axis=1)
        noise = CTL.release(np.zeros(REPEATS), 1.0, rng)  # what a curator adds to a sum that one answer moves by 1
        many.append(spread(noisy, float(yes.sum())))
        one.append(spread(yes.sum() + noise, float(yes.sum())))
    return Counts(tuple(many), tuple(one))


def _at(counts: Counts, at: float, epsilon: float = 1.0) -> tuple[Number, Number, Number]:
    """Both errors, and how many times as large the first is."""
    place = STOPS.index(at)
    many, one = _scaled(counts.many[place], epsilon), _scaled(counts.one[place], epsilon)
    times = many.value / one.value
    return many, one, Number(times, times * math.hypot(many.error / many.value, one.error / one.value))


def _scaled(error: Number, epsilon: float) -> Number:
    return Number(error.value / epsilon, error.error / epsilon)


def _draw(counts: Counts, at: float, dark: bool, height: int, epsilon: float = 1.0) -> go.Figure:
    figure = go.Figure()
    for numbers, name, policy, symbol in (
        (counts.many, "noise on each answer", pictures.PRIVATE, "circle"),
        (counts.one, "one noise on the sum", pictures.CENTRAL, "square"),
    ):
        errors = [_scaled(each, epsilon) for each in numbers]
        pictures.dots(figure, STOPS, errors, name, pictures.colour(policy, dark), at, symbol=symbol)
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="people who answer", type="log", dtick=1)
    figure.update_yaxes(title="typical error (people)", type="log", tickvals=[0.1, 1, 10, 100], range=[-1, 2.8])
    return figure


def _told(counts: Counts, at: float, epsilon: float = 1.0) -> Message:
    many, one, times = _at(counts, at, epsilon)
    numbers = {"many": many, "one": one}
    head = f"At ε = {epsilon:g} with {_words(at)}, noise on each answer misses the true number by **{many}**, "
    head += f"one noise by **{one}**"
    more = Number(times.value - 1, times.error)
    if more.verdict == "unclear":
        return Message(f"{head}: these repeats cannot tell the two apart.", numbers, "unclear")
    numbers["times"] = times
    return Message(f"{head}. That is **{times}** times as much.", numbers, more.verdict)


def _words(at: float) -> str:
    return "1 person" if at == 1 else f"{count(int(at))} people"


def _with_epsilon(epsilon: float) -> Step:
    return replace(
        STEP,
        draw=partial(_draw, epsilon=epsilon),
        conclude=partial(_told, epsilon=epsilon),
        link=lambda at: {"mech": "ctl", "eps": f"{epsilon:g}"},
    )


STEP = Step(
    name="noises",
    title="Many noises or one",
    idea="How many people say yes? There are two ways to hide an answer. Each phone can add a random number to its own "
    "answer. Or a **curator** adds up the true answers and adds one random number to the sum. Both random numbers are "
    "of the same size. Both hide each person with the same ε.",
    question="At ε = 1 with {at}, how many times as large is the error with a noise on each answer?",
    guess=Choice((("less than 2 times", -np.inf, 2), ("2 to 20 times", 2, 20), ("more than 20 times", 20, np.inf))),
    unit="times",
    slider=Slider(
        label="People who answer",
        help="How many people are asked once each.",
        stops=STOPS,
        start=100.0,
        words=_words,
    ),
    other=(
        jokes.slider("Privacy budget ε", "How much each answer, or the sum, may tell about one person."),
        _with_epsilon,
    ),
    sample=_sample,
    draw=_draw,
    conclude=_told,
    bars=True,
    measured=lambda counts, at: _at(counts, at)[2],
    so="Many noises partly cancel, but they still add up; one noise stays the same for any crowd.",
    exact="Laplace noise of scale 1/ε on each answer in [0, 1] is ε-locally private; the same noise once on the sum, "
    "which one answer moves by at most 1, is ε-differentially private with a trusted curator. The variances are 2n/ε² "
    "and 2/ε², so the ratio of the errors is the root of n at every ε. Errors are root mean squares over 1,000 "
    "repeats, ± one standard error.",
    notes="Ask where the root comes from: n independent noises have n times the variance of one. Then ask for the "
    "error as a share of all people: it falls like one over the root of n with many noises, and like one over n with "
    "one. So local privacy works for large crowds only.",
    exercise="A curator counts 400 people with one noise. How many times as large is the error with 400 noises?",
    answer="20 times: the root of 400.",
    page="mechanisms",
    link=lambda at: {"mech": "ctl", "eps": "1"},
    link_words="The same noise, with all its numbers",
)
