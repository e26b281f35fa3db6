"""What a plan says, against brute force on a grid of rates, budgets and trusts: enumerated answers, exact binomials,
and a plain search over numbers of users. Nothing here uses the planner's formulas."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_arm import RollOutQuestion
from bandit_core.theory.power import critical_value, sample_size

TRUSTS = [("none", None), *itertools.product(("local", "central"), (0.1, 0.7, 1.0, 4.0))]
RATES = [(0.04, 0.004), (0.04, 0.02), (0.3, 0.1), (0.5, 0.05), (0.85, 0.1)]
TRUST = pytest.mark.parametrize(("privacy", "epsilon"), TRUSTS)


def answers(rate, privacy, epsilon):
    """(what one user adds to the mean, with which chance), every case: the reward, and whether the bit is turned."""
    if privacy != "local":
        return [(0.0, 1 - rate), (1.0, rate)]
    lie = 1 / (1 + math.exp(epsilon))
    # The two values that a 0 and a 1 must be read as for the mean to be right.
    low, high = np.linalg.solve([[1 - lie, lie], [lie, 1 - lie]], [0.0, 1.0])
    cases = [(bit, turned) for bit in (0, 1) for turned in (False, True)]
    chance = {True: lie, False: 1 - lie}
    return [(high if bit != turned else low, (rate if bit else 1 - rate) * chance[turned]) for bit, turned in cases]


def variance_of(cases):
    mean = sum(value * chance for value, chance in cases)
    return mean, sum((value - mean) ** 2 * chance for value, chance in cases)


def spread_at(n, rates, privacy, epsilon):
    """Variance of the difference of two means of n users, by enumeration; of a curator's noise by its quantiles."""
    found = [variance_of(answers(rate, privacy, epsilon)) for rate in rates]
    assert [mean for mean, _ in found] == pytest.approx(rates)
    noise = 2 * stats.laplace(scale=1 / (epsilon * n)).var() if privacy == "central" else 0.0
    return sum(variance for _, variance in found) / n + noise


def fewest(enough):
    """The smallest n with which a test is good enough; more users are never worse."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@TRUST
@pytest.mark.parametrize(("rate", "effect"), RATES)
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.95)])
def test_users_per_option_are_the_fewest_that_a_plain_search_finds(rate, effect, privacy, epsilon, alpha, power):
    normal = stats.norm()
    shift = normal.ppf(1 - alpha / 2) + normal.ppf(power)
    plan = sample_size(rate, effect, alpha, power, privacy, epsilon)
    n = fewest(lambda n: shift * math.sqrt(spread_at(n, (rate, rate + effect), privacy, epsilon)) <= effect)
    assert plan.users_per_option == n


def exact_power(n, rate, effect, alpha, privacy, epsilon):
    """Chance that the difference of means exceeds its quantile: every pair of counts, and the noise in closed form."""
    bar = stats.norm.ppf(1 - alpha / 2) * math.sqrt(spread_at(n, (rate, rate + effect), privacy, epsilon))
    shares = [rate, rate + effect]
    scale = 1.0
    if privacy == "local":
        lie = 1 / (1 + math.exp(epsilon))
        shares, scale = [lie + (1 - 2 * lie) * share for share in shares], 1 - 2 * lie
    counts = np.arange(n + 1)
    one, other = (stats.binom.pmf(counts, n, share) for share in shares)
    kept = np.ix_(one > 1e-12, other > 1e-12)
    apart = bar - ((counts[None, :] - counts[:, None]) / (n * scale))[kept]  # what noise must add
    chance = (apart < 0).astype(float)
    if privacy == "central":  # the difference of two Laplace variables of scale b: (1/2 + x/(4b)) e^(-x/b) beyond x
        x = np.abs(apart) * epsilon * n
        tail = (0.5 + x / 4) * np.exp(-x)
        chance = np.where(apart > 0, tail, 1 - tail)
    return float(np.sum(np.outer(one, other)[kept] * chance))


@pytest.mark.parametrize(
    ("rate", "effect", "privacy", "epsilon"),
    [
        (rate, effect, privacy, epsilon)
        for (rate, effect), (privacy, epsilon) in itertools.product(RATES, TRUSTS)
        if sample_size(rate, effect, privacy=privacy, epsilon=epsilon).users_per_option <= 2500
    ],
)
def test_the_planned_test_has_its_power_by_exact_binomials(rate, effect, privacy, epsilon):
    """Within 2 %, by which binomial means are not normal; within 5 % where a curator's noise outweighs the sampling."""
    n = sample_size(rate, effect, 0.05, 0.8, privacy, epsilon).users_per_option
    sampling = spread_at(n, (rate, rate + effect), "none", None) if privacy == "central" else 1.0
    normal = privacy != "central" or spread_at(n, (rate, rate + effect), privacy, epsilon) < 1.5 * sampling
    assert exact_power(n, rate, effect, 0.05, privacy, epsilon) == pytest.approx(0.8, abs=0.02 if normal else 0.05)


@TRUST
@pytest.mark.parametrize("rates", [(0.05, 0.044, 0.04), (0.2, 0.5, 0.35), (0.95, 0.9, 0.5, 0.1), (0.999, 0.99, 0.98)])
def test_the_plan_of_several_options_is_that_of_the_hardest_pair(rates, privacy, epsilon):
    """Every option against the best one: the second best needs most users, and every option gets as many."""
    asked = () if epsilon is None else ((privacy, epsilon),)
    question = RollOutQuestion(arms=tuple(Bernoulli(mean=rate) for rate in rates), users=1000, epsilons=asked, trials=2)
    best = max(rates)
    alike = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)  # what the others share: the best option's mean

    def all_beaten(lead):
        return np.mean(stats.norm.cdf(math.sqrt(2) * lead + alike) ** (len(rates) - 1)) - question.power

    shift = critical_value(question.delta, len(rates), 1) + optimize.brentq(all_beaten, 0, 9)

    def enough(n, rate):
        return shift * math.sqrt(spread_at(n, (rate, best), privacy, epsilon)) <= best - rate

    hardest = max(fewest(lambda n, rate=rate: enough(n, rate)) for rate in rates if rate < best)
    size = next(size for size in question.sizes if (size.privacy, size.epsilon) == (privacy, epsilon))
    assert size.users_per_option == pytest.approx(hardest, rel=1e-4, abs=1)
