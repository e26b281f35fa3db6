"""Around every page: address in, sidebar, page, address out."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from bandit_core.experiments import links
from bandit_core.simulation.store import default_store
from bandit_core.spec import own_data
from bandit_core.spec.errors import InputError, Issue
from ui import (
    export_panel,
    glossary,
    lesson,
    menu,
    page_fields,
    page_links,
    page_lock,
    page_requirements,
    runner,
    sidebar,
    state,
    theme_watch,
    words,
)

_APP = Path(__file__).resolve().parent.parent / "app.py"


def enter() -> None:
    """First line of every page file: makes sure that the page is run by app.py.

    Streamlit runs a file of ``pages/`` by itself when the very first visitor of a server process opens its address,
    because it learns of ``st.navigation`` only when app.py has run once.
    """
    if not st.session_state.pop("inside", False):
        runpy.run_path(str(_APP), run_name="__main__")
        st.stop()


class _Left(Exception):
    """A page has nothing more to draw."""


def leave() -> NoReturn:
    """End the page here. After ``st.stop()``, Streamlit would also drop what stands around the page."""
    raise _Left


def open_page(page: Any) -> None:
    """Run ``page`` with the shared experiment in place, one visitor's page at a time."""
    with page_lock.drawing(new="page" not in state.memory()):
        with state.drawing():
            _open(page)
        page_lock.settle(page.url_path)
        page_lock.search_for_garbage()


def _open(page: Any) -> None:
    stated, lesson_mode = menu.at(page.url_path), state.lesson()
    own_table = bool(stated.instead) and st.session_state.get(stated.instead, "none") != "none"
    with_sidebar = bool(stated.sidebar) and not own_table
    if with_sidebar and not lesson_mode and "page" in state.memory():  # a first visitor's sidebar is open (app.py)
        st.sidebar.empty()  # opens it before there is anything that would be pushed aside
    if lesson_mode:
        st.html(lesson.STYLE)
    for name, allowed in (
        ("controls", "off hides sidebar and menu, on shows them; they are shown"),
        ("reveal", "off hides private lines until a button is pressed, on shows them; they are shown"),
    ):
        if (asked := st.query_params.get(name, "on")) not in ("on", "off"):
            st.warning(words.issue(Issue(name, asked, allowed)), icon=":material/link_off:")
    page_links.message()
    kind = page_requirements.KINDS[stated.shows]
    state.read_address(stated, kind.old or links.read, kind.example)
    with own_data.held(default_store()):  # until it is known what is shown
        _draw(page, stated, lesson_mode, with_sidebar)


def _draw(page: Any, stated: menu.Page, lesson_mode: bool, with_sidebar: bool) -> None:
    links_of = None
    if stated.sidebar:
        page_requirements.settle(stated)
    own_data.hold(default_store() if state.own_data() else None)
    if with_sidebar and not lesson_mode:
        places = sidebar.draw(stated)
        state.write_address(stated)
        links_of = partial(export_panel.panel, page.url_path, places, [])
        page_lock.before_wait(links_of)
    page_fields.open_place()
    if with_sidebar and not lesson_mode and state.example_of() and state.is_chosen():
        st.caption("This page uses an example; your settings are saved.")
    if with_sidebar and (whose := words.of_the_link(state.experiment())):
        st.caption(whose)
    st.session_state["inside"] = True
    try:
        page.run()
    except _Left:
        pass
    except InputError as error:  # a file that ships is damaged
        st.error(words.issues(error.issues))
    if not lesson_mode:
        runner.origin()
        glossary.footer()
    theme_watch.watch(stated.section)
    if links_of is not None:  # only now all of the page's own controls have written their fields
        links_of()
