"""The table of the best method of each level of trust: made by its command, followed by pages, and the rule by which it
is made holds on arms that chose nothing."""

import pytest

from bandit_core import InputError
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.presets import at_shared, load_preset
from bandit_core.experiments.trust_table import Method
from bandit_core.export.page import over_budgets
from bandit_core.policies import registry
from bandit_core.studies.sweep import EPSILONS
from benchmarks.best_by_trust import BUDGETS, written

PRESET = load_preset(trust_table.PRESET)


def test_every_position_has_methods_that_keep_their_level_of_trust() -> None:
    assert tuple(trust_table.table()) == EPSILONS and set(BUDGETS) < set(EPSILONS)
    for epsilon, methods in trust_table.table().items():
        assert [registry()[each.policy].privacy for each in methods.values()][::2] == ["none", "local"]
        assert registry()[methods["central"].policy].privacy in ("local", "shuffle", "distributed", "central")
        assert all(each.spent is None or each.spent < epsilon for each in methods.values())
    with pytest.raises(InputError, match="epsilon"):
        trust_table.at(0.15)


def test_a_method_that_spends_less_is_written_and_played_so() -> None:
    """By a private function: the file has no such method at present."""
    method = Method("dp-imed", 1.5)
    assert trust_table._read(written(method)) == method
    assert method.title == "DP-IMED, as at ε = 1.5"
    methods = {"none": Method("thompson"), "central": method, "local": Method("ts-cf")}
    lines = trust_table.lines(2.0, ["a", "b", None], methods)
    assert [line.get("epsilon", {}).get("value") for line in lines] == [None, 1.5, 2.0]


def test_the_preset_plays_the_methods_of_its_budget() -> None:
    assert trust_table.position(PRESET) == 1.0
    assert PRESET.trials >= 500 and all(line.epsilon.fixed == 1.0 for line in PRESET.lines[1:])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_where_only_the_budget_moves_the_lines_follow_the_table(epsilon: float) -> None:
    there = trust_table.moved(PRESET, epsilon)
    assert [line.policy for line in there.lines] == [each.policy for each in trust_table.at(epsilon).values()]
    assert [line.label for line in there.lines] == [line.label for line in PRESET.lines]
    assert trust_table.position(there) == epsilon
    again, problems = links.read(links.write(there))
    assert not problems and again.plays_as(there) and again.view == there.view
    assert trust_table.moved(again, 1.0).plays_as(PRESET)


@pytest.mark.parametrize(
    "changed", [{"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]}, {"horizon": 5000}]
)
def test_other_arms_or_users_are_an_experiment_of_one_s_own(changed: dict) -> None:
    own = PRESET.with_changes(**changed)
    assert trust_table.position(own) is None
    assert trust_table.moved(own, 8.0) == at_shared(own, 8.0)
    assert trust_table.followed(PRESET, own.with_changes(seed=3)) == own.with_changes(seed=3)


def test_other_lines_and_unusual_budgets_are_left_as_they_are() -> None:
    lines = [{"policy": "thompson"}, *PRESET.spec()["lines"][1:]]
    lines[1] = lines[1] | {"policy": "dp-klucb"}
    own = PRESET.with_changes(lines=lines)
    assert trust_table.position(own) is None and trust_table.moved(own, 8.0) == at_shared(own, 8.0)
    assert trust_table.moved(PRESET, 4.5) == at_shared(PRESET, 4.5)
    straight = at_shared(PRESET, 8.0)  # as a link may ask for it: DP-IMED at 8
    assert trust_table.position(straight) is None and trust_table.followed(straight, straight) is straight


def test_trials_and_the_view_may_change_and_the_table_is_still_followed() -> None:
    shown = PRESET.with_changes(trials=20, seed=9, view={"y": "log", "hidden": [0]})
    there = trust_table.followed(shown, at_shared(shown, 8.0).with_changes(trials=10))
    assert [line.policy for line in there.lines] == ["thompson", "ts-cf", "ts-cf"]
    assert (there.trials, there.seed, there.view) == (10, 9, shown.view)


def test_a_lesson_taken_along_follows_the_table() -> None:
    for place in over_budgets(PRESET, (1.0, 8.0)):
        assert [line.policy for line in place.experiment.lines] == [
            each.policy for each in trust_table.at(place.value).values()
        ]
        assert place.lines == (0, 1, 2) and "ε" not in place.experiment.label(1)
