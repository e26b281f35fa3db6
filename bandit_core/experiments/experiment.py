"""The spec: one validated, frozen, versioned document describes one picture.

It is preset file, shared link, upload, download, command-line input and cache key alike. Validation happens
here, at the border, and nowhere else; every problem is reported at once, each with its path.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import Field, StrictBool

from bandit_core.model import Parameters, Policy, RunSetup
from bandit_core.policies import registry, unknown_policy
from bandit_core.policies.visits import SMALLEST_DELTA, delta_of_one, part_of_one, why_not_tight
from bandit_core.spec import rewards as reward_laws
from bandit_core.spec.budgets import DISTRIBUTIONS as budget_distributions
from bandit_core.spec.budgets import BudgetDistribution, Epsilon
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.errors import InputError, Issue, issues_of, refuse_if, unknown, unreadable
from bandit_core.spec.feedback import IMMEDIATE, MAX_VISITS, Feedback
from bandit_core.spec.field_types import Frozen, Limits, Lines, Small, Text, Whole, Worded
from bandit_core.spec.notation import write_epsilon, write_value
from bandit_core.spec.number_text import percent, write_number
from bandit_core.spec.rewards import Arm

MAX_ARMS = 10_000
MAX_LINES = 24
MAX_SPEC_BYTES = 16 * 2**20  # of a text that is read as a spec; pages allow less
GROUP_FIELD = "group"  # of a preset's file: where the gallery shows it; no part of the spec
MAX_NAMES = 5000  # of one object or table of a document; a spec needs thirty
MAX_NAME_PARTS = 16  # of a dotted name in TOML; a spec needs three
# Readers of TOML walk every beginning of a dotted name, so n parts cost n^2 or more: they are counted before.
_NAME_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_NAME = re.compile(rf"(?:^|[\[{{,])[ \t]*+((?:{_NAME_PART}){{{MAX_NAME_PARTS}}})", re.MULTILINE)
MAX_BUDGET_LETTERS = 40
OUT_OF_RANGE = "these numbers, with this horizon and these arms, leave the range in which the policy can be computed"
Quantity = Literal["regret", "regret-per-log", "regret-per-user", "price"]
Band = Literal["middle-90", "range", "interval-95", "half-sd", "quarter-sd"]
Against = Literal["own", "best"]
# What a title or a note may put into words: what lines play on, and what a line plays.
setting_of = attrgetter("arms", "clip", "contexts", "horizon", "feedback", "visits", "visits_delta")
numbers_of = attrgetter("policy", "epsilon", "params")
_WRITTEN = (
    "version", "title", "note", "arms", "contexts", "lines", "horizon", "trials", "seed", "clip", "feedback", "visits",
    "visits_delta", "view",
)  # fmt: skip
_BLANK = re.compile(r"\{(\w+)(:value)?\}")


class Line(Worded):
    """One curve: a policy, its budget and its parameters."""

    policy: str
    epsilon: Epsilon | None = None
    params: dict[str, Any] = {}
    label: Annotated[str, Field(max_length=80), Text] | None = None

    @property
    def entry(self) -> Policy:
        """The policy's entry in the registry."""
        return registry()[self.policy]

    @property
    def written_label(self) -> str:
        """The label with its blanks filled from the line itself; empty without one.

        ``{epsilon}`` is the budget (``ε = 2``), ``{spread}`` how it is spread (one budget, discrete, continuous),
        ``{answering}`` the share of users who share anything, and the name of a parameter in braces says it
        (``v = 0.5``); ``:value`` after the name leaves the name out. So no label states another number than its line.
        """

        def fill(blank: re.Match[str]) -> str:
            text = self._fill(blank[1], blank[0])
            return (text.partition(" = ")[2] or text) if blank[2] else text

        return _BLANK.sub(fill, self.label or "")

    def _fill(self, name: str, otherwise: str) -> str:
        if name == "epsilon" and self.epsilon is not None:
            return budget_words(self.epsilon)
        if name == "answering" and self.epsilon is not None:
            values, shares = self.epsilon.atoms
            return percent(1 - shares[values == 0].sum())
        if name == "spread" and self.epsilon is not None:
            one = self.epsilon.fixed is not None
            return "one budget" if one else "discrete" if self.epsilon.interval is None else "continuous"
        entry = registry().get(self.policy)  # none of a line that only `decide` takes
        if entry is None or name not in (parameters := entry.parameters.model_fields):
            return otherwise
        value = self.params.get(name, parameters[name].default)
        written = value if isinstance(value, str) else write_value(value)
        return f"{'ε_min' if name == 'eps_min' else name} = {written}"


def budget_words(epsilon: Epsilon) -> str:
    """A budget in a few words: ``ε = 2``, ``ε ~ lognormal(1, 1)``, or its kind alone where that would be long."""
    if epsilon.fixed is not None:
        return f"ε = {write_number(epsilon.fixed)}"
    written = write_epsilon(epsilon)
    return f"ε ~ {written if len(written) <= MAX_BUDGET_LETTERS else f'{epsilon.kind}(…)'}"


def is_stale(label: str, line: Line, before: Sequence[Line]) -> bool:
    """Whether a label names a number by hand, was given to a line of ``before``, and that line has changed since."""
    if not re.search(r"\d", _BLANK.sub("", label)):
        return False
    named = [other for other in before if other.label == label]
    return bool(named) and all(numbers_of(other) != numbers_of(line) for other in named)


class View(Frozen):
    """How the picture is drawn; it never changes a number. An axis that is not stated is as the other one.

    ``worst_case`` and ``shapes`` choose rows of the table of bounds at first; links of former times have them.
    """

    x: Literal["log", "linear"] = "linear"
    y: Literal["log", "linear"] = "linear"
    quantity: Quantity = "regret"
    band: Band = "middle-90"
    bounds: StrictBool = True
    worst_case: StrictBool = False
    shapes: StrictBool = False
    runs: StrictBool = False
    hidden: tuple[Annotated[Whole, Field(ge=0, lt=MAX_LINES)], ...] = ()
    against: Against = "best"

    @pydantic.model_validator(mode="before")
    @classmethod
    def _alike(cls, said: Any) -> Any:
        axes = [said[name] for name in ("x", "y") if name in said] if isinstance(said, Mapping) else []
        return {"x": axes[0], "y": axes[0], **said} if axes in (["log"], ["linear"]) else said


def checkpoints(horizon: int, count: int = 200) -> np.ndarray:
    """At most ``count`` times, log-spaced from 1, strictly increasing, the last one the horizon; shape (count,)."""
    return np.array(_checkpoints(horizon, count), np.int64)


@lru_cache(maxsize=256)
def _checkpoints(horizon: int, count: int) -> tuple[int, ...]:
    times = [1]
    while times[-1] < horizon:
        left = max(1, count - len(times))
        ratio = (horizon / times[-1]) ** (1 / left)
        times.append(min(horizon, max(times[-1] + 1, round(times[-1] * ratio))))
    return tuple(times)


class Document(Worded):
    """The fields, each valid by itself: policies may be any names, and nothing need fit together."""

    version: Literal[1] = 1
    title: Annotated[str, Field(max_length=120), Text] = ""
    note: Annotated[str, Field(max_length=600), Lines] = ""
    arms: Annotated[tuple[Arm, ...], Field(min_length=1, max_length=MAX_ARMS)] = ()
    clip: Limits | None = None  # what private lines see of a reward: cut to these limits, and rescaled to [0, 1]
    contexts: Contexts | None = None
    lines: Annotated[tuple[Line, ...], Field(min_length=1, max_length=MAX_LINES)]
    horizon: Annotated[Whole, Field(ge=1, le=10**9)] = 100_000
    trials: Annotated[Whole, Field(ge=1, le=10**4)] = 50
    seed: Annotated[Whole, Field(ge=0, le=2**53)] = 0
    feedback: Feedback = IMMEDIATE
    visits: Annotated[Whole, Field(ge=1, le=MAX_VISITS)] = 1
    visits_delta: Annotated[Small, Field(ge=0, lt=1)] = 0.0  # 0: basic composition of a person's answers
    view: View = View()


class Experiment(Document):
    """A whole, consistent experiment: ``Experiment(arms=…, lines=…)``, or `model_validate` of a document.

    Raises
    ------
    InputError
        With every problem of the document: wrong fields, unknown policies, policies that refuse the arms
        or the budget, wrong parameters.
    """

    def __init__(self, **fields: Any) -> None:
        checked = type(self).model_validate(fields)
        super().__init__(**{name: getattr(checked, name) for name in checked.model_fields_set})

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Experiment:
        """The experiment of a document, such as `spec` gives; refuses what it must with an `InputError`."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise InputError([Issue("", obj, "a spec is an object with the fields arms, lines, …")])
        obj = dict(obj)
        issues: list[Issue] = []
        try:
            # Names that are none are left to `unknown`: pydantic would take a second for thousands of them.
            fields = {name: obj[name] for name in obj if name in cls.model_fields or not isinstance(name, str)}
            valid = Document.model_validate(fields, **options)
            experiment = cls.model_construct(**{name: getattr(valid, name) for name in valid.model_fields_set})
        except pydantic.ValidationError as error:
            issues += issues_of(error, obj)
            experiment = None
        issues += unknown(obj, cls.model_fields)
        message = {issue.path for issue in issues}
        issues[:0] = [issue for issue in _setting_problems(obj) if issue.path not in message]
        issues += [] if experiment is None else clip_problems(experiment)
        issues += _line_problems(obj, None if issues else experiment)
        if issues or experiment is None:
            raise InputError(issues)
        # 2 and 2.0 are the same parameter: equal experiments must have equal texts.
        lines = tuple(_with_typed_parameters(line) if line.params else line for line in experiment.lines)
        return experiment.with_lines(lines)

    def __repr__(self) -> str:
        names = ", ".join(line.policy for line in self.lines)
        return f"<Experiment: {self.arm_count} arms; {names}; {self.horizon:,} users, {self.trials:,} trials>"

    def _repr_html_(self) -> str:
        labels = "".join(f"<li>{escape(self.label(number))}</li>" for number in range(len(self.lines)))
        return f"<p>{escape(repr(self))}</p><ul>{labels}</ul>"

    def __eq__(self, other: object) -> bool:
        # Pydantic's own comparison trips over the cached arrays below.
        if not isinstance(other, Experiment):
            return NotImplemented
        mine, theirs = map(attrgetter(*Document.model_fields), (self, other))
        return bool(mine == theirs)

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @cached_property
    def single_arms(self) -> tuple[reward_laws.RewardDistribution, ...]:
        """Every arm by itself, in order; none where users have features."""
        return reward_laws.expand(self.arms)

    @cached_property
    def seen_arms(self) -> tuple[reward_laws.RewardDistribution, ...]:
        """What a line with privacy sees of `single_arms`: their rewards cut as `clip` says, or as they are."""
        return reward_laws.seen(self.single_arms, self.clip)

    @property
    def arm_count(self) -> int:
        """Number of arms to choose from."""
        return len(self.single_arms) if self.contexts is None else self.contexts.arms

    @cached_property
    def means(self) -> np.ndarray:
        """Mean reward of every single arm, before any cut."""
        return np.array(reward_laws.each(self.single_arms, lambda arm: arm.expected))

    @cached_property
    def largest_gap(self) -> float:
        """Best mean minus worst mean, reward units; with features, the most that one choice can cost."""
        if self.contexts is not None:
            return self.contexts.largest_gap
        return float(self.means.max() - self.means.min())

    @cached_property
    def setups(self) -> tuple[RunSetup, ...]:
        """Every line, ready to be played."""
        return tuple(_setup(line, self) for line in self.lines)

    @property
    def played(self) -> list[tuple[Any, ...]]:
        """What every line plays, without what it is called."""
        return [*map(numbers_of, self.lines)]

    @property
    def drawn(self) -> list[int]:
        """The lines, counted from 0, that the view does not hide."""
        return [line for line in range(len(self.lines)) if line not in self.view.hidden]

    def label(self, line: int) -> str:
        """What the reader calls the line: its label, else its policy (with epsilon where several lines share one)."""
        chosen = self.lines[line]
        if chosen.label:
            return chosen.written_label
        if chosen.epsilon is None or sum(other.policy == chosen.policy for other in self.lines) == 1:
            return chosen.entry.title
        written = write_epsilon(chosen.epsilon)
        budget = written if len(written) <= MAX_BUDGET_LETTERS else f"{chosen.epsilon.kind}(…)"
        extra = "".join(f", {name} {write_value(value)}" for name, value in chosen.params.items())
        return f"{chosen.entry.title}, ε {budget}{extra}"

    def spec(self) -> dict[str, Any]:
        """The document with only what differs from the defaults (always with version, arms and lines)."""
        written = self.model_dump(mode="json", exclude_defaults=True) | {"version": 1}
        written |= {name: getattr(self, name) for name in ("horizon", "trials", "seed")}
        if self.view.x != self.view.y:  # else the one that is not the default would stand for both
            written["view"] |= {"x": self.view.x, "y": self.view.y}
        return {name: written[name] for name in _WRITTEN if name in written}

    def with_lines(self, lines: tuple[Line, ...]) -> Experiment:
        """The same with other lines, which some experiment with these arms and users has validated before."""
        copy = self.model_copy(update={"lines": lines})
        copy.__dict__.pop("setups", None)  # cached: those of the lines before
        return copy

    def with_changes(self, **fields: Any) -> Experiment:
        """A validated copy with some fields of the document replaced; ``contexts`` takes the place of ``arms``.

        Words about the experiment as it was do not stay behind: see `after` for title and note; a label that names a
        number by hand goes when its line has changed.
        """
        document = self.spec()
        for given, others in (("arms", ["contexts"]), ("contexts", ["arms", "clip"])):
            if fields.get(given) is not None:
                document = {name: value for name, value in document.items() if name not in others}
        changed = Experiment.model_validate({**document, **fields})
        lines = tuple(
            line.model_copy(update={"label": None}) if line.label and is_stale(line.label, line, self.lines) else line
            for line in changed.lines
        )
        return changed.model_copy(update={"lines": lines}).after(self, fields)

    def plays_as(self, other: Experiment) -> bool:
        """Whether a title and a note that are true of ``other`` are true here: same arms, horizon and policies."""
        return setting_of(self) == setting_of(other) and self.played == other.played

    def after(self, before: Experiment, given: Collection[str] = ()) -> Experiment:
        """This experiment, an edited ``before``, without title and note where they spoke of what has changed.

        ``given`` names those of the two that are new themselves and stay.
        """
        if self.plays_as(before):
            return self
        return self.model_copy(update={name: "" for name in ("title", "note") if name not in given})


def _setting_problems(document: Mapping[str, Any]) -> list[Issue]:
    """Exactly one of arms and contexts."""
    given = [name for name in ("arms", "contexts") if document.get(name) is not None]
    if not given and "arms" not in document:  # else the field says itself what is wrong with it
        return [Issue("arms", None, "this field is required (or contexts, for users with features)")]
    if len(given) == 2:
        return [Issue("contexts", "both are given", "either arms or contexts (users with features); leave one out")]
    return []


def clip_problems(document: Document) -> list[Issue]:
    """What `clip` cannot cut: users with features, and rewards that are no finite list."""
    kinds = sorted({arm.kind for arm in document.arms} - set(reward_laws.CUTTABLE))
    if document.clip is None or not (kinds or document.contexts):
        return []
    here = "users with features" if document.contexts else f"these arms: {', '.join(kinds)}"
    return [Issue("clip", list(document.clip), f"{', '.join(reward_laws.CUTTABLE)} arms only, not with {here}")]


def _with_typed_parameters(line: Line) -> Line:
    typed = line.entry.parameters.model_validate(line.params)
    return line.model_copy(update={"params": {name: value for name, value in typed if name in line.params}})


def _setup(line: Line, experiment: Experiment) -> RunSetup:
    policy, visits = line.entry, experiment.visits
    arms = experiment.single_arms if policy.privacy == "none" else experiment.seen_arms
    uncut = None if arms is experiment.single_arms else experiment.single_arms
    stated, epsilon = policy.parameters.model_validate(line.params), line.epsilon

    def of(stated: Parameters, budget: BudgetDistribution | None, visits: int, delta: float = 0.0) -> RunSetup:
        setup = RunSetup(
            arms, budget, policy.resolve(stated, budget), experiment.horizon, experiment.contexts,
            experiment.feedback, visits, delta, uncut,
        )  # fmt: skip
        return replace(setup, parameters=policy.settle(setup))

    if visits == 1 or policy.privacy == "none":
        return of(stated, epsilon, visits)
    delta, threshold = experiment.visits_delta, getattr(stated, "eps_min", None)
    if delta > 0 and why_not_tight(policy, of(stated, epsilon, 1)):
        delta = 0.0  # refused elsewhere
    if isinstance(threshold, float):  # it speaks of people, as epsilon does
        stated = stated.model_copy(update={"eps_min": part_of_one(threshold, visits, delta)})
    if delta > 0 and epsilon is not None and epsilon.fixed is not None:
        part = part_of_one(epsilon.fixed, visits, delta)  # may be smaller than a spec's own
        return of(stated, epsilon.model_copy(update={"value": part}), visits, delta)
    if "delta" in policy.parameters.model_fields:
        once = of(stated, line.epsilon, 1)
        if policy.guarantee(once).delta > 0:
            part = max(SMALLEST_DELTA, delta_of_one(policy, once, visits))  # the smallest one is refused
            stated = stated.model_copy(update={"delta": part})
    return of(stated, epsilon and epsilon.divided(visits), visits)


def _line_problems(document: Mapping[str, Any], experiment: Experiment | None) -> list[Issue]:
    """What no single field can know: the policy exists, takes this budget and these parameters, accepts the arms."""
    raw_lines = document.get("lines")
    if not isinstance(raw_lines, list | tuple):
        return []
    issues: list[Issue] = []
    for number, given in enumerate(raw_lines):
        raw = given.model_dump() if isinstance(given, Line) else given
        if not isinstance(raw, Mapping) or not isinstance(raw.get("policy"), str):
            continue  # reported by the field itself
        here = ("lines", number)
        policy = registry().get(raw["policy"])
        if policy is None:
            issues.append(Issue(f"lines[{number}].policy", raw["policy"], unknown_policy(raw["policy"])))
            continue
        params = raw.get("params", {})
        try:
            policy.parameters.model_validate(params)
        except pydantic.ValidationError as error:
            if isinstance(params, Mapping):
                issues += issues_of(error, params, (*here, "params"), policy.parameters.model_fields)
        issues += _budget_problems(policy, raw.get("epsilon"), number)
    if issues or experiment is None:
        return issues
    arm_count = sum(arm.count for arm in experiment.arms)
    if arm_count > MAX_ARMS:
        return [Issue("arms", arm_count, f"at most {MAX_ARMS} arms in all")]
    refused = {line.policy: _refusal(line.entry, experiment) for line in experiment.lines}  # once a policy, not a line
    for number, line in enumerate(experiment.lines):
        words = refused[line.policy]
        if words is not None:
            issues.append(Issue(f"lines[{number}].policy", line.policy, words))
            continue
        try:
            words = line.entry.refuses(_setup(line, experiment))
        except ArithmeticError:
            words = OUT_OF_RANGE
        if words is not None:
            issues.append(Issue(f"lines[{number}].params", dict(line.params), words))
    return issues or _coming_problems(experiment)


def _coming_problems(experiment: Experiment) -> list[Issue]:
    """Policies that cannot wait for feedback, and people who come more often than a delta can cover."""
    issues = []
    feedback, policies = experiment.feedback, {line.policy: line.entry for line in experiment.lines}
    if not feedback.immediate and (stuck := [name for name, policy in policies.items() if not policy.late]):
        kinds = {(policies[name].privacy, policies[name].setting) for name in stuck}
        able = [policy for policy in registry().values() if policy.late]
        alike = [policy.name for policy in able if (policy.privacy, policy.setting) in kinds]
        why = "; ".join(f"{name} {policies[name].cannot_wait}" for name in stuck)
        allowed = f"batch 1 and delay 0 with {', '.join(stuck)}: {why}"
        allowed += f"; instead: {', '.join(alike[:5])}" if alike else ""
        issues.append(Issue("feedback", f"batch {feedback.batch}, delay {feedback.delay}", allowed))
    lost = [line.policy for line in experiment.lines if experiment.visits > 1 and _delta_is_lost(line, experiment)]
    if lost:
        allowed = f"fewer, or a smaller epsilon, with {', '.join(lost)}: one visit would keep a delta below "
        issues.append(Issue("visits", experiment.visits, f"{allowed}{SMALLEST_DELTA:g}"))
    return issues + _composition_problems(experiment)


def _composition_problems(experiment: Experiment) -> list[Issue]:
    """Policies whose promise for a person is no composition of single answers' promises."""
    if experiment.visits == 1 or experiment.visits_delta == 0:
        return []
    once = experiment.model_copy(update={"visits": 1})
    private = [line for line in experiment.lines if line.entry.privacy != "none"]
    why = {line.policy: words for line in private if (words := why_not_tight(line.entry, _setup(line, once)))}
    if not why:
        return []
    allowed = f"0 with {', '.join(why)}: " + "; ".join(f"{name} {words}" for name, words in why.items())
    return [Issue("visits_delta", experiment.visits_delta, allowed)]


def _delta_is_lost(line: Line, experiment: Experiment) -> bool:
    setup = _setup(line, experiment)
    own = setup.visits_delta == 0 and line.entry.guarantee(setup).delta > 0
    return own and setup.parameters.delta <= SMALLEST_DELTA


def _refusal(policy: Policy, experiment: Experiment) -> str | None:
    """Words of refusal where the policy needs features and there are none, or the other way round."""
    setting = "arms" if experiment.contexts is None else "contexts"
    if policy.setting == setting:
        return policy.accepts(experiment.single_arms if policy.privacy == "none" else experiment.seen_arms)
    names = ", ".join(name for name, other in registry().items() if other.setting == setting)
    lack = (
        "chooses by the features of users, and this experiment has plain arms"
        if setting == "arms"
        else "plays plain arms, and the users of this experiment have features"
    )
    return f"{policy.name} {lack}; allowed here: {names}"


def _budget_problems(policy: Policy, epsilon: Any, number: int) -> list[Issue]:
    path = f"lines[{number}].epsilon"
    kind = epsilon.get("kind") if isinstance(epsilon, Mapping) else getattr(epsilon, "kind", None)
    if policy.epsilon == "none" and epsilon is not None:
        return [Issue(path, kind, f"{policy.name} keeps no privacy budget; leave epsilon out")]
    if policy.epsilon != "none" and epsilon is None:
        return [Issue(path, None, f"{policy.name} needs a privacy budget epsilon")]
    if policy.epsilon == "one" and kind != "fixed" and isinstance(kind, str) and kind in budget_distributions:
        return [Issue(path, kind, f"{policy.name} needs one fixed epsilon for all users")]
    return []


def _check_size(size: int, name: str) -> None:
    """Refuse a spec that is too long before anything of it is read."""
    refuse_if(size > MAX_SPEC_BYTES, name, f"{size / 2**20:.1f} MB", f"at most {MAX_SPEC_BYTES >> 20} MB")


def _check_names(count: int) -> None:
    """Refuse what no spec is before each of its names is judged, which would keep other visitors waiting."""
    if count > MAX_NAMES:
        raise ValueError(f"there are {count:,} names in one object, and at most {MAX_NAMES:,} are read")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            raise ValueError(f"{key[:80]!r} stands twice in one object")
        document[key] = value
    _check_names(len(document))
    return document


def read_json(text: str, name: str = "document") -> Any:
    """JSON where a name may stand only once in an object.

    Raises
    ------
    InputError
        When the text is no such JSON, or longer than `MAX_SPEC_BYTES`.
    """
    _check_size(len(text), name)
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError([Issue(name, text[:40], f"not readable as JSON: {error}")]) from None


def _read_toml(text: str, name: str) -> dict[str, Any]:
    _check_size(len(text), name)
    if long := _LONG_NAME.search(text):
        raise InputError([Issue(name, long[1][:40], f"at most {MAX_NAME_PARTS} names with points between them")])
    try:
        document = tomllib.loads(text)
        _check_names(len(document))
        return document
    except (ValueError, RecursionError) as error:
        raise InputError([Issue(name, text[:40], f"not readable as TOML: {error}")]) from None


def parse_document(text: str, form: Literal["json", "toml"], name: str = "document") -> Any:
    """What a text says, without a check of what it means.

    Raises
    ------
    InputError
        When the text is not of that form or longer than `MAX_SPEC_BYTES`.
    """
    document = read_json(text, name) if form == "json" else _read_toml(text, name)
    if isinstance(document, dict):
        document.pop(GROUP_FIELD, None)
    return document


def parse(text: str, form: Literal["json", "toml"], name: str = "document") -> Experiment:
    """Read a spec from text.

    Raises
    ------
    InputError
        When the text is not of that form or longer than `MAX_SPEC_BYTES`, or the spec is wrong.
    """
    return Experiment.model_validate(parse_document(text, form, name))


def read(path: Path) -> Experiment:
    """Read a .json or .toml file.

    Raises
    ------
    InputError
        When the file cannot be read, has another ending, or holds a wrong spec.
    """
    return Experiment.model_validate(read_document(path))


def read_document(path: Path) -> Any:
    """What a .json or .toml file says, without a check of what it means.

    Raises
    ------
    InputError
        When the file cannot be read, or has another ending.
    """
    form = path.suffix.lstrip(".").lower()
    if form not in ("json", "toml"):
        raise InputError([Issue("spec", str(path), "must be a preset's name, or a file that ends in .json or .toml")])
    try:
        _check_size(path.stat().st_size, str(path))
        text = path.read_text(encoding="utf-8")
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError([unreadable("spec", path, error)]) from None
    return parse_document(text, form, str(path))  # type: ignore[arg-type]
