"""A log replayed: what everyone would have brought with one option, where the log says how likely each choice was.

With n rows, r the reward of a row, and w = 1 / p where the row's option is the one asked for, 0 elsewhere (p is the
chance with which that option was shown to this user, its propensity):

* by inverse propensity (Horvitz and Thompson 1952): mean of w r over all n rows, unbiased; its standard error is the
  standard deviation of w r over sqrt(n);
* self-normalised (Hajek 1971; Swaminathan and Joachims 2015): v = sum of w r / sum of w, which varies less and stays
  between the observed rewards; standard error sqrt(sum of w^2 (r - v)^2) / sum of w, by linearisation.

Both need p > 0 for every option and user, also for those who were shown another one, which no log can show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandit_core.data.tables import Sheet, column_words, refusal

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("option", "rows", "observed", "inverse", "inverse_stderr", "normalised", "normalised_stderr", "effective")


@dataclass(frozen=True)
class Replay:
    """One option. ``effective`` is how many rows with equal chances would say as much: (sum w)^2 / sum w^2."""

    option: str
    rows: int
    observed: float
    inverse: float
    inverse_stderr: float
    normalised: float
    normalised_stderr: float
    effective: float


def replayed(names: Sequence[str], chosen: np.ndarray, rewards: np.ndarray, chances: np.ndarray) -> tuple[Replay, ...]:
    """Every option that the log has.

    Parameters
    ----------
    names
        Of the options.
    chosen, rewards, chances
        The place of each row's option, its reward and its propensity, shape (rows,) each.

    >>> found = replayed("ab", np.array([0, 1]), np.array([1.0, 0.5]), np.array([0.5, 0.5]))
    >>> [each.inverse for each in found], [each.normalised for each in found]
    ([1.0, 0.5], [1.0, 0.5])
    """
    found = []
    for place, name in enumerate(names):
        mine = chosen == place
        if not mine.any():
            continue
        weights = np.where(mine, 1 / chances, 0.0)
        whole = float(weights.sum())
        worth = weights * rewards
        value = float(worth.sum()) / whole
        error = float(worth.std(ddof=1)) / math.sqrt(len(worth)) if len(worth) > 1 else math.nan
        own = math.sqrt(float(np.sum((weights * (rewards - value)) ** 2))) / whole if mine.sum() > 1 else math.nan
        effective = whole**2 / float(weights @ weights)
        observed = float(rewards[mine].mean())
        found.append(Replay(name, int(mine.sum()), observed, float(worth.mean()), error, value, own, effective))
    return tuple(found)


def table(found: Sequence[Replay]) -> pd.DataFrame:
    """One row per option, columns `COLUMNS`."""
    import pandas as pd

    return pd.DataFrame([[getattr(each, name) for name in COLUMNS] for each in found], columns=list(COLUMNS))


def replayed_log(
    table: Sheet, column: str, samples: Sequence[tuple[str, np.ndarray, np.ndarray]]
) -> tuple[Replay, ...]:
    """The log replayed by the chances in a column; ``samples``: name, rewards and rows of each option.

    Raises
    ------
    InputError
        Where one of them is no chance above 0.
    """
    rows = np.concatenate([places for _, _, places in samples])
    chances = table.numbers(column).values[rows]
    wrong = rows[~((chances > 0) & (chances <= 1))]
    if len(wrong):
        value = table.cell(column, int(wrong[0]))
        allowed = f"in row {table.row(int(wrong[0]))} the chance with which this option was shown: above 0, at most 1"
        raise refusal(column_words(column), value, allowed)
    chosen = np.repeat(np.arange(len(samples)), [len(places) for _, _, places in samples])
    return replayed([name for name, _, _ in samples], chosen, np.concatenate([each[1] for each in samples]), chances)
