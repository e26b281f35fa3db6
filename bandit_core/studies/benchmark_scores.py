"""What the standing benchmark says: how many times the least known regret a policy loses, per privacy guarantee.

The **factor** of a policy in a cell is its mean regret there, divided by that of the best policy that keeps at least
this guarantee with the same budget on the same task among as many users. Its score is the geometric mean of the factor
over the cells, so that twice as bad here and half as bad there cancel out, and no task counts more because more can be
lost in it. 1 means: nothing known is better anywhere.

The least of several noisy means is too small (the winner's curse). So the best policy of a cell is chosen on one half
of the runs and both means are taken from the other half; then the halves change places, and the score is the geometric
mean of the two. A policy as good as the best may therefore get a little less than 1.

Intervals are percentiles of a parametric bootstrap (Efron 1979): each half's mean is drawn from a gamma distribution
with that mean and that standard error, independently over policies, cells and halves, as their streams are, and the
best policy is chosen anew in every draw. They say what the runs leave open, not what other tasks would give.

A policy is **clearly best** in a cell where its mean over all runs is below that of every other policy by a two-sided
normal test, at a level of 5% split among its rivals.

Something can be **learned** in a cell where the best policy clearly loses at least a tenth less than blind play. Where
that is so is read off the runs, anew for each contest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from bandit_core.model import KEPT, PROMISES, Privacy
from bandit_core.policies import registry
from bandit_core.studies.benchmark import HALVES, PRECISION, TASKS, Play, load, named, replaced

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES, AT_ONCE = 2_000, 100
CONFIDENCE = 0.95
LEARNED = 0.9  # of the loss of blind play: where the best policy clearly loses less, something can be learned
AXES = ("users", "epsilon", "task")
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
        title = PROMISES[self.privacy].title
        title += "" if self.privacy == "none" else f", {self.measure}"
        return f"{title}, users with features" if self.setting == "contexts" else title

    def admits(self, privacy: Privacy, measure: str) -> bool:
        """Whether a policy with such a guarantee keeps this one, too."""
        if "none" in (self.privacy, privacy):
            return self.privacy == privacy
        return self.privacy in PROMISES[privacy].implied() and (measure == "pure" or self.measure == "approximate")


@cache
def _settings() -> dict[str, str]:
    return {task.name: task.setting for task in TASKS}


def contests(rows: pd.DataFrame) -> tuple[Contest, ...]:
    """Every guarantee that some policy has as its own, the strongest trust last, arms before users with features."""
    settings = rows["task"].map(_settings())
    own = {Contest(*each) for each in zip(settings, rows["privacy"], rows["measure"], strict=True)}
    return tuple(sorted(own, key=lambda each: (each.setting, KEPT.index(each.privacy), each.measure == "approximate")))


def entrants(rows: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    """The rows of those who keep the guarantee of a contest, none of them more than its budget."""
    pairs = zip(rows["privacy"], rows["measure"], strict=True)
    kept = np.array([contest.admits(*pair) for pair in pairs], bool)
    kept &= (rows["task"].map(_settings()) == contest.setting).to_numpy()
    kept &= ~(rows["guarantee_epsilon"] > rows["epsilon"] * (1 + 1e-9)).to_numpy()
    return rows[kept]


@dataclass(frozen=True, eq=False)
class _Board:
    """Who meets whom where, in reward units; NaN where nothing was played or is known.

    ``halves`` and ``half_errors`` are (policies, cells, 2), ``means``, ``errors``, ``floors``, ``deviations`` and
    ``tails`` (policies, cells), ``blind`` (cells,), and ``free`` (cells,) the least mean regret without privacy.
    """

    names: tuple[str, ...]
    halves: np.ndarray
    half_errors: np.ndarray
    means: np.ndarray
    errors: np.ndarray
    floors: np.ndarray
    deviations: np.ndarray
    tails: np.ndarray
    blind: np.ndarray
    free: np.ndarray


def _board(rows: pd.DataFrame, contest: Contest) -> _Board:
    mine = entrants(rows, contest)
    keys = [tuple(key) for key in mine[_CELL].fillna(0.0).itertuples(index=False, name=None)]
    cells, names = sorted(set(keys)), list(dict.fromkeys(mine["policy"]))
    at = [names.index(name) for name in mine["policy"]], [cells.index(key) for key in keys]

    def spread_out(column: str) -> np.ndarray:
        table = np.full((len(names), len(cells)), np.nan)
        table[at] = mine[column]
        return table

    halves, errors = (np.stack([spread_out(pair[place]) for pair in HALVES], axis=2) for place in (0, 1))
    deviations, runs = spread_out("sd"), spread_out("runs")
    free = _free(rows)
    return _Board(
        names=tuple(names),
        halves=halves,
        half_errors=errors,
        means=spread_out("mean"),
        errors=deviations / np.sqrt(runs),
        floors=spread_out("floor"),
        deviations=deviations,
        tails=spread_out("tail"),
        blind=np.nanmax(spread_out("blind"), axis=0),
        free=np.array([free.get((task, users), math.nan) for task, _, users in cells]),
    )


def _free(rows: pd.DataFrame) -> dict[tuple[str, int], float]:
    """The least mean regret without privacy by task and users: each half's mean of who is best in the other half."""
    plain, found = rows[rows["privacy"] == "none"], {}
    for place, cell in plain.groupby(["task", "users"]):
        halves = cell[[mean for mean, _ in HALVES]].to_numpy(float)
        chosen = halves.argmin(axis=0)
        found[place] = math.sqrt(halves[chosen[0], 1] * halves[chosen[1], 0])
    return found


def _log_factors(halves: np.ndarray) -> np.ndarray:
    """Log factor of every policy in every cell: the best one chosen on one half, compared on the other, and vice versa.

    ``halves`` is (policies, cells, 2, ...), the result (policies, cells, ...); NaN where a policy was not played.
    """
    logs = np.log(halves)
    chosen = np.nanargmin(halves, axis=0)[None]  # (1, cells, 2, ...)
    best = np.take_along_axis(logs, chosen[:, :, ::-1], axis=0)  # means of the other half
    return np.asarray((logs - best).mean(axis=2))


def _draws(board: _Board) -> Iterator[np.ndarray]:
    """Half means as other runs might give them, shape (policies, cells, 2, draws), `AT_ONCE` at a time."""
    generator = np.random.default_rng(0)
    means, errors = board.halves[..., None], board.half_errors[..., None]
    certain = ~(errors > 0)  # no spread, or nothing was played
    shape = np.where(certain, 1.0, (means / np.where(certain, 1.0, errors)) ** 2)
    for _ in range(0, RESAMPLES, AT_ONCE):
        drawn = generator.gamma(np.broadcast_to(shape, (*shape.shape[:3], AT_ONCE))) / shape
        yield np.maximum(np.where(certain, means, means * drawn), 1e-300 * means)


def _alike(draws: np.ndarray, best: int) -> np.ndarray:
    """Who cannot be told apart from the best one, by a normal test on the differences of the draws (policies, draws).

    The best one was chosen by the same runs, so the level is split among all ordered pairs (Bonferroni).
    """
    count = len(draws)
    if count == 1:
        return np.ones(1, bool)
    behind = draws - draws[best]
    quantile = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / (count * (count - 1)))
    return np.asarray(behind.mean(axis=1) <= quantile * behind.std(axis=1, ddof=1))


def clearly_best(means: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Which policy is clearly the best of each cell, shape (policies, cells), bool; both arguments have this shape.

    Two-sided normal tests against every rival, at the level 1 - `CONFIDENCE` split among them. A policy alone in a cell
    is not clearly better than anyone.
    """
    best = np.nanargmin(means, axis=0)
    cells = np.arange(means.shape[1])
    found = np.zeros(means.shape, bool)
    ahead = means - means[best, cells]
    noise = np.hypot(errors, errors[best, cells])
    rivals = np.isfinite(means).sum(axis=0) - 1
    level = (1 - CONFIDENCE) / np.maximum(rivals, 1)
    quantiles = np.array([NormalDist().inv_cdf(1 - each / 2) for each in level])
    clear = (ahead > quantiles * noise + 1e-9 * means) | np.isnan(means)
    clear[best, cells] = True
    found[best, cells] = clear.all(axis=0) & (rivals > 0)
    return found


def learnable(board_means: np.ndarray, errors: np.ndarray, blind: np.ndarray) -> np.ndarray:
    """In which cells something can be learned, shape (cells,): the best policy clearly loses less than `LEARNED` of
    what blind play loses, ``blind`` (cells,). Means and errors are (policies, cells)."""
    best, cells = np.nanargmin(board_means, axis=0), np.arange(board_means.shape[1])
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * errors[best, cells]
    return np.asarray(board_means[best, cells] + reach < LEARNED * blind)


def _over(means: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Geometric mean of a ratio over the cells where there is one, shape (policies,); NaN where there is none."""
    logs = np.log(means / np.where(against > 0, against, np.nan))
    return np.exp(_mean(logs))


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the second axis of what is no NaN; NaN where there is nothing."""
    counts = np.isfinite(values).sum(axis=1)
    return np.asarray(np.nansum(values, axis=1) / np.where(counts > 0, counts, np.nan))


def scores(rows: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    """Everyone who keeps a guarantee, the best score first.

    Parameters
    ----------
    rows
        Of the benchmark (`bandit_core.studies.benchmark.load`), or a part of them.
    contest
        One of `contests`.

    Returns
    -------
    DataFrame
        ``rank`` (missing for those who do not play every cell: their scores compare with no one's; and for a policy
        that has no rival), ``policy``, ``title``, ``promises`` (the key of the contest of its own guarantee),
        ``factor`` with the ends ``low`` and ``high`` of its 95% interval, ``alike`` (not told apart from the first),
        ``cells`` that it plays, ``learned`` (the score in the ``learned_cells`` where something can be learned) and
        ``clear_in`` how many of these it is clearly the best in; geometric means of its regret over that of the best
        policy without privacy (``price``) and over the largest lower bound that holds there (``over_floor``, NaN where
        none is known); ``tail``, the geometric mean of the 95% quantile of its loss over the mean, and ``spread``, the
        mean of standard deviation over mean. A policy without a rival has no score: NaN.
    """
    import pandas as pd

    board = _board(rows, contest)
    factors = _log_factors(board.halves)
    score, played = _mean(factors), np.isfinite(board.means).sum(axis=1)
    draws = np.concatenate([_mean(_log_factors(drawn)) for drawn in _draws(board)], axis=1)
    low, high = np.percentile(draws, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=1)
    alone, learned = len(board.names) == 1, learnable(board.means, board.errors, board.blind)
    whole = (played == board.means.shape[1]) & (not alone)
    order = sorted(range(len(board.names)), key=lambda each: (not whole[each], score[each]))
    compared = np.full(len(board.names), math.nan if alone else 1.0)
    columns = {
        "factor": np.exp(score) * compared, "low": np.exp(low) * compared, "high": np.exp(high) * compared,
        "alike": _alike(draws, order[0]) & whole,
        "cells": played,
        "clear_in": (clearly_best(board.means, board.errors) & learned).sum(axis=1),
        "learned": np.exp(_mean(factors[:, learned])) * compared,
        "learned_cells": np.isfinite(board.means[:, learned]).sum(axis=1),
        "price": _over(board.means, board.free),
        "over_floor": _over(board.means, board.floors),
        "tail": _over(board.tails, board.means),
        "spread": _mean(board.deviations / board.means),
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


def capped(rows: pd.DataFrame) -> pd.Series:
    """Which rows stopped at the most runs before the standard error of their mean was small enough."""
    return rows["sd"] / rows["runs"] ** 0.5 > PRECISION * rows["mean"] * (1 + 1e-6)


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
    """The factor of every policy in the part of the cells at each value of one of the `AXES`, by value and policy.

    Empty for a contest of one policy, which has no score.
    """
    mine = entrants(rows, contest)
    if mine["policy"].nunique() < 2:
        return {}
    values: list[float | str] = mine[axis].dropna().unique().tolist()
    tasks: list[float | str] = [task.name for task in TASKS]
    found: dict[float | str, dict[str, float]] = {}
    for value in sorted(values, key=lambda each: tasks.index(each) if axis == "task" else each):
        board = _board(rows[(rows[axis] == value).to_numpy()], contest)
        found[value] = dict(zip(board.names, np.exp(_mean(_log_factors(board.halves))).tolist(), strict=True))
    return found
