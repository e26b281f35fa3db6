"""What compiled kernels are compared on: what lessons are made of, the calls of presets; and each policy by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.experiments.presets import presets
from bandit_core.export.live.comparison import Captured
from bandit_core.policies import registry
from bandit_core.spec.errors import InputError

HORIZONS = (10_000, 300_000)  # for which calls are prepared: some policies play other kernels at the larger one
ARMS: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"kind": "bernoulli", "mean": 0.5}, {"kind": "bernoulli", "mean": 0.52}, {"kind": "bernoulli", "mean": 0.1}),
    (
        {"kind": "two-point", "low": 0.1, "high": 0.9, "p_high": 0.3},
        {"kind": "two-point", "low": 0, "high": 1, "p_high": 0.4},
    ),
    ({"kind": "beta", "a": 2, "b": 3}, {"kind": "beta", "a": 4, "b": 1}, {"kind": "beta", "a": 1, "b": 1}),
    ({"kind": "uniform", "low": 0.1, "high": 0.6}, {"kind": "empirical", "values": [0.2, 0.3, 0.9]}),
    ({"kind": "gaussian", "mean": 0.4, "sd": 0.3}, {"kind": "gaussian", "mean": 0.6, "sd": 0.2}),
    ({"kind": "student", "mean": 0.4, "scale": 0.3, "df": 3.0}, {"kind": "pareto", "mean": 0.6, "shape": 2.5}),
    ({"kind": "bernoulli", "mean": 0.3, "count": 30}, {"kind": "bernoulli", "mean": 0.7}),
)
BUDGETS: tuple[dict[str, Any], ...] = (
    {"kind": "fixed", "value": 0.3},
    {"kind": "fixed", "value": 4.0},
    {"kind": "discrete", "values": [0, 0.5, 2], "probs": [0.2, 0.3, 0.5]},
    {"kind": "clamped-gaussian", "mean": 1.0, "sd": 0.5, "low": 0.1, "high": 3.0},
    {"kind": "lognormal", "median": 1.0, "sigma": 0.5},
)


def captured(name: str, experiment: Experiment, played: int) -> list[Captured]:
    """The calls of all lines of an experiment, to be played up to so many users."""
    times = checkpoints(min(played, experiment.horizon))
    return [
        Captured(f"{name}, line {number}", line.entry.prepare(setup), times, experiment.seed, experiment.trials)
        for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True))
    ]


def of_presets(horizon: int, played: int, trials: int) -> Iterator[Captured]:
    """The calls of all presets made for at most ``horizon`` users, with at most so many users played and runs."""
    for preset in presets():
        given = preset.experiment
        users, runs = min(horizon, given.horizon), min(trials, given.trials)
        try:
            experiment = given.with_changes(horizon=users, trials=runs)
        except InputError:  # something in it needs more users
            continue
        yield from captured(f"{preset.name} for {users} users", experiment, played)


def of_policies(played: int, trials: int) -> Iterator[Captured]:
    """The calls of every policy alone on all of `ARMS` with all of `BUDGETS` that it accepts."""
    for name, policy in registry().items():
        for each, arms in enumerate(ARMS):
            for budget in BUDGETS if policy.epsilon != "none" else (None,):
                line = {"policy": name} if budget is None else {"policy": name, "epsilon": budget}
                document = {"arms": list(arms), "lines": [line], "horizon": played, "trials": trials, "seed": each}
                try:
                    experiment = Experiment.model_validate(document)
                except InputError:
                    continue
                words = "no budget" if budget is None else " ".join(map(str, budget.values()))
                yield from captured(f"{name} on arms {each} with {words}", experiment, played)


def every() -> Iterator[Captured]:
    """All that a build compares."""
    for horizon in HORIZONS:
        yield from of_presets(horizon, played=10_000, trials=20)
    yield from of_policies(played=10_000, trials=5)


def few(kernels: Iterable[str], each: int = 2) -> list[Captured]:
    """Some short calls for each kernel."""
    found: dict[str, list[Captured]] = {name: [] for name in kernels}
    calls = (call for horizon in HORIZONS for call in of_presets(horizon, played=1000, trials=3))
    for source in (calls, of_policies(played=1000, trials=3)):
        for case in source if any(len(cases) < each for cases in found.values()) else ():
            if len(found.get(case.kernel, range(each))) < each:
                found[case.kernel].append(case)
    return [case for cases in found.values() for case in cases]
