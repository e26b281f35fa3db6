"""What a pull of each policy costs: ``python -m benchmarks.bench_registry [POLICY ...]`` (one core, some minutes).

Ten arms, two horizons, epsilon 1; policies for users with features play with five features. Every time stands beside
two others: that of a loop that draws one reward a pull and adds it up, in the same run, and the estimate by which the
lab refuses runs that are too long (`bandit_core.simulation.costs.trial_seconds`). Policies that draw the sum of a
batch at once need less than the bare loop.

Without a policy's name it also times, end to end, what Home plays when its slider moves. ``--rules`` times something
else: policies with an accelerator, with it and without, in the sizes of `SIZES`: another loop than that of all rules
(`bandit_core.kernels.play`), or sums of batches that are drawn at once.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bandit_core import Experiment, InputError, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.batch_rule import BatchRule
from bandit_core.kernels.streams import next_uniform, streams
from bandit_core.model import KernelCall, Policy, RunSetup, Signal, run_kernel
from bandit_core.policies import registry
from bandit_core.simulation.costs import trial_seconds
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.spec.feedback import Feedback
from benchmarks.measuring import machine, print_table

ARMS, HORIZONS, REPEATS = 10, (10_000, 100_000), 4
ROUNDS = 20  # of Home
TIMED, FEWEST, MOST = 0.05, 4, 400  # seconds of a work that is timed; its fewest and most trials
SIZES = (  # arms, users, trials
    (5, 10_000, 50), (20, 10_000, 50), (20, 100_000, 20), (20, 10**6, 3),
)  # fmt: skip
SLIDER = 2.0  # where Home's slider moves to


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one call in this thread: on a busy machine the fairest clock for single-threaded work."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def fastest(works: Sequence[tuple[Callable[[], Any], float]], repeats: int) -> list[float]:
    """Shortest time of each work over its number of steps: what other programs add is never a saving.

    The works take turns, so that no one of them has the quiet minutes for itself.
    """
    for work, _ in works:
        work()  # compile, and warm the caches
    times = [math.inf] * len(works)
    for _ in range(repeats):
        for number, (work, steps) in enumerate(works):
            times[number] = min(times[number], seconds(work) / steps)
    return times


@njit(nogil=True, error_model="numpy")
def bare_draws(state: np.ndarray, pulls: int) -> float:
    """Draw a reward for each pull and learn nothing; ``state`` has one stream per trial."""
    total = 0.0
    for trial in range(state.shape[0]):
        for _ in range(pulls):
            total += 1.0 if next_uniform(state, trial, 0) < 0.9 else 0.0
    return total


def kinds(arms: int) -> dict[str, dict[str, Any]]:
    """What policies are asked to play, by the name of the table's column."""
    means = [0.9, *np.linspace(0.8, 0.5, arms - 1).tolist()]
    return {
        "two-valued": {"arms": [{"kind": "bernoulli", "mean": mean} for mean in means]},
        "Pareto": {"arms": [{"kind": "pareto", "mean": 1 - k / (2 * arms), "shape": 2.5} for k in range(arms)]},
        "with features": {"contexts": {"dimension": 5, "arms": arms}},
    }


def experiment_of(policy: Policy, horizon: int, arms: int = ARMS) -> tuple[str, Experiment]:
    """The first kind of rewards that the policy accepts, and one trial of it.

    Raises
    ------
    LookupError
        Where it accepts none of them.
    """
    line: dict[str, Any] = {"policy": policy.name}
    if policy.epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": 1.0}
    for name, rewards in kinds(arms).items():
        with contextlib.suppress(InputError):
            spec = {**rewards, "lines": [line], "horizon": horizon, "trials": 1}
            return name, Experiment.model_validate(spec)
    raise LookupError(policy.name)


def cost(experiment: Experiment) -> tuple[float, float, float]:
    """Nanoseconds a pull, the same over bare draws, and over the estimate."""
    horizon, times, rows = experiment.horizon, checkpoints(experiment.horizon), streams(0, 0, MOST)
    line = prepared_lines(experiment)[0]

    def ours(trials: int) -> None:
        line.play(rows[:trials].copy(), times, Signal())

    ours(FEWEST)  # compiles
    trials = min(MOST, max(FEWEST, int(TIMED * FEWEST / seconds(lambda: ours(FEWEST)))))
    mine, bare = fastest(
        [(lambda: ours(trials), horizon * trials), (lambda: bare_draws(rows[:1].copy(), 10**6), 10**6)], REPEATS
    )
    return 1e9 * mine, mine / bare, mine * horizon / trial_seconds(experiment, 0)


def row_of(policy: Policy) -> list[Any]:
    """A policy's row of the table."""
    kinds, experiments = zip(*(experiment_of(policy, horizon) for horizon in HORIZONS), strict=True)
    columns = zip(*(cost(experiment) for experiment in experiments), strict=True)
    return [policy.name, kinds[0], *(cell for column in columns for cell in column)]


def accelerated(policy: Policy, setup: RunSetup) -> tuple[str, KernelCall, KernelCall] | None:
    """The accelerator's name, the call without it and the call with it; None where there is none."""
    fast = policy.prepare(setup)
    if isinstance(fast.rule, BatchRule):
        rewards, _, *rest = fast.arguments
        return "sums of batches", replace(fast, arguments=(rewards, False, *rest)), fast
    late = policy.prepare(replace(setup, feedback=Feedback(delay=1)))
    if late.rule is None or fast.kernel is late.rule.at_once:
        return None
    return fast.kernel.__name__, replace(late, kernel=late.rule.at_once), fast


def gains(policy: Policy) -> Iterator[list[Any]]:
    """A row for each size: nanoseconds a pull without the accelerator and with it, and their ratio."""
    for arms, horizon, trials in SIZES:
        setup, times = experiment_of(policy, horizon, arms)[1].setups[0], checkpoints(horizon)
        found = accelerated(policy, setup)
        if found is None:
            return
        name, *calls = found
        rows, steps = streams(0, 0, trials), 1e-9 * horizon * trials
        works = [(partial(run_kernel, call, rows, times, Signal()), steps) for call in calls]
        slow, quick = fastest(works, REPEATS)
        yield [policy.name, name, arms, f"{horizon:,}", slow, quick, slow / quick]


def home() -> None:
    """Print what Home computes when its slider moves: its lines, with an empty store and compiled kernels."""
    from ui.gallery import home_experiment  # here, since Streamlit warns when it is not served

    experiment = home_experiment(SLIDER)
    simulate(experiment, store=Store(None, 0))
    spent = []
    for _ in range(ROUNDS):
        start, processor = time.perf_counter(), time.process_time()
        simulate(experiment, store=Store(None, 0))
        spent.append((time.perf_counter() - start, time.process_time() - processor))
    clock, processor = (1e3 * min(each) for each in zip(*spent, strict=True))
    head = f"Home's lines, {experiment.horizon:,} users, {experiment.trials} runs"
    names = ", ".join(line.policy for line in experiment.lines)
    print_table([head, "ms on the clock", "ms of the processor"], [[names, clock, processor]])


def main() -> None:
    """Print the tables, the most expensive pulls first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="policies to measure (default: all, and Home)")
    parser.add_argument("--rules", action="store_true", help="what accelerators of rules gain")
    given = parser.parse_args()
    names = given.policies
    if unknown := set(names) - set(registry()):
        parser.error(f"no such policy: {', '.join(sorted(unknown))}; there are {', '.join(registry())}")
    print(machine(), end="\n\n")
    if given.rules:
        head = ["policy", "accelerator", "arms", "users", "ns a pull, rule", "accelerated", "factor"]
        print_table(head, (row for name in names or registry() for row in gains(registry()[name])))
        return
    rows = []
    for name in names or registry():
        rows.append(row_of(registry()[name]))
        print(".", end="", file=sys.stderr, flush=True)
    short, long = (f"T = {horizon:g}" for horizon in HORIZONS)
    print_table(
        ["policy", "rewards", f"ns a pull, {short}", long, f"times bare draws, {short}", long,
         f"measured / estimated, {short}", long],
        sorted(rows, key=lambda each: -each[3]),
    )  # fmt: skip
    if not names:
        home()


if __name__ == "__main__":
    main()
