"""No control of the sidebar without effect: each one is moved once, and something on the page changes.

What stands on the pages themselves, and the sidebar of Users with features, is moved in a browser.
"""

from typing import Any

import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core.policies import registry
from bandit_core.theory import accounting
from ui import menu

LINKS = {
    "heavy-tails": {"users": "3000"},
    "tradeoff": {"arms": "0.9,0.6 x2", "lines": "ucb,heldp-ucb-b(1),heldp-ucb-l(1)", "T": "3000", "n": "4"},
    "trust": {"arms": "0.9,0.6 x2", "lines": "ucb,dp-se(1),kl-ucb-cf(1)", "T": "20000", "n": "4"},
    "threshold": {"lines": "ucb,heldp-ucb-b(discrete(0,0.2,1,2,100))", "T": "3000", "n": "4"},
}
FOLDS = {
    "heavy-tails": ("heavy-controls", "heavy-cut-off", "heavy-theory", "explanation"),
    "tradeoff": ("tradeoff-more",),
    "threshold": ("threshold-others", "threshold-check"),
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
    "add", "arms-as-table", "change-experiment",
)  # fmt: skip
NOT_HERE = {  # what moves a picture only for some experiments, which this one is not
    "tradeoff": ("against",),  # two references
    "heavy-tails": ("against",),
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


@pytest.mark.parametrize("page", [page.name for page in menu.pages() if page.sidebar and page.name != "contextual"])
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
        on.put(screen, control, elsewhere(control, name))
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
    on.put(screen, controls(screen)["visits_delta"], 1e-6)
    assert not screen.sidebar.error and content(screen) != before
    assert f"{accounting.tight_part(1.0, 5, 1e-6):.4g}" in on.words(screen)
    central = on.visit("explore", **(local | {"lines": "ucb,dp-se(1)"}), visits="5")
    on.put(central, controls(central)["visits_delta"], 1e-6)
    assert registry()["dp-se"].title in central.sidebar.error[0].value.replace("\\", "")


def put_back(screen: AppTest, moved: dict[str, Any]) -> None:
    """Set the moved control to where it stood, with the next run."""
    for place, stood in moved.items():
        controls(screen)[place].set_value(stood)
    moved.clear()
