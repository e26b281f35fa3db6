"""What the standing benchmark says: how many times the least known regret a policy loses, per promise of privacy.

The **factor** of a policy in a cell is its mean regret there, divided by the least mean regret of any policy that keeps
at least this promise with the same budget on the same task among as many users. Its score is the geometric mean of the
factor over the cells, so that twice as bad here and half as bad there cancel out, and no task counts more because more
can be lost in it. 1 means: nothing known is better anywhere.

Intervals are percentiles of the bootstrap over trials (Efron 1979): trials are drawn with replacement, the same for all
policies and cells, since trials with one number share their stream. The best policy of each cell stays the one that all
trials say; choosing it anew from each draw would favour luck. They say what the trials leave open, not what other tasks
would give.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bandit_core.model import KEPT, PROMISES, Privacy
from bandit_core.policies import registry
from bandit_core.studies.benchmark import LOSSES, TASKS, Play, load, named, replaced

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES, AT_ONCE = 2_000, 250
CONFIDENCE = 0.95
AXES = ("users", "epsilon", "arms", "gap")
_CELL = ["task", "epsilon", "users"]


@dataclass(frozen=True)
class Contest:
    """Those who are compared with each other: the setting ("arms" or "contexts"), and the least that they promise."""

    setting: str
    privacy: Privacy
    measure: str

    @property
    def key(self) -> str:
        """Its name in files and addresses: ``central-pure``, ``features-local-approximate``."""
        parts = ["features"] * (self.setting == "contexts") + [self.privacy]
        return "-".join(parts if self.privacy == "none" else [*parts, self.measure])

    @property
    def words(self) -> str:
        """``Central DP, pure``; with what users have where they have features."""
        told = PROMISES[self.privacy].title
        told += "" if self.privacy == "none" else f", {self.measure}"
        return f"{told}, users with features" if self.setting == "contexts" else told

    def admits(self, privacy: Privacy, measure: str) -> bool:
        """Whether whoever keeps such a promise keeps this one, too."""
        if "none" in (self.privacy, privacy):
            return self.privacy == privacy
        return self.privacy in PROMISES[privacy].implied() and (measure == "pure" or self.measure == "approximate")


@cache
def _settings() -> dict[str, str]:
    return {task.name: task.setting for task in TASKS}


def contests(rows: pd.DataFrame) -> tuple[Contest, ...]:
    """Every promise that some policy makes as its own, the strongest trust last, arms before users with features."""
    settings = rows["task"].map(_settings())
    own = {Contest(*each) for each in zip(settings, rows["privacy"], rows["measure"], strict=True)}
    return tuple(sorted(own, key=lambda each: (each.setting, KEPT.index(each.privacy), each.measure == "approximate")))


def entrants(rows: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    """The rows of those who keep the promise of a contest, none of them more than its budget."""
    pairs = zip(rows["privacy"], rows["measure"], strict=True)
    kept = np.array([contest.admits(*pair) for pair in pairs], bool)
    kept &= (rows["task"].map(_settings()) == contest.setting).to_numpy()
    kept &= ~(rows["guarantee_epsilon"] > rows["epsilon"] * (1 + 1e-9)).to_numpy()
    return rows[kept]


@dataclass(frozen=True, eq=False)
class _Board:
    """Who meets whom where. ``losses`` is (policies, cells, trials), ``floors`` (policies, cells), ``free`` (cells,)
    the least mean regret without privacy; in reward units, NaN where nothing was played or is known."""

    names: tuple[str, ...]
    losses: np.ndarray
    floors: np.ndarray
    free: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean regret, shape (policies, cells)."""
        return np.asarray(self.losses.mean(axis=2))


def _board(rows: pd.DataFrame, contest: Contest) -> _Board:
    mine = entrants(rows, contest)
    keys = [tuple(key) for key in mine[_CELL].fillna(0.0).itertuples(index=False, name=None)]
    cells, names = sorted(set(keys)), list(dict.fromkeys(mine["policy"]))
    at = [names.index(name) for name in mine["policy"]], [cells.index(key) for key in keys]
    losses, floors = np.full((len(names), len(cells), len(LOSSES)), np.nan), np.full((len(names), len(cells)), np.nan)
    losses[at], floors[at] = mine[list(LOSSES)].to_numpy(float), mine["floor"]
    plain = rows[rows["privacy"] == "none"]
    best = plain[list(LOSSES)].mean(axis=1).groupby([plain["task"], plain["users"]]).min()
    free = [float(best.get((task, users), math.nan)) for task, _, users in cells]
    return _Board(tuple(names), losses, floors, np.array(free))


def _log_scores(means: np.ndarray, drawn: np.ndarray | None = None) -> np.ndarray:
    """Mean log factor over the cells that a policy has; shape (policies, ...).

    ``means`` (policies, cells) say who is best in each cell; ``drawn`` (policies, cells, ...), if any, are compared.
    """
    drawn = means if drawn is None else drawn
    best = drawn[np.nanargmin(means, axis=0), np.arange(means.shape[1])]
    return np.asarray(np.nanmean(np.log(drawn / best), axis=1))


def _resampled(losses: np.ndarray) -> np.ndarray:
    """Log scores of `RESAMPLES` draws of the trials, shape (policies, draws); always the same draws."""
    policies, cells, trials = losses.shape
    means, flat = losses.mean(axis=2), losses.reshape(-1, trials)  # one product in place of one for each policy
    weights = np.random.default_rng(0).multinomial(trials, np.full(trials, 1 / trials), RESAMPLES) / trials
    drawn = (flat @ weights[at : at + AT_ONCE].T for at in range(0, RESAMPLES, AT_ONCE))
    parts = [_log_scores(means, each.reshape(policies, cells, -1)) for each in drawn]
    return np.concatenate(parts, axis=1)


def _alike(draws: np.ndarray, best: int) -> np.ndarray:
    """Who cannot be told apart from the best one: it loses more in too few of the draws. The level is split among all
    that are compared with it (Bonferroni)."""
    level = (1 - CONFIDENCE) / max(1, len(draws) - 1)
    return np.asarray((draws > draws[best]).mean(axis=1) < 1 - level)


def _over(means: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Geometric mean of a ratio over the cells where there is one, shape (policies,); NaN where there is none."""
    logs = np.log(means / np.where(against > 0, against, np.nan))
    counts = np.isfinite(logs).sum(axis=1)
    return np.asarray(np.exp(np.nansum(logs, axis=1) / np.where(counts > 0, counts, np.nan)))


def scores(rows: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    """Everybody who keeps a promise, the best score first.

    Parameters
    ----------
    rows
        Of the benchmark (`bandit_core.studies.benchmark.load`), or a part of them.
    contest
        One of `contests`.

    Returns
    -------
    DataFrame
        ``rank`` (missing for those who do not play every cell: their scores compare with nobody's), ``policy``,
        ``title``, ``promises`` (the key of the contest of its own promise), ``factor`` with the ends ``low`` and
        ``high`` of its 95 % interval, ``alike`` (not told apart from the first), ``cells`` that it plays and
        ``first_in`` how many of them nobody loses less; geometric means of its regret over that of the best policy
        without privacy (``price``) and over the largest lower bound that holds there (``over_floor``, NaN where none is
        known).
    """
    import pandas as pd

    board = _board(rows, contest)
    means, draws = board.means, _resampled(board.losses)
    factor, played = _log_scores(means), np.isfinite(means).sum(axis=1)
    whole = played == means.shape[1]
    order = sorted(range(len(board.names)), key=lambda each: (not whole[each], factor[each]))
    low, high = np.percentile(draws, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=1)
    columns = {
        "factor": np.exp(factor), "low": np.exp(np.maximum(low, 0.0)), "high": np.exp(high),  # none is below 1
        "alike": _alike(draws, order[0]) & whole,
        "cells": played,
        "first_in": (means <= np.nanmin(means, axis=0) * (1 + 1e-9)).sum(axis=1),
        "price": _over(means, board.free),
        "over_floor": _over(means, board.floors),
    }  # fmt: skip
    own = {name: contest_of(rows, name).key for name in board.names}
    table = pd.DataFrame(
        {
            "rank": pd.array([place if whole[each] else None for place, each in enumerate(order, 1)], "Int64"),
            "policy": [board.names[each] for each in order],
            "title": [_title(board.names[each]) for each in order],
            "promises": [own[board.names[each]] for each in order],
        }
    )
    return table.assign(**{name: values[order] for name, values in columns.items()})


def contest_of(rows: pd.DataFrame, policy: str) -> Contest:
    """The contest of a policy's own promise."""
    first = rows[rows["policy"] == policy].iloc[0]
    return Contest(_settings()[first["task"]], first["privacy"], first["measure"])


def _title(policy: str) -> str:
    known = registry()
    return known[policy].title if policy in known else policy


def all_scores(rows: pd.DataFrame, policies: Collection[str] = ()) -> pd.DataFrame:
    """The `scores` of every contest, one after the other, with its key in the first column ``contest``.

    Where ``policies`` are named, of those contests only that one of them takes part in.
    """
    import pandas as pd

    frames = []
    for contest in contests(rows):
        table = scores(rows, contest)
        table.insert(0, "contest", contest.key)
        if not policies or table["policy"].isin(policies).any():
            frames.append(table)
    return pd.concat(frames, ignore_index=True)


def benchmark(policies: Sequence[str] = (), jobs: int | None = None) -> pd.DataFrame:
    """The scores of the standing benchmark, as `all_scores` of what ships.

    Policies that are named (of the registry) are played anew, on ``jobs`` worker threads; then the table has the
    contests that they take part in.

    Raises
    ------
    InputError
        For a name that no policy has, or a policy that refuses every task.
    """
    rows = load()
    for policy in named(policies) if policies else ():
        rows = replaced(rows, Play(policy).run(jobs))
    return all_scores(rows, policies)


def along(rows: pd.DataFrame, contest: Contest, axis: str) -> dict[float | str, dict[str, float]]:
    """The factor of every policy in the part of the cells at each value of one of the `AXES`, by value and policy."""
    plain = [task for task in TASKS if task.setting == "arms"]  # with features, tasks differ in more than their arms
    tasks = {task.name: getattr(task, axis) for task in plain} if axis in ("arms", "gap") else None
    values = rows[axis] if tasks is None else rows["task"].map(tasks)
    found: dict[float | str, dict[str, float]] = {}
    for value in sorted(values[entrants(rows, contest).index].dropna().unique().tolist()):
        board = _board(rows[(values == value).to_numpy()], contest)
        found[value] = dict(zip(board.names, np.exp(_log_scores(board.means)).tolist(), strict=True))
    return found
