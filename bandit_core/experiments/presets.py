"""Preset files, one per picture, found by scanning the folder; and the one budget that their lines share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bandit_core import paths
from bandit_core.experiments.experiment import GROUP_FIELD, Experiment, read
from bandit_core.spec.budgets import Discrete, Epsilon, Fixed
from bandit_core.spec.errors import InputError, Issue, did_you_mean
from bandit_core.spec.own_data import remembered

# ---------------------------------------------------------------------------------------------------------------------
# Preset files: one per picture, found by scanning the folder; the same documents as any other spec.


FOLDER = paths.ROOT / "presets"


@dataclass(frozen=True)
class Preset:
    """A named experiment; ``group`` is the paper it belongs to, or "Lessons"."""

    name: str
    title: str
    note: str
    group: str
    experiment: Experiment


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def preset_names() -> list[str]:
    """Every preset's name, sorted."""
    return list(_files())


@cache
def load_preset(name: str) -> Experiment:
    """The experiment of that name.

    Raises
    ------
    InputError
        When there is no such preset; the message has the name that looks most like it, or all.
    """
    path = _files().get(name)
    if path is None:
        near = did_you_mean(name, preset_names()) or f"there are {', '.join(preset_names())}"
        raise InputError([Issue("preset", name, f"no such preset; {near}")])
    return read(path)


def true_words(experiment: Experiment) -> Experiment:
    """The experiment without the title and note of a preset that plays something else.

    An edited preset that was saved as a file may still carry them; one that is edited back has them again.
    """
    words = (experiment.title, experiment.note)
    if words == ("", ""):
        again = next(filter(experiment.plays_as, map(load_preset, preset_names())), experiment)
        return experiment.model_copy(update={"title": again.title, "note": again.note})
    same = [each for each in map(load_preset, preset_names()) if (each.title, each.note) == words]
    if not same or any(experiment.plays_as(each) for each in same):
        return experiment
    return experiment.model_copy(update={"title": "", "note": ""})


def group(name: str) -> str:
    """The paper that a preset belongs to, or "Lessons", as its file says: a field of its own, no part of the spec."""
    return str(tomllib.loads(_files()[name].read_text(encoding="utf-8")).get(GROUP_FIELD, "Lessons"))


@cache
def presets() -> tuple[Preset, ...]:
    """Every preset, sorted by name."""
    loaded = ((name, load_preset(name)) for name in preset_names())
    return tuple(Preset(name, each.title, each.note, group(name), each) for name, each in loaded)


# ---------------------------------------------------------------------------------------------------------------------
# The one budget that several lines have in common, and which lines follow it when it is moved.
#
# A line follows where it has exactly that budget, and also where some of its users share nothing (epsilon = 0) and all
# others have it: then it is the budget of those who answer, and who stays silent stays so.


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
