"""Step 10: your turn, an open experiment."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, difference

OTHERS = (0.4, 0.5, 0.6, 0.7, 0.75)


def _experiment(at: float) -> Experiment:
    arms = [jokes.joke(0.8), jokes.joke(at, 4)]
    return jokes.played([jokes.OPENLY, jokes.flipped(1.0)], arms, horizon=5_000)


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    return pictures.curves_to(result, 400.0, dark, height)


def _told(result: Result, at: float) -> Message:
    hidden = f"With the other jokes at {100 * at:g}%, the learner behind the coin"
    return pictures.cost(result, 1, 0, (hidden, "the one with open answers"))


def _measured(result: Result, at: float) -> Number:
    return difference(result, 1, 0)


STEP = Step(
    name="yours",
    title="Your turn",
    idea="You have seen the parts. Now make an experiment of your own. Here is a first one: the best joke makes eight "
    "in ten laugh, and the four others nearly as many, or far fewer. If jokes are **alike**, they are hard to tell "
    "apart, but a wrong choice costs little. What wins?",
    question="The other jokes make {at} of the users laugh. How many more laughs does the coin flip cost?",
    guess=Choice((("fewer than 60", -np.inf, 60), ("60 to 150", 60, 150), ("more than 150", 150, np.inf))),
    unit="laughs",
    slider=Slider(
        label="How many laugh at the four other jokes",
        help="The best joke makes 80% laugh.",
        stops=OTHERS,
        start=0.6,
        words=lambda at: f"{100 * at:g}%",
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="Jokes that are alike are hard to tell apart, but mixing them up costs little.",
    exact="Five Bernoulli arms, the best with mean 0.8 and four with the mean of the slider; ε = 1; Thompson sampling "
    "against TS-CF, means over 500 runs of 5,000 users, ± one standard error. In the long run the regret of a good "
    "policy grows with the logarithm of the users divided by the gap, so smaller gaps cost more; among few users a "
    "gap that is too small to be seen costs little, at most T times the gap.",
    notes="Let each pupil write down a question, a guess and a reason before touching anything. Then open Explore and "
    "change one thing at a time. Two questions that go well: twice the users, is it twice the regret? And at which ε "
    "do you stop seeing a difference? Copy link keeps the experiment for the next lesson.",
    exercise="Find, in Explore, a budget at which the price of privacy is below 2 on arms of your own. Say how you "
    "know.",
    answer="Many answers are right. A good one names the arms, the users and the budget, and gives the price with its "
    "error: below 2 by more than two standard errors.",
    link_words="Open it in Explore and change what you like",
    more=(
        "Change ε until you cannot see a difference any more.",
        "Double the users. Is twice as much lost?",
        "Add jokes. Who pays more for each of them?",
    ),
)
