"""What is known of policies whose noise is normal: AdaC-UCB and Gaussian Thompson sampling."""

import math

import numpy as np

from bandit_core.model import Bound, RunSetup
from bandit_core.theory.classic import for_unit_rewards, sum_over_gaps
from bandit_core.theory.stated import stated


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
    bound = stated(
        "adac-ucb",
        sum_over_gaps(
            setup,
            lambda gap, t: 8 * alpha * np.log(t) / gap + 8 * np.sqrt(alpha * np.log(t) / rho) + 2 * gap,
        ),
    )
    return for_unit_rewards(setup, bound.only_if(alpha >= 3, f"proved for alpha of at least 3, and alpha is {alpha:g}"))


def gaussian_thompson(setup: RunSetup, factor: float, pre_pulls: int) -> list[Bound]:
    """Gaussian Thompson sampling with draws of variance ``factor`` / (n + 1) after ``pre_pulls`` pulls of each arm.

    Agrawal and Goyal have the shape for factor 1. Rewards divided by sqrt(c), c >= 1, lie in [0, 1] and are drawn for
    with variance 1 / (n + 1), so c ln(t gap^2 / c) / gap follows from theirs.
    """
    bound = stated(
        "order-of-gaussian-thompson-sampling",
        sum_over_gaps(
            setup,
            lambda gap, t: factor / gap * np.log(math.e + t * gap**2 / factor) + (pre_pulls + 1) * gap,
        ),
    )
    return for_unit_rewards(
        setup, bound.only_if(factor >= 1, "it is proved for draws at least as wide as the usual ones")
    )
