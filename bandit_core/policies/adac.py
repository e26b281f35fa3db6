"""AdaC-UCB: Azize, Basu 2023.

UCB in batches that double; each batch is summed once, with normal noise, and the older ones forgotten.

    pull each arm once;  m_a = reward + N(0, 1 / (2 rho)),  n_a = 1
    repeat, t being the next pull:
        pull the arm with the largest  m_a + sqrt((1 / (2 n_a) + 1 / (rho n_a^2)) alpha ln t)
        until its pulls have doubled;  n_a = pulls of this episode
        m_a = mean of these pulls + N(0, 1 / (2 rho n_a^2))

Promise: rho-zCDP, and so (epsilon, delta)-central DP: every reward enters one release

arXiv 2309.00557. AdaP-UCB with normal noise, for a concentrated budget.

Guarantee: rho-zCDP, central. A reward moves the sum of its episode, the one release that it is in, by at most 1, and
normal noise of variance 1 / (2 rho) on a sum is rho-zCDP (Bun and Steinke 2016, Proposition 1.6); what was released
before does not depend on the reward, and what comes after depends on it through that release alone.
The line's epsilon is that of an (epsilon, delta) promise, and ``accounting`` says how rho follows from it:

* tight: by the exact condition of one normal release (Balle and Wang 2018, Theorem 8), as no reward is in two of them,
* paper: by rho + 2 sqrt(rho ln(1/delta)) = epsilon, which holds for all that is rho-zCDP, and asks for more noise;
  the guarantee shown is the smaller epsilon that the run then has.

Deviations from print: as in AdaP-UCB, n is the number of rewards in the mean, also after the first pull. The paper was
not at hand: the algorithm is as it is quoted elsewhere, and the bound on regret is proved here (`theory.central`).
"""

import math
from typing import Annotated, NamedTuple

from pydantic import Field

from bandit_core.kernels.play import Stream
from bandit_core.kernels.streams import HALF_UNIT, next_uniform, normal_quantile
from bandit_core.mechanisms.gaussian import analytic_sd, smallest_epsilon
from bandit_core.model import Guarantee, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.batch_family import State, index_rule
from bandit_core.policies.central_family import Accounting, concentrated, noisy_sums
from bandit_core.spec.field_types import Small
from bandit_core.theory import central, definitions


class ConcentratedParameters(batch_family.ExplorationParameters):
    """How optimistic the index is, and what stands behind the line's epsilon."""

    delta: Annotated[Small, Field(gt=0, lt=1)] = 1e-6
    """Probability with which the bound epsilon on the privacy loss may fail."""
    accounting: Accounting = "tight"
    """How the concentrated budget rho follows from epsilon and delta. tight: by the exact condition of one release with
    normal noise. paper: rho + 2 sqrt(rho ln(1/delta)) = epsilon, which asks for more noise than needed."""


def budget(setup: RunSetup) -> float:
    """The concentrated budget rho of the line."""
    delta = setup.parameters.delta
    if setup.parameters.accounting == "paper":
        return definitions.zcdp_rho(setup.fixed_epsilon, delta)
    return 0.5 / analytic_sd(1.0, setup.fixed_epsilon, delta) ** 2


def _sd(setup: RunSetup) -> float:
    """Standard deviation of the noise on the sum of an episode."""
    return math.sqrt(0.5 / budget(setup))


def _guarantee(setup: RunSetup) -> Guarantee:
    really = setup.fixed_epsilon
    if setup.parameters.accounting == "paper":
        really = smallest_epsilon(1.0, _sd(setup), setup.parameters.delta)
    return concentrated(setup, budget(setup), "and, as each of them is in one release with normal noise,", really)


class Numbers(NamedTuple):
    """The standard deviation of the noise on a sum, and as in `batch_family.Numbers`."""

    sd: float
    alpha: float
    growth: float
    first: int


def index(numbers: Numbers, mean: float, count: float, level: float) -> float:
    """mean + sqrt((1 / (2 n) + 2 sd^2 / n^2) alpha ln t)."""
    spread = 0.5 / count + 2.0 * numbers.sd * numbers.sd / (count * count)
    return mean + math.sqrt(spread * (numbers.alpha * level))


def learn(numbers: Numbers, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Release the sum with normal noise, the quantile of a uniform, and forget the batches before."""
    total += numbers.sd * normal_quantile(next_uniform(stream.words, stream.trial, 0) + HALF_UNIT)
    known.counts[arm] = count
    known.means[arm] = total / count


RULE = index_rule("adac_ucb", index, learn)


POLICY = batch_family.central_policy(
    name="adac-ucb",
    parameters=ConcentratedParameters,
    prepare=lambda setup: RULE.call(setup, Numbers(_sd(setup), setup.parameters.alpha, 2.0, 1)),
    upper=lambda setup: central.adac_ucb(setup, budget(setup)),
    guarantee=_guarantee,
    releases=noisy_sums(batch_family.SUM, _sd, normal=True),
)
