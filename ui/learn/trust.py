"""Step 6: whom do you trust? The same budget, with a curator and without."""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui.learn import jokes, own_noise, pictures
from ui.learn.step import Choice, Number, Step, Told, ratio


def _experiment(at: float) -> Experiment:
    curator = {"policy": "dp-imed", "epsilon": jokes.budget(at), "label": jokes.CURATOR}
    return jokes.played([jokes.OPENLY, curator, jokes.flipped(at)], y="log")


def _told(result: Result, at: float) -> Told:
    return pictures.cost(result, 2, 1, (f"At ε = {at:g} the app that needs no trust", "the one with a trusted curator"))


def _measured(result: Result, at: float) -> Number:
    return ratio(result, 2, 1)


STEP = Step(
    name="trust",
    title="Whom do you trust?",
    idea="So far nobody was trusted: the coin was tossed on your phone. There is another way. A **curator** sees all "
    "true answers and adds noise to their sums. The same ε then hides you from the rest of the world, but not from "
    "the curator. If you trust the curator, a little noise can hide many people at once.",
    question="At {at}, how many times as many laughs are lost if nobody is trusted as if a curator is?",
    guess=Choice((("less than 1.3 times", -np.inf, 1.3), ("1.3 to 5 times", 1.3, 5), ("more than 5 times", 5, np.inf))),
    unit="times",
    slider=jokes.slider(
        "Privacy budget ε, the same for both",
        "How much may be learned about one user: from the answer (nobody trusted) or from what the curator shows.",
    ),
    experiment=_experiment,
    draw=pictures.curves,
    conclude=_told,
    measured=_measured,
    exact="Local differential privacy (each reward is randomised on its user's device; TS-CF) against central "
    "differential privacy (a curator sees the rewards and what it publishes is private; DP-IMED), both pure and at "
    "the same ε, each by the policy that loses least on these arms among those of the lab. The two promises are "
    "different: a local one implies the central one, not the other way round. At large ε the policy that trusts "
    "nobody can lose less than the curator's, which could use it as well.",
    notes="Ask who the curator would be in real life: the school, the company, the state? Who could force it to hand "
    "over the data, or steal it? Then move ε to 8: the curator's gain can vanish there. The class should keep two "
    "questions apart: how much noise, and who sees what is below the noise.",
    exercise="Name one thing that can go wrong with a curator and cannot go wrong with coins on phones.",
    answer="The curator holds the true answers, so they can be stolen, sold or demanded by a court. With coins on "
    "phones nobody holds them.",
    second=own_noise.STEP,
)
