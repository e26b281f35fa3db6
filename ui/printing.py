"""Curves for print: what a chart shows, as SVG, PDF or PNG of a chosen size and font.

Plotly writes such files with the help of a browser only, which servers seldom have. Matplotlib needs none, and a PDF of
it carries its fonts. It is imported when the first file is asked for.
"""

from __future__ import annotations

import io
import json
import math
import re
import threading
import warnings
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from bandit_core.model import PROMISES
from bandit_core.spec.errors import InputError, Issue
from ui import charts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONTS = {"sans serif": ("DejaVu Sans",), "serif": ("STIXGeneral", "DejaVu Sans")}
KINDS = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}
DPI = 300
_DASHES = {"dash": (0, (5, 3)), "dot": (0, (1, 2)), "longdash": (0, (10, 4)), "dashdot": (0, (6, 2, 1, 2))}
_MARKERS = {
    "circle": "o", "square": "s", "line-ns-open": "|", "diamond": "D", "triangle-up": "^", "star": "*", "x": "x",
    "diamond-open": "D",
}  # fmt: skip
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_MADE = {"svg": "Description", "pdf": "Subject", "png": "Description"}  # where a file says how it was made
# Of the trust model; the marker beside the name says it.
_SIGN = re.compile(f"^[{''.join(promise.sign for promise in PROMISES.values())}] ")
_drawing = threading.Lock()  # Matplotlib's settings are those of the whole process


@dataclass(frozen=True)
class Size:
    """Width and height in centimetres, and the usual size of letters there in points."""

    width: float
    height: float
    points: int


SIZES = {"column of a paper": Size(8.8, 7.5, 8), "page of a paper": Size(17.0, 10.5, 9), "slide": Size(33.8, 19.0, 22)}


def file_of(figure: go.Figure, kind: str, size: Size, font: str, points: float) -> bytes:
    """The curves of ``figure`` (scatter traces on one pair of axes) as a file; the same bytes every time.

    It carries the figure's ``layout.meta`` as JSON: a PDF as ``Subject``, others as ``Description``.

    ``kind`` is one of `KINDS`, ``font`` one of `FONTS`, ``points`` the size of letters. Lines and markers grow with the
    letters, as on the screen.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "font.family": list(FONTS[font]),
        "font.size": points,
        "pdf.fonttype": 42,  # letters stay letters, and can be searched
        "svg.hashsalt": "private-bandit-lab",
        "text.parse_math": False,  # a visitor's label is no formula
    }
    written = io.BytesIO()
    with _drawing, mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a label may have signs that no font here has
        canvas = Figure(figsize=(size.width / 2.54, size.height / 2.54), layout="constrained")
        axes = canvas.add_subplot()
        _draw_curves(axes, figure, points / charts.SIZE)
        _draw_shapes(axes, figure, points / charts.SIZE)
        _set_axes(axes, figure)
        _draw_notes(axes, figure, points / charts.SIZE)
        named = [curve for curve in axes.lines if not str(curve.get_label()).startswith("_")]
        longest = max((len(str(curve.get_label())) for curve in named), default=1)
        fitting = size.width / 2.54 * 72 / (points * (4 + 0.55 * longest))
        columns = max(1, min(len(named), int(fitting)))
        canvas.legend(handles=named, loc="outside lower center", ncols=columns, frameon=False)
        message = {} if figure.layout.meta is None else {_MADE[kind]: json.dumps(figure.layout.meta)}
        canvas.savefig(written, format=kind, dpi=DPI, metadata={**_UNDATED[kind], **message})
    return written.getvalue()


def image(figure: go.Figure, size: Size, alt: str) -> str:
    """The curves as an image inside a page of HTML, with one digit behind the point."""
    drawn = file_of(figure, "svg", size, "sans serif", size.points).decode()
    # Letters have small scales, which must stay.
    rounded = re.sub(r"scale\([^)]*\)|(\d\.\d)\d+", lambda found: found[1] or found[0], drawn)
    small = b64encode(re.sub(r"\s+", " ", rounded).encode()).decode()
    sides = f'width="{size.width / 2.54 * 96:.0f}" height="{size.height / 2.54 * 96:.0f}"'
    return f'<img src="data:image/svg+xml;base64,{small}" alt="{escape(alt)}" {sides}>'


def save(figure: go.Figure, path: Path) -> None:
    """Write the curves as a file for a page of a paper, by its ending one of `KINDS`, or as a page of HTML.

    Raises
    ------
    InputError
        For another ending, or where the file cannot be written.
    """
    kind, kinds = path.suffix.lower().lstrip("."), (*KINDS, "html")
    if kind not in kinds:
        raise InputError([Issue("path", str(path), f"a file that ends in {', '.join(f'.{each}' for each in kinds)}")])
    size = SIZES["page of a paper"]
    try:
        if kind == "html":
            path.write_text(figure.to_html(config=charts.CONFIG), encoding="utf-8")
        else:
            path.write_bytes(file_of(figure, kind, size, "sans serif", size.points))
    except OSError as error:
        raise InputError([Issue("path", str(path), f"cannot be written: {error.strerror}")]) from None


def _draw_curves(axes: Axes, figure: go.Figure, unit: float) -> None:
    """Every band, curve and marker; ``unit`` is the points that stand for a pixel of the screen."""
    before: go.Scatter | None = None
    for place, trace in enumerate(figure.data):
        if trace.type == "bar":
            _draw_bars(axes, trace)
            continue
        x, y, line = np.asarray(trace.x), np.asarray(trace.y, float), trace.line
        x = x if x.dtype.kind == "U" else x.astype(float)  # names, or numbers
        if trace.fill == "tonexty" and before is not None:
            colour, opacity = _colour(trace.fillcolor)
            edge = np.asarray(before.y, float)
            axes.fill_between(x, y, edge, color=colour, alpha=opacity, linewidth=0, zorder=1)
        elif "lines" not in trace.mode or line.width:
            colour, opacity = _colour(line.color or trace.marker.color)
            name = _SIGN.sub("", charts.as_text(trace.name)) if trace.name and trace.showlegend is not False else None
            dotted = "markers" in trace.mode
            stated = trace.marker.size if trace.marker.size is not None else 6  # what Plotly draws
            sizes = np.broadcast_to(np.asarray(stated if dotted else 0, float), len(x))
            usual = max(8.0, float(sizes[sizes > 0].min(initial=math.inf))) if sizes.any() else 8.0
            step = max(1, math.ceil(len(x) / (trace.marker.maxdisplayed or len(x) or 1)))
            axes.plot(
                x, y,
                label=name or f"_{place}",
                color=colour,
                alpha=opacity,
                linewidth=line.width * unit if "lines" in trace.mode else 0,
                linestyle=_DASHES.get(line.dash, "solid"),
                marker=_MARKERS.get(trace.marker.symbol, "o") if dotted else None,
                markersize=usual * unit,
                markevery=np.flatnonzero(sizes)[step // 2 :: step].tolist(),
                drawstyle="steps-post" if line.shape == "hv" else "default",
                zorder=2 + (line.width or 5) / 10,
            )  # fmt: skip
            for each in np.flatnonzero(sizes > usual):  # where a slider stands
                marker = _MARKERS.get(trace.marker.symbol, "o")
                axes.plot(x[each], y[each], marker, color=colour, markersize=sizes[each] * unit, label=f"_{place}")
            for across, up, text in zip(x, y, () if trace.text is None else trace.text, strict=False):
                near: dict[str, Any] = {"xytext": (-6 * unit, 6 * unit), "textcoords": "offset points", "ha": "right"}
                axes.annotate(text, (across, up), color=colour, **near)
            if trace.error_y.array is not None:
                axes.errorbar(x, y, _errors(trace), fmt="none", ecolor=colour, elinewidth=unit, capsize=2 * unit)
        before = trace


def _errors(trace: go.Scatter | go.Bar) -> np.ndarray:
    """How far error bars reach below and above."""
    above, below = trace.error_y.array, trace.error_y.arrayminus
    return np.array([above if below is None else below, above], float)


def _draw_bars(axes: Axes, trace: go.Bar) -> None:
    """Bars over names, with their whiskers."""
    names = ["\n".join(map(charts.as_text, str(name).split("<br>"))) for name in trace.x]
    errors = None if trace.error_y.array is None else _errors(trace)
    whiskers = {"ecolor": trace.error_y.color or "black", "capsize": 3}
    shade = {"color": trace.marker.color, "alpha": trace.marker.opacity}
    axes.bar(names, np.asarray(trace.y, float), width=0.6, yerr=errors, error_kw=whiskers, zorder=2, **shade)


def _draw_shapes(axes: Axes, figure: go.Figure, unit: float) -> None:
    """Lines across the whole picture, and shaded stripes."""
    for shape in figure.layout.shapes:
        if shape.type == "rect":
            axes.axvspan(shape.x0, shape.x1, color=shape.fillcolor, alpha=shape.opacity, linewidth=0, zorder=0)
            continue
        draw, at = (axes.axvline, shape.x0) if shape.x0 == shape.x1 else (axes.axhline, shape.y0)
        drawn = draw(at, color=shape.line.color, linewidth=(shape.line.width or 2) * unit, zorder=1.5)
        drawn.set_linestyle(_DASHES.get(shape.line.dash, "solid"))


def _draw_notes(axes: Axes, figure: go.Figure, unit: float) -> None:
    """Words at lines and in stripes; names at the ends of curves stand in the legend."""
    from matplotlib.transforms import blended_transform_factory

    anchors = {"middle": "center", None: "center"}
    for note in figure.layout.annotations:
        if note.hovertext is None:
            paper = note.xref == "paper", note.yref == "paper"
            curved = (figure.layout[axis].type == "log" for axis in ("xaxis", "yaxis"))
            ends = zip((note.x, note.y), curved, paper, strict=True)
            x, y = (10**at if log and not fixed else at for at, log, fixed in ends)
            where = blended_transform_factory(*(axes.transAxes if fixed else axes.transData for fixed in paper))
            text = "\n".join(map(charts.as_text, note.text.split("<br>")))
            across, up = (anchors.get(anchor, anchor) for anchor in (note.xanchor, note.yanchor))
            look = {"ha": across, "va": up, "color": note.font.color or "black"}
            shift = (note.xshift or 0) * unit, (note.yshift or 0) * unit
            axes.annotate(text, (x, y), xycoords=where, xytext=shift, textcoords="offset points", **look)


def _colour(text: str) -> tuple[str | tuple[float, ...], float]:
    """A colour of Plotly's and its opacity."""
    match = re.fullmatch(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)", text)
    if match is None:
        return text, 1.0
    return tuple(int(part) / 255 for part in match.groups()[:3]), float(match[4])


def _set_axes(axes: Axes, figure: go.Figure) -> None:
    """Range, scale, words and ticks of both axes as on the screen."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e3e8ee", linewidth=0.5)
    axes.set_axisbelow(True)
    for axis, shown in ((axes.xaxis, figure.layout.xaxis), (axes.yaxis, figure.layout.yaxis)):
        log = shown.type == "log"
        if log:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        ends = np.asarray(axis.get_view_interval() if shown.range is None else shown.range, float)
        if log and shown.range is not None:
            ends = 10**ends
        if isinstance(axis.get_major_formatter(), StrCategoryFormatter):
            axis.set_label_text(charts.as_text(shown.title.text or ""))
            continue
        if log:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ends[1] < 300 * ends[0] else (1.0,)))
            axis.set_minor_formatter(NullFormatter())
        if shown.tickvals is not None:
            axis.set_major_locator(FixedLocator(shown.tickvals))
        axis.set_major_formatter(FuncFormatter(lambda value, _: tick_words(value)))
        (axes.set_xlim if axis is axes.xaxis else axes.set_ylim)(*ends)
        axis.set_label_text(charts.as_text(shown.title.text or ""))


def tick_words(value: float) -> str:
    """A tick as people write it, short enough for a column: 0.0001, 2,000, 50k, 3M, 1B."""
    for unit, sign in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 1e4):
            return f"{value / unit:,.6g}{sign}"
    return f"{value:,.6g}" if value == 0 or abs(value) >= 1e-4 else np.format_float_positional(value, trim="-")
