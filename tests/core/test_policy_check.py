"""`check_policy` says what holds of a policy in a file, and names what does not; claims without an account say so."""

import json
import re
import sys
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from families import POLICIES
from helpers import FILES, own_policies_forgotten
from liars import LIARS
from scipy import stats

from bandit_core import Experiment, InputError, PolicyTests, check_policy, load_policy, releases, simulate
from bandit_core.auditing import subjects
from bandit_core.auditing.subjects import CERTAINTY, EPSILONS, MOST_LOOKS, audit_policy
from bandit_core.cli import main
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.policies import CLAIMED, registry
from bandit_core.rules import Rule
from bandit_core.simulation.sentences import verdict
from bandit_core.studies import benchmark
from bandit_core.studies.policy_check import CHANCE, CHECKS, findings
from bandit_core.studies.tradeoff import weaker

NAME = "noisy-greedy"
SPEC = {
    "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    "lines": [{"policy": NAME, "epsilon": {"kind": "fixed", "value": 1.0}}],
    "horizon": 50,
    "trials": 2,
}
ACCOUNT = '    releases=rules.noisy_answers("the reward"),\n'


@pytest.fixture
def file(policy_file):
    """A function that writes a policy of the tutorial, some words of it replaced; afterwards no one knows it."""

    def written(*changes, name="noisy_greedy"):
        text = FILES[name]
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        return policy_file(name, text)

    with own_policies_forgotten():
        yield written
    for module in [name for name in sys.modules if name.startswith("policy_file_")]:
        del sys.modules[module]


ZERO = '__import__("dataclasses").replace(rules.trivial_cap(setup), name="Nothing", curve=lambda t: 0 * t)]'
WRONG = {  # a check that fails, the field that it names, and what is changed
    "description": ("parent", (' parent="ucb",', "")),
    "guarantee": ("guarantee(setup).model", ('privacy="local"', 'privacy="central"')),
    "account": ("releases(setup)", ('rules.noisy_answers("the reward")', 'lambda s: 2 * rules.noisy_answers("it")(s)')),
    "horizon": ("anytime", ("Numbers(setup.parameters.explore,", "Numbers(setup.horizon / 2000,")),
    "order of arms": (
        "labels",
        ("Numbers(setup.parameters.explore,", "Numbers(0.06 if setup.means[0] > 0.7 else 1.0,"),
    ),
    "bounds": ("Nothing", ("rules.trivial_cap(setup)]", ZERO)),
    "samples": ("ε is at least 6", LIARS["local, without noise"][1]),
    "plain Python": (
        "IndexError",
        ("    return int(", "    if known.means[arms] > 1e300:\n        return 0\n    return int("),
    ),
}


def test_the_public_tests_say_what_was_measured_and_ask_for_no_more_than_was_set(file):
    class Tests(PolicyTests):
        policy, file, found = NAME, None, 0.99

    Tests.file = file()
    with pytest.raises(AssertionError, match=r"found = 0.99, measured 0\.\d+"):
        Tests().test_found()
    with pytest.raises(SkipTest, match="ratio is None"):
        Tests().test_ratio()


@pytest.mark.parametrize("name", ["heldp-ucb-b", "dp-se"])
def test_a_right_policy_fails_with_none_of_sixty_seeds(name):
    found = [each for seed in range(60) for each in findings(registry()[name], CHANCE[:2], seed)]
    assert [str(each) for each in found if each.holds is False] == [] and len(found) == 120


@pytest.mark.parametrize("liar", LIARS)
def test_a_liar_is_refused_with_the_epsilon_found(file, liar):
    name, *changes = LIARS[liar]
    [name] = load_policy(file(*changes, name=name))
    [found] = findings(registry()[name], ["samples"])
    assert found.holds is False and float(re.search(r"ε is at least ([\d.]+)", found.words)[1]) > 0.05


PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none"]
SOME = [name for name in PRIVATE if name in (*POLICIES, "ldp-ols", "jdp-linucb", "ctb-tt")]


@pytest.mark.parametrize("name", [name for name in PRIVATE if name not in SOME])
def test_no_other_right_policy_is_refused_by_its_samples(name):
    test_no_right_policy_is_refused_by_its_samples(name)


@pytest.mark.parametrize("name", SOME)
def test_no_right_policy_is_refused_by_its_samples(name):
    """With fewer samples than usual, which change no chance of a false refusal: it is at most 1 - `CERTAINTY`."""
    policy = registry()[name]
    looks = [[*audit_policy(policy, [epsilon], 1000)] for epsilon in EPSILONS]
    assert [look for found in looks for look in found if look[1].verdict == "violates"] == []
    assert max(map(len, looks)) <= MOST_LOOKS and CERTAINTY == 1 - 1e-6
    declared = policy.stops or (policy.setting == "contexts" and policy.privacy != "local")
    assert (looks[0] == []) == declared


def test_samples_that_choose_where_to_look_are_not_counted(monkeypatch):
    drawn = []

    def looked_at(policy, epsilon, rng):
        drawn.append(rng.random(4))
        yield "here", lambda inputs, epsilon, counted: drawn.append(counted.random(4)) or inputs, 1

    monkeypatch.setattr(subjects, "places", looked_at)
    assert len([*audit_policy(registry()["heldp-ucb-b"], [1.0], 4)]) == 1
    assert len({tuple(numbers) for numbers in drawn}) == len(drawn) == 3


def test_an_audit_of_a_policy_errs_no_more_often_than_it_says():
    """HeLDP-UCB-B sends one bit whose loss is exactly ε: no policy that keeps ε is nearer to a refusal."""
    policy, runs, chance = registry()["heldp-ucb-b"], 100, 0.3
    audits = [audit_policy(policy, [1.0], 400, 1 - chance, seed) for seed in range(runs)]
    refused = sum(any(result.verdict == "violates" for _, result in found) for found in audits)
    assert 0 < refused <= stats.binom(runs, chance).ppf(1 - 1e-6)


def test_a_mean_under_the_floor_of_its_claim_is_told_and_never_bold(file, tmp_path, capsys):
    path = file(LIARS["local, without noise"][1])
    load_policy(path)
    lines = [{"policy": name, "epsilon": {"kind": "fixed", "value": 0.05}} for name in (NAME, "heldp-ucb-b")]
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.8, "count": 4}]
    spec = {"arms": arms, "lines": lines, "horizon": 10_000, "trials": 60}
    result = simulate(spec)
    assert list(result.refuted) == [0] and result.best <= {1} and 600 < result.refuted[0] < 800
    assert "clearly fewer than the 708" in verdict(result)
    document, rows = tmp_path / "spec.json", benchmark.load()
    document.write_text(json.dumps(spec), encoding="utf-8")
    assert main(["run", str(document), "--policy", str(path), "--jobs", "1"]) == 0
    assert "does not keep what it claims" in capsys.readouterr().err
    assert benchmark.under_floors(rows) == []  # no policy of the lab
    low = rows[(rows["floor"] > 100) & (rows["privacy"] == "local")].head(3)
    [told] = benchmark.under_floors(low.assign(policy=NAME, mean=low["floor"] / 20, sd=0.0))
    assert NAME in told and "task" in told


def test_who_hides_a_reward_only_is_not_compared_with_who_hides_all(file):
    load_policy(file(('"one user\'s context, choice and reward", "once', '"one reward", "once'), name="noisy_descent"))
    names = ("noisy-descent", "ldp-sgd")
    lines = [{"policy": name, "epsilon": {"kind": "fixed", "value": 1.0}} for name in names]
    experiment = Experiment.model_validate(
        {"contexts": {"dimension": 3, "arms": 2}, "lines": lines, "horizon": 50, "trials": 4}
    )
    assert simulate(experiment).best == frozenset() and weaker(experiment) == {0}
    rows = benchmark.load()
    rows = pd.concat([rows, rows[rows["policy"] == "ldp-sgd"].assign(policy="noisy-descent")])
    strict, lenient = (benchmark.Contest("contexts", "local", "pure", whole) for whole in (True, False))
    assert lenient.key == "features-local-pure-rewards" and lenient in benchmark.contests(rows)
    assert set(benchmark.entrants(rows, strict)["policy"]) == {"ldp-sgd"}
    assert set(benchmark.entrants(rows, lenient)["policy"]) == set(names)


WRONG_ARMS = {  # policy, what it changes, what the refusal says
    "too large": (
        "noisy_greedy",
        ("int(uniform(stream) * arms)", "int(uniform(stream) * arms) + 3"),
        "4: an arm from 0 to 1",
    ),
    "negative": ("noisy_greedy", ("int(uniform(stream) * arms)", "-1"), "-1: an arm from 0 to 1"),
    "a batch that takes users back": ("noisy_test", ("return 1, NEVER", "return 1, -4"), "each shown once at least"),
    "too many in a batch": ("noisy_test", ("return known.members.shape[0],", "return 9,"), "1 to 2 arms"),
    "features": (
        "noisy_descent",
        ("return greedy_arm(now.users, now.place, known.estimate)", "return 77"),
        "77: an arm",
    ),
    "an array that is made anew": (
        "noisy_greedy",
        ("np.argmax(known.means)", "np.argmax(known.means + np.zeros(arms))"),
        r"^choose \(.*noisy_greedy.py, line \d+\): '.*np.zeros\(arms\)\)': cannot be compiled: No implementation of .*"
        r"zeros.* only `start` makes arrays",
    ),
    "a name that is none": (
        "noisy_greedy",
        ("np.argmax(known.means)", "largest(known.means)"),
        "^rule noisy_greedy: cannot be compiled: NameError: name 'largest' is not defined",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_ARMS)
def test_what_no_rule_may_show_ends_the_run_with_a_sentence(file, wrong):
    name, change, words = WRONG_ARMS[wrong]
    [name] = load_policy(file(change, name=name))
    instance = {"contexts": {"dimension": 3, "arms": 2}} if wrong == "features" else {"arms": SPEC["arms"]}
    with pytest.raises(InputError, match=words):
        simulate({**instance, "horizon": 500, "trials": 2, "lines": [{**SPEC["lines"][0], "policy": name}]})
    [found] = findings(registry()[name], ["numbers"])
    assert found.holds is False and re.search("choose|cannot be compiled", found.words)


def test_a_rule_may_call_a_function_of_its_file(file):
    helpers = "def twice(value):\n    return 2.0 * value\n\n\ndef same(value):\n    return twice(value) / 2.0\n\n\n"
    call = ("return reward + laplace(", "return same(reward) + laplace(")
    ends = []
    for changes in ((), (call, ("def respond(", f"{helpers}def respond("))):
        with own_policies_forgotten():
            load_policy(file(*changes))
            ends.append(simulate(SPEC).final["regret"].tolist())
    assert ends[0] == ends[1]


def _nan(numbers, known, arm, t):
    return np.nan if known.counts[arm] > 2 else 0.0


def test_an_index_that_is_no_number_ends_the_run_with_a_sentence():
    setup = Experiment.model_validate({**SPEC, "lines": [{"policy": "ucb"}]}).setups[0]
    call = Rule("no_number", index=_nan).call(setup, 0.0)
    with pytest.raises(InputError, match=r"no_number.index: 'NaN': a number for every arm"):
        run_kernel(call, streams(0, 0, 2), np.array([50]), Signal())


def test_a_file_is_audited_by_the_command(file, capsys):
    path = file(LIARS["local, a tenth of the noise"][1])
    assert main(["audit", "--policy", str(path), "--epsilon", "0.2", "--samples", "4000"]) == 1
    out, err = capsys.readouterr()
    assert out.count("violates") == 3 and "what the first user sends. Violation" in err
    assert main(["audit"]) == 2 and "--policy FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("check", "named", "change"),
    [
        ("guarantee", "guarantee(setup).epsilon", ("setup.fixed_epsilon),", "2 * setup.fixed_epsilon),")),
        ("account", "releases(setup)", ("sensitivity=2.0", "sensitivity=3.0")),
        ("horizon", "setup.horizon", ("Numbers(s.parameters.step,", "Numbers(s.horizon / 99,")),
    ],
)
def test_what_is_wrong_with_features_is_named(file, check, named, change):
    [name] = load_policy(file(change, name="noisy_descent"))
    [found] = findings(registry()[name], [check])
    assert found.holds is False and named in found.words


@pytest.mark.parametrize("check", WRONG)
def test_what_is_wrong_is_named(file, check):
    named, change = WRONG[check]
    [name] = load_policy(file(change))
    found = {each.check: each for each in findings(registry()[name], [check])}
    assert found[check].holds is False and named in found[check].words


def test_a_guarantee_without_releases_says_so_everywhere(file):
    path = file((ACCOUNT, ""))
    whole = check_policy(path)
    assert [each.check for each in whole] == list(CHECKS)
    assert repr(whole[0]) == "<description: holds>"
    [found] = [each for each in whole if each.check == "account"]
    assert found.holds is None and CLAIMED in found.words
    result = simulate(SPEC)
    policy = registry()[NAME]
    assert CLAIMED in policy.guarantee_words and CLAIMED in result.final["guarantee"][0]
    assert CLAIMED in result.metadata["guarantees"][0]["words"] and "claimed" in result.final["label"][0]
    assert releases(SPEC)["released"].tolist() == [CLAIMED]


def test_a_file_may_be_loaded_again_after_an_edit(file, tmp_path):
    path = tmp_path / "own.py"
    for edit in ((), (("0.06", "0.5"),)):
        path.write_bytes(file(*edit).read_bytes())
        assert load_policy(path) == (NAME,)
    assert registry()[NAME].parameters().explore == 0.5
    with pytest.raises(InputError, match="ucb"):
        load_policy(file(('name="noisy-greedy"', 'name="ucb"')))


def test_an_unknown_policy_asks_whether_it_is_in_a_file():
    with pytest.raises(InputError, match="--policy FILE"):
        Experiment.model_validate(SPEC)


@pytest.mark.parametrize(
    "words",
    [["check"], ["bounds"], ["releases"], ["build"], ["link"], ["run", "--jobs", "1"], ["sweep", "--epsilon", "1"]],
)
def test_every_command_with_a_spec_takes_a_file(file, words, tmp_path, capsys):
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC), encoding="utf-8")
    assert main([words[0], str(spec), *words[1:]]) == 2
    assert main([words[0], str(spec), *words[1:], "--policy", str(file())]) == 0
    assert capsys.readouterr().out
