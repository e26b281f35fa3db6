"""An expensive run stays in the visitor's hands: it can be watched, cancelled, forgotten, and loses nothing."""

import functools
import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import screen as on
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment, Simulation, simulate
from bandit_core.cli import main
from bandit_core.experiments import links
from bandit_core.model import KernelCall, RunSetup, Signal
from bandit_core.policies import registry
from bandit_core.simulation import scheduler
from bandit_core.simulation.results import Result
from ui import exports, runner, words

EXPENSIVE = {"arms": "0.9,0.5", "lines": "ucb", "T": "1e6", "n": "2000"}  # most of a minute in many blocks


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """On many cores these experiments would not be expensive."""
    monkeypatch.setenv("LAB_JOBS", "2")


def experiment(seed: int, trials: int = 2000) -> Experiment:
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
    return Experiment.model_validate(
        {"arms": arms, "lines": [{"policy": "ucb"}], "horizon": 10**6, "trials": trials, "seed": seed}
    )


def wait_for(happens: Callable[[], bool]) -> None:
    last = time.monotonic() + 300
    while not happens():
        assert time.monotonic() < last, "it did not happen within five minutes"
        time.sleep(0.01)


class Unending:
    """Wraps the kernel of `ucb`: after some blocks every one lasts until its run is stopped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int = 3) -> None:
        self.policy, self.left = registry()["ucb"], after
        monkeypatch.setitem(registry(), "ucb", replace(self.policy, prepare=self.prepare))

    def prepare(self, setup: RunSetup) -> KernelCall:
        call = self.policy.prepare(setup)

        @functools.wraps(call.kernel)  # of the same version, hence with the same blocks
        def kernel(state: Any, *arguments: Any) -> None:
            self.left -= 1
            signal = Signal(arguments[-1].signal)
            while setup.horizon == 10**6 and self.left < 0 and not signal.stopped:
                time.sleep(0.01)
            call.kernel(state, *arguments)

        return replace(call, kernel=kernel)


def trials_of(result: Result) -> int:
    line = result.lines[0]
    return 0 if line is None else line.count


def test_it_stops_also_in_the_middle_of_an_endless_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FORGOTTEN_SECONDS", 0.0)
    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.01)
    lines = [{"policy": "kl-ucb"}]
    endless = experiment(seed=121).with_changes(lines=lines, horizon=10**9, trials=1)  # one block of a minute
    run = runner.Run(Simulation(endless), "question", present=lambda: False)
    started = time.monotonic()
    run.start()
    wait_for(lambda: not run.alive)
    assert run.simulation.stopped
    assert trials_of(run.simulation.result()) == 0, time.monotonic() - started


def test_a_run_goes_on_while_its_visitor_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FORGOTTEN_SECONDS", 0.0)
    run = runner.Run(Simulation(experiment(seed=103, trials=40)), "question", present=lambda: True)
    run.start()
    wait_for(lambda: not run.alive)
    assert not run.simulation.stopped
    assert trials_of(run.simulation.result()) == 40


def test_a_failure_is_kept_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(experiment(seed=104))

    def fail(**_: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(simulation, "run", fail)
    run = runner.Run(simulation, "question")
    run.start()
    wait_for(lambda: not run.alive)
    assert isinstance(run.error, MemoryError)


def test_a_second_click_on_run_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, runner.Run] = {}
    monkeypatch.setattr(runner.st, "session_state", state)
    request = runner.Request("slot", "question", lambda: Simulation(experiment(seed=105)), 0)
    runner.start(request)
    first = state[request.slot]
    runner.start(request)
    assert state[request.slot] is first
    first.cancel()


def test_a_long_run_is_told_for_more_cores_too(monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"arms": "beta(4,1),beta(1.5,1)", "lines": "ucb", "T": "1e7", "n": "3000"}
    seconds = Simulation(links.read(long)[0]).missing_seconds
    many, here = (words.duration(seconds / cores) for cores in (runner.MANY_CORES, 2))
    assert seconds / 2 > runner.LONG_SECONDS and many != here
    text = on.words(on.visit(**long))
    assert here in text and f"{runner.MANY_CORES} cores" in text and many in text
    monkeypatch.setenv("LAB_JOBS", str(runner.MANY_CORES))
    text = on.words(on.visit(**long))
    assert many in text and f"{runner.MANY_CORES} cores" not in text


def press(screen: AppTest, label: str) -> AppTest:
    return on.press(screen, next(button for button in screen.main.button if button.label == label))


def labels(screen: AppTest) -> list[str]:
    """The buttons of the run of the page's own picture."""
    return [button.label for button in screen.main.button if not (button.key or "").startswith("take-along")]


@pytest.fixture
def no_thread_left() -> object:
    yield
    for thread in threading.enumerate():
        if thread.name == "simulation":
            thread.join(timeout=60)
            assert not thread.is_alive()


def test_run_watch_change_the_view_and_cancel(monkeypatch: pytest.MonkeyPatch, no_thread_left: None) -> None:
    screen = on.visit(seed="111", **EXPENSIVE)  # computes and keeps the preview, which Run must not delay
    Unending(monkeypatch)
    assert f"{words.number(2e9)} " in on.words(screen)
    press(screen, "Run")
    assert labels(screen) == ["Cancel"]
    run = screen.session_state["run-main"]
    assert on.chart(screen).names  # a preview, or what is done so far
    wait_for(lambda: trials_of(run.simulation.result()) > 0)
    on.put(screen, on.setting(screen, "button_group", "axes"), "log")
    assert screen.session_state["run-main"] is run and run.alive
    assert on.chart(screen).layout["yaxis"]["type"] == "log"
    assert "a preview" not in on.words(screen).lower()
    press(screen, "Cancel")
    wait_for(lambda: not run.alive)
    on.run(screen)
    kept = trials_of(run.simulation.result())
    assert not run.alive and 0 < kept < 2000
    assert labels(screen) == ["Run"]
    assert f" {kept} runs" in on.words(screen) or kept == 1
    on.change(screen, "select_slider", "horizon", 1000)  # controls are alive
    assert "lost rewards" in on.words(screen) or "loses" in on.words(screen)
    assert labels(screen) == []


def test_another_experiment_stops_the_run(no_thread_left: None) -> None:
    screen = on.visit(seed="112", **EXPENSIVE)
    press(screen, "Run")
    run = screen.session_state["run-main"]
    on.change(screen, "text_input", "seed", "113")
    wait_for(lambda: not run.alive)
    assert run.simulation.stopped
    assert labels(screen) == ["Run"]


def test_a_finished_run_is_the_picture_even_where_nothing_can_be_stored(
    monkeypatch: pytest.MonkeyPatch, no_thread_left: None
) -> None:
    monkeypatch.setattr("bandit_core.simulation.store.Store.put", lambda *_: None)
    screen = on.visit(**{**EXPENSIVE, "seed": "114", "n": "90"})
    press(screen, "Run")
    run = screen.session_state["run-main"]
    wait_for(lambda: not run.alive)
    on.run(screen)
    assert labels(screen) == []
    assert " 90 runs" in on.words(screen)
    assert "**UCB** " in on.words(screen)


def test_a_failed_run_says_so(monkeypatch: pytest.MonkeyPatch, no_thread_left: None) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    screen = on.visit(seed="115", **EXPENSIVE)
    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "run", fail)
        next(button for button in screen.main.button if button.label == "Run").click()
        patch.setattr(runner, "preview_of", lambda *_, **__: None)
        on.run(screen)
    on.run(screen)
    assert len(screen.main.error) == 1
    assert labels(screen) == ["Run"]


def finishing(seed: str) -> tuple[AppTest, runner.Run]:
    """A visitor who has pressed Run, and a run that was still going then."""
    go = threading.Event()
    with (
        pytest.MonkeyPatch.context() as patch,
        scheduler.MIDDLE.admit(1, go.is_set),
        scheduler.LONG.admit(1, go.is_set),
    ):
        patch.setenv("LAB_MAX_RUNS", "1")
        screen = on.visit(**{**EXPENSIVE, "seed": seed, "n": "90"})
        press(screen, "Run")
        run = screen.session_state["run-main"]
        wait_for(lambda: run.simulation.waiting)
    return screen, run


def test_a_run_that_is_in_the_store_gives_its_memory_back(no_thread_left: None) -> None:
    screen, run = finishing(seed="116")
    wait_for(lambda: not run.alive)
    on.run(screen)
    assert "run-main" not in screen.session_state
    assert labels(screen) == []
    on.put(screen, on.setting(screen, "button_group", "axes"), "log")
    assert " 90 runs" in on.words(screen)


def test_a_run_that_waits_for_others_says_so_and_how_not_to_wait(
    monkeypatch: pytest.MonkeyPatch, no_thread_left: None
) -> None:
    monkeypatch.setenv("LAB_MAX_RUNS", "1")
    go = threading.Event()
    with scheduler.MIDDLE.admit(1, go.is_set), scheduler.LONG.admit(1, go.is_set):  # someone else's run
        screen = on.visit(seed="117", **EXPENSIVE)
        press(screen, "Run")
        run = screen.session_state["run-main"]
        wait_for(lambda: run.simulation.waiting)
        on.run(screen)
        assert exports.command(screen.session_state["lab"]["experiment"]) in on.words(screen)
        assert labels(screen) == ["Cancel"]
        assert trials_of(run.simulation.result()) <= 10  # the preview's
    wait_for(lambda: trials_of(run.simulation.result()) > 10)  # now it is its turn
    press(screen, "Cancel")
    assert not run.alive


def test_what_is_refused_is_told_with_a_command_that_does_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_MAX_STEPS", "1000000")
    screen = on.visit(preset="ren-1c", n="7")
    assert "1e\\+06 " in screen.main.error[0].value
    horizon = screen.session_state["lab"]["experiment"].horizon
    (command,) = [code.value for code in screen.main.code if "bandit_core" in code.value and "import" not in code.value]
    assert "run ren-1c --trials 7 " in command
    assert horizon * 7 * 3 > 10**6
    assert on.chart(screen).names  # a preview stands there all the same
    monkeypatch.delenv("LAB_MAX_STEPS")
    changed = on.visit(preset="ren-1c", n="7", T="50").session_state["lab"]["experiment"]
    asked = shlex.split(exports.command(changed))[3:-1]
    assert main([*asked, str(tmp_path / "curves.csv")]) == 0
    last = pd.read_csv(tmp_path / "curves.csv").groupby("line")["mean"].last()
    assert last.tolist() == simulate(changed).curves.groupby("line")["mean"].last().tolist()
    other = changed.with_changes(arms=[{"kind": "bernoulli", "mean": 0.5}])
    assert "run experiment.json " in exports.command(other)


def test_what_a_run_has_to_say_reaches_its_visitor(no_thread_left: None) -> None:
    screen, run = finishing(seed="118")
    run.simulation.notices.append("gone-with-the-wind")
    wait_for(lambda: not run.alive)
    on.run(screen)
    assert "gone\\-with\\-the\\-wind" in on.words(screen)


def test_progress_is_drawn_beside_the_word_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of it, the browser would have no container to take the word away from."""
    monkeypatch.setattr(runner, "is_warm", lambda: False)
    monkeypatch.setattr(runner, "_played_here", played := set())  # private: else only the first test compiles
    monkeypatch.setattr(runner, "MOMENT_SECONDS", -1.0)
    last: dict[tuple[int, ...], str] = {}
    homeless: list[tuple[int, ...]] = []
    send = ScriptRunContext.enqueue

    def noted(self: ScriptRunContext, message: Any) -> None:
        if message.HasField("delta"):
            path = tuple(message.metadata.delta_path)
            homeless.extend(path for length in range(2, len(path)) if last.get(path[:length]) == "new_element")
            last[path] = message.delta.WhichOneof("type")
        send(self, message)

    monkeypatch.setattr(ScriptRunContext, "enqueue", noted)
    screen = on.visit("explore", arms="0.9,0.5", lines="ucb", T="3000", n="40", seed="731")
    assert on.chart(screen).names and played == {"ucb"}
    assert len(last) > 20 and homeless == []
