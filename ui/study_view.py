"""The table of a study, drawn along one of the things that it varies; read from a visitor's file, kept nowhere."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError
from bandit_core.policies import registry
from bandit_core.studies.study import MAX_BYTES, StudyTable, read_study_table
from ui import charts, figures, theme, uploads, words

MAX_LINES, MAX_TICKS = 24, 12
SIGNS = ("circle", "square", "diamond", "triangle-up", "x", "star")  # tell lines apart in grey


def draw() -> None:
    """The uploader and, once there is a file, its picture."""
    st.markdown(
        "`bandit-lab study FILE --out table.csv` plays every combination of what a file varies. Its table is drawn "
        "here."
    )
    upload = st.file_uploader(
        "Table of a study (CSV)", type=["csv"], key="study-file", max_upload_size=MAX_BYTES // 2**20,
        help="The table that the command writes.",
    )  # fmt: skip
    st.caption(uploads.PRIVATE_WORDS)
    if upload is None:
        uploads.forget("study-table")
        return
    try:
        table = uploads.kept("study-table", upload.file_id, lambda: read_study_table(upload.getvalue()))
    except InputError as error:
        uploads.refuse(error)
        return
    _drawn(table)


def _drawn(table: StudyTable) -> None:
    varied = [name for name, values in table.axes.items() if len(values) > 1]
    if not varied:
        st.info("Nothing varies in this table, so there is nothing to draw it along.")
        return
    axis: str = st.selectbox("Along", varied, key="study-axis", help="The quantity on the horizontal axis.")
    others = [name for name in varied if name != axis]
    at = {
        name: st.select_slider(
            words.plain(name),
            table.axes[name],
            key=f"study-at-{name}",
            help="The value at which this quantity is held.",
        )
        for name in others
    }
    lines = table.along(axis, at)
    if len(lines) > MAX_LINES:
        st.caption(f"The first {MAX_LINES} of {len(lines)} lines are drawn.")
    figure = chart(dict(list(lines.items())[:MAX_LINES]), axis, theme.is_dark())
    figures.plot(figure, "study-chart", "Mean regret at the last user")
    level = any(trace.line.dash == "dash" for trace in figure.data)
    dashed = f" Dashed and level: what does not depend on {words.plain(axis)}." * level
    st.caption(f"Mean regret at the last user of each point, with two standard errors.{dashed}")


def chart(lines: dict[str, Any], axis: str, dark: bool) -> go.Figure:
    """Mean regret along an axis of a study, a curve for each line; level ones for those that the axis leaves alone."""
    policies, curves = registry(), []
    ends = [rows[axis].dropna().tolist() for rows in lines.values()]
    places = sorted({place for each in ends for place in each}, key=lambda place: (isinstance(place, str), place))
    for number, (label, rows) in enumerate(lines.items()):
        policy, level = str(rows["policy"].iloc[0]), rows[axis].isna().all()
        colour = theme.policy_colour(policy, dark) if policy in policies else theme.quiet(dark)
        mean, error = (np.asarray(rows[name], float) for name in ("mean", "stderr"))
        if level:
            x, y, more = [places[0], places[-1]], np.repeat(mean[:1], 2), {}
        else:
            bars = {"array": 2 * np.nan_to_num(error), "color": colour, "thickness": 1}
            x, y = rows[axis].tolist(), mean
            more = {"mode": "lines+markers", "error_y": bars, "marker_symbol": SIGNS[number % len(SIGNS)]}
        curves.append(charts.Curve(x, y, escape(label), colour, dash="dash" if level else None, width=2, more=more))
    numeric = all(isinstance(place, int | float) for place in places)
    wide = numeric and places[0] > 0 and places[-1] > 5 * places[0]
    lost = [value for rows in lines.values() for value in rows["mean"] if value > 0] or [1.0]
    ticks = places if numeric and len(places) <= MAX_TICKS else None
    across = {"title": escape(axis), "type": "log" if wide else None if numeric else "category", "tickvals": ticks}
    up = charts.log_axis("lost rewards (regret)", math.log10(min(lost)), math.log10(max(lost)))
    return charts.draw(curves, across, up, 460, dark)
