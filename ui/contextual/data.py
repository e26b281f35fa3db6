"""Users with features from a visitor's own file, for this session only, or invented ones that are called so.

Nothing of a file leaves the session: it is simulated with a store in the session's memory, and no link, no shared
experiment and no process-wide cache ever sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.data import lending
from bandit_core.data.lending import Table
from bandit_core.data.reading import Reading
from bandit_core.data.tables import MAX_BYTES, MAX_ROWS
from bandit_core.experiments.presets import load_preset
from bandit_core.spec import own_data
from ui import figures, uploads, words

SOURCES = {
    "none": "none",
    "invented": "invented lending data",
    "lending": "the auto-lending set (CSV)",
    "any": "any CSV",
}
COMPARED = {"trust": "levels of trust", "paper": "the paper's policies"}
WARM_UP = 100  # users for each option, where options have names and no one is trusted
HORIZONS = (1000, 3000, 10_000, 30_000, 100_000)
TRIALS = 10
PRICES = 10  # candidate amounts of any table, equally spaced between the smallest and the largest
RUN = "data"  # name of the background run
SLOTS = (
    f"run-{RUN}",
    "data-store",
    "data-read",
    "data-columns",
    uploads.ANSWERS,
)  # of the session, filled from the file


@dataclass(frozen=True)
class Own:
    """An experiment made of a table."""

    experiment: Experiment
    label: str


def panel() -> Own | None:
    """The controls; None where the visitor has no file, or it is no use yet (why is told)."""
    st.markdown(
        "The paper also tries its policies on car loans: features of a customer and an offered price, and whether "
        "the loan was taken. A model is fitted to all rows of a table; simulated users are its rows, and what they "
        "do follows the model. The original set is licensed and not part of this app: **bring your own copy, any "
        "other table, or look at invented data** with the same columns."
    )
    source = st.segmented_control(
        "Data", list(SOURCES), default="none", required=True, format_func=SOURCES.__getitem__, key="data-source",
        help="Where the users come from: the experiment in the sidebar (none), or a table.",
    )  # fmt: skip
    if source == "none":
        uploads.forget(*SLOTS)
        return None
    trust = st.segmented_control(
        "Compare", list(COMPARED), default="trust", required=True, key="data-compared",
        format_func=COMPARED.__getitem__,
        help="Levels of trust: least squares on a linear model, at ε = 1 and δ = 1e-6; where a reward exceeds 1, "
        "all are divided by the largest. The paper: local privacy at ε = 0.5 and 1; a logistic model for 0 and 1.",
    ) == "trust"  # fmt: skip
    try:
        if source == "invented":
            made: _Made | None = uploads.kept("data-read", (source, trust), lambda: _made(lending.synthetic(), trust))
        else:
            made = _uploaded(source, trust)
        if made is None:
            return None
        if not made.synthetic:
            own_data.hold(uploads.store("data-store"))
        horizon = st.select_slider(
            "Users of the data set (horizon)", HORIZONS, 10_000, key="data-horizon", format_func=words.count,
            help="How many simulated users arrive; rows of the table are drawn with replacement.",
        )  # fmt: skip
        view = {"x": "log", "y": "log", "bounds": False}
        experiment = Experiment.model_validate({**made.document, "horizon": horizon, "view": view})
    except InputError as error:
        uploads.refuse(error)
        return None
    st.success(
        f"{made.rows:,} rows, {made.features} features (with a constant), {experiment.arm_count} options"
        + (f". **This is a {made.label}.**" if made.synthetic else ", from your file.")
    )
    if made.notes:
        st.caption(words.plain(" ".join(made.notes)))
    return Own(experiment, made.label)


@dataclass(frozen=True)
class _Made:
    """What stays of a table once its model is fitted."""

    rows: int
    features: int
    label: str
    synthetic: bool
    document: dict[str, Any]
    notes: tuple[str, ...] = ()


def _made(table: Table, trust: bool, title: str = "Auto lending") -> _Made:
    named = title == "Auto lending" or bool(table.action_names)
    prices = None if named else np.linspace(table.actions.min(), table.actions.max(), PRICES).tolist()
    lines: list[dict[str, Any]] = load_preset("trust-with-features").spec()["lines"] if trust else []
    if trust and table.action_names:
        lines[-1]["params"]["warm_up"] = WARM_UP
    document = lending.lending_document(table, trials=TRIALS, title=title, prices=prices, lines=lines)
    rows, features = table.features.shape
    return _Made(rows, features, table.label, table.synthetic, document)


def _uploaded(source: str, trust: bool) -> _Made | None:
    if source == "lending":
        names = ", ".join(f"`{name}`" for name in (*lending.LENDING_COLUMNS, lending.CAR_TYPE))
        st.caption(f"Columns, in any order: {names}. Every value out of range is named with its row.")
        message = "A CSV with these columns and invented values."
        label, name = "An example of such a file (invented)", "invented-loans.csv"
        figures.download(st, label, lending.synthetic_csv, name, message, "content", key="data-example")
    upload = st.file_uploader(
        "Table (CSV)", type=["csv", "tsv", "txt"], key=f"data-{source}", max_upload_size=MAX_BYTES // 10**6,
        help=f"Names of the columns in the first row. Up to 20 MB and {MAX_ROWS:,} rows.",
    )  # fmt: skip
    st.caption(uploads.PRIVATE_WORDS)
    if upload is None:
        uploads.forget(*SLOTS)
        return None
    data = upload.getvalue()
    if source == "lending":
        return _asked((upload.file_id,), trust, "Auto lending", partial(lending.read_lending, data))
    columns = uploads.kept("data-columns", upload.file_id, lambda: lending.columns_of(data))
    left, middle, right = st.columns(3)
    reward = left.selectbox(
        "Reward", columns, len(columns) - 1, key="data-reward", help="The column with the reward of a choice."
    )
    action = middle.selectbox(
        "Action", columns, max(0, len(columns) - 2), key="data-action", help="The column with the choice."
    )
    amount = right.toggle(
        "Actions are amounts", key="data-amounts", help="On: numbers such as prices, one model. Off: names, one each."
    )
    offered = [name for name in columns if name not in (reward, action)]
    features = st.multiselect(
        "Features", offered, offered, key="data-features",
        help=f"Columns of numbers about a user, here scaled by their own extremes. {words.PUBLIC['scaling']}",
    )  # fmt: skip
    key = (upload.file_id, reward, action, amount, *features)
    return _asked(key, trust, "Any table", partial(lending.read_table, data, features, action, reward, amount))


def _asked(key: tuple[Any, ...], trust: bool, title: str, read: Callable[..., Reading[Table]]) -> _Made | None:
    """What a file is, read with the visitor's answers; None while one is missing."""
    slot = "data-" + "-".join(map(str, key))
    answers = uploads.said(slot)

    def both() -> tuple[Reading[Table], _Made | None]:
        reading = read(answers)
        notes = (*reading.notes, *reading.checks)
        made = None if reading.doubts else replace(_made(reading.data, trust, title), notes=notes)
        return replace(reading, held=None), made

    reading, made = uploads.kept("data-read", (slot, trust, str(answers)), both)
    return made if uploads.doubts_answered(reading, slot) else None
