"""Bounds under central privacy, where a trusted curator sees the rewards and only what it publishes is private.

Lower bounds of Azize and Basu (arXiv 2209.02570) and of Azize and others (arXiv 2505.05613); upper bounds of the
policies, each with its theorem. No bound of local privacy stands here: those are larger and do not hold for a curator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bandit_core.model import Guarantee, RunSetup
from bandit_core.model.bound import Bound, Curve
from bandit_core.spec import rewards as distributions
from bandit_core.theory import accounting, classic, divergences, finite_time_bounds
from bandit_core.theory.central_minimax import AZIZE_BASU, CURATOR, minimax
from bandit_core.theory.classic import BEST_IS_PERFECT, LONG_RUN, logarithmic, nothing

TOSSOU = "Tossou and Dimitrakakis 2016"
D_EPS_PAPER = "Azize, Wu, Honda, Orabona, Ito and Basu 2025 (arXiv 2505.05613)"
NO_ROOT = "its proof needs the term sqrt(2 ln t / n), which the index as printed lacks"
REPORT = "the full proof is in a technical report that we could not obtain"


def _parameter(setup: RunSetup, name: str) -> Any:
    return getattr(setup.parameters, name)


def d_eps(x: np.ndarray | float, y: np.ndarray | float, epsilon: np.ndarray | float) -> np.ndarray:
    """``inf over z between x and y of epsilon |z - x| + d(z, y)`` for chances x, y (shapes that broadcast).

    What one reward of mean x tells about y through a curator with budget ``epsilon`` (arXiv 2505.05613), in nats:
    part of the way from x to y is hidden by the noise at epsilon per unit, the rest is plain KL. Closed form: with
    z = y / (y + (1 - y) e^epsilon), for x < y it is d(x, y) if x >= z, else -ln(1 - y (1 - e^-epsilon)) - epsilon x.

    >>> float(d_eps(0.2, 0.6, 100.0).round(4)), float(d_eps(0.2, 0.6, 0.001).round(7))
    (0.3348, 0.0003999)
    """
    x, y, epsilon = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float), np.asarray(epsilon, float))
    x, y = np.where(x > y, 1 - x, x), np.where(x > y, 1 - y, y)
    shrunk = y * np.exp(-epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(y < 1, shrunk / (shrunk + (1 - y)), 1.0)
        left = shrunk + (1 - y)  # 1 - y (1 - e^-epsilon): the first form keeps what is near 0, the second near 1
        evidence = np.where(left < 0.5, -np.log(left), -np.log1p(y * np.expm1(-epsilon)))
        hidden = np.where(y < 1, evidence, epsilon) - epsilon * x
    return np.where(x >= turn, divergences.bernoulli_kl(x, y), np.maximum(hidden, 0.0))


def cheapest_shift(distribution: distributions.RewardDistribution, target: float) -> float:
    """Smallest total variation between a distribution on [0, 1] and one there with mean ``target`` >= its own.

    The lowest rewards are moved to 1. For a Bernoulli arm this is the gap.
    """
    if distribution.atoms is not None:
        rewards, weights = distribution.atoms
    else:
        count = 20_000
        rewards, weights = distribution.quantile((np.arange(count) + 0.5) / count), np.full(count, 1 / count)
    gained = np.append(0.0, np.cumsum(weights * (1 - rewards)))
    moved = np.append(0.0, np.cumsum(weights))
    return float(np.interp(target - distribution.expected, gained, moved))


# --- what every centrally private policy must lose -----------------------------------------------------------------


def _d_eps_constant(setup: RunSetup, binary: classic.BinaryArms, epsilon: float) -> float:
    """Sum of gap / d_eps(p_a, p_*) over the worse arms."""
    information = d_eps(binary.chances, binary.chances.max(), epsilon)
    return classic.per_log(classic.true_gaps(setup), information)


def _d_eps_bound(setup: RunSetup, epsilon: float) -> Bound:
    bound = Bound(
        name="Central d_eps bound",
        side="lower",
        model="central",
        rewards="0 or 1",
        source=D_EPS_PAPER,
        status="asymptotic",
        formula=r"\sum_{a:\Delta_a>0}\frac{\Delta_a}{d_\epsilon(\mu_a,\mu_*)}\,\ln t,\qquad "
        r"d_\epsilon(x,y)=\inf_{x\le z\le y}\{\epsilon(z-x)+d(z,y)\}",
        words="No centrally private policy can do better in the long run; DP-KLUCB and DP-IMED come as close as you "
        "like. With much privacy each worse arm costs about ln t / epsilon whatever its gap; with little privacy it "
        "is the bound without privacy.",
        assumptions=f"arms that pay one of the same two amounts; {CURATOR}; {LONG_RUN}",
        curve=nothing,
        asymptotic=True,
    )
    binary = classic.binary_arms(setup)
    if binary is None:
        return bound.ruled_out("needs arms that all pay one of the same two amounts, such as Bernoulli arms")
    if binary.chances.max() >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    return replace(bound, curve=logarithmic(_d_eps_constant(setup, binary, epsilon)))


def _azize_basu(setup: RunSetup, epsilon: float) -> Bound:
    bound = Bound(
        name="Azize-Basu",
        side="lower",
        model="central",
        rewards="[0, 1]",
        source=AZIZE_BASU,
        status="asymptotic",
        formula=r"\sum_{a:\Delta_a>0}\frac{\Delta_a}{\min\{d_{\inf}(a),\,6\,\epsilon\,t_{\inf}(a)\}}\,\ln t",
        words="No centrally private policy can do better in the long run. Whichever is harder counts: telling the arms "
        "apart at all (d_inf, a KL divergence) or doing so behind the noise (t_inf, how much of the rewards would have "
        "to be changed). The d_eps bound, where it applies, is never smaller.",
        assumptions=f"rewards in [0, 1]; {CURATOR}; {LONG_RUN}",
        curve=nothing,
        asymptotic=True,
    )
    binary = classic.binary_arms(setup)
    if binary is None and not classic.unit_rewards(setup):
        return bound.ruled_out("drawn for rewards in [0, 1] only, and some arm pays outside")
    if (binary.chances.max() if binary is not None else setup.means.max()) >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    noisy = 6 * epsilon
    if binary is not None:
        best = binary.chances.max()
        information = np.minimum(divergences.bernoulli_kl(binary.chances, best), noisy * (best - binary.chances))
        return replace(bound, curve=logarithmic(classic.per_log(classic.true_gaps(setup), information)))
    target = float(setup.means.max())
    _, worse = classic.distinct_distributions(setup)
    gaps = np.array([gap * count for _, gap, count in worse])
    information = np.array(
        [
            min(divergences.kinf(distribution, target), noisy * cheapest_shift(distribution, target))
            for distribution, _, _ in worse
        ]
    )
    return replace(bound, curve=logarithmic(classic.per_log(gaps, information)))


def evidence(epsilon: float) -> finite_time_bounds.Evidence:
    """What one pull can tell whoever sees the actions alone, at every number of users.

    For a sequence a of actions let f(x) be its chance if the rewards along it are x; f(x) <= e^epsilon f(x') where one
    reward differs. Averaged over all rewards but one, F has that property, too. So if one reward's chance of the higher
    amount is z instead of y > z, the mean of F changes at most by the factor (1 - k z)/(1 - k y), k = 1 - e^-epsilon,
    which it reaches where F is e^epsilon times smaller at the higher amount; and if arm a's is, the chance of the whole
    sequence by this factor to the power of the number of times that a stands in it. With a stop at z between x and y,

        KL(actions under x, actions under y) <= E_x[N_a] (d(x, z) + ln((1 - k z)/(1 - k y))),

    the first part for whoever sees every reward. The best z has the odds e^epsilon x/(1 - x), or is y, and then the
    bracket is `d_eps`: it binds at every t, not only in the limit. Two arms may change at once, for their factors are
    multiplied. For other distributions: the factor is at most 1 + TV (e^epsilon - 1), and KL holds as ever.
    """

    def any_distributions(
        distribution: distributions.RewardDistribution, other: distributions.RewardDistribution
    ) -> float:
        plain, variation = (
            divergences.relative_entropy(distribution, other),
            divergences.total_variation(distribution, other),
        )
        noisy = epsilon + math.log(variation + (1 - variation) * math.exp(-epsilon)) if variation > 0 else 0.0
        return min(plain, noisy)

    return finite_time_bounds.Evidence(
        "central",
        any_distributions,
        lambda p, q: d_eps(p, q, epsilon),
        f"{CURATOR}; what one pull tells through the actions is d_epsilon (two amounts) or min(KL, "
        "ln(1 + TV (e^epsilon - 1)))",
        r"d_\epsilon(\mu_a,\mu_*)",
    )


def finite_time(setup: RunSetup, guarantee: Guarantee | None = None) -> list[Bound]:
    """The floors that hold at every t for what the run keeps: with a failure probability those without privacy."""
    if guarantee is not None and guarantee.delta > 0:
        return finite_time_bounds.without_privacy(setup)
    return finite_time_bounds.finite_time(setup, evidence(_kept(setup, guarantee)))


def _kept(setup: RunSetup, guarantee: Guarantee | None) -> float:
    """The epsilon that the run really keeps; without a guarantee the chosen one."""
    return setup.fixed_epsilon if guarantee is None or guarantee.epsilon is None else guarantee.epsilon


def lower_bounds(setup: RunSetup, guarantee: Guarantee | None = None) -> list[Bound]:
    """What every centrally private policy must lose: the bounds without privacy, and those of a curator's noise.

    ``guarantee`` is what the run really keeps: a run that spends twice the chosen epsilon is bound by less, and the
    bounds of a curator's noise are stated for pure privacy only. Without it, the chosen epsilon, pure.
    """
    epsilon = _kept(setup, guarantee)
    private = [_d_eps_bound(setup, epsilon), _azize_basu(setup, epsilon), *minimax(setup, epsilon)]
    if guarantee is not None:
        private = [bound.judged(guarantee) for bound in private]
    return [*finite_time(setup, guarantee), *classic.lower_bounds(setup), *private]


# --- what the policies lose at most --------------------------------------------------------------------------------


def _for_unit_rewards(bound: Bound, setup: RunSetup) -> Bound:
    if classic.unit_rewards(setup):
        return bound
    return bound.ruled_out("proved for rewards in [0, 1], and some arm pays outside")


def _worse_gaps(setup: RunSetup) -> np.ndarray:
    gaps = classic.true_gaps(setup)
    return gaps[gaps > 0]


def _sum_over_gaps(setup: RunSetup, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Curve:
    """The curve t -> sum of ``term(gap, t)`` over the worse arms; ``term`` sees each distinct gap once."""
    gaps, counts = np.unique(_worse_gaps(setup), return_counts=True)
    return lambda t: np.tensordot(counts.astype(float), term(gaps[:, None], t[None, :]), axes=1)


def _input_budget(setup: RunSetup) -> float:
    """The epsilon that Algorithms 1 and 2 of Tossou and Dimitrakakis are run with.

    Their hybrid counter gives the same reward to a tree and to a sum of blocks, each at the input epsilon, and so
    spends twice that; the tight run is the printed algorithm at half the chosen epsilon.
    """
    return setup.fixed_epsilon * (1.0 if _parameter(setup, "accounting") == "paper" else 0.5)


def theorem_3_2_term(gap: np.ndarray, t: np.ndarray, epsilon: float) -> np.ndarray:
    """``inf over 0 < l < 1 of max(B (ln B + 7), 8 ln t / (l^2 gap))`` with ``B = 4 sqrt(8) ln t / (epsilon (1 - l))``.

    The first rises with l and the second falls, so the infimum is where they meet, which bisection finds.
    Arguments broadcast; the result is in reward units.
    """
    gap, t = np.broadcast_arrays(np.asarray(gap, float), np.asarray(t, float))
    clock = np.log(t)

    def both(logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            noise = 4 * math.sqrt(8) * clock / epsilon * (1 + np.exp(logit))
            return noise * (np.log(np.where(noise > 0, noise, 1.0)) + 7), 8 * clock / gap * (1 + np.exp(-logit)) ** 2

    low, high = np.full(gap.shape, -300.0), np.full(gap.shape, 300.0)
    for _ in range(64):
        middle = (low + high) / 2
        rising, falling = both(middle)
        low, high = np.where(rising < falling, middle, low), np.where(rising < falling, high, middle)
    return np.maximum(*both((low + high) / 2))


def dp_ucb_bound(setup: RunSetup) -> list[Bound]:
    """DP-UCB-BOUND: Theorem 3.2 of Tossou and Dimitrakakis, the infimum over lambda_0 taken for every arm."""
    epsilon = _input_budget(setup)
    bound = Bound(
        name="Theorem 3.2",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source=f"{TOSSOU}, Theorem 3.2, at input epsilon {epsilon:g}",
        status="as printed",
        formula=r"\sum_{a:\Delta_a>0}\Big[\inf_{0<\lambda_0<1}\max\Big(B(\ln B+7),\frac{8\ln t}{\lambda_0^2\Delta_a}"
        r"\Big)+(1+\pi^2)\Delta_a\Big],\qquad B=\frac{4\sqrt8\,\ln t}{\epsilon(1-\lambda_0)}",
        words="By the printed theorem DP-UCB-BOUND loses at most this on average. "
        "lambda_0 splits the margin of an arm between the noise of "
        "its rewards and the noise of privacy; it is free in the proof, so the best split is taken for each arm and t.",
        assumptions="rewards in [0, 1]; the index with sqrt(2 ln t / n); a margin that covers the counter's noise, "
        f"which the printed one with log2 n' does only up to constants; {REPORT}",
        curve=_sum_over_gaps(
            setup, lambda gap, t: theorem_3_2_term(gap, t, epsilon) + (1 + math.pi**2) * gap * np.ones_like(t)
        ),
    )
    if _parameter(setup, "index") == "as printed":
        bound = bound.ruled_out(NO_ROOT)
    return [_for_unit_rewards(bound, setup)]


def dp_ucb(setup: RunSetup) -> list[Bound]:
    """DP-UCB: Theorem 3.3 of Tossou and Dimitrakakis."""
    epsilon = _input_budget(setup)
    bound = Bound(
        name="Theorem 3.3",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source=f"{TOSSOU}, Theorem 3.3, at input epsilon {epsilon:g}",
        status="as printed",
        formula=r"\sum_{a:\Delta_a>0}\Big[\max\Big(\frac{32\sqrt2\,\ln^2t}{\epsilon},\frac{32\ln t}{\Delta_a}\Big)"
        r"+(1+\pi^2)\Delta_a\Big]",
        words="By the printed theorem DP-UCB loses at most this on average. "
        "The part that privacy adds grows like ln^2 t and is the same for "
        "every worse arm, however bad it is.",
        assumptions="rewards in [0, 1]; the index with sqrt(2 ln t / n); the index does not cover the noise of the "
        f"counters, the proof counts on its renewal; {REPORT}",
        curve=_sum_over_gaps(
            setup,
            lambda gap, t: (
                np.maximum(32 * math.sqrt(2) * np.log(t) ** 2 / epsilon, 32 * np.log(t) / gap) + (1 + math.pi**2) * gap
            ),
        ),
    )
    if _parameter(setup, "index") == "as printed":
        bound = bound.ruled_out(NO_ROOT)
    return [_for_unit_rewards(bound, setup)]


def dp_ucb_int(setup: RunSetup) -> list[Bound]:
    """DP-UCB-INT: Theorem 3.5 of Tossou and Dimitrakakis, as printed.

    The claim cannot hold for every t as it stands. The noise of an arm's first release does not depend on t: with a
    probability of about exp(-c sqrt(ln t)) / 2 it is so low that the bonus sqrt(2 ln t / n) does not lift the best
    arm again before t, and then all of t is lost. t exp(-c sqrt(ln t)) outgrows every constant times ln t.
    """
    delta, v, rule = (_parameter(setup, name) for name in ("delta", "v", "accounting"))
    epsilon = setup.fixed_epsilon
    first = accounting.release_interval(epsilon, delta, v, rule)
    constant = 1 + 4 * accounting.zeta(1.5) + first
    bound = Bound(
        name="Theorem 3.5 as printed",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source=f"{TOSSOU}, Theorem 3.5, with f_0 = {first}",
        status="order-only",
        formula=r"\sum_{a:\Delta_a>0}\Delta_a\Big[f_0+\frac{8\ln t}{\Delta_a^2}+1+4\zeta(1.5)\Big]",
        words="UCB's regret plus a constant: what the paper states. It describes the typical run. It is not shown as "
        "proved, because a very unlucky first release can keep the best arm from being played for a long time; such "
        "runs are rare but so expensive that at long horizons the mean can lie above this curve.",
        assumptions=f"rewards in [0, 1]; epsilon up to 1, v in (1, 1.5]; {REPORT}",
        curve=_sum_over_gaps(setup, lambda gap, t: gap * constant + 8 * np.log(t) / gap),
    )
    if epsilon > 1:
        bound = bound.ruled_out(f"stated for epsilon up to 1, and epsilon is {epsilon:g}")
    return [_for_unit_rewards(bound, setup)]


def private_ucb(setup: RunSetup) -> list[Bound]:
    """Private-UCB: the order of its regret, with the factor K of its budget split in the variant of 2015."""
    arms, epsilon, horizon = len(setup.arms), setup.fixed_epsilon, max(2, setup.horizon)
    old = _parameter(setup, "variant") == "2015"
    noise = (arms if old else 1) * math.log(horizon) ** 2 * math.log(arms * horizon) / epsilon
    factor = r"K\ln^2T\,\ln(KT)" if old else r"\ln^2T\,\ln(KT)"
    bound = Bound(
        name="Order of Private-UCB",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source="Mishra and Thakurta 2015" + ("" if old else "; without the factor K, by parallel composition"),
        status="order-only",
        formula=rf"O\Big(\sum_{{a:\Delta_a>0}}\Big[\frac{{{factor}}}{{\epsilon}}+\frac{{\ln t}}{{\Delta_a}}\Big]\Big)",
        words="Privacy costs every worse arm a power of ln T divided by epsilon (drawn with the factor 1): much more "
        "than what a curator has to lose. The power is as we remember it; no one has confirmed it.",
        assumptions="rewards in [0, 1]; the horizon T is known beforehand",
        curve=_sum_over_gaps(setup, lambda gap, t: noise + np.log(t) / gap),
    )
    return [_for_unit_rewards(bound, setup)]


def _dp_se_pulls(gap: float, arms: int, epsilon: float, beta: float, most: float) -> float:
    """Most pulls of an arm before DP-SE drops it, on the event that no estimate is off; at most ``most``."""
    pulls, epoch = 0.0, 0
    while pulls < most:
        epoch += 1
        width = 2.0**-epoch
        rewards = 32 * math.log(8 * arms * epoch**2 / beta) / width**2
        noise = 8 * math.log(4 * arms * epoch**2 / beta) / (epsilon * width)
        pulls += math.floor(max(rewards, noise)) + 1
        if width <= gap:
            break
    return min(pulls, most)


def dp_se(setup: RunSetup) -> list[Bound]:
    """DP-SE: an explicit bound from the algorithm's own epochs, and the orders of Sajed and Sheffet 2019.

    Explicit bound: in epoch e, R > 32 ln(8|S|e^2/beta)/D^2 and R > 8 ln(4|S|e^2/beta)/(eps D) make both margins h and
    c smaller than D/8, so an arm with gap >= D = 2^-e is dropped then unless an estimate is off by more than h + c.
    That happens with probability at most beta/(2 e^2) in epoch e (Hoeffding, Laplace), pi^2 beta/12 in all, and costs
    at most t x the largest gap.
    """
    arms, epsilon, horizon = len(setup.arms), setup.fixed_epsilon, setup.horizon
    beta = _parameter(setup, "beta")
    chance = 1 / horizon if beta == "auto" else float(beta)
    gaps = _worse_gaps(setup)
    pulls = {gap: _dp_se_pulls(gap, arms, epsilon, chance, float(horizon)) for gap in gaps.tolist()}
    largest = float(gaps.max(initial=0.0))

    def explicit(t: np.ndarray) -> np.ndarray:
        planned = sum((gap * np.minimum(pulls[gap], t) for gap in gaps.tolist()), np.zeros_like(t))
        return planned + math.pi**2 / 12 * chance * largest * t

    bounds = [
        Bound(
            name="Epochs until dropped",
            side="upper",
            model="central",
            rewards="[0, 1]",
            source="re-derived from the algorithm of Sajed and Sheffet 2019",
            status="derived",
            formula=r"\sum_{a:\Delta_a>0}\Delta_a\sum_{e=1}^{e_a}R_e+\tfrac{\pi^2}{12}\beta\,t\max_a\Delta_a,\qquad "
            r"e_a=\lceil\log_2(1/\Delta_a)\rceil",
            words="DP-SE plays a worse arm R_e times in epoch e and has dropped it once the epoch's precision 2^-e is "
            "as fine as its gap. The last term is the small chance that an estimate was off.",
            assumptions="rewards in [0, 1]; all arms counted as active in every epoch",
            curve=explicit,
        ),
        Bound(
            name="Order of DP-SE",
            side="upper",
            model="central",
            rewards="[0, 1]",
            source="Sajed and Sheffet 2019",
            status="order-only",
            formula=r"O\Big(\sum_{a:\Delta_a>0}\frac{\ln T}{\Delta_a}+\frac{K\ln T}{\epsilon}\Big)",
            words="Privacy adds ln T / epsilon per arm (drawn with the factor 1) to the regret without privacy instead "
            "of multiplying it: no centrally private policy can have a better order.",
            assumptions="rewards in [0, 1]; the horizon T is known beforehand; beta = 1/T",
            curve=lambda t: (classic.gap_sum(setup, -1) + arms / epsilon) * math.log(max(2, horizon)) + 0 * t,
        ),
        _worst_case_order(setup, "Sajed and Sheffet 2019"),
    ]
    return [_for_unit_rewards(bound, setup) for bound in bounds]


def _worst_case_order(setup: RunSetup, source: str) -> Bound:
    arms, epsilon = len(setup.arms), setup.fixed_epsilon
    return Bound(
        name="Distribution-free order",
        side="upper",
        model="central",
        rewards="[0, 1]",
        kind="minimax",
        source=source,
        status="order-only",
        formula=r"O\Big(\sqrt{K\,t\ln t}+\frac{K\ln t}{\epsilon}\Big)",
        words="However small the gaps are, the regret grows no faster than this shape (drawn with the factor 1).",
        assumptions="rewards in [0, 1]",
        curve=lambda t: np.sqrt(arms * t * np.log(t)) + arms * np.log(t) / epsilon,
        worst_case=True,
    )


def adap_ucb_rest(alpha: float) -> float:
    """Most pulls of a worse arm on average in episodes that a wrong estimate started (alpha above 1); see `adap_ucb`.

    The sums go up to 2^63 users, which no horizon exceeds.

    >>> round(adap_ucb_rest(3.1), 3)
    2.472
    """
    sizes = 2.0 ** np.arange(64)
    own = float(np.sum(sizes ** (1 - alpha)))
    best = float(np.sum(sizes[:, None] * (sizes[:, None] + sizes) ** -alpha))
    return 1.5 * (own + best)


def adap_ucb(setup: RunSetup) -> list[Bound]:
    """AdaP-UCB: a bound of our own; the paper's constant could not be confirmed.

    Proof. An arm with N pulls (1, 2, 4, ...) has an estimate from its last L >= N/2 of them. Let an episode start at
    pull t. Unless an estimate is off, mu_* <= index of the best arm <= index of arm a <= mu_a + 2 m(t, L), with
    m(t, L) = sqrt(alpha ln t / (2 L)) + alpha ln t / (epsilon L). So L <= l, the root of gap = 2 m(t, l), and the
    episode ends with N <= 4 l pulls. An estimate is off in one direction with probability at most 3/2 t^-alpha
    (Hoeffding t^-alpha, Laplace t^-alpha / 2). It matters for arm a with N pulls only at t > N, and for the best arm
    with M pulls only at t >= N + M, where margins are wider than at that number; such an episode has N pulls. So these
    episodes cost at most 3/2 [sum_N N^(1 - alpha) + sum_{N, M} N (N + M)^-alpha] pulls (`adap_ucb_rest`), over powers
    of two N and M up to the number of users.
    """
    alpha, epsilon = float(_parameter(setup, "alpha")), setup.fixed_epsilon
    rest = adap_ucb_rest(alpha) if alpha > 1 else 0.0

    def cost(gap: np.ndarray, t: np.ndarray) -> np.ndarray:
        root = np.sqrt(1 + 4 * gap / epsilon) - 1
        return gap * (32 * alpha * np.log(t) / (epsilon * root) ** 2 + rest + 1)

    bound = Bound(
        name="AdaP-UCB",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source=f"re-derived from the algorithm of {AZIZE_BASU}",
        status="derived",
        formula=r"\sum_{a:\Delta_a>0}\Delta_a\Big[\frac{32\,\alpha\ln t}{\epsilon^2(\sqrt{1+4\Delta_a/\epsilon}-1)^2}"
        r"+1+R_\alpha\Big],\qquad R_\alpha=\tfrac32\Big[\sum_N N^{1-\alpha}+\sum_{N,M}\frac{N}{(N+M)^\alpha}\Big],"
        r"\quad N,M\in\{1,2,4,\dots\}",
        words="AdaP-UCB loses at most this on average: a worse arm costs about 8 alpha ln t / gap, or 8 alpha ln t / "
        "epsilon if the budget is much smaller than the gap; as long as epsilon is above every gap, privacy does not "
        "change the order. The paper has 16 alpha ln t / min(gap, epsilon) and a rest that we could not confirm, so "
        "this bound is our own.",
        assumptions="rewards in [0, 1]; alpha above 1",
        curve=_sum_over_gaps(setup, cost),
    )
    if alpha <= 1:
        bound = bound.ruled_out(f"proved for alpha above 1, and alpha is {alpha:g}")
    return [_for_unit_rewards(bound, setup)]


def adap_klucb(setup: RunSetup) -> list[Bound]:
    """AdaP-KLUCB: the shape of Azize and Basu's bound, whose constants are not given."""
    alpha, epsilon = float(_parameter(setup, "alpha")), setup.fixed_epsilon
    bound = Bound(
        name="Order of AdaP-KLUCB",
        side="upper",
        model="central",
        rewards="0 or 1",
        source=AZIZE_BASU,
        status="order-only",
        formula=r"\sum_{a:\Delta_a>0}\frac{C_1(\alpha)\,\Delta_a}{\min\{d(\mu_a,\mu_*),\,C_2\,\epsilon\Delta_a\}}\ln t"
        r"+\frac{\alpha}{\alpha-3}",
        words="The regret has the shape of what no one can beat. It is drawn with C_1 = C_2 = 1: the paper does not "
        "give them, and C_1 grows with alpha. The last term is as we remember it; no one has confirmed it.",
        assumptions="arms that pay 0 or 1; alpha above 3",
        curve=nothing,
    )
    binary = classic.binary_arms(setup)
    if binary is None or not binary.zero_one:
        return [bound.ruled_out("proved for arms that pay 0 or 1")]
    if alpha <= 3:
        return [bound.ruled_out(f"proved for alpha above 3, and alpha is {alpha:g}")]
    gaps = classic.true_gaps(setup)
    information = np.minimum(divergences.bernoulli_kl(binary.chances, binary.chances.max()), epsilon * gaps)
    slope, rest = classic.per_log(gaps, information), int((gaps > 0).sum()) * alpha / (alpha - 3)
    return [replace(bound, curve=lambda t: slope * np.log(t) + rest)]


def lazy(setup: RunSetup) -> list[Bound]:
    """Lazy-DP-TS and Anytime-Lazy-UCB: the order that both share."""
    epsilon = setup.fixed_epsilon
    order = Bound(
        name="Order with lazy releases",
        side="upper",
        model="central",
        rewards="[0, 1]",
        source="Hu, Huang and Mehta 2021 (arXiv 2102.07929); Hu and Hegde 2022",
        status="order-only",
        formula=r"O\Big(\sum_{a:\Delta_a>0}\frac{\ln t}{\min\{\Delta_a,\epsilon\}}\Big)",
        words="A worse arm costs ln t / gap, or ln t / epsilon if the budget is smaller than the gap (drawn with the "
        "factor 1): the best possible order.",
        assumptions="rewards in [0, 1]",
        curve=_sum_over_gaps(setup, lambda gap, t: np.log(t) / np.minimum(gap, epsilon)),
    )
    worst = _worst_case_order(setup, "Hu and Hegde 2022")
    return [_for_unit_rewards(order, setup), _for_unit_rewards(worst, setup)]


def _leading_term(setup: RunSetup, policy: str) -> list[Bound]:
    growth = float(_parameter(setup, "growth"))
    bound = Bound(
        name="Leading term",
        side="upper",
        model="central",
        rewards="0 or 1",
        source=f"{D_EPS_PAPER}, {policy}",
        status="asymptotic",
        formula=r"\rho\sum_{a:\Delta_a>0}\frac{\Delta_a}{d_\epsilon(\mu_a,\mu_*)}\,\ln t+o(\ln t)",
        words=f"In the long run {policy} loses at most like this: rho, the factor by which batches grow, times "
        "what no centrally private policy can beat. Terms that grow more slowly are left out, so a curve at a short "
        "horizon may lie above.",
        assumptions="arms that pay 0 or 1; long horizons. The size of the first batches is our choice, for we do not "
        "know the paper's; it does not change this term",
        curve=nothing,
        asymptotic=True,
    )
    binary = classic.binary_arms(setup)
    if binary is None or not binary.zero_one:
        return [bound.ruled_out("proved for arms that pay 0 or 1")]
    if binary.chances.max() >= 1:
        return [bound.ruled_out("stated for a best arm that does not always pay 1")]
    return [replace(bound, curve=logarithmic(growth * _d_eps_constant(setup, binary, setup.fixed_epsilon)))]


def dp_klucb(setup: RunSetup) -> list[Bound]:
    """DP-KLUCB: its leading term, growth x the d_eps constant."""
    return _leading_term(setup, "DP-KLUCB")


def dp_imed(setup: RunSetup) -> list[Bound]:
    """DP-IMED: its leading term, growth x the d_eps constant."""
    return _leading_term(setup, "DP-IMED")
