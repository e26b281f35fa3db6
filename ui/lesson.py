"""A lesson: what a link with ``controls=off`` shows. The picture alone in large letters, with one slider; a code that
opens it on a phone; and with ``reveal=off`` private lines that stay hidden until the class has guessed."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np
import plotly.graph_objects as go
import segno
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.presets import shared_budget
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, epsilon_grid, export_panel, menu, page_fields, state, stylesheet
from ui.player.slider import Shipped

Shown = TypeVar("Shown", Result, Shipped)
HEIGHT = 300  # of the picture, so that it stands above the fold of a projector of 960 × 540
SIZE = 18  # of words and numbers in a picture, in pixels
STYLE = f"<style>{stylesheet.asset('lesson.css')}</style>"


def slider(page: menu.Page) -> Experiment:
    """The one control of a lesson, the budget that the private lines share; returns the experiment at its position."""
    base = state.base()
    shared = shared_budget(base)
    if shared is None or shared.fixed is None:
        return state.experiment()
    grid = epsilon_grid.between(0.1, 8)
    epsilon = page_fields.draw(replace(epsilon_grid.SLIDER, allowed=grid), shared.fixed, state.key("lesson-epsilon"))
    try:
        state.commit(trust_table.moved(base, float(epsilon)))
    except InputError as error:
        page_fields.tell(error.issues)
    state.write_address(page)
    return state.experiment()


# ---------------------------------------------------------------------------------------------------------------
# A guess before the answer


def hides_private_lines(where: str) -> bool:
    """Whether the private lines are hidden still; draws the button that shows them."""
    shown = state.key(f"shown-{where}")
    if state.reveal() != "off" or st.session_state.get(shown):
        return False

    def show() -> None:
        st.session_state[shown] = True

    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown("**Guess first:** where will the private lines end?")
    right.button(
        "Show them",
        type="primary",
        key=f"reveal-{where}",
        on_click=show,
        width="stretch",
        help="Draw the private lines.",
    )
    return True


def without_private(result: Shown) -> Shown:
    """The result as if no private line had been played: neither picture nor words tell anything of one."""
    lines = tuple(
        line if stated.entry.privacy == "none" else None
        for line, stated in zip(result.lines, result.experiment.lines, strict=True)
    )
    return replace(result, lines=lines, companions=())


# ---------------------------------------------------------------------------------------------------------------
# The picture


def frame(result: Result) -> tuple[float, float] | None:
    """Range of the vertical axis that stays while the slider moves; None where the axis follows the curves.

    On a log axis up to what choosing at random loses. On a plain one that would flatten all curves, so it is as high as
    the first picture needs, and is doubled for good where a curve would leave it.
    """
    experiment = result.experiment
    if experiment.view.quantity != "regret" or experiment.contexts is not None:
        return None
    if experiment.view.y == "log":
        blind = blind_regret(experiment)
        return (0.0, float(np.log10(1.25 * blind))) if blind > 10 else None
    key = state.key("lesson-top")
    edges = [line.quantile(0.95)[-1] for line in result.lines if line is not None]
    highest = max((float(edge) for edge in edges if np.isfinite(edge)), default=0.0)
    top: float = st.session_state.get(key) or 1.2 * highest or 1.0
    while top < highest:
        top *= 2
    st.session_state[key] = top
    return 0.0, top


def chart(result: Result, before: Result | None, vertical: tuple[float, float] | None, dark: bool) -> go.Figure:
    """Explore's picture for a lesson, with the curves of the slider's last position behind it."""
    figure = charts.regret_chart(result, dark, HEIGHT, False, vertical)  # the legend names the curves, in large letters
    if before is not None:
        charts.add_ghosts(figure, before, result, dark)
    return large(figure)


def large(figure: go.Figure) -> go.Figure:
    """The figure with letters for the last row of a class room."""
    layout = figure.layout
    layout.font.size = layout.legend.font.size = layout.hoverlabel.font.size = SIZE
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.tickfont.size = SIZE
        axis.title.font.size = SIZE
    return figure


# ---------------------------------------------------------------------------------------------------------------
# On every phone


def code(address: str) -> str | None:
    """The address as a QR code, an SVG in black on white; None where it is too long for one."""
    try:
        drawn = segno.make(address, error="m", micro=False)
    except segno.DataOverflowError:
        return None
    return drawn.svg_inline(scale=6, border=3, dark="#000", light="#fff")


def address(page: menu.Page, experiment: Experiment | None, fields: dict[str, str]) -> str:
    """The address of this view with other ``fields`` of links, with an experiment or without."""
    base = export_panel.base_address(page.address)
    if experiment is not None:
        return links.address(experiment, base, page.address, fields)
    query = "&".join(f"{name}={value}" for name, value in fields.items())
    return f"{base.rstrip('/')}/{page.address}" + (f"?{query}" if query else "")


def phone(page: menu.Page, experiment: Experiment | None = None) -> None:
    """A button that opens the code for the phones of a class."""
    mode = {"controls": "off"} if state.lesson() else {}
    if state.reveal() == "off":
        mode["reveal"] = "off"
    where = address(page, experiment, {**state.own_fields(page), **mode})
    with st.popover("Open on your phone", icon=":material/qr_code_2:", help="A code to scan with a phone's camera."):
        scan(where)


def scan(where: str) -> None:
    """An address as a code to scan, and in letters."""
    drawn = code(where)
    if drawn is None:
        st.caption("This link is too long for a code. Shorten labels, or copy the link.")
    else:
        st.image(drawn, width=260, alt=f"QR code of the address {where}")
        st.markdown("**Scan, and move the slider yourself.** Nothing to install, no name asked.")
    st.code(where, language=None, wrap_lines=True)
    if urlsplit(where).hostname in (None, "localhost", "127.0.0.1"):
        st.caption("This address means “this computer”. Open the lab by a name that phones can reach first.")


def foot(page: menu.Page, experiment: Experiment | None = None) -> None:
    """What stands below the picture of a lesson."""
    with st.container(horizontal=True):
        phone(page, experiment)
        link = address(page, experiment, state.own_fields(page))
        st.link_button("Open with all controls", link, icon=":material/tune:", help="In a new tab, with the menu.")
