"""One suite over the whole registry: every policy is under it from its first day.

The public tests of a policy (`PolicyTests`) come first. What they ask about learning stands in `EXPECTED`; a policy
that is not named there is asked for nothing that `check_policy` does not ask. Most other checks come from defects of
public code: trials that share a seed, workers that share a generator, an arm that is never tried, pulls that are
counted and not made, settings that change a result they must not touch.
"""

import contextlib
import itertools
import random
import tomllib
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from helpers import refused
from interpreter import assert_left_free

from bandit_core import Experiment, InputError, simulate
from bandit_core.kernels import index
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.simulation.store import Store
from bandit_core.studies.policy_check import FAR, PolicyTests

BERNOULLI = [{"kind": "bernoulli", "mean": mean} for mean in (0.3, 0.7, 0.5, 0.65, 0.1)]
SPREAD = {"kind": "discrete", "values": [0.0, 0.5, 3.0], "probs": [0.2, 0.4, 0.4]}
# An A/B test for its own number of users, then one arm: these play no two phases that depend on the answers.
TESTS = {"explore-then-commit", "explore-then-commit-local", "explore-then-commit-central"}
# Arms are dropped after long epochs, within which pulls cost nothing; kappa for a first epoch of millions of rewards.
EPOCHS = {"dp-robust-se": 1.0, "ldp-robust-se": 1e-3}
# Arms are dropped after batches, within which pulls decide nothing.
BATCHES = {"se", "ldp-se", "shuffle-se", "dist-dp-se", "dist-rdp-se"}
# What is known of the rewards, where a policy asks for that.
KNOWN = {
    "dp-robust-ucb": {"v": 1.0, "kappa": 0.004},
    "dp-robust-se": {"v": 1.0},
    "ldp-robust-se": {"v": 1.0, "kappa": 2.5e-4},
}

# Regret at epsilon = 1000 in multiples of that of the parent.
RATIO = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["ratio"]
OPEN = ("explore-then-commit", "kl-ucb", "normal-ts", "robust-ucb", "se", "top-two", "thompson", "ucb")
FEATURES = (
    *("linucb", "greedy-ols", "ldp-ols", "ldp-sgd", "ldp-linucb", "ldp-gloc", "dist-linucb", "jdp-greedy"),
    "jdp-linucb",
)
EXPECTED: dict[str, dict] = {
    **{name: {"shown": 1, "found": 0.8} for name in OPEN},
    **{name: {"shown": 1, "found": 0.8, "ratio": ratio, "strict": 0.1} for name, ratio in RATIO.items()},
    **{name: {} for name in FEATURES},  # see test_conformance_contextual.py
}
EXPECTED["dp-se"]["users"] = EXPECTED["ldp-robust-se"]["users"] = 100_000  # a first epoch of thousands of users
del EXPECTED["dp-ucb-int"]["found"]  # its noise falls with the pulls in a release, so with smaller epsilon
for _name, _params in KNOWN.items():
    EXPECTED[_name]["params"] = _params

ON_ARMS = {name: policy for name, policy in registry().items() if policy.setting == "arms"}
ALL = pytest.mark.parametrize("name", registry())
EVERY = pytest.mark.parametrize("name", ON_ARMS)  # those for users with features: test_conformance_contextual.py
OF_THE_LAB = pytest.mark.parametrize("name", [name for name in ON_ARMS if name in EXPECTED])


MANY = [{"kind": "bernoulli", "mean": mean} for mean in np.linspace(0.1, 0.9, 15).round(3).tolist()]


def line_of(name: str, epsilon: float | dict = 2.0, **params) -> dict:
    """A line of a spec for any policy; ``epsilon`` is left out where there is none."""
    line: dict = {"policy": name, "params": KNOWN.get(name, {}) | params}
    if registry()[name].epsilon != "none":
        line["epsilon"] = epsilon if isinstance(epsilon, dict) else {"kind": "fixed", "value": float(epsilon)}
    return line


def experiment_of(*lines, arms=BERNOULLI, horizon=1500, trials=12, seed=4, **fields) -> Experiment:
    document = {"version": 1, "lines": list(lines), "horizon": horizon, "trials": trials, "seed": seed}
    return Experiment.model_validate(document | fields | ({} if "contexts" in fields else {"arms": arms}))


USERS = {"dimension": 3, "arms": 4, "noise": 0.1, "law": {"kind": "cube"}}
BOTH = (USERS, {**USERS, "structure": "multi"})


def experiments_of(name: str, *other: dict, **fields) -> list[Experiment]:
    """Every kind of line on arms, or one line for each structure of users with features; after ``other`` lines."""
    if registry()[name].setting == "contexts":
        experiments = []
        for users in BOTH:
            with contextlib.suppress(InputError):  # a policy may refuse one of them
                experiments.append(experiment_of(*other, line_of(name), contexts=users, **fields))
        assert len(experiments) == 2 or (experiments and name not in FEATURES)
        return experiments
    return [experiment_of(*other, *every_kind_of_line(name), **fields)]


def run(experiment: Experiment, jobs: int = 1):
    """All trials, computed afresh."""
    return simulate(experiment, jobs=jobs, store=Store(None, 2**24))


OTHER_COUNTERS = [{"counter": "k-ary"}, {"counter": "square-root"}]
VARIANTS = {name: OTHER_COUNTERS for name in ("dp-ucb", "dp-ucb-bound", "private-ucb")}  # that choose another kernel


def threshold_of(name: str) -> dict:
    """The parameter of a policy that ignores small budgets."""
    return {"eps_min": 0.5} if "eps_min" in registry()[name].parameters.model_fields else {}


def every_kind_of_line(name: str) -> list[dict]:
    """One line, one with users who differ where the policy takes that, and one for each other kernel that it has."""
    lines = [line_of(name), *(line_of(name, **params) for params in VARIANTS.get(name, []))]
    if registry()[name].epsilon == "any":
        lines.append(line_of(name, SPREAD, **threshold_of(name)))
    return lines


FIELDS = ("shown", "found", "ratio", "strict")
PUBLIC = [title for title in vars(PolicyTests) if title.startswith("test_")]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (name, title)
        for name in registry()
        for title in PUBLIC
        if title.removeprefix("test_") not in {"samples", *FIELDS} - EXPECTED.get(name, {}).keys()
    ],
)
def test_it_passes_the_public_tests(name, title):
    """All but that of samples, see test_policy_check.py."""
    tests = type("Test", (PolicyTests,), {"policy": name, **EXPECTED.get(name, {})})()
    with contextlib.suppress(SkipTest):  # it has nothing of that kind
        getattr(tests, title)()


def test_a_policy_without_noise_plays_the_arms_of_its_parent():
    for name in ("heldp-ucb-b", "heldp-ucb-bw", "kl-ucb-cf", "ts-cf"):
        lines = line_of(name, 1000.0), line_of(registry()[name].parent)
        private, parent = run(experiment_of(*lines, horizon=4000, trials=40)).lines
        np.testing.assert_array_equal(private.pulls, parent.pulls)


@EVERY
def test_numbers_add_up(name):
    experiment = experiment_of(*every_kind_of_line(name))
    for line in run(experiment).lines:
        np.testing.assert_array_equal(line.pulls.sum(axis=1), experiment.horizon)
        assert (np.diff(line.regret, axis=1) >= -1e-9).all()  # pseudo-regret never falls
        assert (np.diff(line.best_pulls, axis=1) >= 0).all()
        gaps = experiment.means.max() - experiment.means
        np.testing.assert_allclose(line.regret[:, -1], line.pulls @ gaps, rtol=1e-12)
        np.testing.assert_array_equal(line.best_pulls[:, -1], line.pulls[:, experiment.means.argmax()])


@pytest.mark.parametrize("name", [name for name in ON_ARMS if name in EXPECTED and name != "dp-se"])
def test_trials_are_distinct(name):
    """But for DP-SE, whose trace tells only in which epoch each arm is dropped: mostly the same one in every trial."""
    arms, horizon = BERNOULLI, 1500
    if name == "robust-ucb":  # while it believes no reward as large as 1 yet, all runs on 0 and 1 are alike
        arms = [{"kind": "gaussian", "mean": mean, "sd": 1.0} for mean in (0.3, 0.7, 0.5)]
    elif name in TESTS:  # only the order of the arms and the winner tell runs apart
        arms = MANY
    elif name in BATCHES:  # only the batches that arms survive tell runs apart
        arms, horizon = MANY, 30_000
    elif name in EPOCHS:  # only the epochs that arms survive tell runs apart
        arms, horizon = [{"kind": "bernoulli", "mean": 0.5, "count": 50}], 10**8
    lines = every_kind_of_line(name)
    if name in EPOCHS:  # with a kappa so small that noise alone drops arms
        lines = [line_of(name, kappa=1e-3 if name == "dp-robust-se" else 1e-5)]
    experiment = experiment_of(*lines, arms=arms, horizon=horizon, trials=30)
    for line in run(experiment).lines:
        traces = np.concatenate([line.regret, line.best_pulls, line.pulls], axis=1)
        assert len(np.unique(traces, axis=0)) == 30


@ALL
def test_workers_and_cuts_change_no_byte(name):
    for experiment in experiments_of(name, trials=9, horizon=500):
        whole, threaded, fewer = run(experiment), run(experiment, jobs=2), run(experiment.with_changes(trials=4))
        for number, line in enumerate(whole.lines):
            play, setup, signal, rows = (
                experiment.lines[number].entry.play,
                experiment.setups[number],
                Signal(),
                streams(4, 0, 9),
            )
            cuts = [play(setup, rows[first:last], whole.times, signal) for first, last in ((0, 1), (1, 6), (6, 9))]
            assert signal.steps == 9 * experiment.horizon
            np.testing.assert_array_equal(rows, streams(4, 0, 9))  # not used up
            for field in cuts[0].arrays:
                expected = getattr(line, field)
                assert expected.tobytes() == getattr(threaded.lines[number], field).tobytes()
                assert expected[:4].tobytes() == getattr(fewer.lines[number], field).tobytes()
                assert np.concatenate([getattr(block, field) for block in cuts]).tobytes() == expected.tobytes()


@ALL
def test_a_line_does_not_feel_its_neighbours(name):
    other = {"policy": "linucb" if registry()[name].setting == "contexts" else "ucb"}
    for alone, beside in zip(experiments_of(name, horizon=500), experiments_of(name, other, horizon=500), strict=True):
        assert run(alone).lines[0].regret.tobytes() == run(beside).lines[1].regret.tobytes()


@pytest.mark.parametrize("name", [name for name, policy in registry().items() if policy.anytime])
@pytest.mark.parametrize("vectorised", [True, False])
def test_a_shorter_horizon_is_a_prefix(monkeypatch, name, vectorised):
    monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon: vectorised)
    for experiment in experiments_of(name, horizon=1500):
        shorter = experiment.with_changes(horizon=700)
        for line, short, long in zip(experiment.lines, shorter.setups, experiment.setups, strict=True):
            if line.entry.knows_horizon(short):
                continue
            first = line.entry.play(short, streams(1, 0, 4), np.array([10, 700]), Signal())
            second = line.entry.play(long, streams(1, 0, 4), np.array([10, 300, 700, 1500]), Signal())
            assert first.regret.tobytes() == second.regret[:, [0, 2]].tobytes()
            assert first.best_pulls.tobytes() == second.best_pulls[:, [0, 2]].tobytes()


ORDER = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.8, 0.7, 0.6, 0.5)]
BUDGETS, HORIZONS = (0.05, 1.0, 20.0), (300, 1000, 10_000)


@EVERY
def test_the_order_of_the_arms_decides_nothing(name):
    """Best arm first and best arm last, 80 trials each of their own: means within 5 standard errors.

    At two of nine settings, which the name draws, so that all nine are played by some of the policies.
    """
    for epsilon, horizon in random.Random(name).sample([*itertools.product(BUDGETS, HORIZONS)], 2):
        for params in ({}, *VARIANTS.get(name, [])):
            line = line_of(name, epsilon, **params)
            listings = [
                run(experiment_of(line, arms=arms, horizon=horizon, trials=80, seed=seed)).lines[0]
                for arms, seed in ((ORDER, 1), (ORDER[::-1], 2))
            ]
            assert_order_decides_nothing(listings)


def assert_order_decides_nothing(listings):
    first, last = (line.regret[:, -1] for line in listings)
    error = np.hypot(first.std(ddof=1), last.std(ddof=1)) / np.sqrt(80)
    assert abs(first.mean() - last.mean()) <= FAR * error + 1e-9
    # Pulls are noted under the arms, not under their labels: most of them of good arms wherever those stand.
    np.testing.assert_allclose(first, listings[0].pulls @ (0.9 - np.array([0.9, 0.8, 0.7, 0.6, 0.5])), rtol=1e-9)


@EVERY
def test_equal_arms_cost_nothing(name):
    arms = [{"kind": "bernoulli", "mean": 1.0, "count": 4}]
    line = run(experiment_of(line_of(name), arms=arms, horizon=300)).lines[0]
    assert (line.regret == 0).all()
    np.testing.assert_array_equal(line.best_pulls[:, -1], 300)


@ALL
@pytest.mark.parametrize("horizon", [1, 2])
def test_the_shortest_horizons_and_one_arm(name, horizon):
    arms = {} if registry()[name].setting == "contexts" else {"arms": BERNOULLI[:1]}
    for experiment in [
        *experiments_of(name, horizon=horizon, trials=2),
        *experiments_of(name, horizon=horizon, **arms),
    ]:
        for line in run(experiment).lines:
            np.testing.assert_array_equal(line.pulls.sum(axis=1), horizon)


UNBOUNDED = [{"kind": "gaussian", "mean": 0.5, "sd": 1.0}, {"kind": "gaussian", "mean": 0.2, "sd": 1.0}]


@OF_THE_LAB
def test_rewards_it_cannot_take_are_refused_with_a_way_out(name):
    policy = registry()[name]
    if policy.accepts(experiment_of(line_of("ucb"), arms=UNBOUNDED).single_arms) is None:
        assert run(experiment_of(line_of(name), arms=UNBOUNDED, horizon=50)).complete
        return
    with pytest.raises(InputError) as refusal:
        experiment_of(line_of(name), arms=UNBOUNDED)
    problem = refusal.value.issues[0]
    assert problem.path == "lines[0].policy"
    instead = problem.allowed.partition("; use ")[2].split(" ")[0]
    # As long as no centrally private policy takes such rewards, the way out is one without privacy; else the way out
    # keeps the same promise, or a stronger one.
    if policy.privacy == "central":
        assert registry()[instead].privacy == "none"
    else:
        assert policy.privacy in registry()[instead].promise.implied()
    assert run(experiment_of(line_of(instead), arms=UNBOUNDED, horizon=50)).complete


@ALL
def test_budgets_it_cannot_take_are_refused(name):
    kinds = {"none": [SPREAD, {"kind": "fixed", "value": 1.0}], "one": [SPREAD, None], "any": [None]}
    users = {"contexts": USERS} if registry()[name].setting == "contexts" else {}
    for epsilon in kinds[registry()[name].epsilon]:
        with refused("lines[0].epsilon") as issues:
            experiment_of({"policy": name, "epsilon": epsilon}, **users)
        assert name in issues[0].allowed


@OF_THE_LAB
def test_the_guarantee_is_that_of_the_budget(name):
    policy = registry()[name]
    guarantee = policy.guarantee(experiment_of(line_of(name, 1.5)).setups[0])
    assert guarantee.model == policy.privacy
    assert guarantee.words
    if guarantee.delta > 0:  # what its accountant found, rounded up to whole pulls between releases
        assert 1.3 < guarantee.epsilon <= 1.5
        assert f"{guarantee.epsilon:.3g}" in guarantee.words
        assert guarantee.epsilon >= policy.spent(experiment_of(line_of(name, 1.5)).setups[0], np.array([10**9]))
    elif policy.epsilon != "none":
        assert guarantee.epsilon == 1.5
        assert "1.5" in guarantee.words
    if policy.epsilon == "any":
        mixed = policy.guarantee(experiment_of(line_of(name, SPREAD, **threshold_of(name))).setups[0])
        assert mixed.epsilon is None
        assert "own epsilon" in mixed.words


# Tests, batches and searches on bits take few draws and one look at each checkpoint, however long: over at once.
IN_BULK = {"explore-then-commit-local", "ldp-se", "shuffle-se", "top-two", "ctb-tt", "adap-tt"}
ENDLESS = [
    ("ucb", True),
    *((name, False) for name in registry() if name in EXPECTED and name not in {"ucb-cf", *IN_BULK}),
]


@pytest.mark.parametrize(("name", "vectorised"), ENDLESS)
def test_a_running_kernel_leaves_the_interpreter_free(monkeypatch, name, vectorised):
    """While a kernel plays, this thread goes on: its longest pause is a fraction of the time the kernel runs."""
    monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon: vectorised)
    fields: dict = {"contexts": USERS} if registry()[name].setting == "contexts" else {}
    if name in EPOCHS:  # Student's rewards are drawn one by one
        fields = {"arms": [{"kind": "student", "mean": 0.0, "scale": 1.0, "df": 3.0, "count": 2}]}
    params = {"kappa": EPOCHS[name]} if name in EPOCHS else {"users": 10**9} if name in TESTS else {}
    experiment = experiment_of(line_of(name, **params), horizon=10**9, **fields)
    entry, instance = experiment.lines[0].entry, experiment.setups[0]
    if name not in EPOCHS and entry.cost(instance) < 0.1:
        # played in bulk: done before anyone can look, unless rewards take their time
        experiment = experiment.with_changes(arms=[{"kind": "beta", "a": 2.0, "b": 1.0, "count": 2}])
        instance = experiment.setups[0]
    assert_left_free(entry, instance)
