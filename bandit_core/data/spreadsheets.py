"""CSV that a spreadsheet program shows and does not run.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to Excel, LibreOffice and Google Sheets, and a formula
can start programs and send the other cells away. The files of the lab hold text that whoever made a link wrote, so each
place where such a cell may begin gets an apostrophe in front, which says "text" to these programs. A cell begins at
the beginning of the text, and after a separator, a quotation mark or a line break in it, for a program that cuts at
semicolons does so inside of our cells, too. Full-width signs count, as do a tab and a carriage return, which some
programs skip. Numbers are no text and stay as they are.

See OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from bandit_core.spec.later import pd

_BEGINS = r"(?<![^,;\t|\"\r\n])"
_FORMULA = r"(?=[ ']*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])"
_BARE = re.compile(_BEGINS + _FORMULA)
_DEFUSED = re.compile(f"{_BEGINS}'{_FORMULA}")


def defused(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet would begin a formula; `restored` takes them away again.

    >>> defused("=1+1"), defused("x;@y"), defused("UCB, epsilon 1")
    ("'=1+1", "x;'@y", 'UCB, epsilon 1')
    """
    return _BARE.sub("'", text)


def restored(text: str) -> str:
    """The text that was `defused`; ``restored(defused(text)) == text`` for every text.

    >>> restored("'=1+1"), restored("'tis")
    ('=1+1', "'tis")
    """
    return _DEFUSED.sub("", text)


def defused_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows with every text cell and heading `defused`; numbers are untouched."""
    return _with_text(frame, defused)


def _with_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    def changed(cell: Any) -> Any:
        return change(cell) if isinstance(cell, str) else cell

    texts = {name: frame[name].map(changed) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    return frame.assign(**texts).rename(columns=changed)


def read_csv(file: Any) -> pd.DataFrame:
    """What `to_csv` wrote, from a file or its name, with the text as it was before; of pandas' dtypes.

    Empty text comes back as NaN, and text that says a number as that number, as CSV knows no types.
    """
    return _with_text(pd.read_csv(file), restored)


def to_csv(frame: pd.DataFrame, out: str | Path | TextIO | None = None) -> Any:
    """The `defused_frame` as CSV: to a file or its name, or returned where there is none."""
    safe = defused_frame(frame)
    # Left to itself the writer quotes line feeds only, and a bare carriage return ends a row, too.
    risky = any(
        "\r" in cell for cell in safe.select_dtypes(exclude="number").to_numpy().ravel() if isinstance(cell, str)
    )
    quoting = csv.QUOTE_NONNUMERIC if risky else csv.QUOTE_MINIMAL
    return safe.to_csv(out, index=False, lineterminator="\n", quoting=quoting)
