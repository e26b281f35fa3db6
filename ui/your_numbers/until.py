"""Until when? Users until a decision on Your numbers: what is asked, and the answer in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
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
    weekly, memory = chosen.weekly, (question, chosen.weekly)
    st.markdown(shared.once("until-words", memory, None, lambda: sentence(rows, weekly)))
    st.caption(f"{question.trials:,} simulated runs. A test counts each person once.")
    alt = "When the test that stops by itself ends, for each level of trust"
    st.dataframe(pd.DataFrame(times_rows(question, rows, weekly)), hide_index=True, width="stretch", alt=alt)
    told = [*map(method_words, rows[1:]), promises(question)]
    told += [text("at least")] * any(row.bound is not None for row in rows) + [text("as bits")] * asked.amounts
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


def sentence(rows: Sequence[RollOut], weekly: int) -> str:
    """The answer: the median time of every level of trust, and whether a curator is worth it."""
    plain, *private = [weeks_words(row.times.quantile(0.5) / weekly) for row in rows]
    times = [f"**{each}** if you {who(row)}" for each, row in zip(private, rows[1:], strict=True)]
    times.insert(0, f"**{plain}** without privacy")
    message = f"Half of all tests end within: {'; '.join(times)}."
    central = next(row for row in rows if row.privacy == "central")
    if central.times.spec.entry.privacy == "local":
        message += " A curator would use the method that needs no trust: none that is known here is quicker."
    return message


def noiseless_median(row: RollOut) -> float:
    """Users that half of the runs of the same method take at ε = ∞; NaN where they are not known."""
    return math.nan if row.noiseless is None else float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))


def method_words(row: RollOut) -> str:
    """What of a private row's users is the method's and what is privacy's, in one sentence; empty where unknown."""
    middle, method = row.times.quantile(0.5), noiseless_median(row)
    if not (math.isfinite(middle) and method < CAP):
        return ""
    message = f"Under {PROMISES[row.privacy].name}, the same method at ε = ∞ needs {users_words(method)} users"
    ratio = words.number(middle / method, 2)
    if middle > method:
        return f"{message}, so privacy itself multiplies the users by about {ratio}."
    return f"{message}: privacy adds nothing that these runs can show."


def decided_share(row: RollOut, users: int) -> float:
    """Share of the runs that have stopped by so many users."""
    return float((row.times.stopped & (row.times.users <= users)).mean())


def times_rows(question: RollOutQuestion, found: Sequence[RollOut], weekly: int) -> list[dict[str, str]]:
    """Users until a decision, a row for each trust model."""
    rows, users = [], question.users
    for row in found:
        times, stopped = row.times, row.times.stopped.all()
        cells = {
            "who is trusted": who(row),
            "weeks, median": weeks_words(times.quantile(0.5) / weekly),
            "users, median": users_words(times.quantile(0.5)),
            "users, mean": "at least " * (not stopped) + users_words(times.mean_users),
            "middle 90%": " to ".join(users_words(times.quantile(share)) for share in (0.05, 0.95)),
        }
        if any(each.bound is not None for each in found):
            least = row.bound and f"{words.number(row.bound.users)} ({row.bound.status})"
            cells["at least, on average"] = least or "–"
        cells[f"decided by {words.count(users)} users"] = f"{100 * decided_share(row, users):.3g}%"
        cells["wrong (95% limits)"] = " to ".join(f"{words.number(100 * limit, 2)}%" for limit in times.wrong_limits())
        cells["which method"] = times.spec.entry.title
        without = noiseless_median(row)
        cells["same method at ε = ∞, median"] = "–" if math.isnan(without) else users_words(without)
        rows.append(cells)
    return rows


def promises(question: RollOutQuestion) -> str:
    """How the promise of the test differs from that of the method that stops, in one sentence."""
    told = {"error": f"{words.number(100 * question.delta)}%"}
    promise = text("proved" if question.rule == "proved" else "heuristic", **told)
    promise += f" ({text('ignored')})" if question.zone else ""
    return text("promises", missed=words.number(100 * (1 - question.power)), promise=promise, **told)
