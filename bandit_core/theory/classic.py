"""Bounds without privacy. The lower ones hold for private policies too: privacy can only hide information."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bandit_core.model import Bound, Curve, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.theory import divergences
from bandit_core.theory.stated import nothing, stated

BEST_IS_PERFECT = (
    "the best arm always pays the largest possible reward: no distribution could be better, and the argument, which "
    "compares with a slightly better distribution, has nothing to compare with"
)


def logarithmic(constant: float) -> Curve:
    """The curve ``constant x ln t``."""
    return lambda t: constant * np.log(t)


def two_point_argument(arms: int, information: float, tempo: float, largest: float) -> Curve:
    """max over the gap D <= ``largest`` of (t D / 8) exp(-information t D^2 / (tempo^2 (K - 1)))."""

    def curve(t: np.ndarray) -> np.ndarray:
        if arms < 2 or math.isinf(information):  # without privacy to speak of: this argument says nothing
            return nothing(t)
        gap = np.minimum(largest, tempo * np.sqrt((arms - 1) / (2 * information * t)))
        return t * gap / 8 * np.exp(-information * t * (gap / tempo) ** 2 / (arms - 1))

    return curve


@dataclass(frozen=True)
class BinaryArms:
    """Arms that all pay one of the same two amounts: chances of the higher one, shape (arms,)."""

    low: float
    high: float
    chances: np.ndarray

    @property
    def zero_one(self) -> bool:
        """Whether the amounts are 0 and 1, as in a Bernoulli bandit."""
        return (self.low, self.high) == (0.0, 1.0)


def binary_arms(setup: RunSetup) -> BinaryArms | None:
    """The instance as a Bernoulli bandit on another scale, or None if it is none."""
    first = setup.arms[0].atoms
    if first is None or len(first[0]) != 2:
        return None

    def chance(arm: distributions.RewardDistribution) -> float | None:
        atoms = arm.atoms
        return None if atoms is None or not np.array_equal(atoms[0], first[0]) else float(atoms[1][1])

    chances = distributions.each(setup.arms, chance)
    if None in chances:
        return None
    low, high = first[0]
    return BinaryArms(float(low), float(high), np.array(chances, float))


def common_sd(setup: RunSetup) -> float | None:
    """The standard deviation of Gaussian arms that share one, else None."""
    spreads = {
        arm.sd if isinstance(arm, distributions.Gaussian) else None for arm in distributions.distinct(setup.arms)
    }
    return next(iter(spreads)) if len(spreads) == 1 else None


def unit_rewards(setup: RunSetup) -> bool:
    """Whether every reward lies in [0, 1]."""
    return all(arm.inside(0.0, 1.0) for arm in distributions.distinct(setup.arms))


def true_gaps(setup: RunSetup) -> np.ndarray:
    """The gaps, shape (arms,), with 0 where two means differ by no more than the rounding of their formulas."""
    rounding = 1e-14 * float(np.abs(setup.means).max())
    return np.where(setup.gaps <= rounding, 0.0, setup.gaps)


def distinct_distributions(
    setup: RunSetup,
) -> tuple[list[distributions.RewardDistribution], list[tuple[distributions.RewardDistribution, float, int]]]:
    """The different distributions of the best arms, and those of the worse arms with their gap and number of arms."""
    numbers = Counter(map(id, setup.arms))
    gaps = dict(zip(map(id, setup.arms), true_gaps(setup).tolist(), strict=True))
    counts: dict[distributions.RewardDistribution, int] = {}
    for distribution in distributions.distinct(setup.arms):
        counts[distribution] = counts.get(distribution, 0) + numbers[id(distribution)]
    every = [(distribution, gaps[id(distribution)], counts[distribution]) for distribution in counts]
    return [distribution for distribution, gap, _ in every if gap == 0], [entry for entry in every if entry[1] > 0]


def for_unit_rewards(setup: RunSetup, *bounds: Bound) -> list[Bound]:
    """The bounds, ruled out where some arm pays outside of [0, 1], for which they are proved."""
    fits, why = unit_rewards(setup), "proved for rewards in [0, 1], and some arm pays outside"
    return [bound.only_if(fits, why) for bound in bounds]


def worse_gaps(setup: RunSetup) -> np.ndarray:
    """The gaps of the worse arms."""
    gaps = true_gaps(setup)
    return gaps[gaps > 0]


def sum_over_gaps(setup: RunSetup, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Curve:
    """The curve t -> sum of ``term(gap, t)`` over the worse arms; ``term`` sees each distinct gap once."""
    gaps, counts = np.unique(worse_gaps(setup), return_counts=True)
    return lambda t: np.tensordot(counts.astype(float), term(gaps[:, None], t[None, :]), axes=1)


def until_dropped(setup: RunSetup, pulls: Callable[[float], float], failure: float) -> Curve:
    """The curve of elimination: a worse arm has ``pulls(gap)`` pulls, but with chance ``failure`` all goes wrong."""
    gaps = worse_gaps(setup).tolist()
    most, largest = {gap: pulls(gap) for gap in gaps}, max(gaps, default=0.0)
    return lambda t: sum((gap * np.minimum(most[gap], t) for gap in gaps), 0 * t) + failure * largest * t


def gap_sum(setup: RunSetup, power: float) -> float:
    """Sum of gap^power over the arms with a gap above 0."""
    return float(np.sum(worse_gaps(setup) ** power))


def per_log(gaps: np.ndarray, information: np.ndarray) -> float:
    """Sum of gap / information over the arms with a gap above 0: the constant before ln t."""
    worse = gaps > 0
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.sum(gaps[worse] / information[worse]))


def per_distribution(
    setup: RunSetup,
    information: Callable[[distributions.RewardDistribution, list[distributions.RewardDistribution]], float],
) -> float:
    """`per_log`, where what tells a worse distribution from those of the best arms is asked once of each."""
    best, worse = distinct_distributions(setup)
    gaps = np.array([gap * count for _, gap, count in worse])
    return per_log(gaps, np.array([information(distribution, best) for distribution, _, _ in worse]))


def lai_robbins_constant(setup: RunSetup, binary: BinaryArms) -> float:
    """Sum of gap / d(p_a, p_*) over the worse arms; 0 where the best arm always pays the higher amount."""
    return per_log(true_gaps(setup), divergences.bernoulli_kl(binary.chances, binary.chances.max()))


def of_two_amounts(
    setup: RunSetup,
    bound: Bound,
    constant: Callable[[BinaryArms], float],
    bits: str = "",
    perfect: str = BEST_IS_PERFECT,
) -> Bound:
    """The bound with the curve ``constant`` x ln t, for arms that all pay one of two amounts.

    ``bits`` says why these must be 0 and 1, if they must; ``perfect`` what is amiss where the best always pays more.
    """
    binary = binary_arms(setup)
    if binary is None or (bits and not binary.zero_one):
        return bound.ruled_out(bits or "needs arms that all pay one of the same two amounts, such as Bernoulli arms")
    if binary.chances.max() >= 1:
        return bound.ruled_out(perfect)
    return bound.with_curve(logarithmic(constant(binary)))


def _lai_robbins(setup: RunSetup, binary: BinaryArms) -> Bound:
    bound = stated("lai-robbins", logarithmic(lai_robbins_constant(setup, binary)))
    return bound.ruled_out(BEST_IS_PERFECT) if binary.chances.max() >= 1 else bound


def _burnetas_katehakis(setup: RunSetup) -> Bound:
    best = float(setup.means.max())
    bound = stated("burnetas-katehakis")
    if best >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    return bound.with_curve(logarithmic(per_distribution(setup, lambda worse, _: divergences.kinf(worse, best))))


def _gaussian(setup: RunSetup, sd: float) -> Bound:
    return stated("classic-lai-robbins", logarithmic(2 * sd * sd * gap_sum(setup, -1)))


def lower_bounds(setup: RunSetup) -> list[Bound]:
    """What bounds every policy on this instance from below, private or not: one bound, by the kind of arms."""
    binary = binary_arms(setup)
    if binary is not None:
        return [_lai_robbins(setup, binary)]
    if unit_rewards(setup):
        return [_burnetas_katehakis(setup)]
    sd = common_sd(setup)
    if sd is not None:
        return [_gaussian(setup, sd)]
    return [
        _gaussian(setup, 0.0).ruled_out(
            "it depends on the family of distributions the learner reckons with; drawn for arms that pay one of the "
            "same two amounts, for rewards in [0, 1], and for Gaussian arms with one standard deviation"
        )
    ]


def ucb1(setup: RunSetup) -> Bound:
    """UCB1's bound of Auer, Cesa-Bianchi and Fischer 2002, Theorem 1."""
    slope, constant = 8 * gap_sum(setup, -1), (1 + math.pi**2 / 3) * gap_sum(setup, 1)
    bound = stated("ucb1", lambda t: slope * np.log(t) + constant)
    alpha = setup.parameters.alpha
    bound = bound.only_if(alpha == 2, f"proved for exploration alpha = 2, and alpha is {alpha:g}")
    return for_unit_rewards(setup, bound)[0]


def minimax_lower(setup: RunSetup) -> Bound:
    """What the hardest instance costs every policy without privacy, and so with it."""
    arms = len(setup.arms)
    sd = common_sd(setup)
    if sd == 1:
        return stated(
            "classic-minimax-without-privacy", lambda t: np.where(t >= arms - 1, np.sqrt((arms - 1) * t) / 27, 0.0)
        )
    bound = stated(
        "minimax-without-privacy", lambda t: np.minimum(np.sqrt(arms * t), t) / 20 if arms > 1 else nothing(t)
    )
    why = "known for rewards in [0, 1] and for Gaussian arms with standard deviation 1"
    return bound.only_if(unit_rewards(setup), why)


def orders(setup: RunSetup) -> list[Bound]:
    """What holds on every instance alike: the order of UCB's regret, and what the hardest instance costs anyone."""
    arms = len(setup.arms)
    upper = stated("distribution-free-order", lambda t: np.sqrt(arms * t * np.log(t)))
    upper = upper.only_if(unit_rewards(setup), "known for rewards in [0, 1], and some arm pays outside")
    return [upper, minimax_lower(setup)]


def asymptotically_optimal(setup: RunSetup, source: str) -> Bound:
    """The leading term of a policy that reaches the Lai-Robbins constant (kl-UCB, Thompson sampling)."""
    bits = "proved with this constant for arms that pay 0 or 1"
    perfect = "the best arm always pays 1: the term in ln t vanishes and only unknown constants remain"
    constant = partial(lai_robbins_constant, setup)
    return of_two_amounts(setup, stated("leading-term", source=source), constant, bits, perfect)


def trivial_cap(setup: RunSetup) -> Bound:
    """No one can lose more than the largest gap at every step."""
    largest = float(setup.regret_gaps.max())
    return stated("trivial-cap", lambda t: t * largest)
