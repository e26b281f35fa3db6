"""Home answers with the best policies known on its arms."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import screen as on

from bandit_core import Experiment, InputError, simulate
from bandit_core.policies import registry
from bandit_core.simulation.store import Store
from benchmarks import positions
from ui import gallery, words
from ui.learn.measured import Number
from ui.player import slider


def rival(name: str, experiment: Experiment) -> Experiment | None:
    """Home's picture with one more policy; None where that refuses the arms or is another promise."""
    policy = registry()[name]
    if policy.setting != "arms" or name in {line.policy for line in experiment.lines}:
        return None
    epsilon = experiment.lines[1].epsilon
    line = {"policy": name} | ({"epsilon": epsilon.model_dump()} if policy.epsilon != "none" else {})
    try:
        found = experiment.with_changes(lines=[*experiment.spec()["lines"], line], seed=7, trials=60)
    except InputError:
        return None
    return found if policy.guarantee(found.setups[-1]).delta == 0 else None


@pytest.mark.parametrize("epsilon", [gallery.EPSILONS[0], 1.0, gallery.EPSILONS[-1]])
def test_no_other_policy_of_the_same_promise_clearly_loses_less_on_home(epsilon: float) -> None:
    """Over pairs of 60 trials, by three standard errors."""
    experiment, store, tried = gallery.home_experiment(epsilon), Store(None, 2**26), 0
    for name in registry():
        with_rival = rival(name, experiment)
        promise = registry()[name].privacy
        if with_rival is None or promise not in ("none", "local", "central"):  # Home shows no shuffler, and no sum
            continue
        result = simulate(with_rival, jobs=1, store=store)
        chosen = result.lines[("none", "central", "local").index(promise)]
        extra, error = result.lines[-1].difference(chosen)[:2]
        assert not extra < -3 * error, name
        tried += 1
    assert tried > 15


@pytest.mark.parametrize("epsilon", [0.3, 8.0])
def test_home_names_the_methods_and_says_when_a_curator_needs_no_trust(epsilon: float) -> None:
    experiment = gallery.home_experiment(epsilon)
    message, same = gallery.methods(epsilon), experiment.lines[1].policy == experiment.lines[2].policy
    assert all(words.plain(line.entry.title) in message for line in experiment.lines)
    assert ("needs no trust" in message) == same == (epsilon == 8.0)
    assert experiment.trials >= 500


def test_no_curve_of_home_rises_clearly_with_epsilon_and_none_lies_above_one_of_less_trust() -> None:
    """On a seed that chose nothing, by four standard errors over pairs of 200 trials."""
    store, before = Store(None, 2**26), None
    for epsilon in gallery.EPSILONS:
        lines = simulate(gallery.home_experiment(epsilon).with_changes(seed=4711, trials=200), store=store).lines
        pairs = [(lines[0], lines[1]), (lines[1], lines[2])]
        pairs += [] if before is None else [(lines[1], before[1]), (lines[2], before[2])]
        for better, other in pairs:
            behind, error = better.difference(other)[:2]
            assert behind <= 4 * error, epsilon
        before = lines


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_what_home_shows_ships_and_comes_out_again(epsilon: float) -> None:
    """Where this fails, ``python -m benchmarks.positions start`` plays it anew."""
    start = next(positions.lessons())
    assert not positions.differs(start, epsilon)
    kept, result = gallery.shown(epsilon), simulate(start.experiments[epsilon].with_changes(trials=200))
    for there, line in zip(kept.lines, result.lines, strict=True):
        assert there is not None and line is not None and there.count == positions.TRIALS
        assert np.all(np.abs(np.log(there.mean[-1] / line.mean[-1])) < 0.2)


def test_home_tells_a_cost_as_a_multiple_or_in_percent_or_as_a_tie() -> None:
    found = gallery.shown(1.0)
    free, close, far = Number(1.002, 0.002), Number(1.04, 0.005), Number(4.4, 0.03)

    def told(times: Number, more: float) -> str:
        numbers = {"central": far, "central-more": Number(9.0, 1.0), "local": times, "local-more": Number(more, 1.0)}
        return gallery.verdict(replace(found, numbers=numbers), 1.0)

    assert told(far, 9.0).endswith("trusting a curator loses about **4.4 times** as many rewards as no privacy; "
                                   "trusting no one, about **4.4 times**.")  # fmt: skip
    assert told(close, 9.0).endswith("trusting no one loses about **4%** more rewards than no privacy.")
    assert told(free, 1.0).endswith("trusting no one is statistically tied with no privacy.")


def test_a_damaged_file_of_positions_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slider, "FOLDER", tmp_path)
    for text in ("{", "{}", '{"trials": 2, "positions": {"1": {"lines": [[0, 1, 2]]}}, "rows": []}'):
        (tmp_path / "start.json").write_text(text, "utf-8")
        slider.read.cache_clear()
        with pytest.raises(InputError, match=r"start\.json"):
            gallery.shown(1.0)
    slider.read.cache_clear()


@pytest.mark.parametrize(
    ("page", "fields"),
    [("home", {}), ("learn", {"step": "4"}), ("learn", {"step": "6"}), ("teach", {"controls": "off"})],
)
def test_where_a_file_is_damaged_a_sentence_and_the_small_picture_stand(
    page: str, fields: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(slider, "FOLDER", tmp_path)
    slider.read.cache_clear()
    screen = on.visit(page, **fields)
    for guess in [each for each in screen.button if "-guess-1" in (each.key or "")]:
        guess.click()
        on.run(screen)
    slider.read.cache_clear()
    assert all("there is no such file" in error.value for error in screen.main.error) and screen.main.error
    alts = [image.alt for element in screen.get("image") for image in element.proto.imgs]
    assert "The picture at the first position of its slider, without numbers." in alts
    assert page == "home" or {"learn-next-below", "project-next"} & {each.key for each in screen.button}


@pytest.mark.parametrize("name", ["start", "trust"])
def test_no_position_shows_more_loss_at_a_larger_epsilon_or_with_more_trust(name: str) -> None:
    positions = slider.read(name)["positions"]
    lines = {float(at): slider.shipped(name, float(at), gallery.home_experiment(float(at))).lines for at in positions}
    ends = np.array([[line.mean[-1] for line in lines[at]] for at in sorted(lines)])  # no privacy, curator, no one
    assert (np.diff(ends, axis=0) <= 0).all() and (np.diff(ends, axis=1) >= 0).all()
