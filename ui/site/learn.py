"""The course as pages: the idea, a guess, and the answer at every position of the slider, as pictures and sentences."""

from __future__ import annotations

from html import escape

from bandit_core import simulate
from ui import menu
from ui.learn.course import MINUTES, STEPS
from ui.learn.step import Choice, Step
from ui.site.frame import MAX_STOPS, Site, words

HEIGHT = 320  # pixels, of the figure that a step draws


def write(site: Site) -> None:
    """A page for each step, and one that leads to them."""
    places = [f"{number:02d}-{step.name}.html" for number, step in enumerate(STEPS, 1)]
    entries = []
    for number, step in enumerate(STEPS):
        title = f"{number + 1}. {step.title}"
        entries.append(f'<li><a href="{places[number]}">{escape(title)}</a></li>')
        before = f'<a href="{places[number - 1]}">← Previous</a>' if number else ""
        after = f'<a href="{places[number + 1]}">Next →</a>' if number + 1 < len(STEPS) else ""
        parts = [part(site, step, True)]
        if step.second is not None:
            parts.append(f"<h2>{escape(step.second.title)}</h2>{part(site, step.second, False)}")
        around = f'<nav aria-label="Steps">{before}{after}</nav>'
        site.add(f"learn/{places[number]}", title, f"{''.join(parts)}{around}")
    message = f"<p>Ten short steps, about {MINUTES} minutes: guess first, then look.</p>"
    site.add(
        "learn/index.html", "What does privacy cost a learner?", f'{message}<ol class="pages">{"".join(entries)}</ol>'
    )


def part(site: Site, step: Step, first: bool, most: int | None = None) -> str:
    """A lesson: the idea, a guess, and the answer at up to ``most`` positions; ``first`` loads its picture at once."""
    at = step.slider.start
    options = ""
    if isinstance(step.guess, Choice):
        options = "<ul>" + "".join(f"<li>{words(message)}</li>" for message, _, _ in step.guess.options) + "</ul>"
    address = menu.named(step.page).address
    return (
        f"<p>{words(step.idea)}</p><p><b>Guess first.</b> "
        f"{words(step.question.format(at=step.slider.words(at)))}</p>{options}"
        f"<details><summary>Show the answer</summary>{_answers(site, step, first, most or MAX_STOPS)}</details>"
        f"<details><summary>Exercise</summary><p>{words(step.exercise)}</p>"
        f"<details><summary>Its answer</summary><p>{words(step.answer)}</p></details></details>"
        f"<details><summary>The maths</summary><p>{words(step.exact)}</p></details>"
        f"{site.hosted(address, step.fields(at), step.link_words)}"
    )


def shown(step: Step, most: int | None = None) -> list[float]:
    """The positions that a page shows: all of them, or as many, evenly spread, as fit, the start among them."""
    stops = list(step.slider.stops)
    every = -(-len(stops) // (most or MAX_STOPS))
    start = stops.index(step.slider.start)
    return stops[start % every :: every]


def _answers(site: Site, step: Step, first: bool, most: int) -> str:
    """Radio buttons, which need no script, and what each one shows."""
    buttons, figures = [], []
    for place, at in enumerate(shown(step, most)):
        found = step.found(at, 0, simulate)
        message = step.conclude(found, at)
        picture = site.picture(
            f"learn/{step.name}-{at:g}.svg",
            step.draw(found, at, False, HEIGHT),
            message.text,
            first and at == step.slider.start,
        )
        key, checked = f"{step.name}-{place}", " checked" if at == step.slider.start else ""
        buttons.append(
            f'<input type="radio" name="{step.name}" id="{key}" class="at{place}"{checked}>'
            f'<label for="{key}">{escape(step.slider.words(at))}</label>'
        )
        figures.append(
            f'<figure class="shows{place}">{picture}<figcaption>{words(message.text)}'
            f"{_guess(step, found, at)}</figcaption></figure>"
        )
    return f'<p id="{step.name}-label">{escape(step.slider.label)}</p><div class="stops" role="radiogroup" ' + (
        f'aria-labelledby="{step.name}-label">{"".join(buttons)}{"".join(figures)}</div>'
    )


def _guess(step: Step, found: object, at: float) -> str:
    """What was to be guessed, at the position that the question is about."""
    if at != step.slider.start:
        return ""
    return f" <b>What was asked:</b> {escape(step.answer_to(step.measured(found, at)))}."
