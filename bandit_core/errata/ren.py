"""Errata of Ren, Zhou, Liu and Shroff 2020, Multi-Armed Bandits with Local Differential Privacy."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.epsilons import Discrete
from bandit_core.errata.erratum import Erratum, Outcome, compare
from bandit_core.policies import registry
from bandit_core.theory import divergences, threshold

PAPER = "Ren, Zhou, Liu and Shroff 2020"


def curator_3() -> Outcome:
    epsilon = 0.1
    printed = np.array([1, epsilon]) / (1 + epsilon)  # chance of the answer 1 to the rewards 0 and 1
    right = divergences.response_mean(np.array([0.0, 1.0]), epsilon)

    def ratio(chances: np.ndarray) -> float:
        return float(np.exp(max(np.ptp(np.log(chances)), np.ptp(np.log(1 - chances)))))

    measure = "largest ratio of the chances of one answer under two rewards, for ε = 0.1"
    return compare(measure, "at most", math.exp(epsilon), ratio(printed), ratio(right))


def lemma_9() -> Outcome:
    mean, epsilon = 0.9, 1.0
    wanted = (mean * math.exp(epsilon) + 1 - mean) / (math.exp(epsilon) + 1)
    printed = 0.5 + (2 * mean - 1) * (epsilon - 1) / (2 * (epsilon + 1))
    corrected = 0.5 + (2 * mean - 1) * (math.exp(epsilon) - 1) / (2 * (math.exp(epsilon) + 1))
    return compare("mean answer of an arm with mean 0.9, for ε = 1", "equal to", wanted, printed, corrected)


def response_not_reward() -> Outcome:
    mean, epsilon = 0.7, 1.0

    def g(x: float) -> float:  # the paper's map, as the straight line through its two points
        return 0.5 * (1 + (2 * x - 1) / math.tanh(epsilon / 2))

    answer_one = float(divergences.response_mean(mean, epsilon))
    corrected = answer_one * g(1) + (1 - answer_one) * g(0)
    return compare("expected estimate for an arm with mean 0.7, ε = 1", "equal to", mean, g(mean), corrected)


def remark_4_1() -> Outcome:
    epsilon = 2.0
    printed = ((epsilon + 1) / (epsilon - 1)) ** 2
    measure = "price of the Bernoulli mechanism at ε = 2, which the paper's own text gives as 1.7"
    return compare(measure, "equal to", 1.7, printed, float(divergences.beta(epsilon)), tolerance=0.03)


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


def line_21() -> Outcome:
    measure = "share of the better arm (0.9 against 0.1, no noise) in 3,000 pulls"
    return compare(measure, "at least", 0.8, _share_of_the_best(True), _share_of_the_best(False))


def theorem_7_exponent() -> Outcome:
    kept, kappa, users = 0.5, 1e4, 1e6

    def term(exponent: float) -> float:
        return (math.log(kept * users) + exponent * kappa**2) / (2 * kept * kappa**2)

    measure = "the term in κ as κ grows, for p₀ = 1/2, beside that of Theorem 10"
    return compare(measure, "equal to", term(2 * kept), term(2), term(2 * kept), tolerance=1e-3)


def conditioned_v() -> Outcome:
    users = Discrete(values=(0.0, 1.0, 2.0))  # a third shares nothing
    with np.errstate(divide="ignore"):
        everybody = float(np.mean(divergences.beta(np.array([0.0, 1.0, 2.0]))))
    kept = threshold.thresholds(users, [1.0])["v_b"].item()
    measure = "V_B at ε_min = 1 where a third of the users has ε = 0"
    return compare(measure, "below", math.inf, everybody / users.share_above(1.0), kept)


def corollary_13_name() -> Outcome:
    titles = [policy.title for policy in registry().values()]
    measure = "policies of that name among those the paper defines"
    return compare(measure, "equal to", 1, titles.count("HeLDP-UCB-LB"), titles.count("HeLDP-UCB-B"))


def untried_arm() -> Outcome:
    with np.errstate(invalid="ignore", divide="ignore"):
        printed = float(np.float64(0) / np.float64(0) + np.sqrt(np.float64(4) / np.float64(0)))
    measure = "index of an arm whose answers were all discarded: above every possible mean"
    return compare(measure, "at least", 1.0, printed, math.inf)


ERRATA = tuple(
    Erratum(name, PAPER, place, printed, corrected, why, check, page)
    for name, place, printed, corrected, why, check, page in (
        (
            "ren-curator-3",
            "Curator 3 (the Bernoulli mechanism)",
            r"answers 1 with chance $\frac{r\epsilon+1-r}{1+\epsilon}$",
            r"$\frac{re^\epsilon+1-r}{e^\epsilon+1}$",
            "The exponential was lost. As printed two rewards change the chance of an answer by the factor "
            "max(ε, 1/ε), which is 10 at ε = 0.1: hardly private where much privacy was asked for.",
            curator_3,
            "mechanisms",
        ),
        (
            "ren-lemma-9",
            "Lemma 9",
            r"mean of the answers with slope $\frac{\epsilon-1}{2(\epsilon+1)}$",
            r"$\frac{e^\epsilon-1}{2(e^\epsilon+1)}$",
            "The same loss as in Curator 3. Only the corrected slope is undone by the map g, so that estimates are "
            "unbiased.",
            lemma_9,
            "mechanisms",
        ),
        (
            "ren-response-not-reward",
            "section 3.2, concentration after the map g",
            r"mean of $g(R_{a,r};\epsilon_{a,r})$",
            r"mean of $g(X_{a,r};\epsilon_{a,r})$, of the answers",
            "Rewards R never leave the device; g is made for answers X, which are 0 or 1. Of rewards it would "
            "overshoot.",
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
            "Line 14 adds up noise, line 15 is the index. Who follows the reference literally alternates between the "
            "arms for ever.",
            line_21,
            "explore",
        ),
        (
            "ren-theorem-7-exponent",
            "Theorem 7",
            r"$\ln(p_0T\exp\{2\kappa^2\})$",
            r"probably $\ln(p_0T\exp\{2p_0\kappa^2\})$, as in Theorem 10",
            "Both theorems count how many answers are kept, in the same way; they differ only where p₀ < 1. The "
            "printed bound is the larger one, so it is safe, and it is what we draw.",
            theorem_7_exponent,
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
            corollary_13_name,
            "explore",
        ),
        (
            "ren-untried-arm",
            "Agents 2 and 4",
            "the index of every arm is renewed at every step, with $N_a=0$ too; Agent 2, line 4 reads $A_{a,t}$ "
            "before it exists",
            r"an arm without kept answers keeps the index $\infty$; line 4 reads $A_{a,t-1}$",
            "0/0 is no number, and no comparison with it is true: the arm would never be tried.",
            untried_arm,
            "threshold",
        ),
    )
)
