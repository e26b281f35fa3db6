"""Step 4: a learner that hears noisy answers only."""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui import watch
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Step, ratio


def _experiment(at: float) -> Experiment:
    return jokes.played([jokes.OPENLY, jokes.flipped(at)], y="log")


def _told(result: Result, at: float) -> Message:
    return pictures.cost(result, 1, 0, (f"At ε = {at:g} the learner behind the coin", "the one with open answers"))


def _watch(result: Result) -> None:
    watch.fold("Watch this learner meet its users, one by one", result.experiment, "learn-watch", 1)


def _measured(result: Result, at: float) -> Number:
    return ratio(result, 1, 0)


STEP = Step(
    name="learner",
    title="A learner behind the coin flip",
    idea="Now the app learns again which of its five jokes is best. One learner sees who really laughed. The other "
    "one gets each answer **behind a coin flip**. It will find the best joke, too. It only has to try the other jokes "
    "for longer until it can be sure.",
    question="At {at}, how many times as many laughs does the second learner lose?",
    guess=Choice((("less than 2 times", -np.inf, 2), ("2 to 10 times", 2, 10), ("more than 10 times", 10, np.inf))),
    unit="times",
    slider=jokes.slider(
        "Privacy budget ε: ← hides more · loses fewer laughs →",
        "How much one answer may tell about the user who gave it.",
    ),
    experiment=_experiment,
    draw=pictures.curves,
    conclude=_told,
    measured=_measured,
    below=_watch,
    so="Behind the coin the learner needs more tries, and each extra try of a worse joke costs laughs.",
    exact="Thompson sampling with open rewards against Thompson sampling on corrupted feedback (TS-CF), which gets "
    "each reward by randomised response and is ε-locally private. Means over 500 runs of 10,000 users with common "
    "random numbers, ± one standard error; differences and ratios take their error over pairs of runs. Two "
    "numbers count as different where the 95% interval of their difference leaves out 0. Both axes go up by "
    "factors of ten.",
    notes="Let the class move the slider to both ends. On the left the noisy learner comes close to choosing blindly, "
    "on the right the two curves can hardly be told apart. Ask which ε they would want for jokes, and which one for a "
    "medical test.",
    exercise="Why does the learner behind the coin flip lose more laughs, though it finds the best joke in the end?",
    answer="Each hidden answer tells less, so it needs more answers to tell the jokes apart. Until then it shows the "
    "worse jokes more often.",
)
