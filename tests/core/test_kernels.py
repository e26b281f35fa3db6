"""Kernels and rules against slow references: the same draws must pull the same arms, in the same order."""

import itertools
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import reference
from batch_reference import binomial
from helpers import FILES, own_policies_forgotten
from reference import Late, Stream, by_labels, laplace, reward_of
from runs import GROUPS, LAWS, MANY, ONE, SPREAD, SURE, TIES, TWO, assert_pulls, coins, instance_of, looped, one_line
from scipy import stats

from bandit_core import load_policy, simulate
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.jit.decorators import kernel_name, kernel_version, rebound
from bandit_core.kernels import index, kl, play
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.policies import dp_ucb, explore_then_commit, gaussian_ts, registry, tree_family
from bandit_core.simulation.store import Store
from bandit_core.studies.one_run import one_run
from bandit_core.theory.explore_commit import chance_of_overtaking
from bandit_core.theory.power import MAX_USERS, critical_value, sample_size

# ---------------------------------------------------------------------------------------------------------------------
# Kernels against slow references: the same draws must pull the same arms, in the same order.


FIXED = {"kind": "fixed", "value": 1.0}
BELL = {"kind": "clamped-gaussian", "mean": 1.0, "sd": 1.0, "low": 0.0, "high": 3.0}

WIDE = [
    {"kind": "gaussian", "mean": 0.5, "sd": 1.0},
    {"kind": "pareto", "mean": 1.0, "shape": 2.5},
    {"kind": "uniform", "low": -1.0, "high": 2.0},
    {"kind": "beta", "a": 2.0, "b": 3.0},
    {"kind": "two-point", "low": -3.0, "high": 2.0, "p_high": 0.75},
    {"kind": "empirical", "values": [-1.0, 0.5, 4.0]},
]


def compare_with_reference(policy, arms, epsilon, horizon, late=False, **params) -> None:
    """Every single pull (checkpoints at every step), and long runs between few checkpoints."""
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    mixed_bits = policy in ("heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-bw") and instance.epsilon.fixed is None
    near_one = policy == "kl-ucb" and arms is LAWS  # indices closer to 1 than a double can tell

    def expected(words, pulled):
        options = {"played": pulled} if mixed_bits or near_one else {}
        return reference.pulled_arms(policy, instance, words, **options)

    assert_pulls(entry.play, looped(instance) if late else instance, streams(7, 0, 2), expected)


INDEX_CASES = [
    ("ucb", ONE, None, 1, {}),
    ("ucb", ONE, None, 50, {}),
    ("ucb", TWO, None, 1, {}),
    ("ucb", TWO, None, 2000, {}),
    ("ucb", TIES, None, 1500, {}),
    ("ucb", SURE, None, 300, {"alpha": 0.5}),
    ("ucb", LAWS, None, 600, {}),
    ("ucb", WIDE, None, 600, {}),
    ("ucb", MANY, None, 30, {}),
    ("ucb", MANY, None, 600, {}),
    ("ucb-cf", ONE, FIXED, 20, {}),
    ("ucb-cf", TWO, FIXED, 1500, {}),
    ("ucb-cf", TIES, {"kind": "fixed", "value": 0.2}, 800, {}),
    ("ucb-cf", LAWS, FIXED, 600, {}),
    ("ucb-cf", MANY, FIXED, 400, {}),
    *[(policy, TWO, FIXED, 1, {}) for policy in ("heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-l", "heldp-ucb-ls")],
    *[(policy, ONE, GROUPS, 60, {}) for policy in ("heldp-ucb-b", "heldp-ucb-l")],
    *[
        (policy, arms, epsilon, 500, {"eps_min": eps_min})
        for policy in ("heldp-ucb-b", "heldp-ucb-l")
        for arms in (TWO, TIES, LAWS, MANY)
        for epsilon, eps_min in ((FIXED, "auto"), (GROUPS, 0.5), (GROUPS, 2.0), (BELL, 0.75), (SPREAD, 0.5))
    ],
    *[
        (policy, WIDE, epsilon, 400, {"eps_min": eps_min})
        for policy in ("heldp-ucb-bs", "heldp-ucb-ls")
        for epsilon, eps_min in ((FIXED, "auto"), (GROUPS, 0.5), (SPREAD, 0.5))
    ],
]


@pytest.mark.parametrize("vectorised", [True, False], ids=["vectorised", "tournament"])
@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), INDEX_CASES)
def test_index_policies_pull_what_the_reference_pulls(monkeypatch, vectorised, policy, arms, epsilon, horizon, params):
    monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon: vectorised)
    compare_with_reference(policy, arms, epsilon, horizon, **params)


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon"),
    [
        ("kl-ucb", ONE, None, 30),
        ("kl-ucb", TWO, None, 1),
        ("kl-ucb", TWO, None, 800),
        ("kl-ucb", TIES, None, 2000),
        ("kl-ucb", SURE, None, 200),
        ("kl-ucb", LAWS, None, 300),
        ("kl-ucb", MANY, None, 120),
        ("kl-ucb-cf", ONE, 1.0, 30),
        ("kl-ucb-cf", TWO, 1.0, 800),
        ("kl-ucb-cf", TWO, 0.1, 500),
        ("kl-ucb-cf", TWO, 8.0, 500),
        ("kl-ucb-cf", TIES, 0.5, 2000),
        ("kl-ucb-cf", SURE, 2.0, 300),
        ("kl-ucb-cf", LAWS, 1.0, 300),
        ("kl-ucb-cf", MANY, 3.0, 120),
        ("thompson", ONE, None, 1),
        ("thompson", TWO, None, 500),
        ("thompson", TIES, None, 200),
        ("thompson", LAWS, None, 200),
        ("thompson", MANY, None, 60),
        *[
            (policy, arms, epsilon, 200)
            for policy in ("heldp-ucb-bw", "heldp-ucb-lw")
            for arms, epsilon in ((TWO, GROUPS), (TIES, SPREAD), (LAWS, BELL), (LAWS, FIXED), (MANY, GROUPS))
        ],
        ("ts-cf", TWO, 1.0, 500),
        ("ts-cf", LAWS, 1.0, 200),
        ("ts-cf", MANY, 1.0, 60),
    ],
)
def test_other_policies_pull_what_the_reference_pulls(policy, arms, epsilon, horizon):
    """Thompson sampling with every draw: of such a run is the law of one with few draws, see test_posterior.py."""
    compare_with_reference(policy, arms, epsilon, horizon, late=policy in ("thompson", "ts-cf"))


LARGE = [{"kind": "bernoulli", "mean": round(0.2 + 0.6 * (37 * place % 300) / 300, 4)} for place in range(300)]


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon", "params"),
    [
        ("ucb", LARGE, None, 6000, {}),
        ("ucb", TIES, None, 60_000, {}),
        ("ucb", LAWS, None, 30_000, {"alpha": 0.3}),
        ("ucb-cf", LARGE, FIXED, 4000, {}),
        ("heldp-ucb-b", LARGE, GROUPS, 4000, {"eps_min": 0.5}),
        ("heldp-ucb-b", TWO, BELL, 60_000, {"eps_min": 0.75}),
        ("heldp-ucb-b", TIES, FIXED, 60_000, {}),
        ("heldp-ucb-l", LARGE, FIXED, 4000, {}),
        ("heldp-ucb-l", TWO, GROUPS, 60_000, {"eps_min": 2.0}),
        ("heldp-ucb-ls", WIDE, SPREAD, 20_000, {"eps_min": 0.5}),
    ],
)
def test_both_samplers_agree_bit_for_bit(monkeypatch, policy, arms, epsilon, horizon, params):
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    times = np.unique(np.geomspace(1, horizon, 40).round().astype(np.int64))
    blocks = []
    for vectorised in (True, False):
        monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon, chosen=vectorised: chosen)
        blocks.append(entry.play(instance, streams(3, 0, 5), times, Signal()))
    for name in ("regret", "best_pulls", "pulls"):
        np.testing.assert_array_equal(getattr(blocks[0], name), getattr(blocks[1], name))


def test_kl_quantiles_solve_their_equation():
    grid = itertools.product(
        [0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-7], [1e-8, 1e-5, 1e-3, 0.05, 0.5, 3.0, 20.0]
    )
    for mean, budget in grid:
        q = kl.upper_quantile(mean, budget)
        assert mean < q <= 1
        assert q == pytest.approx(reference.largest_q(mean, 1, budget, 0.0, 1.0), abs=2e-10 if budget < 1e-7 else 1e-11)


def test_a_kl_index_where_nothing_is_possible():
    low, high = 0.4, 0.6
    borders = (low, kl.bar_at(high))
    assert kl.index(0.9, 1000.0, 5.0, *borders) == high  # far above what any mean explains
    assert kl.index(0.1, 1000.0, 5.0, *borders) == low  # far below
    assert low < kl.index(0.45, 100.0, 1.0, *borders) < high
    assert kl.index(0.45, 1.0, 5.0, *borders) == high  # everything is still possible


# ---------------------------------------------------------------------------------------------------------------------
# Rules: the guide's own is played as a plain twin plays it, and accelerators play what the rule says.


CODE = FILES["noisy_greedy"]
MEANS, USERS = (0.3, 0.8, 0.6), 400


@pytest.fixture
def stranger(policy_file):
    """The guide's policy, from a file of one's own."""
    with own_policies_forgotten():
        [name] = load_policy(policy_file("noisy_greedy", CODE))
        yield name
    sys.modules.pop("policy_file_noisy_greedy")


def experiment_of(name, horizon=USERS, arms=None, **late):
    return one_line(name, arms or coins(*MEANS), 2.0, horizon, trials=2, seed=5, **late)


def twin(setup, words):
    """The guide's policy in plain Python: the arm of every user."""
    stream, arms = Stream(words), setup.arms
    private, message, chosen, late = stream.rejections.uniform, [[] for _ in arms], [], Late(setup)
    means = [0.0 for _ in arms]
    for _ in range(setup.horizon):
        choice = means.index(max(means))
        if private() < setup.parameters.explore:
            choice = int(private() * len(arms))
        reward = reward_of(arms[choice], stream.uniform(), stream)
        chosen.append(choice)
        for arm, answer in late.counted(choice, reward + laplace(private(), 1 / setup.fixed_epsilon)):
            message[arm].append(answer)
            means[arm] += (answer - means[arm]) / len(message[arm])
    return chosen


@pytest.mark.parametrize("feedback", [{}, {"batch": 10, "delay": 3}])
def test_the_rule_of_the_guide_is_played_and_watched_as_its_twin_plays_it(stranger, feedback):
    experiment = experiment_of(stranger, **feedback)
    chosen = by_labels(experiment.setups[0], streams(5, 0, 1)[0], twin)
    run = one_run(experiment, users=USERS)
    assert run.arms.tolist() == chosen
    line = simulate(experiment, store=Store(None, 0)).lines[0]
    assert line.pulls[0].tolist() == np.bincount(chosen, minlength=3).tolist()
    assert run.regret[-1] == line.regret[0, -1]
    assert set(run.rewards) == {0.0, 1.0} and (run.sent != run.rewards).all()
    noise = run.sent - run.rewards
    assert abs(np.abs(noise).mean() - 0.5) < 5 * 0.5 / USERS**0.5  # Laplace(1/2)
    if not feedback:
        message = [run.sent[:-1][run.arms[:-1] == arm].mean() for arm in range(3)]
        np.testing.assert_allclose(run.estimates[-1], message, rtol=1e-9)


MIXED = [{"kind": "beta", "a": 2.0, "b": 3.0}, {"kind": "uniform", "low": 0.25, "high": 0.75}]
LINES = [
    *((name, {}) for name in ("ucb", "kl-ucb", "kl-ucb-cf", "ucb-cf", "heldp-ucb-b", "heldp-ucb-l")),
    *((f"heldp-ucb-{kind}", {"epsilon": GROUPS, "params": {"eps_min": 0.5}}) for kind in ("b", "bs", "l", "ls")),
    ("robust-ucb", {}),
    ("dp-robust-ucb", {}),
]


@pytest.mark.parametrize("arms", [{}, {"arms": MIXED}], ids=["coins", "mixed"])
@pytest.mark.parametrize(("name", "fields"), LINES)
def test_an_accelerator_plays_what_the_rule_says_bit_for_bit(name, fields, arms):
    base = experiment_of(name, horizon=3000, **arms)
    line = base.spec()["lines"][0] | fields
    call = registry()[name].prepare(base.with_changes(lines=[line]).setups[0])
    plain = replace(call, kernel=call.rule.at_once, arguments=call.watched)
    assert plain.kernel is not call.kernel
    played = [run_kernel(each, streams(3, 0, 3), np.array([1, 50, 3000]), Signal()) for each in (call, plain)]
    for array in ("regret", "best_pulls", "pulls"):
        assert getattr(played[0], array).tobytes() == getattr(played[1], array).tobytes()


def test_rules_that_share_functions_are_different_kernels():
    rules = [*dp_ucb.RULES.values(), *tree_family.RULES.values(), gaussian_ts.RULE]
    kernels = [kernel for rule in rules for kernel in (rule.at_once, rule.late, rule.watched)]
    assert len({kernel_name(kernel) for kernel in kernels}) == len(kernels)
    assert len({kernel_version(kernel) for kernel in kernels}) == len(kernels)
    assert kernel_name(gaussian_ts.RULE.late) == "bandit_core.policies.gaussian_ts.draws_late"


def test_kept_code_is_named_after_all_that_it_reaches(monkeypatch):
    def name() -> str:
        return rebound(play.play, gaussian_ts.choose, "draws", start=gaussian_ts.start).py_func.__qualname__

    before = name()
    assert before == name() and before.startswith("draws_")
    monkeypatch.setattr(play, "NOTHING", (1.0, 2.0, 3.0, 4.0))  # not reached
    assert name() == before
    monkeypatch.setattr(play, "LATE", True)
    assert name() != before


def test_a_docstring_says_what_the_fields_leave_out():
    text = "Own: someone 2020.\n\nA summary\nin two lines.\n\n    pull\n        again\n\nMore."
    own = replace(registry()["ucb"], title="Own", paper="", summary="", pseudo_code="given")
    found = own.described(text)
    assert (found.paper, found.summary, found.pseudo_code) == ("someone 2020", "A summary in two lines.", "given")
    assert replace(own, pseudo_code="").described(text).pseudo_code == "pull\n    again"
    assert replace(own, title="Other").described(text).paper == ""


def test_a_docstring_says_the_guarantee_and_which_title_is_whose():
    one = "One title (`{}`): someone 2020.\n\nA summary.\n\n    pull\n\nPromise: nothing\nat all\n\nMore."
    text = one.format("other") + "\n\n" + one.format("own").replace("One", "Own (second)")
    own = replace(registry()["ucb"], name="own", title="", paper="", guarantee_words="given")
    found = own.described(text)
    assert (found.title, found.paper, found.guarantee_words) == ("Own (second) title", "someone 2020", "nothing at all")
    assert own.described(text.replace("Promise", "More")).guarantee_words == "given"


# ---------------------------------------------------------------------------------------------------------------------
# Explore-then-commit against a plain reference, and the power calculation by hand.


NAMES = {"none": "explore-then-commit", "local": "explore-then-commit-local", "central": "explore-then-commit-central"}
COINS = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.8, 0.65)]
OTHERS = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "uniform", "low": 0.25, "high": 0.75},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
]


def setup_of(privacy, arms, horizon, epsilon=1.0, **params):
    return instance_of(NAMES[privacy], arms, epsilon, horizon, **params)[1]


# --- the policy ------------------------------------------------------------------------------------------------------


def plain(setup, words, privacy, at_once):
    """The arms pulled, one per step, and which rewards entered which release."""
    stream = Stream(words)
    order = stream.labels(len(setup.arms))
    arms = [setup.arms[place] for place in order]
    users, epsilon = setup.parameters.users, setup.epsilon and setup.epsilon.value
    in_bulk = privacy == "local" or (at_once and all(arm.kind in ("bernoulli", "two-point") for arm in arms))
    rewards = [[] for _ in arms]
    pulled, released = [], []
    for t in range(min(users, setup.horizon)):
        label = t % len(arms)
        pulled.append(label)
        rewards[label].append(None if in_bulk else reward_of(arms[label], stream.uniform(), stream))
    means = []
    for arm, mine in zip(arms, rewards, strict=True):
        if not mine or setup.horizon <= users:
            means.append(-math.inf)
            continue
        if privacy == "local":
            c = math.tanh(epsilon / 2)
            total = binomial(len(mine), 0.5 + c * (arm.expected - 0.5), stream.rejections.uniform)
        elif in_bulk:
            low, high, p = (0.0, 1.0, arm.mean) if arm.kind == "bernoulli" else (arm.low, arm.high, arm.p_high)
            ones = binomial(len(mine), p, stream.rejections.uniform)
            total = low * (len(mine) - ones) + high * ones
        else:
            total = sum(mine)
        if privacy == "central":
            total += laplace(stream.uniform(), 1 / epsilon)
        released.append(len(mine))
        means.append(0.5 + (total / len(mine) - 0.5) / c if privacy == "local" else total / len(mine))
    winner = means.index(max(means))
    pulled += [winner] * (setup.horizon - len(pulled))
    return [order[label] for label in pulled], released


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("arms", [COINS, OTHERS, COINS[:1]], ids=["coins", "others", "one"])
@pytest.mark.parametrize("privacy", NAMES)
@pytest.mark.parametrize(("users", "horizon"), [(1, 40), (2, 40), (25, 60), (60, 60), (100, 60), (3001, 4000)])
def test_the_arms_of_the_reference(privacy, arms, users, horizon, at_once):
    setup = setup_of(privacy, arms, horizon, users=users)

    def expected(words, _):
        arms_of_all, released = plain(setup, words, privacy, at_once)
        assert sum(released) in (0, users)  # every reward of the test is in exactly one sum
        return arms_of_all

    play = explore_then_commit.prepare(setup, privacy, at_once)
    assert_pulls(lambda _, *given: run_kernel(play, *given), setup, streams(7, 0, 4), expected)


@pytest.mark.parametrize("privacy", NAMES)
def test_the_loss_that_is_played_is_the_sum_over_the_chance_to_pick_wrongly(privacy):
    """Two options: exact binomials, and two Laplace variables whose difference has the tail e^-z (2 + z) / 4."""
    arms, horizon, epsilon = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.575)], 10_000, 0.5
    [setup] = one_line(NAMES[privacy], arms, epsilon, horizon, users=800).setups
    contrast = math.tanh(epsilon / 2) if privacy == "local" else 1.0
    worse, better = (stats.binom.pmf(np.arange(401), 400, 0.5 + contrast * (mean - 0.5)) for mean in (0.5, 0.575))
    ahead, chances = np.arange(-400, 401), np.convolve(better, worse[::-1])
    z = np.abs(ahead) * epsilon
    tail = np.exp(-z) * (2 + z) / 4 if privacy == "central" else np.where(ahead == 0, 0.5, 0.0)
    wrong = float(chances @ np.where(ahead < 0, 1 - tail, tail))
    exact = 0.075 * (400 + (horizon - 800) * wrong)
    block = registry()[NAMES[privacy]].play(setup, streams(1, 0, 20_000), np.array([horizon]), Signal())
    played = block.regret[:, -1]
    assert 0.01 < wrong < 0.4 and abs(played.mean() - exact) < 4 * played.std() / math.sqrt(len(played))


@pytest.mark.parametrize("privacy", NAMES)
def test_auto_is_the_power_calculation_for_every_arm(privacy):
    params = {"alpha": 0.01, "power": 0.9, "effect": 0.05, "baseline": 0.2}
    setup = setup_of(privacy, COINS, 1000, epsilon=0.7, **params)
    epsilon = None if privacy == "none" else 0.7
    assert setup.parameters.users == 3 * sample_size(0.2, 0.05, 0.01, 0.9, privacy, epsilon, 3).users_per_option


# --- its bound -------------------------------------------------------------------------------------------------------


def test_the_chance_of_overtaking_by_hand_and_by_simulation():
    assert chance_of_overtaking(0.2, 50, 1.0, 0.0) == pytest.approx(math.exp(-2.0))
    assert chance_of_overtaking(0.2, 0, 1.0, 0.0) == chance_of_overtaking(0.0, 5, 1.0, 0.0) == 1.0
    rng = np.random.default_rng(0)
    for gap, pulls, epsilon in ((0.2, 50, 0.2), (0.3, 30, 1.0), (0.1, 400, 0.05)):
        draws = rng.binomial(pulls, [[0.5 - gap / 2], [0.5 + gap / 2]], (2, 200_000))
        means = (draws + rng.laplace(0, 1 / epsilon, draws.shape)) / pulls
        seen = float((means[0] >= means[1]).mean())
        assert seen < chance_of_overtaking(gap, pulls, 1.0, 1 / epsilon) < 1
    beyond = one_line(NAMES["none"], [{"kind": "uniform", "low": -1, "high": 2}])
    assert any("outside" in (bound.not_applicable or "") for bound in line_bounds(beyond, 0))


# --- power -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-4])
@pytest.mark.parametrize("options", [2, 3, 10])
def test_the_critical_value_is_that_of_equally_correlated_normals(alpha, options):
    """Against SciPy's multivariate normal distribution."""
    found = critical_value(alpha, options)
    others = options - 1
    normal = stats.multivariate_normal(cov=0.5 * np.eye(others) + 0.5)
    inside = normal.cdf(np.full(others, found), lower_limit=np.full(others, -found), rng=np.random.default_rng(0))
    assert 1 - inside == pytest.approx(alpha, rel=0.01, abs=2e-5)


def test_limits():
    plain = sample_size(0.1, 0.02)
    assert sample_size(0.1, 0.02, privacy="local", epsilon=1000).users_per_option == plain.users_per_option
    assert sample_size(0.1, 0.02, privacy="central", epsilon=1000).inflation == pytest.approx(1, abs=1e-6)
    small = [sample_size(0.1, 0.02, privacy="local", epsilon=epsilon).inflation for epsilon in (0.01, 0.02)]
    assert small[0] / small[1] == pytest.approx(4, rel=1e-3)  # 1 / epsilon^2
    small = [sample_size(0.1, 0.02, privacy="central", epsilon=epsilon).inflation for epsilon in (1e-5, 2e-5)]
    assert small[0] / small[1] == pytest.approx(2, rel=1e-2)  # 1 / epsilon
    assert sample_size(0.1, 0.02, privacy="local", epsilon=1e-6).users_per_option == MAX_USERS
    assert replace(plain, users_per_option=5).total(3) == 15


@pytest.mark.parametrize("policy", ["explore-then-commit-local", "explore-then-commit-central", "ctb-tt", "adap-tt"])
def test_no_slope_of_the_long_run_binds_who_keeps_a_wrong_winner(policy):
    setup = one_line(policy, COINS[:2], horizon=1000).setups[0]
    lower = [bound for bound in registry()[policy].bounds(setup) if bound.side == "lower"]
    assert any(bound.asymptotic for bound in lower) and not all(bound.asymptotic for bound in lower)
    assert all(bound.not_applicable for bound in lower if bound.asymptotic)
    assert any(not bound.not_applicable for bound in lower)
