"""Pages, styles and scripts that stand in files of ui/assets, with blanks such as ``$head`` in those that have some."""

from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import streamlit as st

ASSETS = Path(__file__).with_name("assets")


@cache
def text(name: str) -> str:
    """The file of that name, read once."""
    return (ASSETS / name).read_text("utf-8")


def filled(name: str, **parts: object) -> str:
    """The file of that name with its blanks filled in."""
    return Template(text(name)).substitute(parts)


def component(name: str, folder: Path, files: str) -> Any:
    """A component of Streamlit whose page, style and script are ``files``.html, .css and .js of a folder."""
    html, css, js = ((folder / f"{files}.{ending}").read_text("utf-8") for ending in ("html", "css", "js"))
    return st.components.v2.component(name, html=html, css=css, js=js)
