"""A table of results as CSV on standard output, or as a file: CSV, JSON, Parquet, LaTeX or Markdown."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bandit_core.data.spreadsheets import to_csv
from bandit_core.simulation.tables import latex, markdown
from bandit_core.spec.errors import InputError, Issue

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".json", ".parquet", ".tex", ".md")


PICTURES = (".pdf", ".svg", ".png")


def check(out: str | None, pictures: bool = False) -> bool:
    """Refuse an ending that cannot be written, before anything is computed; whether it is that of a picture.

    Raises
    ------
    InputError
        Where it is none of `ENDINGS`, and (with ``pictures``) none of `PICTURES`.
    """
    endings, form = (*ENDINGS, *(PICTURES if pictures else ())), Path(out or "").suffix.lower()
    if out is not None and form not in endings:
        raise InputError([Issue("out", out, f"a file that ends in {', '.join(endings)}")])
    return form in PICTURES


def write(frame: pd.DataFrame, out: str | None, texts: Mapping[str, Callable[[], str]] = {}) -> None:
    """Write ``frame`` to the file ``out``, or to standard output as CSV; floats with all their digits.

    LaTeX and Markdown show six of them, unless ``texts`` gives a table that is better to read for its ending.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    form = Path(out).suffix.lower() if out is not None else ""
    try:
        if out is None:
            to_csv(frame, sys.stdout)
        elif form == ".csv":
            to_csv(frame, out)
        elif form == ".parquet":
            frame.to_parquet(out, index=False)
        else:
            usual: dict[str, Callable[[pd.DataFrame], str]] = {
                ".json": _rows, ".tex": partial(_table, latex), ".md": partial(_table, markdown),
            }  # fmt: skip
            Path(out).write_text(texts[form]() if form in texts else usual[form](frame), encoding="utf-8")
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())
        raise InputError([Issue("out", out, f"cannot be written: {reason}")]) from None


def _rows(frame: pd.DataFrame) -> str:
    """A list of row objects; what is not finite is null, for JSON has no other word for it."""
    rows = [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows) + "\n]\n"


def _table(write_rows: Callable[..., str], frame: pd.DataFrame) -> str:
    """The frame as it is, in the words of ``write_rows``."""
    columns = [str(name) for name in frame.columns]
    rows = [
        [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
        for row in frame.itertuples(index=False, name=None)
    ]
    return write_rows(columns, rows, None)
