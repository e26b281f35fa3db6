"""Gaussian Thompson sampling: Ou, Avella Medina, Cummings 2024; Agrawal, Goyal 2017.

Thompson sampling with normal draws: the noise that explores also hides rewards, if it is wide enough.

    pull each arm b times, in turns
    for t = K b + 1, ..., T:
        draw  theta_a ~ N(S_a / (N_a + 1), c / (N_a + 1))  for each arm
        pull the arm with the largest  theta_a;  add its reward to S_a

Promise: (epsilon, delta)-central DP: every draw is a Gaussian mechanism on the mean of an arm

arXiv 2407.14879; b = 0 and c = 1 is Agrawal and Goyal (2017). Rewards lie in [0, 1].

Guarantee: mu-Gaussian DP, central, with mu^2 = D / (c (b + 1)) for D = T - K b steps with draws. Proof. Let a run tell
all its draws; its choices follow from them. Change one user's reward. It enters the sum of the one arm that this user
got, which the draws before decide. Given those draws, the next vector of draws differs in the mean of that arm alone,
by at most 1/(n + 1), at a standard deviation of sqrt(c/(n + 1)): a Gaussian mechanism with mu_t^2 = 1/(c (n + 1)), at
most 1/(c (b + 1)), as n >= b from then on. D such steps compose to the root of the sum of their squares, also where
each depends on the ones before (Dong, Roth and Su 2022, Corollary 2). mu-GDP is (epsilon, delta)-DP exactly where the
Gaussian mechanism of sensitivity 1 and noise 1/mu is.

So with b = 1 and c = 1 and ten thousand users mu is 71, and epsilon in the thousands. The line's epsilon is kept by the
factor c (auto), or c is chosen, and the guarantee shown is what the run then has. Each arm's n may stay at b while
the others are pulled, so nothing better can be promised before the run.
Where rewards are counted late, the draws begin once b rewards of each arm are counted, n and S are of those that are,
and D is smaller; a change of one reward still moves one mean, by at most 1/(n + 1) with n >= b.
Deviation from print: b is at least 1. This lab's `thompson` draws from beta posteriors: such a draw is no normal noise
on a mean, and this proof says nothing about it.
"""

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.play import Belief, Now, Rule, Stream, User, around, gaussian
from bandit_core.mechanisms.gaussian import analytic_sd, smallest_epsilon
from bandit_core.model import Bound, Guarantee, Parameters, Release, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.central_family import central_release
from bandit_core.spec.field_types import Positive, Small, Whole
from bandit_core.spec.number_text import number
from bandit_core.theory import central


class GaussianThompsonParameters(Parameters):
    """Pulls before the draws, how wide they are, and the chance that epsilon fails."""

    delta: Annotated[Small, Field(gt=0, lt=1)] = 1e-6
    """Probability with which the bound epsilon on the privacy loss may fail."""
    pre_pulls: Annotated[Whole, Field(ge=1, le=10**9)] | Literal["auto"] = "auto"
    """Pulls of each arm before any draw, b. auto: sqrt(T) / mu, of which the draws' variance is 1 afterwards, and at
    most half of the users in all."""
    factor: Positive | Literal["auto"] = "auto"
    """Factor c of the draws' variance. auto: what epsilon needs, and at least 1. A number: the guarantee shown is what
    the run then has."""


def _target(setup: RunSetup) -> float:
    """The mu of Gaussian DP that the line's epsilon and delta allow."""
    return 1 / analytic_sd(1.0, setup.fixed_epsilon, setup.parameters.delta)


def pre_pulls(setup: RunSetup) -> int:
    """Pulls of each arm before any draw (b)."""
    if setup.parameters.pre_pulls != "auto":
        return int(min(setup.parameters.pre_pulls, setup.horizon))
    most = max(1, setup.horizon // (2 * len(setup.arms)))
    return min(most, max(1, math.ceil(math.sqrt(setup.horizon) / _target(setup))))


def draws(setup: RunSetup, times: np.ndarray | float) -> np.ndarray:
    """Steps with draws among the first ``times``: those after the first b rewards of every arm are counted."""
    before = setup.feedback.counted_at(len(setup.arms) * pre_pulls(setup))
    return np.maximum(0.0, np.minimum(times, setup.horizon) - float(before))


def factor(setup: RunSetup) -> float:
    """The factor of the draws' variance (c)."""
    if setup.parameters.factor != "auto":
        return float(setup.parameters.factor)
    return max(1.0, float(draws(setup, setup.horizon)) / (_target(setup) ** 2 * (pre_pulls(setup) + 1)))


def mu(setup: RunSetup, times: np.ndarray | float) -> np.ndarray:
    """The Gaussian DP that a run keeps over its first ``times`` steps; shape of ``times``."""
    return np.sqrt(draws(setup, times) / (factor(setup) * (pre_pulls(setup) + 1)))


def _epsilon(setup: RunSetup, kept: float) -> float:
    if kept == 0:
        return 0.0
    smallest = smallest_epsilon(kept, 1.0, setup.parameters.delta)
    return setup.fixed_epsilon if math.isclose(smallest, setup.fixed_epsilon, rel_tol=1e-9) else smallest


def _guarantee(setup: RunSetup) -> Guarantee:
    delta, kept = setup.parameters.delta, float(mu(setup, setup.horizon))
    epsilon = _epsilon(setup, kept)
    words = (
        f"the choices of a run are {number(kept)}-Gaussian differentially private in every single reward, and so "
        f"({number(epsilon)}, {delta:.2g})-differentially private"
    )
    if epsilon > setup.fixed_epsilon:
        words += f": with the factor that was chosen it spends more than epsilon {setup.fixed_epsilon:g}"
    return Guarantee("central", words, epsilon, delta)


def _releases(setup: RunSetup) -> list[Release]:
    """Every draw of the arm that a reward is of, as if the arm were never pulled again."""
    steps, pulls = int(draws(setup, setup.horizon)), pre_pulls(setup) + 1
    if steps == 0:
        return []
    what, when = "a draw from the normal distribution around an arm's mean", f"at every step after {pulls - 1:,} pulls"
    scale = math.sqrt(factor(setup) / pulls)
    return [central_release(what, 1 / pulls, scale, f"{when} of each arm", steps, normal=True)]


class Numbers(NamedTuple):
    """The factor c of the draws' variance, and the pulls b of each arm before any draw."""

    factor: float
    first: int


class State(NamedTuple):
    """Of every arm (arms,): sum and number of its rewards, and the last draw."""

    sums: np.ndarray
    counts: np.ndarray
    thetas: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing."""
    return State(np.zeros(arms), np.zeros(arms), np.zeros(arms))


@inlined
def in_turns(first: int, thetas: np.ndarray, now: Now) -> int:
    """Whose turn it is until ``first`` rewards of every arm are counted, as if it had the largest draw; then -1."""
    arms = thetas.shape[0]
    if now.counted >= arms * first:
        return -1
    choice = (now.t - 1) % arms
    thetas[:] = 0.0
    thetas[choice] = np.inf
    return choice


def choose(numbers: Numbers, known: State, now: Now, stream: Stream) -> int:
    """In turns until b rewards of every arm are counted; then the arm with the largest draw."""
    choice = in_turns(numbers.first, known.thetas, now)
    if choice >= 0:
        return choice
    best = -np.inf
    for arm in range(known.sums.shape[0]):
        n = known.counts[arm] + 1.0
        theta = known.sums[arm] / n + math.sqrt(numbers.factor / n) * gaussian(stream)
        known.thetas[arm] = theta
        if theta > best:
            best = theta
            choice = arm
    return choice


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the reward."""
    known.sums[arm] += response
    known.counts[arm] += 1.0


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The distribution of the arm's draw."""
    n = known.counts[arm] + 1.0
    return around(known.sums[arm] / n, TAIL * math.sqrt(numbers.factor / n), known.thetas[arm])


TAIL = NormalDist().inv_cdf(0.95)  # standard deviations that 5% of the draws lie beyond, on either side
RULE = Rule("draws", start, choose, learn, belief, decides="draw")


def _bounds(setup: RunSetup) -> list[Bound]:
    upper = central.gaussian_thompson(setup, factor(setup), pre_pulls(setup))
    kept = _guarantee(setup)
    if kept.epsilon == 0:  # no draws, and nothing is told: that keeps any other epsilon, too
        kept = replace(kept, epsilon=setup.fixed_epsilon)
    return [*central.lower_bounds(setup, kept), *upper]


POLICY = batch_family.central_policy(
    name="gaussian-ts",
    anytime=False,
    parameters=GaussianThompsonParameters,
    prepare=lambda setup: RULE.call(setup, Numbers(factor(setup), pre_pulls(setup))),
    bounds=_bounds,
    guarantee=_guarantee,
    spending=lambda setup, times: np.array([_epsilon(setup, float(kept)) for kept in mu(setup, np.asarray(times))]),
    releases=_releases,
    parent="thompson",
    step_cost=lambda setup: 1.0 + 0.6 * len(setup.arms),
)
