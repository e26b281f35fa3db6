"""One run in a real browser: it plays by itself, obeys the keyboard, tells screen readers, and rests on request."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect
from visitor import Visitor

from bandit_core.experiments import links
from bandit_core.studies.one_run import OneRun, one_run

Visits = Callable[..., Visitor]
FIELDS = {"arms": "0.5,0.7,0.6", "lines": "ts-cf(2),ucb", "T": "900", "n": "4"}
PATH = "/explore?" + "&".join(f"{name}={value}" for name, value in FIELDS.items())


# Milliseconds of the longest movement that anything on the page may make.
LONGEST = """() => Math.max(...[...document.querySelectorAll('*')].flatMap(e => {
    const s = getComputedStyle(e);
    return [...s.animationDuration.split(','), ...s.transitionDuration.split(',')].map(t =>
        parseFloat(t) * (t.trim().endsWith('ms') ? 1 : 1000)) }).filter(Number.isFinite))"""


def watched(visitor: Visitor) -> Locator:
    """The player, once it is asked for."""
    visitor.tab.get_by_role("radio", name="Watch one run").click()
    visitor.settle()
    player = visitor.tab.locator(".watch")
    player.wait_for()
    return player


@pytest.fixture(scope="module")
def record() -> OneRun:
    return one_run(links.read(FIELDS)[0])


def test_keys_step_the_words_are_read_aloud_and_it_plays_to_the_regret_of_the_record(
    visits: Visits, record: OneRun
) -> None:
    visitor = visits(PATH)
    player = watched(visitor)
    message = player.locator("[aria-live=polite]")
    player.get_by_role("slider", name="User").focus()
    for user in (2, 3):
        player.page.keyboard.press("ArrowRight")
        expect(player).to_have_attribute("data-user", str(user))
        expect(message).to_contain_text(f"{user} of {record.users}")
    player.page.keyboard.press("ArrowLeft")
    expect(player).to_have_attribute("data-user", "2")
    player.page.keyboard.press("m")
    following = record.mistakes[record.mistakes > 1][0] + 1
    expect(player).to_have_attribute("data-user", str(following))
    expect(message).to_contain_text(f"{following} of {record.users}")
    player.page.get_by_role("radio", name="Table").click()
    visitor.settle()  # a second click before the view is drawn may be lost
    player = watched(visitor)  # who comes back goes on there
    expect(player).to_have_attribute("data-user", str(following))
    player.get_by_role("slider", name="User").focus()
    player.page.keyboard.press("End")
    expect(player).to_have_attribute("data-user", str(record.users))
    player.page.keyboard.press("Home")
    expect(player).to_have_attribute("data-user", "1")
    player.locator("select").select_option("600")
    player.get_by_role("button", name="Play").click()
    expect(player).to_have_attribute("data-user", str(record.users))
    expect(player.get_by_role("button", name="Play")).to_be_visible()  # it has paused
    assert float(player.locator(".lost").inner_text()) == pytest.approx(record.regret[-1], rel=5e-3)
    assert int(player.get_attribute("data-frames") or 0) > 10


def test_for_those_who_asked_for_less_motion_nothing_moves_and_a_run_is_stepped(visits: Visits) -> None:
    visitor = visits(PATH, width=390, still=True)
    player = watched(visitor)
    expect(player.get_by_role("button", name="Play")).to_be_disabled()
    player.get_by_role("button", name="Step").click()
    expect(player).to_have_attribute("data-user", "2")
    wide = player.evaluate("node => [node.scrollWidth, node.clientWidth, document.documentElement.scrollWidth]")
    assert wide[0] <= wide[1] and wide[2] <= 390
    visitor.settle()
    visitor.tab.wait_for_function(f"({LONGEST})() <= 2")  # while a page is being built, its style comes with the page
    visitor.tab.emulate_media(reduced_motion="no-preference")
    assert visitor.tab.evaluate(LONGEST) > 50  # else nothing would have been shown
