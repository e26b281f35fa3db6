"""What cannot be used of what a visitor said: a message under its control, in the words of the screen."""

from __future__ import annotations

import re

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.policies import registry
from bandit_core.spec.errors import Issue
from ui import words

_PARTS = {"epsilon": "own budget", "law": "distribution", "dimension": "features", "lines": "policies", "params": ""}
MOST = 5  # messages under one control
_LAST_PART = re.compile(r"(\.?[^.\[\]]+|\[[^\]]*\])$")


def on_screen(issue: Issue, home: str = "", name: str = "") -> Issue:
    """The issue in words of the screen; the path to it begins with that of a control, ``home``, which has a name."""
    found = re.findall(r"\[(\d+)\]|([^.\[\]]+)", issue.path.removeprefix(home))
    parts = [f"entry {int(place) + 1}" if place else _PARTS.get(part, part.replace("_", " ")) for place, part in found]
    titles = {policy: entry.title for policy, entry in registry().items()}
    names = "|".join(sorted(titles, key=len, reverse=True))
    allowed = re.sub(rf"(?<![\w-])({names})(?![\w-])", lambda policy: titles[policy[0]], issue.allowed)
    inside = isinstance(issue.value, dict) or issue.path.endswith("policy")
    message = ", ".join(filter(None, parts)) or name
    return Issue(words.sentence(message), None if inside else issue.value, f"{allowed}.")


class Problems(list[Issue]):
    """The issues of one drawing of the sidebar, and the places below its controls."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, tuple[str, DeltaGenerator]] = {}

    def under(self, whole: str, part: str, name: str) -> None:
        """Here, below the control called ``name``, stands what is wrong with that part of the experiment."""
        self._places[whole + part] = name, st.container()

    def home(self, issue: Issue) -> str:
        """The path of the control that an issue belongs to; empty where that control is not drawn."""
        path = issue.path
        while path not in self._places and path:
            path = _LAST_PART.sub("", path)
        return path

    def place(self, issue: Issue) -> DeltaGenerator | None:
        """The place below the control that an issue belongs to."""
        home = self.home(issue)
        return self._places[home][1] if home else None

    def tell(self) -> None:
        """Say what is wrong under each control; and on the page, that its picture is the last valid one."""
        by_label: dict[str, list[Issue]] = {}
        for issue in self:
            by_label.setdefault(self.home(issue), []).append(issue)
        elsewhere = by_label.pop("", [])
        for home, issues in by_label.items():
            name, place = self._places[home]
            place.error("\n\n".join(words.issue(on_screen(issue, home, name)) for issue in issues[:MOST]))
        names = dict.fromkeys(f"**{words.plain(self._places[home][0])}**" for home in by_label)
        if names:
            message = f"The last valid answer; see the message under {' and '.join(names)} in the sidebar."
            st.warning(message, icon=":material/history:")
        if elsewhere:
            st.error(f"The last valid answer.\n{words.issues(list(map(on_screen, elsewhere)))}")
        st.html("<style>[data-testid=stMain] [data-testid=stPlotlyChart]{opacity:.4}</style>")
