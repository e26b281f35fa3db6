"""What is known of regret with features under privacy: shapes in T and epsilon, without their constants.

The theorems of Han, Liang, Wang and Zhang 2021 and of Zheng et al. 2020 leave constants open (C, c', kappa_l, p_*),
and those of joint privacy are known here by their abstracts and by what others quote. So every curve here is
order-only: a shape times a multiplier that the reader chooses.

Of joint privacy: Shariff and Sheffet 2018 bound their LinUCB on private sums. (That privacy adds K ln T/epsilon for
plain arms is stated for a promise without delta, which no policy here keeps.) He, Zhang and Zhang 2022 reduce regret to
the error of estimation; what that gives with a private regression, sqrt(d T) + d/epsilon, was put together here.
"""

from __future__ import annotations

import numpy as np

from bandit_core.model import Measure, Model, RunSetup
from bandit_core.model.bound import TRIVIAL, Bound, Curve, Kind, Side
from bandit_core.spec.contexts import Contexts, Discrete, Margin

_HAN = "Han, Liang, Wang, Zhang 2021"
_ZHENG = "Zheng, Cai, Huang, Li, Wang 2020"
_SHARIFF = "Shariff, Sheffet 2018"
_HE = "He, Zhang, Zhang 2022"
_ADVERSARY = "contexts of norm 1, which an adversary may choose; bounded rewards"
_REGULAR = "contexts spread in every direction (Assumptions 2 and 3); bounded contexts and rewards"


def contexts_of(setup: RunSetup) -> Contexts:
    """The contexts of an instance that has some."""
    assert setup.contexts is not None
    return setup.contexts


def margin_exponent(contexts: Contexts) -> float | None:
    """beta of the margin condition where the distribution of contexts settles it, else None.

    A gap that is bounded away from 0 satisfies the condition for every beta; 1 gives the best rate stated.
    """
    if isinstance(contexts.law, Margin):
        return contexts.law.beta
    return 1.0 if isinstance(contexts.law, Discrete) else None


def margin_rate(t: np.ndarray, epsilon: float, beta: float, logs: int = 1) -> np.ndarray:
    """T^((1-beta)/2) / epsilon^(1+beta); (ln T)^logs / epsilon^2 at beta = 1."""
    if beta == 1:
        return np.log(t) ** logs / epsilon**2
    return t ** ((1 - beta) / 2) / epsilon ** (1 + beta)


def trivial_cap(setup: RunSetup) -> Bound:
    """No one can lose more than the largest gap at every step."""
    largest = contexts_of(setup).largest_gap
    bound = Bound(
        name=TRIVIAL,
        side="upper",
        model="none",
        rewards="features",
        source="by definition of regret",
        status="proved",
        formula=r"t\,\sup_x\Delta(x)",
        words="Choosing worst for the users for whom that costs most; no policy can lose more.",
        assumptions="bounded means",
        curve=lambda t: t * largest,
    )
    return bound if np.isfinite(largest) else bound.ruled_out("contexts without bound have means without bound")


def _shape(  # noqa: PLR0913 (the symbols of its formula)
    name: str,
    source: str,
    formula: str,
    words: str,
    epsilon: float,
    curve: Curve,
    multiplier: float = 1.0,
    *,
    side: Side = "upper",
    kind: Kind = "minimax",
    model: Model = "local",
    measure: Measure = "pure",
    assumptions: str = _REGULAR,
) -> Bound:
    return Bound(
        name=name,
        side=side,
        model=model,
        measure=measure,
        rewards="features",
        kind=kind,
        source=source,
        status="order-only",
        formula=rf"C\,{formula},\quad C={multiplier:g}",
        words=f"{words} Logarithmic factors and constants are left out; C is the reader's choice.",
        assumptions=assumptions,
        curve=lambda t: multiplier * curve(np.maximum(t, 1.0)),
        worst_case=side == "lower",
        asymptotic=True,
        drawn_with=f"C = {multiplier:g}, ε = {epsilon:g}",
    )


def theorem_3_1(epsilon: float, multiplier: float = 1.0) -> Bound:
    """sqrt(T) / epsilon: single parameter, no margin."""
    words = "LDP-OLS and LDP-SGD lose no more than this order, however small the gaps are."
    source = f"{_HAN}, Theorem 3.1"
    return _shape(
        "Theorem 3.1", source, r"\sqrt T/\epsilon", words, epsilon, lambda t: np.sqrt(t) / epsilon, multiplier
    )


def theorem_3_2(epsilon: float, multiplier: float = 1.0) -> Bound:
    """Lower bound sqrt(T) / epsilon for the worst theta: two arms, normal contexts of covariance I/d."""
    words = "No locally private policy can do better than this order for every theta (two arms, normal contexts)."
    source = f"{_HAN}, Theorem 3.2"
    return _shape(
        "Theorem 3.2",
        source,
        r"\sqrt T/\epsilon",
        words,
        epsilon,
        lambda t: np.sqrt(t) / epsilon,
        multiplier,
        side="lower",
    )


def theorem_3_3(epsilon: float, beta: float, multiplier: float = 1.0) -> Bound:
    """Single parameter with margin beta; the printed range 0 <= beta < 1 is read as 0 < beta < 1 (Assumption 4)."""
    formula = r"\ln T/\epsilon^2" if beta == 1 else rf"T^{{{(1 - beta) / 2:.3g}}}/\epsilon^{{{1 + beta:.3g}}}"
    bound = _shape(
        "Theorem 3.3", f"{_HAN}, Theorem 3.3", formula,
        f"With the margin condition at beta = {beta:g}, small gaps are rare and regret grows this slowly.",
        epsilon, lambda t: margin_rate(t, epsilon, beta), multiplier, kind="problem-dependent",
    )  # fmt: skip
    return bound if beta > 0 else bound.ruled_out("beta = 0 is no margin condition; Theorem 3.1 covers it")


def theorem_4_1(epsilon: float, beta: float, multiplier: float = 1.0) -> Bound:
    """A parameter for each arm, margin beta > 0; (ln T / epsilon)^2 at beta = 1, as in the paper's Table 1."""
    formula = r"(\ln T/\epsilon)^2" if beta == 1 else rf"T^{{{(1 - beta) / 2:.3g}}}/\epsilon^{{{1 + beta:.3g}}}"
    bound = _shape(
        "Theorem 4.1", f"{_HAN}, Theorem 4.1 and Table 1", formula,
        f"With the margin condition at beta = {beta:g}, for the algorithm with elimination and the right h.",
        epsilon, lambda t: margin_rate(t, epsilon, beta, logs=2), multiplier, kind="problem-dependent",
    )  # fmt: skip
    return bound if beta > 0 else bound.ruled_out("the paper leaves beta = 0 open for one parameter for each arm")


def zheng(epsilon: float, multiplier: float = 1.0) -> Bound:
    """T^(3/4) / epsilon for contexts chosen by an adversary."""
    words = "LDP-LinUCB and LDP-GLOC lose no more than this order, even if an adversary chooses the contexts."
    source = f"{_ZHENG}, Theorem 10, as quoted by {_HAN}"
    return _shape("Zheng et al.", source, r"T^{3/4}/\epsilon", words, epsilon, lambda t: t**0.75 / epsilon, multiplier)


def greedy_private(setup: RunSetup) -> list[Bound]:
    """The shapes for LDP-OLS and LDP-SGD on this instance."""
    contexts, epsilon = contexts_of(setup), setup.fixed_epsilon
    beta = margin_exponent(contexts)
    no_margin = "the distribution of contexts states no margin condition; choose the distribution margin or discrete"
    if contexts.structure == "multi":
        bound = theorem_4_1(epsilon, 1.0 if beta is None else beta)
        return [bound if beta is not None else bound.ruled_out(no_margin)]
    margin = theorem_3_3(epsilon, 1.0 if beta is None else beta)
    lower = theorem_3_2(epsilon)
    return [
        theorem_3_1(epsilon),
        margin if beta is not None else margin.ruled_out(no_margin),
        lower if not beta else lower.ruled_out("the lower bound speaks of contexts without a margin"),
    ]


def optimistic_private(setup: RunSetup) -> list[Bound]:
    """The shapes for LDP-LinUCB and LDP-GLOC."""
    return [zheng(setup.fixed_epsilon)]


def shariff_sheffet(setup: RunSetup) -> Bound:
    """d sqrt(T) + d^(3/4) sqrt(T/epsilon): LinUCB on private sums, released after every user."""
    d, epsilon = contexts_of(setup).dimension * contexts_of(setup).models, setup.fixed_epsilon
    bound = _shape(
        "Shariff, Sheffet", f"{_SHARIFF}, as its abstract and later papers have it",
        r"\left(d\sqrt T+d^{3/4}\sqrt{T/\epsilon}\right)",
        "LinUCB on private sums of a curator loses no more than this order, even if an adversary chooses the contexts.",
        epsilon, lambda t: d * np.sqrt(t) + d**0.75 * np.sqrt(t / epsilon), model="joint",
        assumptions=f"{_ADVERSARY}; a release after every user",
    )  # fmt: skip
    return bound if setup.parameters.refresh == 0 else bound.ruled_out("it needs a release after every user: refresh 0")


def joint_lower(setup: RunSetup) -> list[Bound]:
    """Orders below which no policy with joint privacy can stay for all users and parameters.

    sqrt(d T) + d/epsilon, put together from a reduction and from the error of private regression.
    """
    contexts, epsilon = contexts_of(setup), setup.fixed_epsilon
    d = contexts.dimension * contexts.models
    bound = _shape(
        "Private regression", f"{_HE}, and the usual error of a private regression; put together here",
        r"\left(\sqrt{dT}+d/\epsilon\right)",
        "Regret is at least the error of the estimate that a private policy learns: about this order, not proved here.",
        epsilon, lambda t: np.sqrt(d * t) + d / epsilon, side="lower", model="joint",
        measure="approximate", assumptions="the worst theta; contexts spread in every direction, without a margin",
    )  # fmt: skip
    return [bound.ruled_out("it speaks of contexts without a margin") if margin_exponent(contexts) else bound]


def joint_private(setup: RunSetup) -> list[Bound]:
    """The shapes for JDP-LinUCB."""
    return [shariff_sheffet(setup), *joint_lower(setup)]


def nothing_stated(setup: RunSetup) -> list[Bound]:
    """For the baselines without privacy, of which these papers state no bound."""
    return []
