"""The parts of the page Benchmark: the promise, who loses least, where, and by which rules."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from html import escape
from textwrap import wrap

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core.data.spreadsheets import to_csv
from bandit_core.model import KEPT, Privacy
from bandit_core.spec.number_text import count, number
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark import AXES, Contest, along, capped_words, contest_of, contests, scores
from ui import charts, figures, page_fields, state, stylesheet, theme, words
from ui.page_fields import Field

ROW, PHONE_ROW, SHORT = 24, 36, 18  # pixels of a policy in a picture; letters of a row of its name on a phone
SHOW = {"all": "scores", "table": "table", "users": "by users", "epsilon": "by ε", "task": "by task"}
_ARMS = sum(task.setting == "arms" for task in benchmark.TASKS)
ABOUT = (
    "A **score** of 2 means: on average over many tasks, a policy loses twice as much as the best one for the task. "
    "A score of 1 would mean the best everywhere."
)
AT = {f"at_{users}": f"Score at {count(users)} users" for users in benchmark.USERS}
COLUMNS = {
    "rank": "Rank", "title": "Policy", "own": "Its own guarantee", "factor": "Score", "low": "From", "high": "To",
    **AT, "learned": "Score where something can be learned", "clear_in": "Clearly best in", "learned_cells": "of",
    "cells": "All cases", "price": "Price of privacy", "over_floor": "Times the lower bound",
    "tail": "Tail", "spread": "Spread",
}  # fmt: skip
DIGITS = ("factor", "low", "high", *AT, "learned", "price", "over_floor", "tail", "spread")  # shown with three


@cache
def _rows() -> pd.DataFrame:
    return benchmark.load()


@cache
def _contests() -> dict[str, Contest]:
    return {contest.key: contest for contest in contests(_rows())}


@cache
def _scores(contest: Contest) -> pd.DataFrame:
    return scores(_rows(), contest)


def choice() -> Contest:
    """Whom to compare, as a control of the page."""
    field = Field(
        "promise", "Privacy guarantee, at least", "local-pure", "Policies with a stronger guarantee take part, too: "
        "local DP implies central DP. Approximate: the guarantee has a δ = 1e-6.", "box",
        {key: each.words for key, each in _contests().items()}, key="benchmark-promise",
    )  # fmt: skip
    return _contests()[page_fields.ask(field)]


@cache
def _privacy(policy: str) -> Privacy:
    return contest_of(_rows(), policy).privacy


def _names(contest: Contest, phone: bool) -> list[str]:
    """What stands beside the rows of a picture, the best score first; on a phone in two short rows."""
    scored, message = _scores(contest), []
    for policy, title in zip(scored["policy"], scored["title"], strict=True):
        sign = theme.TRUST_SIGNS[_privacy(policy)]
        short = wrap(f"{sign} {title.partition(' (')[0]}", SHORT)
        message.append("<br>".join(map(escape, short)) if phone else escape(f"{sign} {title}"))
    return message


def _height(contest: Contest, phone: bool) -> int:
    return (PHONE_ROW if phone else ROW) * len(_scores(contest))


def verdict(contest: Contest) -> str:
    """Who has the best score, who cannot be told apart from it, and in how many cases it is clearly the best."""
    scored = _scores(contest)
    first = scored.iloc[0]
    if len(scored) == 1:
        return f"**{first['title']}** is the only policy here with this guarantee, so it has no score."
    others = list(scored["title"][1:][scored["alike"][1:]])
    if others:
        lead = (
            f"**No policy is clearly first.** {first['title']} has the lowest score, {number(first['factor'], 2)}, but "
        )
        lead += f"it is too close to call beside {_list(others)}."
    else:
        lead = f"**{first['title']}** clearly has the lowest score, {number(first['factor'], 2)}."
    lead += f" It is clearly the best in {first['clear_in']} of the {first['learned_cells']} cases"
    return f"{lead} where something can be learned."


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def scored(contest: Contest) -> None:
    """The scores as a picture, as a table, or in parts along a property of the cases: one of them."""
    axes = [axis for axis in AXES if len(_losses_along(contest, axis)) > 1]
    options = [*(["all"] if len(_scores(contest)) > 1 else []), "table", *axes]
    field = Field(
        "along", "Show", options[0], "By users, ε or task: each part has its own comparison, so the best policy may "
        "differ.", "buttons", {name: SHOW[name] for name in options}, key=f"benchmark-along:{'-'.join(options)}",
    )  # fmt: skip
    asked, phone = page_fields.value(replace(field, allowed=SHOW)), theme.is_phone()
    chosen = page_fields.draw(field, asked if asked in options else options[0], state.own_key(field.key))
    page_fields.keep(field, chosen)
    if chosen == "table":
        table(contest)
    elif chosen == "all":
        dots, what = partial(_dots, contest, phone), "Scores, the best first"
        figures.draw("benchmark-ranking-chart", contest, dots, what, phone)
        met = {_privacy(policy) for policy in _scores(contest)["policy"]}
        signs = (f"{theme.TRUST_SIGNS[each]} {theme.TRUST_WORDS[each]}" for each in KEPT if each in met)
        st.caption(f"{'; '.join(signs)}. Error bars: 95% intervals over tasks and runs.")
    else:
        cells, described = partial(_cells, contest, chosen, phone), partial(_cells_in_words, contest, chosen, phone)
        figures.draw("benchmark-parts-chart", contest, cells, described, chosen, phone)
        st.caption("Scores that are close may differ by chance. The table has intervals of the whole score.")


def _dots(contest: Contest, phone: bool, dark: bool) -> go.Figure:
    curves, scored = [], _scores(contest)
    for name, row in zip(_names(contest, phone), scored.to_dict("records"), strict=True):
        colour, score = theme.policy_colour(row["policy"], dark), [row["factor"]]
        bars = charts.error_bars(score, [row["low"]], [row["high"]], color=colour, thickness=2)
        more = {"mode": "markers", "marker": {"size": 10, "color": colour}, "error_x": bars}
        hover = "× %{x:.3~g}<extra>%{y}</extra>"
        curves.append(charts.Curve(score, [name], name, colour, hover, listed=False, more=more))
    low, high = min(0.0, math.log10(float(scored["low"].min()))), math.log10(float(scored["high"].max()))
    ends = [low - 0.03 * max(high, 0.1), high + 0.03]
    across = charts.log_axis("score (1 is best)", low, high, range=ends)
    down = {"autorange": "reversed", "dtick": 1}
    return charts.draw(curves, across, down, 110 + _height(contest, phone), dark, closest=True)


@cache
def _losses_along(contest: Contest, axis: str) -> dict[float | str, dict[str, float]]:
    return along(_rows(), contest, axis)


def _cells(contest: Contest, axis: str, phone: bool, dark: bool) -> go.Figure:
    ground, far = ("#11161c", "#8f5312") if dark else ("#ffffff", "#f0a860")
    heads, rows = _parts(contest, axis)
    cells = go.Heatmap(
        x=heads,
        y=_names(contest, phone),
        z=[[max(0.0, math.log10(value)) for value in row] for row in rows],
        zmin=0.0,
        zmax=1.0,
        colorscale=[[0, ground], [1, far]],
        showscale=False,
        text=[list(map(_score, row)) for row in rows],
        texttemplate="%{text}",
        textfont={"size": charts.SIZE, "color": theme.ink(dark)},
        hovertemplate="%{y}, %{x}: × %{text}<extra></extra>",
        xgap=2,
        ygap=2,
    )
    slanted = 3 * ROW if axis == "task" else 0  # names of tasks take more room than numbers
    across = {"side": "top", "type": "category", "showgrid": False, "tickangle": -60 if axis == "task" else 0}
    across |= {"title": SHOW[axis].removeprefix("by ")}
    down = {"autorange": "reversed", "dtick": 1, "showgrid": False}
    figure = charts.draw([cells], across, down, 120 + slanted + _height(contest, phone), dark, closest=True)
    figure.layout.margin.t = charts.MODE_BAR + 2 * ROW + slanted
    return figure


def _parts(contest: Contest, axis: str) -> tuple[list[str], list[list[float]]]:
    """The parts along a property of the cases, and the scores of every policy there, the best first; NaN: none."""
    parts = _losses_along(contest, axis)
    heads = [f"{value:,g}" if isinstance(value, int | float) else value for value in parts]
    rows = [[values.get(policy, math.nan) for values in parts.values()] for policy in _scores(contest)["policy"]]
    return heads, rows


def _score(value: float) -> str:
    return "" if math.isnan(value) else number(value)


def _cells_in_words(contest: Contest, axis: str, phone: bool) -> str:
    """The cells in words, for screen readers."""
    heads, rows = _parts(contest, axis)
    named = zip(_names(contest, phone), rows, strict=True)
    sentences = (f"{name.replace('<br>', ' ')}: {', '.join(map(_score, row))}." for name, row in named)
    return " ".join([f"Scores {SHOW[axis]} ({', '.join(heads)}).", *sentences])


def table(contest: Contest) -> None:
    """All numbers, and the files they come from."""
    scored = _scores(contest)
    by_key = _contests()
    shown = scored.assign(own=[by_key[key].words for key in scored["promises"]])[list(COLUMNS)].rename(columns=COLUMNS)
    shown = shown.dropna(axis="columns", how="all")
    configured = {COLUMNS[name]: st.column_config.NumberColumn(format="%.3g") for name in DIGITS}
    st.dataframe(shown, hide_index=True, key="benchmark-table", column_config=configured)
    st.expander("What the columns mean", key="columns").markdown(stylesheet.asset("columns.md"))
    first, second = st.columns(2)
    name, message = f"benchmark-{contest.key}.csv", "The scores of all policies with this guarantee."
    figures.download(first, "This table (CSV)", lambda: to_csv(scored), name, message, key="benchmark-scores")
    message = "Runs, mean, interval and spread of each policy in each case."
    data = benchmark.FILE.read_bytes
    figures.download(second, "Every case (CSV)", data, "benchmark.csv", message, key="benchmark-data")


@cache
def _rules() -> str:
    return stylesheet.filled(
        "benchmark.md",
        version=benchmark.VERSION,
        arms=_ARMS,
        features=len(benchmark.TASKS) - _ARMS,
        tasks="\n".join(f"- {words.sentence(task.words)}." for task in benchmark.TASKS),
        users=", ".join(map(count, benchmark.USERS)),
        budgets=", ".join(f"{budget:g}" for budget in benchmark.BUDGETS),
        least=benchmark.LEAST,
        precision=f"{100 * benchmark.PRECISION:g}",
        most=count(benchmark.MOST),
        capped=capped_words(_rows()),
    )


def rules() -> None:
    """What was played."""
    with st.expander("The rules", key="rules", icon=":material/gavel:"):
        st.markdown(_rules())


def own_policy() -> None:
    """How a policy of one's own is scored."""
    st.markdown("**Your own policy:** this command plays the same tasks and scores it beside the others.")
    st.code("bandit-lab benchmark --policy my_policy.py", language=None)
