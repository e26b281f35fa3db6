"""Bad input in bulk: whatever comes in, it is taken, or refused in words that name a field; never a traceback."""

import io
import sys

import pytest
import spec_strategies as specs
from helpers import REFUSED, fixed, line_of, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_strategies import FIELDS, mutated, odd_values, taken_or_refused, told_well

from bandit_core.cli import main
from bandit_core.experiments.experiment import parse
from bandit_core.policies import registry
from bandit_core.spec.errors import InputError
from bandit_core.theory.threshold import thresholds

many = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(specs.json_values)
def test_any_json_value_as_a_spec(value):
    taken_or_refused(value)


@many
@given(st.fixed_dictionaries({}, optional={name: specs.json_values for name in FIELDS}))
def test_any_json_value_as_a_field(document):
    taken_or_refused(document)


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


@pytest.mark.parametrize("name", REFUSED["parameter"])
def test_a_parameter_out_of_range_is_refused_by_its_path(name):
    for field, wrong in REFUSED["parameter"][name].items():
        for value in wrong:
            with refused(f"lines[0].params.{field}", value=value):
                line_of(name, fixed(1.0) if registry()[name].epsilon != "none" else None, **{field: value})


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
