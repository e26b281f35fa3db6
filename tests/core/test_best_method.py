"""The contest for the best method of each trust model, its table on Start, and its check."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bandit_core import Experiment, InputError, simulate
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.presets import at_shared, load_preset
from bandit_core.export.page import over_budgets
from bandit_core.model import PROMISES
from bandit_core.policies import registry
from bandit_core.simulation.questions import answer
from bandit_core.simulation.results import Estimate, LineResult, half_width
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Discrete, Fixed
from bandit_core.spec.rewards import Bernoulli, Empirical, TwoPoint
from bandit_core.studies import best_method
from bandit_core.studies.best_method import (
    CLEARLY,
    COMPARED,
    FEWEST,
    FIRST,
    PRECISE,
    Contest,
    Method,
    Question,
    Tried,
    _better,
    _Table,
    _tied,
    _undecided,
    best_methods,
    candidates,
    contests,
    known_words,
)
from bandit_core.studies.sweep import EPSILONS
from benchmarks import contest_check
from benchmarks.best_by_trust import BUDGETS, written
from benchmarks.contest_check import STEP, USERS, Cell, cells, inversions, settings, table

# ---------------------------------------------------------------------------------------------------------------------
# The contest for the best method of each trust model: who may take part, who wins, and what is reported of it.


ARMS = (Bernoulli(mean=0.3), Bernoulli(mean=0.5))
SMALL = Question(ARMS, 300, 1.0)


@pytest.fixture
def store() -> Store:
    return Store(None, 2**26)


def names(question: Question, privacy) -> set[str]:
    return {candidate.lines[0].policy for candidate in candidates(question, privacy)}


# Levels of trust that a policy may stand for, by the promise that it keeps: written out, not read from the library.
KEPT_BY = {
    "central": ("central",),
    "joint": ("joint",),
    "distributed": ("central", "distributed"),
    "shuffle": ("central", "distributed", "shuffle"),
    "local": ("central", "distributed", "shuffle", "local"),
}


@pytest.mark.parametrize("privacy", COMPARED)
def test_everybody_who_keeps_the_promise_and_takes_the_arms_takes_part(privacy) -> None:
    """Against the registry itself, so that a new policy is a candidate without being named anywhere."""
    allowed = set()
    for name, policy in registry().items():
        level = ("none",) if policy.privacy == "none" else KEPT_BY[policy.privacy]
        if privacy not in level or policy.setting != "arms":
            continue
        line = {"policy": name} | ({"epsilon": {"kind": "fixed", "value": 1.0}} if policy.epsilon != "none" else {})
        try:
            found = Experiment.model_validate({"arms": list(ARMS), "horizon": 300, "lines": [line]})
        except InputError:
            continue
        if policy.guarantee(found.setups[0]).delta == 0:
            allowed.add(name)
    amounts_only = {name for name in allowed if registry()[name].for_amounts}
    assert names(SMALL, privacy) == allowed - amounts_only and amounts_only
    amounts = replace(SMALL, arms=(TwoPoint(low=0.0, high=0.5, p_high=0.4), *SMALL.arms[1:]))
    assert names(amounts, privacy) == allowed
    for candidate in candidates(SMALL, privacy):
        [line], [instance] = candidate.lines, candidate.setups
        guarantee = line.entry.guarantee(instance)
        assert guarantee.model == line.entry.privacy and guarantee.delta == 0
        assert line.label == PROMISES[privacy].who
        assert privacy == "none" or guarantee.epsilon == pytest.approx(1.0)


def test_a_family_that_is_left_out_of_yes_or_no_makes_almost_no_privacy_look_dear(store: Store) -> None:
    """At ε = 8 a coin flips one answer in 3,000; 16% is what Laplace noise on yes or no costs (10,000 users)."""
    lines = [{"policy": "normal-ts"}, {"policy": "thompson"}]
    lines += [{"policy": name, "epsilon": {"kind": "fixed", "value": 8.0}} for name in ("normal-ts-l", "ts-cf")]
    arms = [Bernoulli(mean=mean) for mean in (0.8, 0.6, 0.6, 0.4, 0.4)]
    document = {"arms": arms, "lines": lines, "horizon": 3000, "trials": 1000, "seed": 3}
    plain, coins, *private = simulate(Experiment.model_validate(document), store=store).lines
    assert private[0].ratio(plain).low > 1.08 and private[1].ratio(coins).high < 1.03


@pytest.mark.parametrize("privacy", COMPARED)
def test_no_method_is_told_anything_about_the_options(privacy) -> None:
    others = Question((Bernoulli(mean=0.01), Bernoulli(mean=0.02)), 300, 1.0)
    for one, other in zip(candidates(SMALL, privacy), candidates(others, privacy), strict=True):
        assert one.setups[0].parameters == other.setups[0].parameters, one.lines[0].policy
    message = Experiment.model_validate({"arms": list(ARMS), "horizon": 300, "lines": [{"policy": "robust-ucb"}]})
    assert message.setups[0].parameters.u == pytest.approx(0.5)  # what it would be told without that care


def test_budgets_that_differ_leave_out_who_needs_one_budget() -> None:
    question = Question(ARMS, 300, Discrete(values=(0.5, 2), probs=(0.5, 0.5)))
    assert names(question, "local") == {
        name for name, policy in registry().items() if (policy.privacy, policy.epsilon) == ("local", "any")
        and policy.setting == "arms"
    }  # fmt: skip
    for candidate in candidates(question, "local"):
        assert candidate.lines[0].epsilon == question.epsilon
        [line] = candidate.lines
        if "eps_min" in line.entry.parameters.model_fields:  # weighed answers have no threshold
            assert isinstance(line.params["eps_min"], float)  # found without the process-wide memory
    assert names(question, "central") == names(question, "local")  # who trusts a curator may trust no one


def test_amounts_are_asked_of_those_who_take_them_and_a_question_for_nobody_is_refused() -> None:
    amounts = Question((Empirical(values=(0.1, 0.4, 0.9)), Empirical(values=(0.2, 0.3))), 300, 1.0)
    assert names(amounts, "none") and names(amounts, "local") and names(amounts, "central")
    with pytest.raises(InputError, match="horizon"):
        Contest(Question(ARMS, 0, 1.0))


def test_the_chosen_are_as_good_as_the_best_on_trials_of_their_own(store: Store) -> None:
    question = Question(ARMS, 1500, 0.5, trials=100, seed=11)
    decision = best_methods(question, store=store)
    assert decision.levels == COMPARED
    for privacy in COMPARED:
        field = [simulate(each.with_changes(seed=99), store=store).lines[0] for each in candidates(question, privacy)]
        policies = [each.lines[0].policy for each in candidates(question, privacy)]
        best = min(field, key=lambda line: line.mean[-1])
        chosen = decision.of(privacy)[0]
        behind, error = field[policies.index(chosen.policy)].difference(best)[:2]
        assert chosen.chosen and behind <= 3.5 * error + 1e-9
        worst = max(field, key=lambda line: line.mean[-1])
        assert worst.mean[-1] > 1.5 * best.mean[-1]  # else the choice proves nothing


def test_what_is_reported_had_no_part_in_the_choice(store: Store) -> None:
    decision = best_methods(SMALL, store=store)
    experiment = decision.result.experiment
    assert experiment.seed == SMALL.seed != SMALL.screening_seed and not decision.more
    again = simulate(experiment, store=Store(None, 2**26))
    for mine, other in zip(decision.result.lines, again.lines, strict=True):
        assert mine.count == experiment.trials and np.array_equal(mine.regret, other.regret)
    for privacy, line in zip(COMPARED, decision.result.lines, strict=True):
        chosen = decision.of(privacy)[0]
        assert (chosen.lost, chosen.trials, chosen.behind.value) == (line.final(), experiment.trials, 0)
        assert {each.policy for each in decision.of(privacy)} == names(SMALL, privacy)
        losers = [each for each in decision.of(privacy) if not each.finalist]
        assert losers and all(FEWEST <= each.trials <= decision.screened for each in losers)


def test_a_contest_is_found_in_the_store_and_is_the_same_on_any_number_of_workers(store: Store) -> None:
    first = Contest(SMALL, store=store)
    assert not first.finished and first.result() is None and first.missing_seconds > 0 and first.fraction == 0
    seen: list[float] = []
    decision = first.run(1, on_progress=lambda contest: seen.append(contest.fraction))
    assert seen == sorted(seen) and first.fraction == 1 and first.missing_seconds == 0
    again = Contest(SMALL, store=store)
    assert again.finished and again.result().tried == decision.tried
    assert Contest(SMALL, store=Store(None, 0)).run(2).tried == decision.tried


def test_a_contest_counts_as_a_whole_against_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Contest(SMALL, store=store).steps
    monkeypatch.setenv("LAB_MAX_STEPS", str(steps))
    Contest(SMALL, store=store)
    monkeypatch.setenv("LAB_MAX_STEPS", str(steps - 1))
    with pytest.raises(InputError, match="steps"):
        Contest(SMALL, store=store)


def test_short_runs_get_more_trials_and_very_long_ones_fewer() -> None:
    trials = [Question(ARMS, horizon, 1.0).reported for horizon in (10, 50_000, 10**6, 10**7, 10**9)]
    assert trials == sorted(trials, reverse=True) and len(set(trials)) == 3 and trials[1] == trials[2]
    fewest = [Question(ARMS, horizon, 1.0).fewest for horizon in (10, 10**6, 10**9)]
    assert fewest == [FEWEST, FEWEST, FEWEST // 4]
    assert Question(ARMS, 10, 1.0, trials=7).reported == 7


def line(*ends: float) -> LineResult:
    regret = np.array(ends, float)[:, None]
    return LineResult(np.arange(len(ends)), regret, np.zeros_like(regret), np.zeros((len(ends), 2)))


def test_options_that_are_equal_cannot_be_told_apart_by_any_method(store: Store) -> None:
    decision = best_methods(Question((Bernoulli(mean=0.4),) * 2, 200, 1.0), store=store)
    for privacy in COMPARED:
        assert len(decision.equals(privacy)) == len({each.policy for each in decision.of(privacy)}) - 1


@pytest.mark.parametrize(
    ("low", "high", "chosen", "apart"),
    [(0.1, 4, False, True), (-0.1, 4, False, False), (-4, -0.1, False, True), (math.nan, math.nan, False, False),
     (0, 0, False, False), (0.1, 4, True, False)],
)  # fmt: skip
def test_told_apart_means_that_the_interval_leaves_out_0(low: float, high: float, chosen: bool, apart: bool) -> None:
    behind = Estimate((low + high) / 2, 1.0, low, high)
    row = Tried("local", Method("x"), 10, Estimate(1.0, 1.0), behind, chosen, True)
    assert row.apart is apart


def test_behind_is_over_pairs_among_finalists_and_over_independent_runs_else(store: Store) -> None:
    decision = best_methods(Question(ARMS, 2_000, 1.0), ("local",), store=store)
    chosen, *others = decision.of("local")
    for each in others:
        assert each.behind.low < each.behind.value < each.behind.high
        reach = half_width(each.trials, 0.95 if each.finalist else CLEARLY) * each.behind.stderr
        assert each.behind.high - each.behind.low > reach * (1.9 if each.finalist else 1)
        assert not each.chosen and each.lost.value - chosen.lost.value == pytest.approx(each.behind.value)


def test_no_level_of_trust_does_clearly_worse_than_a_weaker_one_and_a_curator_may_need_no_trust(store: Store) -> None:
    for epsilon in (1.0, 8.0):
        decision = best_methods(Question((Bernoulli(mean=0.8), Bernoulli(mean=0.6)), 3000, epsilon), store=store)
        _, local, central = decision.result.lines
        behind, error = central.difference(local)[:2]
        assert behind <= 3 * error
        own = registry()[decision.of("central")[0].policy].privacy
        assert own == ("central" if epsilon == 1.0 else "local")


def test_a_method_of_two_levels_plays_once() -> None:
    both, central = (next(contests((SMALL,), levels)) for levels in (("local", "central"), ("central",)))
    assert len(both.runs) == len(central.runs) == len(names(SMALL, "central"))
    assert all(each.trials == FIRST for each in both.runs)
    assert central.steps <= both.steps < 2 * central.steps


def test_a_budget_need_not_be_spent_and_a_method_that_spends_less_keeps_it(store: Store) -> None:
    """Ten arms, ε = 2: DP-IMED loses 252.1 ± 1.8 at its whole budget and 238.4 ± 1.7 at 1.5 (2,000 trials)."""
    question = Question((Bernoulli(mean=0.6), *[Bernoulli(mean=0.5)] * 9), 10_000, 2.0)
    assert question.smaller == (1.5, 1.0) and Question(ARMS, 300, 0.05).smaller == ()
    decision = best_methods(question, ("central",), store=store)
    assert decision.chosen("central") == Method("dp-imed", 1.5)
    [line], best = decision.result.experiment.lines, decision.of("central")[0]
    assert line.epsilon.fixed == 1.5 and line.written_label == "trust a curator, as at ε = 1.5"
    assert best.title == "DP-IMED, as at ε = 1.5" and best.method.spent == 1.5
    assert all(each.policy != "dp-imed" for each in decision.equals("central"))  # named once, not at every budget
    whole = next(each for each in decision.of("central") if each.method == Method("dp-imed"))
    assert whole.behind.value > 0 and not whole.tied
    assert {each.method.spent for each in decision.tried} == {None, *question.smaller}


def test_who_differ_in_budgets_or_promise_nothing_are_offered_no_smaller_one(store: Store) -> None:
    assert Question(ARMS, 300, Discrete(values=(0.5, 2), probs=(0.5, 0.5))).smaller == ()
    assert {each.method.spent for each in best_methods(SMALL, ("none",), store=store).tried} == {None}


NAMES = [("a", None), ("b", None), ("c", None), ("d", None)]


def test_who_is_not_clearly_behind_and_may_be_better_plays_on() -> None:
    spread = np.tile([8.0, 12.0], 50)
    played = dict(zip(NAMES, map(line_of, (spread, spread + 0.1, spread + 5, spread[::-1] * 1.02)), strict=True))
    # By pairs b is surely not 3% better and c is clearly behind. d may be much better.
    assert _undecided(NAMES, played) == [NAMES[0], NAMES[3]]
    rare = dict(zip(NAMES, map(line_of, (np.full(64, 10.0), np.r_[np.full(63, 1.0), 500.0])), strict=False))
    assert _undecided(NAMES, rare) == [NAMES[1], NAMES[0]]  # one costly run in 64 drops nobody


def line_of(ends: np.ndarray) -> LineResult:
    return line(*ends)


def test_where_all_at_once_exceed_the_limits_those_with_the_fewest_trials_play_on() -> None:
    table, cell = _Table([SMALL], ["none"]), (0, "none")
    first, second, third = table.fields[cell][:3]
    table.counts[cell] = {first: 64, second: 64, third: 512}
    wanted = {first: 128, second: 128, third: 1024}
    cost = table.cost(wanted, table.counts[cell])
    assert table.within(cost, wanted, cell) == wanted
    assert table.within(0.9 * cost, wanted, cell) == {first: 128, second: 128}


def test_between_40_000_and_a_million_users_a_contest_may_take_up_to_four_times_as_long() -> None:
    users = (40_000, 100_000, 160_000, 1_000_000, 1_000_001)
    seconds, pulls = np.array([_Table([replace(SMALL, horizon=each)], ["none"]).limits for each in users]).T
    assert (seconds / seconds[0]).tolist() == (pulls / pulls[0]).tolist() == [1.0, 2.5, 4.0, 4.0, 1.0]


def test_of_those_that_are_tied_within_3_percent_the_one_with_the_smaller_spread_is_chosen() -> None:
    calm, wild = np.tile([9.85, 10.25], 5000), np.tile([0.0, 20.0], 5000)
    few = dict(zip(NAMES, map(line_of, (wild[:400], calm[:400])), strict=False))
    assert _tied(NAMES, few) == [NAMES[0]]  # the calm one may lose 10% more
    assert _tied(NAMES, dict(zip(NAMES, map(line_of, (wild, calm)), strict=False))) == [NAMES[1], NAMES[0]]
    assert _tied(NAMES, dict(zip(NAMES, map(line_of, (wild, calm + 1)), strict=False))) == [NAMES[0]]  # 10% more
    assert _tied(NAMES, dict(zip(NAMES, map(line_of, (calm, calm + 0.1)), strict=False))) == [NAMES[0]]  # told apart
    budgets = [("a", Fixed(value=each)) for each in (1.0, 2.0)]
    alike = dict(zip(budgets, map(line_of, (calm, calm)), strict=True))
    assert _tied(budgets, alike) == [budgets[1]]  # of one policy the larger budget


def test_fresh_trials_overrule_a_choice_that_they_clearly_contradict() -> None:
    calm = np.tile([9.0, 11.0], 50)
    played = dict(zip(NAMES, map(line_of, (calm + 3, calm, calm + 1)), strict=False))
    assert _better(NAMES[0], NAMES[:3], played) == NAMES[1]
    assert _better(NAMES[1], NAMES[:3], played) == NAMES[1]
    noisy = dict(zip(NAMES, map(line_of, (calm, np.tile([0.0, 0.0, 19.0, 19.0], 25))), strict=False))
    assert _better(NAMES[0], NAMES[:2], noisy) == NAMES[0]


def test_a_choice_that_fresh_trials_overrule_is_reported_on_further_ones(store, monkeypatch) -> None:
    """The second finalist is made to look clearly better: by a private function."""
    equal = Question((Bernoulli(mean=0.4),) * 2, 200, 1.0, trials=20)
    first = best_methods(equal, ("none",), store=store)
    finalists: list[list] = []
    monkeypatch.setattr(best_method, "_better", lambda own, field, played: finalists.append(field) or field[1])
    second = best_methods(equal, ("none",), store=store)
    assert first.chosen("none").policy == finalists[0][0][0] != second.chosen("none").policy == finalists[0][1][0]
    assert first.result.experiment.seed == equal.seed and second.result.experiment.seed not in (equal.seed, 1)


def test_reported_trials_go_on_while_another_finalist_leads_but_not_clearly(monkeypatch) -> None:
    table, cell = _Table([SMALL], ["none"]), (0, "none")
    table.fields[cell] = [calm, noisy] = table.fields[cell][:2]
    ends = {calm: np.tile([9.0, 11.0], 2048), noisy: np.tile([0.0, 0.0, 19.0, 19.0], 1024)}  # noisy is 5% better
    table.screened = {name: line_of(np.tile([8.0, 12.0], 32)) for name in ends}
    table.counts[cell] = dict.fromkeys(ends, 64)
    played = []

    def playing(counts, *_):
        played.extend(set(counts.values()))
        yield
        return {name: line_of(ends[name][:count]) for name, count in counts.items()}

    monkeypatch.setattr(table, "playing", playing)
    monkeypatch.setattr(table, "answer", lambda chosen, *_: lambda: chosen)
    game = table.reporting()
    with pytest.raises(StopIteration) as ended:
        while True:
            next(game)
    assert table.leading() == {cell: calm} and ended.value.value == {cell: noisy}
    assert max(played[: played.index(SMALL.reported, 1)]) == 4096  # clear from 3,249 trials on


def test_runs_double_until_the_losses_are_known(store: Store) -> None:
    decision = best_methods(SMALL, store=store)
    assert all(line.stderr[-1] <= PRECISE * line.mean[-1] for line in decision.result.lines)
    assert decision.result.experiment.trials > SMALL.reported
    assert known_words(Estimate(100.0, 2.9)) == known_words(Estimate(0.0, 0.0)) == ""
    assert known_words(Estimate(100.0, 8.3)) == " (known to 8% only)"


def test_a_first_answer_is_there_before_the_last(store: Store) -> None:
    seen = []
    study = Contest(SMALL, store=Store(None, 0))
    study.run(1, on_progress=lambda study: seen.append(study.result()))
    first = next(each for each in seen if each is not None)
    assert first.more and first.levels == COMPARED and not study.result().more
    assert min(line.count for line in first.result.lines) == FIRST


def test_no_cell_of_a_table_loses_more_than_a_stricter_one(store: Store) -> None:
    budgets = (1.0, 8.0, 10.0)
    questions = [Question(ARMS, 1000, epsilon) for epsilon in budgets]
    table = answer(contests(questions), store=store)
    assert len({id(each.result.lines[0]) for each in table}) == 1  # no privacy is one cell
    assert len({line.count for each in table for line in each.result.lines}) == 1
    lost = np.array([[float(line.mean[-1]) for line in each.result.lines[1:]] for each in table])
    assert (np.diff(lost, axis=0) <= 0).all() and (lost[:, 1] <= lost[:, 0]).all()
    free, *private = zip(*(each.result.lines for each in table), strict=True)
    assert all(line.difference(free[0], CLEARLY).high >= 0 for lines in private for line in lines)  # privacy never pays
    for epsilon, decision in zip(budgets, table, strict=True):
        for level, line in zip(COMPARED, decision.result.experiment.lines, strict=True):
            spent = decision.chosen(level).spent
            assert level == "none" or line.epsilon.fixed == (spent or epsilon) <= epsilon
            assert spent is None or line.written_label.endswith(f"as at ε = {spent:g}")
    for question, decision in zip(questions, table, strict=True):  # alone it names the same methods
        alone = best_methods(question, store=store)
        assert [alone.chosen(level) for level in COMPARED] == [decision.chosen(level) for level in COMPARED]


def test_what_lost_clearly_more_in_the_screening_is_taken_over_after_more_trials_only() -> None:
    table, calm = _Table([SMALL, replace(SMALL, epsilon=2.0)], ["local"]), np.tile([9.0, 11.0], 50)
    chosen = {cell: field[0] for cell, field in table.fields.items()}
    strict, own = chosen.values()
    played = {strict: line_of(calm), own: line_of(calm + 0.01)}
    assert table.ordered(chosen, played) == dict.fromkeys(chosen, strict)
    table.screened = {strict: line_of(calm + 3), own: line_of(calm)}
    assert table.contradicted(chosen, played)
    table.screened = {strict: line_of(calm + 0.1), own: line_of(calm[::-1])}
    assert not table.contradicted(chosen, played)  # not told apart
    assert not table.contradicted(chosen, {strict: played[own], own: played[strict]})  # nothing is taken over


# ---------------------------------------------------------------------------------------------------------------------
# The table of the best method of each level of trust: made by its command, followed by pages, and the rule by which it
# is made holds on arms that chose nothing.


PRESET = load_preset(trust_table.PRESET)


def test_every_position_has_methods_that_keep_their_level_of_trust() -> None:
    assert tuple(trust_table.table()) == EPSILONS and set(BUDGETS) < set(EPSILONS)
    for epsilon, methods in trust_table.table().items():
        assert [registry()[each.policy].privacy for each in methods.values()][::2] == ["none", "local"]
        assert registry()[methods["central"].policy].privacy in ("local", "shuffle", "distributed", "central")
        assert all(each.spent is None or each.spent < epsilon for each in methods.values())
    with pytest.raises(InputError, match="epsilon"):
        trust_table.at(0.15)


def test_a_method_that_spends_less_is_written_and_played_so() -> None:
    """By a private function: the file has no such method at present."""
    method = Method("dp-imed", 1.5)
    assert trust_table._read(written(method)) == method
    assert method.title == "DP-IMED, as at ε = 1.5"
    methods = {"none": Method("thompson"), "central": method, "local": Method("ts-cf")}
    lines = trust_table.lines(2.0, ["a", "b", None], methods)
    assert [line.get("epsilon", {}).get("value") for line in lines] == [None, 1.5, 2.0]


def test_the_preset_plays_the_methods_of_its_budget() -> None:
    assert trust_table.position(PRESET) == 1.0
    assert PRESET.trials >= 500 and all(line.epsilon.fixed == 1.0 for line in PRESET.lines[1:])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_where_only_the_budget_moves_the_lines_follow_the_table(epsilon: float) -> None:
    there = trust_table.moved(PRESET, epsilon)
    assert [line.policy for line in there.lines] == [each.policy for each in trust_table.at(epsilon).values()]
    assert [line.label for line in there.lines] == [line.label for line in PRESET.lines]
    assert trust_table.position(there) == epsilon
    again, problems = links.read(links.write(there))
    assert not problems and again.plays_as(there) and again.view == there.view
    assert trust_table.moved(again, 1.0).plays_as(PRESET)


@pytest.mark.parametrize(
    "changed", [{"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]}, {"horizon": 5000}]
)
def test_other_arms_or_users_are_an_experiment_of_one_s_own(changed: dict) -> None:
    own = PRESET.with_changes(**changed)
    assert trust_table.position(own) is None
    assert trust_table.moved(own, 8.0) == at_shared(own, 8.0)
    assert trust_table.followed(PRESET, own.with_changes(seed=3)) == own.with_changes(seed=3)


def test_other_lines_and_unusual_budgets_are_left_as_they_are() -> None:
    lines = [{"policy": "thompson"}, *PRESET.spec()["lines"][1:]]
    lines[1] = lines[1] | {"policy": "dp-klucb"}
    own = PRESET.with_changes(lines=lines)
    assert trust_table.position(own) is None and trust_table.moved(own, 8.0) == at_shared(own, 8.0)
    assert trust_table.moved(PRESET, 4.5) == at_shared(PRESET, 4.5)
    straight = at_shared(PRESET, 8.0)  # as a link may ask for it: DP-IMED at 8
    assert trust_table.position(straight) is None and trust_table.followed(straight, straight) is straight


def test_trials_and_the_view_may_change_and_the_table_is_still_followed() -> None:
    shown = PRESET.with_changes(trials=20, seed=9, view={"y": "log", "hidden": [0]})
    there = trust_table.followed(shown, at_shared(shown, 8.0).with_changes(trials=10))
    assert [line.policy for line in there.lines] == ["thompson", "ts-cf", "ts-cf"]
    assert (there.trials, there.seed, there.view) == (10, 9, shown.view)


def test_a_lesson_taken_along_follows_the_table() -> None:
    for place in over_budgets(PRESET, (1.0, 8.0)):
        assert [line.policy for line in place.experiment.lines] == [
            each.policy for each in trust_table.at(place.value).values()
        ]
        assert place.lines == (0, 1, 2) and "ε" not in place.experiment.label(1)


# ---------------------------------------------------------------------------------------------------------------------
# The check of the contest: what it counts, and a small part of it.


RATES = (Bernoulli(mean=0.05), Bernoulli(mean=0.08))


def test_there_are_84_settings_and_every_epsilon_is_met() -> None:
    tables = list(settings())
    asked = {each for questions in tables for each in questions}
    assert len(asked) == 84 and {each.epsilon for each in asked} == {0.5, 1.0, 2.0, 4.0}
    assert {each.horizon for each in asked} == {10_000, 40_000, 160_000}
    assert all(math.gcd(STEP, sum(each[0].horizon <= most for each in tables)) == 1 for most in USERS)


def test_a_cell_is_right_where_method_and_loss_are() -> None:
    good = Cell(Question(RATES, 100, 1.0), "local", Method("ts-cf"), 0.0, 0.0, 100.0, 2.0, 101.0, 1.0)
    worse = replace(good, behind=0.05, said=110.0)
    assert good.covered and not worse.covered and not replace(good, said=120.0, said_error=9.0, found=90.0).covered
    assert table([good, worse]).splitlines()[-3:] == [
        "| local | 2 | 1 | 2 | 1 | 2 |", "| central | 0 | 0 | 0 | 0 | 0 |", "| all | 2 | 1 | 2 | 1 | 2 |"
    ]  # fmt: skip
    assert inversions([good, replace(worse, privacy="central")]) == 1
    assert inversions([worse, replace(good, question=Question(RATES, 100, 2.0))]) == 0
    assert replace(worse, error=0.011).open and not replace(worse, error=0.009).open and not good.open
    assert "TS-CF 110.0 ± 2.0, fresh 101.0 ± 1.0, 5.0 ± 0.0% behind" in str(worse)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_contest_names_a_method_within_6_percent_of_the_best(epsilon: float, monkeypatch) -> None:
    """A small part of the command; within its own error, and with fewer runs."""
    for name in ("TRIALS", "MOST"):
        monkeypatch.setattr(contest_check, name, 800)
    found = list(cells([Question(RATES, 1000, epsilon)], Store(None, 2**28)))
    assert [each.privacy for each in found] == list(COMPARED)
    assert all(each.behind <= 0.06 + 2 * each.error for each in found)
    assert all(each.found - found[0].found >= -3 * math.hypot(each.found_error, found[0].found_error) for each in found)
    assert all(abs(each.said - each.found) <= 4 * (each.said_error + each.found_error) for each in found)
