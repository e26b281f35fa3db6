"""Bounds for heavy-tailed rewards: Tao et al. 2022, with corrected exponents, and Bubeck et al. 2013 without privacy.

Almost all of them are shapes: their constants are unknown, and they are drawn with the factor 1. A shape is a function
of the horizon, drawn at t as if t were the horizon. What the paper proves for
moments u <= 1 is carried over to any u by measuring rewards in the unit u^(1/(1+v)), where u becomes 1.

Two of the printed theorems cannot stand and are kept, hidden, with the reason: Theorem 4's powers of u change with the
unit of rewards, and Theorem 7 contradicts the lower bound `derived_local` when gaps are small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.model import Bound, Curve, RunSetup
from bandit_core.spec.later import pd
from bandit_core.theory import classic, divergences
from bandit_core.theory.stated import stated


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
