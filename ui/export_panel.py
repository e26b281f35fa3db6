"""Take it along: the page's experiment with a slider as one HTML file, and its links."""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.experiments import links
from bandit_core.export.page import Positions, marked_up
from bandit_core.export.page import page as lesson_page
from ui import exports, figures, menu, page_fields, runner, state, stylesheet, theme, words
from ui.page_fields import Field

# ---------------------------------------------------------------------------------------------------------------------
# Links of the picture on the screen: to copy, and to embed in slides or a course page.


LESSON = {"embed": "true", "controls": "off"}

# Runs when a popover opens. Where a page comes by plain http from another host, only the old way of copying works.
_copy = st.components.v2.component(
    "copy",
    html='<p role="status"></p>',
    css="p{margin:0;font:.875rem var(--st-font);color:var(--st-text-color)}",
    js=stylesheet.asset("copy.js"),
)


def base_address(page: str) -> str:
    """The address of the app, seen from the page with that address."""
    return (st.context.url or "").split("?")[0].rstrip("/").removesuffix(f"/{page}" if page else "").rstrip("/")


def places() -> list[DeltaGenerator]:
    """Copy link and Embed link, side by side, and in each the place for what `panel` writes.

    They stay while the page is drawn: who presses one too early sees the new link come, and has it.
    """
    names = {"Copy link": "The address of this picture.", "Embed link": "The same picture without sidebar and menu."}
    return [
        column.popover(name, width="stretch", help=help).empty()
        for column, (name, help) in zip(st.columns(2), names.items(), strict=True)
    ]


def panel(page: str, to: list[DeltaGenerator], drawn: list[Any]) -> None:
    """The links in their `places`: before the page waits for numbers, and at its end.

    ``drawn`` is what this run of the page has drawn before: the same is not drawn again.
    """
    now, own = state.experiment(), state.own_fields(menu.at(page))
    if drawn[-1:] == [(now, own)]:
        return
    drawn.append((now, own))
    here, key = base_address(page), len(drawn)
    unread, (left, right) = links.unread(now), (place.container() for place in to)
    if unread:
        for place in (left, right):
            place.warning(
                "**No link opens this picture.** Download the settings file instead.\n" + words.issues(unread)
            )
        return
    with left:
        _copied(links.address(now, here, page, own), f"copy-link-{key}")
        if links.too_long(now):
            st.warning("This link is too long for some programs. Download the settings file instead.")
    with right:
        st.caption("For slides or a course page.")
        _copied(links.address(now, here, page, {**own, **LESSON}), f"copy-embed-{key}")


def _copied(address: str, key: str) -> None:
    """The address, which goes into the clipboard when the popover around it opens."""
    _copy(key=key, data=address)
    st.code(address, language=None, wrap_lines=True)


# ---------------------------------------------------------------------------------------------------------------------
# Take it along: the page's experiment with a slider, as one HTML file that opens without this server.
#
# Its positions are computed like every other run of a page: with progress, cancellable, within the server's limits.


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
    base = base_address(page)
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
        runner.elsewhere(experiment, exports.lesson_command(slider, values), "lesson")
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
