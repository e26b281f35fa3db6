"""Compact notation: reading and writing are exact inverses, and whatever cannot be read is told item by item."""

from types import SimpleNamespace

import pytest
import spec_strategies as specs
from helpers import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bandit_core.policies import registry
from bandit_core.spec import notation, number_text

modest = settings(max_examples=60)

ARMS = [
    ("0.9", [{"kind": "bernoulli", "mean": 0.9}]),
    ("0.9, 0.8 x5", [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.8, "count": 5}]),
    ("beta(4,1) x5", [{"kind": "beta", "a": 4, "b": 1, "count": 5}]),
    ("two-point(0.4,1,0.5)", [{"kind": "two-point", "low": 0.4, "high": 1, "p_high": 0.5}]),
    ("uniform(0,1), gaussian(0.5,1)",
     [{"kind": "uniform", "low": 0, "high": 1}, {"kind": "gaussian", "mean": 0.5, "sd": 1}]),
    ("pareto(2,1.5)", [{"kind": "pareto", "mean": 2, "shape": 1.5}]),
    ("student(-1,0.5,2.5)", [{"kind": "student", "mean": -1, "scale": 0.5, "df": 2.5}]),
    ("empirical(1,2,3.5)", [{"kind": "empirical", "values": [1, 2, 3.5]}]),
]  # fmt: skip

BUDGETS = [
    ("2", {"kind": "fixed", "value": 2}),
    ("discrete(0, 0.2, 1, 2, 100)", {"kind": "discrete", "values": [0, 0.2, 1, 2, 100]}),
    ("discrete(0:0.2, 1:0.8)", {"kind": "discrete", "values": [0, 1], "probs": [0.2, 0.8]}),
    ("clamped-gaussian(1, 1, 0, 100)", {"kind": "clamped-gaussian", "mean": 1, "sd": 1, "low": 0, "high": 100}),
    ("uniform(0, 1)", {"kind": "uniform", "low": 0, "high": 1}),
    ("lognormal(1, 0.5)", {"kind": "lognormal", "median": 1, "sigma": 0.5}),
    ("empirical(0.5, 1)", {"kind": "empirical", "values": [0.5, 1]}),
]


def line(document: dict) -> SimpleNamespace:
    epsilon = specs.budget_law(document["epsilon"]) if "epsilon" in document else None
    return SimpleNamespace(
        policy=document["policy"], epsilon=epsilon, params=document.get("params", {}), label=document.get("label")
    )


@pytest.mark.parametrize(("text", "documents"), ARMS)
def test_arms_read_and_write(text, documents):
    assert notation.read_arms(text) == documents
    assert notation.write_arms(specs.arm_laws(documents)) == text


@pytest.mark.parametrize(("text", "document"), BUDGETS)
def test_budgets_read_and_write(text, document):
    assert notation.read_epsilon(text) == document
    assert notation.write_epsilon(specs.budget_law(document)) == text


@pytest.mark.parametrize(
    "text", ["0.9 x5", "0.9x5", "0.9 ×5", "0.9*5", "0.9 x 5", ".9 x5;", "bernoulli(mean=0.9) x5", "\n 0.9 X5 \n,"]
)
def test_a_repetition_may_be_written_in_many_ways(text):
    assert notation.read_arms(text) == [{"kind": "bernoulli", "mean": 0.9, "count": 5}]


def test_items_stand_between_commas_semicolons_or_line_breaks():
    assert [arm["mean"] for arm in notation.read_arms("0.1, 0.2; 0.3\n0.4,\n0.5")] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_arguments_may_be_named_and_may_stand_on_lines_of_their_own():
    documents = notation.read_arms("two-point(0,\n p_high=0.5,\n high=2)")
    assert documents == [{"kind": "two-point", "low": 0, "high": 2, "p_high": 0.5}]


def test_lines_read_and_write():
    text = 'heldp-ucb-l(discrete(0, 1, 2), eps_min=0.5, label="Laplace, \\"strict\\""), ucb(alpha=1), ucb'
    documents = [
        {
            "policy": "heldp-ucb-l",
            "epsilon": {"kind": "discrete", "values": [0, 1, 2]},
            "label": 'Laplace, "strict"',
            "params": {"eps_min": 0.5},
        },
        {"policy": "ucb", "params": {"alpha": 1}},
        {"policy": "ucb"},
    ]
    assert notation.read_lines(text) == documents
    assert notation.write_lines([line(document) for document in documents]) == text


def test_parameters_may_be_words_truth_values_and_texts():
    params = {"a": "auto", "b": True, "c": "true", "d": "two words", "e": None, "f": -1e-07}
    text = notation.write_lines([line({"policy": "ucb", "params": params})])
    assert text == 'ucb(a=auto, b=true, c="true", d="two words", e=null, f=-1e-7)'
    assert notation.read_lines(text) == [{"policy": "ucb", "params": params}]


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (0.9, "0.9"), (1e7, "1e7"), (10**7, "1e7"), (1.5e7, "1.5e7"), (20000, "20000"), (123456, "123456"),
     (1e-05, "1e-5"), (0.001, "0.001"), (0.0, "0"), (-0.5, "-0.5"), (1e300, "1e300"),
     (0.1 + 0.2, "0.30000000000000004")],
)  # fmt: skip
def test_numbers_are_written_short(number, text):
    assert number_text.write_number(number) == text
    assert notation.read_number(text) == number


@modest
@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**16), 10**16)))
def test_numbers_round_trip(number):
    text = number_text.write_number(number)
    assert notation.read_number(text) == number
    assert len(text) <= len(repr(number)) + 2


@modest
@given(specs.any_arms, specs.any_budget, st.booleans())
def test_arms_and_budgets_round_trip(arms, budget, spaces):
    for write, read, made, document in (
        (notation.write_arms, notation.read_arms, specs.arm_laws, arms),
        (notation.write_epsilon, notation.read_epsilon, specs.budget_law, budget),
    ):
        text = write(made(document), spaces)
        assert made(read(text)) == made(document)
        assert spaces or " " not in text


@modest
@given(st.lists(st.sampled_from(sorted(registry())).flatmap(specs.lines), min_size=1, max_size=4), st.booleans())
@example([{"policy": "ucb", "label": 'a, b); "c" \\ \n x5'}, {"policy": "ucb", "label": ""}], False)
def test_lines_round_trip(documents, spaces):
    lines = [line(document) for document in documents]
    assert [line(document) for document in notation.read_lines(notation.write_lines(lines, spaces))] == lines


def test_every_bad_item_is_told_at_once():
    with refused("arms[1].mean", "arms[2]", "arms[4]"):
        notation.read_arms("0.9, 1.2, beta(1), 0.3, foo")
