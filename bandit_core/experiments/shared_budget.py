"""The one budget that several lines have in common, and which lines follow it when it is moved.

A line follows where it has exactly that budget, and also where some of its users share nothing (epsilon = 0) and all
others have it: then it is the budget of those who answer, and who stays silent stays so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bandit_core.experiments.experiment import Experiment
from bandit_core.spec.budgets import Discrete, Epsilon


def _silent_mix(law: Epsilon) -> bool:
    """Whether a law is a few groups of users of whom some share nothing and all others have one budget."""
    return isinstance(law, Discrete) and min(law.values) == 0 and len({value for value in law.values if value > 0}) == 1


def follows(law: Epsilon, shared: Epsilon) -> bool:
    """Whether a line with the budget ``law`` is meant when ``shared`` is moved."""
    return law == shared or (shared.kind == "fixed" and _silent_mix(law) and law.largest == shared.value)


def shared_budget(experiment: Experiment) -> Epsilon | None:
    """The budget that most private lines follow (the first of several); None where each has one of its own."""
    return _most_followed(tuple(line.epsilon for line in experiment.lines if line.epsilon is not None))


@lru_cache(maxsize=64)  # the controls of every line ask
def _most_followed(laws: tuple[Epsilon, ...]) -> Epsilon | None:
    best = max(laws, key=lambda shared: sum(follows(law, shared) for law in laws), default=None)
    if best is None or (len(laws) > 1 and sum(follows(law, best) for law in laws) == 1):
        return None
    return best


def moved(law: Epsilon, document: dict[str, Any]) -> dict[str, Any]:
    """The budget of a line that follows, as a document, once the shared one is ``document``.

    Silent users can be kept beside one fixed budget only: beside a distribution the line stays as it is.
    """
    if not isinstance(law, Discrete) or not _silent_mix(law):
        return document
    stated: dict[str, Any] = {"kind": law.kind, **law.model_dump(mode="json", exclude_defaults=True)}
    if document["kind"] == "fixed":
        stated["values"] = [document["value"] if value > 0 else 0.0 for value in law.values]
    return stated
