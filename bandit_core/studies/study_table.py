"""The table that a study wrote, read again: what varies, and every line at one place of it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bandit_core.data.spreadsheets import read_csv
from bandit_core.spec.errors import InputError, Issue

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "line", "label", "policy", "trust", "guarantee_epsilon", "guarantee_delta",
    "t", "mean", "std", "stderr", "q05", "median", "q95", "trials",
)  # fmt: skip
MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
_NUMBERS = ("t", "mean", "stderr", "trials")


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The ``rows`` of a study at the last checkpoint of each point; ``axes`` are the values of what varies, by name.

    Where an axis means nothing to a line (a budget to one without privacy), its cell is empty there.
    """

    rows: pd.DataFrame
    axes: dict[str, list[Any]]

    def along(self, axis: str, at: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
        """The rows of every line along one axis, by its label, with the other axes held ``at`` their values.

        A line that knows nothing of the axis has one row, whose cell is empty.
        """
        rows = self.rows
        for name, value in at.items():
            rows = rows[(rows[name] == value) | rows[name].isna()]
        place = {value: number for number, value in enumerate(self.axes[axis])}
        lines = rows.groupby("label", sort=False)
        return {str(label): part.sort_values(axis, key=lambda cells: cells.map(place)) for label, part in lines}


def read_study_table(content: bytes) -> StudyTable:
    """What ``study --out FILE.csv`` wrote.

    Raises
    ------
    InputError
        Where it is too large, no CSV, or not the table of a study.
    """
    import pandas as pd

    if len(content) > MAX_BYTES:
        raise InputError([Issue("file", f"{len(content):,} bytes", f"at most {MAX_BYTES:,} bytes")])
    try:
        rows = read_csv(io.BytesIO(content))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError([Issue("file", None, f"is no CSV: {' '.join(str(error).split())[:200]}")]) from None
    lacking = [name for name in COLUMNS if name not in rows.columns]
    if lacking:
        words = "a table as the command study writes it (CSV)"
        raise InputError([Issue("columns", ", ".join(map(str, rows.columns))[:200], f"{words}; missing: {lacking[0]}")])
    if not 0 < len(rows) <= MAX_ROWS:
        raise InputError([Issue("rows", len(rows), f"from 1 to {MAX_ROWS:,}")])
    wrong = [name for name in _NUMBERS if not pd.api.types.is_numeric_dtype(rows[name]) or rows[name].isna().all()]
    if wrong:
        raise InputError([Issue(f"columns.{wrong[0]}", None, "numbers in every row")])
    return table_of(rows.assign(label=rows["label"].astype(str), policy=rows["policy"].astype(str)))


def table_of(rows: pd.DataFrame) -> StudyTable:
    """The rows of a study."""
    names = [str(name) for name in rows.columns[: list(rows.columns).index("line")]]
    last = rows.groupby([*names, "line", "label"], dropna=False)["t"].transform("max") if names else rows["t"].max()
    rows = rows[rows["t"] == last].reset_index(drop=True)
    return StudyTable(rows, {name: sorted(rows[name].dropna().unique().tolist(), key=_order) for name in names})


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value  # words, such as auto, after all numbers
