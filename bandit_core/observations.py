"""A practitioner's own options: observed rewards from a CSV, or typed rates, and the question they pose.

Reading is strict and explains itself: what cannot be used is a `Trouble` with its row (as a spreadsheet counts), its
column and a repair. A reading leaves troubled cells out, but whoever uses it must have agreed to that first.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core.arms import MOST_OBSERVED, Arm, Bernoulli, Empirical, TwoPoint
from bandit_core.epsilons import LARGEST, Discrete, Epsilon
from bandit_core.problems import InvalidInput, Problem

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 20 * 2**20
MOST_OPTIONS = 100
MOST_DISTINCT = 1000  # more distinct values than that are replaced by as many means of equal weight
LARGEST_REWARD = 1e12
CONFIDENCE = 0.95

_ARM_NAMES = {"arm", "option", "variant", "version", "group", "action", "treatment", "arms", "choice"}
_REWARD_NAMES = {"reward", "value", "outcome", "result", "amount", "success", "converted", "conversion", "rewards"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_TRUTH_READ = "True and false, yes and no were read as 1 and 0."
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


# ---------------------------------------------------------------------------------------------------------------
# What was observed


@dataclass(frozen=True)
class Option:
    """Observed rewards of one option: distinct values (ascending) and how often each occurred, shape (distinct,)."""

    name: str
    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, rewards: np.ndarray) -> Option:
        """The option with these rewards, in any order."""
        values, counts = np.unique(np.asarray(rewards, float) + 0.0, return_counts=True)
        return cls(name, values, counts)

    @property
    def count(self) -> int:
        """Number of observations."""
        return int(self.counts.sum())

    @cached_property
    def mean(self) -> float:
        """Mean observed reward."""
        return float(math.fsum(self.values * self.counts) / self.count)

    @cached_property
    def sd(self) -> float:
        """Standard deviation of the observations (NaN for a single one)."""
        if self.count < 2:
            return math.nan
        return math.sqrt(float(self.counts @ (self.values - self.mean) ** 2) / (self.count - 1))

    @property
    def low(self) -> float:
        """Smallest observed reward."""
        return float(self.values[0])

    @property
    def high(self) -> float:
        """Largest observed reward."""
        return float(self.values[-1])

    @property
    def yes_or_no(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """A 95 % confidence interval of the mean: Wilson's for yes or no, Student's otherwise.

        None where the data allow none: a single observation, or amounts that are all equal.
        """
        from scipy.special import ndtri, stdtrit  # heavy import, needed by few views

        n, mean = self.count, self.mean
        if self.yes_or_no:
            z = float(ndtri((1 + CONFIDENCE) / 2))
            middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
            half = z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n)) / (1 + z * z / n)
            return max(0.0, middle - half), min(1.0, middle + half)
        if n < 2 or len(self.values) == 1:
            return None
        half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * self.sd / math.sqrt(n)
        return mean - half, mean + half

    def rescaled(self, low: float, high: float) -> Option:
        """The same observations with ``low`` moved to 0 and ``high`` to 1.

        Raises
        ------
        InvalidInput
            When the limits do not hold every observation, or are no limits.
        """
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InvalidInput([Problem("limits", [low, high], "the smallest reward must be below the largest one")])
        if low > self.low or high < self.high:
            allowed = f"limits that hold every reward: {self.name} was observed from {self.low:g} to {self.high:g}"
            raise InvalidInput([Problem("limits", [low, high], allowed)])
        # What differs by less than rounding becomes one value.
        values, places = np.unique(np.clip((self.values - low) / (high - low), 0.0, 1.0), return_inverse=True)
        counts = np.zeros(len(values), self.counts.dtype)
        np.add.at(counts, places, self.counts)
        return replace(self, values=values, counts=counts)

    @property
    def summarised(self) -> bool:
        """Whether `arm` keeps the mean but only `MOST_DISTINCT` quantile means of the distribution."""
        return len(self.values) > MOST_DISTINCT

    def arm(self) -> Arm:
        """The reward law that pays what was observed, as often as it was.

        Two values are a two-point law (``bernoulli`` for 0 and 1); up to `MOST_DISTINCT` distinct values keep their
        exact frequencies (to one in a million where there are more observations than that); more are replaced by
        `MOST_DISTINCT` means of equally large groups of neighbours, which keeps the mean.
        """
        if self.yes_or_no:
            return Bernoulli(mean=self.mean)
        if len(self.values) == 2:
            share = float(self.counts[1] / self.count)
            return TwoPoint(low=self.low, high=self.high, p_high=share)
        if self.summarised:
            return Empirical(values=tuple(quantile_means(self.values, self.counts, MOST_DISTINCT).tolist()))
        counts = _small_counts(self.counts)
        kept = counts > 0
        return Empirical(values=tuple(self.values[kept].tolist()), counts=tuple(counts[kept].tolist()))


def quantile_means(values: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """Means of ``groups`` equally large parts of a sorted sample; their mean is that of the sample.

    Parameters
    ----------
    values, counts
        Distinct values, ascending, and their frequencies, shape (distinct,).
    groups
        Number of parts; observations on a border are shared between its two parts.
    """
    weight = np.concatenate([[0.0], np.cumsum(counts / counts.sum())])
    weight[-1] = 1.0
    gathered = np.concatenate([[0.0], np.cumsum(values * counts / counts.sum())])
    means = np.diff(np.interp(np.linspace(0, 1, groups + 1), weight, gathered)) * groups
    return np.clip(means, values[0], values[-1])


def _small_counts(counts: np.ndarray) -> np.ndarray:
    """The same frequencies in the smallest numbers that an empirical law takes."""
    counts = counts // reduce(math.gcd, counts.tolist())
    if counts.sum() <= MOST_OBSERVED:
        return counts
    exact = counts * (MOST_OBSERVED / counts.sum())
    whole = np.floor(exact).astype(int)
    left = MOST_OBSERVED - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole


def chances_of_being_best(options: Sequence[Option], draws: int = 20_000) -> np.ndarray:
    """How likely each option has the largest true mean, given its observations; shape (options,).

    Rates have a uniform prior; amounts are taken as normally distributed around the observed mean. Where an option
    leaves its own error unknown (see `Option.interval`) nothing can be said: all NaN.
    """
    random = np.random.default_rng(0)
    samples = np.empty((len(options), draws))
    for place, option in enumerate(options):
        if option.yes_or_no:
            won = option.mean * option.count
            samples[place] = random.beta(1 + won, 1 + option.count - won, draws)
        elif option.interval is None:
            return np.full(len(options), np.nan)
        else:
            samples[place] = random.normal(option.mean, option.sd / math.sqrt(option.count), draws)
    return np.bincount(samples.argmax(axis=0), minlength=len(options)) / draws


# ---------------------------------------------------------------------------------------------------------------
# Reading a CSV


def _column(name: str) -> str:
    """A column in words; without a heading it has a number for a name already."""
    return name if name.startswith("column ") else f"column {name}"


@dataclass(frozen=True)
class Trouble:
    """Cells that cannot be used: the first of them, how many there are, and what can be done (if agreed to)."""

    row: int
    column: str
    value: str
    count: int
    what: str
    repair: str

    def __str__(self) -> str:
        shown = f" {self.value[:40]!r}" if self.value else ""
        more = f" (and {self.count - 1:,} more like it)" if self.count > 1 else ""
        return f"row {self.row:,}, {_column(self.column)}:{shown} {self.what}{more}"


@dataclass(frozen=True)
class Observations:
    """What a CSV says: its options, how it was read, and what had to be left out."""

    options: tuple[Option, ...]
    rows: int
    layout: str
    notes: tuple[str, ...]
    troubles: tuple[Trouble, ...]

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest observed reward of all options."""
        return min(option.low for option in self.options), max(option.high for option in self.options)

    @property
    def inside_unit(self) -> bool:
        """Whether every reward lies in [0, 1], as the bounded mechanisms need it."""
        low, high = self.limits
        return low >= 0 and high <= 1


@dataclass(frozen=True)
class _Table:
    """A CSV as columns of cells, and where its rows stood in the file."""

    frame: pd.DataFrame
    first_row: int
    separator: str
    decimal: str
    notes: tuple[str, ...]

    def row(self, place: int) -> int:
        return place + self.first_row


def _refuse(path: str, value: Any, allowed: str) -> InvalidInput:
    return InvalidInput([Problem(path, value, allowed)])


def _encoding(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The encoding of a text file, and what to tell about it.

    Raises
    ------
    InvalidInput
        When the file is no text, empty or too large.
    """
    if len(data) > MOST_BYTES:
        raise _refuse("file", f"{len(data) / 2**20:.1f} MB", f"at most {MOST_BYTES // 2**20} MB")
    if data[:4] == b"PK\x03\x04" or data[:4] == b"\xd0\xcf\x11\xe0":
        raise _refuse("file", None, "this is a workbook of a spreadsheet program; save it as CSV and upload that")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            raise _refuse("file", None, f"not readable as UTF-16 text: {error.reason}; save it as UTF-8") from None
        if not text.strip():
            raise _refuse("file", None, "the file is empty")
        return encoding, ()
    if b"\0" in data:
        raise _refuse("file", None, "this is no text file (it holds zero bytes); save it as CSV in UTF-8")
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise _refuse("file", None, "the file is empty")
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        told = ("The file is not in UTF-8; it was read as Western European text (Windows-1252). Check the names.",)
        try:
            data.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1", told
        return "cp1252", told
    return "utf-8-sig", ()


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]


def _separator(lines: list[str]) -> str:
    """The separator that cuts most lines into the same number of cells (two or more) as the first one."""
    best, most = ",", 0.0
    for separator in _SEPARATORS:
        widths = [len(_cells(line, separator)) for line in lines]
        if widths[0] > 1:
            agreed = sum(width == widths[0] for width in widths) / len(widths)
            if agreed > most:
                best, most = separator, agreed
    return best


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell.replace(",", "."))) if cell else False
    except ValueError:
        return False


def _names(cells: list[str], headed: bool) -> list[str]:
    """Names of the columns, each once."""
    names: list[str] = []
    for place, cell in enumerate(cells):
        name = (cell[:60] if headed else "") or f"column {place + 1}"
        while name in names:
            name += " (again)"
        names.append(name)
    return names


def _table(data: bytes) -> _Table:
    """Cut a CSV into cells.

    Raises
    ------
    InvalidInput
        When it cannot be cut into rows of equal length.
    """
    import pandas as pd  # heavy import, not needed to simulate

    encoding, notes = _encoding(data)
    # A cut may fall into a character of several bytes, so the head is read forgivingly; whole lines of it are used.
    head = data[:65536].decode("utf-16" if encoding == "utf-16" else encoding, "ignore").splitlines()
    if len(data) > 65536:
        head = head[:-1] or head
    before = next((place for place, line in enumerate(head) if line.strip()), None)
    if before is None:
        raise _refuse("file", None, "the file begins with tens of thousands of blank characters")
    sample = [line for line in head[before : before + 200] if line.strip()]
    separator = _separator(sample)
    first = _cells(sample[0], separator)
    headed = not any(_is_number(cell) for cell in first)
    names = _names(first, headed)
    for line_number, line in enumerate(head[before : before + 200], before + 1):
        width = len(_cells(line, separator))
        if width > len(names) and line.count('"') % 2 == 0:
            hint = "; if these are decimal commas, save with points, or with semicolons between cells"
            allowed = f"has {width} cells where row {before + 1} has {len(names)}"
            raise _refuse(f"row {line_number}", line[:60], allowed + (hint if separator == "," else ""))
    commas = separator != "," and any(
        _DECIMAL_COMMA.fullmatch(cell) for line in sample for cell in _cells(line, separator)
    )
    try:
        frame = pd.read_csv(
            io.BytesIO(data), encoding=encoding, sep=separator, header=None, names=names,
            skiprows=before + headed, decimal="," if commas else ".", skipinitialspace=True, skip_blank_lines=False,
            low_memory=False, on_bad_lines="error", dtype={names[0]: str} if len(names) == 2 else None,
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if found:
            allowed = f"has {found[3]} cells where others have {found[1]}; remove what is too much"
            raise _refuse(f"row {found[2]}", None, allowed) from None
        if isinstance(error, pd.errors.EmptyDataError):
            raise _refuse("file", None, "there is a heading but no row below it") from None
        raise _refuse("file", None, "cannot be cut into rows and cells; is a quotation mark left open?") from None
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes what is too much for names of rows
        raise _refuse("file", None, f"has more cells in some row than in row {before + 1}")
    if frame.empty:
        raise _refuse("file", None, "there is a heading but no row below it")
    frame = frame.drop(columns=[name for name in frame if str(name).startswith("column ") and frame[name].isna().all()])
    if not headed:
        notes += ("The file has no heading: its first row was read as data.",)
    if separator != ",":
        notes += (f"Cells are separated by {_SEPARATORS[separator]}{', decimals by commas' if commas else ''}.",)
    return _Table(frame, before + headed + 1, separator, "," if commas else ".", notes)


def _numbers(
    table: _Table, column: str, skip: np.ndarray, notes: set[str]
) -> tuple[np.ndarray, np.ndarray, list[Trouble]]:
    """A column as numbers (NaN where there is none), its blank cells, and what is wrong with the others."""
    import pandas as pd

    cells = table.frame[column]
    blank = cells.isna().to_numpy()
    if pd.api.types.is_bool_dtype(cells.dtype):
        notes.add(_TRUTH_READ)
        return cells.to_numpy(float), blank, []
    if pd.api.types.is_numeric_dtype(cells.dtype):
        numbers = np.array(cells, float)
    else:
        text = cells.astype("object").map(str, na_action="ignore")
        if table.decimal == ",":
            # In such a file 1.234 may well be a thousand, so a point is never read as a decimal point.
            text = text.str.replace(".", "?", regex=False).str.replace(",", ".", regex=False)
        numbers = pd.to_numeric(text, errors="coerce").to_numpy(float, copy=True)
        unread = np.flatnonzero(np.isnan(numbers) & ~blank)
        if len(unread):
            left = [_TRUTH.get(str(cells.iloc[place]).strip().lower()) for place in unread]
            if any(value is not None for value in left):
                notes.add(_TRUTH_READ)
            numbers[unread] = [math.nan if value is None else value for value in left]
    troubles = []
    bad = np.flatnonzero(~blank & ~skip & ~(np.abs(numbers) <= LARGEST_REWARD))
    if len(bad):
        kinds = {place: "is no number" if np.isnan(numbers[place]) else "is too large" for place in bad[:1]}
        what, value = kinds[bad[0]], str(cells.iloc[bad[0]])
        if table.separator != "," and _DECIMAL_COMMA.fullmatch(value):
            what = "has a decimal comma where others have points"
        elif table.decimal == "," and "." in value:
            what = "has a point where others have decimal commas"
        troubles.append(Trouble(table.row(int(bad[0])), column, value, len(bad), what, "leave these cells out"))
        numbers[bad] = math.nan
    return numbers, blank, troubles


def _is_long(table: _Table) -> tuple[str, str] | None:
    """The columns of arm and reward, if the table has that form."""
    import pandas as pd

    names = {str(name).strip().lower(): str(name) for name in table.frame}
    arm = next((names[name] for name in names if name in _ARM_NAMES), None)
    reward = next((names[name] for name in names if name in _REWARD_NAMES), None)
    if arm and reward:
        return arm, reward
    if len(table.frame.columns) != 2:
        return None
    columns = [str(name) for name in table.frame]
    shares = []
    for name in columns:
        head = table.frame[name].dropna().head(1000).map(str).astype("str")  # also where nothing is left of it
        if table.decimal == ",":
            head = head.str.replace(",", ".", regex=False)
        readable = pd.to_numeric(head, errors="coerce").notna() | head.str.strip().str.lower().isin(list(_TRUTH))
        shares.append(float(readable.mean()) if len(head) else 1.0)
    if shares[0] < 0.5 <= shares[1]:
        return columns[0], columns[1]
    if shares[1] < 0.5 <= shares[0]:
        return columns[1], columns[0]
    return None


def read_observations(data: bytes) -> Observations:
    """Read observed rewards: one column per option, or two columns with option and reward.

    Commas, semicolons, tabs or bars may separate cells, decimals may have commas (except in a file separated by
    commas), and the text may be UTF-8, UTF-16 or Windows-1252.

    Raises
    ------
    InvalidInput
        When the file cannot be read as such a table, holds fewer than two options or too many, or is too large.
        Every problem names its row or column.
    """
    table = _table(data)
    notes: set[str] = set()
    pair = _is_long(table)
    read = _long(table, *pair, notes) if pair else _wide(table, notes)
    options, layout, troubles = read
    if len(options) > MOST_OPTIONS:
        where = _column(pair[0]) if pair else "columns"
        raise _refuse(where, len(options), f"at most {MOST_OPTIONS} options; is this the right file?")
    if len(options) < 2:
        told = f"{options[0].name} is the only option" if options else "no option has a number"
        allowed = f"{told}; at least two are needed: one column each, or two columns with option and reward"
        if troubles:
            allowed += f" ({troubles[0]})"
        raise _refuse("columns", ", ".join(map(str, table.frame)), allowed)
    return Observations(options, len(table.frame), layout, (*table.notes, *sorted(notes)), tuple(troubles))


def _wide(table: _Table, notes: set[str]) -> tuple[tuple[Option, ...], str, list[Trouble]]:
    columns = [str(name) for name in table.frame]
    if len(columns) > MOST_OPTIONS:
        raise _refuse("columns", len(columns), f"at most {MOST_OPTIONS} options; is this the right file?")
    options, troubles = [], []
    nothing = np.zeros(len(table.frame), bool)
    for column in columns:
        numbers, blank, found = _numbers(table, column, nothing, notes)
        rewards = numbers[~np.isnan(numbers)]
        if not len(rewards):
            first = found[0] if found else Trouble(table.first_row, column, "", 1, "", "")
            what = "is no number, and no cell of this column is" if found else "this column is empty"
            troubles.append(replace(first, count=1, what=what, repair="leave this column out"))
            continue
        troubles += found
        filled = np.flatnonzero(~blank)
        inside = np.flatnonzero(blank[: filled[-1]])  # below its last number, a column is just shorter
        if len(inside):
            row = table.row(int(inside[0]))
            troubles.append(Trouble(row, column, "", len(inside), "the cell is empty", "leave these cells out"))
        options.append(Option.of(column, rewards))
    return tuple(options), "one column per option", troubles


def _long(table: _Table, arm: str, reward: str, notes: set[str]) -> tuple[tuple[Option, ...], str, list[Trouble]]:
    import pandas as pd

    cells = table.frame[arm]
    empty = cells.isna().to_numpy() & table.frame[reward].isna().to_numpy()  # blank lines
    if len(table.frame.columns) > 2:
        others = [str(name) for name in table.frame if name not in (arm, reward)]
        notes.add(f"Other columns were not used: {', '.join(others[:5])}{' …' if len(others) > 5 else ''}.")
    numbers, blank, troubles = _numbers(table, reward, empty, notes)
    troubles = [replace(trouble, repair="drop these rows") for trouble in troubles]
    codes, names = pd.factorize(cells)
    labels = [str(name).strip() for name in names]
    merged = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    codes = np.append(np.array([merged[label] for label in labels], int), -1)[codes]
    for column, missing in ((arm, (codes < 0) & ~empty), (reward, blank & ~empty)):
        places = np.flatnonzero(missing)
        if len(places):
            row = table.row(int(places[0]))
            troubles.append(Trouble(row, column, "", len(places), "the cell is empty", "drop these rows"))
    usable = (codes >= 0) & ~np.isnan(numbers)
    codes, numbers = codes[usable], numbers[usable]
    if len(merged) > MOST_OPTIONS:
        allowed = f"at most {MOST_OPTIONS} different options; is this the right column?"
        raise _refuse(_column(arm), len(merged), allowed)
    options = [Option.of(name[:60], numbers[codes == code]) for name, code in merged.items() if (codes == code).any()]
    return tuple(options), f"two columns: {arm} (option) and {reward} (reward)", troubles


def read_budgets(data: bytes) -> tuple[Epsilon, int, tuple[Trouble, ...]]:
    """Users' own privacy budgets: one number per row, with or without a heading.

    Returns
    -------
    law, users, troubles
        Up to 1,000 distinct budgets keep their exact shares; of more, 1,000 equally spaced quantiles are kept.
        ``troubles`` are the cells left out.

    Raises
    ------
    InvalidInput
        When there is no column of budgets, or nobody shares anything.
    """
    table = _table(data)
    if len(table.frame.columns) != 1:
        names = ", ".join(map(str, table.frame))
        raise _refuse("columns", names, "one column only: the ε of one user in each row")
    column = str(table.frame.columns[0])
    empty = table.frame[column].isna().to_numpy()
    numbers, _, troubles = _numbers(table, column, empty, set())
    wrong = np.flatnonzero(~np.isnan(numbers) & ((numbers < 0) | (numbers > LARGEST)))
    if len(wrong):
        value = f"{numbers[wrong[0]]:g}"
        what = f"is no budget (0 to {LARGEST:g})"
        troubles.append(Trouble(table.row(int(wrong[0])), column, value, len(wrong), what, "drop these rows"))
        numbers[wrong] = math.nan
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if not len(values) or values[-1] <= 0:
        allowed = "at least one budget above 0" + (f" ({troubles[0]})" if troubles else "")
        raise _refuse(_column(column), None, allowed)
    users = int(counts.sum())
    if len(values) > MOST_DISTINCT:
        places = (np.arange(MOST_DISTINCT) + 0.5) / MOST_DISTINCT
        kept = values[np.searchsorted(np.cumsum(counts) / users, places)]
        values, counts = np.unique(kept, return_counts=True)
    shares = counts / counts.sum()
    return Discrete(values=tuple(values.tolist()), probs=tuple(shares.tolist())), users, tuple(troubles)
