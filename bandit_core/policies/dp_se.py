"""DP-SE (Sajed and Sheffet 2019): successive elimination with a private mean per arm and epoch.

In epoch e every arm that is left is pulled R times, in turns; the mean of these fresh rewards is released with
Laplace(1/(epsilon R)) noise, and arms that lie clearly below the highest are dropped. The last arm is played for good.

Guarantee: epsilon-central DP, pure. Released: one mean per arm and epoch, at the end of the epoch; every reward is
in at most one of them. The policy needs the horizon, through its failure probability beta = 1/T.
Deviations from print: none known. An epoch that the horizon cuts short releases nothing. With ``growth`` a number the
epochs are batches of growth^b pulls instead, with the radii of print: the step with a curator on the ladder of trust of
`bandit_core.policies.ladder_family`, which begins with short batches where DP-SE begins with thousands of pulls.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bandit_core.kernels import batched
from bandit_core.kernels import ladder as kernels
from bandit_core.model import KernelCall, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import batch_family, ladder_family
from bandit_core.policies.central_family import nominal
from bandit_core.spec.elementary import log
from bandit_core.theory import central, ladder


class EpochParameters(ladder_family.EliminationParameters):
    """How sure an elimination must be, and how long its epochs are."""

    growth: Annotated[
        ladder_family.Growth | Literal["auto"],
        Field(description="auto: the epochs of print. A number: batch b pulls every arm that is left growth^b times."),
    ] = "auto"


def _epochs(setup: RunSetup) -> tuple[np.ndarray, np.ndarray]:
    """Pulls of each arm and margins of all epochs that may end by the horizon, both (epochs, arms + 1)."""
    size, beta = np.arange(len(setup.arms) + 1.0), ladder.chance_of_error(setup)
    size[:2] = 2  # with fewer nothing is dropped
    lengths, margins = [], []
    for e in range(1, 3 + int(math.log2(setup.horizon))):
        sampling, privacy = log(8 * size * e * e / beta), log(4 * size * e * e / beta)
        length = np.floor(np.maximum(32 * sampling * 4.0**e, 8 * privacy * 2.0**e / nominal(setup)) + 1)
        lengths.append(length)
        margins.append(2 * np.sqrt(sampling / (2 * length)) + 2 * privacy / (length * nominal(setup)))
    return np.array(lengths), np.array(margins)


def _prepare(setup: RunSetup) -> KernelCall:
    if setup.parameters.growth == "auto" and not setup.feedback.immediate:
        return ladder_family.prepare_late(setup, *_epochs(setup), 0.0, 1 / nominal(setup))
    if setup.parameters.growth == "auto":
        settings = (nominal(setup), ladder.chance_of_error(setup))
        return batch_family.prepare(batched.elimination, setup, *settings)
    return ladder_family.prepare(setup, kernels.LAPLACE, ladder.laplace(setup))


def _upper(setup: RunSetup) -> list[Bound]:
    found = central.dp_se(setup)
    if setup.parameters.growth == "auto":
        return found
    return [ladder.until_dropped(setup, ladder.laplace(setup), "central"), *found[1:]]


POLICY = batch_family.pure_policy(
    name="dp-se",
    title="DP-SE",
    paper="Sajed, Sheffet 2019",
    summary="Plays all arms equally often and drops the ones that are clearly worse, comparing noisy means.",
    anytime=False,
    parameters=EpochParameters,
    late=True,
    prepare=_prepare,
    bounds=batch_family.with_lower_bounds(_upper),
    step_cost=lambda setup: batch_family.cost(setup, look=0.0),  # rounds, each with one look at every arm
    parent="ucb",
    pseudo_code="""S = all arms;  beta = 1 / T
for e = 1, 2, ... while more than one arm is left:
    D = 2^-e;  R = [max(32 ln(8 |S| e^2 / beta) / D^2,  8 ln(4 |S| e^2 / beta) / (epsilon D))] + 1
    pull each arm of S  R times;  m_a = mean of these pulls + Laplace(1 / (epsilon R))
    h = sqrt(ln(8 |S| e^2 / beta) / (2 R));  c = ln(4 |S| e^2 / beta) / (epsilon R)
    drop every arm with  m_a < max m - 2 h - 2 c
play the arm that is left""",
)
