"""Shared by the policies whose sums come from a counter for each arm: from an instance to its kernel's numbers."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo

from bandit_core.jit.decorators import inlined
from bandit_core.kernels import play
from bandit_core.kernels.play import Rule, Stream, User
from bandit_core.kernels.play import empty_trees as empty
from bandit_core.kernels.play import tree_noise as noise
from bandit_core.kernels.play import tree_spread as spread
from bandit_core.mechanisms import Binary, Counter, Hybrid, SignedDigits, SquareRoot
from bandit_core.mechanisms.counter import depth
from bandit_core.mechanisms.square_root import exponentials
from bandit_core.model import Bound, Guarantee, KernelCall, Parameters, Policy, Release, RunSetup, numbers_held
from bandit_core.policies.central_family import approximate, central_release, pure, unit_rewards
from bandit_core.spec import field_types
from bandit_core.spec.field_types import Number
from bandit_core.theory import central

Gamma = Annotated[
    Annotated[Number, Field(gt=0, lt=1)] | Literal["t^-4"],
    Field(
        description="Chance that the noise leaves its margin at one step: t^-4, so that all steps together hardly "
        "ever fail, or a constant."
    ),
]

PRINTED = ("hybrid", "binary")  # counters of the papers; the others need the horizon, and no bound is proved for them
COUNTERS = (
    "k-ary: a tree with many branches and signed digits, for a horizon that is known; in long runs much less noise at "
    "the same epsilon. square-root: normal noise that is spread over later sums, often less still, for a weaker "
    "promise, (epsilon, delta)."
)


def _of_square_root(delta: float | Literal["auto"], given: ValidationInfo) -> float | Literal["auto"]:
    """Refuse a delta beside a counter that has none; ``given`` are the fields before it."""
    if delta != "auto" and given.data.get("counter", "square-root") != "square-root":
        raise ValueError("leave it out, or set counter to square-root: the promise of the others has no delta")
    return delta


Delta = Annotated[
    Annotated[field_types.Small, Field(gt=0, lt=1)] | Literal["auto"],
    AfterValidator(_of_square_root),
    Field(
        description="The delta of the promise (epsilon, delta) that counter square-root keeps; the others have none. "
        "auto: 1e-6.",
        json_schema_extra={"with": {"counter": "square-root"}},
    ),
]


def other_counter(setup: RunSetup, split: int = 1) -> SignedDigits | SquareRoot:
    """The counter that stands in place of the printed one; ``split`` is how many share the budget."""
    epsilon = setup.fixed_epsilon / split
    if setup.parameters.counter == "k-ary":
        return SignedDigits(epsilon, setup.horizon)
    return SquareRoot(epsilon, setup.horizon, setup.parameters.delta)


def in_place_of_printed(setup: RunSetup) -> bool:
    """Whether the line has another counter than that of its paper."""
    return setup.parameters.counter not in PRINTED


def settle(setup: RunSetup) -> Parameters:
    """A delta for the counter that has one, none for the others."""
    parameters: Parameters = setup.parameters
    if setup.parameters.counter != "square-root":
        return parameters.model_copy(update={"delta": None})
    return parameters.model_copy(update={"delta": 1e-6}) if setup.parameters.delta == "auto" else parameters


def refuse_with_others(setup: RunSetup) -> str | None:
    """Words of refusal for what the papers print about their own counter only."""
    chosen = setup.parameters.counter
    if in_place_of_printed(setup) and getattr(setup.parameters, "accounting", "tight") == "paper":
        return f"accounting is paper; allowed with counter {chosen}: tight, as the paper has no such counter"
    if in_place_of_printed(setup) and getattr(setup.parameters, "version", "AAAI") != "AAAI":
        return (
            f"version is {setup.parameters.version}; leave it out with counter {chosen}: both versions are margins for "
            "hybrid counters, and this one has a margin of its own"
        )
    return None


def hybrid_counter(setup: RunSetup) -> Hybrid:
    """The counter of each arm, by the parameter ``accounting``."""
    printed = setup.parameters.accounting == "paper"
    return (Hybrid.as_printed if printed else Hybrid.calibrated)(setup.fixed_epsilon)


def counter_of(setup: RunSetup) -> Hybrid | SignedDigits | SquareRoot:
    """The counter of each arm of `dp_ucb` and `dp_ucb_bound`."""
    return other_counter(setup) if in_place_of_printed(setup) else hybrid_counter(setup)


def guarantee(setup: RunSetup) -> Guarantee:
    """A reward enters the counter of one arm only, so the run keeps what that counter keeps."""
    return guarantee_of(setup, counter_of(setup))


def spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    """Epsilon that one reward has spent after t pulls in the worst case (all of them of one arm); shape (times,)."""
    return counter_of(setup).spent(times)


def releases(setup: RunSetup) -> list[Release]:
    """What one reward is part of."""
    counter = counter_of(setup)
    return _hybrid_releases(setup, counter) if isinstance(counter, Hybrid) else other_releases(counter)


def _hybrid_releases(setup: RunSetup, counter: Hybrid) -> list[Release]:
    """A reward enters one block and the nodes of one tree; the row of the tree is that of the last one, the deepest."""
    levels = int(depth(setup.horizon))
    releases = [
        central_release("the sum of a block of an arm's items", 1.0, 1 / counter.block_epsilon, "once, at 2^k items")
    ]
    if levels > 1:
        scale, at = levels / counter.tree_epsilon, f"when a node of the tree after {2 ** (levels - 1):,} items is full"
        releases.append(central_release("a node of a tree over an arm's items", 1.0, scale, at, levels - 1))
    return releases


def binary_releases(counter: Binary) -> list[Release]:
    """A reward enters a node of every level of its arm's tree."""
    levels = int(depth(counter.horizon))
    return [
        central_release("a node of the tree over an arm's rewards", 1.0, counter.node_scale, "when it is full", levels)
    ]


def guarantee_of(setup: RunSetup, counter: Counter) -> Guarantee:
    """What a run keeps whose arms each have this counter."""
    if isinstance(counter, SquareRoot):
        return approximate(setup, counter.epsilon, counter.delta)
    return pure(setup, counter.total_epsilon / setup.fixed_epsilon)


def other_releases(counter: SignedDigits | SquareRoot) -> list[Release]:
    """A reward enters a node of every level of its arm's tree, or one vector with normal noise on every entry."""
    if isinstance(counter, SignedDigits):
        at = "with the first sum that it is part of, which may be before the reward comes"
        return [
            central_release("a node of the k-ary tree over an arm's items", 1.0, counter.node_scale, at, counter.depth)
        ]
    what = "an arm's items times the square root of the counting matrix, which tell its running sums"
    return [central_release(what, counter.sensitivity, counter.sd, "entry by entry, as items come in", normal=True)]


def held(setup: RunSetup, rows: int) -> float:
    """``held`` of policies whose counters may be others than the printed ones."""
    count, arms = numbers_held(setup, rows), len(setup.arms)
    if not in_place_of_printed(setup):
        return count
    counter = other_counter(setup)
    if isinstance(counter, SignedDigits):
        return count + arms * (counter.depth * (counter.half + 3) + 6)
    return count + arms * (len(exponentials(setup.horizon)[0]) + 8)


def step_cost(setup: RunSetup) -> float:
    """Time of a pull on counters that grow with the pulls of their arm."""
    return (2.7 if setup.parameters.counter == "square-root" else 1.6) + 0.065 * len(setup.arms)


def policy(upper: Callable[[RunSetup], list[Bound]], **fields: Any) -> Policy:
    """An entry for a policy whose arms each have a counter; by default that of `counter_of`.

    Its bounds are the central lower bounds on what the run keeps, then ``upper``.
    """
    kept = fields.get("guarantee", guarantee)
    return Policy(
        **{
            "privacy": "central",
            "for_one_horizon": in_place_of_printed,
            "accepts": unit_rewards,
            "late": True,
            "guarantee": guarantee,
            "settle": settle,
            "refuses": refuse_with_others,
            "spending": spending,
            "releases": releases,
            "held": held,
            "step_cost": step_cost,
            "bounds": lambda setup: [*central.lower_bounds(setup, kept(setup)), *upper(setup)],
            "parent": "ucb",
            **fields,
        }
    )


def without_proof(setup: RunSetup, upper: list[Bound], printed: str) -> list[Bound]:
    """The ``upper`` bounds, ruled out where the counter is not the one that they are proved for."""
    if not in_place_of_printed(setup):
        return upper
    return [bound.ruled_out(f"it is proved for {printed} counters") for bound in upper]


def per_pull(setup: RunSetup) -> float:
    """2 if the index has the root sqrt(2 ln t / n), by the parameter ``index``, else 0."""
    return 2.0 if setup.parameters.index == "with root" else 0.0


# UCB on counters that grow with the pulls of their arm, with a margin that covers their noise.

FLAT, LOG_PULLS, LOG_SINCE = range(3)  # f(n), see `growth`


class Numbers(NamedTuple):
    """The counter of each arm and its index,

        S / n + sqrt(per_pull ln t / n) + (s sqrt(l) + b l f) / n,    l = slope ln t + offset,

    ``per_pull`` 2 or 0. Where counters have horizons s is ``spread`` times that of the noise (`kernels.play`), and
    f is 1; printed ones have no s, and an f that grows with n in its ``shape``, see `growth`. b is ``tail``.
    """

    counter: Any
    per_pull: float = 2.0
    slope: float = 0.0
    offset: float = 0.0
    spread: float = 0.0
    tail: float = 1.0
    shape: int = FLAT


class State(NamedTuple):
    """The counters of all arms, and of every arm (arms,) its real sum and pulls, its noisy mean, and what sqrt(ln t),
    sqrt(l) and b l are multiplied by in its index.
    """

    counters: Any
    sums: np.ndarray
    pulled: np.ndarray
    means: np.ndarray
    widths: np.ndarray
    spreads: np.ndarray
    shares: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Empty counters; every arm must be tried."""
    zeros, means = np.zeros((5, arms)), np.full(arms, np.inf)
    return State(empty(numbers.counter, arms), zeros[0], zeros[1], means, zeros[2], zeros[3], zeros[4])


def index(numbers: Numbers, known: State, arm: int, t: int) -> float:
    """S / n + sqrt(per_pull ln t / n) + (s sqrt(l) + b l f) / n."""
    log = math.log(t)
    certainty = numbers.slope * log + numbers.offset
    root, tail = math.sqrt(max(0.0, certainty)), numbers.tail * certainty
    covered = known.means[arm] + math.sqrt(log) * known.widths[arm]
    return covered + root * known.spreads[arm] + tail * known.shares[arm]


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Insert the reward into the arm's counter."""
    known.sums[arm] += response
    known.pulled[arm] += 1.0
    n = known.pulled[arm]
    known.means[arm] = (known.sums[arm] + noise(numbers.counter, known.counters, arm, stream)) / n
    known.widths[arm] = math.sqrt(numbers.per_pull * n) / n
    known.spreads[arm] = numbers.spread * spread(known.counters, arm) / n
    known.shares[arm] = growth(numbers.shape, n) / n


@inlined
def growth(shape: int, count: float) -> float:
    """The f of printed counters: 1, ln n + 1, or log2 n' + 1, n' being the pulls since the last power of two."""
    if shape == FLAT:
        return 1.0
    since = count - math.ldexp(0.5, math.frexp(count)[1])
    if since == 0.0:
        return 1.0
    return (math.log(count) if shape == LOG_PULLS else math.log2(since)) + 1.0


_COUNTERS: dict[str, dict[str, Any]] = {
    "k_ary": {"empty": empty, "noise": noise, "spread": spread},
    "square_root": {"empty": play.empty_roots, "noise": play.root_noise, "spread": play.root_spread},
    "printed": {"empty": play.empty_nodes, "noise": play.node_noise, "spread": play.no_spread},
}
RULES = {name: Rule(f"on_{name}", start, learn=learn, parts=parts, index=index) for name, parts in _COUNTERS.items()}


def numbers_of(setup: RunSetup, counter: Counter) -> play.Tree | play.Root | play.Counters:
    """A counter in the numbers of its kernel."""
    if isinstance(counter, SignedDigits):
        return play.Tree(counter.depth, counter.half, counter.node_scale)
    if isinstance(counter, SquareRoot):
        return play.Root(counter.sd, *exponentials(setup.horizon))
    if isinstance(counter, Hybrid):
        return play.Counters(True, 1 / counter.block_epsilon, 1 / counter.tree_epsilon)
    assert isinstance(counter, Binary)
    return play.Counters(False, 0.0, counter.node_scale)


def prepare_covered(
    setup: RunSetup,
    counter: SignedDigits | SquareRoot,
    *,
    per_pull: float,
    slope: float,
    offset: float,
    part: float = 1.0,
) -> KernelCall:
    """The call for counters that have horizons, and ``part`` of a margin that covers their noise.

    Noise after n items leaves the whole margin of step t with chance e^-l at most, l = ``slope`` ln t + ``offset``.
    Trees: m nodes of Laplace(b), b (2 sqrt(m l') + l') with l' = l + ln 2 (`counter.equal_laplace_bound`). Square
    roots: P(|N| > x sd) <= e^(-x^2 / 2), so x = sqrt(2 l).
    """
    own = numbers_of(setup, counter)
    if isinstance(counter, SignedDigits):
        scale = part * counter.node_scale
        return RULES["k_ary"].call(setup, Numbers(own, per_pull, slope, offset + math.log(2), 2 * scale, scale))
    wide = part * math.sqrt(2) * counter.sd
    return RULES["square_root"].call(setup, Numbers(own, per_pull, slope, offset, wide, 0.0))


def prepare(setup: RunSetup, counter: Binary | Hybrid, **given: Any) -> KernelCall:
    """The call for the counters of the papers, with a margin l f(n), by its `Numbers`."""
    return RULES["printed"].call(setup, Numbers(numbers_of(setup, counter), **given))
