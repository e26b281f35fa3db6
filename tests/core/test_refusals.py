"""Values that are well formed but cannot be: each is refused, at its place, with what is allowed."""

import io
import json
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import REFUSED, fixed, refused
from spec_strategies import spec_with_features

from bandit_core import Experiment, InputError, sample_size, simulate, thresholds
from bandit_core.cli import main
from bandit_core.data.lending import read_lending
from bandit_core.experiments.experiment import MAX_NAME_PARTS, MAX_SPEC_BYTES, _once, parse, read, read_json
from bandit_core.literature import reproductions
from bandit_core.literature.papers import Played
from bandit_core.spec import notation
from bandit_core.spec.errors import MAX_TOLD, validated
from bandit_core.studies.best_arm import StoppingSpec, stopping_lines
from bandit_core.studies.price import price_question
from bandit_core.studies.study import StudyFile, points
from bandit_core.studies.sweep import Sweep

COINS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
BASE = {"arms": COINS, "lines": [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": fixed(2.0)}], "horizon": 100}
USERS = spec_with_features()
PAGES = {"baseline": 0.031, "lifts": [8, 15], "weekly": 2_000_000, "weeks": 26}


def with_arm(law: dict[str, Any]) -> dict[str, Any]:
    return {"arms": [law, *COINS], "lines": [{"policy": "ucb"}]}


def with_budget(law: dict[str, Any]) -> dict[str, Any]:
    return {"arms": COINS, "lines": [{"policy": "heldp-ucb-b", "epsilon": law}]}


def with_table(law: dict[str, Any]) -> dict[str, Any]:
    contexts = {"dimension": 2, "arms": 2, "law": {"kind": "table", **law}}
    return {"contexts": contexts, "lines": [{"policy": "linucb"}]}


DOORS: dict[str, Callable[[Any], object]] = {
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
    "study": lambda fields: points(validated(StudyFile, {"spec": BASE, **fields}), Experiment.model_validate(BASE)),
}
LONG = [  # what no line of a file holds
    ("arms", "9" * 5000, "arms[0]", "too many digits"),
    ("spec", {"horizon": 10**400}, "horizon", "at most 1000000000"),
    ("spec", {"arms": [{"kind": "gaussian", "mean": 10**400, "sd": 1}]}, "arms[0].mean", "a double can hold"),
    ("spec", {"lines": [{"policy": "ucb"}] * 25}, "lines", "at most 24"),
    ("users", {"contexts": {"law": {"kind": "table", "rows": [[1.0] * 100] * 600}}}, "contexts.law", "numbers"),
    ("whole", [], "", "a spec is an object"),
    ("whole", {}, ["arms", "lines"], "required"),
    ("whole", {"contexts": None, "lines": [{"policy": "ucb"}]}, "arms", "required"),
    ("price", {"baseline": None}, "baseline", ""),
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
    assert words in problems[0].allowed


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


def test_a_folder_that_cannot_be_written_is_named(file: Path) -> None:
    content = json.loads(file.read_text())
    with refused("out", value=str(file / "no folder")):
        reproductions.write(content, file / "no folder")


def test_a_sweep_tells_whether_it_waits_and_whether_all_was_kept() -> None:
    experiment = Experiment.model_validate({**with_budget({"kind": "fixed", "value": 1}), "horizon": 50, "trials": 2})
    sweep = Sweep(experiment, (0.5, 1.0))
    assert not sweep.waiting and sweep.kept
    # private: this is what is tested
    sweep._runs[1].waiting = True
    sweep._runs[0].kept = False
    assert sweep.waiting and not sweep.kept


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


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Counts the functions that Python enters meanwhile, a measure of work that knows no clock."""
    count: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _argument: count.update([event]))
    try:
        yield count
    finally:
        sys.setprofile(None)


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


@pytest.mark.parametrize("kind", MANY)
def test_twice_the_mistakes_are_twice_the_work(kind: str) -> None:
    def work(count: int) -> int:
        document = MANY[kind](count)
        with pytest.raises(InputError), counting() as found:
            Experiment.model_validate(document)
        return found["call"] + found["c_call"]

    work(10)
    assert work(400) < 2.2 * work(200)


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
