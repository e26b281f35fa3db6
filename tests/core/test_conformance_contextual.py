"""The conformance suite for policies that choose by the features of users: every one is under it from its first day."""

import numpy as np
import pytest
from conformance import assert_described
from interpreter import assert_left_free

from bandit_core import Experiment, InputError, simulate
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.simulation.store import Store

CONTEXTUAL = {name: policy for name, policy in registry().items() if policy.setting == "contexts"}
EVERY = pytest.mark.parametrize("name", CONTEXTUAL)
PRIVATE = pytest.mark.parametrize("name", [name for name, policy in CONTEXTUAL.items() if policy.epsilon != "none"])
USERS = {"dimension": 3, "arms": 4, "noise": 0.1, "law": {"kind": "cube"}}
MULTI = {**USERS, "structure": "multi"}
BOTH = pytest.mark.parametrize("users", [USERS, MULTI], ids=["single", "multi"])
SPREAD = {"kind": "discrete", "values": [0.5, 3.0]}


def line_of(name: str, epsilon: float | dict = 1.0, **params) -> dict:
    line: dict = {"policy": name, "params": params}
    if registry()[name].epsilon != "none":
        line["epsilon"] = epsilon if isinstance(epsilon, dict) else {"kind": "fixed", "value": float(epsilon)}
    return line


def experiment_of(*lines, users=USERS, horizon=400, trials=8, seed=4) -> Experiment:
    document = {"contexts": users, "lines": list(lines), "horizon": horizon, "trials": trials, "seed": seed}
    return Experiment.model_validate(document)


def run(experiment: Experiment, jobs: int = 1):
    return simulate(experiment, jobs=jobs, store=Store(None, 2**24))


@EVERY
def test_a_policy_describes_itself(name):
    assert_described(registry()[name], experiment_of(line_of(name)).setups[0])


ROWS = [[1.0, 0.5], [0.2, -0.3], [-0.4, 0.9]]
PRICES = {"dimension": 4, "arms": 4, "noise": 0.1, "theta": {"kind": "given", "values": [0.3, -0.2, 0.5, 0.1]}}
THETAS = [[0.9, 0.0], [0.3, 0.6], [-0.2, 0.1], [0.0, -0.8]]


@EVERY
@pytest.mark.parametrize("users", ["prices", "parameters"])
def test_the_order_of_the_arms_decides_nothing(name, users):
    """Arms that differ for everyone, listed forwards and backwards, 80 trials each: within 3.5 standard errors."""
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
    assert abs(first.mean() - last.mean()) <= 3.5 * error + 1e-9
    pulls = [line.pulls.mean(axis=0) for line in finals]
    spread = [line.pulls.std(axis=0, ddof=1) for line in finals]
    error = np.hypot(spread[0], spread[1][::-1]) / np.sqrt(80)
    assert np.all(np.abs(pulls[0] - pulls[1][::-1]) <= 3.5 * error + 1e-9)


@EVERY
@BOTH
def test_numbers_add_up(name, users):
    experiment = experiment_of(line_of(name), users=users)
    line = run(experiment).lines[0]
    np.testing.assert_array_equal(line.pulls.sum(axis=1), experiment.horizon)
    assert (np.diff(line.regret, axis=1) >= 0).all()
    assert (np.diff(line.best_pulls, axis=1) >= 0).all()
    assert (line.regret <= experiment.largest_gap * run(experiment).times).all()
    assert line.error.shape == line.regret.shape and (line.error >= 0).all()


@EVERY
@BOTH
def test_trials_are_distinct(name, users):
    line = run(experiment_of(line_of(name), users=users, trials=20)).lines[0]
    assert len(np.unique(line.regret, axis=0)) == 20


@EVERY
@BOTH
def test_workers_and_cuts_change_no_byte(name, users):
    experiment = experiment_of(line_of(name), users=users, trials=9)
    whole, threaded = run(experiment).lines[0], run(experiment, jobs=2).lines[0]
    fewer = run(experiment.with_changes(trials=4)).lines[0]
    for field in ("regret", "best_pulls", "pulls", "error"):
        assert getattr(whole, field).tobytes() == getattr(threaded, field).tobytes()
        assert getattr(whole, field)[:4].tobytes() == getattr(fewer, field).tobytes()
    instance, play = experiment.setups[0], experiment.lines[0].entry.play
    times = run(experiment).times
    cuts = [play(instance, streams(4, first, last), times, Signal()) for first, last in ((0, 1), (1, 6), (6, 9))]
    for field in ("regret", "pulls", "error"):
        assert np.concatenate([getattr(block, field) for block in cuts]).tobytes() == getattr(whole, field).tobytes()


@EVERY
def test_a_line_does_not_feel_its_neighbours(name):
    alone = run(experiment_of(line_of(name))).lines[0]
    beside = run(experiment_of(line_of("linucb", width=0.5), line_of(name))).lines[1]
    assert alone.regret.tobytes() == beside.regret.tobytes()


@EVERY
@BOTH
def test_every_arm_is_tried(name, users):
    assert run(experiment_of(line_of(name), users=users)).lines[0].pulls.sum(axis=0).min() > 0


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


@EVERY
@pytest.mark.parametrize("link", ["identity", "logistic", "poisson"])
def test_links_are_played_or_refused_in_words(name, link):
    users = {"dimension": 2, "arms": 3, "link": link}
    if link != "identity" and name not in ("ldp-sgd", "ldp-gloc"):
        with pytest.raises(InputError, match="identity link"):
            experiment_of(line_of(name), users=users)
        return
    assert run(experiment_of(line_of(name), users=users)).lines[0].regret[:, -1].max() > 0


@EVERY
def test_budgets_it_cannot_take_are_refused(name):
    for epsilon in {"none": [{"kind": "fixed", "value": 1.0}], "one": [SPREAD, None]}[registry()[name].epsilon]:
        with pytest.raises(InputError) as refusal:
            experiment_of({"policy": name, "epsilon": epsilon})
        assert refusal.value.issues[0].path == "lines[0].epsilon"
        assert name in refusal.value.issues[0].allowed


@EVERY
def test_the_spec_of_a_line_survives_a_round_trip(name):
    experiment = experiment_of(line_of(name))
    again = Experiment.model_validate(experiment.spec())
    assert again == experiment
    assert str(again.setups[0].parameters) == str(experiment.setups[0].parameters)


@EVERY
@pytest.mark.parametrize("horizon", [1, 2])
def test_the_shortest_horizons(name, horizon):
    for users in (USERS, MULTI, {"dimension": 1, "arms": 2}):
        line = run(experiment_of(line_of(name), users=users, horizon=horizon, trials=2)).lines[0]
        np.testing.assert_array_equal(line.pulls.sum(axis=1), horizon)


@EVERY
def test_a_running_kernel_leaves_the_interpreter_free(name):
    experiment = experiment_of(line_of(name), horizon=10**8)
    assert_left_free(experiment.lines[0].entry, experiment.setups[0])
