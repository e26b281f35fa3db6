"""DP-SE: Sajed, Sheffet 2019.

Plays all arms equally often and drops the ones that are clearly worse, comparing noisy means.

    S = all arms;  beta = 1 / T
    for e = 1, 2, ... while more than one arm is left:
        D = 2^-e;  R = [max(32 ln(8 |S| e^2 / beta) / D^2,  8 ln(4 |S| e^2 / beta) / (epsilon D))] + 1
        pull each arm of S  R times;  m_a = mean of these pulls + Laplace(1 / (epsilon R))
        h = sqrt(ln(8 |S| e^2 / beta) / (2 R));  c = ln(4 |S| e^2 / beta) / (epsilon R)
        drop every arm with  m_a < max m - 2 h - 2 c
    play the arm that is left

`epoch` has R and the margin, `learn` the release; `choose` of the family drops arms and ends with the last one.

Guarantee: epsilon-central DP, pure. Released: one mean per arm and epoch, at the end of the epoch; every reward is
in at most one of them. The policy needs the horizon, through its failure probability beta = 1/T.
Deviations from print: none known. An epoch that the horizon cuts short releases nothing. With ``growth`` a number the
epochs are batches of growth^b pulls instead, with the radii of print: the step with a curator on the ladder of trust of
`bandit_core.policies.elimination_by_trust`, which begins with short batches where DP-SE begins with thousands of pulls.
"""

import math
from typing import Literal, NamedTuple

from bandit_core.kernels import batch_rule as kernels
from bandit_core.kernels.batch_rule import BatchRule, noise
from bandit_core.kernels.play import Stream, piece_of
from bandit_core.model import Bound, KernelCall, RunSetup
from bandit_core.policies import batch_family, elimination_by_trust
from bandit_core.policies.elimination_family import State, believe, choose, start
from bandit_core.theory import central, ladder


class EpochParameters(elimination_by_trust.EliminationParameters):
    """How sure an elimination must be, and how long its epochs are."""

    growth: elimination_by_trust.Growth | Literal["auto"] = "auto"
    """auto: the epochs of print. A number: batch b pulls every arm that is left growth^b times."""


class Numbers(NamedTuple):
    """The budget, and the chance that a best arm may ever be dropped."""

    epsilon: float
    beta: float


def epoch(numbers: Numbers, known: State, number: int, size: int) -> tuple[int, float]:
    """R, and 2 h + 2 c, of the epoch e = ``number`` with |S| = ``size`` arms."""
    sampling = math.log(8.0 * size * number * number / numbers.beta)
    privacy = math.log(4.0 * size * number * number / numbers.beta)
    depth = 2.0**number  # 1 / D
    length = int(max(32.0 * sampling * depth * depth, 8.0 * privacy * depth / numbers.epsilon) + 1.0)
    h, c = math.sqrt(sampling / (2.0 * length)), privacy / (length * numbers.epsilon)
    return length, 2.0 * h + 2.0 * c


def learn(numbers: Numbers, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Release the mean with Laplace(1 / (epsilon R)) noise."""
    known.means[arm] = (total + noise(stream.words, stream.trial, 1.0 / numbers.epsilon)) / count


RULE = BatchRule("dp_se", start, choose, learn, believe, "turns", {"epoch": piece_of(epoch)})


def _prepare(setup: RunSetup) -> KernelCall:
    if setup.parameters.growth == "auto":
        return RULE.call(setup, Numbers(setup.fixed_epsilon, ladder.chance_of_error(setup)))
    return elimination_by_trust.prepare(setup, kernels.LAPLACE, ladder.laplace(setup))


def _upper(setup: RunSetup) -> list[Bound]:
    bounds = central.dp_se(setup)
    if setup.parameters.growth == "auto":
        return bounds
    return [ladder.until_dropped(setup, ladder.laplace(setup), "central"), *bounds[1:]]


POLICY = batch_family.central_policy(
    name="dp-se",
    anytime=False,
    parameters=EpochParameters,
    prepare=_prepare,
    upper=_upper,
    step_cost=lambda setup: batch_family.cost(setup, look=0.0),  # rounds, each with one look at every arm
)
