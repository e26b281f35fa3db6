"""Randomised response (Ren et al. 2020, Curator 3, CTB, with the formula corrected to e^epsilon).

A reward r in [0, 1] becomes 1 with probability (r e^eps + 1 - r) / (e^eps + 1) = 1/2 + tanh(eps/2) (r - 1/2).
The printed formula has epsilon in place of e^epsilon and is not epsilon-LDP. Averaged over rewards of mean mu
the response is Bernoulli(1/2 + tanh(eps/2) (mu - 1/2)), so simulation needs no reward.
"""

from __future__ import annotations

from bandit_core.kernels.compiled import inlined


@inlined
def chance_of_one(reward, contrast):
    """Probability that the response is 1; ``contrast`` = tanh(epsilon / 2)."""
    return 0.5 + contrast * (reward - 0.5)
