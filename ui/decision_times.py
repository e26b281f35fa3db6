"""When the searches of an experiment end, and how often what they recommend is wrong."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.spec.number_text import percent
from bandit_core.studies.best_arm import StoppingLine, StoppingResult, StoppingStudy, searches_of
from ui import shared, words

_MOST_SECONDS = 5.0  # of one core, that a visitor waits for it


def draw(experiment: Experiment) -> None:
    """A row for each line that searches until it is sure; nothing where none does."""
    lines = searches_of(experiment)
    if not lines:
        return
    st.markdown("**When each search ends**")
    try:
        study = StoppingStudy([line.spec for line in lines])
    except InputError as error:
        st.caption(words.plain(error.issues[0].allowed))
        return
    if study.missing_seconds > _MOST_SECONDS:
        st.caption(
            "Simulating so many decisions takes long: the command `python -m bandit_core decide` does it. With a "
            "larger growth, fewer trials or fewer users the table stands here."
        )
        return
    st.dataframe(
        shared.table("searches", experiment, None, lambda: table(lines, study)), hide_index=True, width="stretch",
        alt="Users until each search ends, the share of runs that do not, and the share of wrong recommendations",
    )  # fmt: skip
    st.caption(
        "Until the end of its search a line tries arms; from then on it plays the arm that it recommends. At least, on "
        "average: a lower bound on the mean number of users of every method that keeps the promise and errs with "
        "probability δ at most."
    )


def table(lines: list[StoppingLine], study: StoppingStudy) -> pd.DataFrame:
    """The rows, as text; plays what is missing."""
    pairs = zip(lines, study.run(), strict=True)
    return pd.DataFrame([row_of(line, result) for line, result in pairs if result is not None])


def row_of(line: StoppingLine, result: StoppingResult) -> dict[str, str]:
    spec = line.spec
    low, middle, high = (_users(result.quantile(share), spec.cap) for share in (0.05, 0.5, 0.95))
    first, last = (f"{words.number(100 * limit, 2)} %" for limit in result.wrong_limits())
    least = result.at_least
    return {
        "line": line.label,
        "users until it ends, median": middle,
        "middle 90 %": low if low == high else f"{low} to {high}",
        f"not over after {words.count(spec.cap)}": percent(result.not_stopped),
        "wrong (95% limits)": f"{first} to {last}",
        "allowed, δ": f"{words.number(100 * spec.delta, 2)} %" + ("" if spec.rule != "heuristic" else ", not proved"),
        "at least, on average": words.number(least) if math.isfinite(least) else "–",
    }


def _users(users: float, cap: int) -> str:
    return words.number(users) if math.isfinite(users) else f"more than {words.count(cap)}"
