"""What a policy says holds of it: checks of a file, audits, and what its lines would take in production."""

import json
import math
import re
import sys
from functools import cache
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from families import POLICIES
from helpers import EDITS, FILES, fixed, own_policies_forgotten, setting
from helpers import line_of as experiment_of
from scipy import stats

from bandit_core import Experiment, InputError, PolicyTests, check_policy, load_policy, releases, simulate
from bandit_core.auditing import subjects
from bandit_core.auditing.subjects import CERTAINTY, EPSILONS, MOST_LOOKS, RUNS, audit, audit_policy, power
from bandit_core.auditing.subjects import subjects as audited
from bandit_core.cli import main
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import CTB, CTL, l2_ball
from bandit_core.mechanisms import registry as mechanisms_by_name
from bandit_core.model import Release, Signal, run_kernel
from bandit_core.policies import CLAIMED, registry
from bandit_core.policies import registry as policies
from bandit_core.rules import Rule
from bandit_core.simulation.sentences import verdict
from bandit_core.studies import benchmark, production
from bandit_core.studies.policy_check import CHANCE, CHECKS, findings
from bandit_core.studies.production import LIBRARIES, PROGRAMS, program, release_of, truth_of
from bandit_core.studies.tradeoff import weaker
from bandit_core.theory import definitions

# ---------------------------------------------------------------------------------------------------------------------
# What a policy says holds of it: checks of a file, and what its lines would take in production.


# ---------------------------------------------------------------------------------------------------------------------
# `check_policy` says what holds of a policy in a file, and names what does not; claims without an account say so.


NAME = "noisy-greedy"
SPEC = {
    "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    "lines": [{"policy": NAME, "epsilon": {"kind": "fixed", "value": 1.0}}],
    "horizon": 50,
    "trials": 2,
}
LIARS = EDITS["liars"]
ACCOUNT = '    releases=rules.noisy_answers("the reward"),\n'


@pytest.fixture
def file(policy_file):
    """A function that writes a policy of the tutorial, some words of it replaced; afterwards no one knows it."""

    def written(*changes, name="noisy_greedy"):
        text = FILES[name]
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        return policy_file(name, text)

    with own_policies_forgotten():
        yield written
    for module in [name for name in sys.modules if name.startswith("policy_file_")]:
        del sys.modules[module]


def test_the_public_tests_say_what_was_measured_and_ask_for_no_more_than_was_set(file):
    class Tests(PolicyTests):
        policy, file, found = NAME, None, 0.99

    Tests.file = file()
    with pytest.raises(AssertionError, match=r"found = 0.99, measured 0\.\d+"):
        Tests().test_found()
    with pytest.raises(SkipTest, match="ratio is None"):
        Tests().test_ratio()


@pytest.mark.parametrize("name", ["heldp-ucb-b", "dp-se"])
def test_a_right_policy_fails_with_none_of_sixty_seeds(name):
    found = [each for seed in range(60) for each in findings(registry()[name], CHANCE[:2], seed)]
    assert [str(each) for each in found if each.holds is False] == [] and len(found) == 120


@pytest.mark.parametrize("liar", LIARS)
def test_a_liar_is_refused_with_the_epsilon_found(file, liar):
    name, *changes = LIARS[liar]
    [name] = load_policy(file(*changes, name=name))
    [found] = findings(registry()[name], ["samples"])
    assert found.holds is False and float(re.search(r"ε is at least ([\d.]+)", found.words)[1]) > 0.05


PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none"]
SOME = [name for name in PRIVATE if name in (*POLICIES, "ldp-ols", "jdp-linucb", "ctb-tt")]


@pytest.mark.parametrize("name", [name for name in PRIVATE if name not in SOME])
def test_no_other_right_policy_is_refused_by_its_samples(name):
    test_no_right_policy_is_refused_by_its_samples(name)


@pytest.mark.parametrize("name", SOME)
def test_no_right_policy_is_refused_by_its_samples(name):
    """With fewer samples than usual, which change no chance of a false refusal: it is at most 1 - `CERTAINTY`."""
    policy = registry()[name]
    looks = [[*audit_policy(policy, [epsilon], 1000)] for epsilon in EPSILONS]
    assert [look for found in looks for look in found if look[1].verdict == "violates"] == []
    assert max(map(len, looks)) <= MOST_LOOKS and CERTAINTY == 1 - 1e-6
    declared = policy.stops or (policy.setting == "contexts" and policy.privacy != "local")
    assert (looks[0] == []) == declared


def test_samples_that_choose_where_to_look_are_not_counted(monkeypatch):
    drawn = []

    def looked_at(policy, epsilon, rng):
        drawn.append(rng.random(4))
        yield "here", lambda inputs, epsilon, counted: drawn.append(counted.random(4)) or inputs, 1

    monkeypatch.setattr(subjects, "places", looked_at)
    assert len([*audit_policy(registry()["heldp-ucb-b"], [1.0], 4)]) == 1
    assert len({tuple(numbers) for numbers in drawn}) == len(drawn) == 3


def test_an_audit_of_a_policy_errs_no_more_often_than_it_says():
    """HeLDP-UCB-B sends one bit whose loss is exactly ε: no policy that keeps ε is nearer to a refusal."""
    policy, runs, chance = registry()["heldp-ucb-b"], 100, 0.3
    audits = [audit_policy(policy, [1.0], 400, 1 - chance, seed) for seed in range(runs)]
    refused = sum(any(result.verdict == "violates" for _, result in found) for found in audits)
    assert 0 < refused <= stats.binom(runs, chance).ppf(1 - 1e-6)


def test_a_mean_under_the_floor_of_its_claim_is_told_and_never_bold(file, tmp_path, capsys):
    path = file(LIARS["local, without noise"][1])
    load_policy(path)
    lines = [{"policy": name, "epsilon": {"kind": "fixed", "value": 0.05}} for name in (NAME, "heldp-ucb-b")]
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.8, "count": 4}]
    spec = {"arms": arms, "lines": lines, "horizon": 10_000, "trials": 60}
    result = simulate(spec)
    assert list(result.refuted) == [0] and result.best <= {1} and 600 < result.refuted[0] < 800
    assert "clearly fewer than the 708" in verdict(result)
    document, rows = tmp_path / "spec.json", benchmark.load()
    document.write_text(json.dumps(spec), encoding="utf-8")
    assert main(["run", str(document), "--policy", str(path), "--jobs", "1"]) == 0
    assert "does not keep what it claims" in capsys.readouterr().err
    assert benchmark.under_floors(rows) == []  # no policy of the lab
    low = rows[(rows["floor"] > 100) & (rows["privacy"] == "local")].head(3)
    [told] = benchmark.under_floors(low.assign(policy=NAME, mean=low["floor"] / 20, sd=0.0))
    assert NAME in told and "task" in told


def test_who_hides_a_reward_only_is_not_compared_with_who_hides_all(file):
    load_policy(file(('"one user\'s context, choice and reward", "once', '"one reward", "once'), name="noisy_descent"))
    names = ("noisy-descent", "ldp-sgd")
    lines = [{"policy": name, "epsilon": {"kind": "fixed", "value": 1.0}} for name in names]
    experiment = Experiment.model_validate(
        {"contexts": {"dimension": 3, "arms": 2}, "lines": lines, "horizon": 50, "trials": 4}
    )
    assert simulate(experiment).best == frozenset() and weaker(experiment) == {0}
    rows = benchmark.load()
    rows = pd.concat([rows, rows[rows["policy"] == "ldp-sgd"].assign(policy="noisy-descent")])
    strict, lenient = (benchmark.Contest("contexts", "local", "pure", whole) for whole in (True, False))
    assert lenient.key == "features-local-pure-rewards" and lenient in benchmark.contests(rows)
    assert set(benchmark.entrants(rows, strict)["policy"]) == {"ldp-sgd"}
    assert set(benchmark.entrants(rows, lenient)["policy"]) == set(names)


@pytest.mark.parametrize("wrong", EDITS["wrong_arms"])
def test_what_no_rule_may_show_ends_the_run_with_a_sentence(file, wrong):
    name, change, words = EDITS["wrong_arms"][wrong]
    [name] = load_policy(file(change, name=name))
    instance = {"contexts": {"dimension": 3, "arms": 2}} if wrong == "features" else {"arms": SPEC["arms"]}
    with pytest.raises(InputError, match=words):
        simulate({**instance, "horizon": 500, "trials": 2, "lines": [{**SPEC["lines"][0], "policy": name}]})
    [found] = findings(registry()[name], ["numbers"])
    assert found.holds is False and re.search("choose|cannot be compiled", found.words)


def test_a_rule_may_call_a_function_of_its_file(file):
    helpers = "def twice(value):\n    return 2.0 * value\n\n\ndef same(value):\n    return twice(value) / 2.0\n\n\n"
    call = ("return reward + laplace(", "return same(reward) + laplace(")
    ends = []
    for changes in ((), (call, ("def respond(", f"{helpers}def respond("))):
        with own_policies_forgotten():
            load_policy(file(*changes))
            ends.append(simulate(SPEC).final["regret"].tolist())
    assert ends[0] == ends[1]


def _nan(numbers, known, arm, t):
    return np.nan if known.counts[arm] > 2 else 0.0


def test_an_index_that_is_no_number_ends_the_run_with_a_sentence():
    setup = Experiment.model_validate({**SPEC, "lines": [{"policy": "ucb"}]}).setups[0]
    call = Rule("no_number", index=_nan).call(setup, 0.0)
    with pytest.raises(InputError, match=r"no_number.index: 'NaN': a number for every arm"):
        run_kernel(call, streams(0, 0, 2), np.array([50]), Signal())


def test_a_file_is_audited_by_the_command(file, capsys):
    path = file(LIARS["local, a tenth of the noise"][1])
    assert main(["audit", "--policy", str(path), "--epsilon", "0.2", "--samples", "4000"]) == 1
    out, err = capsys.readouterr()
    assert out.count("violates") == 3 and "what the first user sends. Violation" in err
    assert main(["audit"]) == 2 and "--policy FILE" in capsys.readouterr().err


@pytest.mark.parametrize("check", EDITS["wrong_with_features"])
def test_what_is_wrong_with_features_is_named(file, check):
    named, change = EDITS["wrong_with_features"][check]
    [name] = load_policy(file(change, name="noisy_descent"))
    [found] = findings(registry()[name], [check])
    assert found.holds is False and named in found.words


@pytest.mark.parametrize("check", EDITS["wrong"])
def test_what_is_wrong_is_named(file, check):
    named, change = EDITS["wrong"][check]
    [name] = load_policy(file(change))
    found = {each.check: each for each in findings(registry()[name], [check])}
    assert found[check].holds is False and named in found[check].words


def test_a_guarantee_without_releases_says_so_everywhere(file):
    path = file((ACCOUNT, ""))
    whole = check_policy(path)
    assert [each.check for each in whole] == list(CHECKS)
    assert repr(whole[0]) == "<description: holds>"
    [found] = [each for each in whole if each.check == "account"]
    assert found.holds is None and CLAIMED in found.words
    result = simulate(SPEC)
    policy = registry()[NAME]
    assert CLAIMED in policy.guarantee_words and CLAIMED in result.final["guarantee"][0]
    assert CLAIMED in result.metadata["guarantees"][0]["words"] and "claimed" in result.final["label"][0]
    assert releases(SPEC)["released"].tolist() == [CLAIMED]


def test_a_file_may_be_loaded_again_after_an_edit(file, tmp_path):
    path = tmp_path / "own.py"
    for edit in ((), (("0.06", "0.5"),)):
        path.write_bytes(file(*edit).read_bytes())
        assert load_policy(path) == (NAME,)
    assert registry()[NAME].parameters().explore == 0.5
    with pytest.raises(InputError, match="ucb"):
        load_policy(file(('name="noisy-greedy"', 'name="ucb"')))


def test_an_unknown_policy_asks_whether_it_is_in_a_file():
    with pytest.raises(InputError, match="--policy FILE"):
        Experiment.model_validate(SPEC)


@pytest.mark.parametrize(
    "words",
    [["check"], ["bounds"], ["releases"], ["build"], ["link"], ["run", "--jobs", "1"], ["sweep", "--epsilon", "1"]],
)
def test_every_command_with_a_spec_takes_a_file(file, words, tmp_path, capsys):
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC), encoding="utf-8")
    assert main([words[0], str(spec), *words[1:]]) == 2
    assert main([words[0], str(spec), *words[1:], "--policy", str(file())]) == 0
    assert capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------------------------
# What a line would take where people use it: the programs are run, and OpenDP's own account is that of the release.


SPREAD = {"kind": "discrete", "values": [0.5, 2.0], "probs": [0.5, 0.5]}


@cache
def executed(code: str) -> dict:
    """The names of a program after it has run."""
    names: dict = {}
    exec(compile(code, "program", "exec"), names)
    return names


def lines():
    """Every private policy at several budgets, horizons and structures."""
    for name in PRIVATE:
        for epsilon, horizon in ((0.3, 1), (1.0, 20_000), (4.0, 500)):
            for structure in ("single", "multi") if registry()[name].setting == "contexts" else ("single",):
                yield experiment_of(name, fixed(epsilon), horizon, structure)


def test_the_program_of_every_release_costs_what_the_release_says():
    kinds = set()
    for experiment in lines():
        policy, instance = experiment.lines[0].entry, experiment.setups[0]
        delta = policy.guarantee(instance).delta
        for release in policy.releases(instance)[:3]:
            if release.mechanism not in PROGRAMS:  # no library draws a user's share of a batch's noise
                assert policy.privacy in production.BATCHES
                continue
            found = executed(program(release, delta))
            kinds.add(release.mechanism)
            if release.epsilon is not None:
                assert found["epsilon"] == pytest.approx(release.epsilon, rel=1e-9), policy.name
            else:
                assert found["rho"] == pytest.approx((release.sensitivity / release.scale) ** 2 / 2, rel=1e-9)
                assert found["epsilon"] == pytest.approx(float(definitions.zcdp_epsilon(found["rho"], delta)), rel=2e-3)
                if release.times == 1:
                    assert found["epsilon"] >= policy.guarantee(instance).epsilon * (1 - 1e-9)
            assert np.all(np.isfinite(np.asarray(found["answer"], float)))
    assert kinds == set(PROGRAMS) < set(LIBRARIES)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 25.0, 36.5, 37.0, 700.0, 1e4])
def test_randomised_response_never_costs_more_than_its_budget(epsilon):
    release = Release(mechanism="randomised response", released="", unit="one reward", at="", budget=epsilon)
    spent = executed(program(release))["epsilon"]
    assert spent <= epsilon * (1 + 1e-9) and 0.5 <= truth_of(epsilon) < 1
    if 1e-3 <= epsilon <= 25:
        assert spent == pytest.approx(epsilon, rel=1e-4)


def test_the_draws_of_the_programs_are_those_of_our_mechanisms():
    """By their means and spreads, within five standard errors of draws that no one can repeat."""
    draws = 1000

    def near(numbers, mean, sd):
        assert abs(np.mean(numbers) - mean) < 5 * sd / math.sqrt(draws)

    bits = executed(program(release_of(CTB, 1.0)))["release"]
    chance = float(CTB.mean(0.2, 1.0))
    near([bits(0.2) for _ in range(draws)], chance, math.sqrt(chance * (1 - chance)))
    ball = executed(program(release_of(mechanisms_by_name()["l2-ball"].make(1.0, dimension=3), 1.0)))["release"]
    vector, bound = np.array([0.9, 0.0, -0.6]), 2.0
    points = np.array([ball(vector.tolist(), bound) for _ in range(draws)])
    reach = l2_ball.radius(3, 1.0, bound)
    assert np.allclose(np.linalg.norm(points, axis=1), reach)
    for found, mean in zip(points.T, vector, strict=True):
        near(found, mean, reach / math.sqrt(3))
    ahead = points @ vector > 0  # the only thing that may depend on the vector
    towards = 0.5 + np.linalg.norm(vector) / (2 * bound)
    chance = 0.5 + math.tanh(0.5) * (towards - 0.5)
    near(ahead, chance, math.sqrt(chance * (1 - chance)))
    for name in ("ctl", "gaussian"):
        one = mechanisms_by_name()[name].make(1.0)
        found, sd = executed(program(release_of(one, 1.0), 0.01))["release"], math.sqrt(float(one.variance(0.2, 1.0)))
        several = name == "gaussian"
        noise = np.array([found([0.2])[0] if several else found(0.2) for _ in range(draws)])
        near(noise, 0.2, sd)
        near(noise**2, 0.04 + sd**2, math.sqrt(6) * 2 * sd**2)


@pytest.mark.parametrize("name", registry())
def test_every_plan_speaks_of_the_promise_and_the_numbers_of_its_line(name):
    policy = registry()[name]
    experiment = experiment_of(name, fixed(0.75) if policy.epsilon != "none" else None, 12_345)
    made, instance = production.plan(experiment, 0), experiment.setups[0]
    numbers = made.public[0]
    assert all(name in numbers for name, value in instance.parameters.model_dump().items() if value is not None)
    assert ("epsilon = 0.75" in numbers) == (policy.epsilon != "none")
    assert ("horizon = 12,345" in numbers) == (not policy.anytime)
    assert (production.PUBLIC["horizon"] in made.public) == (policy.privacy != "none" and not policy.anytime)
    assert bool(made.code) == any(release.mechanism in PROGRAMS for release in policy.releases(instance))
    assert (production.PUBLIC["moments"] in made.public) == (
        policy.privacy != "none" and "v" in numbers and "u =" in numbers
    )
    assert ("draws no noise" in made.device) == (policy.privacy in ("none", "joint", "central"))
    assert len(made.not_hidden) == (1 if policy.privacy == "none" else 2) + policy.stops
    assert (production.SEARCH in made.questions) == (policy.stops and policy.privacy != "none")
    for words in (made.device, made.server, made.noise, *made.public, *made.not_hidden, *made.questions):
        assert words[0].isupper() and words[-1] in ".?" and "None" not in words and "  " not in words


def test_a_plan_tells_many_releases_from_one_and_own_budgets_from_common_ones():
    once, often = (production.plan(experiment_of(name, fixed(1.0), 100_000), 0) for name in ("adap-ucb", "dp-ucb"))
    assert "erased" in once.server and "erased" not in often.server and " 17 " in often.server
    own = production.plan(experiment_of("heldp-ucb-b", SPREAD), 0)
    assert {production.PUBLIC["budgets"], production.PUBLIC["eps_min"]} <= set(own.public)
    weighed = production.plan(experiment_of("heldp-ucb-bw", SPREAD), 0).public
    assert production.PUBLIC["budgets"] in weighed and production.PUBLIC["eps_min"] not in weighed
    often_here = production.plan(experiment_of("adap-ucb", fixed(1.0)).with_changes(visits=4), 0)
    assert "epsilon of one answer = 0.25" in often_here.public[0] and "at most 4 times" in often_here.not_hidden[1]
    assert executed(often_here.code)["epsilon"] == pytest.approx(0.25)
    few = production.plan(experiment_of("dp-ucb-int", fixed(1.0), 10), 0)  # too few users for any release
    assert few.code == "" and few.questions
    taken = {u: production.plan(experiment_of("ldp-robust-se", fixed(1.0), v=0.5, u=u), 0) for u in ("auto", 2.0)}
    assert len(taken["auto"].public) == len(taken[2.0].public) + 1


def test_the_command_prints_a_section_per_line_and_its_program(capsys, tmp_path):
    spec = tmp_path / "spec.json"
    wanted = {**setting("ucb"), "lines": [{"policy": "ucb"}, {"policy": "adap-ucb", "epsilon": fixed(2.0)}]}
    spec.write_text(json.dumps(wanted), encoding="utf-8")
    assert main(["build", str(spec)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(production.NOTICE) and printed.count("\n## On the device") == 2
    (code,) = [part.split("```")[0] for part in printed.split("```python\n")[1:]]
    assert executed(code)["epsilon"] == pytest.approx(2.0)


# ---------------------------------------------------------------------------------------------------------------------
# Audits: right mechanisms pass, mechanisms with too little noise fail, with the stated confidence.


def test_an_audit_says_where_it_looked():
    result = audit(CTL, 1.0, [(0.0, 0.1), (0.0, 1.0)], samples=20_000, seed=3)
    assert set(result.pair) == {0.0, 1.0}
    # The likelier reward is the one on whose side the event lies.
    assert result.event[1] == math.inf if result.pair == (1.0, 0.0) else result.event[0] == -math.inf
    assert result == audit(CTL, 1.0, [(0.0, 0.1), (0.0, 1.0)], samples=20_000, seed=3)


def test_an_interval_in_the_middle_is_found():
    def centred(
        rewards, epsilon, rng
    ):  # half of the responses to 1 crowd around 0: no threshold shows it, a range does
        return rng.uniform(-1, 1, rewards.shape) * np.where(rng.random(rewards.shape) < rewards / 2, 0.1, 1.0)

    result = audit(centred, 1.0, [(0.0, 1.0)], samples=20_000, seed=1)
    assert result.verdict == "violates"
    assert 1.4 < result.lower_bound < math.log(5.5)
    assert result.pair == (1.0, 0.0)
    assert -0.5 < result.event[0] < result.event[1] < 0.5


@pytest.mark.parametrize(("pairs", "samples", "confidence"), [([], 100, 0.9), ([(0, 1)], 3, 0.9), ([(0, 1)], 100, 1.0)])
def test_impossible_audits_are_refused(pairs, samples, confidence):
    with pytest.raises(InputError, match=r"pairs|samples|confidence"):
        audit(CTB, 1.0, pairs, samples, confidence)


# ---- By name: mechanisms, runs, negative controls ----

SUBJECTS = audited()
SOUND = [name for name, subject in SUBJECTS.items() if subject.kind == "mechanism"]
BROKEN = {name: subject.opens_at for name, subject in SUBJECTS.items() if subject.kind == "negative control"}
# What no audit of the first choices can pass; the rest of epsilon hides behind the other user's noise.
RUNS_SEEN = {"heldp-ucb-b": 0.7, "ucb-cf": 0.7, "kl-ucb-cf": 0.7, "ts-cf": 0.1, "private-ucb": 0.1, "adap-ucb": 0.35}


@pytest.mark.parametrize("name", SOUND)
def test_every_mechanism_passes_by_name_and_the_audit_sees_it(name):
    found = audit(name, 1.0, samples=60_000)
    assert found.verdict == "consistent", found.words
    assert found.lower_bound > (0.2 if name == "gaussian" else 0.45)  # Gaussian: far more noise than delta needs
    assert found.delta == SUBJECTS[name].delta == (0.0 if mechanisms_by_name()[name].pure else 0.01)


@pytest.mark.parametrize(("name", "epsilon"), BROKEN.items(), ids=BROKEN)
def test_every_negative_control_is_caught(name, epsilon):
    found = audit(name, epsilon)
    assert found.verdict == "violates", found.words
    real = SUBJECTS[name].real(epsilon)
    assert epsilon < found.lower_bound <= real
    assert power(found) > 0.95  # it opens where it is caught nearly always, not by luck
    assert SUBJECTS[name].flaw


@pytest.mark.parametrize(("name", "epsilon", "samples"), [("ctl-half-noise", 0.3, 2000), ("ctb", 1.0, 2000)])
def test_the_told_power_is_the_share_of_audits_that_accuse(name, epsilon, samples):
    audits = [audit(name, epsilon, samples=samples, confidence=0.999, seed=seed) for seed in range(150)]
    message = [power(found, draws=400) for found in audits]
    caught = np.mean([found.verdict == "violates" for found in audits])
    assert abs(np.mean(message) - caught) < 0.1
    assert (0.1 < caught < 0.9) == (name == "ctl-half-noise")  # neither always nor never, or the test says little


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.9, 1.0])
def test_the_real_epsilon_of_the_misprint_is_that_of_its_two_coins(epsilon):
    """The exact chances of each answer, by hand: 1/(1 + e) after 0 and e/(1 + e) after 1."""
    ratio = max((epsilon / (1 + epsilon)) / (1 / (1 + epsilon)), 1 / epsilon)
    assert SUBJECTS["ctb-as-printed"].real(epsilon) == pytest.approx(math.log(ratio))


def test_the_real_epsilon_of_the_tree_is_that_of_its_nodes():
    scale, nodes = math.log(8) / 0.8, 4  # item 1 of 8 lies in the nodes that end at 1, 2, 4 and 8
    assert SUBJECTS["binary-natural-log"].real(0.8) == pytest.approx(nodes / scale)


@pytest.mark.parametrize(("name", "least"), RUNS_SEEN.items(), ids=RUNS_SEEN)
def test_first_choices_of_policies_keep_their_claim(name, least):
    found = audit(name, 1.0, samples=60_000)
    assert found.verdict == "consistent", found.words
    assert found.lower_bound > least


def test_the_sums_of_dp_tt_keep_their_claim_and_half_their_noise_does_not():
    """Those of the kernel: Laplace noise of scale 1/epsilon around the batch's sum."""
    found = audit("dp-tt", 1.0, samples=60_000)
    assert found.verdict == "consistent" and found.lower_bound > 0.7, found.words
    sample = SUBJECTS["dp-tt"].sampler
    ones = sample(np.ones(20_000), 2.0, np.random.default_rng(3))
    assert stats.kstest(ones, stats.laplace(1.0, 0.5).cdf).pvalue > 1e-4
    halved = audit(lambda inputs, epsilon, rng: sample(inputs, 2 * epsilon, rng), 1.0, samples=60_000)
    assert halved.verdict == "violates" and 1 < halved.lower_bound <= 2


def test_runs_are_those_of_registered_private_policies():
    for name, users in RUNS.items():
        policy = policies()[name]
        assert policy.privacy != "none" and policy.setting == "arms"
        assert SUBJECTS[name].guarantee == policy.guarantee_words
        assert users in (2, 3)


def test_the_choices_of_a_run_have_the_chances_that_its_answers_give():
    """HeLDP-UCB-B: arm 1 is chosen next only if its answer is 1 and that of arm 0 is 0."""
    rng, keep = np.random.default_rng(0), 1 / (1 + math.exp(1.0))  # chance of an answer that is not the reward
    for reward, zero in ((0.0, 1 - keep), (1.0, keep)):
        seen = SUBJECTS["heldp-ucb-b"].sampler(np.full(40_000, reward), 1.0, rng)
        assert set(np.unique(seen)) == {1.0, 2.0}
        assert np.mean(seen == 2) == pytest.approx(zero * keep, abs=0.006)


def test_the_numbers_of_an_audit_belong_together():
    found = audit("ctl-half-noise", 0.8, samples=30_000, confidence=0.99)
    (p_low, p, p_high), (q_low, q, q_high) = found.chances
    assert p_low < p < p_high and q_low < q < q_high
    assert found.lower_bound == pytest.approx(math.log(p_low / q_high)) == found.event_loss[0]
    assert found.event_loss[1] == pytest.approx(math.log(p / q))
    assert found.event_loss[2] == pytest.approx(math.log(p_high / q_low))
    half, hits = 15_000, round(p * 15_000)
    exact = stats.binomtest(hits, half).proportion_ci(1 - 0.01, "exact")  # each side 0.005: two limits share 0.01
    assert (p_low, p_high) == pytest.approx((exact.low, exact.high))


def test_delta_is_taken_off_the_likelier_chance():
    strict, lenient = (audit("ctl", 1.0, samples=20_000, delta=delta) for delta in (0.0, 0.1))
    assert lenient.lower_bound < strict.lower_bound
    assert lenient.event_loss[0] == pytest.approx(math.log((lenient.chances[0][0] - 0.1) / lenient.chances[1][2]))
    assert "0.1" in lenient.words and "0.1" not in strict.words
    whole = audit("ctl", 1.0, samples=20_000, delta=0.9)
    assert whole.lower_bound == 0 and whole.verdict == "consistent"


def test_progress_is_told_and_batches_are_all_drawn():
    message, sizes = [], []

    def counted(rewards, epsilon, rng):
        sizes.append(len(rewards))
        return rng.random(len(rewards))

    audit(counted, 1.0, samples=120_000, on_progress=message.append)
    assert sizes == [50_000, 50_000, 20_000] * 2
    assert message == sorted(message) and message[-1] == 1.0 and len(message) == 6


def test_false_alarms_of_all_sound_mechanisms_stay_within_the_stated_rate():
    """200 small audits at 95 %: 10 false alarms expected at most; 21 or more would happen in 1 of 1,000 such tests."""
    most = int(stats.binom.isf(1e-3, 200, 0.05))
    for name in ("ctb", "ctl", "l2-ball"):  # those that spend epsilon in full
        alarms = sum(
            audit(name, 1.0, samples=400, confidence=0.95, seed=seed).verdict == "violates" for seed in range(200)
        )
        assert alarms <= most, name
