"""The accounts of DP-UCB-INT: the numbers of the literature, brute force, and inversions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from bandit_core.theory import definitions

DELTA = math.exp(-10)
V = 1.1


def budgets(interval, v, releases):
    return (interval * np.arange(1.0, releases + 1)) ** (-v / 2)


def advanced_composition(epsilons, delta):
    """k-fold adaptive composition with different budgets: Dwork, Rothblum and Vadhan 2010, Theorem III.3.

    Theorem 3.4 of Tossou and Dimitrakakis is this; the plain sum where that is smaller.
    """
    drift = float(np.sum(epsilons * np.expm1(epsilons)))
    return min(float(np.sum(epsilons)), drift + math.sqrt(2 * math.log(1 / delta) * float(np.sum(epsilons**2))))


@pytest.mark.parametrize(
    ("target", "run_with", "printed", "advanced", "tight"),
    [(1.0, 0.06296, 16, 153, 93), (0.1, 0.0068057, 147, 8715, 4142)],
)
def test_input_epsilon_and_intervals(target, run_with, printed, advanced, tight):
    assert definitions.input_epsilon(target, DELTA, V) == pytest.approx(run_with, rel=1e-4)
    assert definitions.release_interval(target, DELTA, V, "paper") == printed
    assert definitions.release_interval(target, DELTA, V, "advanced") == advanced
    assert definitions.release_interval(target, DELTA, V) == tight
    assert definitions.interval_epsilon(tight - 1, V, DELTA) > target >= definitions.interval_epsilon(tight, V, DELTA)


@pytest.mark.parametrize(("interval", "pulls", "advanced"), [(16, 1e5, 2.78), (147, 1e5, 0.689)])
def test_what_advanced_composition_says_of_constant_intervals_is_more_than_is_spent(interval, pulls, advanced):
    by_hand = advanced_composition(budgets(interval, V, pulls // interval), DELTA)
    assert by_hand == pytest.approx(advanced, rel=2e-3)
    assert definitions.interval_epsilon(interval, V, DELTA, pulls) < by_hand


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(1.01, 1.5), st.floats(1e-12, 0.5), st.integers(0, 40_000))
def test_interval_accounts_equal_a_sum_release_by_release(interval, v, delta, pulls):
    releases = budgets(interval, v, pulls // interval)
    expected = min(releases.sum(), definitions.zcdp_epsilon(np.sum(releases**2) / 2, delta))
    spent = definitions.interval_epsilon(interval, v, delta, pulls)
    assert spent == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert spent <= advanced_composition(releases, delta) * (1 + 1e-9)


@settings(deadline=None)
@given(st.integers(1, 10_000), st.floats(1.01, 1.5), st.floats(1e-12, 0.5))
def test_accounts_grow_with_pulls_up_to_their_limit(interval, v, delta):
    pulls = np.geomspace(1, 1e15, 60)
    spent = definitions.interval_epsilon(interval, v, delta, pulls)
    assert np.all(np.diff(spent) >= -1e-12)
    assert np.all(spent[pulls < interval] == 0)
    assert np.all(spent <= definitions.interval_epsilon(interval, v, delta) + 1e-9)


def test_the_limit_is_reached():
    at_last = definitions.interval_epsilon(16, 1.5, DELTA, 1e15)
    assert at_last == pytest.approx(definitions.interval_epsilon(16, 1.5, DELTA), rel=1e-3)


@settings(deadline=None)
@given(st.floats(1e-6, 20.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_the_tight_interval_keeps_its_promise_and_is_never_longer_than_the_advanced_one(epsilon, delta, v):
    tight = definitions.release_interval(epsilon, delta, v)
    assert definitions.interval_epsilon(tight, v, delta) <= epsilon
    assert tight == 1 or definitions.interval_epsilon(tight - 1, v, delta) > epsilon
    assert tight <= definitions.release_interval(epsilon, delta, v, "advanced")


# -------------------------------------------------------------------------------------------------------------------
# Renyi divergences


def laplace_divergence(order, epsilon):
    """By numerical integration of p^a q^(1-a), for noise of scale 1/epsilon and inputs 0 and 1."""
    x = np.linspace(-60 / epsilon, 1 + 60 / epsilon, 2_000_001)
    p, q = (-epsilon * np.abs(x - place) + math.log(epsilon / 2) for place in (0.0, 1.0))
    return math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), x)) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 10.0, 40.0])
def test_renyi_divergence_of_a_laplace_release(order, epsilon):
    assert definitions.laplace_renyi(order, epsilon) == pytest.approx(laplace_divergence(order, epsilon), rel=1e-4)


@settings(deadline=None)
@given(st.floats(1e-8, 50))
def test_no_release_is_above_its_zcdp_nor_its_budget(epsilon):
    orders = definitions.ORDERS
    found = definitions.laplace_renyi(orders, epsilon)
    assert np.all(found >= 0)
    assert np.all(found <= orders * epsilon**2 / 2) and np.all(found <= epsilon)
    assert np.all(np.diff(found) >= -1e-6 * epsilon)  # divergences grow with their order


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(1e-12, 1e-3))
def test_the_epsilon_of_divergences_is_an_upper_bound_and_near_the_exact_one_for_normal_noise(distance, delta):
    from bandit_core.mechanisms.gaussian import smallest_epsilon

    found = definitions.zcdp_epsilon(distance**2 / 2, delta)
    exact = smallest_epsilon(distance, 1.0, delta)
    assert exact * (1 - 1e-9) <= found <= 1.25 * exact + 0.3 * distance


def test_what_any_order_proves_is_proved():
    """A coarser grid of orders is never below a finer one by more than nothing, and the grid is fine enough."""
    for rho, delta in ((0.5, 1e-6), (1e-9, 1e-12), (30.0, 0.2)):
        fine = definitions.ORDERS
        coarse = definitions.renyi_epsilon(rho * fine[::10], delta, fine[::10])
        finest = definitions.zcdp_epsilon(rho, delta)
        assert finest <= coarse <= finest * (1 + 2e-3)


@settings(deadline=None)
@given(st.floats(1e-9, 1.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_corollary_3_2_inverts_corollary_3_1(epsilon, delta, v):
    run_with = definitions.input_epsilon(epsilon, delta, v)
    scale = 8 * special.zeta(v)
    printed = math.sqrt((math.log(1 / delta) + 4 * epsilon) / scale) - math.sqrt(math.log(1 / delta) / scale)
    assert run_with == pytest.approx(printed, rel=1e-5, abs=1e-12)
    limit = 2 * run_with * special.zeta(v) + math.sqrt(2 * special.zeta(v) * math.log(1 / delta))
    assert run_with * limit == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("v", [1.001, 1.1, 1.5, 2.0, 7.3])
def test_zeta(v):
    assert definitions.zeta(v) == pytest.approx(special.zeta(v), rel=1e-12)


def test_composition():
    few = np.array([0.5, 0.25])
    assert advanced_composition(few, 1e-9) == 0.75  # for two releases the plain sum is the smaller one
    many = np.full(10_000, 0.01)
    by_hand = 100 * math.expm1(0.01) + math.sqrt(2 * math.log(1e6) * 1.0)
    assert advanced_composition(many, 1e-6) == pytest.approx(by_hand)
    assert by_hand < many.sum()
