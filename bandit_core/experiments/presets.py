"""Preset files: one per picture, found by scanning the folder; the same documents as any other spec."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bandit_core import paths
from bandit_core.experiments.experiment import GROUP_FIELD, Experiment, read
from bandit_core.spec.errors import InputError, Issue, did_you_mean

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
