"""Bad input: values, texts and arguments that cannot be are refused at their place; and the ends of all numbers."""

import inspect
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spec_strategies as specs
from extreme_links import FOUND_WRONG, allowed_lines, extreme_links
from helpers import REFUSED, fixed, line_of, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_strategies import FIELDS, mutated, odd_values, spec_with_features, taken_or_refused, told_well

import bandit_core
from bandit_core import Experiment, Goal, InputError, Question, mechanisms, sample_size, simulate, thresholds
from bandit_core.auditing.subjects import audit
from bandit_core.cli import main
from bandit_core.data.lending import read_lending, read_table
from bandit_core.data.observations import read_observations
from bandit_core.experiments import catalogue, links
from bandit_core.experiments.arguments import experiment_of
from bandit_core.experiments.experiment import (
    MAX_NAME_PARTS,
    MAX_SPEC_BYTES,
    _once,
    checkpoints,
    parse,
    read,
    read_json,
)
from bandit_core.experiments.presets import load_preset
from bandit_core.export.page import MAX_POSITIONS, Positions
from bandit_core.literature import reproductions
from bandit_core.literature.papers import Played
from bandit_core.policies import registry
from bandit_core.simulation.costs import cost
from bandit_core.simulation.results import summaries
from bandit_core.simulation.store import Store
from bandit_core.spec import notation
from bandit_core.spec.errors import MAX_TOLD, validated
from bandit_core.studies.best_arm import StoppingSpec, stopping_lines
from bandit_core.studies.business_case import read_lifts, typed_arms
from bandit_core.studies.price import price_question
from bandit_core.studies.production import parts, releases
from bandit_core.studies.study import StudyFile, points
from bandit_core.studies.sweep import budgets
from bandit_core.theory.power import EVERY_TRUST, TestPlan

# ---------------------------------------------------------------------------------------------------------------------
# Bad input: values and arguments that cannot be are refused at their place, with what is allowed.


# ---------------------------------------------------------------------------------------------------------------------
# Values that are well formed but cannot be: each is refused, at its place, with what is allowed.


COINS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
BASE = {"arms": COINS, "lines": [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": fixed(2.0)}], "horizon": 100}
USERS = spec_with_features()
JOINT = {"policy": "jdp-linucb", "epsilon": fixed(1.0)}
PAGES = {"baseline": 0.031, "lifts": [8, 15], "weekly": 2_000_000, "weeks": 26}


def with_arm(law: dict[str, Any]) -> dict[str, Any]:
    return {"arms": [law, *COINS], "lines": [{"policy": "ucb"}]}


def with_budget(law: dict[str, Any]) -> dict[str, Any]:
    return {"arms": COINS, "lines": [{"policy": "heldp-ucb-b", "epsilon": law}]}


def with_table(law: dict[str, Any]) -> dict[str, Any]:
    contexts = {"dimension": 2, "arms": 2, "law": {"kind": "table", **law}}
    return {"contexts": contexts, "lines": [{"policy": "linucb"}]}


DOORS: dict[str, Callable[[Any], object]] = {
    "json": lambda text: parse(text, "json"),
    "toml": lambda text: parse(text, "toml"),
    "whole": Experiment.model_validate,
    "arms": notation.read_arms,
    "lines": notation.read_lines,
    "epsilon": notation.read_epsilon,
    "contexts": lambda text: Experiment.model_validate({**USERS, "contexts": notation.read_contexts(text)}),
    "spec": lambda fields: Experiment.model_validate({**BASE, **fields}),
    "users": lambda fields: Experiment.model_validate(
        {**USERS, **fields, "contexts": {**USERS["contexts"], **fields.get("contexts", {})}}
    ),
    "stopping": lambda fields: StoppingSpec.of(**{"arms": COINS, "policy": "top-two", **fields}),
    "decide": lambda fields: stopping_lines({"arms": COINS, "horizon": 10**6, "trials": 40, **fields}),
    "sample_size": lambda fields: sample_size(**{"baseline": 0.1, "effect": 0.02, **fields}),
    "thresholds": lambda fields: thresholds(fields.get("epsilon"), fields.get("eps_mins")),
    "price": lambda fields: price_question(**{**PAGES, **fields}),
    "lifts": read_lifts,
    "observations": lambda text: read_observations(text.encode()).data,
    "table": lambda text: read_table(text.encode(), ["age", "income"], "offer", "bought"),
    "mechanism": lambda call: eval(call, {**vars(mechanisms), "rng": np.random.default_rng(0)}),
    "audit": lambda fields: audit(**{"sampler": "ctb", "epsilon": 1.0, "samples": 100, **fields}),
    "parts": lambda fields: parts(**{"epsilon": 2.0, "tests": 100, "visits": 2, "delta": 0.0, **fields}),
    "lesson": lambda fields: Positions(Experiment.model_validate(BASE), **fields),
    "study": lambda fields: points(validated(StudyFile, {"spec": BASE, **fields}), Experiment.model_validate(BASE)),
}
LONG = [  # what no line of a file holds
    ("json", "[" * 100_000, "document", "[[[["),
    ("json", '{"seed": 1' + "0" * 5000 + "}", "document", '{"seed": 1000'),
    ("lifts", ", ".join(["5"] * 100), "lifts", "write 1 to 99 lifts, such as 20, 50"),
    ("observations", "option,outcome\n" + "".join(f"o{place},1\n" for place in range(101)), "option", "option"),
    ("arms", "9" * 5000, "arms[0]", "too many digits"),
    ("spec", {"horizon": 10**400}, "horizon", "at most 1000000000"),
    ("spec", {"arms": [{"kind": "gaussian", "mean": 10**400, "sd": 1}]}, "arms[0].mean", "a double can hold"),
    ("spec", {"lines": [{"policy": "ucb"}] * 25}, "lines", "at most 24"),
    ("users", {"contexts": {"law": {"kind": "table", "rows": [[1.0] * 100] * 600}}}, "contexts.law", "numbers"),
    ("whole", [], "", "a spec is an object"),
    ("whole", {}, ["arms", "lines"], "required"),
    ("whole", {"contexts": None, "lines": [{"policy": "ucb"}]}, "arms", "required"),
    ("price", {"baseline": None}, "baseline", ""),
    ("users", {"lines": [{**JOINT, "params": {"delta": None}}]}, "lines[0].params.delta", ""),
    ("lesson", {"slider": "horizon", "values": range(1, MAX_POSITIONS + 2)}, "horizon", ""),
    ("study", {"axes": {"seed": [*range(200)], "horizon": [*range(1, 101)]}}, "axes", ""),
]


@pytest.mark.parametrize(
    ("door", "given", "paths", "words"),
    [*LONG, *((door, row[0], row[1], "".join(row[2:])) for door in DOORS for row in REFUSED.get(door, []))],
)
def test_what_cannot_be_is_refused_at_its_place(door: str, given: Any, paths: str | list[str], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        DOORS[door](given)
    problems = refusal.value.issues
    assert [problem.path for problem in problems] == ([paths] if isinstance(paths, str) else paths)
    assert all(problem.allowed and "\n" not in str(problem) for problem in problems)
    assert words in f"{problems[0].value}: {problems[0].allowed}"


@pytest.mark.parametrize("row", REFUSED["command"], ids=lambda row: row[0])
def test_a_command_that_cannot_be_answered_has_a_line_for_each_mistake(
    row: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, paths, *words = row
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.endswith("\n") and "".join(words) in err
    assert [line.partition(": ")[0] for line in err.splitlines()] == ([paths] if isinstance(paths, str) else paths)


def test_a_spec_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"arms": "\xff\xfe"}'), encoding="utf-8"))
    assert main(["check", "-"]) == 2
    assert capsys.readouterr().err.startswith("standard input: ")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A figure as `reproduce` writes it."""
    experiment = Experiment.model_validate({**with_budget({"kind": "fixed", "value": 1}), "horizon": 50, "trials": 3})
    content = reproductions.document(
        simulate(experiment), Played("small", experiment), reproductions.Cost(1.0, 1.0, 0.0, 1)
    )
    return reproductions.write(content, tmp_path)


def test_a_shipped_figure_whose_parts_do_not_fit_is_refused(file: Path) -> None:
    assert reproductions.load("small", file.parent) is not None
    content = json.loads(file.read_text())
    for changed in ({"t": content["t"][:-1]}, {"lines": content["lines"] * 2}):
        file.write_text(json.dumps({**content, **changed}))
        with refused("file", value=file.name):
            reproductions.load("small", file.parent)


def test_what_is_absent_is_not_called_none() -> None:
    document = {"arms": [{"kind": "bernoulli"}, COINS[0]], "lines": [{"policy": "heldp-ucb-b"}], "horizon": None}
    with pytest.raises(InputError) as refusal:
        Experiment.model_validate(document)
    message = str(refusal.value).splitlines()
    assert any(line.startswith("arms[0].mean: ") for line in message)
    assert any(line.startswith("horizon: null: ") for line in message)
    assert "None" not in str(refusal.value)


# ---------------------------------------------------------------------------------------------------------------
# Many mistakes at once, and documents made to be slow


MANY = {
    "fields": lambda n: {**with_arm(COINS[0]), **{f"field {place}": 1 for place in range(n)}},
    "parameters": lambda n: {
        **with_arm(COINS[0]),
        "lines": [{"policy": "ucb", "params": dict.fromkeys(map(str, range(n)))}],
    },
    "lines": lambda n: {**with_arm(COINS[0]), "lines": [{"policy": "nobody"}] * n},
    "arms": lambda n: with_arm({"kind": "empirical", "values": ["x"] * n}),
    "rows": lambda n: with_table({"rows": [["x", "y"]] * (n // 2)}),
}


@pytest.mark.parametrize("kind", MANY)
def test_of_very_many_mistakes_the_first_are_told_and_the_rest_counted(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = MANY[kind](2_000)
    with pytest.raises(InputError) as refusal:
        Experiment.model_validate(document)
    problems = refusal.value.issues
    assert len(problems) >= 2_000
    first, count = str(refusal.value).splitlines()[:-1], str(refusal.value).splitlines()[-1]
    assert first == [str(problem) for problem in problems[:MAX_TOLD]]
    assert f"{len(problems) - MAX_TOLD:,}" in count
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(document)))
    assert main(["check", "-"]) == 2
    assert capsys.readouterr().err.splitlines() == str(refusal.value).splitlines()


class Counted(str):
    """A text that counts how often it is compared or hashed."""

    looked = 0

    def __eq__(self, other: object) -> bool:
        Counted.looked += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looked += 1
        return str.__hash__(self)


def test_a_name_that_stands_twice_is_found_in_one_pass() -> None:
    for count in (1000, 2000):
        pairs: list[tuple[str, Any]] = [(Counted(place), 1) for place in range(count)]
        Counted.looked = 0
        with pytest.raises(ValueError, match=str(pairs[-1][0])):
            _once([*pairs, pairs[-1]])
        assert Counted.looked <= 4 * count
    with refused("document") as issues:
        read_json("{" + ",".join(f'"a{place}": 1' for place in range(60_000)) + ', "a59999": 1}')
    assert "'a59999'" in issues[0].allowed


LONG_NAMES = [
    ".".join("a" * 200_000) + " = 1",
    "[" + " . ".join("a" * 100_000) + "]",
    "x = {" + ".".join(['"a"', "'b'"] * 50_000) + " = 1}",
]


@pytest.mark.parametrize("text", LONG_NAMES, ids=("key", "table", "inline"))
def test_a_dotted_name_is_refused_before_it_is_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("this would take hours"))
    with refused("document") as issues:
        parse(text, "toml")
    assert f" {MAX_NAME_PARTS} " in issues[0].allowed


@pytest.mark.parametrize("form", ["json", "toml"])
def test_a_spec_that_is_too_long_is_refused_before_it_is_read(
    form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for reader in (json, tomllib):
        monkeypatch.setattr(reader, "loads", lambda *_, **__: pytest.fail("was read"))
    file = tmp_path / f"spec.{form}"
    file.write_bytes(b" " * (MAX_SPEC_BYTES + 1))
    for name, attempt in {
        str(file): lambda: read(file),
        "document": lambda: parse(" " * (MAX_SPEC_BYTES + 1), form),  # type: ignore[arg-type]
    }.items():
        with refused(name, value="16.0 MB") as issues:
            attempt()
        assert f"{MAX_SPEC_BYTES >> 20} MB" in issues[0].allowed


def test_sentences_and_decimals_are_no_dotted_names() -> None:
    note = "One. Two. Three. " * 30
    numbers = ", ".join(["0.5"] * 500)
    text = f'note = "{note[:500]}"\n[[arms]]\nkind = "empirical"\nvalues = [{numbers}]\n'
    with refused("lines[0].policy"):  # of what was read; a dotted name would be refused before
        parse(text + '[[lines]]\npolicy = "no one"', "toml")


@pytest.mark.parametrize("cell", ["0.5", "1e300", "12.5", "nan", "-inf", "x"])
def test_a_cell_of_a_file_is_told_once(tmp_path: Path, cell: str) -> None:
    file = tmp_path / "loans.csv"
    header = "primary_fico,onemonth,term,amount_approved,competition_rate,monthly_payment,apply,car_type"
    file.write_text(f"{header}\n726,3.29,{cell},32200,5.15,565.61,0,N\n")
    with refused("row 2, column term") as (issues):  # as a spreadsheet counts: the heading is row 1
        read_lending(file)
    [problem] = issues
    assert " 1 " in problem.allowed and " 120 " in problem.allowed
    assert ("missing" in problem.allowed) == (cell == "nan")
    assert problem.value == cell or float(problem.value) == float(cell)


@pytest.mark.parametrize("form", ["json", "toml"])
def test_too_many_names_are_refused_before_each_is_judged(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Experiment, "model_validate", lambda *_: pytest.fail("was judged"))
    names = [f'"a{place}"' for place in range(60_000)]
    text = "{" + ",".join(f"{name}: 1" for name in names) + "}" if form == "json" else "=1\n".join(names) + "=1"
    with refused("document") as issues:
        parse(text, form)  # type: ignore[arg-type]
    assert "60,000 names" in issues[0].allowed


# ---------------------------------------------------------------------------------------------------------------------
# What is handed to a public function is checked: only an `InputError` may come back, and it names what is wrong.


SMALL = Experiment(
    arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    lines=[{"policy": "ucb"}, {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}}],
    horizon=100,
    trials=2,
)
SPEC = {"policy": "dp-tt", "arms": SMALL.spec()["arms"], "epsilon": 1.0, "trials": 2}
KINDS = ["object", "class", "complex", "mapping", "list", "bytes"]
SOURCES = ["experiment", "document", "preset", "file", "result"]
QUESTION = Question(SMALL.single_arms, 100, 1.0)


class Unlike:
    """Nothing that any function takes."""


def allowed(tmp_path):
    """Arguments that every public function takes, as far as one can give them."""
    table = tmp_path / "table.csv"
    table.write_text(bandit_core.synthetic_csv(40))
    specs = [bandit_core.StoppingSpec.of(**SPEC)]
    policy = tmp_path / "policy.py"
    return {
        "address": {"experiment": SMALL},
        "audit": {"sampler": "ctb", "epsilon": 1.0, "samples": 100},
        "benchmark": {"policies": ["ucb"]},
        "best_methods": {"question": QUESTION},
        "bounds": {"experiment": SMALL},
        "budget": {"epsilon": 1.0, "tests": 2},
        "build": {"experiment": SMALL},
        "check_policy": {"path": policy},
        "composed": {"releases": ()},
        "decide": {"document": SPEC},
        "errata": {},
        "fewest_users": {"experiment": SMALL, "line": 1, "goal": Goal("missed", 0.3)},
        "figures": {},
        "frontier": {"result": bandit_core.sweep(SMALL, [1.0])},
        "lending_document": {"table": bandit_core.read_lending(table).data},
        "lesson": {"experiment": SMALL},
        "load_policy": {"path": policy},
        "load_preset": {"name": "default"},
        "load_shipped": {"name": "default"},
        "papers": {},
        "power": {"baseline": 0.1, "effect": 0.02, "epsilon": 1.0},
        "preset_names": {},
        "read_budgets": {"data": b"1\n2\n"},
        "read_experiment": {"path": tmp_path / "spec.json"},
        "read_lending": {"source": table},
        "read_observations": {"data": b"A,B\n1,0\n0,1\n"},
        "read_table": {"source": table, "features": ["x"], "action": "a", "reward": "r"},
        "releases": {"experiment": SMALL},
        "price": {"baseline": 0.1, "lifts": [20], "weekly": 100, "weeks": 1, "epsilon": [1.0]},
        "reproduce": {"name": "ren-1c", "folder": tmp_path},
        "sample_size": {"baseline": 0.1, "effect": 0.02},
        "simulate": {"experiment": SMALL},
        "smallest_epsilon": {"experiment": SMALL, "line": 1, "goal": Goal("price", 3)},
        "stopping": {"specs": specs},
        "stopping_policies": {},
        "study": {"source": {"spec": "default", "axes": {"horizon": [100]}}},
        "subjects": {},
        "summaries": {"result": bandit_core.simulate(SMALL)},
        "sweep": {"experiment": SMALL, "epsilons": [1.0]},
        "synthetic_csv": {"rows": 10},
        "thresholds": {"epsilon": 1.0},
        "time_bounds": {"arms": SMALL.single_arms, "delta": 0.05},
        "typed_arms": {"baseline": 0.1, "lifts": [0.01], "relative": False},
        "verdicts": {"figure": next(iter(bandit_core.figures().values()))},
    }


def functions():
    return {name for name in bandit_core.__all__ if not inspect.isclass(getattr(bandit_core, name))}


def parameters(function):
    """Names of its parameters; `price` hands most of its own to `price_question`, `power` some to a plan."""
    own = {*inspect.signature(function).parameters}
    handed = {"fields": price_question, "plan": TestPlan}
    for name in own & {*handed}:
        own |= {*inspect.signature(handed[name]).parameters}
    return own - {*handed}


def test_every_public_function_is_asked(tmp_path):
    assert set(allowed(tmp_path)) == functions()
    assert all(getattr(bandit_core, name).__module__ == "bandit_core" for name in functions())


@pytest.mark.parametrize("wrong", [Unlike(), Unlike, 1 + 2j, {"no": "such"}, [Unlike()], b"\x00"], ids=KINDS)
def test_a_wrong_kind_is_an_input_error_that_names_the_argument(tmp_path, wrong):
    came, refused = [], 0
    for name, arguments in allowed(tmp_path).items():
        function = getattr(bandit_core, name)
        for parameter in parameters(function):
            if parameter in ("epsilon", "sampler", "on_progress", "on_point", "run") and wrong is Unlike:
                continue  # a class can be called
            try:
                function(**{**arguments, parameter: wrong})
            except InputError as error:
                refused += 1
                assert error.issues and all(issue.allowed for issue in error.issues)
            except Exception as error:  # what a reader must never see
                came.append(f"{name}({parameter}={wrong!r}): {type(error).__name__}: {error}")
    assert came == []
    assert refused > 50


def test_numpy_s_numbers_and_arrays_are_taken():
    assert Goal("price", np.float32(2)).limit == 2.0
    swept = bandit_core.sweep(SMALL, np.array([0.5, 1.0]))
    assert swept.epsilons == (0.5, 1.0)


@pytest.mark.parametrize(
    "source", [SMALL, SMALL.spec(), "default", Path("presets/default.toml"), "a result"], ids=SOURCES
)
def test_what_stands_for_an_experiment(source):
    source = bandit_core.simulate(SMALL) if source == "a result" else source
    source = Path(__file__).parents[2] / source if isinstance(source, Path) else source
    found = experiment_of(source)
    assert found == (SMALL if not isinstance(source, str | Path) else bandit_core.load_preset("default"))
    assert not bandit_core.bounds(source).empty or found.horizon


def test_a_link_stands_for_an_experiment_and_a_broken_one_is_refused():
    assert experiment_of(bandit_core.address(SMALL)) == SMALL
    with pytest.raises(InputError, match="lines"):
        experiment_of("http://localhost:8501/explore?lines=nobody")


MESSAGES = (Path(__file__).parents[2] / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
CALLS = dict(re.findall(r"^\| `(.+)` \| `(.+)` \|$", MESSAGES, re.MULTILINE))


@pytest.fixture(scope="module")
def names():
    """What the document imports and defines before its table."""
    block = re.search(r"```python\n(.*?)```", MESSAGES, re.DOTALL)
    assert block and len(CALLS) > 50
    found = {}
    exec(block[1], found)
    return found


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_says_what_the_document_tells(call, names):
    with pytest.raises(InputError) as message:
        eval(call, names)
    whole = CALLS[call].removesuffix("…")
    assert str(message.value).startswith(whole) if CALLS[call].endswith("…") else str(message.value) == whole


# ---------------------------------------------------------------------------------------------------------------------
# Bad input in bulk: whatever comes in, it is taken, or refused in words that name a field; never a traceback.


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


# ---------------------------------------------------------------------------------------------------------------------
# Numbers at the ends of what a spec may hold: refused in words, or computed without leaving the range of a double.


# Are played: not all, as their kernels would have to be compiled.
FEW = ("ucb", "ts-cf", "heldp-ucb-b", "dp-ucb-int", "robust-ucb", "explore-then-commit", "kl-ucb", "dp-se")


def read_link(link: dict[str, str]) -> Experiment | None:
    """The experiment of a link; None where a part of it was refused, in words."""
    experiment, problems = links.read(link)
    assert all(problem.path and problem.allowed and "\n" not in str(problem) for problem in problems)
    assert links.read(links.write(experiment)) == (experiment, [])
    return None if problems else experiment


def judge(experiment: Experiment) -> None:
    """All that is computed before a run: every number is finite, or its bound says why it is not drawn."""
    times = checkpoints(experiment.horizon)
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        assert experiment.label(number)
        assert line.entry.guarantee(setup).words
        assert not np.isnan(line.entry.spent(setup, np.array([1, 10, experiment.horizon]))).any()
        for bound in catalogue.line_bounds(experiment, number):
            if bound.not_applicable is None:
                values = bound.values(times, experiment.largest_gap)
                assert np.isfinite(values).all() or np.isinf(experiment.largest_gap), bound.name
    assert cost(experiment).seconds > 0
    releases(experiment)


def play(experiment: Experiment) -> None:
    result = simulate(experiment, jobs=1, store=Store(None, 0))
    for line in result.lines:
        assert np.isfinite(line.mean).all()
        assert (line.mean >= -1e-9 * abs(experiment.largest_gap)).all()
    assert len(summaries(result)) == len(experiment.lines)


@pytest.mark.parametrize("link", FOUND_WRONG, ids=lambda link: link["lines"])
def test_links_that_once_ended_in_an_error_page(link):
    experiment = read_link(link)
    judge(experiment or links.read(link)[0])
    if experiment is not None:
        play(experiment.with_changes(horizon=200, trials=2))


@settings(max_examples=100)
@given(extreme_links())
def test_any_extreme_numbers_are_computed_or_refused(link):
    experiment = read_link(link)
    if experiment is None:
        return
    judge(experiment)
    if experiment.horizon <= 1000 and all(line.policy in FEW for line in experiment.lines):
        play(experiment)


@pytest.mark.parametrize("policy", sorted(registry()))
@settings(max_examples=4)
@given(data=st.data())
def test_every_policy_plays_the_extremes_of_its_parameters_or_refuses_them(policy, data):
    arms = {"contexts": "single(2,3)"} if registry()[policy].setting == "contexts" else {"arms": "0.9,0.5"}
    horizon = data.draw(st.sampled_from(["1", "10", "1000"]))
    experiment = read_link({**arms, "lines": data.draw(allowed_lines(policy)), "T": horizon, "n": "2"})
    if experiment is not None:
        judge(experiment)
        play(experiment)


@settings(max_examples=10)
@given(extreme_links())
def test_the_catalogue_of_bounds_takes_extreme_numbers(link):
    if (experiment := read_link(link)) is not None:
        times = checkpoints(experiment.horizon)
        for entry in catalogue.entries(experiment):
            assert np.shape(entry.value(experiment, times)) == times.shape


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_the_smallest_and_the_largest_budget_are_taken(epsilon):
    default = load_preset("default").with_changes(horizon=50, trials=2)
    line = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": epsilon}}
    judge(default.with_changes(lines=[line]))
    play(default.with_changes(lines=[line]))
    assert budgets([epsilon]) == (epsilon,)
    for trust in EVERY_TRUST:
        assert np.isfinite(sample_size(0.04, 0.004, privacy=trust, epsilon=epsilon).inflation)


def test_deltas_may_be_smaller_than_other_numbers():
    for delta, taken in ((1e-12, True), (9e-13, False)):
        for line in (f"dp-ucb-int(1,delta={delta})", f"adac-ucb(1,delta={delta})", f"shuffle-se(1,delta={delta})"):
            problems = links.read({"lines": line})[1]
            assert [problem.path for problem in problems] == ([] if taken else ["lines[0].params.delta"])


def test_what_was_observed_is_what_it_is():
    rows = "\n".join(["A,B", *["1e-9,0.5"] * 3, *["2e-9,1e12"] * 3])
    documents = [
        option.arm().model_dump(exclude={"count"})
        for option in read_observations(rows.encode(), rows="wide").data.options
    ]
    assert documents[0] == {"kind": "empirical", "values": (1e-9, 2e-9), "counts": (1, 1)}
    arms = json.loads(json.dumps(documents))
    experiment = load_preset("default").with_changes(arms=arms, lines=[{"policy": "robust-ucb"}])
    assert experiment.means[0] == pytest.approx(1.5e-9)


def test_gaps_may_be_smaller_than_numbers_and_bounds_say_where_they_end():
    tiny = load_preset("default").with_changes(
        arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.5000000001)],
        lines=[{"policy": "ldp-robust-se", "epsilon": {"kind": "fixed", "value": 1}, "params": {"v": 0.01}}],
    )
    reasons = {bound.name: bound.not_applicable for bound in catalogue.line_bounds(tiny, 0)}
    assert reasons["Theorem 7, corrected"] == catalogue.NOT_FINITE
    assert reasons["Trivial cap"] is None


def test_typed_rates_are_refused_where_the_limits_are_too_far_away():
    with refused("baseline") as issues:
        typed_arms(0.5, [], True, (0, 1e6))
    assert "1e-6 of the range" in issues[0].allowed
    assert [arm.mean for arm in typed_arms(0, [1], False, (0, 1e6))] == [0, 1e-6]
