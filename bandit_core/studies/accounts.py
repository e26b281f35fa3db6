"""The releases of every line as data, and what they add up to: an account that anyone can make again.

A person who is in several tests: what each of them may spend of one budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import checked
from bandit_core.experiments.experiment import Experiment
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.model import Privacy, Release
from bandit_core.policies import CLAIMED
from bandit_core.policies.visits import part_of_one
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.feedback import MAX_VISITS
from bandit_core.spec.later import pd
from bandit_core.theory import accounting

COLUMNS = (
    "line", "label", "policy",
    "unit", "released", "mechanism", "norm", "sensitivity", "scale", "epsilon", "times", "at",
    "guarantee_epsilon", "guarantee_delta",
)  # fmt: skip
_ORDERS = accounting.ORDERS[::8]  # fewer, as there may be thousands of rows; no more than one in a thousand is lost


def composed(releases: Iterable[Release], delta: float = 0.0) -> float:
    """Epsilon that one unit loses at most by all ``releases`` together, at ``delta``; infinite where nothing is proved.

    Without delta the sum. With delta the smallest of the sum, of what Renyi divergences give, of tight composition
    where a few pure releases spend the same, and, where all noise is normal, of the exact epsilon of one Gaussian
    release of the joint sensitivity. Releases that have a delta of their own add their epsilons and deltas (basic
    composition), and the others get what is left of delta.

    >>> from bandit_core.model import Release
    >>> laplace = Release(mechanism="laplace", released="", unit="one reward", at="", times=100, norm="L1",
    ...                   sensitivity=1.0, scale=10.0)
    >>> round(composed([laplace]), 3), round(composed([laplace], 1e-6), 3)
    (10.0, 4.775)
    """
    releases = list(releases)
    if failing := [each for each in releases if each.delta > 0]:
        left = delta - sum(each.times * each.delta for each in failing)
        if left < -1e-9 * delta:
            return math.inf
        others = composed([each for each in releases if each.delta == 0], max(0.0, left))
        return others + float(sum(each.times * (each.epsilon or 0.0) for each in failing))
    normal = [each for each in releases if each.mechanism == "gaussian"]
    pure = math.inf if normal else float(sum(each.times * (each.epsilon or 0.0) for each in releases))
    if delta == 0 or not releases:
        return pure
    distance = math.sqrt(sum(each.times * _distance(each) ** 2 for each in normal))
    if len(normal) == len(releases):
        return smallest_epsilon(distance, 1.0, delta)
    divergence = accounting.gaussian_renyi(_ORDERS, distance)
    for each in releases:
        if each.epsilon is not None:
            divergence = divergence + each.times * _renyi(each, each.epsilon)
    return min(pure, float(accounting.renyi_epsilon(divergence, delta, _ORDERS)), _alike(releases, delta))


def _alike(releases: list[Release], delta: float) -> float:
    """By `accounting.tight_epsilon`; infinite where releases are not alike, or too many for its sum."""
    times, parts = sum(each.times for each in releases), {each.epsilon for each in releases}
    part = parts.pop()
    if parts or part is None or times > MAX_VISITS or math.isinf(part):
        return math.inf
    return accounting.tight_epsilon(part, times, delta)


def _distance(release: Release) -> float:
    assert release.sensitivity is not None and release.scale is not None
    return release.sensitivity / release.scale


def _renyi(release: Release, epsilon: float) -> np.ndarray:
    """Of one pure release: its own for Laplace noise, else that of any epsilon-private release."""
    if release.mechanism == "laplace":
        return accounting.laplace_renyi(_ORDERS, epsilon)
    return np.minimum(epsilon, _ORDERS * epsilon**2 / 2)


def releases(experiment: Experiment) -> pd.DataFrame:
    """One row per release (or run of equal ones) of every private line, columns `COLUMNS`; none without privacy.

    A row counts for one unit; ``times`` says how many such releases one unit is in, at most. ``epsilon`` is the pure
    budget of one release (nats), empty for normal noise. ``guarantee_epsilon`` and ``guarantee_delta`` are what the
    line states for all of them; the former is empty where users have budgets of their own. A private line whose policy
    lists no releases has one row that says so.
    """
    rows: list[tuple[object, ...]] = []
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        guarantee = line.entry.guarantee(setup)
        first = (number, experiment.label(number), line.policy)
        listed = [tuple(getattr(each, name) for name in COLUMNS[3:12]) for each in line.entry.releases(setup)]
        if not listed and line.entry.privacy != "none":
            listed = [(None, CLAIMED, *[None] * 7)]
        rows += [(*first, *row, guarantee.epsilon, guarantee.delta) for row in listed]
    return pd.DataFrame(rows, columns=list(COLUMNS))


BUDGET_COLUMNS = ("trust", "test_epsilon", "answer_epsilon")
MAX_TESTS = 1000
MAX_BUDGET = 1000.0
MAX_ANSWERS = 10_000  # of one person in all
MAX_DELTA = 1e-3
LEAST_EPSILON = 0.01


@dataclass(frozen=True)
class Part:
    """What a person may spend in one test, and in one answer (nats). Both are pure: no delta of their own."""

    privacy: Privacy
    test: float
    answer: float


@checked
def parts(
    epsilon: Annotated[float, Field(ge=LEAST_EPSILON, le=MAX_BUDGET)],
    tests: Annotated[int, Field(ge=1, le=MAX_TESTS)],
    visits: Annotated[int, Field(ge=1, le=MAX_VISITS)] = 1,
    delta: Annotated[float, Field(ge=0, le=MAX_DELTA)] = 0.0,
) -> tuple[Part, ...]:
    """The largest equal parts for which all ``tests`` together are proved to be (epsilon, delta)-private for a person.

    A person gives ``visits`` answers in each test. Later tests may depend on what earlier ones found.

    On one's own device each answer is a release. There are tests x visits of them, and tight composition (Kairouz, Oh
    and Viswanath 2015) says what each may spend. A trusted curator releases what a test found, for all answers of a
    person at once, so tight composition is over the tests, and an answer gets 1 / visits of its test: of one test
    nothing better is proved (group privacy).

    >>> parts(2.0, 4)[0]
    Part(privacy='local', test=0.5, answer=0.5)

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    refuse_if(tests * visits > MAX_ANSWERS, "visits", visits, f"at most {MAX_ANSWERS:,} answers of one person in all")
    answer, test = part_of_one(epsilon, tests * visits, delta), part_of_one(epsilon, tests, delta)
    return Part("local", visits * answer, answer), Part("central", test, test / visits)


def budget(epsilon: float, tests: int, visits: int = 1, delta: float = 0.0) -> pd.DataFrame:
    """`parts` as a table: one row per level of trust, columns `BUDGET_COLUMNS`."""
    divided = parts(epsilon, tests, visits, delta)
    return pd.DataFrame([(part.privacy, part.test, part.answer) for part in divided], columns=list(BUDGET_COLUMNS))
