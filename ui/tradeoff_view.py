"""The parts of the Trade-off page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.data.spreadsheets import defused, to_csv
from bandit_core.experiments import links
from bandit_core.experiments.shared_budget import shared_budget
from bandit_core.model.bound import Bound
from bandit_core.simulation.summaries import QUANTITY_WORDS, has_price
from bandit_core.studies import tradeoff
from bandit_core.studies.goal_search import Answer, Goal, Kind, fewest_users, smallest_epsilon
from bandit_core.studies.sweep import SweepResult, swept_label
from ui import (
    charts,
    epsilon_grid,
    exports,
    figures,
    legends,
    page_fields,
    page_links,
    real_world_budgets,
    render_lock,
    shared,
    state,
    theme,
    words,
)

GRID = epsilon_grid.between(0.05, 10)
POINTS = 9
GOALS: dict[Kind, str] = {
    "price": "times the regret without privacy",
    "regret": "lost rewards in all",
    "missed": "share of the last tenth of users who miss the best arm",
}
START = {"price": "2", "regret": "1000", "missed": "0.05"}


def controls(experiment: Experiment) -> tuple[float, ...]:
    """The budgets of the picture, among them that of the sidebar; their range lives in the address."""
    low, high = (page_fields.number(name, text, GRID[0], GRID[-1]) for name, text in (("from", "0.1"), ("to", "10")))
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    low, high = left.select_slider(
        "Budgets ε: ← more private · less regret →",
        sorted({*GRID, low, high}),
        (min(low, high), max(low, high)),
        key=state.own_key("tradeoff-range"),
        help="Every private line is simulated at nine budgets in this range, and at that of the sidebar.",
        format_func=lambda value: f"{value:g}",
    )
    shown = quantity(experiment)
    with right:
        page_fields.changes(
            "tradeoff-quantity",
            shown,
            partial(
                st.segmented_control,
                "Show",
                ["regret", "price"],
                default=shown,
                required=True,
                format_func={"regret": "regret", "price": "price of privacy"}.__getitem__,
                help="Regret at the horizon, or its ratio to that of the best method without privacy (see the sidebar, "
                "View).",
            ),
            lambda chosen: experiment.with_changes(view=experiment.view.model_dump() | {"quantity": chosen}),
        )
    page_fields.keep("from", low, "0.1")
    page_fields.keep("to", high, "10")
    st.caption(" ".join(f"ε = {each:g}: {words.odds(each)}" for each in dict.fromkeys((low, high))))
    grid = {low} if low == high else set(epsilon_grid.curve(low, high, POINTS))
    here = marked(experiment)
    return tuple(sorted(grid | ({here} if here is not None and low <= here <= high else set())))


def quantity(experiment: Experiment) -> str:
    """What is drawn against the budget."""
    return "price" if experiment.view.quantity == "price" else "regret"


def marked(experiment: Experiment) -> float | None:
    """The budget of the sidebar, where it is one for everybody."""
    budget = shared_budget(experiment)
    return None if budget is None else budget.fixed


def verdict(result: SweepResult) -> str:
    """Who is best where, and from where privacy is nearly free."""
    experiment, found = result.experiment, tradeoff.traces(result)
    private = [trace for trace in found if experiment.lines[trace.line].epsilon is not None]
    alone = "In a single run, which proves little, " * (experiment.trials == 1)
    sentences = [words.sentence(alone + _ends(private[0]) if len(private) == 1 else _winners(result, private))]
    for trace in private:
        free = tradeoff.free_from(trace)
        if free is not None and set(trace.epsilons[trace.epsilons >= free]) - set(tradeoff.cheaper_at(trace)):
            assert trace.against is not None
            where = _spans(trace.epsilons[trace.epsilons >= free].tolist(), result.epsilons)
            sentences.append(
                f"At {where} the regret of {words.called(trace.label)} is at most 5 % above that of "
                f"{words.reference(trace.against)}."
            )
    below = [(trace, trace.against) for trace in private if len(tradeoff.cheaper_at(trace))]
    for trace, against in below:
        assert against is not None
        where = _spans(tradeoff.cheaper_at(trace).tolist(), result.epsilons)
        sentences.append(
            f"**{words.called(trace.label)}** clearly loses less than **{words.called(against.label)}** at {where}."
        )
    if below:
        own = experiment.view.against == "own"
        why = words.NOT_ALIKE if own else "without privacy the same method could be used as well"
        sentences.append(f"That does not mean that privacy helps: {why}.")
    return " ".join(sentences)


def _ends(trace: tradeoff.Trace) -> str:
    """What the only private line loses at the smallest and at the largest budget computed so far."""
    done = np.flatnonzero(np.isfinite(trace.mean)).tolist()
    if not done:
        return f"nothing is computed yet of **{words.called(trace.label)}**."
    ends = [
        f"{words.with_error(trace.mean[place], trace.stderr[place])} rewards at ε = {trace.epsilons[place]:g}"
        for place in dict.fromkeys((done[0], done[-1]))
    ]
    return f"**{words.called(trace.label)}** loses {' and '.join(ends)}."


def _winners(result: SweepResult, private: list[tradeoff.Trace]) -> str:
    """Which of several private lines is clearly ahead at which budgets."""
    names = {trace.line: words.called(trace.label) for trace in private}
    winners = tradeoff.frontier(result)
    clear = [winner for winner in winners if not winner.tied_with]
    done = "shown" if len(winners) == len(result.epsilons) else "computed so far"
    if not clear:
        trials = result.experiment.trials
        if trials == 1:
            return "a single run of each private line does not show which loses least."
        return f"at none of the budgets {done} is a private line clearly ahead with {trials} trials."
    rest = "; at the others the errors leave it open" * (len(clear) < len(winners))
    lines = list(dict.fromkeys(winner.line for winner in clear))
    if len(lines) == 1:
        where = "at every budget" if not rest else f"at {len(clear)} of {len(winners)} budgets"
        return f"of the private lines **{names[lines[0]]}** loses least {where} {done}{rest}."
    parts = [
        f"**{names[line]}** at {_spans([each.epsilon for each in clear if each.line == line], result.epsilons)}"
        for line in lines
    ]
    return f"of the private lines these lose least: {', '.join(parts)}{rest}."


def _spans(chosen: Sequence[float], grid: Sequence[float]) -> str:
    """Budgets of a grid, with neighbours drawn together: ``ε = 0.1 to 1 and 5.62``."""
    groups: list[list[float]] = []
    for epsilon in chosen:
        if groups and grid.index(groups[-1][-1]) + 1 == grid.index(epsilon):
            groups[-1].append(epsilon)
        else:
            groups.append([epsilon])
    told = [f"{group[0]:g}" + (f" to {group[-1]:g}" if group[1:] else "") for group in groups]
    return "ε = " + (f"{', '.join(told[:-1])} and {told[-1]}" if told[1:] else told[0])


def compared(result: SweepResult) -> str:
    """What every price is relative to."""
    pairs: dict[str, list[str]] = {}
    for trace in tradeoff.traces(result):
        if trace.against is not None:
            pairs.setdefault(words.reference(trace.against), []).append(words.called(trace.label))
    told = "; ".join(f"{', '.join(names)} against {other}" for other, names in pairs.items())
    return f"Price of privacy: {told}." if told else ""


def chart(result: SweepResult, dark: bool) -> go.Figure:
    """Regret (or price) at the horizon against the budget, log-log, with floor, bounds and marked regions."""
    experiment = result.experiment
    colours = theme.line_colours(experiment, dark)
    figure = go.Figure()
    price = quantity(experiment) == "price"
    found = tradeoff.traces(result)
    for trace in found:
        chosen = experiment.lines[trace.line]
        free = chosen.epsilon is None
        if trace.line in experiment.view.hidden or (price and free):
            continue
        colour, group = colours[trace.line], f"line-{trace.line}"
        middle = trace.price if price else trace.mean
        low, high = (trace.price_low, trace.price_high) if price else (trace.q05, trace.q95)
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "legendgroup": group}
        done = np.isfinite(low) & np.isfinite(high)  # a filled area with gaps is drawn across them
        figure.add_scatter(x=trace.epsilons[done], y=high[done], **band)
        fill = {"fill": "tonexty", "fillcolor": theme.transparent(colour, 0.15)}
        figure.add_scatter(x=trace.epsilons[done], y=low[done], **fill, **band)
        figure.add_scatter(
            x=trace.epsilons,
            y=middle,
            mode="lines" if free else "lines+markers",
            name=f"{theme.TRUST_SIGNS[chosen.entry.privacy]} {escape(trace.label)}",
            line={"color": colour, "width": 2.5, "dash": "dashdot" if free else "solid"},
            marker={"symbol": theme.MARKERS[chosen.entry.privacy], "size": 8},
            legendgroup=group,
            customdata=[[trace.line, place] for place in range(len(trace.epsilons))],
            hovertemplate="ε = %{x:.3~g}: %{y:,.4~g}",
        )
    shown = [trace for trace in found if not (price and experiment.lines[trace.line].epsilon is None)]
    named = [trace.line for trace in shown if trace.line not in experiment.view.hidden]
    kinds = 0
    if experiment.view.bounds and not price:
        kinds = _add_bounds(figure, result, colours)
    legends.collect_lines(figure, experiment, named, colours, legends.MOST - kinds)
    _mark_regions(figure, result, found)
    here = marked(experiment)
    if here in result.epsilons:
        figure.add_vline(x=here, line={"dash": "dash", "color": "#888888", "width": 1.5})
    charts.style(figure, 560, dark)
    figure.update_layout(hovermode="closest")  # with a unified hover, Plotly reports no click on a point
    figure.update_xaxes(
        type="log",
        title="budget ε  (← more private · less regret →)",
        **charts.ticks(True, *np.log10([result.epsilons[0], result.epsilons[-1]])),
    )
    if price:
        least, most = _price_range(shown)
        figure.add_hline(y=1, line={"color": "#8a949e", "width": 1})
    else:
        lowest = {each.line: np.concatenate([each.mean, np.maximum(each.q05, each.mean / 3)]) for each in shown}
        least, most = charts.vertical_range(lowest, log=True)
    figure.update_yaxes(
        type="log",
        range=(least, most),
        title=QUANTITY_WORDS["price"] if price else f"regret after {words.count(experiment.horizon)} users",
        **charts.ticks(True, least, most),
    )
    return figure


def _price_range(found: list[tradeoff.Trace]) -> tuple[float, float]:
    """Logarithms between which all prices and 1 lie, with some room."""
    prices = np.concatenate([np.ones(1), *(trace.price for trace in found)])
    prices = prices[np.isfinite(prices) & (prices > 0)]
    return float(np.log10(prices.min() / 1.3)), float(np.log10(prices.max() * 1.3))


def _add_bounds(figure: go.Figure, result: SweepResult, colours: list[str]) -> int:
    """Every bound once, in grey where it holds for several lines; slopes, which speak of no one horizon, on request.

    Each kind has one entry in the legend; returns the number of entries.
    """
    experiment = result.experiment
    drawn: dict[tuple[str, bytes], tuple[Bound, np.ndarray, list[int]]] = {}
    for number, line in enumerate(experiment.lines):
        if line.epsilon is None or number in experiment.view.hidden:
            continue
        for bound, values in tradeoff.bounds_against_epsilon(experiment, number, result.epsilons):
            drawn.setdefault((bound.label, values.tobytes()), (bound, values, []))[2].append(number)
    shown = []
    for bound, values, lines in drawn.values():
        figure.add_scatter(
            x=result.epsilons,
            y=values,
            mode="lines",
            name=f"{bound.sign} {bound.label}",
            line={
                "color": "#8a949e" if len(lines) > 1 else colours[lines[0]],
                "width": 1.3,
                "dash": theme.dash(bound),
            },
            legendgroup="bounds" if len(lines) > 1 else f"line-{lines[0]}",
            hovertemplate="%{y:,.3~g}",
        )
        shown.append((bound, figure.data[-1]))
    return legends.collect_bounds(figure, experiment, shown)


def _mark_regions(figure: go.Figure, result: SweepResult, found: list[tradeoff.Trace]) -> None:
    private = [trace for trace in found if result.experiment.lines[trace.line].epsilon is not None]
    free = [value for trace in private if (value := tradeoff.free_from(trace)) is not None]
    noisy = [value for trace in private if (value := tradeoff.noise_until(trace, result.experiment)) is not None]
    low, high = result.epsilons[0], result.epsilons[-1]
    if len(free) == len(private) and max(free) < high:
        _region(figure, "privacy nearly free", max(free), high, "right")
    if len(noisy) == len(private) and min(noisy) > low:
        _region(figure, "hardly better than random", low, min(noisy), "left")
    central = any(result.experiment.lines[trace.line].entry.privacy == "central" for trace in private)
    change = tradeoff.regime_change(result.experiment)
    if central and change is not None and result.epsilons[0] < change < result.epsilons[-1]:
        figure.add_vline(x=change, line={"dash": "dot", "color": theme.TRUST_COLOURS["central"], "width": 1})


def _region(figure: go.Figure, text: str, low: float, high: float, side: str) -> None:
    """Shade the budgets from ``low`` to ``high``; the words begin at one ``side``, as they may be wider than that.

    Plotly places annotations of a log axis by the logarithm, shapes by the value.
    """
    figure.add_vrect(x0=low, x1=high, fillcolor="#888888", opacity=0.10, line_width=0, layer="below")
    at = math.log10(low if side == "left" else high)
    figure.add_annotation(x=at, yref="paper", y=0.98, xanchor=side, yanchor="top", text=text, showarrow=False)


def legend(result: SweepResult, opens: bool = True) -> str:
    """What shading and dashes mean, and whether a click ``opens`` a curve."""
    trials, price = result.experiment.trials, quantity(result.experiment) == "price"
    shaded = "A single run, so no band"
    if trials > 1:
        shaded = f"Shaded: {'95% interval of the price over' if price else 'middle 90 % of'} {trials} runs"
    text = f"{shaded}. {'Click a point to open its curve. ' * opens}{compared(result)}"
    here = marked(result.experiment)
    if here in result.epsilons:
        text += f" Dashed: ε = {here:g}, the budget of the sidebar."
    change = tradeoff.regime_change(result.experiment)
    if change is not None and any(line.entry.privacy == "central" for line in result.experiment.lines):
        text += (
            f" Dotted blue: ε = {change:.3g}; from there on the best policies of a curator pay nothing for privacy in "
            "the long run on these arms."
        )
    view = result.experiment.view
    if view.bounds and not price:
        text += " Bounds at this number of users: thin solid ↓ at least, dashed ↑ at most. "
        text += (
            "Dotted slopes and long-dashed shapes are no limits at one number of users."
            if view.shapes
            else "Slopes and shapes, which are no limits at one number of users, are drawn if the sidebar's View asks "
            "for them."
        )
    return " ".join(filter(None, (text, words.measures(result.experiment))))


def describe(result: SweepResult) -> str:
    """The chart as text, for screen readers."""
    parts = ["Regret at the horizon against the privacy budget."]
    for trace in tradeoff.traces(result):
        ends = [words.with_error(trace.mean[place], trace.stderr[place]) for place in (0, -1)]
        parts.append(f"{trace.label}: {ends[0]} at ε = {trace.epsilons[0]:g}, {ends[1]} at ε = {trace.epsilons[-1]:g}.")
    return " ".join(parts)


def opened_point(result: SweepResult, selection: Any) -> None:
    """The regret curve behind the selected point, else behind the budget of the sidebar; and the way to Explore."""
    points = [point for point in selection.selection.points if "customdata" in point] if selection else []
    here = marked(result.experiment)
    if points:
        found = points[0]["customdata"]
        place = found[1] if isinstance(found, list) else found["1"]
    elif here in result.epsilons:
        place = list(result.epsilons).index(here)
    else:
        return
    chosen = result.results[int(place)]
    st.subheader(f"The curves at ε = {result.epsilons[int(place)]:g}")
    dark = theme.is_dark()
    picture = shared.picture(
        "opened", chosen, dark, lambda: charts.regret_chart(chosen, dark, height=380), lambda _: charts.describe(chosen)
    )
    figures.show(picture, "opened")
    st.page_link(
        page_links.to("explore"),
        label="Open in Explore",
        icon=":material/arrow_forward:",
        query_params=links.write(chosen.experiment),
    )


def question(experiment: Experiment) -> None:
    """The inverse: the smallest budget that meets a goal, for every private line side by side."""
    st.subheader("I can afford …")
    kinds = list(GOALS)
    asked = page_fields.choice("goal", "price", kinds)
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    kind = right.selectbox(
        "of what",
        kinds,
        kinds.index(asked),
        format_func=GOALS.__getitem__,
        key=state.own_key("goal-kind"),
        help="What must not exceed the number on the left, after the number of users in the sidebar.",
    )
    limit = left.number_input(
        "at most",
        min_value=0.0,
        value=page_fields.number("limit", START[kind], 0, 1e18) if kind == asked else float(START[kind]),
        key=state.own_key(f"goal-limit-{kind}"),
        help="The largest amount you accept.",
        format="%g",
    )
    state.keep_page_field("goal", kind, "price")
    state.keep_page_field("limit", f"{limit:g}", START[kind])
    how = "Tries one ε after another by simulation; what was computed before is used again."
    if not page_fields.toggle("Search the smallest ε", "search", "goal-search", how):
        return
    goal = Goal(kind, limit)
    private = [number for number, line in enumerate(experiment.lines) if line.epsilon is not None]
    if kind == "price" and not all(has_price(experiment, number) for number in private):
        st.info("A price needs a policy without privacy that can play these arms. Add one in the sidebar.")
        return
    place = st.empty()
    rows, users = [], []
    try:
        for number in private:
            name = swept_label(experiment.lines[number])

            def trying(at: float, name: str = name, what: str = "ε =") -> None:
                place.progress(0.5, f"{name}: trying {what} {at:.3g}")

            with render_lock.computing():
                rows.append((number, name, smallest_epsilon(experiment, number, goal, on_point=trying)))
                if kind == "missed":
                    told = partial(trying, what="users:")
                    users.append((number, name, fewest_users(experiment, number, goal, on_point=told)))
    except InputError as error:
        place.error(words.issues(error.issues), icon=":material/speed:")
        return
    place.empty()
    answers(experiment, rows, limit, what={"price": "price", "regret": "regret", "missed": "share missed"}[kind])
    if users:
        _fewest(experiment, users)


def _fewest(experiment: Experiment, rows: list[tuple[int, str, Answer]]) -> None:
    """How many users it takes at the budget of the sidebar."""
    lines = []
    for number, name, answer in rows:
        low, high = (words.count(int(at)) if at else more for at, more in ((answer.low, "less"), (answer.high, "more")))
        told = f"**{words.count(int(answer.best))} users** ({low} to {high})" if answer.best else "not reached"
        lines.append(f"{words.plain(name)} at {words.budget(experiment.lines[number].epsilon)}: {told}")
    st.markdown("With the budgets of the sidebar, the same share needs at least:  \n" + "  \n".join(lines))


def answer_words(answer: Answer) -> str:
    """``ε = 1.54 (1.30 to 1.68)``, or why there is none."""
    if answer.best is None:
        return f"not reached, even at ε = {answer.points[-1].at:.3g}"
    low = "less" if answer.low is None else f"{answer.low:.3g}"
    high = "more" if answer.high is None else f"{answer.high:.3g}"
    return f"ε = **{answer.best:.3g}** ({low} to {high})"


def answers(
    experiment: Experiment, rows: list[tuple[int, str, Answer]], limit: float, scale: float = 1.0, what: str = ""
) -> None:
    """The answer of every line, and the whole searched curve (values times ``scale``, named ``what``)."""
    colours = theme.line_colours(experiment, theme.is_dark())
    st.markdown(
        "  \n".join(
            f"{theme.TRUST_SIGNS[experiment.lines[number].entry.privacy]} {words.plain(name)}: {answer_words(answer)}"
            for number, name, answer in rows
        )
    )
    st.caption(
        "In brackets: every ε that the simulations do not rule out (95% intervals); more trials narrow it. "
        "The budgets of different trust models are different promises: the same number is not the same protection."
    )
    if all(len(answer.points) == 1 for _, _, answer in rows):
        return
    heights = [scale * point.value for _, _, answer in rows for point in answer.points if point.value > 0]
    figure = go.Figure()
    for number, name, answer in rows:
        figure.add_scatter(
            x=[point.at for point in answer.points],
            y=scale * answer.measured[0],
            error_y=charts.error_bars(*scale * answer.measured),
            mode="lines+markers",
            name=escape(name),
            line={"color": colours[number]},
            marker={"symbol": theme.MARKERS[experiment.lines[number].entry.privacy]},
            hovertemplate="ε = %{x:.3~g}: %{y:,.4~g}",
        )
    charts.style(figure, 330, theme.is_dark())
    if limit > 0:
        figure.add_hline(y=limit, line={"dash": "dash", "color": "#8a949e", "width": 1.3})
    tried = np.log10([point.at for _, _, answer in rows for point in answer.points])
    figure.update_xaxes(type="log", title="searched ε", **charts.ticks(True, tried.min(), tried.max()))
    figure.update_yaxes(
        type="log",
        **charts.ticks(True, *np.log10([min(heights, default=1.0), max(heights, default=1.0)])),
        title=f"{what} (95% intervals)",
    )
    told = "; ".join(
        f"{name}: " + ", ".join(f"{scale * point.value:.3g} at ε = {point.at:.3g}" for point in answer.points)
        for _, name, answer in rows
    )
    st.plotly_chart(figure, key="searched", config=charts.CONFIG, alt=f"Every budget that was searched. {told}.")
    st.caption("Every budget that was tried. The dashed line is your limit.")


def _rows(result: SweepResult) -> pd.DataFrame:
    """Regret and price of every private line at every budget."""
    rows = [
        {
            "line": defused(trace.label),
            "ε": epsilon,
            "regret": words.with_error(trace.mean[place], trace.stderr[place]),
            "price": words.with_error(trace.price[place], trace.price_stderr[place]),
            "price against": trace.against.label if trace.against is not None else "–",
        }
        for trace in tradeoff.traces(result)
        if result.experiment.lines[trace.line].epsilon is not None
        for place, epsilon in enumerate(trace.epsilons)
    ]
    return pd.DataFrame(rows)


def tables(result: SweepResult) -> None:
    """Numbers and downloads."""
    with st.expander("Numbers and download"):
        rows = shared.rows("sweep", result.experiment, result.content, lambda: _rows(result))
        st.dataframe(rows, hide_index=True, width="stretch", alt="Regret and price at every budget")
        st.download_button(
            "Data (CSV)",
            data=lambda: to_csv(result.curves),
            file_name="sweep.csv",
            mime="text/csv",
            on_click="ignore",
            help="Every line, budget and checkpoint.",
        )
        st.download_button(
            "How it was made",
            data=lambda: json.dumps(exports.made_of_sweep(result), indent=2),
            file_name="sweep-metadata.json",
            mime="application/json",
            on_click="ignore",
            help="Spec, budgets, seed, versions and sampler.",
        )
        st.code(exports.sweep_command(result.epsilons), language="bash")


def explanation(experiment: Experiment) -> None:
    """How the page is computed, and which budgets others use."""
    with st.expander("Which ε do others use?"):
        real_world_budgets.table("one reward of one user")
    with st.expander("How is this computed?"):
        st.markdown(
            "Every private line is simulated at each budget with the arms, users, trials and seed of the sidebar; "
            f"thresholds are chosen automatically. {words.PRICE} The search halves its interval again and again on a "
            "fixed grid of budgets, eight for each doubling, so the same question always gets the same answer. Shaded "
            "grey, where all private lines are so: *privacy nearly free*, a price whose 95% interval lies below "
            "1.05; *hardly better than random*, at least 90 % of the regret of choosing at random "
            f"({words.number(tradeoff.blind_regret(experiment))} here)."
        )
