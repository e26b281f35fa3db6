"""The file of a lesson: positions of its slider, each an experiment that was computed, and a page that draws them."""

from __future__ import annotations

import html
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any, Literal, get_args

import numpy as np

from bandit_core import paths
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.catalogue import ABOVE, RATE, in_focus
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import shared_budget
from bandit_core.simulation import sentences
from bandit_core.simulation.costs import refuse
from bandit_core.simulation.questions import Study, once, taken_by
from bandit_core.simulation.results import (
    QUANTITY_WORDS,
    LineResult,
    Result,
    band,
    line_corridor,
    scale,
    split,
    summaries,
    with_companions,
)
from bandit_core.simulation.sentences import odds, sentence, verdict
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError, Issue, refuse_if, validated
from bandit_core.spec.field_types import Whole
from bandit_core.spec.found import entries
from bandit_core.spec.number_text import count, with_error, write_number
from bandit_core.studies import tradeoff
from bandit_core.studies.sweep import EPSILONS, SweepResult, at_budget, budgets, distinct_lines, swept_label

# ---------------------------------------------------------------------------------------------------------------------
# The positions of a lesson's slider, each an experiment of its own: computed by the engine, never interpolated.


Slider = Literal["epsilon", "horizon"]
MAX_POSITIONS = 40
FEWEST_USERS = 100
AS_GIVEN = "as given"
_BUDGET_IN_TITLE = re.compile(r"[,;:]?\s*(?:\b(?:at|with)\s+)?(?:ε|\beps(?:ilon)?\b)\s*=?\s*\d[\d.]*", re.IGNORECASE)


@dataclass(frozen=True)
class Position:
    """One place of the slider: its value (None for the experiment as it was given) and what is played there.

    ``lines[i]`` is the number, in the experiment as given, of line i of ``experiment``.
    """

    value: float | None
    name: str
    experiment: Experiment
    lines: tuple[int, ...]


def _users(horizon: int) -> list[int]:
    """1, 2, 5, 10, … users, at least `FEWEST_USERS`, up to the horizon."""
    every = (base * 10**power for power in range(10) for base in (1, 2, 5))
    return [*(value for value in every if FEWEST_USERS <= value < horizon), horizon]


def _distinct_horizons(values: Iterable[Any]) -> list[int]:
    """Distinct horizons, ascending; whether they can be played is the experiment's to say."""
    return sorted({*validated(tuple[Whole, ...], tuple(values), ("horizon",))})


def over_budgets(experiment: Experiment, values: Iterable[Any] | None) -> list[Position]:
    """A position per budget of every private line; before them the experiment as given, where it is none of those.

    Without ``values`` the usual budgets, as far as they can be played.
    """
    if not any(line.epsilon is not None for line in experiment.lines):
        raise InputError([Issue("slider", "epsilon", "no line has a budget here; the slider can be horizon")])
    shared = shared_budget(experiment)
    here = {shared.fixed} if shared is not None and shared.fixed else set()
    swept = distinct_lines(experiment)
    numbers = experiment.played
    lines = tuple(map(numbers.index, swept.played))
    positions = []
    refused: InputError | None = None
    for epsilon in budgets({*EPSILONS, *here} if values is None else values):
        name = f"ε = {write_number(epsilon)}"
        try:
            if trust_table.position(experiment) is not None and epsilon in trust_table.table():
                labels = [swept_label(line) for line in experiment.lines]
                levels = experiment.with_changes(lines=trust_table.lines(epsilon, labels))
                positions.append(Position(epsilon, name, levels, tuple(range(len(levels.lines)))))
            else:
                positions.append(Position(epsilon, name, at_budget(swept, epsilon), lines))
        except InputError as error:
            refused = error
            if values is not None:
                raise
    if refused is not None and not positions:
        raise refused
    if any(same_numbers(position.experiment, experiment) for position in positions):
        return positions
    return [Position(None, AS_GIVEN, experiment, tuple(range(len(experiment.lines)))), *positions]


def same_numbers(one: Experiment, other: Experiment) -> bool:
    """Whether both play the same, whatever is stated and whatever follows by itself."""
    return len(one.lines) == len(other.lines) and all(
        mine.entry is theirs.entry and mine_is == theirs_is
        for mine, theirs, mine_is, theirs_is in zip(one.lines, other.lines, one.setups, other.setups, strict=True)
    )


def _over_users(experiment: Experiment, values: Iterable[Any] | None) -> list[Position]:
    lines = tuple(range(len(experiment.lines)))
    return [
        Position(horizon, f"{count(horizon)} users", experiment.with_changes(horizon=horizon), lines)
        for horizon in (_users(experiment.horizon) if values is None else _distinct_horizons(values))
    ]


class Positions(Study[tuple[Result, ...]]):
    """All positions of a slider being computed; polled and stopped like a `Simulation`.

    Parameters
    ----------
    experiment
        What the lesson is about.
    slider
        "epsilon": one budget for every private line, as on the page Trade-off, and first of all the experiment as given
        where it is none of these; "horizon": each number of users is a run of its own, so it is exact for policies that
        know the horizon, too, and all of them together cost about twice the longest.
    values
        Budgets or numbers of users (default: the budgets of the pages' sliders, or 1, 2, 5, 10, … users).

    Raises
    ------
    InputError
        For an unknown slider, for values that cannot be played, and for more than `costs.refuse` allows here.
    """

    def __init__(
        self,
        experiment: Experiment,
        slider: str = "epsilon",
        values: Iterable[Any] | None = None,
        store: Store | None = None,
    ) -> None:
        refuse_if(slider not in get_args(Slider), "slider", slider, f"one of {', '.join(get_args(Slider))}")
        self.experiment, self.slider = experiment, slider
        self.positions = (over_budgets if slider == "epsilon" else _over_users)(experiment, values)
        if len(self.positions) > MAX_POSITIONS:
            raise InputError([Issue(slider, len(self.positions), f"at most {MAX_POSITIONS} positions")])
        own = [position.experiment for position in self.positions]
        try:
            played = [with_companions(point) for point in own]
            steps = self._affordable(played)
        except InputError:
            played, steps = own, self._affordable(own)
        super().__init__(once(played), store)  # type: ignore[arg-type]  # of which `result` makes its own
        self.steps = steps

    def _affordable(self, points: Sequence[Experiment]) -> int:
        """Steps of all positions; refuses more than is allowed."""
        taken = taken_by(points, same_budgets=self.slider == "horizon")
        refuse(taken, "slider", "horizon x trials x lines x positions", "positions, ")
        return taken.steps

    @property
    def start(self) -> int:
        """The position at which the slider stands at first: the experiment as given."""
        same = (
            place
            for place, position in enumerate(self.positions)
            if position.value is None or same_numbers(position.experiment, self.experiment)
        )
        return next(same, len(self.positions) - 1)

    @property
    def title(self) -> str:
        """The title, without a budget that the slider would belie."""
        named = self.experiment.title
        title = _BUDGET_IN_TITLE.sub("", named).strip() if self.slider == "epsilon" else named
        return title or "What does privacy cost here?"

    def result(self) -> tuple[Result, ...]:
        """The results of all positions, what was only run for comparison apart."""
        own = (position.experiment for position in self.positions)
        return tuple(map(split, self.results, own))


# ---------------------------------------------------------------------------------------------------------------------
# What a lesson holds, as one JSON document: for every position curves, bounds, numbers, sentence and words.
#
# Whatever a reader sees as a number is written here, by the functions that also write it on the pages; the script in
# the file only chooses and draws. Curves are kept to four digits.


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
    return table, f"{words} ({count(trials)} trials.)"


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


# ---------------------------------------------------------------------------------------------------------------------
# The file of a lesson: its document, and a page that draws it with no more than what every browser has.
#
# No drawing library travels with it: Plotly's smallest bundle is 1.1 MB, the script here a hundredth of that, and the
# numbers of a lesson some 100 KB. A policy of its own (``default-src 'none'``) keeps the page from asking anyone for
# anything.


MAX_BYTES = 2 * 10**6
ASSETS = Path(__file__).parent / "assets"
PLAYER = paths.ROOT / "ui" / "player"  # the same script as in the app
Colours = Sequence[tuple[str, str]]  # per line: on light and on dark ground
SHADES = entries(__file__)["shades"]
SLIDERS = {
    "epsilon": ("Privacy budget", "← more private", "less regret →"),
    "horizon": ("Number of users", "← fewer users", "more users →"),
}


def colours_of(experiment: Experiment) -> list[tuple[str, str]]:
    """A colour per line by whom it trusts, on light and on dark ground."""
    met = dict.fromkeys(SHADES, 0)
    colours = []
    for line in experiment.lines:
        trust = line.entry.privacy
        colours.append(SHADES[trust][met[trust] % len(SHADES[trust])])
        met[trust] += 1
    return colours


def style_of(colours: Colours) -> str:
    """The style sheet, with the colours of the lines."""
    light, dark = (
        ":root{" + ";".join(f"--line-{number}:{pair[ground]}" for number, pair in enumerate(colours)) + "}"
        for ground in (0, 1)
    )
    signs = "".join(f".line-{number}{{color:var(--line-{number})}}" for number in range(len(colours)))
    sheet = (ASSETS / "lesson.css").read_text("utf-8")
    return f"{sheet}{light}@media (prefers-color-scheme:dark){{{dark}}}{signs}"


def source(inline: str) -> str:
    """A style or script that stands in a page, as the page's policy allows it (Content-Security-Policy)."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """What the page may do: use this style and this script, ask no one for anything."""
    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _figure(name: str, head: str) -> str:
    return (
        f'<h2>{head}</h2><div class="player" id="{name}"><svg role="img" aria-label=""></svg>'
        '<p class="point" hidden></p><ul class="legend"></ul></div>'
    )


def page(
    positions: Positions, results: Sequence[Result], around: str = "", colours: Colours | None = None, **texts: Any
) -> str:
    """The lesson as the text of one HTML file of at most `MAX_BYTES`, in UTF-8.

    ``colours`` are those of the lines (default: `colours_of`), ``around`` is HTML of links to other lessons; for the
    other texts see `document`. The same arguments give the same text.

    Raises
    ------
    InputError
        Where something is not computed yet, and where no picture of at least 25 checkpoints fits into the file.
    """
    for every in (1, 2, 4, 8):
        content = document(positions, results, every=every, **texts)
        text = _written(content, colours or colours_of(positions.experiment), around)
        size = len(text.encode())
        if size <= MAX_BYTES:
            return text
    words = f"at most {MAX_BYTES / 1e6:g} MB in one file; use fewer lines or positions"
    raise InputError([Issue("lesson", f"{size / 1e6:.1f} MB", words)])


def lesson(experiment: Experiment, slider: str = "epsilon", values: Sequence[float] | None = None) -> str:
    """The lesson of an experiment as one HTML file, everything computed; see `Positions` and `page`.

    Raises
    ------
    InputError
        As `Positions` and `page` do.
    """
    positions = Positions(experiment, slider, values)
    positions.run()
    return page(positions, positions.result())


def _written(content: dict[str, Any], colours: Colours, around: str) -> str:
    style = style_of(colours) + (PLAYER / "player.css").read_text("utf-8")
    script = (PLAYER / "player.js").read_text("utf-8") + (ASSETS / "lesson.js").read_text("utf-8")
    positions, over, start = content["positions"], content["budgets"], content["positions"][content["start"]]
    label, low, high = SLIDERS[content["slider"]]
    users = _figure("users", "Regret as users come")
    budgets = _figure("budgets", f"All budgets at once (shaded: {over['shaded']})") if over else ""
    back = f'<p><a id="back" href="{html.escape(start["link"])}">Open this in the lab</a></p>' if start["link"] else ""
    return Template((ASSETS / "lesson.html").read_text("utf-8")).substitute(
        policy=policy(style, script), title=html.escape(content["title"]), style=style, around=around, label=label,
        name=html.escape(start["name"]), last=len(positions) - 1, start=content["start"], low=low, high=high,
        sentence=start["sentence"], overall=f"<p>{content['overall']}</p>" if content["overall"] else "",
        told="".join(f"<li>{html.escape(each['name'])}: {each['sentence']}</li>" for each in positions),
        figures=budgets + users if content["first"] == "budgets" else users + budgets, legend=content["legend"],
        signs=", ".join(dict.fromkeys(f"{each['sign']} {each['words']}" for each in content["lines"])), back=back,
        made=html.escape(json.dumps(content["provenance"], ensure_ascii=False, indent=1)), document=as_json(content),
        script=script,
    )  # fmt: skip
