"""Errata of Tossou and Dimitrakakis 2016, Algorithms for Differentially Private Multi-Armed Bandits."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.errata.erratum import Erratum, Outcome, compare
from bandit_core.mechanisms.counter import laplace_sum_bound
from bandit_core.theory import accounting

PAPER = "Tossou and Dimitrakakis 2016"
_SQRT_8 = math.sqrt(8)


def _margin(pulls: int, t: float, epsilon: float) -> float:
    """nu / n of Algorithm 1 as printed."""
    rest = pulls - 2 ** math.floor(math.log2(pulls))
    with np.errstate(divide="ignore"):
        return float(4 * _SQRT_8 / epsilon * math.log(t) * (np.log2(np.float64(rest)) + 1)) / pulls


def exploration() -> Outcome:
    pulls, t, epsilon = 50, 1e4, 100.0
    chance = math.sqrt(2 * math.log(t) / pulls)  # an estimate of 50 rewards is off by more with chance t^-4 only
    printed = _margin(pulls, t, epsilon)
    measure = "margin of an arm after 50 of 10,000 pulls at ε = 100, beside what chance alone needs"
    return compare(measure, "at least", chance, printed, printed + chance)


def logarithm_of_zero() -> Outcome:
    pulls, t, epsilon = 64, 1e4, 1.0
    measure = "margin of an arm after 64 pulls, a power of two"
    return compare(measure, "at least", 0.0, _margin(pulls, t, epsilon), 4 * _SQRT_8 / epsilon * math.log(t) / pulls)


def hybrid_budget() -> Outcome:
    measure = "ε that one reward spends in the hybrid counter's two parts together, for a budget of 1"
    spent = [accounting.pure_composition(np.array([each, each])) for each in (1.0, 0.5)]
    return compare(measure, "at most", 1.0, spent[0], spent[1])


def noise_bound() -> Outcome:
    nodes, scale, gamma, pulls = 20, 20.0, 0.1, 2**21 - 1
    rng = np.random.default_rng(0)
    wanted = float(np.quantile(np.abs(rng.laplace(0, scale, (20_000, nodes)).sum(axis=1)), 1 - gamma))
    printed = _SQRT_8 * math.log(2 / gamma) * (math.log(pulls) + 1)
    corrected = laplace_sum_bound(np.full(nodes, scale), gamma)
    measure = "bound on 20 nodes' noise of scale 20 that may fail with chance 0.1, beside 20,000 draws"
    return compare(measure, "at least", wanted, printed, corrected)


def summation_index() -> Outcome:
    v, delta, pulls = 1.1, math.exp(-10), 10_000
    n = np.arange(1.0, pulls + 1)
    each = n ** (-v / 2)
    spread = math.sqrt(2 * math.log(1 / delta) * float(np.sum(each**2)))
    printed = float(np.sum(each)) * math.expm1(pulls ** (-v / 2)) + spread
    wanted = accounting.advanced_composition(each, delta)
    corrected = float(accounting.theorem_3_4(1.0, delta, v, float(pulls)))
    measure = "ε after 10,000 releases (v = 1.1), beside the composition added up term by term"
    return compare(measure, "equal to", wanted, printed, corrected, tolerance=1e-6)


def release_interval() -> Outcome:
    epsilon, delta, v = 1.0, math.exp(-10), 1.1

    def kept(rule: accounting.Rule) -> float:
        return float(accounting.interval_epsilon(accounting.release_interval(epsilon, delta, v, rule), v, delta))

    measure = "ε that DP-UCB-INT really keeps when asked for ε = 1 (v = 1.1, δ = e^-10)"
    return compare(measure, "at most", epsilon, kept("as printed"), kept("calibrated"))


def one_name_twice() -> Outcome:
    measure = "different policies in a comparison of two"
    return compare(measure, "equal to", 2, len({"DP-UCB"}), len({"DP-UCB", "DP-UCB-BOUND"}))


def rate_of_prior_work() -> Outcome:
    epsilon, users = 1.0, 1e5
    first, second = math.log(users) ** 3 / epsilon, math.log(users) ** 2 / epsilon**2
    measure = "quotient of the two rates that the versions of the abstract quote (ε = 1, 100,000 users)"
    return compare(measure, "equal to", 1.0, first / second, None)


ERRATA = tuple(
    Erratum(name, PAPER, place, printed, corrected, why, check, page)
    for name, place, printed, corrected, why, check, page in (
        (
            "tossou-exploration",
            "Algorithm 1",
            r"index $\frac{s_a}{n_a}+\frac{\nu_a}{n_a}$",
            r"$\frac{s_a}{n_a}+\sqrt{\frac{2\ln t}{n_a}}+\frac{\nu_a}{n_a}$",
            "The text keeps UCB's index and the proofs need its root. Without it the margin covers the privacy noise "
            "only: with much budget the policy becomes greedy and sometimes never finds the best arm. Parameter "
            "*index* runs either reading.",
            exploration,
            "explore",
        ),
        (
            "tossou-logarithm-of-zero",
            "Algorithm 1",
            r"$\nu_a\propto\log_2n'_a+1$, also for $n'_a=0$",
            r"$\nu_a=\frac{4\sqrt8}{\epsilon}\ln t$ where $n'_a=0$",
            "After a power of two pulls nothing is left over and the logarithm is minus infinity; the noise of one "
            "block is there to be covered.",
            logarithm_of_zero,
            "explore",
        ),
        (
            "tossou-hybrid-budget",
            "Algorithms 1 and 2, the hybrid counter",
            r"both of its parts with the budget $\epsilon$",
            r"$\epsilon/2$ each",
            "Every reward enters a tree and a block; what they give away adds up to twice the budget. Parameter "
            "*accounting* runs either.",
            hybrid_budget,
            "mechanisms",
        ),
        (
            "tossou-noise-bound",
            "equation (2.2)",
            r"$\frac{\sqrt8}{\epsilon}\ln\frac2\gamma(\ln n+1)$ for every $\gamma$",
            r"only where $\ln\frac2\gamma$ is at least the number of nodes; in general "
            r"$\sqrt8\,b\sqrt{\ln\frac2\gamma}\,\max\{\sqrt m,\sqrt{\ln\frac2\gamma}\}$ for $m$ nodes of scale $b$",
            "The index uses it with γ of the order t⁻⁴, where it is fine; as a general statement it fails.",
            noise_bound,
            "mechanisms",
        ),
        (
            "tossou-summation-index",
            "Theorem 3.4",
            r"$\sqrt{t^v}$ under the sum over $n$",
            r"$\sqrt{n^v}$",
            "Early releases are the dear ones. With t in place of n almost nothing is counted for them.",
            summation_index,
            "explore",
        ),
        (
            "tossou-release-interval",
            "Algorithm 3",
            r"releases every $\lceil1/\epsilon'\rceil$ pulls; new noise at every step while an arm rests; sums of the "
            "first round not updated",
            r"every $\lceil\epsilon'^{-2/v}\rceil$ pulls; one draw for each release; sums always updated",
            "With the printed interval the releases add up to several times the budget.",
            release_interval,
            "explore",
        ),
        (
            "tossou-one-name-twice",
            "section 4, experiments",
            "one sentence contrasts DP-UCB with DP-UCB",
            "one of the two is DP-UCB-BOUND",
            "The paragraph compares the two: one leads early, the other later.",
            one_name_twice,
            "explore",
        ),
        (
            "tossou-rate-of-prior-work",
            "abstract",
            r"the rate of earlier work is $\epsilon^{-1}\ln^3T$ in one version and $\epsilon^{-2}\ln^2T$ in another",
            "quote neither; Private-UCB's own order stands in the catalogue of bounds",
            "Two different rates cannot both be that of the same policy.",
            rate_of_prior_work,
            "theory",
        ),
    )
)
