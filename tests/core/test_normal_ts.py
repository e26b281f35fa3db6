"""Thompson sampling of amounts: choices by a plain reference, what a curator publishes, and what it loses."""

import math
from functools import partial

import numpy as np
import pytest
from reference import Late, Stream, by_labels
from runs import LATENESS, arms_pulled, assert_pulls, instance_of, looped, one_line

from bandit_core import Experiment, simulate
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform, streams
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.policies import registry
from bandit_core.simulation.store import Store
from bandit_core.studies.production import composed

ARMS = [{"kind": "bernoulli", "mean": 0.4}, {"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": 0.5}]
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


def reference(setup, words, name):
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
def test_choices_are_those_of_the_pseudo_code(name, epsilon):
    policy = registry()[name]
    _, setup = instance_of(name, ARMS, None if name == "normal-ts" else epsilon, 300)
    plays = partial(reference, name=name)
    assert_pulls(policy.play, setup, streams(3, 0, 1), lambda words, _: by_labels(setup, words, plays))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("batch", "delay"), LATENESS)
def test_choices_are_those_of_the_pseudo_code_where_rewards_are_counted_late(name, batch, delay):
    policy, rows = registry()[name], streams(3, 0, 1)
    setup = one_line(name, ARMS, 2.0, 300, batch=batch, delay=delay).setups[0]
    chosen = by_labels(setup, rows[0], lambda here, words: reference(here, words, name))
    np.testing.assert_array_equal(arms_pulled(policy.prepare(looped(setup)), rows, 300)[0], chosen)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_both_sums_of_a_batch_spend_the_budget_together(epsilon):
    setup = one_line("normal-ts-c", ARMS, epsilon, 300).setups[0]
    first, second = registry()["normal-ts-c"].releases(setup)
    assert 1 / first.scale + 1 / second.scale == pytest.approx(epsilon)
    assert composed([first, second]) == pytest.approx(epsilon)


SHOP = [  # most users bring nothing: means .011, .014, .0145 of the range, standard deviation .055
    {"kind": "empirical", "values": [0.0, 0.06, 0.15, 0.3, 0.6, 1.0], "counts": [nothing, 40, 40, 20, 6, 2]}
    for nothing in (2200, 1750, 1680)
]


def test_amounts_that_vary_little_cost_less_than_the_range_allows_and_privacy_costs_more():
    """Against learners that know the range only; and no budget makes a private one better than none."""
    names = [("ucb", None), ("kl-ucb", None), ("normal-ts", None)]
    names += [(name, epsilon) for epsilon in (8.0, 1.0) for name in ("normal-ts-c", "dp-imed", "lazy-dp-ts")]
    lines = [
        {"policy": name} | ({"epsilon": {"kind": "fixed", "value": epsilon}} if epsilon else {})
        for name, epsilon in names
    ]
    document = {"arms": SHOP, "lines": lines, "horizon": 20_000, "trials": 200, "seed": 5}
    found = simulate(Experiment.model_validate({"version": 1, **document}), store=Store(None, 2**24))
    lost = {named: line.regret[:, -1] for named, line in zip(names, found.lines, strict=True)}

    def surely_less(one, other):
        difference = lost[one] - lost[other]
        return difference.mean() + 3 * difference.std(ddof=1) / math.sqrt(len(difference)) < 0

    plain = ("normal-ts", None)
    assert surely_less(plain, ("kl-ucb", None)) and surely_less(plain, ("ucb", None))
    assert all(not surely_less(other, plain) for other in names)
    assert surely_less(plain, ("normal-ts-c", 1.0)) and surely_less(("normal-ts-c", 8.0), ("normal-ts-c", 1.0))
    assert surely_less(("normal-ts-c", 8.0), ("lazy-dp-ts", 8.0))
