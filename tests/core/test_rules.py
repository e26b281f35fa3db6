"""Rules: the guide's own is played as a plain twin plays it, and accelerators play what the rule says."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers import FILES, own_policies_forgotten
from reference import Late, Stream, by_labels, laplace, reward_of
from runs import GROUPS, coins, one_line

from bandit_core import load_policy, simulate
from bandit_core.jit.decorators import kernel_name, kernel_version, rebound
from bandit_core.kernels import play
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.policies import dp_ucb, gaussian_ts, registry, tree_family
from bandit_core.simulation.store import Store
from bandit_core.studies.one_run import one_run

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
