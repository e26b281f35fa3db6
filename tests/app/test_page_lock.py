"""Pages take turns, and give theirs away while they wait."""

import gc
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import screen as on

from ui import page_lock, runner

SECONDS = 300.0  # until a test that would wait for ever gives up


@pytest.fixture(autouse=True)
def _no_turn_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is; but where a test asks for it."""
    monkeypatch.setattr(page_lock, "LONGEST", 600.0)


def thread(work: Callable[[], None]) -> threading.Thread:
    started = threading.Thread(target=work, daemon=True)
    started.start()
    return started


def test_pages_are_drawn_one_after_the_other_and_numbers_computed_meanwhile() -> None:
    seen: list[str] = []
    computes, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with page_lock.drawing():
            seen.append("first begins")
            with page_lock.computing():
                computes.set()
                assert may_end.wait(SECONDS)
            seen.append("first ends")

    def third() -> None:
        with page_lock.drawing():
            seen.append("third")

    visitors = [thread(first)]
    assert computes.wait(SECONDS)
    with page_lock.drawing():
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
    with pytest.raises(ZeroDivisionError), page_lock.drawing(), page_lock.computing():
        raise ZeroDivisionError
    with page_lock.drawing():
        assert page_lock.drawing_lock.locked()
    assert not page_lock.drawing_lock.locked()


def test_no_page_keeps_its_turn_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_lock, "LONGEST", 0.01)
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def endless() -> None:
        with page_lock.drawing():
            begun.set()
            assert may_end.wait(SECONDS)
            with page_lock.computing():  # gives nothing away: by now the turn is someone else's
                pass
        ended.set()

    visitor = thread(endless)
    assert begun.wait(SECONDS)
    entered = threading.Event()

    def second() -> None:
        monkeypatch.setattr(page_lock, "LONGEST", SECONDS)  # the second one keeps its turn
        with page_lock.drawing():
            entered.set()
            may_end.set()
            assert ended.wait(SECONDS)
            assert page_lock.drawing_lock.locked()

    other = thread(second)
    assert entered.wait(SECONDS)
    for each in (visitor, other):
        each.join(SECONDS)
    assert not page_lock.drawing_lock.locked()


def test_computing_within_computing_gives_the_turn_away_once() -> None:
    with page_lock.drawing():
        with page_lock.computing():
            with page_lock.computing():
                assert not page_lock.drawing_lock.locked()
            assert not page_lock.drawing_lock.locked()
        assert page_lock.drawing_lock.locked()
    assert not page_lock.drawing_lock.locked()


def test_computing_outside_of_a_page_takes_no_turn() -> None:
    with page_lock.computing():
        assert not page_lock.drawing_lock.locked()
    with page_lock.drawing():

        def elsewhere() -> None:
            with page_lock.computing():
                pass

        thread(elsewhere).join(SECONDS)
        assert page_lock.drawing_lock.locked()


def test_a_page_does_not_hold_its_turn_while_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    run = runner.Simulation.run

    def watched(simulation: runner.Simulation, *args: object, **options: object) -> object:
        held.append(page_lock.drawing_lock.locked())
        return run(simulation, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(runner.Simulation, "run", watched)
    screen = on.visit(**on.SMALL)
    assert screen.markdown
    assert held and not any(held)
    assert not page_lock.drawing_lock.locked()


def test_garbage_is_searched_for_at_most_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, searches = [1000.0], [0]

    def search() -> None:
        searches[0] += 1
        now[0] += 0.2

    monkeypatch.setattr(page_lock.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(page_lock.gc, "collect", search)
    monkeypatch.setattr(page_lock, "_search_again", 0.0)
    page_lock.search_for_garbage()
    for _ in range(17):
        now[0] += 0.1
        page_lock.search_for_garbage()
    assert searches == [1]
    now[0] += 0.11
    page_lock.search_for_garbage()
    assert searches == [2]


def test_somebody_searches_for_garbage(project: Path) -> None:
    settings = tomllib.loads((project / ".streamlit" / "config.toml").read_text())
    assert settings["runner"]["postScriptGC"] is False  # then it must be the page
    before = gc.get_stats()[2]["collections"]
    # private: this is what is tested
    page_lock._search_again = 0.0
    on.visit("glossary")
    assert gc.get_stats()[2]["collections"] > before


def test_who_sees_nothing_yet_comes_before_the_rest_of_a_page() -> None:
    seen: list[str] = []

    def visit(name: str, new: bool) -> Callable[[], None]:
        def page() -> None:
            with page_lock.drawing(new):
                seen.append(f"{name} picture")
                page_lock.shown()
                seen.append(f"{name} rest")

        return page

    with page_lock.drawing():
        visitors = []
        for name, new in (("change", False), ("first", True), ("second", True)):
            visitors.append(thread(visit(name, new)))
            waited = time.monotonic() + SECONDS
            while page_lock.drawing_lock.waiting() < len(visitors) and time.monotonic() < waited:
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
    assert not page_lock.drawing_lock.locked()


def test_a_shown_picture_gives_no_turn_away_that_is_not_held_or_wanted() -> None:
    page_lock.shown()
    with page_lock.drawing(new=True):
        page_lock.shown()
        assert page_lock.drawing_lock.locked()
    assert not page_lock.drawing_lock.locked()
