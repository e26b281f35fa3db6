"""Heavy-tailed rewards: bounds (Tao et al. 2022 corrected, Bubeck et al.), and why truncation helps the mean."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bandit_core.model import Bound, Curve, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.later import pd
from bandit_core.theory import classic, divergences
from bandit_core.theory.stated import stated

# ---------------------------------------------------------------------------------------------------------------------
# Bounds for heavy-tailed rewards: Tao et al. 2022, with corrected exponents, and Bubeck et al. 2013 without privacy.
#
# Almost all of them are shapes: their constants are unknown, and they are drawn with the factor 1. A shape is a
# function of the horizon, drawn at t as if t were the horizon. What the paper proves for moments u <= 1 is carried over
# to any u by measuring rewards in the unit u^(1/(1+v)), where u becomes 1.
#
# Two of the printed theorems cannot stand and are kept, hidden, with the reason: Theorem 4's powers of u change with
# the unit of rewards, and Theorem 7 contradicts the lower bound `derived_local` when gaps are small.


def _power(base: float, exponent: float) -> float:
    """``base`` to the ``exponent``; infinite where it exceeds the range of a double."""
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


class _Numbers:
    """What the formulas need of an instance, and sums over its worse arms."""

    def __init__(self, setup: RunSetup) -> None:
        parameters: Any = setup.parameters
        self.v, self.u = float(parameters.v), float(parameters.u)
        self.gaps = classic.worse_gaps(setup)
        self.largest = float(self.gaps.max(initial=0.0))
        self.arms = len(setup.arms)
        self.exponent, self.unit = self.v / (1 + self.v), self.u ** (1 / (1 + self.v))
        self.epsilon = math.nan
        if setup.epsilon is not None and setup.epsilon.fixed is not None:
            self.epsilon = setup.epsilon.fixed

    def up_to_one(self, bound: Bound) -> Bound:
        """Hide what was stated for epsilon up to 1 only."""
        why = f"stated for epsilon up to 1, and epsilon is {self.epsilon:g}"
        return bound.only_if(self.epsilon <= 1 or bool(bound.not_applicable), why)

    def gap_sum(self, power: float) -> float:
        """Sum of gap^power over the worse arms."""
        with np.errstate(over="ignore"):
            return float(np.sum(self.gaps**power))

    def shape(self, key: str, curve: Curve) -> Bound:
        """A bound whose constant is unknown."""
        return stated(f"heavy-{key}", curve, factor="1", drawn_with="× 1")

    def logarithmic(self, key: str, slope: float, constant: float = 0.0) -> Bound:
        """The same of ln T."""
        return self.shape(key, lambda t: slope * np.log(t) + constant)

    def gap_lower(self, number: int, cost: float) -> Bound:
        """A lower bound on these gaps, as Theorems 5, 8, 10 and 11 have it."""
        slope = _power(self.u, 1 / self.v) * self.gap_sum(-1 / self.v) / cost
        return self.up_to_one(self.logarithmic(f"theorem-{number}", slope))


def _two_arms(bound: Bound, arms: int, general: str) -> Bound:
    return bound.only_if(arms == 2 or bool(bound.not_applicable), f"stated for two arms; {general} covers more")


# --- without privacy -----------------------------------------------------------------------------------------------


def _plain_lower(setup: RunSetup) -> list[Bound]:
    n = _Numbers(setup)
    least = 0.01 * n.unit * n.arms**n.exponent if n.arms > 1 else 0.0
    return [
        n.logarithmic("lower-bound", 0.4 * _power(n.u, 1 / n.v) * n.gap_sum(-1 / n.v)),
        n.shape("minimax", lambda t: least * t ** (1 / (1 + n.v))),
    ]


def robust_ucb(setup: RunSetup) -> list[Bound]:
    """Robust-UCB with the truncated mean: Bubeck et al. 2013. The printed constants are indicative only."""
    n = _Numbers(setup)
    slope = 8 * _power(4 * n.u, 1 / n.v) * n.gap_sum(-1 / n.v)
    return [
        n.logarithmic("robust-ucb", slope, 5 * n.gap_sum(1)),
        n.shape(
            "robust-ucb-distribution-free-order",
            lambda t: n.unit * (n.arms * np.log(t)) ** n.exponent * t ** (1 / (1 + n.v)),
        ),
    ]


def plain_lower_bounds(setup: RunSetup) -> list[Bound]:
    """What bounds every policy from below, private or not."""
    return [*classic.lower_bounds(setup), *_plain_lower(setup)]


# --- a trusted curator ---------------------------------------------------------------------------------------------


def dp_robust_ucb(setup: RunSetup) -> list[Bound]:
    """DPRUCB: Theorem 2."""
    n = _Numbers(setup)
    slope = _power(n.u, 1 / n.v) * n.gap_sum(-1 / n.v) / min(1.0, n.epsilon)
    return [n.shape("theorem-2", lambda t: slope * np.log(t) ** (2.5 + 1 / n.v) + n.gap_sum(1))]


def dp_robust_se(setup: RunSetup) -> list[Bound]:
    """DPRSE: Theorem 4 with the powers of u corrected, then as printed (hidden)."""
    n = _Numbers(setup)
    inverse = n.gap_sum(-1 / n.v) / min(1.0, n.epsilon)

    def instance(key: str, u_power: float) -> Bound:
        return n.logarithmic(key, _power(n.u, u_power) * inverse, n.largest)

    def worst(key: str, u_power: float) -> Bound:
        u = _power(n.u, u_power)
        return n.shape(
            key,
            lambda t: u * (n.arms * np.log(t) / min(1.0, n.epsilon)) ** n.exponent * t ** (1 / (1 + n.v)),
        )

    return [
        instance("theorem-4-corrected", 1 / n.v),
        worst("theorem-4-worst-case-corrected", 1 / (1 + n.v)),
        instance("theorem-4-as-printed", 1 / (1 + n.v)),
        worst("theorem-4-worst-case-as-printed", n.v / (1 + n.v) ** 2),
    ]


def central_lower_bounds(setup: RunSetup) -> list[Bound]:
    """Theorems 5 and 10: what every policy of a trusted curator must lose, and so every locally private one."""
    n = _Numbers(setup)
    five, ten = (n.gap_lower(number, n.epsilon) for number in (5, 10))
    return [five, _two_arms(ten, n.arms, "Theorem 5")]


# --- no one is trusted ---------------------------------------------------------------------------------------------


def ldp_robust_se(setup: RunSetup) -> list[Bound]:
    """LDPRSE: what its epochs really cost, then Theorem 7 as printed (hidden)."""
    n = _Numbers(setup)
    v, u = n.v, _power(n.u, 2 / n.v)

    def worst(key: str, unit: float, power: float, of_t: float) -> Bound:
        return n.shape(key, lambda t: unit * (n.arms * np.log(t) / n.epsilon**2) ** power * t**of_t)

    bounds = [
        n.logarithmic("theorem-7-corrected", u * n.gap_sum(-(2 + v) / v) / n.epsilon**2, n.largest),
        worst("theorem-7-worst-case-corrected", n.unit, v / (2 + 2 * v), (2 + v) / (2 + 2 * v)),
        n.logarithmic("theorem-7-as-printed", u * n.gap_sum(-1 / v) / n.epsilon**2, n.largest),
        worst("theorem-7-worst-case-as-printed", n.unit**2, v / (1 + v), 1 / (1 + v)),
    ]
    return [n.up_to_one(bound) for bound in bounds]


def derived_local(setup: RunSetup) -> list[Bound]:
    """Lower bounds under local privacy with their constants, re-derived.

    Distributions on {0, 1/g}, g = (5 D)^(1/v), with means 4 D (best), 3 D (the others) and 5 D (a worse arm in the
    alternative) have (1+v)-th moments at most 1 and lie 2 D g apart in total variation. A private response tells at
    most alpha_eps (2 D g)^2 (Duchi et al. 2013), so each worse arm needs ln T / (4 alpha 5^(2/v) D^(2(1+v)/v)) pulls.
    """
    n = _Numbers(setup)
    v = n.v
    alpha = float(divergences.duchi_alpha(n.epsilon))
    relative = n.gaps / n.unit
    within = relative[5 * relative <= 1]
    with np.errstate(over="ignore"):
        constant = n.unit * float(np.sum(within ** (-(2 + v) / v))) / (4 * alpha * _power(5, 2 / v))

    def worst(t: np.ndarray) -> np.ndarray:
        if n.arms < 2:
            return 0 * t
        gap = ((n.arms - 1) / (4 * _power(5, 2 / v) * alpha * t)) ** (v / (2 + 2 * v))
        return n.unit * t * np.minimum(gap, 0.2) / (8 * math.e)

    bound = stated("heavy-tailed-ldp-bound", lambda t: constant * np.log(t))
    fits = len(within) > 0 or not len(n.gaps)
    bound = bound.only_if(fits, "derived for gaps up to u^(1/(1+v))/5, and all gaps are larger")
    return [bound, stated("heavy-tailed-ldp-minimax", worst)]


def local_lower_bounds(setup: RunSetup) -> list[Bound]:
    """The derived bounds, and Theorems 8, 9 and 11, which stay true although Theorem 7 does not match them."""
    n = _Numbers(setup)
    eight, eleven = (n.gap_lower(number, n.epsilon**2) for number in (8, 11))
    least = n.unit * (n.arms / n.epsilon**2) ** n.exponent if n.arms > 1 else 0.0
    nine = n.up_to_one(n.shape("theorem-9", lambda t: least * t ** (1 / (1 + n.v))))
    return [*derived_local(setup), eight, nine, _two_arms(eleven, n.arms, "Theorem 8")]


# --- everything at once, for pages and tables ----------------------------------------------------------------------


def shapes(setup: RunSetup) -> list[Bound]:
    """Every heavy-tailed bound that this instance has numbers for, whatever its policy.

    Of a line of `robust-ucb` only the bounds without privacy, of one of the private policies all of them.
    """
    plain = [*_plain_lower(setup), *robust_ucb(setup)]
    if setup.epsilon is None:
        return plain
    makers = central_lower_bounds, dp_robust_ucb, dp_robust_se, local_lower_bounds, ldp_robust_se
    return [*plain, *(bound for maker in makers for bound in maker(setup))]


def table_1(setup: RunSetup) -> pd.DataFrame:
    """Table 1 of Tao et al. 2022 for this instance's gaps, u, v, epsilon and horizon; shapes with the factor 1.

    Columns: rewards ("heavy-tailed" or "bounded", the latter for comparison: the same gaps with rewards in [0, 1]),
    model, kind, version ("printed", "corrected" or "derived"), upper and lower (formulas), upper_value and lower_value
    (at the horizon, reward units; NaN where there is none). Nothing is capped at horizon x largest gap.
    """
    n = _Numbers(setup)
    end = np.array([float(setup.horizon)])
    everything = {bound.name: bound for bound in shapes(setup)}

    def entry(name: str | None) -> tuple[str, float]:
        if name is None:
            return "", math.nan
        with np.errstate(over="ignore"):
            return everything[name].formula, float(everything[name].curve(end)[0])

    by_gap, worst = "instance-dependent", "worst case"
    heavy: list[tuple[str, str, str, str | None, str | None]] = [
        ("central", by_gap, "corrected", "Theorem 4, corrected", "Theorem 5"),
        ("central", by_gap, "printed", "Theorem 4 as printed", "Theorem 5"),
        ("local", by_gap, "corrected", "Theorem 7, corrected", "Heavy-tailed LDP bound"),
        ("local", by_gap, "printed", "Theorem 7 as printed", "Theorem 8"),
        ("central", worst, "corrected", "Theorem 4 worst case, corrected", None),
        ("central", worst, "printed", "Theorem 4 worst case as printed", None),
        ("local", worst, "corrected", "Theorem 7 worst case, corrected", "Heavy-tailed LDP minimax"),
        ("local", worst, "printed", "Theorem 7 worst case as printed", "Theorem 9"),
    ]
    log_t, t, arms, epsilon = math.log(max(1, setup.horizon)), float(setup.horizon), n.arms, n.epsilon
    plain = n.gap_sum(-1) * log_t
    curator = r"\frac{K\ln t}{\epsilon}+\sum\frac{\ln t}{\Delta_a}", arms * log_t / epsilon + plain
    channel = r"\frac1{\epsilon^2}\sum\frac{\ln t}{\Delta_a}", plain / epsilon**2
    root = math.sqrt(arms * t)
    least = r"\sqrt{K t}+\frac{K\ln t}{\epsilon}", root + arms * log_t / epsilon
    most = r"\sqrt{K t\ln t}+\frac{K\ln t}{\epsilon}", root * math.sqrt(log_t) + arms * log_t / epsilon
    alone = r"\frac{\sqrt{K t}}{\epsilon}", root / epsilon
    alone_most = r"\frac{\sqrt{K t\ln t}}{\epsilon}", root * math.sqrt(log_t) / epsilon
    every = [
        *(("heavy-tailed", *about, entry(upper), entry(lower)) for *about, upper, lower in heavy),
        ("bounded", "central", by_gap, "printed", curator, curator),
        ("bounded", "local", by_gap, "printed", channel, channel),
        ("bounded", "central", worst, "printed", most, least),
        ("bounded", "local", worst, "printed", alone_most, alone),
    ]
    rows = [(*about, upper[0], lower[0], upper[1], lower[1]) for *about, upper, lower in every]
    names = ["rewards", "model", "kind", "version", "upper", "lower", "upper_value", "lower_value"]
    return pd.DataFrame(rows, columns=names)


# ---------------------------------------------------------------------------------------------------------------------
# Why truncate: what the private robust mean loses by truncation, by privacy noise, and by chance.
#
# Rewards beyond +-B count 0. That pulls the mean towards 0 (bias), and makes noise of scale B enough for privacy. A
# larger B means less bias and more noise, so B grows with the number n of rewards, at the pace that keeps the two in
# step. Truncated moments are exact for Pareto, Student, Gaussian, uniform and discrete distributions; beta
# distributions go through quadrature.


Estimator = Literal["plain", "tree", "epoch", "local"]
_ONE_BY_ONE = 4096  # terms of a sum over n that are added singly
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def truncated_moments(
    distribution: distributions.RewardDistribution, bound: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """``E[X 1{|X| <= B}]`` and ``E[X^2 1{|X| <= B}]`` for bounds B >= 0 of any shape, reward units (squared)."""
    bound = np.asarray(bound, float)
    match distribution:
        case distributions.Pareto():
            beyond = np.maximum(bound, distribution.scale)
            return _pareto_moment(distribution, 1, beyond), _pareto_moment(distribution, 2, beyond)
        case distributions.Student():
            return _located(_student_partial, distribution.mean, distribution.scale, bound, distribution.df)
        case distributions.Gaussian():
            return _located(_normal_partial, distribution.mean, distribution.sd, bound, math.inf)
        case distributions.Uniform():
            low, high = np.clip(distribution.low, -bound, bound), np.clip(distribution.high, -bound, bound)
            width = distribution.high - distribution.low
            return (high**2 - low**2) / (2 * width), (high**3 - low**3) / (3 * width)
    if distribution.atoms is not None:
        values, probabilities = distribution.atoms
        inside = probabilities * (np.abs(values) <= bound[..., None])
        return inside @ values, inside @ values**2
    first = np.vectorize(lambda b: distribution.expect(lambda x: x * (np.abs(x) <= b)), otypes=[float])
    second = np.vectorize(lambda b: distribution.expect(lambda x: x * x * (np.abs(x) <= b)), otypes=[float])
    return first(bound), second(bound)


def _pareto_moment(distribution: distributions.Pareto, order: int, bound: np.ndarray) -> np.ndarray:
    logs, more = np.log(bound / distribution.scale), order - distribution.shape
    whole = distribution.shape * distribution.scale**order
    return whole * logs if more == 0 else whole * np.expm1(more * logs) / more


def _located(partial, mean: float, spread: float, bound: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """From the partial moments of the standard distribution to those of mean + spread x standard, within +-bound."""
    high, low = partial((bound - mean) / spread, df), partial((-bound - mean) / spread, df)
    zero, one, two = (above - below for above, below in zip(high, low, strict=True))
    return mean * zero + spread * one, mean**2 * zero + 2 * mean * spread * one + spread**2 * two


def _normal_partial(z: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrals of 1, z and z^2 over the standard normal density up to z."""
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return scipy.special.ndtr(z), -density, scipy.special.ndtr(z) - np.where(np.isinf(z), 0.0, z) * density


def _student_partial(z: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrals of 1, z and z^2 over Student's density up to z (the last one up to a constant)."""
    if df == 2:  # the primitive of z^2 has a logarithm there; a neighbour is as good as the digits left
        df += 1e-7
    norm = math.exp(scipy.special.gammaln((df + 1) / 2) - scipy.special.gammaln(df / 2)) / math.sqrt(df * math.pi)
    density = norm * (1 + z**2 / df) ** (-(df + 1) / 2)
    below = scipy.special.stdtr(df, z)
    return below, -(df + z**2) / (df - 1) * density, (df * below - z * (df + z**2) * density) / (df - 2)


def chance_beyond(distribution: distributions.RewardDistribution, size: ArrayLike) -> np.ndarray:
    """``P(|X| > size)`` for sizes >= 0 of any shape, by bisection on the quantile (absolute error 1e-15)."""
    size = np.asarray(size, float)

    def up_to(x: np.ndarray) -> np.ndarray:
        low, high = np.zeros(x.shape), np.ones(x.shape)
        for _ in range(52):
            middle = (low + high) / 2
            below = distribution.quantile(middle) <= x
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    under = up_to(np.nextafter(-size, -np.inf)) if distribution.support[0] < 0 else np.zeros(size.shape)
    return np.clip(1 - up_to(size) + under, 0.0, 1.0)


def truncation_level(
    n: ArrayLike, *, v: float, u: float, estimator: Estimator, epsilon: float = 1.0, logarithm: float
) -> np.ndarray:
    """B after n rewards, reward units.

    ``logarithm`` is what the rewards share confidence with: 2 ln t for "plain" (Robust-UCB), ln^1.5 T for "tree"
    (DPRUCB), ln(4 |S| tau^2 / beta) for "epoch" (DPRSE), ln(8 |S| tau^2 / beta) for "local" (LDPRSE).
    """
    n = np.asarray(n, float)
    effective = {
        "plain": n / logarithm,
        "tree": n * min(1.0, epsilon) / logarithm,
        "epoch": n * min(1.0, epsilon) / logarithm,
        "local": np.sqrt(n / logarithm) * epsilon,
    }[estimator]
    return (u * effective) ** (1 / (1 + v))


def errors(
    distribution: distributions.RewardDistribution,
    n: ArrayLike,
    *,
    v: float,
    u: float,
    estimator: Estimator,
    epsilon: float = 1.0,
    logarithm: float,
    levels: int = 1,
) -> pd.DataFrame:
    """The three parts of the error of the robust mean of n rewards.

    Parameters
    ----------
    distribution
        Reward distribution of the arm.
    n
        Numbers of rewards, at least 1.
    v, u, epsilon
        As in the policies; ``epsilon`` is not used by "plain".
    estimator
        "plain" and "tree" truncate the s-th reward at B_s; "epoch" and "local" all of them at B_n.
    logarithm
        See `truncation_level`.
    levels
        Nodes a reward may enter, floor(log2 T) + 1; for "tree" only.

    Returns
    -------
    DataFrame
        Columns n, level (B_n), bias (mean minus expected truncated mean; signed), noise (standard deviation of the
        noise of privacy), sampling (standard deviation of the truncated mean), all in reward units, and
        untruncated (standard deviation of the plain mean; infinite if the distribution has no variance).
    """
    n = np.asarray(n, np.int64)
    rule: dict[str, Any] = dict(v=v, u=u, estimator=estimator, epsilon=epsilon, logarithm=logarithm)
    level = truncation_level(n, **rule)

    def lost(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = truncated_moments(distribution, truncation_level(place, **rule))
        return distribution.expected - first, np.maximum(second - first**2, 0.0)

    if estimator in ("plain", "tree"):
        bias, variance = (total / n for total in _running_sums(lost, n))
    else:
        bias, variance = lost(n)
    whole = distribution.raw_moment(2) - distribution.expected**2 if distribution.moment_limit > 2 else math.inf
    return pd.DataFrame(
        {
            "n": n,
            "level": level,
            "bias": bias,
            "noise": _noise(n, level, levels, rule),
            "sampling": np.sqrt(variance / n),
            "untruncated": np.sqrt(whole / n),
        }
    )


def _noise(n: np.ndarray, level: np.ndarray, levels: int, rule: dict[str, Any]) -> np.ndarray:
    """Standard deviation of the noise of privacy on the mean of n rewards, see `errors`."""
    noise = np.zeros(n.shape)
    estimator, epsilon = rule["estimator"], rule["epsilon"]
    if estimator == "tree":
        scale = 2 * levels / epsilon
        for place in np.ndindex(n.shape):
            closed = _nodes(int(n[place]))
            each = scale * truncation_level(closed, **rule)
            noise[place] = math.sqrt(2 * float(np.sum(each**2))) / n[place]
    elif estimator == "epoch":
        noise = math.sqrt(2) * 2 * level / (n * epsilon)
    elif estimator == "local":
        noise = math.sqrt(2) * 2 * level / (np.sqrt(n) * epsilon)
    return noise


def _nodes(n: int) -> np.ndarray:
    """When the nodes were closed that make up the first n items: n with its low ones removed, one after another."""
    closed = []
    while n > 0:
        closed.append(n)
        n &= n - 1
    return np.array(closed)


def _running_sums(terms, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Sums of two smooth sequences up to each of ``ends``: term by term, then by the integral between half steps."""
    few = min(int(ends.max()), _ONE_BY_ONE)
    start = np.cumsum(np.stack(terms(np.arange(1, few + 1))), axis=1)
    totals = start[:, np.minimum(ends, few) - 1]
    if ends.max() > few:
        edges = np.unique(np.concatenate([ends[ends > few] + 0.5, np.geomspace(few + 0.5, ends.max() + 0.5, 400)]))
        half = np.diff(edges)[:, None] / 2
        panels = (half * _WEIGHTS * np.stack(terms(edges[:-1, None] + half * (1 + _NODES)))).sum(axis=2)
        above = np.concatenate([np.zeros((2, 1)), np.cumsum(panels, axis=1)], axis=1)
        totals = totals + np.where(ends > few, above[:, np.searchsorted(edges, np.maximum(ends, few) + 0.5)], 0.0)
    return totals[0], totals[1]
