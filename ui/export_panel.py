"""Take it along: the page's experiment with a slider, as one HTML file that opens without this server.

Its positions are computed like every other run of a page: with progress, cancellable, within the server's limits.
"""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.export.document import marked_up
from bandit_core.export.page import page as lesson_page
from bandit_core.export.positions import Positions
from ui import exports, figures, page_fields, run_panel, runner, sharing, theme, words
from ui.page_fields import Field

HOMES = ("localhost", "127.0.0.1", "::1")  # addresses that mean another machine wherever the file is opened
MOVED = Field(
    "slider", "The slider moves the", "epsilon", "Either way every position is a simulation of its own; nothing in the "
    "file is interpolated.", "buttons", {"epsilon": "privacy budget ε", "horizon": "number of users"},
)  # fmt: skip
HELP = "One HTML file: picture, sentence and a slider whose positions are all computed now. Opens without any network."


def as_html(markdown: str) -> str:
    """A sentence of this app (names in it through `words.plain`) as HTML."""
    text = html.escape(markdown.replace("\u2060", ""))
    return marked_up(re.sub(r"\\(&#?\w+;|.)", lambda found: found[1].replace("*", "&#42;"), text))


def _lab(page: str) -> str:
    """The address of this lab, where it means the same elsewhere."""
    base = sharing.base(page)
    return "" if urlsplit(base).hostname in (None, *HOMES) else base


def _slider(experiment: Experiment, values: tuple[float, ...] | None) -> str:
    """What the slider moves: budgets on a page about budgets, else as chosen."""
    private = any(line.epsilon is not None for line in experiment.lines)
    if values is not None or not private:
        return "epsilon" if private else "horizon"
    chosen: str = page_fields.draw(MOVED, MOVED.default, "lesson-slider")
    return chosen


def draw(experiment: Experiment, page: str, values: tuple[float, ...] | None = None, overall: str = "") -> None:
    """The button, the run behind it, and the file.

    ``values`` are the budgets of the page's own picture, which then stands first; ``overall`` is HTML of what the page
    says of all of them.
    """
    slider = _slider(experiment, values)
    what = (experiment, slider, values)
    if st.session_state.pop(f"lesson-pressed-{page}", False):  # for what is shown now: controls may have moved since
        st.session_state["lesson-wanted"] = what
    if st.session_state.get("lesson-wanted") != what:
        st.button(
            "Download as an offline lesson (HTML)",
            key=f"take-along-{page}",
            help=HELP,
            on_click=partial(st.session_state.__setitem__, f"lesson-pressed-{page}", True),
        )
        return
    made: list[Positions] = []

    def build() -> Positions:
        made.append(Positions(experiment, slider, values))
        return made[-1]

    try:
        results = runner.study_of(build, what, "lesson")
    except InputError as error:
        for issue in error.issues:
            st.error(words.issue(issue), icon=":material/speed:")
        run_panel.elsewhere(experiment, exports.lesson_command(slider, values), "lesson")
        return
    if not results or not all(result.complete for result in results):
        return
    pairs = zip(*(theme.line_colours(experiment, dark) for dark in (False, True)), strict=True)
    settings: dict[str, Any] = {
        "base": _lab(page),
        "overall": overall,
        "first": "users" if values is None else "budgets",
        "colours": [(theme.as_text(light, False), theme.as_text(dark, True)) for light, dark in pairs],
    }
    name, data = f"{exports.file_name(experiment)}-lesson.html", partial(lesson_page, made[0], results, **settings)
    figures.download(st, "Save the lesson (HTML)", data, name, HELP, "content", type="primary")
