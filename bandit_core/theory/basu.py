"""Theorems 1 to 4 and Corollaries 1 to 3 of Basu, Dimitrakakis and Tossou 2019, as far as they can stand.

The local ones are re-derived here with explicit constants. Those for a curator and for single actions put a factor
1/epsilon before sqrt(K t), which a known policy undercuts; they are kept, hidden, with the reason. A last bound is
ours: what the paper's environment privacy would cost.
"""

import math
from dataclasses import replace

import numpy as np

from bandit_core.model import Bound, RunSetup
from bandit_core.theory import classic, divergences
from bandit_core.theory.classic import BEST_IS_PERFECT, logarithmic, two_point_argument
from bandit_core.theory.stated import stated

_ONE_BUDGET = "stated for one epsilon; the LDP minimax bound covers users with different ones"
_TWO_ARMS = "with one arm there is nothing to learn"


def _local_minimax(setup: RunSetup) -> list[Bound]:
    """Theorem 1 (hardest arms) and Corollary 1 (hardest prior): the same number, by the minimax theorem."""
    arms, epsilon = len(setup.arms), setup.budgets.fixed
    theorem = stated("basu-theorem-1")
    corollary = stated("basu-corollary-1")
    why = _TWO_ARMS if arms < 2 else _ONE_BUDGET if epsilon is None else None
    if why:
        return [theorem.ruled_out(why), corollary.ruled_out(why)]
    assert epsilon is not None
    alpha = float(divergences.duchi_alpha(epsilon))
    if classic.unit_rewards(setup):
        curve = two_point_argument(arms, alpha, 0.5, 0.25)
        return [theorem.with_curve(curve), replace(corollary, curve=curve)]
    sd = classic.common_sd(setup)
    bounded = corollary.ruled_out("stated for bounded rewards")
    if sd is None:
        return [
            theorem.ruled_out("derived for rewards in [0, 1] and for Gaussian arms with one standard deviation"),
            bounded,
        ]
    return [stated("basu-theorem-1-gaussian", two_point_argument(arms, alpha, sd, math.inf)), bounded]


def _theorem_4(setup: RunSetup) -> Bound:
    bound = stated("basu-theorem-4")
    epsilon = setup.budgets.fixed
    if epsilon is None:
        return bound.ruled_out("stated for one epsilon; the exact LDP bound covers several and is larger")
    if classic.unit_rewards(setup) and setup.means.max() >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    best_distributions, worse = classic.distinct_distributions(setup)
    plain = np.array(
        [
            min(divergences.relative_entropy(distribution, best) for best in best_distributions)
            for distribution, _, _ in worse
        ]
    )
    if len(worse) and not np.isfinite(plain).any():
        return bound.ruled_out("the divergence KL of these distributions is infinite or not known here")
    gaps = np.array([gap * count for _, gap, count in worse])
    alpha = float(divergences.duchi_alpha(epsilon))
    if math.isinf(alpha):
        return bound  # it has vanished
    return bound.with_curve(logarithmic(classic.per_log(gaps, alpha / 2 * plain)))


def local(setup: RunSetup) -> list[Bound]:
    """Theorem 1, Corollary 1 and Theorem 4, with constants that were re-derived."""
    return [*_local_minimax(setup), _theorem_4(setup)]


def superseded(setup: RunSetup) -> list[Bound]:
    """Theorems 2 and 3 and Corollaries 2 and 3: never valid bounds here, always hidden with the argument."""
    epsilon, others = setup.fixed_epsilon, len(setup.arms) - 1
    with np.errstate(over="ignore"):
        spread = float(2 * epsilon * np.expm1(2 * np.float64(epsilon)))
    once = [
        stated(f"basu-{key}", lambda t: np.sqrt(max(others, 0) * t / spread)) for key in ("theorem-2", "corollary-2")
    ]
    return [*once, stated("basu-theorem-3"), stated("basu-corollary-3")]


def environment_share(epsilon: float) -> float:
    """Share of all users' rewards that environment privacy costs at least: max over D <= 1/2 of D/4 exp(-2 epsilon D).

    >>> round(environment_share(0.0), 4), round(environment_share(1.0), 4), round(environment_share(10.0), 5)
    (0.125, 0.046, 0.0046)
    """
    gap = min(0.5, 0.5 / epsilon) if epsilon > 0 else 0.5
    return gap / 4 * math.exp(-2 * epsilon * gap)


def environment(setup: RunSetup) -> list[Bound]:
    """What a policy must lose whose actions hide the arms' means themselves.

    Two worlds: arm 1 has mean 1/2, arm 2 has 1/2 - D or 1/2 + D, the others 1/2 - D. Every event has a probability
    in one world that is at least exp(-2 epsilon D) times that in the other, so "arm 1 in at most half of the pulls"
    and its opposite cannot both be unlikely in the world where they cost t D / 2.
    """
    share = environment_share(setup.fixed_epsilon)
    bound = stated("environment-privacy", lambda t: share * t)
    return [bound if len(setup.arms) > 1 else bound.ruled_out(_TWO_ARMS)]
