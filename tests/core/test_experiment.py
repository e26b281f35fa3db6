"""Specs, their notation and users with features: valid ones stay the same, what is not is described with its path."""

import io
import json
import math
import re
import typing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pydantic
import pytest
import spec_strategies as specs
from helpers import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import core_schema
from spec_strategies import OLS, USERS, spec_with_features, users

from bandit_core import Experiment, InputError, bounds, load_preset, simulate
from bandit_core.data import lending
from bandit_core.experiments import links
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.experiments.experiment import parse, read
from bandit_core.policies import registry
from bandit_core.simulation.results import summaries
from bandit_core.simulation.store import Store
from bandit_core.spec import errors, notation, number_text
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.errors import Issue, path_of

# ---------------------------------------------------------------------------------------------------------------------
# Specs and their notation: valid ones stay the same on every way round, what is not is described with its path.


# ---------------------------------------------------------------------------------------------------------------------
# The spec: what is valid stays the same on every way round, and what is not is told completely, each with its path.


ARMS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5, "count": 2}]
UCB = {"policy": "ucb"}
FIXED = {"kind": "fixed", "value": 2.0}
LOCAL = {"policy": "heldp-ucb-b", "epsilon": FIXED}


def spec(**changes):
    return {"version": 1, "arms": ARMS, "lines": [UCB, LOCAL], "horizon": 100, "trials": 2, "seed": 0, **changes}


def issues_of(document):
    with pytest.raises(InputError) as refusal:
        Experiment.model_validate(document)
    return refusal.value.issues


def test_a_valid_spec_is_taken_as_it_is():
    experiment = Experiment.model_validate(spec())
    assert experiment.spec() == spec()
    assert len(experiment.single_arms) == 3
    np.testing.assert_array_equal(experiment.means, [0.9, 0.5, 0.5])
    assert experiment.largest_gap == pytest.approx(0.4)
    assert Experiment.model_validate(experiment) is experiment


@settings(max_examples=60)
@given(specs.specs())
def test_specs_round_trip(document):
    experiment = Experiment.model_validate(document)
    again = Experiment.model_validate(experiment.spec())
    assert again == experiment
    assert hash(again) == hash(experiment)
    assert again.spec() == experiment.spec()
    assert parse(json.dumps(experiment.spec()), "json") == experiment
    whole = experiment.model_dump(mode="json")
    assert Experiment.model_validate(whole) == experiment


def test_whole_numbers_and_decimals_of_one_value_make_one_experiment():
    written = [spec(lines=[{"policy": "ucb", "params": {"alpha": alpha}}], horizon=100) for alpha in (1, 1.0)]
    one, other = map(Experiment.model_validate, written)
    assert one == other and hash(one) == hash(other)
    assert json.dumps(one.spec()) == json.dumps(other.spec())


def test_minus_zero_is_zero():
    arms = [[{"kind": "uniform", "low": low, "high": 1}] for low in (0.0, -0.0)]
    one, other = (Experiment.model_validate(spec(arms=each)) for each in arms)
    assert hash(one) == hash(other)


def test_numpy_numbers_are_numbers():
    arms = [{"kind": "bernoulli", "mean": np.float32(0.5), "count": np.int64(2)}]
    experiment = Experiment.model_validate(spec(arms=arms, horizon=np.int64(10)))
    assert experiment.spec() == spec(arms=[{"kind": "bernoulli", "mean": 0.5, "count": 2}], horizon=10)


def test_all_mistakes_are_told_at_once():
    document = spec(
        arms=[{"kind": "bernoulli", "mean": 2}, {"kind": "beta", "a": 0, "b": "x"}],
        lines=[
            {"policy": "nobody"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": -1}, "params": {"eps_min": "x", "q": 1}},
        ],
        trials=0,
        view={"y": "?"},
    )
    assert {problem.path for problem in issues_of(document)} == {
        "arms[0].mean", "arms[1].a", "arms[1].b", "lines[0].policy", "lines[1].epsilon.value",
        "lines[1].params.eps_min", "lines[1].params.q", "trials", "view.y",
    }  # fmt: skip


# Types of errors that a spec can meet; dates, addresses and the like stand in none.
OF_SPECS = re.compile(
    r"(model|dict|tuple|list|iterable|call|none|str|int_|float|bool|liter|union|fini|great|less|too|extra)"
)
PYTHON = re.compile(r"[Ii]nput|tuple|dict|iterable|callable|instance|valid|string|None|True|pars|integer")


def test_no_message_asks_for_something_of_python():
    facts = dict.fromkeys(("class_name", "expected", "expected_tags", "tag", "discriminator", "pattern", "error"), "it")
    facts |= dict.fromkeys(("gt", "ge", "lt", "le", "min_length", "max_length", "actual_length"), 2)
    found = {}
    for kind in filter(OF_SPECS.match, typing.get_args(core_schema.ErrorType)):
        line = {"type": kind, "loc": ("arms",), "input": None, "ctx": facts | {"field_type": "Tuple"}}
        [found[kind]] = errors.issues_of(pydantic.ValidationError.from_exception_data("", [line]), {"arms": None})
    assert {kind for kind, issue in found.items() if PYTHON.search(issue.allowed)} == {"int_parsing_size"}  # of text
    assert found["tuple_type"].allowed == issues_of(spec(arms=None))[0].allowed == "must be a list"
    assert found["too_long"].allowed == "must have at most 2 items"
    assert {issue.allowed for issue in issues_of({1: 2, **spec()})} == {"names of fields must be text"}


def test_deep_and_wide_values_are_told_shortly():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    wide = [0.5] * 100_000
    for value in (deep, wide, {"a": deep}, "x" * 10**6, 10**5000):
        for problem in issues_of(spec(arms=[{"kind": "bernoulli", "mean": value}], seed=value)):
            assert len(str(problem)) < 500


TOML = """
version = 1
horizon = 1_000
arms = [{kind = "bernoulli", mean = 0.9}, {kind = "bernoulli", mean = 0.5}]
[[lines]]
policy = "ucb"
"""


def test_toml_and_json_files_say_the_same(tmp_path):
    toml, other = tmp_path / "a.toml", tmp_path / "b.JSON"
    toml.write_text(TOML)
    experiment = read(toml)
    assert experiment.horizon == 1000
    other.write_text(json.dumps(experiment.spec()))
    assert read(other) == experiment


def test_unreadable_files_are_refused(tmp_path):
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'title = "\xe9"')
    for path in (
        latin,
        tmp_path,
        tmp_path / "none.toml",
        tmp_path / "a.txt",
        tmp_path / "\0.json",
        tmp_path / ("x" * 5000 + ".json"),
    ):
        with refused("spec"):
            read(path)


def test_lines_name_themselves():
    experiment = Experiment.model_validate(
        spec(lines=[UCB, LOCAL, {**LOCAL, "params": {"eps_min": 1}}, {**LOCAL, "label": "mine"}])
    )
    assert [experiment.label(line) for line in range(4)] == [
        "UCB", "HeLDP-UCB-B, ε 2", "HeLDP-UCB-B, ε 2, eps_min 1", "mine",
    ]  # fmt: skip


def test_paths_are_written_as_one_would_in_code():
    assert path_of(("lines", 1, "epsilon", "value")) == "lines[1].epsilon.value"
    assert path_of(("a b", 0)) == '["a b"][0]'
    assert str(Issue("", "x\ny", "a\nb")) == "document: 'x\\ny': a b"


def test_equal_experiments_are_equal_also_when_both_were_used() -> None:
    first, second = load_preset("default").with_changes(seed=7), load_preset("default").with_changes(seed=7)
    assert first is not second
    assert len(first.means) == len(second.means) and first.setups and second.setups  # cached from here on
    assert first == second and hash(first) == hash(second)
    assert first != second.with_changes(seed=8)
    assert first != first.spec()


def test_large_limits_are_written_with_separators():
    with pytest.raises(InputError, match=r"horizon: 1000000000000: must be at most 1,000,000,000$"):
        load_preset("default").with_changes(horizon=10**12)


# ---------------------------------------------------------------------------------------------------------------------
# Compact notation: reading and writing are exact inverses, and whatever cannot be read is told item by item.


modest = settings(max_examples=60)

ARM_TEXTS = [
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

BUDGET_TEXTS = [
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


@pytest.mark.parametrize(("text", "documents"), ARM_TEXTS)
def test_arms_read_and_write(text, documents):
    assert notation.read_arms(text) == documents
    assert notation.write_arms(specs.arm_laws(documents)) == text


@pytest.mark.parametrize(("text", "document"), BUDGET_TEXTS)
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
    for write, read_text, made, document in (
        (notation.write_arms, notation.read_arms, specs.arm_laws, arms),
        (notation.write_epsilon, notation.read_epsilon, specs.budget_law, budget),
    ):
        text = write(made(document), spaces)
        assert made(read_text(text)) == made(document)
        assert spaces or " " not in text


@modest
@given(st.lists(st.sampled_from(sorted(registry())).flatmap(specs.lines), min_size=1, max_size=4), st.booleans())
@example([{"policy": "ucb", "label": 'a, b); "c" \\ \n x5'}, {"policy": "ucb", "label": ""}], False)
def test_lines_round_trip(documents, spaces):
    lines = [line(document) for document in documents]
    assert [line(document) for document in notation.read_lines(notation.write_lines(lines, spaces))] == lines


# ---------------------------------------------------------------------------------------------------------------------
# Users with features in specs, notation and links; theory's shapes; data of one's own.


SGD = {"policy": "ldp-sgd", "epsilon": {"kind": "fixed", "value": 0.5}}


@settings(max_examples=60)
@given(users(), st.booleans())
def test_specs_notation_and_links_are_exact_inverses(document, spaces):
    experiment = Experiment.model_validate(spec_with_features(contexts=document, lines=[SGD]))
    assert Experiment.model_validate(experiment.spec()) == experiment
    assert hash(Experiment.model_validate(experiment.spec())) == hash(experiment)
    text = notation.write_contexts(experiment.contexts, spaces)
    assert Contexts.model_validate(notation.read_contexts(text)) == experiment.contexts
    opened, problems = links.read(links.write(experiment))
    assert problems == []
    assert opened == experiment


def test_contexts_take_the_place_of_arms():
    arms = load_preset("default")
    features = arms.with_changes(contexts=USERS, lines=[OLS])
    assert features.arms == () and features.arm_count == 3
    back = features.with_changes(arms=arms.spec()["arms"], lines=arms.spec()["lines"])
    assert back.contexts is None and back.arms == arms.arms
    assert "arms" not in features.spec() and "contexts" not in arms.spec()


def test_links_open_the_contextual_page():
    assert links.address(Experiment.model_validate(spec_with_features())).partition("?")[0].endswith("/contextual")
    assert links.address(load_preset("han-multi-quick"), "").partition("?")[2] == "preset=han-multi-quick"


def test_largest_gap_bounds_what_a_choice_costs():
    for contexts in (USERS, {**USERS, "link": "logistic"}, {**USERS, "link": "poisson", "structure": "multi"}):
        experiment = Experiment.model_validate(
            spec_with_features(contexts=contexts, lines=[SGD], horizon=200, trials=5)
        )
        regret = simulate(experiment, jobs=1, store=Store(None, 0)).lines[0].regret
        assert np.diff(regret, axis=1).max() > 0
        assert (regret <= experiment.largest_gap * 200).all()
    link = Contexts(dimension=2, arms=2, link="logistic")
    assert link.largest_gap == pytest.approx(1 / (1 + math.exp(-1)) - 1 / (1 + math.exp(1)))


# ------------------------------------------------------------------------------------------------------------------
# Guarantees and theory


@pytest.mark.parametrize("name", [name for name, policy in registry().items() if policy.setting == "contexts"])
def test_what_is_promised_is_what_was_asked_for(name):
    policy = registry()[name]
    line = {"policy": name} | ({"epsilon": {"kind": "fixed", "value": 0.7}} if policy.epsilon != "none" else {})
    delta = 0.03 if "delta" in policy.parameters.model_fields else 0.0
    line["params"] = {"delta": 0.03} if delta else {}
    promise = policy.guarantee(Experiment.model_validate(spec_with_features(lines=[line])).setups[0])
    assert promise.model == policy.privacy
    if policy.privacy == "local":
        assert (promise.epsilon, promise.delta) == (0.7, delta)


@pytest.mark.parametrize("structure", ["single", "multi"])
@pytest.mark.parametrize("law", [{"kind": "sphere"}, {"kind": "margin", "beta": 0.5}, {"kind": "discrete"}])
def test_bounds_of_contextual_lines_are_labelled_and_capped(structure, law):
    lines = [
        {"policy": name} | ({"epsilon": {"kind": "fixed", "value": 1}} if policy.epsilon != "none" else {})
        for name, policy in registry().items()
        if policy.setting == "contexts"
    ]
    experiment = Experiment.model_validate(
        spec_with_features(contexts={**USERS, "structure": structure, "law": law}, lines=lines)
    )
    table = bounds(experiment)
    assert np.isfinite(table["value"]).all()
    assert (table["value"] <= table["t"] * experiment.largest_gap * (1 + 1e-12)).all()
    assert set(table["status"]) == {"order-only", "proved"}  # proved is the trivial cap alone
    assert set(table[table["status"] == "proved"]["name"]) == {"Trivial cap"}
    shapes = table[table["status"] == "order-only"]["name"]
    assert shapes.str.contains("(order-only, C = 1, ε = 1", regex=False).all()
    shown = {bound.name for bound in line_bounds(experiment, 2) if bound.not_applicable is None}
    margin = {"Theorem 4.1"} if structure == "multi" else {"Theorem 3.3"}
    assert (margin <= shown) == (law["kind"] != "sphere")


def test_no_regret_is_called_a_share_of_a_proved_bound_where_only_orders_are_known():
    rows = summaries(simulate(Experiment.model_validate(spec_with_features())))
    assert all(np.isnan(row.regret_over_bound) for row in rows)


def test_a_cap_is_hidden_where_means_are_unbounded():
    experiment = Experiment.model_validate(spec_with_features(contexts={**USERS, "law": {"kind": "gaussian"}}))
    assert [bound.not_applicable for bound in line_bounds(experiment, 0) if bound.name == "Trivial cap"] != [None]


# ------------------------------------------------------------------------------------------------------------------
# Data of one's own


def test_synthetic_rows_go_round_through_the_loader(tmp_path):
    text = lending.synthetic_csv(rows=80, seed=3)
    (tmp_path / "loans.csv").write_text(text, newline="")
    table, written = lending.read_lending(tmp_path / "loans.csv").data, pd.read_csv(io.StringIO(text))
    np.testing.assert_array_equal(table.features[:, 0], written["primary_fico"])
    assert table.features.shape == (80, 9) and len(table.actions) == 80
    assert not table.synthetic and "synthetic" in lending.synthetic(80, 3).label


def test_price_is_the_discounted_stream_less_the_amount():
    q = 1 / 1.02
    by_hand = 300 * sum(q**j for j in range(1, 49)) - 9000
    one = lending.price(np.array([300.0]), np.array([48.0]), np.array([2.0]), np.array([9000.0]))
    assert one[0] == pytest.approx(by_hand)
    flat = lending.price(np.array([300.0]), np.array([48.0]), np.array([0.0]), np.array([9000.0]))
    assert flat[0] == pytest.approx(300 * 48 - 9000)


def test_lending_becomes_an_experiment_at_the_papers_settings():
    document = lending.lending_document(lending.synthetic(400), horizon=300, trials=2)
    experiment = Experiment.model_validate(document)
    assert "synthetic" in experiment.title
    users = experiment.contexts
    assert (users.dimension, users.arms, users.link, users.rewards) == (18, 25, "logistic", "mean")
    assert users.largest_norm <= 1 + 1e-9
    result = simulate(experiment, jobs=1, store=Store(None, 0))
    assert result.complete and result.lines[0].regret[:, -1].min() > 0


def test_lines_of_ones_own_play_on_a_linear_model_whose_rewards_are_not_clipped():
    lines = load_preset("trust-with-features").spec()["lines"]
    table = lending.synthetic(400)
    large = replace(table, rewards=100 * table.rewards)
    fitted = [lending.lending_document(each, horizon=500, trials=2, lines=lines) for each in (table, large)]
    assert fitted[0]["contexts"]["link"] == "identity" and fitted[0]["contexts"] == fitted[1]["contexts"]
    experiment = Experiment.model_validate(fitted[0])
    assert [line.policy for line in experiment.lines] == [line["policy"] for line in lines]
    assert simulate(experiment, jobs=1, store=Store(None, 0)).complete
    assert Experiment.model_validate(lending.lending_document(table)).contexts.link == "logistic"


def test_logistic_regression_finds_the_parameters():
    rng = np.random.default_rng(0)
    x, theta = rng.normal(size=(20_000, 3)), np.array([1.0, -2.0, 0.5])
    y = (rng.random(20_000) < 1 / (1 + np.exp(-x @ theta))).astype(float)
    np.testing.assert_allclose(lending.fit_logistic(x, y), theta, atol=0.12)
    assert np.isfinite(lending.fit_logistic(x, (x[:, 0] > 0).astype(float))).all()  # separable data


CSV = "age,income,offer,bought\n30,1.5,a,0\n40,2.5,b,1\n50,1.0,a,1\n20,2.0,b,0\n35,1.1,a,1\n45,0.4,b,1\n"


def test_any_csv_with_named_actions(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(CSV)
    table = lending.read_table(path, ["age", "income"], "offer", "bought").data
    assert table.action_names == ("a", "b")
    users = lending.contexts_of(table)
    assert (users.structure, users.arms, users.dimension, users.link) == ("multi", 2, 3, "logistic")
    document = spec_with_features(contexts=users.model_dump(mode="json"), lines=[SGD])
    assert Experiment.model_validate(document).contexts == users


def test_any_csv_with_amounts_as_actions(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(CSV.replace(",a,", ",1.5,").replace(",b,", ",3,").replace(",1\n", ",1.25\n"))
    table = lending.read_table(path, ["age", "income"], "offer", "bought", numeric_action=True).data
    users = lending.contexts_of(table, prices=[1, 2, 3])
    assert (users.structure, users.arms, users.dimension, users.link) == ("single", 3, 6, "identity")
    assert users.law.actions == (0, 0.5, 1)


def test_a_long_table_is_thinned_and_its_theta_is_that_of_all_rows():
    table = lending.synthetic(3000)
    whole, thin = lending.contexts_of(table), lending.contexts_of(table, most_cells=900)
    assert len(thin.law.rows) == 100 < len(whole.law.rows)
    assert thin.theta == whole.theta


def test_a_wrong_lending_file_is_refused(tmp_path):
    good = lending.synthetic_csv(rows=5).splitlines()
    cells = good[3].split(",")
    cells[0], cells[2] = "12", "36.5"
    (tmp_path / "wrong.csv").write_text("\n".join([*good[:3], ",".join(cells), *good[4:]]))
    with refused("row 4, column primary_fico", "row 4, column term", value="12"):
        lending.read_lending(tmp_path / "wrong.csv")
    with pytest.raises(InputError):
        lending.read_lending(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="rows"):
        lending.contexts_of(lending.synthetic(10))
