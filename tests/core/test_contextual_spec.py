"""Users with features in specs, notation and links; theory's shapes; data of one's own."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import OLS, USERS, spec_with_features, users

from bandit_core import Experiment, InputError, bounds, load_preset, simulate
from bandit_core.data import lending
from bandit_core.experiments import links
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.policies import registry
from bandit_core.simulation.results import summaries
from bandit_core.simulation.store import Store
from bandit_core.spec import notation
from bandit_core.spec.contexts import Contexts

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


def test_arms_refuse_contextual_policies():
    with refused("lines[0].policy", value="ldp-ols"):
        Experiment.model_validate({"arms": [{"kind": "bernoulli", "mean": 0.5}], "lines": [OLS]})


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
    lending.write_synthetic_csv(tmp_path / "loans.csv", rows=80, seed=3)
    table, invented = lending.read_lending(tmp_path / "loans.csv").data, lending.synthetic(80, 3)
    np.testing.assert_array_equal(table.features, invented.features)
    np.testing.assert_allclose(table.actions, invented.actions)
    assert not table.synthetic and "synthetic" in invented.label
    for name, (low, high, _) in lending.LENDING_COLUMNS.items():
        column = lending.synthetic_rows(500, 1)[0][name]
        assert low <= column.min() and column.max() <= high


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
    assert (
        Experiment.model_validate(spec_with_features(contexts=users.model_dump(mode="json"), lines=[SGD])).contexts
        == users
    )


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


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (CSV.replace("40,", "forty,"), "row 3, column age"),
        (CSV.replace("40,2.5,b,1", "40,2.5,b"), "row 3, column bought"),
        (CSV.replace("40,2.5,b,1", "40,2.5,b,1,1"), "row 3"),
        (CSV.replace("40,2.5,b,1", "40,nan,b,1"), "row 3, column income"),
        (CSV.replace("income", "wage"), "column income"),
        (CSV.replace("income", "age"), "header"),
        (CSV.replace(",b,", ",a,"), "column offer"),
        ("age,income,offer,bought\n", ""),
    ],
)
def test_a_wrong_csv_names_row_and_column(tmp_path, text, path):
    (tmp_path / "shop.csv").write_text(text)
    with pytest.raises(InputError) as refusal:
        lending.read_table(tmp_path / "shop.csv", ["age", "income"], "offer", "bought")
    assert any(problem.path == path or not path for problem in refusal.value.issues), refusal.value


def test_a_wrong_lending_file_is_refused(tmp_path):
    lending.write_synthetic_csv(tmp_path / "loans.csv", rows=5)
    good = (tmp_path / "loans.csv").read_text().splitlines()
    cells = good[3].split(",")
    cells[0], cells[2] = "12", "36.5"
    (tmp_path / "wrong.csv").write_text("\n".join([*good[:3], ",".join(cells), *good[4:]]))
    with refused("row 4, column primary_fico", "row 4, column term", value="12"):
        lending.read_lending(tmp_path / "wrong.csv")
    with pytest.raises(InputError):
        lending.read_lending(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="rows"):
        lending.contexts_of(lending.synthetic(10))
