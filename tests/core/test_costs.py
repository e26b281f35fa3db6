"""What an experiment costs is known before anything of it is allocated or computed, and is never far from the truth."""

import gc
import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba.core.runtime import _nrt_python

from bandit_core import Experiment, InputError, Simulation, simulate
from bandit_core.experiments import links
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.contextual import draw_pool, users_of
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, Stopped
from bandit_core.policies import registry
from bandit_core.simulation import costs, engine
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Discrete
from bandit_core.spec.rewards import Bernoulli
from ui import charts

MIB = 2**20
FIXED = {"kind": "fixed", "value": 1.0}


@pytest.fixture(scope="module", autouse=True)
def kernels_are_traced():
    """Arrays that kernels make count, too: numba asks Python for memory, and Python tells tracemalloc."""
    _nrt_python.memsys_use_cpython_allocator()
    for name in ("ldp-sgd", "ldp-linucb", "ldp-ols"):  # compiled before, which takes long where memory is traced
        simulate(spec([name], 10, 1, contexts={"dimension": 2, "arms": 2}), jobs=1, store=Store(None, 0))
    simulate(spec(["ucb"], 10, 1, arms=DISTRIBUTIONS), jobs=1, store=Store(None, 0))


def measured(experiment: Experiment, jobs: int) -> int:
    """Bytes at the highest point of a run, above what there was before it."""
    gc.collect()
    tracemalloc.start()
    try:
        simulate(experiment, jobs=jobs, store=Store(None, 10**9))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def line_of(name: str) -> dict:
    return {"policy": name, **({} if registry()[name].epsilon == "none" else {"epsilon": FIXED})}


def spec(lines: list[str], horizon: int, trials: int, **setting) -> Experiment:
    document = {"lines": [line_of(name) for name in lines], "horizon": horizon, "trials": trials, **setting}
    return Experiment.model_validate(document)


DISTRIBUTIONS = [
    {"kind": "bernoulli", "mean": 0.7},
    {"kind": "beta", "a": 2.0, "b": 3.0},
    {"kind": "bernoulli", "mean": 0.4},
]
UNIT = [name for name, policy in registry().items() if policy.setting == "arms"]
WITH_FEATURES = [name for name, policy in registry().items() if policy.setting == "contexts"]


@st.composite
def many_numbers(draw) -> Experiment:
    """Results make the size."""
    arms, horizon = draw(st.integers(2, 3000)), draw(st.integers(1, 300))
    names = draw(st.lists(st.sampled_from(UNIT), min_size=1, max_size=3))
    trials = draw(st.integers(4, 12)) * MIB // (8 * len(names) * (2 * min(horizon, 200) + arms))
    return spec(names, horizon, max(1, min(10_000, trials)), arms=[{"kind": "bernoulli", "mean": 0.5, "count": arms}])


@st.composite
def many_values(draw) -> Experiment:
    """Observed values make the size, once for however many arms."""
    values = np.linspace(0, 1, draw(st.integers(400_000, 499_000))).tolist()
    counts, times = [2, *[1] * (len(values) - 1)], draw(st.integers(1, 1800))
    arms = [{"kind": "empirical", "values": values, "counts": counts, "count": times}]
    names = draw(st.lists(st.sampled_from([name for name in UNIT if "robust" not in name]), min_size=1, max_size=2))
    return spec(names, draw(st.integers(1, 50)), draw(st.integers(1, 3)), arms=arms)


@st.composite
def many_features(draw) -> Experiment:
    """Types of users, or the server's matrices, make the size."""
    name = draw(st.sampled_from(WITH_FEATURES))
    dimension = draw(st.integers(2, 40))
    contexts = {"dimension": dimension, "structure": draw(st.sampled_from(["single", "multi"]))}
    cells = draw(st.integers(4, 24)) * MIB // 8
    if contexts["structure"] == "single":
        contexts["arms"] = draw(st.integers(2, 300))
        points = min(1000, cells // (dimension * contexts["arms"]))
        contexts["law"] = {"kind": "discrete", "points": max(1, points), "gap": 0.1}
    elif name in ("ldp-linucb", "ldp-gloc"):
        contexts["arms"] = max(2, min(400, int(math.sqrt(cells / 60)) // dimension))
    else:
        contexts["arms"] = max(2, min(1000, cells // dimension**2))
    return spec([name], draw(st.integers(1, 3)), draw(st.integers(1, 3)), contexts=contexts)


@pytest.mark.parametrize("kind", [many_numbers, many_values, many_features])
@settings(max_examples=4)  # of each kind; most of an example's time is spent on following every piece of memory
@given(data=st.data(), jobs=st.sampled_from([1, 2]))
def test_the_estimate_is_at_least_what_was_measured_and_at_most_ten_times_it(kind, data, jobs):
    experiment = data.draw(kind())
    taken = costs.cost(experiment, jobs=jobs)
    assume(6 * MIB <= taken.bytes <= 256 * MIB and taken.seconds < 2)
    simulate(experiment.with_changes(trials=1), jobs=jobs, store=Store(None, 10**6))  # compiled before
    used = measured(experiment, jobs)
    assert used <= taken.bytes <= 10 * used, (used / MIB, taken.bytes / MIB, experiment.spec())


HOSTED = {"LAB_MAX_STEPS": "2e10", "LAB_MAX_RESULT_MB": "128", "LAB_MAX_SECONDS": "900", "LAB_JOBS": "2"}
LINKS = {  # that took gigabytes, or hours, without a click
    "observed values": "arms=empirical(0:500000,1:500000)x10000&lines=ucb&T=10000&n=2",
    "different observed values": "arms={many}&lines=ucb&T=10000&n=2",
    "types of users": "contexts=single(200,1000,discrete(1000,0.1),noise=0.1)&lines=ldp-sgd(1)&T=100&n=2",
    "types for parameters": "contexts=multi(200,1000,discrete(1000,0.3),noise=0.1)&lines=ldp-sgd(1)&T=100&n=20",
    "one large matrix": "contexts=multi(200,1000,noise=0.1)&lines=ldp-linucb(1)&T=100&n=2",
    "a matrix for each arm": "contexts=multi(200,1000,noise=0.1)&lines=ldp-ols(1)&T=100&n=2",
    "expensive steps": "contexts=single(200,1000,noise=0.1)&lines=ldp-ols(1)&T=1e9&n=20",
    "many trials": "arms=0.5x10000&lines=ucb&T=10000&n=10000",
}
MANY = ",".join(f"empirical(0:{400_000 + place},1:{500_000 - place})" for place in range(300))


@pytest.mark.parametrize("name", LINKS)
def test_a_link_that_asks_for_gigabytes_is_answered_in_bounded_memory(monkeypatch, name):
    """Refused before anything is allocated, or run: within what the server allows either way."""
    for variable, value in HOSTED.items():
        monkeypatch.setenv(variable, value)
    address = LINKS[name].format(many=MANY)
    gc.collect()
    tracemalloc.start()
    try:
        experiment, problems = links.read(dict(part.split("=", 1) for part in address.split("&")))
        assert problems == []
        try:
            shorter = min(200 if experiment.contexts is None else 20, experiment.horizon)  # features cost time
            simulate(experiment.with_changes(horizon=shorter), jobs=2, store=Store(None, 0))
        except InputError as error:
            assert name not in ("observed values", "different observed values")
            assert [problem.path for problem in error.issues] in (["trials"], ["horizon"], ["horizon", "trials"])
        assert tracemalloc.get_traced_memory()[1] < 128 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["expensive steps", "one large matrix", "types for parameters"])
def test_hours_are_refused_by_their_estimate(monkeypatch, name):
    for variable, value in HOSTED.items():
        monkeypatch.setenv(variable, value)
    experiment, _ = links.read(dict(part.split("=", 1) for part in LINKS[name].split("&")))
    long = experiment.with_changes(horizon=10**9 // 20, trials=20)
    assert costs.steps(long) <= costs.most_steps()
    assert costs.estimated_seconds(long) > costs.setting("LAB_MAX_SECONDS")
    with pytest.raises(InputError) as refused:
        Simulation(long, Store(None, 0))
    assert any("seconds" in str(problem) for problem in refused.value.issues)


def long_lines() -> list:
    """Every policy on arms that are drawn one by one, or on users with features, at a long horizon."""
    arms = [{"kind": "beta", "a": 2.0, "b": 3.0, "count": 2}]
    users = {"dimension": 3, "arms": 3, "structure": "multi"}
    found = [pytest.param(spec([name], 10**9, 1, arms=arms), id=name) for name in UNIT if "robust" not in name]
    found += [pytest.param(spec([name], 10**9, 1, contexts=users), id=name) for name in WITH_FEATURES]
    return found


@pytest.mark.parametrize("experiment", long_lines())
def test_every_kernel_looks_at_its_signal_every_second(experiment):
    """By our estimate of a step's time. A stop is noticed at the next look: here, the first."""
    seconds = costs.trial_seconds(experiment, 0)
    times = engine.with_stop_checks(engine.checkpoints(experiment.horizon), seconds)
    longest = np.diff(times, prepend=0).max() * (seconds / experiment.horizon)
    assert longest <= 0.5 or len(times) > costs.MAX_STOP_CHECKS
    signal = Signal()
    signal.stop()
    with pytest.raises(Stopped):
        experiment.lines[0].entry.play(experiment.setups[0], streams(0, 0, 1), times, signal)
    assert signal.steps <= 2 * np.diff(times, prepend=0).max()


@pytest.mark.parametrize("name", registry())
def test_more_looks_change_no_number(monkeypatch, name):
    setting = {"contexts": {"dimension": 2, "arms": 3}} if name in WITH_FEATURES else {"arms": DISTRIBUTIONS}
    experiment = spec([name], 3000, 3, **setting)
    plain = simulate(experiment, jobs=1, store=Store(None, 0)).lines[0]
    monkeypatch.setattr(costs, "STOP_CHECK_SECONDS", costs.trial_seconds(experiment, 0) / 77.7)
    assert len(engine.with_stop_checks(engine.checkpoints(3000), costs.trial_seconds(experiment, 0))) > 250
    with_stop_checks = simulate(experiment, jobs=1, store=Store(None, 0)).lines[0]
    assert plain.regret.shape == with_stop_checks.regret.shape == (3, 200)
    for curve in ("regret", "best_pulls", "pulls", "error"):
        assert np.array_equal(getattr(plain, curve), getattr(with_stop_checks, curve))


@kernel
def _pool(state, environment, signal, pool):
    users = users_of(environment, state, signal)
    users.theta[:] = 1.0
    users.pool[:] = np.nan
    draw_pool(environment, users, 0)
    pool[:] = users.pool


@pytest.mark.parametrize(("stopped", "drawn"), [(0, 5), (1, 0)])
def test_a_stop_is_noticed_while_types_of_users_are_drawn(stopped, drawn):
    law = {"kind": "discrete", "points": 5}
    users = spec(["ldp-sgd"], 10, 1, contexts={"dimension": 2, "arms": 3, "law": law}).contexts
    pool = np.empty((5, 6))
    _pool(streams(0, 0, 1), users.kernel_form(), np.array([stopped, 0]), pool)
    assert np.isfinite(pool).all(axis=1).sum() == drawn


def test_equal_arms_are_looked_at_once(monkeypatch):
    """By acceptors, bounds and keys of a picture with 10,000 arms and 24 lines."""
    calls = Counter()

    def counted(name):
        plain = getattr(Bernoulli, name)
        get = plain.fget if isinstance(plain, property) else plain

        def call(self, *given):
            calls[name] += 1
            return get(self, *given)

        return property(call) if isinstance(plain, property) else call

    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5, "count": 9_999}]
    for name in ("inside", "expected", "atoms", "row", "support"):
        monkeypatch.setattr(Bernoulli, name, counted(name))
    experiment = spec(["heldp-ucb-b"] * 24, 1000, 1, arms=arms)
    for line in range(24):
        line_bounds(experiment, line)
    costs.cost(experiment)
    assert max(calls.values()) < 24 * 200


def test_the_groups_of_a_budget_are_one_curve():
    law = Discrete(values=[0.1 + place / 100 for place in range(1000)])
    figure = charts.density_chart(law, None)
    assert len(figure.data) == 1
    assert np.isfinite(figure.data[0].x).sum() == 2000 and figure.layout.xaxis.type == "linear"
