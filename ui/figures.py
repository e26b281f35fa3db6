"""A finished picture on a page, and the same for print."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from bandit_core.spec import own_data
from ui import charts, page_fields, printing, shared, theme
from ui.page_fields import Field
from ui.shared import Picture

POINTS = Field("points", "Size of letters (pt)", 0, "Lines and markers grow with them.", "number", (5, 48))
QUIET: Mapping[str, Any] = {"displayModeBar": False}


def show(
    picture: Picture, key: str, config: Mapping[str, Any] = charts.CONFIG, tall: bool = False, **options: Any
) -> Any:
    """Draw it in the room that it takes from the first moment, so that nothing below moves when it has come.

    A ``tall`` one, the first of a page, takes about half of the window's height (ui/assets/app.css).
    """
    if "height" not in options:
        options["height"] = "stretch" if tall else int(picture.to_dict()["layout"]["height"])
    with st.container(key=f"tall-{key}") if tall else nullcontext():
        return st.plotly_chart(picture, key=key, config=dict(config), alt=picture.alt, **options)


def plot(figure: go.Figure, key: str, what: str = "", alt: str = "", **options: Any) -> Any:
    """A picture of this moment: ``what`` it shows begins its words, or ``alt`` are all of them."""
    return show(shared.Picture(figure, alt or charts.read_aloud(figure, what)), key, **options)


def draw(
    key: str,
    of: Result | Experiment | Hashable,
    make: Callable[[bool], go.Figure | None],
    what: str | Callable[[], str],
    *how: Hashable,
    name: str = "",
    **options: Any,
) -> Any:
    """The figure of ``make`` for dark or light ground, drawn once for all visitors who see the same, and shown.

    The same is what has the same ``of`` and ``how`` (see ui/shared.py). ``what`` it shows begins its
    words, or gives all of them. Where ``make`` finds nothing to draw, nothing is shown, and None is returned; axes
    without any curve are not shown either, but why.
    """
    dark = theme.is_dark()

    def picture() -> Picture | None:
        drawn = make(dark)
        if drawn is None:
            return None
        return Picture(drawn, charts.read_aloud(drawn, what) if isinstance(what, str) else what())

    shown = shared.once(name or key, of, (*how, dark), picture)
    if shown is not None and not shown.to_dict()["data"]:
        return st.caption("Nothing to draw: no method that belongs here has been run, or all are hidden.")
    return None if shown is None else show(shown, key, **options)


def beside(of: Any, *pictures: tuple[str, str, Callable[[bool], go.Figure], Any, str], how: Hashable = None) -> None:
    """Pictures side by side: for each its heading, key, what draws it and what it shows (see `draw`), and a caption."""
    for column, (heading, key, make, what, caption) in zip(st.columns(len(pictures)), pictures, strict=True):
        with column:
            if heading:
                st.markdown(heading)
            draw(key, of, make, what, how)
            st.caption(caption)


MIMES = {
    "csv": "text/csv", "json": "application/json", "html": "text/html", "tex": "application/x-tex",
    "md": "text/markdown", **printing.KINDS,
}  # fmt: skip


def download(
    place: Any, label: str, data: Any, file_name: str, help: str, width: str = "stretch", **options: Any
) -> None:
    """A button for a file, which is made (``data`` is a function) when someone presses it, of what is shown now."""
    mime = MIMES[file_name.rpartition(".")[2]]
    place.download_button(
        label,
        data=own_data.bound(data),
        file_name=file_name,
        mime=mime,
        on_click="ignore",
        help=help,
        width=width,
        **options,
    )


def for_print(draw: Callable[[], go.Figure], file_name: str) -> None:
    """The curves of ``draw`` for papers and slides, at a size and with letters of the visitor's choice."""
    first, second, third = st.columns(3)
    place = first.selectbox("Size", list(printing.SIZES), key="print-size", help="How large the picture is printed.")
    size = printing.SIZES[place]
    font = second.selectbox(
        "Letters",
        list(printing.FONTS),
        key="print-font",
        help="The PDF carries them with it. Latin and Greek; signs of other scripts become boxes.",
    )
    points = page_fields.draw(POINTS, size.points, f"print-points-{place}", third)

    def printed(kind: str) -> bytes:
        return printing.file_of(draw(), kind, size, font, points)

    for column, kind in zip(st.columns(3), printing.KINDS, strict=True):
        data = partial(printed, kind)
        message = "Pixels." if kind == "png" else "Lines and letters: sharp at every size."
        download(column, f"Picture ({kind.upper()})", data, f"{file_name}.{kind}", message, key=f"print-{kind}")
    pixels = " × ".join(str(round(side / 2.54 * printing.DPI)) for side in (size.width, size.height))
    st.caption(
        f"{size.width:g} × {size.height:g} cm with {font} letters of {points} pt; the PNG has {pixels} pixels. "
        "The camera above a chart saves what is shown as SVG."
    )
