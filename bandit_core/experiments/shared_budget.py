"""The one budget that several lines have in common, and which lines follow it when it is moved.

A line follows where it has exactly that budget, and also where some of its users share nothing (epsilon = 0) and all
others have it: then it is the budget of those who answer, and who stays silent stays so.
"""

from typing import Any

from bandit_core.experiments.experiment import Experiment
from bandit_core.spec.budgets import Discrete, Epsilon, Fixed
from bandit_core.spec.own_data import remembered


def _silent_mix(distribution: Epsilon) -> bool:
    """Whether a distribution is a few groups of users of whom some share nothing and all others have one budget."""
    return (
        isinstance(distribution, Discrete)
        and min(distribution.values) == 0
        and len({value for value in distribution.values if value > 0}) == 1
    )


def follows(distribution: Epsilon, shared: Epsilon) -> bool:
    """Whether a line with the budget ``distribution`` is meant when ``shared`` is moved."""
    return distribution == shared or (
        isinstance(shared, Fixed) and _silent_mix(distribution) and distribution.largest == shared.value
    )


def shared_budget(experiment: Experiment) -> Epsilon | None:
    """The budget that most private lines follow (the first of several); None where each has one of its own."""
    return _most_followed(tuple(line.epsilon for line in experiment.lines if line.epsilon is not None))


@remembered(64)  # the controls of every line ask
def _most_followed(distributions: tuple[Epsilon, ...]) -> Epsilon | None:
    best = max(
        distributions,
        key=lambda shared: sum(follows(distribution, shared) for distribution in distributions),
        default=None,
    )
    if best is None or (
        len(distributions) > 1 and sum(follows(distribution, best) for distribution in distributions) == 1
    ):
        return None
    return best


def moved(distribution: Epsilon, document: dict[str, Any]) -> dict[str, Any]:
    """The budget of a line that follows, as a document, once the shared one is ``document``.

    Silent users can be kept beside one fixed budget only: beside a distribution the line stays as it is.
    """
    if not isinstance(distribution, Discrete) or not _silent_mix(distribution):
        return document
    stated: dict[str, Any] = distribution.model_dump(mode="json", exclude_defaults=True)
    if document["kind"] == "fixed":
        stated["values"] = [document["value"] if value > 0 else 0.0 for value in distribution.values]
    return stated


def at_shared(experiment: Experiment, budget: float | dict[str, Any]) -> Experiment:
    """The experiment with another shared budget, a number or a document; lines that follow none stay as they are.

    Raises
    ------
    InputError
        Where a line does not take the budget.
    """
    shared = shared_budget(experiment)
    document = budget if isinstance(budget, dict) else {"kind": "fixed", "value": budget}
    if shared is None or (shared.fixed is not None and shared.fixed == document.get("value")):
        return experiment
    lines = experiment.spec()["lines"]
    for line, stated in zip(experiment.lines, lines, strict=True):
        if line.epsilon is not None and follows(line.epsilon, shared):
            stated["epsilon"] = moved(line.epsilon, document)
    return experiment.with_changes(lines=lines)
