"""The table of the best method of each level of trust: made by its command, and right on arms that chose nothing."""

from __future__ import annotations

import pytest

from bandit_core import InputError
from bandit_core.experiments.presets import load_preset
from bandit_core.policies import registry
from bandit_core.simulation.store import Store
from bandit_core.studies import best_by_trust
from benchmarks.best_by_trust import INSTANCES, worse


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_table_is_what_its_command_gives(epsilon: float) -> None:
    assert best_by_trust.decide(epsilon, Store(None, 2**26)) == dict(best_by_trust.at(epsilon))


def test_every_position_has_methods_that_keep_their_level_of_trust() -> None:
    assert tuple(best_by_trust.table()) == best_by_trust.BUDGETS
    for methods in best_by_trust.table().values():
        assert [registry()[name].privacy for name in methods.values()][::2] == ["none", "local"]
        assert registry()[methods["central"]].privacy in ("local", "shuffle", "distributed", "central")
    with pytest.raises(InputError, match="epsilon"):
        best_by_trust.at(0.15)


def test_the_preset_plays_the_methods_of_its_budget() -> None:
    preset = load_preset(best_by_trust.PRESET)
    assert [line.policy for line in preset.lines] == list(best_by_trust.at(1.0).values())
    assert preset.trials >= 500 and all(line.epsilon.fixed == 1.0 for line in preset.lines[1:])


@pytest.mark.parametrize("means", INSTANCES)
def test_more_trust_or_a_larger_budget_never_does_clearly_worse_on_other_arms(means: tuple[float, ...]) -> None:
    """A small version of ``python -m benchmarks.best_by_trust --check``."""
    assert worse(means, 3000, 100) == []
