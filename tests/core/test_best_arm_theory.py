"""Bounds on the time until the best arm is known: by hand, by brute force, in their limits, beside measured times."""

import math

import numpy as np
import pytest
from batch_reference import d_eps
from scipy import optimize

from bandit_core.model.policy import STATUS_WORDS
from bandit_core.policies.stopping import stopping_policies
from bandit_core.spec.rewards import Bernoulli, Beta, TwoPoint
from bandit_core.studies.best_arm import StoppingSpec, stopping
from bandit_core.theory.best_arm import TimeBound, certainty, characteristic_time, time_bounds, variation_time


def coins(*means):
    return tuple(Bernoulli(mean=mean) for mean in means)


def kl(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def told_by(epsilon):
    """I in plain Python: kl, or d_eps for an arm above or below."""
    if math.isinf(epsilon):
        return lambda x, y: 0.0 if x == y else kl(x, y)
    return lambda x, y: d_eps(x, y, epsilon) if x < y else d_eps(1 - x, 1 - y, epsilon)


def brute_force(means, message):
    """1 / max over shares of the worst alternative, by a general optimiser that knows nothing of the structure."""
    best, others = max(means), sorted(means)[:-1]

    def against(x, own, share, mean):
        return own * message(best, x) + share * message(mean, x)

    def worst(logits):
        w = np.exp(np.append(0.0, logits))
        w = (w / w.sum()).tolist()
        return min(
            optimize.minimize_scalar(against, args=(w[0], share, mean), bounds=(mean, best), method="bounded").fun
            for share, mean in zip(w[1:], others, strict=True)
        )

    found = optimize.minimize(lambda v: -worst(v), np.zeros(len(others)), method="Nelder-Mead", tol=1e-6)
    return 1 / -found.fun


def test_values_by_hand():
    assert characteristic_time([0.6, 0.4]) == pytest.approx(1 / kl(0.6, 0.5), rel=1e-9)  # 49.66
    # One against zero: half of the pulls each, and 1/2 ln 2 + 1/2 ln 2 = ln 2 a pull.
    assert characteristic_time([1.0, 0.0]) == pytest.approx(1 / math.log(2), rel=1e-6)
    # Small gaps, two arms: 8 v / gap^2.
    assert characteristic_time([0.5, 0.499]) == pytest.approx(8 * 0.25 / 1e-6, rel=1e-3)
    # One best arm and K - 1 equal others, small gaps: 2 v (1 + sqrt(K - 1))^2 / gap^2.
    assert characteristic_time([0.5, *[0.499] * 9]) == pytest.approx(2 * 0.25 * 16 / 1e-6, rel=3e-3)
    assert variation_time([0.5, 0.9, 0.8]) == pytest.approx(10 + 10 + 2.5)
    assert certainty(0.05) == pytest.approx(0.9 * math.log(19))
    assert certainty(0.5) == certainty(0.9) == 0
    (bound,) = time_bounds(coins(0.6, 0.4), 0.05)
    assert (bound.time, bound.users) == pytest.approx((49.6635, 131.607), rel=1e-5)


@pytest.mark.parametrize("means", [(0.5, 0.3), (0.9, 0.8, 0.3)])
@pytest.mark.parametrize("epsilon", [math.inf, 1.0, 0.02])
def test_brute_force_finds_the_same(means, epsilon):
    wanted, found = brute_force(means, told_by(epsilon)), characteristic_time(means, epsilon)
    assert found == pytest.approx(wanted, rel=3e-4)
    assert found <= wanted * (1 + 1e-6)  # the optimiser can only fall short of the maximum


@pytest.mark.parametrize("means", [(0.5, 0.3), (0.9, 0.8, 0.3), (0.2, 0.5, 0.45, 0.1)])
def test_the_time_of_total_variation_by_brute_force(means):
    best, others = max(means), np.sort(means)[:-1]
    # max y with y <= min(w_*, w_a) gap_a, linear in (w, y)
    count = len(means)
    rows = []
    for a, mean in enumerate(others, 1):
        for place in (0, a):
            row = np.zeros(count + 1)
            row[place], row[-1] = -(best - mean), 1.0
            rows.append(row)
    found = optimize.linprog(
        [*[0.0] * count, -1.0], A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[[*[1.0] * count, 0.0]], b_eq=[1.0]
    )
    assert variation_time(means) == pytest.approx(-1 / found.fun)


def test_limits_and_order():
    for means in ((0.9, 0.8, 0.3), (0.999, 0.2)):
        plain = characteristic_time(means)
        times = [characteristic_time(means, epsilon) for epsilon in (1e-3, 0.01, 0.1, 1.0, 20.0)]
        assert times == sorted(times, reverse=True) and times[-1] == pytest.approx(plain, rel=1e-6)
        for epsilon, time in zip((1e-3, 0.01, 0.1, 1.0, 20.0), times, strict=True):
            assert time >= max(plain, variation_time(means) / epsilon) * (1 - 1e-9)
        assert times[0] * 1e-3 == pytest.approx(variation_time(means), rel=0.05)
        arms = coins(*means)
        local = [time_bounds(arms, 0.1, "local", epsilon)[1] for epsilon in (0.01, 0.02, 1000.0)]
        assert local[0].time / local[1].time == pytest.approx(4, rel=1e-3)  # 1 / epsilon^2
        assert local[2].time == pytest.approx(plain, rel=1e-9)
        for epsilon in (0.01, 1.0):  # who trusts no one cannot be faster than a curator
            curator, trustless = (time_bounds(arms, 0.1, trust, epsilon) for trust in ("central", "local"))
            assert trustless[1].users >= curator[1].users >= curator[2].users * (1 - 1e-9)
            assert curator[1].users >= curator[0].users * (1 - 1e-9)


def test_gaps_at_the_edge_of_rounding():
    for gap in (1e-3, 1e-5, 1e-7, 1e-8):
        assert characteristic_time([0.5, 0.5 - gap]) == pytest.approx(2 / gap**2, rel=2e-3)
        assert characteristic_time([0.5, 0.5 - gap], 1e-3) >= 2e3 / gap * (1 - 1e-3)
        assert characteristic_time([0.03, 0.03 - gap * 0.03, 0.01]) >= 8 * 0.029 * 0.97 / (0.03 * gap) ** 2


def test_certainty_is_at_least_what_the_simpler_form_has():
    for delta in np.geomspace(1e-12, 0.499, 200):
        assert certainty(delta) >= -math.log(3 * delta) - 1e-12
        assert certainty(delta) >= -math.log(2.4 * delta) - 1e-12


def test_what_does_not_apply_says_so():
    for arms, words in (
        (coins(0.5, 0.5), "several"),
        ((Bernoulli(mean=0.5, count=3),), "several"),
        (coins(0.5), "several"),
        ((Bernoulli(mean=0.5), Beta(a=2, b=1)), "two amounts"),
    ):
        for privacy, count in (("none", 1), ("local", 2), ("central", 3)):
            bounds = time_bounds(arms, 0.1, privacy, 1.0)
            assert len(bounds) == count
            assert all(words in bound.not_applicable and bound.users == 0 for bound in bounds)
    assert characteristic_time([0.5]) == characteristic_time([0.5, 0.5, 0.1]) == variation_time([0.2, 0.2]) == math.inf
    same = tuple(TwoPoint(low=-1, high=3, p_high=p) for p in (0.6, 0.4))
    assert time_bounds(same, 0.05)[0].time == pytest.approx(49.6635, rel=1e-5)


def test_bounds_are_stated_in_full():
    for privacy in ("none", "local", "central"):
        for bound in time_bounds(coins(0.5, 0.4), 0.05, privacy, 0.5):
            assert isinstance(bound, TimeBound) and bound.not_applicable is None
            assert all((bound.name, bound.source, bound.formula, bound.words, bound.assumptions))
            assert bound.status in STATUS_WORDS and bound.users > 0
            assert bound.model in ("none", privacy)


@pytest.mark.parametrize("means", [(0.9, 0.3), (0.6, 0.4, 0.5)])
@pytest.mark.parametrize("delta", [0.2, 0.01])
def test_no_policy_is_faster_on_average(means, delta):
    """Mean times of 400 runs of every policy by rules that are proved, beyond four standard errors."""
    specs = []
    for name, policy in stopping_policies().items():
        for rule in set(policy.rules) - {"heuristic"}:
            budget = {} if policy.privacy == "none" else {"epsilon": 0.7}
            specs.append(
                StoppingSpec.of(
                    arms=coins(*means), policy=name, rule=rule, delta=delta, trials=400, cap=10**8, **budget
                )
            )
    for result in stopping(specs, jobs=1):
        assert result.not_stopped == 0
        for bound in time_bounds(coins(*means), delta, result.spec.entry.privacy, result.spec.epsilon):
            assert result.mean_users + 4 * result.row["stderr"] >= bound.users
