"""Equal pictures are drawn once, and a visitor's own file is shared with no one."""

import gc
import json
import sys
import threading
import time
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import simulate
from bandit_core.experiments.links import read
from bandit_core.simulation.store import Store
from ui import budget_panel, charts, gallery, lab_parts, panels, shared, state, theme, words

COUNTED = (
    (charts, "regret_chart"),
    (charts, "pulls_chart"),
    (charts, "describe"),
    (budget_panel, "chart"),
    (words, "verdict"),
    (panels, "summaries"),
    (panels, "_bound_rows"),
)
ONCE = {name: 1 for _, name in COUNTED}
AT_FIRST = {name: 1 for name in ONCE if name not in ("_bound_rows", "chart", "pulls_chart")}  # those are asked for


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each drawing function was called, from an empty memory on."""
    calls: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        true = getattr(module, name)

        def counted(*given: Any, **named: Any) -> Any:
            calls[name] += 1
            return true(*given, **named)

        monkeypatch.setattr(module, name, counted)

    for module, name in COUNTED:
        count(module, name)
    shared.memory.clear()
    yield calls
    shared.memory.clear()


def spec(screen: Any, name: str = "regret-chart") -> str:
    return str(screen.get_by_key(name).proto.spec)


def test_many_visitors_of_one_link_cost_one_drawing(drawn: Counter[str]) -> None:
    screens = [on.visit("explore", **on.SMALL, seed="7001") for _ in range(3)]
    assert dict(drawn) == AT_FIRST
    asked = {"Bounds": (), "Pulls per arm": ("pulls",), "Budget": ("regret-chart", "budget"), "Table": ()}
    for view, names in asked.items():
        for screen in screens:
            on.look(screen, view)
        for name in names:
            assert len({spec(screen, name) for screen in screens}) == 1
            assert len({screen.get_by_key(name).proto.alt for screen in screens}) == 1
    assert dict(drawn) == ONCE
    assert len({screen.dataframe[0].value.to_csv() for screen in screens}) == 1


def test_a_shared_picture_is_the_one_that_would_be_drawn() -> None:
    address = {**on.SMALL, "seed": "7002"}
    on.visit("explore", **address)
    screen = on.visit("explore", **address)
    result = simulate(read(address)[0], store=Store(None, 0))
    wanted = charts.regret_chart(result, height=lab_parts.HEIGHT)
    assert json.loads(spec(screen)) == json.loads(wanted.to_json())


def test_home_is_drawn_once_for_all_who_come(drawn: Counter[str]) -> None:
    for _ in range(3):
        on.visit("home")
    assert drawn["regret_chart"] == drawn["describe"] == len(gallery.EPSILONS)


def test_another_ground_or_device_is_another_picture(drawn: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    address = {**on.SMALL, "seed": "7003"}
    seen = []
    for dark in (False, True):
        for phone in (False, True):
            monkeypatch.setattr(theme, "is_dark", lambda dark=dark: dark)
            monkeypatch.setattr(theme, "is_phone", lambda phone=phone: phone)
            seen.append(spec(on.look(on.visit("explore", **address), "Pulls per arm")))
    assert len(set(seen)) == drawn["regret_chart"] == 4
    assert drawn["pulls_chart"] == 2  # no curves, so nothing depends on the device


def test_more_trials_another_view_or_other_words_are_another_picture() -> None:
    address = {"T": "400", "n": "4", "seed": "7004"}
    whole = simulate(read(address)[0], store=Store(None, 0))
    part = type(whole)(whole.experiment, whole.times, (None, *whole.lines[1:]))
    other_view = simulate(read({**address, "y": "log"})[0], store=Store(None, 0))
    other_seed = simulate(read({**address, "seed": "7005"})[0], store=Store(None, 0))
    more = simulate(read({**address, "n": "5"})[0], store=Store(None, 0))
    again = simulate(read(address)[0], store=Store(None, 0))
    assert again.content == whole.content
    assert len({each.content for each in (whole, part, other_view, other_seed, more)}) == 5


def test_what_comes_from_a_file_is_drawn_for_its_visitor_alone(drawn: Counter[str]) -> None:
    address = {**on.SMALL, "seed": "7006"}
    screen = on.visit("explore", **address)
    kept = len(shared.memory)
    assert dict(drawn) == AT_FIRST and kept
    screen.session_state["lab"]["from-own-file"] = True  # as `state.adopt` notes for an uploaded spec
    on.run(screen)
    assert dict(drawn) == {name: 2 for name in AT_FIRST}
    other = {**on.SMALL, "seed": "7007"}
    for name, value in other.items():
        screen.query_params[name] = value
    on.run(screen)  # a link in its place is no file any more
    assert not screen.session_state["lab"]["from-own-file"]
    assert len(shared.memory) == 2 * kept


def test_an_uploaded_spec_stays_a_file_of_its_visitor_while_it_is_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    now: dict[str, Any] = {}
    monkeypatch.setattr(state, "memory", lambda: now)
    experiment = read(on.SMALL)[0]
    state.open_own(experiment)
    assert not state.own_data()
    state.open_own(experiment, own_file=True)
    assert state.own_data()
    state.commit(experiment.with_changes(seed=5))
    state.adopt(state.experiment())  # another page
    assert state.own_data()
    state.open_own(read({})[0])
    assert not state.own_data()


def holders(*markers: str | float, among: Iterable[Any] = ()) -> list[str]:
    """What holds one of these texts or numbers, of all that modules, caches and stores of this process can reach."""
    texts = [marker for marker in markers if isinstance(marker, str)]
    numbers = [marker for marker in markers if isinstance(marker, float)]
    caches = (each for each in gc.get_objects() if type(each).__name__ == "_lru_cache_wrapper")
    seen, found = {id(texts), id(numbers)}, []
    left = [(each, None) for each in among or [*map(vars, sys.modules.values()), *caches]]
    while left:
        each, _ = here = left.pop()
        if id(each) in seen or issubclass(type(each), (FrameType, AppTest, *weakref.ProxyTypes)):  # of what is gone
            continue
        seen.add(id(each))
        text = each if isinstance(each, str) else each.decode("latin-1") if isinstance(each, bytes) else ""
        if (
            any(marker in text for marker in texts)
            or (isinstance(each, float) and each in numbers)
            or (isinstance(each, np.ndarray) and each.dtype == float and np.isin(numbers, each).any())
        ):
            way = []
            while here is not None:
                way.append(f"{here[0]!r:.100}")
                here = here[1]
            found.append(" in ".join(way))
        left += [(inner, here) for inner in gc.get_referents(each)]
    return found


def other_users(screen: Any, name: str, number: float) -> None:
    """Uploads options with this name and number in them, and their users' budgets."""
    on.put(screen, next(group for group in screen.button_group if group.label == "Your options"), "upload")
    rows = "\n".join(["0,1", "1,1", "0,0"] * 20)
    data = f"{name},old\n{rows}\n{number},0"
    on.put(screen, screen.file_uploader(key="own-file"), (f"{name}.csv", data.encode(), "text/csv"))
    on.press(screen, next(button for button in screen.button if button.label == "Yes, read it so"))


def own_table(screen: Any, name: str, number: float) -> None:
    """Uploads users with features."""
    on.put(screen, next(group for group in screen.button_group if group.label == "Data"), "any")
    rows = "\n".join(f"{place / 7},{place % 3 - 1},{'ab'[place % 2]},{place % 2}" for place in range(30))
    data = f"{name},tall,what,paid\n{rows}\n{number},1,a,1"
    on.put(screen, screen.file_uploader(key="data-any"), (f"{name}.csv", data.encode(), "text/csv"))


def own_settings(screen: Any, name: str, number: float) -> None:
    """Loads a settings file with this label and mean in it."""
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (number, 0.4)]
    budget = {"kind": "discrete", "values": [0.0, number, 3.0]}
    lines = [{"policy": "ucb", "label": name}, {"policy": "heldp-ucb-b", "epsilon": budget}]
    document = {"arms": arms, "lines": lines, "horizon": 300, "trials": 3}
    on.control(screen, "file_uploader", "upload").upload("mine.json", json.dumps(document).encode())
    on.run(screen)


def brings(page: str, give: Any, name: str, number: float) -> None:
    """Someone gives a page these, looks at all that it makes of them, and leaves."""
    screen = on.visit(page, **({} if page == "your-numbers" else on.SMALL))
    give(screen, name, number)
    for fold in (
        "explanation",
        "own-build",
        "own-all-methods",
        "contextual-steps",
        "contextual-regimes",
        "contextual-lines",
    ):
        screen.session_state[fold] = True
    on.run(screen)
    assert not screen.error and name in str(screen.session_state.to_dict())
    if page == "explore":
        for view in ("Bounds", "Table", "Build it"):
            on.look(screen, view)
        on.go(screen, "theory")


def test_no_cache_of_the_process_holds_what_visitors_brought(quick_answers: None) -> None:
    """All of memory is looked through once, after all of them."""
    pages = {"your-numbers": other_users, "contextual": own_table, "explore": own_settings}
    markers: list[str | float] = []
    for page, give in pages.items():
        name, number = f"zq{time.monotonic_ns()}", 0.1 + time.monotonic_ns() % 10**9 / 2e9
        brings(page, give, name, number)
        markers += [name, number]
    gc.collect()
    found = holders(*markers)
    assert found == [], "\n".join(found)
    shared.memory.get_or_make("control", lambda: [*markers], len)  # what there is would be found
    assert len(holders(*markers, among=[shared.memory])) == len(markers)
    shared.memory.clear()


def test_memory_stays_below_its_limit_and_keeps_what_was_used_last() -> None:
    memory = shared.Memory(100)
    for number in range(50):
        memory.get_or_make(number, lambda: "x" * 30, len)
        memory.get_or_make(0, lambda: "y" * 30, len)
        assert memory.bytes == 30 * len(memory) <= 100
    assert memory.get_or_make(0, lambda: "new", len) == "x" * 30
    memory.get_or_make("large", lambda: "x" * 101, len)
    assert memory.get_or_make(0, lambda: "new", len) == "x" * 30 and len(memory) == 3
    memory.clear()
    assert (memory.bytes, len(memory)) == (0, 0)


def test_whoever_asks_while_it_is_made_waits_for_it() -> None:
    memory, made = shared.Memory(1000), []
    begun, may_end = threading.Event(), threading.Event()

    def make() -> str:
        made.append(1)
        begun.set()
        assert may_end.wait(30)
        return "picture"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(memory.get_or_make("a", make, len))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    assert memory.get_or_make("b", lambda: "another", len) == "another"  # no one else waits
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert found == ["picture"] * 8 and len(made) == 1


def test_a_failed_drawing_is_tried_again_and_leaves_nothing() -> None:
    memory = shared.Memory(1000)
    with pytest.raises(ZeroDivisionError):
        memory.get_or_make("a", lambda: 1 // 0, lambda _: 1)
    assert (memory.bytes, len(memory)) == (0, 0)
    assert memory.get_or_make("a", lambda: 3, lambda _: 1) == 3


def test_a_picture_counts_the_memory_that_it_takes():
    def picture() -> shared.Picture:
        return shared.Picture(go.Figure({"data": [{"y": np.linspace(0, 1, 3000)}, {"y": list(range(2000))}]}), "told")

    picture()
    tracemalloc.start()
    try:
        pictures = [picture() for _ in range(10)]
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * taken < sum(each.size for each in pictures) < 1.4 * taken
