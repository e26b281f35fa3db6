"""`check_policy` says what holds of a policy in a file, and names what does not; claims without an account say so."""

import json
import re
import sys
from pathlib import Path

import pytest

from bandit_core import Experiment, InputError, check_policy, load_policy, policies, releases, simulate
from bandit_core.cli import main
from bandit_core.policies import CLAIMED, registry
from bandit_core.studies.policy_check import CHANCE, CHECKS, findings

TUTORIAL = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"Save it as `(\w+)\.py`:\n\n```python\n(.*?)```", TUTORIAL, re.DOTALL))
NAME = "noisy-greedy"
SPEC = {
    "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    "lines": [{"policy": NAME, "epsilon": {"kind": "fixed", "value": 1.0}}],
    "horizon": 50,
    "trials": 2,
}
ACCOUNT = '    releases=rules.noisy_answers("the reward"),\n'


@pytest.fixture
def file(tmp_path):
    """A function that writes a policy of the tutorial, some words of it replaced; afterwards no one knows it."""

    def written(*changes, name="noisy_greedy"):
        text = FILES[name]
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        return path

    yield written
    policies._added.clear()  # private: no file is ever taken back otherwise
    registry.cache_clear()
    for module in [name for name in sys.modules if name.startswith("policy_file_")]:
        del sys.modules[module]


@pytest.mark.parametrize("name", FILES)
def test_the_policies_of_the_tutorial_hold(file, name):
    found = check_policy(file(name=name))
    assert [each.check for each in found] == list(CHECKS)
    assert [str(each) for each in found if each.holds is False] == []
    held = {each.check for each in found if each.holds}
    assert held >= {"description", "numbers", "plain Python", "guarantee", "account"}


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
    "plain Python": (
        "IndexError",
        ("    return int(", "    if known.means[arms] > 1e300:\n        return 0\n    return int("),
    ),
}


@pytest.mark.parametrize("name", ["heldp-ucb-b", "dp-se"])
def test_a_right_policy_fails_with_none_of_sixty_seeds(name):
    found = [each for seed in range(60) for each in findings(registry()[name], CHANCE, seed)]
    assert [str(each) for each in found if each.holds is False] == [] and len(found) == 120


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
    [found] = [each for each in check_policy(path) if each.check == "account"]
    assert found.holds is None and CLAIMED in found.words
    result = simulate(SPEC)
    policy = registry()[NAME]
    assert CLAIMED in policy.guarantee_words and CLAIMED in result.final["guarantee"][0]
    assert CLAIMED in result.metadata["guarantees"][0]["words"] and "claimed" in result.final["label"][0]
    assert releases(SPEC)["released"].tolist() == [CLAIMED]


def test_a_file_may_be_loaded_again_after_an_edit(file):
    assert load_policy(file()) == load_policy(file(("0.06", "0.5"))) == (NAME,)
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
