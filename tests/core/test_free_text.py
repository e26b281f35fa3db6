"""Labels, titles, notes and names of uploads: no hidden character comes in, and none leaves in a file."""

import json
import unicodedata

import pytest
from helpers import refused
from hypothesis import given
from hypothesis import strategies as st
from spec_strategies import labels

from bandit_core import simulate
from bandit_core.data import lending
from bandit_core.data.observations import read_observations
from bandit_core.data.spreadsheets import to_csv
from bandit_core.experiments import links
from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.experiments.presets import load_preset
from bandit_core.export.page import lesson
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError
from bandit_core.spec.field_types import visible, why_not

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
