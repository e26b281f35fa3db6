"""The bounds of one experiment: all of them, their curves, and the corridor that they leave to one line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import PROMISES, TRIVIAL, Bound, Curve, Form, Model, Policy, RunSetup
from bandit_core.policies import registry
from bandit_core.spec.budgets import Fixed
from bandit_core.spec.errors import InputError
from bandit_core.spec.later import pd
from bandit_core.spec.own_data import remembered
from bandit_core.spec.rewards import distinct
from bandit_core.theory import basu, classic, contextual, theorems

# ---------------------------------------------------------------------------------------------------------------------
# The curves of theory beside a simulation: every bound of every line, at the times the simulation records.


NOT_FINITE = "it is too large to be computed here: a gap, a budget or a parameter is too small for its formula"
COLUMNS = ("line", "name", "label", "side", "source", "status", "t", "value")


@remembered(128)
def _line_bounds(alone: Experiment, policy: Policy) -> tuple[Bound, ...]:
    """The bounds of an experiment's only line."""
    [setup] = alone.setups
    cap = classic.trivial_cap(setup) if setup.contexts is None else contextual.trivial_cap(setup)
    own_files = (theorem.state(setup) for theorem in theorems() if theorem.speaks_of(policy))
    guarantee = policy.guarantee(replace(setup, visits=1))  # by every answer, whose epsilon the bounds speak of
    stated = [bound for bound in (*policy.bounds(setup), *own_files) if bound.name != cap.name]  # which all have
    bounds = [_as_people_come(bound.judged(guarantee), setup) for bound in stated]
    if setup.uncut is not None and not np.array_equal(setup.gaps, setup.regret_gaps):
        why = "it speaks of cut rewards, as this learner sees them; the regret here counts uncut rewards"
        bounds = [bound if bound.not_applicable else bound.ruled_out(why) for bound in bounds]
    return tuple(_if_finite(bound.with_curve(_once(bound.curve)), setup) for bound in (*bounds, cap))


def _if_finite(bound: Bound, setup: RunSetup) -> Bound:
    """The bound, ruled out where a double cannot hold it: small gaps, budgets and parameters stand in denominators.

    Those that are never drawn are only computed for who asks for their values.
    """
    if bound.not_applicable or bound.only:
        return bound
    with np.errstate(all="ignore"):
        ends = bound.curve(np.array([1.0, max(10.0, setup.horizon)]))
    finite = bool(np.isfinite(ends).all()) or bound.name == TRIVIAL
    return bound if finite else bound.ruled_out(NOT_FINITE)


def _as_people_come(bound: Bound, setup: RunSetup) -> Bound:
    """A bound that is stated for feedback without delay and for people who come once, as far as it holds here.

    From below it holds with late feedback, too: a policy may wait before it uses what it knows.
    """
    if bound.side == "upper" and not setup.feedback.immediate and not bound.not_applicable:
        return bound.ruled_out("proved for rewards that are counted before the next user comes; here they are late")
    if setup.visits > 1 and bound.model != "none":
        part = f"one part in {setup.visits}" if setup.visits_delta == 0 else f"{setup.fixed_epsilon:.4g}"
        return replace(bound, assumptions=f"{bound.assumptions}; epsilon is what one answer of a person spends, {part}")
    return bound


def _once(curve: Curve) -> Curve:
    """The same curve, which remembers its values at the times (and at the horizon) that it was asked for last."""

    @lru_cache(maxsize=2)
    def values(times: bytes) -> np.ndarray:
        flat = np.frombuffer(times)
        heights = np.broadcast_to(np.asarray(curve(flat), float), flat.shape).copy()
        heights.flags.writeable = False
        return heights

    return lambda t: values(np.asarray(t, float).tobytes()).reshape(np.shape(t))


def line_bounds(experiment: Experiment, line: int) -> list[Bound]:
    """Every bound of one line (counted from 0), also those that do not apply, with the reason in ``hidden``."""
    chosen = experiment.lines[line]
    # Bounds know nothing of these fields and of other lines: whoever changes them finds the bounds here.
    other = {"view": type(experiment.view)(), "title": "", "note": "", "seed": 0, "trials": 1}
    alone = experiment.model_copy(update=other).with_lines((chosen.model_copy(update={"label": None}),))
    return list(_line_bounds(alone, chosen.entry))  # a policy's file may be loaded again, with other bounds


def floor(experiment: Experiment, line: int) -> float:
    """The largest lower bound on the expected regret that binds, at this number of users, every policy that keeps the
    line's guarantee on this very task; NaN where none is known. In reward units.
    """
    values = [
        float(bound.values(np.array([experiment.horizon]), experiment.largest_gap)[0])
        for bound in line_bounds(experiment, line)
        if bound.binds and bound.side == "lower" and bound.form == "bound"
    ]
    return max(values, default=math.nan)


def bounds(experiment: Experiment) -> pd.DataFrame:
    """All bounds that apply, at the checkpoints of the experiment.

    Returns
    -------
    DataFrame
        One row per line, bound and checkpoint with the columns line, name (which repeats what must not be lost:
        derived, as printed, asymptotic, order-only, worst case), label, side ("upper" or "lower"), source, status, t
        and value (expected regret in reward units, never above t x largest gap).
    """
    times = checkpoints(experiment.horizon)
    rows = [
        (line, bound.label, experiment.label(line), bound.side, bound.source, bound.status, *at)
        for line in range(len(experiment.lines))
        for bound in line_bounds(experiment, line)
        if bound.not_applicable is None
        for at in zip(times.tolist(), bound.values(times, experiment.largest_gap).tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


# ---------------------------------------------------------------------------------------------------------------------
# Every bound of the project for one experiment: by promise of privacy, rewards and kind, whatever its lines are.
#
# The bounds themselves, with their formulas and words, stand beside the code that computes them (``theory`` and the
# policies). This module only asks every policy for its bounds on the experiment's arms and sorts the answers.


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


# ---------------------------------------------------------------------------------------------------------------------
# What is proved of one line on its arms: the area that its expected regret cannot leave, and its rate in the long run.
#
# An edge holds at every number of users, on these arms, for this line's guarantee. Asymptotic rates, shapes, bounds on
# the hardest arms, bounds for a class of policies, and bounds whose proof was not seen are no edges.


ABOVE = "proved: never above"
RATE = "in the long run at least this fast"
LATER = np.geomspace(10, 1e12, 331)  # numbers of users at which `says_from` looks


@dataclass(frozen=True, eq=False)
class Corridor:
    """Of one ``line`` at every checkpoint, shape (checkpoints,), reward units.

    ``lower`` is the largest lower bound (0 where none is known) and ``upper`` the smallest upper one, at most users x
    largest gap. ``floor`` and ``proof`` are the bounds that give them at the last checkpoint, None where there is none
    but the trivial one. ``blind`` is what choosing at random loses on average. ``rate`` is the largest asymptotic rate,
    NaN where the measured curve has not passed it for long (see `reached`), and ``slope`` its bound.
    """

    line: int
    lower: np.ndarray
    upper: np.ndarray
    floor: Bound | None
    proof: Bound | None
    blind: np.ndarray
    rate: np.ndarray
    slope: Bound | None

    @property
    def edge(self) -> np.ndarray:
        """The upper bound from where on it says more than what choosing at random loses; before, NaN."""
        silent = np.flatnonzero(~(self.upper < self.blind))
        start = silent[-1] + 1 if len(silent) else 0
        return np.where(np.arange(len(self.upper)) >= start, self.upper, np.nan)

    @property
    def curves(self) -> tuple[tuple[str, np.ndarray], ...]:
        """What is drawn, each with its words: the upper edge, the lower one, and the rate of the long run."""
        return (ABOVE, self.edge), (self.below, self.lower), (RATE, self.rate)

    @property
    def below(self) -> str:
        """What the lower edge is, in words."""
        return f"no {method_words(self.floor)} can be below"


def method_words(bound: Bound | None) -> str:
    """Which methods a lower bound speaks of: ``local method``; ``method`` where it binds them all."""
    return "method" if bound is None or bound.model == "none" else f"{bound.model} method"


def edges(experiment: Experiment, line: int) -> tuple[list[Bound], list[Bound]]:
    """The lower and the upper bounds that may be edges of the line's corridor; the trivial cap is among the upper."""
    bounds = [each for each in line_bounds(experiment, line) if each.binds and each.form == "bound"]
    holds = [each for each in bounds if each.status in ("proved", "derived")]
    return [each for each in holds if each.side == "lower"], [each for each in holds if each.side == "upper"]


def corridor(experiment: Experiment, line: int, times: np.ndarray, mean: np.ndarray | None = None) -> Corridor:
    """The corridor of a line (counted from 0) at ``times`` (users); its rate only beside a measured ``mean``."""
    gap = experiment.largest_gap
    below, above = edges(experiment, line)
    known = [bound for bound in line_bounds(experiment, line) if bound.binds and bound.side == "lower"]
    rates = [bound for bound in known if bound.form == "slope"]
    nothing = np.full(len(times), np.nan)
    (lower, floor), (upper, proof), (height, slope) = (
        _extreme([(bound.values(times, gap), bound) for bound in found], most, start)
        for found, most, start in ((below, 1, 0 * nothing), (above, -1, times * gap), (rates, 1, nothing))
    )
    rate = nothing if slope is None or mean is None else reached(height, times, mean)
    each = gap if experiment.contexts is not None else float((experiment.means.max() - experiment.means).mean())
    return Corridor(line, np.nan_to_num(lower), upper, floor, proof, times * each, rate, slope)


def reached(rate: np.ndarray, times: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The part of an asymptotic rate after the ``mean`` was last below it, if that is the last tenfold of users at
    least, else NaN; shape kept.

    A rate says nothing of any one horizon. A line above a curve reads as something that the curve fails to reach, and
    one that it crosses early, or has only just crossed, shows nothing.
    """
    missing = np.flatnonzero(~(mean >= rate))
    start = missing[-1] + 1 if len(missing) else 0
    shown = start < len(times) and times[start] <= times[-1] / 10
    return np.where(shown & (np.arange(len(times)) >= start), rate, np.nan)


def _extreme(
    found: list[tuple[np.ndarray, Bound]], sign: int, otherwise: np.ndarray
) -> tuple[np.ndarray, Bound | None]:
    """The largest values (the smallest with ``sign`` -1) at every time, and the bound that gives the last of them."""
    if not found:
        return otherwise, None
    _, bound = max(found, key=lambda pair: sign * pair[0][-1] - 1e-12 * (pair[1].name == TRIVIAL))
    every = np.array([each for each, _ in found])
    return sign * (sign * every).max(axis=0), None if bound.name == TRIVIAL else bound


def says_from(experiment: Experiment, line: int) -> float | None:
    """From how many users on the upper edge says more than that one may choose at random; None where it never does.

    Users beyond the horizon count, too, unless the policy is made for the horizon.
    """
    chosen, setup = experiment.lines[line].entry, experiment.setups[line]
    times = LATER[experiment.horizon >= LATER] if chosen.knows_horizon(setup) else LATER
    known = np.flatnonzero(np.isfinite(corridor(experiment, line, times).edge))
    return float(times[known[0]]) if len(known) else None


def in_focus(experiment: Experiment) -> int | None:
    """The line whose corridor is shown at first: the first private one that is drawn, or else the first one drawn."""
    private = (number for number in experiment.drawn if experiment.lines[number].epsilon is not None)
    return next(private, next(iter(experiment.drawn), None))


def further(experiment: Experiment, line: int) -> list[Bound]:
    """Bounds that are drawn on request only: all that apply, but for those of a class of policies.

    No one has proved which policies belong to such a class.
    """
    return [bound for bound in line_bounds(experiment, line) if not (bound.not_applicable or bound.only)]


def asked_by_link(experiment: Experiment, line: int) -> tuple[str, ...]:
    """The labels of those that the view asks for, as old links do: rates and shapes, and bounds on the hardest arms."""
    view = experiment.view
    return tuple(
        bound.label
        for bound in further(experiment, line)
        if bound.form != "bound" or bound.worst_case
        if (view.shapes or bound.form == "bound") and (view.worst_case or not bound.worst_case)
    )
