"""The best method of each level of trust on the arms of the preset ``trust``, at every position of Home's slider.

A `Contest` on seeds that no page shows chooses them; ``python -m benchmarks.best_by_trust`` writes what it chose into
``presets/best-by-trust.csv``, a row per budget with a policy per level. Pages read the table, so they need no contest.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache

from bandit_core import places
from bandit_core.experiments.presets import load_preset
from bandit_core.model import Privacy
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies.best_method import Question, best_methods
from bandit_core.studies.sweep import EPSILONS

FILE = places.ROOT / "presets" / "best-by-trust.csv"
PRESET = "trust"
LEVELS: tuple[Privacy, ...] = ("none", "central", "local")  # in the order of the preset's lines
BUDGETS = tuple(epsilon for epsilon in EPSILONS if 0.1 <= epsilon <= 8)  # nats


def decide(epsilon: float, store: Store | None = None) -> dict[Privacy, str]:
    """The policy of each level that the contest chooses at a budget, anew."""
    preset = load_preset(PRESET)
    question = Question(tuple(preset.arms), preset.horizon, epsilon, seed=preset.seed)
    decision = best_methods(question, LEVELS, store=store)
    chosen = zip(decision.levels, decision.result.experiment.lines, strict=True)
    told = {level: line for level, line in chosen}
    assert not any(line.params for line in told.values())  # the table names policies only
    return {level: line.policy for level, line in told.items()}


@cache
def table() -> Mapping[float, Mapping[Privacy, str]]:
    """The policy of each level by budget, as the file says."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {float(row["epsilon"]): {level: row[level] for level in LEVELS} for row in csv.DictReader(file)}


def at(epsilon: float) -> Mapping[Privacy, str]:
    """The policy of each level at one of `BUDGETS`.

    Raises
    ------
    InputError
        At another budget.
    """
    if epsilon not in table():
        raise InputError([Issue("epsilon", epsilon, f"one of {', '.join(f'{each:g}' for each in BUDGETS)}")])
    return table()[epsilon]


def write(store: Store | None = None) -> None:
    """Write the table anew."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["epsilon", *LEVELS])
        for epsilon in BUDGETS:
            chosen = decide(epsilon, store)
            rows.writerow([f"{epsilon:g}", *(chosen[level] for level in LEVELS)])
