"""The spec: what is valid stays the same on every way round, and what is not is told completely, each with its path."""

import json
import math
import re
import typing

import numpy as np
import pydantic
import pytest
import spec_strategies as specs
from helpers import refused
from hypothesis import given, settings
from pydantic_core import core_schema

from bandit_core.experiments.experiment import Experiment, parse, read, read_json
from bandit_core.experiments.presets import load_preset
from bandit_core.spec import errors
from bandit_core.spec.errors import InputError, Issue, path_of

ARMS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5, "count": 2}]
UCB = {"policy": "ucb"}
FIXED = {"kind": "fixed", "value": 2.0}
LOCAL = {"policy": "heldp-ucb-b", "epsilon": FIXED}


def spec(**changes):
    return {"version": 1, "arms": ARMS, "lines": [UCB, LOCAL], "horizon": 100, "trials": 2, "seed": 0, **changes}


def issues_of(document):
    with pytest.raises(InputError) as refusal:
        Experiment.model_validate(document)
    return refusal.value.issues


def local(**changes):
    return spec(lines=[UCB, {**LOCAL, **changes}])


def test_a_valid_spec_is_taken_as_it_is():
    experiment = Experiment.model_validate(spec())
    assert experiment.spec() == spec()
    assert len(experiment.single_arms) == 3
    np.testing.assert_array_equal(experiment.means, [0.9, 0.5, 0.5])
    assert experiment.largest_gap == pytest.approx(0.4)
    assert Experiment.model_validate(experiment) is experiment


@settings(max_examples=60)
@given(specs.specs())
def test_specs_round_trip(document):
    experiment = Experiment.model_validate(document)
    again = Experiment.model_validate(experiment.spec())
    assert again == experiment
    assert hash(again) == hash(experiment)
    assert again.spec() == experiment.spec()
    assert parse(json.dumps(experiment.spec()), "json") == experiment
    whole = experiment.model_dump(mode="json")
    assert Experiment.model_validate(whole) == experiment


def test_whole_numbers_and_decimals_of_one_value_make_one_experiment():
    written = [spec(lines=[{"policy": "ucb", "params": {"alpha": alpha}}], horizon=100) for alpha in (1, 1.0)]
    one, other = map(Experiment.model_validate, written)
    assert one == other and hash(one) == hash(other)
    assert json.dumps(one.spec()) == json.dumps(other.spec())


def test_minus_zero_is_zero():
    arms = [[{"kind": "uniform", "low": low, "high": 1}] for low in (0.0, -0.0)]
    one, other = (Experiment.model_validate(spec(arms=each)) for each in arms)
    assert hash(one) == hash(other)


def test_numpy_numbers_are_numbers():
    arms = [{"kind": "bernoulli", "mean": np.float32(0.5), "count": np.int64(2)}]
    experiment = Experiment.model_validate(spec(arms=arms, horizon=np.int64(10)))
    assert experiment.spec() == spec(arms=[{"kind": "bernoulli", "mean": 0.5, "count": 2}], horizon=10)


def test_a_changed_copy_is_validated_too():
    experiment = Experiment.model_validate(spec())
    assert experiment.with_changes(horizon=7).spec() == spec(horizon=7)
    with pytest.raises(InputError, match="horizon"):
        experiment.with_changes(horizon=0)


def test_all_mistakes_are_told_at_once():
    document = spec(
        arms=[{"kind": "bernoulli", "mean": 2}, {"kind": "beta", "a": 0, "b": "x"}],
        lines=[
            {"policy": "nobody"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": -1}, "params": {"eps_min": "x", "q": 1}},
        ],
        trials=0,
        view={"y": "?"},
    )
    assert {problem.path for problem in issues_of(document)} == {
        "arms[0].mean", "arms[1].a", "arms[1].b", "lines[0].policy", "lines[1].epsilon.value",
        "lines[1].params.eps_min", "lines[1].params.q", "trials", "view.y",
    }  # fmt: skip


# Types of errors that a spec can meet; dates, addresses and the like stand in none.
OF_SPECS = re.compile(
    r"(model|dict|tuple|list|iterable|call|none|str|int_|float|bool|liter|union|fini|great|less|too|extra)"
)
PYTHON = re.compile(r"[Ii]nput|tuple|dict|iterable|callable|instance|valid|string|None|True|pars|integer")


def test_no_message_asks_for_something_of_python():
    facts = dict.fromkeys(("class_name", "expected", "expected_tags", "tag", "discriminator", "pattern", "error"), "it")
    facts |= dict.fromkeys(("gt", "ge", "lt", "le", "min_length", "max_length", "actual_length"), 2)
    found = {}
    for kind in filter(OF_SPECS.match, typing.get_args(core_schema.ErrorType)):
        line = {"type": kind, "loc": ("arms",), "input": None, "ctx": facts | {"field_type": "Tuple"}}
        [found[kind]] = errors.issues_of(pydantic.ValidationError.from_exception_data("", [line]), {"arms": None})
    assert {kind for kind, issue in found.items() if PYTHON.search(issue.allowed)} == {"int_parsing_size"}  # of text
    assert found["tuple_type"].allowed == issues_of(spec(arms=None))[0].allowed == "must be a list"
    assert found["too_long"].allowed == "must have at most 2 items"
    assert {issue.allowed for issue in issues_of({1: 2, **spec()})} == {"names of fields must be text"}


@pytest.mark.parametrize("policy", ["heldp-ucb-l", "heldp-ucb-b"])
def test_rewards_without_limits_are_refused_by_name(policy):
    document = spec(arms=[{"kind": "gaussian", "mean": 0, "sd": 1}], lines=[{**LOCAL, "policy": policy}])
    (problem,) = issues_of(document)
    assert problem.path == "lines[0].policy"
    assert f"use {policy}s" in problem.allowed


def test_deep_and_wide_values_are_told_shortly():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    wide = [0.5] * 100_000
    for value in (deep, wide, {"a": deep}, "x" * 10**6, 10**5000):
        for problem in issues_of(spec(arms=[{"kind": "bernoulli", "mean": value}], seed=value)):
            assert len(str(problem)) < 500


def test_json_that_is_none_is_refused():
    for text in ("", "{", "[" * 100_000, '{"seed": 1' + "0" * 5000 + "}", "nan?"):
        with refused("document", value=text[:40]):
            parse(text, "json")


def test_a_name_may_stand_only_once_in_json():
    with refused("document") as issues:
        parse('{"seed": 1, "seed": 2}', "json")
    assert "'seed'" in issues[0].allowed
    with refused("document") as issues:
        read_json('{"x": [{"a": 1, "b": 2, "a": 3}]}')
    assert "'a'" in issues[0].allowed and "'b'" not in issues[0].allowed


def test_numbers_that_json_does_not_know_are_refused():
    text = json.dumps(spec(arms=[{"kind": "gaussian", "mean": math.nan, "sd": math.inf}]))
    with refused("arms[0].mean", "arms[0].sd"):
        parse(text, "json")


TOML = """
version = 1
horizon = 1_000
arms = [{kind = "bernoulli", mean = 0.9}, {kind = "bernoulli", mean = 0.5}]
[[lines]]
policy = "ucb"
"""


def test_toml_and_json_files_say_the_same(tmp_path):
    toml, other = tmp_path / "a.toml", tmp_path / "b.JSON"
    toml.write_text(TOML)
    experiment = read(toml)
    assert experiment.horizon == 1000
    other.write_text(json.dumps(experiment.spec()))
    assert read(other) == experiment


@pytest.mark.parametrize("text", ["version = 1\nversion = 1", "a = [", "\0", "seed = 1\n[seed]", "arms = 1979-05-27"])
def test_wrong_toml_is_refused(text):
    with pytest.raises(InputError):
        parse(text, "toml")


def test_unreadable_files_are_refused(tmp_path):
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'title = "\xe9"')
    for path in (
        latin,
        tmp_path,
        tmp_path / "none.toml",
        tmp_path / "a.txt",
        tmp_path / "\0.json",
        tmp_path / ("x" * 5000 + ".json"),
    ):
        with refused("spec"):
            read(path)


def test_lines_name_themselves():
    experiment = Experiment.model_validate(
        spec(lines=[UCB, LOCAL, {**LOCAL, "params": {"eps_min": 1}}, {**LOCAL, "label": "mine"}])
    )
    assert [experiment.label(line) for line in range(4)] == [
        "UCB", "HeLDP-UCB-B, ε 2", "HeLDP-UCB-B, ε 2, eps_min 1", "mine",
    ]  # fmt: skip


def test_paths_are_written_as_one_would_in_code():
    assert path_of(("lines", 1, "epsilon", "value")) == "lines[1].epsilon.value"
    assert path_of(("a b", 0)) == '["a b"][0]'
    assert str(Issue("", "x\ny", "a\nb")) == "document: 'x\\ny': a b"


def test_equal_experiments_are_equal_also_when_both_were_used() -> None:
    first, second = load_preset("default").with_changes(seed=7), load_preset("default").with_changes(seed=7)
    assert first is not second
    assert len(first.means) == len(second.means) and first.setups and second.setups  # cached from here on
    assert first == second and hash(first) == hash(second)
    assert first != second.with_changes(seed=8)
    assert first != first.spec()


def test_large_limits_are_written_with_separators():
    with pytest.raises(InputError, match=r"horizon: 1000000000000: must be at most 1,000,000,000$"):
        load_preset("default").with_changes(horizon=10**12)
