"""The address of Your numbers: the typed numbers, read, remembered and written; nothing of an upload stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from bandit_core.data.tables import LARGEST
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.feedback import MAX_VISITS, MAX_WAITING
from bandit_core.studies.business_case import GOALS
from bandit_core.studies.price import LEAST_EPSILON, MAX_EPSILON, MAX_WEEKLY, read_epsilons
from bandit_core.studies.sales import LARGEST as SALES
from bandit_core.studies.several_tests import MAX_DELTA, MAX_TESTS
from ui import page_fields, state

MAX_USERS = 10**8
SEARCHES = ("nothing", "epsilon", "users", "both")
DEFAULTS = {
    "as": "share",
    "base": "10",
    "lifts": "20, 50",
    "by": "percent",
    "least": "0",
    "most": "100",
    "sale": "40",
    "sd": "40",
    "users": "50000",
    "week": "5000",
    "unit": "conversions",
    "eps": "2",
    "goal": "price",
    "limit": "2",
    "search": "nothing",
    "delta": "0.05",
    "power": "0.8",
    "rule": "proved",
    "list": "0.5, 1, 2, 4",
    "times": "1",
    "night": "1",
    "zone": "0",
    "tests": "4",
    "slack": "0",
}
CHOICES = {
    "as": ("share", "amount", "sales"),
    "by": ("percent", "plain"),
    "goal": GOALS,
    "search": SEARCHES,
    "rule": ("proved", "heuristic"),
}
RANGES = {  # of the numbers in the address
    **dict.fromkeys(("base", "least", "most"), (-LARGEST, LARGEST)),
    **dict.fromkeys(("sale", "sd"), (1e-6, SALES)),
    "users": (10, MAX_USERS),
    "week": (1, MAX_WEEKLY),
    "times": (1, MAX_VISITS),
    "night": (1, MAX_WAITING),
    "zone": (0.0, 1000.0),
    "tests": (1, MAX_TESTS),
    "slack": (0.0, MAX_DELTA),
    "eps": (LEAST_EPSILON, MAX_EPSILON),
    "limit": (1e-12, LARGEST),
    "delta": (0.0001, 0.3),
    "power": (0.5, 0.999),
}
WHOLE = ("users", "week", "times", "night", "tests")
_MEMORY = "your-numbers"


def page_memory() -> dict[str, Any]:
    return st.session_state.setdefault(
        _MEMORY, {"address": {}, "generation": 0, "fields": dict(DEFAULTS), "issues": []}
    )


def open_link() -> None:
    """Take over typed numbers from the address, if it says something new; what cannot be used is told.

    It is told until the visitor sets the field, because a page that waits for its numbers draws itself many times.
    """
    memory = page_memory()
    asked = {name: st.query_params[name] for name in DEFAULTS if name in st.query_params}
    if asked and asked != memory["address"]:
        memory |= {"address": asked, "generation": memory["generation"] + 1, "issues": _take(asked)}
    fields = memory["fields"]
    page_fields.tell([issue for issue in memory["issues"] if fields[issue.path] == DEFAULTS[issue.path]])


def _take(asked: Mapping[str, str]) -> list[Issue]:
    """Remember what an address asks for, with defaults for what cannot be used, which is returned."""
    fields = {**DEFAULTS, **asked}
    issues = [
        Issue(name, fields[name], f"one of {', '.join(allowed)}")
        for name, allowed in CHOICES.items()
        if fields[name] not in allowed
    ]
    for name, (low, high) in RANGES.items():
        value, whole = notation.read_number(fields[name]), name in WHOLE
        if isinstance(value, str) or not low <= value <= high or (whole and value != int(value)):
            issues.append(Issue(name, fields[name], f"a {'whole ' * whole}number from {low:g} to {high:g}"))
    try:
        read_epsilons(fields["list"])
    except InputError as error:
        issues.append(Issue("list", fields["list"], error.issues[0].allowed))
    if fields["search"] in ("users", "both") and fields["goal"] != "percent":
        issues.append(Issue("search", fields["search"], "users are searched where goal=percent only"))
    for issue in issues:
        fields[issue.path] = DEFAULTS[issue.path]
    page_memory()["fields"] = fields
    return issues


def first_value(name: str) -> str:
    return page_memory()["fields"][name]


def number_at_first(name: str) -> float:
    return float(notation.read_number(first_value(name)))


def key_of(name: str) -> str:
    return f"own-{name}:{page_memory()['generation']}"


def remember(**fields: str) -> None:
    """Remember what the controls say, so that it survives a visit to another page."""
    page_memory()["fields"] |= fields


def searches(axis: str, label: str, private: bool, help: str, offered: bool = True) -> bool:
    """A switch for one of the searches, ``epsilon`` or ``users``, which the address carries; off where not offered."""
    before = {name for name in ("epsilon", "users") if first_value("search") in (name, "both")}
    on = offered and st.toggle(label, axis in before, key=key_of(f"search-{axis}"), help=help)
    after = before | {axis} if on else before - {axis}
    remember(search="both" if len(after) == 2 else next(iter(after), "nothing"))
    write_address(private)
    return on


def write_address(private: bool) -> None:
    """Let the address follow the typed numbers; nothing of an upload ever stands in it."""
    fields = page_memory()["fields"]
    wanted = {} if private else {name: text for name, text in fields.items() if text != DEFAULTS[name]}
    state.keep_page_fields({name: wanted.get(name) for name in DEFAULTS})
    page_memory()["address"] = wanted


def link() -> str:
    """The address of this page with the typed numbers."""
    fields = {name: text for name, text in page_memory()["fields"].items() if text != DEFAULTS[name]}
    base = (st.context.url or "").split("?")[0]
    return base + (f"?{urlencode(fields)}" if fields else "")
