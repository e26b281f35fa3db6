"""Shared by the policies whose index is mean + width x clock: from an instance to its kernel's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bandit_core.kernels import feedback, index
from bandit_core.kernels.jump import DEEPEST, MOST_TAPES, Groups, Responses, jump
from bandit_core.kernels.records import Index, Rewards, Users, rewards_of
from bandit_core.mechanisms.sigmoid import sigmoid
from bandit_core.model import KernelCall, RunSetup, numbers_held
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import DISCRETE, FIXED, Fixed
from bandit_core.spec.elementary import tanh

_NOBODY_HIDES = Fixed(value=1.0)  # stands in where there is no privacy: every response is accepted
LONG = 2_000_000  # horizon beyond which jumping wins with up to `FEW` arms (measured once: docs/speed.md)
FEW = 32  # jumping looks at all arms after every change of leader: more arms need a longer horizon


def transformed_means(arms: tuple[distributions.RewardDistribution, ...], squash: bool) -> np.ndarray:
    """Mean of what the mechanism is fed with: the reward, or its sigmoid; shape (arms,)."""
    if not squash:
        return np.array(distributions.each(arms, lambda arm: arm.expected))
    return np.array(distributions.each(arms, lambda arm: arm.expect(sigmoid)))


def _two_valued(arms: tuple[distributions.RewardDistribution, ...], release: int) -> np.ndarray:
    """Which arms' responses take two values (behind Laplace noise: before the noise), shape (arms,)."""
    return (
        np.full(len(arms), True) if release == index.BITS else distributions.rows(arms)[:, 0] == distributions.TWO_POINT
    )


def sampler(setup: RunSetup, release: int) -> str:
    """Which sampler plays the instance: ``jump`` (see `bandit_core.kernels.jump`) or ``step`` (`kernels.index`).

    Jumping needs a best arm with two-valued responses and budgets in a few groups; it pays at long horizons. The
    answer depends on the line, the arms and the horizon only, because the two samplers draw different numbers. Below
    ``LONG`` users nothing of the jump kernel is ever compiled.
    """
    arms = len(setup.arms)
    if setup.horizon <= LONG * max(1.0, arms / FEW) or not setup.feedback.immediate:
        return "step"
    code, _, groups = (setup.epsilon or _NOBODY_HIDES).kernel_form()
    fits = code in (FIXED, DISCRETE) and arms * len(groups) <= MOST_TAPES
    return "jump" if fits and _two_valued(setup.arms, release)[setup.gaps == 0].any() else "step"


def cost(release: int, step: float = 1.0) -> Callable[[RunSetup], float]:
    """``step_cost`` of a policy one pull of which costs ``step`` pulls of ``ucb``, where it is not jumped over.

    The time of a jump run grows about with the square root of the horizon (measured once: docs/speed.md).
    """

    def relative(setup: RunSetup) -> float:
        if not setup.feedback.immediate:
            return step * late_cost(setup)
        if sampler(setup, release) == "step":
            return step * max(1.0, math.log2(len(setup.arms) / 10))
        return step * min(1.0, 0.5 * (setup.horizon / LONG) ** -0.55)

    return relative


def late_cost(setup: RunSetup) -> float:
    """Rough time of one pull with late feedback: every index is computed for every user."""
    return 1.0 + 0.06 * len(setup.arms)


def held(release: int) -> Callable[[RunSetup, int], float]:
    """``held`` of a policy of this family: the tapes of a jump run, else what the step samplers hold."""

    def numbers(setup: RunSetup, rows: int) -> float:
        if sampler(setup, release) == "step":
            return held_late(setup, rows)
        groups = len((setup.epsilon or _NOBODY_HIDES).kernel_form()[2])
        return len(setup.arms) * (DEEPEST * (4 * groups + 1) + 12 + 3 * groups)

    return numbers


def late(setup: RunSetup) -> feedback.Late:
    """How late the rewards of a line are counted."""
    return feedback.Late(setup.feedback.batch, setup.feedback.delay)


def held_late(setup: RunSetup, rows: int) -> float:
    """``held`` of policies that take late feedback: also what is known of users whose rewards are not counted yet."""
    asked = setup.feedback
    waiting = 0.0 if asked.immediate else 3.0 * min(asked.batch + asked.delay, setup.horizon)
    return numbers_held(setup, rows) + waiting


def _jump(setup: RunSetup, form: Index, eps_min: float) -> KernelCall:
    """The numbers that `kernels.jump` needs, from the distributions."""
    release, squash = form.release, form.squash
    arms = len(setup.arms)
    table, values = setup.tables
    code, _, groups = (setup.epsilon or _NOBODY_HIDES).kernel_form()
    epsilons, shares = groups[:, 1], np.diff(groups[:, 0], prepend=0.0)
    kept = np.full(len(shares), True) if code == FIXED else epsilons >= eps_min
    lows, highs, chances = table[:, 1].copy(), table[:, 2].copy(), np.repeat(table[:, 3:4], len(shares), axis=1)
    noises, units, shift, stretch = np.ones(len(shares)), np.ones(len(shares)), 0.0, 1.0
    means = transformed_means(setup.arms, squash)
    safe = np.where(kept, epsilons, 1.0)
    if squash:
        lows, highs = sigmoid(lows), sigmoid(highs)
    if release == index.LAPLACE:
        noises = 1.0 / safe
    elif release == index.BITS:
        noises, lows, highs, shift = 1.0 / tanh(safe / 2), np.full(arms, -1.0), np.ones(arms), 0.5
        chances = 0.5 + (means[:, None] - 0.5) / noises
        units, stretch = (units, 0.5 * noises[0]) if code == FIXED else (noises, 0.5)
    responses = Responses(_two_valued(setup.arms, release), lows, highs, chances)
    users = Groups(code == FIXED, shares, noises, units, kept)
    rewards = Rewards(table, values, means, setup.regret_gaps)
    return KernelCall(jump, (rewards, form, responses, users, (shift, float(stretch))), arms)


def prepare(
    setup: RunSetup,
    *,
    release: int = index.RAW,
    squash: bool = False,
    per_pull: float = 0.0,
    per_spread: float = 0.0,
    clock: int = index.PLAIN_CLOCK,
    forced: float = 0.0,
    eps_min: float = 0.0,
) -> KernelCall:
    """The sampler that plays the instance best (see `bandit_core.kernels.index` for the meaning of the numbers)."""
    form = Index(release, squash, per_pull, per_spread, clock, forced)
    if sampler(setup, release) == "jump":
        return _jump(setup, form, eps_min)
    arms = len(setup.arms)
    rewards = rewards_of(setup, transformed_means(setup.arms, squash))
    users = Users(*(setup.epsilon or _NOBODY_HIDES).kernel_form(), eps_min)
    if not setup.feedback.immediate:
        return KernelCall(feedback.by_index, (rewards, users, form, late(setup)), arms)
    if index.lockstep_wins(arms, setup.horizon):
        return KernelCall(index.lockstep, (rewards, users, form), arms, lanes=index.LANES)
    return KernelCall(index.tournament, (rewards, users, form), arms)
