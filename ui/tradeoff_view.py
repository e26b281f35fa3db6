"""The parts of the Trade-off page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.data.spreadsheets import defused, to_csv
from bandit_core.experiments.presets import shared_budget
from bandit_core.simulation.results import QUANTITY_WORDS, has_price
from bandit_core.studies import tradeoff
from bandit_core.studies.goal_search import Answer, Goal, Kind, fewest_users, smallest_epsilon
from bandit_core.studies.sweep import SweepResult, swept_label
from ui import (
    charts,
    epsilon_grid,
    export_panel,
    exports,
    figures,
    gallery,
    lab_parts,
    page_fields,
    page_lock,
    real_world_budgets,
    shared,
    state,
    study_view,
    theme,
    who_wins_view,
    words,
)
from ui.page_fields import Field

GRID = epsilon_grid.between(0.05, 10)
POINTS = 9
GOALS: dict[Kind, str] = {
    "price": "× the regret without privacy",
    "regret": "lost rewards in total",
    "missed": "as the share of the last tenth of users who miss the best option",
}
_WITHOUT = " the regret without privacy"
START = {"price": 2.0, "regret": 1000.0, "missed": 0.05}
_ENDS = tuple(Field(name, "", end, "", "number", (GRID[0], GRID[-1])) for name, end in (("from", 0.1), ("to", 10.0)))
_SHOWN = Field(
    "tradeoff-quantity", "Show", "regret", "Regret at the horizon, or its ratio to that of the best method without "
    "privacy (see View in the sidebar).", "buttons", {"regret": "regret", "price": "price of privacy"},
)  # fmt: skip
_BOUNDS = Field(
    "theory", "Bounds", False, "What every method loses at least (↓), and what a method loses at most (↑).", "switch",
)  # fmt: skip
_GOAL = Field(
    "goal", "Of what", "price", "What must not exceed the number on the left, after the number of users in the "
    "sidebar.", "box", GOALS, key="goal-kind",
)  # fmt: skip
_LIMIT = Field("limit", "I accept up to", 2.0, "The largest amount you accept.", "number", (0.0, 1e18))
_SEARCH = Field(
    "search", "Find the smallest ε", False, "Simulates one ε after another; earlier results are used again.", "switch",
    key="goal-search",
)  # fmt: skip


def controls(experiment: Experiment) -> tuple[Experiment, tuple[float, ...]]:
    """The experiment as it is drawn, and the budgets of the picture; range and bounds live in the address."""
    low, high = map(page_fields.value, _ENDS)
    left, middle, right = st.columns([6, 4, 2], vertical_alignment="bottom")
    low, high = left.select_slider(
        "Range of ε",
        sorted({*GRID, low, high}),
        (min(low, high), max(low, high)),
        key=state.own_key("tradeoff-range"),
        help="Every private method is simulated at nine values of ε in this range, and at that of the sidebar.",
        format_func=lambda value: f"{value:g}",
    )
    shown = quantity(experiment)
    with middle:
        page_fields.change(
            _SHOWN,
            shown,
            lambda chosen: experiment.with_changes(view=experiment.view.model_dump() | {"quantity": chosen}),
        )
    bounds = shown == "regret" and page_fields.ask(_BOUNDS, right)
    for field, end in zip(_ENDS, (low, high), strict=True):
        page_fields.keep(field, end)
    grid = {low} if low == high else set(epsilon_grid.curve(low, high, POINTS))
    here = marked(experiment)
    drawn = experiment.model_copy(update={"view": experiment.view.model_copy(update={"bounds": bounds})})
    return drawn, tuple(sorted(grid | ({here} if here is not None and low <= here <= high else set())))


def quantity(experiment: Experiment) -> str:
    """What is drawn against the budget."""
    return "price" if experiment.view.quantity == "price" else "regret"


def marked(experiment: Experiment) -> float | None:
    """The budget of the sidebar, where it is one for everyone."""
    budget = shared_budget(experiment)
    return None if budget is None else budget.fixed


def _private(result: SweepResult) -> dict[int, tradeoff.Trace]:
    """The curves of the private lines by the number of their line."""
    lines = result.experiment.lines
    return {trace.line: trace for trace in tradeoff.traces(result) if lines[trace.line].epsilon is not None}


def verdict(result: SweepResult) -> str:
    """Which private line is best where, and what that costs at both ends of the range."""
    private, winners = _private(result), tradeoff.frontier(result)
    if not winners:
        return "Nothing is computed yet."
    trials = result.experiment.trials
    alone = "In a single run, which proves little, " * (trials == 1)
    ends = dict.fromkeys((winners[0], winners[-1]))
    costs = [_cost(private[best.line], best.epsilon) for best in ends]
    message = " and ".join([costs[0], *(cost.replace(_WITHOUT, "", _WITHOUT in costs[0]) for cost in costs[1:])])
    if any(best.epsilon in tradeoff.cheaper_at(private[best.line]) for best in ends):
        message += ". A ratio below 1 does not mean that privacy helps"
    clear = [best for best in winners if not best.tied_with]
    names = {line: f"**{words.called(private[line].label)}**" for line in dict.fromkeys(best.line for best in winners)}
    if len(private) == 1:
        return words.sentence(f"{alone}the regret of {names[winners[0].line]} is {message}.")
    shown = "shown" if len(winners) == len(result.epsilons) else "computed so far"
    lines = list(dict.fromkeys(best.line for best in clear))
    rest = "; elsewhere the best are statistically tied" * (len(clear) < len(winners))
    if len(lines) == 1 and not rest:
        return f"{names[lines[0]]} is the best private method at every ε {shown}: {message}."
    if not clear:
        tied = " and ".join(dict.fromkeys(names.values()))
        first = f"{alone}no private method is clearly the best at any ε {shown} (lowest: {tied})."
    elif len(lines) == 1:
        where = f"at {len(clear)} of the {len(winners)} values of ε {shown}"
        first = f"{names[lines[0]]} is the best private method {where}{rest}."
    else:
        parts = [
            f"{names[line]} at {_spans([each.epsilon for each in clear if each.line == line], result.epsilons)}"
            for line in lines
        ]
        first = f"These private methods have the lowest regret {shown}: {', '.join(parts)}{rest}."
    return f"{words.sentence(first)} The lowest is {message}."


def _cost(trace: tradeoff.Trace, epsilon: float) -> str:
    """The regret at a budget beside that without privacy."""
    place, at = trace.epsilons.tolist().index(epsilon), f"at ε = {epsilon:g}"
    if not math.isfinite(trace.price.value[place]):
        return f"{words.number(trace.mean[place], 2)} lost rewards {at}"
    if trace.price.low[place] <= 1 <= trace.price.high[place]:
        return f"statistically tied with no privacy {at}"
    return f"**{words.number(trace.price.value[place], 2)} times**{_WITHOUT} {at}"


def notes(result: SweepResult) -> str:
    """From where privacy is nearly free, and why it may seem to help."""
    sentences, why = [], ""
    for trace in _private(result).values():
        free, below = tradeoff.free_from(trace), tradeoff.cheaper_at(trace).tolist()
        if trace.against is None:
            continue
        name, other = words.called(trace.label), words.reference(trace.against)
        if free is not None and set(trace.epsilons[trace.epsilons >= free]) - set(below):
            where = _spans(trace.epsilons[trace.epsilons >= free].tolist(), result.epsilons)
            sentences.append(f"At {where} the regret of {name} is at most 5% above that of {other}.")
        if below:
            sentences.append(f"At {_spans(below, result.epsilons)} **{name}** has clearly less regret than {other}.")
            own = result.experiment.view.against == "own"
            reason = words.NOT_ALIKE if own else "without privacy the same method could be used as well"
            why = f"That does not mean that privacy helps: {reason}."
    return " ".join(filter(None, (*sentences, why)))


def _spans(chosen: Sequence[float], grid: Sequence[float]) -> str:
    """Budgets of a grid, neighbours as one range: ``ε = 0.1 to 1 and 5.62``."""
    groups: list[list[float]] = []
    for epsilon in chosen:
        if groups and grid.index(groups[-1][-1]) + 1 == grid.index(epsilon):
            groups[-1].append(epsilon)
        else:
            groups.append([epsilon])
    message = [f"{group[0]:g}" + (f" to {group[-1]:g}" if group[1:] else "") for group in groups]
    return "ε = " + (f"{', '.join(message[:-1])} and {message[-1]}" if message[1:] else message[0])


def compared(result: SweepResult) -> str:
    """What prices are relative to, where that is not the only curve without privacy."""
    pairs: dict[str, list[str]] = {}
    for trace in tradeoff.traces(result):
        if trace.against is not None:
            pairs.setdefault(words.reference(trace.against), []).append(words.called(trace.label))
    free = [line for line in result.experiment.lines if line.epsilon is None]
    if len(pairs) == 1:
        return "" if len(free) == 1 else f"Without privacy: {next(iter(pairs))}."
    message = "; ".join(f"{', '.join(names)} against {other}" for other, names in pairs.items())
    return f"Price of privacy: {message}." if message else ""


def chart(result: SweepResult, dark: bool) -> go.Figure:
    """Regret (or price) at the horizon against the budget, log-log, with floor, bounds and marked regions."""
    experiment, view, price = result.experiment, result.experiment.view, quantity(result.experiment) == "price"
    colours, traced = theme.line_colours(experiment, dark), tradeoff.traces(result)
    private = {trace.line for trace in traced if experiment.lines[trace.line].epsilon is not None}
    shown = [trace for trace in traced if trace.line in private or not price]
    drawn = [trace for trace in shown if trace.line not in view.hidden]
    named_in, here = names(result), marked(experiment)
    curves = [_curve(trace, experiment, colours[trace.line], price, named_in[trace.line], here) for trace in drawn]
    bounds = []
    focus = next((trace.line for trace in drawn if trace.line in private), None)
    if view.bounds and not price and focus is not None:
        found = tradeoff.corridor_against_epsilon(experiment, focus, result.epsilons)
        bounds = charts.corridor_curves(found, result.epsilons, colours[focus], log=True)
    marks = [charts.Mark(here)] if here in result.epsilons else []
    if price:
        least, most = _price_range(shown)
        marks.append(charts.Mark(y=1, colour=theme.GREY, dash=None))
    else:
        lowest = {each.line: np.concatenate([each.mean, np.maximum(each.q05, each.mean / 3)]) for each in shown}
        least, most = charts.vertical_range(lowest, log=True)
        ends = (each for curve in curves for each in (curve.y, curve.low, curve.high) if each is not None)
        drawn_at = np.concatenate([np.asarray(each, float) for each in ends])
        most = min(most, np.log10(2 * drawn_at[drawn_at < 10**most].max(initial=10**least)))
        least, most = charts.with_edges(least, most, bounds)
    title = QUANTITY_WORDS["price"] if price else f"regret after {words.count(experiment.horizon)} users"
    named = charts.collect_lines(curves, experiment, [trace.line for trace in drawn], charts.MOST)
    across = charts.log_axis("privacy budget ε  (← more private · less regret →)", *np.log10(result.epsilons)[[0, -1]])
    up = charts.log_axis(title, least, most, range=(least, most))
    # With a unified hover, Plotly reports no click on a point.
    figure = charts.draw([*bounds, *named], across, up, lab_parts.HEIGHT, dark, marks, closest=True)
    charts.name_corridor(figure, bounds, dark)
    _mark_regions(figure, result, traced)
    return figure


def names(result: SweepResult) -> dict[int, str]:
    """What each line is called in the picture: the lowest one of its level at every ε by that, too, unless someone has
    given it a label; all others by their labels.
    """
    experiment, called = result.experiment, {}
    levels, traces = [line.entry.privacy for line in experiment.lines], tradeoff.traces(result)
    for trace in traces:
        level = "none" if experiment.lines[trace.line].label else levels[trace.line]
        peers = [
            each for each in traces
            if levels[each.line] == level and each.line not in experiment.view.hidden
        ]  # fmt: skip
        lowest = all((trace.mean <= each.mean).all() for each in peers)
        named = f"best {level} method: {trace.label}" if len(peers) > 1 else f"{level} method"
        called[trace.line] = named if lowest and level != "none" else trace.label
    return called


def _curve(
    trace: tradeoff.Trace, experiment: Experiment, colour: str, price: bool, name: str, here: float | None
) -> charts.Curve:
    """What a line loses at every budget, or how many times as much as without privacy; a large dot at ``here``."""
    line, y, low, high = experiment.lines[trace.line], trace.mean, trace.q05, trace.q95
    if price:
        y, _, low, high = trace.price
    free, trust = line.epsilon is None, line.entry.privacy
    more: dict[str, Any] = {"customdata": [[trace.line, place] for place in range(len(trace.epsilons))]}
    marker = {"symbol": theme.MARKERS[trust], "size": np.where(trace.epsilons == here, 15, 8), "color": colour}
    more |= {"mode": "lines"} if free else {"marker": marker, "unselected": {"marker": {"opacity": 0.7}}}
    hover = f"{escape(trace.label)}, ε = %{{x:.3~g}}: %{{y:,.4~g}}<extra></extra>"
    look = {"dash": "dashdot" if free else None, "low": low, "high": high, "hover": hover}
    shown = f"{theme.TRUST_SIGNS[trust]} {escape(name)}"
    return charts.line_curve(experiment, trace.line, trace.epsilons, y, colour, name=shown, more=more, **look)


def _price_range(found: list[tradeoff.Trace]) -> tuple[float, float]:
    """Logarithms between which all prices and 1 lie, with some room."""
    prices = np.concatenate([np.ones(1), *(trace.price.value for trace in found)])
    prices = prices[np.isfinite(prices) & (prices > 0)]
    return float(np.log10(prices.min() / 1.3)), float(np.log10(prices.max() * 1.3))


def _mark_regions(figure: go.Figure, result: SweepResult, found: list[tradeoff.Trace]) -> None:
    private = [trace for trace in found if result.experiment.lines[trace.line].epsilon is not None]
    free = [value for trace in private if (value := tradeoff.free_from(trace)) is not None]
    noisy = [value for trace in private if (value := tradeoff.noise_until(trace, result.experiment)) is not None]
    low, high = result.epsilons[0], result.epsilons[-1]
    if len(free) == len(private) and max(free) < high:
        _region(figure, "privacy<br>nearly free", max(free), high, "right")
    if len(noisy) == len(private) and min(noisy) > low:
        _region(figure, "hardly better<br>than random", low, min(noisy), "left")
    change = tradeoff.regime_change(result.experiment)
    if _has_central(result.experiment) and change is not None and result.epsilons[0] < change < result.epsilons[-1]:
        figure.add_vline(x=change, line={"dash": "dot", "color": theme.TRUST_COLOURS["central"], "width": 1})


def _has_central(experiment: Experiment) -> bool:
    return any(line.entry.privacy == "central" for line in experiment.lines)


def _region(figure: go.Figure, text: str, low: float, high: float, side: str) -> None:
    """Shade the budgets from ``low`` to ``high``; the words begin at one ``side``, as they may be wider than that.

    Plotly places annotations of a log axis by the logarithm, shapes by the value.
    """
    figure.add_vrect(x0=low, x1=high, fillcolor="#888888", opacity=0.10, line_width=0, layer="below")
    at = math.log10(low if side == "left" else high)
    where = {"x": at, "yref": "paper", "y": 0.98, "xanchor": side, "yanchor": "top", "align": side}
    figure.add_annotation(**where, text=text, showarrow=False)


def legend(result: SweepResult) -> str:
    """What is drawn besides the curves."""
    experiment = result.experiment
    trials, price = experiment.trials, quantity(experiment) == "price"
    message = ["A single run, so no band."]
    if trials > 1:
        message = [f"Shaded: {'95% interval of the price over' if price else 'middle 90% of'} {trials:,} runs."]
    here, change = marked(experiment), tradeoff.regime_change(experiment)
    if here in result.epsilons:
        message.append(f"Large dots: ε = {here:g}.")
    if _has_central(experiment) and change is not None and result.epsilons[0] < change < result.epsilons[-1]:
        message.append(
            f"Vertical dots: ε = {change:.2g}; from there on the best policies of a curator pay nothing for privacy in "
            "the long run on these arms."
        )
    message.append("Click a point: a link below opens its curves.")
    return " ".join(filter(None, (*message, compared(result), words.measures(experiment))))


def describe(result: SweepResult) -> str:
    """The chart as text, for screen readers."""
    parts = ["Regret at the horizon against the privacy budget."]
    for trace in tradeoff.traces(result):
        ends = [words.with_error(trace.mean[place], trace.stderr[place]) for place in (0, -1)]
        parts.append(f"{trace.label}: {ends[0]} at ε = {trace.epsilons[0]:g}, {ends[1]} at ε = {trace.epsilons[-1]:g}.")
    return " ".join(parts)


def opened_point(result: SweepResult, selection: Any) -> None:
    """The way to the regret curves behind the selected point."""
    points = [point for point in selection.selection.points if "customdata" in point] if selection else []
    if points:
        found = points[0]["customdata"]
        place = int(found[1] if isinstance(found, list) else found["1"])
        label = f"Open the curves at ε = {result.epsilons[place]:g} in Explore"
        gallery.link_to_explore(label, result.results[place].experiment)


def question(experiment: Experiment) -> None:
    """The inverse: the smallest budget that meets a goal, for every private line side by side."""
    left, middle, right = st.columns([1, 2, 1], vertical_alignment="bottom")
    before, kind = page_fields.value(_GOAL), page_fields.ask(_GOAL, middle, label_visibility="collapsed")
    field = replace(_LIMIT, default=START[kind], key=f"goal-limit-{kind}")
    if kind != before:
        page_fields.keep(field, field.default)
    limit = page_fields.ask(field, left)
    if not page_fields.ask(_SEARCH, right):
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
                place.progress(0.5, f"{name}: trying {what} {words.number(at)}")

            with page_lock.computing():
                rows.append((number, name, smallest_epsilon(experiment, number, goal, on_point=trying)))
                if kind == "missed":
                    message = partial(trying, what="users:")
                    users.append((number, name, fewest_users(experiment, number, goal, on_point=message)))
    except InputError as error:
        place.error(words.issues(error.issues), icon=":material/speed:")
        return
    place.empty()
    answers(experiment, rows)
    if users:
        _fewest(experiment, users)


def _fewest(experiment: Experiment, rows: list[tuple[int, str, Answer]]) -> None:
    """How many users it takes at the budget of the sidebar."""
    lines = []
    for number, name, answer in rows:
        low, high = (words.count(int(at)) if at else more for at, more in ((answer.low, "less"), (answer.high, "more")))
        message = f"**{words.count(int(answer.best))} users** ({low} to {high})" if answer.best else "not reached"
        lines.append(f"{words.plain(name)} at {words.budget(experiment.lines[number].epsilon)}: {message}")
    st.markdown("At the budgets of the sidebar, the same share needs at least:  \n" + "  \n".join(lines))


def answer_words(answer: Answer) -> str:
    """``ε = 1.54 (1.30 to 1.68)``, or why there is none."""
    if answer.best is None:
        return f"not reached, even at ε = {max(answer.points):.3g}"
    low = "less" if answer.low is None else f"{answer.low:.3g}"
    high = "more" if answer.high is None else f"{answer.high:.3g}"
    return f"ε = **{answer.best:.3g}** ({low} to {high})"


def answers(experiment: Experiment, rows: list[tuple[int, str, Answer]]) -> None:
    """The answer of every line."""
    st.markdown(
        "  \n".join(
            f"{theme.TRUST_SIGNS[experiment.lines[number].entry.privacy]} {words.plain(name)}: {answer_words(answer)}"
            for number, name, answer in rows
        )
    )
    message = "In brackets: every ε that the simulations do not rule out (95% intervals). More trials narrow the range."
    if len({experiment.lines[number].entry.privacy for number, *_ in rows}) > 1:
        message += " ε of different trust models are different guarantees: the same number is not the same protection."
    st.caption(message)


def _rows(result: SweepResult) -> pd.DataFrame:
    """Regret and price of every private line at every budget."""
    rows = [
        {
            "line": defused(trace.label),
            "ε": epsilon,
            "regret": words.with_error(trace.mean[place], trace.stderr[place]),
            "price": words.with_error(trace.price.value[place], trace.price.stderr[place]),
            "price against": trace.against.label if trace.against is not None else "–",
        }
        for trace in tradeoff.traces(result)
        if result.experiment.lines[trace.line].epsilon is not None
        for place, epsilon in enumerate(trace.epsilons)
    ]
    return pd.DataFrame(rows)


def more(result: SweepResult, message: str) -> None:
    """What some visitors need: the map, every number, files, a study's table, and budgets that others use."""
    best = partial(who_wins_view.draw, result)
    lab_parts.fold("Who wins where?", "who-wins", best, icon=":material/map:")
    tables(result)
    experiment = result.experiment
    drawn = exports.telling(lambda: chart(result, False), lambda: result.metadata)
    lab_parts.fold_for_print(drawn, f"{exports.file_name(experiment)}-tradeoff")
    with st.expander("Download as an offline lesson", key="tradeoff-lesson"):
        export_panel.draw(experiment, "tradeoff", result.epsilons, export_panel.as_html(message))
    lab_parts.fold("Read the table of a study", "study", study_view.draw, icon=":material/table_chart:")
    with st.expander("Which ε do others use?", key="tradeoff-others"):
        real_world_budgets.table("one reward of one user")


def tables(result: SweepResult) -> None:
    """Numbers and downloads."""
    with st.expander("Numbers and download", key="tradeoff-numbers"):
        rows = shared.table("sweep", result.experiment, result.content, lambda: _rows(result))
        st.dataframe(rows, hide_index=True, width="stretch", alt="Regret and price at every budget")
        message, made = "Every policy, ε and checkpoint.", lambda: json.dumps(result.metadata, indent=2)
        figures.download(st, "Data (CSV)", lambda: to_csv(result.curves), "sweep.csv", message, "content")
        message = "Settings, values of ε, seed and versions."
        figures.download(st, "How it was made", made, "sweep-metadata.json", message, "content")
        st.code(exports.sweep_command(result.epsilons), language="bash")


def explanation(experiment: Experiment, message: str) -> None:
    """What else the picture shows, and how it is computed."""
    here = marked(experiment)
    odds = "" if here is None else f"At ε = {here:g}: {words.odds(here)}"
    st.markdown(
        f"{message}\n\n{odds}\n\nEvery private method is simulated at each ε with the arms, users, trials and seed "
        f"of the sidebar; thresholds are chosen automatically. {words.PRICE} The search halves its interval on a "
        "fixed grid, eight values of ε for each doubling, so the same question always gets the same answer. "
        "Shaded grey, where it holds for all private methods: *privacy nearly free*, a 95% interval of the price "
        "below 1.05; *hardly better than random*, at least 90% of the regret of choosing at random "
        f"({words.number(tradeoff.blind_regret(experiment))} here)."
    )
