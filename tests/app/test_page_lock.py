"""Pages take turns, and give theirs away while they wait."""

import gc
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import screen as on

from ui import runner, serving

SECONDS = 300.0  # until a test that would wait for ever gives up


@pytest.fixture(autouse=True)
def _no_turn_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is; but where a test asks for it."""
    monkeypatch.setattr(serving, "LONGEST", 600.0)


def thread(work: Callable[[], None]) -> threading.Thread:
    started = threading.Thread(target=work, daemon=True)
    started.start()
    return started


def test_pages_are_drawn_one_after_the_other_and_numbers_computed_meanwhile() -> None:
    seen: list[str] = []
    computes, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with serving.drawing():
            seen.append("first begins")
            with serving.computing():
                computes.set()
                assert may_end.wait(SECONDS)
            seen.append("first ends")

    def third() -> None:
        with serving.drawing():
            seen.append("third")

    visitors = [thread(first)]
    assert computes.wait(SECONDS)
    with serving.drawing():
        seen.append("second begins")
        may_end.set()
        visitors.append(thread(third))
        visitors[-1].join(0.05)
        seen.append("second ends")
    for visitor in visitors:
        visitor.join(SECONDS)
    assert seen[:3] == ["first begins", "second begins", "second ends"]
    assert sorted(seen[3:]) == ["first ends", "third"]


def test_a_page_that_fails_gives_its_turn_back() -> None:
    with pytest.raises(ZeroDivisionError), serving.drawing(), serving.computing():
        raise ZeroDivisionError
    with serving.drawing():
        assert serving.drawing_lock.locked()
    assert not serving.drawing_lock.locked()


def test_no_page_keeps_its_turn_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LONGEST", 0.01)
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def endless() -> None:
        with serving.drawing():
            begun.set()
            assert may_end.wait(SECONDS)
            with serving.computing():  # gives nothing away: by now the turn is someone else's
                pass
        ended.set()

    visitor = thread(endless)
    assert begun.wait(SECONDS)
    entered = threading.Event()

    def second() -> None:
        monkeypatch.setattr(serving, "LONGEST", SECONDS)  # the second one keeps its turn
        with serving.drawing():
            entered.set()
            may_end.set()
            assert ended.wait(SECONDS)
            assert serving.drawing_lock.locked()

    other = thread(second)
    assert entered.wait(SECONDS)
    for each in (visitor, other):
        each.join(SECONDS)
    assert not serving.drawing_lock.locked()


def test_computing_within_computing_gives_the_turn_away_once() -> None:
    with serving.drawing():
        with serving.computing():
            with serving.computing():
                assert not serving.drawing_lock.locked()
            assert not serving.drawing_lock.locked()
        assert serving.drawing_lock.locked()
    assert not serving.drawing_lock.locked()


def test_computing_outside_of_a_page_takes_no_turn() -> None:
    with serving.computing():
        assert not serving.drawing_lock.locked()
    with serving.drawing():

        def elsewhere() -> None:
            with serving.computing():
                pass

        thread(elsewhere).join(SECONDS)
        assert serving.drawing_lock.locked()


def test_a_page_does_not_hold_its_turn_while_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    run = runner.Simulation.run

    def watched(simulation: runner.Simulation, *args: object, **options: object) -> object:
        held.append(serving.drawing_lock.locked())
        return run(simulation, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(runner.Simulation, "run", watched)
    screen = on.visit(**on.SMALL)
    assert screen.markdown
    assert held and not any(held)
    assert not serving.drawing_lock.locked()


def test_garbage_is_searched_for_at_most_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, searches = [1000.0], [0]

    def search() -> None:
        searches[0] += 1
        now[0] += 0.2

    monkeypatch.setattr(serving.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(serving.gc, "collect", search)
    monkeypatch.setattr(serving, "_search_again", 0.0)
    serving.search_for_garbage()
    for _ in range(17):
        now[0] += 0.1
        serving.search_for_garbage()
    assert searches == [1]
    now[0] += 0.11
    serving.search_for_garbage()
    assert searches == [2]


def test_somebody_searches_for_garbage(project: Path) -> None:
    settings = tomllib.loads((project / ".streamlit" / "config.toml").read_text())
    assert settings["runner"]["postScriptGC"] is False  # then it must be the page
    before = gc.get_stats()[2]["collections"]
    # private: this is what is tested
    serving._search_again = 0.0
    on.visit("glossary")
    assert gc.get_stats()[2]["collections"] > before


def test_who_sees_nothing_yet_comes_before_the_rest_of_a_page() -> None:
    seen: list[str] = []

    def visit(name: str, new: bool) -> Callable[[], None]:
        def page() -> None:
            with serving.drawing(new):
                seen.append(f"{name} picture")
                serving.shown()
                seen.append(f"{name} rest")

        return page

    with serving.drawing():
        visitors = []
        for name, new in (("change", False), ("first", True), ("second", True)):
            visitors.append(thread(visit(name, new)))
            waited = time.monotonic() + SECONDS
            while serving.drawing_lock.waiting() < len(visitors) and time.monotonic() < waited:
                time.sleep(0.001)
    for visitor in visitors:
        visitor.join(SECONDS)
    assert seen == [
        "first picture",
        "second picture",
        "second rest",
        "change picture",
        "change rest",
        "first rest",
    ]
    assert not serving.drawing_lock.locked()


def test_a_shown_picture_gives_no_turn_away_that_is_not_held_or_wanted() -> None:
    serving.shown()
    with serving.drawing(new=True):
        serving.shown()
        assert serving.drawing_lock.locked()
    assert not serving.drawing_lock.locked()
