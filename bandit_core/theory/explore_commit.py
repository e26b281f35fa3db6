r"""What a test or a search that is followed by its winner can lose at most.

A test costs its mean gap, the wrong winner the rest.

After n pulls of each arm the difference of two released means is the true one plus noise: sampling, sub-Gaussian with
variance c^2/(2n) for answers in a range of width c (Hoeffding's lemma), and where a curator adds them two Laplace
variables of scale b = 1/(eps n). By Chernoff's bound a worse arm a has the larger mean with probability at most

    p_a = min over 0 <= s < 1/b of exp(s^2 c^2 / (4n) - s gap_a) / (1 - s^2 b^2)^2,

which is exp(-n gap_a^2 / c^2) without a curator's noise.
"""

import math

import numpy as np

from bandit_core.model import Bound, Model, Privacy, RunSetup
from bandit_core.theory import central, classic, finite_time_bounds, local
from bandit_core.theory.stated import stated

_STEPS = np.linspace(0.0, 1.0, 400)[1:-1]


def chance_of_overtaking(gap: float, pulls: float, width: float, scale: float) -> float:
    """p_a above: chance that an arm ``gap`` worse has the larger mean after ``pulls`` of each, at most 1.

    ``width`` is that of the answers' range in reward units, ``scale`` the Laplace noise in a sum (0: none).
    """
    if pulls <= 0 or gap <= 0:
        return 1.0
    if scale == 0:
        return math.exp(-pulls * (gap / width) ** 2)
    s = _STEPS * pulls / scale
    exponents = (s * width) ** 2 / (4 * pulls) - s * gap - 2 * np.log1p(-(_STEPS**2))
    return math.exp(min(0.0, float(exponents.min())))


def lower_bounds(setup: RunSetup, model: Privacy) -> list[Bound]:
    """Lower bounds for a policy that commits: those of the long run assume that a wrong arm is left again."""
    if model == "local":
        lower = local.lower_bounds(setup)
    elif model == "central":
        lower = central.lower_bounds(setup)
    else:
        lower = finite_time_bounds.lower_bounds(setup)
    why = "it binds policies that leave every wrong arm again on every instance; this one keeps its winner for good"
    return [bound.ruled_out(why) if bound.asymptotic and not bound.not_applicable else bound for bound in lower]


def expected_regret(setup: RunSetup, users: int, model: Model, width: float, scale: float) -> Bound:
    """The bound for a test of ``users`` in all."""
    bound = stated("explore-then-commit", model=model)
    if not classic.unit_rewards(setup):
        return bound.ruled_out("proved for rewards in [0, 1], and some arm pays outside")
    gaps = setup.gaps
    chances = [chance_of_overtaking(float(gap), users // len(gaps), width, scale) for gap in gaps]
    later = min(float(gaps.max()), float(gaps @ np.array(chances)))
    mean = float(gaps.mean())
    return bound.with_curve(lambda t: np.minimum(t, users) * mean + np.maximum(t - users, 0) * later)


def wrong_for_good(setup: RunSetup, delta: float, proved: bool, model: Model) -> Bound:
    """The bound for a search that recommends a wrong arm with probability ``delta`` at most; ``proved``: by its rule.

    A run whose search ends loses no more than a finite number of users' gaps, and the largest gap from each user after
    a wrong recommendation: E R(t) / t tends to at most delta times the largest gap (dominated convergence, as R(t) / t
    is at most that gap).
    """
    bound = stated("search-then-commit", model=model)
    if not classic.unit_rewards(setup):
        return bound.ruled_out("proved for rewards in [0, 1], and some arm pays outside")
    if not proved:
        return bound.ruled_out("this rule to stop by has no proof, so nothing limits how often it is wrong")
    if int((setup.gaps == 0).sum()) > 1:
        return bound.ruled_out("several arms are best, and such a search need not end")
    largest = float(setup.gaps.max())
    return bound.with_curve(lambda t: delta * largest * t)
