"""Compile every kernel before the first visitor comes: ``python -m bandit_core warm``.

Each policy plays some short trials, so that its machine code stands in the kernel folder afterwards. Nothing else is
kept. A folder that was filled by one user (while an image is built, say) can then be read by every other.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import presets
from bandit_core.jit.decorators import compiled_before, kernel_folder, kernel_name, open_for_reading
from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, Signal
from bandit_core.policies import registry
from bandit_core.policies.stopping import StoppingSetup, stopping_policies
from bandit_core.simulation.costs import worker_count
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError

SIZES = ((1_000, 2), (300_000, 1))  # users and trials: below and above where one sampler takes over from another


def _experiments() -> Iterator[Experiment]:
    """Every line of every preset by itself, without those that differ in numbers only, and policies in no preset."""
    seen = set()
    for preset in presets():
        spec = preset.experiment.spec()
        for line in spec["lines"]:
            budget = line.get("epsilon", {}).get("kind") == "fixed"
            words = tuple(
                sorted(f"{name}={value}" for name, value in line.get("params", {}).items() if type(value) is str)
            )
            distributions = tuple(sorted({arm["kind"] for arm in spec.get("arms", [])}))
            sort = (line["policy"], budget, words, distributions, preset.experiment.feedback.immediate)
            if sort not in seen:
                seen.add(sort)
                yield preset.experiment.with_changes(lines=[line], view={})
    known = {sort[0] for sort in seen}
    for policy in registry().values():
        if policy.name not in known:
            yield _anywhere(policy)


def _anywhere(policy: Policy) -> Experiment:
    """The policy in the first preset that it accepts."""
    line: dict[str, Any] = {"policy": policy.name}
    if policy.epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": 1.0}
    for preset in presets():
        if (preset.experiment.contexts is not None) == (policy.setting == "contexts"):
            with contextlib.suppress(InputError):
                return preset.experiment.with_changes(lines=[line], view={})
    raise LookupError(f"no preset has arms that {policy.name} accepts")


def compile_for(experiment: Experiment) -> None:
    """Compile every kernel that the experiment's lines can meet, at any horizon, by playing some short trials."""
    nothing = Store(None, 0)
    for horizon, trials in SIZES:
        longest = horizon if experiment.contexts is None else min(horizon, 3_000)
        simulate(experiment.with_changes(horizon=longest, trials=trials), jobs=1, store=nothing)


def _compile_all(experiments: Sequence[Experiment]) -> None:
    for experiment in experiments:
        compile_for(experiment)


def _compile_stopping() -> None:
    for policy in stopping_policies().values():
        epsilon = None if policy.privacy == "none" else 1.0
        setup = StoppingSetup(np.array([0.9, 0.1]), 0.1, epsilon, "proved", 1.1, 10_000)
        policy.play(setup, streams(0, 0, 1), Signal())


def _kernels(experiment: Experiment) -> set[str]:
    """The names of the kernels that the experiment's lines can meet."""
    names = set()
    for horizon, _ in SIZES:
        far = experiment.with_changes(horizon=horizon)
        pairs = zip(far.lines, far.setups, strict=True)
        names |= {kernel_name(line.entry.prepare(setup).kernel) for line, setup in pairs}
    return names


def _apart(experiments: Iterable[Experiment]) -> list[list[Experiment]]:
    """Groups of which no two need the same kernel."""
    groups: list[tuple[set[str], list[Experiment]]] = []
    for experiment in experiments:
        names, members = _kernels(experiment), [experiment]
        others = []
        for group in groups:
            if group[0] & names:
                names, members = group[0] | names, group[1] + members
            else:
                others.append(group)
        groups = [*others, (names, members)]
    return sorted((members for _, members in groups), key=len, reverse=True)  # the longest first


def warm(jobs: int | None = None) -> int:
    """Compile and keep what simulations need, in ``jobs`` processes (default: one for each worker of a run), since
    compiling keeps its process to itself; how many policies were played.
    """
    from joblib import Parallel, delayed

    experiments = list(_experiments())
    processes = min(jobs or worker_count(None), len(experiments)) if kernel_folder() is not None else 1
    groups = _apart(experiments) if processes > 1 else [experiments]
    parts = [delayed(_compile_all)(group) for group in groups] + [delayed(_compile_stopping)()]
    Parallel(n_jobs=processes, backend="loky" if processes > 1 else "sequential")(parts)
    open_for_reading()
    return len({experiment.lines[0].policy for experiment in experiments}) + len(stopping_policies())


def is_warm() -> bool:
    """Whether every kernel was compiled for this processor before this process began."""
    return compiled_before()
