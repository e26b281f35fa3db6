"""All frames of one run as one small document, and their player in the browser."""

from __future__ import annotations

import base64
import math
import string
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.auditing import runs
from bandit_core.simulation.costs import refuse_if_too_large
from bandit_core.spec import own_data
from bandit_core.spec.rewards import RewardDistribution
from bandit_core.studies.one_run import USERS, OneRun, one_run
from ui import lab_parts, stylesheet, theme, words

# ---------------------------------------------------------------------------------------------------------------------
# All frames of one run as one small document: numbers in base64, so that 2,000 users of ten arms stay below 300 KB.


ROWS = 10  # arms that are drawn; of more, the best ones and what the run shows most
NUMBERS = 200_000  # users x arms that are replayed at most
MESSAGES = 500  # users with features whose messages are shown
SHOWN_FEATURES = 3  # of a message, in words


def users_watched(experiment: Experiment) -> int:
    """How many users are shown: fewer where arms are many."""
    return max(1, min(USERS, experiment.horizon, NUMBERS // max(1, experiment.arm_count)))


def _packed(values: np.ndarray, kind: str = "<f2") -> str:
    """Little-endian numbers as base64; half precision has three digits, which is what is drawn."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def _rows(run: OneRun, gaps: np.ndarray) -> np.ndarray:
    """The arms that are drawn, in the order of the spec."""
    pulls = np.bincount(run.arms, minlength=len(gaps))
    return np.sort(np.lexsort((-pulls, gaps > 0))[:ROWS])


def _name(arm: int, arms: int) -> str:
    return string.ascii_uppercase[arm] if arms <= len(string.ascii_uppercase) else str(arm + 1)


def _axis(arms: tuple[RewardDistribution, ...], run: OneRun, rows: np.ndarray) -> list[float]:
    """The ends of the drawn scale: all possible rewards, or true means and last estimates; then as much more, up to
    twice as wide, as most intervals need.
    """
    ends = np.array([arms[row].support for row in rows])
    if not np.isfinite(ends).all():
        ends = np.concatenate([[arms[row].expected for row in rows], run.estimates[-1, rows]])
        ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    width = (high - low) or 1.0
    for values, share in ((run.lows, 0.1), (run.highs, 0.9)):
        finite = values[:, rows][np.isfinite(values[:, rows])]
        if len(finite):
            wanted = float(np.quantile(finite, share))
            low, high = min(low, wanted), max(high, wanted)
    return [max(low, ends.min() - width) - 0.1 * width, min(high, ends.max() + width) + 0.1 * width]


def _at_once(run: OneRun) -> bool:
    """Whether an answer changes the estimate of its arm as soon as it comes, unless it equals those before it."""
    for arm in np.unique(run.arms):
        users = np.flatnonzero((run.arms == arm) & ~np.isnan(run.sent))
        users = users[users + 1 < len(run.estimates)]
        if not len(users):
            continue
        sent, after = run.sent[users], run.estimates[users + 1, arm]
        other = np.abs(sent[1:] - np.cumsum(sent)[:-1] / np.arange(1, len(sent))) > 1e-9
        if np.isnan(after).any() or (other & (run.estimates[users[1:], arm] == after[1:])).any():
            return False
    return True


def frames(experiment: Experiment, line: int, colour: str, users: int | None = None) -> dict[str, Any]:
    """What the browser needs to play a run of a line, by itself for `users_watched`; watch.js reads it."""
    run = one_run(experiment, line, users or users_watched(experiment))
    setup = experiment.setups[line]
    rows = _rows(run, setup.regret_gaps)
    shown = np.full(experiment.arm_count, len(rows))
    shown[rows] = np.arange(len(rows))
    others = experiment.arm_count - len(rows)
    beliefs = {"estimate": run.estimates, "low": run.lows, "high": run.highs, "decider": run.indices}
    packed = {name: _packed(values[:, rows]) for name, values in beliefs.items()}
    if packed["decider"] == packed["high"]:
        packed["decider"] = ""
    answers = run.sent[~np.isnan(run.sent)]
    budget = setup.epsilon.fixed if setup.epsilon is not None else None  # of one answer
    return {
        "label": experiment.label(line),
        "colour": colour,
        "users": run.users,
        "rows": "arm",
        "names": [_name(row, experiment.arm_count) for row in rows] + ([f"{others:,} others"] if others else []),
        "means": [float(setup.means[row]) for row in rows],
        "axis": _axis(setup.arms, run, rows),
        "privacy": run.privacy,
        "decides": run.decides,
        "bits": run.privacy == "local" and bool(np.isin(answers, (0, 1)).all()),
        "epsilon": None if budget is None or math.isinf(budget) else words.number(budget),
        "notes": [*_notes(run), *([CUT] if setup.uncut is not None else [])],
        "shown": _packed(shown[run.arms], "u1"),
        "mistakes": _packed(setup.regret_gaps[run.arms] > 0, "u1"),
        "felt": _packed(run.rewards),
        "sent": _packed(run.sent),
        "budgets": "" if np.isnan(run.epsilons).all() else _packed(run.epsilons),
        "regret": _packed(run.regret, "<f4"),
        "at_once": _at_once(run),
        "coin": run.privacy == "local" and bool(np.isin(run.rewards, (0, 1)).all() and np.isin(answers, (0, 1)).all()),
        "undrawn": run.hides,
        **packed,
    }


def message_frames(experiment: Experiment, line: int, colour: str) -> dict[str, Any]:
    """What the first users with features send under a line whose policy is one of `runs.POLICIES`.

    Rows are the features: the average of what came in so far, two standard deviations of its noise either way, and the
    average of what the shown users really had to tell.
    """
    assert experiment.contexts is not None
    users = runs.first_users(experiment.contexts, experiment.seed, min(MESSAGES, experiment.horizon))
    message = runs.messages(experiment, line, users)
    count, rows = len(users.arms), min(ROWS, message.sent.shape[1])
    before = np.arange(count)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = (np.cumsum(message.sent, axis=0) - message.sent)[:, :rows] / before
        half = 2 * message.spread / np.sqrt(before)
    means, last = message.truth.mean(axis=0)[:rows], 4 * message.spread / math.sqrt(count)
    return {
        "label": experiment.label(line),
        "colour": colour,
        "users": count,
        "rows": "feature",
        "names": [str(row + 1) for row in range(rows)],
        "options": [str(arm + 1) for arm in range(experiment.arm_count)],
        "means": means.tolist(),
        "axis": [float(means.min() - last), float(means.max() + last)],
        "privacy": "local",
        "decides": "messages",
        "bits": False,
        "epsilon": words.number(message.epsilon),
        "notes": [_BARS["messages"]],
        "shown": _packed(users.arms, "<u2"),
        "mistakes": "",
        "felt": _packed(users.rewards),
        "sent": _packed(message.sent[:, :SHOWN_FEATURES]),
        "truth": _packed(message.truth[:, :SHOWN_FEATURES]),
        "features": message.sent.shape[1],
        "budgets": "",
        "regret": "",
        "estimate": _packed(estimates),
        "low": _packed(estimates - half),
        "high": _packed(estimates + half),
        "decider": _packed(np.full_like(estimates, np.nan)),
    }


CUT = "Rewards are shown as this learner sees them, cut and rescaled to [0, 1]. The regret counts uncut rewards."
_BARS = {
    "largest": "Bars: the estimate ± the bonus that the index adds for uncertainty.",
    "draw": "Bars: the middle 90% of the server's posterior, from which it draws.",
    "messages": "Bars: ± two standard deviations of the noise in that average. The server has learned nothing yet: "
    "users try the options in turn.",
    "turns": "Bars: an arm is dropped at the end of an epoch if its bar lies entirely below another.",
}


def _notes(run: OneRun) -> list[str]:
    """What bars mean, and what is no part of the run, or left out, in words."""
    notes = [_BARS[run.decides]] if run.decides in _BARS and np.isfinite(run.lows).any() else []
    if run.hides:
        notes.append("The simulation adds the noise where answers are summed, so single messages are not shown.")
    if run.completed:
        notes.append(
            "The simulation draws only the random bits that the server gets. The rewards shown here were added "
            "afterwards, from their exact distribution given those bits."
        )
    return notes


# ---------------------------------------------------------------------------------------------------------------------
# The run on the page: frames made once here, played by the browser without another word to the server.


_player = stylesheet.component("watch_one_run", Path(__file__).parent, "watch")


# What the Mechanisms page shows a learner with: the policy whose users answer by that mechanism.
LEARNERS = {"ctl": "heldp-ucb-l", "ctb": "heldp-ucb-b", "ctl-s": "heldp-ucb-ls", "ctb-s": "heldp-ucb-bs"}


def draw(experiment: Experiment, line: int, key: str, data: Mapping[str, Any] | None = None) -> None:
    """A run of a line, user by user; ``key`` as of any widget, ``data`` are its frames where they ship.

    Where users have features: what the first of them send, under a policy of `runs.POLICIES`.
    """
    colour = theme.line_colours(experiment, theme.is_dark())[line]
    make = frames if experiment.contexts is None else message_frames
    data = make(experiment, line, colour) if data is None else {**data, "colour": colour}
    stamp = sha256(repr([data[name] for name in ("label", "regret", "estimate", "felt")]).encode()).hexdigest()[:16]
    _player(key=key, data=data | {"stamp": stamp})


def _watchable(experiment: Experiment) -> list[int]:
    """Lines that `draw` can show."""
    lines = range(len(experiment.lines))
    if experiment.contexts is None:
        calls = [experiment.lines[line].entry.prepare(experiment.setups[line]) for line in lines]
        return [line for line in lines if calls[line].rule is not None]
    try:
        refuse_if_too_large(experiment.with_changes(horizon=min(MESSAGES, experiment.horizon), trials=1))
    except InputError:  # told below, where the whole experiment is run
        return []
    return [line for line in lines if experiment.lines[line].policy in runs.POLICIES]


def panel(experiment: Experiment, key: str) -> None:
    """`draw`, and which line."""
    st.fragment(own_data.bound(_panel))(experiment, key)


def _panel(experiment: Experiment, key: str) -> None:
    lines = _watchable(experiment)
    if not lines:
        st.caption(
            "No policy here sends a message for every user that could be shown."
            if experiment.contexts is not None
            else "No method here is played user by user, so there is no run to watch."
        )
        return
    line = lines[0]
    if len(lines) > 1:
        line = st.selectbox("Which policy?", lines, format_func=experiment.label, key=f"{key}-line")
    draw(experiment, line, f"{key}-{line}")


def fold(title: str, experiment: Experiment, key: str) -> None:
    """`panel` in a fold, whose frames are made when someone opens it."""
    lab_parts.fold(title, f"{key}-fold", lambda: panel(experiment, key), icon=":material/play_circle:")


def learner(mechanism: str, epsilon: float, key: str) -> None:
    """A server that learns which of two arms is better from the answers of a mechanism, where one does."""
    if mechanism not in LEARNERS:
        return
    line = {"policy": LEARNERS[mechanism], "epsilon": {"kind": "fixed", "value": epsilon}}
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.7, 0.5)]
    document = {"version": 1, "arms": arms, "lines": [line], "horizon": 2000, "trials": 1}
    fold("Watch a server learn from such answers", Experiment.model_validate(document), key)
