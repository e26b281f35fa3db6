"""No control without effect: each one of sidebar and page is moved once, and something on the page changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core.literature import papers
from bandit_core.policies import registry
from bandit_core.theory import accounting
from ui import menu

LINKS = {
    "heavy-tails": {"users": "3000"},
    "tradeoff": {"arms": "0.9,0.6 x2", "lines": "ucb,heldp-ucb-b(1),heldp-ucb-l(1)", "T": "3000", "n": "4"},
    "trust": {"arms": "0.9,0.6 x2", "lines": "ucb,dp-se(1),kl-ucb-cf(1)", "T": "20000", "n": "4"},
    "contextual": {"upto": "3000", "eps": "0.5", "T": "500", "n": "3"},
    "threshold": {"lines": "ucb,heldp-ucb-b(discrete(0,0.2,1,2,100))", "T": "3000", "n": "2"},
}
FOLDS = {
    "heavy-tails": ("heavy-controls", "heavy-cut-off", "heavy-v-fold", "heavy-theory", "explanation"),
    "tradeoff": ("tradeoff-more",),
    "contextual": ("contextual-regimes",),
    "threshold": ("threshold-others", "threshold-kept", "threshold-check"),
}
DEFAULT_LINK = {
    "arms": "0.9,0.6 x2",
    "lines": "ucb,thompson,heldp-ucb-b(1),heldp-ucb-l(1)",
    "T": "3000",
    "n": "4",
    "show": "price",
}
LINKS["theory"] = DEFAULT_LINK | {"axis": "arms"}  # with the bounds unfolded
ONE_BY_ONE = ("explore",)  # its picture is not the first one again when two controls change in one run
KINDS = [
    "select_slider",
    "selectbox",
    "toggle",
    "text_area",
    "text_input",
    "number_input",
    "button_group",
    "multiselect",
]
MOVED = {
    "epsilon": 0.3,
    "horizon": 1000,
    "batch": 100,
    "delay": 50,
    "visits": 3,
    "trials": 2,
    "seed": 5,
    "arms": "0.9, 0.5 x2",
    "contexts": "single(2, 4, margin(0.2))",
    "budget-kind": "lognormal",
    "budget-discrete": "discrete(0, 0.5, 1)",
    "quantity": "regret-per-user",
    "decay": "0.9",
    "against": "own",
    "band": "half-sd",
    "own": "0.7",
    "label": "called otherwise",
    "growth": "3",
}
WITHOUT_A_VALUE = (  # a new experiment, another policy, another way to write the same, more controls
    "preset", "add", "arms-as-table", "change-experiment",
)  # fmt: skip
NOT_HERE = {  # what moves a picture only for some experiments, which this one is not
    "tradeoff": ("against",),  # two references
    "heavy-tails": ("against",),
    "contextual": ("against",),
}


def name_of(key: str) -> str:
    """The name of a control without its generation and row."""
    return key.partition(":")[0].partition(" ")[0].rstrip("0123456789").rstrip("-")


def content(screen: AppTest) -> str:
    """Everything that the page itself shows."""
    shown = [on.words(screen)]
    shown += [str(each.proto) for each in screen.get("image")]
    shown += [table.value.to_csv() for table in screen.main.dataframe]
    shown += [chart.proto.spec for chart in screen.main.get("plotly_chart")]
    shown += [code.value for code in screen.main.code]
    return "\n".join(shown)


def elsewhere(control: Any, name: str) -> Any:
    """A value that the control can take and does not have."""
    if name in MOVED:
        return MOVED[name]
    if control.type == "toggle":
        return not control.value
    if control.type == "multiselect":
        return control.value[:-1]
    if control.type == "selectbox":
        return control.options[1 if control.value == control.options[0] else 0]
    return "3" if str(control.value).isdigit() else "0.5"


def controls(screen: AppTest) -> dict[str, Any]:
    """The controls of the sidebar by name and row, the first of each."""
    found = [each for kind in KINDS for each in getattr(screen.sidebar, kind) if not each.disabled]
    return {each.key.partition(":")[0]: each for each in found}


@pytest.mark.parametrize("page", [page.name for page in menu.pages() if page.sidebar])
def test_every_control_of_the_sidebar_changes_something_on_the_page(page: str) -> None:
    """One control at a time stands elsewhere: each goes back in the run in which the next one moves, where it can."""
    screen = on.unfold(on.visit(page, **LINKS.get(page, DEFAULT_LINK)), *FOLDS.get(page, ()))
    picture, moved, idle = content(screen), {}, []
    for place in list(controls(screen)):
        name = name_of(place)
        if name in (*WITHOUT_A_VALUE, *NOT_HERE.get(page, ())):
            continue
        if moved and (name == "visible" or place not in controls(screen)):  # the last, or gone with what moved
            put_back(screen, moved)
            on.run(screen)
            # Else something had stayed of what was moved, and no control after it could have been called idle.
            assert content(screen) == picture
        if place not in controls(screen):
            continue
        put_back(screen, moved)
        control = controls(screen)[place]
        stood = control.value
        control.set_value(elsewhere(control, name))
        on.run(screen)
        assert not screen.sidebar.error, (place, screen.sidebar.error[0].value)
        if content(screen) == picture:
            idle.append(place)
        if stood == "" or name == "budget-kind" or place not in controls(screen):
            picture = content(screen)
        else:
            moved[place] = stood
        if moved and page in ONE_BY_ONE:
            put_back(screen, moved)
            picture = content(on.run(screen))
    assert not idle, " ".join(idle)


def test_the_delta_of_visits_is_asked_for_where_people_come_again_and_refused_in_words() -> None:
    local = DEFAULT_LINK | {"lines": "ucb,heldp-ucb-b(1)"}
    assert "visits_delta" not in controls(on.visit("explore", **local))
    screen = on.visit("explore", **local, visits="5")
    before = content(screen)
    controls(screen)["visits_delta"].set_value(1e-6)
    on.run(screen)
    assert not screen.sidebar.error and content(screen) != before
    assert f"{accounting.tight_part(1.0, 5, 1e-6):.4g}" in on.words(screen)
    central = on.visit("explore", **(local | {"lines": "ucb,dp-se(1)"}), visits="5")
    controls(central)["visits_delta"].set_value(1e-6)
    on.run(central)
    assert registry()["dp-se"].title in central.sidebar.error[0].value.replace("\\", "")


def put_back(screen: AppTest, moved: dict[str, Any]) -> None:
    """Set the moved control to where it stood, with the next run."""
    for place, stood in moved.items():
        controls(screen)[place].set_value(stood)
    moved.clear()


# Where a control of a page is moved to; a select box goes to another of its entries, a switch to its other side.
MOVED_OWN: dict[str, Any] = {
    "home-epsilon": 0.5,
    "trust-epsilon": 0.5,
    "collection": "Ren et al. 2020: local privacy",
    "print-points-column": 11,
    "threshold": 1.0,
    "mechanisms-mech": "gaussian",
    "mechanisms-with": "none",
    "views": "Table",
    "tradeoff-range": (0.2, 5.0),
    "tradeoff-quantity": "price",
    "heavy-v": 0.5,
    "lab-epsilon": 0.3,
    "heavy-n": 100,
    "contextual-dimension": 3,
    "contextual-arms": 10,
    "contextual-beta": 1.0,
    "mechanisms-eps": 2.0,
    "mechanisms-x1": 0.5,
    "mechanisms-x2": 0.5,
    "mechanisms-part": "sums",
    "epsilon": 0.5,
    "theory-promise": "local",
    "theory-against": "epsilon",
    "papers-paper": papers.papers()[1].name,
    "papers-held": "not checked",
    "glossary-term": "arm",
    "benchmark-along": "task",
}
# A long computation, or seen in a file or somewhat later; each has tests of its own.
TESTED_ELSEWHERE = (
    "again",
    "lesson-slider",
    "goal",
    "data-source",
    "papers-reading",
    "theory-old",
    "quiz-check",
)


def own_controls(screen: AppTest) -> dict[str, Any]:
    """The controls that stand on the page itself, by their name in the code."""
    found = [each for kind in KINDS for each in getattr(screen.main, kind) if each.key and not each.disabled]
    return {re.split("[: ]", each.key)[0]: each for each in found}


def move(control: Any, name: str) -> None:
    """Put a control of a page to another place."""
    if name in MOVED_OWN:
        control.set_value(MOVED_OWN[name])
    elif control.type == "toggle":
        control.set_value(not control.value)
    elif name == "axes":
        control.set_value("linear" if control.value == "log" else "log")
    else:
        control.select_index((control.index + 1) % len(control.options))


@pytest.mark.parametrize("page", [page.name for page in menu.pages() if page.name != "your-numbers"])
def test_every_control_on_a_page_changes_something_on_it(page: str) -> None:
    asked = LINKS.get(page, DEFAULT_LINK if menu.named(page).sidebar else {})
    idle = []

    def visit() -> AppTest:
        return on.unfold(on.visit(page, **asked), *FOLDS.get(page, ()))

    for name in list(own_controls(visit())):
        if name.startswith(TESTED_ELSEWHERE):
            continue
        screen = visit()
        before = content(screen)
        move(own_controls(screen)[name], name)
        on.run(screen)
        if content(screen) == before:
            idle.append(name)
    assert not idle, " ".join(idle)


# Where the controls of Your numbers are moved to; files, and what is seen once a search runs, have tests of their own.
MOVED_NUMBERS: dict[str, Any] = {
    "own-base": 20.0,
    "own-lifts": "30",
    "own-by": "plain",
    "own-users": 300,
    "own-unit": "clicks",
    "own-eps": 1.0,
    "own-delta": 0.1,
    "own-power": 0.9,
    "own-rule": "heuristic",
    "own-week": 200,
    "own-times": 2,
    "own-night": 50,
    "own-zone": 200.0,
    "own-list": "1, 3",
    "own-tests": 3,
    "own-slack": 1e-5,
    "own-as": "amount",
    "own-most": 90.0,
}


@pytest.mark.usefixtures("quick_answers")
def test_every_control_of_your_numbers_changes_something_on_it() -> None:
    """One after the other on one screen: none of these moves brings back what was shown before."""
    screen = on.unfold(on.visit("your-numbers", users="400"), "own-details", "own-several")
    idle = []
    for name, value in MOVED_NUMBERS.items():
        before = content(screen)
        own_controls(screen)[name].set_value(value)
        on.run(screen)
        if content(screen) == before:
            idle.append(name)
    assert not idle, " ".join(idle)
