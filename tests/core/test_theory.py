"""Bounds and divergences, local and central: hand-computed values, limits, scaling, independent optimisation."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import lines_taken
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from scipy import integrate, optimize, stats

from bandit_core import Experiment, bounds
from bandit_core.experiments import catalogue
from bandit_core.model import Guarantee, Parameters, RunSetup
from bandit_core.policies.local_family import ThresholdParameters
from bandit_core.policies.ucb import UCBParameters
from bandit_core.spec.budgets import ClampedGaussian, Discrete, Fixed, Lognormal
from bandit_core.spec.rewards import Bernoulli, Beta, Empirical, Gaussian, Pareto, TwoPoint, Uniform
from bandit_core.theory import central, classic, definitions, local
from bandit_core.theory import divergences as div

# ---------------------------------------------------------------------------------------------------------------------
# Bounds and divergences against hand-computed values, limits, scaling and independent optimisation.


TIMES = np.array([1.0, 2.0, 10.0, 1e3, 1e5, 1e7])
REN_MEANS = [0.9] + [0.8] * 5 + [0.7] * 5 + [0.6] * 5 + [0.5] * 4
PAIR = [0.9, 0.8]


def instance(means, epsilon=None, eps_min=None, arms=None, horizon=10**7, alpha=2.0):
    arms = tuple(arms) if arms is not None else tuple(Bernoulli(mean=mean) for mean in means)
    if isinstance(epsilon, int | float):
        epsilon = Fixed(value=epsilon)
    if epsilon is None:
        parameters = UCBParameters(alpha=alpha)
    else:
        parameters = ThresholdParameters(eps_min=eps_min if eps_min is not None else epsilon.largest)
    return RunSetup(arms=arms, epsilon=epsilon, parameters=parameters, horizon=horizon)


def named(found, name):
    (bound,) = [bound for bound in found if bound.name == name]
    return bound


def per_log(bound, at=1e5):
    """The constant before ln t, read off without the cap."""
    assert bound.not_applicable is None
    return float(bound.curve(np.array([at]))[0]) / math.log(at)


def exact(*arguments, **options):
    return named(local.lower_bounds(instance(*arguments, **options)), "Exact LDP bound")


# --- divergences ---------------------------------------------------------------------------------------------------


def test_constants_of_the_papers():
    assert div.beta(2.0) == pytest.approx(1.724, abs=5e-4)
    assert div.beta(0.2) == pytest.approx(100.67, abs=5e-3)
    assert div.response_mean(0.9, 1.0) == pytest.approx(0.68485, abs=5e-6)
    assert div.duchi_alpha(0.1) == pytest.approx(math.exp(0.2) * (math.exp(0.1) - 1) ** 2)
    assert div.duchi_alpha(0.1) == pytest.approx(0.01351, abs=5e-6)
    assert div.duchi_alpha(1.0) == pytest.approx(11.810, abs=5e-4)
    assert local.sigmoid_slope(1.0) == pytest.approx(0.1779, abs=5e-5)
    # private: this is what is tested
    assert [Gaussian(mean=mean, sd=1).expect(local._sigmoid) for mean in (0.5, 0.6, 0.7, 0.8, 0.9)] == pytest.approx(
        [0.6020, 0.6218, 0.6412, 0.6601, 0.6787], abs=6e-5
    )


@pytest.mark.parametrize("sd", [0.01, 0.3, 1.0, 4.0, 30.0])
def test_the_smallest_slope_of_the_sigmoid_is_at_mean_one(sd):
    means = np.linspace(0, 1, 41)
    # private: this is what is tested
    squeezed = [Gaussian(mean=mean, sd=sd).expect(local._sigmoid) for mean in means]
    assert np.min(np.diff(squeezed)) / (means[1] - means[0]) == pytest.approx(local.sigmoid_slope(sd), rel=0.02)
    assert np.min(np.diff(squeezed)) / (means[1] - means[0]) >= local.sigmoid_slope(sd) * (1 - 1e-9)


@given(st.floats(0, 1), st.floats(0, 1))
def test_bernoulli_kl_is_the_formula(p, q):
    with np.errstate(divide="ignore"):
        terms = [a * (np.log(a) - np.log(b)) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0]
    assert div.bernoulli_kl(p, q) == pytest.approx(max(0.0, sum(terms)), rel=1e-9, abs=1e-14)
    assert div.bernoulli_kl(p, q) >= 2 * (p - q) ** 2 * (1 - 1e-9)  # Pinsker


def test_bernoulli_kl_at_the_ends_and_of_near_neighbours():
    found = div.bernoulli_kl(np.array([0, 0, 1, 0.5, 0.5, 1]), np.array([0, 0.3, 1, 0, 1, 0.3]))
    assert found == pytest.approx([0, -math.log(0.7), 0, np.inf, np.inf, -math.log(0.3)])
    assert div.bernoulli_kl(0.3, 0.3 + 1e-9) == pytest.approx(1e-18 / (2 * 0.3 * 0.7), rel=1e-6)
    assert div.bernoulli_kl(0.5, 1e-20) == pytest.approx(0.5 * math.log(0.5e20) + 0.5 * math.log(0.5))


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0, 30))
def test_randomised_response_tells_what_its_two_chances_tell(mean, other, epsilon):
    assert div.response_kl(mean, other, epsilon) == pytest.approx(
        div.bernoulli_kl(div.response_mean(mean, epsilon), div.response_mean(other, epsilon)), rel=1e-6, abs=1e-15
    )
    assert div.response_kl(mean, other, epsilon) <= div.bernoulli_kl(mean, other) * (1 + 1e-9)
    bound = div.duchi_alpha(epsilon) * (mean - other) ** 2
    assert div.response_kl(mean, other, epsilon) <= bound * (1 + 1e-9) + 1e-300


def test_randomised_response_in_the_limits():
    tiny = div.response_kl(0.8, 0.9, np.array([1e-3, 1e-6, 1e-9]))
    assert tiny / np.array([1e-3, 1e-6, 1e-9]) ** 2 == pytest.approx(0.1**2 / 2, rel=1e-5)
    assert div.response_kl(0.8, 0.9, 1000.0) == pytest.approx(div.bernoulli_kl(0.8, 0.9))
    # The best arm always pays 1: 1 - lambda = e^-eps / (1 + e^-eps), far below the spacing of doubles near 1.
    assert div.response_kl(0.9, 1.0, 50.0) == pytest.approx(0.1 * 50 + 0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert div.response_kl(0.3, 0.7, 0.0) == 0


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_binary_channel_tells_more_than_randomised_response(epsilon):
    """Random epsilon-private channels with up to four answers, at the edge of what privacy allows."""
    rng = np.random.default_rng(5)
    most = float(div.response_kl(0.7, 0.85, epsilon))
    largest = 0.0
    for _ in range(3000):
        zero = rng.dirichlet(np.ones(4))
        ratio = np.exp(epsilon * np.sign(rng.uniform(-1, 1, 4)) * rng.uniform(0.3, 1, 4))
        one = zero * ratio / np.sum(zero * ratio)
        if np.max(np.abs(np.log(one / zero))) > epsilon:
            continue
        p, q = 0.7 * one + 0.3 * zero, 0.85 * one + 0.15 * zero
        largest = max(largest, float(np.sum(p * np.log(p / q))))
    assert 0.3 * most < largest <= most


def test_gaussian_divergence_by_integration():
    p, q = stats.norm(0.3, 0.7), stats.norm(1.0, 2.0)
    expected = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -8, 8)[0]
    assert div.gaussian_kl(0.3, 0.7, 1.0, 2.0) == pytest.approx(expected)
    assert div.gaussian_kl(0.0, 1.0, 0.5, 1.0) == pytest.approx(0.125)
    assert div.relative_entropy(Gaussian(mean=0, sd=1), Gaussian(mean=0.5, sd=1)) == pytest.approx(0.125)


def test_total_variation_of_discrete_laws_by_hand():
    assert div.total_variation(Bernoulli(mean=0.8), Bernoulli(mean=0.9)) == pytest.approx(0.1)
    assert div.total_variation(Bernoulli(mean=0.6), TwoPoint(low=0.4, high=1, p_high=0.5)) == pytest.approx(0.5)
    assert div.total_variation(Empirical(values=(0, 0, 1, 2)), Empirical(values=(0, 3))) == pytest.approx(0.5)
    assert div.total_variation(Bernoulli(mean=0.5), Uniform(low=0, high=1)) == 1
    assert div.relative_entropy(Bernoulli(mean=0.3), Bernoulli(mean=0.5)) == pytest.approx(
        float(div.bernoulli_kl(0.3, 0.5))
    )


@pytest.mark.parametrize(
    ("law", "other", "densities", "ends"),
    [
        (Gaussian(mean=0, sd=1), Gaussian(mean=1, sd=1), (stats.norm(0, 1), stats.norm(1, 1)), (-9, 10)),
        (Gaussian(mean=0, sd=1), Gaussian(mean=1, sd=2), (stats.norm(0, 1), stats.norm(1, 2)), (-16, 18)),
        (Beta(a=4, b=1), Uniform(low=0, high=1), (stats.beta(4, 1), stats.uniform(0, 1)), (0, 1)),
        (Beta(a=4, b=2), Beta(a=2, b=5), (stats.beta(4, 2), stats.beta(2, 5)), (0, 1)),
        (Uniform(low=0, high=1), Uniform(low=0.5, high=2), (stats.uniform(0, 1), stats.uniform(0.5, 1.5)), (0, 2)),
        (
            Pareto(mean=1, shape=3),
            Uniform(low=0, high=2),
            (stats.pareto(3, scale=2 / 3), stats.uniform(0, 2)),
            (0, 200),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, BaseModel) else None,  # frozen SciPy laws print their address
)
def test_total_variation_of_densities_by_integration(law, other, densities, ends):
    grid = np.linspace(*ends, 2_000_001)
    f, g = densities[0].pdf(grid), densities[1].pdf(grid)
    expected = integrate.trapezoid(np.abs(f - g), grid) / 2
    assert div.total_variation(law, other) == pytest.approx(expected, abs=3e-4)
    assert div.total_variation(other, law) == pytest.approx(div.total_variation(law, other))
    assert div.total_variation(law, law) == 0


def test_kinf_of_bernoulli_is_the_bernoulli_divergence():
    for p, target in ((0.3, 0.5), (0.0, 0.5), (0.8, 0.81), (0.0, 0.999)):
        assert div.kinf(Bernoulli(mean=p), target) == pytest.approx(float(div.bernoulli_kl(p, target)), rel=1e-9)
    assert div.kinf(Bernoulli(mean=0.5), 0.4) == 0
    assert math.isinf(div.kinf(Bernoulli(mean=0.5), 1.0))


@pytest.mark.parametrize(
    ("law", "density"),
    [
        (Uniform(low=0, high=1), stats.uniform(0, 1)),
        (Beta(a=4, b=1), stats.beta(4, 1)),
        (Beta(a=2, b=7), stats.beta(2, 7)),
    ],
    ids=lambda value: str(value) if isinstance(value, BaseModel) else None,  # frozen SciPy laws print their address
)
def test_kinf_of_densities_by_direct_maximisation(law, density, target=0.9):
    def negative(x):
        return -integrate.quad(lambda r: density.pdf(r) * math.log(1 - x * (r - target)), 0, 1, limit=400)[0]

    best = optimize.minimize_scalar(
        negative, bounds=(0, (1 - 1e-9) / (1 - target)), method="bounded", options={"xatol": 1e-9}
    )
    assert div.kinf(law, target) == pytest.approx(-best.fun, rel=1e-6)
    assert div.kinf(law, target) >= div.bernoulli_kl(law.expected, target)


# --- lower bounds --------------------------------------------------------------------------------------------------


@given(st.floats(0.01, 0.98), st.floats(0.01, 0.9999), st.floats(1e-4, 100))
def test_exact_bound_is_above_theorem_4_and_lai_robbins(best, share, epsilon):
    found = local.lower_bounds(instance([best, best * (1 - share)], epsilon))
    tight = per_log(named(found, "Exact LDP bound"))
    assert tight >= per_log(named(found, "Ren Theorem 4")) * (1 - 1e-9)
    assert tight >= per_log(named(found, "Lai-Robbins")) * (1 - 1e-9)


def test_exact_bound_averages_the_information_over_users():
    users = Discrete(values=(0, 1, 3), probs=(0.5, 0.25, 0.25))
    information = 0.25 * float(div.response_kl(0.8, 0.9, 1)) + 0.25 * float(div.response_kl(0.8, 0.9, 3))
    assert per_log(exact(PAIR, users)) == pytest.approx(0.1 / information)
    assert per_log(exact(PAIR, Discrete(values=(2, 2)))) == pytest.approx(per_log(exact(PAIR, 2.0)))
    assert "ours" in exact(PAIR, users).words
    assert exact(PAIR, users).status == "derived"


def test_exact_bound_counts_equal_arms_and_rescales():
    assert per_log(exact([0.9, 0.8, 0.8, 0.9], 1.0)) == pytest.approx(2 * per_log(exact(PAIR, 1.0)))
    stretched = [TwoPoint(low=-1, high=3, p_high=0.9), TwoPoint(low=-1, high=3, p_high=0.8)]
    assert per_log(exact(None, 1.0, arms=stretched)) == pytest.approx(4 * per_log(exact(PAIR, 1.0)))


def test_no_lower_bound_where_no_arm_could_be_better():
    found = local.lower_bounds(instance([1.0, 0.5], 1.0))
    hidden = {bound.name for bound in found if bound.not_applicable}
    assert {"Exact LDP bound", "Ren Theorem 4", "Lai-Robbins"} <= hidden
    mixed = instance(None, 1.0, arms=[Bernoulli(mean=1), Beta(a=4, b=1)])
    assert all(bound.not_applicable for bound in local.lower_bounds(mixed) if bound.form == "slope")


def test_total_variation_form_by_hand():
    arms = [Bernoulli(mean=0.6), TwoPoint(low=0.4, high=1, p_high=0.25)]
    found = local.lower_bounds(instance(None, 0.1, arms=arms))
    bound = named(found, "LDP bound by total variation")
    distance = 0.5 * (0.4 + 0.75 + abs(0.6 - 0.25))
    assert per_log(bound) == pytest.approx((0.6 - 0.55) / (float(div.duchi_alpha(0.1)) * distance**2))
    assert (bound.status, bound.asymptotic) == ("derived", True)
    assert named(found, "Exact LDP bound").not_applicable
    assert named(found, "Burnetas-Katehakis").not_applicable is None


def test_total_variation_form_takes_the_nearest_best_law_and_the_plain_divergence():
    near, far = Gaussian(mean=1, sd=1), Bernoulli(mean=1.0)
    bound = local.lower_bounds(instance(None, 0.5, arms=[near, far, Gaussian(mean=0, sd=1)]))
    alpha, distance = float(div.duchi_alpha(0.5)), math.erf(1 / (2 * math.sqrt(2)))
    assert per_log(named(bound, "LDP bound by total variation")) == pytest.approx(1 / (alpha * distance**2))
    plain = local.lower_bounds(instance(None, 500.0, arms=[near, Gaussian(mean=0, sd=1)]))
    assert per_log(named(plain, "LDP bound by total variation")) == pytest.approx(2.0)  # 2 sd^2 / gap
    assert per_log(named(plain, "Lai-Robbins")) == pytest.approx(2.0)


def test_total_variation_form_vanishes_for_unbounded_budgets():
    found = local.lower_bounds(
        instance(None, Lognormal(median=1, sigma=1), 0.5, arms=[Bernoulli(mean=0.9), Beta(a=4, b=1)])
    )
    assert "epsilon" in named(found, "LDP bound by total variation").not_applicable


def test_burnetas_katehakis_agrees_with_lai_robbins_on_bernoulli_arms():
    arms = [Bernoulli(mean=0.9), Bernoulli(mean=0.8), Uniform(low=0, high=1)]
    bound = named(classic.lower_bounds(instance(None, arms=arms)), "Burnetas-Katehakis")
    expected = 0.1 / float(div.bernoulli_kl(0.8, 0.9)) + 0.4 / div.kinf(Uniform(low=0, high=1), 0.9)
    assert per_log(bound) == pytest.approx(expected)


def test_gaussian_lower_bound_and_its_refusal():
    arms = [Gaussian(mean=mean, sd=2) for mean in (1.0, 0.5, 0.0)]
    assert per_log(classic.lower_bounds(instance(None, arms=arms))[0]) == pytest.approx(8 / 0.5 + 8 / 1.0)
    other = classic.lower_bounds(instance(None, arms=[*arms, Gaussian(mean=0, sd=1)]))
    assert [bool(bound.not_applicable) for bound in other] == [True]


def test_minimax_bound_outside_its_range_and_for_large_epsilon():
    found = named(local.lower_bounds(instance(REN_MEANS, 1e-3)), "LDP minimax")
    t = np.array([1.0, 1e3, 1e5])  # below 2 (K - 1) / alpha the gap would pass 1/4
    assert found.curve(t) == pytest.approx(t / 32, rel=0.01)
    arms = [Gaussian(mean=mean, sd=1) for mean in (0.5, 0.4, 0.3)]
    free = local.lower_bounds(instance(None, 900.0, arms=arms))
    assert np.all(named(free, "LDP minimax").curve(TIMES) >= named(free, "Minimax without privacy").curve(TIMES))


# --- upper bounds --------------------------------------------------------------------------------------------------


def printed_theorem(means, users, eps_min, kappa, t, laplace):
    """Theorem 7 or 10 term by term, as printed, for one kappa."""
    values, probabilities = users.atoms
    kept = values >= eps_min
    p0 = probabilities[kept].sum()
    factor = (lambda e: e**-2.0) if laplace else (lambda e: 1 / np.tanh(e / 2) ** 2)
    mean = np.sum(probabilities[kept] * factor(values[kept])) / p0
    spread = factor(eps_min) - factor(values.max())
    total = 0.0
    for gap in max(means) - np.array(means):
        if gap <= 0:
            continue
        if laplace:
            forced = 2 * gap / (p0 * mean**2) * (4 * mean / eps_min**2 + eps_min**-4.0)
            total += max(8 / (p0 * gap) * (1 + 4 * math.sqrt(mean + kappa * spread)) ** 2, forced) * math.log(t)
            total += gap / (2 * p0 * kappa**2) * (math.log(p0 * t) + 2 * kappa**2)
            total += 2 * gap / p0 + 2 * math.pi**2 * gap / 3
        else:
            total += 8 / (p0 * gap) * (mean + kappa * spread) * math.log(t)
            total += gap / (2 * p0 * kappa**2) * (math.log(p0 * t) + 2 * p0 * kappa**2)
            total += gap / p0 + math.pi**2 * gap / 3
    return total


@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize(
    ("users", "eps_min"),
    [
        (Discrete(values=(0, 0.2, 1, 2, 100)), 1.0),
        (Discrete(values=(0, 0.2, 1, 2, 100)), 0.2),
        (Discrete(values=(0.01, 5), probs=(0.001, 0.999)), 0.01),
        (Discrete(values=(30.0, 40.0), probs=(0.9, 0.1)), 30.0),
    ],
    ids=str,
)
def test_infimum_over_kappa_against_a_scalar_optimiser(users, eps_min, laplace):
    means = [1.0, 0.95, 0.5, 0.02]
    found = (local.heldp_ucb_l if laplace else local.heldp_ucb_b)(instance(means, users, eps_min))
    bound = named(found, "Ren Theorem 7" if laplace else "Ren Theorem 10")
    assert bound.not_applicable is None
    for t in (30.0, 1e4, 1e7):

        def at(log_kappa, t=t):
            return printed_theorem(means, users, eps_min, math.exp(log_kappa), t, laplace)

        start = np.linspace(-12, 12, 97)[int(np.argmin([at(x) for x in np.linspace(-12, 12, 97)]))]
        best = optimize.minimize_scalar(
            at, bounds=(start - 0.5, start + 0.5), method="bounded", options={"xatol": 1e-10}
        )
        assert bound.curve(np.array([t]))[0] == pytest.approx(best.fun, rel=1e-6)


def test_theorems_reduce_to_the_corollaries_when_users_hardly_differ():
    alike = Discrete(values=(2.0, 2.0 + 1e-9))
    for of, corollary, theorem in (
        (local.heldp_ucb_l, "Ren Corollary 8", "Ren Theorem 7"),
        (local.heldp_ucb_b, "Ren Corollary 11", "Ren Theorem 10"),
    ):
        one = named(of(instance(REN_MEANS, 2.0)), corollary)
        several = named(of(instance(REN_MEANS, alike, 2.0)), theorem)
        assert several.not_applicable is None
        assert several.curve(TIMES) == pytest.approx(one.curve(TIMES), rel=1e-4)
        assert named(of(instance(REN_MEANS, 2.0)), theorem).not_applicable
        assert named(of(instance(REN_MEANS, alike, 2.0)), corollary).not_applicable


def test_a_threshold_below_the_one_epsilon():
    """Forced pulls of the Laplace policy grow, so its corollary no longer holds; the Bernoulli policy is unchanged."""
    low = local.heldp_ucb_l(instance(PAIR, 2.0, 0.5))
    assert "0.5" in named(low, "Ren Corollary 8").not_applicable
    equal = named(local.heldp_ucb_l(instance(PAIR, 2.0)), "Ren Corollary 8")
    assert named(low, "Ren Theorem 7").curve(TIMES)[-1] > equal.curve(TIMES)[-1]
    bits = [named(local.heldp_ucb_b(instance(PAIR, 2.0, m)), "Ren Corollary 11").curve(TIMES) for m in (0.5, 2.0)]
    assert bits[0] == pytest.approx(bits[1])


def test_a_threshold_between_two_groups_is_the_upper_groups_for_bits():
    users = Discrete(values=(0.2, 1, 2))
    between = named(local.heldp_ucb_b(instance(PAIR, users, 0.7)), "Ren Theorem 10").curve(TIMES)
    assert between == pytest.approx(named(local.heldp_ucb_b(instance(PAIR, users, 1.0)), "Ren Theorem 10").curve(TIMES))


def test_corollary_8_is_not_drawn_where_its_proof_does_not_reach():
    found = local.heldp_ucb_l(instance([1.0, 0.0], 1000.0))
    assert named(found, "Ren Corollary 8").not_applicable
    log_terms = np.diff(named(found, "Ren Theorem 7").curve(np.array([1.0, math.e])))[0]
    assert log_terms == pytest.approx(10.0)  # 2 (4 + 1): the forced pulls


def test_nobody_above_the_threshold():
    assert all(bound.not_applicable for bound in local.heldp_ucb_l(instance(PAIR, 1.0, 2.0)))
    assert all(bound.not_applicable for bound in local.heldp_ucb_b(instance(PAIR, 1.0, 2.0)))
    assert all(bound.not_applicable for bound in local.through_sigmoid(instance(PAIR, 1.0, 2.0), "heldp-ucb-l"))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10, 100])
def test_upper_bounds_lie_above_lower_bounds(epsilon):
    here = instance(REN_MEANS, epsilon)
    lower = [bound for bound in local.lower_bounds(here) if not bound.not_applicable and not bound.worst_case]
    upper = [
        *local.heldp_ucb_l(here),
        *local.heldp_ucb_b(here),
        *local.corrupted_feedback(here, "kl-ucb-cf"),
    ]
    upper = [bound for bound in upper if not bound.not_applicable and not bound.worst_case]
    assert len(lower) == 8
    assert len(upper) == 4
    t = np.array([1e7])
    assert min(bound.curve(t)[0] for bound in upper) >= max(bound.curve(t)[0] for bound in lower) * (1 - 1e-9)


# --- sigmoid and corrupted feedback ----------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["heldp-ucb-l", "heldp-ucb-b"])
@pytest.mark.parametrize("users", [Fixed(value=2.0), Discrete(values=(0.5, 2))], ids=str)
def test_sigmoid_bounds(parent, users):
    arms = [Gaussian(mean=mean, sd=1) for mean in REN_MEANS]
    exact_form, printed = local.through_sigmoid(instance(None, users, 0.5, arms=arms), parent)
    plain = (local.heldp_ucb_l if parent == "heldp-ucb-l" else local.heldp_ucb_b)(instance(REN_MEANS, users, 0.5))
    of_parent = next(bound for bound in plain if not bound.not_applicable)
    assert printed.curve(TIMES) == pytest.approx(of_parent.curve(TIMES) / local.sigmoid_slope(1.0) ** 2)
    assert np.all(exact_form.curve(TIMES) <= printed.curve(TIMES) * (1 + 1e-9))
    assert np.all(exact_form.curve(TIMES) >= of_parent.curve(TIMES))
    assert {exact_form.status, printed.status} == {"derived"}


def test_sigmoid_bound_by_hand():
    arms = [Gaussian(mean=0.9, sd=1), Gaussian(mean=0.5, sd=1)]
    bound, _ = local.through_sigmoid(instance(None, 2.0, arms=arms), "heldp-ucb-b")
    gap = 0.6787 - 0.6020
    assert np.diff(bound.curve(np.array([1.0, math.e])))[0] == pytest.approx(
        0.4 * 8 * float(div.beta(2.0)) / gap**2, rel=3e-3
    )


def test_sigmoid_bounds_are_hidden_where_the_sigmoid_prefers_another_arm():
    arms = [Uniform(low=-20, high=30), Uniform(low=4, high=5)]
    exact_form, printed = local.through_sigmoid(instance(None, 2.0, arms=arms), "heldp-ucb-b")
    assert "best" in exact_form.not_applicable
    assert printed.not_applicable
    high = [Gaussian(mean=3.0, sd=1), Gaussian(mean=0.5, sd=1)]
    assert [
        bool(bound.not_applicable) for bound in local.through_sigmoid(instance(None, 2.0, arms=high), "heldp-ucb-b")
    ] == [
        False,
        True,
    ]


def test_corrupted_feedback_has_limits_for_one_budget():
    """Their values: test_catalogue.py."""
    twice = ["asymptotic"] * 2
    for kind, statuses in (("kl-ucb-cf", twice), ("ucb-cf", ["order-only"]), ("ts-cf", twice)):
        found = local.corrupted_feedback(instance(PAIR, 1.0), kind)
        assert [(bound.side, bound.status) for bound in found] == [("upper", status) for status in statuses]
        other = local.corrupted_feedback(instance(PAIR, Discrete(values=(1, 2))), kind)
        assert all(bound.not_applicable for bound in other)
    assert "Theorem 3" in found[0].source


# --- curves --------------------------------------------------------------------------------------------------------

EPSILONS = [
    Fixed(value=1e-3),
    Fixed(value=1000),
    Discrete(values=(0, 0.2, 1, 2, 100)),
    Lognormal(median=1, sigma=2),
    ClampedGaussian(mean=1, sd=1, low=0, high=100),
]
ARMS = [
    [{"kind": "bernoulli", "mean": 0.4}],
    [{"kind": "bernoulli", "mean": 0.4, "count": 3}],
    [{"kind": "bernoulli", "mean": 1.0}, {"kind": "bernoulli", "mean": 0.0}],
    [{"kind": "bernoulli", "mean": 1e-200}, {"kind": "bernoulli", "mean": 0.0}],
    [{"kind": "beta", "a": 4, "b": 1}, {"kind": "uniform", "low": 0, "high": 1}, {"kind": "bernoulli", "mean": 0.1}],
    [{"kind": "empirical", "values": [1, 1, 1]}, {"kind": "two-point", "low": 0.4, "high": 1, "p_high": 0.5}],
    [{"kind": "gaussian", "mean": 0.9, "sd": 1}, {"kind": "gaussian", "mean": 0.5, "sd": 1}],
    [{"kind": "pareto", "mean": 1, "shape": 1.5}, {"kind": "gaussian", "mean": -1e6, "sd": 20}],
]


@pytest.mark.parametrize("arms", ARMS, ids=str)
def test_every_bound_of_every_policy_is_finite_capped_and_explained(arms):
    lines = lines_taken({"arms": arms}, [epsilon.model_dump() for epsilon in EPSILONS])
    for start in range(0, len(lines), 20):
        experiment = Experiment.model_validate({"arms": arms, "lines": lines[start : start + 20], "horizon": 10**6})
        table = bounds(experiment)
        assert list(table.columns) == list(catalogue.COLUMNS)
        assert np.isfinite(table["value"]).all()
        assert (table["value"] >= 0).all()
        assert (table["value"] <= table["t"] * experiment.largest_gap).all()
        assert set(table["side"]) <= {"upper", "lower"}
        assert set(table["status"]) <= {"proved", "derived", "as printed", "asymptotic", "order-only"}
        for number in range(len(experiment.lines)):
            for bound in catalogue.line_bounds(experiment, number):
                assert all((bound.words, bound.source, bound.formula, bound.assumptions))
                assert bound.asymptotic or bound.status != "asymptotic"
                assert "$" not in bound.formula
                assert bound.not_applicable is None or len(bound.not_applicable) > 10


def test_means_that_differ_by_rounding_are_ties():
    arms = [Bernoulli(mean=0.3), TwoPoint(low=0.1, high=0.2 + 0.1, p_high=1.0), Bernoulli(mean=0.1)]
    here = instance(None, arms=arms)
    assert here.gaps[0] > 0  # 0.1 + 0.2 is not 0.3
    assert classic.true_gaps(here)[:2].tolist() == [0, 0]
    assert classic.ucb1(here).curve(np.array([math.e]))[0] < 8 / 0.2 + 1


def test_weighed_laplace_noise_has_the_tail_that_the_index_covers():
    """What the docstring of `policies.heldp_ucb_w` says of one answer: reward (Hoeffding) and noise, weighed."""
    scale, c = np.geomspace(1e-6, 1e6, 4001), 1 / math.sqrt(32)  # 1 / epsilon
    weight = 1 / (1 + 8 * scale**2)
    assert (weight * scale).max() == pytest.approx(c, rel=1e-5) and (weight * scale).max() <= c
    for ell in c**-1 * np.linspace(0.01, 0.999, 60):
        exact = ell**2 * weight**2 / 8 - np.log1p(-((ell * weight * scale) ** 2))
        assert (exact <= ell**2 * weight / 8 / (1 - c * ell) * (1 + 1e-12)).all()


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_minimax_bound_has_the_constants_of_its_derivation(epsilon):
    t = np.array([1e6])
    alpha = float(div.duchi_alpha(epsilon))
    bernoulli = named(local.lower_bounds(instance(REN_MEANS, epsilon)), "LDP minimax")
    expected = 0.0268 * math.sqrt(19 * 1e6 / min(alpha, 2 * math.log(3)))
    assert bernoulli.curve(t)[0] == pytest.approx(expected, rel=2e-3)
    arms = [Gaussian(mean=mean, sd=1) for mean in REN_MEANS]
    gaussian = named(local.lower_bounds(instance(None, epsilon, arms=arms)), "LDP minimax")
    assert gaussian.curve(t)[0] == pytest.approx(0.0536 * math.sqrt(19 * 1e6 / min(alpha, 2)), rel=2e-3)
    assert bernoulli.worst_case
    assert bernoulli.status == "derived"


def test_asymptotically_optimal_policies_have_the_lai_robbins_constant():
    found = classic.asymptotically_optimal(instance(PAIR), "source")
    assert per_log(found) == pytest.approx(2.252, abs=5e-4)
    assert (found.side, found.status, found.source) == ("upper", "asymptotic", "source")
    assert classic.asymptotically_optimal(instance(None, arms=[Uniform(low=0, high=1)]), "source").not_applicable
    assert classic.asymptotically_optimal(instance([1.0, 0.5]), "source").not_applicable


# ---------------------------------------------------------------------------------------------------------------------
# Central bounds against optimisers, limits and the constants of the papers; and that local bounds stay out.


WIDE = [0.9, 0.6]
FIVE = [0.75, 0.625, 0.5, 0.375, 0.25]
chances = st.floats(0, 1)
inner = st.floats(0.001, 0.999)
budgets = st.floats(1e-4, 30)


class Every(Parameters):
    """All parameters that some bound reads."""

    accounting: str = "tight"
    index: str = "with root"
    variant: str = "modern"
    delta: float = math.exp(-10)
    v: float = 1.1
    beta: Any = "auto"
    alpha: float = 3.1
    growth: float = 2.0


def private(means=WIDE, epsilon=1.0, arms=None, horizon=10**5, **parameters):
    arms = tuple(arms) if arms is not None else tuple(Bernoulli(mean=mean) for mean in means)
    return RunSetup(arms=arms, epsilon=Fixed(value=epsilon), parameters=Every(**parameters), horizon=horizon)


def value(bound, at=1e5):
    assert bound.not_applicable is None
    return float(bound.curve(np.array([at]))[0])


UPPER = {
    "dp-ucb-bound": central.dp_ucb_bound,
    "dp-ucb": central.dp_ucb,
    "dp-ucb-int": central.dp_ucb_int,
    "private-ucb": central.private_ucb,
    "dp-se": central.dp_se,
    "adap-ucb": central.adap_ucb,
    "adap-klucb": central.adap_klucb,
    "lazy": central.lazy,
    "dp-klucb": partial(central.leading_term, policy="DP-KLUCB"),
    "dp-imed": partial(central.leading_term, policy="DP-IMED"),
}

# --- d_eps ---------------------------------------------------------------------------------------------------------


@given(inner, inner, budgets)
def test_the_closed_form_of_d_eps_is_the_minimum(x, y, epsilon):
    def cost(z):
        return epsilon * abs(z - x) + float(div.bernoulli_kl(z, y))

    low, high = min(x, y), max(x, y)
    best = min(cost(low), cost(high))
    if low < high:
        best = min(best, optimize.minimize_scalar(cost, bounds=(low, high), options={"xatol": 1e-12}).fun)
    assert central.d_eps(x, y, epsilon) == pytest.approx(best, rel=1e-6, abs=1e-9)


@given(chances, chances, budgets)
def test_d_eps_is_symmetric_and_below_both_extremes(x, y, epsilon):
    found = central.d_eps(x, y, epsilon)
    assert 0 <= found <= min(div.bernoulli_kl(x, y), epsilon * abs(x - y)) * (1 + 1e-9) + 1e-14 * (1 + epsilon)
    # 1 - x rounds, and next to y = 0 or 1 that alone moves the value by about epsilon times the rounding
    assert found == pytest.approx(float(central.d_eps(1 - x, 1 - y, epsilon)), rel=1e-6, abs=1e-13 * (1 + epsilon))


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_limits_of_d_eps(x, y):
    assert central.d_eps(x, y, 1e-7) == pytest.approx(1e-7 * abs(x - y), rel=1e-4, abs=1e-13)
    low, high = (x, y) if x < y else (1 - x, 1 - y)
    enough = math.log(high * (1 - low) / (low * (1 - high)))
    assert central.d_eps(x, y, enough + 1e-9) == pytest.approx(float(div.bernoulli_kl(x, y)), rel=1e-7, abs=1e-14)
    assert central.d_eps(x, y, 1000.0) == pytest.approx(float(div.bernoulli_kl(x, y)))


def test_d_eps_at_the_ends_and_for_arrays():
    assert central.d_eps(0.3, 1.0, 0.5) == pytest.approx(0.35)  # only the noise hides: epsilon (1 - x)
    assert central.d_eps(0.3, 0.0, 0.5) == pytest.approx(0.15)
    assert central.d_eps([0.0, 1.0, 0.4], [0.0, 1.0, 0.4], 1.0).tolist() == [0, 0, 0]
    assert central.d_eps(np.full((3, 1), 0.2), np.full(2, 0.6), 1.0).shape == (3, 2)


# --- lower bounds --------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5), st.floats(0.01, 10))
def test_d_eps_bound_dominates_the_others(means, epsilon):
    found = central.lower_bounds(private(means, epsilon))
    d_eps = value(named(found, "Central d_eps bound"))
    assert d_eps >= value(named(found, "Lai-Robbins")) * (1 - 1e-9)
    assert d_eps >= value(named(found, "Azize-Basu")) * (1 - 1e-9)


def test_d_eps_bound_costs_every_arm_the_same_for_little_budget_and_nothing_extra_for_much():
    tight = central.lower_bounds(private(FIVE, 1e-6))
    assert per_log(named(tight, "Central d_eps bound")) == pytest.approx(4 / 1e-6, rel=1e-4)
    free = central.lower_bounds(private(FIVE, 100.0))
    assert per_log(named(free, "Central d_eps bound")) == pytest.approx(per_log(named(free, "Lai-Robbins")))


def test_no_local_bound_is_drawn_for_a_curator():
    trusted = private(WIDE, 0.1)
    heldp_like = RunSetup(trusted.arms, trusted.epsilon, Parameters(), trusted.horizon)
    both = {"Lai-Robbins", *(bound.name for bound in central.finite_time(trusted))}
    local_names = {bound.name for bound in local.lower_bounds(heldp_like)} - both
    central_bounds = central.lower_bounds(trusted)
    assert local_names and not local_names & {bound.name for bound in central_bounds}
    largest_local = max(
        bound.curve(TIMES)[-1] for bound in local.lower_bounds(heldp_like) if bound.not_applicable is None
    )
    assert all(bound.curve(TIMES)[-1] < largest_local / 5 for bound in central_bounds if bound.not_applicable is None)


def test_minimax_takes_the_larger_part():
    bound = named(central.lower_bounds(private(FIVE, 0.001)), "Central minimax")
    assert bound.worst_case and bound.status == "proved"
    assert value(bound, 1400.0) == pytest.approx(4 / 0.131)
    assert value(bound, 1e7) == pytest.approx(math.sqrt(4e7) / 27)
    assert value(bound, 1300.0) == 0  # from (K - 1)/(3 epsilon) = 1333 on
    free = named(central.lower_bounds(private(FIVE, 10.0)), "Central minimax")
    assert not value(free, 3.0)  # stated for t >= K - 1
    assert value(free, 4.0) > 0
    assert named(central.lower_bounds(private([0.5], 1.0)), "Central minimax").not_applicable


@given(st.integers(2, 200), st.floats(1e-6, 10), st.floats(0, 7))
def test_minimax_never_claims_more_than_rewards_can_lose_and_follows_from_ours(arms, epsilon, log_t):
    """As printed it would say (K - 1)/(131 epsilon) even of the first user, who has at most 1 to lose."""
    here, t = private([0.5] * arms, epsilon, horizon=10**7), np.array([10**log_t])
    found = central.lower_bounds(here)
    printed, ours = named(found, "Central minimax"), named(found, "Central minimax, derived")
    assert ours.curve(t)[0] <= t[0] / 16
    if printed.not_applicable:
        assert (arms - 1) * max(1, 1 / (3 * epsilon)) > 10**7
        return
    assert printed.curve(t)[0] <= t[0]
    if printed.curve(t)[0] > math.sqrt((arms - 1) * t[0]) / 27:  # the part of privacy
        assert printed.curve(t)[0] <= ours.curve(t)[0] * 1.001


def test_minimax_is_hidden_where_so_much_cannot_have_been_lost():
    few = named(central.lower_bounds(private(FIVE, 0.001, horizon=1000)), "Central minimax")
    assert "1,334" in few.not_applicable and few.not_applicable.count("1,000") == 1
    assert not named(central.lower_bounds(private(FIVE, 0.001, horizon=1334)), "Central minimax").not_applicable


def test_lower_bounds_follow_what_the_run_really_keeps():
    double = central.lower_bounds(private(WIDE, 0.1), Guarantee("central", "", 0.2))
    nominal = central.lower_bounds(private(WIDE, 0.2))
    assert [value(bound) for bound in double] == pytest.approx([value(bound) for bound in nominal])
    rough = central.lower_bounds(private(WIDE, 0.1), Guarantee("central", "", 0.1, 1e-5))
    assert {bound.model for bound in rough if bound.not_applicable is None} == {"none"}


def test_a_best_arm_that_always_pays_hides_the_bounds():
    found = central.lower_bounds(private([1.0, 0.5]))
    assert all(bound.not_applicable for bound in found if bound.form == "slope")


@pytest.mark.parametrize(
    "law", [Beta(a=2, b=3), Uniform(low=0.2, high=0.6), TwoPoint(low=0.1, high=0.5, p_high=0.3), Bernoulli(mean=0.3)]
)
def test_the_cheapest_shift_is_a_linear_programme(law):
    target = law.expected + 0.2
    grid = np.array([0.1, 0.5]) if law.kind == "two-point" else np.array([0.0, 1.0])
    weights = np.array([0.7, 0.3])
    if law.kind in ("beta", "uniform"):
        grid = law.quantile((np.arange(300) + 0.5) / 300)
        weights = np.full(300, 1 / 300)
    # Move the mass m_i from grid point i to 1: as little as possible, raising the mean by 0.2.
    solved = optimize.linprog(np.ones(len(grid)), A_eq=[1 - grid], b_eq=[0.2], bounds=[(0, w) for w in weights])
    assert central.cheapest_shift(law, target) == pytest.approx(solved.fun, rel=5e-3)


def test_azize_basu_for_other_rewards_is_between_the_bound_without_privacy_and_the_noise():
    arms = (Beta(a=2, b=3), Uniform(low=0.5, high=0.7))
    found = central.lower_bounds(private(arms=arms, epsilon=0.05))
    shift = central.cheapest_shift(arms[0], 0.6)
    assert shift >= 0.2  # rewards in [0, 1]: a mean can move by no more than the mass that is moved
    assert per_log(named(found, "Azize-Basu")) == pytest.approx(0.2 / (0.3 * shift))
    assert value(named(found, "Azize-Basu")) > value(named(found, "Burnetas-Katehakis"))
    assert named(found, "Central d_eps bound").not_applicable


# --- upper bounds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("gap", [0.01, 0.3, 1.0])
def test_the_infimum_over_lambda_is_really_taken(gap, epsilon):
    clock = math.log(1e5)

    def largest(split):
        noise = 4 * math.sqrt(8) * clock / (epsilon * (1 - split))
        return np.maximum(noise * (np.log(noise) + 7), 8 * clock / (split**2 * gap))

    found = float(central.theorem_3_2_term(np.array(gap), np.array(1e5), epsilon))
    grid = np.concatenate([np.geomspace(1e-6, 0.5, 20_000), 1 - np.geomspace(1e-6, 0.5, 20_000)])
    assert found <= largest(grid).min() * (1 + 1e-9)
    assert found == pytest.approx(largest(grid).min(), rel=2e-3)


def test_theorem_3_2_adds_the_arms_up_and_runs_at_half_the_budget_unless_as_printed():
    bound = central.dp_ucb_bound(private(FIVE, 1.0))[0]
    gaps = np.array([0.125, 0.25, 0.375, 0.5])
    by_hand = [
        float(np.sum(central.theorem_3_2_term(gaps, np.full(4, t), 0.5) + (1 + math.pi**2) * gaps)) for t in TIMES
    ]
    assert bound.curve(TIMES) == pytest.approx(by_hand)
    printed = central.dp_ucb_bound(private(FIVE, 0.5, accounting="paper"))[0]
    assert printed.curve(TIMES) == pytest.approx(by_hand)


@pytest.mark.parametrize(("rule", "first"), [("tight", 93), ("advanced", 153), ("paper", 16)])
def test_theorem_3_5_by_hand(rule, first):
    bound = central.dp_ucb_int(private(WIDE, 1.0, accounting=rule))[0]
    constant = 0.3 * (first + 1 + 4 * 2.6123753)
    assert value(bound) == pytest.approx(8 * math.log(1e5) / 0.3 + constant)
    assert bound.status != "proved"
    assert central.dp_ucb_int(private(WIDE, 1.5))[0].not_applicable


def test_why_theorem_3_5_is_not_called_proved():
    """A first release so low that the bonus never lifts the best arm again costs more, on average, than it allows."""
    horizon, first = 10**8, definitions.release_interval(1.0, math.exp(-10), 1.1, "paper")
    bonus = math.sqrt(2 * math.log(horizon) / first)
    # Even if the arm's own rewards were perfect: noise below -(gap + bonus + 0.1), and the other arm within 0.1.
    stuck = math.exp(-(0.3 + bonus + 0.1) * first**0.45) / 2
    bound = central.dp_ucb_int(private(WIDE, 1.0, accounting="paper", horizon=horizon))[0]
    assert 0.5 * stuck * 0.3 * horizon > 10 * value(bound, float(horizon))


def test_dp_se_adds_up_the_epochs_of_the_algorithm():
    epsilon, horizon, arms = 0.2, 10**6, 2
    bound = named(central.dp_se(private(WIDE, epsilon, horizon=horizon)), "Epochs until dropped")
    pulls = 0
    for epoch, width in ((1, 0.5), (2, 0.25)):  # 2^-2 is the first width below the gap 0.3
        log_8, log_4 = (math.log(factor * arms * epoch**2 * horizon) for factor in (8, 4))
        pulls += int(max(32 * log_8 / width**2, 8 * log_4 / (epsilon * width)) + 1)
    assert value(bound, horizon) == pytest.approx(0.3 * pulls + math.pi**2 / 12 * 0.3)
    explicit = named(central.dp_se(private(WIDE, epsilon, horizon=horizon, beta=1e-6)), "Epochs until dropped")
    assert explicit.curve(TIMES) == pytest.approx(bound.curve(TIMES))


@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_adap_ucb_by_hand(epsilon):
    pulls = 1.0
    for _ in range(200):  # the batch at which twice the margin is the gap, by bisection on a scale of logarithms
        pulls *= 1.5 if _margins(pulls, epsilon) > 0.3 else 0.8
    low, high = pulls / 4, pulls * 4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _margins(middle, epsilon) > 0.3 else (low, middle)
    rest = 1 + central.adap_ucb_rest(3.1)
    assert value(central.adap_ucb(private(WIDE, epsilon))[0]) == pytest.approx(0.3 * (4 * high + rest))
    assert "alpha" in central.adap_ucb(private(alpha=1.0))[0].not_applicable
    assert "alpha" in central.adap_klucb(private(alpha=3.0))[0].not_applicable


def _margins(batch, epsilon):
    log = 3.1 * math.log(1e5)
    return 2 * (math.sqrt(log / (2 * batch)) + log / (epsilon * batch))


def test_the_rest_of_adap_ucb_by_plain_sums():
    for alpha in (1.5, 3.1, 50.0):
        sizes = [2**k for k in range(64)]
        own = sum(n ** (1 - alpha) for n in sizes)
        best = sum(n * (n + m) ** -alpha for n in sizes for m in sizes)
        assert central.adap_ucb_rest(alpha) == pytest.approx(1.5 * (own + best))


def test_theorems_whose_proof_nobody_has_seen_are_marked_and_not_counted_as_proved():
    for make in (central.dp_ucb_bound, central.dp_ucb):
        [bound] = make(private(WIDE, 1.0))
        assert bound.status == "as printed" and "proof not seen" in bound.label


def test_private_ucb_of_2015_pays_for_every_arm_again():
    modern, old = (value(central.private_ucb(private(FIVE, 0.1, variant=v))[0]) for v in ("modern", "2015"))
    assert old / modern == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize("make", UPPER.values(), ids=UPPER)
def test_bounds_for_rewards_in_the_unit_interval_are_hidden_elsewhere(make):
    outside = private(arms=(Gaussian(mean=0.0, sd=1.0), Gaussian(mean=1.0, sd=1.0)))
    assert all(bound.not_applicable for bound in make(outside))


@pytest.mark.parametrize("make", UPPER.values(), ids=UPPER)
def test_upper_bounds_fall_with_the_budget_and_what_is_proved_lies_above_what_nobody_can_beat(make):
    tight, loose = make(private(FIVE, 0.05)), make(private(FIVE, 0.9))
    for small, large in zip(tight, loose, strict=True):
        assert value(small, 1e6) >= value(large, 1e6)
    for problem in (private(FIVE, 0.05), private(FIVE, 0.9)):
        floor = value(named(central.lower_bounds(problem), "Central d_eps bound"), 1e7)
        for bound in make(problem):
            if bound.status == "proved":
                assert value(bound, 1e7) > floor
