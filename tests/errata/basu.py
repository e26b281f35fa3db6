"""Errata of Basu, Dimitrakakis and Tossou 2019, Privacy in Multi-Armed Bandits."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from bandit_core.literature.erratum import Check
from bandit_core.theory import divergences


def lemma_4() -> Check:
    chances = np.linspace(0.01, 0.99, 99)
    p, q = np.meshgrid(chances, chances)
    apart = np.abs(p - q) > 1e-9

    def largest(c: float) -> float:
        return float(np.max((p - q)[apart] ** 2 / (c * divergences.bernoulli_kl(p[apart], q[apart]))))

    measure = "largest TV² / (c KL) over pairs of Bernoulli distributions; c is valid up to 1, and sharp at 1"
    return Check(measure, "at most", 1.0, largest, 2.0, 0.5, tolerance=1e-3, sharpens=True)


_EVERY = tuple(product((0, 1), repeat=3))  # actions, or rewards, of three users


def _chance(policy: Callable[..., float], actions: tuple[int, ...], rewards: tuple[int, ...]) -> float:
    ones = (policy(actions[:t], rewards[:t]) for t in range(3))  # the chance that each user gets arm 1
    return math.prod(one if action else 1 - one for one, action in zip(ones, actions, strict=True))


def lemma_6_names() -> Check:
    epsilon = 1.0
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def curated(actions: tuple[int, ...], rewards: tuple[int, ...]) -> float:
        if not rewards:
            return 0.5
        if len(rewards) == 1:  # a curator who knows the reward and answers through noise, once
            return keep if rewards[0] else 1 - keep
        return keep if actions[1] else 1 - keep  # from then on out of what is public already

    def loss(local: bool) -> float:
        if not local:
            changed = ((seen, (1 - seen[0], *seen[1:])) for seen in _EVERY)  # the first reward is all that it sees
            pairs = [
                [(_chance(curated, each, one), _chance(curated, each, other)) for each in _EVERY]
                for one, other in changed
            ]
            return max(abs(math.log(p / q)) for pair in pairs for p, q in pair)
        seen = np.eye(2)  # chances that the learner sees 0 and 1 after a reward of 0 and of 1: it sees them as they are
        with np.errstate(divide="ignore"):
            return float(np.max(np.abs(np.log(seen[0]) - np.log(seen[1]))))

    measure = "ε of a policy that keeps central DP with ε = 1, read as the promise that the lemma names"
    return Check(measure, "at most", epsilon, loss, True, False, tolerance=1e-6)


def theorems_2_and_3() -> Check:
    arms = 2

    def ratio(log_t: float, multiplied: bool) -> float:
        """Claimed lower bound over the order of DP-SE's upper bound at ε = 1/ln t; logarithms keep t = e^200 finite."""
        upper = math.log(math.sqrt(arms * log_t)) + log_t / 2  # ln sqrt(K t ln t); the other term is far smaller
        lower = 0.5 * (math.log(arms) + log_t) + (math.log(log_t) if multiplied else 0.0)
        return math.exp(lower - upper)

    def growth(multiplied: bool) -> float:
        return ratio(200, multiplied) / ratio(50, multiplied)

    measure = "growth of (lower bound) / (what DP-SE loses) from t = e^50 to e^200 at ε = 1/ln t"
    return Check(measure, "at most", 1.0, growth, True, False)


def kl_ucb_cf() -> Check:
    worse, best, epsilon = 0.8, 0.9, 1.0
    policy = (best - worse) / float(divergences.response_kl(worse, best, epsilon))
    printed = 2 * float(divergences.duchi_alpha(epsilon)) * float(divergences.bernoulli_kl(worse, best))
    message = [
        float(divergences.response_kl(worse, best, epsilon)),
        *(_told_by_a_random_channel(worse, best, epsilon, seed) for seed in range(300)),
    ]

    def over_the_bound(most_told: float) -> float:
        return policy / ((best - worse) / most_told)

    measure = "kl-UCB-CF's constant over that of the best lower bound, for arms 0.8 and 0.9, ε = 1"
    return Check(measure, "equal to", 1.0, over_the_bound, printed, max(message))


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
