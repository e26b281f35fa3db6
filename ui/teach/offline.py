"""Lessons as one file that opens without a network: the same player as on the pages, with all that it draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from bandit_core.export.document import as_json
from bandit_core.export.page import PLAYER, source, style_of
from ui import templates
from ui.learn import answers
from ui.learn.course import title
from ui.learn.step import Step
from ui.words import as_html

MAX_BYTES = 3 * 10**6


def page(lessons: Sequence[Step]) -> str:
    """The file; it draws what Learn draws."""
    parts = []
    for step in lessons:
        parts.append(f'<h2 id="{step.name}">{escape(title(step))}</h2>{_part(step)}')
        if step.second is not None:
            parts.append(f"<h3>{escape(step.second.title)}</h3>{_part(step.second)}")
    contents = "".join(f'<li><a href="#{step.name}">{escape(title(step))}</a></li>' for step in lessons)
    head = f'<nav aria-label="Lessons"><ul>{contents}</ul></nav>' if len(lessons) > 1 else ""
    style = style_of(()) + (PLAYER / "player.css").read_text("utf-8") + templates.text("offline.css")
    script = (PLAYER / "player.js").read_text("utf-8") + templates.text("offline.js")
    allowed = {"styles": source(style), "scripts": source(script)}
    body = {"title": "What does privacy cost?", "body": head + "".join(parts)}
    return templates.filled("offline.html", **body, style=style, script=script, **allowed)


def _part(step: Step) -> str:
    """A lesson: the idea, a guess, and the answers."""
    at = step.slider.start
    options = "".join(f"<li>{as_html(message)}</li>" for message in step.options)
    light, dark = (json.loads(answers.document(step, ground, height="20rem")) for ground in (False, True))
    data = {"start": step.slider.stops.index(at), "light": light, "dark": dark}
    said = "".join(f"<li>{each['name']}: {each['words']}</li>" for each in light["positions"])
    return (
        f"<p>{as_html(step.idea)}</p><p><b>Guess first.</b> {as_html(step.asks())}</p><ul>{options}</ul>"
        "<details><summary>Show the answer</summary>"
        f"<p><b>What was asked:</b> {escape(step.answer_to(step.measured(step.content(at), at)))}.</p>"
        f'{(PLAYER / "player.html").read_text("utf-8")}<script type="application/json">{as_json(data)}</script>'
        f"<noscript><p>The picture needs JavaScript, which is off. In words:</p><ul>{said}</ul></noscript></details>"
        f"<details><summary>Exercise</summary><p>{as_html(step.exercise)}</p>"
        f"<details><summary>Its answer</summary><p>{as_html(step.answer)}</p></details></details>"
        f"<details><summary>The maths</summary><p>{as_html(step.exact)}</p></details>"
    )
