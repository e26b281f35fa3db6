"""A file from outside as columns of cells: one reader for observations, budgets and users with features.

How large a file may be is looked at before it is parsed (bytes, rows, columns, cells), and everything after that takes
time in proportion to its size.

Numbers are read as people write them: 1,234.5 and 1.234,5 and 1 234.5, 12 %, € 5, (3.20), 5-. What a lone mark means is
decided for each column by its own cells, and asked where they leave it open: no one but its author knows.
"""

from __future__ import annotations

import collections
import csv
import io
import itertools
import json
import math
import re
import tomllib
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bandit_core.data.reading import Questions, column_words
from bandit_core.spec.errors import InputError, Issue, refuse_if
from bandit_core.spec.field_types import visible, why_not
from bandit_core.spec.later import pd

MAX_BYTES = 20_000_000  # a megabyte has 10^6 bytes, as in the upload boxes of most browsers
MAX_ROWS = 2_000_000
MAX_COLUMNS = 1000
MAX_CELLS = 10_000_000
LARGEST = 1e12  # that a number of a file may be
ENDINGS = ["csv", "tsv", "txt", "xlsx", "zip", "jsonl", "ndjson"]
FEW = 0.02  # of the rows that a repair may leave out

_HEAD = 65_536  # bytes in which the first row must end; the separator is found in them
_CELLS, _ROWS = 100_000, 500  # that are cut at a time; rows of many columns have more cells
_FEW_WORDS = 1000  # different cells of those that are kept once, with a code in each row
_SEPARATORS = {";": "semicolons", "\t": "tabs or several blanks", "|": "bars", ",": "commas"}
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_SAID = re.compile(r"\s*\"?sep=([;\t|,])\"?\s*?[\r\n]", re.IGNORECASE)
NO_NUMBERS = frozenset((*WORDS["missing"], *WORDS["missing_number"]))
MISSING = "is empty or says that a value is missing"
PERCENT_READ = "Percentages were read as parts of one: 10% is 0.1."

_LONG = sorted([*WORDS["currency"], *(unit for unit in WORDS["measure"] if len(unit) > 1)], key=len, reverse=True)
_SHORT = [unit for unit in WORDS["measure"] if len(unit) == 1]  # 5 g is a weight, 5g is a word
_UNIT = "|".join(["%", "[A-Z]{3}", *map(re.escape, _LONG), rf"(?<=\s)[{''.join(_SHORT)}]"])
_GAPS = " '’\u00a0\u2009\u202f"  # between thousands, besides points and commas
_TIMES = "|".join(map(re.escape, sorted(WORDS["times"], key=len, reverse=True)))
_CELL = re.compile(
    rf"([-+−–]?)\s*({_UNIT})?\s*([-+−–]?)\s*(\d[\d.,{_GAPS}]*|[.,]\d+)([eE][-+]?\d{{1,3}})?"
    rf"\s*({_TIMES})?\s*({_UNIT})?\s*([-−–]?)(\s*\(\d[\d.,]*\s?%\))?",
    re.ASCII,
)
_RULE = re.compile(rb"^[ |+:=-]*---[ |+:=-]*$", re.MULTILINE)
_JSON_LINES = re.compile(rb"\s*\{.*\}[ \r]*\n\s*\{")
_SINGLE = re.compile(r"(?:^|[;,\t|]) *'[^'\r\n]*' *(?=[;,\t|\r\n]|$)", re.MULTILINE)  # a cell in single quotes
_BRACKETS = re.compile(rf"({_UNIT})?\s*\(([^()+−–-]*)\)\s*({_UNIT})?")
_LABEL = re.compile(r"(\d{1,3})\s*[-–—=:(]\s*\D*[^\W\d]\D*")
_LINES = re.compile(r"[\t\n\r\v\f\x85\u2028\u2029]+")
_ONE_MARK = re.compile(r"(\d*)([.,]?)(\d*)", re.ASCII)
_GROUPED = re.compile(rf"(\d{{1,3}}([.,{_GAPS}])(?:\d{{2,3}}\2)*\d{{3}})(?:(?!\2)([.,])(\d*))?", re.ASCII)


class Written(NamedTuple):
    """A number as a cell writes it: its ``digits`` times a ``scale`` of units, signs and words such as million.

    ``mark`` is the decimal sign that the cell proves, or (``loose``) the mark whose meaning it leaves open: it may also
    group thousands. ``short`` says that the cell abbreviates thousands or millions, or has a share in brackets behind
    a count, and ``what`` whether it is a number with words, or none.
    """

    digits: float
    scale: float = 1.0
    mark: str = ""
    loose: bool = False
    unit: str = ""
    short: bool = False
    what: Literal["", "label", "bad"] = ""

    @property
    def value(self) -> float:
        """The number."""
        return self.scale * self.digits

    @property
    def grouped(self) -> float:
        """The number if a loose mark groups thousands."""
        return self.scale * (round(1000 * self.digits) if self.loose else self.digits)


def read_number(cell: str) -> Written | None:
    """The number that a cell writes; None where it is none.

    >>> read_number("1.234,5").value, read_number("$ 5").unit, read_number("1,234").grouped, read_number("(5)").value
    (1234.5, '$', 1234.0, -5.0)
    """
    text = cell.strip()
    if "(" in text and (loss := _BRACKETS.fullmatch(text)):
        text = "-" + "".join(part or "" for part in loss.groups())
    if (found := _CELL.fullmatch(text)) is None:
        return None
    sign, before, inner, digits, power, times, after, last, share = found.groups("")
    digits, unit = digits.strip(), before + after
    if bool(sign) + bool(inner) + bool(last) > 1:
        return None
    if last and digits[-1] in ",.":  # 5,- is five, and no loss
        return read_number(text[: found.start(8)])
    scale = (-1 if (sign or inner or last or "+") in "-−–" else 1) / (100 if unit == "%" else 1)
    grouped, loose = _GROUPED.fullmatch(digits), False
    if one := _ONE_MARK.fullmatch(digits):
        whole, mark, rest = one.groups()
        loose = grouped is not None and not power and digits[0] != "0"
    elif grouped:
        whole, rest = re.sub("[^0-9]", "", grouped[1]), grouped[4]
        mark = grouped[3] or {",": ".", ".": ","}.get(grouped[2], "")
    else:
        return None
    written = float(f"{whole or 0}.{rest or 0}{power}")
    return Written(written, scale * WORDS["times"].get(times, 1), mark, loose, unit, bool(times or share))


def _written(cell: str) -> Written:
    """The same, and what a cell is that writes none."""
    if (number := read_number(cell)) is not None:
        return number
    if label := _LABEL.fullmatch(text := cell.strip()):
        return Written(float(label[1]), what="label")
    return Written(math.nan, what="bad" if text and text.lower() not in NO_NUMBERS else "")


def refusal(path: str, value: Any, allowed: str) -> InputError:
    """One problem of a file, to be raised."""
    return InputError([Issue(path, value, allowed)])


def plain(name: str) -> str:
    """A name without its capitals and marks between words: user_id, userId and User-ID are the same."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFKC", name))
    return re.sub(r"(?<=\w)[\s_.:-]+", " ", spaced).lower().strip()


def _on_one_line(text: str) -> str:
    return _LINES.sub(" ", text).strip()


@dataclass(frozen=True)
class Trouble:
    """Cells that are not what is wanted: the first of them, and how many there are."""

    row: int
    column: str
    value: str
    count: int
    what: str

    def __str__(self) -> str:
        shown = f" {self.value[:40]!r}" if self.value else ""
        more = f" (and {self.count - 1:,} more like it)" if self.count > 1 else ""
        return f"row {self.row:,}, {column_words(self.column)}:{shown} {self.what}{more}"


class Numbers(NamedTuple):
    """A column as numbers, shape (rows,), NaN where a cell is blank or no number; what is no number; and the unit."""

    values: np.ndarray
    troubles: list[Trouble]
    unit: str


def _is_text(cells: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(cells.dtype)


def _parts(cells: pd.Series) -> Iterator[tuple[slice, pd.Series]]:
    """A column, some rows at a time, and their places: what is made of text takes many times its memory."""
    return ((slice(at, at + 20_000), cells.iloc[at : at + 20_000]) for at in range(0, len(cells), 20_000))


def _texts(found: Any) -> Iterator[str]:
    return (_on_one_line(cell) if isinstance(cell, str) else f"{cell:.12g}" for cell in found)


@dataclass(frozen=True)
class Sheet:
    """A file as columns of cells, and where its rows stood in the file (the index of ``frame``).

    ``points`` says that a lone point can only be a decimal one: commas separate the cells, and no cell has a decimal
    comma.
    """

    frame: pd.DataFrame
    headed: bool
    points: bool
    repeated: tuple[str, ...] = ()  # headings that stand more than once; the later ones got numbers
    questions: Questions = field(default_factory=Questions)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, each once."""
        return [str(name) for name in self.frame]

    def only(self, kept: np.ndarray) -> Sheet:
        """The rows that are kept, shape (rows,)."""
        return self if kept.all() else replace(self, frame=self.frame[kept])

    def row(self, place: int) -> int:
        """The row of the file as a spreadsheet counts: its first one is 1, whether or not it is a heading."""
        return int(self.frame.index[place])

    def cell(self, column: str, place: int) -> str:
        """What stands in a cell, in words; nothing where it is blank."""
        value = self.frame[column].iloc[place]
        if isinstance(value, str):
            return _on_one_line(value)
        return "" if np.isnan(value) else f"{value:.12g}"

    def head(self, rows: int = 5) -> tuple[tuple[str, ...], ...]:
        """The first rows as they were read."""
        few = range(min(rows, len(self.frame)))
        return tuple(tuple(self.cell(name, place)[:60] for name in self.columns) for place in few)

    def different(self, column: str) -> tuple[np.ndarray, Any]:
        """A column as codes of its different cells (-1 where one is blank), shape (rows,), and these cells."""
        cells = self.frame[column]
        if isinstance(cells.dtype, pd.CategoricalDtype):
            used = cells.cat.remove_unused_categories().cat
            return used.codes.to_numpy(), used.categories
        codes, found = pd.factorize(cells)
        return codes.astype(np.int32), found

    def distinct(self, column: str) -> list[str]:
        """The different cells of a column as words."""
        return [*_texts(self.different(column)[1])]

    def words(self, column: str, most: int) -> tuple[np.ndarray, list[str]]:
        """A column as codes of its different words (-1 where a cell is blank), shape (rows,), and these words.

        Raises
        ------
        InputError
            When there are more than ``most`` of them, or one of them has a hidden character (see `free_text`).
        """
        codes, found = self.different(column)
        merged: dict[str, int] = {}
        shown = list[str]()
        for word in _texts(found):
            shown.append(word)
            if word and word.lower() not in WORDS["missing"]:
                merged.setdefault(word, len(merged))
                if len(merged) > most:
                    wanted = f"at most {most} different words; is this the right column?"
                    raise refusal(column_words(column), None, wanted)
                refuse_if(hidden := why_not(word), column_words(column), word[:60], hidden or "")
        return np.array([*(merged.get(word, -1) for word in shown), -1], np.int16)[codes], list(merged)

    def blank(self, column: str) -> np.ndarray:
        """Whether the cells of a column are empty or say that a value is missing, shape (rows,)."""
        return self.frame[column].isna().to_numpy(bool) | self.says(column, ["", *NO_NUMBERS])

    def says(self, column: str, words: Sequence[str]) -> np.ndarray:
        """Whether the cells of a column say one of these words, in capitals or not, shape (rows,)."""
        cells = self.frame[column]
        found = np.zeros(len(cells), bool)
        for at, part in _parts(cells) if _is_text(cells) else ():
            found[at] = part.str.strip().str.lower().isin(words)
        return found

    def hashes(self, column: str) -> np.ndarray:
        """A number for each cell, shape (rows,): the same for the same cell, and practically never for another one."""
        found = np.empty(len(self.frame), np.uint64)
        for at, part in _parts(self.frame[column]):
            found[at] = pd.util.hash_pandas_object(part, index=False)
        return found

    def numbers(self, column: str, whole: bool = False) -> Numbers:
        """A column as numbers; what a lone mark in it means is asked where its other cells do not tell.

        Of ``whole`` numbers it groups thousands where they would else be broken.
        """
        cells = self.frame[column]
        if not _is_text(cells):
            return Numbers(np.array(cells, float), [], "")
        digits, kind = np.empty(len(cells)), np.empty(len(cells), np.int32)
        kinds = {Written(math.nan)[1:]: 0}
        for at, part in _parts(cells):
            codes, found = pd.factorize(part)
            read = ((one.digits, kinds.setdefault(one[1:], len(kinds))) for one in map(_written, [*found, ""]))
            digits[at], kind[at] = np.fromiter(itertools.chain.from_iterable(read), float).reshape(-1, 2)[codes].T
        scale, marks, loose, units, short, what = map(np.array, zip(*kinds, strict=True))
        proven, doubtful = {*marks[~loose].tolist()} - {""}, np.flatnonzero(loose[kind])
        sign = next(iter(proven)) if len(proven) == 1 else "."
        if whole and not proven and (digits[doubtful] % 1 > 0).any():
            proven = {sign := ".,"[marks[kind[doubtful[0]]] == "."]}
        if len(doubtful) and len(proven) != 1 and not (self.points and not proven and {*marks[loose]} == {"."}):
            sign = self._decimal_sign(column, [*dict.fromkeys(cells.iloc[doubtful[:1000]])][:2])
        bad, label = ((what == each)[kind] for each in ("bad", "label"))
        if label.any():  # such as 10 - Very likely beside plain numbers
            first = int(label.argmax())
            shown = {"column": column, "cell": self.cell(column, first), "number": f"{digits[first]:g}"}
            plain_too = not bad.any() and np.isfinite(digits[~label]).any()
            if not plain_too or self.questions.put("label", **shown) != "number":
                bad, digits[label] = bad | label, math.nan
        groups = (loose & (marks != sign))[kind]
        digits[groups] = np.round(1000 * digits[groups])
        values = np.multiply(digits, scale[kind], digits)
        large, counts = np.abs(values) > LARGEST, (values != 0) & ~np.isnan(values)
        often, every = np.bincount(kind[counts], minlength=len(kinds)), [*dict.fromkeys(["", *units.tolist()])]
        unit = max(every, key=lambda each: often[units == each].sum())
        strange = (units != unit)[kind] & counts
        money = [each for each in every if each not in ("", "%", *WORDS["measure"])]
        one = strange.any() and every == ["", *money[:1]]
        if one and self.questions.put("money", column=column, unit=money[0]) == "same":
            unit, strange = money[0], np.zeros_like(strange)
        values[large | strange] = math.nan
        if unit:
            without = f"Read without its unit, {unit}: {column_words(column)}."
            self.questions.note(PERCENT_READ if unit == "%" else without)
        if short.any():
            place = int(short[kind].argmax())
            cell = self.cell(column, place)
            self.questions.note(f"{cell} was read as {values[place]:,.12g}: {column_words(column)}.")
        other = f"has another unit than most of this column ({unit or 'none'})"
        reasons = ((bad, "is no number"), (large, "is too large"), (strange, other))
        return Numbers(values, [each for rows, why in reasons for each in self.trouble(column, rows, why)], unit)

    def trouble(self, column: str, bad: np.ndarray, what: str) -> list[Trouble]:
        """The cells that are bad, shape (rows,), as one `Trouble`, or as none."""
        places = np.flatnonzero(bad)
        return [Trouble(self.row(at), column, self.cell(column, at), len(places), what) for at in places[:1]]

    def _decimal_sign(self, column: str, cells: Sequence[str]) -> str:
        """The decimal sign of a column whose cells do not prove one, or prove both; asked with some of its cells."""
        read = [(cell.strip(), _written(cell)) for cell in cells]
        choices = {}
        for sign in ".," if self.points and read[0][1].mark == "," else ",.":
            values = (f"{cell} = {(one.value if one.mark == sign else one.grouped):.12g}" for cell, one in read)
            choices[sign] = f"the {'point' if sign == '.' else 'comma'} is the decimal sign: {' and '.join(values)}"
        return self.questions.put("decimal", choices, column=column)


# ---------------------------------------------------------------------------------------------------------------
# From bytes to cells


def _unpacked(data: bytes, questions: Questions) -> bytes:
    """The text in a file: in a zip the one table there is, of a workbook one sheet as CSV.

    Raises
    ------
    InputError
        When it is too large, or there is no such thing in it.
    """
    refuse_if(len(data) > MAX_BYTES, "file", f"{len(data):,} bytes", f"at most {MAX_BYTES // 10**6} MB")
    if _JSON_LINES.match(data[:_HEAD]):
        return _of_json_lines(data)
    for begins, what in WORDS["strange"]:
        if re.match(begins.encode(), data.removeprefix(b"\xef\xbb\xbf")[:200], re.IGNORECASE):
            raise refusal("file", None, what)
    if data[:4] != b"PK\x03\x04":
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = [each for each in archive.infolist() if not each.is_dir() and "__MACOSX" not in each.filename]
            workbook = any(each.filename == "xl/workbook.xml" for each in inside)
            if sum(each.file_size for each in inside) > (5 if workbook else 1) * MAX_BYTES:
                raise refusal("file", None, f"what is packed in it is more than {MAX_BYTES // 10**6} MB")
            if not workbook and len(inside) != 1:
                raise refusal("file", None, f"there are {len(inside)} files packed in it; one table is needed")
            if not workbook:
                questions.note(f"The file {_on_one_line(inside[0].filename)[:60]!r} in the archive was read.")
                return archive.read(inside[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError):
        raise refusal("file", None, "this is a broken archive or workbook; save it as CSV") from None
    return _of_workbook(data, questions)


def _of_json_lines(data: bytes) -> bytes:
    """A file with a JSON object in each line as CSV."""
    lines, text = [line for line in data.splitlines() if line.strip()], io.StringIO()
    try:
        names = list({name: None for line in lines for name in {**json.loads(line)}})
    except (ValueError, TypeError, RecursionError):
        raise refusal("file", None, "lines of JSON need one object with named fields in each; save it as CSV") from None
    cells = len(lines) * len(names)
    refuse_if(cells > MAX_CELLS, "cells", cells, f"at most {MAX_CELLS:,} cells; take a sample of the lines")
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(map(json.loads, lines))
    return text.getvalue().encode()


def _of_blanks(data: bytes) -> bytes:
    """The text with tabs in place of several blanks, where these stand between its columns and nothing else does."""
    cut = [re.split(rb" {2,}", line.strip()) for line in data[:_HEAD].splitlines()[:100] if line.strip()]
    widths = {*map(len, cut)}
    if len(cut) < 3 or len(widths) > 1 or 1 in widths or re.search(rb"[;,\t|]", data[:_HEAD]):
        return data
    return re.sub(rb"(?<=[^ \n]) {2,}(?=[^ \r\n])", b"\t", data)


def _of_workbook(data: bytes, questions: Questions) -> bytes:
    """One sheet of a workbook as CSV."""
    from python_calamine import CalamineError, CalamineWorkbook  # heavy import

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except (CalamineError, ValueError) as error:
        raise refusal("file", None, f"this workbook cannot be read ({str(error)[:60]}); save it as CSV") from None
    cells = Counter({name: sum(cell != "" for row in rows for cell in row) for name, rows in sheets.items()})
    filled = {name: f"{visible(name)}, {count:,} cells" for name, count in cells.most_common() if count}
    refuse_if(not filled, "file", None, "the file is empty")
    name = questions.put("sheet", filled) if len(filled) > 1 else next(iter(filled))
    text = io.StringIO()
    for row in sheets[name]:
        texts = [f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in row]
        csv.writer(text).writerow(texts if any(texts) else [])
    return text.getvalue().encode()


def _as_utf8(data: bytes, questions: Questions) -> bytes:
    """A text file in UTF-8 without its mark.

    Raises
    ------
    InputError
        When the file is no text, or empty.
    """
    wide = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}.get(data[:2]) or (
        "utf-16-le" if data[1:2] == b"\0" else "utf-16-be" if data[:1] == b"\0" else ""
    )
    if wide:
        try:
            data = data.decode(wide).encode()
        except UnicodeError as error:
            raise refusal("file", None, f"not readable as UTF-16 text: {error}; save it as UTF-8") from None
    refuse_if(b"\0" in data, "file", None, "this is no text file (it holds zero bytes); save it as CSV in UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    refuse_if(not data.strip(), "file", None, "the file is empty")
    try:
        data.decode()
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes  # heavy import

        strange = b"\n".join(itertools.islice((line for line in data.splitlines() if not line.isascii()), 400))
        likely = from_bytes(strange, cp_isolation=list(WORDS["encodings"])).best()
        found = likely.encoding if likely and likely.encoding in WORDS["encodings"] else "cp1252"
        if found == "mac_roman" and re.search(rb"\d\s?\x80|\x80\s?\d", strange):  # € beside a number, not Ä
            found = "cp1252"
        data = data.decode(found, "replace").encode()
        questions.note(f"The file is not in UTF-8; it was read as {WORDS['encodings'][found]}. Check the names.")
    return data


def _records(head: str, separator: str, quote: str) -> list[list[str]]:
    """The first rows of a text, cut into cells."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=separator, quotechar=quote, skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in itertools.islice(rows, 200)]


def _width(rows: list[list[str]]) -> int:
    """How many cells most rows have; where that is one, three rows of more cells in turn are the table."""
    widths = [len(row) for row in rows if any(row)]
    most = max(Counter(widths).items(), key=lambda each: each[1], default=(0, 0))[0]
    turns = [(len([*turn]), width) for width, turn in itertools.groupby(widths) if width > 1]
    return max((turn for turn in turns if turn[0] > 2), default=(0, most))[1] if most == 1 else most


def _agreement(rows: list[list[str]]) -> float:
    """The share of rows with as many cells as most, or as the first where most have one; 0 where that has one, too."""
    widths = [len(row) for row in rows if any(row)]
    width = _width(rows)
    width = widths[0] if width == 1 else width
    return widths.count(width) / len(widths) if width > 1 else 0.0


def _separator(head: str, quote: str) -> tuple[str, list[list[str]]]:
    """What separates cells, and the first rows cut by it; a spreadsheet may say so in a first line like ``sep=;``."""
    said = _SAID.match(head)
    if said:
        return said[1], _records(head, said[1], quote)
    cut = {separator: _records(head, separator, quote) for separator in _SEPARATORS}
    lone = [row[0] for row in cut[";"] if len(row) == 1 and row[0]]
    if lone and len(lone) == sum(map(any, cut[";"])) and "," not in lone[0] and all(map(read_number, lone[1:])):
        return ";", cut[";"]  # one column, so that no commas are but decimal ones
    separator = max(cut, key=lambda each: _agreement(cut[each]))
    separator = separator if _agreement(cut[separator]) else ","
    return separator, cut[separator]


def _is_headed(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: no number of the kind below it, and not only words that come again."""
    below = rows[1] if len(rows) > 1 else []
    for cell, under in itertools.zip_longest(rows[0], below, fillvalue=""):
        written, next_one = read_number(cell), read_number(under)
        if written and (not written.unit or (next_one and next_one.unit == written.unit)):
            return False
    again = [cell in column for cell, column in zip(rows[0], _columns(rows[1:], len(rows[0])), strict=True)]
    return not all(again) or _over_numbers(rows[0], [row for row in rows[1:] if row != rows[0]])


def _columns(rows: list[list[str]], width: int) -> list[list[str]]:
    """The cells of each column that say something."""
    return [[row[place] for row in rows if place < len(row) and row[place]] for place in range(width)]


def _over_numbers(row: list[str], below: list[list[str]]) -> bool:
    """Whether a row has words only, and some of them stand over several numbers and nothing else."""
    columns = zip(row, _columns(below, len(row)), strict=True)
    over = [len(cells) > 1 and all(map(read_number, cells)) for cell, cells in columns if cell]
    return any(over) and not any(map(read_number, row)) and not {*map(str.lower, row)} & {*NO_NUMBERS}


def _start(rows: list[list[str]], questions: Questions) -> int:
    """The place of the first row of the table; a title above it has fewer cells than the names of the columns."""
    filled = [place for place, row in enumerate(rows) if any(row) and row[0][:4].lower() != "sep="]
    refuse_if(not filled, "file", None, f"its first {len(rows)} rows are blank")
    width = _width([rows[place] for place in filled])
    for place in filled[:20]:
        named = len(rows[place]) >= width and all(rows[place][width > 1 : width]) and _is_headed(rows[place:])
        if place > filled[0] and named and not any(map(read_number, rows[place])):
            above = [each for each in rows[filled[0] : place] if any(each)]
            if len({*rows[place]}) < width and sum(map(bool, rows[place - 1])) > 1:  # the names go on in two rows
                return place - 1
            if all(sum(map(bool, row)) < max(2, width) for row in above):
                questions.note(
                    f"Left out above the table: {' / '.join(' '.join(row).strip()[:60] for row in above[:3])!r}."
                )
                return place
        if named or sum(map(bool, rows[place])) >= width > 1:
            break
    return filled[0]


def _names(cells: list[str], headed: bool) -> list[str]:
    """Names of the columns, each once; refused where one has a hidden character."""
    names: dict[str, int] = {}  # and the last number that it was given
    for place, cell in enumerate(cells, 1):
        first = name = (_on_one_line(cell)[:60] if headed else "") or f"column {place}"
        refuse_if(hidden := why_not(name), f"column {place}", name, hidden or "")
        while name in names:
            names[first] += 1
            name = f"{first} ({names[first]})"
        names[name] = 1
    return list(names)


def read_sheet(
    data: bytes, answers: Mapping[str, str] | None = None, watch: Callable[[float], None] = lambda share: None
) -> Sheet:
    """Cut a file into cells; ``watch`` hears which share of it was read, and may stop it by an exception.

    Commas, semicolons, tabs or bars may separate cells, and the text may have one of many encodings; it may be packed,
    or a sheet of a workbook. Blank rows and a title above the table are left out, which a note says.

    Raises
    ------
    InputError
        When it is too large, or cannot be cut into rows of equal length.
    """
    questions = Questions(answers)
    data = _as_utf8(_unpacked(data, questions), questions)
    if _RULE.search(data[:_HEAD]):  # as below the names of a table in Markdown, or around one of a database
        data = _RULE.sub(b"", data)
    data = _of_blanks(data).rstrip(b" \r\n")  # blank lines at the end are no rows
    lines = 1 + data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    refuse_if(lines > MAX_ROWS, "rows", lines, f"at most {MAX_ROWS:,} rows; take a sample of them")
    # A cut may fall into a character of several bytes, so the head is read forgivingly; whole lines of it are used.
    head = data[:_HEAD].decode("utf-8", "ignore")
    if len(data) > _HEAD:
        head = head[: max(head.rfind("\n"), head.rfind("\r")) + 1]
    refuse_if(not head.strip(), "file", None, f"its first {_HEAD:,} bytes are blank, or all of one row")
    quote = "'" if '"' not in head and len(_SINGLE.findall(head)) >= head.strip().count("\n") else '"'
    separator, rows = _separator(head, quote)
    before = _start(rows, questions)
    sample = rows[before:]
    headed, width = _headings(sample, questions), len(sample[0])
    wider = max((len(row) for row in sample if not any(row[width:])), default=width)  # separators at the ends of rows
    names = _names([*sample[0], *[""] * (wider - width)], headed > 0)
    refuse_if(len(names) > MAX_COLUMNS, "columns", len(names), f"at most {MAX_COLUMNS:,} columns")
    cells = max(lines * len(names), lines + data.count(separator.encode()))
    refuse_if(cells > MAX_CELLS, "cells", cells, f"at most {MAX_CELLS:,} cells; take a sample of the rows")
    dialect = {"delimiter": separator, "quotechar": quote}
    hint = WORDS["hints"][("cells", "title")[width == 1]] if separator == "," else ""
    where = f"row {before + 1} has {width}{hint}"
    frame, points = _cut(data, dialect, names, before + headed, where, lambda row: watch(row / lines))
    for name in names[width:]:  # which may only be the work of separators at the ends of rows
        if (row := frame[name].first_valid_index()) is not None:
            raise refusal(f"row {row}", None, f"has more than the {width} cells of row {before + 1}")
    frame = _without_notes(frame, questions)
    again = np.full(len(frame), headed > 0)
    for name, cell in zip(frame, sample[0], strict=False):  # exports repeat the names between their pages
        again = again & (frame[name] == cell).to_numpy(bool) if again.any() else again
    frame = _without(frame, again, "The names of the columns stand again in", questions)
    frame = _without(frame, frame.isna().all(axis=1).to_numpy(bool), "Blank rows were left out:", questions)
    frame = frame.drop(columns=[name for name in names if name.startswith("column ") and frame[name].isna().all()])
    refuse_if(frame.empty, "file", None, "there is a heading but no row below it")
    if separator != ",":
        questions.note(f"Cells are separated by {_SEPARATORS[separator]}.")
    repeated = [name for name, count in Counter(filter(None, sample[0])).items() if headed and count > 1]
    if repeated:
        questions.check(f"More than one column is called {', '.join(repeated[:5])}: the later ones got numbers.")
    return Sheet(frame, headed > 0, points, tuple(repeated), questions)


def _without(frame: pd.DataFrame, rows: np.ndarray, said: str, questions: Questions) -> pd.DataFrame:
    """The table without these rows, shape (rows,), which a note says."""
    if not rows.any():
        return frame
    rest = f" and {rows.sum() - 1:,} more" if rows.sum() > 1 else ""
    questions.note(f"{said} row {frame.index[rows.argmax()]:,}{rest}.")
    return frame[~rows]


def _without_notes(frame: pd.DataFrame, questions: Questions) -> pd.DataFrame:
    """The table without what is written below it: after a blank row, or in one cell of several words."""
    tail, notes = frame.iloc[max(1, len(frame) - 20) :], list[str]()
    filled = tail.notna().sum(axis=1).tolist()
    start = len(tail)
    while start and filled[start - 1] < frame.shape[1]:
        cell = tail.iloc[start - 1, 0]
        alone = isinstance(cell, str) and read_number(cell) is None and (frame.iloc[:, 0] == cell).sum() == 1
        if filled[start - 1] and not alone:
            break
        start -= 1
    while start < len(tail) and filled[start] and (filled[start] > 1 or " " not in tail.iloc[start, 0].strip()):
        start += 1
    notes = [" ".join(map(str, row.dropna())) for _, row in tail.iloc[start:].iterrows() if row.notna().any()]
    if not notes:
        return frame
    questions.note(f"Left out below the table: {_on_one_line(' / '.join(notes[:3]))[:120]!r}.")
    return frame.iloc[: len(frame) - len(tail) + start]


def _headings(sample: list[list[str]], questions: Questions) -> int:
    """How many rows name the columns; where names span several columns, the first row gets those of all."""
    if not _has_names(sample, questions):
        return 0
    if more := _more_names(sample):
        if not all(sample[0]) or len({*sample[0]}) < len(sample[0]):
            whole = itertools.accumulate(sample[0], lambda left, name: str(name or left))
            sample[0] = [" ".join(filter(None, names)) for names in zip(whole, *more, strict=True)]
        names = ", ".join(sample[0][:3])
        questions.note(f"{1 + len(more)} rows name the columns, which are called {names} ...")
    return 1 + len(more)


def _more_names(sample: list[list[str]]) -> list[list[str]]:
    """Rows below the names that go on with them, one or two, such as units: their words come nowhere below."""
    for count in (2, 1):
        more, below = sample[1 : count + 1], sample[count + 1 :]
        columns = _columns(below, len(sample[0]))
        new = not any(cell in column for row in more for cell, column in zip(row, columns, strict=False))
        if new and below and all(len(row) == len(columns) and _over_numbers(row, below) for row in more):
            return more
    return []


def _has_names(sample: list[list[str]], questions: Questions) -> bool:
    """Whether the first row names the columns; asked where it has whole numbers that come in no row below it."""
    if _is_headed(sample):
        return True
    again = any(cell == row[place] for row in sample[1:] for place, cell in enumerate(sample[0][: len(row)]))
    if again or len(sample) < 4 or len(set(sample[0])) < max(2, len(sample[0])) or not all(map(str.isdigit, sample[0])):
        questions.note("The file has no heading: its first row was read as data.")
        return False
    return questions.put("heading", cells=", ".join(sample[0][:5])) == "names"


def _rows(data: bytes, dialect: Mapping[str, str]) -> Iterator[list[str]]:
    """The rows of a text.

    Raises
    ------
    InputError
        Where a quotation mark is left open.
    """
    # A last line of our own is no row of its own where it is inside of quotation marks, which also keep its blank.
    lines = itertools.chain(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), [" end"])
    before = list[str]()
    try:
        reader = csv.reader(lines, **dialect, skipinitialspace=True)  # type: ignore[arg-type]
        before = next(reader)
        for row in reader:
            yield before
            before = row
    except csv.Error:  # a cell that does not end
        before = []
    refuse_if(before != ["end"], "file", None, WORDS["hints"]["quotes"])


def _cut(
    data: bytes, dialect: Mapping[str, str], names: list[str], skipped: int, where: str, watch: Callable[[int], None],
    known: Collection[str] = (),
) -> tuple[pd.DataFrame, bool]:  # fmt: skip
    """The rows below the heading, with their numbers in the file as index, and `Sheet.points`.

    Columns of plain numbers are read as such, which takes little memory, and others as text. All is read again, with
    these columns ``known``, where some cease to be numbers far below, or where all points of a column may be marks of
    thousands. Rows are cut some at a time, as their cells take many times their memory; ``watch`` hears how many were
    cut, and ``where`` says how many cells a row may have.
    """
    rows, last, cells, texts, late = _rows(data, dialect), skipped, [""], {*known}, set[str]()
    wide, take = len(names), max(_ROWS, _CELLS // len(names))
    blocks: dict[str, list[Any]] = {name: [] for name in names}
    collections.deque(itertools.islice(rows, skipped), 0)
    while cells:
        cells = []
        for row in itertools.islice(rows, take):
            if lack := wide - len(row):
                number = last + 1 + len(cells) // wide
                refuse_if(lack < 0, f"row {number}", None, f"has {len(row)} cells where {where}")
            cells += row + [""] * lack if lack else row
        last += len(cells) // wide
        watch(last)
        for place, (name, column) in enumerate(blocks.items()):
            part = [cell or None for cell in cells[place::wide]]
            try:
                column.append(_of_words(part) if name in texts else _of_numbers(part))
            except ValueError:
                texts.add(name)
                late |= {name} if column else set()
                column.append(_of_words(part))
    first = (block for name in texts - late for block in blocks[name][: 1 + 20_000 // take])
    points = dialect["delimiter"] == "," and not any(map(_has_decimal_commas, first))
    late |= {name for name in {*names} - texts if not points and _points_unclear(pd.concat(blocks[name]))}
    if late:
        blocks.clear()
        return _cut(data, dialect, names, skipped, where, watch, texts | late)
    frame = pd.DataFrame({name: _joined(blocks.pop(name)) for name in names}, copy=False)
    return frame.set_axis(range(1 + skipped, 1 + last)), points


def _of_numbers(cells: Sequence[str | None]) -> pd.Series:
    """Some cells of a column of plain numbers, whole ones in few bytes; ValueError where one is no such number."""
    values = pd.to_numeric(pd.Series(cells, dtype=object)).astype(float)
    if (np.abs(values) > LARGEST).any():
        raise ValueError(LARGEST)
    whole = (values == np.floor(values)).all()
    return pd.to_numeric(values.astype(np.int64), downcast="integer") if whole else values


def _of_words(cells: Sequence[str | None]) -> Any:
    """Some cells of a column, each of few words once."""
    codes, found = pd.factorize(np.array(cells, dtype=object))
    few = len(found) <= _FEW_WORDS
    return pd.Categorical.from_codes(codes, pd.Index(found, dtype=str)) if few else pd.Series(cells, dtype=str)


def _joined(blocks: list[Any]) -> Any:
    """A column of the whole file from those of its blocks."""
    if all(isinstance(block, pd.Categorical) for block in blocks):
        return pd.api.types.union_categoricals(blocks)
    texts = [pd.Series(each, dtype=getattr(each, "categories", each).dtype) for each in blocks]
    return pd.concat(texts, ignore_index=True)


def _has_decimal_commas(cells: Any) -> bool:
    """Whether some cell can only be a number with a decimal comma."""
    written = (read_number(cell) for cell in cells.dropna().unique() if "," in cell)
    return any(each and each.mark == "," and not each.loose for each in written)


def _points_unclear(values: pd.Series) -> bool:
    """Whether each number of a column may be one with three decimals."""
    broken = np.abs(values[values % 1 > 0])
    thousandths = 1000.0 * broken
    inside = (broken >= 1) & (broken < 1000) & np.isclose(thousandths, np.round(thousandths))
    return len(broken) > 0 and bool(inside.all())
