"""Step 3: many noisy answers average out, and how many more users that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.spec.number_text import count
from ui.learn import pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, spread

STOPS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0)
SHARE, EPSILON, REPEATS = 0.6, 1.0, 1000


@dataclass(frozen=True)
class Crowd:
    """Typical error of the estimated share at every number of users, in points of a hundred."""

    hidden: tuple[Number, ...]
    open: tuple[Number, ...]


def _sample(at: float, seed: int) -> Crowd:
    rng = np.random.default_rng([seed, 3])
    users = np.array(STOPS, int)[:, None]
    ones = rng.binomial(users, float(CTB.mean(SHARE, EPSILON)), (len(STOPS), REPEATS))
    hidden = 100 * np.asarray(CTB.estimate(ones / users, EPSILON))
    openly = 100 * rng.binomial(users, SHARE, (len(STOPS), REPEATS)) / users
    return Crowd(*(tuple(spread(row, 100 * SHARE) for row in found) for found in (hidden, openly)))


def _at(crowd: Crowd, at: float) -> tuple[Number, Number, Number]:
    """Both errors at that number of users, and how many times as many users the hidden answers need."""
    place = STOPS.index(at)
    hidden, openly = crowd.hidden[place], crowd.open[place]
    times = (hidden.value / openly.value) ** 2  # the error falls with the root of the number of users
    error = 2 * times * math.hypot(hidden.error / hidden.value, openly.error / openly.value)
    return hidden, openly, Number(times, error)


def _draw(crowd: Crowd, at: float, dark: bool, height: int) -> go.Figure:
    figure = go.Figure()
    for numbers, name, policy, symbol in (
        (crowd.hidden, "behind a coin flip", pictures.PRIVATE, "circle"),
        (crowd.open, "open answers", pictures.OPEN, "square"),
    ):
        pictures.dots(figure, STOPS, numbers, name, pictures.colour(policy, dark), at, symbol=symbol)
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="users who answered", type="log", dtick=1)
    figure.update_yaxes(
        title="typical error (points)", type="log", tickvals=[0.5, 1, 2, 5, 10, 20, 50], range=[-0.5, 1.75]
    )
    return figure


def _told(crowd: Crowd, at: float) -> Message:
    hidden, openly, times = _at(crowd, at)
    numbers = {"hidden": hidden, "open": openly}
    more = Number(times.value - 1, times.error)
    head = (
        f"With {count(int(at))} users the hidden answers miss the true 60% by **{hidden}** points, "
        f"the open ones by **{openly}**"
    )
    if more.verdict == "unclear":
        return Message(f"{head}: this cannot tell the two apart.", numbers, "unclear")
    numbers["times"] = times
    return Message(
        f"{head}. To be as exact, hidden answers need **{times}** times as many users.", numbers, more.verdict
    )


STEP = Step(
    name="crowd",
    title="A crowd can be read, a person cannot",
    idea="Each answer is hidden by a coin flip. But the app knows how often the coin lies. So it can work out how "
    "many people laughed in all: the lies cancel out, more or less. The more people answer, the better this works. "
    "The price is that it needs **more people** than if all told the truth.",
    question="At ε = 1, how many times as many users does it take to be as exact as with open answers?",
    guess=Choice((("less than 2 times", -np.inf, 2), ("2 to 10 times", 2, 10), ("more than 10 times", 10, np.inf))),
    unit="times",
    slider=Slider(
        label="Users who answer",
        help="How many users are asked once each.",
        stops=STOPS,
        start=100.0,
        words=lambda at: f"{count(int(at))} users",
    ),
    sample=_sample,
    draw=_draw,
    conclude=_told,
    bars=True,
    measured=lambda crowd, at: _at(crowd, at)[2],
    so="The lies cancel out in a crowd, but it takes more people.",
    exact="60% of the users laugh. From n answers behind the coin of the step before, with mean m, the share is "
    "estimated without bias by 1/2 + (m - 1/2) coth(ε/2). Its variance is [coth²(ε/2)/4 - 0.1²]/n, that of open "
    "answers 0.24/n: at ε = 1 a factor of 4.8, whatever n. Errors are root mean squares over 1,000 repeats, in points "
    "of a hundred; both fall with the root of n. For small ε the factor grows like 1/ε².",
    notes="If you tossed coins in the step before, estimate the share of the class now, and compare with a show of "
    "hands on a harmless question. Ask why the curve falls so slowly: ten times as exact takes a hundred times as "
    "many people. Both axes go up by factors, so a straight line is a power.",
    exercise="A survey with open answers needs 500 people. How many does it need behind the coin at ε = 1?",
    answer="About 4.8 times as many: 2,400 people.",
    page="mechanisms",
    link=lambda at: {"mech": "ctb", "eps": "1"},
    link_words="The same coin, with all its numbers",
)
