"""One slider and its picture, drawn in the browser from positions that ship or are computed here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, paths
from bandit_core.export.page import Pool
from bandit_core.spec.errors import InputError, Issue, unreadable
from ui import charts, page_fields, page_lock, state, stylesheet, theme, words
from ui.learn.measured import Number
from ui.page_fields import Field

# ---------------------------------------------------------------------------------------------------------------------
# The player in the app: one slider and its picture, drawn in the browser; the server hears where the slider rests.


SMALL = stylesheet.ASSETS / "lessons"  # by benchmarks/pictures.py; those of Start's cards, too
_player = stylesheet.component("player", Path(__file__).parent, "player")


def value(field: Field) -> Any:
    """The stop that the address asks for; another value is told, and the default stands."""
    now = page_fields.value(field)
    if now in field.allowed:
        return now
    allowed = f"one of {', '.join(map(field.text, field.allowed))}"
    page_fields.refuse(Issue(field.name, field.text(now), allowed))
    return field.default


def small(name: str, alt: str) -> None:
    """The small picture of a lesson where its slider begins, or of a preset."""
    drawn = SMALL / f"{name}-{'dark' if theme.is_dark() else 'light'}.svg"
    st.image(drawn.read_text("utf-8"), width="stretch", alt=alt)


@contextmanager
def or_small(lesson: str) -> Iterator[None]:
    """What is drawn inside; where the file of its positions is damaged, what is wrong, and the small picture."""
    try:
        yield
    except InputError as error:
        st.error(words.issues(error.issues))
        if (SMALL / f"{lesson}-light.svg").exists():
            small(lesson, "The picture at the first position of its slider, without numbers.")


def still(key: str, document: str) -> None:
    """The one picture of a document, which has no slider."""
    with st.container(key=f"player-{key}"):
        _player(key=key, data={"text": document, "at": 0, "turn": 0})


def ask(field: Field, document: str, now: Any, guess: Mapping[str, Any] | None = None) -> Any:
    """The slider of a field, which opens at ``now``, with its picture; where it rests. The address carries it.

    With a ``guess`` the curves run through it at first; it stands at the ``place`` of the slider, at ``x`` of the
    picture, from ``low`` to ``high`` (None: as far as the picture goes). Without these no guess is drawn.
    """
    stops, key, turn = list(field.allowed), state.kept_key(field.key or field.name), state.turn()
    begin = st.session_state.setdefault(f"{key} begins {turn}", stops.index(now))
    with st.container(key=f"player-{key}"):
        data = {"text": document, "at": begin, "turn": turn, "guess": guess}
        found = _player(key=key, data=data, on_at_change=lambda: None)
    moved = found.at is not None and found.at[0] == turn  # else it is where it was before the Back button
    said = stops[found.at[1] if moved else begin]
    page_fields.keep(field, said)
    page_lock.shown()
    return said


# ---------------------------------------------------------------------------------------------------------------------
# What ui/player/player.js draws: figures at all positions of a slider, as one text in JSON.
#
# ``label`` and ``help`` are the slider's, ``height`` is a length in CSS, ``size`` that of letters in pixels,
# ``colours`` CSS by name; a ``projected`` one has large letters, and slider and words below the picture. The curve with
# the key ``handle`` can be held at its end, or at its largest dot. Each of the ``positions`` has a ``name``, what is
# read ``aloud`` of it, the picture in words (``alt``), the HTML of the ``words`` below it, the axes ``x`` and ``y`` and
# ``curves``; above the picture may be people whose coins each flip with the chance ``flips``, and what of these
# ``people`` is said. An axis has ``ends``, is ``log`` or not, and may have ``ticks``, or ``names`` at 0, 1, 2 and so
# on. Of a curve ``x``, ``y``, ``low`` and ``high`` are places in ``series``; curves of one ``key`` glide into each
# other. ``named``: the curve may have its label at its end; ``listed``: it stands in the legend; ``hover``: the pointer
# shows its numbers.


DASHES = {"dash": "6 4", "dot": "1.5 4", "longdash": "12 5"}
ROWS = ("x", "y", "low", "high")
THIN = 1.5  # pixels: what is proved is drawn no wider, and cannot be held
MARGIN = 0.04  # of an axis whose ends follow its curves, beyond them


@dataclass(frozen=True)
class Stop:
    """A position of the slider: its name, what is read aloud, its picture in words, the picture, HTML below it.

    ``more`` goes into the document as it is.
    """

    name: str
    aloud: str
    alt: str
    figure: go.Figure
    words: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def text(stops: Iterable[Stop], dark: bool, bare: bool = False, **head: Any) -> str:
    """The document of a slider's ``stops``; ``head`` is what it says once. ``bare``: the axes without any curve."""
    pool, found = Pool(), []
    for stop in stops:
        layout, curves = stop.figure.layout, [*_curves(stop.figure, dark)]
        names = [str(trace.x[0]) for trace in stop.figure.data if trace.type == "bar"]
        across = {"names": names, "ends": [-0.5, len(names) - 0.5]} if names else _ends(layout.xaxis, curves, ["x"])
        axes = {"x": _axis(layout.xaxis) | across}
        axes |= {"y": _axis(layout.yaxis) | _ends(layout.yaxis, curves, ["y", "low", "high"])}
        curves = [] if bare else curves
        drawn = [each | {row: pool(each[row]) for row in ROWS if row in each} for each in curves]
        said = {"name": stop.name, "aloud": stop.aloud, "alt": stop.alt, "words": stop.words, **stop.more}
        found.append({**said, **axes, "curves": drawn})
    head = {"handle": _handle(found, pool)} | head
    colours = {"ink": theme.ink(dark), "grid": charts.grid(dark)}
    colours |= {"ground": "var(--st-background-color)", "accent": "var(--st-primary-color)"}
    whole = {"size": charts.SIZE, "colours": colours, **head, "positions": found, "series": pool.rows}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _handle(positions: list[dict[str, Any]], pool: Pool) -> int | None:
    """The key of the curve that can be held: one with a larger dot, else the one whose end moves most."""
    moves: dict[int, float] = {}
    last = {curve["key"]: curve for curve in positions[-1]["curves"]}
    for first in positions[0]["curves"]:
        if "width" in first and len(set(first.get("sizes", ()))) > 1:
            return int(first["key"])
        if first["key"] in last and not (first.keys() & {"dash", "bar"}) and first.get("width", 2) > THIN:
            ends = [(pool.rows[first[row]][-1], pool.rows[last[first["key"]][row]][-1]) for row in ("x", "y")]
            moves[first["key"]] = max(abs(math.log(other / one)) for one, other in ends if one and other)
    private = [key for key in moves if last[key].get("sign") != "line"]  # what a slider of privacy is about
    return max((key for key in private or moves if moves[key]), key=moves.__getitem__, default=None)


def _axis(axis: Any) -> dict[str, Any]:
    found = {"title": charts.as_text(axis.title.text or ""), "log": axis.type == "log"}
    if axis.tickvals is not None:
        found["ticks"] = [float(value) for value in axis.tickvals]
    return found | ({"hidden": True} if axis.visible is False else {})


def _ends(axis: Any, curves: list[dict[str, Any]], rows: list[str]) -> dict[str, Any]:
    """The ends of an axis as Plotly has them; without a range they lie a little beyond the curves."""
    log, ends = axis.type == "log", axis.range
    if ends is None:
        values = np.concatenate([np.asarray(each[row], float) for each in curves for row in rows if row in each])
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        values = np.append(np.log10(values) if log else values, [0.0] if axis.rangemode == "tozero" else [])
        low, high = float(values.min()), float(values.max())
        room = MARGIN * ((high - low) or 1.0)
        ends = (low - room * (axis.rangemode != "tozero"), high + room)
    return {"ends": [10.0**end if log else float(end) for end in ends]}


def _curves(figure: go.Figure, dark: bool) -> Iterator[dict[str, Any]]:
    """Curves and bars of a figure; a filled area is the band of the curve after it."""
    edges: dict[str, Any] = {}
    before: Any = None
    bars = 0
    for number, trace in enumerate(figure.data):
        if trace.type == "bar":
            yield _look(trace, number, dark, figure) | {"x": [bars], "bar": True, "opacity": trace.marker.opacity}
            bars += 1
        elif trace.fill == "tonexty":
            edges = {"low": trace.y, "high": before.y, "band": True}
        elif trace.line.width != 0 and len(trace.x):
            yield _look(trace, number, dark, figure) | _line(trace) | edges
            edges = {}
        before = trace


def _look(trace: Any, number: int, dark: bool, figure: go.Figure) -> dict[str, Any]:
    """What curves and bars have in common."""
    label, lined = charts.as_text(trace.name or ""), trace.type == "scatter" and "lines" in trace.mode
    colour = (trace.line.color if lined else trace.marker.color) or trace.marker.color or theme.GREY
    listed = bool(label) and trace.showlegend is not False and figure.layout.showlegend is not False
    found = {"key": number, "label": label, "colour": colour, "x": trace.x, "y": trace.y, "listed": listed}
    found |= {"ink": theme.as_text(colour, dark) if colour.startswith("#") else theme.ink(dark)}
    found |= {"hover": bool(label) and trace.hoverinfo != "skip"}
    if trace.error_y.array is not None:
        below = trace.error_y.array if trace.error_y.arrayminus is None else trace.error_y.arrayminus
        found |= {"low": np.subtract(trace.y, below), "high": np.add(trace.y, trace.error_y.array)}
    return found


def _line(trace: Any) -> dict[str, Any]:
    """What a curve or points alone have."""
    found: dict[str, Any] = {}
    if "lines" in trace.mode:
        found |= {"width": trace.line.width or 2, "named": bool(trace.name) and trace.showlegend is not False}
        found |= {"dash": DASHES[trace.line.dash]} if trace.line.dash in DASHES else {}
    if "markers" in trace.mode:
        size, few = trace.marker.size, trace.marker.maxdisplayed
        found |= {"sign": (trace.marker.symbol or "circle").replace("line-ns-open", "line")}
        found |= {"size": size} if isinstance(size, (int, float)) else {"sizes": [float(each) for each in size]}
        found |= {"few": few} if few else {}
    if "text" in trace.mode:
        found["texts"] = [*trace.text]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Positions of a slider that ship: means, bands and numbers of 8,000 runs, so that nothing is played or compiled there.
#
# ``python -m benchmarks.positions`` writes them, a file of `FOLDER` for each lesson.


FOLDER = paths.ROOT / "presets" / "positions"


@dataclass(frozen=True, eq=False)
class Mean:
    """One line: mean regret and the edges of its band, (times,) in reward units; ``error`` is that of the last mean."""

    count: int
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: float

    @property
    def stderr(self) -> np.ndarray:
        """Standard errors of the mean, (times,); NaN but for the last."""
        return np.append(np.full(len(self.mean) - 1, np.nan), self.error)

    @property
    def std(self) -> np.ndarray:
        """Standard deviations over trials, (times,); NaN but for the last."""
        return self.stderr * np.sqrt(self.count)

    def quantile(self, q: float, /) -> np.ndarray:
        """The edge of the band, which is all that ships: below ``q`` = 0.5 the lower one."""
        return self.low if q < 0.5 else self.high

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Both edges of the band."""
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class Shipped:
    """A position; draws like a `Result`. ``numbers`` are what a lesson says of it, some of them words.

    ``run`` are frames of one run where the slider begins (ui/watch/view.py), of a lesson that shows one.
    """

    experiment: Experiment
    times: np.ndarray
    lines: tuple[Mean | None, ...]
    numbers: Mapping[str, Any]
    run: Mapping[str, Any] = field(default_factory=dict)
    companions: tuple[()] = ()  # nothing was run for comparison alone


@cache
def read(name: str) -> dict[str, Any]:
    """The file of a lesson, read once."""
    found = dict(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))
    return found | {"rows": [np.array(row, float) for row in found["rows"]]}


def shipped(name: str, at: float, experiment: Experiment) -> Shipped:
    """The position ``at`` of a lesson, whose ``experiment`` says how it is drawn.

    Raises
    ------
    InputError
        Where the file is missing or damaged.
    """
    try:
        found = read(name)
        stop, rows, trials = found["positions"][f"{at:g}"], found["rows"], found["trials"]
        lines = [Mean(trials, rows[y], rows[low], rows[high], error) for y, low, high, error, _ in stop["lines"]]
        numbers = {
            name: each if isinstance(each, str) else Number(each[0], each[1], (each[2], each[3]))
            for name, each in stop["numbers"].items()
        }
        return Shipped(experiment, rows[stop["times"]], tuple(lines), numbers, found.get("run", {}))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError([unreadable("positions", f"{name}.json", error)]) from None
