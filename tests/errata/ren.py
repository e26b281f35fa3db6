"""Errata of Ren, Zhou, Liu and Shroff 2020, Multi-Armed Bandits with Local Differential Privacy."""

import math

import numpy as np

from bandit_core.literature.erratum import Check
from bandit_core.spec.budgets import Discrete
from bandit_core.theory import divergences, threshold


def curator_3() -> Check:
    epsilon = 0.1

    def ratio(weight: float) -> float:
        chances = np.array([1, weight]) / (1 + weight)  # of the answer 1 to the rewards 0 and 1
        return float(np.exp(max(np.ptp(np.log(chances)), np.ptp(np.log(1 - chances)))))

    measure = "largest ratio of the chances of one answer under two rewards, for ε = 0.1"
    return Check(measure, "at most", math.exp(epsilon), ratio, epsilon, math.exp(epsilon))


def lemma_9() -> Check:
    mean, epsilon = 0.9, 1.0
    wanted = float(divergences.response_mean(mean, epsilon))

    def mean_answer(weight: float) -> float:
        return 0.5 + (2 * mean - 1) * (weight - 1) / (2 * (weight + 1))

    return Check(
        "mean answer of an arm with mean 0.9, for ε = 1", "equal to", wanted, mean_answer, epsilon, math.exp(epsilon)
    )


def response_not_reward() -> Check:
    mean, epsilon = 0.7, 1.0

    def g(x: float) -> float:  # the paper's map, as the straight line through its two points
        return 0.5 * (1 + (2 * x - 1) / math.tanh(epsilon / 2))

    def expected(chance_of_one: float) -> float:
        return chance_of_one * g(1) + (1 - chance_of_one) * g(0)

    measure = "expected estimate for an arm with mean 0.7, ε = 1"
    return Check(measure, "equal to", mean, expected, mean, float(divergences.response_mean(mean, epsilon)))


def remark_4_1() -> Check:
    epsilon = 2.0

    def price(weight: float) -> float:
        return ((weight + 1) / (weight - 1)) ** 2

    measure = "price of the Bernoulli mechanism at ε = 2, which the paper's own text gives as 1.7"
    return Check(measure, "equal to", 1.7, price, epsilon, math.exp(epsilon), tolerance=0.03)


def _share_of_the_best(literal: bool, users: int = 3000) -> float:
    """Agent 2 on arms that always pay 0.9 and 0.1, without noise in the answers, with ε = ε_min = 1."""
    pulls, sums, moments, index = np.zeros(2), np.zeros(2), np.zeros(2), np.full(2, np.inf)
    for t in range(1, users + 1):
        log = 4 * math.log(t)
        short = np.flatnonzero(moments <= log)
        arm = int(short[0]) if len(short) else int(np.argmax(index))
        pulls[arm] += 1
        sums[arm] += (0.9, 0.1)[arm]
        moments[arm] += 1
        for a in range(2):
            if a != arm and literal:
                index[a] = moments[a] + 1  # line 14, done to the index
            elif pulls[a]:
                index[a] = sums[a] / pulls[a] + math.sqrt(log / (2 * pulls[a]))
                index[a] += math.sqrt(8 * moments[a] * log) / pulls[a]
    return float(pulls[0] / users)


def line_21() -> Check:
    measure = "share of the better arm (0.9 against 0.1, no noise) in 3,000 pulls"
    return Check(measure, "at least", 0.8, _share_of_the_best, True, False)


def conditioned_v() -> Check:
    users = Discrete(values=(0.0, 1.0, 2.0))  # a third shares nothing

    def v_b(everybody: bool) -> float:
        if not everybody:
            return float(threshold.thresholds(users, [1.0])["v_b"].item())
        with np.errstate(divide="ignore"):
            return float(np.mean(divergences.beta(np.array(users.values)))) / users.share_above(1.0)

    measure = "V_B at ε_min = 1 where a third of the users has ε = 0"
    return Check(measure, "below", math.inf, v_b, True, False)


def _tries(renewed: bool, steps: int = 100) -> float:
    """Pulls of an arm whose first answer was discarded, beside one that always pays 0.5 and whose answer was kept."""
    kept, sums, pulls = np.array([1.0, 0.0]), np.array([0.5, 0.0]), 0
    for t in range(3, steps + 3):
        with np.errstate(invalid="ignore", divide="ignore"):
            index = sums / kept + np.sqrt(2 * math.log(t) / kept)  # 0/0 for the second arm
        if not renewed:
            index[kept == 0] = np.inf
        arm = int(index[1] > index[0])
        kept[arm] += 1
        sums[arm] += 0.5
        pulls += arm
    return float(pulls)


def untried_arm() -> Check:
    measure = "pulls in 100 steps of an arm whose first answer was discarded, as good as the other one"
    return Check(measure, "at least", 40, _tries, True, False)
