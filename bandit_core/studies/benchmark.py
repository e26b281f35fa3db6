"""The standing benchmark: a fixed set of tasks that every policy is played on, and what its runs lost.

The rules stay what they are for one `VERSION`; any change to a task, a budget, a number of users, the seeds or the
number of runs needs a new one.

1. A cell is a policy, a task, a budget and a number of users. A policy without privacy has one cell for each task and
   number of users.
2. Every parameter has its default, with the exceptions in `STATED` and a warm-up that never takes more than a tenth of
   the users. ``delta`` is the same for all, `DELTA`.
3. No policy knows more than the operator of a real system would: what it would read off the arms (bounds on moments,
   say) is replaced by what holds for any rewards in [0, 1].
4. Each number of users is a run of its own, so a policy may be made for it.
5. Each cell has streams of its own, from a seed derived from its name.
6. A cell has at least `LEAST` runs (`MOST` where they cost little), and more until the standard error of its mean is
   at most `PRECISION` of the mean, up to `MOST`.

What ships (`FILE`) is written by one command, ``benchmark --play --data FILE``. A row has a checksum of its first runs,
by which ``python -m benchmarks.shipped`` sees whether they still come out.

What the standing benchmark says: how many times the least known regret a policy loses, per privacy guarantee.

The **factor** of a policy in a cell is its mean regret there, divided by that of the best policy that keeps at least
this guarantee with the same budget on the same task among as many users. Its score is the geometric mean of the factor
over the cells, so that twice as bad here and half as bad there cancel out, and no task counts more because more can be
lost in it. 1 means: nothing known is better anywhere.

The least of several noisy means is too small (the winner's curse). So the best policy of a cell is chosen on one half
of the runs and both means are taken from the other half; then the halves change places, and the score is the geometric
mean of the two. A policy as good as the best may therefore get a little less than 1.

Intervals are Student's over the tasks: each task gives one number, the mean log factor of its cells, with the noise of
its runs in it. So they say what other runs of other such tasks might give. A policy has a **rank** only where it is
told apart from its neighbours: the one before is clearly better, the one after clearly worse (`steps`).

A policy is **clearly best** in a cell where its mean over all runs is below that of every other policy by a two-sided
normal test, at a level of 5% split among its rivals.

Something can be **learned** in a cell where the best policy clearly loses at least a tenth less than blind play. Where
that is so is read off the runs, anew for each contest.

The standing benchmark as a document: its rules, and every score.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import special

from bandit_core import paths
from bandit_core.experiments.catalogue import floor
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import KEPT, PROMISES, Policy, Privacy
from bandit_core.policies import registry, unknown_policy
from bandit_core.simulation.costs import trial_seconds
from bandit_core.simulation.questions import Round, Rounds, Study
from bandit_core.simulation.results import CONFIDENCE, LineResult, Result, interval, markdown, most_mean
from bandit_core.simulation.sentences import below_its_floor
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError, Issue, refuse_if, unreadable
from bandit_core.spec.found import entries
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import count, number, percent
from bandit_core.studies.best_method import known_beforehand

VERSION = 3
STREAMS = 2  # the version since which the cells of a task have the streams that they have
USERS = (1_000, 10_000, 50_000)
BUDGETS = (0.1, 0.5, 1.0, 5.0)
DELTA = 1e-6
LEAST, MOST = 400, 2_000  # runs of a cell
PRECISION = 0.02  # largest standard error of a cell's mean, as a share of the mean
CHEAP_SECONDS = 0.2  # a cell whose `MOST` runs take less, by our estimate, plays them all
TAIL = 0.95
CHECKED = 20  # runs in the checksum of a row
STATED: dict[str, dict[str, Any]] = {"ldp-sgd": {"project": 1.0}}  # users and server know that |theta| = 1
FILE = paths.ROOT / "presets" / "benchmark.csv"
DIGITS = 9  # of a number in the file
HALVES = (("first", "first_error"), ("second", "second_error"))
COLUMNS = (
    "version", "policy", "privacy", "measure", "task", "epsilon", "users", "guarantee_epsilon", "guarantee_delta",
    "floor", "blind", "checksum", "runs", "mean", "low", "high", "sd", "tail", *itertools.chain(*HALVES),
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Arms, or users with features."""

    name: str
    words: str
    instance: dict[str, Any] = field(repr=False)

    @property
    def setting(self) -> str:
        """What a policy must be able to play: "arms" or "contexts"."""
        return next(iter(self.instance))


TASKS = tuple(Task(name, **said) for name, said in entries(__file__).items())


@dataclass(frozen=True)
class Cell:
    """One policy on one task with one budget (None without privacy), for so many users.

    ``salt`` gives other streams: a check of the numbers plays with them.
    """

    policy: Policy
    task: Task
    epsilon: float | None
    users: int
    salt: str = ""

    @property
    def seed(self) -> int:
        """Of its streams, from its name, which holds no number of runs."""
        name = f"{STREAMS} {self.policy.name} {self.task.name} {self.epsilon} {self.users} {self.salt}"
        return int(hashlib.sha256(name.encode()).hexdigest()[:13], 16)

    def experiment(self, runs: int = LEAST) -> Experiment:
        """What is played.

        Raises
        ------
        InputError
            When the policy refuses the task, or the budget.
        """
        line: dict[str, Any] = {"policy": self.policy.name, "params": self._stated()}
        if self.epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": self.epsilon}
        document = {**self.task.instance, "lines": [line], "horizon": self.users, "trials": runs, "seed": self.seed}
        asked = Experiment.model_validate(document)
        own = {} if self.policy.guarantee(asked.setups[0]).delta == 0 else {"delta": DELTA}
        if self.task.setting == "arms":
            own |= known_beforehand(self.policy, asked)
        if own:
            asked = asked.with_changes(lines=[line | {"params": line["params"] | own}])
        return asked

    def _stated(self) -> dict[str, Any]:
        """Parameters that are not left at their default, whatever the arms are."""
        stated = dict(STATED.get(self.policy.name, {}))
        contexts = self.task.instance.get("contexts", {})
        warm_up = self.policy.parameters.model_fields.get("warm_up")
        if warm_up is not None and contexts.get("structure") == "multi":
            stated["warm_up"] = max(1, min(warm_up.default, self.users // (10 * contexts["arms"])))
        return stated


def cells(policy: Policy, salt: str = "") -> list[tuple[Cell, Experiment]]:
    """Every cell that a policy accepts, with what is played there.

    Raises
    ------
    InputError
        When it accepts none, for the reason that it gives at the first.
    """
    found, refusal = [], None
    budgets = (None,) if policy.privacy == "none" else BUDGETS
    for task, epsilon, users in itertools.product(TASKS, budgets, USERS):
        if task.setting != policy.setting:
            continue
        cell = Cell(policy, task, epsilon, users, salt)
        try:
            found.append((cell, cell.experiment()))
        except InputError as error:
            refusal = refusal or error
    if not found and refusal is not None:
        raise refusal
    return found


def first_runs(experiment: Experiment) -> int:
    """Runs to begin with: `MOST` where they cost little, else `LEAST`."""
    return MOST if MOST * trial_seconds(experiment, 0) <= CHEAP_SECONDS else LEAST


def runs_wanted(losses: np.ndarray) -> int:
    """Runs after which the standard error of the mean is likely to be at most `PRECISION` of it, at most `MOST`.

    ``losses``, shape (runs,), are those so far; no fewer are wanted. A tenth more than these say, since a deviation
    that is estimated too small would stop the runs too early.
    """
    mean, deviation = float(losses.mean()), _deviation(losses)
    if deviation <= PRECISION * mean * math.sqrt(len(losses)):
        return len(losses)
    wanted = math.inf if mean <= 0 else 1.1 * (deviation / (PRECISION * mean)) ** 2
    return max(len(losses), math.ceil(min(MOST, wanted)))


def played(cells: Sequence[tuple[Cell, Experiment]]) -> Rounds[pd.DataFrame]:
    """A row with `COLUMNS` for each cell, with the runs that it wants."""
    results: dict[int, Result] = {}
    asked = {place: each.with_changes(trials=first_runs(each)) for place, (_, each) in enumerate(cells)}
    while asked:
        begin = len(results) > 0
        results |= zip(asked, (yield Round([*asked.values()], 0.8 * begin, 0.8 + 0.2 * begin)), strict=True)
        wanted = {place: runs_wanted(_losses(results[place])) for place in asked}
        asked = {
            place: asked[place].with_changes(trials=runs)
            for place, runs in wanted.items()
            if runs > asked[place].trials
        }
    rows = [
        (*_facts(cell, result.experiment), checksum(result.lines[0]), *summary(_losses(result)))  # type: ignore[arg-type]
        for (cell, _), (_, result) in zip(cells, sorted(results.items()), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


class Play(Study["pd.DataFrame"]):
    """A policy played on every task; polled and stopped like a `Simulation`. The result has a row for each cell."""

    def __init__(self, policy: Policy, store: Store | None = None, salt: str = "") -> None:
        # Whole curves of this many runs would fill the store on disk; what is kept of them is their end.
        super().__init__(played(cells(policy, salt)), store or Store(None, 0))


def _losses(played: Any) -> np.ndarray:
    [line] = played.lines
    return np.asarray(line.regret[:, -1], float)


def summary(losses: np.ndarray) -> tuple[float, ...]:
    """What the file keeps of the losses of a cell, shape (runs,), in reward units.

    Returns
    -------
    runs, mean, low, high, sd, tail, first, first_error, second, second_error
        The ends of the 95% interval of the mean, the standard deviation, the `TAIL` quantile, and mean and standard
        error over each half: runs 0, 2, 4, ... and runs 1, 3, 5, ...
    """
    halves = [losses[0::2], losses[1::2]]
    ends = interval(losses)
    numbers = [losses.mean(), *map(float, ends), _deviation(losses), np.quantile(losses, TAIL)]
    for half in halves:
        numbers += [half.mean(), _deviation(half) / math.sqrt(len(half))]
    return (len(losses), *(float(f"{float(value):.{DIGITS}g}") for value in numbers))


def checksum(line: LineResult) -> str:
    """Hash of the regret and the pulls of the first `CHECKED` runs, to `DIGITS` digits."""
    numbers = np.hstack([line.regret, line.pulls])[:CHECKED]
    return hashlib.sha256(" ".join(f"{each:.{DIGITS}g}" for each in numbers.flat).encode()).hexdigest()[:16]


def _deviation(losses: np.ndarray) -> float:
    """Standard deviation, 0 where all are alike but for rounding."""
    return float(losses.std(ddof=1)) if np.ptp(losses) > 1e-12 * abs(losses).max() else 0.0


def _facts(cell: Cell, experiment: Experiment) -> tuple[Any, ...]:
    kept = cell.policy.guarantee(experiment.setups[0])
    return (
        VERSION, cell.policy.name, cell.policy.privacy, "pure" if kept.measure == "pure" else "approximate",
        cell.task.name, math.nan if cell.epsilon is None else cell.epsilon, cell.users,
        math.nan if kept.epsilon is None else kept.epsilon, kept.delta, float(f"{floor(experiment, 0):.{DIGITS}g}"),
        float(f"{blind_loss(experiment):.{DIGITS}g}"),
    )  # fmt: skip


def blind_loss(experiment: Experiment) -> float:
    """Expected regret of choosing every arm equally often, without looking at any reward. In reward units.

    With features (identity link, contexts and parameters uniform on the unit sphere) from a million numbers that are
    always the same: right to about 1%.
    """
    contexts = experiment.contexts
    if contexts is None:
        means = np.array([arm.expected for arm in experiment.setups[0].arms])
        return float(experiment.horizon * (means.max() - means.mean()))
    drawn = np.random.default_rng(0).normal(size=(20_000, contexts.arms, contexts.dimension))
    predicted = drawn[..., 0] / np.linalg.norm(drawn, axis=2)
    return float(experiment.horizon * (predicted.max(axis=1) - predicted.mean(axis=1)).mean())


def named(names: Sequence[str]) -> list[Policy]:
    """The policies of these names, all for none.

    Raises
    ------
    InputError
        For a name that no policy has.
    """
    known = registry()
    for name in names:
        refuse_if(name not in known, "name", name, unknown_policy(name))
    return [known[name] for name in names or known]


# ---------------------------------------------------------------------------------------------------------------
# The file


def load(path: Path | str = FILE) -> pd.DataFrame:
    """The rows of a file that `write` wrote.

    Raises
    ------
    InputError
        When it cannot be read, or was made by other rules.
    """
    try:
        rows = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError([unreadable("data", path, error)]) from None
    if tuple(rows.columns) != COLUMNS or not (rows["version"] == VERSION).all():
        raise InputError([Issue("data", str(path), f"a file of the benchmark's version {VERSION}")])
    return rows


def write(rows: pd.DataFrame, path: Path | str) -> None:
    """Write the rows as CSV, a policy after the other in the order of the registry.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    places = {name: place for place, name in enumerate(registry())}
    ordered = rows.sort_values("policy", key=lambda names: names.map(places), kind="stable")
    try:
        ordered.to_csv(path, index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")
    except OSError as error:
        raise InputError([Issue("data", str(path), f"cannot be written: {error.strerror}")]) from None


def replaced(rows: pd.DataFrame, by: pd.DataFrame) -> pd.DataFrame:
    """The rows, with those of every policy that is played anew in the place of its old ones."""
    kept = rows[~rows["policy"].isin(by["policy"])]
    return pd.concat([kept, by], ignore_index=True) if len(kept) else by


LEARNED = 0.9  # of the loss of blind play: where the best policy clearly loses less, something can be learned
AXES = ("users", "epsilon", "task")
_CELL = ["task", "epsilon", "users"]
_NUMBERS = ("mean", "sd", "runs", "floor", "blind", "tail")


@dataclass(frozen=True)
class Contest:
    """Those who are compared with each other: the setting ("arms" or "contexts"), and the least that they promise.

    ``whole``: of users with features all that they bring is hidden, not one reward.
    """

    setting: str
    privacy: Privacy
    measure: str
    whole: bool = True

    @property
    def key(self) -> str:
        """Its name in files and addresses: ``central-pure``, ``features-local-approximate``."""
        parts = ["features"] * (self.setting == "contexts") + [self.privacy]
        return "-".join([*parts, *[self.measure] * (self.privacy != "none"), *["rewards"] * (not self.whole)])

    @property
    def words(self) -> str:
        """``Central DP, pure``; with what users have where they have features."""
        title = PROMISES[self.privacy].title
        title += "" if self.privacy == "none" else f", {self.measure}"
        title += "" if self.whole else ", rewards only"
        return f"{title}, users with features" if self.setting == "contexts" else title

    def admits(self, privacy: Privacy, measure: str, whole: bool) -> bool:
        """Whether a policy with such a guarantee keeps this one, too."""
        if "none" in (self.privacy, privacy):
            return self.privacy == privacy
        kept = self.privacy in PROMISES[privacy].implied() and (measure == "pure" or self.measure == "approximate")
        return kept and whole >= self.whole


@cache
def _settings() -> dict[str, str]:
    return {task.name: task.setting for task in TASKS}


def contests(rows: pd.DataFrame) -> tuple[Contest, ...]:
    """Every guarantee that some policy has as its own, the strongest trust last, arms before users with features."""
    own = {contest_of(rows, policy) for policy in rows["policy"].unique()}
    return tuple(
        sorted(
            own, key=lambda each: (each.setting, KEPT.index(each.privacy), each.measure == "approximate", each.whole)
        )
    )


def entrants(rows: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    """The rows of those who keep the guarantee of a contest, none of them more than its budget."""
    pairs = zip(rows["privacy"], rows["measure"], rows["policy"].map(_whole), strict=True)
    kept = np.array([contest.admits(*pair) for pair in pairs], bool)
    kept &= (rows["task"].map(_settings()) == contest.setting).to_numpy()
    kept &= ~(rows["guarantee_epsilon"] > rows["epsilon"] * (1 + 1e-9)).to_numpy()
    return rows[kept]


@dataclass(frozen=True, eq=False)
class _Board:
    """Who meets whom where: every column of the file as a table (policies, cells); NaN where nothing was played."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, float, int], ...]  # task, budget and users
    tables: dict[str, np.ndarray]

    def halves(self, place: int) -> np.ndarray:
        """Means (0) or errors (1) of the halves, shape (policies, cells, 2)."""
        return np.stack([self.tables[pair[place]] for pair in HALVES], axis=2)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the means, shape (policies, cells)."""
        return np.asarray(self.tables["sd"] / np.sqrt(self.tables["runs"]))


def _board(rows: pd.DataFrame, contest: Contest) -> _Board:
    mine = entrants(rows, contest)
    keys = [tuple(key) for key in mine[_CELL].fillna(0.0).itertuples(index=False, name=None)]
    cells, names = sorted(set(keys)), list(dict.fromkeys(mine["policy"]))
    at = [names.index(name) for name in mine["policy"]], [cells.index(key) for key in keys]
    tables = {column: np.full((len(names), len(cells)), np.nan) for column in (*_NUMBERS, *itertools.chain(*HALVES))}
    for column, table in tables.items():
        table[at] = mine[column]
    return _Board(tuple(names), tuple(cells), tables)


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


def by_part(factors: np.ndarray, keys: Sequence[Any]) -> np.ndarray:
    """Mean log factors in the cells of each key, such as a task, shape (policies, keys); ``keys`` has one a cell."""
    return np.stack([_mean(factors[:, np.array(keys) == key]) for key in dict.fromkeys(keys)], axis=1)


def over_tasks(means: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the second-last axis, and how far Student's interval of this two-sided level reaches to each side.

    ``means`` are (tasks, ...), NaN where nothing was played. One task says nothing of others: NaN.
    """
    count = np.isfinite(means).sum(axis=0)
    middle = np.nansum(means, axis=0) / np.where(count > 0, count, np.nan)
    freedom = np.where(count > 1, count - 1, np.nan)
    deviation = np.sqrt(np.nansum((means - middle) ** 2, axis=0) / freedom)
    return middle, special.stdtrit(freedom, 0.5 + level / 2) * deviation / np.sqrt(count)


def steps(means: np.ndarray) -> np.ndarray:
    """Whether each policy is clearly better than the next one, shape (policies - 1,).

    ``means`` are those of `by_part`, the best score first. Paired t tests over the tasks; the level is split among the
    neighbours (Bonferroni).
    """
    behind, reach = over_tasks(np.diff(means, axis=0).T, 1 - (1 - CONFIDENCE) / max(1, len(means) - 1))
    return np.asarray(behind > reach + 1e-12)


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
        ``rank`` (missing where a neighbour is not told apart, for those who do not play every cell: their scores
        compare with no one's; and for a policy that has no rival), ``policy``, ``title``, ``promises`` (the key of the
        contest of its own guarantee), ``factor`` with the ends ``low`` and ``high`` of its 95% interval, ``alike`` (no
        clear step lies between the first and it), ``at_1000`` and so on (the score at each number of users), ``cells``
        that it plays, ``learned`` (the score in the ``learned_cells`` where something can be learned) and ``clear_in``
        how many of these it is clearly the best in; geometric means of its regret over that of the best policy without
        privacy (``price``) and over the largest lower bound that holds there (``over_floor``, NaN where none is known);
        ``tail``, the geometric mean of the 95% quantile of its loss over the mean, and ``spread``, the mean of
        standard deviation over mean. A policy without a rival has no score: NaN.
    """
    board, free = _board(rows, contest), _free(rows)
    plain = np.array([free.get((task, users), math.nan) for task, _, users in board.cells])
    means, sds, floors, tails = (board.tables[name] for name in ("mean", "sd", "floor", "tail"))
    factors = _log_factors(board.halves(0))
    score, played = _mean(factors), np.isfinite(means).sum(axis=1)
    tasks = by_part(factors, [task for task, _, _ in board.cells])
    reach = over_tasks(tasks.T, CONFIDENCE)[1]
    alone, learned = len(board.names) == 1, learnable(means, board.errors, np.nanmax(board.tables["blind"], axis=0))
    whole = (played == means.shape[1]) & (not alone)
    order = sorted(range(len(board.names)), key=lambda each: (not whole[each], score[each]))
    compared = np.full(len(board.names), math.nan if alone else 1.0)
    users, ranked = [users for _, _, users in board.cells], order[: whole.sum()]
    sizes, clear = [f"at_{each}" for each in dict.fromkeys(users)], [True, *steps(tasks[ranked]), True]
    ranks = {each: place for place, each in enumerate(ranked, 1) if clear[place - 1] and clear[place]}
    columns = {
        "factor": np.exp(score) * compared,
        "low": np.exp(score - reach) * compared, "high": np.exp(score + reach) * compared,
        "alike": np.isin(np.arange(len(order)), ranked[: clear.index(True, 1)]),
        **dict(zip(sizes, (np.exp(log) * compared for log in by_part(factors, users).T), strict=True)),
        "cells": played,
        "clear_in": (clearly_best(means, board.errors) & learned).sum(axis=1),
        "learned": np.exp(_mean(factors[:, learned])) * compared,
        "learned_cells": np.isfinite(means[:, learned]).sum(axis=1),
        "price": _over(means, plain),
        "over_floor": _over(means, floors),
        "tail": _over(tails, means),
        "spread": _mean(sds / means),
    }  # fmt: skip
    own = {name: contest_of(rows, name).key for name in board.names}
    table = pd.DataFrame(
        {
            "rank": pd.array([ranks.get(each) for each in order], "Int64"),
            "policy": [board.names[each] for each in order],
            "title": [_title(board.names[each]) for each in order],
            "promises": [own[board.names[each]] for each in order],
        }
    )
    return table.assign(**{name: values[order] for name, values in columns.items()})


def capped(rows: pd.DataFrame) -> pd.Series:
    """Which rows stopped at the most runs before the standard error of their mean was small enough."""
    return rows["sd"] / rows["runs"] ** 0.5 > PRECISION * rows["mean"] * (1 + 1e-6)


def under_floors(rows: pd.DataFrame) -> list[str]:
    """A sentence for each policy with a mean clearly under the floor of every policy with its guarantee.

    The chance that a policy that keeps its guarantee gets one is 1 in 10,000 at most.
    """
    tasks = [task for task in TASKS if task.setting == "arms"]
    gaps = {task.name: Cell(registry()["ucb"], task, None, 1).experiment().largest_gap for task in tasks}
    most = most_mean(rows["mean"], rows["sd"], rows["runs"], rows["users"] * rows["task"].map(gaps), 1e-4 / len(rows))
    low = rows[most < rows["floor"]].drop_duplicates("policy")
    where = " (task {0.task}, ε = {0.epsilon:g}, {0.users:,} users)"
    return [below_its_floor(row.policy, row.mean, row.floor, where.format(row)) for row in low.itertuples()]


def contest_of(rows: pd.DataFrame, policy: str) -> Contest:
    """The contest of a policy's own promise."""
    first = rows[rows["policy"] == policy].iloc[0]
    return Contest(_settings()[first["task"]], first["privacy"], first["measure"], _whole(policy))


def _whole(name: str) -> bool:
    """Whether a policy hides all that a user brings; of users without features that is the reward."""
    policy = registry().get(name)
    return policy is None or policy.setting != "contexts" or policy.privacy == "none" or _unit(policy) != "one reward"


@cache
def _unit(policy: Policy) -> str:
    return policy.unit(cells(policy)[0][1].setups[0])


def _title(policy: str) -> str:
    known = registry()
    return known[policy].title if policy in known else policy


def all_scores(rows: pd.DataFrame, policies: Collection[str] = ()) -> pd.DataFrame:
    """The `scores` of every contest, one after the other, with its key in the first column ``contest``.

    Where ``policies`` are named, of those contests only that one of them takes part in.
    """
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
    board = _board(rows, contest)
    if len(board.names) < 2 or (contest.privacy, axis) == ("none", "epsilon"):
        return {}
    keys = [cell[_CELL.index(axis)] for cell in board.cells]
    parts = dict(zip(dict.fromkeys(keys), np.exp(by_part(_log_factors(board.halves(0)), keys)).T.tolist(), strict=True))
    order: list[float | str] = [task.name for task in TASKS] if axis == "task" else sorted(set(keys))
    named = {value: zip(board.names, parts[value], strict=True) for value in order if value in parts}
    return {value: {name: each for name, each in found if not math.isnan(each)} for value, found in named.items()}


_HEADS = ("", "policy", "its own guarantee", "score", "95% interval", *(f"{each:,} users" for each in USERS),
          "clearly best in", "price")  # fmt: skip
_RULES = Path(__file__).with_name("benchmark.md")


def document(rows: pd.DataFrame) -> str:
    """All of it as Markdown."""
    head = _RULES.read_text(encoding="utf-8").format(
        version=VERSION,
        tasks="\n".join(f"- `{task.name}`: {task.words}." for task in TASKS),
        users=", ".join(map(count, USERS)),
        budgets=", ".join(f"epsilon = {budget:g}" for budget in BUDGETS),
        least=LEAST,
        most=count(MOST),
        precision=percent(PRECISION),
        capped=capped_words(rows),
        learned=percent(LEARNED),
    )
    assert CONFIDENCE == 0.95  # as the words above say
    known = {contest.key: contest for contest in contests(rows)}
    parts = [head]
    for key, contest in known.items():
        found = scores(rows, contest)
        message = [_row(row, known[row["promises"]].words) for row in found.to_dict("records")]
        parts.append(f"## {contest.words} (`{key}`)\n\n{markdown(_HEADS, message, None)}")
    return "\n".join(parts)


def capped_words(rows: pd.DataFrame) -> str:
    """How many cases stopped at the most runs before their means were known well enough, and of which policies."""
    short = rows[capped(rows)]
    if not len(short):
        return "Every case got there."
    names = short.groupby("policy", sort=False).size()
    listed = ", ".join(f"`{name}` ({number})" for name, number in names.items())
    return f"{count(len(short))} of {count(len(rows))} cases did not get there: {listed}."


def _row(row: dict[str, object], own: str) -> list[str]:
    place = "=" if row["alike"] else "–"
    if isinstance(row["rank"], int):
        place = str(row["rank"])
    score, low, high, price = (_number(row[name]) for name in ("factor", "low", "high", "price"))
    scored = score != "–"
    interval = f"{low} to {high}" if scored else "–"
    clear = f"{row['clear_in']} of {row['learned_cells']}" if scored else "–"
    users = [_number(row[f"at_{each}"]) for each in USERS]
    return [place, str(row["title"]), own, score, interval, *users, clear, price]


def _number(value: object) -> str:
    assert isinstance(value, float)
    return "–" if math.isnan(value) else number(value)
