"""What a lesson holds, as one JSON document: for every position curves, bounds, numbers, sentence and words.

Whatever a reader sees as a number is written here, by the functions that also write it on the pages; the script in the
file only chooses and draws. Curves are kept to four digits.
"""

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments import links
from bandit_core.experiments.corridor import ABOVE, RATE, in_focus
from bandit_core.experiments.experiment import Experiment
from bandit_core.export.positions import Position, Positions
from bandit_core.simulation import sentences
from bandit_core.simulation.results import QUANTITY_WORDS, LineResult, Result, band, line_corridor, scale, summaries
from bandit_core.simulation.sentences import odds, sentence, verdict
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import count, with_error
from bandit_core.studies import tradeoff
from bandit_core.studies.sweep import SweepResult

SHAPES = {"local": "circle", "shuffle": "diamond", "distributed": "triangle-up", "none": "line"}  # else a square


def marked_up(text: str) -> str:
    """HTML of a sentence whose names went through `as_html`: ``**`` becomes strong."""
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)


def as_html(name: str) -> str:
    """A name that someone wrote, safe inside HTML and inside `marked_up`."""
    return html.escape(name).replace("*", "&#42;")


class Pool:
    """Rows of numbers, each kept once however many positions share it (lines without privacy are alike at all)."""

    def __init__(self, every: int = 1) -> None:
        self.rows: list[list[float | None]] = []
        self._every = every
        self._places: dict[tuple[float | None, ...], int] = {}

    def __call__(self, values: Iterable[float]) -> int:
        """The place of a row; of every few numbers one is kept, and always the last."""
        row = list(values)
        thinned = row[len(row) - 1 :: -self._every][::-1]
        key = tuple(float(f"{value:.4g}") if math.isfinite(value) else None for value in map(float, thinned))
        if key not in self._places:
            self._places[key] = len(self.rows)
            self.rows.append(list(key))
        return self._places[key]

    def exact(self, values: Sequence[float]) -> int:
        """The same with all digits: budgets and numbers of users."""
        thinned = list(values)[len(values) - 1 :: -self._every][::-1]
        self.rows.append([int(value) if float(value).is_integer() else float(value) for value in thinned])
        return len(self.rows) - 1


def _visible(position: Position) -> list[int]:
    """Numbers, at this position, of the lines that are not hidden."""
    hidden = position.experiment.view.hidden
    return [number for number in range(len(position.lines)) if number not in hidden]


def _curve(position: Position, number: int, line: LineResult, divisor: np.ndarray, pool: Pool) -> dict[str, Any]:
    low, high = band(line, position.experiment.view.band) if line.count > 1 else (None, None)
    return {
        "line": position.lines[number],
        "label": position.experiment.label(number),
        "y": pool(line.mean / divisor),
        **({} if low is None or high is None else {"low": pool(low / divisor), "high": pool(high / divisor)}),
    }


def _bounds(position: Position, result: Result, pool: Pool) -> list[dict[str, Any]]:
    """The corridor of the line in focus; a curve with a ``dash`` is none that was played."""
    shown = line_corridor(result, in_focus(position.experiment)) if position.experiment.view.bounds else None
    if shown is None:
        return []
    found, divisor = shown
    known = np.isfinite(found.edge).any()
    area: dict[str, Any] = {"low": pool(found.lower / divisor), "high": pool(found.upper / divisor)} if known else {}
    more: dict[str, dict[str, Any]] = {ABOVE: area, RATE: {"dash": "6 4"}}
    return [
        {"line": position.lines[found.line], "label": name, "dash": "", "y": pool(values / divisor)}
        | more.get(name, {})
        for name, values in found.curves
        if np.nanmax(values, initial=0.0) > 0
    ]


def _curves(position: Position, result: Result, pool: Pool) -> list[dict[str, Any]]:
    """Bounds first, so that curves are drawn above them."""
    visible = _visible(position)
    curves = []
    for number in visible:
        line, divisor = result.lines[number], scale(result, number, position.experiment.view.quantity)
        if line is not None and divisor is not None:
            curves.append(_curve(position, number, line, divisor, pool))
    return [*_bounds(position, result, pool), *curves]


def _numbers(position: Position, result: Result, lines: list[dict[str, Any]]) -> tuple[str, str]:
    """The numbers of every visible line, as the pages write them: a table as HTML, and the picture in words."""
    visible, experiment = _visible(position), position.experiment
    shown = [row for row in summaries(result) if row.line in visible]
    priced = {row.line: row.against.label for row in shown if row.against is not None and math.isfinite(row.price)}
    users, what = count(experiment.horizon), QUANTITY_WORDS[experiment.view.quantity]
    heads = ["Line", f"Regret after {users} users", *["Price of privacy (× the regret of)"] * bool(priced)]
    found, words = [], f"Curves of {what} against users so far, {position.name}. After {users} users:"
    for row in shown:
        place, regret = position.lines[row.line], with_error(row.regret, row.stderr)
        line, cells = lines[place], [regret, *["–"] * bool(priced)]
        if row.line in priced:
            against = f'<span class="against"> × {html.escape(priced[row.line])}</span>'
            cells[1] = with_error(row.price, row.price_stderr) + against
        sign = f'<span class="sign line-{place}" title="{html.escape(line["words"])}">{line["sign"]}</span>'
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        found.append(f'<tr><th scope="row">{sign}{html.escape(row.label)}</th>{numbers}</tr>')
        words += f" {row.label} has lost {regret}."
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    trials = min((line.count for line in result.lines if line is not None), default=0)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(found)}</tbody></table>"
    return table, f"{words} ({trials} trials.)"


def _link(experiment: Experiment, base: str) -> str:
    return links.address(experiment, base) if base and not links.unread(experiment) else ""


def _positions(positions: Positions, results: Sequence[Result], base: str, pool: Pool) -> list[dict[str, Any]]:
    documents, lines = [], _promises(positions.experiment)
    for position, result in zip(positions.positions, results, strict=True):
        (table, alt), curves = _numbers(position, result, lines), _curves(position, result, pool)
        here = position.experiment
        message = here.plays_as(positions.experiment) or position.value is None
        documents.append(
            {
                "name": position.name,
                "value": position.value,
                "sentence": marked_up(verdict(result, as_html)),
                "odds": odds(position.value) if positions.slider == "epsilon" and position.value is not None else "",
                "note": positions.experiment.note if message else "",
                "alt": alt,
                "link": _link(here.model_copy(update={"title": "", "note": ""}), base),
                "table": table,
                "bounds": "".join(f"<li>{html.escape(each['label'])}</li>" for each in curves if "dash" in each),
                "x": pool.exact(result.times.tolist()),
                "curves": curves,
            }
        )
    return documents


def _promises(experiment: Experiment) -> list[dict[str, Any]]:
    """Of each line: whom it trusts in words, and the sign of that in words and in the picture."""
    promises = [line.entry.promise for line in experiment.lines]
    return [{"words": each.who, "sign": each.sign, "shape": SHAPES.get(each.key, "square")} for each in promises]


def _against_budget(positions: Positions, results: Sequence[Result]) -> dict[str, Any] | None:
    """The second picture: every line at the horizon against the budget; None where the slider is not the budget."""
    pairs = [
        (position, result)
        for position, result in zip(positions.positions, results, strict=True)
        if position.value is not None
    ]
    if positions.slider != "epsilon" or len(pairs) < 2:
        return None
    first = pairs[0][0]
    epsilons = tuple(position.value for position, _ in pairs if position.value is not None)
    swept = SweepResult(first.experiment, epsilons, (None,), tuple(result for _, result in pairs))
    price = first.experiment.view.quantity == "price"
    pool = Pool()
    curves = []
    for trace in tradeoff.traces(swept):
        free = first.experiment.lines[trace.line].epsilon is None
        if trace.line not in _visible(first) or (price and free):
            continue
        low, high = trace.price[2:] if price else (trace.q05, trace.q95)
        curves.append(
            {
                "line": first.lines[trace.line],
                "label": trace.label,
                "y": pool(trace.price.value if price else trace.mean),
                "low": pool(low),
                "high": pool(high),
                "points": not free,
            }
        )
    x = pool.exact(epsilons)
    title = QUANTITY_WORDS["price"] if price else f"regret after {count(first.experiment.horizon)} users"
    shaded = "95% interval of the price" if price else "the middle 90% of the runs"
    return {"x": x, "curves": curves, "series": pool.rows, "title": title, "shaded": shaded}


def provenance(positions: Positions, results: Sequence[Result], day: date) -> dict[str, Any]:
    """What is needed to get these numbers again."""
    made = results[positions.start].metadata
    return {
        "made by": f"Private Bandit Lab {paths.project_version()}",
        "date": day.isoformat(),
        "versions": {name: each for name, each in made["versions"].items() if name != "private-bandit-lab"},
        "seed": positions.experiment.seed,
        "trials": positions.experiment.trials,
        "slider": {"kind": positions.slider, "values": [position.value for position in positions.positions]},
        "kernels": made["kernels"],
        "guarantees": [each["words"] for each in made["guarantees"]],
        "spec": positions.experiment.spec(),
    }


def document(
    positions: Positions,
    results: Sequence[Result],
    *,
    base: str = "",
    overall: str = "",
    first: str = "users",
    day: date | None = None,
    every: int = 1,
) -> dict[str, Any]:
    """Everything that stands in the file of a lesson.

    Parameters
    ----------
    positions, results
        The slider and what was computed at its positions.
    base
        Address of the lab for links back; empty where none is known.
    overall
        HTML of a sentence about all budgets together.
    first
        The picture on top: "users", or "budgets" where the slider is the budget.
    day
        When it is made (default: today).
    every
        Of so many checkpoints one is kept.

    Raises
    ------
    InputError
        Where not every trial of every position is done.
    """
    if not all(result.complete for result in results):
        raise InputError([Issue("lesson", None, "not every trial of every position is computed yet")])
    experiment, pool = positions.experiment, Pool(every)
    view = experiment.view
    documents = _positions(positions, results, base, pool)
    budgets = _against_budget(positions, results)
    message = sentence(sentences.band(experiment.trials, view))
    if any("dash" in curve for each in documents for curve in each["curves"]):
        message += ". Thin, and the light area: what is proved of the line of that colour (dashed: in the long run)"
    return {
        "title": positions.title,
        "slider": positions.slider,
        "start": positions.start,
        "overall": overall,
        "lines": _promises(experiment),
        "users": {"log": [view.x == "log", view.y == "log"], "title": QUANTITY_WORDS[view.quantity]},
        "legend": message,
        "budgets": budgets,
        "first": "budgets" if budgets and first == "budgets" else "users",
        "positions": documents,
        "series": pool.rows,
        "provenance": provenance(positions, results, day or date.today()),
    }


def as_json(content: dict[str, Any]) -> str:
    """The document as JSON that may stand inside a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
