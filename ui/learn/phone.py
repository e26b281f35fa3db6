"""A phone in a class: the question and its buttons, and afterwards the answer. It follows the teacher by itself."""

from __future__ import annotations

import secrets

import streamlit as st

from ui import state, words
from ui.learn import answers, classroom, course
from ui.learn.step import Step

EVERY = 1.5  # seconds between looks at the class
_TOKEN, _SAID = "class-token", "class-said"


def _token() -> str:
    """What this visit is known by, drawn at random; it says nothing about who it is."""
    found: str = st.session_state.setdefault(_TOKEN, secrets.token_hex(8))
    return found


def asked() -> str:
    """The code of the class in the address, as it was meant; empty for none."""
    return state.page_field("class", "").strip().upper()


def moment(code: str) -> classroom.Moment | None:
    """Where that class is; says so where it is none."""
    if not classroom.offered():
        st.warning("This server holds no classes: its host has switched them off.", icon=":material/groups:")
        return None
    now = classroom.CLASSES.now(code) if len(code) == classroom.LENGTH else None
    if now is None:
        st.warning(
            f"There is no class {words.plain(code[: 2 * classroom.LENGTH])} now. A class ends four hours after its "
            "last action, or when its teacher closes it.",
            icon=":material/groups:",
        )
    return now


def draw() -> bool:
    """The page of a phone, where the address names a class that is open."""
    code = asked()
    now = moment(code) if code else None
    if now is None:
        return False
    step = course.named(now.step)
    st.title(step.title)
    if _SAID in st.session_state:
        st.warning(st.session_state.pop(_SAID), icon=":material/groups:")
    if now.revealed:
        _answer(step, code)
    else:
        _question(step, code)
    follow(code, now)
    return True


def follow(code: str, now: classroom.Moment) -> None:
    """Draw the page again as soon as the teacher goes on, shows the answer or closes the class."""

    def look(code: str, drawn: tuple[str, bool]) -> None:
        there = classroom.CLASSES.now(code)
        if there is None or (there.step, there.revealed) != drawn:
            st.rerun()

    st.fragment(look, run_every=EVERY)(code, (now.step, now.revealed))


def _send(step: Step, value: float) -> None:
    """Callback: hand a guess to the class, or keep in mind why it was not taken."""
    if value not in step.guess.values():
        return
    try:
        classroom.CLASSES.guess(asked(), _token(), step.name, value)
    except classroom.Refused as refused:
        st.session_state[_SAID] = str(refused)


def _question(step: Step, code: str) -> None:
    at = step.slider.start
    st.markdown(step.question.format(at=step.slider.words(at)))
    mine = classroom.CLASSES.guess_of(code, _token(), step.name)
    answers.ask(step, _send, "Send your guess", "Kept without a name until the class ends.", mine)
    if mine is not None:
        st.success(f"Your guess is in: {step.guess.message(mine)}. You may change it.", icon=":material/check:")


def _answer(step: Step, code: str) -> None:
    at = step.slider.start
    found = answers.found(step, at)
    if found is None:
        return
    measured = step.measured(found, at)
    mine = classroom.CLASSES.guess_of(code, _token(), step.name)
    if mine is not None:
        st.markdown(f"**{answers.verdict(step, mine, measured)}** Your guess: {step.guess.message(mine)}.")
    st.markdown(f"Measured: **{step.answer_to(measured)}**.")
    st.markdown(f"**So: {step.so}**")
