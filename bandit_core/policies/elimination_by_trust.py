"""Shared by elimination in batches that grow by a factor: one skeleton, whatever the server learns of a batch.

How private each is, and what a batch costs, follows from `bandit_core.theory.ladder`; the batches themselves are drawn
by `bandit_core.kernels.batch_rule`. Growth 2 is what the proofs have, 4 what the experiments of Chowdhury and Zhou 2023
have, and about what the epochs of DP-SE have; in the long run the two lose the same on average over gaps.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from bandit_core.kernels import batch_rule as kernels
from bandit_core.kernels.batch_rule import EXACTLY, NEVER, BatchRule, Ladder, count_pulls, noise
from bandit_core.kernels.play import Batches, Stream, piece_of, uniform
from bandit_core.kernels.poisson import poisson
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.batch import decoded, discrete_laplace
from bandit_core.model import Bound, Guarantee, KernelCall, Parameters, RunSetup
from bandit_core.policies import index_family
from bandit_core.policies.batch_family import refuse_tiny_budget, two_valued
from bandit_core.policies.elimination_family import NUMBER, State, believe, choose, start
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory import central, ladder
from bandit_core.theory.ladder import Steps

Growth = Annotated[Whole, Field(ge=2, le=16)]


class EliminationParameters(Parameters):
    """How sure an elimination must be."""

    beta: Annotated[Number, Field(gt=0, lt=1)] | Literal["auto"] = "auto"
    """Probability that a best arm may ever be dropped. auto: 1 / horizon."""


class BatchParameters(EliminationParameters):
    """How batches grow."""

    growth: Growth = 4
    """Batch b pulls every arm that is left growth^b times (the proofs have 2)."""


def epoch(numbers: Ladder, known: State, number: int, size: int) -> tuple[int, float]:
    """The length of a batch, and its margin; after the last one nothing is dropped."""
    if number > numbers.lengths.shape[0]:
        return NEVER, 0.0
    return int(numbers.lengths[number - 1]), numbers.margins[number - 1, size]


def total(numbers: Ladder, known: State, batches: Batches, arm: int, count: int, stream: Stream) -> float:
    """What the users of a batch add up to: rewards, bits that are 1, or levels."""
    batch = known.place[NUMBER] - 1
    contrast, levels = numbers.contrast[batch], numbers.levels[batch]
    return kernels.batch_total(
        batches, arm, float(count), numbers.learns, contrast, levels, stream.words, stream.trial
    )  # fmt: skip


def take(numbers: Ladder, known: State, fresh: np.ndarray, arm: int, response: float, stream: Stream) -> None:
    """A bit, or a level, of a user whose share of the noise comes with that of all others."""
    batch = known.place[NUMBER] - 1
    if numbers.learns == kernels.BITS:
        truth = 0.5 + numbers.contrast[batch] * (response - 0.5)
        fresh[arm] += 1.0 if uniform(stream) < truth else 0.0
    else:
        fresh[arm] += kernels.rounded(response, numbers.levels[batch], stream.words, stream.trial)


def bit(numbers: Ladder, reward: float, stream: Stream) -> float:
    """The randomised response to a reward."""
    return 1.0 if uniform(stream) < 0.5 + numbers.contrast[0] * (reward - 0.5) else 0.0


def learn(numbers: Ladder, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """The mean that the server makes of a sum, with the noise of all users of the batch where they share it."""
    batch, words, trial = known.place[NUMBER] - 1, stream.words, stream.trial
    contrast, spread = numbers.contrast[batch], numbers.spread[batch]
    if numbers.learns == kernels.SUMS:
        known.means[arm] = total / count
    elif numbers.learns == kernels.BITS:
        known.means[arm] = 0.5 + (total / count - 0.5) / contrast
    elif numbers.learns == kernels.LAPLACE:
        known.means[arm] = (total + noise(words, trial, spread)) / count
    else:
        most = count * numbers.levels[batch]
        if numbers.learns == kernels.POLYA:
            first = next_uniform(words, trial, 0)
            total += discrete_laplace(first, next_uniform(words, trial, 0), spread)
        else:
            total += poisson(0.5 * spread, words, trial) - poisson(0.5 * spread, words, trial)
        known.means[arm] = decoded(total, most, numbers.slack[batch]) / most


def _rule(name: str, **parts: Any) -> BatchRule:
    parts |= {"parts": {"epoch": piece_of(epoch)}, "total": total, "pull": count_pulls}
    return BatchRule(name, start, choose, learn, believe, "turns", **parts)


SEEN, BITS = _rule("ladder"), _rule("ladder_of_bits", respond=bit)
SHARED = _rule("ladder_of_shared_noise", take=take, takes=EXACTLY, hides=True)


def prepare(setup: RunSetup, learns: int, steps: Steps, shared: bool = False) -> KernelCall:
    """The call that plays a line; ``learns`` is one of the codes of `bandit_core.kernels.batch_rule`.

    Where rewards are counted late each is drawn by itself, and a batch takes all that are counted by its end but where
    users have ``shared`` its noise.
    """
    numbers = Ladder(learns, steps.lengths, 2 * steps.radii, steps.contrast, steps.levels, steps.spread, steps.slack)
    by_user = SHARED if shared else BITS if learns == kernels.BITS else SEEN
    if not setup.feedback.immediate:
        return by_user.call(setup, numbers)
    return replace(SEEN.call(setup, numbers), rule=by_user)


def cost(learns: int, setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: a look per batch and arm, else the drawing of the rewards."""
    if not setup.feedback.immediate:
        return index_family.late_cost(setup)
    looks = 10 * len(setup.arms) * math.log2(max(2.0, setup.horizon)) / setup.horizon
    return min(1.0, looks) if learns == kernels.BITS or two_valued(setup) else min(1.0, looks) + 1.0


def common(learns: int, steps: Callable[[RunSetup], Steps], shared: bool = False) -> dict[str, Any]:
    """Fields of every policy of the family but those that tell the steps of trust apart.

    ``shared``: the noise is that of all users of a batch together, made for exactly so many of them.
    """
    return {
        "anytime": False, "prepare": lambda setup: prepare(setup, learns, steps(setup), shared=shared),
        "step_cost": partial(cost, learns),
        "late": True,
    }  # fmt: skip


def private(learns: int, steps: Callable[[RunSetup], Steps], shared: bool = False) -> dict[str, Any]:
    """The same for policies that share one budget among all users."""
    return common(learns, steps, shared) | {
        "accepts": bounded_rewards("heldp-ucb-bs"),
        "refuses": refuse_tiny_budget,
        "parent": "se",
    }


def unseen(
    learns: int,
    steps: Callable[[RunSetup], Steps],
    orders: Callable[[RunSetup], list[Bound]],
    guarantee: Callable[[RunSetup], Guarantee],
) -> dict[str, Any]:
    """`private`, with what is kept, which implies a curator's promise, and the bounds of that and of the steps."""

    def bounds(setup: RunSetup) -> list[Bound]:
        kept = guarantee(setup)
        return [*central.lower_bounds(setup, kept), *ladder.upper(setup, steps, kept.model, orders(setup))]

    return private(learns, steps, shared=True) | {"guarantee": guarantee, "bounds": bounds}
