"""The story that the course keeps to: an app tells every user one of five jokes and sees who laughs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bandit_core import Experiment, load_preset
from ui import words
from ui.learn.step import Slider

USERS, RUNS = 10_000, 500
SEED = load_preset("trust").seed  # the same runs as on Start, so the same numbers
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
Document = dict[str, Any]


def joke(mean: float, count: int = 1) -> Document:
    """Jokes at which that share of the users laughs."""
    return {"kind": "bernoulli", "mean": mean, "count": count}


FIVE = (joke(0.8), joke(0.6, 2), joke(0.4, 2))


def budget(epsilon: float) -> Document:
    """The same budget for everyone."""
    return {"kind": "fixed", "value": epsilon}


FREE, CURATOR, NOBODY = words.HOME_LABELS
OPENLY: Document = {"policy": "thompson", "label": FREE}


def flipped(epsilon: float, label: str = NOBODY) -> Document:
    """The learner that gets every answer behind a coin flip."""
    return {"policy": "ts-cf", "epsilon": budget(epsilon), "label": label}


def played(
    lines: Sequence[Document],
    arms: Sequence[Document] = FIVE,
    horizon: int = USERS,
    trials: int = RUNS,
    **view: Any,
) -> Experiment:
    """An experiment of the course; without bounds, prices relative to the best line without privacy."""
    document = {
        "arms": list(arms),
        "lines": list(lines),
        "horizon": horizon,
        "trials": trials,
        "seed": SEED,
        "view": {"bounds": False, **view},
    }
    return Experiment.model_validate(document)


def slider(label: str, help: str) -> Slider:
    """A slider over the budgets of the course."""
    return Slider(label=label, help=help, stops=EPSILONS, start=1.0, words=epsilon_words)


def epsilon_words(epsilon: float) -> str:
    """The position of a slider of budgets."""
    return f"ε = {epsilon:g}"
