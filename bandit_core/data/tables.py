"""A CSV from outside as columns of cells: one reader for observations, budgets and users with features.

How large a file may be is looked at before it is parsed (bytes, rows, columns, cells), and everything after that takes
time in proportion to its size. The text is cut by pandas' parser and turned into numbers in parts, so that no step of
it keeps other threads of the process waiting for long.

Numbers are read as people write them: 1,234.5 and 1.234,5 and 1 234.5, 12 %, € 5, yes. A cell that other cells of the
file leave open (1,234 alone may be a thousand or about one) is a `Trouble`: no one but its author knows.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.free_text import why_not

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 20 * 2**20
MAX_ROWS = 2_000_000
MAX_COLUMNS = 1000
MAX_CELLS = 10_000_000
LARGEST = 1e12  # that a number of a file may be

_HEAD = 65_536  # bytes in which the first row must end; the separator is found in them
_PART = 20_000  # cells that are turned into numbers at a time
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_SAID = re.compile(r"\s*\"?sep=([;\t|,])\"?\s*?[\r\n]", re.IGNORECASE)
_TRUTH = dict.fromkeys(WORDS["true"], 1.0) | dict.fromkeys(WORDS["false"], 0.0)
TRUTH_READ = "True and false, yes and no were read as 1 and 0."
POINTS_READ = "Points were read as decimal points."
_NO_NUMBERS = (*WORDS["missing"], *WORDS["missing_number"])
_MISSING_WORDS = "says that a value is missing"
NO_NUMBER, _TOO_LARGE = "is no number", "is too large"
_THOUSANDS = "Thousands separators were left out of numbers, as in {cell} (row {row})."
PERCENT_READ = "Percentages were read as parts of one: 10% is 0.1."

_UNIT = r"%|[$€£¥₹]|[A-Z]{3}"
_GAPS = " '’\u00a0\u202f"  # between thousands, besides points and commas
_CELL = re.compile(
    rf"([-+−–]?)\s*({_UNIT})?\s*([-+−–]?)\s*(\d[\d.,{_GAPS}]*|[.,]\d+)([eE][-+]?\d{{1,3}})?\s*({_UNIT})?", re.ASCII
)
_LINES = re.compile(r"[\t\n\r\v\f\x85\u2028\u2029]+")
_ONE_MARK = re.compile(r"(\d*)([.,]?)(\d*)", re.ASCII)
_GROUPED = re.compile(rf"(\d{{1,3}}([.,{_GAPS}])(?:\d{{2,3}}\2)*\d{{3}})(?:(?!\2)([.,])(\d*))?", re.ASCII)


class Written(NamedTuple):
    """A number as a cell writes it: its value, and another one if its only mark groups thousands (else the same).

    ``mark`` is the decimal sign that the cell proves, or the mark whose meaning it leaves open.
    """

    value: float
    grouped: float
    mark: str
    unit: str

    @property
    def open(self) -> bool:
        """Whether only other cells can tell what the mark means."""
        return self.value != self.grouped


def read_number(cell: str) -> Written | None:
    """The number that a cell writes; None where it is none.

    >>> read_number("1.234,5").value, read_number("$ 5").unit, read_number("1,234").grouped
    (1234.5, '$', 1234.0)
    """
    found = _CELL.fullmatch(cell.strip())
    if found is None or (found[1] and found[3]):
        return None
    digits, power, unit = found[4].strip(), found[5] or "", (found[2] or "") + (found[6] or "")
    scale = (-1 if (found[1] or found[3] or "+") in "-−–" else 1) / (100 if unit == "%" else 1)
    grouped, one = _GROUPED.fullmatch(digits), _ONE_MARK.fullmatch(digits)
    if one:
        value = float(f"{one[1] or 0}.{one[3] or 0}{power}")
        whole = float(one[1] + one[3]) if grouped and not power and digits[0] != "0" else value
        return Written(scale * value, scale * whole, one[2], unit)
    if grouped:
        value = scale * float(f"{re.sub('[^0-9]', '', grouped[1])}.{grouped[4] or 0}{power}")
        return Written(value, value, grouped[3] or {",": ".", ".": ","}.get(grouped[2], ""), unit)
    return None


def refusal(path: str, value: Any, allowed: str) -> InputError:
    """One problem of a file, to be raised."""
    return InputError([Issue(path, value, allowed)])


def _on_one_line(text: str) -> str:
    return _LINES.sub(" ", text).strip()


def _check_text(path: str, text: str) -> None:
    """Refuse names with characters that no one sees."""
    if words := why_not(text):
        raise refusal(path, text[:60], words)


def column_words(name: str) -> str:
    """A column in words; without a heading it has a number for a name already."""
    return name if name.startswith("column ") else f"column {name}"


@dataclass(frozen=True)
class Trouble:
    """Cells that cannot be used as they are: the first, how many there are, and what can be done (if agreed to).

    ``kept`` says that the repair reads the cells in one of two ways; else it leaves them out.
    """

    row: int
    column: str
    value: str
    count: int
    what: str
    repair: str
    kept: bool = False

    def __str__(self) -> str:
        shown = f" {self.value[:40]!r}" if self.value else ""
        more = f" (and {self.count - 1:,} more like it)" if self.count > 1 else ""
        return f"row {self.row:,}, {column_words(self.column)}:{shown} {self.what}{more}"


class Numbers(NamedTuple):
    """A column as numbers (NaN where a cell is blank or of no use), what is wrong with it, and its unit."""

    values: np.ndarray
    troubles: list[Trouble]
    unit: str


def _is_text(cells: pd.Series) -> bool:
    import pandas as pd

    return not pd.api.types.is_numeric_dtype(cells.dtype)


@dataclass(frozen=True)
class Sheet:
    """A CSV as columns of text, and where its rows stood in the file (the index of ``frame``)."""

    frame: pd.DataFrame
    headed: bool
    repeated: tuple[str, ...]  # headings that stand more than once; the later ones got numbers
    separator: str
    decimals: frozenset[str]  # signs that some cell proves to be one
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the columns, each once."""
        return [str(name) for name in self.frame]

    def row(self, place: int) -> int:
        """The row of the file as a spreadsheet counts: its first one is 1, whether or not it is a heading."""
        return int(self.frame.index[place])

    def cell(self, column: str, place: int) -> str:
        """What stands in a cell, in words; nothing where it is blank."""
        value = self.frame[column].iloc[place]
        if isinstance(value, str):
            return value.strip()
        return "" if np.isnan(value) else f"{value:.12g}"

    def words(self, column: str, most: int) -> tuple[np.ndarray, list[str]]:
        """A column as codes of its different words (-1 where a cell is blank), shape (rows,), and these words.

        Raises
        ------
        InputError
            When there are more than ``most`` of them, or one of them has a hidden character (see `free_text`).
        """
        import pandas as pd

        cells = self.frame[column]
        different: set[Any] = set()
        for begin in range(0, len(cells), _PART):  # so that millions of them are not sorted out first
            different |= set(cells.iloc[begin : begin + _PART].dropna().unique())
            if len(different) > most:
                raise refusal(column_words(column), None, f"at most {most} different words; is this the right column?")
        codes, found = pd.factorize(cells)
        shown = [_on_one_line(cell) if isinstance(cell, str) else f"{cell:.12g}" for cell in found]
        named = dict.fromkeys(word for word in shown if word and word.lower() not in WORDS["missing"])
        merged = {word: code for code, word in enumerate(named)}
        for word in merged:
            _check_text(column_words(column), word)
        return np.array([*(merged.get(word, -1) for word in shown), -1])[codes], list(merged)

    def blank(self, column: str, missing: bool = False) -> np.ndarray:
        """Whether the cells of a column are empty, or also say that a number is ``missing``, shape (rows,)."""
        cells = self.frame[column]
        found: np.ndarray = cells.isna().to_numpy(bool, copy=True)
        if missing and _is_text(cells):
            found |= cells.str.strip().str.lower().isin(_NO_NUMBERS).to_numpy(bool)
        return found

    @cached_property
    def _points(self) -> bool:
        """Whether a point is a decimal point without looking at the other marks of its cell."""
        return "," not in self.decimals and ("." in self.decimals or self.separator == ",")

    def _grouping(self, written: Written) -> bool:
        """Whether the only mark of a cell groups thousands; where nothing proves it, what is likelier."""
        if len(self.decimals) == 1:
            return written.mark not in self.decimals
        return written.mark == "," and self.separator == ","

    def _read(self, cell: str) -> tuple[float, str, str, str]:
        """A cell as a number (NaN: none), its unit, why it cannot be used as it is, and what to remark of it."""
        word = cell.strip().lower()
        if word in _TRUTH:
            return _TRUTH[word], "", "", TRUTH_READ
        if not word or word in _NO_NUMBERS:
            return math.nan, "", _MISSING_WORDS, ""
        written = read_number(cell)
        if written is None:
            endless = word.strip("+-") in ("inf", "infinity")
            return math.nan, "", _TOO_LARGE if endless else NO_NUMBER, ""
        value, message = written.value, ""
        if written.open:
            grouping = self._grouping(written)
            value = written.grouped if grouping else value
            if len(self.decimals) != 1 and not (written.mark == "." and self._points):
                return value, written.unit, _open_words(written, grouping), ""
            message = _THOUSANDS if grouping else ""
        if not abs(value) <= LARGEST:
            return math.nan, "", _TOO_LARGE, ""
        return value, written.unit, "", message

    def numbers(self, column: str, notes: set[str] | None = None) -> Numbers:
        """A column as numbers, shape (rows,), with all that is wrong with it; ``notes`` gets how it was read."""
        import pandas as pd

        cells = self.frame[column]
        if pd.api.types.is_bool_dtype(cells.dtype) and notes is not None:
            notes.add(TRUTH_READ)
        text = _is_text(cells)
        values = np.full(len(cells), math.nan) if text else np.array(cells, float)
        units, reasons = {"": 0}, {"": 0}
        of_unit, of_reason = np.zeros(len(cells), np.int32), np.zeros(len(cells), np.int32)
        remarks: dict[str, int] = {}
        for begin in range(0, len(cells), _PART):
            part = cells.iloc[begin : begin + _PART]
            if text:
                values[begin : begin + len(part)] = pd.to_numeric(part, errors="coerce").to_numpy(float)
            unread = part.notna().to_numpy(bool) & ~(np.abs(values[begin : begin + len(part)]) <= LARGEST)
            if text and not self._points:
                unread |= part.str.contains(".", regex=False, na=False).to_numpy(bool)
            known: dict[Any, tuple[float, str, str, str]] = {}
            for place, cell in zip(begin + np.flatnonzero(unread), part[unread], strict=True):
                if cell not in known:
                    known[cell] = self._read(str(cell))
                values[place], unit, reason, remark = known[cell]
                of_unit[place] = units.setdefault(unit, len(units))
                of_reason[place] = reasons.setdefault(reason, len(reasons))
                if remark:
                    remarks.setdefault(remark, int(place))
        used = ~np.isnan(values)
        most = int(np.bincount(of_unit[used & (values != 0)], minlength=1).argmax())
        unit = list(units)[most]
        strange = used & (of_unit != most) & (values != 0)
        if strange.any():
            reason = f"has another unit than most of this column ({unit or 'none'})"
            of_reason[strange] = reasons.setdefault(reason, len(reasons))
            values[strange] = math.nan
        if notes is not None:
            notes |= {
                remark.format(cell=self.cell(column, place), row=self.row(place)) for remark, place in remarks.items()
            }
            if unit:
                notes.add(PERCENT_READ if unit == "%" else f"Read without its unit, {unit}: {column_words(column)}.")
        troubles = [
            self._trouble(column, np.flatnonzero(of_reason == code), what) for what, code in reasons.items() if code
        ]
        return Numbers(values, troubles, unit)

    def _trouble(self, column: str, places: np.ndarray, what: str) -> Trouble:
        what, _, repair = what.partition("; ")
        value = self.cell(column, places[0])
        first = self.row(places[0])
        return Trouble(first, column, value, len(places), what, repair or "leave these cells out", bool(repair))


def _open_words(written: Written, grouping: bool) -> str:
    """What is open about a cell, and the likelier reading as a repair."""
    mark = "commas" if written.mark == "," else "points"
    read = "thousands separators" if grouping else f"decimal {mark}"
    return f"may be a number in thousands or one with three decimals; read such {mark} as {read}"


def _as_utf8(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A text file in UTF-8 without its mark and without blank lines at its end, and what to tell about it.

    Raises
    ------
    InputError
        When the file is no text, empty or too large.
    """
    if len(data) > MAX_BYTES:
        raise refusal("file", f"{len(data) / 2**20:.1f} MB", f"at most {MAX_BYTES // 2**20} MB")
    if data[:4] == b"PK\x03\x04" or data[:4] == b"\xd0\xcf\x11\xe0":
        raise refusal("file", None, "this is a workbook of a spreadsheet program; save it as CSV and upload that")
    notes: tuple[str, ...] = ()
    wide = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}.get(data[:2]) or (
        "utf-16-le" if data[1:2] == b"\0" else "utf-16-be" if data[:1] == b"\0" else ""
    )
    if wide:
        try:
            data = data.decode(wide).encode()
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


def _is_headed(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: none of its cells is a number of the kind below it."""
    below = rows[1] if len(rows) > 1 else []
    for cell, under in itertools.zip_longest(rows[0], below, fillvalue=""):
        written, next_one = read_number(cell), read_number(under)
        if written and (not written.unit or (next_one and next_one.unit == written.unit)):
            return False
    return True


def _names(cells: list[str], headed: bool) -> list[str]:
    """Names of the columns, each once; refused where one has a hidden character."""
    names: dict[str, int] = {}  # and the last number that it was given
    for place, cell in enumerate(cells, 1):
        first = name = (_on_one_line(cell)[:60] if headed else "") or f"column {place}"
        _check_text(f"column {place}", name)
        while name in names:
            names[first] += 1
            name = f"{first} ({names[first]})"
        names[name] = 1
    return list(names)


def _separator(head: str) -> tuple[str, list[list[str]]]:
    """What separates cells, and the first rows cut by it; a spreadsheet may say so in a first line like ``sep=;``."""
    said = _SAID.match(head)
    if said:
        return said[1], _records(head, said[1])
    cut = {separator: _records(head, separator) for separator in _SEPARATORS}
    separator = max(cut, key=lambda each: _agreement(cut[each]))
    if not _agreement(cut[separator]):
        below = [row[0] for row in cut[";"][1:] if any(row)]
        one_column = all(len(row) < 2 for row in cut[";"]) and all(read_number(cell) for cell in below)
        separator = ";" if one_column else ","  # no commas but decimal ones
    return separator, cut[separator]


def _decimal_signs(cells: Iterable[str]) -> frozenset[str]:
    """The decimal signs that some of the cells prove; see `Written`."""
    written = (read_number(cell) for cell in cells if "." in cell or "," in cell)
    return frozenset(each.mark for each in written if each and each.mark and not each.open)


def _same_width(frame: pd.DataFrame, width: int, before: int) -> None:
    """Columns beyond the heading may only be the work of separators at the ends of rows.

    Raises
    ------
    InputError
        With the first row that says something there.
    """
    for place in range(width, frame.shape[1]):
        filled = np.flatnonzero(frame.iloc[:, place].notna())
        if len(filled):
            row = frame.index[filled[0]]
            raise refusal(f"row {row}", None, f"has more than the {width} cells of row {before + 1}")


def read_sheet(data: bytes) -> Sheet:
    """Cut a CSV into cells.

    Commas, semicolons, tabs or bars may separate cells, numbers may be written in many ways (see `read_number`), and
    the text may be UTF-8, UTF-16 or Windows-1252. Blank rows are left out, which a note tells.

    Raises
    ------
    InputError
        When it is too large, or cannot be cut into rows of equal length.
    """
    data, notes = _as_utf8(data)
    lines = 1 + data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    if lines > MAX_ROWS:
        raise refusal("rows", lines, f"at most {MAX_ROWS:,} rows; take a sample of them")
    # A cut may fall into a character of several bytes, so the head is read forgivingly; whole lines of it are used.
    head = data[:_HEAD].decode("utf-8", "ignore")
    if len(data) > _HEAD:
        head = head[: max(head.rfind("\n"), head.rfind("\r")) + 1]
    if not head.strip():
        raise refusal("file", None, f"its first {_HEAD:,} bytes are blank, or all of one row")
    separator, rows = _separator(head)
    before = next((place for place, row in enumerate(rows) if any(row) and row[0][:4].lower() != "sep="), None)
    if before is None:
        raise refusal("file", None, f"its first {len(rows)} rows are blank")
    sample = rows[before:]
    headed, width = _is_headed(sample), len(sample[0])
    wider = max((len(row) for row in sample if not any(row[width:])), default=width)  # separators at the ends of rows
    names = _names([*sample[0], *[""] * (wider - width)], headed)
    if len(names) > MAX_COLUMNS:
        raise refusal("columns", len(names), f"at most {MAX_COLUMNS:,} columns; is this the right file?")
    cells = max(lines * len(names), lines + data.count(separator.encode()))
    if cells > MAX_CELLS:
        raise refusal("cells", cells, f"at most {MAX_CELLS:,} cells (rows x columns); take a sample of the rows")
    decimals = _decimal_signs(itertools.chain(*sample[headed:]))
    frame = _cut(data, separator, decimals, names, width, before, headed)
    texts = (frame[name].iloc[:_PART].dropna().unique() for name in frame if _is_text(frame[name]))
    if (found := decimals | _decimal_signs(itertools.chain(*texts))) != decimals:  # further down, others are written
        decimals = found
        frame = _cut(data, separator, decimals, names, width, before, headed)
    blank = frame.isna().all(axis=1).to_numpy(bool)
    if blank.any():
        rest = f" and {blank.sum() - 1:,} more" if blank.sum() > 1 else ""
        notes += (f"Blank rows were left out: row {frame.index[blank.argmax()]:,}{rest}.",)
        frame = frame[~blank]
    frame = frame.drop(columns=[name for name in names if name.startswith("column ") and frame[name].isna().all()])
    if frame.empty:
        raise refusal("file", None, "there is a heading but no row below it")
    if not headed:
        notes += ("The file has no heading: its first row was read as data.",)
    if separator != "," or "," in decimals:
        signs = ", decimals by commas" * ("," in decimals) + " or points" * (len(decimals) > 1)
        notes += (f"Cells are separated by {_SEPARATORS[separator]}{signs}.",)
    if separator == "," and not decimals and b"." in data:
        notes += (POINTS_READ,)
    repeated = tuple(name for name, count in Counter(filter(None, sample[0])).items() if headed and count > 1)
    return Sheet(frame, headed, repeated, separator, decimals, notes)


def _cut(
    data: bytes, separator: str, decimals: frozenset[str], names: list[str], width: int, before: int, headed: bool
) -> pd.DataFrame:
    """The rows below the heading, with their numbers in the file as index.

    Columns of plain numbers are read as such, which is quick; all others, and all where a point may separate
    thousands, are text.
    """
    import pandas as pd  # heavy import, not needed to simulate

    unclear = len(decimals) > 1 or (not decimals and separator != "," and b"." in data)
    # A blank row of the right length goes first: pandas holds all others against the one before, and the first
    # against none.
    blank = separator.encode() * (len(names) - 1) + b"\n"
    try:
        frame = pd.read_csv(
            io.BytesIO(blank + data), sep=separator, header=None, names=names, index_col=False,
            skiprows=range(1, 1 + before + headed), decimal="," if decimals == {","} else ".", skipinitialspace=True,
            dtype=object if unclear else None, keep_default_na=False, na_values=[""],
            skip_blank_lines=False, low_memory=False, on_bad_lines="error",
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
            hint = "; if these are decimal commas, save with points, or with semicolons between cells"
            hint = "; delete what stands above the names of the columns" if width == 1 else hint
            allowed = f"has {found[3]} cells where row {before + 1} has {width}{hint if separator == ',' else ''}"
            raise refusal(f"row {int(found[2]) - 1}", None, allowed) from None
        raise refusal("file", None, "cannot be cut into rows and cells; is a quotation mark left open?") from None
    frame.index += before + headed
    frame = frame.iloc[1:].copy()
    _same_width(frame, width, before)
    for name in names:
        if _is_text(frame[name]):  # also true and false beside the blank row
            frame[name] = frame[name].astype(object).map(str, na_action="ignore")
    return frame
