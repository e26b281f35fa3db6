"""The floors that hold at every number of users: tabulated values, optimisers, limits; and who belongs to a class."""

import math

import numpy as np
import pytest
from helpers import fixed, lines_taken
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.model import Guarantee, RunSetup
from bandit_core.spec.budgets import Discrete, Fixed, UniformEpsilon
from bandit_core.spec.rewards import Bernoulli, Beta, Gaussian, Pareto, TwoPoint
from bandit_core.theory import central, finite_time_bounds, local
from bandit_core.theory import divergences as div

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


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.05, 4), st.floats(-1, 1), st.floats(0, 1))
def test_a_curators_actions_tell_no_more_than_d_eps(x, y, epsilon, odds, base):
    """One reward, one action: of all epsilon-private rules none tells more; the best of them nearly as much."""
    # P(action = 1 | reward): any two chances whose ratios, and those of the complements, stay within e^epsilon.
    low = 0.001 + 0.998 * base
    limits = (
        max(low * math.exp(-epsilon), 1 - (1 - low) * math.exp(epsilon)),
        min(low * math.exp(epsilon), 1 - (1 - low) * math.exp(-epsilon)),
    )
    high = limits[0] + (limits[1] - limits[0]) * (odds + 1) / 2
    seen = [chance * high + (1 - chance) * low for chance in (x, y)]
    assert float(div.bernoulli_kl(*seen)) <= float(central.d_eps(x, y, epsilon)) * (1 + 1e-9) + 1e-12


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


def test_who_finds_the_best_ones_soon_and_who_does_not():
    """Form (ii) binds Thompson sampling and UCB on five arms at 5,000 users, not UCB and HeLDP-UCB-B on the default."""
    arms = raised((0.9, 0.6, 0.5, 0.4, 0.3), 1, 0.9)
    result = played(arms, [{"policy": "thompson"}, {"policy": "ucb"}], 5000)
    shares = [line.best_pulls[:, -1].mean() / 5000 for line in result.lines]
    assert min(shares) > finite_time_bounds.SHARE
    means = load_preset("default").means
    arms = raised(means, len(means) - 1, 0.9)
    noisy = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}}
    result = played(arms, [noisy, {"policy": "ucb"}], 10_000, 10)
    assert all(line.best_pulls[:, -1].mean() / 10_000 < finite_time_bounds.SHARE for line in result.lines)


def test_who_learns_fast_and_who_does_not():
    """Form (iii) allows twice the asymptotic bound; on the default arms UCB loses more than that, Thompson less."""
    experiment = load_preset("default")
    allowed = 2 * float(line_bounds(experiment, 0)[4].curve(np.array([1e4]))[0])
    arms = raised(experiment.means, 1, 0.95)
    result = played(arms, [{"policy": "thompson"}, {"policy": "ucb"}], 10_000, 10)
    assert result.lines[0].mean[-1] < allowed < result.lines[1].mean[-1]
