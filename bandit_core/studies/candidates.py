"""What a contest asks of a policy before it plays: how many settings it fits, and what it reads off the options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Policy
from bandit_core.spec.rewards import Bernoulli, Beta, Gaussian


def settings_taken(policy: Policy) -> int:
    """How many other settings a policy fits, from 0 to 5, as the registry says.

    Rewards that are counted late or in batches, users with budgets of their own, any number of users, rewards in [0, 1]
    that are no coins, and rewards without limits.
    """
    taken = (
        policy.late,
        policy.epsilon != "one",
        policy.anytime,
        policy.accepts((Beta(a=1.0, b=1.0),)) is None,
        policy.accepts((Gaussian(mean=0.5, sd=1.0),)) is None,
    )
    return sum(taken)


def known_beforehand(policy: Policy, candidate: Experiment) -> dict[str, Any]:
    """Parameters that were read off the options, as they are for the largest rewards in [0, 1]."""
    [setup] = candidate.setups
    [line] = candidate.lines
    asked = policy.resolve(policy.parameters.model_validate(line.params), line.epsilon)
    largest = (Bernoulli(mean=1.0),) * len(setup.arms)
    settled = policy.settle(replace(setup, arms=largest, parameters=asked))
    return {name: value for name, value in settled.model_dump().items() if value != getattr(setup.parameters, name)}
