"""The run on the page: frames made once here, played by the browser without another word to the server."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.auditing import private_reports
from bandit_core.simulation.costs import refuse_if_too_large
from bandit_core.spec import own_data
from ui import lab_parts, templates, theme
from ui.watch.frames import MESSAGES, frames, message_frames

_player = templates.component("watch_one_run", Path(__file__).parent, "watch")


# What the Mechanisms page shows a learner with: the policy whose users answer by that mechanism.
LEARNERS = {"ctl": "heldp-ucb-l", "ctb": "heldp-ucb-b", "ctl-s": "heldp-ucb-ls", "ctb-s": "heldp-ucb-bs"}


def draw(experiment: Experiment, line: int, key: str, data: Mapping[str, Any] | None = None) -> None:
    """A run of a line, user by user; ``key`` as of any widget, ``data`` are its frames where they ship.

    Where users have features: what the first of them send, under a policy of `private_reports.POLICIES`.
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
    return [line for line in lines if experiment.lines[line].policy in private_reports.POLICIES]


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
