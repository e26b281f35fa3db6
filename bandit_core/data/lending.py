"""Data of one's own as users with features: the auto-lending set of Han et al. 2021, a stand-in for it, or any CSV.

The set On-Line Auto Lending (CRPM-12-001) is licensed by Columbia University and cannot be shipped. `read_lending`
takes a user's own CSV of it. `synthetic` makes a table with the same columns and plausible ranges; it is invented,
and whatever is computed from it says nothing about lending. Any other CSV with feature columns, an action column and
a reward column goes through `read_table`. Both become the contexts of an experiment, whose theta is fitted to the
whole table; the simulation then draws its rows with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bandit_core.data.reading import Reading
from bandit_core.data.tables import MISSING, WORDS, Trouble, read_sheet
from bandit_core.spec.contexts import MAX_CELLS, Contexts
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if, unreadable
from bandit_core.spec.later import pd

# What the columns must hold; names are matched without regard to case, spaces and underscores.
LENDING_COLUMNS: dict[str, tuple[float, float, str]] = WORDS["lending"]
CAR_TYPE = "car_type"  # any words; one column of zeros and ones for each of them
CAR_TYPES = ("F", "N", "R", "U")
WHOLE = ("term", "apply")  # columns of whole numbers
PRICES = 25  # candidate prices, equally spaced from 0 to LOWEST_PRICE, as in the published code
LOWEST_PRICE = -25_000.0
MAX_WORDS = 50  # different car types, or actions with names: each of them gets parameters of its own
MAX_FEATURES = 199  # of a table; with the constant as many as users of an experiment may have
_NEWTON_STEPS = 100
Source = Path | str | bytes  # of a CSV file; bytes are its content


@dataclass(frozen=True)
class Table:
    """A data set: features (rows, columns) with their names, one action and one reward for each row.

    ``actions`` are numbers (for example prices) or the codes 0, 1, … of ``action_names``. ``synthetic`` says that the
    rows are invented.
    """

    columns: tuple[str, ...]
    features: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    action_names: tuple[str, ...] = ()
    synthetic: bool = False

    @property
    def label(self) -> str:
        """How a picture made from it must be called."""
        return "synthetic stand-in, not real lending data" if self.synthetic else "the user's own data"


def columns_of(source: Source) -> list[str]:
    """Names of the columns of a CSV file.

    Raises
    ------
    InputError
        When it cannot be read, has no row of names or no row below it, or names a column twice.
    """
    return _Reader(source, ()).sheet.columns


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


class _Reader:
    """Columns by name; collects what is wrong: of each column the first row, as a spreadsheet counts, and how many.

    The first row of the file names every column, each once, and among them all that are ``needed``.
    """

    def __init__(self, source: Source, needed: Sequence[str], answers: Mapping[str, str] | None = None) -> None:
        try:
            data = source if isinstance(source, bytes) else Path(source).read_bytes()
        except (OSError, ValueError) as error:
            raise InputError([unreadable("file", source, error)]) from None
        self.sheet, self.issues = read_sheet(data, answers), list[Issue]()
        refuse_if(not self.sheet.headed, "row 1", None, "names of the columns are needed; there is a number among them")
        refuse_if(self.sheet.repeated, "header", list(self.sheet.repeated), "every column needs a name of its own")
        self.names = {_plain(name): name for name in reversed(self.sheet.columns)}
        known = ", ".join(self.sheet.columns[:20]) + (" …" if len(self.sheet.columns) > 20 else "")
        missing = (name for name in dict.fromkeys(needed) if _plain(name) not in self.names)
        raise_any(Issue(f"column {name}", None, f"this column is required; there are {known}") for name in missing)

    def _check(self, name: str, troubles: Sequence[Trouble], allowed: str) -> None:
        for each in troubles:
            more = f" ({each.count - 1:,} more cells like it)" if each.count > 1 else ""
            why = f"this {each.what}; " if each.what else ""
            self.issues.append(Issue(f"row {each.row}, column {name}", each.value or None, why + allowed + more))

    def words(self, name: str) -> tuple[np.ndarray, list[str]]:
        """A column as codes 0, 1, … of its different words, in the order of the alphabet; at most `MAX_WORDS`."""
        column = self.names[_plain(name)]
        codes, words = self.sheet.words(column, MAX_WORDS)
        self._check(name, self.sheet.trouble(column, codes < 0, MISSING), "a word")
        ordered = sorted(words)
        return np.array([*(ordered.index(word) for word in words), -1])[codes], ordered

    def numbers(
        self, name: str, low: float = -math.inf, high: float = math.inf, words: str = "", whole: bool = False
    ) -> np.ndarray:
        """A column as finite numbers in [low, high], which ``words`` say more of."""
        column = self.names[_plain(name)]
        values, troubles, unit = self.sheet.numbers(column)
        if unit == "%":  # 5% may be meant as 5 or as 0.05
            self.issues.append(Issue(f"column {name}", "%", "numbers without percent signs"))
        allowed = f"a {'whole ' * whole}number" + f" from {low:g} to {high:g} ({words})" * bool(words)
        bad = ~np.isnan(values) & ~((low <= values) & (values <= high) & (not whole or (values == np.floor(values))))
        for rows, what in ((bad, ""), (self.sheet.blank(column), MISSING)):
            troubles += self.sheet.trouble(column, rows, what)
        self._check(name, troubles, allowed)
        return values

    def reading(self, make: Callable[[], Table]) -> Reading[Table]:
        """The table, once nothing is wrong and no doubt is left."""
        raise_any(self.issues)
        return self.sheet.questions.reading(f"{len(self.sheet.frame):,} rows.", make)


def price(monthly: np.ndarray, term: np.ndarray, onemonth: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """What the lender earns, discounted: m sum_{j=1..term} q^j - amount, q = 1 / (1 + onemonth/100); dollars."""
    q = 1 / (1 + onemonth / 100)
    even = np.isclose(q, 1)
    annuity = np.where(even, term, q * (1 - q**term) / np.where(even, 1, 1 - q))
    return monthly * annuity - amount


def read_lending(source: Source, answers: Mapping[str, str] | None = None) -> Reading[Table]:
    """A user's own CSV of the auto-lending set, with the columns `LENDING_COLUMNS` and ``car_type``.

    ``source`` is a path, or the bytes of the file; ``answers`` are those to its doubts, by their keys.

    Raises
    ------
    InputError
        When the file cannot be read, lacks a column or holds values outside its range: every column is told with the
        first row that is wrong in it (the heading is row 1, as in a spreadsheet) and how many there are.
    """
    reader = _Reader(source, (*LENDING_COLUMNS, CAR_TYPE), answers)
    values = {name: reader.numbers(name, *limits, whole=name in WHOLE) for name, limits in LENDING_COLUMNS.items()}
    codes, kinds = reader.words(CAR_TYPE)
    *numeric, payment, taken = values
    names = (*numeric, *(f"{CAR_TYPE}_{kind}" for kind in kinds[1:]), "constant")  # which stands for the first kind

    def made() -> Table:
        dummies = [(codes == code).astype(float) for code in range(1, len(kinds))]
        features = np.column_stack([*(values[name] for name in numeric), *dummies, np.ones(len(codes))])
        prices = price(*(values[name] for name in (payment, "term", "onemonth", "amount_approved")))
        return Table(names, features, prices, values[taken])

    return reader.reading(made)


def synthetic_csv(rows: int = 2000, seed: int = 0) -> str:
    """An invented table as a CSV that `read_lending` reads: every lending column, with plausible values."""
    rng = np.random.default_rng(seed)
    fico = np.clip(rng.normal(720, 50, rows), 550, 850).round()
    onemonth = rng.uniform(1.0, 5.0, rows).round(2)
    term = rng.choice([36, 48, 60, 66, 72], rows, p=[0.1, 0.15, 0.5, 0.1, 0.15]).astype(float)
    amount = np.clip(rng.lognormal(10, 0.45, rows), 5000, 60_000).round(-2)
    competition = rng.uniform(3, 8, rows).round(2)
    rate = np.clip(competition + rng.normal(1.0, 1.5, rows), 1, 15) / 1200
    monthly = (amount * rate / (1 - (1 + rate) ** -term)).round(2)
    cars = rng.choice(CAR_TYPES, rows, p=[0.2, 0.35, 0.25, 0.2])
    expense = (rate * 1200 - competition) / 1.5
    taken = rng.random(rows) < 1 / (1 + np.exp(0.6 + 0.9 * expense + (fico - 720) / 80))
    columns = (fico, onemonth, term, amount, competition, monthly, taken.astype(float), cars)
    frame = pd.DataFrame(dict(zip((*LENDING_COLUMNS, CAR_TYPE), columns, strict=True)))
    return str(frame.to_csv(index=False, lineterminator="\r\n"))


def synthetic(rows: int = 2000, seed: int = 0) -> Table:
    """The same as a table; labelled as synthetic, never to be read as evidence."""
    return replace(read_lending(synthetic_csv(rows, seed).encode()).data, synthetic=True)


def read_table(
    source: Source,
    features: Sequence[str],
    action: str,
    reward: str,
    numeric_action: bool = False,
    answers: Mapping[str, str] | None = None,
) -> Reading[Table]:
    """Any CSV with feature columns of numbers, an action column and a reward column of numbers.

    Parameters
    ----------
    source
        A path, or the bytes of the file.
    features
        Names of the feature columns, at least one and at most `MAX_FEATURES`, or half of them where actions are
        amounts. A constant is added as the last feature.
    numeric_action
        Whether actions are amounts, such as prices, or just names.
    answers
        Answers to doubts about the file, by their keys.

    Raises
    ------
    InputError
        With every problem, each with its row and column (the heading is row 1, as in a spreadsheet).
    """
    most = MAX_FEATURES // 2 if numeric_action else MAX_FEATURES
    refuse_if(not 1 <= len(features) <= most, "features", len(features), f"at least one column, at most {most}")
    reader = _Reader(source, (*features, reward, action), answers)
    matrix, rewards = [reader.numbers(name) for name in features], reader.numbers(reward)
    codes, names = (reader.numbers(action), list[str]()) if numeric_action else reader.words(action)
    if len(names) == 1:
        reader.issues.append(Issue(f"column {action}", names, "at least two different actions"))

    columns = (*features, "constant")
    return reader.reading(
        lambda: Table(
            columns, np.column_stack([*matrix, np.ones(len(rewards))]), codes.astype(float), rewards, tuple(names)
        )
    )


def scaled(features: np.ndarray) -> np.ndarray:
    """Min-max scaling of every column to [0, 1]; a column that never varies becomes 1."""
    low, high = features.min(axis=0), features.max(axis=0)
    return np.where(high > low, (features - low) / np.where(high > low, high - low, 1), 1.0)


def fit_logistic(x: np.ndarray, y: np.ndarray, ridge: float = 1e-3) -> np.ndarray:
    """Logistic regression without intercept by Newton's method; ``ridge`` x |theta|^2 / 2 keeps it finite."""
    theta = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ theta, -500, 500)))
        slope = x.T @ (chance - y) + ridge * theta
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + ridge * np.eye(len(theta))
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, 10 / max(1e-300, float(np.linalg.norm(step))))  # far steps overshoot where chances are extreme
        theta -= step
        if np.linalg.norm(step) < 1e-10:
            break
    return theta


def _fit(x: np.ndarray, y: np.ndarray, link: Literal["identity", "logistic"]) -> np.ndarray:
    if link == "logistic":
        return fit_logistic(x, y)
    return np.linalg.solve(x.T @ x + 1e-6 * np.eye(x.shape[1]), x.T @ y)


def contexts_of(
    table: Table,
    prices: Sequence[float] | None = None,
    most_cells: int = MAX_CELLS // 2,
    linear: bool = False,
) -> Contexts:
    """The table as contexts of an experiment, theta fitted to all of its rows.

    Numbers as actions (lending): one parameter, and the context of price p is (u, q u), with u the scaled features
    and q the price scaled to [0, 1]; with the constant among the features this spans the same models as the
    regressors [X, pX] of the paper, which are scaled one by one. Names as actions: a parameter for each of them. The
    link is logistic where rewards are only 0 and 1, unless the model shall be ``linear``: then it is the identity, and
    where a reward exceeds 1 in size all are divided by the largest, as policies with least squares clip them. Contexts
    are scaled to the unit ball, and rewards of the simulation are the fitted means. Tables with more than
    ``most_cells`` numbers are thinned after fitting.

    Raises
    ------
    InputError
        When there are fewer rows than parameters to fit, or fewer than two actions.
    """
    coins = set(table.rewards.tolist()) <= {0.0, 1.0}
    link: Literal["identity", "logistic"] = "logistic" if coins and not linear else "identity"
    if linear:
        table = replace(table, rewards=table.rewards / max(1.0, float(np.abs(table.rewards).max())))
    u = scaled(table.features)
    rows, width = u.shape
    keep = np.arange(rows)
    if rows * width > most_cells:
        keep = np.sort(np.random.default_rng(0).choice(rows, max(1, most_cells // width), replace=False))
    if table.action_names:
        scale = float(np.linalg.norm(u, axis=1).max())
        thetas = []
        for number, name in enumerate(table.action_names):
            mine = table.actions == number
            words = f"at least {width} rows, one for each feature, or its theta cannot be fitted"
            refuse_if(mine.sum() < width, f"action {name}", int(mine.sum()), words)
            thetas.append(_fit(u[mine], table.rewards[mine], link) * scale)
        shape = {"dimension": width, "arms": len(thetas), "structure": "multi"}
        return _contexts(shape, link, u[keep] / scale, np.concatenate(thetas))
    chosen = np.linspace(0, LOWEST_PRICE, PRICES) if prices is None else np.asarray(prices, float)
    refuse_if(len(chosen) < 2, "prices", list(chosen), "at least two candidates")
    words = f"at least {2 * width} rows, two for each feature, or theta cannot be fitted"
    refuse_if(rows < 2 * width, "rows", rows, words)
    every = np.concatenate([chosen, table.actions])
    span = float(every.max() - every.min()) or 1.0
    q_rows, q_chosen = (table.actions - every.min()) / span, (chosen - every.min()) / span
    scale = float(np.linalg.norm(u, axis=1).max()) * math.sqrt(2)
    theta = _fit(np.hstack([u, q_rows[:, None] * u]), table.rewards, link) * scale
    return _contexts({"dimension": 2 * width, "arms": len(chosen)}, link, u[keep] / scale, theta, q_chosen)


def _contexts(shape: dict[str, Any], link: str, rows: np.ndarray, theta: np.ndarray, *actions: np.ndarray) -> Contexts:
    law = {"kind": "table", "rows": rows.tolist(), **({"actions": actions[0].tolist()} if actions else {})}
    given = {"kind": "given", "values": theta.tolist()}
    return Contexts.model_validate({**shape, "link": link, "rewards": "mean", "law": law, "theta": given})


def lending_document(
    table: Table,
    horizon: int = 100_000,
    trials: int = 10,
    title: str = "Auto lending",
    prices: Sequence[float] | None = None,
    lines: Sequence[dict[str, Any]] = (),
) -> dict[str, object]:
    """A spec document at the paper's settings for auto lending: epsilon 0.5 and 1, delta 0.01, steps 1 / (t + 50).

    Other ``lines``, in place of those of the paper, play on a linear model.
    """
    return {
        "version": 1,
        "title": f"{title}: {table.label}",
        "contexts": contexts_of(table, prices, linear=bool(lines)).model_dump(mode="json"),
        "lines": list(lines) or WORDS["lending_lines"],
        "horizon": horizon,
        "trials": trials,
    }
