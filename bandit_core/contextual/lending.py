"""Data of one's own as users with features: the auto-lending set of Han et al. 2021, a stand-in for it, or any CSV.

The set On-Line Auto Lending (CRPM-12-001) is licensed by Columbia University and cannot be shipped. `read_lending`
takes a user's own CSV of it. `synthetic` makes a table with the same columns and plausible ranges; it is invented,
and whatever is computed from it says nothing about lending. Any other CSV with feature columns, an action column and
a reward column goes through `read_table`. Both become the contexts of an experiment, whose theta is fitted to the
whole table; the simulation then draws its rows with replacement.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bandit_core.contextual.contexts import MOST_CELLS, Contexts
from bandit_core.problems import InvalidInput, Problem

# What the columns must hold; names are matched without regard to case, spaces and underscores.
LENDING_COLUMNS: dict[str, tuple[float, float, str]] = {
    "primary_fico": (300, 850, "credit score of the applicant"),
    "onemonth": (-5, 25, "one-month prime rate, percent a month or year as in the set"),
    "term": (1, 120, "months of the loan"),
    "amount_approved": (1, 1e6, "dollars"),
    "competition_rate": (0, 50, "rate of the competition, percent"),
    "monthly_payment": (0, 1e5, "dollars a month; the price follows from it"),
    "apply": (0, 1, "whether the customer took the loan: 0 or 1"),
}
CAR_TYPE = "car_type"  # any words; one column of zeros and ones for each of them
CAR_TYPES = ("F", "N", "R", "U")
WHOLE = ("term", "apply")  # columns of whole numbers
PRICES = 25  # candidate prices, equally spaced from 0 to LOWEST_PRICE, as in the published code
LOWEST_PRICE = -25_000.0
MOST_PROBLEMS = 20  # told of one file
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


def _name(source: Source) -> str:
    return "file" if isinstance(source, bytes) else str(source)


def columns_of(source: Source) -> list[str]:
    """Names of the columns of a CSV file.

    Raises
    ------
    InvalidInput
        When it cannot be read or holds no row below its header.
    """
    return _rows(source)[0]


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _rows(source: Source) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV file."""
    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInput([Problem(_name(source), None, f"cannot be read as CSV: {error}")]) from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise InvalidInput([Problem(_name(source), None, "a header and at least one row of data")])
    return [name.strip() for name in rows[0]], rows[1:]


class _Reader:
    """Cells by column name; collects what is wrong, each with its row (counted from 1 below the header) and column."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.header, self.rows = _rows(source)
        self.problems: list[Problem] = []
        twice = sorted({name for name in self.header if self.header.count(name) > 1})
        if twice:
            self.problems.append(Problem("header", twice, "every column needs a name of its own"))
        self.ragged = [number for number, row in enumerate(self.rows, 1) if len(row) != len(self.header)]
        for number in self.ragged[:MOST_PROBLEMS]:
            count = len(self.rows[number - 1])
            self.problems.append(Problem(f"row {number}", count, f"{len(self.header)} cells, as in the header"))

    def place(self, name: str) -> int | None:
        """Where a column stands; a missing one is a problem."""
        plain = [_plain(column) for column in self.header]
        if _plain(name) in plain:
            return plain.index(_plain(name))
        self.problems.append(Problem(f"column {name}", None, f"this column is required; there are {self.header}"))
        return None

    def words(self, name: str) -> list[str]:
        """The cells of a column as they are."""
        place = self.place(name)
        return [] if place is None or self.ragged else [row[place].strip() for row in self.rows]

    def numbers(
        self, name: str, low: float = -math.inf, high: float = math.inf, words: str = "", whole: bool = False
    ) -> np.ndarray:
        """The cells of a column as finite numbers in [low, high]."""
        cells = self.words(name)
        values = np.zeros(len(cells))
        limits = f" from {low:g} to {high:g}" if math.isfinite(low) and math.isfinite(high) else ""
        allowed = f"a {'whole ' if whole else ''}number{limits}" + (f" ({words})" if words else "")
        for number, cell in enumerate(cells, 1):
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            if not (low <= value <= high and math.isfinite(value)) or (whole and not value.is_integer()):
                self.problems.append(Problem(f"row {number}, column {name}", cell, allowed))
            values[number - 1] = value
        return values

    def finish(self) -> None:
        """Raise everything that was found."""
        if self.problems:
            more = len(self.problems) - MOST_PROBLEMS
            shown = self.problems[:MOST_PROBLEMS]
            if more > 0:
                shown.append(Problem(_name(self.source), f"{more} more", "the problems above are the first ones"))
            raise InvalidInput(shown)


def price(monthly: np.ndarray, term: np.ndarray, onemonth: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """What the lender earns, discounted: m sum_{j=1..term} q^j - amount, q = 1 / (1 + onemonth/100); dollars."""
    q = 1 / (1 + onemonth / 100)
    even = np.isclose(q, 1)
    annuity = np.where(even, term, q * (1 - q**term) / np.where(even, 1, 1 - q))
    return monthly * annuity - amount


def read_lending(source: Source) -> Table:
    """A user's own CSV of the auto-lending set, with the columns `LENDING_COLUMNS` and ``car_type``.

    ``source`` is a path, or the bytes of the file.

    Raises
    ------
    InvalidInput
        When the file cannot be read, lacks a column or holds a value outside its range: every problem names its row
        and column.
    """
    reader = _Reader(source)
    values = {name: reader.numbers(name, *limits, whole=name in WHOLE) for name, limits in LENDING_COLUMNS.items()}
    cars = reader.words(CAR_TYPE)
    reader.finish()
    return _lending_table(values, cars, synthetic=False)


def _lending_table(values: dict[str, np.ndarray], cars: Sequence[str], synthetic: bool) -> Table:
    numeric = ("primary_fico", "onemonth", "term", "amount_approved", "competition_rate")
    kinds = sorted(set(cars))[1:]  # the first one is the base that the constant stands for
    dummies = [np.array([car == kind for car in cars], float) for kind in kinds]
    constant = np.ones(len(cars))
    prices = price(values["monthly_payment"], values["term"], values["onemonth"], values["amount_approved"])
    return Table(
        columns=(*numeric, *(f"car_type_{kind}" for kind in kinds), "constant"),
        features=np.column_stack([*(values[name] for name in numeric), *dummies, constant]),
        actions=prices,
        rewards=values["apply"],
        synthetic=synthetic,
    )


def synthetic_rows(rows: int = 2000, seed: int = 0) -> tuple[dict[str, np.ndarray], list[str]]:
    """Invented values of every lending column, and car types; for `synthetic` and for trying out a CSV."""
    rng = np.random.default_rng(seed)
    fico = np.clip(rng.normal(720, 50, rows), 550, 850).round()
    onemonth = rng.uniform(1.0, 5.0, rows).round(2)
    term = rng.choice([36, 48, 60, 66, 72], rows, p=[0.1, 0.15, 0.5, 0.1, 0.15]).astype(float)
    amount = np.clip(rng.lognormal(10, 0.45, rows), 5000, 60_000).round(-2)
    competition = rng.uniform(3, 8, rows).round(2)
    rate = np.clip(competition + rng.normal(1.0, 1.5, rows), 1, 15) / 1200
    monthly = (amount * rate / (1 - (1 + rate) ** -term)).round(2)
    cars = [str(kind) for kind in rng.choice(CAR_TYPES, rows, p=[0.2, 0.35, 0.25, 0.2])]
    dearness = (rate * 1200 - competition) / 1.5
    chance = 1 / (1 + np.exp(0.6 + 0.9 * dearness + (fico - 720) / 80))
    values = {
        "primary_fico": fico,
        "onemonth": onemonth,
        "term": term,
        "amount_approved": amount,
        "competition_rate": competition,
        "monthly_payment": monthly,
        "apply": (rng.random(rows) < chance).astype(float),
    }
    return values, cars


def synthetic(rows: int = 2000, seed: int = 0) -> Table:
    """An invented table with the columns of the lending set; labelled as synthetic, never to be read as evidence."""
    values, cars = synthetic_rows(rows, seed)
    return _lending_table(values, cars, synthetic=True)


def synthetic_csv(rows: int = 2000, seed: int = 0) -> str:
    """The invented table as a CSV that `read_lending` reads."""
    values, cars = synthetic_rows(rows, seed)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([*values, CAR_TYPE])
    for number, car in enumerate(cars):
        writer.writerow([*(repr(float(column[number])) for column in values.values()), car])
    return file.getvalue()


def write_synthetic_csv(path: Path | str, rows: int = 2000, seed: int = 0) -> None:
    """The same as a file."""
    Path(path).write_text(synthetic_csv(rows, seed), encoding="utf-8", newline="")


def read_table(
    source: Source, features: Sequence[str], action: str, reward: str, numeric_action: bool = False
) -> Table:
    """Any CSV with feature columns of numbers, an action column and a reward column of numbers.

    Parameters
    ----------
    source
        A path, or the bytes of the file.
    features
        Names of the feature columns, at least one. A constant is added as the last feature.
    numeric_action
        Whether actions are amounts, such as prices, or just names.

    Raises
    ------
    InvalidInput
        With every problem, each with its row and column.
    """
    if not features:
        raise InvalidInput([Problem("features", list(features), "at least one column")])
    reader = _Reader(source)
    matrix = [reader.numbers(name) for name in features]
    rewards = reader.numbers(reward)
    names: tuple[str, ...] = ()
    if numeric_action:
        actions = reader.numbers(action)
    else:
        words = reader.words(action)
        names = tuple(sorted(set(words)))
        if words and len(names) < 2:
            reader.problems.append(Problem(f"column {action}", list(names), "at least two different actions"))
        actions = np.array([names.index(word) for word in words], float)
    reader.finish()
    table = np.column_stack([*matrix, np.ones(len(rewards))])
    return Table((*features, "constant"), table, actions, rewards, names)


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
    table: Table, prices: Sequence[float] | None = None, seed: int = 0, most_cells: int = MOST_CELLS // 2
) -> Contexts:
    """The table as contexts of an experiment, theta fitted to all of its rows.

    Numbers as actions (lending): one parameter, and the context of price p is (u, q u), with u the scaled features
    and q the price scaled to [0, 1]; with the constant among the features this spans the same models as the
    regressors [X, pX] of the paper, which are scaled one by one. Names as actions: a parameter for each of them. The
    link is logistic where rewards are only 0 and 1. Contexts are scaled to the unit ball, and rewards of the
    simulation are the fitted means. Tables with more than ``most_cells`` numbers are thinned after fitting.

    Raises
    ------
    InvalidInput
        When there are fewer rows than parameters to fit, or fewer than two actions.
    """
    link: Literal["identity", "logistic"] = "logistic" if set(table.rewards.tolist()) <= {0.0, 1.0} else "identity"
    u = scaled(table.features)
    rows, width = u.shape
    keep = np.arange(rows)
    if rows * width > most_cells:
        keep = np.sort(np.random.default_rng(seed).choice(rows, max(1, most_cells // width), replace=False))
    if table.action_names:
        scale = float(np.linalg.norm(u, axis=1).max())
        thetas = []
        for number, name in enumerate(table.action_names):
            mine = table.actions == number
            if mine.sum() < width:
                words = f"at least {width} rows, one for each feature, or its theta cannot be fitted"
                raise InvalidInput([Problem(f"action {name}", int(mine.sum()), words)])
            thetas.append(_fit(u[mine], table.rewards[mine], link) * scale)
        return Contexts.model_validate(
            {
                "dimension": width, "arms": len(thetas), "structure": "multi", "link": link, "rewards": "mean",
                "law": {"kind": "table", "rows": (u[keep] / scale).tolist()},
                "theta": {"kind": "given", "values": np.concatenate(thetas).tolist()},
            }
        )  # fmt: skip
    chosen = np.linspace(0, LOWEST_PRICE, PRICES) if prices is None else np.asarray(prices, float)
    if len(chosen) < 2:
        raise InvalidInput([Problem("prices", list(chosen), "at least two candidates")])
    if rows < 2 * width:
        words = f"at least {2 * width} rows, two for each feature, or theta cannot be fitted"
        raise InvalidInput([Problem("rows", rows, words)])
    every = np.concatenate([chosen, table.actions])
    span = float(every.max() - every.min()) or 1.0
    q_rows, q_chosen = (table.actions - every.min()) / span, (chosen - every.min()) / span
    scale = float(np.linalg.norm(u, axis=1).max()) * math.sqrt(2)
    theta = _fit(np.hstack([u, q_rows[:, None] * u]), table.rewards, link) * scale
    return Contexts.model_validate(
        {
            "dimension": 2 * width, "arms": len(chosen), "link": link, "rewards": "mean",
            "law": {"kind": "table", "rows": (u[keep] / scale).tolist(), "actions": q_chosen.tolist()},
            "theta": {"kind": "given", "values": theta.tolist()},
        }
    )  # fmt: skip


def lending_document(
    table: Table,
    horizon: int = 100_000,
    trials: int = 10,
    epsilons: Sequence[float] = (0.5, 1.0),
    title: str = "Auto lending",
    prices: Sequence[float] | None = None,
) -> dict[str, object]:
    """A spec document at the paper's settings for auto lending: epsilon 0.5 and 1, delta 0.01, steps 1 / (t + 50)."""
    lines: list[dict[str, object]] = []
    for epsilon in epsilons:
        budget = {"kind": "fixed", "value": epsilon}
        sgd = {"gradient_bound": 1.0, "step": 1.0, "offset": 50.0}
        lines.append({"policy": "ldp-sgd", "epsilon": budget, "params": sgd, "label": f"LDP-SGD, epsilon {epsilon:g}"})
        lines.append({"policy": "ldp-gloc", "epsilon": budget, "label": f"LDP-GLOC, epsilon {epsilon:g}"})
    return {
        "version": 1,
        "title": f"{title}: {table.label}",
        "contexts": contexts_of(table, prices).model_dump(mode="json"),
        "lines": lines,
        "horizon": horizon,
        "trials": trials,
    }
