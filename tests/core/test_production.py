"""What a line would take where people use it: the programs are run, and OpenDP's own account is that of the release."""

import json
import math
from functools import cache

import numpy as np
import pytest
from helpers import fixed, setting
from helpers import line_of as experiment_of

from bandit_core.cli import main
from bandit_core.mechanisms import CTB, l2_ball
from bandit_core.mechanisms import registry as mechanisms
from bandit_core.model import Release
from bandit_core.policies import registry
from bandit_core.studies import production
from bandit_core.studies.production import LIBRARIES, PROGRAMS, program, release_of, truth_of
from bandit_core.theory import definitions

SPREAD = {"kind": "discrete", "values": [0.5, 2.0], "probs": [0.5, 0.5]}
PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none"]


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
    ball = executed(program(release_of(mechanisms()["l2-ball"].make(1.0, dimension=3), 1.0)))["release"]
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
        one = mechanisms()[name].make(1.0)
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
