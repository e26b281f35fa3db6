"""Errata of Ren, Zhou, Liu and Shroff 2020, Multi-Armed Bandits with Local Differential Privacy."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.literature.errata.erratum import Check, Erratum, Kind
from bandit_core.spec.budgets import Discrete
from bandit_core.theory import divergences, threshold

PAPER = "Ren, Zhou, Liu and Shroff 2020"


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


_KINDS: dict[str, Kind] = {"ren-theorem-7-exponent": "withdrawn", "ren-corollary-13-name": "misprint"}
ERRATA = tuple(
    Erratum(name, PAPER, place, printed, corrected, why, check, page, _KINDS.get(name, "error"))
    for name, place, printed, corrected, why, check, page in (
        (
            "ren-curator-3",
            "Curator 3 (the Bernoulli mechanism)",
            r"answers 1 with chance $\frac{r\epsilon+1-r}{1+\epsilon}$",
            r"$\frac{re^\epsilon+1-r}{e^\epsilon+1}$",
            "The exponential was lost. As printed, another reward changes the chance of an answer by up to the factor "
            "max(ε, 1/ε), which is 10 at ε = 0.1: hardly private where much privacy was asked for.",
            curator_3,
            "mechanisms",
        ),
        (
            "ren-lemma-9",
            "Lemma 9",
            r"mean of the answers with slope $\frac{\epsilon-1}{2(\epsilon+1)}$",
            r"$\frac{e^\epsilon-1}{2(e^\epsilon+1)}$",
            "The exponential was lost as in Curator 3. The map g undoes the corrected slope only, and then estimates "
            "are unbiased.",
            lemma_9,
            "mechanisms",
        ),
        (
            "ren-response-not-reward",
            "section 3.2, concentration after the map g",
            r"mean of $g(R_{a,r};\epsilon_{a,r})$",
            r"mean of $g(X_{a,r};\epsilon_{a,r})$, of the answers",
            "Rewards R never leave the device; g is made for answers X, which are 0 or 1. Applied to rewards it would "
            "give estimates that are too far from 1/2.",
            response_not_reward,
            "explore",
        ),
        (
            "ren-remark-4-1",
            "remark in section 4.1",
            r"price $\big(\frac{\epsilon+1}{\epsilon-1}\big)^2$",
            r"$\big(\frac{e^\epsilon+1}{e^\epsilon-1}\big)^2$",
            "The numbers that the remark itself gives, 1.7 at ε = 2 and 101 at ε = 0.2, are those of the corrected "
            "formula.",
            remark_4_1,
            "tradeoff",
        ),
        (
            "ren-line-21",
            "Agent 2, line 21",
            "renew the index of the other arms as in line 14",
            "as in line 15",
            "Line 14 adds up noise, line 15 is the index. A program that follows the printed reference alternates "
            "between the arms for ever.",
            line_21,
            "explore",
        ),
        (
            "ren-theorem-7-exponent",
            "Theorem 7",
            r"$\ln(p_0T\exp\{2\kappa^2\})$",
            r"$\ln(p_0T\exp\{2\kappa^2\})$, as printed",
            "Theorem 10 has p₀ in this exponent and Theorem 7 has not. The larger exponent gives the larger bound, so "
            "Theorem 7 is true as printed. It is the bound that is drawn here.",
            None,
            "theory",
        ),
        (
            "ren-conditioned-v",
            "section 4.2, V_L and V_B",
            r"$\frac1{p_0}\mathrm E[\beta(\epsilon_t)]$ over all users",
            r"$\frac1{p_0}\mathrm E[\beta(\epsilon_t)\mid\epsilon_t\ge\epsilon_{\min}]$",
            "Users who share nothing (ε = 0) need infinite noise; without the condition they make every threshold "
            "infinitely bad, although their answers are discarded.",
            conditioned_v,
            "threshold",
        ),
        (
            "ren-corollary-13-name",
            "Corollary 13 and around it",
            '"HeLDP-UCB-LB"',
            "HeLDP-UCB-B",
            "No policy of that name is defined; the sentence speaks of the one with the Bernoulli mechanism.",
            None,
            "explore",
        ),
        (
            "ren-untried-arm",
            "Agents 2 and 4",
            "the index of every arm is renewed at every step, with $N_a=0$ too; Agent 2, line 4 reads $A_{a,t}$ "
            "before it exists",
            r"an arm without kept answers keeps the index $\infty$; line 4 reads $A_{a,t-1}$",
            "0/0 is not a number, and no comparison with it is true, so the arm would never be tried.",
            untried_arm,
            "threshold",
        ),
    )
)
