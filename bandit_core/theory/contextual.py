"""What is known of regret with features under privacy: shapes in T and epsilon, without their constants.

The theorems of Han, Liang, Wang and Zhang 2021 and of Zheng et al. 2020 leave constants open (C, c', kappa_l, p_*),
and those of joint privacy are known here by their abstracts and by what others quote. So every curve here is
order-only: a shape times a multiplier that the reader chooses.

Of joint privacy: Shariff and Sheffet 2018 bound their LinUCB on private sums. (That privacy adds K ln T/epsilon for
plain arms is stated for a promise without delta, which no policy here keeps.) He, Zhang and Zhang 2022 reduce regret to
the error of estimation; what that gives with a private regression, sqrt(d T) + d/epsilon, was put together here.
"""

from functools import partial
from typing import Any

import numpy as np

from bandit_core.model import Bound, Curve, RunSetup
from bandit_core.spec.contexts import Contexts, Discrete, Margin
from bandit_core.theory.stated import stated


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
    bound = stated("contextual-cap", lambda t: t * largest)
    return bound if np.isfinite(largest) else bound.ruled_out("contexts without bound have means without bound")


def _shape(key: str, epsilon: float, curve: Curve, multiplier: float = 1.0, **values: Any) -> Bound:
    drawn_with = f"C = {multiplier:g}, ε = {epsilon:g}"
    values |= {"multiplier": f"{multiplier:g}", "drawn_with": drawn_with}
    return stated(key, lambda t: multiplier * curve(np.maximum(t, 1.0)), **values)


def theorem_3_1(epsilon: float, multiplier: float = 1.0) -> Bound:
    """sqrt(T) / epsilon: single parameter, no margin."""
    return _shape("han-theorem-3-1", epsilon, lambda t: np.sqrt(t) / epsilon, multiplier)


def theorem_3_2(epsilon: float, multiplier: float = 1.0) -> Bound:
    """Lower bound sqrt(T) / epsilon for the worst theta: two arms, normal contexts of covariance I/d."""
    return _shape("han-theorem-3-2", epsilon, lambda t: np.sqrt(t) / epsilon, multiplier)


def _with_margin(key: str, epsilon: float, beta: float, multiplier: float, at_one: str, logs: int) -> Bound:
    shape = at_one if beta == 1 else rf"T^{{{(1 - beta) / 2:.3g}}}/\epsilon^{{{1 + beta:.3g}}}"
    curve = partial(margin_rate, epsilon=epsilon, beta=beta, logs=logs)
    return _shape(key, epsilon, curve, multiplier, shape=shape, beta=f"{beta:g}")


def theorem_3_3(epsilon: float, beta: float, multiplier: float = 1.0) -> Bound:
    """Single parameter with margin beta, 0 <= beta <= 1; at beta = 0 it is Theorem 3.1."""
    bound = _with_margin("han-theorem-3-3", epsilon, beta, multiplier, r"\ln T/\epsilon^2", 1)
    return bound if beta > 0 else bound.ruled_out("at beta = 0 Theorem 3.1 says the same")


def theorem_4_1(epsilon: float, beta: float, multiplier: float = 1.0) -> Bound:
    """A parameter for each arm, margin beta > 0; (ln T / epsilon)^2 at beta = 1, as in the paper's Table 1."""
    bound = _with_margin("han-theorem-4-1", epsilon, beta, multiplier, r"(\ln T/\epsilon)^2", 2)
    return bound if beta > 0 else bound.ruled_out("the paper leaves beta = 0 open for one parameter for each arm")


def zheng(epsilon: float, multiplier: float = 1.0) -> Bound:
    """T^(3/4) / epsilon for contexts chosen by an adversary."""
    return _shape("zheng", epsilon, lambda t: t**0.75 / epsilon, multiplier)


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


def shariff_sheffet(setup: RunSetup) -> Bound:
    """d sqrt(T) + d^(3/4) sqrt(T/epsilon): LinUCB on private sums, released after every user."""
    d, epsilon = contexts_of(setup).dimension * contexts_of(setup).models, setup.fixed_epsilon
    bound = _shape("shariff-sheffet", epsilon, lambda t: d * np.sqrt(t) + d**0.75 * np.sqrt(t / epsilon))
    return bound if setup.parameters.refresh == 0 else bound.ruled_out("it needs a release after every user: refresh 0")


def joint_lower(setup: RunSetup) -> list[Bound]:
    """Orders below which no policy with joint privacy can stay for all users and parameters.

    sqrt(d T) + d/epsilon, put together from a reduction and from the error of private regression.
    """
    contexts, epsilon = contexts_of(setup), setup.fixed_epsilon
    d = contexts.dimension * contexts.models
    bound = _shape("private-regression", epsilon, lambda t: np.sqrt(d * t) + d / epsilon)
    return [bound.ruled_out("it speaks of contexts without a margin") if margin_exponent(contexts) else bound]


def joint_private(setup: RunSetup) -> list[Bound]:
    """The shapes for JDP-LinUCB."""
    return [shariff_sheffet(setup), *joint_lower(setup)]


def nothing_stated(setup: RunSetup) -> list[Bound]:
    """For the baselines without privacy, of which these papers state no bound."""
    return []
