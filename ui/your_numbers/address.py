"""What is typed on Your numbers: a row of a table for each control. The address carries it, but no upload."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from bandit_core.data.tables import LARGEST
from bandit_core.policies.stopping import Rule
from bandit_core.spec import own_data
from bandit_core.spec.errors import Issue
from bandit_core.spec.feedback import MAX_VISITS, MAX_WAITING
from bandit_core.spec.found import fields_of
from bandit_core.studies.accounts import MAX_DELTA, MAX_TESTS
from bandit_core.studies.business_case import GOALS
from bandit_core.studies.business_case import LARGEST_AMOUNT as SALES
from bandit_core.studies.price import LEAST_EPSILON, LOOKS, MAX_EPSILON, MAX_LOOKS, MAX_WEEKLY, read_epsilons
from ui import epsilon_grid, page_fields, state
from ui.page_fields import Field, Fields
from ui.your_numbers import question

RULES: dict[Rule, str] = {"proved": "proved", "heuristic": "heuristic, no proof"}
ANY, PURCHASE = (-LARGEST, LARGEST), (1e-6, SALES)


def _field(name: str, default: Any, *how: Any, **more: Any) -> Field:
    """A control whose words stand in question.toml."""
    words = fields_of(question.__file__, name)
    return Field(name, words["label"], default, words.get("help", ""), *how, **more)


FIELDS = Fields(
    "own",
    _field("as", "share", "buttons", {"share": "success rate", "amount": "amount", "sales": "sales"}),
    _field("base", 10.0, "number", ANY),
    _field("lifts", "20, 50", "text", key="new-lifts"),
    _field("by", "percent", "box", ("percent", "plain")),
    _field("least", 0.0, "number", ANY),
    _field("most", 100.0, "number", ANY),
    _field("sale", 40.0, "number", PURCHASE),
    _field("sd", 40.0, "number", PURCHASE),
    _field("users", 50_000, "number", (10, 10**8), step=1000, place="users"),
    _field("week", 5000, "number", (1, MAX_WEEKLY), step=1000, place="weekly"),
    _field("unit", "conversions", "text", place="unit"),
    _field("eps", 2.0, "stops", epsilon_grid.between(0.05, 10), place="slider", ends=(LEAST_EPSILON, MAX_EPSILON)),
    _field("times", 1, "number", (1, MAX_VISITS), place="visits"),
    _field("night", 1, "number", (1, MAX_WAITING), place="batch"),
    _field("delta", 0.05, "number", (0.0001, 0.3), step=0.01, place="delta"),
    _field("power", 0.8, "number", (0.5, 0.999), step=0.05, place="power"),
    _field("looks", LOOKS, "number", (2, MAX_LOOKS), place="looks"),
    _field("split", 1.0, "number", (0.1, 10.0), step=0.5, place="split"),
    _field("sides", False, "switch", place="one_sided"),
    _field("trust", False, "switch", place="all_trusts"),
    _field("zone", 0.0, "number", (0.0, 1000.0), step=1.0, place="zone"),
    _field("rule", "proved", "buttons", RULES, place="rule"),
    _field("list", "0.5, 1, 2, 4", "text", read_epsilons),
    _field("tests", 4, "number", (1, MAX_TESTS)),
    _field("slack", 0.0, "number", (0.0, MAX_DELTA), step=1e-6),
    _field("goal", "price", "box", GOALS),
    _field("limit", 2.0, "number", (1e-12, LARGEST)),
    _field("search", "nothing", "box", ("nothing", "epsilon", "users", "both")),
)
ask, said = FIELDS.ask, FIELDS.said


def open_link() -> None:
    """Say what of a link cannot be used, also of controls in folds that are closed."""
    found = {name: said(name) for name in FIELDS}
    if found["search"] in ("users", "both") and found["goal"] != "percent":
        page_fields.refuse(Issue("search", found["search"], "users are searched where goal=percent only"))
        page_fields.keep(FIELDS["search"], "nothing")


def searches(axis: str, offered: bool, **values: object) -> bool:
    """A switch for one of the searches, ``epsilon`` or ``users``, which the address carries; off where not offered."""
    before = {name for name in ("epsilon", "users") if said("search") in (name, "both")}
    words = fields_of(question.__file__, f"search {axis}", **values)
    on = offered and st.toggle(**words, value=axis in before, key=state.own_key(f"own-search-{axis}"))
    after = before | {axis} if on else before - {axis}
    page_fields.keep(FIELDS["search"], "both" if len(after) == 2 else next(iter(after), "nothing"))
    write_address()
    return on


def _written() -> dict[str, str]:
    """What differs from the defaults."""
    return {name: row.text(said(name)) for name, row in FIELDS.items() if said(name) != row.default}


def write_address() -> None:
    """Let the address follow the typed numbers; nothing of an upload ever stands in it."""
    state.send_page_fields({} if own_data.store() else _written())


def link() -> str:
    """The address of this page with the typed numbers."""
    fields = _written()
    return (st.context.url or "").split("?")[0] + (f"?{urlencode(fields)}" if fields else "")
