"""Late feedback against the plain references, and without lateness against the kernels that know none; visits."""

import math
from dataclasses import replace

import numpy as np
import pytest
import reference
from conformance import line_of
from helpers import delta_by_hand, memory, numbers, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs import COINS, GROUPS, LATENESS, SPREAD, UNIT, arms_pulled, experiment_of, looped
from spec_strategies import lines, told_well

from bandit_core import Experiment, InputError, bounds, simulate
from bandit_core.experiments import links
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, Signal, Stopped
from bandit_core.model.policy import TRIVIAL
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.spec.feedback import Feedback
from bandit_core.studies.production import composed
from bandit_core.theory import definitions

WIDE = [{"kind": "gaussian", "mean": 0.5, "sd": 1.0}, {"kind": "pareto", "mean": 1.0, "shape": 2.5}]
LATE = [name for name, policy in registry().items() if policy.late and policy.setting == "arms"]
BATCHES = {  # their runs: test_batches.py
    *("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "adac-ucb", "anytime-lazy-ucb", "lazy-dp-ts", "dp-ucb-int"),
    *("se", "ldp-se", "dp-se"),
}
# Theirs: test_gaussian_ts.py, test_gaussian_ts.py, test_heavy.py, test_trees.py, test_batches.py;
# with features: test_contextual_kernels.py.
OTHERS = {
    *(
        "gaussian-ts",
        "normal-ts",
        "normal-ts-l",
        "normal-ts-c",
        "robust-ucb",
        "dp-robust-ucb",
        "dp-robust-se",
        "ldp-robust-se",
    ),
    *("private-ucb", "dp-ucb-bound", "dp-ucb"),
    *("shuffle-se", "dist-dp-se", "dist-rdp-se"),
}
MIXED_BITS = {"heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-bw"}  # indices of the same responses in another order
NEVER = ["top-two", "ctb-tt", "adap-tt"]
TESTS = [name for name in LATE if name.startswith("explore-then-commit")]
CASES = [
    *((name, line_of(name, 1.0), UNIT if "kl" in name or "ts" in name else COINS) for name in reference.POLICIES),
    *((name, line_of(name, budget, eps_min=0.5), COINS) for name in ("heldp-ucb-l",) for budget in (GROUPS, SPREAD)),
    *((name, line_of(name, GROUPS, eps_min=2.0), WIDE) for name in ("heldp-ucb-bs", "heldp-ucb-ls")),
    ("heldp-ucb-b", line_of("heldp-ucb-b", GROUPS, eps_min=0.5), COINS),
    *((name, line_of(name, budget), COINS) for name in ("heldp-ucb-bw", "heldp-ucb-lw") for budget in (GROUPS, SPREAD)),
]


def test_every_plain_reference_has_a_late_kernel():
    assert set(LATE) == {*reference.POLICIES, *TESTS, *BATCHES, *OTHERS}
    assert len(TESTS) == 3
    assert {name for name, policy in registry().items() if not policy.late} == set(NEVER)


@pytest.mark.parametrize("name", NEVER)
def test_who_cannot_wait_says_why(name):
    """In words of its own, not in those that hold for any policy."""
    assert registry()[name].cannot_wait != Policy.cannot_wait


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize(("name", "line", "arms"), CASES)
def test_the_arms_of_the_reference(name, line, arms, batch, delay):
    experiment = experiment_of(line, arms=arms, batch=batch, delay=delay)
    setup, rows = experiment.setups[0], streams(3, 0, 2)
    call = experiment.lines[0].entry.prepare(looped(setup))
    assert call.kernel is call.rule.late
    pulled = arms_pulled(call, rows, setup.horizon)
    for trial in range(2):
        followed = {"played": pulled[trial]} if name in MIXED_BITS | {"kl-ucb"} else {}
        np.testing.assert_array_equal(pulled[trial], reference.pulled_arms(name, setup, rows[trial], **followed))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(("users", "batch", "delay"), [(30, 1, 5), (30, 50, 0), (30, 20, 15), (30, 7, 100)])
def test_a_test_is_decided_when_its_last_user_is_counted(name, users, batch, delay):
    """In turns until then; the winner by the rewards of the test's users only, then for good."""
    arms = [{"kind": "bernoulli", "mean": float(mean)} for mean in (0.0, 1.0, 0.0)]
    experiment = experiment_of(line_of(name, 900.0, users=users), arms=arms, horizon=200, batch=batch, delay=delay)
    setup, rows = experiment.setups[0], streams(3, 0, 5)
    decided = next(t for t in range(1, 10**4) if t % batch == 0 and t >= users + delay)
    pulled = arms_pulled(registry()[name].prepare(setup), rows, 200)
    for trial in range(5):
        order = reference.Stream(rows[trial]).labels(3)
        expected = [order[t % 3] for t in range(min(200, decided))] + [1] * max(0, 200 - decided)
        np.testing.assert_array_equal(pulled[trial], expected)


@pytest.mark.parametrize("name", LATE)
def test_nothing_is_learnt_before_the_first_rewards_are_counted(name):
    """Arms in turns until then, all of them equally often; what they pay changes nothing (Thompson sampling draws)."""
    calls = []
    for arms in (COINS, COINS[::-1]):
        setup = experiment_of(line_of(name), arms=arms, batch=30, delay=30).setups[0]
        calls.append(arms_pulled(registry()[name].prepare(setup), streams(3, 0, 4), 400)[:, :60])
    np.testing.assert_array_equal(*calls)
    if name not in ("thompson", "ts-cf"):
        for row in calls[0]:
            np.testing.assert_array_equal(np.bincount(row), [20, 20, 20])


@pytest.mark.parametrize("name", [name for name in LATE if registry()[name].anytime])
def test_a_shorter_horizon_is_a_prefix(name):
    late = experiment_of(line_of(name, 4.0), horizon=900, batch=300, delay=5)
    play, rows = registry()[name].play, streams(1, 0, 4)
    short = play(late.with_changes(horizon=500).setups[0], rows, np.array([10, 500]), Signal())
    long = play(late.setups[0], rows, np.array([10, 77, 500, 900]), Signal())
    assert short.regret.tobytes() == long.regret[:, [0, 2]].tobytes()


def test_a_late_kernel_can_be_stopped():
    signal = Signal()
    signal.stop()
    with pytest.raises(Stopped):
        setup = experiment_of(line_of("ucb"), batch=10, horizon=10**6).setups[0]
        registry()["ucb"].play(setup, streams(0, 0, 1), np.array([10, 10**6]), signal)


@pytest.mark.parametrize(
    ("batch", "delay", "user", "counted"), [(1, 0, 5, 5), (1, 3, 5, 8), (10, 0, 10, 10), (10, 1, 10, 20)]
)
def test_when_a_reward_is_counted(batch, delay, user, counted):
    assert Feedback(batch=batch, delay=delay).counted_at(user) == counted


# --- the spec -------------------------------------------------------------------------------------------------------


def test_defaults_change_neither_document_nor_link_nor_identity():
    plain = Experiment.model_validate({"arms": COINS, "lines": [line_of("ucb"), line_of("heldp-ucb-l", SPREAD)]})
    said = Experiment.model_validate(
        {**plain.spec(), "feedback": {"batch": 1, "delay": 0}, "visits": 1, "visits_delta": 0.0}
    )
    assert said == plain
    assert said.spec() == plain.spec()
    assert not {"feedback", "visits", "visits_delta"} & set(plain.spec())
    assert not {"batch", "delay", "visits", "visits_delta"} & set(links.write(plain))
    assert [line.identity for line in prepared_lines(said)] == [line.identity for line in prepared_lines(plain)]


def test_a_link_carries_them_and_opens_without_what_cannot_be():
    said = experiment_of(line_of("ucb"), line_of("heldp-ucb-b"), batch=50, delay=3, visits=4)
    query = links.write(said)
    assert {query["batch"], query["delay"], query["visits"]} == {"50", "3", "4"}
    assert links.read(query) == (said, [])
    opened, issues = links.read({**query, "batch": "0"})
    assert [issue.path for issue in issues] == ["batch"]
    assert opened.feedback == Feedback(delay=3)
    opened, issues = links.read({**query, "lines": "ctb-tt(1)"})
    assert [issue.path for issue in issues] == ["feedback"]
    assert opened.feedback.immediate
    assert [line.policy for line in opened.lines] == ["ctb-tt"]


def test_who_cannot_wait_is_refused_by_name():
    with refused("feedback", value="batch 5, delay 0") as issues:
        experiment_of(line_of("ctb-tt"), line_of("ucb"), line_of("top-two"), batch=5)
    assert all(name in issues[0].allowed for name in ("ctb-tt", "top-two"))
    with refused("feedback") as issues:
        experiment_of(line_of("ctb-tt"), batch=5)
    instead = issues[0].allowed.rpartition("instead: ")[2].split(", ")
    assert 1 <= len(instead) <= 5
    for name in instead:
        policy = registry()[name]
        assert (policy.privacy, policy.setting, bool(policy.late)) == ("local", "arms", True)


def test_upper_bounds_of_immediate_feedback_are_not_drawn_where_it_is_late():
    lines = [line_of(name) for name in ("ucb", "heldp-ucb-b", "kl-ucb-cf")]
    late = bounds(experiment_of(*lines, batch=20))
    assert set(late.name[late.side == "upper"]) == {TRIVIAL}
    plain = bounds(experiment_of(*lines))
    assert len(set(plain.name[plain.side == "upper"])) > 1
    assert set(late.name[late.side == "lower"]) == set(plain.name[plain.side == "lower"])


# --- people who come again ------------------------------------------------------------------------------------------


PURE = [name for name, policy in registry().items() if policy.setting == "arms" and policy.epsilon != "none"]


@pytest.mark.parametrize("name", PURE)
def test_a_person_who_comes_again_has_one_budget(name):
    """What one answer spends is that of a plain spec with epsilon / m; the promise and the account are m times it."""
    policy = registry()[name]
    part = Experiment.model_validate({"arms": COINS, "lines": [line_of(name, 0.5)], "horizon": 500, "trials": 2})
    if policy.guarantee(part.setups[0]).delta > 0:
        return  # see below
    whole = part.with_changes(lines=[line_of(name, 2.0)], visits=4)
    for left, right in zip(*(prepared_lines(each) for each in (whole, part)), strict=True):
        assert left.identity == right.identity
    one, person = (policy.guarantee(each.setups[0]) for each in (part, whole))
    assert person.epsilon == pytest.approx(4 * one.epsilon)
    assert person.model == one.model
    assert "4 × " in person.words
    spent = policy.spent(whole.setups[0], np.array([1, 2, 10**9]))
    assert spent[0] <= policy.spent(part.setups[0], np.array([1]))[0] * (1 + 1e-12)
    assert spent[-1] <= person.epsilon * (1 + 1e-9)
    for release, each in zip(*(policy.releases(one.setups[0]) for one in (whole, part)), strict=True):
        assert release.times == 4 * each.times
        assert release.epsilon == each.epsilon
        assert release.unit == "one person"


WITH_DELTA = ("shuffle-se", "dist-rdp-se", "adac-ucb", "dp-ucb-int", "gaussian-ts", "ldp-ols", "ldp-linucb", "ldp-gloc")


@pytest.mark.parametrize("name", WITH_DELTA)
def test_a_person_who_comes_again_keeps_epsilon_and_delta(name):
    """By hand: 4 epsilon, and 4 delta (local) or 4 e^(3 epsilon) delta, and 16 rho; no more than was asked for."""
    policy, delta = registry()[name], 1e-3
    arms = {"arms": COINS} if policy.setting == "arms" else {"contexts": {"dimension": 2, "arms": 3}}
    document = {**arms, "lines": [line_of(name, 2.0, delta=delta)], "horizon": 500, "trials": 2}
    once, again = (Experiment.model_validate({**document, "visits": visits}) for visits in (1, 4))
    whole, person = (policy.guarantee(each.setups[0]) for each in (once, again))
    one = policy.guarantee(replace(again.setups[0], visits=1))
    assert (again.setups[0].fixed_epsilon, person.model, person.measure) == (0.5, whole.model, whole.measure)
    local = policy.privacy == "local"
    assert again.setups[0].parameters.delta == pytest.approx(delta / (4 if local else 4 * math.exp(1.5)))
    factor = 4 if local else 4 * math.exp(3 * one.epsilon)
    assert (person.epsilon, person.delta) == pytest.approx((4 * one.epsilon, factor * one.delta))
    assert person.rho == (None if one.rho is None else pytest.approx(16 * one.rho))
    assert person.epsilon <= 2.0 * (1 + 1e-9) and person.delta <= delta * (1 + 1e-9)
    assert f"{person.epsilon:.4g}" in person.words
    assert policy.spent(again.setups[0], np.array([1, 10**9]))[-1] <= person.epsilon * (1 + 1e-9)
    assert Experiment.model_validate(again.spec()) == again  # the spec keeps the person's delta
    with refused("visits", value=900):
        Experiment.model_validate({**document, "lines": [line_of(name, 2.0, delta=1e-11)], "visits": 900})


@pytest.mark.parametrize("epsilon", [GROUPS, SPREAD, {"kind": "uniform", "low": 0.0, "high": 3.0},
    {"kind": "clamped-gaussian", "mean": 1.0, "sd": 1.0, "low": 0.0, "high": 3.0},
    {"kind": "empirical", "values": [0.5, 1.0, 4.0]}, {"kind": "fixed", "value": 3.0}])  # fmt: skip
def test_every_distribution_of_budgets_is_divided_as_a_whole(epsilon):
    plain = experiment_of(line_of("heldp-ucb-l", epsilon, eps_min=1.0))
    parted = plain.with_changes(visits=3)
    assert parted.setups[0].parameters.eps_min == pytest.approx(1 / 3)
    for threshold in (0.1, 0.5, 1.0, 2.9):
        kept = plain.setups[0].epsilon.share_above(threshold)
        assert parted.setups[0].epsilon.share_above(threshold / 3) == pytest.approx(kept, abs=1e-9)
    assert type(parted.setups[0].epsilon).model_validate(parted.setups[0].epsilon.model_dump())


@pytest.mark.parametrize(("epsilon", "part", "times"), [(0.0, 0.7, 1), (0.5, 0.4, 6), (2.0, 0.5, 4), (1.1, 0.3, 8)])
def test_the_tight_account_is_that_of_randomised_responses(epsilon, part, times):
    assert definitions.tight_delta(epsilon, part, times) == pytest.approx(delta_by_hand(epsilon, part, times), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "times", "delta"), [(1.0, 1, 0.0), (2.0, 5, 1e-6), (1.0, 300, 1e-6), (8.0, 40, 1e-9)]
)
def test_the_tight_part_is_the_largest_that_keeps_the_promise(epsilon, times, delta):
    part = definitions.tight_part(epsilon, times, delta)
    assert part >= epsilon / times * (1 - 1e-12)
    assert definitions.tight_delta(epsilon, part, times) <= delta + 1e-15
    assert definitions.tight_delta(epsilon, part * 1.001, times) > delta
    lost = definitions.tight_delta(epsilon, 1.1 * part, times)
    assert definitions.tight_epsilon(1.1 * part, times, lost) == pytest.approx(epsilon)
    if times == 300:
        assert part > 2 * epsilon / times


COMPOSED = [name for name in PURE if registry()[name].privacy == "local"]


@pytest.mark.parametrize("name", [*COMPOSED, "ldp-sgd"])
def test_tight_composition_lets_one_answer_spend_more(name):
    """The part is the largest that keeps the promise by the enumerated account; what is played is a plain spec's."""
    policy, delta = registry()[name], 1e-3
    arms = {"arms": COINS} if policy.setting == "arms" else {"contexts": {"dimension": 2, "arms": 3}}
    document = {**arms, "lines": [line_of(name, 2.0)], "horizon": 500, "trials": 2, "visits": 4}
    basic, tight = (Experiment.model_validate({**document, "visits_delta": each}) for each in (0.0, delta))
    part = tight.setups[0].fixed_epsilon
    assert part > 0.5 * (1 + 1e-3)
    assert delta_by_hand(2.0, part, 4) <= delta < delta_by_hand(2.0, part * (1 + 1e-9), 4) * (1 + 1e-6)
    alone = basic.with_changes(lines=[line_of(name, part)], visits=1)
    for left, right in zip(*(prepared_lines(each) for each in (tight, alone)), strict=True):
        assert left.identity == right.identity
    kept = policy.guarantee(tight.setups[0])
    assert (kept.model, kept.measure, kept.delta) == ("local", "approximate", delta)
    assert kept.epsilon == pytest.approx(2.0)
    assert f"{part:.4g}" in kept.words and kept.budget in kept.words
    spent = policy.spent(tight.setups[0], np.array([1, 2, 4, 10**9]))
    by_hand = [part, *(definitions.tight_epsilon(part, count, delta) for count in (2, 4, 4))]
    np.testing.assert_allclose(spent, by_hand)
    listed = policy.releases(tight.setups[0])
    assert composed(listed) == pytest.approx(4 * part)
    assert 1.9 < composed(listed, delta) <= 2.0 * (1 + 1e-9)  # Laplace noise is a little better than the worst
    assert Experiment.model_validate(tight.spec()) == tight
    assert links.read(links.write(tight)) == (tight, [])


@pytest.mark.parametrize("name", COMPOSED)
def test_bounds_beside_tight_composition_are_those_of_one_answer(name):
    """Which is pure: what is drawn is what a plain spec with the part for epsilon has, and says whose epsilon it is."""
    tight = experiment_of(line_of(name, 2.0), visits=4, visits_delta=1e-3)
    part = tight.setups[0].fixed_epsilon
    alone = experiment_of(line_of(name, part))
    pairs = list(zip(line_bounds(tight, 0), line_bounds(alone, 0), strict=True))
    for mine, theirs in pairs:
        assert (mine.name, mine.not_applicable) == (theirs.name, theirs.not_applicable)
        assert (f"{part:.4g}" in mine.assumptions) == (mine.model != "none")
    assert bounds(tight).value.equals(bounds(alone).value)


@pytest.mark.parametrize("line", [
    *(line_of(name, 1.0) for name in ("dp-imed", "shuffle-se", "gaussian-ts", "private-ucb", "adac-ucb")),
    line_of("heldp-ucb-l", GROUPS, eps_min=0.5),
])  # fmt: skip
def test_who_composes_nothing_is_refused_by_name(line):
    with refused("visits_delta", value=1e-6) as issues:
        experiment_of(line, line_of("ucb"), line_of("ts-cf", 1.0), visits=3, visits_delta=1e-6)
    assert line["policy"] in issues[0].allowed and "ts-cf" not in issues[0].allowed
    experiment_of(line, visits_delta=1e-6)  # whoever comes once composes nothing


def test_visits_change_nothing_without_privacy():
    plain = experiment_of(line_of("ucb"), line_of("thompson"))
    again = plain.with_changes(visits=9)
    assert [line.identity for line in prepared_lines(again)] == [line.identity for line in prepared_lines(plain)]
    assert again.lines[0].entry.guarantee(again.setups[0]) == plain.lines[0].entry.guarantee(plain.setups[0])


# --- any spec -------------------------------------------------------------------------------------------------------


@st.composite
def coming(draw):
    names = draw(st.lists(st.sampled_from(list(registry())), min_size=1, max_size=3))
    chosen = [draw(lines(name)) for name in names]
    for line in chosen:
        if line.get("params", {}).get("v") == 0.01:  # whose first epoch no whole number of 64 bits can hold
            line["params"]["v"] = 0.04
    document = {
        "lines": chosen,
        "horizon": draw(st.integers(1, 300)),
        "trials": 2,
        "feedback": {"batch": draw(st.integers(1, 50)), "delay": draw(st.integers(0, 400))},
        "visits": draw(st.integers(1, 20)),
        "visits_delta": draw(st.sampled_from([0.0, 0.0, 1e-300, 1e-12, 1e-6, 0.5, 1 - 2**-53])),
    }
    if draw(st.booleans()):
        del document["feedback"]
    with_arms = registry()[names[0]].setting == "arms"
    return document | ({"arms": COINS} if with_arms else {"contexts": {"dimension": 2, "arms": 3}})


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(coming())
def test_any_spec_runs_or_is_refused_in_words(document):
    try:
        experiment = Experiment.model_validate(document)
    except InputError as refusal:
        told_well(refusal, document)
        return
    assert Experiment.model_validate(experiment.spec()) == experiment
    result = simulate(experiment, jobs=1, store=memory())
    assert result.complete
    for line in result.lines:
        np.testing.assert_array_equal(line.pulls.sum(axis=1), experiment.horizon)
    plain = {name: value for name, value in document.items() if name not in ("feedback", "visits", "visits_delta")}
    said = plain | {"feedback": {"batch": 1, "delay": 0}, "visits": 1}
    both = [simulate(Experiment.model_validate(each), jobs=1, store=memory()) for each in (plain, said)]
    assert numbers(both[0]) == numbers(both[1])
