"""The parts of the page Benchmark: the promise, who loses least, where, and by which rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core.data.spreadsheets import to_csv
from bandit_core.model import KEPT, Privacy
from bandit_core.spec.number_text import count, number
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark_scores import AXES, Contest, along, contest_of, contests, scores
from ui import charts, figures, shared, state, theme, words
from ui.page_fields import Fields

DEFAULTS = {"promise": "local-pure", "along": "users"}
ROW, PHONE_ROW, SHORT = 24, 36, 18  # pixels of a policy in a picture; letters of a row of its name on a phone
ALONG_WORDS = {"users": "number of users", "epsilon": "budget ε", "arms": "number of arms", "gap": "gap"}
_ARMS = sum(task.setting == "arms" for task in benchmark.TASKS)
ABOUT = (
    f"Every policy of this lab has played the same tasks ({_ARMS} with plain arms, or {len(benchmark.TASKS) - _ARMS} "
    f"where users have features) at {len(benchmark.BUDGETS)} budgets and for {len(benchmark.USERS)} numbers of users, "
    "as it comes: nothing was tuned. A **score** of 2 means that it loses twice what the best policy known here loses "
    "in the same case, among those that promise at least as much; on average over all cases (geometric mean). "
    "**1** means that nobody known here loses less in any case."
)
COLUMNS = {
    "rank": "Rank", "title": "Policy", "own": "Its own promise", "factor": "Score", "low": "From", "high": "To",
    "first_in": "Best in", "cells": "of", "price": "Price of privacy", "over_floor": "Times the lower bound",
}  # fmt: skip


@cache
def _rows() -> pd.DataFrame:
    return benchmark.load()


@cache
def _contests() -> dict[str, Contest]:
    return {contest.key: contest for contest in contests(_rows())}


@cache
def _scores(contest: Contest) -> pd.DataFrame:
    return scores(_rows(), contest)


def choice(fields: Fields) -> Contest:
    """Whom to compare, as a control of the page."""
    known = _contests()
    chosen: str = st.selectbox(
        "Who keeps at least this promise",
        list(known),
        list(known).index(fields.word("promise", known)),
        format_func=lambda key: known[key].words,
        key=state.own_key("benchmark-promise"),
        help="A policy that promises more is compared, too: whoever trusts nobody keeps a curator's promise as well. "
        "Approximate: with a chance δ of more than ε, here 1e-6.",
    )
    fields.keep("promise", chosen)
    return known[chosen]


@cache
def _privacy(policy: str) -> Privacy:
    return contest_of(_rows(), policy).privacy


def _names(contest: Contest, phone: bool) -> list[str]:
    """What stands beside the rows of a picture, the best score first; on a phone in two short rows."""
    found, told = _scores(contest), []
    for policy, title in zip(found["policy"], found["title"], strict=True):
        sign = theme.TRUST_SIGNS[_privacy(policy)]
        short = wrap(f"{sign} {title.partition(' (')[0]}", SHORT)
        told.append("<br>".join(map(escape, short)) if phone else escape(f"{sign} {title}"))
    return told


def _height(contest: Contest, phone: bool) -> int:
    return (PHONE_ROW if phone else ROW) * len(_scores(contest))


def verdict(contest: Contest) -> str:
    """Who has the best score, and who cannot be told apart from it."""
    found = _scores(contest)
    first = found.iloc[0]
    others = list(found["title"][1:][found["alike"][1:]])
    told = f"**{first['title']}** has the best score, {_span(first)}"
    if len(found) == 1:
        return f"**{first['title']}** is the only policy here that keeps this promise, so there is nothing to compare."
    told += f", and loses least, or as little as any other, in {first['first_in']} of {first['cells']} cases."
    if others:
        told += f" The trials cannot tell it from {_list(others)}."
    return told


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _span(row: pd.Series) -> str:
    ends = [number(row[name]) for name in ("low", "high")]
    interval = f" (95 % interval {ends[0]} to {ends[1]})" if ends[0] != ends[1] else ""
    return f"{number(row['factor'])}{interval}"


def ranking(contest: Contest, dark: bool) -> None:
    """The scores as a picture."""
    st.markdown("**Score: times what the best policy loses**")
    phone = theme.is_phone()
    _shown(
        "benchmark-ranking",
        contest,
        (dark, phone),
        lambda: _dots(contest, dark, phone),
        lambda drawn: charts.read_aloud(drawn, "Scores, the best first"),
    )
    signs = "; ".join(f"{theme.TRUST_SIGNS[each]} {theme.TRUST_WORDS[each]}" for each in KEPT if each in _met(contest))
    st.caption(
        f"Signs: {signs}. Lines: 95 % intervals over the {benchmark.TRIALS} trials, which all policies share. They say "
        "nothing about other tasks than these."
    )


def _met(contest: Contest) -> set[Privacy]:
    return {_privacy(policy) for policy in _scores(contest)["policy"]}


def _shown(
    key: str, contest: Contest, how: Any, draw: Callable[[], go.Figure], told: Callable[[go.Figure], str]
) -> None:
    figures.show(shared.figure(key, (contest, how), draw, told), f"{key}-chart")


def _dots(contest: Contest, dark: bool, phone: bool) -> go.Figure:
    figure, found = go.Figure(), _scores(contest)
    for name, row in zip(_names(contest, phone), found.to_dict("records"), strict=True):
        colour = theme.policy_colour(row["policy"], dark)
        figure.add_scatter(
            x=[row["factor"]],
            y=[name],
            name=name,
            mode="markers",
            showlegend=False,
            marker={"size": 10, "color": colour},
            error_x={
                "array": [row["high"] - row["factor"]],
                "arrayminus": [row["factor"] - row["low"]],
                "color": colour,
                "thickness": 2,
            },
            hovertemplate="× %{x:.3~g}<extra>%{y}</extra>",
        )
    charts.style(figure, 110 + _height(contest, phone), dark)
    figure.update_layout(hovermode="closest")
    low, high = 0.0, math.log10(float(found["high"].max()))
    figure.update_xaxes(type="log", range=[low - 0.03 * max(high, 0.1), high + 0.03], title="score (1 is the best)")
    figure.update_xaxes(**charts.AMOUNTS, dtick=charts.log_step(low, high))
    figure.update_yaxes(autorange="reversed", dtick=1)
    return figure


def parts(contest: Contest, fields: Fields, dark: bool) -> None:
    """The scores in the parts of the tasks, along one of their properties."""
    axes = [axis for axis in AXES if len(_along(contest, axis)) > 1]
    st.markdown("**Where?** The score in each part of the tasks")
    asked = fields.word("along", AXES)
    chosen: str = st.segmented_control(
        "Along",
        axes,
        default=asked if asked in axes else axes[0],
        format_func=ALONG_WORDS.__getitem__,
        key=state.own_key(f"benchmark-along:{'-'.join(axes)}"),
        required=True,
        help="In each part the policies are compared anew, so a column may have another best one.",
    )
    fields.keep("along", chosen)
    phone = theme.is_phone()
    _shown(
        "benchmark-parts",
        contest,
        (chosen, dark, phone),
        lambda: _cells(contest, chosen, dark, phone),
        lambda drawn: _told(drawn, ALONG_WORDS[chosen]),
    )


@cache
def _along(contest: Contest, axis: str) -> dict[float | str, dict[str, float]]:
    return along(_rows(), contest, axis)


def _cells(contest: Contest, axis: str, dark: bool, phone: bool) -> go.Figure:
    found, names = _along(contest, axis), _names(contest, phone)
    scored = [[values.get(policy, math.nan) for values in found.values()] for policy in _scores(contest)["policy"]]
    ground, far = ("#11161c", "#8f5312") if dark else ("#ffffff", "#f0a860")
    figure = go.Figure()
    figure.add_heatmap(
        x=[f"{value:,g}" if isinstance(value, int | float) else value for value in found],
        y=names,
        z=[[math.log10(value) for value in row] for row in scored],
        zmin=0.0,
        zmax=1.0,
        colorscale=[[0, ground], [1, far]],
        showscale=False,
        text=[["" if math.isnan(value) else number(value) for value in row] for row in scored],
        texttemplate="%{text}",
        textfont={"size": charts.SIZE, "color": theme.ink(dark)},
        hovertemplate="%{y}, %{x}: × %{text}<extra></extra>",
        xgap=2,
        ygap=2,
    )
    charts.style(figure, 120 + _height(contest, phone), dark)
    figure.update_layout(hovermode="closest", margin_t=charts.MODE_BAR + 2 * ROW)
    figure.update_xaxes(side="top", type="category", showgrid=False, tickangle=0, title=ALONG_WORDS[axis])
    figure.update_yaxes(autorange="reversed", dtick=1, showgrid=False)
    return figure


def _told(drawn: go.Figure, along_what: str) -> str:
    """The cells in words, for screen readers."""
    cells = drawn.data[0]
    heads = f"Scores by {along_what} ({', '.join(cells.x)})."
    rows = zip(cells.y, cells.text, strict=True)
    return " ".join([heads, *(f"{name.replace('<br>', ' ')}: {', '.join(row)}." for name, row in rows)])


def table(contest: Contest) -> None:
    """All numbers, and the files they come from."""
    found = _scores(contest)
    known = _contests()
    shown = found.assign(own=[known[key].words for key in found["promises"]])[list(COLUMNS)].rename(columns=COLUMNS)
    shown = shown.dropna(axis="columns", how="all")
    configured = {
        name: st.column_config.NumberColumn(format="%.3g")
        for name in ("Score", "From", "To", "Price of privacy", "Times the lower bound")
    }
    st.dataframe(shown, hide_index=True, key="benchmark-table", column_config=configured)
    st.caption(
        "Price of privacy: its loss divided by that of the best policy without privacy on the same task. Times the "
        "lower bound: divided by the least that any policy with its promise must lose there, which is known to be far "
        "too small. Both are geometric means; empty where nothing is known."
    )
    first, second = st.columns(2)
    first.download_button(
        "This table (CSV)", lambda: to_csv(found), f"benchmark-{contest.key}.csv", "text/csv", on_click="ignore",
        width="stretch", key="benchmark-scores", help="The scores of everybody who keeps this promise.",
    )  # fmt: skip
    second.download_button(
        "Every trial (CSV)", benchmark.FILE.read_bytes, "benchmark.csv", "text/csv", on_click="ignore",
        width="stretch", key="benchmark-data", help="The loss of each policy in each trial of each task.",
    )  # fmt: skip


def rules() -> None:
    """What was played."""
    with st.expander("The rules", icon=":material/gavel:"):
        st.markdown(
            f"Version {benchmark.VERSION}, seed {benchmark.SEED}, {benchmark.TRIALS} trials.\n\n"
            + "\n".join(f"- {words.sentence(task.words)}." for task in benchmark.TASKS)
            + f"\n- Users: {', '.join(map(count, benchmark.USERS))}; each number is a run of its own, so a policy may "
            "be made for it.\n"
            f"- Budgets: ε = {', '.join(f'{budget:g}' for budget in benchmark.BUDGETS)}; δ is 1e-6 wherever there is "
            "one.\n"
            "- Parameters are what they are by default. Nobody is told what users would not know beforehand, such as "
            "the moments of the arms.\n"
            "- Trial by trial all policies meet the same random numbers."
        )


def own_policy() -> None:
    """How a policy of one's own is scored."""
    st.markdown("**Your own policy** plays the same tasks by one command, and is scored beside the others:")
    st.code("bandit-lab benchmark --policy my_policy.py", language=None)
