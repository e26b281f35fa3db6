"""Lessons on paper: a sheet for students with questions and exercises, and one for teachers with the answers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ui import printing, templates
from ui.learn.course import LECTURE, MINUTES, STEPS, title
from ui.learn.step import Step
from ui.words import as_html

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
    return templates.filled("sheet.html", head=escape(head), body=f"<p>{about}</p>\n" + "\n".join(written))


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
    return templates.filled("sheet.html", head="Fifteen minutes: what does privacy cost?", body="\n".join(rows))


def sentences() -> str:
    """The sentences of the course on one page."""
    rows = "".join(f"<p><b>{number}.</b> {as_html(step.so)}</p>" for number, step in enumerate(STEPS, 1))
    return templates.filled("sheet.html", head=HEADS[False], body=rows)


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
    return templates.filled("slides.html", head=escape(HEADS[False]), body="\n".join(written))


def _block(text: str) -> str:
    if text.startswith("- "):
        return f"<ul>{''.join(f'<li>{as_html(row[2:])}</li>' for row in text.splitlines())}</ul>"
    return f"<p>{as_html(text)}</p>"
