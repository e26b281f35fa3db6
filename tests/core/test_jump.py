"""Jump simulation: the law of the step kernels, from other draws.

Both samplers play many independent trials; regret at three checkpoints and the pulls of every arm are compared by
two-sample Kolmogorov-Smirnov tests. All comparisons of one case together have size 10^-3 (Bonferroni), seeds are fixed.
"""

import numpy as np
import pytest
from helpers import keys_of
from interpreter import assert_left_free
from scipy import stats

from bandit_core import Experiment, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, Stopped
from bandit_core.policies import index_family
from bandit_core.simulation import costs
from bandit_core.simulation.store import Store

SIZE = 1e-3
TRIALS = 500
FIXED = {"kind": "fixed", "value": 2.0}
GROUPS = {"kind": "discrete", "values": [0.0, 0.5, 2.0, 8.0], "probs": [0.1, 0.3, 0.4, 0.2]}


def bernoulli(*means: float) -> list[dict]:
    return [{"kind": "bernoulli", "mean": mean} for mean in means]


APART = bernoulli(0.9, 0.6, 0.3)
CLOSE = bernoulli(0.5, 0.48)
DISTRIBUTIONS = [
    {"kind": "two-point", "low": 0.4, "high": 1.0, "p_high": 0.8},
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "uniform", "low": 0.0, "high": 1.0},
]
WIDE = [{"kind": "two-point", "low": -3.0, "high": 2.0, "p_high": 0.9}, {"kind": "gaussian", "mean": 0.5, "sd": 1.0}]


def line_of(policy: str, epsilon: dict | None, **params) -> dict:
    return {"policy": policy, "params": params} | ({"epsilon": epsilon} if epsilon else {})


def experiment_of(line: dict, arms: list[dict], horizon: int, trials: int = 1) -> Experiment:
    return Experiment.model_validate({"arms": arms, "lines": [line], "horizon": horizon, "trials": trials})


@pytest.fixture
def jumping(monkeypatch):
    """Jump at every horizon."""
    monkeypatch.setattr(index_family, "JUMP_USERS", 1)


def played(line: dict, arms: list[dict], horizon: int, seed: int, trials: int = TRIALS):
    experiment = experiment_of(line, arms, horizon)
    times = np.array([horizon // 20, horizon // 3, horizon])
    return experiment.lines[0].entry.play(experiment.setups[0], streams(seed, 0, trials), times, Signal())


def least_p(mine, theirs) -> float:
    """Smallest p-value of all comparisons, times their number."""
    pairs = [(mine.regret[:, place], theirs.regret[:, place]) for place in range(mine.regret.shape[1])]
    pairs += [(mine.pulls[:, arm], theirs.pulls[:, arm]) for arm in range(mine.pulls.shape[1])]
    return len(pairs) * min(float(stats.ks_2samp(*pair, method="asymp").pvalue) for pair in pairs)


CASES = [
    ("ucb", APART, None, 30_000, {}),
    ("ucb", APART, None, 30_000, {"alpha": 0.05}),  # few changes of leader, long blocks
    ("ucb", CLOSE, None, 50_000, {"alpha": 0.2}),
    ("ucb", DISTRIBUTIONS, None, 20_000, {"alpha": 0.5}),  # arms that cannot be jumped
    ("ucb-cf", CLOSE, FIXED, 30_000, {}),
    ("heldp-ucb-b", APART, FIXED, 50_000, {}),
    ("heldp-ucb-b", APART, GROUPS, 50_000, {"eps_min": 1.0}),
    ("heldp-ucb-b", DISTRIBUTIONS, GROUPS, 30_000, {"eps_min": 0.25}),
    ("heldp-ucb-bs", WIDE, FIXED, 50_000, {}),
    ("heldp-ucb-l", APART, FIXED, 100_000, {}),
    ("heldp-ucb-l", APART, {"kind": "fixed", "value": 8.0}, 50_000, {}),
    ("heldp-ucb-l", DISTRIBUTIONS, GROUPS, 60_000, {"eps_min": 1.0}),
    ("heldp-ucb-ls", WIDE, {"kind": "fixed", "value": 8.0}, 50_000, {}),
]


@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), CASES)
def test_the_law_is_that_of_the_step_kernels(monkeypatch, policy, arms, epsilon, horizon, params):
    line = line_of(policy, epsilon, **params)
    steps = played(line, arms, horizon, seed=1)
    monkeypatch.setattr(index_family, "JUMP_USERS", 1)
    jumps = played(line, arms, horizon, seed=2)
    np.testing.assert_array_equal(jumps.pulls.sum(axis=1), horizon)
    assert (np.diff(jumps.regret, axis=1) >= -1e-9).all()
    assert (np.diff(jumps.best_pulls, axis=1) >= 0).all()
    assert least_p(jumps, steps) > SIZE


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (line_of("ucb", None), line_of("ucb", None, alpha=2.4)),
        (line_of("heldp-ucb-b", FIXED), line_of("heldp-ucb-b", {"kind": "fixed", "value": 1.75})),
        (line_of("heldp-ucb-l", FIXED), line_of("heldp-ucb-l", {"kind": "fixed", "value": 1.75})),
    ],
)
def test_the_comparison_notices_a_slightly_different_policy(monkeypatch, right, wrong):
    steps = played(wrong, APART, 50_000, seed=1)
    monkeypatch.setattr(index_family, "JUMP_USERS", 1)
    assert least_p(played(right, APART, 50_000, seed=2), steps) < SIZE


EVERY = [
    line_of("ucb", None),
    line_of("heldp-ucb-b", GROUPS, eps_min=1.0),
    line_of("heldp-ucb-l", FIXED),
    line_of("heldp-ucb-l", GROUPS, eps_min=1.0),
]


@pytest.mark.parametrize("line", EVERY)
def test_a_shorter_horizon_is_a_prefix(jumping, line):
    short, long = (experiment_of(line, APART, horizon) for horizon in (7_777, 40_000))
    play, rows = short.lines[0].entry.play, streams(3, 0, 6)
    first = play(short.setups[0], rows, np.array([10, 7_777]), Signal())
    second = play(long.setups[0], rows, np.array([10, 300, 7_777, 40_000]), Signal())
    assert first.regret.tobytes() == second.regret[:, [0, 2]].tobytes()
    assert first.best_pulls.tobytes() == second.best_pulls[:, [0, 2]].tobytes()
    gaps = short.means.max() - short.means
    np.testing.assert_allclose(first.pulls @ gaps, first.regret[:, -1], rtol=1e-12)


@pytest.mark.parametrize("line", EVERY)
def test_workers_and_cuts_change_no_byte(jumping, line):
    experiment = experiment_of(line, APART, 30_000, trials=9)
    whole = simulate(experiment, jobs=1, store=Store(None, 2**24)).lines[0]
    threaded = simulate(experiment, jobs=2, store=Store(None, 2**24)).lines[0]
    play, times = experiment.lines[0].entry.play, checkpoints(30_000)
    cuts = [play(experiment.setups[0], streams(0, *cut), times, Signal()).regret for cut in ((0, 1), (1, 7), (7, 9))]
    assert whole.regret.tobytes() == threaded.regret.tobytes() == np.concatenate(cuts).tobytes()
    assert len(np.unique(whole.regret, axis=0)) == 9


def test_regret_within_a_block_is_linear(jumping):
    """One arm that is never left: best pulls at every checkpoint, whatever the blocks."""
    experiment = experiment_of(line_of("ucb", None), bernoulli(0.4), 10**9)
    block = experiment.lines[0].entry.play(experiment.setups[0], streams(0, 0, 3), checkpoints(10**9), Signal())
    np.testing.assert_array_equal(block.best_pulls, np.tile(checkpoints(10**9), (3, 1)))
    assert (block.regret == 0).all()


def test_a_thousand_million_users_are_played():
    experiment = experiment_of(line_of("ucb", None), APART, 10**9, trials=4)
    line = simulate(experiment, jobs=1, store=Store(None, 0)).lines[0]
    np.testing.assert_array_equal(line.pulls.sum(axis=1), 10**9)
    # Every pull but the last few of a worse arm came while 2 ln t / N >= its gap squared, give or take noise.
    expected = sum(2 * np.log(10**9) / gap for gap in (0.3, 0.6))
    assert 0.6 * expected < line.mean[-1] < 1.1 * expected


def test_the_sampler_is_chosen_by_line_arms_and_horizon():
    def chosen(line, arms, horizon):
        experiment = experiment_of(line, arms, horizon)
        return experiment.lines[0].entry.sampler(experiment.setups[0])

    ucb = line_of("ucb", None)
    assert chosen(ucb, APART, 10**6) == "step"  # nothing to compile for what visitors look at first
    assert chosen(ucb, APART, 10**7) == "jump"
    assert chosen(ucb, bernoulli(*np.linspace(0, 0.9, 300)), 10**7) == "step"  # too many to look at
    assert chosen(ucb, bernoulli(*np.linspace(0, 0.9, 300)), 10**9) == "jump"
    assert chosen(ucb, DISTRIBUTIONS[1:], 10**9) == "step"  # the best arm's rewards are no two values
    assert chosen(ucb, DISTRIBUTIONS, 10**9) == "jump"
    assert chosen(line_of("heldp-ucb-b", FIXED), DISTRIBUTIONS[1:], 10**9) == "jump"  # its bits are
    bell = {"kind": "clamped-gaussian", "mean": 1.0, "sd": 1.0, "low": 0.1, "high": 3.0}
    assert chosen(line_of("heldp-ucb-b", bell, eps_min=0.5), APART, 10**9) == "step"  # no groups of users
    assert chosen(line_of("heldp-ucb-l", GROUPS, eps_min=1.0), APART, 10**9) == "jump"
    assert chosen(line_of("kl-ucb", None), APART, 10**9) == "step"


def test_the_sampler_is_told_and_separates_stored_blocks(monkeypatch):
    experiment = experiment_of(line_of("ucb", None), APART, 5_000, trials=3)
    store = Store(None, 2**24)
    before = simulate(experiment, store=store)
    [key] = keys_of(experiment)
    monkeypatch.setattr(index_family, "JUMP_USERS", 1)
    after = simulate(experiment, store=store)
    assert keys_of(experiment) != [key]
    assert after.metadata["samplers"] == ["jump"]
    assert after.lines[0].regret.tobytes() != before.lines[0].regret.tobytes()
    monkeypatch.undo()
    assert simulate(experiment, store=store).metadata["samplers"] == ["step"]
    assert simulate(experiment, store=store).lines[0].regret.tobytes() == before.lines[0].regret.tobytes()


def test_the_estimate_follows_the_sampler():
    estimates = [
        costs.estimated_seconds(experiment_of(line_of("heldp-ucb-l", FIXED), APART, horizon), 1)
        for horizon in (10**6, 10**7, 10**9)
    ]
    assert estimates[0] < estimates[1] < estimates[2] < 100 * estimates[0]


def test_a_stop_is_heard_within_a_trial():
    experiment = experiment_of(line_of("ucb", None), bernoulli(*[1.0] * 30), 10**9)  # the leader changes every time
    signal = Signal()
    signal.stop()
    with pytest.raises(Stopped):
        experiment.lines[0].entry.play(experiment.setups[0], streams(0, 0, 1), np.array([10**9]), signal)


def test_a_running_kernel_leaves_the_interpreter_free():
    experiment = experiment_of(line_of("ucb", None), bernoulli(*[1.0] * 30), 10**9)
    entry, instance = experiment.lines[0].entry, experiment.setups[0]
    assert entry.sampler(instance) == "jump"
    assert_left_free(entry, instance)
