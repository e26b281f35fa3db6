"""What the suite asks of the lab's policies that choose by the features of users, beyond what it asks of all."""

import numpy as np
import pytest
from conformance import BOTH, EXPECTED, FAR, USERS, line_of, run
from conformance import experiment_of as any_experiment_of

from bandit_core import Experiment
from bandit_core.policies import registry

CONTEXTUAL = {name: policy for name, policy in registry().items() if policy.setting == "contexts"}
OF_THE_LAB = [name for name in CONTEXTUAL if name in EXPECTED]
EVERY = pytest.mark.parametrize("name", OF_THE_LAB)
PRIVATE = pytest.mark.parametrize("name", [name for name in OF_THE_LAB if CONTEXTUAL[name].epsilon != "none"])
EACH = pytest.mark.parametrize("users", BOTH, ids=["single", "multi"])


def experiment_of(*lines, users=USERS, horizon=400, trials=20, **fields) -> Experiment:
    return any_experiment_of(*lines, contexts=users, horizon=horizon, trials=trials, **fields)


ROWS = [[1.0, 0.5], [0.2, -0.3], [-0.4, 0.9]]
PRICES = {"dimension": 4, "arms": 4, "noise": 0.1, "theta": {"kind": "given", "values": [0.3, -0.2, 0.5, 0.1]}}
THETAS = [[0.9, 0.0], [0.3, 0.6], [-0.2, 0.1], [0.0, -0.8]]


@EVERY
@pytest.mark.parametrize("users", ["prices", "parameters"])
def test_the_order_of_the_arms_decides_nothing(name, users):
    """Arms that differ for everyone, listed forwards and backwards, 80 trials each: within 5 standard errors."""
    finals = []
    for seed, step in ((1, 1), (2, -1)):
        if users == "prices":
            given = PRICES | {"law": {"kind": "table", "rows": ROWS, "actions": [0.0, 0.3, 0.6, 1.0][::step]}}
        else:
            theta = {"kind": "given", "values": np.ravel(THETAS[::step]).tolist()}
            given = {"dimension": 2, "arms": 4, "structure": "multi", "noise": 0.1, "theta": theta}
        finals.append(run(experiment_of(line_of(name), users=given, trials=80, seed=seed)).lines[0])
    first, last = (line.regret[:, -1] for line in finals)
    error = np.hypot(first.std(ddof=1), last.std(ddof=1)) / np.sqrt(80)
    assert abs(first.mean() - last.mean()) <= FAR * error + 1e-9
    pulls = [line.pulls.mean(axis=0) for line in finals]
    spread = [line.pulls.std(axis=0, ddof=1) for line in finals]
    error = np.hypot(spread[0], spread[1][::-1]) / np.sqrt(80)
    assert np.all(np.abs(pulls[0] - pulls[1][::-1]) <= FAR * error + 1e-9)


@EVERY
@EACH
def test_numbers_add_up_arms_are_tried_and_trials_are_distinct(name, users):
    experiment = experiment_of(line_of(name), users=users)
    result = run(experiment)
    [line] = result.lines
    np.testing.assert_array_equal(line.pulls.sum(axis=1), experiment.horizon)
    assert (np.diff(line.regret, axis=1) >= 0).all()
    assert (np.diff(line.best_pulls, axis=1) >= 0).all()
    assert (line.regret <= experiment.largest_gap * result.times).all()
    assert line.error.shape == line.regret.shape and (line.error >= 0).all()
    assert line.pulls.sum(axis=0).min() > 0
    assert len(np.unique(line.regret, axis=0)) == 20


@PRIVATE
def test_less_privacy_means_better_estimates(name):
    lines = [line_of(name, epsilon) for epsilon in (0.2, 500.0)]
    strict, loose = run(experiment_of(*lines, horizon=3000, trials=12)).lines
    assert strict.error[:, -1].mean() > 1.5 * loose.error[:, -1].mean()
    assert strict.mean[-1] > loose.mean[-1]


@pytest.mark.parametrize("name", ["ldp-ols", "ldp-sgd"])
def test_without_noise_a_greedy_private_policy_learns_theta(name):
    line = run(experiment_of(line_of(name, 1000.0), horizon=5000, trials=6)).lines[0]
    assert line.error[:, -1].max() < 0.4  # one gradient step per user, so not exact even then
    assert line.best_pulls[:, -1].min() > 0.8 * 5000
