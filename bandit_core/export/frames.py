"""A table of results on standard output, or as a file: CSV, JSON, Parquet, LaTeX, Markdown; and its picture."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bandit_core.data.spreadsheets import to_csv
from bandit_core.simulation.results import versions
from bandit_core.simulation.tables import latex, markdown
from bandit_core.spec.errors import InputError, Issue, refuse_if
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import p_value

ENDINGS = (".csv", ".json", ".parquet", ".tex", ".md")
PICTURES = (".pdf", ".svg", ".png", ".html")


def check(out: str | None, pictures: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Raises
    ------
    InputError
        Where its ending is none of `ENDINGS`, nor of ``pictures``, or its folder takes no file.
    """
    if out is None:
        return
    endings, folder = (*ENDINGS, *pictures), Path(out).parent
    refuse_if(Path(out).suffix.lower() not in endings, "out", out, f"a file that ends in {', '.join(endings)}")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError([Issue("out", out, f"cannot be written: {folder} is no folder that takes files")])


def write(
    frame: pd.DataFrame,
    out: str | None,
    texts: Mapping[str, Callable[[], str]] = {},
    picture: Callable[[str], object] | None = None,
) -> None:
    """Write ``frame`` to the file ``out``, or to standard output; floats with all their digits.

    LaTeX and Markdown show six of them, unless ``texts`` gives a table that is better to read for its ending, and a
    terminal four. ``picture`` writes a file that is one of `PICTURES`. Parquet keeps ``attrs["made"]``: how the numbers
    were made, at least the command and the versions.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    form = Path(out).suffix.lower() if out is not None else ""
    try:
        if out is None and sys.stdout.isatty():
            print(_readable(frame))
        elif out is None:
            to_csv(frame, sys.stdout)
        elif picture is not None and form in PICTURES:
            picture(out)
        elif form == ".csv":
            to_csv(frame, out)
        elif form == ".parquet":
            frame.attrs.setdefault("made", {"command": shlex.join(sys.argv[1:]), "versions": dict(versions())})
            frame.to_parquet(out, index=False)
        else:
            usual: dict[str, Callable[[pd.DataFrame], str]] = {
                ".json": _rows, ".tex": partial(_table, latex), ".md": partial(_table, markdown),
            }  # fmt: skip
            Path(out).write_text(texts[form]() if form in texts else usual[form](frame), encoding="utf-8")
    except (InputError, BrokenPipeError):
        raise
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())
        raise InputError([Issue("out", out, f"cannot be written: {reason}")]) from None
    if out is not None:
        print(f"written: {out}", file=sys.stderr)


def _readable(frame: pd.DataFrame) -> str:
    """The frame for a terminal."""
    tests = {name: p_value for name in frame.columns if str(name).startswith("p_")}
    return str(frame.to_string(index=False, float_format="{:.4g}".format, formatters=tests, na_rep="–"))


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
    digits = [p_value if name.startswith("p_") else "{:.6g}".format for name in columns]
    rows = [
        [write(value) if isinstance(value, float) else str(value) for write, value in zip(digits, row, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    return write_rows(columns, rows, frame.attrs.get("made"))
