"""Home answers with the best policies known on its arms."""

import numpy as np
import pytest

from bandit_core import Experiment, InputError, Simulation, simulate
from bandit_core.policies import registry
from bandit_core.simulation.beforehand import open_shipped
from bandit_core.simulation.store import Store
from bandit_core.simulation.summaries import with_companions
from ui import gallery, words


def rival(name: str, experiment: Experiment) -> Experiment | None:
    """Home's picture with one more policy; None where that refuses the arms or is another promise."""
    policy = registry()[name]
    if policy.setting != "arms" or name in gallery.BEST:
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
    """Over pairs of 60 trials, by three standard errors; DP-KLUCB's tie with DP-IMED is none."""
    experiment, store, tried = gallery.home_experiment(epsilon), Store(None, 2**26), 0
    for name in registry():
        with_rival = rival(name, experiment)
        promise = registry()[name].privacy
        if with_rival is None or promise not in ("none", "local", "central"):  # Home shows no shuffler, and no sum
            continue
        result = simulate(with_rival, jobs=1, store=store)
        chosen = next(
            result.lines[number] for number, line in enumerate(with_rival.lines[:3]) if line.entry.privacy == promise
        )
        extra, error = result.lines[-1].difference_to(chosen)
        assert not extra < -3 * error, name
        tried += 1
    assert tried > 15


def test_home_says_when_a_curator_might_as_well_trust_nobody() -> None:
    for epsilon, could in ((0.3, False), (8.0, True)):
        result = simulate(gallery.home_experiment(epsilon), jobs=1)
        free, central, local = (line.regret[:, -1] for line in result.lines)
        assert (np.mean(central) > np.mean(local)) == could and np.mean(free) <= np.mean(central)
        assert (words.COULD_TRUST_NOBODY in words.verdict(result)) == could


@pytest.mark.parametrize("epsilon", gallery.EPSILONS)
def test_every_position_of_the_slider_ships(epsilon: float) -> None:
    """Where this fails, ``python -m benchmarks.first_pictures`` makes the file anew."""
    store = Store(None, 0)
    store.beforehand = open_shipped()
    result = Simulation(with_companions(gallery.home_experiment(epsilon)), store).result()
    assert result.complete and result.beforehand
