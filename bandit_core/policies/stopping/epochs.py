"""Elimination: Sajed, Sheffet 2019 (DP-SE), with an end.

Shows all options equally often and drops the ones that are clearly worse, until one is left.

    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [8 ln(4 |S| e^2 / delta) / 4^-e] + 1;  m_a = mean of R fresh rewards of each arm of S
        drop every arm with  m_a < max m - 2 sqrt(ln(4 |S| e^2 / delta) / (2 R))
    recommend the arm that is left

Elimination on randomised bits: Sajed, Sheffet 2019 (DP-SE), with an end.

Elimination, but every user answers with one coin-flipped bit.

    w = coth(epsilon / 2);  means of bits are 1/2 + w (share of ones - 1/2)
    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [8 w^2 ln(4 |S| e^2 / delta) / 4^-e] + 1;  m_a = mean of R fresh rewards of each arm of S
        drop every arm with  m_a < max m - 2 w sqrt(ln(4 |S| e^2 / delta) / (2 R))
    recommend the arm that is left

DP-SE with an end: Sajed, Sheffet 2019 (DP-SE), with an end.

Elimination on averages that a curator publishes with noise at the end of each epoch.

    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [max(32 ln(8 |S| e^2 / delta) / 4^-e,  8 ln(4 |S| e^2 / delta) / (epsilon 2^-e))] + 1
        m_a = mean of R fresh rewards + Laplace(1 / (epsilon R)) of each arm of S
        drop every arm with  m_a < max m - 2 sqrt(ln(8 |S| e^2 / delta) / (2 R)) - 2 ln(4 |S| e^2 / delta) / (R epsilon)
    recommend the arm that is left

Elimination in epochs until one arm is left: DP-SE (Sajed and Sheffet 2019) with an end, in three trusts.
"""

import math
from typing import Any

from bandit_core.kernels.stopping import Epochs, elimination
from bandit_core.policies.stopping.base import (
    StoppingPolicy,
    StoppingSetup,
    central_privacy,
    local_privacy,
    noisy_mean,
    random_bit,
)


def epochs_of(setup: StoppingSetup) -> Epochs:
    """What an answer is worth to a locally private setup."""
    assert setup.epsilon is not None
    return Epochs(1 / math.tanh(setup.epsilon / 2), False, 0.0)


def _policy(**fields: Any) -> StoppingPolicy:
    return StoppingPolicy(
        **{
            "rules": {"proved": "one arm is left; each mean keeps within its radius but with probability delta in all"},
            "decisions": False,
            "most_decisions": lambda setup: 60.0,  # epochs grow fourfold
            "parent": "se",
            **fields,
        }
    )


POLICIES = (
    _policy(
        name="se",
        title="Elimination",
        prepare=lambda setup: (elimination, (setup.search(), Epochs(1.0, False, 0.0))),
        parent=None,
    ),
    _policy(
        name="ldp-se",
        title="Elimination on randomised bits",
        privacy="local",
        guarantee_words="epsilon-local DP for every reward (pure)",
        prepare=lambda setup: (elimination, (setup.search(setup.randomised), epochs_of(setup))),
        guarantee=local_privacy,
        releases=random_bit,
    ),
    _policy(
        name="dp-se",
        title="DP-SE with an end",
        privacy="central",
        guarantee_words="epsilon-central DP (pure): every reward enters one released mean",
        prepare=lambda setup: (elimination, (setup.search(), Epochs(1.0, True, setup.epsilon or 0.0))),
        guarantee=central_privacy,
        releases=noisy_mean("an epoch"),
    ),
)
