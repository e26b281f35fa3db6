"""The pages, as each states itself at the top of its file; read without running or importing any.

A file of ``pages/`` holds one ``PAGE = Page(...)`` with literal arguments; that is all there is to tell of it. Menu,
address, sidebar, the foot of every page and the tests take the pages from here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "pages"


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a page says of itself; ``name`` and ``address`` follow from its file.

    ``place`` orders the menu, and the first page is the start page; ``at_foot`` links it from the foot of every page
    and leaves it out of the menu. ``fields`` names, with spaces between, the fields of the address that its own
    controls write; all others belong to the experiment. A page with ``own_controls`` asks its own question and has no
    sidebar. ``icon`` is the name of a Material symbol.
    """

    title: str
    icon: str
    place: float
    fields: str = ""
    own_controls: bool = False
    at_foot: bool = False
    name: str = ""
    address: str = ""

    @property
    def file(self) -> str:
        """The file as Streamlit knows it."""
        return f"pages/{self.name}.py"

    @property
    def symbol(self) -> str:
        """The icon as Streamlit wants it."""
        return f":material/{self.icon}:"


def _stated(path: Path) -> Page:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGE" and isinstance(node.value, ast.Call):
            said: dict[str, Any] = {word.arg or "": ast.literal_eval(word.value) for word in node.value.keywords}
            return Page(**said, name=path.stem, address=path.stem)
    raise ValueError(f"{path.name} has no PAGE = Page(...)")


@cache
def pages() -> tuple[Page, ...]:
    """Every page, in the order of the menu."""
    found = sorted(map(_stated, FOLDER.glob("*.py")), key=lambda page: (page.place, page.name))
    return (replace(found[0], address=""), *found[1:])


def at(address: str) -> Page:
    """The page of that address."""
    return next(page for page in pages() if page.address == address)


def named(name: str) -> Page:
    """The page whose file has that name."""
    return next(page for page in pages() if page.name == name)
