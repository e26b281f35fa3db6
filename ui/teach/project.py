"""A lesson on a projector: the full window, large letters, one picture, one slider, and keys."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from ui import figures, lesson, page_fields, state, stylesheet, templates, theme
from ui.learn import answers, course
from ui.learn.measured import Number
from ui.learn.step import Step, with_unit
from ui.teach import board
from ui.teach.board import Room

HEIGHT = 420  # of the picture, for a browser that does not stretch it
_MEASURED = "project-measured"  # by lesson, in this visit
_SHOWN = "project-shown"  # names of the lessons whose answer was shown in this visit
NEAR = 0.09  # of the height of a picture: labels at the ends of curves are that far apart


def _shown() -> set[str]:
    shown: set[str] = st.session_state.setdefault(_SHOWN, set())
    return shown


def _go(step: Step, room: Room | None) -> None:
    """Callback: another lesson, and the class goes along."""
    if room is not None:
        board.lead(room, step)
    else:
        state.keep_page_fields({"step": course.address(step), "at": None, answers.OTHER: None})


def open_window(step: Step) -> None:
    """Callback: a lesson fills the window. A link to the page that one is on would lose its fields."""
    st.query_params["controls"] = "off"
    state.keep_page_fields({"step": course.address(step), "at": None, answers.OTHER: None, "class": None, "key": None})


def _close(step: Step) -> None:
    """Callback: the page Teach again."""
    st.query_params.pop("controls", None)
    state.keep_page_fields({"step": course.address(step), "at": None, answers.OTHER: None, "class": None, "key": None})


def draw() -> None:
    """The whole window."""
    room = board.room()
    field = page_fields.choice("step", "1", course.ADDRESSES)
    step = course.ADDRESSES[field] if room is None else course.named(room.now.step)
    answers.check(step)
    shown = room.now.revealed if room is not None else step.name in _shown()
    st.html(stylesheet.PROJECT)
    with st.container(key="project"):
        title, way = st.columns([2, 1], vertical_alignment="center")
        title.title(course.title(step))
        with way:
            _way(step, room)
        if shown:
            _answer(step, room)
        else:
            st.markdown(step.idea)
            _question(step, room)
    st.html(f"<script>{templates.text('project.js')}</script>", unsafe_allow_javascript=True)


def _way(step: Step, room: Room | None) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        for name, by, icon, about in (
            ("Back", -1, "arrow_back", "Key Page Up: the lesson before."),
            ("Next", 1, "arrow_forward", "Key Page Down: the next lesson."),
        ):
            other = course.beside(step, by)
            key, last = f"project-{name.lower()}", other is None
            answers.button(name, key, about, _go, other, room, icon=icon, disabled=last)
        answers.button("Close", "project-close", "Back to Teach. A class goes on.", _close, step, icon="close")


def _question(step: Step, room: Room | None) -> None:
    asked, right = st.columns([3, 4], gap="large")
    with asked:
        if room is not None and step.coins:
            st.subheader(step.coins)
            board.share_now(room.code, step)
        else:
            st.subheader(step.asks())
            if step.options:
                st.markdown("\n".join(f"- {label}" for label in step.options))
    with right:
        if room is not None:
            board.join(room)
        else:
            answers.scene(step, HEIGHT)
    with asked:
        if room is None:
            about = "Key R. Shows the answer."
            answers.button("Reveal", "project-reveal", about, _shown().add, step.name, type="primary")


def _answer(step: Step, room: Room | None) -> None:
    if room is not None and step.coins:
        st.subheader(step.coins)
        board.share(room, step)
        st.markdown(f"**So: {step.so}**")
        return
    at, asked = answers.position(step), step
    asking, place = st.container(), st.container()
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="center")
    with left.container(key="project-slider"):
        at, step = answers.slider(step, at), answers.other(step)
    with place:
        picture, guesses = st.columns([3, 2], gap="medium") if room is not None else (st.container(), None)
        with picture.container(key="project-picture"):
            content = answers.content(step, at, "project")
            if content is None:
                return
            figure = labelled(lesson.large(step.draw(content, at, theme.is_dark(), HEIGHT)))
            figure.layout.height, figure.layout.margin.t = None, 10  # the height is that of the window
            answers.picture(figure, step.title, "project-chart", figures.QUIET, height="stretch")
        measured = _measured(asked)
        if room is not None and guesses is not None:
            with guesses:
                board.guessed(room, step, measured)
    with asking:
        _asked(asked, measured)
    right.markdown(step.says(content, at))


def _measured(step: Step) -> Number | None:
    """What the question asked for, once it is known: kept, as its result may be gone while the slider moves."""
    measured: dict[str, Number] = st.session_state.setdefault(_MEASURED, {})
    if step.name not in measured:
        content = answers.content(step, step.slider.start, "project-asked")
        if content is not None:
            measured[step.name] = step.measured(content, step.slider.start)
    return measured.get(step.name)


def _asked(step: Step, measured: Number | None) -> None:
    """The question with its choices, those that fit ticked, and the answer in large digits."""
    question, answer = st.columns([3, 1], gap="medium", vertical_alignment="center")
    fits = [measured is not None and step.guess.fits(place, measured) for place in range(len(step.options))]
    shown = [f"**✓ {label}**" if fit else label for label, fit in zip(step.options, fits, strict=True)]
    question.markdown(f"**{step.asks()}**\n\n{' · '.join(shown)}")
    if measured is not None:
        value, _, error = str(measured).partition(" ± ")
        answer.metric("Measured" + f" (± {error}, one standard error)" * bool(error), with_unit(value, step.unit))


def labelled(figure: go.Figure) -> go.Figure:
    """The figure with names at the right ends of its curves in place of a legend, where it has curves alone."""
    curves = [
        trace for trace in figure.data if trace.type == "scatter" and trace.name and trace.showlegend is not False
    ]
    axis = figure.layout.yaxis
    apart = len(curves) == len([trace for trace in figure.data if trace.showlegend is not False])
    if (
        not apart
        or figure.layout.showlegend is False
        or axis.range is None
        or any("lines" not in (trace.mode or "") for trace in curves)
    ):
        return figure
    low, high = axis.range
    ends = []
    for trace in curves:
        value = float(np.asarray(trace.y, float)[-1])
        height = np.log10(value) if axis.type == "log" and value > 0 else value
        ends.append((height, trace))
    ends.sort(key=lambda each: each[0])
    place = -np.inf
    for height, trace in ends:
        place = max(height, place + NEAR * (high - low))
        figure.add_annotation(
            x=1, xref="x domain", xanchor="left", xshift=8, y=place, yref="y", text=trace.name, showarrow=False,
            align="left", font={"color": trace.line.color, "size": lesson.SIZE},
        )  # fmt: skip
    longest = max(len(trace.name) for trace in curves)
    figure.layout.xaxis.domain = (0, 1 - min(0.3, 0.012 * longest))
    figure.layout.showlegend = False
    return figure
