"""Reward distributions: what an arm pays, in reward units. A file of your own is found by itself.

It ends in ``DISTRIBUTION = ...``: a class with its formula, support, moments, and how one reward is drawn. Spec,
notation, kernels, sidebar and ``list arms`` take it from here.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import is_, or_
from typing import TYPE_CHECKING, Annotated, TypeVar

import numpy as np
from pydantic import Field

from bandit_core.spec.found import distributions
from bandit_core.spec.rewards.base import GAUSSIAN, PARAMETERS, PARETO, TWO_POINT, RewardDistribution
from bandit_core.spec.rewards.built_in import (
    MAX_OBSERVED,
    Bernoulli,
    Beta,
    Empirical,
    Gaussian,
    Pareto,
    Student,
    TwoPoint,
    Uniform,
)

T = TypeVar("T")
ROW = 1 + PARAMETERS  # numbers per arm in the kernel's table: code and parameters

DISTRIBUTIONS: dict[str, type[RewardDistribution]] = distributions(
    __name__, (Bernoulli, Beta, Uniform, TwoPoint, Gaussian, Pareto, Student, Empirical)
)
if TYPE_CHECKING:
    Arm = RewardDistribution
else:
    Arm = Annotated[reduce(or_, DISTRIBUTIONS.values()), Field(discriminator="kind")]


def expand(arms: tuple[RewardDistribution, ...]) -> tuple[RewardDistribution, ...]:
    """Every arm by itself: an entry with ``count`` n stands n times. Equal arms are one object."""
    known: dict[RewardDistribution, RewardDistribution] = {}
    single = []
    for arm in arms:
        once = arm.single
        single += [known.setdefault(once, once)] * arm.count
    return tuple(single)


def distinct(arms: Iterable[RewardDistribution]) -> list[RewardDistribution]:
    """The arms without repetitions of one object (see `expand`), in order."""
    arms = tuple(arms)
    return list(dict(zip(map(id, arms), arms, strict=True)).values())


def each(arms: Iterable[RewardDistribution], function: Callable[[RewardDistribution], T]) -> list[T]:
    """``function(arm)`` for every arm, called once for all arms that are one object (see `expand`)."""
    arms = tuple(arms)
    known = {id(arm): function(arm) for arm in distinct(arms)}
    return [known[number] for number in map(id, arms)]


CUTTABLE = tuple(each.model_fields["kind"].default for each in (Bernoulli, TwoPoint, Empirical))  # that `cut` takes


def cut(arm: RewardDistribution, low: float, high: float) -> RewardDistribution:
    """The same rewards cut to [low, high] and rescaled: r becomes (min(max(r, low), high) - low) / (high - low).

    ``arm`` is one of the kinds in `CUTTABLE`. Where that changes no reward it is the arm itself.
    """
    assert arm.atoms is not None
    if isinstance(arm, Empirical):
        values = np.array(arm.values)
        weights = np.ones(len(values), int) if arm.counts is None else np.array(arm.counts)
    else:
        values, weights = arm.atoms
    moved = np.clip((np.clip(values, low, high) - low) / (high - low), 0.0, 1.0)
    if np.array_equal(moved, values):
        return arm
    ends, places = np.unique(moved, return_inverse=True)
    shares = np.bincount(places, weights) / weights.sum()
    # Not validated: what is left may be smaller than what a spec may state.
    if np.isin(ends, (0.0, 1.0)).all():
        return Bernoulli.model_construct(mean=float(shares @ ends), count=arm.count)
    if len(ends) == 2:
        return TwoPoint.model_construct(
            low=float(ends[0]), high=float(ends[1]), p_high=float(shares[1]), count=arm.count
        )
    counts = np.bincount(places, weights).astype(int) if len(ends) > 1 else np.ones(1, int)
    return Empirical(values=tuple(ends.tolist()), counts=tuple(counts.tolist()), count=arm.count)


def seen(arms: tuple[RewardDistribution, ...], clip: tuple[float, float] | None) -> tuple[RewardDistribution, ...]:
    """Single arms as private learners see them, `cut` to ``clip``; ``arms`` themselves where nothing is cut."""
    if clip is None:
        return arms
    found = tuple(each(arms, lambda arm: cut(arm, *clip)))
    return arms if all(map(is_, found, arms)) else found


def rows(arms: tuple[RewardDistribution, ...]) -> np.ndarray:
    """What the kernels read of single arms, but for the place of observed values; shape (arms, ROW)."""
    return np.array(each(arms, lambda arm: arm.row()), float).reshape(len(arms), ROW)


def tables(arms: tuple[RewardDistribution, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Kernel tables of single arms: rows (arms, ROW) and the pooled values of `RewardDistribution.values_for_kernel`.

    Equal arms share theirs. The first parameter of an arm with such values is the place where they begin.
    """
    table, places, pools, length = rows(arms), {}, [np.zeros(1)], 0
    for arm in distinct(arms):
        values = arm.values_for_kernel
        if len(values):
            places[id(arm)] = length
            pools.append(values)
            length += len(values)
    for number, arm in enumerate(arms if places else ()):
        if id(arm) in places:
            table[number, 1] = places[id(arm)]
    return table, pools[1] if len(pools) == 2 else np.concatenate(pools[1:] or pools)
