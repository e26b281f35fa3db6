"""Until when? Users until a decision on Your numbers: what is asked, and the answer in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from bandit_core.model import PROMISES
from bandit_core.studies.price import weeks_words
from bandit_core.studies.roll_out import CAP, RollOut, RollOutQuestion, RollOutStudy
from ui import lab_parts, runner, shared, uploads, words
from ui.your_numbers.address import ask, write_address
from ui.your_numbers.inputs import Asked, Setting, question_of
from ui.your_numbers.question import text

SAME = 1e-12  # a difference of two means of cut rewards that rounding may make


@dataclass(frozen=True, eq=False)
class Until:
    """When the test that stops by itself ends, at every level of trust."""

    asked: Asked
    chosen: Setting
    question: RollOutQuestion
    rows: tuple[RollOut, ...]

    @property
    def error(self) -> str:
        """The chance of error that is allowed, in words."""
        return f"{words.number(100 * self.question.delta)}%"

    def weeks(self, users: float) -> str:
        """A number of users as a time, in words."""
        return weeks_words(users / self.chosen.weekly)


def fold(asked: Asked, chosen: Setting) -> None:
    """The search, for who opens the fold."""
    make, title = partial(_until_when, asked, chosen), "For researchers: a test with exact confidence"
    lab_parts.fold(title, "own-until-fold", make, "rule")


def _until_when(asked: Asked, chosen: Setting) -> None:
    """When each level's runs end, and what the test promises; why there is no answer where none is."""
    chosen = replace(chosen, rule=ask("rule"))
    write_address()
    question = question_of(asked, chosen).roll_out(chosen.tested)
    if nothing := undecided(question):
        st.info(nothing)
        return
    rows = studied("own-until", question, lambda: RollOutStudy(question))
    if rows is None:
        return
    until = Until(asked, chosen, question, rows)
    key = question, chosen.weekly
    st.markdown(shared.once("until-words", key, None, lambda: sentence(until)))
    st.caption(f"{until.question.trials:,} simulated runs. A test counts each person once.")
    alt = "When the test that stops by itself ends, for each level of trust"
    st.dataframe(pd.DataFrame(times_rows(until)), hide_index=True, width="stretch", alt=alt)
    told = *map(method_words, until.rows[1:]), promises(until), least_known(until), bits_words(until)
    st.caption(" ".join(filter(None, told)))


def undecided(question: RollOutQuestion) -> str:
    """Why no number of users decides, in words; empty where it does at every level of trust."""
    if question.effect("none") == 0:
        return text("nothing to find")
    if question.view("central").misleads:
        return text("misled")
    return text("cut to the same") if any(question.effect(privacy) < SAME for privacy, _ in question.epsilons) else ""


@uploads.refused
def studied(name: str, what: Hashable, build: Callable[[], Any]) -> Any:
    """What a study finds, kept in the session while it is the same; None until it is known (why is told)."""
    slot = f"{name}-found"
    memory = st.session_state.get(slot)
    if memory is not None and memory[0] == what:
        st.empty()  # in the place of the progress bar
        return memory[1]
    found = runner.study_of(build, what, name)
    if found is not None:
        st.session_state[slot] = what, found
    return found


# ---------------------------------------------------------------------------------------------------------------
# In words and numbers


def users_words(users: float) -> str:
    """A number of users, rounded to what is worth reading; what is beyond the cap is said to be that."""
    return words.number(users) if math.isfinite(users) else f"more than {words.count(CAP)}"


def who(row: RollOut) -> str:
    """The trust model and its budget."""
    return PROMISES[row.privacy].who + ("" if row.epsilon is None else f" (ε = {row.epsilon:g})")


def sentence(until: Until) -> str:
    """The answer: the median time of every level of trust, and whether a curator is worth it."""
    plain, *private = until.rows
    times = [f"**{until.weeks(plain.times.quantile(0.5))}** without privacy"]
    times += [f"**{until.weeks(row.times.quantile(0.5))}** if you {who(row)}" for row in private]
    message = f"Half of all tests end within: {'; '.join(times)}."
    central = next(row for row in private if row.privacy == "central")
    if central.times.spec.entry.privacy == "local":
        message += " A curator would use the method that needs no trust: none that is known here is quicker."
    return message


def method_words(row: RollOut) -> str:
    """What of a private row's users is the method's and what is privacy's, in one sentence; empty where unknown."""
    middle = row.times.quantile(0.5)
    if row.noiseless is None or not math.isfinite(middle):
        return ""
    method = float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))
    if method >= CAP:
        return ""
    message = f"Under {PROMISES[row.privacy].name}, the same method at ε = ∞ needs {users_words(method)} users"
    ratio = words.number(middle / method, 2)
    if middle > method:
        return f"{message}, so privacy itself multiplies the users by about {ratio}."
    return f"{message}: privacy adds nothing that these runs can show."


def least_known(until: Until) -> str:
    """What the lower bound says; empty where none applies."""
    return text("at least") if any(row.bound is not None for row in until.rows) else ""


def least_words(row: RollOut) -> str:
    """The lower bound on the mean time and its status."""
    return "–" if row.bound is None else f"{words.number(row.bound.users)} ({row.bound.status})"


def decided_share(row: RollOut, users: int) -> float:
    """Share of the runs that have stopped by so many users."""
    return float((row.times.stopped & (row.times.users <= users)).mean())


def times_rows(until: Until) -> list[dict[str, str]]:
    """Users until a decision, a row for each trust model."""
    rows, bounded = [], least_known(until)
    for row in until.rows:
        low, high = (users_words(row.times.quantile(share)) for share in (0.05, 0.95))
        wrong = " to ".join(f"{words.number(100 * limit, 2)}%" for limit in row.times.wrong_limits())
        decided = f"decided by {words.count(until.question.users)} users"
        rows.append(
            {
                "who is trusted": who(row),
                "weeks, median": until.weeks(row.times.quantile(0.5)),
                "users, median": users_words(row.times.quantile(0.5)),
                "users, mean": "at least " * (not row.times.stopped.all()) + users_words(row.times.mean_users),
                "middle 90%": f"{low} to {high}",
                **({"at least, on average": least_words(row)} if bounded else {}),
                decided: f"{100 * decided_share(row, until.question.users):.3g}%",
                "wrong (95% limits)": wrong,
                "which method": row.times.spec.entry.title,
                "same method at ε = ∞, median": "–"
                if row.noiseless is None
                else users_words(float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))),
            }
        )
    return rows


def promises(until: Until) -> str:
    """How the promise of the test differs from that of the method that stops, in one sentence."""
    promise = text("proved" if until.question.rule == "proved" else "heuristic", error=until.error)
    promise += f" ({text('ignored')})" if until.question.zone else ""
    missed = words.number(100 * (1 - until.question.power))
    return text("promises", error=until.error, missed=missed, promise=promise)


def bits_words(until: Until) -> str:
    """What is assumed of amounts; empty where every reward is a yes or no."""
    return text("as bits") if until.asked.amounts else ""
