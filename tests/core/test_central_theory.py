"""Central bounds against optimisers, limits and the constants of the papers; and that local bounds stay out."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from bandit_core.model import Guarantee, Parameters, RunSetup
from bandit_core.spec.budgets import Fixed
from bandit_core.spec.rewards import Bernoulli, Beta, Gaussian, TwoPoint, Uniform
from bandit_core.theory import central, definitions, local
from bandit_core.theory import divergences as div

TIMES = np.array([1.0, 2.0, 10.0, 1e3, 1e5, 1e7])
PAIR = [0.9, 0.6]
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


def instance(means=PAIR, epsilon=1.0, arms=None, horizon=10**5, **parameters):
    arms = tuple(arms) if arms is not None else tuple(Bernoulli(mean=mean) for mean in means)
    return RunSetup(arms=arms, epsilon=Fixed(value=epsilon), parameters=Every(**parameters), horizon=horizon)


def named(found, name):
    (bound,) = [bound for bound in found if bound.name == name]
    return bound


def value(bound, at=1e5):
    assert bound.not_applicable is None
    return float(bound.curve(np.array([at]))[0])


def per_log(bound):
    return value(bound) / math.log(1e5)


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
    found = central.lower_bounds(instance(means, epsilon))
    d_eps = value(named(found, "Central d_eps bound"))
    assert d_eps >= value(named(found, "Lai-Robbins")) * (1 - 1e-9)
    assert d_eps >= value(named(found, "Azize-Basu")) * (1 - 1e-9)


def test_d_eps_bound_costs_every_arm_the_same_for_little_budget_and_nothing_extra_for_much():
    tight = central.lower_bounds(instance(FIVE, 1e-6))
    assert per_log(named(tight, "Central d_eps bound")) == pytest.approx(4 / 1e-6, rel=1e-4)
    free = central.lower_bounds(instance(FIVE, 100.0))
    assert per_log(named(free, "Central d_eps bound")) == pytest.approx(per_log(named(free, "Lai-Robbins")))


def test_no_local_bound_is_drawn_for_a_curator():
    private = instance(PAIR, 0.1)
    heldp_like = RunSetup(private.arms, private.epsilon, Parameters(), private.horizon)
    both = {"Lai-Robbins", *(bound.name for bound in central.finite_time(private))}
    local_names = {bound.name for bound in local.lower_bounds(heldp_like)} - both
    central_bounds = central.lower_bounds(private)
    assert local_names and not local_names & {bound.name for bound in central_bounds}
    largest_local = max(
        bound.curve(TIMES)[-1] for bound in local.lower_bounds(heldp_like) if bound.not_applicable is None
    )
    assert all(bound.curve(TIMES)[-1] < largest_local / 5 for bound in central_bounds if bound.not_applicable is None)


def test_minimax_takes_the_larger_part():
    bound = named(central.lower_bounds(instance(FIVE, 0.001)), "Central minimax")
    assert bound.worst_case and bound.status == "proved"
    assert value(bound, 1400.0) == pytest.approx(4 / 0.131)
    assert value(bound, 1e7) == pytest.approx(math.sqrt(4e7) / 27)
    assert value(bound, 1300.0) == 0  # from (K - 1)/(3 epsilon) = 1333 on
    free = named(central.lower_bounds(instance(FIVE, 10.0)), "Central minimax")
    assert not value(free, 3.0)  # stated for t >= K - 1
    assert value(free, 4.0) > 0
    assert named(central.lower_bounds(instance([0.5], 1.0)), "Central minimax").not_applicable


@given(st.integers(2, 200), st.floats(1e-6, 10), st.floats(0, 7))
def test_minimax_never_claims_more_than_rewards_can_lose_and_follows_from_ours(arms, epsilon, log_t):
    """As printed it would say (K - 1)/(131 epsilon) even of the first user, who has at most 1 to lose."""
    here, t = instance([0.5] * arms, epsilon, horizon=10**7), np.array([10**log_t])
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
    few = named(central.lower_bounds(instance(FIVE, 0.001, horizon=1000)), "Central minimax")
    assert "1,334" in few.not_applicable and few.not_applicable.count("1,000") == 1
    assert not named(central.lower_bounds(instance(FIVE, 0.001, horizon=1334)), "Central minimax").not_applicable


def test_lower_bounds_follow_what_the_run_really_keeps():
    double = central.lower_bounds(instance(PAIR, 0.1), Guarantee("central", "", 0.2))
    nominal = central.lower_bounds(instance(PAIR, 0.2))
    assert [value(bound) for bound in double] == pytest.approx([value(bound) for bound in nominal])
    rough = central.lower_bounds(instance(PAIR, 0.1), Guarantee("central", "", 0.1, 1e-5))
    assert {bound.model for bound in rough if bound.not_applicable is None} == {"none"}


def test_a_best_arm_that_always_pays_hides_the_bounds():
    found = central.lower_bounds(instance([1.0, 0.5]))
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
    found = central.lower_bounds(instance(arms=arms, epsilon=0.05))
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
    bound = central.dp_ucb_bound(instance(FIVE, 1.0))[0]
    gaps = np.array([0.125, 0.25, 0.375, 0.5])
    by_hand = [
        float(np.sum(central.theorem_3_2_term(gaps, np.full(4, t), 0.5) + (1 + math.pi**2) * gaps)) for t in TIMES
    ]
    assert bound.curve(TIMES) == pytest.approx(by_hand)
    printed = central.dp_ucb_bound(instance(FIVE, 0.5, accounting="paper"))[0]
    assert printed.curve(TIMES) == pytest.approx(by_hand)


@pytest.mark.parametrize(("rule", "first"), [("tight", 93), ("advanced", 153), ("paper", 16)])
def test_theorem_3_5_by_hand(rule, first):
    bound = central.dp_ucb_int(instance(PAIR, 1.0, accounting=rule))[0]
    constant = 0.3 * (first + 1 + 4 * 2.6123753)
    assert value(bound) == pytest.approx(8 * math.log(1e5) / 0.3 + constant)
    assert bound.status != "proved"
    assert central.dp_ucb_int(instance(PAIR, 1.5))[0].not_applicable


def test_why_theorem_3_5_is_not_called_proved():
    """A first release so low that the bonus never lifts the best arm again costs more, on average, than it allows."""
    horizon, first = 10**8, definitions.release_interval(1.0, math.exp(-10), 1.1, "paper")
    bonus = math.sqrt(2 * math.log(horizon) / first)
    # Even if the arm's own rewards were perfect: noise below -(gap + bonus + 0.1), and the other arm within 0.1.
    stuck = math.exp(-(0.3 + bonus + 0.1) * first**0.45) / 2
    bound = central.dp_ucb_int(instance(PAIR, 1.0, accounting="paper", horizon=horizon))[0]
    assert 0.5 * stuck * 0.3 * horizon > 10 * value(bound, float(horizon))


def test_dp_se_adds_up_the_epochs_of_the_algorithm():
    epsilon, horizon, arms = 0.2, 10**6, 2
    bound = named(central.dp_se(instance(PAIR, epsilon, horizon=horizon)), "Epochs until dropped")
    pulls = 0
    for epoch, width in ((1, 0.5), (2, 0.25)):  # 2^-2 is the first width below the gap 0.3
        log_8, log_4 = (math.log(factor * arms * epoch**2 * horizon) for factor in (8, 4))
        pulls += int(max(32 * log_8 / width**2, 8 * log_4 / (epsilon * width)) + 1)
    assert value(bound, horizon) == pytest.approx(0.3 * pulls + math.pi**2 / 12 * 0.3)
    explicit = named(central.dp_se(instance(PAIR, epsilon, horizon=horizon, beta=1e-6)), "Epochs until dropped")
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
    assert value(central.adap_ucb(instance(PAIR, epsilon))[0]) == pytest.approx(0.3 * (4 * high + rest))
    assert "alpha" in central.adap_ucb(instance(alpha=1.0))[0].not_applicable
    assert "alpha" in central.adap_klucb(instance(alpha=3.0))[0].not_applicable


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
        [bound] = make(instance(PAIR, 1.0))
        assert bound.status == "as printed" and "proof not seen" in bound.label


def test_private_ucb_of_2015_pays_for_every_arm_again():
    modern, old = (value(central.private_ucb(instance(FIVE, 0.1, variant=v))[0]) for v in ("modern", "2015"))
    assert old / modern == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize("make", UPPER.values(), ids=UPPER)
def test_bounds_for_rewards_in_the_unit_interval_are_hidden_elsewhere(make):
    outside = instance(arms=(Gaussian(mean=0.0, sd=1.0), Gaussian(mean=1.0, sd=1.0)))
    assert all(bound.not_applicable for bound in make(outside))


@pytest.mark.parametrize("make", UPPER.values(), ids=UPPER)
def test_upper_bounds_fall_with_the_budget_and_what_is_proved_lies_above_what_nobody_can_beat(make):
    tight, loose = make(instance(FIVE, 0.05)), make(instance(FIVE, 0.9))
    for small, large in zip(tight, loose, strict=True):
        assert value(small, 1e6) >= value(large, 1e6)
    for problem in (instance(FIVE, 0.05), instance(FIVE, 0.9)):
        floor = value(named(central.lower_bounds(problem), "Central d_eps bound"), 1e7)
        for bound in make(problem):
            if bound.status == "proved":
                assert value(bound, 1e7) > floor
