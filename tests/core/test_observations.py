"""A practitioner's files: what is read, what is refused at which row, their right reading, and what may leave again."""

import contextlib
import csv
import io
import json
import math
import shlex
import subprocess
import sys
import tomllib
import tracemalloc
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import asked, refused
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from spec_strategies import labels

from bandit_core import InputError, cli, simulate
from bandit_core.cli import main
from bandit_core.data import lending, observations, tables
from bandit_core.data.observations import Observations, Option, observations_of, read_budgets, read_observations
from bandit_core.data.reading import ROLES, Reading
from bandit_core.data.spreadsheets import defused, defused_frame, read_csv, restored, to_csv
from bandit_core.data.tables import read_sheet
from bandit_core.experiments import links
from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.experiments.presets import load_preset
from bandit_core.export.page import lesson
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import Issue
from bandit_core.spec.field_types import visible, why_not
from bandit_core.spec.rewards import Empirical, TwoPoint
from bandit_core.studies.business_case import chances_of_being_best

# ---------------------------------------------------------------------------------------------------------------------
# A practitioner's CSV: what is read, what is told with row and column, and the arms it becomes.


def refusal(text: str | bytes, read=read_observations) -> Issue:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError) as caught:
        _ = read(text.encode() if isinstance(text, str) else text).data
    return caught.value.issues[0]


def wide(data: bytes, **answers: str) -> Reading[Observations]:
    return read_observations(data, rows="wide", answers=answers)


# ---------------------------------------------------------------------------------------------------------------
# Doubts, and files that cannot be used; tests/corpus has what files mean


def test_no_one_takes_data_that_are_in_doubt():
    found = read_observations(b"treated,recovered\n" + b"1,0\n0,1\n1,1\n" * 9)
    assert found.held is None and [doubt.key for doubt in found.doubts] == ["option"]
    with refused("option") as issues:
        _ = found.data
    assert len(issues) == 1 and "'treated' (1, 0)" in issues[0].allowed
    with refused("option", value="dose"):
        read_observations(b"group,converted\nA,1\nB,0\n", option="dose")
    with refused("answers[yes:x]") as issues:
        _ = read_observations(b"group,converted\nA,1\nB,0\n" * 2, answers={"yes:x": "ja"}).data


def test_each_trouble_names_row_column_and_value_as_a_spreadsheet_counts():
    rows = [*[b"1,0"] * 99, b"oops,1", b"0,1e15", *[b"1,1"] * 99]
    found = wide(b"A,B\n" + b"\n".join(rows) + b"\n")
    assert [(doubt.key, list(doubt.choices)) for doubt in found.doubts] == [
        ("drop:A", ["leave out"]), ("drop:B", ["leave out"])
    ]  # fmt: skip
    assert found.doubts[0].question.startswith("row 101, column A: 'oops' is no number")
    assert found.doubts[1].question.startswith("row 102, column B: '1e15' is too large")


@pytest.mark.parametrize("bad", [5, 40])
def test_a_word_that_comes_again_or_in_many_rows_is_never_dropped(bad):
    found = wide(("A,B\n" + "x,1\n" * bad + "1,0\n" * 300).encode())
    [doubt] = found.doubts
    assert not doubt.choices and f" {bad - 1} more" in doubt.question
    typed = wide(b"A,B\nx,1\n" + b"1,0\n" * 9)  # one cell of ten is more than 2%
    assert not typed.doubts[0].choices


def test_a_file_that_is_too_large(monkeypatch):
    monkeypatch.setattr(tables, "MAX_BYTES", 2**20)
    assert "1 MB" in refusal(b"1" * (2**20 + 1)).allowed
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.csv", b"0" * 2**24)
    assert len(packed.getvalue()) < 2**16 and "packed in it is more than 1 MB" in refusal(packed.getvalue()).allowed


def test_many_rows_are_read_exactly():
    random = np.random.default_rng(1)
    rewards = random.integers(0, 2, (200_000, 2))
    text = b"A,B\n" + b"\n".join(b"%d,%d" % tuple(row) for row in rewards.tolist())
    seen = wide(text).data
    assert seen.rows == 200_000
    assert [option.mean for option in seen.options] == pytest.approx(rewards.mean(axis=0), abs=1e-15)


def test_an_interval_never_ends_beside_0_or_1():
    none, every = (Option.of("A", np.full(100, value)) for value in (0.0, 1.0))
    assert none.interval[0] == 0.0 and every.interval[1] == 1.0


# ---------------------------------------------------------------------------------------------------------------
# From observations to arms


def test_wilsons_interval_and_students_interval():
    yes = Option.of("A", np.repeat([0.0, 1.0], [90, 10]))
    assert yes.interval == pytest.approx((0.0552, 0.1744), abs=5e-4)  # Wilson, 10 of 100
    amounts = np.array([1.0, 2.0, 4.0, 7.0])
    expected = stats.t.interval(0.95, 3, amounts.mean(), stats.sem(amounts))
    assert Option.of("A", amounts).interval == pytest.approx(expected)
    assert Option.of("A", np.array([2.0, 2.0])).interval is None


def test_two_values_few_values_many_values():
    assert Option.of("A", np.array([0.2, 0.2, 0.6])).arm() == TwoPoint(low=0.2, high=0.6, p_high=1 / 3)
    few = Option.of("A", np.array([0.1, 0.2, 0.2, 0.9])).arm()
    assert few == Empirical(values=(0.1, 0.2, 0.9), counts=(1, 2, 1))
    sample = np.random.default_rng(2).random(5003)
    many = Option.of("A", sample)
    assert many.summarised and many.arm().expected == pytest.approx(sample.mean(), abs=1e-12)
    assert len(many.arm().values) == observations.MAX_DISTINCT


def test_rescaling_moves_the_limits_to_0_and_1_and_cuts_what_lies_beyond():
    option = Option.of("A", np.array([-5.0, 0.0, 15.0]))
    assert option.rescaled(-5, 15).values.tolist() == [0, 0.25, 1]
    assert option.clipped(0, 10).values.tolist() == [0, 10] and option.outside(0, 10) == 2
    assert option.rescaled(0, 10).counts.tolist() == [2, 1]
    for limits in ((3, 3), (5, 0), (math.nan, 1), (0, math.inf)):
        for cut in (option.rescaled, option.clipped):
            with pytest.raises(InputError):
                cut(*limits)


samples = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(samples, st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_what_is_cut_is_counted_and_moves_the_mean_as_cutting_every_reward_does(sample, low, width):
    option, high = Option.of("A", np.array(sample)), low + width
    clipped = option.clipped(low, high)
    cut = np.clip(sample, low, high)
    assert clipped.count == option.count and clipped.mean == pytest.approx(cut.mean(), abs=1e-9 * 1e6)
    assert option.outside(low, high) == np.count_nonzero(cut != np.array(sample))
    assert low + width * option.rescaled(low, high).mean == pytest.approx(cut.mean(), abs=1e-9 * 1e6)


@given(st.lists(samples, min_size=2, max_size=4), st.floats(0.5, 1))
def test_limits_that_hold_a_share_of_every_option(lists, share):
    options = tuple(Option.of(str(place), np.array(sample)) for place, sample in enumerate(lists))
    seen = Observations(options, 1)
    low, high = seen.holding(share)
    for option in options:
        assert option.outside(low, max(low, high)) <= (1 - share) * option.count * (1 + 1e-9)
    assert seen.limits[0] < 0 or low == 0


def test_the_chance_of_being_best_against_direct_integration():
    yes = [Option.of("A", np.repeat([0.0, 1.0], [80, 20])), Option.of("B", np.repeat([0.0, 1.0], [85, 15]))]
    grid = np.linspace(0, 1, 200_001)
    exact = np.trapezoid(stats.beta(21, 81).pdf(grid) * stats.beta(16, 86).cdf(grid), grid)
    assert chances_of_being_best(yes)[0] == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))
    assert np.isnan(chances_of_being_best([yes[0], Option.of("C", np.array([3.0]))])).all()


# ---------------------------------------------------------------------------------------------------------------
# Users' own budgets


def test_budgets_keep_their_shares():
    law, users = read_budgets(b"epsilon\n1\n1\n0\n2\n").data
    assert (law.values, law.probs, users) == ((0, 1, 2), (0.25, 0.5, 0.25), 4)


def test_of_very_many_budgets_the_quantiles_stay():
    drawn = np.random.default_rng(3).lognormal(0, 1, 20_000)
    law, users = read_budgets("\n".join(f"{value:.12g}" for value in drawn).encode()).data
    assert users == 20_000 and len(law.values) <= observations.MAX_DISTINCT
    kept = np.repeat(law.values, np.round(np.array(law.probs) * 1000).astype(int))
    assert np.quantile(kept, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(drawn, [0.1, 0.5, 0.9]), rel=0.02)


def test_budgets_that_are_none_are_told():
    assert refusal(b"epsilon\n1\n-1\nx\n", read_budgets).path == "drop:epsilon"
    found = read_budgets(b"epsilon\n" + b"1\n" * 99 + b"-1\n", {"drop:epsilon": "leave out"})
    assert found.data[1] == 99
    assert refusal(b"a,b\n1,2\n", read_budgets).path == "columns"
    assert refusal(b"epsilon\n50 %\n20 %\n", read_budgets).path == "column epsilon"
    assert read_budgets(b"epsilon\n0,5\n\n1,5\n").data[0].values == (0.5, 1.5)
    assert refusal(b"epsilon\n0\n0\n", read_budgets).path == "column epsilon"


# ---------------------------------------------------------------------------------------------------------------
# Files made to be slow


def read_features(data: bytes) -> object:
    return lending.read_table(data, ["B"], "A", "B", numeric_action=True).data


READERS = [read_observations, read_budgets, read_features, lending.read_lending]
TOO_MUCH = {
    "equal headings": (lambda: b",".join([b"A"] * 10_000) + b"\n1", "columns"),
    "a line of commas": (lambda: b"," * 60_000 + b"x\n1", "columns"),
    "a longer line of commas": (lambda: b"," * 10**6 + b"\n1", "file"),
    "very many columns": (lambda: b",".join(b"c%d" % place for place in range(10**6)) + b"\n1", "file"),
    "very many rows": (lambda: b"A,B\n1,0\n" + b"\n" * tables.MAX_ROWS + b"1,1", "rows"),
    "rows ended by returns": (lambda: b"A,B\r1,0\r" + b"\r" * tables.MAX_ROWS + b"1,1", "rows"),
    "few cells, many places": (lambda: b",".join(b"c%d" % place for place in range(100)) + b"\n1" * 200_000, "cells"),
    "names in lines of JSON": (lambda: b"\n".join(b'{"k%d":1}' % place for place in range(100_000)), "cells"),
    "commas below the heading": (lambda: b"A,B\n" + b"," * (tables.MAX_CELLS + 1), "cells"),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize(("made", "path"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_is_too_much_is_refused_before_it_is_cut(reader, made, path, monkeypatch):
    monkeypatch.setattr(tables, "_cut", lambda *_: pytest.fail("was cut"))  # private: what takes long
    data = made()
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as refusal:
            reader(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [problem.path for problem in refusal.value.issues] == [path]
    assert len(str(refusal.value)) < 300
    assert peak < 3 * len(data) + 2**25  # copies of the text, and the rows of its beginning


def test_blank_rows_at_the_end_are_no_rows():
    tracemalloc.start()
    try:
        seen = wide(b"A,B\n1,0\n0,1" + b"\r\n" * (9 * 2**20)).data
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
    assert seen.rows == 2


def test_a_file_whose_options_no_one_knows_is_not_said_to_be_of_no_people():
    assert read_observations(b"A,B\nx,z\n").sentence == "Rows: 1."


def test_a_row_that_is_far_too_long_is_named_wherever_it_stands():
    for before in (0, 1, 1000, 50_000):
        data = b"A,B\n" + b"1,0\n" * before + b"," * 10**6 + b"\n1,0\n"
        found = refusal(data)
        assert found.path == f"row {before + 2}" and "1000001" in found.allowed
    assert refusal(b'\nA,"B\nb"\n1,0,1\n').path == "row 3"  # rows as a spreadsheet counts them


def test_headings_that_stand_more_than_once_get_numbers():
    found = wide(b"A,A,A (2),A\n1,0,1,0\n0,0,1,1\n")
    names = [option.name for option in found.data.options]
    assert names[0] == "A" and len(set(names)) == 4 and "More than one column" in found.checks[0]


def files_of(count: int) -> dict[str, bytes]:
    """Files with ``count`` of what a reader may stumble over."""
    places = range(count)
    return {
        "headings": b",".join([b"A"] * (count // 100)) + b"\n" + b",".join([b"1"] * (count // 100)),
        "bad cells": b"A,B" + b"\n1,1" * count * 2 + b"\n" + b"\n".join(b"0,x%d" % place for place in places),
        "blank rows": b"A,B\n1,0\n" + b"\n" * count + b"1,1",
        "names": b"arm,reward\n" + b"\n".join(b"x%d,1" % place for place in places),
        "values": b"A,B\n" + b"\n".join(b"0.%d,1" % place for place in places),
    }


@pytest.mark.parametrize("kind", files_of(100))
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_twice_the_file_is_at_most_twice_the_work(reader, kind):
    """Work is counted in functions entered, memory at its peak; a clock would tell of the machine."""

    def work(count: int) -> tuple[int, int]:
        data, entered = files_of(count)[kind], 0

        def look(_frame: object, event: str, _argument: object) -> None:
            nonlocal entered
            entered += event in ("call", "c_call")

        tracemalloc.start()
        sys.setprofile(look)
        with contextlib.suppress(InputError):
            reader(data)
        sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return entered, peak

    work(1000)  # what is imported and compiled once
    (few, small), (many, large) = work(2_000), work(4_000)
    assert many < 2.2 * few + 1000
    assert large < 2.3 * small + 2**18


def test_what_is_bad_in_very_many_cells_is_one_line():
    found = wide(files_of(40_000)["bad cells"])
    [doubt] = found.doubts
    assert "row 80,002" in doubt.question and "39,999 more" in doubt.question
    with pytest.raises(InputError) as caught:
        read_features(files_of(40_000)["bad cells"])
    assert "39,999" in str(caught.value) and len(caught.value.issues) <= 2


def test_both_readers_count_rows_alike():
    data = b"\nA,B\n1,0\n0,1\nx,1\n1,1\n1,0\n"
    assert "row 5" in wide(data).doubts[0].question
    with refused("row 5, column A"):
        read_features(data)


@pytest.mark.parametrize("name", ["propensity", "Propensity_Score", "pscore", "prob"])
@pytest.mark.parametrize("chosen", [{}, {"option": "arm", "outcome": "reward"}])
def test_a_learners_log_is_refused_in_words(name, chosen):
    with refused("columns") as issues:
        read_observations(f"arm,reward,{name}\na,1,0.5\nb,0,0.5\n".encode(), **chosen)
    assert issues[0].value == name and "learner's log" in issues[0].allowed


@pytest.mark.parametrize("first", ["Control", "baseline", "A", "control_group", "variant A"])
def test_the_baseline_of_a_file_is_the_option_that_is_called_so(first):
    long = "option,reward\n" + "\n".join(f"{name},{place % 2}" for place in range(8) for name in ("new", first))
    across = f"new,{first}\n" + "1,0\n0,1\n1,1\n0,0\n"
    for found in (read_observations(long.encode()), wide(across.encode())):
        assert [option.name for option in found.data.options] == [first, "new"]
    three = "A,new,control\n1,0,1\n0,1,0\n1,1,0\n"
    assert [option.name for option in wide(three.encode()).data.options] == ["control", "A", "new"]


def test_columns_whose_names_differ_in_capitals_only_are_asked_about():
    data = b"Control,New,CONTROL\n1,0,1\n0,1,0\n1,1,0\n"
    for answer, counts in (("merge", [6, 3]), ("apart", [3, 3, 3])):
        assert [option.count for option in wide(data, **{"merge:CONTROL": answer}).data.options] == counts


def test_what_is_asked_of_one_column_says_nothing_of_another():
    data = b"group;first;second\n" + b"A;1,5;1,234\nB;2,5;5,678\n" * 9
    found = read_observations(data, outcome="second")
    assert [doubt.key for doubt in found.doubts] == ["decimal:second"]
    assert read_observations(data, outcome="first").data.options[0].mean == 1.5


def test_a_long_file_is_read_in_whatever_order_its_rows_are():
    names = [b"old"] * 300_000 + [b"new"] * 10_000
    rows = b"".join(b"%d,%s,%d\n" % (place, name, place % 4 == 0) for place, name in enumerate(names))
    found = read_observations(b"number,group,converted\n" + rows)
    assert [(option.name, option.count) for option in found.data.options] == [("old", 300_000), ("new", 10_000)]
    assert "fair coin" in found.checks[0]
    turns = read_observations(b"group,converted\n" + b"old,1\nnew,0\n" * 200_000)
    assert [option.count for option in turns.data.options] == [200_000, 200_000]


def test_an_outcome_that_no_one_can_read_is_a_doubt_whatever_was_answered():
    thousands = "".join(f"{'AB'[place % 2]},{place}th\n" for place in range(60))
    for rows, questions in ((thousands, ["unread"]), ("A,\nB,\n" * 30, ["columns"])):
        found = read_observations(f"group,revenue\n{rows}".encode(), option="group")
        assert [doubt.key for doubt in found.doubts] == questions


@pytest.mark.parametrize("weight", ["none", "both"])
def test_totals_without_people_are_a_doubt(weight):
    found = read_observations(b"group,converted\n" + b"A,1\nB,0\n" * 30, rows="total", weight=weight)
    assert "amounts" in [doubt.key for doubt in found.doubts]


def test_rows_that_are_cut_in_blocks_are_those_of_the_whole_file(monkeypatch):
    monkeypatch.setattr(tables, "_CELLS", 8)  # private: else a file of many blocks is large
    monkeypatch.setattr(tables, "_ROWS", 2)
    said = ["a", 'b "q" c', "x\ny", '"', 'p\n\n"z"\nq,', "", "long " * 9]
    rows = [["id", "note", "v", "group"]]
    rows += [[f"u{place}", said[place % 7], f"{place % 5}.5", "AB"[place % 2]] for place in range(200)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    sheet = tables.read_sheet(text.getvalue().encode())
    cells = [[cell if isinstance(cell, str) else f"{cell:g}" for cell in row] for row in sheet.frame.to_numpy()]
    assert cells == [[(cell.rstrip(" ") and cell) or "nan" for cell in row] for row in rows[1:]]
    assert [sheet.row(place) for place in (0, 199)] == [2, 201]


@pytest.mark.skipif(sys.platform != "linux", reason="counts kilobytes as Linux does")
@pytest.mark.parametrize("row", ["u{place:07d},{group},{amount}", '{group},"${place:,}.50"'], ids=["names", "money"])
def test_a_large_file_takes_a_few_times_its_memory(row, tmp_path):
    program = """
import re, sys
from bandit_core.data.observations import read_observations
from ui.serving import give_memory_back

give_memory_back()
data = open(sys.argv[1], "rb").read()
read_observations(data[: data.rindex(b"\\n", 0, 100_000)])
peak = lambda: 1024 * int(re.search("VmHWM: *(\\d+)", open("/proc/self/status").read().replace("\\t", " "))[1])
before = peak()
assert read_observations(data, outcome="amount", option="group").data.rows == 1_000_000
print(1 + (peak() - before) / len(data))
"""
    file = tmp_path / "rows.csv"
    rows = (row.format(place=place, group="AB"[place % 2], amount=place % 97 + 0.25) for place in range(1_000_000))
    file.write_text("\n".join(["user_id,group,amount" if row[0] == "u" else "group,amount", *rows]))
    words = [sys.executable, "-c", program, str(file)]
    assert float(subprocess.run(words, capture_output=True, text=True, check=True).stdout) < 5


def test_columns_beyond_number_are_looked_at_in_little_work():
    wide_file = b",".join(b"c%d" % place for place in range(900)) + b"\n" + (b",".join([b"1", b"0"] * 450) + b"\n") * 20
    with refused("columns") as issues:
        read_observations(wide_file)
    assert "100 options" in issues[0].allowed


# ---------------------------------------------------------------------------------------------------------------------
# Files such as people have, and their right reading: by the library, by the shell, and as the page reads them.


CORPUS = Path(__file__).parent.parent / "corpus"
CASES = tomllib.loads((CORPUS / "cases.toml").read_text(encoding="utf-8"))


def library(name: str, answers: dict[str, str]) -> Reading:
    roles = {role: answers[role] for role in ROLES if role in answers}
    others = {key: answer for key, answer in answers.items() if key not in ROLES}
    return read_observations((CORPUS / name).read_bytes(), **roles, answers=others)


def page(name: str, answers: dict[str, str]) -> Reading:
    """As `ui.your_numbers.inputs` does: the sheet first, then its columns."""
    of_text = {key: answer for key, answer in answers.items() if key in ("sheet", "heading")}
    return observations_of(read_sheet((CORPUS / name).read_bytes(), of_text), answers)


def test_the_corpus_has_the_right_reading_of_each_of_its_files() -> None:
    files = {path.name for path in CORPUS.iterdir() if path.suffix != ".toml"}
    assert files == CASES.keys() and len(files) >= 60


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("read", [library, page], ids=["library", "page"])
def test_a_file_is_read_rightly_or_asked_about(name, read):
    case = CASES[name]
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    if "refused" in case and "doubts" not in case:
        with pytest.raises(InputError, match=case["refused"]):
            _ = read(name, {}).data
    if "doubts" in case:
        found = read(name, {})
        assert [doubt.key for doubt in found.doubts] == case["doubts"]
        proposed = {doubt.key: next(iter(doubt.choices), None) for doubt in found.doubts}
        assert proposed.items() >= case.get("proposed", {}).items()
        if case["doubts"]:
            with refused(*case["doubts"]):
                _ = found.data
    if "options" in case:
        found = read(name, case.get("answers", {}))
        told = {option.name: [option.count, option.mean] for option in found.data.options}
        assert told == {option: [count, pytest.approx(mean)] for option, (count, mean) in case["options"].items()}
        assert case.get("said", "") in " ".join([found.sentence, *found.notes, *found.checks, *map(str, found.asked)])


@pytest.mark.parametrize("name", CASES)
def test_the_shell_reads_what_the_library_reads(name, monkeypatch, capsys):
    case = CASES[name]
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")

    words = ["price", str(CORPUS / name), "--limits=-1000,10000000"]
    if case.get("doubts") or "refused" in case:
        assert cli.main(words) == cli.BAD_INPUT
        said = capsys.readouterr().err
        assert case.get("refused", "") in said
        for key, answer in case.get("answers", {}).items():
            hint = f"--{key} {shlex.quote(answer)}" if key in ROLES else f"--answer {shlex.quote(f'{key}={answer}')}"
            assert hint in said or key not in case.get("doubts", ())
    if "options" not in case:
        return
    for key, answer in case.get("answers", {}).items():
        words += [f"--{key}", answer] if key in ROLES else ["--answer", f"{key}={answer}"]
    question = asked(monkeypatch, *words[1:])
    found = [question.low + question.scale * arm.expected for arm in question.arms]
    told = {option: mean for option, (_, mean) in case["options"].items()}
    assert dict(zip(question.names, found, strict=True)) == {
        option: pytest.approx(mean, rel=1e-6, abs=1e-6) for option, mean in told.items()
    }
    assert library(name, case.get("answers", {})).sentence in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------------
# CSV that leaves the lab: no cell is a formula to a spreadsheet, numbers stay numbers, and it can be read back.


ATTACK = "=cmd|'/c calc'!A1"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
texts = st.one_of(
    st.text(),
    st.text("=+-@\t\r\n,;|\"' a1＝", max_size=12),
    st.lists(st.sampled_from([ATTACK, ",", ";", "\t", '"', "'", "\n", " ", "x"]), max_size=6).map("".join),
)


@given(texts)
@example(ATTACK)
@example("a;=1")
@example("' =1")
@example("\t\t=1")
def test_every_text_comes_back_and_none_begins_a_formula(text: str) -> None:
    safe = defused(text)
    assert restored(safe) == text
    assert not safe.lstrip(" ").startswith(FORMULA)


@given(st.lists(texts, min_size=1, max_size=4), st.lists(st.floats(), min_size=4, max_size=4))
def test_whatever_separator_a_spreadsheet_cuts_at_no_cell_is_a_formula(labels: list[str], numbers: list[float]) -> None:
    labels = [label.encode("utf-8", "replace").decode().replace("\0", "") for label in labels]
    frame = pd.DataFrame({"label": labels, "mean": numbers[: len(labels)], "=heading": labels})
    text = to_csv(frame)
    assert text is not None
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["label", "mean", "'=heading"]
    assert [restored(row[0]) for row in rows] == labels
    shown = [float(row[1]) if row[1] else np.nan for row in rows]
    np.testing.assert_array_equal(shown, numbers[: len(labels)])  # bit for bit, and no apostrophe before a minus
    for separator in ",;\t|":
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting):
                for cell in row:
                    bare = cell.strip(' "')
                    assert not bare.startswith(FORMULA) or _is_number(bare.split(",")[0]), (separator, row)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_numbers_in_columns_of_any_kind_are_untouched() -> None:
    frame = pd.DataFrame({"a": [-1.5, 2.0], "b": [-1, 2], "c": [-1, "-1"], "d": [True, None]})
    assert defused_frame(frame)["a"].tolist() == [-1.5, 2.0]
    assert defused_frame(frame)["c"].tolist() == [-1, "'-1"]
    pd.testing.assert_frame_equal(defused_frame(frame)[["a", "b", "d"]], frame[["a", "b", "d"]])


@pytest.mark.parametrize("command", [["run"], ["sweep", "--epsilon", "1"]])
def test_the_command_line_defuses_labels(command, monkeypatch, capsys, tmp_path) -> None:  # type: ignore[no-untyped-def]
    line = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": ATTACK}
    coins = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    spec = json.dumps({"arms": coins, "lines": [line], "horizon": 20, "trials": 2})
    for out in (None, tmp_path / "curves.csv"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(spec))
        assert main([*command[:1], "-", *command[1:], *(["--out", str(out)] if out else [])]) == 0
        text = out.read_text() if out else capsys.readouterr().out
        labels = pd.read_csv(io.StringIO(text))["label"]
        assert len(labels) and labels.str.startswith("'=cmd").all()
        assert {label.split(",")[0] for label in read_csv(io.StringIO(text))["label"]} == {ATTACK}


# ---------------------------------------------------------------------------------------------------------------------
# Labels, titles, notes and names of uploads: no hidden character comes in, and none leaves in a file.


HIDDEN = {
    "right-to-left override": "\u202e", "isolate": "\u2067", "mark": "\u200f", "zero width space": "\u200b",
    "joiner": "\u200d", "soft hyphen": "\u00ad", "byte order mark": "\ufeff", "tag": "\U000e0041", "null": "\0",
    "escape": "\x1b", "tab": "\t", "carriage return": "\r", "next line": "\x85", "line separator": "\u2028",
    "paragraph separator": "\u2029", "half of a pair": "\ud800",
}  # fmt: skip
each = pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN)
one_hidden = st.one_of(st.characters(categories=("Cc", "Cf", "Zl", "Zp")), st.sampled_from(list(HIDDEN.values())))


def code(character: str) -> str:
    return f"U+{ord(character):04X}"


def spec(**fields: object) -> dict[str, object]:
    return {"arms": [{"kind": "bernoulli", "mean": 0.5}], "lines": [{"policy": "ucb"}], **fields}


@each
def test_a_hidden_character_is_refused_with_its_field_its_code_and_what_is_allowed(character):
    text = f"6{character}81"
    for path, document in (
        ("title", spec(title=text)),
        ("note", spec(note=text)),
        ("lines[0].label", spec(lines=[{"policy": "ucb", "label": text}])),
    ):
        with refused(path, value=text) as issues:
            Experiment.model_validate(document)
        assert f"character 2 is {code(character)}" in issues[0].allowed
        assert "no control, formatting or direction characters" in issues[0].allowed
        assert character not in str(issues[0])


@each
def test_a_link_is_refused_alike(character):
    label = json.dumps(f"6{character}81")
    experiment, problems = links.read({"title": f"6{character}81", "note": character, "lines": f"ucb(label={label})"})
    assert {problem.path for problem in problems} == {"title", "note", "lines[0].label"}
    assert all(code(character) in problem.allowed for problem in problems)
    assert experiment == load_preset("default")


def test_a_note_has_lines_and_nothing_else_has():
    assert Experiment.model_validate(spec(note="one\ntwo")).note == "one\ntwo"
    for fields in ({"title": "one\ntwo"}, {"lines": [{"policy": "ucb", "label": "one\ntwo"}]}):
        with pytest.raises(InputError, match=r"U\+000A"):
            Experiment.model_validate(spec(**fields))


def test_other_scripts_and_single_emoji_are_taken_and_joined_ones_are_not():
    for text in ("ε ≥ 1 → ½", "חשבון 681", "نسخة", "試験", "é", "👩🏽", "a\u00a0b"):
        assert Experiment.model_validate(spec(title=text)).title == text
    with pytest.raises(InputError, match=r"U\+200D \(ZERO WIDTH JOINER\)"):
        Experiment.model_validate(spec(title="👩\u200d🔬"))


@given(labels, one_hidden, labels)
def test_any_hidden_character_anywhere(before, character, after):
    text = before + character + after
    found = why_not(text)
    assert found is not None and f"character {len(before) + 1} is {code(character)}" in found
    assert (why_not(text, lines=True) is None) == (character == "\n")
    assert why_not(visible(text), lines=True) is None
    assert visible(before) == before and why_not(before) is None


def exports(result: Result) -> dict[str, str]:
    experiment = result.experiment
    page = lesson(experiment, "horizon", [20, 40])
    return {
        "csv": str(to_csv(result.curves)),
        "final": str(to_csv(result.final)),
        "latex": result.to_latex(),
        "markdown": result.to_markdown(),
        "json": json.dumps(experiment.spec(), ensure_ascii=False),
        "html": page,
        "link": json.dumps(links.write(experiment), ensure_ascii=False),
    }


def test_what_was_built_without_validation_holds_none_in_any_export():
    sly = "\u202e186\u2066 x\x1b\u2028"
    seen = "[U+202E]186[U+2066] x[U+001B][U+2028]"
    valid = load_preset("default").with_changes(horizon=40, trials=3)
    first = valid.lines[0]
    copied = first.model_copy(update={"label": sly})
    built = Line.model_construct(**{**dict(first), "label": sly})
    assert copied == built and copied.label == seen
    for line in (copied, built):
        fields = {"title": sly, "note": f"a\n{sly}", "lines": (line, *valid.lines[1:])}
        for experiment in (
            valid.model_copy(update=fields),
            Experiment.model_construct(**{**dict(valid), **fields}),
            valid.with_lines((line, *valid.lines[1:])),
        ):
            result = simulate(experiment)
            for name, text in exports(result).items():
                found = {code(each) for each in text if each != "\n" and unicodedata.category(each)[:1] == "C"}
                assert not found and "\u2028" not in text, (name, found)
                assert "186" in text, name


@each
def test_names_of_an_upload_are_refused_and_line_breaks_in_them_are_spaces(character):
    rows = "".join(f"{row % 2},{row % 3 % 2}\n" for row in range(12))
    wide = f'"A{character}x",B\n{rows}'
    long = "option,reward\n" + "".join(f'"A{character}x",{row % 2}\nB,1\n' for row in range(12))
    taken = character in "\t\r\x85\u2028\u2029"
    for path, text in (("column 1", wide), ("column option", long)):
        data = text.encode("utf-8", "surrogatepass")
        if character in "\0\ud800":  # no text file, or not in UTF-8 and then read as Western European
            continue
        if taken:
            seen = read_observations(data, rows="wide" if text is wide else "person").data
            assert [option.name for option in seen.options] == ["A x", "B"]
        else:
            with refused(path) as issues:
                read_observations(data)
            assert code(character) in issues[0].allowed


def test_names_of_a_table_with_features_are_refused():
    with refused("column 2") as issues:
        lending.read_table(b"age;off\xe2\x80\xaeer;bought\n1;a;1\n2;b;0\n", ["age"], "offer", "bought")
    assert "U+202E" in issues[0].allowed
    with refused("column offer") as issues:
        lending.read_table("age;offer;bought\n1;\u202ea;1\n2;b;0\n".encode(), ["age"], "offer", "bought")
    assert "U+202E" in issues[0].allowed
