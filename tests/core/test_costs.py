"""What an experiment costs is known before anything of it is allocated or computed, and is never far from the truth."""

import gc
import math
import tracemalloc

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba.core.runtime import _nrt_python

from bandit_core import Experiment, limits, simulate
from bandit_core.policies import registry
from bandit_core.store import Store

MIB = 2**20
FIXED = {"kind": "fixed", "value": 1.0}


@pytest.fixture(scope="module", autouse=True)
def kernels_are_traced():
    """Arrays that kernels make count, too: numba asks Python for memory, and Python tells tracemalloc."""
    _nrt_python.memsys_use_cpython_allocator()


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


UNIT = [name for name, policy in registry().items() if policy.setting == "arms"]
WITH_FEATURES = [name for name, policy in registry().items() if policy.setting == "contexts"]


@st.composite
def many_numbers(draw) -> Experiment:
    """Results make the size."""
    arms, horizon = draw(st.integers(2, 3000)), draw(st.integers(1, 300))
    names = draw(st.lists(st.sampled_from(UNIT), min_size=1, max_size=3))
    trials = draw(st.integers(4, 24)) * MIB // (8 * len(names) * (2 * min(horizon, 200) + arms))
    return spec(names, horizon, max(1, min(10_000, trials)), arms=[{"kind": "bernoulli", "mean": 0.5, "count": arms}])


@st.composite
def many_values(draw) -> Experiment:
    """Observed values make the size, each law's once."""
    number = draw(st.integers(1, 4))
    counts = [draw(st.integers(100_000, 500_000)) for _ in range(number)]
    arms = [
        {"kind": "empirical", "values": [0.0, 1.0], "counts": [first, first + place], "count": times}
        for place, first in enumerate(counts)
        for times in [draw(st.integers(1, 900))]
    ]
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


@st.composite
def many_groups(draw) -> Experiment:
    """Tapes of the jump sampler make the size."""
    arms = draw(st.integers(20, 30))
    groups = draw(st.integers(40, 2000 // arms))
    budgets = {"kind": "discrete", "values": [0.5 + place / 100 for place in range(groups)]}
    line = {"policy": "heldp-ucb-b", "epsilon": budgets}
    laws = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1, "count": arms - 1}]
    document = {"lines": [line], "horizon": 2_100_000, "trials": 1, "arms": laws}
    return Experiment.model_validate(document)


@settings(max_examples=60, deadline=None)
@given(
    experiment=st.one_of(many_numbers(), many_numbers(), many_values(), many_features(), many_groups()),
    jobs=st.sampled_from([1, 2]),
)
def test_the_estimate_is_at_least_what_was_measured_and_at_most_ten_times_it(experiment, jobs):
    taken = limits.cost(experiment, jobs=jobs)
    assume(6 * MIB <= taken.bytes <= 256 * MIB and taken.seconds < 20)
    simulate(experiment.with_changes(trials=1), jobs=jobs, store=Store(None, 10**6))  # compiled before
    used = measured(experiment, jobs)
    assert used <= taken.bytes <= 10 * used, (used / MIB, taken.bytes / MIB, experiment.spec())
