"""CSV that leaves the lab: no cell is a formula to a spreadsheet, numbers stay numbers, and it can be read back."""

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bandit_core.cli import main
from bandit_core.data.spreadsheets import defused, defused_frame, read_csv, restored, to_csv

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
