"""JDP-LinUCB: Shariff, Sheffet 2018; Kearns, Pai, Roth, Ullman 2014.

LinUCB on sums to which a trusted curator adds noise: your arm may depend on your own features, and shows almost nothing
of anyone else's.

    G = 0; u = 0; arms in turn until the first release
    for t = 1, 2, ...:
        if a release is due:  V = G + W + (ridge + 2 U) I;  theta = V^-1 (u + h)
        play the arm with the largest  x_a . theta + beta |x_a|_(V^-1)
        G += x x^T;  u += r x

Promise: (epsilon, delta)-joint DP for features, choice and reward of every user

The curator sees who comes, plays an arm, and adds x x^T and r x to its sums. At times t_1 < t_2 < ... that depend on no
data it adds noise to the sums, G + W and u + h, and solves V = G + W + shift I. Every arm follows from the last release
and from the features of the user who gets it. Before t_1 arms are played in turn.

Guarantee: (epsilon, delta)-joint DP. All that others get follows from the releases and from their own data, so the
releases need to be (epsilon, delta)-private in one user's context, arm and reward (the billboard lemma: Kearns, Pai,
Roth, Ullman 2014). With noise s beside the diagonal, sqrt(2) s on it and sqrt(2) s on the vector, the distance of two
users in units of s is

    |x x^T - x' x'^T|^2 / 2 + |r x - r' x'|^2 / 2,     at most 2.25.

Proof. Norms and rewards are at most 1. With a = |x|, b = |x'|, c = |cos(x, x')| and the worst rewards this is at most
a^4/2 + b^4/2 - a^2 b^2 c^2 + a^2/2 + b^2/2 + a b c. In a its derivative is 2 a^3 - 2 a b^2 c^2 + a + b c. With b and c
at most 1 that is at least 2 a^3 - 2 a b c + a + b c = 2 a^3 + a (1 - b c) + b c (1 - a) >= 0. So the largest value is
at a = b = 1, where it is 2 + c - c^2, largest at c = 1/2. If the two users have different arms with a parameter each,
their parts are apart: a^4/2 + a^2/2 + b^4/2 + b^2/2 <= 2. Users may be chosen one by one after what was released:
normal noise composes as if it were one release (Dong, Roth, Su 2022), and the square root as in
`mechanisms.square_root`.

So with a = the standard deviation of the Gaussian mechanism of sensitivity 1 (analytic, Balle and Wang 2018) and N
releases, by ``counter``:

* tree: a user is in at most L = floor(log2 N) + 1 nodes, each with s = 1.5 a sqrt(L). Release i adds up as many nodes
  as i has ones in base 2.
* square-root: s = 1.5 a sqrt(F_N) on each of the normal variables, F_i = f_0^2 + ... + f_(i-1)^2. Release i has s
  sqrt(F_i).

Widths. Let s_i be the noise of release i. W_i = s_i (Z + Z^T)/sqrt(2) for independent normal Z, so E |W_i| <= 2 s_i
sqrt(d) (Sudakov-Fernique), and |W_i| is sqrt(2) s_i-Lipschitz in Z. So with chance 1 - 2 alpha/3, at every release
|W_i| <= U_i = s_i (2 sqrt(d) + 2 sqrt(ln(6N/alpha))) and |h_i| <= e_i = sqrt(2) s_i (sqrt(d) + sqrt(2 ln(3N/alpha))). V
= G + W_i + (ridge + 2 U_i) I = G + H, H has its eigenvalues in [ridge + U_i, ridge + 3 U_i], and theta^ - theta =
V^-1 (sum of noise x + h_i - H theta), whose V-norm for |theta| <= 1 is at most

    |sum of noise x|_((G + ridge I)^-1) + e_i / sqrt(ridge + U_i) + sqrt(ridge + 3 U_i).

The index uses width + confidence (e_i / sqrt(ridge + U_i) + sqrt(ridge + 3 U_i) - sqrt(ridge)). It is proved with
confidence 1 and width at least R sqrt(2 ln(3/alpha) + d ln(1 + t/(d ridge))) + sqrt(ridge) for rewards with noise R
that stay in [-1, 1]. (Several models: N times as many matrices.)

``accounting`` paper: the printed noise, sigma^2 = 16 m L^4 ln^2(4/delta)/epsilon^2 on the nodes of a tree over users
with m = ceil(log2 T) + 1, L^2 = 2, and Upsilon = sqrt(2m) sigma (4 sqrt(d) + 2 ln(2T/alpha)) in place of U_i; known
here by a re-implementation, not by the paper itself. The guarantee shown is what that noise really keeps: two users are
at most 2 sigma apart, as the vector has noise sigma as well. The square of the reward is left out, as nothing uses it.

Deviations from print: contexts are shrunk to norm 1 with their reward, then rewards are clipped to [-1, 1]; releases at
growing intervals (``refresh``; 0: at every user). Of optimism the printed rates are known for refresh 0; with contexts
that an adversary chooses a whole interval may meet a new direction.

JDP-Greedy: Shariff, Sheffet 2018; Kearns, Pai, Roth, Ullman 2014.

Greedy least squares on sums to which a trusted curator adds noise; the users' variety explores for it.

    G = 0; u = 0; arms in turn until the first release
    for t = 1, 2, ...:
        if a release is due:  V = G + W + (ridge + 2 shift s sqrt(d)) I;  theta = V^-1 (u + h)
        play the arm with the largest  x_a . theta
        G += x x^T;  u += r x

Promise: (epsilon, delta)-joint DP for features, choice and reward of every user

The sums are those of `jdp_linucb`.

s is the noise of the release. Guarantee: (epsilon, delta)-joint DP, as for `jdp_linucb`; it depends on no arm that is
played.

Of regret nothing is proved here with constants. Where the users' own variety explores (the smallest eigenvalue of E x
x^T of the played contexts stays above l), the error after n users is about (s sqrt(d) (1 + shift) + R sqrt(d n))/(l n),
so privacy costs about s sqrt(d) ln T / l: a sketch after Han, Liang, Wang, Zhang 2021. Without such variety greedy may
never learn. A parameter for each arm is explored by the turns before the first release only.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.contextual import (
    Arrival,
    Counter,
    Noise,
    NoisySums,
    Optimism,
    Users,
    Visitor,
    add_shared,
    clipped,
    factorise,
    greedy_arm,
    invert_factored,
    next_due,
    next_noise,
    no_noise,
    noisy_sums,
    numbers_of,
    optimism,
    optimistic_arm,
    play_users,
    row_of,
    shrunk,
    solve_factored,
    with_noise,
)
from bandit_core.kernels.play import Rule, Stream
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.gaussian import analytic_sd, smallest_epsilon
from bandit_core.mechanisms.square_root import exponentials, squared_length
from bandit_core.model import Guarantee, KernelCall, Parameters, Release, RunSetup
from bandit_core.policies.contextual import family
from bandit_core.policies.contextual.exact_ols import Ridge
from bandit_core.spec import field_types
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory import contextual

SENSITIVITY = 1.5  # of one user, in units of the noise beside the diagonal
PRINTED_SENSITIVITY = 2.0  # where the vector has that noise, too
MAX_COUNTED = 10**6  # releases that are counted one by one

Delta = Annotated[
    field_types.Small,
    Field(
        gt=0,
        lt=1,
        description="Chance up to which the promise may fail. Normal noise has no promise without it.",
    ),
]
First = Annotated[
    Annotated[Whole, Field(ge=1, le=10**9)] | Literal["auto"],
    Field(
        description="Users before the first release, who get the arms in turn. auto: as many as it takes until "
        "the sums outweigh their noise, max(d, 1.5 a d^1.5) for each parameter, a being the noise of one release."
    ),
]


class ReleaseParameters(Parameters):
    """Privacy, and when sums are released."""

    accounting: family.Accounting = "tight"
    """How the noise follows from epsilon and delta. tight: the least that is proved to keep them. paper: as printed, on
    a tree over all users; very much more."""
    counter: Literal["square-root", "tree"] = "square-root"
    """How the noise of later releases uses that of earlier ones. square-root has less. With accounting paper it is a
    tree."""
    delta: Delta = 1e-6
    alpha: family.Alpha = 0.1
    refresh: Annotated[Number, Field(ge=0, le=1)] = 0.25
    """The next release comes when users have grown by this share; 0: after every user. Fewer releases have less
    noise."""
    first: First = "auto"
    ridge: Ridge = 1.0


class LinUCBParameters(ReleaseParameters):
    """The same with optimism."""

    width: Annotated[Number, Field(ge=0, le=1000)] = 1.0
    """Optimism for the noise of rewards, as in LinUCB: width |x|."""
    confidence: Annotated[Number, Field(ge=0, le=100)] = 1.0
    """Multiplier on the optimism for the privacy noise; 1 is what is proved."""


@lru_cache(maxsize=256)
def releases_until(horizon: int, first: int, refresh: float) -> int:
    """How many releases there are until the horizon, at least 1; where there are very many, no fewer than that."""
    if refresh * horizon < 2:
        return max(1, horizon - first + 1)
    due, count = first, 0
    while due <= horizon and count < MAX_COUNTED:
        count += 1
        due += max(1, int(refresh * due))
    if due <= horizon:  # steps of 1 until 1 / refresh, then of refresh due / 2 at least
        grown = max(due, 1 / refresh)
        count += math.ceil(grown - due + math.log(horizon / grown) / math.log1p(refresh / 2)) + 1
    return max(1, count)


def unit_sd(setup: RunSetup) -> float:
    """a, the noise of one release of sensitivity 1."""
    return analytic_sd(1.0, setup.fixed_epsilon, setup.parameters.delta)


def settle_first(setup: RunSetup, times: int = 1) -> Parameters:
    """A number of users for "auto"."""
    contexts = family.contexts_of(setup)
    d = contexts.dimension
    users = max(d, math.ceil(SENSITIVITY * unit_sd(setup) * d**1.5))
    return setup.parameters.settled(first=min(10**9, times * contexts.models * users))


def settle(setup: RunSetup) -> Parameters:
    """The same, and the tree that the printed noise is for."""
    parameters = settle_first(setup)
    return parameters.model_copy(update={"counter": "tree"}) if setup.parameters.accounting == "paper" else parameters


@dataclass(frozen=True)
class Account:
    """Noise ``sd`` beside the diagonal of whatever one user is in ``times`` times, ``sensitivity`` in that unit.

    ``releases`` is how many there are; ``worst`` is the noise of a release of the printed bound, over ``sd`` (0: the
    bounds follow the noise).
    """

    releases: int
    times: int
    sensitivity: float
    sd: float
    worst: float = 0.0


def account(setup: RunSetup) -> Account:
    """Which noise a line has."""
    parameters, horizon = setup.parameters, setup.horizon
    releases = releases_until(horizon, parameters.first, parameters.refresh)
    if parameters.accounting == "paper":
        depth = math.ceil(math.log2(horizon)) + 1
        sd = 4 * math.sqrt(depth) * 2 * math.log(4 / parameters.delta) / setup.fixed_epsilon
        times = horizon.bit_length()
        least = PRINTED_SENSITIVITY * math.sqrt(times) * unit_sd(setup)  # never the weaker promise
        return Account(releases, times, PRINTED_SENSITIVITY, max(sd, least), math.sqrt(depth))
    if parameters.counter == "tree":
        times = releases.bit_length()
        return Account(releases, times, SENSITIVITY, SENSITIVITY * math.sqrt(times) * unit_sd(setup))
    length = math.sqrt(float(squared_length(releases)))
    return Account(releases, 1, SENSITIVITY * length, SENSITIVITY * length * unit_sd(setup))


def guarantee(setup: RunSetup) -> Guarantee:
    """What the noise really keeps at delta."""
    kept, delta, chosen = account(setup), setup.parameters.delta, setup.fixed_epsilon
    epsilon = smallest_epsilon(kept.sensitivity * math.sqrt(kept.times), kept.sd, delta)
    epsilon = chosen if math.isclose(epsilon, chosen, rel_tol=1e-9) else epsilon
    words = f"what all other users get is ({epsilon:.4g}, {delta:g})-private in one user's features, arm and reward"
    if epsilon < chosen * (1 - 1e-6):
        words += f": the noise of the paper hides more than the chosen epsilon {chosen:g} asks for"
    return Guarantee("joint", words, epsilon, delta)


def _releases(setup: RunSetup) -> list[Release]:
    kept = account(setup)
    vector = "r x" if setup.parameters.accounting == "paper" else "r x / sqrt 2"
    what = f"sums of x x^T (upper triangle, its diagonal / sqrt 2) and of {vector}, for each parameter"
    tree = setup.parameters.counter == "tree"
    released = f"a node of the tree over {what}" if tree else f"{what}, times the square root of the counting matrix"
    at = "when a release first needs it" if tree else f"entry by entry, at {kept.releases:,} releases"
    return family.one_message(released, scale=kept.sd, sensitivity=kept.sensitivity, at=at, times=kept.times)


class Numbers(NamedTuple):
    """Noise, its bounds, and when sums are released."""

    counter: Counter
    over_users: bool  # the tree's leaves are users, not releases
    sd: float  # noise beside the diagonal, of a node or of each normal variable
    ratio: float  # that of the vector over it
    worst: float  # what the bounds take for the noise of a release over ``sd``; 0: what it is
    first: int
    refresh: float
    ridge: float
    matrix_bound: float  # of |W|, over the noise of a release
    vector_bound: float  # of |h|
    width: float
    confidence: float
    optimistic: bool  # else the shift is ``matrix_bound`` alone


class State(NamedTuple):
    """The curator's sums, what was last released, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    optimism: Optimism
    sums: NoisySums
    noise: Noise
    spread: np.ndarray  # (2,), f_(i-1) and F_i of the square root
    counted: np.ndarray  # (1,), releases
    gram: np.ndarray  # (dimension, dimension)
    moment: np.ndarray  # (dimension,)
    factor: np.ndarray  # (dimension, dimension)
    signal: np.ndarray


def start(numbers: Numbers, users: Users) -> State:
    """Empty sums."""
    models, d = users.theta.shape
    return State(
        np.zeros((models, d)), optimism(users, np.zeros((models, d, d)), 0.0, numbers.first), noisy_sums(users, models),
        no_noise(numbers.counter, numbers_of(models, d)), np.zeros(2), np.zeros(1, np.int64), np.empty((d, d)),
        np.empty(d), np.empty((d, d)), users.signal,
    )  # fmt: skip


def choose(numbers: Numbers, known: State, now: Arrival, stream: Stream) -> int:
    """In turns before the first release; then the arm with the largest  x . theta + beta |x|  (greedy: x . theta)."""
    if known.counted[0] == 0:
        return (now.t - 1) % now.users.order.shape[0]
    if numbers.optimistic:
        return optimistic_arm(known.optimism, known.estimate, now)
    return greedy_arm(now.users, now.place, known.estimate)


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """Add  x x^T  and  r x;  release when it is due."""
    model, sums = row_of(arm, known.estimate), known.sums
    reward = response * shrunk(user.context, 1.0, sums.shared)
    add_shared(sums, model, clipped(reward, 1.0))
    if user.number >= known.optimism.due[0]:
        known.optimism.due[0] = next_due(user.number, numbers.refresh)
        release(numbers, known, user.number, stream)


@device_function
def solve(numbers: Any, known: Any, model: int, shift: float) -> None:
    """Solve the sums of a model; where the matrix is not positive definite the last solution stands."""
    models, d = known.estimate.shape
    if not factorise(known.gram, shift, known.factor, known.signal):
        return
    solve_factored(known.factor, known.moment, known.estimate[model])
    if numbers.optimistic:
        invert_factored(known.factor, known.optimism.inverses[model], d if models > 1 else 1, known.signal)


@inlined
def bonus(numbers: Any, sd: float, bound: float) -> float:
    """beta, for the noise ``sd`` of a release whose matrix is within ``bound``."""
    root = math.sqrt(numbers.ridge + 3.0 * bound) - math.sqrt(numbers.ridge)
    privacy = sd * numbers.vector_bound / math.sqrt(numbers.ridge + bound) + root
    return numbers.width + numbers.confidence * privacy


@device_function
def release(numbers: Numbers, known: State, t: int, stream: Stream) -> None:
    """Solve with new noise; of a model whose matrix is not positive definite the last solution stands."""
    known.counted[0] += 1
    known.optimism.ahead[0] = 0
    place = known.counted[0]
    next_noise(numbers.counter, known.noise, t if numbers.over_users else place, stream)
    sd = numbers.sd * _spread(numbers, known.spread, place)
    bound = sd * numbers.matrix_bound
    shift = numbers.ridge + (2.0 * bound if numbers.optimistic else bound)
    for model in range(known.estimate.shape[0]):
        with_noise(known.sums, model, known.noise.now, numbers.sd, numbers.ratio, known.gram, known.moment)
        solve(numbers, known, model, shift)
    known.optimism.bonus[0] = bonus(numbers, sd, bound)


@device_function
def _spread(numbers: Numbers, spread: np.ndarray, place: int) -> float:
    """The noise of release number ``place`` over that of a node, or of one normal variable."""
    if numbers.worst > 0.0:
        return numbers.worst
    if numbers.counter.tree:
        return math.sqrt(set_bits(place))
    spread[0] = spread[0] * (2.0 * place - 3.0) / (2.0 * place - 2.0) if place > 1 else 1.0
    spread[1] += spread[0] * spread[0]
    return math.sqrt(spread[1])


RULE = Rule("by_private_sums", start, choose, learn, loop=play_users)


def noise_bounds(dimension: int, matrices: int, alpha: float) -> tuple[float, float]:
    """Bounds of |W| and of |h| / sqrt(2) at all of so many matrices, over the noise of a release; see the head."""
    root = math.sqrt(dimension)
    return 2 * root + 2 * math.sqrt(math.log(6 * matrices / alpha)), root + math.sqrt(
        2 * math.log(3 * matrices / alpha)
    )


def numbers_for(setup: RunSetup, matrix_bound: float | None = None) -> Numbers:
    """With optimism, or with ``matrix_bound`` as the shift of greedy least squares."""
    parameters, contexts, kept = setup.parameters, family.contexts_of(setup), account(setup)
    paper, d = parameters.accounting == "paper", contexts.dimension
    tree = parameters.counter == "tree"
    terms = (np.ones(kept.times),) * 2 if tree else exponentials(kept.releases)
    ratio = 1.0 if paper else math.sqrt(2)
    proved, vector_bound = noise_bounds(d, kept.releases * contexts.models, parameters.alpha)
    printed = math.sqrt(2) * (4 * math.sqrt(d) + 2 * math.log(2 * setup.horizon / parameters.alpha))
    bound = printed if paper else proved
    optimistic = matrix_bound is None
    return Numbers(
        counter=Counter(tree, *terms),
        over_users=paper,
        sd=kept.sd,
        ratio=ratio,
        worst=kept.worst,
        **parameters.model_dump(include={"first", "refresh", "ridge"}),
        matrix_bound=bound if matrix_bound is None else matrix_bound,
        vector_bound=ratio * vector_bound,
        width=parameters.width if optimistic else 0.0,
        confidence=parameters.confidence if optimistic else 0.0,
        optimistic=optimistic,
    )


def release_seconds(setup: RunSetup) -> float:
    """Rough time of all releases, a user."""
    contexts, kept = family.contexts_of(setup), account(setup)
    d, models = contexts.dimension, contexts.models
    rows = kept.times if setup.parameters.counter == "tree" else len(exponentials(kept.releases)[0])
    solve = models * (100e-9 + (3e-9 + 0.5e-9 * rows) * d * d + 0.5e-9 * d**3)
    return kept.releases / setup.horizon * solve


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    indices = contexts.arms * (5e-9 + 0.5e-9 * contexts.dimension**2)
    return indices + 0.7e-9 * contexts.dimension**2 + release_seconds(setup)


def held(setup: RunSetup, rows: int) -> float:
    """``held`` of policies with such sums."""
    kept = account(setup)
    terms = kept.times if setup.parameters.counter == "tree" else len(exponentials(kept.releases)[0])

    def numbers(contexts: Any) -> float:
        square = contexts.models * contexts.dimension**2
        return 3 * square + (terms + 2) * contexts.models * contexts.dimension * (contexts.dimension + 3) / 2

    return family.numbers_held(numbers)(setup, rows)


COMMON: dict[str, Any] = dict(
    privacy="joint",
    anytime=False,
    refuses=family.linear_only,
    settle=settle,
    guarantee=guarantee,
    releases=_releases,
    held=held,
)


Shift = Annotated[
    Number,
    Field(ge=0, le=100, description="Adds 2 shift s sqrt(d) to the ridge, s being the noise of the release."),
]


class GreedyParameters(ReleaseParameters):
    """Privacy, releases and the ridge that covers their noise."""

    shift: Shift = 2.0


def _prepare_greedy(setup: RunSetup) -> KernelCall:
    shift = 2 * setup.parameters.shift * math.sqrt(family.contexts_of(setup).dimension)
    return family.call(RULE, setup, numbers_for(setup, shift))


POLICIES = (
    family.policy(
        name="jdp-greedy",
        parameters=GreedyParameters,
        bounds=contextual.joint_lower,
        prepare=_prepare_greedy,
        parent="greedy-ols",
        seconds=lambda setup, contexts: 0.7e-9 * contexts.dimension**2 + release_seconds(setup),
        **COMMON,
    ),
    family.policy(
        name="jdp-linucb",
        parameters=LinUCBParameters,
        bounds=contextual.joint_private,
        prepare=lambda setup: family.call(RULE, setup, numbers_for(setup)),
        parent="linucb",
        seconds=_seconds,
        **COMMON,
    ),
)
