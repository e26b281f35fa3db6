"""Which epsilon does a mechanism, or a policy's run, really have? Lower bounds from outputs, and what has a name.

>>> audit("ctb", 1.0, samples=2000).verdict
'consistent'
>>> audit("ctb-as-printed", 0.1, samples=2000).verdict  # the formula as it was misprinted
'violates'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from bandit_core import mechanisms
from bandit_core.auditing.runs import places, runs_of, sampler_of, second, setup_of, streams_of
from bandit_core.kernels.stopping import noisy_sum
from bandit_core.mechanisms import Counter, Mechanism
from bandit_core.mechanisms.batch import Batch, PolyaSum, ShuffledBits, batch_epsilon, noisy_share
from bandit_core.mechanisms.counter import LaplaceCounter
from bandit_core.mechanisms.description import Audited, Sampler
from bandit_core.mechanisms.gaussian import gaussian_sd, smallest_epsilon
from bandit_core.model import Policy, Signal
from bandit_core.policies import registry as policies
from bandit_core.policies.stopping import stopping_policies
from bandit_core.simulation.results import share_limits
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.found import fields_of
from bandit_core.spec.number_text import number

# ---------------------------------------------------------------------------------------------------------------------
# What can be audited by name: mechanisms, choices of policies, negative controls that break their claim.
#
# Each subject has two neighbouring inputs, called 0 and 1, and gives one number for each sample. Where its output is a
# whole sequence, a fixed function of the sequence stands for it. No function of an output tells more than the output,
# so the audit's lower bound stays right; it is only as sharp as the function.


DELTA = 0.01  # of the (epsilon, delta) subjects
USERS = 16  # of an audited batch
RESTING, USERS_WATCHED = "gaussian-ts", 30  # the policy whose whole run is audited, and its users
_FAR = 40.0  # rewards whose sigmoids are 0 and 1 to 17 digits
# Policies whose first choices show their first user's reward, with the number of users: two try both arms, and the
# third meets the choice. Thompson sampling may choose freely from the start, so there the second user does.
RUNS = {
    "heldp-ucb-b": 3, "heldp-ucb-bs": 3, "ucb-cf": 3, "kl-ucb-cf": 3, "ts-cf": 2, "private-ucb": 3,
    "dp-ucb-bound": 3, "dp-ucb": 3, "adap-ucb": 3, "adap-klucb": 3, "adac-ucb": 3, "anytime-lazy-ucb": 3,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Something with a claim that can be tested.

    ``sampler(inputs, epsilon, rng)`` gives a number for each input of 0 or 1. ``inputs`` and ``seen`` say in words
    what the two are and what the number is. ``real``: the epsilon that it really has at this claim, within what is
    looked at; known for negative controls, whose ``flaw`` says what is wrong. ``opens_at``: the claimed epsilon to
    begin with, for a negative control one at which it breaks its claim and 200,000 samples show it.
    """

    name: str
    title: str
    kind: Literal["mechanism", "run", "negative control"]
    guarantee: str
    inputs: str
    seen: str
    sampler: Sampler
    delta: float = 0.0
    real: Callable[[float], float] | None = None
    flaw: str = ""
    words: str = ""
    opens_at: float = 1.0


# ---------------------------------------------------------------------------------------------------------------
# Mechanisms


def _answers(mechanism: Mechanism, inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    low, high = (end if math.isfinite(end) else math.copysign(_FAR, end) for end in mechanism.domain)
    return mechanism.release(low + (high - low) * inputs, epsilon, rng)


def _sums(
    make: Callable[[float], Counter],
    what: Audited,
    inputs: np.ndarray,
    epsilon: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """The sums that a counter releases of zeros, of which one item may be 1.

    Each node tells by how far it lies from 0 towards 1, but no further. Normal noise has no
    nodes: the total of all sums with the best weights is normal, and tells everything.
    """

    counter = make(epsilon)
    stream = np.zeros((len(inputs), what.items))
    stream[:, what.item - 1] = inputs
    released = np.concatenate([np.zeros((len(inputs), 1)), counter.release(stream, rng)], axis=1)
    if isinstance(counter, mechanisms.SquareRoot):
        return released[:, 1:] @ counter.evidence(what.item)
    assert isinstance(counter, LaplaceCounter)
    described = np.zeros(len(inputs))
    for late, early in what.nodes:
        described += np.clip(released[:, late] - released[:, early], 0.0, 1.0) / counter.fresh_scale(late)
    return described


def _batches(
    make: Callable[[float], Batch], inputs: np.ndarray, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """What the server reads from a batch whose first user has the input, and all others 0."""
    made = make(epsilon)
    rewards = np.zeros((len(inputs), made.users))
    rewards[:, 0] = inputs
    return made.estimate(made.release(rewards, rng))


def _made(one: mechanisms.Description, epsilon: float) -> Batch:
    """A batch of `USERS` that keeps epsilon, at `DELTA` where it needs one."""
    settings = {"users": USERS, "delta": DELTA}
    made: Batch = one.make(epsilon, **{name: settings[name] for name in one.settings})
    return made


def _mechanism(one: mechanisms.Description) -> Subject:
    delta, what, words = 0.0 if one.pure else DELTA, one.audited, ""
    if one.kind == "batch":
        sampler = partial(_batches, lambda epsilon: _made(one, epsilon))
        inputs = f"the reward of one of {USERS} users is 0 or 1; everyone else's is 0"
        seen = "the mean of the batch as the server reads it"
    elif what is not None:
        sampler = partial(_sums, lambda epsilon: one.started(epsilon, what.items, DELTA), what)
        inputs, seen, words = what.inputs, what.seen, what.words
    else:
        mechanism = one.make(1.0)
        ends = [end if math.isfinite(end) else math.copysign(_FAR, end) for end in mechanism.domain]
        sampler, seen = partial(_answers, mechanism), "the answer itself"
        inputs = f"the {one.symbol} is {ends[0]:g} or {ends[1]:g}"
        delta = 0.0 if one.pure else mechanism.delta
        words = "" if one.pure else "The classical noise for epsilon up to 1 is more than delta needs."
    return Subject(
        name=one.name, title=one.title, kind="mechanism", guarantee=one.guarantee, inputs=inputs, seen=seen,
        sampler=sampler, delta=delta, words=words,
    )  # fmt: skip


def _mechanisms() -> list[Subject]:
    return [_mechanism(one) for one in mechanisms.registry().values()]


# ---------------------------------------------------------------------------------------------------------------
# Runs of policies


def _first_choices(policy: str, users: int, inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """How often arm 1 was chosen, where the first user's reward, from arm 0, is 0 or 1 and all others' are 0."""
    runs = runs_of(policies()[policy], epsilon, users, chain=False)
    return sampler_of(runs, np.zeros(users, bool), 0, second)(inputs, epsilon, rng)


def _rest(width: float | Literal["auto"], inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """How long Gaussian Thompson sampling leaves arm 0 alone whose one reward is 0 or 1, by the kernel itself.

    Arm 1 always pays 1/2. The time of the second pull of arm 0 depends on its first reward alone.
    """

    params = {"pre_pulls": 1, "delta": DELTA, "factor": width}
    rested, times = np.empty(len(inputs)), np.arange(1, USERS_WATCHED + 1)
    for value in np.unique(inputs):
        chosen = inputs == value
        arms = [
            {"kind": "bernoulli", "mean": float(value)},
            {"kind": "two-point", "low": 0.0, "high": 0.5, "p_high": 1},
        ]
        setup = setup_of(policies()[RESTING], epsilon, USERS_WATCHED, arms, params)
        best = policies()[RESTING].play(setup, streams_of(rng, int(chosen.sum())), times, Signal()).best_pulls
        again = (best if value > 0.5 else times - best) > 1.0  # arm 0 is the best arm if it pays 1
        rested[chosen] = np.where(again.any(axis=1), again.argmax(axis=1), USERS_WATCHED)
    return rested


def _run(policy: Any, part: str, sampler: Sampler, users: int = USERS_WATCHED, delta: float = 0.0) -> Subject:
    """A ``part`` of the runs of a policy, in the words of the file."""
    said = fields_of(__file__, part, policy=policy.title, users=users)
    return Subject(
        name=policy.name, kind="run", guarantee=policy.guarantee_words, sampler=sampler, delta=delta, **said
    )  # fmt: skip


def _sums_of_batches(times: int, inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """What `dp-tt` releases of one user's reward, by the piece of its kernel, if the reward enters so many sums.

    Everyone else of the batch pays 0. Each sum tells by how far it lies from 0 towards 1, but no further.
    """

    streams, released = streams_of(rng, len(inputs)), np.zeros(len(inputs))
    for _ in range(times):
        sums = [noisy_sum(1.0, chance, epsilon, streams, row) for row, chance in enumerate(inputs.tolist())]
        released += sums if times == 1 else np.clip(sums, 0.0, 1.0)
    return released


@cache
def _runs() -> list[Subject]:
    found = []
    for name, users in RUNS.items():
        policy, choices = policies()[name], partial(_first_choices, name, users)
        delta = policy.guarantee(setup_of(policy, 1.0, users)).delta
        found.append(_run(policy, "first-choices", choices, users, delta))
    rest = _run(policies()[RESTING], "whole-run", partial(_rest, "auto"), delta=DELTA)
    return [*found, rest, _run(stopping_policies()["dp-tt"], "sum-of-a-batch", partial(_sums_of_batches, 1))]


# ---------------------------------------------------------------------------------------------------------------
# Negative controls: broken on purpose


@dataclass(frozen=True)
class _NaturalLogTree(mechanisms.Binary):
    """A tree whose nodes have Laplace(ln T / epsilon) noise: "log T" read as the natural logarithm."""

    @property
    def node_scale(self) -> float:
        return math.log(self.horizon) / self.epsilon


@dataclass(frozen=True)
class _UsualDepth(mechanisms.SignedDigits):
    """A k-ary tree whose nodes have the noise for as many levels as a tree without subtraction would have."""

    @property
    def node_scale(self) -> float:
        return math.ceil(math.log(self.horizon) / math.log(self.base) - 1e-9) / self.epsilon


@dataclass(frozen=True)
class _OneEntry(mechanisms.SquareRoot):
    """A square root whose noise is made for the largest entry of a column, not for the column's length."""

    @property
    def sensitivity(self) -> float:
        return 1.0


def _one_entry_epsilon(epsilon: float, items: int) -> float:
    """What noise for one entry of the column really keeps at the same delta."""
    narrow = _OneEntry(epsilon, items, DELTA)
    return smallest_epsilon(mechanisms.SquareRoot(epsilon, items, DELTA).sensitivity, narrow.sd, DELTA)


def _as_printed(rewards: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(rewards.shape) < (rewards * epsilon + 1 - rewards) / (1 + epsilon)).astype(float)


def _half_noisy(epsilon: float) -> ShuffledBits:
    return ShuffledBits(users=USERS, noisy=0.5 * noisy_share(USERS, epsilon, DELTA))


def _half_noisy_epsilon(epsilon: float) -> float:
    made = _half_noisy(epsilon)
    return batch_epsilon(made.law(0)[1], made.law(1)[1], DELTA)


@dataclass(frozen=True, kw_only=True)
class _Noiseless(PolyaSum):
    """Users who round and reduce modulo m, and forget their share of the noise."""

    def shares(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return np.zeros(shape)


def _noiseless(epsilon: float) -> _Noiseless:
    sound = PolyaSum.of(USERS, epsilon)
    return _Noiseless(users=USERS, levels=sound.levels, slack=sound.slack, epsilon=epsilon)


def _unreduced(inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """One user's message behind a mask that is uniform modulo m, where the sum of the two is not reduced."""
    made = PolyaSum.of(USERS, epsilon)
    value = inputs * made.levels + made.shares(inputs.shape, rng)
    return value + rng.integers(0, made.modulus, inputs.shape)


def _unreduced_epsilon(epsilon: float) -> float:
    """The largest log ratio of the distributions of that message, where a double can tell them from 0."""
    from scipy.stats import nbinom  # heavy import, needed only by audits

    made = PolyaSum.of(USERS, epsilon)
    half = nbinom(1 / USERS, -math.expm1(-epsilon / made.levels)).pmf(np.arange(made.reach))
    message = np.convolve(np.convolve(half, half[::-1]), np.full(made.modulus, 1 / made.modulus))
    first, second = np.pad(message, (0, made.levels)), np.pad(message, (made.levels, 0))
    seen = (first > 1e-12) & (second > 1e-12)
    return float(np.abs(np.log(first[seen] / second[seen])).max())


def _negative_controls() -> list[Subject]:
    """What is said of each, and what ``of`` it breaks, stands in ``subjects.toml``."""
    sound = {subject.name: subject for subject in (*_mechanisms(), *_runs())}
    tree, hybrid, root = (mechanisms.registry()[name].audited for name in ("binary", "hybrid", "square-root"))
    assert tree is not None and hybrid is not None and root is not None
    branches = Audited(items=9, item=3, nodes=((3, 2), (3, 0), (9, 0)))  # of three branches, on three levels

    resting_epsilon = smallest_epsilon(math.sqrt((USERS_WATCHED - 2) / 2), 1.0, DELTA)  # of draws of factor 1

    def half_sd(epsilon: float) -> float:
        return 0.5 * gaussian_sd(1.0, epsilon, DELTA)

    def broken(name: str, sampler: Sampler, real: Callable[[float], float]) -> Subject:
        said = {"words": "", **fields_of(__file__, name, users=USERS, inputs=branches.inputs)}
        of = sound[said.pop("of")]
        return replace(of, name=name, kind="negative control", sampler=sampler, real=real, **said)

    return [
        broken("ctb-as-printed", _as_printed, lambda epsilon: abs(math.log(epsilon))),
        broken(
            "ctb-s-as-printed",
            lambda inputs, epsilon, rng: _as_printed(1 / (1 + np.exp(-_FAR * (2 * inputs - 1))), epsilon, rng),
            lambda epsilon: abs(math.log(epsilon)),
        ),
        broken(
            "ctl-half-noise",
            lambda inputs, epsilon, rng: mechanisms.CTL.release(inputs, 2 * epsilon, rng),
            lambda epsilon: 2 * epsilon,
        ),
        broken(
            "gaussian-half-noise",
            lambda inputs, epsilon, rng: inputs + half_sd(epsilon) * rng.standard_normal(inputs.shape),
            lambda epsilon: smallest_epsilon(1.0, half_sd(epsilon), DELTA),
        ),
        broken(
            "binary-natural-log",
            partial(_sums, lambda epsilon: _NaturalLogTree(epsilon, tree.items), tree),
            lambda epsilon: epsilon * (math.floor(math.log2(tree.items)) + 1) / math.log(tree.items),
        ),
        broken(
            "hybrid-as-printed",
            partial(_sums, mechanisms.Hybrid.as_printed, hybrid),
            lambda epsilon: float(mechanisms.Hybrid.as_printed(epsilon).spent(hybrid.items)),
        ),
        broken(
            "k-ary-usual-depth",
            partial(_sums, lambda epsilon: _UsualDepth(epsilon, branches.items, 3), branches),
            lambda epsilon: 1.5 * epsilon,
        ),
        broken("gaussian-ts-usual-width", partial(_rest, 1.0), lambda _: resting_epsilon),
        broken("dp-tt-all-data-again", partial(_sums_of_batches, 2), lambda epsilon: 2 * epsilon),
        broken(
            "square-root-one-entry",
            partial(_sums, lambda epsilon: _OneEntry(epsilon, root.items, DELTA), root),
            lambda epsilon: _one_entry_epsilon(epsilon, root.items),
        ),
        broken("shuffled-half-noisy", partial(_batches, _half_noisy), _half_noisy_epsilon),
        broken("secure-sum-without-noise", partial(_batches, _noiseless), lambda epsilon: math.inf),
        broken("mask-without-modulus", _unreduced, _unreduced_epsilon),
    ]


@cache
def subjects() -> dict[str, Subject]:
    """Everything that can be audited, by name: mechanisms, negative controls, runs."""
    return {each.name: each for each in (*_mechanisms(), *_negative_controls(), *_runs())}


def subject(name: str) -> Subject:
    """The subject of that name.

    Raises
    ------
    InputError
        When there is none.
    """
    by_name = subjects()
    refuse_if(name not in by_name, "name", name, f"allowed: {', '.join(by_name)}")
    return by_name[name]


# ---------------------------------------------------------------------------------------------------------------------
# Which epsilon does a mechanism, or a policy's run, really have? A statistical lower bound from its outputs alone.
#
# For each pair of rewards, half of the responses choose an event (a range of responses) that tells the two rewards
# apart; the other half measure it, with exact Clopper-Pearson limits. If the event has at least probability p after
# one reward and at most q after the other, then no epsilon below ln((p - delta)/q) can be true. The confidence holds
# for all pairs together (Bonferroni). An audit can refute a claim; it can never prove privacy: it looks at a few pairs
# of inputs and at ranges of one number, and a leak elsewhere, or one too rare for the samples, stays unseen.
#
# What can be audited by name stands above. How often it errs is measured in docs/audit.md.


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
