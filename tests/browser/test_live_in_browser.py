"""A live lesson computes from a disk, without a network, what the engine computes, and stops when it is told to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from visitor import HANGS

from bandit_core import Experiment, simulate
from bandit_core.export.live import cases, comparison, manifest
from bandit_core.export.page import page
from bandit_core.export.positions import Positions
from bandit_core.spec.number_text import with_error
from bandit_core.studies.sweep import at_budget

EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)],
        "lines": [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": 'half <b> & "whole"'},
        ],
        "horizon": 500,
        "trials": 5,
    }
)


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory, kernels_compiled: None) -> Path:
    path = tmp_path_factory.mktemp("live") / "lesson.html"
    positions = Positions(EXPERIMENT, values=(1.0, 4.0))
    path.write_text(page(positions, positions.run(1), live=True), encoding="utf-8")
    return path


@pytest.fixture
def tab(chromium: Any, lesson: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Page]:
    """The lesson, opened by a browser without a network; it may ask for nothing but itself and its worker.

    With a parameter, which is called with the text of the file, what that makes of it.
    """
    if change := getattr(request, "param", None):
        text = lesson.read_text(encoding="utf-8")
        lesson = tmp_path / "changed.html"
        lesson.write_text(change(text), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    context.set_offline(True)
    asked: list[str] = []
    troubles: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    found = context.new_page()
    found.set_default_timeout(HANGS)
    found.on("console", lambda message: troubles.append(message.text))
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.goto(lesson.as_uri())
    yield found
    context.close()
    assert troubles == []
    assert {address for address in asked if not address.startswith("blob:")} == {lesson.as_uri()}


def test_it_computes_what_the_engine_computes_for_another_seed(tab):
    before = tab.locator("#rows").inner_text()
    tab.get_by_label("Seed").fill("77")
    tab.get_by_label("Runs").fill("7")
    budget = tab.get_by_label("Privacy budget of every private line")
    budget.focus()
    tab.keyboard.press("ArrowRight")
    epsilon = float(tab.locator("#live-budget-value").inner_text().removeprefix("ε = "))
    assert epsilon > 1
    expect(tab.locator("#live-caption")).to_contain_text(f"ε = {epsilon:g}, 500 users, seed 77, 7 runs")
    tab.get_by_text("Means of the arms").click()
    tab.get_by_label("Arm 2").fill("0.75")
    expect(tab.locator("#live-caption")).to_contain_text("means 0.9, 0.75")
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.75)]
    result = simulate(at_budget(EXPERIMENT, epsilon).with_changes(arms=arms, seed=77, trials=7), jobs=1)
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
    """The file with another result for the runs by which a browser proves itself."""
    [checks] = re.findall(r'"checks":\[.*?\]', text)
    [ends] = set(re.findall(r'"ends":"(\w+)', checks))
    return text.replace(f'"ends":"{ends}', f'"ends":"{ends[::-1]}')


@pytest.mark.parametrize("tab", [with_another_end], indirect=True)
def test_a_browser_that_gives_other_numbers_computes_nothing(tab):
    tab.get_by_role("button", name="Compute").click()
    expect(tab.get_by_role("button", name="Compute")).to_be_disabled()
    assert tab.locator("#live-result").is_hidden() and tab.locator("#live-form").evaluate("form => form.inert")
    assert tab.locator("#rows tr").count() == len(EXPERIMENT.lines)


PLAY = """([source, requests]) => {
  const text = array => btoa(Array.from(new Uint8Array(array.buffer), byte => String.fromCharCode(byte)).join(""));
  const played = request => new Promise((done, failed) => {
    const parts = [], worker = new Worker(URL.createObjectURL(new Blob([source])));
    worker.onmessage = ({ data }) => {
      if (data.error) failed(data.error);
      else if (data.done) { worker.terminate(); done(parts); }
      else parts.push(["regret", "best", "pulls"].map(name => text(data[name])));
    };
    worker.postMessage(request);
  });
  return Promise.all(requests.map(played));
}"""


def test_every_kernel_gives_the_numbers_of_the_engine(chromium):
    played = cases.few(manifest.manifest()["kernels"], each=1)
    requests = [case.request(manifest.wasm(case.kernel)) for case in played]
    page = chromium.new_page()
    page.set_default_timeout(HANGS)
    answers = page.evaluate(PLAY, [comparison.WORKER.read_text("utf-8"), requests])
    page.close()
    assert len(answers) == len(manifest.manifest()["kernels"])
    blocks = [comparison.block_of(parts, asked) for parts, asked in zip(answers, requests, strict=True)]
    assert comparison.differing(played, blocks) == []
