"""Privacy libraries as oracles: dp-accounting (privacy loss distributions) and OpenDP know nothing of this project."""

import math

import numpy as np
import opendp.prelude as opendp
import pytest
from dp_accounting import dp_event, rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from runs import coins, one_line

from bandit_core.mechanisms import CTB, CTL, gaussian
from bandit_core.policies import registry
from bandit_core.policies.central_family import central_release
from bandit_core.policies.contextual import ldp_ols, zheng
from bandit_core.studies.production import composed
from bandit_core.theory import definitions

opendp.enable_features("contrib")
DELTA = math.exp(-10)
GRID = 1e-3  # of the losses of single releases; the library rounds them up, so its epsilon is an upper bound, too


def loss_distribution(budgets):
    """Of Laplace releases with these budgets, one after the other."""
    total = pld.from_laplace_mechanism(1 / budgets[0], value_discretization_interval=GRID)
    for budget in budgets[1:]:
        total = total.compose(pld.from_laplace_mechanism(1 / budget, value_discretization_interval=GRID))
    return total


@pytest.mark.parametrize(
    ("interval", "v", "releases", "delta"),
    [(93, 1.1, 1, DELTA), (93, 1.1, 5, 1e-3), (93, 1.1, 200, DELTA), (16, 1.1, 100, DELTA), (10, 1.5, 50, 1e-9)],
)
def test_our_account_of_dp_ucb_int_is_never_below_the_loss_distribution_and_not_far_above(interval, v, releases, delta):
    budgets = (interval * np.arange(1.0, releases + 1)) ** (-v / 2)
    oracle = loss_distribution(budgets).get_epsilon_for_delta(delta)
    slack = GRID * math.sqrt(releases)  # what the library's own rounding may add
    ours = float(definitions.interval_epsilon(interval, v, delta, interval * releases))
    assert oracle - slack <= ours <= 1.25 * oracle + slack
    # Through the list of releases, with the divergences of Laplace noise themselves.
    by_list = composed([central_release("", 1.0, 1 / budget, "") for budget in budgets], delta)
    assert oracle - slack <= by_list <= ours * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_whole_run_of_dp_ucb_int_keeps_what_is_promised(epsilon):
    [instance] = one_line("dp-ucb-int", coins(0.9, 0.6), epsilon, 100_000).setups
    policy = registry()["dp-ucb-int"]
    listed = [each for each in policy.releases(instance) for _ in range(each.times)]
    oracle = loss_distribution([each.epsilon for each in listed]).get_epsilon_for_delta(DELTA)
    assert oracle <= policy.guarantee(instance).epsilon <= epsilon
    assert oracle >= 0.25 * epsilon  # though the run was not endless


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_renyi_divergences_of_laplace_and_normal_noise(epsilon):
    orders = np.array([1.5, 3.0, 8.0, 32.0])
    for event, ours in (
        (dp_event.LaplaceDpEvent(1 / epsilon), definitions.laplace_renyi(orders, epsilon)),
        (dp_event.GaussianDpEvent(1 / epsilon), definitions.gaussian_renyi(orders, epsilon)),
    ):
        for order, divergence in zip(orders, ours, strict=True):
            accountant = rdp.RdpAccountant([order])
            accountant.compose(event)
            converted = accountant.get_epsilon(1e-9)
            mine = float(definitions.renyi_epsilon(np.array([divergence]), 1e-9, np.array([order])))
            assert mine == pytest.approx(converted, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (1.0, 0.01), (4.0, 1e-6)])
@pytest.mark.parametrize("sensitivity", [ldp_ols.SENSITIVITY, *zheng.SENSITIVITY.values()])
def test_the_noise_of_the_contextual_policies_by_its_loss_distribution(sensitivity, epsilon, delta):
    sd = gaussian.analytic_sd(sensitivity, epsilon, delta)
    oracle = pld.from_gaussian_mechanism(sd, sensitivity=sensitivity, value_discretization_interval=1e-4)
    assert oracle.get_epsilon_for_delta(delta) == pytest.approx(epsilon, abs=3e-4)
    thinner = pld.from_gaussian_mechanism(0.95 * sd, sensitivity=sensitivity, value_discretization_interval=1e-4)
    assert thinner.get_epsilon_for_delta(delta) > epsilon * 1.01


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_randomised_response(epsilon):
    truth = float(CTB.mean(1.0, epsilon))  # chance that a reward of 1 is told as 1
    assert opendp.m.make_randomized_response_bool(truth).map(1) == pytest.approx(epsilon, rel=1e-9)
    loss = pld.from_randomized_response(2 * (1 - truth), 2, value_discretization_interval=1e-4)
    assert loss.get_epsilon_for_delta(0.0) == pytest.approx(epsilon, abs=2e-4)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_laplace_calibration(epsilon):
    scale = math.sqrt(float(CTL.variance(0.5, epsilon)) / 2)
    noise = opendp.m.make_laplace(opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float), scale)
    assert noise.map(1.0) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-3), (1.0, 1e-5), (3.0, 1e-9)])
def test_gaussian_calibration_and_its_zcdp(epsilon, delta):
    sd = gaussian.analytic_sd(1.0, epsilon, delta)
    noise = opendp.m.make_gaussian(opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float), sd)
    rho = noise.map(1.0)
    assert rho == pytest.approx(1 / (2 * sd**2), rel=1e-9)
    by_zcdp = opendp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)  # their conversion is that of our accounts
    assert by_zcdp == pytest.approx(float(definitions.zcdp_epsilon(rho, delta)), rel=2e-3)
    assert by_zcdp >= epsilon * (1 - 1e-9)  # it is an upper bound of what the noise really keeps
