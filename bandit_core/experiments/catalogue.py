"""Every bound of the project for one experiment: by promise of privacy, rewards and kind, whatever its lines are.

The bounds themselves, with their formulas and words, stand beside the code that computes them (``theory`` and the
policies). This module only asks every policy for its bounds on the experiment's arms and sorts the answers.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bandit_core.experiments.curves import line_bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import PROMISES, TRIVIAL, Bound, Form, Model, Policy, RunSetup
from bandit_core.policies import registry
from bandit_core.spec.budgets import Fixed
from bandit_core.spec.errors import InputError
from bandit_core.spec.own_data import remembered
from bandit_core.spec.rewards import distinct
from bandit_core.theory import basu, classic

_ORDER = tuple(PROMISES)
USUAL_EPSILON = 1.0  # where the experiment has no fixed budget
# Experiments that between them show every bound; the experiment at hand comes first.
_REFERENCES: tuple[dict[str, Any], ...] = (
    {"arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.8}]},
    {"arms": [{"kind": "beta", "a": 4, "b": 1}, {"kind": "beta", "a": 2, "b": 2}]},
    {"arms": [{"kind": "gaussian", "mean": 0.9, "sd": 1}, {"kind": "gaussian", "mean": 0.5, "sd": 1}]},
    {"contexts": {"dimension": 2, "arms": 2, "law": {"kind": "margin", "beta": 0.5}}},
    {"contexts": {"dimension": 2, "arms": 2, "structure": "multi", "law": {"kind": "margin", "beta": 0.5}}},
)
_OTHER_REWARDS = {
    "any": "does not apply to these arms",
    "[0, 1]": "stated for rewards in [0, 1], and the experiment has others",
    "0 or 1": "stated for arms that pay one of the same two amounts, and the experiment has others",
    "Gaussian": "stated for Gaussian arms with one standard deviation, and the experiment has others",
    "heavy tails": "needs what the policies for heavy tails know of their arms, and they do not take these",
    "features": "stated for users with features, and the experiment has plain arms",
}


@dataclass(frozen=True)
class Entry:
    """One bound of the catalogue, for the experiment at hand.

    ``policies`` are those it speaks of; a lower bound speaks of every policy that keeps its promise. ``asked`` is the
    policy (or "" for bounds that no policy states) to ask for the same bound of another experiment.
    """

    key: str
    bound: Bound
    policies: tuple[str, ...]
    asked: str

    def value(self, experiment: Experiment, t: np.ndarray) -> np.ndarray:
        """The bound at ``t`` users, reward units, shape of ``t``; NaN where it does not apply.

        Capped by t x largest gap: that of the experiment, or of the hardest arms (1 for rewards in [0, 1]) where the
        bound speaks of those.
        """
        if self.bound.not_applicable and not self.bound.superseded:
            return np.full(np.shape(t), np.nan)
        largest = experiment.largest_gap
        if self.bound.kind != "problem-dependent":
            unit = experiment.contexts is None and all(arm.inside(0.0, 1.0) for arm in distinct(experiment.single_arms))
            largest = 1.0 if unit else np.inf
        return self.bound.values(t, largest)


def _key(bound: Bound, policy: str) -> str:
    """The same for every experiment: lower bounds by promise and rewards, upper bounds by policy."""
    whose = bound.model if bound.side == "lower" or bound.name == TRIVIAL else policy
    words = f"{whose} {bound.name} {bound.rewards if bound.side == 'lower' else ''}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def usual_epsilon(experiment: Experiment) -> float:
    """The first fixed budget among the lines, else 1 nat."""
    budgets = (line.epsilon.fixed for line in experiment.lines if line.epsilon is not None)
    return next((epsilon for epsilon in budgets if epsilon is not None), USUAL_EPSILON)


def _line_of(policy: Policy, experiment: Experiment | None, epsilon: float) -> dict[str, Any]:
    """The experiment's own line of this policy, else one with the usual parameters."""
    line: dict[str, Any] = {"policy": policy.name}
    if experiment is not None:
        own = next((place for place, each in enumerate(experiment.lines) if each.policy == policy.name), None)
        if own is not None:
            line = dict(experiment.spec()["lines"][own])
            if line.get("epsilon", {}).get("kind") != "fixed":
                return line
    if policy.epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": epsilon}
    return line


def _setting(experiment: Experiment) -> dict[str, Any]:
    document = experiment.spec()
    return {name: document[name] for name in ("arms", "clip", "contexts") if name in document}


def _stated(policy: Policy, document: dict[str, Any]) -> list[Bound] | str:
    """The policy's bounds on an experiment, or the words it refuses with."""
    try:
        return line_bounds(Experiment.model_validate(document), 0)
    except InputError as error:
        return error.issues[0].allowed


def _unowned(experiment: Experiment, epsilon: float) -> list[Bound]:
    """Bounds that no policy states: of promises that no policy here gives, and superseded ones."""
    if experiment.contexts is not None:
        return []
    setup = RunSetup(experiment.single_arms, Fixed(value=epsilon), None, experiment.horizon)
    return [*basu.superseded(setup), *basu.environment(setup)]


def _every_bound(
    experiment: Experiment | None, setting: dict[str, Any], epsilon: float, horizon: int
) -> dict[str, Any]:
    """Every bound by key as (bound, policies, asked), and under "refused" each policy's words of refusal."""
    stated_bounds: dict[str, tuple[Bound, list[str], str]] = {}
    refused: dict[str, str] = {}
    for policy in registry().values():
        if (policy.setting == "contexts") != ("contexts" in setting):
            continue
        answer = _stated(policy, {**setting, "lines": [_line_of(policy, experiment, epsilon)], "horizon": horizon})
        if isinstance(answer, str):
            refused[policy.name] = answer
            continue
        for bound in answer:
            key = _key(bound, policy.name)
            before = stated_bounds.get(key)
            if before is None:
                owned = bound.side == "upper" and bound.name != TRIVIAL
                stated_bounds[key] = (bound, [policy.name] if owned else [], policy.name)
            elif before[0].not_applicable and not bound.not_applicable:  # another policy of it takes these arms
                stated_bounds[key] = (bound, before[1], policy.name)
    for bound in _unowned(Experiment.model_validate({**setting, "lines": [_any_line(setting)]}), epsilon):
        stated_bounds[_key(bound, "")] = (bound, [], "")
    return {"found": stated_bounds, "refused": refused}


def _any_line(setting: dict[str, Any]) -> dict[str, Any]:
    return {"policy": "linucb" if "contexts" in setting else "ucb"}


@lru_cache(maxsize=1)
def _all_known() -> dict[str, tuple[Bound, list[str], str]]:
    """Every bound there is, from the reference experiments (whose numbers are not used)."""
    stated: dict[str, tuple[Bound, list[str], str]] = {}
    for setting in _REFERENCES:
        for key, (bound, policies, asked) in _every_bound(None, setting, USUAL_EPSILON, 10_000)["found"].items():
            stated.setdefault(key, (bound, policies, asked))
    return stated


@remembered(64)
def entries(experiment: Experiment, epsilon: float | None = None) -> tuple[Entry, ...]:
    """Every bound of the project on the experiment's arms, also those that do not apply, with the reason.

    Parameters
    ----------
    experiment
        Its arms (or contexts), horizon, and the parameters of its lines are used.
    epsilon
        Budget of the private policies, nats; default: the first fixed one among the lines, else 1. Lines whose users
        have different budgets keep them.

    Returns
    -------
    tuple of Entry
        Sorted by promise, kind and side.
    """
    budget = usual_epsilon(experiment) if epsilon is None else epsilon
    here = _every_bound(experiment, _setting(experiment), budget, experiment.horizon)
    result = []
    for key, (reference, policies, asked) in (_all_known() | here["found"]).items():
        bound = reference
        if key not in here["found"] and not reference.superseded:
            refusal = here["refused"].get(asked) if reference.side == "upper" else None
            bound = reference.ruled_out(refusal or _why_not(reference, experiment))
        result.append(Entry(key, bound, tuple(policies), asked))
    kinds = ("problem-dependent", "minimax", "Bayesian")
    result.sort(key=lambda entry: (_ORDER.index(entry.bound.model), kinds.index(entry.bound.kind), entry.bound.side))
    return tuple(result)


def _why_not(bound: Bound, experiment: Experiment) -> str:
    if experiment.contexts is not None and bound.rewards != "features":
        return "stated for plain arms, and the users of the experiment have features"
    return _OTHER_REWARDS[bound.rewards]


def _again(entry: Entry, experiment: Experiment, setting: dict[str, Any], epsilon: float) -> float:
    """The bound at the horizon, for other arms or another budget; NaN where it does not apply."""
    changed = {**setting, "horizon": experiment.horizon}
    if entry.asked:
        policy = registry()[entry.asked]
        line = _line_of(policy, experiment, epsilon)
        if policy.epsilon != "none":
            line["epsilon"] = {"kind": "fixed", "value": epsilon}
        line["params"] = {name: value for name, value in line.get("params", {}).items() if name != "eps_min"}
        changed["lines"] = [line]
        answer = _stated(policy, changed)
        if isinstance(answer, str):
            return np.nan
    else:
        changed["lines"] = [_any_line(setting)]
        answer = _unowned(Experiment.model_validate(changed), epsilon)
    for bound in answer:
        if _key(bound, entry.asked) == entry.key:
            there = Experiment.model_validate(changed)
            at = Entry(entry.key, bound, entry.policies, entry.asked)
            return float(at.value(there, np.array([float(experiment.horizon)]))[0])
    return np.nan


@remembered(256)
def against_epsilon(entry: Entry, experiment: Experiment, epsilons: tuple[float, ...]) -> np.ndarray:
    """The bound at the horizon for each budget, shape (epsilons,); NaN where it does not apply."""
    setting = _setting(experiment)
    return np.array([_again(entry, experiment, setting, epsilon) for epsilon in epsilons])


@remembered(256)
def against_arms(entry: Entry, experiment: Experiment, counts: tuple[int, ...]) -> np.ndarray:
    """The bound at the horizon for each number of arms K, shape (counts,); NaN where it does not apply.

    One best arm and K - 1 worse ones, which take turns among the experiment's worse arms; with features the same
    distribution of contexts with K arms.
    """
    epsilon = usual_epsilon(experiment)
    return np.array([_again(entry, experiment, _with_arms(experiment, count), epsilon) for count in counts])


def _with_arms(experiment: Experiment, count: int) -> dict[str, Any]:
    document = experiment.spec()
    if "contexts" in document:
        return {"contexts": {**document["contexts"], "arms": count}}
    best = experiment.single_arms[int(np.argmax(experiment.means))]
    gaps = classic.true_gaps(experiment.setups[0])
    worse = list(
        dict.fromkeys(distribution for distribution, gap in zip(experiment.single_arms, gaps, strict=True) if gap > 0)
    ) or [best]
    shares = [len(range(place, count - 1, len(worse))) for place in range(len(worse))]
    counted = [(best, 1), *((each, share) for each, share in zip(worse, shares, strict=True) if share)]
    return {"arms": [each.model_dump(mode="json", exclude={"count"}) | {"count": count} for each, count in counted]}


@dataclass(frozen=True)
class Floor:
    """The largest known lower bound for these arms under one promise: reward units at the horizon, or for each tenfold
    number of users in the long run."""

    model: Model
    value: float
    name: str


def floors(experiment: Experiment, listed: Iterable[Entry]) -> tuple[Floor, ...]:
    """For each promise that lower bounds are stated for, weakest first: what no policy undercuts at the horizon, as far
    as is proved.

    A bound holds under every promise that implies its own. Left out: slopes
    of the long run and shapes, bounds for a class of policies, and those for the hardest arms or reward distributions.
    """
    horizon = np.array([float(experiment.horizon)])
    return _largest(listed, "bound", lambda entry: float(entry.value(experiment, horizon)[0]))


def growth(listed: Iterable[Entry]) -> tuple[Floor, ...]:
    """As `floors`, of the slopes: what each tenfold number of users costs at least in the long run."""
    ends = np.array([1.0, 10.0])
    return _largest(listed, "slope", lambda entry: float(np.diff(entry.bound.curve(ends))[0]))


def _largest(listed: Iterable[Entry], form: Form, value: Callable[[Entry], float]) -> tuple[Floor, ...]:
    listed = tuple(listed)
    usable = [
        (entry.bound.model, value(entry), entry.bound.name)
        for entry in listed
        if entry.bound.binds and entry.bound.side == "lower" and entry.bound.form == form
    ]
    result = []
    for model in reversed(PROMISES["local"].implied()):
        implied = PROMISES[model].implied()
        values = [(height, name) for promise, height, name in usable if promise in implied]
        if values and any(
            entry.bound.model == model and entry.bound.side == "lower" and entry.bound.form == form for entry in listed
        ):
            result.append(Floor(model, *max(values)))
    return tuple(result)
