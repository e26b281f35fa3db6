"""Normal TS: Thompson 1933; variance as in Honda, Takemura 2014.

Thompson sampling for amounts: it learns how much rewards vary, and needs no more than their range.

    pull each arm b times, in turns
    for t = K b + 1, ...:
        m_a = mean of the N_a rewards of arm a;  v = (all squared deviations from m_a + K / 4) / (all N_a + K)
        pull the arm with the largest draw from  N(m_a, v / N_a)

Normal TS-L: this lab, after Honda, Takemura 2014.

Each user adds Laplace noise to the reward; Thompson sampling learns the variance of both.

    pull each arm b times, in turns;  every user sends  x = reward + Laplace(1 / epsilon)
    for t = K b + 1, ...:
        m_a = mean of the N_a numbers of arm a;  v = (all squared deviations + K (1/4 + 2/epsilon^2)) / (all N_a + K)
        v = max(v, 2/epsilon^2);  pull the arm with the largest draw from  N(m_a, v / N_a)

Normal TS-C: this lab, after Honda, Takemura 2014; batches as in Hu, Hegde 2022.

A curator publishes noisy sums of batches and of their squares; Thompson sampling counts rewards and noise.

    pull each arm b times, in turns;  each batch of one arm ends once it has as many rewards as all before it
    at its end:  S_a += sum + Laplace(1 / (0.8 epsilon));  Q_a += sum of squares + Laplace(1 / (0.2 epsilon));  R_a += 1
    m_a = S_a / N_a;  v = (sum over arms of Q_a - S_a^2 / N_a, + K / 4) / (all N_a + K), at least the noise in it
    pull the arm with the largest draw from  N(m_a, v / N_a + 2 R_a / (0.8 epsilon N_a)^2)

Promise: epsilon-central DP (pure): every reward enters one batch, which is published as two sums

One variance stands for all arms, so that an arm that has paid nothing yet is not believed to vary less than others;
1/4, the largest variance of a reward in [0, 1], counts as one reward of each arm. No regret bound is proved here: with
normal draws Honda and Takemura prove the best rate for normal rewards, whose arms have variances of their own.

Guarantee: of Normal TS-L epsilon-local DP, of Normal TS-C epsilon-central DP, both pure: every reward is in one batch,
whose two numbers spend 0.8 and 0.2 of epsilon. Draws are post-processing. When a batch ends follows from the choices.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.play import Belief, Now, Rule, Stream, User, around, gaussian, laplace
from bandit_core.model import Policy, Release, RunSetup
from bandit_core.policies import batch_family, local_family
from bandit_core.policies.central_family import central_release
from bandit_core.policies.gaussian_ts import TAIL, in_turns
from bandit_core.theory import classic, finite_time_bounds, local

FOR_SUMS = 0.8  # share of a curator's epsilon; the rest is for sums of squares
FIRST = 5  # pulls of each arm before any draw, without noise
_PRIOR = 0.25  # variance that counts as one reward of each arm: the largest of a reward in [0, 1]


class Numbers(NamedTuple):
    """Scales of the Laplace noise on a reward, on a batch's sum and on its sum of squares; the growth of batches (1:
    each reward is one), and the pulls of each arm before any draw."""

    user: float
    sums: float
    squares: float
    growth: float
    first: int


class State(NamedTuple):
    """Of every arm (arms,): sum, sum of squares, number of rewards and of batches that are published; the same of the
    rewards since then, and the last draw."""

    sums: np.ndarray
    squares: np.ndarray
    counts: np.ndarray
    batches: np.ndarray
    fresh: np.ndarray
    fresh_squares: np.ndarray
    waiting: np.ndarray
    thetas: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing."""
    zeros = np.zeros((8, arms))
    return State(zeros[0], zeros[1], zeros[2], zeros[3], zeros[4], zeros[5], zeros[6], zeros[7])


@inlined
def variance(numbers: Any, known: Any) -> float:
    """The variance of what one user adds to a mean, one for all arms."""
    arms = known.sums.shape[0]
    noise = 2.0 * numbers.user**2
    total, count, batches = arms * (_PRIOR + noise), float(arms), 0.0
    for arm in range(arms):
        if known.counts[arm] > 0.0:
            total += known.squares[arm] - known.sums[arm] ** 2 / known.counts[arm]
            count += known.counts[arm]
            batches += known.batches[arm]
    return max(total / count, noise, numbers.squares * math.sqrt(2.0 * batches) / count, 1e-12)


@inlined
def spread(numbers: Any, known: Any, arm: int, each: float) -> float:
    """The standard deviation of an arm's draw."""
    n = known.counts[arm]
    return math.sqrt(each / n + 2.0 * known.batches[arm] * (numbers.sums / n) ** 2)


def choose(numbers: Numbers, known: State, now: Now, stream: Stream) -> int:
    """In turns until each arm has its first rewards; then the arm with the largest draw."""
    choice = in_turns(numbers.first, known.thetas, now)
    if choice >= 0:
        return choice
    each, best = variance(numbers, known), -np.inf
    for arm in range(known.sums.shape[0]):
        theta = known.sums[arm] / known.counts[arm] + spread(numbers, known, arm, each) * gaussian(stream)
        known.thetas[arm] = theta
        if theta > best:
            best, choice = theta, arm
    return choice


def respond(numbers: Numbers, reward: float, stream: Stream) -> float:
    """The reward with noise."""
    return reward + laplace(stream, numbers.user)


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the response; publish the batch when it is full."""
    known.fresh[arm] += response
    known.fresh_squares[arm] += response * response
    known.waiting[arm] += 1.0
    first = numbers.first if known.counts[arm] == 0.0 else 1
    if known.waiting[arm] < max((numbers.growth - 1.0) * known.counts[arm], first):
        return
    known.sums[arm] += known.fresh[arm]
    known.squares[arm] += known.fresh_squares[arm]
    if numbers.sums > 0.0:
        known.sums[arm] += laplace(stream, numbers.sums)
        known.squares[arm] += laplace(stream, numbers.squares)
    known.counts[arm] += known.waiting[arm]
    known.batches[arm] += 1.0
    known.fresh[arm] = known.fresh_squares[arm] = known.waiting[arm] = 0.0


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The distribution of the arm's draw."""
    if known.counts[arm] == 0.0:
        return np.nan, np.nan, np.nan, known.thetas[arm]
    margin = TAIL * spread(numbers, known, arm, variance(numbers, known))
    return around(known.sums[arm] / known.counts[arm], margin, known.thetas[arm])


RULE = Rule("normal_draws", start, choose, learn, belief, decides="draw")
LOCAL = Rule("noisy_normal_draws", start, choose, learn, belief, respond, decides="draw")


def _first(setup: RunSetup) -> int:
    return max(FIRST, math.ceil(5 / setup.fixed_epsilon))


def _scales(setup: RunSetup) -> tuple[float, float]:
    return 1 / (FOR_SUMS * setup.fixed_epsilon), 1 / ((1 - FOR_SUMS) * setup.fixed_epsilon)


def _releases(setup: RunSetup) -> list[Release]:
    released = ("the sum of a batch of an arm's rewards", "the sum of their squares")
    when = "once, when the batch is full"
    return [central_release(what, 1.0, scale, when) for what, scale in zip(released, _scales(setup), strict=True)]


_COMMON: dict[str, Any] = {
    "anytime": True, "late": True, "for_amounts": True, "step_cost": lambda setup: 1.0 + 0.7 * len(setup.arms),
}  # fmt: skip
POLICIES = (
    Policy(
        name="normal-ts", accepts=local_family.bounded_rewards("ucb", "its prior"),
        prepare=lambda setup: RULE.call(setup, Numbers(0.0, 0.0, 0.0, 1.0, FIRST)),
        bounds=lambda setup: [*finite_time_bounds.lower_bounds(setup), classic.trivial_cap(setup)],
        **_COMMON,
    ),
    local_family.policy(
        "one", name="normal-ts-l", parent="normal-ts", **_COMMON,
        accepts=local_family.bounded_rewards("heldp-ucb-ls"), releases=local_family.noisy_answers("the reward"),
        prepare=lambda setup: LOCAL.call(setup, Numbers(1 / setup.fixed_epsilon, 0.0, 0.0, 1.0, _first(setup))),
        bounds=lambda setup: [*local.lower_bounds(setup), classic.trivial_cap(setup)],
        refuses=batch_family.refuse_tiny_budget,
    ),
    batch_family.pure_policy(
        name="normal-ts-c", parent="normal-ts", releases=_releases, **_COMMON,
        prepare=lambda setup: RULE.call(setup, Numbers(0.0, *_scales(setup), 2.0, _first(setup))),
        upper=lambda setup: [classic.trivial_cap(setup)],
    ),
)  # fmt: skip
