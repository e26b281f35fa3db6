"""When does each line of a spec know the best arm? The document is the usual one; its lines name policies that stop.

A line gives the policy and its budget, the document the arms, the seed, the number of runs, and the users after which a
run gives up (``horizon``). Which policies stop, and by which rules: `bandit_core.policies.stopping`. Those that are
lines of an experiment, too (`bandit_core.policies.search_then_commit`), play the same searches there: a run that stops
here after so many users has shown the same arms to them there, and shows everyone else what is recommended here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bandit_core.experiments.experiment import Document, Experiment, Line, clip_problems
from bandit_core.policies.stopping import Rule, stopping_policies
from bandit_core.spec.errors import InputError, Issue, validated
from bandit_core.spec.notation import write_epsilon
from bandit_core.spec.rewards import expand, seen
from bandit_core.studies.best_arm import QUANTILES, StoppingResult, StoppingSpec, stopping

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "line", "label", "policy", "epsilon", "delta", "rule", "stop_mean", "stop_q05", "stop_median", "stop_q95",
    "not_stopped", "wrong", "wrong_low", "wrong_high", "lower_bound", "trials",
)  # fmt: skip
_OF_A_LINE = ("policy", "epsilon")  # fields of a `StoppingSpec` that a line has
_PARAMETERS = ("delta", "rule", "growth")  # that a line may have of its own
_NAMES = {"cap": "horizon"}  # fields that a document calls otherwise


@dataclass(frozen=True)
class StoppingLine:
    """A line of a document: what the reader calls it, and the question that it asks."""

    label: str
    spec: StoppingSpec


def stopping_lines(
    document: Experiment | Mapping[str, Any],
    delta: float = 0.05,
    rule: Rule = "proved",
    trials: int | None = None,
    split_visits: bool = False,
) -> list[StoppingLine]:
    """The lines of a document; ``trials`` replaces its own, ``delta`` and ``rule`` are those of lines that have none.

    ``split_visits``: where people come several times, each answer spends its part of the person's budget.

    Raises
    ------
    InputError
        With every problem: wrong fields, and lines whose policy has no stopping rule, at their path.
    """
    said = document.spec() if isinstance(document, Experiment) else document
    asked: Document = validated(Document, said)
    if asked.contexts is not None:
        raise InputError([Issue("contexts", "users with features", "policies that stop play plain arms; give arms")])
    if not asked.feedback.immediate:
        raise InputError(
            [Issue("feedback", said["feedback"], "policies that stop count every reward at once; omit it")]
        )
    if asked.visits > 1 and not split_visits:
        message = (
            f"policies that stop know people who come once; use ε/{asked.visits} for each answer (--split-visits), or "
            "count each person once and leave it out"
        )
        raise InputError([Issue("visits", asked.visits, message)])
    if issues := clip_problems(asked):
        raise InputError(issues)
    shared = {"delta": delta, "rule": rule, "trials": asked.trials if trials is None else trials}
    lines = []
    for number, line in enumerate(asked.lines):
        try:
            lines.append(StoppingLine(_label(line, asked.lines), _question(line, asked, shared)))
        except InputError as error:
            issues += [replace(issue, path=_path(issue.path, number)) for issue in error.issues]
    if issues:
        raise InputError([issue for place, issue in enumerate(issues) if issue not in issues[:place]])
    return lines


def _question(line: Line, asked: Document, shared: Mapping[str, Any]) -> StoppingSpec:
    if line.policy not in stopping_policies():
        known = ", ".join(stopping_policies())
        raise InputError(
            [Issue("policy", line.policy, f"{line.policy} has no stopping rule; those that stop: {known}")]
        )
    budget = None if line.epsilon is None else line.epsilon.fixed
    if line.epsilon is not None and budget is None:
        raise InputError([Issue("epsilon", line.epsilon.kind, f"{line.policy} needs one fixed epsilon for all users")])
    if set(line.params) - set(_PARAMETERS):
        message = f"{', '.join(_PARAMETERS)} are all that {line.policy} takes until it stops"
        raise InputError([Issue("params", dict(line.params), message)])
    if budget is not None:
        budget /= asked.visits
    numbers = {"seed": asked.seed, "cap": asked.horizon, **shared, **line.params}
    return StoppingSpec.of(policy=line.policy, epsilon=budget, **numbers, **_seen(asked, line.policy))


def _seen(asked: Document, policy: str) -> dict[str, Any]:
    """The arms as a policy sees them, and the means of the uncut ones where it sees them cut."""
    if asked.clip is None or stopping_policies()[policy].privacy == "none":
        return {"arms": asked.arms}
    arms = expand(asked.arms)
    return {"arms": seen(arms, asked.clip), "truth": tuple(arm.expected for arm in arms)}


def searches_of(experiment: Experiment) -> list[StoppingLine]:
    """The lines of an experiment that search and stop, as the questions that their runs answer: none where none does.

    Every budget is that of one answer, as people come again.
    """
    found = []
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        if line.entry.stops and setup.horizon >= len(setup.arms) > 1:
            epsilon = None if setup.epsilon is None else setup.fixed_epsilon
            chosen = {name: getattr(setup.parameters, name) for name in _PARAMETERS}
            numbers = {"trials": experiment.trials, "seed": experiment.seed, "cap": experiment.horizon, **chosen}
            spec = StoppingSpec.of(policy=line.policy, epsilon=epsilon, **numbers, **_seen(experiment, line.policy))
            found.append(StoppingLine(experiment.label(number), spec))
    return found


def _path(path: str, number: int) -> str:
    return f"lines[{number}].{path}" if path in (*_OF_A_LINE, "params") else _NAMES.get(path, path)


def _label(line: Line, lines: Sequence[Line]) -> str:
    if line.label:
        return line.written_label
    title = stopping_policies()[line.policy].title if line.policy in stopping_policies() else line.policy
    alone = line.epsilon is None or sum(other.policy == line.policy for other in lines) == 1
    return title if alone or line.epsilon is None else f"{title}, ε {write_epsilon(line.epsilon)}"


def decision_table(lines: Sequence[StoppingLine], results: Sequence[StoppingResult]) -> pd.DataFrame:
    """One row per line, columns `COLUMNS`: times in users, shares in [0, 1].

    A run that does not stop by the horizon counts with the horizon in ``stop_mean``, which is then too small, and as
    infinite in the quantiles. ``lower_bound`` holds for the mean time of every policy that keeps the line's promise
    and errs with probability delta at most; NaN where none is known.
    """
    import pandas as pd

    rows = [
        (
            number, line.label, line.spec.policy, math.nan if line.spec.epsilon is None else line.spec.epsilon,
            line.spec.delta, line.spec.rule, result.mean_users, *map(result.quantile, QUANTILES), result.not_stopped,
            result.wrong_share, *result.wrong_limits(), result.at_least, result.count,
        )
        for number, (line, result) in enumerate(zip(lines, results, strict=True))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def decide(
    document: Experiment | Mapping[str, Any],
    delta: float = 0.05,
    rule: Rule = "proved",
    trials: int | None = None,
    jobs: int | None = None,
    split_visits: bool = False,
) -> pd.DataFrame:
    """Users until each line of a document has decided which arm is best; see `stopping_lines` and `decision_table`.

    Raises
    ------
    InputError
        See `stopping_lines`, and where the runs take more than this machine allows.

    >>> arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    >>> frame = decide({"arms": arms, "lines": [{"policy": "top-two"}], "trials": 100})
    >>> bool(frame["lower_bound"][0] < frame["stop_mean"][0]), float(frame["not_stopped"][0])
    (True, 0.0)
    """
    lines = stopping_lines(document, delta, rule, trials, split_visits)
    return decision_table(lines, stopping([line.spec for line in lines], jobs))
