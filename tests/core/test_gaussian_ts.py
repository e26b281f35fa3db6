"""Thompson sampling with normal draws: choices by plain references, and what is kept or published."""

import math
from functools import partial

import numpy as np
import pytest
from reference import Late, Stream, by_labels
from runs import LATENESS, arms_pulled, assert_pulls, instance_of, looped, one_line

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform, streams
from bandit_core.mechanisms.gaussian import smallest_delta
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Signal
from bandit_core.policies import gaussian_ts, registry
from bandit_core.studies.production import composed

# ---------------------------------------------------------------------------------------------------------------------
# Gaussian Thompson sampling: its choices by a plain reference, and what its draws keep by an account from scratch.


ARMS = [{"kind": "bernoulli", "mean": 0.7}, {"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": 0.5}]
POLICY = registry()["gaussian-ts"]


def line(horizon=300, arms=ARMS, epsilon=1.0, **given):
    return one_line("gaussian-ts", arms, epsilon, horizon, **given).setups[0]


@kernel
def _normals(state, drawn):
    for place in range(drawn.shape[0]):
        drawn[place] = normal(state, 0, 4)


def reference(setup, words, b, c):
    """Every choice of one trial, from the pseudo-code; rewards are known when they are counted."""
    arms, horizon = setup.arms, setup.horizon
    uniform = Stream(words).uniform
    drawn = np.empty(len(arms) * horizon)
    _normals(words[None].copy(), drawn)
    normals, rewards, chosen, late = iter(drawn.tolist()), [[] for _ in arms], [], Late(setup)
    for t in range(horizon):
        if sum(map(len, rewards)) < b * len(arms):
            choice = t % len(arms)
        else:
            thetas = [sum(r) / (len(r) + 1) + math.sqrt(c / (len(r) + 1)) * next(normals) for r in rewards]
            choice = thetas.index(max(thetas))
        _, low, high, chance, _ = arms[choice].row()
        chosen.append(choice)
        for arm, reward in late.counted(choice, high if uniform() < chance else low):
            rewards[arm].append(reward)
    return chosen


@pytest.mark.parametrize(
    ("params", "epsilon"),
    [({}, 1.0), ({}, 20.0), ({"factor": 1, "pre_pulls": 1}, 1.0), ({"factor": 0.01}, 8.0), ({"pre_pulls": 1000}, 1.0)],
)
def test_choices_are_those_of_the_pseudo_code(params, epsilon):
    _, setup = instance_of("gaussian-ts", ARMS, epsilon, 300, **params)
    b, c = gaussian_ts.pre_pulls(setup), gaussian_ts.factor(setup)
    plays = partial(reference, b=b, c=c)
    assert_pulls(POLICY.play, setup, streams(3, 0, 1), lambda words, _: by_labels(setup, words, plays))


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
def test_choices_are_those_of_the_pseudo_code_where_rewards_are_counted_late(batch, delay):
    setup, rows = line(epsilon=8.0, pre_pulls=5, batch=batch, delay=delay), streams(3, 0, 1)
    chosen = by_labels(setup, rows[0], lambda here, words: reference(here, words, 5, gaussian_ts.factor(setup)))
    call = POLICY.prepare(looped(setup))
    assert call.kernel is gaussian_ts.RULE.late
    np.testing.assert_array_equal(arms_pulled(call, rows, 300)[0], chosen)


@pytest.mark.parametrize(("batch", "delay", "before"), [(1, 0, 10), (7, 3, 14), (1, 40, 50), (500, 0, 500)])
def test_there_are_draws_from_when_the_first_pulls_are_counted(batch, delay, before):
    """Fewer draws need less noise for the same epsilon; what is kept is the account of those that there are."""
    setup = line(epsilon=2.0, pre_pulls=5, batch=batch, delay=delay)
    steps = max(0, 300 - before)
    assert gaussian_ts.draws(setup, 300) == steps
    assert [release.times for release in POLICY.releases(setup)] == ([steps] if steps else [])
    kept = math.sqrt(steps / (gaussian_ts.factor(setup) * 6))
    assert float(gaussian_ts.mu(setup, 300)) == pytest.approx(kept)
    if steps:
        assert smallest_delta(kept, 1.0, 2.0) == pytest.approx(1e-6, rel=1e-3)
    assert POLICY.guarantee(setup).epsilon == (pytest.approx(2.0) if steps else 0.0)


def worst_distance(b, c, arms, horizon):
    """The largest distance of two runs' draws, in standard deviations, over every way to spread the pulls, by search.

    ``best[n]`` is the most that the draws so far can have added with n pulls of the arm whose first reward differs.
    """
    best = {b: 0.0}
    for _ in range(horizon - arms * b):
        following: dict[int, float] = {}
        for n, total in best.items():
            message = total + (1 / (n + 1)) ** 2 / (c / (n + 1))  # (shift of the mean / sd)^2 of this step's draw
            for after in (n, n + 1):
                following[after] = max(following.get(after, 0.0), message)
        best = following
    return math.sqrt(max(best.values()))


@pytest.mark.parametrize(("b", "c"), [(1, 1.0), (4, 0.3), (10, 50.0)])
def test_the_promise_is_that_of_the_worst_run(b, c):
    setup = line(60, pre_pulls=b, factor=c, delta=1e-4)
    mu = worst_distance(b, c, 2, 60)
    assert gaussian_ts.mu(setup, 60) == pytest.approx(mu)
    kept = POLICY.guarantee(setup)
    assert smallest_delta(mu, 1.0, kept.epsilon) == pytest.approx(1e-4, rel=1e-6)
    assert composed(POLICY.releases(setup), 1e-4) == pytest.approx(kept.epsilon, rel=1e-9)
    assert ("spends more" in kept.words) == (kept.epsilon > 1)  # the wording is what is tested
    spent = POLICY.spent(setup, np.arange(0, 61))
    assert np.all(spent[: 2 * b + 1] == 0) and np.all(np.diff(spent) >= 0)
    assert spent[-1] == pytest.approx(kept.epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("horizon", [100, 10_000])
def test_auto_keeps_exactly_the_epsilon_that_was_chosen(epsilon, horizon):
    setup = line(horizon, epsilon=epsilon)
    b, c = gaussian_ts.pre_pulls(setup), gaussian_ts.factor(setup)
    assert 1 <= b <= horizon / 4 + 1 and c >= 1
    kept = POLICY.guarantee(setup)
    assert kept.epsilon == epsilon if c > 1 else kept.epsilon <= epsilon
    assert kept.delta == 1e-6 and kept.measure == "approximate"
    if c > 1:
        mu = worst_distance(b, c, 2, horizon) if horizon < 1000 else gaussian_ts.mu(setup, horizon)
        assert smallest_delta(mu, 1.0, epsilon) == pytest.approx(1e-6, rel=1e-6)


def test_the_usual_draws_are_private_at_a_budget_that_hides_nothing():
    setup = line(10_000, pre_pulls=1, factor=1)
    assert gaussian_ts.mu(setup, 10_000) == pytest.approx(math.sqrt(9998 / 2))  # sqrt(T/2)-GDP
    assert POLICY.guarantee(setup).epsilon > 1000


def test_the_order_of_the_regret_by_hand():
    setup = line(10_000)
    [bound] = [bound for bound in POLICY.bounds(setup) if bound.side == "upper"]
    b, c, gap = gaussian_ts.pre_pulls(setup), gaussian_ts.factor(setup), 0.2
    assert bound.status == "order-only" and not bound.not_applicable
    found = bound.curve(np.array([5000.0]))[0]
    assert found == pytest.approx(c / gap * math.log(math.e + 5000 * gap**2 / c) + (b + 1) * gap)
    narrow = POLICY.bounds(line(factor=0.5))
    assert all(bound.not_applicable for bound in narrow if bound.side == "upper")


def test_a_run_without_draws_and_the_largest_budgets_can_be_told():
    for horizon, epsilon in ((1, 1.0), (2, 1.0), (3, 1e-6), (100, 1000.0)):
        setup = line(horizon, epsilon=epsilon)
        assert (horizon > 3) <= (POLICY.guarantee(setup).epsilon > 0) and POLICY.guarantee(setup).epsilon <= epsilon
        assert POLICY.play(setup, streams(0, 0, 2), np.array([horizon]), Signal()).pulls.sum() == 2 * horizon
        assert all(np.isfinite(bound.values(np.array([1, horizon]), 0.6)).all() for bound in POLICY.bounds(setup)
                   if not bound.not_applicable)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Thompson sampling of amounts: choices by a plain reference, what a curator publishes, and what it loses.


AMOUNTS = [{"kind": "bernoulli", "mean": 0.4}, {"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": 0.5}]
NAMES = ("normal-ts", "normal-ts-l", "normal-ts-c")


@kernel
def _normal(state):
    return normal(state, 0, 4)


@kernel
def _uniform(state):
    return next_uniform(state, 0, 4)


class _Arm:
    """What is published of an arm, and the rewards since then."""

    def __init__(self):
        self.sum = self.squares = self.noise = 0.0
        self.count, self.batches, self.fresh = 0, 0, []


def reference_of_amounts(setup, words, name):
    """Every choice of one trial, from the pseudo-code; rewards are known when they are counted."""
    epsilon = None if name == "normal-ts" else setup.fixed_epsilon
    b = 5 if epsilon is None else max(5, math.ceil(5 / epsilon))
    uniform, state = Stream(words).uniform, words[None].copy()
    arms, chosen, late = [_Arm() for _ in setup.arms], [], Late(setup)
    hidden, counted = 2 / epsilon**2 if name == "normal-ts-l" else 0.0, 0
    for t in range(setup.horizon):
        if counted < b * len(arms):
            choice = t % len(arms)
        else:
            total = sum(arm.squares - arm.sum**2 / arm.count for arm in arms) + len(arms) * (0.25 + hidden)
            count = sum(arm.count for arm in arms) + len(arms)
            floor = 0.0
            if name == "normal-ts-c":  # the standard deviation of the noise in all sums of squares
                floor = math.sqrt(2 * sum(arm.batches for arm in arms)) / (0.2 * epsilon) / count
            v = max(total / count, hidden, floor)
            sds = [math.sqrt(v / arm.count + arm.noise / arm.count**2) for arm in arms]
            thetas = [arm.sum / arm.count + sd * _normal(state) for arm, sd in zip(arms, sds, strict=True)]
            choice = thetas.index(max(thetas))
        _, low, high, chance, _ = setup.arms[choice].row()
        chosen.append(choice)
        response = high if uniform() < chance else low
        if name == "normal-ts-l":
            response += laplace_noise(_uniform(state), 1 / epsilon)
        for place, reward in late.counted(choice, response):
            arm, counted = arms[place], counted + 1
            arm.fresh.append(reward)
            full = arm.count if name == "normal-ts-c" else 1
            if len(arm.fresh) >= (full if arm.count else b):
                publish(arm, epsilon if name == "normal-ts-c" else None, state)
    return chosen


def publish(arm, epsilon, state):
    arm.sum += math.fsum(arm.fresh)
    arm.squares += math.fsum(reward**2 for reward in arm.fresh)
    if epsilon is not None:
        arm.sum += laplace_noise(_uniform(state), 1 / (0.8 * epsilon))
        arm.squares += laplace_noise(_uniform(state), 1 / (0.2 * epsilon))
        arm.noise += 2 / (0.8 * epsilon) ** 2
    arm.count += len(arm.fresh)
    arm.batches += 1
    arm.fresh = []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_choices_about_amounts_are_those_of_the_pseudo_code(name, epsilon):
    policy = registry()[name]
    _, setup = instance_of(name, AMOUNTS, None if name == "normal-ts" else epsilon, 300)
    plays = partial(reference_of_amounts, name=name)
    assert_pulls(policy.play, setup, streams(3, 0, 1), lambda words, _: by_labels(setup, words, plays))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("batch", "delay"), LATENESS)
def test_choices_about_amounts_are_those_of_the_pseudo_code_where_rewards_are_counted_late(name, batch, delay):
    policy, rows = registry()[name], streams(3, 0, 1)
    setup = one_line(name, AMOUNTS, 2.0, 300, batch=batch, delay=delay).setups[0]
    chosen = by_labels(setup, rows[0], lambda here, words: reference_of_amounts(here, words, name))
    np.testing.assert_array_equal(arms_pulled(policy.prepare(looped(setup)), rows, 300)[0], chosen)


SHOP = [  # most users bring nothing: means .011, .014, .0145 of the range, standard deviation .055
    {"kind": "empirical", "values": [0.0, 0.06, 0.15, 0.3, 0.6, 1.0], "counts": [nothing, 40, 40, 20, 6, 2]}
    for nothing in (2200, 1750, 1680)
]
