"""What an experiment costs, and what a server allows: estimates of time and memory, and limits from the environment."""

from __future__ import annotations

import math
import os

from bandit_core.experiment import Experiment
from bandit_core.problems import InvalidInput, Problem

STEP_SECONDS = 25e-9  # one pull of `ucb` with up to 20 arms, per core; for cost estimates only
TRIAL_SECONDS = 25e-6  # seeding a trial and setting up its arms, however short it is


def _setting(name: str, default: int) -> int:
    """A whole number of at least 1 from the environment; ``1e9`` is one, too."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
        if value >= 1 and value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput([Problem(name, text, "this environment variable takes a whole number of at least 1")])


def worker_count(jobs: int | None = None) -> int:
    """Workers to use: ``jobs``, else ``LAB_JOBS``, else every core this process may use.

    Raises
    ------
    InvalidInput
        When one of them is no whole number of at least 1.
    """
    if jobs is None:
        jobs = _setting("LAB_JOBS", 0)
    elif jobs < 1:
        raise InvalidInput([Problem("jobs", jobs, "a whole number of at least 1")])
    if jobs == 0:
        import joblib

        jobs = joblib.cpu_count()
    return jobs


def trial_seconds(experiment: Experiment, line: int) -> float:
    """Rough time of one trial of a line on one core."""
    arms = experiment.arm_count
    crowd = max(1.0, math.log2(arms / 10)) if experiment.contexts is None else 1.0
    cost = experiment.lines[line].entry.cost(experiment.instances[line])
    pulls = experiment.horizon * STEP_SECONDS * crowd * cost
    return pulls + TRIAL_SECONDS * (1 + arms / 100)


def estimated_seconds(experiment: Experiment, jobs: int | None = None) -> float:
    """Rough wall-clock time of the whole experiment, nothing cached (reads no clock, so it is the same everywhere)."""
    work = sum(trial_seconds(experiment, line) for line in range(len(experiment.lines))) * experiment.trials
    return work / worker_count(jobs)


def steps(experiment: Experiment) -> int:
    """Pulls that the whole experiment takes: horizon x trials x lines."""
    return experiment.horizon * experiment.trials * len(experiment.lines)


def most_steps() -> int:
    """What one run may cost (``LAB_MAX_STEPS``).

    Raises
    ------
    InvalidInput
        When the variable is no whole number: a limit that its owner believes in must not vanish.
    """
    return _setting("LAB_MAX_STEPS", 10**12)


def most_runs() -> int:
    """How many long runs of one process may be going at once (``LAB_MAX_RUNS``); others wait their turn."""
    return _setting("LAB_MAX_RUNS", 16)


def most_bytes() -> int:
    """Memory that the trials of one result may take (``LAB_MAX_RESULT_MB``)."""
    return _setting("LAB_MAX_RESULT_MB", 2048) * 2**20


def result_bytes(experiment: Experiment) -> int:
    """Memory of all trials: regret, best pulls (and error) at the checkpoints, pulls of every arm."""
    curves = 2 if experiment.contexts is None else 3
    numbers = curves * min(experiment.horizon, 200) + experiment.arm_count
    return 8 * numbers * experiment.trials * len(experiment.lines)


def refuse_if_too_large(experiment: Experiment) -> None:
    """Raise `InvalidInput` where the experiment takes more steps or memory than is allowed here."""
    problems = []
    if steps(experiment) > most_steps():
        allowed = (
            f"at most {most_steps():.3g} steps (horizon x trials x lines) here; use a shorter horizon or fewer "
            "trials, or run it on your own machine, where nobody else waits"
        )
        problems.append(Problem("horizon", f"{steps(experiment):.3g} steps", allowed))
    if result_bytes(experiment) > most_bytes():
        allowed = f"at most {most_bytes() / 2**20:g} MiB of results here; use fewer trials, arms or lines"
        problems.append(Problem("trials", f"{result_bytes(experiment) / 2**20:.0f} MiB", allowed))
    if problems:
        raise InvalidInput(problems)
