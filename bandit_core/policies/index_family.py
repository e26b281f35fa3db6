"""Shared by the policies whose index is mean + width x clock: from an instance to its kernel's numbers."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined
from bandit_core.kernels import index
from bandit_core.kernels.play import UNTRIED, Belief, Index, Rewards, Rule, Stream, User, Users, around, rewards_of
from bandit_core.kernels.rewards import draw_reward, sigmoid
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.users import draw_epsilon
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.mechanisms.sigmoid import sigmoid as _sigmoid
from bandit_core.model import KernelCall, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import FIXED, Fixed

_NOBODY_HIDES = Fixed(value=1.0)  # stands in where there is no privacy: every response is accepted


def transformed_means(arms: tuple[distributions.RewardDistribution, ...], squash: bool) -> np.ndarray:
    """Mean of what the mechanism is fed with: the reward, or its sigmoid; shape (arms,)."""
    if not squash:
        return np.array(distributions.each(arms, lambda arm: arm.expected))
    return np.array(distributions.each(arms, lambda arm: arm.expect(_sigmoid)))


def cost(step: float = 1.0) -> Callable[[RunSetup], float]:
    """``step_cost`` of a policy one pull of which costs ``step`` pulls of ``ucb``."""
    return lambda setup: (
        step * (max(1.0, math.log2(len(setup.arms) / 10)) if setup.feedback.immediate else late_cost(setup))
    )


def late_cost(setup: RunSetup) -> float:
    """Rough time of one pull with late feedback: every index is computed for every user."""
    return 1.0 + 0.06 * len(setup.arms)


# The index policies behind a mechanism: `bandit_core.kernels.index` has the index, and what arms keep.


class Numbers(NamedTuple):
    """The users' budgets, the index, and how much the one budget widens a response, if all users have the same."""

    users: Users
    form: Index
    noise: float


class State(NamedTuple):
    """Of every arm (arms,): number, sum and spread of its responses, the estimate of its mean, and the width."""

    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray
    means: np.ndarray
    widths: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing; every arm must be tried."""
    zeros = np.zeros((4, arms))
    return State(zeros[0], zeros[1], zeros[2], np.full(arms, np.inf), zeros[3])


@inlined
def _forced(form: Index, known: State, arm: int, t: int) -> bool:
    """Whether an arm must be tried for what its responses lack in spread."""
    return form.forced > 0.0 and known.spreads[arm] <= form.forced * math.log(t)


def largest(numbers: Numbers, known: State, arm: int, t: int) -> float:
    """mean + width x clock; infinite for an arm that must be tried."""
    if _forced(numbers.form, known, arm, t):
        return np.inf
    return known.means[arm] + index.clock(t, numbers.form.clock) * known.widths[arm]


@inlined
def _noise(numbers: Numbers, epsilon: float) -> float:
    """How much the budget of a user widens the response: 1 / epsilon, or coth(epsilon / 2)."""
    return numbers.noise if numbers.users.kind == FIXED else index.noise_of(numbers.form.release, epsilon)


def answer(numbers: Numbers, rewards: Rewards, arm: int, t: int, stream: Stream) -> tuple[float, float, float]:
    """A random bit, or the reward with Laplace noise; of a squashed reward the sigmoid. Nothing from a user with less
    than ``eps_min``. Each uniform is of the first generator.
    """
    words, trial, users, form = stream.words, stream.trial, numbers.users, numbers.form
    u_reward = next_uniform(words, trial, 0)
    u_noise = next_uniform(words, trial, 0) if form.release == index.LAPLACE else 0.0
    epsilon = math.nan
    if users.kind != FIXED:
        epsilon = draw_epsilon(users.kind, users.form, users.table, next_uniform(words, trial, 0))
    if epsilon < users.eps_min:
        return math.nan, math.nan, epsilon
    noise = _noise(numbers, epsilon)
    if form.release == index.BITS:
        return math.nan, 1.0 if u_reward < chance_of_one(rewards.means[arm], 1.0 / noise) else 0.0, epsilon
    reward = draw_reward(rewards.table, rewards.values, arm, u_reward, words, trial)
    sent = sigmoid(reward) if form.squash else reward
    return reward, sent + laplace_noise(u_noise, noise), epsilon


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the response and its spread, unless nothing was sent; a bit counts as noise or -noise.

    Where all have one budget it counts as 1 or -1: then sums are whole numbers, and arms with the same record have
    exactly the same index.
    """
    if math.isnan(response):
        return
    noise, shift, stretch = _noise(numbers, user.epsilon), 0.0, 1.0
    if numbers.form.release == index.BITS:
        one_budget = numbers.users.kind == FIXED
        shift, stretch = 0.5, 0.5 * noise if one_budget else 0.5
        response = (2.0 * response - 1.0) * (1.0 if one_budget else noise)
    known.counts[arm] += 1.0
    known.sums[arm] += response
    known.spreads[arm] += noise * noise
    known.means[arm] = shift + stretch * (known.sums[arm] / known.counts[arm])
    known.widths[arm] = index.width(numbers.form, known.counts[arm], known.spreads[arm])


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The estimate, give or take the width times the clock."""
    if known.counts[arm] == 0.0:
        return UNTRIED
    margin = index.clock(t, numbers.form.clock) * known.widths[arm]
    value = np.inf if _forced(numbers.form, known, arm, t) else known.means[arm] + margin
    return around(known.means[arm], margin, value)


def likelihood(numbers: Numbers, reward: float, response: float, epsilon: float) -> float:
    """Of a bit: randomised response of the reward, or of its sigmoid."""
    mean = 1 / (1 + math.exp(-reward)) if numbers.form.squash else reward
    one = 0.5 + math.tanh((numbers.users.form[0] if math.isnan(epsilon) else epsilon) / 2) * (mean - 0.5)
    return one if response == 1.0 else 1.0 - one


RULE = Rule("largest_index", start, learn=learn, belief=belief, answer=answer, likelihood=likelihood, index=largest)


def numbers(setup: RunSetup, eps_min: float = 0.0, **given: Any) -> Numbers:
    """The numbers of a line, its `Index` among them (see `bandit_core.kernels.index` for their meaning)."""
    users = Users(*(setup.epsilon or _NOBODY_HIDES).kernel_form(), eps_min)
    compiled: Any = index.noise_of  # its plain Python form takes single numbers
    form = Index(**given)
    return Numbers(users, form, compiled.py_func(form.release, users.form[0]) if users.kind == FIXED else math.nan)


def call(rule: Rule, setup: RunSetup, own: Any, asked: Numbers) -> KernelCall:
    """The call of a rule, with its ``own`` numbers, that plays what `bandit_core.kernels.index` plays faster."""
    users, form, _ = asked
    means = transformed_means(setup.arms, form.squash)

    def fast() -> KernelCall:
        arms, arguments = len(setup.arms), (rewards_of(setup, means), users, form)
        if index.vectorised_wins(arms, setup.horizon):
            return KernelCall(index.vectorised, arguments, arms, lanes=index.LANES)
        return KernelCall(index.tournament, arguments, arms)

    return rule.call(setup, own, fast, means)


def prepare(setup: RunSetup, **given: Any) -> KernelCall:
    """The call of a line whose index is mean + width x clock, see `numbers`."""
    asked = numbers(setup, **given)
    return call(RULE, setup, asked, asked)
