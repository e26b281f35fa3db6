"""Bounds for heavy-tailed rewards: Tao et al. 2022, with corrected exponents, and Bubeck et al. 2013 without privacy.

Almost all of them are shapes: their constants are unknown, so every constructor takes the ``multiplier`` they are
drawn with. A shape is a function of the horizon, drawn at t as if t were the horizon. What the paper proves for
moments u <= 1 is carried over to any u by measuring rewards in the unit u^(1/(1+v)), where u becomes 1.

Two of the printed theorems cannot stand and are kept, hidden, with the reason: Theorem 4's powers of u change with the
unit of rewards, and Theorem 7 contradicts the lower bound `derived_local` when gaps are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core.model import Model, RunSetup
from bandit_core.model.bound import Bound, Curve, Kind, Side
from bandit_core.theory import central, classic, divergences
from bandit_core.theory import local as local_theory

if TYPE_CHECKING:
    import pandas as pd

TAO = "Tao, Wu, Zhao and Wang 2022"
BUBECK = "Bubeck, Cesa-Bianchi and Lugosi 2013"
_UNITS = (
    "superseded: its power of u is not that of a bound in reward units, so the same experiment in other units would "
    "have another bound; the corrected one follows from the algorithm's own epochs"
)
_WRONG = (
    "superseded: the proof takes the last epoch as the one where the gap exceeds D^2, which does not follow from the "
    "elimination rule, and for small gaps the claim lies below a lower bound for every locally private policy"
)
_HARDEST = " It speaks of the hardest reward distributions with these gaps and this u, not of the ones chosen here."
_FACTOR = " (drawn with the factor {:g})."


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
        self.gaps = classic.true_gaps(setup)
        self.gaps = self.gaps[self.gaps > 0]
        self.largest = float(self.gaps.max(initial=0.0))
        self.arms = len(setup.arms)
        self.unit = self.u ** (1 / (1 + self.v))
        self.epsilon = math.nan
        if setup.epsilon is not None and setup.epsilon.fixed is not None:
            self.epsilon = setup.epsilon.fixed

    def gap_sum(self, power: float) -> float:
        """Sum of gap^power over the worse arms."""
        with np.errstate(over="ignore"):
            return float(np.sum(self.gaps**power))


def _shape(  # noqa: PLR0913 (the symbols of its formula)
    multiplier: float, name: str, side: Side, source: str, formula: str, words: str, assumptions: str, curve: Curve,
    *, worst_case: bool = False, kind: Kind | None = None,
) -> Bound:  # fmt: skip
    return Bound(
        name=name,
        side=side,
        model="none",
        rewards="heavy tails",
        kind=kind or ("minimax" if worst_case else "problem-dependent"),
        source=source,
        status="order-only",
        formula=formula,
        words=words + _FACTOR.format(multiplier),
        assumptions=assumptions,
        curve=lambda t: multiplier * curve(t),
        worst_case=worst_case,
        drawn_with=f"× {multiplier:g}",
    )


def _under(model: Model, bounds: list[Bound]) -> list[Bound]:
    return [replace(bound, model=model) for bound in bounds]


def _up_to_one(bound: Bound, epsilon: float) -> Bound:
    """Hide what was stated for epsilon up to 1 only."""
    return (
        bound
        if epsilon <= 1 or bound.not_applicable
        else bound.ruled_out(f"stated for epsilon up to 1, and epsilon is {epsilon:g}")
    )


def _two_arms(bound: Bound, arms: int, general: str) -> Bound:
    return (
        bound if arms == 2 or bound.not_applicable else bound.ruled_out(f"stated for two arms; {general} covers more")
    )


# --- without privacy -----------------------------------------------------------------------------------------------


def _plain_lower(setup: RunSetup, multiplier: float) -> list[Bound]:
    n = _Numbers(setup)
    common = 0.4 * _power(n.u, 1 / n.v) * n.gap_sum(-1 / n.v)
    exponent = n.v / (1 + n.v)
    return [
        _shape(
            multiplier,
            "Heavy-tailed lower bound",
            "lower",
            f"{BUBECK}, section 3; summed over arms, rescaled to any u",
            r"0.4\sum_{a:\Delta_a>0}\Big(\frac{u}{\Delta_a}\Big)^{1/v}\ln t",
            "No policy can do better against all reward distributions with this u: a worse arm costs gap^(-1/v), so "
            "the heavier the tails, the more a small gap costs."
            + _HARDEST
            + " The factor 0.4 was stated for two arms and u = 1",
            "the (1+v)-th moments are at most u, nothing else is known about the distributions; long horizons",
            lambda t: common * np.log(t),
            worst_case=True,
            kind="problem-dependent",
        ),
        _shape(
            multiplier,
            "Heavy-tailed minimax",
            "lower",
            f"{BUBECK}, section 3",
            r"0.01\,u^{\frac1{1+v}}K^{\frac{v}{1+v}}t^{\frac1{1+v}}",
            "On its hardest instance (not on this one) every policy loses at least about this much",
            "the (1+v)-th moments are at most u",
            lambda t: 0.01 * n.unit * n.arms**exponent * t ** (1 / (1 + n.v)) if n.arms > 1 else 0 * t,
            worst_case=True,
        ),
    ]


def robust_ucb(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """Robust-UCB with the truncated mean: Bubeck et al. 2013. The printed constants are indicative only."""
    n = _Numbers(setup)
    slope = 8 * _power(4 * n.u, 1 / n.v) * n.gap_sum(-1 / n.v)
    exponent = n.v / (1 + n.v)
    return [
        _shape(
            multiplier,
            "Robust-UCB",
            "upper",
            f"{BUBECK}, Theorem 1 and Proposition 1",
            r"\sum_{a:\Delta_a>0}\Big[8\Big(\frac{4u}{\Delta_a}\Big)^{1/v}\ln t+5\Delta_a\Big]",
            "Robust-UCB loses about this much at most, with kappa = 1. The constants are the printed ones and only "
            "indicative: a later machine-checked proof needed a wider margin",
            "the (1+v)-th moments are at most u; kappa = 1",
            lambda t: slope * np.log(t) + 5 * n.gap_sum(1),
        ),
        _shape(
            multiplier,
            "Robust-UCB, distribution-free order",
            "upper",
            f"{BUBECK}, Theorem 1",
            r"O\Big(u^{\frac1{1+v}}(K\ln t)^{\frac{v}{1+v}}t^{\frac1{1+v}}\Big)",
            "However small the gaps are, the regret grows no faster than this shape",
            "the (1+v)-th moments are at most u",
            lambda t: n.unit * (n.arms * np.log(t)) ** exponent * t ** (1 / (1 + n.v)),
            worst_case=True,
        ),
    ]


def plain_lower_bounds(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """What bounds every policy from below, private or not."""
    return [*classic.lower_bounds(setup), *_plain_lower(setup, multiplier)]


# --- a trusted curator ---------------------------------------------------------------------------------------------


def dp_robust_ucb(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """DPRUCB: Theorem 2."""
    n = _Numbers(setup)
    slope = _power(n.u, 1 / n.v) * n.gap_sum(-1 / n.v) / min(1.0, n.epsilon)
    bounds = [
        _shape(
            multiplier,
            "Theorem 2",
            "upper",
            f"{TAO}, Theorem 2",
            r"O\Big(\sum_{a:\Delta_a>0}\Big[\frac{\ln^{2.5+1/v}t}{\epsilon}\Big(\frac{u}{\Delta_a}\Big)^{1/v}+\Delta_a"
            r"\Big]\Big)",
            "Counting rewards with a tree costs DPRUCB many powers of the logarithm",
            "the (1+v)-th moments are at most u; epsilon up to 1 (a larger one counts as 1); kappa = 1",
            lambda t: slope * np.log(t) ** (2.5 + 1 / n.v) + n.gap_sum(1),
        )
    ]
    return _under("central", bounds)


def dp_robust_se(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """DPRSE: Theorem 4 with the powers of u corrected, then as printed (hidden)."""
    n = _Numbers(setup)
    inverse = n.gap_sum(-1 / n.v) / min(1.0, n.epsilon)
    exponent = n.v / (1 + n.v)
    assumptions = (
        "the (1+v)-th moments are at most u; epsilon up to 1 (a larger one counts as 1); beta = 1/T; kappa = 1"
    )

    def instance_curve(u_power: float) -> Curve:
        return lambda t: _power(n.u, u_power) * inverse * np.log(t) + n.largest

    def worst_curve(u_power: float) -> Curve:
        u = _power(n.u, u_power)
        return lambda t: u * (n.arms * np.log(t) / min(1.0, n.epsilon)) ** exponent * t ** (1 / (1 + n.v))

    words = "DPRSE pays one logarithm per worse arm, as little as any policy of a trusted curator can"
    free = "However small the gaps are, the regret of DPRSE grows no faster than this shape"
    bounds = [
        _shape(
            multiplier, "Theorem 4, corrected", "upper", f"{TAO}, Theorem 4, with u^(1/v) as in the algorithm",
            r"O\Big(\frac{u^{1/v}\ln t}{\epsilon}\sum_{a:\Delta_a>0}\Delta_a^{-1/v}+\max_a\Delta_a\Big)",
            words, assumptions, instance_curve(1 / n.v),
        ),
        _shape(
            multiplier, "Theorem 4 worst case, corrected", "upper",
            f"{TAO}, Theorem 4, with the u that makes it a bound in reward units",
            r"O\Big(u^{\frac1{1+v}}\Big(\frac{K\ln t}{\epsilon}\Big)^{\frac{v}{1+v}}t^{\frac1{1+v}}\Big)",
            free, assumptions, worst_curve(1 / (1 + n.v)), worst_case=True,
        ),
        _shape(
            multiplier, "Theorem 4 as printed", "upper", f"{TAO}, Theorem 4",
            r"O\Big(\frac{u^{\frac1{1+v}}\ln t}{\epsilon}\sum_{a:\Delta_a>0}\Delta_a^{-1/v}+\max_a\Delta_a\Big)",
            words, assumptions, instance_curve(1 / (1 + n.v)),
        ).ruled_out(_UNITS),
        _shape(
            multiplier, "Theorem 4 worst case as printed", "upper", f"{TAO}, Theorem 4",
            r"O\Big(u^{\frac{v}{(1+v)^2}}\Big(\frac{K\ln t}{\epsilon}\Big)^{\frac{v}{1+v}}t^{\frac1{1+v}}\Big)",
            free, assumptions, worst_curve(n.v / (1 + n.v) ** 2), worst_case=True,
        ).ruled_out(_UNITS),
    ]  # fmt: skip
    return _under("central", bounds)


def _gap_lower(n: _Numbers, multiplier: float, name: str, formula: str, model: str, cost: float, largest: str) -> Bound:
    slope = _power(n.u, 1 / n.v) * n.gap_sum(-1 / n.v) / cost
    return _shape(
        multiplier,
        name,
        "lower",
        f"{TAO}, {name}; rescaled to any u",
        formula,
        f"No {model} can do better against all reward distributions with this u."
        + _HARDEST
        + " Only the shape is known",
        f"epsilon up to 1; stated for u at most 1 and gaps below {largest}; {model}; long horizons",
        lambda t: slope * np.log(t),
        worst_case=True,
        kind="problem-dependent",
    )


def central_lower_bounds(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """Theorems 5 and 10: what every policy of a trusted curator must lose, and so every locally private one."""
    n = _Numbers(setup)
    model = "epsilon-private policy of a trusted curator"
    five = _gap_lower(
        n, multiplier, "Theorem 5",
        r"\Omega\Big(\frac{u^{1/v}\ln t}{\epsilon}\sum_{a:\Delta_a>0}\Delta_a^{-1/v}\Big)", model, n.epsilon, "1/12",
    )  # fmt: skip
    ten = _gap_lower(
        n, multiplier, "Theorem 10",
        r"\Omega\Big(\frac{u^{1/v}\ln t}{\epsilon}\,\Delta^{-1/v}\Big)", model, n.epsilon, "1/5",
    )  # fmt: skip
    return _under("central", [_up_to_one(five, n.epsilon), _two_arms(_up_to_one(ten, n.epsilon), n.arms, "Theorem 5")])


# --- no one is trusted ---------------------------------------------------------------------------------------------


def ldp_robust_se(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """LDPRSE: what its epochs really cost, then Theorem 7 as printed (hidden)."""
    n = _Numbers(setup)
    v, epsilon = n.v, n.epsilon
    correct = _power(n.u, 2 / v) * n.gap_sum(-(2 + v) / v) / epsilon**2
    printed = _power(n.u, 2 / v) * n.gap_sum(-1 / v) / epsilon**2
    assumptions = "the (1+v)-th moments are at most u; epsilon up to 1; beta = 1/T; kappa = 1"
    words = "A worse arm is dropped once an epoch is as precise as its gap; with noise on every reward that takes long"
    free = "However small the gaps are, the regret of LDPRSE grows no faster than this shape"
    bounds = [
        _shape(
            multiplier, "Theorem 7, corrected", "upper", f"{TAO}, Algorithm 4; re-derived from its epochs",
            r"O\Big(\sum_{a:\Delta_a>0}\frac{u^{2/v}\ln t}{\epsilon^2\Delta_a^{(2+v)/v}}+\max_a\Delta_a\Big)",
            words, assumptions, lambda t: correct * np.log(t) + n.largest,
        ),
        _shape(
            multiplier, "Theorem 7 worst case, corrected", "upper", f"{TAO}, Algorithm 4; re-derived from its epochs",
            r"O\Big(u^{\frac1{1+v}}\Big(\frac{K\ln t}{\epsilon^2}\Big)^{\frac{v}{2(1+v)}}t^{\frac{2+v}{2(1+v)}}\Big)",
            free, assumptions,
            lambda t: n.unit * (n.arms * np.log(t) / epsilon**2) ** (v / (2 + 2 * v)) * t ** ((2 + v) / (2 + 2 * v)),
            worst_case=True,
        ),
        _shape(
            multiplier, "Theorem 7 as printed", "upper", f"{TAO}, Theorem 7",
            r"O\Big(\frac{u^{2/v}\ln t}{\epsilon^2}\sum_{a:\Delta_a>0}\Delta_a^{-1/v}+\max_a\Delta_a\Big)",
            words, assumptions, lambda t: printed * np.log(t) + n.largest,
        ).ruled_out(_WRONG),
        _shape(
            multiplier, "Theorem 7 worst case as printed", "upper", f"{TAO}, Theorem 7",
            r"O\Big(u^{\frac2{1+v}}\Big(\frac{K\ln t}{\epsilon^2}\Big)^{\frac{v}{1+v}}t^{\frac1{1+v}}\Big)",
            free, assumptions,
            lambda t: n.unit**2 * (n.arms * np.log(t) / epsilon**2) ** (v / (1 + v)) * t ** (1 / (1 + v)),
            worst_case=True,
        ).ruled_out(_WRONG),
    ]  # fmt: skip
    return _under("local", [_up_to_one(bound, epsilon) for bound in bounds])


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

    bound = Bound(
        name="Heavy-tailed LDP bound",
        side="lower",
        model="local",
        rewards="heavy tails",
        source="re-derived from Duchi, Jordan and Wainwright 2013, Theorem 1",
        status="derived",
        formula=r"\sum_{a:\Delta_a>0}\frac{u^{2/v}}{4\,\alpha_\epsilon\,5^{2/v}\,\Delta_a^{(2+v)/v}}\,\ln t,\qquad"
        r"\alpha_\epsilon=\min\{4,e^{2\epsilon}\}(e^\epsilon-1)^2",
        words="In the long run no locally private policy can do better against all reward distributions with "
        "this u: the price "
        "of a gap is gap^(-(2+v)/v), far more than the gap^(-1/v) of a trusted curator." + _HARDEST,
        assumptions="arms with gaps up to u^(1/(1+v))/5 (the others are left out); the policy's regret grows more "
        "slowly than every power of t on every instance with this u; long horizons",
        curve=lambda t: constant * np.log(t),
        worst_case=True,
        asymptotic=True,
    )
    if len(n.gaps) and not len(within):
        bound = bound.ruled_out("derived for gaps up to u^(1/(1+v))/5, and all gaps are larger")
    return [
        bound,
        Bound(
            name="Heavy-tailed LDP minimax",
            side="lower",
            model="local",
            rewards="heavy tails",
            kind="minimax",
            source="re-derived from Duchi, Jordan and Wainwright 2013, Theorem 1",
            status="derived",
            formula=r"u^{\frac1{1+v}}\frac{t\,\Delta}{8e},\qquad\Delta=\min\Big\{\tfrac15,\Big(\frac{K-1}"
            r"{4\cdot5^{2/v}\,\alpha_\epsilon\,t}\Big)^{\frac{v}{2(1+v)}}\Big\}",
            words="On its hardest instance (not on this one) every locally private policy loses at least this much. "
            "It vanishes for large epsilon, where the bound without privacy takes over.",
            assumptions="the (1+v)-th moments are at most u; at least two arms",
            curve=worst,
            worst_case=True,
        ),
    ]


def local_lower_bounds(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """The derived bounds, and Theorems 8, 9 and 11, which stay true although Theorem 7 does not match them."""
    n = _Numbers(setup)
    model = "epsilon-locally private policy"
    loose = " Valid but loose: the derived bound has the larger power of the gap"
    eight = _gap_lower(
        n, multiplier, "Theorem 8",
        r"\Omega\Big(\frac{u^{1/v}\ln t}{\epsilon^2}\sum_{a:\Delta_a>0}\Delta_a^{-1/v}\Big)",
        model, n.epsilon**2, "1/5",
    )  # fmt: skip
    eleven = _gap_lower(
        n, multiplier, "Theorem 11",
        r"\Omega\Big(\frac{u^{1/v}\ln t}{\epsilon^2}\,\Delta^{-1/v}\Big)", model, n.epsilon**2, "1/5",
    )  # fmt: skip
    exponent = n.v / (1 + n.v)
    nine = _shape(
        multiplier,
        "Theorem 9",
        "lower",
        f"{TAO}, Theorem 9; rescaled to any u",
        r"\Omega\Big(u^{\frac1{1+v}}\Big(\frac{K}{\epsilon^2}\Big)^{\frac{v}{1+v}}t^{\frac1{1+v}}\Big)",
        "On its hardest instance (not on this one) every locally private policy loses at least this shape." + loose,
        "epsilon up to 1; the (1+v)-th moments are at most u; long horizons",
        lambda t: n.unit * (n.arms / n.epsilon**2) ** exponent * t ** (1 / (1 + n.v)) if n.arms > 1 else 0 * t,
        worst_case=True,
    )
    return [
        *derived_local(setup),
        *_under(
            "local",
            [
                _up_to_one(eight, n.epsilon),
                _up_to_one(nine, n.epsilon),
                _two_arms(_up_to_one(eleven, n.epsilon), n.arms, "Theorem 8"),
            ],
        ),
    ]


# Bounds that speak of the hardest gaps as well as of the hardest distributions: nothing in them depends on this
# instance's gaps.
FREE_OF_GAPS = frozenset(
    {
        "Heavy-tailed minimax",
        "Robust-UCB, distribution-free order",
        "Theorem 4 worst case, corrected",
        "Theorem 4 worst case as printed",
        "Theorem 7 worst case, corrected",
        "Theorem 7 worst case as printed",
        "Theorem 9",
        "Heavy-tailed LDP minimax",
    }
)


# --- everything at once, for pages and tables ----------------------------------------------------------------------


def shapes(setup: RunSetup, multiplier: float = 1.0) -> list[Bound]:
    """Every heavy-tailed bound that this instance has numbers for, whatever its policy.

    Parameters
    ----------
    instance
        A line of `robust-ucb` (only the bounds without privacy) or of one of the private policies (all of them).
    multiplier
        What order-only bounds are drawn with; bounds with known constants are not changed.
    """
    plain = [*_plain_lower(setup, multiplier), *robust_ucb(setup, multiplier)]
    if setup.epsilon is None:
        return plain
    makers: tuple[Callable[[RunSetup, float], list[Bound]], ...] = (
        central_lower_bounds, dp_robust_ucb, dp_robust_se, local_lower_bounds, ldp_robust_se,
    )  # fmt: skip
    return [*plain, *(bound for maker in makers for bound in maker(setup, multiplier))]


def of_model(setup: RunSetup, local: bool, multiplier: float = 1.0) -> list[Bound]:
    """What may stand beside a private policy of one trust model: upper bounds of that model's policies only.

    Lower bounds are those of no privacy, of a trusted curator, and under local privacy those of local privacy too:
    whoever trusts no one can do no better than a curator, but not the other way round.
    """
    lower = [*_plain_lower(setup, multiplier), *central_lower_bounds(setup, multiplier)]
    if local:
        return [
            *local_theory.finite_time(setup),
            *lower,
            *local_lower_bounds(setup, multiplier),
            *ldp_robust_se(setup, multiplier),
        ]
    lower = [*central.finite_time(setup), *lower]
    return [*lower, *dp_robust_ucb(setup, multiplier), *dp_robust_se(setup, multiplier)]


def table_1(setup: RunSetup) -> pd.DataFrame:
    """Table 1 of Tao et al. 2022 for this instance's gaps, u, v, epsilon and horizon; shapes with the factor 1.

    Columns: rewards ("heavy-tailed" or "bounded", the latter for comparison: the same gaps with rewards in [0, 1]),
    model, kind, version ("printed", "corrected" or "derived"), upper and lower (formulas), upper_value and lower_value
    (at the horizon, reward units; NaN where there is none). Nothing is capped at horizon x largest gap.
    """
    import pandas as pd

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
    bounded = [
        ("central", by_gap, curator, curator),
        ("local", by_gap, channel, channel),
        (
            "central", worst,
            (r"\sqrt{K t\ln t}+\frac{K\ln t}{\epsilon}", root * math.sqrt(log_t) + arms * log_t / epsilon),
            (r"\sqrt{K t}+\frac{K\ln t}{\epsilon}", root + arms * log_t / epsilon),
        ),
        (
            "local", worst,
            (r"\frac{\sqrt{K t\ln t}}{\epsilon}", root * math.sqrt(log_t) / epsilon),
            (r"\frac{\sqrt{K t}}{\epsilon}", root / epsilon),
        ),
    ]  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for model, kind, version, upper, lower in heavy:
        (upper_formula, upper_value), (lower_formula, lower_value) = entry(upper), entry(lower)
        rows.append(("heavy-tailed", model, kind, version, upper_formula, lower_formula, upper_value, lower_value))
    for model, kind, over, under in bounded:
        rows.append(("bounded", model, kind, "printed", over[0], under[0], over[1], under[1]))
    names = ["rewards", "model", "kind", "version", "upper", "lower", "upper_value", "lower_value"]
    return pd.DataFrame(rows, columns=names)
