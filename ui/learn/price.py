"""Step 5: the price of privacy at every budget."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, difference, ratio, size

BUDGETS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # each twice the one before


def _experiment(at: float) -> Experiment:
    lines = [jokes.flipped(epsilon, "{epsilon}") for epsilon in BUDGETS]
    return jokes.played([jokes.OPENLY, *lines], y="log")


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    figure = go.Figure()
    shade = pictures.colour("ts-cf", dark)
    prices = [ratio(result, number, 0) for number in range(1, len(BUDGETS) + 1)]
    pictures.dots(figure, BUDGETS, prices, "price: times the laughs lost with open answers", shade, at)
    pictures.plain(figure, dark, height)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title="privacy budget ε", type="log", tickvals=BUDGETS)
    figure.update_yaxes(title="price (times)", type="log", tickvals=[1, 2, 5, 10, 20, 50, 100], range=[-0.3, 2.2])
    return figure


def _told(result: Result, at: float) -> Message:
    place = BUDGETS.index(at) + 1
    price = ratio(result, place, 0)
    numbers = {"price": price}
    head = f"At ε = {at:g} hiding costs **{price}** times the laughs that are lost openly"
    gain = difference(result, place, place + 1)
    if gain.verdict == "unclear":
        return Message(f"{head}. This run cannot tell ε = {at:g} and ε = {2 * at:g} apart.", numbers, "unclear")
    numbers["twice"], numbers["gain"] = ratio(result, place + 1, 0), size(gain)
    word = "fewer" if gain.value > 0 else "more"
    tail = f"Twice the budget costs **{numbers['twice']}** times: **{numbers['gain']}** laughs {word} are lost"
    return Message(f"{head}. {tail}.", numbers, gain.verdict)


def _measured(result: Result, at: float) -> Number:
    place = BUDGETS.index(at) + 1
    times = ratio(result, place, place + 1)
    return times if math.isfinite(times.value) else Number(math.nan, math.inf)


STEP = Step(
    name="price",
    title="The price curve",
    idea="How many times as many laughs are lost as with open answers? That number is the **price of privacy**. A "
    "price of 1 means that privacy is free. We measure it at seven budgets, each twice the one before. Where does half "
    "the budget cost many laughs, and where hardly any?",
    question="You halve the budget, from twice as much down to {at}. How many times as many laughs are lost then?",
    guess=Choice(
        (("hardly more: below 1.5", -np.inf, 1.5), ("1.5 to 3 times", 1.5, 3), ("more than 3 times", 3, np.inf))
    ),
    unit="times",
    slider=Slider(
        label="Privacy budget ε (the next dot has twice as much)",
        help="Moves the large dot. The curve stays.",
        stops=BUDGETS[:-1],
        start=0.5,
        words=jokes.epsilon_words,
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    bars=True,
    so="At a small ε, each further step towards privacy costs more laughs than at a large one.",
    exact="Price: the regret of TS-CF at a budget divided by that of Thompson sampling without privacy, on the same "
    "arms, with common random numbers over 500 runs of 10,000 users. Error bars: 95% intervals. In the long run "
    "the price of local privacy on Bernoulli arms grows like coth²(ε/2), so like 4/ε² for small ε: a factor of 4 for "
    "each halving. At a fixed number of users no price is above that of choosing blindly, so the curve bends on the "
    "left.",
    notes="Ask for the place where the class would stop. There is no right answer, but there are two wrong ones: to "
    "pay for the flat part on the right in privacy, and to hope for much from the steep part on the left. A decision "
    "needs both: what is lost, and who is protected from what.",
    exercise="At ε = 4 the price is close to 1. Is privacy then free?",
    answer="Nearly free for the learner. But at ε = 4 an observer is right about one person 98% of the time, so "
    "there is little privacy to pay for.",
)
