"""The setting of the Contextual page: how many features and options, how rare close calls are, in the experiment."""

from __future__ import annotations

from typing import Any

from bandit_core import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.spec.errors import Issue
from ui.page_fields import Field, Fields

DIMENSIONS = (2, 3, 5, 8)
ARMS = (2, 3, 5, 10, 20)
BETAS = tuple(round(0.1 * step, 1) for step in range(11))
_FORMER = Fields(  # fields of the address in former links
    "contextual",
    Field("eps", "", 1.0, "", allowed=(0.2, 8.0), place="epsilon"),
    Field("d", "", 2, "", allowed=DIMENSIONS, place="dimension"),
    Field("K", "", 2, "", allowed=ARMS, place="arms"),
    Field("beta", "", 0.5, "", allowed=BETAS, place="beta"),
    Field("upto", "", 1000, "", allowed=(1000, 300_000), place="horizon"),
)
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
    said, issues = _FORMER.read(fields)
    epsilon, horizon = said.pop("epsilon", None), said.pop("horizon", None)
    experiment = load_preset("users-with-features")
    lines = experiment.spec()["lines"]
    for line in lines:
        if "epsilon" in line and epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": epsilon}
    experiment = experiment.with_changes(lines=lines, horizon=horizon or experiment.horizon)
    return changed(experiment, **said) if said else experiment, issues
