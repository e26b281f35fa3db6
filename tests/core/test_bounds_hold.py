"""Mean simulated regret lies under every proved upper bound and above every lower one, at every checkpoint."""

import contextlib
import math
from collections import Counter

import numpy as np
import pytest
from runs import FIVE, LADDER, one_line

from bandit_core import Experiment, simulate
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.policies import registry
from bandit_core.simulation.store import Store

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
