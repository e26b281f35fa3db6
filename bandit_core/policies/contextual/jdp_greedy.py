"""JDP-Greedy: Shariff, Sheffet 2018; Kearns, Pai, Roth, Ullman 2014.

Greedy least squares on sums to which a trusted curator adds noise; the users' variety explores for it.

    G = 0; u = 0; arms in turn until the first release
    for t = 1, 2, ...:
        if a release is due:  V = G + W + (ridge + 2 shift s sqrt(d)) I;  theta = V^-1 (u + h)
        play the arm with the largest  x_a . theta
        G += x x^T;  u += r x

The sums are those of `jdp_linucb`.

s is the noise of the release. Guarantee: (epsilon, delta)-joint DP, as for `jdp_linucb`; it depends on no arm that is
played.

Of regret nothing is proved here with constants. Where the users' own variety explores (the smallest eigenvalue of E x
x^T of the played contexts stays above l), the error after n users is about (s sqrt(d) (1 + shift) + R sqrt(d n))/(l n),
so privacy costs about s sqrt(d) ln T / l: a sketch after Han, Liang, Wang, Zhang 2021. Without such variety greedy may
never learn. A parameter for each arm is explored by the turns before the first release only.
"""

import math
from typing import Annotated

from pydantic import Field

from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies.contextual import family, jdp_linucb
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.field_types import Number
from bandit_core.theory import contextual

Shift = Annotated[
    Number,
    Field(ge=0, le=100, description="Adds 2 shift s sqrt(d) to the ridge, s being the noise of the release."),
]


class GreedyParameters(jdp_linucb.ReleaseParameters):
    """Privacy, releases and the ridge that covers their noise."""

    shift: Shift = 2.0


def _prepare(setup: RunSetup) -> KernelCall:
    shift = 2 * setup.parameters.shift * math.sqrt(family.contexts_of(setup).dimension)
    return family.call(jdp_linucb.RULE, setup, jdp_linucb.numbers_for(setup, shift))


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    return 0.7e-9 * contexts.dimension**2 + jdp_linucb.release_seconds(setup)


POLICY = family.policy(
    name="jdp-greedy",
    parameters=GreedyParameters,
    bounds=contextual.joint_lower,
    prepare=_prepare,
    parent="greedy-ols",
    seconds=_seconds,
    **jdp_linucb.COMMON,
)
