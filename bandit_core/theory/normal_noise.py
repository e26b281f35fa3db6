"""What is known of policies whose noise is normal: AdaC-UCB and Gaussian Thompson sampling."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bandit_core.model import RunSetup
from bandit_core.model.bound import Bound, Curve
from bandit_core.theory import classic


def _sum_over_gaps(setup: RunSetup, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Curve:
    """The curve t -> sum of ``term(gap, t)`` over the worse arms."""
    gaps = classic.true_gaps(setup)
    worse = gaps[gaps > 0][:, None]
    return lambda t: term(worse, t[None, :]).sum(axis=0)


def _for_unit_rewards(bound: Bound, setup: RunSetup) -> Bound:
    if classic.unit_rewards(setup):
        return bound
    return bound.ruled_out("proved for rewards in [0, 1], and some arm pays outside")


def adac_ucb(setup: RunSetup, rho: float) -> list[Bound]:
    """AdaC-UCB at the concentrated budget ``rho``: proved here, as the paper was not at hand for its constants.

    Let L = alpha ln t, b(n, s) = sqrt((1/(2n) + 1/(rho n^2)) alpha ln s) the bonus at step s, and n_1 the n with
    2 b(n, t) = gap, at most 2 L / gap^2 + 2 sqrt(L / rho) / gap. The noisy mean of n rewards of [0, 1] is sub-Gaussian
    with variance 1/(4n) + 1/(2 rho n^2), so it leaves its mean by b(n, s) on one side with probability at most
    s^-alpha. A worse arm that is chosen with n >= n_1 rewards in its mean needs such a deviation, its own or the best
    arm's. Before that, n < n_1: an arm with n in its last batch has at most 2 n pulls, and 4 n after the next batch, or
    it has the first pull alone: 4 n_1 + 1 pulls. As for the deviations, an arm that is chosen with 2^i pulls is pulled
    2^i times, at a step s > 2^i + N, N = 2^m being the pulls of the best arm. The event of one batch only gets rarer
    with s, so in expectation deviations cause at most  sum_i 2^i (2^i + 1)^-alpha + sum_(i, m) 2^i (2^i + 2^m)^-alpha
    pulls, below 1 for alpha >= 3. Both together: 4 n_1 + 2.
    """
    alpha = float(setup.parameters.alpha)
    bound = Bound(
        name="AdaC-UCB",
        side="upper",
        model="central",
        measure="concentrated",
        rewards="[0, 1]",
        source="Azize, Basu 2023; constants proved here",
        status="proved",
        formula=r"\sum_{a:\Delta_a>0}\Big[\frac{8\alpha\ln t}{\Delta_a}+8\sqrt{\frac{\alpha\ln t}{\rho}}"
        r"+2\Delta_a\Big]",
        words="AdaC-UCB loses at most this on average: privacy adds the root of ln t only, alike for every worse arm.",
        assumptions="rewards in [0, 1]; alpha at least 3",
        curve=_sum_over_gaps(
            setup,
            lambda gap, t: 8 * alpha * np.log(t) / gap + 8 * np.sqrt(alpha * np.log(t) / rho) + 2 * gap,
        ),
    )
    if alpha < 3:
        bound = bound.ruled_out(f"proved for alpha of at least 3, and alpha is {alpha:g}")
    return [_for_unit_rewards(bound, setup)]


def gaussian_thompson(setup: RunSetup, factor: float, pre_pulls: int) -> list[Bound]:
    """Gaussian Thompson sampling with draws of variance ``factor`` / (n + 1) after ``pre_pulls`` pulls of each arm.

    Agrawal and Goyal have the shape for factor 1. Rewards divided by sqrt(c), c >= 1, lie in [0, 1] and are drawn for
    with variance 1 / (n + 1), so c ln(t gap^2 / c) / gap follows from theirs.
    """
    bound = Bound(
        name="Order of Gaussian Thompson sampling",
        side="upper",
        model="central",
        measure="approximate",
        rewards="[0, 1]",
        source="Agrawal, Goyal 2017, Theorem 1.3, scaled by c",
        status="order-only",
        formula=r"\sum_{a:\Delta_a>0}\Big[\frac{c}{\Delta_a}\ln\Big(e+\frac{t\Delta_a^2}{c}\Big)"
        r"+(b+1)\Delta_a\Big]",
        words="The shape of what the draws cost: c times what they cost without privacy (drawn with constant 1).",
        assumptions="rewards in [0, 1]; c at least 1",
        curve=_sum_over_gaps(
            setup,
            lambda gap, t: factor / gap * np.log(math.e + t * gap**2 / factor) + (pre_pulls + 1) * gap,
        ),
    )
    if factor < 1:
        bound = bound.ruled_out("it is proved for draws at least as wide as the usual ones")
    return [_for_unit_rewards(bound, setup)]
