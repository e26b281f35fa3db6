"""The pages, as each states itself at the top of its file; read without running or importing any.

A file of ``pages/`` holds one ``PAGE = Page(...)`` with literal arguments; that is all there is to tell of it. Menu,
address, sidebar, the foot of every page and the tests take the pages from here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

# Of the sidebar.
CONTROLS = "arms budget lines own batch delay visits T n seed show price band bounds runs hide"
FOLDER = Path(__file__).resolve().parent.parent / "pages"


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a page says of itself; ``name`` and ``address`` follow from its file.

    ``section`` is the drop-down of the menu that holds the page; without one the page stands in the menu itself.
    ``place`` orders the pages, and the first one is the start page. ``fields`` names, with spaces between, the fields
    of the address that its own controls write; all others belong to the experiment. ``old_fields`` are those that it
    wrote once and still reads. ``sidebar`` names the controls of the experiment that change something on the page (see
    `CONTROLS`), behind the key of a switch of the page where they matter only while it is on; a page without them asks
    its own question and has no sidebar. ``shows`` is the kind of experiment that the page is about (see
    ui/page_requirements.py); while the control with the key ``instead`` says anything but "none", the page shows a
    table of the visitor's in its place, without a sidebar. ``opens`` is the preset that a visitor sees there who has
    chosen no experiment yet, where it is not the default one. ``epsilon_above``: the slider of ε stands on the page and
    not in the sidebar. ``remembers``: what its own fields say outlasts a visit to another page, and the page sends them
    to the address itself (see `state.send_page_fields`). ``icon`` is the name of a Material symbol.
    """

    title: str
    icon: str
    place: float
    section: str = "Lab"
    fields: str = ""
    old_fields: str = ""
    sidebar: str = ""
    shows: str = "any"
    instead: str = ""
    opens: str = ""
    epsilon_above: bool = False
    remembers: bool = False
    name: str = ""
    address: str = ""

    def controls(self, switched_on: Callable[[str], bool]) -> frozenset[str]:
        """The controls of the sidebar, given which switches of the page are on."""
        asked = [name.rpartition(":") for name in (CONTROLS if self.sidebar == "all" else self.sidebar).split()]
        return frozenset(name for switch, _, name in asked if not switch or switched_on(switch))

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
    ordered = sorted(map(_stated, FOLDER.glob("*.py")), key=lambda page: (page.place, page.name))
    return (replace(ordered[0], address=""), *ordered[1:])


def at(address: str) -> Page:
    """The page of that address."""
    return next(page for page in pages() if page.address == address)


def named(name: str) -> Page:
    """The page whose file has that name."""
    return next(page for page in pages() if page.name == name)
