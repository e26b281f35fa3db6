"""Live lessons: compiled kernels give the engine's numbers, and a file holds the calls that the engine would make."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from bandit_core import Experiment, simulate
from bandit_core.__main__ import main
from bandit_core.export.live import cases, comparison, manifest, offer
from bandit_core.export.live.arguments import leaves
from bandit_core.export.page import ASSETS
from bandit_core.export.positions import Positions
from bandit_core.jit.version import kernel_version
from bandit_core.kernels.streams import streams
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import with_error
from bandit_core.studies.sweep import at_budget

HELD = sorted(manifest.manifest()["kernels"])
STREAMS = "bandit_core.kernels.streams.streams"
in_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH: compiled kernels are not compared")
SPEC = {
    "arms": [{"kind": "bernoulli", "mean": 0.8}, {"kind": "uniform", "low": 0.1, "high": 0.6}],
    "lines": [
        {"policy": "ucb"},
        {"policy": "heldp-ucb-l", "epsilon": {"kind": "fixed", "value": 1}},
        {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}},
        {"policy": "adap-ucb", "epsilon": {"kind": "fixed", "value": 1}},
    ],
    "horizon": 700,
    "trials": 5,
    "seed": 2**40 + 3,
    "view": {"hidden": [1]},
}


@pytest.fixture(scope="module")
def positions() -> Positions:
    return Positions(Experiment.model_validate(SPEC), values=(0.3, 1.0))


@pytest.fixture
def held_here(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A manifest of its own, to be changed."""
    own = json.loads(json.dumps(manifest.manifest()))
    monkeypatch.setattr(manifest, "manifest", lambda: own)
    monkeypatch.setattr(offer, "manifest", lambda: own)
    return own


def kernel(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


@pytest.mark.parametrize("name", [*HELD, STREAMS])
def test_what_is_compiled_is_the_code_of_today(name):
    noted = manifest.manifest()
    version = noted["streams"]["version"] if name == STREAMS else noted["kernels"][name]["version"]
    found = kernel_version(streams if name == STREAMS else kernel(name))
    assert version == found, f"changed since it was compiled for browsers: run {manifest.COMMAND}"


def test_the_index_family_can_be_played_live():
    assert {"bandit_core.kernels.index.lockstep", "bandit_core.kernels.index.tournament"} <= set(HELD)
    assert all(each["comparisons"] for each in manifest.manifest()["kernels"].values())


@in_node
def test_every_kernel_gives_the_numbers_of_the_engine():
    played = cases.few(HELD)
    assert {case.kernel for case in played} == set(HELD)
    requests = [case.request(manifest.wasm(case.kernel)) for case in played]
    assert comparison.differing(played, comparison.in_node(requests)) == []
    others = [request | {"seed": str(int(request["seed"]) + 1)} for request in requests]
    assert len(comparison.differing(played, comparison.in_node(others))) > 0.9 * len(played)


@in_node
def test_streams_are_spawned_as_numpy_spawns_them(monkeypatch):
    seeds, trials = comparison.drawn_seeds(20_000)  # the build compares a million
    assert max(seeds) == 2**53
    module = manifest.wasm("bandit_core.kernels.index.lockstep")
    assert comparison.streams_agree(module, seeds, trials)
    monkeypatch.setattr(comparison, "streams", lambda seed, *trials: streams(seed ^ 1, *trials))
    assert not comparison.streams_agree(module, seeds[-1:], trials[-1:])


def as_asked(offered: dict[str, Any], number: int) -> dict[str, Any]:
    """A call as the worker gets it."""
    call = offered["calls"][number]
    return call | {"line": 0, "arguments": [offered["leaves"][each] for each in call["arguments"]]}


def message(offered: dict[str, Any], budget: int, users: int, seed: int, runs: int) -> list[dict[str, Any]]:
    """What the page asks the worker for, a request for each line."""
    found = [(line, call) for line, _, call in offered["cells"][budget][users] if call >= 0]
    coins = {
        line: (contrasts or {budget: None})[budget]
        for line, contrasts in (offered["arms"] or {"lines": {}})["lines"].items()
    }
    return [
        {
            "wasm": offered["wasm"],
            "calls": [as_asked(offered, call) | {"contrast": coins.get(line)}],
            "times": offered["leaves"][offered["times"][users]],
            "seed": str(seed),
            "runs": runs,
        }
        for line, call in found
    ]


@in_node
@pytest.mark.parametrize(("epsilon", "users"), [(0.3, 500), (2.5, 10_000)])
def test_a_browser_computes_what_the_engine_computes_elsewhere(positions, epsilon, users):
    offered = offer.offer(positions)
    budget, at = offered["budgets"].index(f"ε = {epsilon}"), offered["horizons"].index(users)
    played = at_budget(positions.experiment, epsilon).with_changes(horizon=users, seed=9, trials=3)
    result = simulate(played, jobs=1, store=Store(None, 0))
    requests = message(offered, budget, at, 9, 3)
    shown = [number for number, _, call in offered["cells"][budget][at] if call >= 0]
    assert set(shown) >= {0, 2} and 1 not in shown
    for number, block in zip(shown, comparison.in_node(requests), strict=True):
        assert block.regret.tobytes() == result.lines[number].regret.tobytes()
    assert json.loads(json.dumps(offered))["horizons"][offered["start"]["users"]] == positions.experiment.horizon
    assert offered["start"] | {"users": 0} == {
        "budget": offered["budgets"].index("ε = 1"),
        "users": 0,
        "seed": SPEC["seed"],
        "runs": 5,
    }


@in_node
def test_a_browser_proves_itself_by_runs_of_every_kernel(positions):
    offered = offer.offer(positions)
    assert {offered["calls"][check["call"]]["kernel"] for check in offered["checks"]} == set(offered["wasm"])
    for check in offered["checks"]:
        request = {
            "wasm": offered["wasm"],
            "calls": [as_asked(offered, check["call"])],
            "times": offered["leaves"][check["times"]],
            **{name: check[name] for name in ("seed", "runs")},
        }
        [block] = comparison.in_node([request])
        assert np.ascontiguousarray(block.regret[:, -1]).tobytes() == b64decode(check["ends"])
        assert len(np.unique(block.regret[:, -1])) > 1


@in_node
def test_other_means_are_those_that_python_would_prepare_for():
    three = [{"kind": "bernoulli", "mean": 0.7}, {"kind": "bernoulli", "mean": 0.4, "count": 2}]
    experiment = Experiment.model_validate({**SPEC, "arms": three, "view": {}})
    private = [{"policy": name, "epsilon": {"kind": "fixed", "value": 1}} for name in ("ts-cf", "heldp-ucb-ls")]
    lines = [*experiment.spec()["lines"], {"policy": "kl-ucb"}, *private]
    experiment = experiment.with_changes(lines=lines)
    offered = offer.offer(Positions(experiment, values=(1.0,)))
    assert offered["arms"]["means"] == [0.7, 0.4, 0.4]
    assert list(offered["arms"]["lines"]) == [0, 1, 2, 3, 4, 5]  # the last squashes rewards
    assert len(set(offered["arms"]["lines"][5])) == len(offered["budgets"]) and offered["arms"]["lines"][2] is None
    for epsilon, users, means in ((0.2, 1000, [0.31, 0.9, 1.0]), (6, 700, [0.5, 0.5, 0.123456789])):
        arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
        played = at_budget(experiment, epsilon).with_changes(arms=arms, horizon=users, seed=4, trials=3)
        result = simulate(played, jobs=1, store=Store(None, 0))
        budget, at = offered["budgets"].index(f"ε = {epsilon}"), offered["horizons"].index(users)
        requests = [request | {"means": means} for request in message(offered, budget, at, 4, 3)]
        for line, block in enumerate(comparison.in_node(requests)):
            same = block.regret.tobytes() == result.lines[line].regret.tobytes()
            assert same or line not in offered["arms"]["lines"], (line, epsilon)


def test_means_do_not_move_where_arms_pay_other_amounts(positions):
    assert offer.offer(positions)["arms"] is None


def test_calls_are_those_that_a_policy_prepares_and_are_kept_once(positions):
    offered = offer.offer(positions)
    budget, users = offered["budgets"].index("ε = 5"), offered["horizons"].index(5000)
    experiment = at_budget(positions.experiment, 5).with_changes(horizon=5000)
    for number, label, call in offered["cells"][budget][users]:
        if call >= 0:
            prepared = experiment.lines[number].entry.prepare(experiment.setups[number])
            given = [offered["leaves"][each] for each in offered["calls"][call]["arguments"]]
            assert given == [each.written for each in leaves(prepared.arguments)]
            assert label == experiment.label(number)
    of_ucb = {call for row in offered["cells"] for cell in row for line, _, call in cell if line == 0}
    assert len(of_ucb) == 1 < len(offered["calls"])


@pytest.mark.parametrize("change", [{"version": "another"}, {"types": ["f8"]}, None])
def test_a_kernel_that_was_not_compiled_as_it_is_stays_precomputed(positions, held_here, change):
    for noted in held_here["kernels"].values():
        noted.update(change or {})
    if change is None:
        held_here["kernels"].clear()
    offered = offer.offer(positions)
    assert offered["cells"] == [] and set(offered["reasons"]) == {0, 2, 3}


def test_the_command_writes_a_file_that_may_compute_and_ask_nobody(tmp_path, capsys):
    spec, out = tmp_path / "spec.json", tmp_path / "lesson.html"
    spec.write_text(json.dumps(SPEC), encoding="utf-8")
    assert main(["export", str(spec), "--live", "--at", "0.3,1", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert "default-src 'none'" in policy and "'wasm-unsafe-eval'" in policy and "worker-src blob:" in policy
    assert not re.search(r"\b(src|@import|srcset)\s*=|url\((?!#)|fetch\(|XMLHttpRequest|<link|importScripts", text)
    assert main(["export", str(spec), "--at", "0.3,1", "--out", str(out)]) == 0
    plain = out.read_text(encoding="utf-8")
    assert "wasm-unsafe-eval" not in plain and "live-data" not in plain


@in_node
def test_numbers_are_written_as_the_lab_writes_them():
    draw = np.random.default_rng(3)
    values = 10 ** draw.uniform(-1, 9, 3000)
    errors = values * 10 ** draw.uniform(-5, 0, 3000) * (draw.random(3000) > 0.05)
    asked = "JSON.parse(require('fs').readFileSync(0)).map(each => with_error(...each))"
    script = f"{(ASSETS / 'numbers.js').read_text('utf-8')}\nprocess.stdout.write(JSON.stringify({asked}))"
    found = json.loads(comparison.run_node(script, np.column_stack([values, errors]).tolist()))
    assert found == [with_error(float(value), float(error)) for value, error in zip(values, errors, strict=True)]


@pytest.mark.parametrize("name", HELD)
def test_a_module_says_nothing_of_the_machine_that_built_it(name: str) -> None:
    assert not [
        place for place in (b"site-packages", b"/lib/python", b"/home/", b"/tmp/") if place in manifest.wasm(name)
    ]
