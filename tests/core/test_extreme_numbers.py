"""Numbers at the ends of what a spec may hold: refused in words, or computed without leaving the range of a double."""

import json

import numpy as np
import pytest
from extreme_links import AT_THE_ENDS, BEYOND, FOUND_WRONG, allowed_lines, extreme_links
from helpers import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from bandit_core import simulate
from bandit_core.data.observations import read_budgets, read_observations
from bandit_core.experiments import catalogue, links
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.experiments.presets import load_preset
from bandit_core.policies import registry
from bandit_core.simulation.costs import cost
from bandit_core.simulation.results import summaries
from bandit_core.simulation.store import Store
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError
from bandit_core.studies.business_case import typed_arms
from bandit_core.studies.production import releases
from bandit_core.studies.sweep import budgets
from bandit_core.theory.power import EVERY_TRUST, sample_size

# Are played: not all, as their kernels would have to be compiled.
FEW = ("ucb", "ts-cf", "heldp-ucb-b", "dp-ucb-int", "robust-ucb", "explore-then-commit", "kl-ucb", "dp-se")


def read(link: dict[str, str]) -> Experiment | None:
    """The experiment of a link; None where a part of it was refused, in words."""
    experiment, problems = links.read(link)
    assert all(problem.path and problem.allowed and "\n" not in str(problem) for problem in problems)
    assert links.read(links.write(experiment)) == (experiment, [])
    return None if problems else experiment


def judge(experiment: Experiment) -> None:
    """All that is computed before a run: every number is finite, or its bound says why it is not drawn."""
    times = checkpoints(experiment.horizon)
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        assert experiment.label(number)
        assert line.entry.guarantee(setup).words
        assert not np.isnan(line.entry.spent(setup, np.array([1, 10, experiment.horizon]))).any()
        for bound in catalogue.line_bounds(experiment, number):
            if bound.not_applicable is None:
                values = bound.values(times, experiment.largest_gap)
                assert np.isfinite(values).all() or np.isinf(experiment.largest_gap), bound.name
    assert cost(experiment).seconds > 0
    releases(experiment)


def play(experiment: Experiment) -> None:
    result = simulate(experiment, jobs=1, store=Store(None, 0))
    for line in result.lines:
        assert np.isfinite(line.mean).all()
        assert (line.mean >= -1e-9 * abs(experiment.largest_gap)).all()
    assert len(summaries(result)) == len(experiment.lines)


@pytest.mark.parametrize("link", FOUND_WRONG, ids=lambda link: link["lines"])
def test_links_that_once_ended_in_an_error_page(link):
    experiment = read(link)
    judge(experiment or links.read(link)[0])
    if experiment is not None:
        play(experiment.with_changes(horizon=200, trials=2))


@settings(max_examples=100)
@given(extreme_links())
def test_any_extreme_numbers_are_computed_or_refused(link):
    experiment = read(link)
    if experiment is None:
        return
    judge(experiment)
    if experiment.horizon <= 1000 and all(line.policy in FEW for line in experiment.lines):
        play(experiment)


@pytest.mark.parametrize("policy", sorted(registry()))
@settings(max_examples=4)
@given(data=st.data())
def test_every_policy_plays_the_extremes_of_its_parameters_or_refuses_them(policy, data):
    arms = {"contexts": "single(2,3)"} if registry()[policy].setting == "contexts" else {"arms": "0.9,0.5"}
    horizon = data.draw(st.sampled_from(["1", "10", "1000"]))
    experiment = read({**arms, "lines": data.draw(allowed_lines(policy)), "T": horizon, "n": "2"})
    if experiment is not None:
        judge(experiment)
        play(experiment)


@settings(max_examples=10)
@given(extreme_links())
def test_the_catalogue_of_bounds_takes_extreme_numbers(link):
    if (experiment := read(link)) is not None:
        times = checkpoints(experiment.horizon)
        for entry in catalogue.entries(experiment):
            assert np.shape(entry.value(experiment, times)) == times.shape


@pytest.mark.parametrize("number", ["1e-7", "9.999e-7", "1e-200", "5e-324", "1e13", "1e308"])
@pytest.mark.parametrize(
    ("read", "text", "path"),
    [
        (notation.read_arms, "gaussian({}, 1)", "arms[0].mean"),
        (notation.read_arms, "gaussian(0, {})", "arms[0].sd"),
        (notation.read_arms, "0.5, uniform(-5, -{})", "arms[1].high"),
        (notation.read_epsilon, "discrete(1, {})", "epsilon.values[1]"),
        (notation.read_epsilon, "uniform(0, {})", "epsilon.high"),
        (notation.read_contexts, "single(2, 3, noise={})", "contexts.noise"),
    ],
)
def test_what_is_too_small_or_too_large_is_told(read, text, path, number):
    with refused(path) as issues:
        read(text.format(number))
    assert "in size" in issues[0].allowed


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_the_smallest_and_the_largest_budget_are_taken(epsilon):
    default = load_preset("default").with_changes(horizon=50, trials=2)
    line = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": epsilon}}
    judge(default.with_changes(lines=[line]))
    play(default.with_changes(lines=[line]))
    assert budgets([epsilon]) == (epsilon,)
    for trust in EVERY_TRUST:
        assert np.isfinite(sample_size(0.04, 0.004, privacy=trust, epsilon=epsilon).inflation)


def test_a_budget_beyond_them_is_refused_everywhere():
    for epsilon in (9e-7, 1.1e6):
        with refused("epsilon[0]"):
            budgets([epsilon])
        with refused("epsilon"):
            sample_size(0.04, 0.004, privacy="local", epsilon=epsilon)
        with refused("lines[0].epsilon.value"):
            line = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": epsilon}}
            load_preset("default").with_changes(lines=[line])
        [doubt] = read_budgets(f"1\n2\n{epsilon}\n".encode()).doubts
        assert "0, or 1e-6 to 1e6" in doubt.question


def test_deltas_may_be_smaller_than_other_numbers():
    for delta, taken in ((1e-12, True), (9e-13, False)):
        for line in (f"dp-ucb-int(1,delta={delta})", f"adac-ucb(1,delta={delta})", f"shuffle-se(1,delta={delta})"):
            problems = links.read({"lines": line})[1]
            assert [problem.path for problem in problems] == ([] if taken else ["lines[0].params.delta"])


def test_what_was_observed_is_what_it_is():
    rows = "\n".join(["A,B", *["1e-9,0.5"] * 3, *["2e-9,1e12"] * 3])
    documents = [
        option.arm().model_dump(exclude={"count"})
        for option in read_observations(rows.encode(), rows="wide").data.options
    ]
    assert documents[0] == {"kind": "empirical", "values": (1e-9, 2e-9), "counts": (1, 1)}
    arms = json.loads(json.dumps(documents))
    experiment = load_preset("default").with_changes(arms=arms, lines=[{"policy": "robust-ucb"}])
    assert experiment.means[0] == pytest.approx(1.5e-9)


def test_gaps_may_be_smaller_than_numbers_and_bounds_say_where_they_end():
    tiny = load_preset("default").with_changes(
        arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.5000000001)],
        lines=[{"policy": "ldp-robust-se", "epsilon": {"kind": "fixed", "value": 1}, "params": {"v": 0.01}}],
    )
    reasons = {bound.name: bound.not_applicable for bound in catalogue.line_bounds(tiny, 0)}
    assert reasons["Theorem 7, corrected"] == catalogue.NOT_FINITE
    assert reasons["Trivial cap"] is None


def test_typed_rates_are_refused_where_the_limits_are_too_far_away():
    with refused("baseline") as issues:
        typed_arms(0.5, [], True, (0, 1e6))
    assert "1e-6 of the range" in issues[0].allowed
    assert [arm.mean for arm in typed_arms(0, [1], False, (0, 1e6))] == [0, 1e-6]


def test_the_lists_are_what_they_are_called():
    for number in AT_THE_ENDS:
        notation.read_arms(f"gaussian({number!r}, 1)")
    for number in BEYOND:
        with pytest.raises(InputError):
            notation.read_arms(f"gaussian({number!r}, 1)")
