"""Rewards that private learners see cut: what they learn from, what their loss counts, and what a cut can hide."""

import math
from dataclasses import replace

import numpy as np
import pytest
import reference
from helpers import experiment_of, fixed, memory, numbers, refused
from hypothesis import given, settings
from hypothesis import strategies as st

from bandit_core import Experiment, sample_size, simulate
from bandit_core.data.observations import MAX_DISTINCT, Option, best_of, cut_misleads, harmless_limits
from bandit_core.experiments import links
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.kernels.streams import streams
from bandit_core.policies import registry
from bandit_core.spec.rewards import Bernoulli, Empirical, TwoPoint, cut
from bandit_core.studies.best_arm import (
    RollOutQuestion,
    RollOutStudy,
    StoppingSpec,
    searches_of,
    stopping,
    stopping_lines,
)
from bandit_core.studies.best_method import Question, best_methods, candidates
from bandit_core.studies.one_run import one_run
from bandit_core.studies.price import PriceQuestion, advise, rows_of
from bandit_core.studies.tradeoff import blind_regret

OFTEN = Empirical(values=(0.0,) * 5 + (0.01, 0.01, 0.02, 0.03, 0.04))  # pays little to every other user
RARELY = Empirical(values=(0.0,) * 8 + (0.01, 0.9))  # pays much to one in ten
CLIP = (0.0, 0.03)
MEANS = (0.011, 0.091)
CUT_MEANS = (1 / 3, 0.4 / 3)
PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none" and policy.setting == "arms"]


def shop(*policies: str, **fields) -> Experiment:
    """One page that pays little often, and one that pays much rarely."""
    lines = [
        {"policy": name, **({} if registry()[name].epsilon == "none" else {"epsilon": fixed(2.0)})} for name in policies
    ]
    return experiment_of(**{"arms": [OFTEN, RARELY], "clip": CLIP, "lines": lines, "trials": 4, **fields})


def by_hand(reward: float) -> float:
    return (min(max(reward, CLIP[0]), CLIP[1]) - CLIP[0]) / (CLIP[1] - CLIP[0])


def test_private_lines_see_cut_rewards_and_lose_uncut_ones():
    plain, private = shop("ucb", "heldp-ucb-l").setups
    assert plain.arms == (OFTEN, RARELY) and plain.uncut is None
    assert private.means == pytest.approx(CUT_MEANS) and private.gaps == pytest.approx([0, 0.2])
    assert private.regret_gaps == pytest.approx([0.08, 0]) == plain.regret_gaps
    assert shop("ucb").means == pytest.approx(MEANS) and blind_regret(shop("ucb")) == pytest.approx(600 * 0.08 / 2)


@pytest.mark.parametrize("policy", ["heldp-ucb-l", "heldp-ucb-b"])
def test_a_slow_plain_learner_on_rewards_cut_by_hand_loses_the_same(policy):
    """The reference draws uncut rewards, cuts each by hand, and its losses are counted in uncut means."""
    experiment = shop(policy, horizon=500)
    [line], [setup] = simulate(experiment, 1, store=memory()).lines, experiment.setups
    by_hand_setup = replace(setup, arms=setup.uncut, uncut=None)
    for trial, words in enumerate(streams(experiment.seed, 0, 4)):
        arms = reference.pulled_arms(policy, by_hand_setup, words, transform=by_hand)
        assert line.regret[trial, -1] == pytest.approx(sum(max(MEANS) - MEANS[arm] for arm in arms))
        assert line.pulls[trial].tolist() == [arms.count(0), arms.count(1)]
        assert line.best_pulls[trial, -1] == arms.count(1)  # the best one is the best before the cut


@pytest.mark.parametrize("policy", PRIVATE)
def test_every_private_policy_learns_from_the_cut_and_pays_for_the_whole(policy):
    def of(arms, **fields):
        lines = [{"policy": policy, "epsilon": fixed(2.0)}]
        found = experiment_of(arms=arms, lines=lines, horizon=400, trials=3, **fields)
        return simulate(found, 1, store=memory()).lines[0]

    bits = (TwoPoint(low=0.0, high=0.04, p_high=0.5), TwoPoint(low=0.0, high=0.9, p_high=0.1))  # all of them take bits
    mine = of(bits, clip=(0.0, 0.04))
    seen = of((Bernoulli(mean=0.5), Bernoulli(mean=0.1)))
    np.testing.assert_array_equal(mine.pulls, seen.pulls)
    np.testing.assert_allclose(mine.regret[:, -1], mine.pulls[:, 0] * (0.09 - 0.02))


@pytest.mark.parametrize("clip", [None, (0.0, 1.0), (0, 1)])
def test_limits_that_cut_nothing_change_nothing_bit_for_bit(clip):
    uncut = simulate(experiment_of(), 1, store=memory())
    assert numbers(simulate(experiment_of(clip=clip), 1, store=memory())) == numbers(uncut)
    assert [bound.not_applicable for bound in line_bounds(experiment_of(clip=clip), 1)] == [
        bound.not_applicable for bound in line_bounds(experiment_of(), 1)
    ]


def test_without_privacy_nothing_is_cut():
    names = [name for name, policy in registry().items() if policy.privacy == "none" and policy.setting == "arms"]
    takes = [name for name in names if registry()[name].accepts((OFTEN, RARELY)) is None]
    cut_off, whole = (simulate(shop(*takes, clip=clip), 1, store=memory()) for clip in (CLIP, None))
    assert len(takes) > 3 and numbers(cut_off) == numbers(whole)


def test_bounds_of_cut_rewards_are_ruled_out_and_the_cap_is_the_true_one():
    *bounds, cap = line_bounds(shop("heldp-ucb-l"), 0)
    assert bounds and all(bound.not_applicable for bound in bounds)
    assert any("cut rewards" in bound.not_applicable for bound in bounds)
    assert cap.values(np.array([600.0]), 1.0) == pytest.approx(600 * 0.08)
    assert any(bound.not_applicable is None for bound in line_bounds(shop("ucb"), 0)[:-1])


def test_a_watched_run_counts_uncut_rewards():
    run = one_run(shop("heldp-ucb-l"), 0, 200)
    assert run.gaps == pytest.approx([0.08, 0]) and run.regret[-1] == pytest.approx(0.08 * (run.arms == 0).sum())
    assert set(np.round(run.rewards, 9)) <= {0, round(1 / 3, 9), round(2 / 3, 9), 1}


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.floats(-4, 4),
    st.floats(0.1, 6),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_the_mean_of_cut_rewards_is_that_of_every_reward_cut(values, low, width, count):
    high = low + width
    seen = cut(Empirical(values=tuple(values), count=count), low, high)
    expected = np.mean((np.clip(values, low, high) - low) / (high - low))
    assert seen.expected == pytest.approx(expected, abs=1e-9) and seen.inside(0, 1) and seen.count == count


def test_what_is_left_of_two_amounts_is_named_by_what_it_is():
    assert cut(TwoPoint(low=0.0, high=9.0, p_high=0.2), 0, 3) == Bernoulli(mean=0.2)
    assert cut(TwoPoint(low=1.0, high=9.0, p_high=0.2), 0, 4) == TwoPoint(low=0.25, high=1.0, p_high=0.2)
    assert cut(TwoPoint(low=5.0, high=9.0, p_high=0.2), 0, 4) == Bernoulli(mean=1.0)
    assert cut(Bernoulli(mean=0.3), -1, 1) == TwoPoint(low=0.5, high=1.0, p_high=0.3)
    assert cut(OFTEN, 0, 0.01) == Bernoulli(mean=0.5)
    assert cut(OFTEN, 0, 1) is OFTEN and cut(Empirical(values=(2.0,)), 1, 3).expected == 0.5


# ---------------------------------------------------------------------------------------------------------------
# The field


def test_a_link_and_a_document_carry_the_limits():
    experiment = shop("ucb", "heldp-ucb-l", clip=(0.0, 0.03))
    assert links.write(experiment)["clip"] == "0,0.03"
    again, issues = links.read(links.write(experiment))
    assert again == experiment and not issues
    assert Experiment.model_validate(experiment.spec()) == experiment and experiment.spec()["clip"] == [0.0, 0.03]
    assert "clip" not in links.write(shop("ucb", clip=None)) and "clip" not in shop("ucb", clip=None).spec()
    titled = shop("heldp-ucb-l", title="Cut")
    assert titled.with_changes(clip=(0.0, 0.04)).title == "" and titled.with_changes(seed=9).title == "Cut"
    users = {"dimension": 2, "arms": 3}
    assert titled.with_changes(contexts=users, lines=[{"policy": "linucb"}]).clip is None


def test_limits_are_refused_where_they_cannot_cut():
    with refused("clip", value=[0.0, 1.0]) as issues:
        experiment_of(arms=[{"kind": "beta", "a": 1, "b": 1}, {"kind": "gaussian", "mean": 1, "sd": 1}], clip=(0, 1))
    assert "bernoulli, two-point, empirical" in issues[0].allowed and "beta, gaussian" in issues[0].allowed
    with refused("clip", value=[3.0, 1.0]):
        experiment_of(clip=[3.0, 1.0])
    with refused("clip"):
        stopping_lines(
            {"arms": [{"kind": "beta", "a": 1, "b": 1}] * 2, "clip": [0, 1], "lines": [{"policy": "top-two"}]}
        )


# ---------------------------------------------------------------------------------------------------------------
# What follows from it


def test_a_contest_counts_true_amounts():
    """Learners that see 0 to 3 learn the wrong page, and what that costs is counted whole."""
    question = Question((OFTEN, RARELY), 3000, 8.0, clip=CLIP, trials=60)
    decision = best_methods(question, store=memory())
    plain, local, central = (line.mean[-1] for line in decision.result.lines)
    blind = blind_regret(decision.result.experiment)
    assert plain < 0.2 * blind and blind == pytest.approx(3000 * 0.08 / 2)
    learned = next(each for each in decision.of("local") if each.policy == "heldp-ucb-bs")
    assert learned.lost.value > 1.3 * blind  # it finds what looks best, and pays for it
    assert min(local, central) > 0.9 * blind  # no method can know better, so the best one hardly learns
    wide = best_methods(replace(question, clip=(0.0, 0.9)), store=memory())
    assert wide.result.lines[2].mean[-1] < 0.5 * blind
    assert {each.clip for each in candidates(question, "local")} == {CLIP}


def test_searches_are_wrong_where_the_best_one_is_the_best_after_the_cut_only():
    arms = (Bernoulli(mean=0.5), Bernoulli(mean=0.1))
    spec = {"arms": arms, "policy": "ctb-tt", "epsilon": 2.0, "trials": 40}
    usual, misled = stopping([StoppingSpec.of(**spec), StoppingSpec.of(**spec, truth=(0.02, 0.09))], 1)
    np.testing.assert_array_equal(usual.pulls, misled.pulls)
    assert usual.wrong_share < 0.1 and misled.wrong_share == 1 - usual.wrong_share
    np.testing.assert_allclose(misled.regret, misled.pulls[:, 0] * 0.07)
    with refused("truth", value=1):
        StoppingSpec.of(**spec, truth=(0.1,))


def test_the_lines_of_an_experiment_that_search_see_the_cut_too():
    [plain, private] = searches_of(shop("top-two", "ctb-tt"))
    assert plain.spec.truth is None and plain.spec.setup.means == pytest.approx(MEANS)
    assert private.spec.truth == pytest.approx(MEANS) and private.spec.setup.means == pytest.approx(CUT_MEANS)
    assert [line.spec for line in stopping_lines(shop("top-two", "ctb-tt"))] == [
        each.spec.model_copy(update={"cap": 600}) for each in (plain, private)
    ]


def test_a_roll_out_plans_with_cut_rewards_and_never_for_the_wrong_option():
    """Cut at .03, the option that pays seldom looks worse, though it is the better one; cut at .9 it looks best."""
    question = RollOutQuestion((OFTEN, RARELY), 4000, (("local", 2.0), ("central", 2.0)), trials=40, clip=CLIP)
    assert [question.view(each).misleads for each in ("none", "local", "central")] == [False, True, True]
    assert question.effect("none") > 0 == question.effect("local") == question.effect("central")
    assert [question.effect(each, "baseline") > 0 for each in ("none", "local", "central")] == [True, False, False]
    mild = replace(question, clip=(0.0, 0.9))
    cut = [each.expected for each in mild.view("central").arms]
    assert mild.effect("none") == question.effect("none") and mild.effect("central") == pytest.approx(cut[1] - cut[0])
    whole, seen = (sum(np.var(np.clip(arm.values, 0, high)) / high**2 for arm in question.arms) for high in (1, 0.9))
    assert [size.users_per_option for size in mild.sizes] == [
        sample_size(MEANS[0], 0.08, amounts=whole).users_per_option,
        *(
            sample_size(cut[0], cut[1] - cut[0], privacy=privacy, epsilon=2.0, amounts=seen).users_per_option
            for privacy in ("local", "central")
        ),
    ]
    plain, local, central = RollOutStudy(replace(mild, users=300), memory()).run(1)
    assert all(row.bound is None for row in (plain, local, central))  # of amounts, or of cut ones, none is known
    assert max(row.times.wrong_share for row in (plain, local, central)) <= 0.15


def test_there_is_no_advice_and_there_are_no_weeks_for_an_option_that_only_looks_best():
    question = PriceQuestion((OFTEN, RARELY), 4000, 400, (2.0,), clip=CLIP, names=("often", "rarely"))
    plain, *private = rows_of(question)
    assert math.isfinite(plain.test_users) and all(row.test_users == row.lift_users == math.inf for row in private)
    advice = advise(question, (plain, *private))
    assert advice.kind == "limits" and "often looks best, but rarely is the best option" in advice.words


# ---------------------------------------------------------------------------------------------------------------
# Uploads


def revenue(seed: int = 3, users: int = 4000) -> tuple[Option, Option]:
    """Euros per visitor of two pages: A sells small things to many, B dear ones to few, with a lognormal tail."""
    random = np.random.default_rng(seed)
    often = np.where(random.random(users) < 0.3, np.round(random.uniform(1, 4, users), 2), 0)
    dear = np.where(random.random(users) < 0.03, np.round(random.lognormal(4, 1.2, users), 2), 0)
    return Option.of("A", often), Option.of("B", dear)


def test_limits_that_change_the_best_option_are_seen_and_wider_ones_found():
    options = revenue()
    assert best_of(options).tolist() == [1] and best_of(options, (0, 3)).tolist() == [0]
    assert cut_misleads(options, (0, 3)) and not cut_misleads(options, (0, 1e6))
    low, high = harmless_limits(options, (0, 3))
    assert low == 0 and 3 < high < options[1].high and not cut_misleads(options, (low, high))
    assert high == float(f"{high:.2g}")
    assert cut_misleads(options, (0, 0.8 * high))  # not much wider than needed
    for share in np.linspace(0.01, 1, 30):
        assert not cut_misleads(options, (0, high + share * options[1].high))


def test_limits_below_mislead_as_well_and_a_tie_after_the_cut_counts():
    loses = Option.of("A", np.array([-50.0, 10, 10, 10, 10]))
    steady = Option.of("B", np.array([1.0, 2, 1, 2, 1]))
    assert best_of((loses, steady)).tolist() == [1] and cut_misleads((loses, steady), (0, 10))
    low, high = harmless_limits((loses, steady), (0, 10))
    assert (low, high) == (-50, 10) and not cut_misleads((loses, steady), (low, high))
    pair = (Option.of("A", np.array([0.0, 5])), Option.of("B", np.array([0.0, 9])))
    assert best_of(pair, (0, 4)).tolist() == [0, 1] and cut_misleads(pair, (0, 4))
    assert harmless_limits(pair, (0, 4)) == (0, 5.1)  # beyond 5 only B brings more
    equal = (pair[0], Option.of("B", np.array([5.0, 0])))
    assert not cut_misleads(equal, (0, 4)) and best_of(equal).tolist() == [0, 1]


@pytest.mark.parametrize("limits", [(0.0, 3.0), (0.0, 40.0), (2.0, 500.0)])
def test_thousands_of_amounts_keep_both_means_in_a_thousand_groups(limits):
    values = np.random.default_rng(1).lognormal(2, 1.5, 5000)
    option = Option.of("A", values)
    high = max(option.high, limits[1])
    shares = (limits[0] / high, limits[1] / high)
    arm = option.rescaled(0, high).arm(shares)
    assert len(option.values) > MAX_DISTINCT and MAX_DISTINCT <= len(arm.values) <= MAX_DISTINCT + 2
    assert high * arm.expected == pytest.approx(values.mean(), rel=1e-9)
    back = limits[0] + (limits[1] - limits[0]) * cut(arm, *shares).expected
    assert back == pytest.approx(np.clip(values, *limits).mean(), rel=1e-9)
    whole = (0.0, 1.0)
    assert option.rescaled(0, high).arm(whole) == option.rescaled(0, high).arm()
