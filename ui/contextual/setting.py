"""The setting of the Contextual page: how many features and options, how rare close calls are, in the experiment."""

from __future__ import annotations

from typing import Any

from bandit_core import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.spec import notation
from bandit_core.spec.errors import Issue

DIMENSIONS = (2, 3, 5, 8)
ARMS = (2, 3, 5, 10, 20)
BETAS = tuple(round(0.1 * step, 1) for step in range(11))
BETA_HELP = (
    "The share of users whose two best options differ by at most h grows like h^β. β = 0: nearly equal options are "
    "common; β = 1: they are rare."
)


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    """The experiment with another ``dimension``, number of ``arms`` or margin exponent ``beta``.

    Raises
    ------
    InputError
        Where the experiment refuses that.
    """
    contexts = experiment.spec()["contexts"]
    if "beta" in fields:
        contexts["law"] = {"kind": "margin", "beta": fields["beta"]}
    contexts |= {name: value for name, value in fields.items() if name != "beta"}
    return experiment.with_changes(contexts=contexts)


def of_fields(fields: dict[str, str]) -> tuple[Experiment, list[Issue]]:
    """The experiment that a link in the page's former fields asks for, and what is wrong with it."""
    ranges = {
        "eps": (0.2, 8.0, "epsilon"),
        "d": (DIMENSIONS[0], DIMENSIONS[-1], "dimension"),
        "K": (ARMS[0], ARMS[-1], "arms"),
        "beta": (0.0, 1.0, "beta"),
        "upto": (1000, 300_000, "horizon"),
    }
    issues: list[Issue] = []
    said: dict[str, Any] = {}
    for name, text in fields.items():
        low, high, field = ranges[name]
        whole, value = isinstance(low, int), notation.read_number(text)
        if isinstance(value, str) or not low <= value <= high or (whole and value != int(value)):
            issues.append(Issue(name, text, f"a {'whole ' * whole}number from {low:g} to {high:g}"))
        else:
            said[field] = int(value) if whole else float(value)
    experiment = load_preset("users-with-features")
    lines = experiment.spec()["lines"]
    for line in lines:
        if "epsilon" in line and "epsilon" in said:
            line["epsilon"] = {"kind": "fixed", "value": said["epsilon"]}
    experiment = experiment.with_changes(lines=lines, horizon=said.get("horizon", experiment.horizon))
    shape = {name: said[name] for name in ("dimension", "arms", "beta") if name in said}
    return changed(experiment, **shape) if shape else experiment, issues
