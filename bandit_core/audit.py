"""Which epsilon does a mechanism really have? A statistical lower bound from its responses alone.

For each pair of rewards, half of the responses choose an event (a range of responses) that tells the two rewards
apart; the other half measure it, with exact Clopper-Pearson limits. If the event has at least probability p after
one reward and at most q after the other, then no epsilon below ln((p - delta)/q) can be true. The confidence holds
for all pairs together (Bonferroni). An audit can prove a violation; it can never prove privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandit_core.mechanisms.base import Mechanism

Sampler = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
_MOST_EDGES = 25  # cuts of the real line from which ranges are chosen


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    ``lower_bound``: the true epsilon is at least this, with probability ``confidence``. ``pair``: the rewards that
    show it, the likelier one first. ``event``: responses in (low, high].
    """

    epsilon: float
    lower_bound: float
    confidence: float
    samples: int
    pair: tuple[float, float]
    event: tuple[float, float]

    @property
    def verdict(self) -> Literal["consistent", "violates"]:
        """Whether the responses are consistent with the claimed epsilon."""
        return "consistent" if self.lower_bound <= self.epsilon else "violates"

    @property
    def words(self) -> str:
        """One plain sentence."""
        found = (
            f"with confidence {self.confidence:g} the true epsilon is at least {self.lower_bound:.3g}; "
            f"claimed is {self.epsilon:g}"
        )
        return f"Consistent: {found}." if self.verdict == "consistent" else f"Violation: {found}."


def audit(
    sampler: Mechanism | Sampler,
    epsilon: float,
    pairs: Sequence[tuple[float, float]],
    samples: int = 40_000,
    confidence: float = 0.999,
    seed: int = 0,
    delta: float = 0.0,
) -> AuditResult:
    """Lower confidence bound on the true epsilon of ``sampler``, which claims ``epsilon``.

    Parameters
    ----------
    sampler
        A mechanism, or any ``sampler(rewards, epsilon, rng) -> responses``.
    pairs
        Pairs of rewards to tell apart; both orders of a pair are considered.
    samples
        Responses drawn for each reward of a pair, at least 4.
    confidence
        Probability that the bound is right, over all pairs.
    delta
        Probability with which the claim may fail; 0 for pure local DP.

    Raises
    ------
    ValueError
        When there are no pairs, too few samples, or the confidence is not in (0, 1).
    """
    if not pairs or samples < 4 or not 0 < confidence < 1:
        raise ValueError("an audit needs pairs of rewards, at least 4 samples and a confidence in (0, 1)")
    respond = sampler.release if isinstance(sampler, Mechanism) else sampler
    rng = np.random.default_rng(seed)
    error = (1 - confidence) / (2 * len(pairs))  # two limits for each pair
    half = samples // 2
    found = []
    for pair in pairs:
        first, second = (np.asarray(respond(np.full(2 * half, float(r)), epsilon, rng), float) for r in pair)
        edges = _edges(np.concatenate([first[:half], second[:half]]))
        likely, unlikely = _counts(first[:half], edges), _counts(second[:half], edges)
        forward, backward = _bound(likely, unlikely, half, error, delta), _bound(unlikely, likely, half, error, delta)
        swapped = bool(backward.max() > forward.max())
        if swapped:
            forward, first, second = backward, second, first
        low, high = np.unravel_index(int(forward.argmax()), forward.shape)
        event = float(edges[low]), float(edges[high])
        inside = [np.array(np.count_nonzero((x[half:] > event[0]) & (x[half:] <= event[1]))) for x in (first, second)]
        lower = float(_bound(inside[0], inside[1], half, error, delta))
        found.append((lower, (pair[1], pair[0]) if swapped else pair, event))
    lower, pair, event = max(found, key=lambda item: item[0])
    return AuditResult(epsilon, max(0.0, lower), confidence, 2 * half, (float(pair[0]), float(pair[1])), event)


def _edges(responses: np.ndarray) -> np.ndarray:
    """Ends of candidate ranges, ascending, from -inf to inf: every value of a discrete response, else quantiles."""
    values = np.unique(responses)
    if len(values) > _MOST_EDGES:
        values = np.unique(np.quantile(responses, np.linspace(0, 1, _MOST_EDGES + 2)[1:-1]))
    return np.concatenate([[-math.inf], values, [math.inf]])


def _counts(responses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Responses in (edges[i], edges[j]] for all i < j (elsewhere 0); shape (edges, edges)."""
    below = np.searchsorted(np.sort(responses), edges, side="right")
    return np.maximum(below[None, :] - below[:, None], 0)


def _bound(likely: np.ndarray, unlikely: np.ndarray, samples: int, error: float, delta: float) -> np.ndarray:
    """ln of (lower limit of one chance - delta) / (upper limit of the other), Clopper-Pearson, each with ``error``."""
    from scipy.special import betaincinv  # heavy import, needed only by audits

    hits = np.maximum(likely, 1)
    lower = np.where(likely > 0, betaincinv(hits, samples - hits + 1, error), 0.0)
    misses = np.minimum(unlikely, samples - 1)
    upper = np.where(unlikely < samples, betaincinv(misses + 1, samples - misses, 1 - error), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(lower - delta, 0.0)) - np.log(upper)
