"""Finite-time and best-arm bounds: by hand, by brute force, in their limits; and simulated means beside every bound."""

import contextlib
import math
from collections import Counter

import numpy as np
import pytest
from batch_reference import d_eps
from helpers import fixed, lines_taken
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import FIVE, LADDER, one_line
from scipy import integrate, optimize

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.model import Guarantee, RunSetup
from bandit_core.model.policy import STATUS_WORDS
from bandit_core.policies import registry
from bandit_core.policies.stopping import stopping_policies
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Discrete, Fixed, UniformEpsilon
from bandit_core.spec.rewards import Bernoulli, Beta, Gaussian, Pareto, TwoPoint
from bandit_core.studies.best_arm import StoppingSpec, stopping
from bandit_core.theory import central, finite_time_bounds, local
from bandit_core.theory import divergences as div
from bandit_core.theory.best_arm import TimeBound, certainty, characteristic_time, time_bounds, variation_time

# ---------------------------------------------------------------------------------------------------------------------
# The floors that hold at every number of users: tabulated values, optimisers, limits; and who belongs to a class.


HORIZONS = np.array([1e3, 1e4, 1e5, 1e6, 1e7])
EVERY, CHANCE, EQUALS, FAST = range(4)
chances = st.lists(st.floats(0.02, 0.98), min_size=2, max_size=5).filter(lambda found: len(set(found)) > 1)


def instance(means, users=None, arms=None):
    arms = tuple(arms) if arms is not None else tuple(Bernoulli(mean=mean) for mean in means)
    users = Fixed(value=users) if isinstance(users, int | float) else users
    return RunSetup(arms=arms, epsilon=users, parameters=None, horizon=10**6)


def evidence(promise, users):
    here = instance([0.5, 0.4], users)
    return {"none": finite_time_bounds.PLAIN, "local": local.evidence(here), "central": central.evidence(users)}[
        promise
    ]


def default():
    return instance(load_preset("default").means)


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promise", "first", "second", "third", "slope"),
    [
        ("none", (1.2, 1.3, 1.3, 1.3, 1.3), (14, 15, 15, 15, 15), (0, 3.3, 26, 62, 105), (178, 237, 296, 355, 415)),
        ("local", (2.9, 3.2, 3.2, 3.2, 3.2), (33, 37, 38, 38, 38), (0, 0, 44, 123, 224), (437, 582, 728, 873, 1019)),
    ],
)
def test_the_forms_at_the_tabulated_values(promise, first, second, third, slope):
    """The default instance at epsilon = 2: values computed by another person and program."""
    here = instance(load_preset("default").means, 2.0)
    found = finite_time_bounds.finite_time(here, evidence(promise, 2.0))
    assert found[CHANCE].curve(HORIZONS).round(1).tolist() == list(first)
    assert found[EQUALS].curve(HORIZONS).round().tolist() == list(second)
    assert found[FAST].curve(HORIZONS) == pytest.approx(third, rel=0.006, abs=0.05)
    assert (found[FAST].curve(HORIZONS) < slope).all()
    asymptotic = local.lower_bounds(here)[4] if promise == "local" else line_bounds(load_preset("default"), 0)[4]
    assert asymptotic.form == "slope"
    assert asymptotic.curve(HORIZONS).round().tolist() == list(slope)


@settings(max_examples=30)
@given(chances, st.floats(0.05, 5), st.integers(2, 2000))
def test_the_floor_of_every_policy_by_linear_programming(means, epsilon, t):
    """The cost of one pull against an optimiser that knows nothing of convexity in one number."""
    means = np.array(means)
    gaps = means.max() - means
    worse, best = gaps > 0, int((gaps == 0).sum())
    information = (t - 1) * div.response_kl(means[worse], means.max(), epsilon)
    found = float(finite_time_bounds.least_cost(information[None, :], gaps[worse], np.ones(worse.sum(), int), best)[0])

    def spare(x):
        return information - (x[0] - x[1:]) * np.log(x[0] / x[1:])

    start = np.full(worse.sum() + 1, 1 / len(means))
    solved = optimize.minimize(
        lambda x: x[1:] @ gaps[worse], start, method="SLSQP", bounds=[(1e-9, 1)] * len(start),
        constraints=[
            {"type": "ineq", "fun": spare},
            {"type": "eq", "fun": lambda x: best * x[0] + x[1:].sum() - 1},
        ],
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    feasible = solved.success and (spare(solved.x) > -1e-7).all()
    if feasible:
        assert found <= solved.fun * (1 + 1e-4) + 1e-6
        if len(means) == 2:  # one number only: no rounding by local search
            assert found == pytest.approx(solved.fun, rel=1e-3, abs=1e-5)


def test_the_floor_of_every_policy_adds_the_pulls_up():
    here = instance([0.9, 0.8])
    rate = float(div.bernoulli_kl(0.8, 0.9))

    def ratio(t):  # with two arms q = p r and p + q = 1
        return optimize.brentq(lambda r: (1 - r) / (1 + r) * math.log(1 / r) - t * rate, 1e-15, 1 - 1e-9)

    by_hand = 0.05 + 0.1 * np.cumsum([ratio(t) / (1 + ratio(t)) for t in range(1, 500)])
    found = finite_time_bounds.without_privacy(here)[EVERY].curve(np.arange(1.0, 1001.0))
    assert found[0] == pytest.approx(0.05)  # the first pull is blind
    assert (found[1:500] <= by_hand * (1 + 1e-6)).all()
    assert found[1:30] == pytest.approx(by_hand[:29], rel=1e-6)
    assert found[1:500] == pytest.approx(by_hand, rel=0.03)  # the grid of times loses a little
    forever = integrate.quad(lambda r: (1 - r) * math.log(1 / r) / (1 + r) ** 3, 0, 1)[0] * 0.1 / rate
    assert 0.97 * forever < found[-1] < forever + 0.05


@settings(max_examples=15)
@given(chances, st.floats(0.05, 5))
def test_no_floor_is_above_what_can_be_lost_and_all_grow(means, epsilon):
    t = np.unique(np.geomspace(1, 1e8, 60).round())
    here = instance(means, epsilon)
    for promise in ("none", "central", "local"):
        for bound in finite_time_bounds.finite_time(here, evidence(promise, epsilon)):
            if not bound.not_applicable:
                values = bound.curve(t)
                assert np.all(np.isfinite(values)) and np.all(np.diff(values) >= -1e-5 * values[1:])
                if bound.name.startswith("Floor of every"):
                    assert np.all(values <= t * here.gaps.mean() * (1 + 1e-9))  # a policy may choose blindly


@settings(max_examples=15)
@given(chances, st.floats(0.05, 5))
def test_more_trust_never_raises_a_floor(means, epsilon):
    t = np.array([10.0, 1e3, 1e5])
    here = instance(means, epsilon)
    for place in (EVERY, CHANCE, EQUALS):
        none, curator, nobody = (
            finite_time_bounds.finite_time(here, evidence(promise, epsilon))[place].curve(t)
            for promise in ("none", "central", "local")
        )
        assert np.all(none <= curator * (1 + 1e-6))
        assert np.all(curator <= nobody * (1 + 1e-6))


def test_the_class_that_learns_fast_approaches_the_slope():
    found = finite_time_bounds.without_privacy(default())[FAST]
    t = np.array([1e5, 1e7, 1e9])
    share = found.curve(t) / (line_bounds(load_preset("default"), 0)[4].curve(t))
    assert np.all(np.diff(share) > 0) and 0.3 < share[-1] < 1


# --- what one pull tells --------------------------------------------------------------------------------------------


def test_answers_are_averaged_over_users():
    users = Discrete(values=(0, 1.0, 4.0), probs=(0.2, 0.5, 0.3))
    by_hand = 0.5 * div.response_kl(0.8, 0.9, 1.0) + 0.3 * div.response_kl(0.8, 0.9, 4.0)
    found = evidence("local", users).chances(np.array([0.8, 0.7]), np.array(0.9))
    assert found[0] == pytest.approx(float(by_hand)) and found.shape == (2,)
    spread = evidence("local", UniformEpsilon(low=0.5, high=1.5)).chances(np.array([0.8]), np.array(0.9))[0]
    budgets = np.linspace(0.5, 1.5, 2001)
    assert spread == pytest.approx(float(np.trapezoid(div.response_kl(0.8, 0.9, budgets), budgets)), rel=1e-6)


def test_other_laws_use_what_is_known_of_them():
    arms = (TwoPoint(low=0, high=1, p_high=0.6), TwoPoint(low=0.2, high=0.8, p_high=0.4), Bernoulli(mean=0.5))
    here = instance(None, 0.5, arms=arms)
    shift = math.log(1 + div.total_variation(arms[2], arms[0]) * (math.exp(0.5) - 1))
    assert central.evidence(0.5).distributions(arms[2], arms[0]) == pytest.approx(
        min(shift, div.relative_entropy(arms[2], arms[0]))
    )
    for found in (finite_time_bounds.without_privacy(here), central.finite_time(here), local.finite_time(here)):
        assert found[EVERY].curve(np.ones(1))[0] == pytest.approx(here.gaps.mean())
        assert found[FAST].not_applicable and not found[EVERY].not_applicable
    normal = instance(None, arms=(Gaussian(mean=1, sd=1), Gaussian(mean=0, sd=1)))
    assert finite_time_bounds.without_privacy(normal)[CHANCE].curve(np.array([1e9]))[0] == pytest.approx(
        2 * math.log(2), rel=1e-3
    )
    wild = instance(None, 1.0, arms=(Pareto(mean=3.0, shape=1.5), Pareto(mean=2.0, shape=2.5), Beta(a=1, b=1)))
    assert all(bound.not_applicable for bound in finite_time_bounds.without_privacy(wild)[CHANCE:])
    assert not central.finite_time(wild)[CHANCE].not_applicable


def test_what_does_not_apply_says_why():
    for found in (
        finite_time_bounds.without_privacy(instance([0.5, 0.5])),
        finite_time_bounds.without_privacy(instance([0.5])),
    ):
        [reason] = {bound.not_applicable for bound in found}  # one for all of them: that the arms are equal
        assert reason
    perfect = instance([1.0, 0.5], 1.0)
    assert [bool(bound.not_applicable) for bound in finite_time_bounds.without_privacy(perfect)] == [
        False,
        True,
        True,
        True,
    ]
    assert [bool(bound.not_applicable) for bound in local.finite_time(perfect)] == [False, False, False, True]
    rough = central.finite_time(perfect, Guarantee("central", "", 1.0, 1e-6))
    assert {bound.model for bound in rough} == {"none"}


def test_thousands_of_different_arms_are_quick_and_stay_a_floor():
    means = np.linspace(0.1, 0.9, 3000)
    few, many = (finite_time_bounds.without_privacy(instance(means[-count:]))[EVERY] for count in (30, 3000))
    assert many.curve(np.ones(1))[0] == pytest.approx(0.4)
    assert 0 < many.curve(np.array([1e4]))[0] < 1e4 * 0.4
    assert few.curve(np.array([1e4]))[0] > 0


# --- who belongs to a class, by simulation --------------------------------------------------------------------------


def raised(means, worst, to):
    means = list(means)
    means[worst] = to
    return [{"kind": "bernoulli", "mean": mean} for mean in means]


def played(arms, lines, horizon, trials=40):
    document = {"arms": arms, "lines": lines, "horizon": horizon, "trials": trials, "seed": 5}
    return simulate(Experiment.model_validate(document), jobs=2)


def test_every_policy_gives_a_best_arm_its_fair_share():
    """The class of form (i), for every policy that takes the arms."""
    for means, horizon in (((0.9, 0.8, 0.7, 0.5), 400), ((0.3, 0.2), 300)):
        for worst in range(1, len(means)):
            arms = raised(means, worst, max(means) + 0.02)
            lines = lines_taken({"arms": arms, "horizon": 100}, [fixed(1.0)])
            assert len(lines) >= 20
            found = [played(arms, part, horizon) for part in (lines[:20], lines[20:])]
            for result, number, line in ((each, *pair) for each in found for pair in enumerate(each.lines)):
                pulls = line.pulls[:, worst]
                error = pulls.std(ddof=1) / math.sqrt(len(pulls)) + 1e-9
                assert pulls.mean() >= horizon / len(means) - 4 * error, result.experiment.label(number)


# ---------------------------------------------------------------------------------------------------------------------
# Bounds on the time until the best arm is known: by hand, by brute force, in their limits, beside measured times.


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


# ---------------------------------------------------------------------------------------------------------------------
# Mean simulated regret lies under every proved upper bound and above every lower one, at every checkpoint.


FAMILIES = {
    "two Bernoulli arms, wide gap": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1}],
    "four Bernoulli arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.2, 0.95, 0.5, 0.9)],
    "the best arm never fails": [{"kind": "bernoulli", "mean": 1.0}, {"kind": "bernoulli", "mean": 0.0, "count": 3}],
    "mixed laws": [
        {"kind": "bernoulli", "mean": 0.9},
        {"kind": "beta", "a": 1, "b": 4},
        {"kind": "two-point", "low": 0.1, "high": 0.7, "p_high": 0.5},
        {"kind": "uniform", "low": 0, "high": 1},
    ],
}
LINES = [
    {"policy": "ucb"},
    *(
        {"policy": policy, "epsilon": epsilon, "params": params}
        for policy in ("heldp-ucb-b", "heldp-ucb-l")
        for epsilon, params in (
            ({"kind": "fixed", "value": 1.0}, {}),
            ({"kind": "fixed", "value": 20.0}, {}),
            ({"kind": "fixed", "value": 500.0}, {}),
            ({"kind": "fixed", "value": 20.0}, {"eps_min": 8.0}),
            ({"kind": "discrete", "values": [0, 0.5, 5, 50]}, {}),
            ({"kind": "discrete", "values": [0, 10, 30], "probs": [0.1, 0.2, 0.7]}, {"eps_min": 9.0}),
        )
    ),
]


@pytest.mark.parametrize("arms", FAMILIES.values(), ids=FAMILIES)
def test_mean_regret_is_below_every_proved_upper_bound(arms):
    experiment = Experiment.model_validate({"arms": arms, "lines": LINES, "horizon": 5000, "trials": 20, "seed": 7})
    result = simulate(experiment, jobs=2)
    below_the_cap = 0
    for number, line in enumerate(result.lines):
        assert line.count == 20
        proved = [
            bound
            for bound in line_bounds(experiment, number)
            if (bound.side, bound.status) == ("upper", "proved") and not bound.not_applicable
        ]
        assert len(proved) >= 2  # the policy's own and the trivial cap
        cap = result.times * experiment.largest_gap
        for bound in proved:
            values = bound.values(result.times, experiment.largest_gap)
            above = result.times[line.mean > values * (1 + 1e-9)]
            assert above.size == 0, f"{experiment.label(number)} exceeds {bound.label} at t = {above}"
            below_the_cap += bool(np.any(values < cap * (1 - 1e-9)))
    assert below_the_cap >= 3  # else only the trivial cap would have been tested


EXPLICIT = [
    *[(name, epsilon, {}, 10**7) for name in ("adap-ucb", "dp-se") for epsilon in (0.05, 5.0)],
    *[("adac-ucb", epsilon, {"alpha": 3.0}, 10**7) for epsilon in (0.05, 1.0)],
    *[(name, epsilon, {"growth": 4}, 10**7) for name in LADDER for epsilon in (0.3, 3.0)],
    *[(name, 2.0, {"accounting": word}, 10**6) for name in ("dp-ucb-bound", "dp-ucb") for word in ("tight", "paper")],
    *[(f"heldp-ucb-{kind}w", users, {}, 50_000) for kind in "bl" for users in (1.0, 30.0, [0, 0.2, 1, 2, 100])],
    *[(f"explore-then-commit{trust}", 2.0, {"users": 2000}, 20_000) for trust in ("", "-local", "-central")],
]


@pytest.mark.parametrize(("policy", "epsilon", "params", "horizon"), EXPLICIT)
def test_mean_regret_is_below_the_explicit_bound(policy, epsilon, params, horizon):
    users = {"kind": "discrete", "values": epsilon} if isinstance(epsilon, list) else epsilon
    experiment = one_line(policy, FIVE, users, horizon, trials=50, **params)
    result = simulate(experiment, jobs=1, store=Store(None, 0))
    stated = [
        bound.values(result.times, experiment.largest_gap)
        for bound in line_bounds(experiment, 0)
        if (bound.side, bound.form, bound.not_applicable, bound.worst_case) == ("upper", "bound", None, False)
    ]
    lowest = np.min(stated, axis=0)
    assert lowest[-1] < 0.9 * horizon * experiment.largest_gap  # more than the trivial cap is tested
    assert np.all(result.lines[0].mean <= lowest * (1 + 1e-9))


# --- random instances, random policies: every curve that is called proved or derived ---------------------------------


def _random_arms(rng):
    count = int(rng.integers(2, 9))
    if rng.random() < 0.7:
        return [{"kind": "bernoulli", "mean": round(float(mean), 3)} for mean in rng.uniform(0.03, 0.97, count)]
    if rng.random() < 0.5:
        return [{"kind": "two-point", "low": -1, "high": 2, "p_high": float(p)} for p in rng.uniform(0.1, 0.9, count)]
    return [{"kind": "beta", "a": float(a), "b": float(b)} for a, b in rng.uniform(0.5, 5, (count, 2))]


def _random_line(rng, names):
    policy = registry()[str(rng.choice(names))]
    if policy.epsilon == "none":
        return {"policy": policy.name}
    value = float(np.exp(rng.uniform(math.log(0.05), math.log(8))))
    users = {"kind": "fixed", "value": value}
    if policy.epsilon == "any" and rng.random() < 0.4:
        users = {"kind": "discrete", "values": [0, value, 3 * value]}
    return {"policy": policy.name, "epsilon": users}


def _experiments(count, seed):
    rng = np.random.default_rng(seed)
    names = [name for name, policy in registry().items() if policy.setting == "arms"]
    while count:
        arms, horizon = _random_arms(rng), int(rng.choice([30, 200, 1000]))
        setting = {"arms": arms, "horizon": horizon, "trials": 60, "seed": int(rng.integers(10**6))}
        lines = []
        for line in (_random_line(rng, names) for _ in range(6)):
            with contextlib.suppress(ValueError):
                Experiment.model_validate({**setting, "lines": [line]})
                lines.append(line)
        if lines:
            count -= 1
            yield Experiment.model_validate({**setting, "lines": lines})


def _wrong_side(result, number, bound, factor=1.0):
    """Where the mean lies beyond five standard errors on the wrong side of a bound."""
    line, largest = result.lines[number], result.experiment.largest_gap
    values = bound.values(result.times, largest) * factor
    excess = line.mean - values if bound.side == "upper" else values - line.mean
    return result.times[excess > 5 * line.stderr + 1e-9 * (1 + np.abs(values))]


def test_no_curve_called_proved_or_derived_is_on_the_wrong_side():
    compared: Counter[str] = Counter()
    caught = 0
    for experiment in _experiments(40, seed=20):
        result = simulate(experiment, jobs=2)
        for number in range(len(experiment.lines)):
            for bound in line_bounds(experiment, number):
                hardest = bound.side == "lower" and bound.worst_case  # speaks of other arms than these
                if bound.not_applicable or bound.form != "bound" or bound.only or hardest:
                    continue
                wrong = _wrong_side(result, number, bound)
                assert wrong.size == 0, f"{experiment.spec()}: {experiment.label(number)}, {bound.label} at t = {wrong}"
                compared[f"{bound.model} {bound.name}"] += 1
                caught += bool(_wrong_side(result, number, bound, 3.0 if bound.side == "lower" else 1 / 30).size)
    for promise in ("none", "central", "local"):
        assert compared[f"{promise} Floor of every policy"] >= 15
    assert len(compared) >= 10
    assert caught > 30  # a floor three times as high, or a bound 30 times as low, would often be found out
