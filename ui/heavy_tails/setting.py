"""The setting of the page on heavy tails: what its controls say of the experiment that is shown, and change in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from bandit_core import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.model import PROMISES
from bandit_core.spec.errors import Issue
from bandit_core.spec.own_data import remembered
from bandit_core.spec.rewards import RewardDistribution
from bandit_core.theory import robust_mean
from ui.page_fields import Field, Fields

Trust = Literal["central", "local"]

MEANS = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}
INSTANCES = {
    "S1": "S1: evenly spread",
    "S2": "S2: most far behind",
    "S3": "S3: most close by",
    "own": "as in the sidebar",
}
DISTRIBUTIONS = {
    "pareto": "Pareto: wild above",
    "student": "Student: wild both ways",
    "own": "as in the sidebar",
}
TRUST: dict[Trust, str] = {"central": PROMISES["central"].who, "local": PROMISES["local"].who}
EXPONENTS = tuple(round(0.1 * step, 1) for step in range(2, 11))
EPOCHS = ("dp-robust-se", "ldp-robust-se")  # policies that play in epochs: the page explains them
EVERY_USER = ("robust-ucb", "dp-robust-ucb")  # policies that take a step for every user
STEP_BY_STEP = 10**7  # beyond so many users they are left out
ENOUGH_USERS: dict[Trust, int] = {"central": 10**5, "local": 10**9}  # that the private policies learn
_FORMER = Fields(  # fields of the address in former links
    "heavy",
    Field("instance", "", "", "", "box", tuple(MEANS), place="instance"),
    Field("law", "", "", "", "box", ("pareto", "student"), place="distribution"),
    Field("trust", "", "", "", "box", tuple(TRUST), place="trust"),
    Field("printed", "", False, "", "switch", place="printed"),
    Field("v", "", 1.0, "", allowed=EXPONENTS, place="v"),
    Field("budget", "", 1.0, "", allowed=(0.1, 20.0), place="epsilon"),
    Field("users", "", 1, "", allowed=(1, 10**9), place="horizon"),
)


@dataclass(frozen=True)
class Setting:
    """What is special about an experiment with heavy tails."""

    instance: str
    distribution: str
    v: float
    trust: Trust
    printed: bool  # the constants of the theory

    @property
    def estimator(self) -> robust_mean.Estimator:
        """How the private policy of this trust model estimates a mean."""
        return "epoch" if self.trust == "central" else "local"


def explained(experiment: Experiment) -> int:
    """The line that the page explains: the last policy that plays in epochs."""
    return max(number for number, line in enumerate(experiment.lines) if line.policy in EPOCHS)


def epsilon_of(experiment: Experiment) -> float:
    """The budget of the line that the page explains."""
    budget = experiment.lines[explained(experiment)].epsilon
    assert budget is not None and budget.fixed is not None  # its policy takes one budget only
    return budget.fixed


def of(experiment: Experiment) -> Setting:
    """What the controls of the page say of an experiment."""
    number = explained(experiment)
    parameters = experiment.setups[number].parameters
    trust = cast(Trust, experiment.lines[number].entry.privacy)
    instance = distribution = "own"
    for name, means in MEANS.items():
        for kind in ("pareto", "student"):
            if experiment.arms == _typed(name, kind, parameters.v):
                instance, distribution = name, kind
        if instance == "own" and tuple(experiment.means) == means:
            instance = name
    printed = experiment.lines[number].params.get("kappa") == 1.0
    return Setting(instance, distribution, parameters.v, trust, printed)


def _arms(instance: str, distribution: str, v: float) -> list[dict[str, Any]]:
    shape = round(1.05 + v, 6)  # moments are finite below this order
    if distribution == "pareto":
        return [{"kind": "pareto", "mean": mean, "shape": shape} for mean in MEANS[instance]]
    return [{"kind": "student", "mean": mean, "scale": 0.2, "df": shape} for mean in MEANS[instance]]


@remembered(256)
def _typed(instance: str, distribution: str, v: float) -> tuple[RewardDistribution, ...]:
    arms = _arms(instance, distribution, v)
    return Experiment.model_validate({"arms": arms, "lines": [{"policy": "ucb"}]}).arms


def _lines(setting: Setting, epsilon: float) -> list[dict[str, Any]]:
    """The policies of a trust model, and a curator's to compare with; the page explains the last one."""
    params: dict[str, Any] = {"v": setting.v} | ({"kappa": 1.0} if setting.printed else {})
    names = ["dp-robust-ucb", "dp-robust-se"] if setting.trust == "central" else list(EPOCHS)
    budget = {"kind": "fixed", "value": epsilon}
    return [{"policy": "robust-ucb", "params": params}] + [
        {"policy": name, "epsilon": budget, "params": params} for name in names
    ]


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    """The experiment in another setting (see `Setting` for the fields).

    Raises
    ------
    InputError
        Where its arms or policies refuse that, for example own arms without a finite moment of the order 1 + v.
    """
    before = of(experiment)
    after = replace(before, **fields)
    if after.instance != "own" and after.distribution == "own":
        after = replace(after, distribution="pareto")
    document = experiment.spec()
    if after.trust != before.trust:
        document["lines"] = _lines(after, epsilon_of(experiment))
        if experiment.horizon == ENOUGH_USERS[before.trust]:
            document["horizon"] = ENOUGH_USERS[after.trust]
    else:
        for line, stated in zip(document["lines"], experiment.lines, strict=True):
            parameters = stated.entry.parameters.model_fields
            params = dict(line.get("params", {}))
            if "v" in parameters:
                params["v"] = after.v
            if "kappa" in parameters and after.printed != before.printed:
                params.pop("kappa", None)
                params |= {"kappa": 1.0} if after.printed else {}
            line["params"] = params
    arms = document["arms"]
    if after.instance != "own" and (after.instance, after.distribution, after.v) != (
        before.instance, before.distribution, before.v,
    ):  # fmt: skip
        arms = _arms(after.instance, after.distribution, after.v)
    return experiment.with_changes(arms=arms, lines=document["lines"], horizon=document["horizon"])


def playable(experiment: Experiment) -> Experiment:
    """Without the lines that take a step for every user, where there are too many users for that."""
    lines = [line for line in experiment.spec()["lines"] if line["policy"] not in EVERY_USER]
    if experiment.horizon <= STEP_BY_STEP or len(lines) == len(experiment.lines):
        return experiment
    return experiment.with_changes(lines=lines, view=experiment.view.model_dump() | {"hidden": []})


def of_fields(fields: dict[str, str]) -> tuple[Experiment, list[Issue]]:
    """The experiment that a link in the page's former fields asks for, and what is wrong with it."""
    said, issues = _FORMER.read({name: text for name, text in fields.items() if name in _FORMER})  # the rest is gone
    epsilon, users = said.pop("epsilon", None), said.pop("horizon", None)
    preset = load_preset("wild-rewards")
    experiment = changed(preset, **said)
    lines = experiment.spec()["lines"]
    for line in lines:
        if "epsilon" in line and epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": epsilon}
    return experiment.with_changes(lines=lines, horizon=users or preset.horizon), issues
