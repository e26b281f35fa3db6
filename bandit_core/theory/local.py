"""Bounds under local privacy: what every policy must lose, and what HeLDP-UCB and corrupted feedback lose at most.

Sources: Ren, Zhou, Liu and Shroff 2020; Gajane, Urvoy and Kaufmann 2018; Duchi, Jordan and Wainwright 2013; and a
few bounds that were re-derived for this project, each labelled so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from bandit_core.model import Bound, Curve, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.theory import basu, classic, divergences, finite_time_bounds
from bandit_core.theory.classic import BEST_IS_PERFECT, logarithmic, nothing, two_point_argument
from bandit_core.theory.stated import stated


@dataclass(frozen=True)
class _Guarantee:
    """Theorem 7 or 10 of Ren et al. 2020 for given users and threshold, before the gaps are known.

    A worse arm with gap D (as the mechanism sees it) is pulled at most, for every kappa > 0,

        max{8 h(kappa) / (p0 D^2), floor} ln t + ln(p0 t) / (2 p0 kappa^2) + constant    times,

    with h(kappa) = (1 + 4 sqrt(first + kappa spread))^2 for the Laplace mechanism and first + kappa spread for the
    Bernoulli mechanism.
    """

    laplace: bool
    kept: float  # p0
    first: float  # alpha_0 or beta_0
    spread: float  # Q_L or Q_B
    floor: float  # of the forced pulls; 0 for the Bernoulli mechanism
    constant: float

    def width(self, kappa: np.ndarray) -> np.ndarray:
        """h(kappa)."""
        moment = self.first + kappa * self.spread
        return (1 + 4 * np.sqrt(moment)) ** 2 if self.laplace else moment

    def curve(self, gaps: np.ndarray, costs: np.ndarray) -> Curve:
        """Bound on the sum of cost x pulls over the arms with a gap above 0; infimum over kappa for each t."""
        worse = gaps > 0
        order = np.argsort(gaps[worse])
        squares, costs = gaps[worse][order] ** 2, costs[worse][order]
        with np.errstate(divide="ignore", over="ignore"):  # of the arms with smaller gaps, where the first term wins
            below = np.append(0.0, np.cumsum(costs / squares))
        above = np.append(np.cumsum(costs[::-1])[::-1], 0.0)  # of the others, where the forced pulls win
        total = float(costs.sum())

        def leading(kappa: np.ndarray) -> np.ndarray:
            height = 8 * self.width(kappa) / self.kept
            split = np.searchsorted(squares, height / self.floor if self.floor > 0 else np.full_like(height, np.inf))
            return height * below[split] + self.floor * above[split]

        def curve(t: np.ndarray) -> np.ndarray:
            log_t = np.log(t)
            # ln(p0 t) is negative while less than one response is expected; 0 is the safe reading there.
            tail = total * np.maximum(np.log(self.kept * t), 0.0) / (2 * self.kept)
            if total == 0:
                return nothing(t)
            if self.spread == 0:  # kappa may be infinite
                return log_t * leading(np.zeros(1)) + total * self.constant
            return _least_over_kappa(leading, log_t, tail) + total * self.constant

        return curve


def _least_over_kappa(leading: Callable[[np.ndarray], np.ndarray], log_t: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Infimum over kappa > 0 of ``log_t leading(kappa) + tail / kappa^2`` for each t; ``leading`` never falls.

    Every kappa gives a valid bound, so a search that is not perfect is still safe.
    """

    def total(kappa: np.ndarray) -> np.ndarray:
        return log_t[:, None] * leading(kappa) + tail[:, None] / kappa**2

    rows = np.arange(len(log_t))
    kappa = np.broadcast_to(np.geomspace(1e-12, 1e12, 601), (len(log_t), 601))
    for _ in range(3):
        place = total(kappa).argmin(axis=1)
        last = kappa.shape[1] - 1
        low, high = kappa[rows, np.maximum(place - 1, 0)], kappa[rows, np.minimum(place + 1, last)]
        kappa = np.geomspace(low, high, 41, axis=1)
    return np.where(tail > 0, total(kappa).min(axis=1), log_t * leading(np.zeros(1)))


def _smallest_kept(distribution: BudgetDistribution, eps_min: float) -> float:
    """The smallest budget of anyone who reaches the threshold."""
    values, probabilities = distribution.atoms
    smallest = values[(values >= eps_min) & (probabilities > 0)].min(initial=np.inf)
    low, high = distribution.interval or (np.inf, -np.inf)
    return float(min(smallest, max(low, eps_min) if high >= eps_min else np.inf))


def _theorem_7(setup: RunSetup) -> _Guarantee:
    distribution, eps_min = setup.budgets, float(setup.parameters.eps_min)
    share = distribution.share_above(eps_min)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        first = distribution.expect_above(lambda epsilon: epsilon**-2.0, eps_min) / share
        at_threshold = np.float64(eps_min) ** -2.0
        return _Guarantee(
            laplace=True,
            kept=share,
            first=first,
            spread=float(at_threshold - distribution.largest**-2.0),
            floor=float(2 * (4 * first * at_threshold + at_threshold**2) / (share * first**2)),
            # exp{2 kappa^2} as printed; exp{2 p0 kappa^2}, as in Theorem 10, would give 1 instead of 1/p0.
            constant=1 / share + 2 / share + 2 * math.pi**2 / 3,
        )


def _theorem_10(setup: RunSetup) -> _Guarantee:
    distribution, eps_min = setup.budgets, float(setup.parameters.eps_min)
    share = distribution.share_above(eps_min)
    # With a threshold between two groups the policy does just the same as with the upper group's budget.
    threshold = _smallest_kept(distribution, eps_min)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _Guarantee(
            laplace=False,
            kept=share,
            first=distribution.expect_above(divergences.beta, eps_min) / share,
            spread=max(0.0, float(divergences.beta(threshold) - divergences.beta(distribution.largest))),
            floor=0.0,
            constant=1 + 1 / share + math.pi**2 / 3,
        )


NOBODY_LEFT = "no user's epsilon reaches the threshold eps_min, so nothing is ever learned"


def _stated(
    setup: RunSetup, name: str, numbers: tuple[int, int], found: Callable[[RunSetup], _Guarantee], formula: str
) -> tuple[Bound, Bound, Bound]:
    """A theorem about the policy ``name``, its corollary for one epsilon, and its distribution-free order.

    What does not apply is ruled out: all where no one is left, the corollary where budgets differ.
    """
    number = f"Theorem {numbers[0]}"
    theorem, corollary = stated(f"ren-theorem-{numbers[0]}"), stated(f"ren-corollary-{numbers[1]}")
    order = stated("ren-order", number=number, price=formula, policy=name)
    if not setup.budgets.share_above(float(setup.parameters.eps_min)) > 0:
        return theorem.ruled_out(NOBODY_LEFT), corollary.ruled_out(NOBODY_LEFT), order.ruled_out(NOBODY_LEFT)
    guarantee, gaps = found(setup), classic.true_gaps(setup)
    curve, factor = guarantee.curve(gaps, gaps), (guarantee.laplace + guarantee.first) / guarantee.kept
    if setup.budgets.fixed is None:
        corollary = corollary.ruled_out(f"stated for one epsilon; {number} covers users with different ones")
    order = order.with_curve(lambda t: np.sqrt(factor * len(setup.arms) * t * np.log(t)))
    return theorem.with_curve(curve), corollary.with_curve(curve), order


def _corollary_8_follows(guarantee: _Guarantee, gaps: np.ndarray) -> bool:
    """Whether the forced pulls are dominated for every arm, as the step from Theorem 7 to Corollary 8 supposes.

    It needs 8 (1 + 4/eps)^2 / D >= 10 D, which fails for epsilon above about 34 and gaps close to 1.
    """
    return bool(np.all(8 * guarantee.width(np.zeros(1)) / guarantee.kept >= guarantee.floor * gaps**2))


def heldp_ucb_l(setup: RunSetup) -> list[Bound]:
    """Theorem 7, Corollary 8 and the distribution-free order of HeLDP-UCB-L; what does not apply is hidden."""
    theorem, corollary, order = _stated(setup, "HeLDP-UCB-L", (7, 8), _theorem_7, r"(1+\alpha_0)")
    epsilon, eps_min = setup.budgets.fixed, float(setup.parameters.eps_min)
    if corollary.not_applicable:
        return [theorem, corollary, order]
    if epsilon != eps_min:
        corollary = corollary.ruled_out(
            f"needs eps_min = epsilon = {epsilon:g}; with eps_min = {eps_min:g} more pulls are forced, see Theorem 7"
        )
    elif not _corollary_8_follows(_theorem_7(setup), classic.true_gaps(setup)):
        corollary = corollary.ruled_out(
            "its proof drops the forced pulls, which are not dominated for so large an epsilon and gap; see Theorem 7"
        )
    else:
        theorem = theorem.ruled_out("for one epsilon with eps_min equal to it, Corollary 8 says the same")
    return [theorem, corollary, order]


def heldp_ucb_b(setup: RunSetup) -> list[Bound]:
    """Theorem 10, Corollary 11 and the distribution-free order of HeLDP-UCB-B; what does not apply is hidden.

    For one epsilon Corollary 11 holds for every eps_min up to it: the policy discards no one and uses eps_min for
    nothing else.
    """
    theorem, corollary, order = _stated(setup, "HeLDP-UCB-B", (10, 11), _theorem_10, r"\beta_0")
    theorem = theorem.only_if(bool(corollary.not_applicable), "for one epsilon, Corollary 11 says the same")
    return [theorem, corollary, order]


def _sigmoid(reward: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * reward))  # the tanh form cannot overflow


def sigmoid_slope(sd: float) -> float:
    """``c_s``: smallest slope over means in [0, 1] of mean -> E sigmoid(mean + sd Z), Z standard Gaussian.

    Derivative and density are both symmetric and fall on either side, so the slope is smallest at mean 1.
    """
    return distributions.Gaussian(mean=1.0, sd=sd).expect(lambda reward: _sigmoid(reward) * _sigmoid(-reward))


def through_sigmoid(setup: RunSetup, parent: Literal["heldp-ucb-l", "heldp-ucb-b"]) -> list[Bound]:
    """Corollary 13 for HeLDP-UCB-LS and -BS: for this instance's squeezed gaps, and as printed, with c_s^-2."""
    laplace = parent == "heldp-ucb-l"
    theorem = "Theorem 7" if laplace else "Theorem 10"
    gaps = classic.true_gaps(setup)
    exact = stated("ren-corollary-13-for-these-arms", theorem=theorem, parent=parent)
    printed = stated("ren-corollary-13", theorem=theorem)
    eps_min = float(setup.parameters.eps_min)
    if not setup.budgets.share_above(eps_min) > 0:
        return [exact.ruled_out(NOBODY_LEFT), printed.ruled_out(NOBODY_LEFT)]
    guarantee = _theorem_7(setup) if laplace else _theorem_10(setup)
    squeezed = {distribution: distribution.expect(_sigmoid) for distribution in dict.fromkeys(setup.arms)}
    means = np.array([squeezed[distribution] for distribution in setup.arms])
    squeezed_gaps = means.max() - means
    if np.any(squeezed_gaps[gaps > 0] <= 1e-14):
        exact = exact.ruled_out(
            "the sigmoid makes an arm best that is not: its distribution differs in shape, and the policy may "
            "settle on it"
        )
    else:
        exact = exact.with_curve(guarantee.curve(np.where(gaps > 0, squeezed_gaps, 0.0), gaps))
    sd = classic.common_sd(setup)
    if sd is None or setup.means.min() < 0 or setup.means.max() > 1:
        printed = printed.ruled_out(
            "stated for noise of one distribution around means in [0, 1]; computed here for Gaussian arms"
        )
    else:
        inflation, plain = sigmoid_slope(sd) ** -2, guarantee.curve(gaps, gaps)
        printed = printed.with_curve(lambda t: inflation * plain(t))
    return [exact, printed]


def weighted(setup: RunSetup, laplace: bool) -> list[Bound]:
    """The bound of the policies that weigh answers by their noise, proved in `bandit_core.policies.heldp_ucb_w`."""
    worth = setup.budgets.expect_above(
        lambda epsilon: epsilon**2 / (epsilon**2 + 8) if laplace else divergences.contrast(epsilon) ** 2, 0.0
    )
    gaps = classic.true_gaps(setup)
    gaps = gaps[gaps > 0]
    enough = 2 * (1 + np.sqrt(1 + gaps / math.sqrt(2))) ** 2 / gaps**2 if laplace else 8 / gaps**2
    constant = float(gaps.sum()) * (1 / worth + math.pi**2 / 3)
    bound = stated("weighted-laplace" if laplace else "weighted-bits")
    return [bound.with_curve(lambda t: np.log(t) * float((gaps * enough).sum()) / worth + constant)]


def corrupted_feedback(setup: RunSetup, kind: Literal["kl-ucb-cf", "ts-cf", "ucb-cf"]) -> list[Bound]:
    """Leading terms of the policies that learn from randomised responses (Gajane, Urvoy and Kaufmann 2018)."""
    keys = ["gajane-order"] if kind == "ucb-cf" else ["gajane-leading-term", "gajane-explicit"]
    thompson = " Thompson sampling reaches every factor above 1 on it." if kind == "ts-cf" else ""
    bounds = [stated(key, number=3 if kind == "ts-cf" else 2, thompson=thompson) for key in keys]
    epsilon = setup.budgets.fixed
    if not classic.unit_rewards(setup):
        return [bound.ruled_out("stated for rewards in [0, 1]") for bound in bounds]
    if epsilon is None:
        return [bound.ruled_out("stated for one epsilon") for bound in bounds]
    gaps = classic.true_gaps(setup)
    information = divergences.response_kl(setup.means, setup.means.max(), epsilon)
    simple = classic.gap_sum(setup, -1) * float(divergences.beta(epsilon))
    constants = {"Leading term": classic.per_log(gaps, information), "Explicit leading term": 2 * simple}
    return [replace(bound, curve=logarithmic(constants.get(bound.name, simple))) for bound in bounds]


ANY_CHANNEL = "every reward passes through some epsilon-locally private channel, which may depend on past responses"


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
    epsilon = setup.budgets.fixed
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
    users = setup.budgets
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
    users = setup.budgets
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
    arms, users = len(setup.arms), setup.budgets

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
