"""Which epsilon does a mechanism, or a policy's run, really have? A statistical lower bound from its outputs alone.

For each pair of rewards, half of the responses choose an event (a range of responses) that tells the two rewards
apart; the other half measure it, with exact Clopper-Pearson limits. If the event has at least probability p after
one reward and at most q after the other, then no epsilon below ln((p - delta)/q) can be true. The confidence holds
for all pairs together (Bonferroni). An audit can refute a claim; it can never prove privacy: it looks at a few pairs
of inputs and at ranges of one number, and a leak elsewhere, or one too rare for the samples, stays unseen.

What can be audited by name stands in `bandit_core.auditing.subjects`. How often it errs is measured in docs/audit.md.

>>> audit("ctb", 1.0, samples=2000).verdict
'consistent'
>>> audit("ctb-as-printed", 0.1, samples=2000).verdict  # the formula as it was misprinted
'violates'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from bandit_core.auditing.runs import places, setup_of
from bandit_core.auditing.subjects import subject
from bandit_core.mechanisms.base import Mechanism, Sampler
from bandit_core.model import Policy
from bandit_core.simulation.comparisons import share_limits
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.number_text import number

Progress = Callable[[float], None]
Limits = tuple[float, float, float]
MAX_SAMPLES = 1_000_000
_TAILS = np.array([0.001, 0.002, 0.005, 0.01, 0.02])
# Cuts of the real line from which ranges are chosen: evenly through the responses, and closer towards both ends.
_CUTS = np.sort(np.concatenate([_TAILS, np.linspace(0, 1, 27)[1:-1], 1 - _TAILS]))
_BATCH = 50_000  # samples drawn at once; bounds memory
# Of the audit of a policy: budgets; samples for each table, and their users together, at most; looks at each budget.
EPSILONS = (0.05, 1.0)
SAMPLES, STEPS, MOST_LOOKS = 20_000, 10_000_000, 3
CERTAINTY = 1 - 1e-6


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    ``lower_bound``: the true epsilon is at least this, with probability ``confidence``. ``pair``: the rewards that
    show it, the likelier one first. ``event``: responses in (low, high]. ``chances``: the event's probability after
    each of the pair, as (lower limit, share seen, upper limit). ``event_loss``: ln of the ratio of these chances (less
    delta) at the least, as seen, and at most; the last speaks of this event only and bounds no epsilon.
    """

    epsilon: float
    lower_bound: float
    confidence: float
    samples: int
    pair: tuple[float, float]
    event: tuple[float, float]
    delta: float = 0.0
    chances: tuple[Limits, Limits] = ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0))
    event_loss: Limits = (-math.inf, -math.inf, math.inf)

    @property
    def verdict(self) -> Literal["consistent", "violates"]:
        """Whether the responses are consistent with the claimed epsilon."""
        return "consistent" if self.lower_bound <= self.epsilon else "violates"

    @property
    def words(self) -> str:
        """One plain sentence."""
        comparison = (
            f"with confidence {self.confidence:g} the true epsilon is at least {number(self.lower_bound)}; "
            f"claimed is {self.epsilon:g}" + (f" at delta = {self.delta:g}" if self.delta else "")
        )
        return f"Consistent: {comparison}." if self.verdict == "consistent" else f"Violation: {comparison}."


def audit(
    sampler: str | Mechanism | Sampler,
    epsilon: float,
    pairs: Sequence[tuple[float, float]] = ((0.0, 1.0),),
    samples: int = 200_000,
    confidence: float = 0.999,
    seed: int = 0,
    delta: float | None = None,
    on_progress: Progress | None = None,
) -> AuditResult:
    """Lower confidence bound on the true epsilon of ``sampler``, which claims ``epsilon``.

    Parameters
    ----------
    sampler
        A name of `bandit_core.auditing.subjects`, a mechanism, or any ``sampler(rewards, epsilon, rng) -> responses``
        that gives one number for each of an array of rewards.
    pairs
        Pairs of rewards to tell apart; both orders of a pair are considered. For a name 0 and 1 stand for its two
        neighbouring inputs.
    samples
        Responses drawn for each reward of a pair, 4 to a million.
    confidence
        Probability that the bound is right, over all pairs.
    delta
        Probability with which the claim may fail; 0 for pure DP. Absent: what the named subject claims, else 0.
    on_progress
        Told the fraction done, after every batch of samples.

    Raises
    ------
    InputError
        When the name is unknown, there are no pairs, or epsilon, samples, delta, confidence or seed are not what is
        allowed.
    """
    refuse_if(not pairs, "pairs", pairs, "at least one pair of rewards")
    refuse_if(not 0 < epsilon < math.inf, "epsilon", epsilon, "a number above 0")
    refuse_if(not 4 <= samples <= MAX_SAMPLES, "samples", samples, f"a whole number from 4 to {MAX_SAMPLES}")
    refuse_if(not 0 < confidence < 1, "confidence", confidence, "a number between 0 and 1")
    refuse_if(seed < 0, "seed", seed, "a whole number, 0 or more")
    if isinstance(sampler, str):
        named = subject(sampler)
        respond, delta = named.sampler, named.delta if delta is None else delta
    else:
        respond = sampler.release if isinstance(sampler, Mechanism) else sampler
    delta = delta or 0.0
    refuse_if(not 0 <= delta < 1, "delta", delta, "a number from 0 to below 1")
    rng = np.random.default_rng(seed)
    error = (1 - confidence) / (2 * len(pairs))  # two limits for each pair
    half = samples // 2
    done, total = 0, 4 * half * len(pairs)

    def report(count: int) -> None:
        nonlocal done
        done += count
        if on_progress is not None:
            on_progress(done / total)

    def judged(pair: tuple[float, float]) -> _Evidence:
        responses = [_drawn(respond, float(reward), 2 * half, epsilon, rng, report) for reward in pair]
        return _tell_apart(pair, responses, error, delta)

    best = max(map(judged, pairs), key=lambda evidence: evidence.loss[0])
    return AuditResult(
        epsilon=epsilon,
        lower_bound=max(0.0, best.loss[0]),
        confidence=confidence,
        samples=2 * half,
        pair=best.pair,
        event=best.event,
        delta=delta,
        chances=best.limits,
        event_loss=best.loss,
    )


def audit_policy(
    policy: Policy,
    epsilons: Sequence[float] = EPSILONS,
    samples: int = SAMPLES,
    confidence: float = CERTAINTY,
    seed: int = 0,
) -> Iterator[tuple[str, AuditResult]]:
    """Every look at a policy of the registry (see `bandit_core.auditing.runs`): at what, and what the samples tell.

    None where nothing can be sampled.

    ``confidence`` is the least chance that no look refuses a policy that keeps its guarantee at all these ``epsilons``:
    each limit is exact (Clopper and Pearson), and the error is split evenly. ``samples`` are drawn for each of two
    tables, fewer of long runs.

    Raises
    ------
    InputError
        When the policy refuses the arms, or the users, that it is looked at with.
    """
    rng = np.random.default_rng([seed, 1])  # [seed, 0] would be the stream of `audit`
    each = 1 - (1 - confidence) / (MOST_LOOKS * len(epsilons))
    for epsilon in epsilons:
        for words, sampler, users in places(policy, epsilon, rng):
            claim, drawn = policy.guarantee(setup_of(policy, epsilon, users)), min(samples, STEPS // users)
            if claim.epsilon is not None:
                yield words, audit(sampler, claim.epsilon, ((0.0, 1.0),), drawn, each, seed, claim.delta)


class _Evidence(NamedTuple):
    """The event that tells a pair of rewards apart best, which reward makes it likely, and what was seen of it."""

    pair: tuple[float, float]
    event: tuple[float, float]
    limits: tuple[Limits, Limits]
    loss: Limits


def _tell_apart(pair: tuple[float, float], responses: list[np.ndarray], error: float, delta: float) -> _Evidence:
    """Choose the event on half of the responses to either reward and count it on the other half."""
    half = len(responses[0]) // 2
    (chosen, counted), (other_chosen, other_counted) = ((each[:half], each[half:]) for each in responses)
    edges = _edges(np.concatenate([chosen, other_chosen]))
    likely, unlikely = _counts(chosen, edges), _counts(other_chosen, edges)
    choosing = error / likely.size  # the best of many ranges looks better than it is, a rare one most of all
    forward = _bound(likely, unlikely, half, choosing, delta)
    backward = _bound(unlikely, likely, half, choosing, delta)
    if backward.max() > forward.max():
        forward, pair, counted, other_counted = backward, pair[::-1], other_counted, counted
    low, high = (float(edges[place]) for place in np.unravel_index(int(forward.argmax()), forward.shape))
    inside = (np.count_nonzero((each > low) & (each <= high)) for each in (counted, other_counted))
    first, second = (_limits(np.array(count), half, error) for count in inside)
    return _Evidence((float(pair[0]), float(pair[1])), (low, high), (first, second), _loss((first, second), delta))


def power(found: AuditResult, pairs: int = 1, draws: int = 4000, seed: int = 0) -> float:
    """Chance that another audit like ``found`` accuses, estimated as if its event had the chances that were seen.

    Parameters
    ----------
    found
        An audit; its event, samples, confidence, claim and delta are kept.
    pairs
        How many pairs of inputs it looked at.
    draws
        Audits that are drawn (their counts of the event; nothing is sampled again).

    Examples
    --------
    >>> power(audit("ctb-as-printed", 0.1, samples=2000))
    1.0
    """
    half, error = found.samples // 2, (1 - found.confidence) / (2 * pairs)
    rng = np.random.default_rng(seed)
    likely, unlikely = (rng.binomial(half, chance[1], draws) for chance in found.chances)
    return float(np.mean(_bound(likely, unlikely, half, error, found.delta) > found.epsilon))


def _drawn(
    respond: Sampler, reward: float, count: int, epsilon: float, rng: np.random.Generator, report: Callable[[int], None]
) -> np.ndarray:
    """``count`` responses to one reward, batch by batch."""
    parts = []
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        parts.append(np.asarray(respond(np.full(size, reward), epsilon, rng), float))
        report(size)
    return np.concatenate(parts)


def _loss(limits: tuple[Limits, ...], delta: float) -> Limits:
    """ln of (chance after the first - delta) / (chance after the second): at the least, as seen, at most."""
    (p_low, p, p_high), (q_low, q, q_high) = limits

    def ratio(above: float, below: float) -> float:
        if above <= delta:
            return -math.inf
        return math.log((above - delta) / below) if below > 0 else math.inf

    return ratio(p_low, q_high), ratio(p, q), ratio(p_high, q_low)


def _edges(responses: np.ndarray) -> np.ndarray:
    """Ends of candidate ranges, ascending, from -inf to inf: every value of a discrete response, else quantiles."""
    values = np.unique(responses)
    if len(values) > len(_CUTS):
        values = np.unique(np.quantile(responses, _CUTS))
    return np.concatenate([[-math.inf], values, [math.inf]])


def _counts(responses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Responses in (edges[i], edges[j]] for all i < j (elsewhere 0); shape (edges, edges)."""
    below = np.searchsorted(np.sort(responses), edges, side="right")
    return np.maximum(below[None, :] - below[:, None], 0)


def _limits(hits: np.ndarray, samples: int, error: float) -> Limits:
    lower, upper = share_limits(hits, samples, error)
    return float(lower), float(hits) / samples, float(upper)


def _bound(likely: np.ndarray, unlikely: np.ndarray, samples: int, error: float, delta: float) -> np.ndarray:
    """ln of (lower limit of one chance - delta) / (upper limit of the other), each limit with ``error``."""
    lower, _ = share_limits(likely, samples, error)
    _, upper = share_limits(unlikely, samples, error)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(lower - delta, 0.0)) - np.log(upper)
