"""Samples for the audit: what users send, and what a policy plays, when one reward changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.jit.decorators import kernel
from bandit_core.kernels import play
from bandit_core.kernels.batch_rule import rule_of
from bandit_core.kernels.contextual import Visitor, column_of, draw_pool, draw_reward, draw_theta, meet, users_of
from bandit_core.kernels.play import Now, Rewards, Stream, User
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import gaussian, l2_ball
from bandit_core.mechanisms.description import Sampler
from bandit_core.model import KernelCall, Policy, RunSetup, compiling
from bandit_core.policies.contextual import family, ldp_ols, ldp_sgd
from bandit_core.spec.contexts import Contexts, Environment
from bandit_core.spec.errors import InputError

# ---------------------------------------------------------------------------------------------------------------------
# What users send, and what a policy plays, when one reward changes: samples of the policy's own rule, for the auditor.
#
# The rule of a line is played user by user (`kernels.play`, or with features) on two tables of rewards that differ in
# one user. Only what the guarantee hides is looked at:
#
# * local: what the first user and user `LATER` send, and the difference of the first two, which shows noise that is
#   drawn once or follows from the reward. Users with features make their message inside ``learn``: the estimate after
#   the first user stands for it, which is computed from it. Their features point the other way, or along another axis.
# * every other guarantee for arms: the choices. In a chain of tables, each of which differs from the next in one user,
#   arm 1 is the worse one for all users at first, and the better one for all at last. Somewhere in the chain the
#   choices must change; that is where to look. The first choices are looked at as a whole, too.
#
# Samples that decide where to look are never counted: the auditor draws fresh ones.


FIRST, USERS = 5, (64, 600, 3000)  # of runs that are looked at choice by choice, and of those whose choices are counted
LATER = 300  # a user whose answer is looked at, too: noise may end
SEARCHED = 200  # runs of each table of the chain while the change is searched
FAR = 40.0  # rewards, and features, so large and small where any are accepted
NOTHING = -1e300  # in place of a message that is not sent
USUAL = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
start: Any = play.start
choose, learn, answer = play.choose, play.learn, play.answer


class Seen(NamedTuple):
    """What is seen of runs, shape (runs, users)."""

    arms: np.ndarray
    sent: np.ndarray


Runs = Callable[[np.ndarray, int, np.random.Generator], Seen]  # of a script, so many


def _watch(state: np.ndarray, low: Rewards, high: Rewards, script: np.ndarray, numbers: Any, seen: Seen) -> None:
    """Play one run per row of ``state``; user t gets a reward of ``high`` where ``script[t - 1]``, else of ``low``."""
    arms = low.table.shape[0]
    waiting = np.zeros(arms)
    for trial in range(state.shape[0]):
        stream = Stream(state, trial)
        known = start(numbers, arms)
        for t in range(1, script.shape[0] + 1):
            arm = choose(numbers, known, Now(t, t - 1, waiting), stream)
            if not 0 <= arm < arms:  # the run itself says so
                return
            _, response, epsilon = answer(numbers, high if script[t - 1] else low, arm, t, stream)
            seen.arms[trial, t - 1], seen.sent[trial, t - 1] = arm, response
            learn(numbers, known, arm, response, User(t, epsilon), stream)


def _watch_users(state: np.ndarray, environment: Any, context: np.ndarray, numbers: Any, seen: np.ndarray) -> None:
    """What the server believes after a first user with this context, and reward 1, shape (runs,)."""
    users: Any = users_of(environment, state, np.zeros(2, np.int64))
    for trial in range(state.shape[0]):
        known = start(numbers, users)
        user: Any = Visitor(1, context)
        learn(numbers, known, 0, 1.0, user, Stream(state, trial))
        seen[trial] = known.estimate[0, 0]


def setup_of(
    policy: Policy, epsilon: float, users: int, arms: list[dict[str, Any]] = USUAL, params: Mapping[str, Any] = {}
) -> RunSetup:
    """A line of a policy on arms, or with users that have features.

    Raises
    ------
    InputError
        When the policy refuses it.
    """
    lines = [{"policy": policy.name, "epsilon": epsilon, "params": params}]
    features = {"contexts": {"law": {"kind": "cube"}, "dimension": 3, "arms": 2}}
    instance = {"arms": arms} if policy.setting == "arms" else features
    [setup] = Experiment.model_validate({**instance, "lines": lines, "horizon": users, "trials": 1}).setups
    return setup


def streams_of(rng: np.random.Generator, runs: int) -> np.ndarray:
    """As many random states of runs, (runs, 8)."""
    return rng.integers(0, 2**64, (runs, 8), dtype=np.uint64)


def runs_of(policy: Policy, epsilon: float, users: int, chain: bool) -> Runs:
    """Runs in which both arms pay the same to a user, or, in a ``chain``, one of them the most and one the least."""

    def call(arms: list[dict[str, Any]] = USUAL) -> KernelCall:
        return policy.prepare(setup_of(policy, epsilon, users, arms))

    low, high = ({"kind": "two-point", "low": end - 1, "high": end, "p_high": 1} for end in (-FAR, FAR))
    try:
        call([low, high])
    except InputError:
        low, high = ({"kind": "bernoulli", "mean": mean} for mean in (0.0, 1.0))
    pairs = [[high, low], [low, high]] if chain else [[low, low], [high, high]]
    tables, numbers, rule = [call(arms).watched[0] for arms in pairs], call().watched[1], rule_of(call())
    assert rule is not None
    kernel: Any = replace(rule, name=f"{rule.name}_audited", loop=_watch).at_once

    def runs(script: np.ndarray, count: int, rng: np.random.Generator) -> Seen:
        seen = Seen(np.zeros((count, users), np.int64), np.zeros((count, users)))
        with compiling(rule):
            kernel(streams_of(rng, count), *tables, script, numbers, seen)
        return seen

    return runs


def sampler_of(runs: Runs, script: np.ndarray, user: int, number: Callable[[Seen], np.ndarray]) -> Sampler:
    """A ``number`` of runs: the reward of ``user`` (from 0) is the input, one for all, those of others ``script``."""

    def sampler(inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        changed = script.copy()
        changed[user] = inputs[0] > 0.5
        return np.nan_to_num(number(runs(changed, len(inputs), rng)), nan=NOTHING)

    return sampler


def second(seen: Seen) -> np.ndarray:
    """How many users got arm 1, shape (runs,)."""
    return seen.arms.sum(axis=1, dtype=float)


def _of_users(policy: Policy, epsilon: float, other: tuple[float, ...]) -> Sampler:
    """The first user's features are `FAR` along the first axis, or along ``other``."""
    call = policy.prepare(setup_of(policy, epsilon, FIRST))
    kernel = replace(call.rule, name=f"{call.rule.name}_audited", loop=_watch_users).at_once
    environment, numbers, _ = call.arguments

    def sampler(inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        seen = np.zeros(len(inputs))
        context = FAR * np.resize((1.0, 0.0, 0.0) if inputs[0] > 0.5 else other, environment.dimension)
        with compiling(call.rule):
            kernel(streams_of(rng, len(inputs)), environment, context, numbers, seen)
        return seen

    return sampler


def _change(runs: Runs, users: int, rng: np.random.Generator) -> int | None:
    """Where in the chain the choices change: for how many users arm 1 is better; None where they hardly change."""

    def chosen(better: int) -> float:
        return float(second(runs(np.arange(users) < better, SEARCHED, rng)).mean())

    low, high, ends = 0, users, (chosen(0), chosen(users))
    if ends[1] - ends[0] < users / 8:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chosen(middle) > sum(ends) / 2 else (middle, high)
    return low


def places(policy: Policy, epsilon: float, rng: np.random.Generator) -> Iterator[tuple[str, Sampler, int]]:
    """Where to look at a policy: in words, with a sampler, and how many users a sample takes.

    Nowhere, where the policy has no rule, stops by itself, or chooses by features without local privacy.
    """
    rule = (
        None if policy.stops or policy.privacy == "none" else rule_of(policy.prepare(setup_of(policy, epsilon, FIRST)))
    )
    if rule is None:
        return
    if policy.setting == "contexts":
        if policy.privacy == "local":
            words = "the estimate after the first user, by the {} of the features"
            yield words.format("direction"), _of_users(policy, epsilon, (-1.0, 0.0, 0.0)), 1
            yield words.format("axis"), _of_users(policy, epsilon, (0.0, 1.0, 0.0)), 1
        return
    few, nobody = runs_of(policy, epsilon, FIRST, chain=False), np.zeros(FIRST, bool)
    if policy.privacy == "local" and not rule.hides:
        later, script = runs_of(policy, epsilon, LATER, chain=False), np.zeros(LATER, bool)
        yield "what the first user sends", sampler_of(few, nobody, 0, lambda seen: seen.sent[:, 0]), FIRST
        yield f"what user {LATER} sends", sampler_of(later, script, LATER - 1, lambda seen: seen.sent[:, -1]), LATER
        apart = sampler_of(few, nobody, 1, lambda seen: seen.sent[:, 1] - seen.sent[:, 0])
        yield "the difference of what the first two users send", apart, FIRST
        return
    codes = 2.0 ** np.arange(FIRST)
    yield f"the first {FIRST} choices", sampler_of(few, nobody, 0, lambda seen: seen.arms @ codes), FIRST
    for users in USERS:
        runs = runs_of(policy, epsilon, users, chain=True)
        if (better := _change(runs, users, rng)) is not None:
            words = f"how many of {users} users get arm 1, by the reward of user {better + 1}"
            yield words, sampler_of(runs, np.arange(users) < better, better, second), users
            return


# ---------------------------------------------------------------------------------------------------------------------
# What single users with features send to the server: a few contexts beside their private versions.
#
# The users are those that the policies of an experiment meet first, in its first trial; the server has learned nothing
# yet (theta = 0), so they try the arms in turn. Messages come from the mechanisms that the policies are calibrated
# with.


@dataclass(frozen=True)
class Users:
    """What stays on the devices: contexts of the played arms (users, d), arms (users,), rewards (users,)."""

    contexts: np.ndarray
    arms: np.ndarray
    rewards: np.ndarray


@dataclass(frozen=True)
class Messages:
    """What leaves the devices under one policy.

    ``truth`` (users, d) is the vector that each user has to tell, ``sent`` (users, d) what the server receives instead,
    ``matrices`` (users, d, d) the noisy x x^T, where the policy needs one. ``spread`` is the root mean square
    distance of one number of ``sent`` from its truth at 0, ``epsilon`` the budget of one message, ``side`` the chance
    that a message lies on its truth's side of 0, averaged over the users (None where it was not asked for).
    """

    policy: str
    truth: np.ndarray
    sent: np.ndarray
    matrices: np.ndarray | None
    spread: float
    epsilon: float
    side: float | None = None


@kernel
def _meet(
    state: np.ndarray, environment: Environment, contexts: np.ndarray, arms: np.ndarray, rewards: np.ndarray
) -> None:
    users = users_of(environment, state, np.zeros(1, np.int64))
    draw_theta(environment, users, 0)
    draw_pool(environment, users, 0)
    for each in range(arms.shape[0]):
        user, arm = meet(environment, users, 0, each + 1), each % environment.arms
        arms[each] = arm
        contexts[each] = users.x[:, column_of(users, user, arm)]
        rewards[each] = draw_reward(environment, state, 0, users.means[user, arm])


def first_users(contexts: Contexts, seed: int, count: int) -> Users:
    """The first ``count`` users of the first trial, who try the arms in turn."""
    played, arms, rewards = np.empty((count, contexts.dimension)), np.empty(count, np.int64), np.empty(count)
    _meet(streams(seed, 0, 1), contexts.kernel_form(), played, arms, rewards)
    return Users(played, arms, rewards)


def _ols(setup: RunSetup, users: Users, rng: np.random.Generator) -> Messages:
    parameters = setup.parameters
    bound, reward_bound = parameters.context_bound, parameters.reward_bound
    norms = np.linalg.norm(users.contexts, axis=1)
    shrink = np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    contexts = users.contexts * shrink[:, None]
    rewards = np.clip(users.rewards * shrink, -reward_bound, reward_bound)
    _, matrix_sd, vector_sd = ldp_ols.noise(setup)
    truth = rewards[:, None] * contexts
    squares = contexts[:, :, None] * contexts[:, None, :]
    return Messages(
        "ldp-ols",
        truth,
        gaussian.release_vectors(truth, vector_sd, rng),
        gaussian.release_symmetric(squares, matrix_sd, rng),
        vector_sd,
        ldp_sgd.release_epsilon(setup),
    )


def _sgd(setup: RunSetup, users: Users, rng: np.random.Generator) -> Messages:
    contexts, limit = family.contexts_of(setup), setup.parameters.gradient_bound
    start = {"identity": 0.0, "logistic": 0.5, "poisson": 1.0}[contexts.link]  # mu(0)
    gradients = (start - users.rewards)[:, None] * users.contexts
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    gradients = gradients * np.minimum(1.0, limit / np.maximum(norms, 1e-300)) * (1 - 1e-15)
    epsilon = ldp_sgd.release_epsilon(setup)
    reach = l2_ball.radius(contexts.dimension, epsilon, limit)
    sent = l2_ball.release(gradients, epsilon, rng, limit)
    rounded_up = 0.5 + 0.5 * np.linalg.norm(gradients, axis=1) / limit
    truth = 1 / (1 + np.exp(-epsilon))
    side = float((rounded_up * truth + (1 - rounded_up) * (1 - truth)).mean())
    return Messages("ldp-sgd", gradients, sent, None, reach / np.sqrt(contexts.dimension), epsilon, side)


_SENDERS: dict[str, Callable[[RunSetup, Users, np.random.Generator], Messages]] = {"ldp-ols": _ols, "ldp-sgd": _sgd}
POLICIES = tuple(_SENDERS)


def messages(experiment: Experiment, line: int, users: Users, seed: Any = 0) -> Messages:
    """What ``users`` send under a line whose policy is one of `POLICIES`; ``seed`` decides the noise."""
    send = _SENDERS[experiment.lines[line].policy]
    return send(experiment.setups[line], users, np.random.default_rng(seed))
