"""The accounts of DP-UCB-INT: the numbers of the literature, brute force, and inversions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from bandit_core.theory import accounting

DELTA = math.exp(-10)
V = 1.1


def budgets(interval, v, releases):
    return (interval * np.arange(1.0, releases + 1)) ** (-v / 2)


@pytest.mark.parametrize(
    ("target", "run_with", "printed", "calibrated"),
    [(1.0, 0.06296, 16, 153), (0.1, 0.0068057, 147, 8715)],
)
def test_input_epsilon_and_intervals(target, run_with, printed, calibrated):
    assert accounting.input_epsilon(target, DELTA, V) == pytest.approx(run_with, rel=1e-4)
    assert accounting.release_interval(target, DELTA, V, "as printed") == printed
    assert accounting.release_interval(target, DELTA, V) == calibrated


@pytest.mark.parametrize(
    ("interval", "pulls", "spent", "digits"),
    [
        (16, math.inf, 3.68, 0.005),
        (16, 1e5, 2.78, 0.005),
        (153, math.inf, 0.957, 0.0005),
        (147, math.inf, 0.979, 0.0005),
        (147, 1e5, 0.689, 0.0005),
        (8715, math.inf, 0.0995, 0.00005),
    ],
)
def test_what_constant_intervals_really_spend(interval, pulls, spent, digits):
    assert accounting.interval_epsilon(interval, V, DELTA, pulls) == pytest.approx(spent, abs=digits)


@given(st.integers(1, 300), st.floats(1.01, 1.5), st.floats(1e-12, 0.5), st.integers(0, 40_000))
def test_interval_accounts_equal_a_sum_release_by_release(interval, v, delta, pulls):
    releases = budgets(interval, v, pulls // interval)
    expected = accounting.advanced_composition(releases, delta)
    assert accounting.interval_epsilon(interval, v, delta, pulls) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.integers(1, 10_000), st.floats(1.01, 1.5), st.floats(1e-12, 0.5))
def test_accounts_grow_with_pulls_up_to_their_limit(interval, v, delta):
    pulls = np.geomspace(1, 1e15, 60)
    spent = accounting.interval_epsilon(interval, v, delta, pulls)
    assert np.all(np.diff(spent) >= -1e-12)
    assert np.all(spent[pulls < interval] == 0)
    assert np.all(spent <= accounting.interval_epsilon(interval, v, delta) + 1e-9)


def test_the_limit_is_reached():
    at_last = accounting.interval_epsilon(16, 1.5, DELTA, 1e15)
    assert at_last == pytest.approx(accounting.interval_epsilon(16, 1.5, DELTA), rel=1e-3)


@given(st.floats(1e-6, 1.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_the_calibrated_interval_keeps_its_promise_and_the_printed_one_is_never_longer(epsilon, delta, v):
    calibrated = accounting.release_interval(epsilon, delta, v)
    assert accounting.interval_epsilon(calibrated, v, delta) <= epsilon
    assert accounting.release_interval(epsilon, delta, v, "as printed") <= calibrated


@given(st.floats(1e-9, 1.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_corollary_3_2_inverts_corollary_3_1(epsilon, delta, v):
    run_with = accounting.input_epsilon(epsilon, delta, v)
    scale = 8 * special.zeta(v)
    printed = math.sqrt((math.log(1 / delta) + 4 * epsilon) / scale) - math.sqrt(math.log(1 / delta) / scale)
    assert run_with == pytest.approx(printed, rel=1e-5, abs=1e-12)
    assert accounting.corollary_3_1(run_with, delta, v, math.inf) == pytest.approx(epsilon, rel=1e-9)


@given(st.floats(0.001, 1.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_theorem_3_4_is_the_sum_over_n_and_corollary_3_1_bounds_it(epsilon, delta, v):
    times = np.array([1.0, 2.0, 50.0, 3000.0])
    stated = accounting.theorem_3_4(epsilon, delta, v, times)
    for time, value in zip(times, stated, strict=True):
        each = np.arange(1.0, time + 1) ** (-v / 2)
        drift, spread = np.sum(each * np.expm1(each)), math.sqrt(2 * math.log(1 / delta) * np.sum(each**2))
        assert value == pytest.approx(epsilon * min(each.sum(), epsilon * drift + spread), rel=1e-9)
    assert np.all(stated <= accounting.corollary_3_1(epsilon, delta, v, times) * (1 + 1e-12))


@pytest.mark.parametrize("v", [1.001, 1.1, 1.5, 2.0, 7.3])
def test_zeta(v):
    assert accounting.zeta(v) == pytest.approx(special.zeta(v), rel=1e-12)


def test_composition():
    few = np.array([0.5, 0.25])
    assert accounting.pure_composition(few) == 0.75
    assert accounting.advanced_composition(few, 1e-9) == 0.75  # for two releases the plain sum is the smaller one
    many = np.full(10_000, 0.01)
    by_hand = 100 * math.expm1(0.01) + math.sqrt(2 * math.log(1e6) * 1.0)
    assert accounting.advanced_composition(many, 1e-6) == pytest.approx(by_hand)
    assert by_hand < accounting.pure_composition(many)
