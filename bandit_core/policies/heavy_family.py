"""Shared by the policies for heavy-tailed rewards: moments, parameters, and the numbers that their kernels take."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels import heavy
from bandit_core.kernels.batch_rule import NEVER, OWN, BatchRule, count_pulls
from bandit_core.kernels.heavy import Truncation, clock_of, power_of, truncated_sum, truncation_bound
from bandit_core.kernels.play import Batches, Rule, Stream, User, laplace, piece_of, rewards_of
from bandit_core.kernels.streams import gamma
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.model import Bound, KernelCall, Parameters, Policy, RunSetup, any_rewards, numbers_held
from bandit_core.policies import elimination_family, index_family
from bandit_core.spec import rewards as distributions
from bandit_core.spec.field_types import Number, Positive, Small
from bandit_core.spec.portable_math import power
from bandit_core.theory import central
from bandit_core.theory import heavy as theory

_TABLED = 2**20  # powers of n kept in a table (8 MB)
# Default multipliers of the printed constants, chosen by experiment on the instances of Tao et al. (S1 to S3, v = 0.5
# and 0.9, 90 runs): at 1/16 the best arm survived in every run of DPRSE (locally, on S3, in about nine of ten); at 1/32
# up to 2% of runs lost it for good (locally up to 39%), at 1/64 up to 33%.
CONSTANTS = 1 / 16
PLAIN_CONSTANTS = 1 / 4  # Robust-UCB has less to spare: below, an arm whose first rewards count 0 may never come back

Kappa = Annotated[Small, Field(gt=0, le=1)] | Literal["auto"]


class HeavyParameters(Parameters):
    """What is known about the tails."""

    v: Annotated[Number, Field(gt=0, le=1)] = 0.5
    """Moments of order 1 + v are finite: 1 is a finite variance, near 0 hardly more than a finite mean."""
    u: Positive | Literal["auto"] = "auto"
    """Bound on the (1+v)-th raw moment of every arm. auto: the largest of the arms."""


class IndexParameters(HeavyParameters):
    """For index policies."""

    kappa: Kappa = "auto"
    """Multiplies the bonus of the index; 1 = theory. auto: 1/4 for Robust-UCB, 1/16 for DPRUCB, chosen by experiment.
    Privacy is the same for every kappa; the bound on the regret is proved for 1 only."""


class EliminationParameters(HeavyParameters):
    """For elimination in epochs."""

    kappa: Kappa = "auto"
    """Multiplies the length of every epoch (its leading part), and the threshold by the power of it that keeps
    threshold and precision in step; 1 = theory. auto: what makes the error constants 1/16 of the printed ones, chosen
    by experiment. Privacy is the same for every kappa; the bound on the regret is proved for 1 only."""
    beta: Annotated[Small, Field(gt=0, lt=1)] | Literal["auto"] = "auto"
    """Probability that a best arm may ever be dropped. auto: 1 / horizon."""


class LocalEliminationParameters(EliminationParameters):
    """For elimination in epochs under local privacy."""

    shrink: Literal[2, 4] = 4
    """Each epoch is this many times more precise: 4 as printed, 2 overshoots the needed one less."""


def error_kappa(v: float, local: bool) -> float:
    """The default kappa of elimination: the constants 24 and 12 (28 and 14) become a sixteenth of what they are."""
    return CONSTANTS ** ((2 if local else 1) * (1 + v) / v)


def settle(setup: RunSetup) -> Parameters:
    """Replace u, kappa and beta = "auto" by numbers."""
    given: Any = setup.parameters
    numbers: dict[str, float] = {}
    if given.u == "auto":
        moments = (arm.raw_moment(1 + given.v) for arm in distributions.distinct(setup.arms))
        numbers["u"] = max(moments) or 1.0  # arms that all pay 0: any bound holds
    if given.kappa == "auto":
        local = isinstance(given, LocalEliminationParameters)
        index = PLAIN_CONSTANTS if setup.epsilon is None else CONSTANTS
        numbers["kappa"] = index if isinstance(given, IndexParameters) else error_kappa(given.v, local)
    if getattr(given, "beta", None) == "auto":
        numbers["beta"] = 1 / max(2, setup.horizon)
    return given.model_copy(update=numbers)


def policy(lower: Callable[[RunSetup], list[Bound]], upper: Callable[[RunSetup], list[Bound]], **fields: Any) -> Policy:
    """An entry for a policy for rewards of any size; its bounds are ``lower``, of its trust model, and ``upper``."""
    return Policy(
        **{
            "settle": settle,
            "accepts": any_rewards,
            "refuses": refuse_infinite_moment,
            "late": True,
            "parent": "robust-ucb",
            "bounds": lambda setup: [*lower(setup), *upper(setup)],
            **fields,
        }
    )


def central_lower_bounds(setup: RunSetup) -> list[Bound]:
    """What every policy with a curator must lose."""
    private = [*central.finite_time(setup), *theory.central_lower_bounds(setup)]
    return [*private, *theory.plain_lower_bounds(setup)]


def refuse_infinite_moment(setup: RunSetup) -> str | None:
    """Words of refusal when some arm has no finite moment of order 1 + v."""
    v = setup.parameters.v
    for arm in distributions.distinct(setup.arms):
        if arm.moment_limit <= 1 + v:
            number = setup.arms.index(arm)
            return (
                f"arm {number} ({arm.kind}) has no finite moment of order 1 + v = {1 + v:g}; "
                f"allowed: v below {arm.moment_limit - 1:g}"
            )
    return None


@lru_cache(maxsize=8)
def _powers(exponent: float, size: int) -> np.ndarray:
    return np.concatenate([[math.inf], power(np.arange(1, size), -exponent)])


# UCB on truncated rewards: Robust-UCB, and DPRUCB where ``node_scale`` is not 0 (see `Truncation`).


class State(NamedTuple):
    """Of every arm (arms,): noise terms of its tree (arms, terms), number and sum of its truncated rewards, their noisy
    mean, and n^-p.
    """

    held: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    widths: np.ndarray


def start(numbers: Truncation, arms: int) -> State:
    """Nothing; every arm must be tried."""
    held, counts = np.zeros((arms, heavy.NOISE_TERMS)), np.zeros(arms, np.int64)
    return State(held, counts, np.zeros(arms), np.full(arms, np.inf), np.zeros(arms))


def index(numbers: Truncation, known: State, arm: int, t: int) -> float:
    """S / n + bonus ((slope ln t + offset) / n)^p."""
    return known.means[arm] + clock_of(numbers, math.log(t)) * known.widths[arm]


def learn(numbers: Truncation, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the reward, 0 if it is beyond the bound of its user's step, and insert it into the arm's tree, if any."""
    known.counts[arm] += 1
    count = known.counts[arm]
    power = power_of(numbers.powers, numbers.exponent, count)
    bound = truncation_bound(numbers, numbers.level * count, power, math.log(user.number))
    if abs(response) <= bound:
        known.sums[arm] += response
    total = known.sums[arm]
    if numbers.node_scale > 0.0:
        total += tree_noise(known.held, arm, set_bits(count), laplace(stream, numbers.node_scale * bound))
    known.means[arm] = total / count
    known.widths[arm] = power


RULE = Rule("truncated", start, learn=learn, index=index)


def prepare_index(setup: RunSetup, **given: Any) -> KernelCall:
    """The call of an index policy, by the numbers of its `Truncation`."""
    v = setup.parameters.v
    exponent = v / (1 + v)
    powers = _powers(exponent, min(setup.horizon + 2, _TABLED))
    numbers = Truncation(powers, exponent, **given)

    def fast() -> KernelCall:
        return KernelCall(heavy.by_index, (rewards_of(setup), numbers), len(setup.arms))

    return RULE.call(setup, numbers, fast)


def _budgets(setup: RunSetup) -> tuple[float, float]:
    """The epsilon of the noise, and the one that stands in R, B and err.

    The error bound of Algorithm 3 leaves out the sampling error, which is covered for epsilon up to 1 only; so a
    larger epsilon counts as 1 there. Algorithm 4 is left as printed.
    """
    epsilon = setup.fixed_epsilon
    return epsilon, epsilon if is_local(setup) else min(1.0, epsilon)


def is_local(setup: RunSetup) -> bool:
    """Whether the line is LDPRSE rather than DPRSE."""
    return isinstance(setup.parameters, LocalEliminationParameters)


def epoch(rule: heavy.Elimination, known: elimination_family.State, number: int, size: int) -> tuple[int, float]:
    """R and the threshold; B is kept."""
    found = heavy.epoch_numbers(rule, number, size)
    known.margins[elimination_family.OWN] = found.bound
    return int(min(found.length, float(NEVER))), found.threshold


def take(
    rule: heavy.Elimination,
    known: elimination_family.State,
    fresh: np.ndarray,
    arm: int,
    response: float,
    stream: Stream,
) -> None:
    """Add the reward unless it is beyond B; ``local``: with noise of its own."""
    bound = known.margins[elimination_family.OWN]
    if abs(response) <= bound:
        fresh[arm] += response
    if rule.local:
        fresh[arm] += laplace(stream, 2.0 * bound / rule.epsilon)


def release(
    rule: heavy.Elimination, known: elimination_family.State, arm: int, total: float, count: float, stream: Stream
) -> None:
    """Release the mean of an epoch, with noise unless each reward has its own."""
    known.means[arm] = total / count
    if not rule.local:
        known.means[arm] += laplace(stream, 2.0 * known.margins[elimination_family.OWN] / (count * rule.epsilon))


def total(
    rule: heavy.Elimination,
    known: elimination_family.State,
    batches: Batches,
    arm: int,
    count: int,
    stream: Stream,
) -> float:
    """The truncated rewards of an epoch, added up. ``local``: with the noise of all its users.

    The sum of R Laplace variables is the difference of two gamma(R) variables.
    """
    words, trial, bound = stream.words, stream.trial, known.margins[elimination_family.OWN]
    found = truncated_sum(batches.rewards, arm, count, bound, batches.at_once, words, trial, batches.record.signal)
    if rule.local:
        found += 2.0 * bound / rule.epsilon * (gamma(words, trial, float(count)) - gamma(words, trial, float(count)))
    return found


def _epochs(name: str, local: bool) -> BatchRule:
    family = elimination_family
    return BatchRule(
        name, family.start, family.choose, release, family.believe, "turns", {"epoch": piece_of(epoch)}, total=total,
        pull=count_pulls, take=take, takes=OWN, hides=local,
    )  # fmt: skip


EPOCHS = {False: _epochs("epochs", False), True: _epochs("epochs_local", True)}  # by `is_local`


def prepare_epochs(setup: RunSetup, *, at_once: bool = True) -> KernelCall:
    """Elimination in epochs.

    ``at_once`` = False draws every reward by itself instead of the sum of an epoch: other draws, the same distribution.
    """
    p: Any = setup.parameters
    shrink = float(getattr(p, "shrink", 2))
    rule = heavy.Elimination(
        is_local(setup), shrink, float(p.v), float(p.u), *_budgets(setup), float(p.kappa), float(p.beta)
    )
    return EPOCHS[rule.local].call(setup, rule, at_once)


def index_held(setup: RunSetup, rows: int) -> float:
    """``held`` of the index policies: powers of n are tabled."""
    return numbers_held(setup, rows) + 2 * min(setup.horizon + 2, _TABLED)


def epoch_cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: nothing where an epoch's sum is one draw."""
    if not setup.feedback.immediate:
        return index_family.late_cost(setup)
    quick = (distributions.TWO_POINT, distributions.PARETO, distributions.GAUSSIAN)
    bulk = min(1.0, 300.0 * len(setup.arms) / setup.horizon)
    return bulk if all(arm.row()[0] in quick for arm in distributions.distinct(setup.arms)) else bulk + 2.0


def log_horizon(setup: RunSetup) -> float:
    """ln T, of 2 at least: with T = 1 the printed truncation level is infinite, and so is the noise."""
    return math.log(max(2, setup.horizon))
