"""A practitioner's CSV: what is read, what is told with row and column, and the arms it becomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandit_core import InvalidInput, observations, tables
from bandit_core.arms import Bernoulli, Empirical, TwoPoint
from bandit_core.observations import Option, chances_of_being_best, read_budgets, read_observations


def options(text: str | bytes) -> dict[str, Option]:
    data = text.encode() if isinstance(text, str) else text
    return {option.name: option for option in read_observations(data).options}


def refusal(text: str | bytes, read=read_observations) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput) as caught:
        read(text.encode() if isinstance(text, str) else text)
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


# ---------------------------------------------------------------------------------------------------------------
# Layouts that mean the same


SAME = {
    "a column each": "A,B\n1,0\n0,0\n1,1\n",
    "arm and reward": "arm,reward\nA,1\nB,0\nA,0\nB,0\nB,1\nA,1\n",
    "reward and arm": "outcome,variant\n1,A\n0,B\n0,A\n0,B\n1,B\n1,A\n",
    "names that tell nothing": "x,y\nA,1\nB,0\nA,0\nB,0\nB,1\nA,1\n",
    "more columns": "day,arm,reward\n1,A,1\n1,B,0\n1,A,0\n2,B,0\n2,B,1\n2,A,1\n",
    "semicolons": "A;B\n1;0\n0;0\n1;1\n",
    "tabs": "A\tB\n1\t0\n0\t0\n1\t1\n",
    "decimal commas": "A;B\n1,0;0,0\n0,0;0,0\n1,0;1,0\n",
    "truth": "A,B\nyes,no\nno,no\ntrue,true\n",
    "blank lines before": "\n\nA,B\n1,0\n0,0\n1,1\n",
    "columns of unequal length": "B,A\n0,1\n0,0\n1,1\n",
    "windows line ends": "A,B\r\n1,0\r\n0,0\r\n1,1\r\n",
    "UTF-8 with a mark": "\ufeffA,B\n1,0\n0,0\n1,1\n",
    "UTF-16": "A,B\n1,0\n0,0\n1,1\n".encode("utf-16"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_layouts_that_mean_the_same(text):
    read = options(text)
    assert set(read) == {"A", "B"}
    assert (read["A"].mean, read["B"].mean) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert read["A"].arm() == Bernoulli(mean=2 / 3)


def test_a_file_without_a_heading_gets_numbered_columns():
    seen = read_observations(b"1,0\n0,0\n")
    assert [option.name for option in seen.options] == ["column 1", "column 2"]
    assert seen.options[0].count == 2 and any("no heading" in note for note in seen.notes)


def test_names_in_western_european_text_are_read_and_told():
    seen = read_observations("grün,rot\n1,0\n0,1\n".encode("cp1252"))
    assert seen.options[0].name == "grün" and any("Windows-1252" in note for note in seen.notes)


# ---------------------------------------------------------------------------------------------------------------
# Trouble that can be repaired, and files that cannot be used


def test_each_trouble_names_row_column_and_value_as_a_spreadsheet_counts():
    seen = read_observations(b"A,B\n1,0\noops,1\n,1\n0,1e15\n1,0\n")
    told = [str(trouble) for trouble in seen.troubles]
    assert told == [
        "row 3, column A: 'oops' is no number",
        "row 4, column A: the cell is empty",
        "row 5, column B: '1e+15' is too large",
    ]
    assert {trouble.repair for trouble in seen.troubles} == {"leave these cells out"}
    assert (seen.options[0].count, seen.options[1].count) == (3, 4)


def test_trouble_in_two_columns_drops_rows():
    seen = read_observations(b"arm,reward\nA,1\nB,x\nA,\n,1\nB,0\n")
    assert [(trouble.row, trouble.column, trouble.repair) for trouble in seen.troubles] == [
        (3, "reward", "drop these rows"),
        (5, "arm", "drop these rows"),
        (4, "reward", "drop these rows"),
    ]
    assert [option.count for option in seen.options] == [1, 1]


def test_much_trouble_of_one_kind_is_one_line_with_its_number():
    seen = read_observations(("A,B\n" + "x,1\n" * 5 + "1,0\n" * 6).encode())
    assert [trouble.count for trouble in seen.troubles] == [5]
    assert "(and 4 more like it)" in str(seen.troubles[0])


USELESS = {
    b"": "the file is empty",
    b"  \n \n": "the file is empty",
    b"PK\x03\x04rest": "workbook of a spreadsheet",
    b"A,B\n\0\0,1\n": "zero bytes",
    b"A\n1\n0\n": "A is the only option",
    b"arm,reward\nA,1\nA,0\n": "A is the only option",
    b"A,B\n": "no row below",
    b"A,B\n1,0\n1,0,1\n": "row 3: has 3 cells where row 1 has 2",
    b"A,B\n1,5,0\n": "decimal commas",
    b'A,B\n"1,0\n1,1\n': "quotation mark",
    ",".join(f"c{number}" for number in range(101)).encode() + b"\n" + b"1," * 100 + b"1\n": "at most 100 options",
}


@pytest.mark.parametrize(("text", "told"), USELESS.items(), ids=range(len(USELESS)))
def test_useless_files_are_refused_in_words(text, told):
    assert told in refusal(text)


def test_a_file_that_is_too_large(monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 2**20)
    assert "at most 1 MB" in refusal(b"1" * (2**20 + 1))


def test_a_million_rows_are_read_exactly():
    random = np.random.default_rng(1)
    rewards = random.integers(0, 2, (1_000_000, 2))
    text = b"A,B\n" + b"\n".join(b"%d,%d" % tuple(row) for row in rewards.tolist())
    seen = read_observations(text)
    assert seen.rows == 1_000_000
    assert [option.mean for option in seen.options] == pytest.approx(rewards.mean(axis=0), abs=1e-15)


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
    assert many.summarised and many.arm().law_mean == pytest.approx(sample.mean(), abs=1e-12)
    assert len(many.arm().values) == observations.MOST_DISTINCT


def test_rescaling_moves_the_limits_to_0_and_1_and_refuses_limits_that_cut():
    option = Option.of("A", np.array([-5.0, 0.0, 15.0]))
    assert option.rescaled(-5, 15).values.tolist() == [0, 0.25, 1]
    for limits in ((0, 15), (-5, 10), (3, 3), (math.nan, 1)):
        with pytest.raises(InvalidInput):
            option.rescaled(*limits)


def test_the_chance_of_being_best_against_direct_integration():
    yes = [Option.of("A", np.repeat([0.0, 1.0], [80, 20])), Option.of("B", np.repeat([0.0, 1.0], [85, 15]))]
    grid = np.linspace(0, 1, 200_001)
    exact = np.trapezoid(stats.beta(21, 81).pdf(grid) * stats.beta(16, 86).cdf(grid), grid)
    assert chances_of_being_best(yes)[0] == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))
    assert np.isnan(chances_of_being_best([yes[0], Option.of("C", np.array([3.0]))])).all()


# ---------------------------------------------------------------------------------------------------------------
# Users' own budgets


def test_budgets_keep_their_shares():
    law, users, troubles = read_budgets(b"epsilon\n1\n1\n0\n2\n")
    assert (law.values, law.probs, users, troubles) == ((0, 1, 2), (0.25, 0.5, 0.25), 4, ())


def test_of_very_many_budgets_the_quantiles_stay():
    drawn = np.random.default_rng(3).lognormal(0, 1, 20_000)
    law, users, _ = read_budgets("\n".join(f"{value:.12g}" for value in drawn).encode())
    assert users == 20_000 and len(law.values) <= observations.MOST_DISTINCT
    kept = np.repeat(law.values, np.round(np.array(law.probs) * 1000).astype(int))
    assert np.quantile(kept, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(drawn, [0.1, 0.5, 0.9]), rel=0.02)


def test_budgets_that_are_none_are_told():
    _, users, troubles = read_budgets(b"epsilon\n1\n-1\nx\n")
    assert users == 1
    assert [(trouble.row, trouble.value) for trouble in troubles] == [(4, "x"), (3, "-1")]
    assert "one column only" in refusal(b"a,b\n1,2\n", read_budgets)
    assert "at least one budget above 0" in refusal(b"epsilon\n0\n0\n", read_budgets)


# ---------------------------------------------------------------------------------------------------------------
# Whatever comes


@settings(max_examples=500, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet='01.5,;\t\n"AB -xé', max_size=120).map(str.encode),
        st.lists(st.lists(st.sampled_from(["1", "0", "", "x", "0,5", "1e400", '"']), max_size=4), max_size=6).map(
            lambda rows: "\n".join(",".join(row) for row in rows).encode()
        ),
    )
)
def test_any_bytes_are_read_or_refused_in_words(data):
    for read in (read_observations, read_budgets):
        try:
            found = read(data)
        except InvalidInput as error:
            assert error.problems and all(str(problem) for problem in error.problems)
        else:
            if read is read_observations:
                assert len(found.options) >= 2
                assert all(np.isfinite(option.values).all() and option.count for option in found.options)
