"""After the course and on paper: five questions with a code, and sheets for students and teachers."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape

import streamlit as st

from ui import printing, stylesheet
from ui.learn.classroom import LETTERS
from ui.learn.course import FOLDER, LECTURE, MINUTES, STEPS, Step, title
from ui.words import as_html

# ---------------------------------------------------------------------------------------------------------------------
# Five questions after the course, and a code with the result that a teacher can check. Nothing is kept.
#
# The code holds the answers and a checksum over them and a name. It stops mistakes and copies under another name;
# whoever reads this file can make one.


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


# ---------------------------------------------------------------------------------------------------------------------
# Lessons on paper: a sheet for students with questions and exercises, and one for teachers with the answers.


HEADS = {False: "What does privacy cost?", True: "What does privacy cost? Answers and notes"}
ROOM = "<hr>" * 3  # to write on
SIZE = printing.Size(14.0, 8.0, 10)  # of a picture on the teacher's sheet


def _task(step: Step) -> list[str]:
    """The paragraphs of a lesson for students."""
    guess = [f"- ☐ {message}" for message in step.options]
    return [
        step.idea,
        f"**Guess first.** {step.asks()}",
        "\n".join(guess) or f"My guess: ______ {step.unit}",
        *(["\n".join(f"- {hint}" for hint in step.more)] if step.more else []),
        f"**Exercise.** {step.exercise}",
    ]


def _answer(step: Step, content: object) -> list[str]:
    """The paragraphs of a lesson for the teacher."""
    at = step.slider.start
    return [
        f"**Guess.** {step.asks()} Measured: {step.answer_to(step.measured(content, at))}.",
        step.says(content, at),
        f"**Exercise.** {step.exercise} **Answer.** {step.answer}",
        f"**For the lesson.** {step.notes}",
        f"**The maths.** {step.exact}",
    ]


def _picture(step: Step, content: object) -> str:
    return printing.image(step.draw(content, step.slider.start, False, 320), SIZE, step.title)


def page(lessons: Sequence[Step], teacher: bool, kind: str) -> str:
    """The sheet, as "HTML" or "Markdown", in one file that needs nothing else; answers are computed here and now."""
    parts = [part for step in lessons for part in (step, step.second) if part is not None]
    written = []
    for part in parts:
        content = part.content(part.slider.start) if teacher else None
        paragraphs = _answer(part, content) if teacher else _task(part)
        head = part.title if part not in lessons else title(part)
        if kind == "Markdown":
            written.append("\n\n".join([f"## {head}", *paragraphs]))
            continue
        body = "".join(_block(text) for text in paragraphs) + ROOM * (not teacher)
        written.append(f"<section><h2>{as_html(head)}</h2>{_picture(part, content) if teacher else ''}{body}</section>")
    head = HEADS[teacher] if len(lessons) > 1 else f"{title(lessons[0])}{': answers and notes' * teacher}"
    about = "Each lesson takes one to five minutes: guess first, then look."
    if kind == "Markdown":
        return "\n\n".join([f"# {head}", about, *written]) + "\n"
    return stylesheet.filled("sheet.html", head=escape(head), body=f"<p>{about}</p>\n" + "\n".join(written))


def plan() -> str:
    """A quarter of an hour before a class, minute by minute, on one page."""
    each, rows = MINUTES // len(LECTURE), []
    for number, step in enumerate(LECTURE):
        at = step.slider.start
        choices = f" ({' / '.join(step.options)})" * bool(step.options)
        asked = f"Ask: {step.asks()}{choices} Hands up, or phones."
        shown = f"Press R: {step.answer_to(step.measured(step.content(at), at))}. Then the arrows: {step.slider.label}."
        said = f"Say: **{step.so}** {step.notes}"
        rows.append(f"<h2>Minutes {number * each} to {(number + 1) * each}: {as_html(title(step))}</h2>")
        rows += map(_block, (asked, shown, said))
    return stylesheet.filled("sheet.html", head="Fifteen minutes: what does privacy cost?", body="\n".join(rows))


def sentences() -> str:
    """The sentences of the course on one page."""
    rows = "".join(f"<p><b>{number}.</b> {as_html(step.so)}</p>" for number, step in enumerate(STEPS, 1))
    return stylesheet.filled("sheet.html", head=HEADS[False], body=rows)


def slides(lessons: Sequence[Step]) -> str:
    """A slide with each question and one with its answer. Page Down steps on; printed, each is a page."""
    written = []
    for step in lessons:
        content, at = step.content(step.slider.start), step.slider.start
        head = f"<h2>{as_html(title(step))}</h2>"
        asked = "".join(_block(text) for text in _task(step)[1:3])
        message = _block(step.says(content, at))
        written += [
            f"<section>{head}{_block(step.idea)}{asked}</section>",
            f"<section>{head}{_picture(step, content)}{message}</section>",
        ]
    return stylesheet.filled("slides.html", head=escape(HEADS[False]), body="\n".join(written))


def _block(text: str) -> str:
    if text.startswith("- "):
        return f"<ul>{''.join(f'<li>{as_html(row[2:])}</li>' for row in text.splitlines())}</ul>"
    return f"<p>{as_html(text)}</p>"
