"""What an experiment costs, and what a server allows: estimates of time and memory, and limits from the environment."""

import contextlib
import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from bandit_core.experiments.experiment import Experiment
from bandit_core.spec.errors import InputError, Issue, raise_any
from bandit_core.spec.rewards import Empirical

STEP_SECONDS = 25e-9  # one pull of `ucb` with up to 20 arms, per core; for cost estimates only
TRIAL_SECONDS = 25e-6  # seeding a trial and setting up its arms, however short it is
RECORD_SECONDS = 3e-9  # adding one arm up at one checkpoint
SHORTEST_TASK, LONGEST_TASK = 0.010, 0.25  # seconds of work in one task of the thread pool
STOP_CHECK_SECONDS = 0.25  # seconds, by our estimate, after which a kernel looks whether it was stopped
MAX_STOP_CHECKS = 20_000  # in one trial
# Whole numbers from the environment: the least that is allowed, and what counts where nothing is said. One run takes at
# most so many steps, seconds (on all workers, by our estimate) and megabytes; so many runs of seconds, and so many
# longer ones, of one process go on at once.
SETTINGS = {
    "LAB_JOBS": (1, 0), "LAB_MAX_STEPS": (1, 10**12), "LAB_MAX_SECONDS": (1, 10**9), "LAB_MAX_RUNS": (1, 16),
    "LAB_MAX_RESULT_MB": (1, 2048), "LAB_CACHE_MB": (0, 512),
}  # fmt: skip


def setting(name: str) -> int:
    """What the environment says of one of `SETTINGS`; ``1e9`` is a whole number, too.

    Raises
    ------
    InputError
        When it is no number that is allowed: a limit that its owner believes in must not vanish.
    """
    text, (least, default) = os.environ.get(name, "").strip(), SETTINGS[name]
    if not text:
        return default
    try:
        value = float(text)
        if value >= least and value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise InputError([Issue(name, text, f"this environment variable takes a whole number of at least {least}")])


def check_settings() -> None:
    """Raise `InputError` with all of `SETTINGS` that are wrong."""
    issues: list[Issue] = []
    for name in SETTINGS:
        try:
            setting(name)
        except InputError as error:
            issues += error.issues
    raise_any(issues)


def worker_count(jobs: int | None = None) -> int:
    """Workers to use: ``jobs``, else ``LAB_JOBS``, else every core this process may use.

    Raises
    ------
    InputError
        When one of them is no whole number of at least 1.
    """
    if jobs is None:
        jobs = setting("LAB_JOBS")
    elif jobs < 1:
        raise InputError([Issue("jobs", jobs, "a whole number of at least 1")])
    return jobs or _cores()


@cache
def _cores() -> int:
    """Cores that this process may use: by its affinity, and by the quota of its container (cgroup v2)."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no such file, or no quota in it
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split())
        found = min(found, math.ceil(quota / period))
    return found


def trial_seconds(experiment: Experiment, line: int) -> float:
    """Rough time of one trial of a line on one core."""
    arms = experiment.arm_count
    pulls = experiment.horizon * STEP_SECONDS * experiment.lines[line].entry.cost(experiment.setups[line])
    return pulls + TRIAL_SECONDS * (1 + arms / 100) + RECORD_SECONDS * min(experiment.horizon, 200) * arms


def estimated_seconds(experiment: Experiment, jobs: int | None = None) -> float:
    """Rough wall-clock time of the whole experiment, nothing cached (reads no clock, so it is the same everywhere)."""
    work = sum(trial_seconds(experiment, line) for line in range(len(experiment.lines))) * experiment.trials
    return work / worker_count(jobs)


def steps(experiment: Experiment) -> int:
    """Pulls that the whole experiment takes: horizon x trials x lines."""
    return experiment.horizon * experiment.trials * len(experiment.lines)


def most_steps() -> int:
    """What one run may cost (``LAB_MAX_STEPS``)."""
    return setting("LAB_MAX_STEPS")


def _row_bytes(experiment: Experiment) -> int:
    """Memory of one trial: regret, best pulls (and error) at the checkpoints, pulls of every arm."""
    curves = 2 if experiment.contexts is None else 3
    return 8 * (curves * min(experiment.horizon, 200) + experiment.arm_count)


def _table_bytes(experiment: Experiment) -> int:
    """Memory of what all workers share: the arms' distributions, each once however often it stands there, and their
    texts.
    """
    distributions = {arm.single for arm in experiment.arms}
    distributions |= set() if experiment.clip is None else {*experiment.seen_arms}
    observed = [distribution for distribution in distributions if isinstance(distribution, Empirical)]
    numbers = sum(len(distribution.values) * (1 if distribution.counts is None else 2) for distribution in observed)
    single = sum(arm.count for arm in experiment.arms)
    return 136 * numbers + 2000 * len(experiment.arms) + (100 + 40 * len(experiment.lines)) * single


def block_trials(trials: int, seconds: float, workers: int) -> int:
    """Trials in one task: at least 10 ms and, where one trial allows it, at most 0.25 s of work."""
    smallest, largest = (max(1, round(limit / seconds)) for limit in (SHORTEST_TASK, LONGEST_TASK))
    return min(trials, largest, max(smallest, math.ceil(trials / workers)))


def _block_bytes(experiment: Experiment, line: int, seconds: float, workers: int) -> float:
    """Memory of one block in the making: what its kernel holds, the block, and its copies on the way to the store."""
    rows = block_trials(experiment.trials, seconds, workers)
    held = experiment.lines[line].entry.held(experiment.setups[line], rows)
    looks = 24 * min(MAX_STOP_CHECKS, math.ceil(seconds / STOP_CHECK_SECONDS))
    return 8 * held + rows * (4 * _row_bytes(experiment) + looks + 128)


@dataclass(frozen=True)
class Cost:
    """What some lines of an experiment take: steps, seconds on all workers, bytes kept till the end, and meanwhile."""

    steps: int
    seconds: float
    kept: float
    meanwhile: float

    @property
    def bytes(self) -> float:
        """Memory at its highest."""
        return self.kept + self.meanwhile

    def __add__(self, other: Self) -> Self:
        """One after the other: what is kept adds up."""
        return type(self)(
            self.steps + other.steps,
            self.seconds + other.seconds,
            self.kept + other.kept,
            max(self.meanwhile, other.meanwhile),
        )


def cost(experiment: Experiment, lines: list[int] | None = None, jobs: int | None = None) -> Cost:
    """What these lines (default: all of them) take, nothing cached. Allocates nothing of it."""
    chosen = range(len(experiment.lines)) if lines is None else lines
    workers = worker_count(jobs)
    each = {line: trial_seconds(experiment, line) for line in chosen}
    seconds = sum(each.values()) * experiment.trials / workers
    # The results, and a copy of them for the picture of an unfinished run.
    kept = (2 * _row_bytes(experiment) + 66) * experiment.trials * len(chosen)
    block = max((_block_bytes(experiment, line, one, workers) for line, one in each.items()), default=0.0)
    meanwhile = 2**19 + _table_bytes(experiment) + workers * block  # threads and small things come first
    return Cost(experiment.horizon * experiment.trials * len(chosen), seconds, kept, meanwhile)


def refuse(taken: Cost, path: str = "", factors: str = "horizon x trials x lines", fewer: str = "") -> None:
    """Raise `InputError` where that is more steps, seconds or memory than is allowed here, or a setting is wrong.

    ``path`` is the field to name (default: one that weighs much), ``factors`` says what the steps are made of, and
    ``fewer`` what there may be less of besides trials.
    """
    check_settings()
    issues = []
    less = f"use a shorter horizon or fewer {fewer}trials, or run it on your own machine, where no one else waits"
    if taken.steps > most_steps():
        allowed = f"at most {most_steps():.3g} steps ({factors}) here; {less}"
        issues.append(Issue(path or "horizon", f"{taken.steps:.3g} steps", allowed))
    if taken.seconds > (most := setting("LAB_MAX_SECONDS")):
        allowed = f"at most {most:.3g} seconds of computing (estimated) here; {less}"
        issues.append(Issue(path or "horizon", f"{taken.seconds:.3g} seconds", allowed))
    if taken.bytes > (most := setting("LAB_MAX_RESULT_MB")) * 2**20:
        allowed = (
            f"at most {most:g} MiB of results, tables and kernels at work here; use fewer "
            f"{fewer}trials, lines, arms, features or observed values"
        )
        issues.append(Issue(path or "trials", f"{taken.bytes / 2**20:.0f} MiB", allowed))
    raise_any(issues)


def refuse_if_too_large(experiment: Experiment) -> None:
    """`refuse` what a whole experiment takes."""
    refuse(cost(experiment))
