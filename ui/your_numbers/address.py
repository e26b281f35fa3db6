"""What is typed on Your numbers: a row of a table for each control. The address carries it, but no upload."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from bandit_core.data.tables import LARGEST
from bandit_core.policies.stopping import Rule
from bandit_core.spec import own_data
from bandit_core.spec.errors import Issue
from bandit_core.spec.feedback import MAX_VISITS, MAX_WAITING
from bandit_core.studies.accounts import MAX_DELTA, MAX_TESTS
from bandit_core.studies.business_case import GOALS
from bandit_core.studies.business_case import LARGEST_AMOUNT as SALES
from bandit_core.studies.price import LEAST_EPSILON, LOOKS, MAX_EPSILON, MAX_LOOKS, MAX_WEEKLY, read_epsilons
from ui import epsilon_grid, page_fields, state
from ui.page_fields import Field, Fields

RULES: dict[Rule, str] = {"proved": "proved", "heuristic": "heuristic, no proof"}
ANY, PURCHASE = (-LARGEST, LARGEST), (1e-6, SALES)
FIELDS = Fields(
    "own",
    Field("as", "Outcome per user", "share", "A rate is the share of users who convert, click or recover; an amount "
          "is, for example, euros or minutes. Sales: most users bring nothing, the others amounts that differ.",
          "buttons", {"share": "success rate", "amount": "amount", "sales": "sales"}),
    Field("base", "Baseline", 10.0, "Of the present option.", "number", ANY),
    Field("lifts", "Expected lifts, one per new option", "20, 50", "With commas between them: 20, 50 stands for two "
          "new options, -5 for a loss. 8, 8% and 0.08 are the same; write 0.5% or 50%. You may type a range, 8-15%, or "
          "? if you do not know.", "text", key="new-lifts"),
    Field("by", "Lifts are in", "percent", "A lift of 20 on a baseline of 10 gives 12 in % of the baseline, and 30 in "
          "points or plain amounts.", "box", ("percent", "plain")),
    Field("least", "Smallest amount of one user", 0.0, "Privacy noise must be able to hide the difference between the "
          "smallest and the largest amount.", "number", ANY),
    Field("most", "Largest amount of one user", 100.0, "A wider range needs more noise. Amounts beyond it are cut to "
          "it, so means lie between the two.", "number", ANY),
    Field("sale", "Mean purchase", 40.0, "What a user who buys brings on average. Lifts raise the share of users who "
          "buy.", "number", PURCHASE),
    Field("sd", "Its standard deviation", 40.0, "How much purchases differ. A lognormal distribution is assumed.",
          "number", PURCHASE),
    Field("users", "Users", 50_000, "How many people will be given one of the options.", "number", (10, 10**8),
          step=1000, place="users"),
    Field("week", "Users a week", 5000, "How many people come in a week. It turns numbers of users into weeks.",
          "number", (1, MAX_WEEKLY), step=1000, place="weekly"),
    Field("unit", "One unit of reward is called", "conversions", "The word for what you count: choose one, or type "
          "your own.", "text", place="unit"),
    Field("eps", "What users accept, ε: ← more private · less loss →", 2.0, "The privacy budget: how much one answer "
          "may tell about the person who gave it.", "stops", epsilon_grid.between(0.05, 10), place="slider",
          ends=(LEAST_EPSILON, MAX_EPSILON)),
    Field("times", "Visits of one person", 1, "The ε of a person covers all visits. A test counts one of them, a "
          "learner counts all.", "number", (1, MAX_VISITS), place="visits"),
    Field("night", "Learn after every ... visits", 1, "", "number", (1, MAX_WAITING), place="batch"),
    Field("delta", "Chance of error, α", 0.05, "The chance that a test names a wrong option, for all comparisons "
          "together.", "number", (0.0001, 0.3), step=0.01, place="delta"),
    Field("power", "Power of the tests", 0.8, "The chance that a test finds the difference.", "number", (0.5, 0.999),
          step=0.05, place="power"),
    Field("looks", "Looks at the data", LOOKS, "After each look the test may end. Looks are at equal distances.",
          "number", (2, MAX_LOOKS), place="looks"),
    Field("split", "Users of the first option for one of each other", 1.0, "1: equal shares. Where there are more than "
          "two options, it changes only the test that compares them with the first one.", "number", (0.1, 10.0),
          step=0.5, place="split"),
    Field("sides", "One-sided test", False, "Only a better option counts, not a worse one. Tests that name the best of "
          "several options are one-sided by themselves.", "switch", place="one_sided"),
    Field("trust", "Also a shuffler and secure sums", False, "Two more levels of trust for the tests.", "switch",
          place="all_trusts"),
    Field("zone", "Ignore differences up to, %", 0.0, "In percent of the first option. Options that close to the best "
          "count as equally good in tests.", "number", (0.0, 1000.0), step=1.0, place="zone"),
    Field("rule", "Rule to stop by", "proved", "Proved: wrong with probability δ at most, whatever the options are. "
          "Heuristic: the rule that published programs use; how often it is wrong can only be measured.", "buttons",
          RULES, place="rule"),
    Field("list", "ε to compare", "0.5, 1, 2, 4", "With commas between them: the budgets that stand side by side "
          "below.", "text", read_epsilons),
    Field("tests", "Tests that share the ε of a person", 4, "How many tests a person is in while the ε above must "
          "suffice, such as in a month.", "number", (1, MAX_TESTS)),
    Field("slack", "δ of all tests together", 0.0, "0: the ε of all tests add up. Above 0, each test may spend more, "
          "and the promise of all together may fail with this small chance.", "number", (0.0, MAX_DELTA), step=1e-6),
    Field("goal", "of what", "price", "What must not exceed your limit, after all users.", "box", GOALS),
    Field("limit", "I accept at most", 2.0, "The largest amount that you accept.", "number", (1e-12, LARGEST)),
    Field("search", "", "nothing", "", "box", ("nothing", "epsilon", "users", "both")),
)  # fmt: skip
ask, said = FIELDS.ask, FIELDS.said


def open_link() -> None:
    """Say what of a link cannot be used, also of controls in folds that are closed."""
    found = {name: said(name) for name in FIELDS}
    if found["search"] in ("users", "both") and found["goal"] != "percent":
        page_fields.refuse(Issue("search", found["search"], "users are searched where goal=percent only"))
        page_fields.keep(FIELDS["search"], "nothing")


def searches(axis: str, label: str, help: str, offered: bool = True) -> bool:
    """A switch for one of the searches, ``epsilon`` or ``users``, which the address carries; off where not offered."""
    before = {name for name in ("epsilon", "users") if said("search") in (name, "both")}
    on = offered and st.toggle(label, axis in before, key=state.own_key(f"own-search-{axis}"), help=help)
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
