"""What theory says of heavy tails: shapes with a multiplier, superseded theorems in grey, Table 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.model.bound import Bound
from bandit_core.simulation.results import Result
from bandit_core.theory import heavy
from ui import charts, figures, legends, page_fields, theme, words
from ui.heavy_tails import setting
from ui.page_fields import Field

# One for each bound of a chart, on light and on dark ground; they mean nothing, names stand at the lines' ends.
_SHADES = (
    ("#6b7680", "#b08d57", "#5f6fb0", "#8a5a83", "#4f8a6b", "#a0522d"),
    ("#aab4be", "#d8b47c", "#98a8e8", "#c896c0", "#86c8a4", "#e09468"),
)
_SWITCHES = (
    Field("orders", "Draw asymptotic rates and shapes", False, "Rates that hold only in the long run, and shapes with "
          "an unknown constant. Curves may lie on either side.", "switch", key="heavy-orders"),
    Field("old", "Draw superseded versions, in grey", False, "Theorems that are wrong as printed, beside the "
          "corrected ones.", "switch", key="heavy-old"),
)  # fmt: skip
_MULTIPLIER = Field(
    "C", "Multiplier of the shapes", 1.0, "The constant of a shape is unknown. This number stands for it.", "number",
    (1e-9, 1e9), key="heavy-multiplier",
)  # fmt: skip


def draw(experiment: Experiment, result: Result | None, local: bool) -> None:
    """The section of the page."""
    instance = experiment.setups[setting.explained(experiment)]
    st.markdown(
        "Upper bounds (↑): what a policy loses at most. Lower bounds (↓): what every policy loses at least "
        + ("under local DP." if local else "under central DP.")
        + " For most bounds only the **shape** is known: how regret grows, not how large it is. Switch the shapes on "
        "and change the multiplier to compare them with the curves."
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        asked, superseded = map(page_fields.ask, _SWITCHES)
    multiplier = page_fields.ask(_MULTIPLIER, right, disabled=not asked)
    bounds = heavy.of_model(instance, local, multiplier)
    budget = instance.epsilon
    small = budget is not None and budget.fixed is not None and budget.fixed <= 1
    in_range = small or not local
    first, second = st.container(key="heavy-pictures").columns(2)
    for column, beside, heading, name in (
        (first, result, "**For these gaps**, and the measured curves", "heavy-shapes"),
        (second, None, "**However small the gaps are** (not for these arms)", "heavy-worst"),
    ):
        chosen = [bound for bound in bounds if (bound.kind == "minimax") == (column is second)]
        with column:
            st.markdown(heading)
            how = beside and beside.content, multiplier, superseded, asked
            make = partial(shapes_chart, experiment, beside, chosen, superseded and in_range, asked)
            if figures.draw(name, experiment, make, "Bounds against the number of users", *how) is None:
                st.caption("Only the shape of these bounds is known: switch on *Draw asymptotic rates and shapes*.")
    st.caption("Explore has a text for each bound, under Bounds.")
    table_1 = st.expander("Table 1 of the paper, for these arms", key="heavy-table-1", on_change="rerun")
    if not table_1.open:
        return
    with table_1:
        st.markdown(
            f"Values after {words.count(experiment.horizon)} users, shapes with the factor 1. They may exceed what can "
            "be lost at all. *Bounded*: the same gaps with rewards between 0 and 1, for comparison."
            + ("" if small else " The heavy-tailed bounds are stated for ε up to 1, and ε is larger here.")
        )
        table(heavy.table_1(instance))


def shapes_chart(
    experiment: Experiment, result: Result | None, bounds: list[Bound], superseded: bool, asked: bool, dark: bool
) -> go.Figure | None:
    """Bounds against the number of users on log-log axes, with the measured curves where there is a result.

    Beside curves stand the limits that hold at every number of users for these arms; by themselves also those for the
    hardest arms; and slopes and shapes where they are ``asked`` for. None where nothing is left.
    """
    times = np.unique(np.geomspace(10, max(20, experiment.horizon), 80).round())
    colours, trust = theme.line_colours(experiment, dark), setting.of(experiment).trust
    curves, gone = [], []
    for number, line in enumerate(result.lines if result is not None else ()):
        same_model = experiment.lines[number].entry.privacy == trust
        if line is not None and result is not None and same_model:  # no lower bound beside a policy it does not bind
            mean = np.where(line.mean > 0, line.mean, np.nan).astype(np.float32)
            name = _rows(f"measured: {experiment.label(number)}")
            curves.append(charts.Curve(result.times, mean, name, colours[number], "%{y:,.3~g}"))
    shades = itertools.cycle(_SHADES[dark])
    for bound in bounds:
        old = bound.superseded
        holds = bound.form == "bound" and (result is None or not bound.worst_case)
        if bound.only or not (old and superseded if bound.not_applicable else holds or asked):
            continue
        name = _rows(f"{bound.sign} {bound.label}{', superseded' if old else ''}")
        look: dict[str, Any] = {"dash": "dot", "width": 1.2} if old else {"width": 1.8}
        values = bound.values(times, experiment.largest_gap).astype(np.float32)
        curve = charts.bound_curve(bound, times, values, theme.GREY if old else next(shades), name=name, **look)
        curves.append(curve)
        gone += [curve] * old
    if not curves:
        return None
    if len(gone) > 1:
        curves = legends.collect(curves, gone, gone[0], name=f"{len(gone)} superseded", group="superseded")
    rows = sum(1 + each.name.count("<br>") for each in curves if each.listed)
    users, regret = {"title": "users so far", **charts.USERS_LOG}, charts.log_axis("regret", range=_range(curves))
    figure = charts.draw(curves, users, regret, 350 + 22 * rows, dark)
    figure.layout.showlegend = True
    figure.layout.legend.update(entrywidth=1, entrywidthmode="fraction")  # names are long: one in a row
    return figure


def _rows(name: str) -> str:
    """A name in rows that fit into the legend of a phone."""
    return "<br>".join(escape(row) for row in wrap(name, 30))


def _range(curves: Sequence[charts.Curve]) -> list[float]:
    """Six powers of ten below the largest value, as shapes may begin at nothing; more where a curve stays below."""
    values = (np.asarray(curve.y, float) for curve in curves)
    tops = [float(np.nanmax(y)) for y in values if np.isfinite(y).any()]
    top = math.log10(max([*tops, 1.0]))
    lowest = math.log10(max(min([*tops, 1e6]), 1e-3))  # whose name in the legend would else stand for nothing
    return [max(-1.0, min(top - 6, lowest - 1)), top + 0.3]


def table(frame: pd.DataFrame) -> None:
    """Table 1 with its formulas set, upper bounds beside lower ones; what is superseded in grey."""
    for column, side in zip(st.columns(2), ("upper", "lower"), strict=True):
        lines = [f"| {side} bounds | value |", "|---|---|"]
        for row in frame.to_dict("records"):
            printed = row["version"] == "printed" and row["rewards"] == "heavy-tailed"
            if not row[side]:
                continue
            where = f"{row['rewards']}, {row['model']}, {row['kind']}"
            value = words.number(row[f"{side}_value"])
            if printed and side == "upper":  # of the printed versions only the lower bounds stand
                lines.append(f"| :gray[{where}, as printed (superseded)] ${row[side]}$ | :gray[{value}] |")
            else:
                version = "as printed" if row["version"] == "printed" else row["version"]
                if side == "lower" and version == "corrected":  # lower bounds are the paper's, or ours
                    version = "as printed" if row["model"] == "central" else "derived"
                lines.append(f"| {where}, {version} ${row[side]}$ | {value} |")
        column.markdown("\n".join(dict.fromkeys(lines)))  # Theorem 5 stands in two rows
