"""A CSV from outside as columns of cells: one reader for observations, budgets and users with features.

How large a file may be is looked at before it is parsed (bytes, rows, columns, cells), and everything after that takes
time in proportion to its size. The text is cut by pandas' parser and turned into numbers in parts, so that no step of
it keeps other threads of the process waiting for long.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core.spec.errors import InputError, Issue

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 20 * 2**20
MOST_ROWS = 2_000_000
MOST_COLUMNS = 1000
MOST_CELLS = 10_000_000
LARGEST = 1e12  # that a number of a file may be

_HEAD = 65_536  # bytes in which the first row must end; the separator is found in them
_PART = 20_000  # cells that are turned into numbers at a time
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
TRUTH_READ = "True and false, yes and no were read as 1 and 0."
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def refusal(path: str, value: Any, allowed: str) -> InputError:
    """One problem of a file, to be raised."""
    return InputError([Issue(path, value, allowed)])


def column_words(name: str) -> str:
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
        return f"row {self.row:,}, {column_words(self.column)}:{shown} {self.what}{more}"


@dataclass(frozen=True)
class Sheet:
    """A CSV as columns of cells (blank ones are NaN), and where its rows stood in the file."""

    frame: pd.DataFrame
    first_row: int
    headed: bool
    repeated: tuple[str, ...]  # headings that stand more than once; the later ones got numbers
    separator: str
    decimal: str
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the columns, each once."""
        return [str(name) for name in self.frame]

    def row(self, place: int) -> int:
        """The row of the file as a spreadsheet counts: its first one is 1, whether or not it is a heading."""
        return place + self.first_row

    def cell(self, column: str, place: int) -> str:
        """What stands in a cell, in words; nothing where it is blank."""
        import pandas as pd

        value = self.frame[column].iloc[place]
        if pd.isna(value):
            return ""
        return value if isinstance(value, str) else f"{value:.12g}"

    def words(self, column: str, most: int) -> tuple[np.ndarray, list[str]]:
        """A column as codes of its different words (-1 where a cell is blank), shape (rows,), and these words.

        Raises
        ------
        InputError
            When there are more than ``most`` of them.
        """
        import pandas as pd

        cells = self.frame[column]
        different: set[Any] = set()
        for begin in range(0, len(cells), _PART):  # so that millions of them are not sorted out first
            different |= set(cells.iloc[begin : begin + _PART].dropna().unique())
            if len(different) > most:
                raise refusal(column_words(column), None, f"at most {most} different words; is this the right column?")
        codes, found = pd.factorize(cells)
        shown = [cell.strip() if isinstance(cell, str) else f"{cell:.12g}" for cell in found]
        merged = {word: code for code, word in enumerate(dict.fromkeys(shown))}
        return np.array([*(merged[word] for word in shown), -1])[codes], list(merged)

    def numbers(self, column: str, notes: set[str] | None = None) -> np.ndarray:
        """A column as numbers, NaN where a cell is blank or none; shape (rows,)."""
        import pandas as pd

        cells = self.frame[column]
        if pd.api.types.is_bool_dtype(cells.dtype) and notes is not None:
            notes.add(TRUTH_READ)
        if pd.api.types.is_numeric_dtype(cells.dtype):  # also true and false
            return np.array(cells, float)
        numbers = np.empty(len(cells))
        for begin in range(0, len(cells), _PART):
            part = cells.iloc[begin : begin + _PART].astype("object").map(str, na_action="ignore")
            if self.decimal == ",":
                # In such a file 1.234 may well be a thousand, so a point is never read as a decimal point.
                part = part.str.replace(".", "?", regex=False).str.replace(",", ".", regex=False)
            read = pd.to_numeric(part, errors="coerce").to_numpy(float, copy=True)
            unread = np.flatnonzero(np.isnan(read) & part.notna().to_numpy())
            if len(unread):
                truth = part.iloc[unread].str.strip().str.lower().map(_TRUTH).to_numpy(float)
                read[unread] = truth
                if notes is not None and not np.isnan(truth).all():
                    notes.add(TRUTH_READ)
            numbers[begin : begin + _PART] = read
        return numbers

    def blank(self, column: str) -> np.ndarray:
        """Whether the cells of a column are empty, shape (rows,)."""
        found: np.ndarray = self.frame[column].isna().to_numpy()
        return found

    def trouble(self, column: str, numbers: np.ndarray) -> list[Trouble]:
        """The cells of a column that say something and are no usable number; they become NaN in ``numbers``."""
        bad = np.flatnonzero(~self.blank(column) & ~(np.abs(numbers) <= LARGEST))
        if not len(bad):
            return []
        what, value = "is no number" if np.isnan(numbers[bad[0]]) else "is too large", self.cell(column, bad[0])
        if self.separator != "," and _DECIMAL_COMMA.fullmatch(value):
            what = "has a decimal comma where others have points"
        elif self.decimal == "," and "." in value:
            what = "has a point where others have decimal commas"
        numbers[bad] = math.nan
        return [Trouble(self.row(int(bad[0])), column, value, len(bad), what, "leave these cells out")]


def _as_utf8(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A text file in UTF-8 without its mark and without blank lines at its end, and what to tell about it.

    Raises
    ------
    InputError
        When the file is no text, empty or too large.
    """
    if len(data) > MOST_BYTES:
        raise refusal("file", f"{len(data) / 2**20:.1f} MB", f"at most {MOST_BYTES // 2**20} MB")
    if data[:4] == b"PK\x03\x04" or data[:4] == b"\xd0\xcf\x11\xe0":
        raise refusal("file", None, "this is a workbook of a spreadsheet program; save it as CSV and upload that")
    notes: tuple[str, ...] = ()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            raise refusal("file", None, f"not readable as UTF-16 text: {error}; save it as UTF-8") from None
    if b"\0" in data:
        raise refusal("file", None, "this is no text file (it holds zero bytes); save it as CSV in UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b" \r\n")
    if not data.strip():
        raise refusal("file", None, "the file is empty")
    try:
        data.decode()
    except UnicodeDecodeError:
        notes = ("The file is not in UTF-8; it was read as Western European text (Windows-1252). Check the names.",)
        try:
            data = data.decode("cp1252").encode()
        except UnicodeDecodeError:
            data = data.decode("latin-1").encode()
    return data, notes


def _records(head: str, separator: str) -> list[list[str]]:
    """The first rows of a text, cut into cells."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=separator, skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in itertools.islice(rows, 200)]


def _agreement(rows: list[list[str]]) -> float:
    """The share of rows with as many cells as the first; 0 where that one has a single cell."""
    widths = [len(row) for row in rows if any(row)]
    return widths.count(widths[0]) / len(widths) if widths and widths[0] > 1 else 0.0


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell.replace(",", "."))) if cell else False
    except ValueError:
        return False


def _names(cells: list[str], headed: bool) -> list[str]:
    """Names of the columns, each once."""
    names: dict[str, int] = {}  # and the last number that it was given
    for place, cell in enumerate(cells, 1):
        first = name = (cell[:60] if headed else "") or f"column {place}"
        while name in names:
            names[first] += 1
            name = f"{first} ({names[first]})"
        names[name] = 1
    return list(names)


def read_sheet(data: bytes) -> Sheet:
    """Cut a CSV into cells.

    Commas, semicolons, tabs or bars may separate cells, decimals may have commas (except in a file separated by
    commas), and the text may be UTF-8, UTF-16 or Windows-1252.

    Raises
    ------
    InputError
        When it is too large, or cannot be cut into rows of equal length.
    """
    import pandas as pd  # heavy import, not needed to simulate

    data, notes = _as_utf8(data)
    lines = 1 + data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    if lines > MOST_ROWS:
        raise refusal("rows", lines, f"at most {MOST_ROWS:,} rows; take a sample of them")
    # A cut may fall into a character of several bytes, so the head is read forgivingly; whole lines of it are used.
    head = data[:_HEAD].decode("utf-8", "ignore")
    if len(data) > _HEAD:
        head = head[: max(head.rfind("\n"), head.rfind("\r")) + 1]
    if not head.strip():
        raise refusal("file", None, f"its first {_HEAD:,} bytes are blank, or all of one row")
    cut = {separator: _records(head, separator) for separator in _SEPARATORS}
    separator = max(cut, key=lambda each: _agreement(cut[each]))
    separator = separator if _agreement(cut[separator]) else ","
    before = next((place for place, row in enumerate(cut[separator]) if any(row)), None)
    if before is None:
        raise refusal("file", None, f"its first {len(cut[separator])} rows are blank")
    sample = cut[separator][before:]
    headed = not any(_is_number(cell) for cell in sample[0])
    names = _names(sample[0], headed)
    if len(names) > MOST_COLUMNS:
        raise refusal("columns", len(names), f"at most {MOST_COLUMNS:,} columns; is this the right file?")
    cells = max(lines * len(names), lines + data.count(separator.encode()))
    if cells > MOST_CELLS:
        raise refusal("cells", cells, f"at most {MOST_CELLS:,} cells (rows x columns); take a sample of the rows")
    commas = separator != "," and any(_DECIMAL_COMMA.fullmatch(cell) for row in sample for cell in row)
    # A blank row of the right length goes first: pandas holds all others against the one before, and the first
    # against none.
    blank = separator.encode() * (len(names) - 1) + b"\n"
    try:
        frame = pd.read_csv(
            io.BytesIO(blank + data), sep=separator, header=None, names=names, index_col=False,
            skiprows=range(1, 1 + before + headed), decimal="," if commas else ".", skipinitialspace=True,
            skip_blank_lines=False, low_memory=False, on_bad_lines="error",
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
            hint = "; if these are decimal commas, save with points, or with semicolons between cells"
            allowed = f"has {found[3]} cells where row {before + 1} has {found[1]}{hint if separator == ',' else ''}"
            raise refusal(f"row {int(found[2]) - 1}", None, allowed) from None
        raise refusal("file", None, "cannot be cut into rows and cells; is a quotation mark left open?") from None
    frame = frame.iloc[1:].reset_index(drop=True)
    if frame.empty:
        raise refusal("file", None, "there is a heading but no row below it")
    frame = frame.drop(columns=[name for name in names if name.startswith("column ") and frame[name].isna().all()])
    if not headed:
        notes += ("The file has no heading: its first row was read as data.",)
    if separator != ",":
        notes += (f"Cells are separated by {_SEPARATORS[separator]}{', decimals by commas' if commas else ''}.",)
    repeated = tuple(name for name, count in Counter(filter(None, sample[0])).items() if headed and count > 1)
    return Sheet(frame, before + headed + 1, headed, repeated, separator, "," if commas else ".", notes)
