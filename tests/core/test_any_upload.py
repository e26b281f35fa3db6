"""Uploads, users with features and typed text in bulk: taken, or refused in words that name a place; nothing else."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
from helpers import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from spec_strategies import mutated, odd_values, spec_with_features, taken_or_refused, told_well, users

from bandit_core.data import lending
from bandit_core.data.observations import MAX_OPTIONS, Observations, read_budgets, read_observations
from bandit_core.data.reading import Reading
from bandit_core.data.tables import WORDS
from bandit_core.experiments import links, presets
from bandit_core.experiments.experiment import Experiment
from bandit_core.policies import registry
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError
from bandit_core.studies.best_method import Question, candidates
from bandit_core.studies.business_case import read_lifts, typed_arms

many = settings(max_examples=100)

# ---------------------------------------------------------------------------------------------------------------
# CSV files of observations and budgets

cells = st.one_of(
    st.sampled_from([
        "1", "0", "0.5", "-3", "1e300", "1e-300", "nan", "inf", "-inf", "", " ", "yes", "FALSE", "A", "B", "arm",
        "reward", "1,5", "1.000,5", '"', '"a,b"', "'", "=1+1", "<b>x</b>",
        "\u0660", "𝟙", "0x10", "1_000", "١", "\ufeff",
        "NA", "None", "\x85", "\u2028",
        "9" * 400, "column 1", "x" * 200, "\r", "\v",
    ]),
    st.floats().map(str),
    st.integers(-5, 5).map(str),
    st.text(max_size=4),
)  # fmt: skip


@st.composite
def tables(draw):
    """Something like a CSV: rows of cells, not always of one length, with one of many separators and encodings."""
    separator = draw(st.sampled_from([",", ";", "\t", "|", " ", ":"]))
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8))
    if draw(st.booleans()):
        rows.insert(draw(st.integers(0, len(rows))), draw(st.lists(cells, max_size=6)))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(separator.join(row) for row in rows)
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])), "replace")
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 4)) == 0 else data


files = st.one_of(
    tables(),
    st.binary(max_size=60),
    st.binary(max_size=30).map(lambda tail: b"A,B\n1,0\n" + tail),
    st.sampled_from([b"PK\x03\x04rest", b"\xff\xfe", b"\xfe\xff\xd8\x00", b"\xef\xbb\xbf", b"a\0b", b'"', b"\n" * 99]),
)


@settings(max_examples=120)
@given(files)
@example(b"\xff\xfe\x00")
@example(b"a,b\n1,0\n1,1e-300\n-1,0")  # two values that are one after rescaling
@example(b'a,b\n"1,2')
@example(b"a,b\n1,2\n" + b"9" * 5000 + b",1")
@example(b"1,1,1,1\n1,1,1,inf\n1,1,yes,yes")  # 0 and 1 beside a word
def test_any_bytes_as_observations(data):
    try:
        found = read_observations(data)
        assert all(len(str(doubt)) < 2000 and doubt.question for doubt in found.doubts)
        seen = found.data
    except InputError as refusal:
        told_well(refusal, None)
        assert all(problem.path for problem in refusal.issues)
        return
    assert isinstance(seen, Observations) and 2 <= len(seen.options) <= MAX_OPTIONS
    for option in seen.options:
        assert np.isfinite(option.values).all() and option.count >= 1 and len(option.name) <= 60 + len(" (again)") * 9
    low, high = (0.0, 1.0) if seen.limits[0] >= 0 and seen.limits[1] <= 1 else seen.limits
    try:
        arms = tuple(option.rescaled(low, high).arm() for option in seen.options)
        asked = candidates(Question(arms, 100, 1.0, trials=1), "none")
    except InputError as refusal:
        told_well(refusal, None)
    else:
        assert asked and all(Experiment.model_validate(each.spec()) == each for each in asked)


@many
@given(st.one_of(files, st.lists(st.floats().map(str), max_size=6).map(lambda rows: "\n".join(rows).encode())))
def test_any_bytes_as_budgets(data):
    try:
        law, count = read_budgets(data).data
    except InputError as refusal:
        told_well(refusal, None)
    else:
        assert count >= 1 and max(law.values) > 0
        assert math.fsum(law.probs or [1.0]) == pytest.approx(1)


# ---------------------------------------------------------------------------------------------------------------
# One table, written in many ways

SIGNS = [(".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", "\u00a0")]  # decimals, thousands


def written(value: float, sign: str, gap: str, unit: str) -> str:
    """A number as some program or person writes it."""
    text = f"{value * 100 if unit == '%' else value:,.2f}".rstrip("0").rstrip(".")
    text = text.replace(",", "\0").replace(".", sign).replace("\0", gap)
    return f"{unit}{text}" if unit in ("$", "€ ") else text + unit


@st.composite
def messy(draw, rewards, long, say):  # type: ignore[no-untyped-def]
    """A file that says the rewards of A and B, with up to two cells that say nothing."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    names = draw(st.sampled_from([("arm", "reward"), ("Gruppe", "Wert"), ("variante", "résultat"), ("x", "y")]))
    width = draw(st.integers(0, 2))
    missing = draw(st.sampled_from(["", "NA", "NaN", "-", "n/a", "null"]))
    rows = [[name, say(value)] for name in "AB" for value in rewards[name]] if long else [
        [say(value) for value in pair] for pair in zip(*rewards.values(), strict=True)
    ]  # fmt: skip
    holes = draw(st.integers(0, 2))
    for _ in range(holes):
        rows.insert(draw(st.integers(0, len(rows) - 1)), ["A", missing] if long else [rows[0][0], missing])
    heading = list(names if long else "AB")
    if draw(st.booleans()) and names != ("x", "y"):
        heading.insert(0, draw(st.sampled_from(["", "id", "user_id"])))
        rows = [[str(place), *row] for place, row in enumerate(rows, 7)]
    quoted = draw(st.booleans())

    def cell(text: str) -> str:
        return f'"{text}"' if quoted or separator in text else text

    lines = [separator.join(map(cell, row)) + separator * width for row in [heading, *rows]]
    for _ in range(draw(st.integers(0, 2))):
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", separator * (len(heading) - 1)])))
    text = draw(st.sampled_from(["", f"sep={separator}\n"])) + draw(st.sampled_from(["\n", "\r\n"])).join(lines)
    encodings = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]
    return text.encode(draw(st.sampled_from(encodings)))


def read(data: bytes, long: bool) -> Reading[Observations]:
    """The file with every answer that drops nothing: cells without a number are missing."""
    rows = "person" if long else "wide"
    found = read_observations(data, rows=rows)
    answers = {doubt.key: "missing" for doubt in found.doubts if "missing" in doubt.choices}
    roles = {doubt.key: next(iter(doubt.choices)) for doubt in found.doubts if doubt.key in ("option", "outcome")}
    return read_observations(data, rows=rows, answers=answers, **roles)


def check_the_same(data, rewards, extra, long):  # type: ignore[no-untyped-def]
    seen = read(data, long).data
    assert [option.name for option in seen.options] == ["A", "B"]
    for option in seen.options:
        spare = option.count - len(rewards[option.name])  # beside a hole in B
        expected = np.sort([*rewards[option.name], *[extra] * spare])
        assert spare >= 0 and np.repeat(option.values, option.counts) == pytest.approx(expected, rel=1e-12)


cents = st.integers(-(10**8), 10**8).map(lambda each: each / 100).filter(lambda amount: amount not in WORDS["codes"])
amounts = st.lists(cents, min_size=6, max_size=6)


@settings(max_examples=100)
@given(
    st.data(), amounts, amounts, st.booleans(), st.sampled_from(SIGNS), st.sampled_from(["", "%", "$", "€ ", " EUR"])
)
def test_amounts_are_the_same_however_they_are_written(data, of_a, of_b, long, signs, unit):
    proof = 0.2525 if unit == "%" else 0.25  # of the decimal sign; in A both gaps prove it
    rewards = {"A": [1.5, 2345678.5, *of_a], "B": [proof, 3.5, *of_b]}
    file = data.draw(messy(rewards, long, lambda value: written(value, *signs, unit)))
    check_the_same(file, rewards, 1.5, long)


@settings(max_examples=150)
@given(
    st.data(), st.lists(st.integers(0, 4 * 10**6), min_size=6, max_size=6), st.booleans(), st.sampled_from(SIGNS),
    st.sampled_from([1, 1000]),
)  # fmt: skip
def test_no_number_is_another_one_in_silence(data, numbers, long, signs, parts):
    """Whole numbers and thousandths: what a lone mark means may be open, and then it is asked."""
    rewards = {"A": [0.0, *(number / parts for number in numbers)], "B": [1.0, *(number / parts for number in numbers)]}

    def say(value: float) -> str:
        text = f"{value:,.3f}" if parts == 1000 else f"{value:,.0f}"
        return text.replace(",", "\0").replace(".", signs[0]).replace("\0", signs[1])

    file = data.draw(messy(rewards, long, say))
    points = b"." in file and any(mark in file for mark in (b",", b"\0,\0"))  # commas separate: points are decimal
    try:
        asked = bool(read(file, long).doubts)
    except InputError as refusal:
        told_well(refusal, None)
        return
    if not asked and not points:
        check_the_same(file, rewards, 0.0, long)


def test_units_must_agree():
    with refused("columns"):
        read_observations("A,B\n€5,$5\n€6,$6\n".encode(), rows="wide")
    seen = read_observations(b"A,B\n5 %,6%\n5%,0\n", rows="wide").data  # 0 is 0 in every unit
    assert [option.mean for option in seen.options] == pytest.approx([0.05, 0.03])


@given(
    st.lists(st.floats(1, 50), min_size=30, max_size=60, unique=True), st.floats(2e4, 9e4), st.booleans(), st.booleans()
)
def test_a_lone_reward_far_from_all_others_is_named_with_its_row(sample, outlier, negative, long):
    outlier = -outlier if negative else outlier
    rows = [f"A,{value!r}" for value in [*sample, outlier]] + [f"B,{value!r}" for value in sample]
    wide = [f"{pair[0]!r},{pair[1]!r}" for pair in zip([*sample, outlier], [*sample, 1.0], strict=True)]
    text = "\n".join(["arm,reward", "Total,9", *rows] if long else ["A,B", *wide])
    seen = read_observations(text.encode(), rows="person" if long else "wide", outcome="reward" if long else None).data
    [far] = seen.far
    assert far.column == ("reward" if long else "A")
    assert (far.row, float(far.value)) == (len(sample) + 2 + long, pytest.approx(outlier, rel=1e-11))
    assert seen.near == (0, max(sample))


def test_a_stray_2_among_0_and_1_lies_far_and_a_long_tail_does_not():
    assert read_observations(b"A,B\n" + b"1,0\n0,0\n" * 20 + b"2,1\n", rows="wide").data.near == (0, 1)
    tail = "\n".join(f"{value:.6g},0" for value in np.random.default_rng(1).lognormal(3, 1, 2000))
    assert read_observations(f"A,B\n{tail}".encode(), rows="wide").data.far == ()


# ---------------------------------------------------------------------------------------------------------------
# The lending file, and any table with features

HEADER, *ROWS = (line.split(",") for line in lending.synthetic_csv(40).splitlines())


@st.composite
def damaged_lending(draw):
    table = [list(HEADER), *copy.deepcopy(ROWS[: draw(st.integers(0, 40))])]
    for _ in range(draw(st.integers(0, 3))):
        row = draw(st.sampled_from(range(len(table))))
        place = draw(st.integers(0, len(HEADER) - 1))
        action = draw(st.sampled_from(["cell", "cell", "cut", "more", "swap"]))
        if action == "cell" and place < len(table[row]):
            table[row][place] = draw(cells)
        elif action == "cut":
            table[row] = table[row][:place]
        elif action == "more":
            table[row].append(draw(cells))
        else:
            table[row], table[-1] = table[-1], table[row]
    return "\n".join(",".join(row) for row in table).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "table.csv"


def read_and_fit(read_file, path):  # type: ignore[no-untyped-def]
    """A table is read, its theta fitted, and the document of its experiment is valid; or each step refuses in words."""
    try:
        table = read_file(path).data
        Experiment.model_validate(lending.lending_document(table, horizon=10, trials=1))
    except InputError as refusal:
        told_well(refusal, None)
        assert all(problem.path for problem in refusal.issues)


@settings(max_examples=120)
@given(data=st.one_of(damaged_lending(), files))
def test_any_bytes_as_the_lending_file(data, file):
    file.write_bytes(data)
    read_and_fit(lending.read_lending, file)


def test_a_lone_mark_in_a_table_with_features_is_asked():
    with refused("decimal:age"):
        _ = lending.read_table(b"age;offer;bought\n1,234;a;1\n2,345;b;0\n", ["age"], "offer", "bought").data


def test_files_that_are_none_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nothing.csv", tmp_path / "a\0b"):
        with pytest.raises(InputError):
            lending.read_lending(path)


# ---------------------------------------------------------------------------------------------------------------
# Users with features

feature_specs = users().map(lambda document: spec_with_features(contexts=document))


@many
@given(mutated(feature_specs))
def test_damaged_specs_with_features(document):
    taken_or_refused(document)


@many
@given(st.dictionaries(st.sampled_from([
    "dimension", "arms", "structure", "law", "link", "noise", "theta", "rewards", "extra"]), odd_values))  # fmt: skip
def test_any_value_as_contexts(fields):
    taken_or_refused(spec_with_features(contexts=fields))
    taken_or_refused({**spec_with_features(), "arms": fields})


# ---------------------------------------------------------------------------------------------------------------
# Text: notation, lifts, links, TOML

notes = st.one_of(
    st.text(max_size=40),
    st.text("0123456789.,;:()=x e+-\"'\\ucbdiscretmxsngl\n", max_size=40),
    st.builds(
        "".join,
        st.lists(st.sampled_from([
            "single(", "multi(", "margin(", "table(", "ucb", "heldp-ucb-b(", "discrete(", "beta(", ")", ",", "0.5",
            "x5", "x999999999", "=", "eps_min=", "1e9", ":", '"', "label=", "theta=", "link=logistic", "(" * 300,
            "9" * 5000,
            "nan", "-", "[", "\\", "2", "10",
        ]), max_size=12),
    ),
)  # fmt: skip
READERS = [notation.read_arms, notation.read_contexts, notation.read_epsilon, notation.read_lines, read_lifts]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@settings(max_examples=150)
@given(text=notes)
def test_any_text_in_notation(reader, text):
    try:
        found = reader(text)
    except InputError as refusal:
        told_well(refusal, None)
        field = reader.__name__.removeprefix("read_")
        assert all(problem.path.startswith(field) and problem.allowed for problem in refusal.issues)
    else:
        assert found or reader is notation.read_arms


@many
@given(st.floats(), st.lists(st.floats(), max_size=4), st.booleans(), st.tuples(st.floats(), st.floats()))
def test_any_rates(baseline, lifts, relative, limits):
    try:
        arms = typed_arms(baseline, lifts, relative, limits)
    except InputError as refusal:
        told_well(refusal, None)
    else:
        assert all(0 <= arm.mean <= 1 for arm in arms)


# ---------------------------------------------------------------------------------------------------------------
# No path from outside is opened

OUTSIDE = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "",
    "../presets/ren-1c",
    "ren-1c.toml",
    "~",
    "a\0b",
    "file:///etc",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_preset_of_a_link_is_a_name_and_never_a_path(name, monkeypatch):
    presets.load_preset("default")
    registry()  # looks for packages, and reads what they say of themselves
    monkeypatch.setattr(Path, "open", lambda self, *_, **__: pytest.fail(f"{self} was opened"))
    monkeypatch.setattr(Path, "read_text", lambda self, *_, **__: pytest.fail(f"{self} was read"))
    experiment, problems = links.read({"preset": name, "title": name[:100]})
    assert problems[0].path == "preset"
    assert experiment.title in (name[:100], presets.load_preset("default").title)
    with pytest.raises(InputError):
        presets.load_preset(name)
