"""The whole course as one page to print: questions and exercises first, then the answers, computed here and now."""

from __future__ import annotations

import re
from html import escape

from bandit_core import simulate
from ui.learn.course import MINUTES, PARTS, STEPS
from ui.learn.step import Choice, Step

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What does privacy cost a learner?</title><style>
body{{margin:2rem auto;max-width:44rem;padding:0 1rem;font:12pt/1.45 "Segoe UI",Helvetica,Arial,sans-serif}}
section{{break-inside:avoid;margin-bottom:1.2rem}} h2{{font-size:1.15em;margin:1.2em 0 .3em}}
.small{{font-size:.85em}} .answers{{break-before:page}} ol{{padding-left:1.4em}} p{{margin:.4em 0}}
@media print{{body{{margin:0;max-width:none}}}}
</style></head><body><h1>What does privacy cost a learner?</h1>
<p>Ten short steps, about {minutes} minutes: guess first, then look.</p>
{tasks}
<div class="answers"><h1>Answers and notes for teachers</h1>
<p class="small">Every sentence with numbers is computed by the lab for the first position of its slider.</p>
{answers}</div>
</body></html>
"""


def _html(text: str) -> str:
    """Plain words with **bold** parts as HTML."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))


def _heading(step: Step) -> str:
    """Number and title; of a second part those of its step, and its own title."""
    for number, first in enumerate(STEPS, 1):
        if step in (first, first.second):
            return f"{number}. {first.title}" + (f" · {step.title}" if step is first.second else "")
    raise LookupError(step.name)


def _task(step: Step) -> str:
    at = step.slider.start
    if isinstance(step.guess, Choice):
        guess = "".join(f"<li>☐ {_html(words)}</li>" for words, _, _ in step.guess.options)
        guess = f'<ul style="list-style:none;padding:0">{guess}</ul>'
    else:
        guess = f"<p>My guess: ______ {_html(step.guess.unit)}</p>"
    hints = "".join(f"<li>{_html(hint)}</li>" for hint in step.more)
    return (
        f"<section><h2>{_html(_heading(step))}</h2><p>{_html(step.idea)}</p>"
        f"<p><b>Guess first.</b> {_html(step.question.format(at=step.slider.words(at)))}</p>{guess}"
        f"<p><b>Exercise.</b> {_html(step.exercise)}</p>{f'<ul>{hints}</ul>' if hints else ''}</section>"
    )


def _answer(step: Step) -> str:
    at = step.slider.start
    found = step.found(at, 0, simulate)
    return (
        f"<section><h2>{_html(_heading(step))}</h2><p><b>Guess.</b> Measured: {step.measured(found, at)} "
        f"{_html(step.unit)}. {_html(step.conclude(found, at).text)}</p>"
        f"<p><b>Exercise.</b> {_html(step.answer)}</p><p><b>For the lesson.</b> {_html(step.notes)}</p>"
        f'<p class="small"><b>The maths.</b> {_html(step.exact)}</p></section>'
    )


def page() -> str:
    """The page as HTML that needs nothing else."""
    tasks, answers = ("\n".join(write(each) for each in PARTS) for write in (_task, _answer))
    return _PAGE.format(minutes=MINUTES, tasks=tasks, answers=answers)
