"""The standing benchmark: a fixed set of tasks that every policy is played on, and what its runs lost.

The rules stay what they are for one `VERSION`; any change to a task, a budget, a number of users, the seeds or the
number of runs needs a new one.

1. A cell is a policy, a task, a budget and a number of users. A policy without privacy has one cell for each task and
   number of users.
2. Every parameter has its default, with the exceptions in `STATED` and a warm-up that never takes more than a tenth of
   the users. ``delta`` is the same for all, `DELTA`.
3. No policy knows more than the operator of a real system would: what it would read off the arms (bounds on moments,
   say) is replaced by what holds for any rewards in [0, 1].
4. Each number of users is a run of its own, so a policy may be made for it.
5. Each cell has streams of its own, from a seed derived from its name.
6. A cell has at least `LEAST` runs (`MOST` where they cost little), and more until the standard error of its mean is
   at most `PRECISION` of the mean, up to `MOST`.

What ships (`FILE`) is written by one command, ``benchmark --play --data FILE``. A row has a checksum of its first runs,
by which ``python -m benchmarks.shipped`` sees whether they still come out.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments.curves import line_bounds
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import Policy
from bandit_core.policies import registry, unknown_policy
from bandit_core.simulation.comparisons import interval
from bandit_core.simulation.costs import trial_seconds
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.store import Store
from bandit_core.simulation.together import Together
from bandit_core.spec.errors import InputError, Issue, unreadable
from bandit_core.studies.candidates import known_beforehand

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2
USERS = (1_000, 10_000, 50_000)
BUDGETS = (0.1, 0.5, 1.0, 5.0)
DELTA = 1e-6
LEAST, MOST = 400, 2_000  # runs of a cell
PRECISION = 0.02  # largest standard error of a cell's mean, as a share of the mean
CHEAP_SECONDS = 0.2  # a cell whose `MOST` runs take less, by our estimate, plays them all
TAIL = 0.95
CHECKED = 20  # runs in the checksum of a row
STATED: dict[str, dict[str, Any]] = {"ldp-sgd": {"project": 1.0}}  # users and server know that |theta| = 1
FILE = paths.ROOT / "presets" / "benchmark.csv"
DIGITS = 9  # of a number in the file
HALVES = (("first", "first_error"), ("second", "second_error"))
COLUMNS = (
    "version", "policy", "privacy", "measure", "task", "epsilon", "users", "guarantee_epsilon", "guarantee_delta",
    "floor", "blind", "checksum", "runs", "mean", "low", "high", "sd", "tail", *itertools.chain(*HALVES),
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Arms, or users with features."""

    name: str
    words: str
    instance: dict[str, Any] = field(repr=False)

    @property
    def setting(self) -> str:
        """What a policy must be able to play: "arms" or "contexts"."""
        return next(iter(self.instance))


def _coins(name: str, best: float, others: float, count: int) -> Task:
    instance = [{"kind": "bernoulli", "mean": best}, {"kind": "bernoulli", "mean": others, "count": count - 1}]
    words = f"{count} arms: the best one pays with chance {best:g}, the others {others:g}"
    return Task(name, words, {"arms": instance})


def _unequal() -> Task:
    means = [0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05]
    words = f"8 arms, unequal gaps: chances {', '.join(f'{mean:g}' for mean in means)}"
    return Task("8-unequal", words, {"arms": [{"kind": "bernoulli", "mean": mean} for mean in means]})


def _beta() -> Task:
    arms = [{"kind": "beta", "a": 3.0, "b": 2.0}, {"kind": "beta", "a": 2.0, "b": 2.0, "count": 4}]
    return Task("5-beta", "5 arms, rewards from Beta(3, 2) for the best one, Beta(2, 2) for the others", {"arms": arms})


def _clamped_normal(mean: float, sd: float, count: int, parts: int = 20) -> dict[str, Any]:
    """Rewards on the grid 0, 1/parts, ..., 1: a normal one, rounded to it and clamped to [0, 1]."""
    edges = (np.arange(parts) + 0.5) / parts
    below = [0.5 * (1 + math.erf((edge - mean) / (sd * math.sqrt(2)))) for edge in edges]
    counts = np.rint(1e6 * np.diff([0.0, *below, 1.0])).astype(int)
    kept = [(place / parts, int(number)) for place, number in enumerate(counts) if number > 0]
    values, numbers = zip(*kept, strict=True)
    return {"kind": "empirical", "values": list(values), "counts": list(numbers), "count": count}


def _normal() -> Task:
    words = "5 arms, normal rewards (sd 0.2) clamped to [0, 1] in steps of 0.05: mean 0.6 for the best one, 0.5 else"
    return Task("5-normal", words, {"arms": [_clamped_normal(0.6, 0.2, 1), _clamped_normal(0.5, 0.2, 4)]})


def _features(name: str, words: str, arms: int, noise: float, **contexts: Any) -> Task:
    whole = f"users with 5 features, {arms} arms, {words}, noise {noise:g}"
    return Task(name, whole, {"contexts": {"dimension": 5, "arms": arms, "noise": noise, **contexts}})


TASKS = (
    _coins("2-wide", 0.8, 0.5, 2),
    _coins("2-narrow", 0.3, 0.25, 2),
    _coins("10-wide", 0.8, 0.5, 10),
    _coins("10-narrow", 0.3, 0.25, 10),
    _coins("30-wide", 0.8, 0.5, 30),
    _unequal(),
    _beta(),
    _normal(),
    _features("features-one", "one parameter for all", 10, 0.3),
    _features("features-noisy", "one parameter for all", 10, 0.5),
    _features("features-each", "a parameter for each", 3, 0.3, structure="multi"),
)


@dataclass(frozen=True)
class Cell:
    """One policy on one task with one budget (None without privacy), for so many users.

    ``salt`` gives other streams: a check of the numbers plays with them.
    """

    policy: Policy
    task: Task
    epsilon: float | None
    users: int
    salt: str = ""

    @property
    def seed(self) -> int:
        """Of its streams, from its name, which holds no number of runs."""
        name = f"{VERSION} {self.policy.name} {self.task.name} {self.epsilon} {self.users} {self.salt}"
        return int(hashlib.sha256(name.encode()).hexdigest()[:13], 16)

    def experiment(self, runs: int = LEAST) -> Experiment:
        """What is played.

        Raises
        ------
        InputError
            When the policy refuses the task, or the budget.
        """
        line: dict[str, Any] = {"policy": self.policy.name, "params": self._stated()}
        if self.epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": self.epsilon}
        document = {**self.task.instance, "lines": [line], "horizon": self.users, "trials": runs, "seed": self.seed}
        asked = Experiment.model_validate(document)
        own = {} if self.policy.guarantee(asked.setups[0]).delta == 0 else {"delta": DELTA}
        if self.task.setting == "arms":
            own |= known_beforehand(self.policy, asked)
        if own:
            asked = asked.with_changes(lines=[line | {"params": line["params"] | own}])
        return asked

    def _stated(self) -> dict[str, Any]:
        """Parameters that are not left at their default, whatever the arms are."""
        stated = dict(STATED.get(self.policy.name, {}))
        contexts = self.task.instance.get("contexts", {})
        warm_up = self.policy.parameters.model_fields.get("warm_up")
        if warm_up is not None and contexts.get("structure") == "multi":
            stated["warm_up"] = max(1, min(warm_up.default, self.users // (10 * contexts["arms"])))
        return stated


def cells(policy: Policy, salt: str = "") -> list[tuple[Cell, Experiment]]:
    """Every cell that a policy accepts, with what is played there.

    Raises
    ------
    InputError
        When it accepts none, for the reason that it gives at the first.
    """
    found, refusal = [], None
    budgets = (None,) if policy.privacy == "none" else BUDGETS
    for task, epsilon, users in itertools.product(TASKS, budgets, USERS):
        if task.setting != policy.setting:
            continue
        cell = Cell(policy, task, epsilon, users, salt)
        try:
            found.append((cell, cell.experiment()))
        except InputError as error:
            refusal = refusal or error
    if not found and refusal is not None:
        raise refusal
    return found


def first_runs(experiment: Experiment) -> int:
    """Runs to begin with: `MOST` where they cost little, else `LEAST`."""
    return MOST if MOST * trial_seconds(experiment, 0) <= CHEAP_SECONDS else LEAST


def runs_wanted(losses: np.ndarray) -> int:
    """Runs after which the standard error of the mean is likely to be at most `PRECISION` of it, at most `MOST`.

    ``losses``, shape (runs,), are those so far; no fewer are wanted. A tenth more than these say, since a deviation
    that is estimated too small would stop the runs too early.
    """
    mean, deviation = float(losses.mean()), _deviation(losses)
    if deviation <= PRECISION * mean * math.sqrt(len(losses)):
        return len(losses)
    wanted = math.inf if mean <= 0 else 1.1 * (deviation / (PRECISION * mean)) ** 2
    return max(len(losses), math.ceil(min(MOST, wanted)))


class Play(Together["pd.DataFrame"]):
    """A policy played on every task; polled and stopped like a `Simulation`. The result has a row for each cell."""

    def __init__(self, policy: Policy, store: Store | None = None, salt: str = "") -> None:
        self.cells = cells(policy, salt)
        first = [experiment.with_changes(trials=first_runs(experiment)) for _, experiment in self.cells]
        # Whole curves of this many runs would fill the store on disk; what is kept of them is their end.
        super().__init__(first, store or Store(None, 0))

    def run(self, jobs: int | None = None, on_progress: Callable[[Any], None] | None = None) -> pd.DataFrame:
        """Compute what is missing, until every cell has the runs that it wants."""
        super().run(jobs, on_progress)
        while not self.stopped and self._longer():
            super().run(jobs, on_progress)
        return self.result()

    def _longer(self) -> bool:
        """Make the runs of cells more where their means are not known well enough; whether there are any."""
        more = False
        for place, played in enumerate(self.results):
            losses = _losses(played)
            wanted = runs_wanted(losses)
            if wanted > len(losses):
                simulation = self._simulations[place]
                longer = simulation.experiment.with_changes(trials=wanted)
                self._simulations[place] = Simulation(longer, simulation.store)
                more = True
        return more

    def result(self) -> pd.DataFrame:
        """Rows with `COLUMNS`, of the cells whose runs are all there."""
        import pandas as pd

        rows = []
        for (cell, _), played in zip(self.cells, self.results, strict=True):
            [line] = played.lines
            if line is not None and line.count == played.experiment.trials:
                rows.append((*_facts(cell, played.experiment), checksum(line), *summary(_losses(played))))
        return pd.DataFrame(rows, columns=list(COLUMNS))


def _losses(played: Any) -> np.ndarray:
    [line] = played.lines
    return np.asarray(line.regret[:, -1], float)


def summary(losses: np.ndarray) -> tuple[float, ...]:
    """What the file keeps of the losses of a cell, shape (runs,), in reward units.

    Returns
    -------
    runs, mean, low, high, sd, tail, first, first_error, second, second_error
        The ends of the 95% interval of the mean, the standard deviation, the `TAIL` quantile, and mean and standard
        error over each half: runs 0, 2, 4, ... and runs 1, 3, 5, ...
    """
    halves = [losses[0::2], losses[1::2]]
    ends = interval(losses)
    numbers = [losses.mean(), *map(float, ends), _deviation(losses), np.quantile(losses, TAIL)]
    for half in halves:
        numbers += [half.mean(), _deviation(half) / math.sqrt(len(half))]
    return (len(losses), *(float(f"{float(value):.{DIGITS}g}") for value in numbers))


def checksum(line: LineResult) -> str:
    """Hash of the regret and the pulls of the first `CHECKED` runs, to `DIGITS` digits."""
    numbers = np.hstack([line.regret, line.pulls])[:CHECKED]
    return hashlib.sha256(" ".join(f"{each:.{DIGITS}g}" for each in numbers.flat).encode()).hexdigest()[:16]


def _deviation(losses: np.ndarray) -> float:
    """Standard deviation, 0 where all are alike but for rounding."""
    return float(losses.std(ddof=1)) if np.ptp(losses) > 1e-12 * abs(losses).max() else 0.0


def _facts(cell: Cell, experiment: Experiment) -> tuple[Any, ...]:
    kept = cell.policy.guarantee(experiment.setups[0])
    return (
        VERSION, cell.policy.name, cell.policy.privacy, "pure" if kept.measure == "pure" else "approximate",
        cell.task.name, math.nan if cell.epsilon is None else cell.epsilon, cell.users,
        math.nan if kept.epsilon is None else kept.epsilon, kept.delta, _floor(experiment),
        float(f"{blind_loss(experiment):.{DIGITS}g}"),
    )  # fmt: skip


def _floor(experiment: Experiment) -> float:
    """The largest lower bound on the expected regret that binds, at this number of users, every policy that keeps the
    promise on this very task; NaN where none is known. In reward units.
    """
    values = [
        float(bound.values(checkpoints(experiment.horizon)[-1:], experiment.largest_gap)[0])
        for bound in line_bounds(experiment, 0)
        if bound.side == "lower" and bound.form == "bound" and bound.kind == "problem-dependent"
        if bound.not_applicable is None and not bound.only and not bound.worst_case
    ]
    return float(f"{max(values):.{DIGITS}g}") if values else math.nan


def blind_loss(experiment: Experiment) -> float:
    """Expected regret of choosing every arm equally often, without looking at any reward. In reward units.

    With features (identity link, contexts and parameters uniform on the unit sphere) from a million numbers that are
    always the same: right to about 1%.
    """
    contexts = experiment.contexts
    if contexts is None:
        means = np.array([arm.expected for arm in experiment.setups[0].arms])
        return float(experiment.horizon * (means.max() - means.mean()))
    drawn = np.random.default_rng(0).normal(size=(20_000, contexts.arms, contexts.dimension))
    predicted = drawn[..., 0] / np.linalg.norm(drawn, axis=2)
    return float(experiment.horizon * (predicted.max(axis=1) - predicted.mean(axis=1)).mean())


def named(names: Sequence[str]) -> list[Policy]:
    """The policies of these names, all for none.

    Raises
    ------
    InputError
        For a name that no policy has.
    """
    known = registry()
    for name in names:
        if name not in known:
            raise InputError([Issue("name", name, unknown_policy(name))])
    return [known[name] for name in names or known]


# ---------------------------------------------------------------------------------------------------------------
# The file


def load(path: Path | str = FILE) -> pd.DataFrame:
    """The rows of a file that `write` wrote.

    Raises
    ------
    InputError
        When it cannot be read, or was made by other rules.
    """
    import pandas as pd

    try:
        rows = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError([unreadable("data", path, error)]) from None
    if tuple(rows.columns) != COLUMNS or not (rows["version"] == VERSION).all():
        raise InputError([Issue("data", str(path), f"a file of the benchmark's version {VERSION}")])
    return rows


def write(rows: pd.DataFrame, path: Path | str) -> None:
    """Write the rows as CSV, a policy after the other in the order of the registry.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    places = {name: place for place, name in enumerate(registry())}
    ordered = rows.sort_values("policy", key=lambda names: names.map(places), kind="stable")
    try:
        ordered.to_csv(path, index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")
    except OSError as error:
        raise InputError([Issue("data", str(path), f"cannot be written: {error.strerror}")]) from None


def replaced(rows: pd.DataFrame, by: pd.DataFrame) -> pd.DataFrame:
    """The rows, with those of every policy that is played anew in the place of its old ones."""
    import pandas as pd

    kept = rows[~rows["policy"].isin(by["policy"])]
    return pd.concat([kept, by], ignore_index=True) if len(kept) else by
