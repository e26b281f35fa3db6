"""The button that makes a lesson of a page: the same file as the command's, and the server's limits hold."""

import json
import re
from typing import Any

import pytest
import screen as on

from bandit_core import Experiment, simulate
from bandit_core.experiments import links
from bandit_core.export import page
from bandit_core.simulation import sentences
from bandit_core.simulation.results import split, with_companions
from ui import export_panel, runner, words

LINES = "ucb,heldp-ucb-b(1),adap-ucb(1)"
BUTTON, SAVE = "Download as an offline lesson (HTML)", "Save the lesson (HTML)"
NASTY = "*it's* **half** <b> & `x` :smile: \\ </script>"


def take(screen: Any, page: str) -> Any:
    """Press the button, and wait for what begins by itself."""
    on.press(screen, screen.button(key=f"take-along-{page}"))
    if "run-lesson" in screen.session_state:
        screen.session_state["run-lesson"].thread.join()
        on.run(screen)
    return screen


def text_of(screen: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the button of a finished lesson would save."""
    kept: dict[str, Any] = {}

    def noted(label: str, data: Any, **options: Any) -> None:
        kept[label] = data

    monkeypatch.setattr(export_panel.st, "download_button", noted)
    on.run(screen)
    monkeypatch.undo()
    return kept[SAVE]()


def file_of(screen: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The document in it."""
    [found] = re.findall(r'id="lesson">(.*?)</script>', text_of(screen, monkeypatch), re.DOTALL)
    return json.loads(found)


def labels(screen: Any) -> list[str]:
    return [button.label for button in screen.main.download_button]


def test_another_experiment_is_not_computed_until_it_is_asked_for():
    screen = take(on.look(on.visit(lines=LINES, **on.SMALL), "Download"), "explore")
    on.change(screen, "text_input", "seed", "7")
    assert SAVE not in labels(screen) and screen.button(key="take-along-explore").label == BUTTON


def test_a_press_holds_while_a_control_moves():
    screen = on.look(on.visit(lines=LINES, **on.SMALL), "Download")
    screen.button(key="take-along-explore").click()
    on.change(screen, "text_input", "seed", "7")  # in the same run of the page
    if "run-lesson" in screen.session_state:
        screen.session_state["run-lesson"].thread.join()
        on.run(screen)
    assert SAVE in labels(screen) and screen.session_state["lesson-wanted"][0].seed == 7


def test_a_run_that_ends_while_the_page_is_drawn_is_not_offered_again(monkeypatch):
    looked = []

    def alive(run: runner.Run) -> bool:
        """The first who asks is told that it goes on, and it ends before the next one asks."""
        looked.append(run.thread.join())
        return len(looked) == 1

    screen = on.look(on.visit(lines=LINES, seed="41", **on.SMALL), "Download")  # what no one has computed
    monkeypatch.setattr(runner, "LIVE_SECONDS", 0.0)  # so that the lesson is a run of its own, however short
    monkeypatch.setattr(runner.Run, "alive", property(alive))
    on.press(screen, screen.button(key="take-along-explore"))
    assert len(looked) > 1 and SAVE in labels(screen)
    assert "start-lesson" not in [button.key for button in screen.main.button]


def test_the_slider_may_move_the_users(monkeypatch):
    screen = on.look(on.visit(lines=LINES, **on.SMALL), "Download")
    screen.get_by_key("lesson-slider").set_value("horizon")
    take(on.run(screen), "explore")
    assert file_of(screen, monkeypatch)["slider"] == "horizon"


def test_without_budgets_the_slider_moves_the_users(monkeypatch):
    screen = take(on.look(on.visit(lines="ucb", **on.SMALL), "Download"), "explore")
    assert file_of(screen, monkeypatch)["slider"] == "horizon"


def test_tradeoff_gives_its_own_budgets_and_what_it_says_of_all(monkeypatch):
    screen = on.unfold(on.visit("tradeoff", lines=LINES, **on.SMALL), "tradeoff-more")
    take(screen, "tradeoff")
    found = file_of(screen, monkeypatch)
    assert found["first"] == "budgets" and found["overall"]
    chart = on.chart(screen, "tradeoff-chart")
    [drawn] = [trace for trace in chart.traces if trace.get("name", "").endswith("local method")]
    assert found["budgets"]["series"][found["budgets"]["x"]] == pytest.approx(on.numbers_in(drawn["x"]))
    [curve] = [each for each in found["budgets"]["curves"] if each["label"] == "HeLDP-UCB-B"]
    assert found["budgets"]["series"][curve["y"]] == pytest.approx(on.numbers_in(drawn["y"]), rel=6e-4)


def test_what_is_too_large_for_the_server_is_refused_with_the_command(monkeypatch):
    screen = on.look(on.visit(lines=LINES, **on.SMALL), "Download")
    monkeypatch.setenv("LAB_MAX_STEPS", "20000")  # the picture takes 4,800
    take(screen, "explore")
    assert SAVE not in labels(screen)
    assert ["steps" in error.value for error in screen.main.error] == [True]
    assert any("export experiment.json --slider epsilon" in code.value for code in screen.main.code)


def test_sentences_are_the_same_in_the_page_and_in_the_file():
    document_ = {**links.read({"lines": LINES})[0].spec(), "horizon": 300, "trials": 4}
    document_["lines"][1]["label"] = NASTY
    experiment = Experiment.model_validate(document_)
    result = split(simulate(with_companions(experiment), jobs=1), experiment)
    there = page.marked_up(sentences.verdict(result, page.as_html))
    assert export_panel.as_html(words.verdict(result)) == there
    assert "&lt;b&gt; &amp;" in there and there.count("<strong>") == there.count("</strong>") > 0
