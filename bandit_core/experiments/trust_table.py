"""The best method of each level of trust on the arms of the preset ``trust``, as ``presets/best-by-trust.csv`` says.

The file has a row per usual budget with a method per level in the notation of links: ``dp-imed``, or ``dp-imed(1.5)``
where it spends less than the level promises. ``python -m benchmarks.best_by_trust`` makes it. Where the budget of that
preset moves, its methods follow the table.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment, Line, numbers_of, setting_of
from bandit_core.experiments.presets import at_shared, load_preset, shared_budget
from bandit_core.model import Privacy
from bandit_core.policies import registry
from bandit_core.spec import notation
from bandit_core.spec.budgets import Fixed
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.number_text import write_number

FILE = paths.ROOT / "presets" / "best-by-trust.csv"
PRESET = "trust"
LEVELS: tuple[Privacy, ...] = ("none", "central", "local")  # in the order of the preset's lines


class Method(NamedTuple):
    """A candidate: a policy, and the budget (nats) that it spends where that is less than it may (None: all of it)."""

    policy: str
    spent: float | None = None

    @property
    def title(self) -> str:
        """What a reader calls it."""
        less = "" if self.spent is None else f", as at ε = {write_number(self.spent)}"
        return registry()[self.policy].title + less


@cache
def table() -> Mapping[float, Mapping[Privacy, Method]]:
    """The method of each level by budget, as the file says."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {float(row["epsilon"]): {level: _read(row[level]) for level in LEVELS} for row in csv.DictReader(file)}


def _read(cell: str) -> Method:
    [line] = notation.read_lines(cell)
    return Method(line["policy"], float(line["epsilon"]["value"]) if "epsilon" in line else None)


def at(epsilon: float) -> Mapping[Privacy, Method]:
    """The method of each level at one of the usual budgets.

    Raises
    ------
    InputError
        At another budget.
    """
    refuse_if(epsilon not in table(), "epsilon", epsilon, f"one of {', '.join(f'{each:g}' for each in table())}")
    return table()[epsilon]


def lines(
    epsilon: float, labels: Sequence[str | None], methods: Mapping[Privacy, Method] | None = None
) -> list[dict[str, Any]]:
    """A line for each level at a budget, as a document, with these labels (None for none).

    Without ``methods`` by those of the table, which has the usual budgets only.
    """
    methods = at(epsilon) if methods is None else methods
    return [
        {"policy": method.policy}
        | ({} if level == "none" else {"epsilon": {"kind": "fixed", "value": method.spent or epsilon}})
        | ({} if label is None else {"label": label})
        for (level, method), label in zip(methods.items(), labels, strict=True)
    ]


def position(experiment: Experiment) -> float | None:
    """The budget of the table that an experiment shows; None where its arms, users or lines are of its own."""
    if setting_of(experiment) != setting_of(load_preset(PRESET)) or any(map(attrgetter("params"), experiment.lines)):
        return None
    return _positions().get(tuple([numbers[:2] for numbers in experiment.played]))


@cache
def _positions() -> dict[tuple[Any, ...], float]:
    """The budget of the table by what its lines play."""
    read = {epsilon: map(Line.model_validate, lines(epsilon, [None] * len(LEVELS))) for epsilon in table()}
    return {tuple([numbers_of(line)[:2] for line in played]): epsilon for epsilon, played in read.items()}


def followed(before: Experiment, after: Experiment) -> Experiment:
    """``after``, by the methods of the table where ``before`` showed it and nothing but the shared budget has moved.

    At other than the usual budgets, and where arms, users or lines change, it stays as it is.
    """
    shared, was = shared_budget(after), shared_budget(before)
    epsilon = None if shared is None else shared.fixed
    if epsilon is None or epsilon not in table() or position(before) is None or position(after) == epsilon:
        return after
    moved = Fixed(value=epsilon)
    only_moved = [
        (policy, moved if budget and budget == was else budget, params) for policy, budget, params in before.played
    ]
    if setting_of(after) != setting_of(before) or after.played != only_moved:
        return after
    changed = after.with_changes(lines=lines(epsilon, [line.label for line in after.lines]))
    return after if changed.played == after.played else changed


def moved(experiment: Experiment, budget: float | dict[str, Any]) -> Experiment:
    """The experiment with another shared budget; one that shows the table shows it there, too.

    Raises
    ------
    InputError
        Where a line does not take the budget.
    """
    return followed(experiment, at_shared(experiment, budget))
