"""One run to watch: a run of one line's method, user by user, with all that its server believes.

It is played by the loop of the line's rule (`kernels.play`) on the first stream of the experiment. Where an accelerator
draws otherwise than the rule, it is none of the runs of the experiment, but another one of the same distribution.
A search that stops has no such loop, and cannot be watched.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.kernels.batch_rule import rule_of
from bandit_core.kernels.play import Decision, Rule, Watched
from bandit_core.kernels.streams import streams
from bandit_core.model import KernelCall, Privacy, RunSetup, Signal, compiling
from bandit_core.spec.errors import InputError, Issue, refuse_if

USERS = 2000  # that are watched, unless it is said otherwise


@dataclass(frozen=True, eq=False)
class OneRun:
    """A trial, user by user; arrays of shape (users,) or (users, arms), arms in the order of the spec.

    ``arms`` are those shown; ``rewards`` what users felt, in reward units; ``sent`` what left their device (NaN:
    nothing did); ``epsilons`` their budgets where they differ (NaN: one for all, or none). Row t of ``estimates``,
    ``lows``, ``highs`` and ``indices`` is what the server holds when it chooses for user t: the estimate of each arm's
    mean, its interval, and the number that decides (``decides``: the largest or smallest index, the largest draw from
    the posteriors, or nothing while arms are taken in turns); NaN where there is none, an index of infinity for an arm
    that must be tried first, of minus infinity for one that is dropped. ``regret`` is cumulative, in reward units.

    ``privacy`` is the trust model of the line: with "none" and "central" rewards leave the device as they are.
    ``completed``: the run draws bits without the rewards behind them; those shown are only compatible with it.
    ``hides``: what single users send is not told.
    """

    arms: np.ndarray
    rewards: np.ndarray
    sent: np.ndarray
    epsilons: np.ndarray
    estimates: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    indices: np.ndarray
    regret: np.ndarray
    gaps: np.ndarray
    privacy: Privacy
    decides: Decision
    completed: bool
    hides: bool

    @property
    def users(self) -> int:
        """How many users are watched."""
        return len(self.arms)

    @property
    def mistakes(self) -> np.ndarray:
        """Who was shown an arm that is not best: places in the arrays."""
        return np.flatnonzero(self.gaps[self.arms] > 0)


def one_run(experiment: Experiment, line: int = 0, users: int = USERS, trial: int = 0) -> OneRun:
    """The first ``users`` users of a trial of one line, as far as the horizon goes; ``trial`` counts from 0.

    Raises
    ------
    InputError
        When the users of the experiment have features (see `bandit_core.auditing.runs` for what they send),
        or when the line's policy has no rule.

    >>> from bandit_core import load_preset
    >>> run = one_run(load_preset("two-treatments"), line=0, users=100)
    >>> run.arms.shape, run.estimates.shape
    ((100,), (100, 2))
    """
    refuse_if(experiment.contexts, "contexts", "users with features", "arms: a run is shown arm by arm")
    setup, entry = experiment.setups[line], experiment.lines[line].entry
    call, words = entry.prepare(setup), streams(experiment.seed, trial, trial + 1)
    rule, users = rule_of(call), min(users, setup.horizon)
    if rule is None:
        allowed = "a policy that is written as a rule: this one is not played user by user"
        raise InputError([Issue(f"lines[{line}].policy", entry.name, allowed)])
    curves, felt, sent, epsilons = np.zeros((2, 1, users)), np.zeros(users), np.zeros(users), np.zeros(users)
    arms, beliefs, signal = np.zeros(users, np.int64), np.zeros((4, users, call.arms)), Signal()
    times, pulls = np.arange(1, users + 1), np.zeros((1, call.arms))
    record = Watched(
        times, curves[0], curves[1], pulls, np.zeros((1, 0)), signal.cells, arms, felt, sent, epsilons, beliefs
    )
    with compiling(rule):
        rule.watched(words.copy(), *call.watched, record)
    completed = _complete(rule, call, setup, words, record)
    if rule.hides:
        sent[:] = np.nan
    estimates, lows, highs, indices = beliefs
    return OneRun(
        arms=arms, rewards=felt, sent=sent, epsilons=epsilons,
        estimates=estimates, lows=lows, highs=highs, indices=indices, regret=curves[0, 0], gaps=setup.regret_gaps,
        privacy=entry.privacy, decides=rule.decides, completed=completed, hides=rule.hides,
    )  # fmt: skip


def _complete(rule: Rule, call: KernelCall, setup: RunSetup, words: np.ndarray, record: Watched) -> bool:
    """Draw the rewards that the run did not draw, given what was sent; whether there are any."""
    rng = np.random.default_rng([int(word) for word in words[0]])  # that no run uses
    missing = np.flatnonzero(np.isnan(record.rewards))
    for user in missing:
        sent, epsilon = float(record.sent[user]), float(record.epsilons[user])

        def chance(reward: float, sent: float = sent, epsilon: float = epsilon) -> float:
            likelihood = rule.likelihood
            assert likelihood is not None
            return 1.0 if math.isnan(sent) else likelihood(call.watched[1], reward, sent, epsilon)

        record.rewards[user] = _reward_given(setup.arms[record.arms[user]], chance, rng)
    if setup.epsilon is None:  # then the coin is tossed by the server
        record.sent[missing] = record.rewards[missing]
    return len(missing) > 0


def _reward_given(arm: Any, chance: Callable[[float], float], rng: np.random.Generator) -> float:
    """A reward of an arm, given an event that has this ``chance`` when the reward is known."""
    while True:
        reward = float(arm.quantile(np.asarray(rng.random())))
        if rng.random() < chance(reward):
            return reward
