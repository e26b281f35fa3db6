"""Preset files: one per picture, found by scanning the folder; the same documents as any other spec."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bandit_core import places
from bandit_core.experiments.experiment import Experiment, read
from bandit_core.spec.errors import InputError, Issue

FOLDER = places.ROOT / "presets"
_GROUPS = {
    "default": "Start",
    "ren": "Ren et al. 2020: local privacy",
    "tossou": "Tossou and Dimitrakakis 2016: a trusted curator",
    "adap": "Azize and Basu 2022: a trusted curator",
    "dp": "Azize et al. 2025: nearly optimal central privacy",
    "tao": "Tao et al. 2022: heavy tails",
    "han": "Han et al. 2021: users with features",
    "gajane": "Gajane et al. 2018: corrupted bits",
    "sajed": "Sajed and Sheffet 2019: elimination",
    "hu": "Hu and Hegde 2022: lazy Thompson sampling",
    "zheng": "Zheng et al. 2020: features under noise",
}


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
        When there is no such preset; the message lists names that look like it.
    """
    path = _files().get(name)
    if path is None:
        near = sorted(difflib.get_close_matches(name, preset_names(), n=5, cutoff=0.5)) or preset_names()
        raise InputError([Issue("preset", name, f"no such preset; did you mean {', '.join(near)}?")])
    return read(path)


def true_words(experiment: Experiment) -> Experiment:
    """The experiment without the title and note of a preset that plays something else.

    An edited preset that was saved as a file may still carry them.
    """
    words = (experiment.title, experiment.note)
    same = [each for each in map(load_preset, preset_names()) if (each.title, each.note) == words != ("", "")]
    if not same or any(experiment.plays_as(each) for each in same):
        return experiment
    return experiment.model_copy(update={"title": "", "note": ""})


def group(name: str) -> str:
    """The paper or the kind of lesson that a preset belongs to."""
    return _GROUPS.get(name.partition("-")[0], "Lessons")


def presets() -> list[Preset]:
    """Every preset, sorted by name."""
    loaded = ((name, load_preset(name)) for name in preset_names())
    return [Preset(name, each.title, each.note, group(name), each) for name, each in loaded]
