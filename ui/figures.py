"""A finished picture on a page, and the same for print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ui import charts, printing
from ui.shared import Picture

QUIET: Mapping[str, Any] = {"displayModeBar": False}


def show(
    picture: Picture, key: str, config: Mapping[str, Any] = charts.CONFIG, tall: bool = False, **options: Any
) -> Any:
    """Draw it in the room that it takes from the first moment, so that nothing below moves when it has come.

    A ``tall`` one, the first of a page, takes about half of the window's height (ui/stylesheet.py).
    """
    if "height" not in options:
        options["height"] = "stretch" if tall else int(picture.to_dict()["layout"]["height"])
    with st.container(key=f"tall-{key}") if tall else nullcontext():
        return st.plotly_chart(picture, key=key, config=dict(config), alt=picture.alt, **options)


def for_print(draw: Callable[[], go.Figure], file_name: str, key: str = "print") -> None:
    """The curves of ``draw`` for papers and slides, at a size and with letters of the visitor's choice."""
    first, second, third = st.columns(3)
    place = first.selectbox("Size", list(printing.SIZES), key=f"{key}-size", help="How large the picture is printed.")
    size = printing.SIZES[place]
    font = second.selectbox(
        "Letters",
        list(printing.FONTS),
        key=f"{key}-font",
        help="The PDF carries them with it. Latin and Greek; signs of other scripts become boxes.",
    )
    points = third.number_input(
        "Size of letters (pt)",
        5,
        48,
        size.points,
        key=f"{key}-points-{place}",
        help="In the printed picture; lines and markers grow with them.",
    )
    for column, (kind, mime) in zip(st.columns(3), printing.KINDS.items(), strict=True):
        column.download_button(
            f"Picture ({kind.upper()})",
            data=partial(_printed, draw, kind, size, font, points),
            file_name=f"{file_name}.{kind}",
            mime=mime,
            on_click="ignore",
            width="stretch",
            key=f"{key}-{kind}",
            help="Pixels." if kind == "png" else "Lines and letters: sharp at every size.",
        )
    pixels = " × ".join(str(round(side / 2.54 * printing.DPI)) for side in (size.width, size.height))
    st.caption(
        f"{size.width:g} × {size.height:g} cm with {font} letters of {points} pt; the PNG has {pixels} pixels. "
        "The camera above a chart saves what is shown as SVG."
    )


def _printed(draw: Callable[[], go.Figure], kind: str, size: printing.Size, font: str, points: float) -> bytes:
    return printing.file_of(draw(), kind, size, font, points)


def fold_for_print(draw: Callable[[], go.Figure], file_name: str, key: str = "print") -> None:
    """The same behind a headline, made when it is opened."""
    fold = st.expander("Picture for a paper or a slide", key=f"{key}-fold", on_change="rerun")
    if fold.open:
        with fold:
            for_print(draw, file_name, key)
