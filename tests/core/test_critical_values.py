"""Critical values and tests with looks, against printed tables and against paths that are played."""

import numpy as np
import pytest
from scipy import stats

from bandit_core.spec.errors import InputError
from bandit_core.theory.power import (
    EVERY_TRUST,
    TestPlan,
    _integrated_boundaries,
    critical_value,
    crossings,
    design_of,
    power_table,
    sample_size,
)

# Jennison and Turnbull (2000, Group Sequential Methods), tables 2.1 to 2.4: two-sided level .05, power .8
PRINTED = [  # looks, Pocock's constant and its factor of users, those of O'Brien and Fleming
    (2, 2.178, 1.110, 1.977, 1.008),
    (3, 2.289, 1.166, 2.004, 1.017),
    (4, 2.361, 1.202, 2.024, 1.024),
    (5, 2.413, 1.229, 2.040, 1.028),
    (10, 2.555, 1.301, 2.087, 1.040),
]


@pytest.mark.parametrize("count,pocock,pocock_users,fleming,fleming_users", PRINTED)
def test_the_integrals_give_the_printed_tables(count, pocock, pocock_users, fleming, fleming_users):
    times = tuple(np.arange(1, count + 1) / count)
    for boundaries, users in ((np.full(count, pocock), pocock_users), (fleming / np.sqrt(times), fleming_users)):
        assert crossings(times, boundaries).sum() == pytest.approx(0.05, abs=1e-4)
        drift = (1.959964 + 0.841621) * np.sqrt(users)
        assert crossings(times, boundaries, drift)[0].sum() == pytest.approx(0.8, abs=3e-4)


def test_boundaries_of_print():
    """Five looks by the program of Lan and DeMets (Reboussin et al. 2000), which spends on each side; and Pocock's."""
    times = tuple(np.arange(1, 6) / 5)
    each_side = [2 * (2 - 2 * stats.norm.cdf(stats.norm.ppf(1 - 0.0125) / np.sqrt(time))) for time in times]
    found = _integrated_boundaries(times, np.diff(each_side, prepend=0.0), 2)
    assert np.round(found, 4).tolist() == [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]
    pocock = design_of(looks=5, spending="pocock")
    assert np.round(pocock.boundaries, 3).tolist() == [2.438, 2.427, 2.410, 2.397, 2.386]


@pytest.mark.parametrize("plan", [{}, {"options": 3}, {"options": 5, "best": True, "sides": 1}], ids=str)
@pytest.mark.parametrize("looks", [4, 5, 7, 10])
def test_half_of_the_tests_with_looks_end_before_the_planned_one(plan, looks):
    planned, early = design_of(**plan).drift(0.8), design_of(**plan, looks=looks)
    longer = (early.drift(0.8) / planned) ** 2
    average, median = early.users(early.drift(0.8))
    assert 1 < longer < 1.09 and longer * average < 0.92 and longer * median < 0.96


def test_the_best_of_several_needs_more_users_than_one_difference():
    ratios = [(design_of(options=options, best=True, sides=1).drift(0.8) / design_of(options=options).drift(0.8)) ** 2
              for options in (3, 4, 5, 10)]  # fmt: skip
    assert np.round(ratios, 2).tolist() == [1.02, 1.14, 1.21, 1.39]


def test_critical_values_of_print():
    # Dunnett 1955, one- and two-sided tables at infinitely many degrees of freedom; Hsu's are the one-sided ones
    for options, one, two in ((2, 1.64, 1.96), (3, 1.92, 2.21), (4, 2.06, 2.35), (5, 2.16, 2.44), (10, 2.42, 2.69)):
        assert critical_value(0.05, options, 1) == pytest.approx(one, abs=0.006)
        assert critical_value(0.05, options) == pytest.approx(two, abs=0.006)


PLANS = [
    {"looks": 10, "spending": "pocock", "options": options, "goal": goal}
    for options, goal in ((2, "baseline"), (5, "baseline"), (3, "best"), (5, "best"))
] + [{"looks": 5, "options": 4, "goal": goal} for goal in ("best", "baseline")]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "-".join(map(str, plan.values())))
def test_played_tests_keep_level_and_power(plan):
    """40,000 normal paths: no difference at all, then one option ahead of all others, which are equally good."""
    asked, random, paths = TestPlan(**plan), np.random.default_rng(5), 40_000
    looks, others, design = asked.looks, asked.options - 1, asked.test
    high, times = np.array(design.boundaries) * np.sqrt(design.times), np.array(design.times)
    shared = random.standard_normal((paths, 1, looks))
    walks = (np.sqrt(0.5 / looks) * (random.standard_normal((paths, others, looks)) + shared)).cumsum(axis=2)
    drift = design.drift(0.8)
    if asked.best:  # from the best option's side: whether it is beaten, and whether it beats all others
        alarms, found = (walks >= high).any(axis=(1, 2)), (walks.min(axis=1) + drift * times >= high).any(axis=1)
    else:
        alarms, found = (np.abs(walks) >= high).any(axis=(1, 2)), (walks[:, 0] + drift * times >= high).any(axis=1)
    assert alarms.mean() == pytest.approx(0.05, abs=0.005) and found.mean() == pytest.approx(0.8, abs=0.01)
    average, median = design.users(drift)
    assert median <= 1 and average < 1


def test_any_of_four_numbers_follows_from_the_others():
    for privacy in EVERY_TRUST:
        plan = TestPlan(privacy=privacy, epsilon=1.0, options=3, goal="best", looks=2)
        users = plan.users(0.1, 0.02)
        assert plan.chance(users, 0.1, 0.02) == pytest.approx(0.8, abs=2e-4)
        assert plan.solve("effect", users, 0.1) == pytest.approx(0.02, rel=2e-3)
        if privacy != "none":
            assert plan.solve("epsilon", users, 0.1, 0.02) == pytest.approx(1.0, rel=5e-3)
    rows = power_table(0.1, 0.02, 1.0, trusts=EVERY_TRUST, delta=1e-6).set_index("trust").users
    assert rows["none"] < rows["central"] <= rows["distributed"] * 1.001 < rows["shuffle"] < rows["local"]


def test_wrong_numbers_are_named_together():
    with pytest.raises(InputError) as told:
        sample_size(0.0, 0.1, looks=0, spending="none", goal="all", split=-1, sides=3)
    assert [issue.path for issue in told.value.issues] == ["baseline", "looks", "sides", "split", "goal", "spending"]
