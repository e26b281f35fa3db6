"""Step 6: whom do you trust? The same budget, with a curator and without."""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui import gallery
from ui.learn import jokes, own_noise, pictures
from ui.learn.step import Choice, Message, Number, Step, lost, ratio


def _experiment(at: float) -> Experiment:
    """Home's picture, whose methods are the best of each level of trust at this budget."""
    return gallery.home_experiment(at)


def _told(result: Result, at: float) -> Message:
    if result.experiment.lines[1].policy == result.experiment.lines[2].policy:
        title, mine = result.experiment.lines[2].entry.title, lost(result, 2)
        text = (
            f"At ε = {at:g} a curator can do no better than {title}, which needs no trust: both lost **{mine}** laughs."
        )
        return Message(text, {"mine": mine, "theirs": mine}, "unclear")
    return pictures.cost(result, 2, 1, (f"At ε = {at:g} the app that needs no trust", "the one with a trusted curator"))


def _measured(result: Result, at: float) -> Number:
    return ratio(result, 2, 1)


STEP = Step(
    name="trust",
    title="Whom do you trust?",
    idea="So far you trusted no one: the coin was tossed on your phone. There is another way. A **curator** sees all "
    "true answers and adds noise to their sums. The same ε then hides you from the rest of the world, but not from "
    "the curator. If you trust the curator, a little noise can hide many people at once.",
    question="At {at}, how many times as many laughs do you lose without a trusted curator as with one?",
    guess=Choice((("less than 1.3 times", -np.inf, 1.3), ("1.3 to 5 times", 1.3, 5), ("more than 5 times", 5, np.inf))),
    unit="times",
    slider=jokes.slider(
        "Privacy budget ε, the same for both",
        "How much may be learned about one user: from the answer (trust no one) or from what the curator shows.",
    ),
    experiment=_experiment,
    draw=pictures.curves,
    conclude=_told,
    measured=_measured,
    so="Without a curator each answer has its own noise; a curator adds one noise to the whole sum.",
    exact="Local differential privacy (each reward is randomised on its user's device) against central differential "
    "privacy (a curator sees the rewards and what it publishes is private), both pure and at the same ε. Each is "
    "played by the best method for it among those of the lab, chosen at each ε by other runs. A local promise implies "
    "the central one, so a curator may use a method that needs no trust, and does so where that is the best.",
    notes="Ask who the curator would be in real life: the school, the company, the state? Who could force it to hand "
    "over the data, or steal it? Then move ε to 8: the curator's gain is gone there. The class should keep two "
    "questions apart: how much noise, and who sees what is below the noise.",
    exercise="Name one thing that can go wrong with a curator and cannot go wrong with coins on phones.",
    answer="The curator holds the true answers, so they can be stolen, sold or demanded by a court. With coins on "
    "phones no one holds them.",
    second=own_noise.STEP,
)
