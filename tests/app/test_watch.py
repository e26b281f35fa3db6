"""The frames of one run: the record's own numbers, small enough to send, made for those who look."""

import base64
import json

import numpy as np
import pytest
import screen as on

from bandit_core import Experiment
from bandit_core.auditing import runs
from bandit_core.policies import registry
from bandit_core.studies.one_run import one_run
from ui.watch.view import NUMBERS, ROWS, frames, message_frames, users_watched

ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.3, 0.7, 0.5, 0.7)]
MANY = [{"kind": "bernoulli", "mean": 0.9 - 0.02 * place} for place in range(30)]
MAX_BYTES = 300_000


def experiment_of(name: str, arms: list[dict], horizon: int = 2000) -> Experiment:
    line: dict = {"policy": name}
    if registry()[name].epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": 1.0}
    return Experiment.model_validate({"version": 1, "arms": arms, "lines": [line], "horizon": horizon, "trials": 3})


def unpacked(text: str, kind: str = "<f2") -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind).astype(float)


@pytest.mark.parametrize("name", ["dp-imed", "dp-ucb"])
def test_two_thousand_users_are_small_to_send(name: str) -> None:
    data = frames(experiment_of(name, MANY), 0, "#123456")
    assert data["users"] == 2000 and len(data["means"]) == ROWS and len(data["names"]) == ROWS + 1
    assert len(json.dumps(data, ensure_ascii=False).encode()) <= MAX_BYTES


@pytest.mark.parametrize("name", ["ucb", "ts-cf", "dp-imed", "dp-ucb"])
def test_frames_say_what_the_record_says(name: str) -> None:
    experiment = experiment_of(name, ARMS)
    data, run = frames(experiment, 0, "#123456"), one_run(experiment)
    assert np.array_equal(unpacked(data["shown"], "u1"), run.arms)
    assert np.array_equal(np.flatnonzero(unpacked(data["mistakes"], "u1")), run.mistakes)
    assert np.allclose(unpacked(data["regret"], "<f4"), run.regret, rtol=1e-6)
    assert np.array_equal(unpacked(data["felt"]), run.rewards)
    for part, values in {"estimate": run.estimates, "low": run.lows, "high": run.highs}.items():
        message = unpacked(data[part]).reshape(values.shape)
        seen = np.abs(values) < 60_000  # beyond, half precision says infinity
        assert np.array_equal(np.isnan(message), np.isnan(values))
        assert np.allclose(message[seen], values[seen], rtol=1e-3, atol=1e-6)
    decider = unpacked(data["decider"] or data["high"]).reshape(run.indices.shape)
    known = np.isfinite(run.indices) & (np.abs(run.indices) < 60_000)
    assert np.allclose(decider[known], run.indices[known], rtol=1e-3, atol=1e-6)


def test_the_best_arms_are_among_the_rows_and_the_others_are_counted() -> None:
    data = frames(experiment_of("ucb", MANY), 0, "#123456")
    assert max(data["means"]) == pytest.approx(0.9)
    shown = unpacked(data["shown"], "u1")
    assert shown.max() == ROWS and "20" in data["names"][-1]


def test_many_arms_are_watched_for_fewer_users() -> None:
    experiment = experiment_of("ucb", [{"kind": "bernoulli", "mean": 0.5, "count": 10_000}])
    assert users_watched(experiment) * 10_000 <= NUMBERS
    assert users_watched(experiment_of("ucb", ARMS, horizon=30)) == 30


@pytest.mark.parametrize("name", runs.POLICIES)
def test_messages_of_users_with_features_are_those_that_are_sent(name: str) -> None:
    line = {"policy": name, "epsilon": {"kind": "fixed", "value": 2.0}}
    document = {"contexts": {"dimension": 4, "arms": 3}, "lines": [line], "horizon": 5000, "trials": 2}
    experiment = Experiment.model_validate({"version": 1, **document})
    data = message_frames(experiment, 0, "#123456")
    users = runs.first_users(experiment.contexts, experiment.seed, data["users"])
    message = runs.messages(experiment, 0, users)
    assert np.allclose(unpacked(data["sent"]).reshape(-1, 3), message.sent[:, :3], rtol=1e-3, atol=1e-6)
    assert np.allclose(unpacked(data["truth"]).reshape(-1, 3), message.truth[:, :3], rtol=1e-3, atol=1e-6)
    averages = unpacked(data["estimate"]).reshape(-1, 4)
    assert np.isnan(averages[0]).all()
    assert np.allclose(averages[-1], message.sent[:-1].mean(axis=0), rtol=1e-3, atol=1e-5)
    assert np.array_equal(unpacked(data["shown"], "<u2"), users.arms)
    assert not data["regret"]


@pytest.mark.parametrize(("page", "fold", "chosen"), [
    ("mechanisms", "mechanisms-watch", {"mech": "ctb"}),
    ("contextual", "contextual-watch", on.SMALL),
])  # fmt: skip
def test_folds_make_frames_when_they_are_opened(page: str, fold: str, chosen: dict[str, str]) -> None:
    screen = on.visit(page, **chosen)
    assert not _players(screen)
    screen.session_state[f"{fold}-fold"] = True
    on.run(screen)
    assert len(_players(screen)) == 1


def test_explore_makes_the_frames_of_who_opens_the_tab() -> None:
    screen = on.visit("explore", **on.SMALL)
    assert not _players(screen)
    screen.session_state["views"] = "Watch one run"
    on.run(screen)
    (first,) = _players(screen)
    on.put(screen, screen.selectbox(key="watch-line"), 1)
    (second,) = _players(screen)
    assert json.loads(first)["label"] != json.loads(second)["label"]


def test_a_search_that_stops_is_not_watched_and_others_beside_it_are() -> None:
    for lines, players in (("top-two", 0), ("top-two,ucb", 1)):
        screen = on.visit("explore", **on.SMALL | {"lines": lines})
        screen.session_state["views"] = "Watch one run"
        on.run(screen)
        assert len(_players(screen)) == players
        assert any("there is no run to watch" in each.value for each in screen.caption) == (not players)


def _players(screen: on.AppTest) -> list[str]:
    return [
        element.proto.json
        for element in screen.get("bidi_component")
        if element.proto.component_name == "watch_one_run"
    ]
