"""What single users with features send to the server: a few contexts beside their private versions.

The users are those that the policies of an experiment meet first, in its first trial; the server has learned nothing
yet (theta = 0), so they try the arms in turn. Messages come from the mechanisms that the policies are calibrated with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.contexts import column_of, draw_pool, draw_reward, draw_theta, meet, users_of
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import gaussian, l2_ball
from bandit_core.model import RunSetup
from bandit_core.policies.contextual import family, ldp_ols, ldp_sgd
from bandit_core.spec.contexts import Contexts, Environment


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
