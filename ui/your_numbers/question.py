"""What a visitor of Your numbers asks: options and setting; the address carries what is typed, but no upload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from bandit_core.data.observations import Option
from bandit_core.data.spreadsheets import defused
from bandit_core.data.tables import LARGEST
from bandit_core.policies.stopping import Rule
from bandit_core.spec import own_data
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.errors import Issue
from bandit_core.spec.feedback import MAX_VISITS, MAX_WAITING
from bandit_core.spec.found import fields_of
from bandit_core.spec.number_text import percent
from bandit_core.studies import price
from bandit_core.studies.business_case import GOALS, Options, ranges_of
from bandit_core.studies.business_case import LARGEST_AMOUNT as SALES
from bandit_core.studies.production import MAX_DELTA, MAX_TESTS
from ui import epsilon_grid, page_fields, state, words
from ui.page_fields import Field, Fields

# ---------------------------------------------------------------------------------------------------------------------
# What a visitor of Your numbers asks: the options, and the setting.


def text(key: str, **values: object) -> str:
    """What the page says under that name in question.toml, with its blanks filled in."""
    return str(fields_of(__file__, key, **values)["text"])


def control(key: str) -> dict[str, Any]:
    """Label and help of a control, under that name in question.toml."""
    return fields_of(__file__, key)


@dataclass(frozen=True, kw_only=True)
class Asked(Options):
    """The options of the question: arms in [0, 1], and what 0 and 1 stand for in the visitor's unit.

    ``observed`` are the uploaded rewards as they are; methods with privacy see them cut to ``limits``. ``amounts`` says
    whether more than 0 and 1 is left of them then.
    """

    names: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    observed: tuple[Option, ...] | None = None  # None where the numbers were typed
    sure: str = ""  # how sure one can be which option is best
    unit: str = ""  # of typed means: "%" where they are rates
    cut: str = ""  # which rewards the limits cut, and what that moves
    checks: tuple[str, ...] = ()  # what a careful reader would see in the file
    limits: tuple[float, float] | None = None  # in the visitor's unit; None where they cut nothing
    amounts: bool = False
    misled: str = ""  # which option looks best after the cut in place of which, as a clause; empty where the best does
    clip: tuple[float, float] | None = None  # the limits in units of the arms

    @property
    def scale(self) -> float:
        """What a reward of 1 in the simulation is worth."""
        return self.high - self.low

    @property
    def note(self) -> str:
        """What to remember wherever the answer goes."""
        return " ".join(filter(None, (self.cut, *self.checks)))

    @property
    def means(self) -> np.ndarray:
        """Mean reward of each option before any cut, in the visitor's unit."""
        return np.array([self.low + self.scale * arm.expected for arm in self.arms])

    @property
    def rows(self) -> list[dict[str, str]]:
        """The options as text, a row for each: mean and lift; of those observed also what is known of them."""
        rows, means = list[dict[str, str]](), self.means
        for name, mean, shown, seen in zip(self.names, means, spans(self), self.observed or self.arms, strict=True):
            lift = f"{words.number(100 * (mean - means[0]) / abs(means[0]), 3)}%" if rows and means[0] else "–"
            row = {"option": defused(name), "mean per user": shown, "lift": lift}
            if isinstance(seen, Option):
                row["observations"] = f"{seen.count:,}"
                row["95% interval"] = " to ".join(map(words.number, seen.interval or ())) or "unknown"
                if self.limits:
                    outside = seen.outside(*self.limits)
                    row["cut"] = f"{outside:,} ({percent(outside / seen.count)})"
                    row["mean after the cut"] = words.number(seen.clipped(*self.limits).mean)
                row |= {"smallest": words.number(seen.low), "largest": words.number(seen.high)}
            rows.append(row)
        return rows

    @property
    def best(self) -> str:
        """Which option is best, and in what share of the draws, safe inside markdown."""
        means = np.array([[arm.expected for arm in arms] for arms in self.draws or (self.arms,)])
        shares = np.mean(means == means.max(axis=1, keepdims=True), axis=0)
        if not self.draws:
            return f"**{' and '.join(np.array(self.names)[shares == 1])}**"
        first = int(np.argmax(shares))
        return f"**{self.names[first]}**, in {percent(float(shares[first]))} of the cases"


def spans(asked: Asked | price.PriceQuestion) -> list[str]:
    """Mean of each option in words, or its range; rates in percent."""
    rate = asked.unit == "%" if isinstance(asked, Asked) else asked.scale == 1
    ends = ranges_of(asked.beliefs) or [(arm.expected, arm.expected) for arm in asked.arms]
    worth, unit = (100, "%") if rate else (1, "")
    shown = [[words.number(worth * (asked.low + asked.scale * end)) + unit for end in pair] for pair in ends]
    return [" to ".join(dict.fromkeys(pair)) for pair in shown]


@dataclass(frozen=True)
class Setting:
    """How many users, how they come, what the reward is called, what privacy they want, and what tests may get wrong.

    ``budgets`` are compared; ``slider`` is the budget of tests where users have budgets of their own. ``zone`` is in
    percent of the first option.
    """

    users: int
    unit: str
    epsilon: float | Epsilon
    weekly: int = 5000
    visits: int = 1
    batch: int = 1
    delta: float = 0.05
    power: float = 0.8
    rule: Rule = "proved"
    zone: float = 0.0
    looks: int = price.LOOKS
    split: float = 1.0
    one_sided: bool = False
    all_trusts: bool = False
    budgets: tuple[float, ...] = price.EPSILONS
    slider: float = 2.0

    @property
    def tested(self) -> float:
        """The budget of tests."""
        return self.epsilon if isinstance(self.epsilon, float) else self.slider

    @property
    def budget(self) -> str:
        """The budget in a few words, safe inside markdown."""
        return f"ε = {self.epsilon:g}" if isinstance(self.epsilon, float) else "your users' own ε"


# ---------------------------------------------------------------------------------------------------------------------
# What is typed on Your numbers: a row of a table for each control. The address carries it, but no upload.


RULES: dict[Rule, str] = {"proved": "proved", "heuristic": "heuristic, no proof"}
ANY, PURCHASE, BUDGETS = (-LARGEST, LARGEST), (1e-6, SALES), (price.LEAST_EPSILON, price.MAX_EPSILON)


def _field(name: str, default: Any, *how: Any, **more: Any) -> Field:
    """A control whose words stand in question.toml."""
    words = fields_of(__file__, name)
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
    _field("users", 50_000, "number", (10, 10**8), place="users"),
    _field("week", 5000, "number", (1, price.MAX_WEEKLY), place="weekly"),
    _field("unit", "conversions", "text", place="unit"),
    _field("eps", 2.0, "stops", epsilon_grid.between(0.05, 10), place="slider", ends=BUDGETS),
    _field("times", 1, "number", (1, MAX_VISITS), place="visits"),
    _field("night", 1, "number", (1, MAX_WAITING), place="batch"),
    _field("delta", 0.05, "number", (0.0001, 0.3), place="delta"),
    _field("power", 0.8, "number", (0.5, 0.999), place="power"),
    _field("looks", price.LOOKS, "number", (2, price.MAX_LOOKS), place="looks"),
    _field("split", 1.0, "number", (0.1, 10.0), place="split"),
    _field("sides", False, "switch", place="one_sided"),
    _field("trust", False, "switch", place="all_trusts"),
    _field("zone", 0.0, "number", (0.0, 1000.0), place="zone"),
    _field("rule", "proved", "buttons", RULES, place="rule"),
    _field("list", "0.5, 1, 2, 4", "text", price.read_epsilons),
    _field("tests", 4, "number", (1, MAX_TESTS)),
    _field("slack", 0.0, "number", (0.0, MAX_DELTA)),
    _field("goal", "price", "box", GOALS),
    _field("limit", 2.0, "number", (1e-12, LARGEST)),
    _field("search", "nothing", "box", ("nothing", "epsilon", "users", "both")),
)
LIMITS = tuple(_field(f"box {end}", None, "number", ANY) for end in ("low", "high"))  # of amounts in a file
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
    words = fields_of(__file__, f"search {axis}", **values)
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
