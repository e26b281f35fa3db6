"""One run to watch: a trial of one line, user by user.

It is that trial of the experiment. Where a rule of single users is played, as all are whose rewards are counted late,
its loop tells everything (`kernels.play`), but for rewards behind bits that are drawn without them. Other kernels play
it with a checkpoint at every user, and tell the arms and the regret; the rest is read from the same stream by the
kernel's replay, which also says what is completed (`studies.replays`). Beyond two million users some lines are jumped
(`kernels.jump`), where no single reward is ever drawn: there the arms are all there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.kernels.play import Decision, Rule, Watched
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, KernelCall, Privacy, RunSetup, Signal, run_kernel
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies.replays import replay_of
from bandit_core.studies.replays.base import reward_given, spare_generator

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
    ``completed``: "rewards" or "draws" of which some are no part of the run, only compatible with it (see
    `bandit_core.studies.replays`).
    ``unknown`` names the arrays that the run does not draw user by user, at least in part.
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
    completed: frozenset[str]
    unknown: frozenset[str]

    @property
    def users(self) -> int:
        """How many users are watched."""
        return len(self.arms)

    @property
    def mistakes(self) -> np.ndarray:
        """Who was shown an arm that is not best: places in the arrays."""
        return np.flatnonzero(self.gaps[self.arms] > 0)


def _at_every_user(call: KernelCall, words: np.ndarray, users: int) -> Block:
    return run_kernel(call, words, np.arange(1, users + 1), Signal())


def _numbered(call: KernelCall) -> KernelCall:
    """The same run, whose regret adds up the numbers of the arms: kernels read gaps only to add them up."""
    numbers = np.arange(call.arms, dtype=float)
    rewards, *rest = call.arguments
    return KernelCall(call.kernel, (rewards._replace(gaps=numbers), *rest), call.arms, call.lanes)


def one_run(experiment: Experiment, line: int = 0, users: int = USERS, trial: int = 0) -> OneRun:
    """The first ``users`` users of a trial of one line, as far as the horizon goes; ``trial`` counts from 0.

    Raises
    ------
    InputError
        When the users of the experiment have features (see `bandit_core.auditing.private_reports` for what they send).

    >>> from bandit_core import load_preset
    >>> run = one_run(load_preset("two-treatments"), line=0, users=100)
    >>> run.arms.shape, run.estimates.shape
    ((100,), (100, 2))
    """
    if experiment.contexts is not None:
        raise InputError([Issue("contexts", "users with features", "arms: a run is shown arm by arm")])
    setup, entry = experiment.setups[line], experiment.lines[line].entry
    call, words = entry.prepare(setup), streams(experiment.seed, trial, trial + 1)
    users = min(users, setup.horizon)
    if isinstance(call.rule, Rule):
        return _watched(call, setup, words, users, entry.privacy)
    regret = _at_every_user(call, words, users).regret[0]
    arms = np.diff(_at_every_user(_numbered(call), words, users).regret[0], prepend=0.0).astype(np.int64)
    answers = _answers(call, setup, words, arms)
    return OneRun(arms=arms, regret=regret, gaps=setup.regret_gaps, privacy=entry.privacy, **answers)


def _watched(call: KernelCall, setup: RunSetup, words: np.ndarray, users: int, privacy: Privacy) -> OneRun:
    """A trial of a rule, as its own loop tells it."""
    curves, felt, sent, epsilons = np.zeros((2, 1, users)), np.zeros(users), np.zeros(users), np.zeros(users)
    arms, beliefs, signal = np.zeros(users, np.int64), np.zeros((4, users, call.arms)), Signal()
    times, pulls = np.arange(1, users + 1), np.zeros((1, call.arms))
    record = Watched(
        times, curves[0], curves[1], pulls, np.zeros((1, 0)), signal.cells, arms, felt, sent, epsilons, beliefs
    )
    call.rule.watched(words.copy(), *call.watched, record)
    if call.rule.hides:
        sent[:] = np.nan
    estimates, lows, highs, indices = beliefs
    return OneRun(
        arms=arms, rewards=record.rewards, sent=record.sent, epsilons=record.epsilons,
        estimates=estimates, lows=lows, highs=highs, indices=indices, regret=record.regret[0], gaps=setup.regret_gaps,
        privacy=privacy, decides=call.rule.decides, completed=_completed(call, setup, words, record),
        unknown=frozenset({"sent"} if call.rule.hides else ()),
    )  # fmt: skip


def _completed(call: KernelCall, setup: RunSetup, words: np.ndarray, record: Watched) -> frozenset[str]:
    """Draw the rewards that the run did not draw, given what was sent; what was drawn."""
    rng, missing = spare_generator(words), np.flatnonzero(np.isnan(record.rewards))
    for user in missing:
        sent, epsilon = float(record.sent[user]), float(record.epsilons[user])

        def chance(reward: float, sent: float = sent, epsilon: float = epsilon) -> float:
            return 1.0 if math.isnan(sent) else call.rule.likelihood(call.watched[1], reward, sent, epsilon)

        record.rewards[user] = reward_given(setup.arms[record.arms[user]], chance, rng)
    if setup.epsilon is None:  # then the coin is tossed by the server
        record.sent[missing] = record.rewards[missing]
    return frozenset({"rewards"} if len(missing) else ())


def _answers(call: KernelCall, setup: RunSetup, words: np.ndarray, arms: np.ndarray) -> dict[str, Any]:
    """What the replay tells of a run."""
    users, beliefs = len(arms), np.full((4, len(arms), call.arms), np.nan)
    names = ("estimates", "lows", "highs", "indices")
    made = replay_of(call)
    if made is None:
        nothing = {name: np.full(users, np.nan) for name in ("rewards", "sent", "epsilons")}
        answers = nothing | dict(zip(names, beliefs, strict=True))
        return answers | dict(
            decides="turns", completed=frozenset(), unknown=frozenset({"rewards", "sent", "estimates"})
        )
    replay = made(call, setup, words, users)
    label_of = np.argsort(replay.order)
    replay.shown = label_of[arms]
    with np.errstate(invalid="ignore", divide="ignore"):
        for place, label in enumerate(replay.shown):
            beliefs[:, place] = np.array(replay.believes(place + 1))[:, label_of]
            replay.pull(int(label), place + 1)
        replay.finish()
    found = {"rewards"} if np.isnan(replay.rewards).any() else set()
    return dict(
        rewards=replay.rewards, sent=replay.sent, epsilons=replay.epsilons, decides=replay.decides,
        completed=frozenset(replay.completed), unknown=frozenset(found | (set() if replay.sends else {"sent"})),
        **dict(zip(names, beliefs, strict=True)),
    )  # fmt: skip
