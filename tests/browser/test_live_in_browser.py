"""A live lesson computes from a disk, without a network, what the engine computes, and stops when asked.

Skipped, and said so, without the packages of deploy/live/requirements.txt: they compile the lesson.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect
from visitor import HANGS

from bandit_core import Experiment, paths, simulate
from bandit_core.export.page import page
from bandit_core.export.positions import Positions
from bandit_core.spec.number_text import with_error
from bandit_core.studies.sweep import at_budget
from deploy.live import modules, target

pytestmark = pytest.mark.skipif(bool(target.missing()), reason=f"nothing compiles for browsers here: {target.INSTALL}")
EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)],
        "lines": [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": 'half <b> & "whole"'},
            {"policy": "gaussian-ts", "epsilon": {"kind": "fixed", "value": 1}},  # played by the loop of rules
        ],
        "horizon": 500,
        "trials": 5,
    }
)


class Made(NamedTuple):
    """A lesson, and what was said while it was made."""

    path: Path
    said: str


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory, kernels_compiled: None) -> Made:
    path = tmp_path_factory.mktemp("live") / "lesson.html"
    positions, said = Positions(EXPERIMENT, values=(1.0, 4.0)), io.StringIO()
    with contextlib.redirect_stderr(said):
        addition = paths.live_addition(positions)
    path.write_text(page(positions, positions.run(1), addition=addition), encoding="utf-8")
    return Made(path, said.getvalue())


@pytest.fixture
def tab(chromium: Any, lesson: Made, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Page]:
    """The lesson, opened by a browser without a network; it may ask for nothing but itself and its worker.

    With a parameter, which is called with the text of the file, what that makes of it.
    """
    path = lesson.path
    if change := getattr(request, "param", None):
        path = tmp_path / "changed.html"
        path.write_text(change(lesson.path.read_text(encoding="utf-8")), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    context.set_offline(True)
    asked: list[str] = []
    troubles: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    found = context.new_page()
    found.set_default_timeout(HANGS)
    found.on("console", lambda message: troubles.append(message.text))
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.goto(path.as_uri())
    yield found
    context.close()
    assert troubles == []
    assert {address for address in asked if not address.startswith("blob:")} == {path.as_uri()}


def test_it_computes_what_the_engine_computes_for_another_seed(tab):
    before = tab.locator("#rows").inner_text()
    tab.get_by_label("Seed").fill(str(2**40 + 77))
    tab.get_by_label("Runs").fill("7")
    budget = tab.get_by_label("Privacy budget of every private line")
    budget.focus()
    tab.keyboard.press("ArrowRight")
    epsilon = float(tab.locator("#live-budget-value").inner_text().removeprefix("ε = "))
    assert epsilon > 1
    expect(tab.locator("#live-caption")).to_contain_text(f"ε = {epsilon:g}, 500 users, seed {2**40 + 77}, 7 runs")
    result = simulate(at_budget(EXPERIMENT, epsilon).with_changes(seed=2**40 + 77, trials=7), jobs=1)
    shown = [row.inner_text() for row in tab.locator("#live-rows td").all()]
    assert shown == [with_error(float(line.mean[-1]), float(line.stderr[-1])) for line in result.lines]
    assert tab.locator("#rows").inner_text() == before
    assert all(number in (tab.locator("#live-picture").get_attribute("aria-label") or "") for number in shown)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_long_one_shows_how_far_it_is_and_can_be_stopped(tab):
    tab.get_by_label("Number of users").focus()
    tab.keyboard.press("End")
    tab.get_by_label("Runs").fill("1000")
    tab.get_by_role("button", name="Compute").click()
    expect(tab.get_by_role("progressbar")).to_be_visible()
    tab.get_by_role("button", name="Stop").click()
    expect(tab.get_by_role("progressbar")).to_be_hidden()
    assert tab.locator("#live-result").is_hidden() and tab.get_by_role("button", name="Stop").is_disabled()
    tab.get_by_label("Runs").fill("0")
    expect(tab.locator("#live-status")).to_have_text(re.compile(r"Runs: .* 1 .* 1000"))


def with_another_end(text: str) -> str:
    """The file with another result for the first run by which a browser proves itself."""
    changed, times = re.subn(r'("checks":\[[^\]]*"ends":\[)', r"\g<1>0.125,", text)
    assert times == 1
    return changed


@pytest.mark.parametrize("tab", [with_another_end], indirect=True)
def test_a_browser_that_gives_other_numbers_computes_nothing(tab):
    tab.get_by_role("button", name="Compute").click()
    expect(tab.get_by_role("button", name="Compute")).to_be_disabled()
    assert tab.locator("#live-result").is_hidden() and tab.locator("#live-form").evaluate("form => form.inert")
    assert tab.locator("#rows tr").count() == len(EXPERIMENT.lines)


def test_what_was_compiled_is_compared_and_said(lesson):
    assert "2 of 2 methods compiled for browsers" in lesson.said
    text = lesson.path.read_text(encoding="utf-8")
    if shutil.which("node"):
        assert "methods that differ in a bit: 0" in lesson.said and "every bit was the same" in text
    else:
        assert "no node on PATH" in lesson.said and "every bit was the same" not in text
    assert "© 2005-2020 Rich Felker" in text
    assert not re.search(r"\b(src|@import|srcset)\s*=|url\((?!#)|fetch\(|XMLHttpRequest|<link|importScripts", text)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_a_module_that_gives_other_numbers_is_found(lesson, monkeypatch):
    [data] = re.findall(r'id="live-data">(.*?)</script>', lesson.path.read_text(encoding="utf-8"), re.DOTALL)
    module, _ = map(b64decode, json.loads(data)["wasm"])
    setups = zip(EXPERIMENT.lines, EXPERIMENT.setups, strict=True)
    calls = [line.entry.prepare(setup) for line, setup in setups][:2]  # of one kernel
    seeds = (0, 2**32 - 1, 2**32, 2**53)
    played = [modules.Played(call, 300, seed, 3) for call in calls for seed in seeds]
    assert modules.same_in_node(module, played)
    request = modules.Played.request
    monkeypatch.setattr(modules.Played, "request", lambda each, wasm: request(each._replace(seed=each.seed + 1), wasm))
    assert not modules.same_in_node(module, played[:1])
