"""A curator for people who differ: what each person likes is learned from features, with and without trust."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui import charts
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Step, ratio

DELTA = 1e-6


def _experiment(at: float) -> Experiment:
    lines = [
        {"policy": "linucb", "label": jokes.FREE},
        {"policy": "jdp-greedy", "epsilon": jokes.budget(at), "params": {"delta": DELTA}, "label": jokes.CURATOR},
        {"policy": "ldp-ols", "epsilon": jokes.budget(at), "params": {"delta": DELTA}, "label": jokes.NOBODY},
    ]
    document = {"contexts": {"dimension": 3, "arms": 5}, "lines": lines, "horizon": jokes.USERS, "trials": 30}
    return Experiment.model_validate({**document, "view": {"bounds": False, "x": "log", "y": "log"}})


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, 4.0))
    figure.update_yaxes(title="joy lost so far")
    return figure


def _told(result: Result, at: float) -> Message:
    names = (f"At ε = {at:g} the app that no one must trust", "the curator")
    return pictures.cost(result, 2, 1, names, "points of joy")


def _measured(result: Result, at: float) -> Number:
    return ratio(result, 2, 1)


STEP = Step(
    name="features",
    title="A curator for people who differ",
    idea="Not all people laugh at the same jokes. Each person and each joke has three numbers that say how well they "
    "match. The app learns what these numbers mean and picks a joke **for each person**. A curator sees the numbers "
    "and adds noise to their sums. Your own joke may depend on you, but the jokes of all others hide you. If you trust "
    "no one, your phone adds noise to all it sends.",
    question="At {at}, how many times as much joy do you lose without a trusted curator as with one?",
    guess=Choice((("less than 5 times", -np.inf, 5), ("5 to 50 times", 5, 50), ("more than 50 times", 50, np.inf))),
    unit="times",
    slider=jokes.slider(
        "Privacy budget ε, the same for both",
        "How much may be learned about one person: by all others (a curator), or by anyone (no one).",
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="A phone must hide many numbers at once, each with its own noise; a curator hides only their sums.",
    exact="A reward is the inner product of three features, uniform on the unit sphere for each of five options, with "
    "an unknown unit vector; joy lost is regret in that unit, over 10,000 users and 30 runs. No privacy: LinUCB. "
    "Curator: greedy least squares on sums released with (ε, δ)-joint differential privacy. No one: LDP-OLS, whose "
    "users send noisy second moments under (ε, δ)-local differential privacy. δ = 10⁻⁶ for both. The bars of the "
    "comparison are 95% intervals over pairs of runs.",
    notes="Ask what would be left of the joke that suits you if no one could learn from it that you like it. A joke "
    "that must not depend on you cannot suit you, so your own joke is not covered. Then ask who else sees your screen: "
    "the promise of a curator does not cover that.",
    exercise="Someone looks over your shoulder at your jokes. Does a curator's promise hide you from them?",
    answer="No. It hides you from what other people get. Your own jokes may show your taste.",
    page="contextual",
    link_words="The same people in Users with features",
)
