"""The second part of step 6: a learner that draws lots is a little private without any noise of its own."""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment, load_preset
from bandit_core.experiments.shared_budget import at_shared
from bandit_core.simulation.results import Result
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Step, ratio

USUAL, WIDE, SUMS = 1, 2, 3  # lines of the preset


def _experiment(at: float) -> Experiment:
    """The preset itself where the slider starts."""
    return at_shared(load_preset("own-noise"), at)


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    experiment = result.experiment
    quiet = experiment.model_copy(update={"view": experiment.view.model_copy(update={"bounds": False})})
    return pictures.curves(dataclasses.replace(result, experiment=quiet), at, dark, height)


def _told(result: Result, at: float) -> Message:
    kept = result.experiment.lines[USUAL].entry.guarantee(result.experiment.setups[USUAL])
    assert kept.epsilon is not None
    usual = Number(float(f"{kept.epsilon:.3g}"))
    message = pictures.cost(result, WIDE, SUMS, (f"draws wide enough for ε = {at:g}", "noisy sums"))
    head = f"Drawn as wide as usual, the choices are proved to keep ε = **{usual}**. In the same crowd, "
    return Message(head + message.text, {**message.numbers, "usual": usual}, message.verdict)


def _measured(result: Result, at: float) -> Number:
    return ratio(result, WIDE, SUMS)


STEP = Step(
    name="own-noise",
    title="Noise that was there all along",
    idea="The learner of this course draws lots: for each joke it draws a number near what it believes, and tells the "
    "joke with the largest one. So its choices are noisy by themselves. Does that hide you? A little. Wider draws hide "
    "you better, but then the learner believes nothing. A curator can also make the sums noisy, once for many people.",
    question="Two jokes, and a promise of {at}. How many times as many laughs are lost with wide draws as with noisy "
    "sums?",
    guess=Choice((("less than 3 times", -np.inf, 3), ("3 to 50 times", 3, 50), ("more than 50 times", 50, np.inf))),
    unit="times",
    slider=jokes.slider(
        "Privacy budget ε, the same for both",
        "How much the choices may tell about one user. The usual draws do not move with it.",
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="One noise on a sum hides many people; noise in every single choice must be far wider, as far as is proved.",
    exact="Gaussian Thompson sampling (Agrawal and Goyal 2017) with b pulls of each arm before the draws and c times "
    "their usual variance is μ-Gaussian differentially private with μ² = D / (c (b + 1)) for D steps with draws (after "
    "Ou, Avella Medina and Cummings 2024); shown as (ε, δ) at δ = 10⁻⁶, with a trusted curator. As usual: b = c = 1. "
    "Wide enough: b and c so that the run keeps ε. Noisy sums: DP-KLUCB, pure ε. The proof is for normal draws; "
    "Thompson sampling with beta draws, the line without privacy, is not covered. Two arms (0.9 and 0.6).",
    notes="Ask what a proof of a huge ε says: that no one has shown the choices to hide more, not that they tell all. "
    "Each later draw of a joke rests on your laugh again, so the leak adds up over all users, while a noisy sum is "
    "made once. Noise that is there is not yet noise that is enough: the number counts.",
    exercise="A company says: our learner draws lots, so it is private. What do you ask?",
    answer="For which ε, and over how many users? Some noise is always there. Only the number says if it is enough.",
    link_words="These draws in Explore",
)
