"""Theorems 1 to 4 and Corollaries 1 to 3 of Basu, Dimitrakakis and Tossou 2019, as far as they can stand.

The local ones are re-derived here with explicit constants. Those for a curator and for single actions put a factor
1/epsilon before sqrt(K t), which a known policy undercuts; they are kept, hidden, with the reason. A last bound is
ours: what the paper's environment privacy would cost.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bandit_core.model import RunSetup
from bandit_core.model.bound import Bound
from bandit_core.theory import classic, divergences
from bandit_core.theory.classic import BEST_IS_PERFECT, LONG_RUN, logarithmic, nothing, two_point_argument

BASU = "Basu, Dimitrakakis and Tossou 2019"
_ONE_BUDGET = "stated for one epsilon; the LDP minimax bound covers users with different ones"
_TWO_ARMS = "with one arm there is nothing to learn"
_CONTRADICTED = (
    "superseded: DP-SE keeps its actions epsilon-private and loses at most the order of sqrt(K t ln t) + K ln t / "
    "epsilon. With epsilon = 1/ln t the printed claim, sqrt(K t) times about 1/epsilon, is larger than that by a "
    "factor that grows like sqrt(ln t), whatever the constants: privacy under a curator adds to the regret, it does "
    "not multiply it"
)
_CONTRADICTED_ONCE = (
    "superseded: DP-SE at epsilon/2 makes every single action epsilon-private given the earlier ones, and loses at "
    "most the order of sqrt(K t ln t) + K ln t / epsilon, less than sqrt(K t) times 1/epsilon when epsilon falls like "
    "1/ln t. Only a condition on the horizon that could not be read in our copy might exclude that case"
)


def _local_minimax(setup: RunSetup) -> list[Bound]:
    """Theorem 1 (hardest arms) and Corollary 1 (hardest prior): the same number, by the minimax theorem."""
    arms, users = len(setup.arms), setup.epsilon
    assert users is not None, "local privacy has a distribution of epsilon"
    theorem = Bound(
        name="Basu Theorem 1",
        side="lower",
        model="local",
        rewards="[0, 1]",
        kind="minimax",
        source=f"{BASU}, Theorem 1; constant re-derived",
        status="derived",
        formula=r"\frac{e^{-1/2}}{16\sqrt2}\,\frac{\sqrt{(K-1)\,t}}{\min\{2,e^\epsilon\}(e^\epsilon-1)}",
        words="On its hardest instance (not on this one) every locally private policy loses at least this much: with "
        "little budget the regret without privacy is multiplied by 1/epsilon. For large epsilon it vanishes; the LDP "
        "minimax bound takes the larger of it and of what holds without privacy.",
        assumptions="rewards in [0, 1] (hardest: Bernoulli arms around 1/2); at least two arms; t at least "
        "2 (K - 1) / alpha, below that the gap of the proof is held at 1/4; one epsilon for everyone",
        curve=nothing,
        worst_case=True,
    )
    corollary = replace(
        theorem,
        name="Basu Corollary 1",
        kind="Bayesian",
        source=f"{BASU}, Corollary 1; constant re-derived",
        words="Even if the arms are drawn from a prior that the policy knows, there is a prior for which every locally "
        "private policy loses at least this much on average. It is the number of Theorem 1: for bounded rewards the "
        "hardest prior is as hard as the hardest instance (minimax theorem of Lattimore and Szepesvari).",
    )
    epsilon = users.fixed
    why = _TWO_ARMS if arms < 2 else _ONE_BUDGET if epsilon is None else None
    if why:
        return [theorem.ruled_out(why), corollary.ruled_out(why)]
    assert epsilon is not None
    alpha = float(divergences.duchi_alpha(epsilon))
    if classic.unit_rewards(setup):
        curve = two_point_argument(arms, alpha, 0.5, 0.25)
        return [replace(theorem, curve=curve), replace(corollary, curve=curve)]
    sd = classic.common_sd(setup)
    bounded = corollary.ruled_out("stated for bounded rewards")
    if sd is None:
        return [
            theorem.ruled_out("derived for rewards in [0, 1] and for Gaussian arms with one standard deviation"),
            bounded,
        ]
    return [
        replace(
            theorem,
            rewards="Gaussian",
            formula=r"\frac{e^{-1/2}\sigma}{8\sqrt2}\,\frac{\sqrt{(K-1)\,t}}{\min\{2,e^\epsilon\}(e^\epsilon-1)}",
            assumptions="Gaussian arms with one standard deviation; at least two arms; one epsilon for everyone",
            curve=two_point_argument(arms, alpha, sd, math.inf),
        ),
        bounded,
    ]


def _theorem_4(setup: RunSetup) -> Bound:
    bound = Bound(
        name="Basu Theorem 4",
        side="lower",
        model="local",
        rewards="any",
        source=f"{BASU}, Theorem 4; constant re-derived",
        status="derived",
        formula=r"\sum_{a:\Delta_a>0}\frac{2\,\Delta_a}{\min\{4,e^{2\epsilon}\}(e^\epsilon-1)^2\,"
        r"\mathrm{KL}(\nu_a\|\nu_*)}\,\ln t",
        words="In the long run no locally private policy can do better: the bound without privacy, divided by half of "
        "alpha, so multiplied by about 2/epsilon^2 for small epsilon. The factor 2 is Pinsker's inequality at its "
        "right constant; as printed the bound is a quarter of this. Valid but loose.",
        assumptions="distributions slightly better than the best one are possible; one epsilon for everyone; "
        + LONG_RUN,
        curve=nothing,
        asymptotic=True,
    )
    assert setup.epsilon is not None
    epsilon = setup.epsilon.fixed
    if epsilon is None:
        return bound.ruled_out("stated for one epsilon; the exact LDP bound covers several and is larger")
    if classic.unit_rewards(setup) and setup.means.max() >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    best_distributions, worse = classic.distinct_distributions(setup)
    plain = np.array(
        [
            min(divergences.relative_entropy(distribution, best) for best in best_distributions)
            for distribution, _, _ in worse
        ]
    )
    if len(worse) and not np.isfinite(plain).any():
        return bound.ruled_out("the divergence KL of these distributions is infinite or not known here")
    gaps = np.array([gap * count for _, gap, count in worse])
    alpha = float(divergences.duchi_alpha(epsilon))
    if math.isinf(alpha):
        return bound  # it has vanished
    return replace(bound, curve=logarithmic(classic.per_log(gaps, alpha / 2 * plain)))


def local(setup: RunSetup) -> list[Bound]:
    """Theorem 1, Corollary 1 and Theorem 4, with constants that were re-derived."""
    return [*_local_minimax(setup), _theorem_4(setup)]


def superseded(setup: RunSetup) -> list[Bound]:
    """Theorems 2 and 3 and Corollaries 2 and 3: never valid bounds here, always hidden with the argument."""
    epsilon, others = setup.fixed_epsilon, len(setup.arms) - 1
    with np.errstate(over="ignore"):
        spread = float(2 * epsilon * np.expm1(2 * np.float64(epsilon)))
    once = Bound(
        name="Basu Theorem 2",
        side="lower",
        model="instantaneous",
        rewards="any",
        kind="minimax",
        source=f"{BASU}, Theorem 2",
        status="order-only",
        formula=r"\Omega\Big(\sqrt{\frac{(K-1)\,t}{2\epsilon\,(e^{2\epsilon}-1)}}\Big)",
        words="What the paper claims for policies whose every single action is private given the past: a factor "
        "1/epsilon on the regret of the hardest instance. Its constant could not be read in our copy; drawn with the "
        "factor 1.",
        assumptions="finite variance; an upper limit on epsilon and a lower limit on t, both lost in our copy",
        curve=lambda t: np.sqrt(max(others, 0) * t / spread),
        worst_case=True,
    )
    whole = replace(
        once,
        name="Basu Theorem 3",
        model="central",
        source=f"{BASU}, Theorem 3",
        formula=r"\Omega\Big(\frac{\sqrt{(K-1)\,t}}{g(\epsilon,\,L\,\Delta r)}\Big)",
        words="What the paper claims for a trusted curator: the regret of the hardest instance without privacy, "
        "divided by a factor g of epsilon and of a Lipschitz constant L of the rewards' density times the difference "
        "of two neighbouring rewards. g could not be read in our copy, so there is nothing to draw.",
        assumptions="reward distributions with a smooth density that is nowhere 0; finite variance",
        curve=nothing,
    )
    prior = " In the form for the hardest prior in place of the hardest instance, for bounded rewards."
    return [
        once.ruled_out(_CONTRADICTED_ONCE),
        replace(
            once, name="Basu Corollary 2", rewards="[0, 1]", kind="Bayesian", source=f"{BASU}, Corollary 2",
            words=once.words + prior,
        ).ruled_out(_CONTRADICTED_ONCE),
        whole.ruled_out(_CONTRADICTED),
        replace(
            whole, name="Basu Corollary 3", rewards="[0, 1]", kind="Bayesian", source=f"{BASU}, Corollary 3",
            words=whole.words + prior,
        ).ruled_out(_CONTRADICTED),
    ]  # fmt: skip


def environment_share(epsilon: float) -> float:
    """Share of all users' rewards that environment privacy costs at least: max over D <= 1/2 of D/4 exp(-2 epsilon D).

    >>> round(environment_share(0.0), 4), round(environment_share(1.0), 4), round(environment_share(10.0), 5)
    (0.125, 0.046, 0.0046)
    """
    gap = min(0.5, 0.5 / epsilon) if epsilon > 0 else 0.5
    return gap / 4 * math.exp(-2 * epsilon * gap)


def environment(setup: RunSetup) -> list[Bound]:
    """What a policy must lose whose actions hide the arms' means themselves.

    Two worlds: arm 1 has mean 1/2, arm 2 has 1/2 - D or 1/2 + D, the others 1/2 - D. Every event has a probability
    in one world that is at least exp(-2 epsilon D) times that in the other, so "arm 1 in at most half of the pulls"
    and its opposite cannot both be unlikely in the world where they cost t D / 2.
    """
    share = environment_share(setup.fixed_epsilon)
    bound = Bound(
        name="Environment privacy",
        side="lower",
        model="environment",
        rewards="0 or 1",
        kind="minimax",
        source=f"re-derived; definition of {BASU}",
        status="derived",
        formula=r"\max_{0<\Delta\le1/2}\frac{\Delta}{4}\,e^{-2\epsilon\Delta}\;t\;=\;\frac{t}{8e\,\epsilon}"
        r"\quad(\epsilon\ge1),\qquad\frac{e^{-\epsilon}}{8}\,t\quad(\epsilon<1)",
        words="Whoever hides which arm is best cannot play it: on its hardest instance (not on this one) the regret "
        "never stops growing, every user loses a fixed share. The other promises hide persons, whose share in what is "
        "learned gets smaller with every further person.",
        assumptions="all actions are epsilon-private in the arms' means, at a distance that counts how much one mean "
        "changes; arms that pay 0 or 1; at least two arms",
        curve=lambda t: share * t,
        worst_case=True,
    )
    return [bound if len(setup.arms) > 1 else bound.ruled_out(_TWO_ARMS)]
