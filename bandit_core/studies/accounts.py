"""The releases of every line as data, and what they add up to: an account that anyone can make again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.model import Release
from bandit_core.policies import CLAIMED
from bandit_core.spec.feedback import MAX_VISITS
from bandit_core.theory import accounting

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd

    rows: list[tuple[object, ...]] = []
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        guarantee = line.entry.guarantee(setup)
        first = (number, experiment.label(number), line.policy)
        listed = [tuple(getattr(each, name) for name in COLUMNS[3:12]) for each in line.entry.releases(setup)]
        if not listed and line.entry.privacy != "none":
            listed = [(None, CLAIMED, *[None] * 7)]
        rows += [(*first, *row, guarantee.epsilon, guarantee.delta) for row in listed]
    return pd.DataFrame(rows, columns=list(COLUMNS))
