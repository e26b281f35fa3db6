"""Bad input in bulk: whatever comes in, it is taken, or refused in words that name a field; never a traceback."""

from __future__ import annotations

import copy
import io
import json
import sys

import pytest
import spec_strategies as specs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bandit_core.cli import main
from bandit_core.experiments.experiment import Experiment, parse
from bandit_core.policies import registry
from bandit_core.spec.errors import InputError
from bandit_core.theory.threshold import thresholds

many = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
FIELDS = tuple(Experiment.model_fields)
TAGS = ("function-", "constrained-", "literal[", "tuple[", "union", "float]", "none.")


def told_well(refusal: InputError, document: object) -> None:
    """Every problem names a place in the document and what is allowed there, in one line."""
    assert refusal.issues
    for problem in refusal.issues:
        assert "\n" not in str(problem) and len(str(problem)) < 2000
        assert problem.allowed
        assert not any(tag in problem.path for tag in TAGS)
        if isinstance(document, dict):
            known = (*FIELDS, *(key for key in document if isinstance(key, str)))
            assert problem.path.startswith("[") or any(problem.path.startswith(name) for name in known)
    paths = [problem.path for problem in refusal.issues]
    assert len(set(paths)) == len(paths)


def taken_or_refused(document: object) -> None:
    try:
        experiment = Experiment.model_validate(document)
    except InputError as refusal:
        told_well(refusal, document)
    else:
        assert Experiment.model_validate(experiment.spec()) == experiment


@many
@given(specs.json_values)
def test_any_json_value_as_a_spec(value):
    taken_or_refused(value)


@many
@given(st.fixed_dictionaries({}, optional={name: specs.json_values for name in FIELDS}))
def test_any_json_value_as_a_field(document):
    taken_or_refused(document)


def places(value, path=()):
    """Every place of a document, outermost first."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


odd_values = st.one_of(
    specs.json_values,
    st.sampled_from([
        True, "1", "", None, [], {}, -1, 0, 1e-320, 1e308, 10**400, float("nan"), float("-inf"), "auto", "fixed",
        {"kind": "fixed"}, [[]] * 3, "\ud800", "\0", -0.0, 2**63,
    ]),
)  # fmt: skip


@st.composite
def mutated(draw, valid):
    """A valid document with up to three places changed, removed, doubled or given a neighbour."""
    document = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from([path for path in places(document) if path] or [("version",)]))
        holder = document
        for step in above:
            holder = holder[step]
        action = draw(st.sampled_from(["change", "remove", "double", "add"]))
        if action == "change":
            holder[last] = copy.deepcopy(draw(odd_values))
        elif action == "remove" and last in (holder if isinstance(holder, dict) else range(len(holder))):
            del holder[last]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]) if action == "double" else copy.deepcopy(draw(odd_values)))
        else:
            holder[draw(st.sampled_from(["kind", "value", "extra", "count", "a.b", "policy"]))] = copy.deepcopy(
                draw(odd_values)
            )
    return document


def mutated_specs():
    return mutated(specs.specs())


@many
@given(mutated_specs())
def test_damaged_specs(document):
    taken_or_refused(document)


@many
@given(
    st.one_of(st.text(max_size=40), st.text('{}[]":,0 1eE+-.\\nul"true=#\n', max_size=40)),
    st.sampled_from(["json", "toml"]),
)
def test_any_text_as_a_file(text, form):
    try:
        parse(text, form)
    except InputError as refusal:
        told_well(refusal, None)


@many
@given(specs.json_values, st.one_of(specs.json_values, st.lists(st.floats())))
def test_any_value_as_a_budget_and_thresholds(epsilon, eps_mins):
    try:
        thresholds(epsilon, eps_mins)
    except InputError as refusal:
        assert all(problem.path.startswith(("epsilon", "eps_min")) for problem in refusal.issues)


@pytest.mark.parametrize("name", list(registry()))
@settings(max_examples=25)
@given(value=odd_values)
def test_any_value_as_a_parameter_of_any_policy(name, value):
    policy = registry()[name]
    for param in policy.parameters.model_fields:
        line = {"policy": name, "params": {param: value}}
        if policy.epsilon != "none":
            line["epsilon"] = {"kind": "fixed", "value": 1.0}
        taken_or_refused({"arms": [{"kind": "bernoulli", "mean": 0.5}], "lines": [line]})


words = st.one_of(
    st.sampled_from([
        "list", "check", "link", "thresholds", "bounds", "policies", "presets", "arms", "--json", "--epsilon",
        "--eps-min",
        "--base", "--out", "x.txt", "1,2", "2", "discrete(0,1)", "default", "ren-1", "-", "--", "-1", "", "--horizon=5",
        '{"kind": "fixed", "value": 1}', "{}", "[1]", "a.json", "nan",
    ]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10),
)  # fmt: skip


@many
@given(words=st.lists(words, max_size=6), text=st.text(max_size=20))
def test_any_command_line(words, text, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    code = main([word for word in words if not word.endswith((".csv", ".parquet"))])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in err
    if code == 2:
        assert out == ""
        assert all(": " in line for line in err.splitlines()) and err


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=mutated_specs())
def test_damaged_specs_on_the_command_line(document, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(document)))
    code = main(["check", "-"])
    out, err = capsys.readouterr()
    if code == 0:
        assert (out, err) == ("ok\n", "")
    else:
        assert code == 2 and out == "" and err
        assert all(": " in line for line in err.splitlines())
