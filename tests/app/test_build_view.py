"""What a line would take where people use it, on the pages where it is asked."""

import pytest
import screen as on

from bandit_core.studies import production
from ui import words


def code(screen: on.AppTest) -> list[str]:
    return [block.value for block in screen.code if "opendp" in block.value]


def test_explore_plans_the_first_private_line_and_any_other() -> None:
    screen = on.visit("explore", lines="ucb,heldp-ucb-b(0.5),dp-ucb(2)", **on.SMALL)
    assert not code(screen)
    on.look(screen, "Build it")
    message = on.words(screen)
    assert production.NOTICE in message and all(f"**{title}**" in message for title in production.SECTIONS)
    assert words.plain(production.LEFT_OUT["messages"]) in on.words(on.unfold(screen, "left-out"))
    (bit,) = code(screen)
    assert "make_randomized_response_bool(prob=0.622" in bit
    on.put(screen, screen.selectbox(key="build-line"), 2)
    (sum_of_block,) = code(screen)
    assert "1.0, 1.0" in sum_of_block and "make_laplace" in sum_of_block
    on.put(screen, screen.selectbox(key="build-line"), 0)
    assert not code(screen)


@pytest.mark.parametrize("name", ["ctl-s", "ctb", "gaussian", "l2-ball"])
def test_mechanisms_show_the_program_of_each_mechanism_at_its_budget(name: str) -> None:
    screen = on.visit("mechanisms", mech=name, **{"with": "none"}, eps="2")
    (shown,) = code(on.unfold(screen, "mechanisms-build"))
    assert ("0.8807970779778823" in shown) == (name in ("ctb", "l2-ball"))
    assert ("1.0, 0.5" in shown) == (name == "ctl-s") and ("delta" in shown) == (name == "gaussian")
    assert words.plain(production.PUBLIC["doubles"]) not in on.words(screen)  # said once, as no mechanism hides it


@pytest.mark.usefixtures("quick_answers")
def test_your_numbers_plans_the_methods_that_it_chose() -> None:
    screen = on.visit("your-numbers", users="400", base="10", lifts="20,-50", unit="clicks")
    assert not code(screen)
    screen.session_state["own-build"] = True
    on.run(screen)
    assert production.NOTICE in on.words(screen) and len(code(screen)) == 1
