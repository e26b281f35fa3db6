"""Bounds under local privacy on what every policy must lose (`local_upper`: what some policies can guarantee).

Sources: Ren, Zhou, Liu and Shroff 2020; Gajane, Urvoy and Kaufmann 2018; Duchi, Jordan and Wainwright 2013; and a
few bounds that were re-derived for this project, each labelled so.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bandit_core.model import Bound, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.theory import basu, classic, divergences, finite_time_bounds
from bandit_core.theory.classic import BEST_IS_PERFECT, logarithmic, two_point_argument
from bandit_core.theory.stated import stated

ANY_CHANNEL = "every reward passes through some epsilon-locally private channel, which may depend on past responses"


def budget(setup: RunSetup) -> BudgetDistribution:
    """The users' budgets of a private run."""
    assert setup.epsilon is not None, "a locally private policy has a distribution of epsilon"
    return setup.epsilon


def mean_over_users(distribution: BudgetDistribution, function: Callable[[np.ndarray], np.ndarray]) -> float:
    """``E[function(epsilon)]``; infinite where it exceeds the range of a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.nan_to_num(distribution.expect_above(function, 0.0), nan=np.inf, posinf=np.inf))


def _exact(setup: RunSetup) -> Bound:
    def constant(binary: classic.BinaryArms) -> float:
        chances, where = np.unique(binary.chances, return_inverse=True)
        information = evidence(setup).chances(chances, binary.chances.max())
        return classic.per_log(classic.true_gaps(setup), information[where])

    return classic.of_two_amounts(setup, stated("exact-ldp-bound"), constant)


def _ren_theorem_4(setup: RunSetup) -> Bound:
    bound = stated("ren-theorem-4")
    binary = classic.binary_arms(setup)
    if binary is None or not binary.zero_one:
        return bound.ruled_out("stated for arms that pay 0 or 1")
    epsilon = budget(setup).fixed
    if epsilon is None:
        return bound.ruled_out("stated for one epsilon; the exact LDP bound covers several and is larger")
    if binary.chances.max() >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    with np.errstate(over="ignore"):
        constant = classic.gap_sum(setup, -1) / float(4 * np.sinh(np.float64(epsilon)) ** 2)
    return bound.with_curve(logarithmic(constant))


def _information(
    distribution: distributions.RewardDistribution,
    best: distributions.RewardDistribution,
    users: BudgetDistribution,
    mean_alpha: float,
) -> float:
    """Most that one private response can tell about ``distribution`` versus ``best``: E min(alpha_eps TV^2, KL), in
    nats.
    """
    squared = divergences.total_variation(distribution, best) ** 2
    plain = divergences.relative_entropy(distribution, best)
    if math.isinf(plain):
        return mean_alpha * squared
    return mean_over_users(users, lambda epsilon: np.minimum(divergences.duchi_alpha(epsilon) * squared, plain))


def _total_variation_form(setup: RunSetup) -> Bound:
    bound = stated("ldp-bound-by-total-variation")
    if classic.binary_arms(setup) is not None:
        return bound.ruled_out("the exact LDP bound is available for these arms and never smaller")
    if classic.unit_rewards(setup) and setup.means.max() >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    users = budget(setup)
    # A distribution without a largest epsilon has an infinite mean of alpha, which the quadrature cannot see.
    mean_alpha = mean_over_users(users, divergences.duchi_alpha) if users.largest < math.inf else math.inf
    constant = classic.per_distribution(
        setup, lambda worse, best: min(_information(worse, each, users, mean_alpha) for each in best)
    )
    if len(classic.worse_gaps(setup)) and constant == 0:
        return bound.ruled_out("some users have so large an epsilon that this form says nothing about these arms")
    return bound.with_curve(logarithmic(constant))


def evidence(setup: RunSetup) -> finite_time_bounds.Evidence:
    """What one private answer can tell, at most, averaged over the users' budgets.

    Of two amounts a symmetric coin flip lets through the most (see `_exact`); of other distributions at most alpha_eps
    TV^2, and KL. The arm is chosen before the user's budget is known and budgets have one distribution whatever the
    arm, so the pair (budget, answer) has the divergence E_eps of the answer's: that is the average. A budget known
    beforehand could be used to ask generous users about the arms in doubt, and the average would not bind.
    """
    users = budget(setup)
    mean_alpha = mean_over_users(users, divergences.duchi_alpha) if users.largest < math.inf else math.inf

    def chances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        if users.fixed is not None:
            return divergences.response_kl(p, q, users.fixed)
        p, q = np.broadcast_arrays(p, q)
        pairs = zip(p.ravel(), q.ravel(), strict=True)
        information = [mean_over_users(users, partial(divergences.response_kl, *pair)) for pair in pairs]
        return np.reshape(information, p.shape)

    return finite_time_bounds.Evidence(
        "local",
        lambda distribution, other: _information(distribution, other, users, mean_alpha),
        chances,
        f"{ANY_CHANNEL}; what one answer tells is the divergence of randomised responses (two amounts) or "
        "min(alpha TV^2, KL), averaged over users who do not choose their arm by their epsilon",
        r"\mathrm E_\epsilon\,d(\lambda_\epsilon(\mu_a),\lambda_\epsilon(\mu_*))",
    )


def finite_time(setup: RunSetup) -> list[Bound]:
    """The floors that hold at every t under local privacy; none of them is below the one without privacy."""
    return finite_time_bounds.finite_time(setup, evidence(setup))


def _minimax(setup: RunSetup) -> Bound:
    bound = stated("ldp-minimax")
    arms, users = len(setup.arms), budget(setup)

    def at_most(plain: float) -> float:
        return mean_over_users(users, lambda epsilon: np.minimum(divergences.duchi_alpha(epsilon), plain))

    if classic.unit_rewards(setup):
        # Means 1/2 - D and 1/2 + D: TV = 2 D, and for D <= 1/4 the plain KL is at most 2 ln 3 (2 D)^2.
        return bound.with_curve(two_point_argument(arms, at_most(2 * math.log(3)), 0.5, 0.25))
    sd = classic.common_sd(setup)
    if sd is None:
        return bound.ruled_out("derived for rewards in [0, 1] and for Gaussian arms with one standard deviation")
    # Means 2 D apart: KL = 2 (D/sd)^2, and TV^2 <= KL / 2 = (D/sd)^2.
    return replace(
        bound,
        rewards="Gaussian",
        formula=r"\frac{e^{-1/2}\sigma}{8\sqrt2}\sqrt{\frac{(K-1)\,t}{\mathrm E_\epsilon\min\{\alpha_\epsilon,\,2\}}}",
        assumptions=f"Gaussian arms with one standard deviation; at least two arms; {ANY_CHANNEL}",
        curve=two_point_argument(arms, at_most(2.0), sd, math.inf),
    )


def lower_bounds(setup: RunSetup) -> list[Bound]:
    """What bounds any locally private policy on this instance from below, non-private bounds included."""
    return [
        *finite_time(setup),
        _exact(setup),
        _ren_theorem_4(setup),
        _total_variation_form(setup),
        *classic.lower_bounds(setup),
        _minimax(setup),
        *basu.local(setup),
        classic.minimax_lower(setup),
    ]
