"""A/B test, then the winner: Robbins 1952; Perchet, Rigollet, Chassang, Snowberg 2016.

Shows all options equally often to N users, then the one with the largest mean to everyone else.

    N: chosen, or K times the users per arm that a test of this alpha and power needs for this effect
    for t = 1, ..., N: pull the arms in turns
    m_a = mean of the rewards of arm a
    for t = N+1, N+2, ...: pull the arm with the largest m_a

Promise: none: the learner sees every reward of the test

A/B test on randomised bits (`explore-then-commit-local`): Robbins 1952; Perchet, Rigollet, Chassang, Snowberg 2016.

An A/B test whose users answer with one coin-flipped bit each; then the winner for everyone else.

    N: chosen, or K times the users per arm that a test of this alpha and power needs for this effect
    for t = 1, ..., N: pull the arms in turns; the user answers with a bit, the randomised response to the reward
    m_a = 1/2 + coth(epsilon/2) (share of ones among the bits of arm a - 1/2)
    for t = N+1, N+2, ...: pull the arm with the largest m_a

Promise: epsilon-local DP for every reward of the test; who comes later sends nothing

A/B test with noisy totals (`explore-then-commit-central`): Robbins 1952; Perchet, Rigollet, Chassang, Snowberg 2016.

An A/B test whose totals get noise before anyone compares them; then the winner for everyone else.

    N: chosen, or K times the users per arm that a test of this alpha and power needs for this effect
    for t = 1, ..., N: pull the arms in turns
    m_a = (sum of the rewards of arm a + Laplace(1 / epsilon)) / pulls of arm a
    for t = N+1, N+2, ...: pull the arm with the largest m_a

Promise: epsilon-central DP (pure): every reward enters one sum, which is released once

In the local version people who come after the test send nothing.

N is chosen, or follows from the power calculation of `theory.power`: the users that a two-sided test of proportions
needs for every arm (Dunnett's test for more than two). No part of it depends on the arms themselves. The rule commits
to the largest mean whether the difference is significant or not: someone has to be shown something.
"""

import math
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from bandit_core.kernels.batch_rule import noise
from bandit_core.kernels.explore_commit import Plan, explore_then_commit
from bandit_core.kernels.play import Belief, Means, Now, Rewards, Rule, Stream, User, rewards_of
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Bound, Guarantee, KernelCall, Parameters, Policy, Privacy, RunSetup
from bandit_core.policies import bernoulli_family, index_family
from bandit_core.policies.batch_family import two_valued
from bandit_core.policies.central_family import noisy_sums, pure, unit_rewards
from bandit_core.policies.local_family import bounded_rewards, local_guarantee, random_bits
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory import divergences
from bandit_core.theory.explore_commit import expected_regret, lower_bounds
from bandit_core.theory.power import MAX_USERS, sample_size

Open = Annotated[Number, Field(gt=0, lt=1)]


class LengthParameters(Parameters):
    """How long the test is."""

    users: Annotated[Whole, Field(ge=1, le=MAX_USERS)] | Literal["auto"] = "auto"
    """Users of the test, over all arms. auto: as many as the power calculation asks for."""
    alpha: Open = 0.05
    """Power calculation: chance of a false alarm, two-sided. Only for users = auto."""
    power: Annotated[Number, Field(ge=0.5, lt=1)] = 0.8
    """Power calculation: chance of finding the smallest effect. Only for users = auto."""
    effect: Open = 0.1
    """Power calculation: smallest difference of means worth finding. Only for users = auto."""
    baseline: Open = 0.5
    """Power calculation: mean of the usual option; 0.5 needs most users. Only for users = auto."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.baseline + self.effect > 1:
            raise ValueError("baseline + effect must be at most 1")
        return self


def users_of(setup: RunSetup, privacy: Privacy) -> int:
    """Users of the test, "auto" by the power calculation."""
    chosen = setup.parameters
    if chosen.users != "auto":
        return int(chosen.users)
    epsilon = None if setup.epsilon is None else setup.fixed_epsilon
    options = max(2, len(setup.arms))
    size = sample_size(chosen.baseline, chosen.effect, chosen.alpha, chosen.power, privacy, epsilon, options)
    return min(MAX_USERS, size.total(len(setup.arms)))


class Numbers(NamedTuple):
    """The plan, and how much a response tells of the reward: tanh(epsilon / 2) of bits, else 1."""

    plan: Plan
    contrast: float


def choose(numbers: Numbers, known: Means, now: Now, stream: Stream) -> int:
    """In turns until every user of the test is counted; then the arm with the largest mean, with noise in its sum.

    Means are infinite during the test.
    """
    plan, means = numbers.plan, known.means
    if now.counted < plan.users:
        return (now.t - 1) % means.shape[0]
    best = 0
    for arm in range(means.shape[0]):
        if means[arm] == np.inf:
            added = 0.0
            if plan.scale > 0.0 and known.counts[arm] > 0.0:
                added = noise(stream.words, stream.trial, plan.scale)
            means[arm] = (known.sums[arm] + added) / known.counts[arm] if known.counts[arm] > 0.0 else -np.inf
        if means[arm] > means[best]:
            best = arm
    return best


def answer(numbers: Numbers, rewards: Rewards, arm: int, t: int, stream: Stream) -> tuple[float, float, float]:
    """A reward, or a bit that is drawn without one; nothing leaves the device after the test."""
    words, trial, plan = stream.words, stream.trial, numbers.plan
    reward, uniform = math.nan, next_uniform(words, trial, 0)
    if plan.bits:
        response = 1.0 if uniform < rewards.means[arm] else 0.0
    else:
        reward = response = draw_reward(rewards.table, rewards.values, arm, uniform, words, trial)
    return reward, response if t <= plan.users else math.nan, math.nan


def learn(numbers: Numbers, known: Means, arm: int, response: float, user: User, stream: Stream) -> None:
    """Count a user of the test."""
    if user.number <= numbers.plan.users:
        known.sums[arm] += response
        known.counts[arm] += 1.0


def belief(numbers: Numbers, known: Means, arm: int, t: int) -> Belief:
    """Nothing before the decision; then the mean."""
    if not math.isfinite(known.means[arm]):
        value = known.means[arm] if known.means[arm] < 0.0 else math.nan
        return math.nan, math.nan, math.nan, value
    mean = bernoulli_family.mean_behind(numbers, known.means[arm])
    return mean, math.nan, math.nan, mean


RULE = Rule(
    "test_in_turns", choose=choose, learn=learn, belief=belief, answer=answer, likelihood=bernoulli_family.likelihood
)


def prepare(setup: RunSetup, privacy: Privacy, at_once: bool = True) -> KernelCall:
    """The call of the kernel. ``at_once`` = False draws every reward by itself: other draws, the same distribution.

    Where rewards are counted late, it is not heeded.
    """
    means, scale = None, 0.0
    if privacy == "local":
        means = divergences.response_mean(setup.means, setup.fixed_epsilon)
    elif privacy == "central":
        scale = 1 / setup.fixed_epsilon
    plan = Plan(users_of(setup, privacy), privacy == "local", scale, at_once)
    contrast = float(divergences.contrast(setup.fixed_epsilon)) if plan.bits else 1.0

    def fast() -> KernelCall:
        return KernelCall(explore_then_commit, (rewards_of(setup, means), plan), len(setup.arms))

    return RULE.call(setup, Numbers(plan, contrast), fast, means)


def _cost(privacy: Privacy, setup: RunSetup) -> float:
    """The time of a run goes into rewards of the test that are drawn one by one, and into the checkpoints."""
    if not setup.feedback.immediate:
        return index_family.late_cost(setup)
    looks = 1e-2 * min(1.0, 200 * len(setup.arms) / setup.horizon)
    in_bulk = privacy == "local" or two_valued(setup)
    return looks if in_bulk else looks + min(1.0, users_of(setup, privacy) / setup.horizon)


def _upper(setup: RunSetup, privacy: Privacy) -> Bound:
    width = 1 / math.tanh(setup.fixed_epsilon / 2) if privacy == "local" else 1.0
    scale = 1 / setup.fixed_epsilon if privacy == "central" else 0.0
    return expected_regret(setup, users_of(setup, privacy), privacy, width, scale)


def _policy(privacy: Privacy, **fields: Any) -> Policy:
    return Policy(
        **{
            "privacy": privacy,
            "parameters": LengthParameters,
            "settle": lambda setup: setup.parameters.settled(users=users_of(setup, privacy)),
            "prepare": lambda setup: prepare(setup, privacy),
            "step_cost": partial(_cost, privacy),
            "bounds": lambda setup: [*lower_bounds(setup, privacy), _upper(setup, privacy)],
            "late": True,
            "parent": "explore-then-commit",
            **fields,
        }
    )


POLICIES = (
    _policy(
        "none",
        name="explore-then-commit",
        guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward of the test"),
        parent=None,
    ),
    _policy(
        "local",
        name="explore-then-commit-local",
        accepts=bounded_rewards("heldp-ucb-bs"),
        guarantee=local_guarantee,
        releases=random_bits("a bit for the reward of a user of the test"),
    ),
    _policy(
        "central",
        name="explore-then-commit-central",
        accepts=unit_rewards,
        guarantee=pure,
        releases=noisy_sums("the sum of an arm's rewards in the test"),
    ),
)
