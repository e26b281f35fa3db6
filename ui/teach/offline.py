"""Lessons as one file that opens without a network: every position of a slider as a picture and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bandit_core import simulate
from bandit_core.export.page import source, style_of
from ui import printing, templates
from ui.learn.course import title
from ui.learn.step import Step
from ui.words import as_html

MAX_BYTES = 4 * 2**20
MAX_STOPS = 5  # positions of a slider
HEIGHT = 320  # pixels, of the figure that a step draws
SIZE = printing.Size(12.0, 8.0, 12)  # letters that a phone shows large enough


def page(lessons: Sequence[Step]) -> str:
    """The file. Its numbers are computed here and now."""
    parts = []
    for step in lessons:
        parts.append(f'<h2 id="{step.name}">{escape(title(step))}</h2>{_part(step)}')
        if step.second is not None:
            parts.append(f"<h3>{escape(step.second.title)}</h3>{_part(step.second)}")
    contents = "".join(f'<li><a href="#{step.name}">{escape(title(step))}</a></li>' for step in lessons)
    head = f'<nav aria-label="Lessons"><ul>{contents}</ul></nav>' if len(lessons) > 1 else ""
    return _document("What does privacy cost?", head + "".join(parts))


def shown(step: Step) -> list[float]:
    """The positions that the file shows: all of them, or as many, evenly spread, as fit, the start among them."""
    stops = list(step.slider.stops)
    every = -(-len(stops) // MAX_STOPS)
    start = stops.index(step.slider.start)
    return stops[start % every :: every]


def _document(title: str, body: str) -> str:
    """A whole page without a script, whose pictures stand in it."""
    # Which radio button shows what.
    chosen = "".join(f".at{place}:checked~.shows{place}{{display:block}}" for place in range(MAX_STOPS))
    style = style_of(()) + templates.text("offline.css") + chosen
    allowed = source(style)
    return templates.filled("offline.html", title=escape(title), body=body, style=style, allowed=allowed)


def _part(step: Step) -> str:
    """A lesson: the idea, a guess, and the answers."""
    options = ""
    if step.options:
        options = "<ul>" + "".join(f"<li>{as_html(message)}</li>" for message in step.options) + "</ul>"
    return (
        f"<p>{as_html(step.idea)}</p><p><b>Guess first.</b> "
        f"{as_html(step.asks())}</p>{options}"
        f"<details><summary>Show the answer</summary>{_answers(step)}</details>"
        f"<details><summary>Exercise</summary><p>{as_html(step.exercise)}</p>"
        f"<details><summary>Its answer</summary><p>{as_html(step.answer)}</p></details></details>"
        f"<details><summary>The maths</summary><p>{as_html(step.exact)}</p></details>"
    )


def _answers(step: Step) -> str:
    """Radio buttons, which need no script, and what each one shows."""
    buttons, figures = [], []
    for place, at in enumerate(shown(step)):
        content = step.content(at, simulate)
        alt = step.conclude(content, at).text.replace("**", "")
        picture = printing.image(step.draw(content, at, False, HEIGHT), SIZE, alt)
        key, checked, asked = f"{step.name}-{place}", "", ""
        if at == step.slider.start:  # what the question is about
            checked = " checked"
            asked = f" <b>What was asked:</b> {escape(step.answer_to(step.measured(content, at)))}."
        buttons.append(
            f'<input type="radio" name="{step.name}" id="{key}" class="at{place}"{checked}>'
            f'<label for="{key}">{escape(step.slider.words(at))}</label>'
        )
        figures.append(
            f'<figure class="shows{place}">{picture}<figcaption>{as_html(step.says(content, at))}{asked}</figcaption>'
            "</figure>"
        )
    return f'<p id="{step.name}-label">{escape(step.slider.label)}</p><div class="stops" role="radiogroup" ' + (
        f'aria-labelledby="{step.name}-label">{"".join(buttons)}{"".join(figures)}</div>'
    )
