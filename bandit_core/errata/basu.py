"""Errata of Basu, Dimitrakakis and Tossou 2019, Privacy in Multi-Armed Bandits."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.errata.erratum import Erratum, Outcome, compare
from bandit_core.theory import definitions, divergences

PAPER = "Basu, Dimitrakakis and Tossou 2019"


def lemma_4() -> Outcome:
    chances = np.linspace(0.01, 0.99, 99)
    p, q = np.meshgrid(chances, chances)
    apart = np.abs(p - q) > 1e-9
    needed = float(np.max((p - q)[apart] ** 2 / divergences.bernoulli_kl(p[apart], q[apart])))
    measure = "smallest c with TV² ≤ c KL, over pairs of Bernoulli laws"
    return compare(measure, "equal to", needed, 2.0, 0.5, tolerance=1e-3)


def lemma_6_names() -> Outcome:
    epsilon = 1.0
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def curated(actions: tuple[int, ...], rewards: tuple[int, ...]) -> float:
        if not rewards:
            return 0.5
        if len(rewards) == 1:  # a curator who knows the reward and answers through noise, once
            return keep if rewards[0] else 1 - keep
        return keep if actions[1] else 1 - keep  # from then on out of what is public already

    seen_by_learner = math.inf  # the learner sees rewards of 0 and 1 as they are
    measure = "ε of a policy that keeps central DP with ε = 1, read as the promise that the lemma names"
    return compare(measure, "at most", epsilon, seen_by_learner, definitions.loss(curated, 3), tolerance=1e-6)


def theorems_2_and_3() -> Outcome:
    arms = 2

    def ratio(log_t: float, multiplied: bool) -> float:
        """Claimed lower bound over the order of DP-SE's upper bound at ε = 1/ln t; logarithms keep t = e^200 finite."""
        upper = math.log(math.sqrt(arms * log_t)) + log_t / 2  # ln sqrt(K t ln t); the other term is far smaller
        lower = 0.5 * (math.log(arms) + log_t) + (math.log(log_t) if multiplied else 0.0)
        return math.exp(lower - upper)

    def growth(multiplied: bool) -> float:
        return ratio(200, multiplied) / ratio(50, multiplied)

    measure = "growth of (lower bound) / (what DP-SE loses) from t = e^50 to e^200 at ε = 1/ln t"
    return compare(measure, "at most", 1.0, growth(True), growth(False))


def kl_ucb_cf() -> Outcome:
    worse, best, epsilon = 0.8, 0.9, 1.0
    policy = (best - worse) / float(divergences.response_kl(worse, best, epsilon))
    printed = (best - worse) / (
        2 * float(divergences.duchi_alpha(epsilon)) * float(divergences.bernoulli_kl(worse, best))
    )
    told = [
        float(divergences.response_kl(worse, best, epsilon)),
        *(_told_by_a_random_channel(worse, best, epsilon, seed) for seed in range(300)),
    ]
    measure = "kl-UCB-CF's constant over that of the best lower bound, for arms 0.8 and 0.9, ε = 1"
    return compare(measure, "equal to", 1.0, policy / printed, policy / ((best - worse) / max(told)))


def _told_by_a_random_channel(worse: float, best: float, epsilon: float, seed: int) -> float:
    """KL between the answers of two Bernoulli arms through some ε-locally private channel with four answers."""
    rng = np.random.default_rng(seed)
    zero = rng.dirichlet(np.ones(4))
    one = zero * np.exp(epsilon * rng.choice((-1, 1), 4))
    one /= one.sum()
    if np.max(np.abs(np.log(one / zero))) > epsilon:
        return 0.0
    p, q = worse * one + (1 - worse) * zero, best * one + (1 - best) * zero
    return float(np.sum(p * np.log(p / q)))


ERRATA = (
    Erratum(
        "basu-lemma-4",
        PAPER,
        "Lemma 4",
        r"$\mathrm{KL}\le2\,\alpha_\epsilon\sum_a\mathrm E[N_a]\,\mathrm{KL}(\nu_a\|\nu_a')$",
        r"$\tfrac12\,\alpha_\epsilon\sum_a\mathrm E[N_a]\,\mathrm{KL}(\nu_a\|\nu_a')$ is enough",
        "Pinsker's inequality for the total variation has the constant 1/2; 2 is that of the L1 distance, which is "
        "twice as large. The printed lemma is true but makes Theorem 4 four times weaker than it could be.",
        lemma_4,
        "theory",
    ),
    Erratum(
        "basu-lemma-6-names",
        PAPER,
        "Lemma 6 and Corollary 3",
        '"local" and "instantaneous" privacy',
        "central DP in both",
        "Their proofs use the promise for a curator. A policy may keep that promise while its learner sees every "
        "reward, so it keeps no local one at all.",
        lemma_6_names,
        "theory",
    ),
    Erratum(
        "basu-theorems-2-and-3",
        PAPER,
        "Theorems 2 and 3, Corollaries 2 and 3",
        r"a factor $1/\epsilon$ on $\sqrt{Kt}$ without local privacy",
        r"$\max\{\sqrt{(K-1)t}/27,\ (K-1)/(131\epsilon)\}$ (Azize and Basu 2022)",
        "DP-SE keeps central DP and loses the order of √(K t ln t) + K ln t / ε. Where ε falls like 1/ln t the printed "
        "lower bounds outgrow that, whatever their constants.",
        theorems_2_and_3,
        "theory",
    ),
    Erratum(
        "basu-kl-ucb-cf",
        PAPER,
        "section 6",
        "kl-UCB-CF and TS-CF are not optimal",
        "with randomised response they are, in the long run, for arms that pay 0 or 1",
        "The gap that the paper sees is that of its own lower bound. Of all locally private channels randomised "
        "response lets through the most about a yes-or-no reward, and both policies reach the bound that follows.",
        kl_ucb_cf,
        "theory",
    ),
)
