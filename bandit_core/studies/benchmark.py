"""The standing benchmark: a fixed set of tasks that every policy is played on, and the regret of every trial.

The rules stay what they are for one `VERSION`; whoever changes a task, a budget, a number of users, the seed or the
number of trials gives it a new one.

1. A cell is a task, a budget and a number of users. A policy without privacy has one cell for each task and number of
   users.
2. Policies come as they are: every parameter at its default. Only ``delta`` is the same for all, `DELTA`.
3. No policy is told more than users would know beforehand: what it would read off the arms (bounds on moments, say) is
   replaced by what holds for any rewards in [0, 1].
4. Each number of users is a run of its own, so a policy may be made for its horizon.
5. Trial i of every policy plays with the same stream, so policies are compared over pairs of trials.

What ships (`FILE`) is written by one command, ``benchmark --play --data FILE``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_core import places
from bandit_core.experiments.curves import line_bounds
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import Policy
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.simulation.together import Together
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies.best_method import known_beforehand

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
SEED = 20_261_122
TRIALS = 40
USERS = (1_000, 10_000, 100_000)
BUDGETS = (0.1, 0.5, 1.0, 5.0)
DELTA = 1e-6
FILE = places.ROOT / "presets" / "benchmark.csv"
DIGITS = 9  # of a regret in the file
LOSSES = tuple(f"trial_{number}" for number in range(TRIALS))
COLUMNS = (
    "version", "policy", "privacy", "measure", "task", "epsilon", "users", "guarantee_epsilon", "guarantee_delta",
    "floor", "key", *LOSSES,
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Arms, or users with features; ``gap`` is "wide" or "narrow", and empty with features."""

    name: str
    words: str
    arms: int
    gap: str
    instance: dict[str, Any] = field(repr=False)

    @property
    def setting(self) -> str:
        """What a policy must be able to play: "arms" or "contexts"."""
        return next(iter(self.instance))


def _coins(count: int, gap: str, best: float, others: float) -> Task:
    instance = [{"kind": "bernoulli", "mean": best}, {"kind": "bernoulli", "mean": others, "count": count - 1}]
    words = f"{count} arms, a {gap} gap: the best one pays with chance {best:g}, the others {others:g}"
    return Task(f"{count}-{gap}", words, count, gap, {"arms": instance})


def _features(name: str, words: str, arms: int, **contexts: Any) -> Task:
    told = f"users with 5 features, {arms} arms, {words}"
    return Task(name, told, arms, "", {"contexts": {"dimension": 5, "arms": arms, **contexts}})


TASKS = (
    *(_coins(count, *gap) for count in (2, 10, 100) for gap in (("wide", 0.8, 0.5), ("narrow", 0.3, 0.25))),
    _features("features-one", "one parameter for all", 10),
    _features("features-each", "a parameter for each", 3, structure="multi"),
)


@dataclass(frozen=True)
class Cell:
    """One policy on one task with one budget (None without privacy), for so many users."""

    policy: Policy
    task: Task
    epsilon: float | None
    users: int

    def experiment(self) -> Experiment:
        """What is played.

        Raises
        ------
        InputError
            When the policy refuses the task, or the budget.
        """
        line: dict[str, Any] = {"policy": self.policy.name}
        if self.epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": self.epsilon}
        document = {**self.task.instance, "lines": [line], "horizon": self.users, "trials": TRIALS, "seed": SEED}
        asked = Experiment.model_validate(document)
        own = {} if self.policy.guarantee(asked.setups[0]).delta == 0 else {"delta": DELTA}
        if self.task.setting == "arms":
            own |= known_beforehand(self.policy, asked)
        if own:
            asked = asked.with_changes(lines=[line | {"params": own}])
        return asked


def cells(policy: Policy) -> list[tuple[Cell, Experiment]]:
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
        cell = Cell(policy, task, epsilon, users)
        try:
            found.append((cell, cell.experiment()))
        except InputError as error:
            refusal = refusal or error
    if not found and refusal is not None:
        raise refusal
    return found


def key(experiment: Experiment) -> str:
    """Of the numbers in a cell: they are outdated once it has changed (see `PreparedLine.portable_key`)."""
    [line] = prepared_lines(experiment)
    return line.portable_key(checkpoints(experiment.horizon), experiment.seed)[:16]


class Play(Together["pd.DataFrame"]):
    """A policy played on every task; polled and stopped like a `Simulation`. The result has a row for each cell."""

    def __init__(self, policy: Policy, store: Store | None = None) -> None:
        self.cells = cells(policy)
        super().__init__([experiment for _, experiment in self.cells], store)

    def result(self) -> pd.DataFrame:
        """Rows with `COLUMNS`, of the cells whose trials are all there."""
        import pandas as pd

        rows = []
        for (cell, experiment), played in zip(self.cells, self.results, strict=True):
            [line] = played.lines
            if line is not None and line.count == TRIALS:
                losses = (float(f"{loss:.{DIGITS}g}") for loss in line.regret[:, -1])
                rows.append((*_facts(cell, experiment), *losses))
        return pd.DataFrame(rows, columns=list(COLUMNS))


def _facts(cell: Cell, experiment: Experiment) -> tuple[Any, ...]:
    kept = cell.policy.guarantee(experiment.setups[0])
    return (
        VERSION, cell.policy.name, cell.policy.privacy, "pure" if kept.measure == "pure" else "approximate",
        cell.task.name, math.nan if cell.epsilon is None else cell.epsilon, cell.users,
        math.nan if kept.epsilon is None else kept.epsilon, kept.delta, _floor(experiment), key(experiment),
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
            raise InputError([Issue("name", name, "a policy; `list policies` says which there are")])
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
        raise InputError([Issue("data", str(path), f"cannot be read: {error}")]) from None
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


def outdated(rows: pd.DataFrame) -> Iterator[str]:
    """Policies of the registry whose rows are missing, or whose numbers would be others now."""
    for policy in registry().values():
        shipped = set(rows.loc[rows["policy"] == policy.name, "key"])
        if shipped != {key(experiment) for _, experiment in cells(policy)}:
            yield policy.name
