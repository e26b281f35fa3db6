"""Step 7: users choose their own budget; whom to ignore?"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, difference, lost, ratio, size

LEVELS = (0.2, 1.0, 2.0, 100.0)
USERS: dict[str, Any] = {"kind": "discrete", "values": [0.0, *LEVELS]}


def _experiment(at: float) -> Experiment:
    lines = [
        {"policy": "heldp-ucb-b", "epsilon": USERS, "params": {"eps_min": level}, "label": "HeLDP-UCB-B, {eps_min}"}
        for level in LEVELS
    ]
    return jokes.played(lines, [jokes.joke(0.8), jokes.joke(0.4)])


def _words(at: float) -> str:
    return "no one who answers" if at == LEVELS[0] else f"everyone below ε = {at:g}"


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    figure = go.Figure()
    shade = pictures.colour("heldp-ucb-b", dark)
    for place, level in enumerate(LEVELS):
        number = lost(result, place)
        figure.add_bar(
            x=[f"ε < {level:g}" if place else "no one"],
            y=[number.value],
            name=f"ignoring {_words(level)}",
            marker={"color": shade, "opacity": 1.0 if level == at else 0.45},
            error_y={"type": "data", "array": [2 * number.error], "color": pictures.colour(pictures.OPEN, dark)},
            hovertemplate="%{y:,.3~g}",
        )
    pictures.plain(figure, dark, height)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title="who is ignored", type="category")
    figure.update_yaxes(title="laughs lost", rangemode="tozero")
    return figure


def _told(result: Result, at: float) -> Message:
    place = LEVELS.index(at)
    keep, mine = lost(result, 0), lost(result, place)
    if not place:
        return Message(f"Listening to everyone who answers lost **{keep}** laughs.", {"keep": keep}, "unclear")
    numbers = {"mine": mine, "keep": keep}
    head = f"Ignoring {_words(at)} lost **{mine}** laughs; listening to everyone who answers lost **{keep}**"
    saved = difference(result, 0, place)
    if saved.verdict == "unclear":
        return Message(f"{head}: this run cannot tell the two apart.", numbers, "unclear")
    numbers["saved"] = size(saved)
    word = "fewer" if saved.value > 0 else "more"
    return Message(f"{head}. So ignoring them lost **{numbers['saved']}** {word}.", numbers, saved.verdict)


def _measured(result: Result, at: float) -> Number:
    return ratio(result, LEVELS.index(at), 0)


STEP = Step(
    name="whom",
    title="Whom to ignore",
    idea="Now each user chooses their own ε. One in five says nothing. One in five answers with ε = 0.2, so the coin "
    "decides nearly alone. Others take 1 or 2, and one in five hides nothing. Should the app listen to all who "
    "answer? A very noisy answer may do **more harm than good** if the learner takes it for as good as the others.",
    question="The app ignores {at}. What does it lose, next to listening to all who answer?",
    guess=Choice((("less", -np.inf, 0.9), ("about the same", 0.9, 1.1), ("more", 1.1, np.inf))),
    unit="times",
    slider=Slider(
        label="Ignore",
        help="Users whose own ε is lower are not listened to.",
        stops=LEVELS,
        start=1.0,
        words=_words,
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    bars=True,
    so="A very noisy answer can blur the clear ones more than it adds to them.",
    exact="HeLDP-UCB-B on two Bernoulli arms (0.8 and 0.4), 10,000 users; a fifth of the users each has ε = 0, 0.2, "
    "1, 2 and 100. Answers of users below the public threshold ε_min are discarded. Each kept answer is decoded by "
    "1/2 ± coth(ε/2)/2, and the means weigh them all alike, so the noisiest users decide the variance. The rule of "
    "Ren et al. (2020) keeps the threshold with the least mean of coth²(ε/2) over the kept users per share of users "
    "kept. An ε must not depend on what it is to hide, as it travels in the clear.",
    notes="Ask whether it is fair to ignore people who want much privacy. They lose nothing themselves, but jokes "
    "that they alone would like may never win. Then try the last position: who listens to too few learns slowly again.",
    exercise="Why not ignore everyone but those with ε = 100?",
    answer="Their answers are nearly exact, but they are few. Slightly noisy answers of many others add more than "
    "their noise takes away.",
    link_words="The same users in Explore",
)
