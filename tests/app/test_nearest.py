"""While the compiler is at work, a page shows the nearest picture that ships, says what it is, and lets it go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import screen as on

from bandit_core import Experiment, Simulation, load_preset, simulate
from bandit_core.experiments.shared_budget import at_shared
from bandit_core.simulation import engine
from bandit_core.simulation.results import Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.summaries import with_companions
from bandit_core.studies.best_method import Question, best_methods
from bandit_core.studies.business_case import typed_arms
from bandit_core.studies.sweep import sweep
from ui import nearest, runner

DEFAULT = load_preset("default")
SENTENCE = "Picture of other settings"
EPS_HALF = "ucb,heldp-ucb-b(0.5),heldp-ucb-l(0.5)"


def told(asked: Experiment, shown: Experiment) -> list[str]:
    return list(nearest.differences(asked, shown))


def first(asked: Experiment, *among: Experiment) -> Experiment:
    return nearest.by_distance(asked, among)[0]


# ---------------------------------------------------------------------------------------------------------------
# Which one


def with_lines(*lines: tuple[str, float | None], **changes: Any) -> Experiment:
    stated = [
        {"policy": name} | ({} if epsilon is None else {"epsilon": {"kind": "fixed", "value": epsilon}})
        for name, epsilon in lines
    ]
    return DEFAULT.with_changes(lines=stated, **changes)


def test_policies_come_first_and_then_all_the_rest_together() -> None:
    asked = with_lines(("ucb", None), ("heldp-ucb-b", 0.5))
    coins = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    lacking = with_lines(("ucb", None))
    far = with_lines(("ucb", None), ("heldp-ucb-b", 5.0))
    short = with_lines(("ucb", None), ("heldp-ucb-b", 1.0), horizon=100)
    others = with_lines(("ucb", None), ("heldp-ucb-b", 1.0), arms=coins)
    seeded = with_lines(("ucb", None), ("heldp-ucb-b", 1.0), seed=7)
    order = [far, seeded, others, short, lacking]
    assert nearest.by_distance(asked, tuple(reversed(order))) == order
    assert nearest.distance(asked, asked) == (0, 0)


def test_without_a_common_policy_there_is_none() -> None:
    strange = with_lines(("kl-ucb-cf", 1.0))
    assert nearest.distance(strange, DEFAULT) is None
    assert nearest.of_result(strange) is None
    assert nearest.of_sweep(strange, (0.1, 1.0)) is None


@pytest.mark.parametrize(("epsilon", "expected"), [(0.5, 0.562), (0.3, 0.316), (8.0, 10.0), (2.1, 2.0)])
def test_of_the_positions_that_ship_the_nearest_is_chosen(epsilon: float, expected: float) -> None:
    assert first(at_shared(DEFAULT, epsilon), *nearest.shipped()) == at_shared(DEFAULT, expected)


@pytest.mark.parametrize("name", ["default", "trust-ladder", "wild-rewards", "users-with-features"])
def test_each_page_finds_its_own_example_again(name: str) -> None:
    asked = load_preset(name)
    found = first(asked.with_changes(horizon=asked.horizon // 2), *nearest.shipped())
    assert found.plays_as(asked)


def test_lines_that_nobody_asked_for_or_sees_are_not_drawn() -> None:
    asked = at_shared(DEFAULT, 0.5).with_changes(view={"hidden": [2], "y": "log"})
    played_before(at_shared(DEFAULT, 0.562))
    found = nearest.of_result(asked)
    assert found is not None
    shown = found.result.experiment
    assert [line.policy for line in shown.lines] == ["ucb", "heldp-ucb-b"]
    assert shown.view.y == "log" and shown.view.hidden == ()
    assert found.result.complete and shown.lines[1].epsilon.fixed == 0.562


# ---------------------------------------------------------------------------------------------------------------
# In words


def test_every_moved_control_is_named() -> None:
    moves: list[tuple[Experiment, str]] = [
        (at_shared(DEFAULT, 0.5), "ε = 2 in place of 0.5"),
        (DEFAULT.with_changes(horizon=5000), "10,000 users in place of 5,000"),
        (DEFAULT.with_changes(trials=7), "50 runs in place of 7"),
        (DEFAULT.with_changes(seed=3), "seed 0 in place of 3"),
        (DEFAULT.with_changes(arms=[{"kind": "bernoulli", "mean": 0.5, "count": 3}]), "20 arms in place of 3"),
        (DEFAULT.with_changes(arms=[{"kind": "bernoulli", "mean": 0.5, "count": 20}]), "other arms"),
        (DEFAULT.with_changes(feedback={"batch": 500}), "rewards counted every 500 users"),
        (DEFAULT.with_changes(lines=[*DEFAULT.spec()["lines"], {"policy": "kl-ucb"}]), "without kl-UCB"),
    ]
    for asked, words in moves:
        (only,) = told(asked, DEFAULT)
        assert words in only
    assert told(DEFAULT, DEFAULT) == told(DEFAULT.with_changes(view={"hidden": [0]}), DEFAULT) == []


def test_users_with_features_are_told_apart() -> None:
    users = load_preset("users-with-features")
    other = users.with_changes(contexts={**users.spec()["contexts"], "dimension": 5})
    assert told(other, users) == ["users with 2 features in place of 5"]


def test_two_lines_of_one_policy_are_counted_and_budgets_go_to_the_nearest() -> None:
    asked = with_lines(("heldp-ucb-b", 4.0), ("heldp-ucb-b", 1.0))
    shown = with_lines(("heldp-ucb-b", 1.0))
    assert told(asked, shown)[0] == "without 1 of the lines of HeLDP-UCB-B"


def test_many_differences_are_counted() -> None:
    found = nearest.StandIn(None, ("one", "two", "three", "four"))
    assert found.told == ["one", "two", "three", "four"]
    assert nearest.StandIn(None, (*found.differences, "five")).told == ["one", "two", "three", "and 2 others"]
    assert f"{SENTENCE}: one; two; three; four." in nearest.sentence(found)


def test_a_sweep_says_which_budgets_it_has() -> None:
    sweep(with_companions(DEFAULT), nearest.swept_budgets("default"))
    found = nearest.of_sweep(DEFAULT.with_changes(horizon=5000), (0.5, 1.0, 10.0))
    assert found is not None
    assert found.told == ["10,000 users in place of 5,000", "ε from 0.1 to 10 in place of 0.5 to 10"]
    marked = nearest.of_sweep(DEFAULT, (0.1, 0.5, 10.0))
    assert marked is not None and marked.told == ["no point at ε = 0.5"]


# ---------------------------------------------------------------------------------------------------------------
# On the pages


def played_before(experiment: Experiment) -> Result:
    """As if it shipped, whatever the file holds for kernels as they are now."""
    return simulate(with_companions(experiment))


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is compiled until the event is set."""
    done, run = threading.Event(), Simulation.run

    def wait(self: Simulation, *arguments: Any, **options: Any) -> Result:
        while not (done.wait(0.01) or self.stopped):
            pass
        return run(self, *arguments, **options)

    monkeypatch.setattr(Simulation, "run", wait)
    monkeypatch.setattr(engine, "at_hand", lambda call: done.is_set())
    monkeypatch.setattr(runner, "is_warm", lambda: False)
    yield done
    done.set()


def stand_ins(screen: Any) -> list[Any]:
    return [chart for chart in screen.get("plotly_chart") if "stand-in" in chart.proto.id]


def label(screen: Any) -> str:
    """What is written inside the stand-in."""
    notes = on.chart(screen, "stand-in").layout["annotations"]
    (text,) = [note["text"] for note in notes if "Not your settings" in note["text"]]
    return text.replace("<br>", " ")


PAGES: list[tuple[str, str, dict[str, str], Callable[[], object], str, str]] = [
    (
        "explore",
        "regret-chart",
        {"lines": EPS_HALF},
        lambda: played_before(at_shared(DEFAULT, 0.562)),
        "ε = 0.562 in place of 0.5",
        "run-main",
    ),
    (
        "tradeoff",
        "tradeoff-chart",
        {"T": "5000", "from": "1"},
        lambda: sweep(with_companions(DEFAULT), nearest.swept_budgets("default")),
        "10,000 users in place of 5,000",
        "run-sweep",
    ),
    (
        "heavy-tails",
        "heavy-regret",
        {"preset": "wild-rewards", "T": "50000", "n": "3"},
        lambda: played_before(load_preset("wild-rewards")),
        "100,000 users in place of 50,000",
        "run-heavy",
    ),
    (
        "contextual",
        "regret-chart",
        {"preset": "users-with-features", "T": "1000"},
        lambda: played_before(load_preset("users-with-features")),
        "100,000 users in place of 1,000",
        "run-contextual",
    ),
    (
        "trust",
        "trust-curves",
        {"preset": "trust-ladder", "n": "3"},
        lambda: played_before(load_preset("trust-ladder")),
        "50 runs in place of 3",
        "run-trust",
    ),
]


@pytest.mark.parametrize(("page", "key", "address", "ships", "words", "slot"), PAGES, ids=[row[0] for row in PAGES])
def test_a_page_shows_the_nearest_picture_until_the_exact_one_comes(
    page: str,
    key: str,
    address: dict[str, str],
    ships: Callable[[], object],
    words: str,
    slot: str,
    request: pytest.FixtureRequest,
) -> None:
    ships()
    compiler: threading.Event = request.getfixturevalue("compiler")
    address = {**address, "seed": "977"}  # nobody has played it before
    screen = on.draw(on.opened(page, **address))
    assert words.replace(".", "\\.") in on.words(screen) and SENTENCE in on.words(screen)
    assert "**" not in "".join(each.value for each in screen.main.info)
    assert words in label(screen)
    assert len(stand_ins(screen)) == 1
    assert not [chart for chart in screen.get("plotly_chart") if key in chart.proto.id]
    assert not screen.main.get("download_button") and not screen.main.get("arrow_data_frame")
    assert "times that of" not in on.words(screen) and "Nothing computed yet" not in on.words(screen)

    run = screen.session_state[slot]
    compiler.set()
    run.thread.join()
    on.run(screen)
    assert on.chart(screen, key).names
    assert not stand_ins(screen) and SENTENCE not in on.words(screen)
    assert slot not in screen.session_state


def test_your_numbers_are_answered_for_other_users_meanwhile(request: pytest.FixtureRequest) -> None:
    best_methods(Question(typed_arms(10, [20, 50], True, (0, 100)), 50_000, 2.0))  # as the page opens
    compiler: threading.Event = request.getfixturevalue("compiler")
    screen = on.draw(on.opened("your-numbers", eps="0.7", users="12000"))
    assert "ε = 2 in place of 0.7 50,000 users in place of 12,000" in label(screen)
    assert [chart.key for chart in screen.get("plotly_chart")] == ["stand-in"]
    other = on.draw(on.opened("your-numbers", base="11", users="12000"))  # options of which nothing ships
    assert not other.get("plotly_chart")
    other.session_state["run-own"].simulation.stop()
    compiler.set()
    screen.session_state["run-own"].thread.join()
    on.run(screen)
    assert not stand_ins(screen) and on.chart(screen, "own-chart").names


def test_a_moved_control_changes_the_stand_in_and_stops_what_was_asked_before(compiler: threading.Event) -> None:
    screen = on.draw(on.opened("explore", lines=EPS_HALF, seed="978"))
    before = screen.session_state["run-main"]
    on.control(screen, "select_slider", "epsilon").set_value(0.3)
    on.draw(screen)
    assert "in place of 0.3" in label(screen) and "in place of 0.5" not in label(screen)
    assert before.simulation.stopped
    assert screen.session_state["run-main"] is not before
    compiler.set()
    on.run(screen)
    assert not stand_ins(screen)
    assert on.chart(screen).names


def test_the_exact_picture_is_the_one_that_was_asked_for(compiler: threading.Event) -> None:
    screen = on.draw(on.opened("explore", lines=EPS_HALF, seed="979", T="400", n="4"))
    compiler.set()
    on.run(screen)
    asked = at_shared(DEFAULT, 0.5).with_changes(seed=979, horizon=400, trials=4)
    alone = simulate(asked, store=Store(None, 0))
    shown = on.chart(screen).y("● HeLDP-UCB-B")
    assert np.array_equal(shown, alone.lines[1].mean.astype(np.float32))


def test_without_anything_near_the_page_says_what_it_waits_for(compiler: threading.Event) -> None:
    screen = on.draw(on.opened("explore", lines="kl-ucb-cf(1)", seed="980", T="400", n="4"))
    assert not screen.get("plotly_chart")
    assert "being compiled" in on.words(screen) and SENTENCE not in on.words(screen)
    compiler.set()
    on.run(screen)
    assert "being compiled" not in on.words(screen) and on.chart(screen).names


def test_a_covered_lesson_shows_no_private_line_of_the_stand_in(compiler: threading.Event) -> None:
    lesson = {"controls": "off", "reveal": "off"}
    screen = on.draw(on.opened("explore", lines=EPS_HALF, seed="981", **lesson))
    assert [name for name in on.chart(screen, "stand-in").names if "UCB" in name] == ["– UCB"]


def test_the_preview_of_a_long_run_waits_in_the_same_way(compiler: threading.Event) -> None:
    screen = on.draw(on.opened("explore", lines=EPS_HALF, seed="982", T="1e7", n="2000"))
    assert len(stand_ins(screen)) == 1 and "10,000 users in place of 10 million" in label(screen)
    assert "Run" in [button.label for button in screen.main.button]
    compiler.set()
    on.run(screen)
    assert not stand_ins(screen)
    assert "A preview" in on.words(screen) and on.chart(screen).names
