"""The threshold heuristic: quadrature, V_L and V_B, recommended thresholds, the table."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, optimize

from bandit_core import load_preset, simulate, thresholds
from bandit_core.simulation.results import linear_fit
from bandit_core.spec.budgets import ClampedGaussian, Discrete, EmpiricalEpsilon, Fixed, Lognormal, UniformEpsilon
from bandit_core.studies import sweep
from bandit_core.theory import threshold
from bandit_core.theory.divergences import beta

REN_DISCRETE = Discrete(values=(0, 0.2, 1, 2, 100))
REN_GAUSSIAN = ClampedGaussian(mean=1, sd=1, low=0, high=100)
CONTINUOUS = [
    REN_GAUSSIAN,
    ClampedGaussian(mean=50, sd=5, low=0, high=100),
    ClampedGaussian(mean=0.5, sd=0.05, low=0, high=100),
    ClampedGaussian(mean=-119, sd=10, low=0, high=100),
    ClampedGaussian(mean=1e4, sd=1000, low=0, high=900),
    ClampedGaussian(mean=1000, sd=0.01, low=0, high=1000),
    UniformEpsilon(low=0, high=1),
    UniformEpsilon(low=3, high=3.001),
    UniformEpsilon(low=0, high=1000),
    Lognormal(median=1, sigma=0.01),
    Lognormal(median=0.001, sigma=2),
    Lognormal(median=1, sigma=10),
    Lognormal(median=1000, sigma=0.5),
]
FUNCTIONS = {
    "one": np.ones_like,
    "alpha": lambda epsilon: epsilon**-2.0,
    "v_l": lambda epsilon: (1 + 4 / epsilon) ** 2,
    "v_b": beta,
    "contrast": lambda epsilon: np.tanh(epsilon / 2) ** 2,
}


def by_adaptive_quadrature(law, function, eps_min):
    """E[function 1{eps >= eps_min}] from the definition of the law alone, panel by panel."""
    if isinstance(law, Lognormal):
        start = max(math.log(eps_min / law.median) / law.sigma, -13 - 2 * law.sigma)
        pieces = np.linspace(start, max(start, 0) + 13, 60)

        def integrand(z):
            at = np.array(law.median * math.exp(law.sigma * z))
            return float(function(at)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        atoms = 0.0
    else:
        low, high = law.low, law.high
        if isinstance(law, ClampedGaussian):
            scaled = math.sqrt(2) * law.sd
            ends = [
                (low, math.erfc((law.mean - low) / scaled) / 2),
                (high, math.erfc((high - law.mean) / scaled) / 2),
            ]
            atoms = sum(float(function(np.array(at))) * p for at, p in ends if at >= eps_min and p > 0)
            centre = min(max(law.mean, low), high)
            low, high = max(low, centre - 14 * law.sd), min(high, centre + 14 * law.sd)

            def density(at):
                return math.exp(-(((at - law.mean) / law.sd) ** 2) / 2) / (law.sd * math.sqrt(2 * math.pi))
        else:
            atoms = 0.0

            def density(at):
                return 1 / (law.high - law.low)

        low = max(low, eps_min)
        pieces = np.union1d(np.linspace(low, high, 60), np.geomspace(low, high, 30)) if low < high else []

        def integrand(at):
            return float(function(np.array(at))) * density(at)

    panels = [integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(pieces)]
    return atoms + math.fsum(panels)


@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_quadrature_agrees_with_adaptive_integration(law, name):
    for eps_min in (1e-6, 0.3, 2.5):
        expected = by_adaptive_quadrature(law, FUNCTIONS[name], eps_min)
        assert law.expect_above(FUNCTIONS[name], eps_min) == pytest.approx(expected, rel=1e-8, abs=1e-280)


@pytest.mark.parametrize("law", [*CONTINUOUS, REN_DISCRETE, Fixed(value=0.5)], ids=str)
def test_one_pass_over_many_thresholds_equals_one_at_a_time(law):
    grid = np.array([2.5, 0.2, 1e-3, 1.0, 100.0, 1e5])
    together = law.expect_above_each(beta, grid)
    assert together.shape == grid.shape
    assert together == pytest.approx([law.expect_above(beta, each) for each in grid], rel=1e-9, abs=1e-290)


def test_discrete_v_by_hand():
    kept = np.array([1.0, 2.0, 100.0])
    assert threshold.v_l(REN_DISCRETE, 1.0) == pytest.approx(np.mean((1 + 4 / kept) ** 2) / 0.6)
    assert threshold.v_b(REN_DISCRETE, 1.0) == pytest.approx(np.mean(1 / np.tanh(kept / 2) ** 2) / 0.6)
    assert threshold.v_l(REN_DISCRETE, 100.0) == pytest.approx(1.04**2 / 0.2)
    assert threshold.v_w(REN_DISCRETE) == pytest.approx(5 / np.sum(np.tanh(np.array([0.2, *kept]) / 2) ** 2))
    assert threshold.v_w(REN_DISCRETE, 2.0) == pytest.approx(5 / (np.tanh(1) ** 2 + 1))


def test_recommended_of_the_paper():
    assert threshold.recommended(REN_DISCRETE, "v_l") == 100
    assert threshold.recommended(REN_DISCRETE, "v_b") == 2
    table = thresholds(REN_GAUSSIAN, [0.5, 1.0, 1.5, 2.0])
    assert table["eps_min"][table["v_l"].idxmin()] == 1.0
    assert table["eps_min"][table["v_b"].idxmin()] == 1.0


@pytest.mark.parametrize("rule", ["v_l", "v_b"])
def test_one_epsilon_recommends_itself(rule):
    assert threshold.recommended(Fixed(value=0.1234567891), rule) == 0.1234567891
    assert threshold.recommended(Discrete(values=(0.7, 0.7)), rule) == 0.7


@pytest.mark.parametrize("law", [*CONTINUOUS, EmpiricalEpsilon(values=(0, 0.3, 0.3, 2.5, 7))], ids=str)
@pytest.mark.parametrize("rule", ["v_l", "v_b"])
def test_recommended_is_the_least_of_the_searched_curve(law, rule):
    best = threshold.recommended(law, rule)
    grid, shares, v_l, v_b, v_w = threshold.search(law)
    searched = {"v_l": v_l, "v_b": v_b}[rule]
    height = {"v_l": threshold.v_l, "v_b": threshold.v_b}[rule](law, best)
    assert best > 0
    assert law.share_above(best) > 0
    assert height <= searched.min() * (1 + 1e-9)
    assert np.all(v_w <= v_b * (1 + 1e-9)) and np.all(np.diff(v_w) >= -1e-9 * v_w[:-1])  # nobody need be ignored
    assert np.all(np.diff(grid) > 0)
    assert np.all(np.diff(shares) <= 1e-12)
    threshold.recommended.cache_clear()
    assert threshold.recommended(law, rule) == best


@pytest.mark.parametrize("law", [REN_GAUSSIAN, UniformEpsilon(low=0, high=1), Lognormal(median=1, sigma=1)], ids=str)
@pytest.mark.parametrize("rule", ["v_l", "v_b"])
def test_recommended_of_a_density_agrees_with_a_scalar_optimiser(law, rule):
    value = {"v_l": threshold.v_l, "v_b": threshold.v_b}[rule]
    bounds = (0.05, min(5.0, 0.95 * law.largest))
    exact = optimize.minimize_scalar(
        lambda eps_min: value(law, eps_min), bounds=bounds, method="bounded", options={"xatol": 1e-9}
    )
    assert threshold.recommended(law, rule) == pytest.approx(exact.x, rel=1e-3)


def test_nobody_above_the_threshold_costs_infinitely_much():
    table = thresholds({"kind": "uniform", "low": 0, "high": 1}, [0.5, 2.0])
    assert list(table.columns) == ["eps_min", "p0", "v_l", "v_b", "v_w"]
    assert table["p0"].tolist() == pytest.approx([0.5, 0.0])
    assert np.isfinite(table["v_l"][0])
    assert math.isinf(table["v_l"][1])
    assert math.isinf(table["v_b"][1])
    assert thresholds("uniform(0,1)", [0.5, 2.0]).equals(table)
    assert math.isinf(table["v_w"][1])
    assert table.attrs["recommended"] == {
        "v_l": threshold.recommended(UniformEpsilon(low=0, high=1), "v_l"),
        "v_b": threshold.recommended(UniformEpsilon(low=0, high=1), "v_b"),
    }


def test_without_thresholds_the_searched_grid_is_shown():
    assert thresholds(REN_DISCRETE)["eps_min"].tolist() == [0.2, 1, 2, 100]


def test_the_check_opens_where_the_prediction_is_right_and_fails_before():
    """Two arms, five groups of users: a straight line at the horizon of the page, none at ten thousand users."""
    arms, fits = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}], {}
    groups = sweep.spread_thresholds(REN_DISCRETE)
    for users in (10_000, sweep.ENOUGH_USERS):
        base = load_preset("default").with_changes(arms=arms, horizon=users, trials=2)
        found = sweep.points(simulate(sweep.experiment_of(base, REN_DISCRETE, groups)))
        fits[users] = linear_fit(found["v"].to_numpy(), found["regret"].to_numpy())[2]
    assert fits[10_000] < 0.95 < sweep.STRAIGHT < fits[sweep.ENOUGH_USERS]
