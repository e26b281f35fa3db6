"""Five questions after the course, and a code with the result that a teacher can check. Nothing is kept.

The code holds the answers and a checksum over them and a name. It stops mistakes and copies under another name; whoever
reads this file can make one.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass
from hashlib import sha256

import streamlit as st

from ui.learn.classroom import LETTERS
from ui.learn.step import FOLDER

CHECK = 4  # letters of the checksum
MAX_LETTERS = 60  # of a name


@dataclass(frozen=True)
class Question:
    """A question, its options, the place of the right one, and the step that answers it."""

    text: str
    options: tuple[str, str, str]
    right: int
    step: int


QUESTIONS = tuple(Question(**each) for each in tomllib.loads((FOLDER / "quiz.toml").read_text("utf-8"))["question"])


def _checksum(answers: tuple[int, ...], name: str) -> str:
    digest = sha256(f"{answers} {' '.join(name.split()).casefold()}".encode()).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:CHECK])


def code(answers: tuple[int, ...], name: str) -> str:
    """The code for these answers under this name."""
    number = 0
    for answer in answers:
        number = 3 * number + answer
    return f"{LETTERS[number // len(LETTERS)]}{LETTERS[number % len(LETTERS)]}-{_checksum(answers, name)}"


def answers_in(text: str, name: str) -> tuple[int, ...] | None:
    """The answers in a code; None where it is none, or belongs to another name."""
    given = "".join(sign for sign in text.upper() if sign.isalnum())
    every = itertools.product(range(3), repeat=len(QUESTIONS))
    return next((answers for answers in every if code(answers, name).replace("-", "") == given), None)


def right(answers: tuple[int, ...]) -> list[bool]:
    """Which of the answers are right."""
    return [answer == question.right for answer, question in zip(answers, QUESTIONS, strict=True)]


def draw() -> None:
    """The questions, and the code once all are answered."""
    st.title("Five questions")
    name = st.text_input("Your name, for the code", max_chars=MAX_LETTERS, key="quiz-name",
                         help="It goes into the checksum of your code and is not kept.")  # fmt: skip
    given: list[int | None] = [
        st.radio(f"{number}. {question.text}", range(3), index=None, format_func=question.options.__getitem__,
                 key=f"quiz-{number}")
        for number, question in enumerate(QUESTIONS, 1)
    ]  # fmt: skip
    answers = tuple(each for each in given if each is not None)
    if len(answers) < len(QUESTIONS):
        st.caption(f"{len(answers)} of {len(QUESTIONS)} answered.")
        return
    st.markdown(f"**Your code.** Give it to your teacher with your name: `{code(answers, name)}`")
    marks = right(answers)
    st.markdown(f"**{sum(marks)} of {len(marks)}** are right.")
    for number, (question, fits) in enumerate(zip(QUESTIONS, marks, strict=True), 1):
        if not fits:
            st.markdown(f"- Question {number} is not right. Look at step {question.step} again.")


def check() -> None:
    """For a teacher: what a code says."""
    left, middle = st.columns(2)
    name = left.text_input("Name", max_chars=MAX_LETTERS, key="quiz-check-name", help="As the student wrote it.")
    text = middle.text_input("Code", max_chars=20, key="quiz-check-code", help="As on the student's screen.")
    if not text:
        return
    answers = answers_in(text, name)
    if answers is None:
        st.warning("This code does not belong to this name. Check both.", icon=":material/warning:")
        return
    marks = right(answers)
    wrong = ", ".join(str(number) for number, fits in enumerate(marks, 1) if not fits)
    st.success(f"{sum(marks)} of {len(marks)} right." + (f" Wrong: {wrong}." if wrong else ""), icon=":material/check:")
