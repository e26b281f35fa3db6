"""What a phone in a class shows: the question and its buttons, and afterwards the answer. Plain HTML."""

from __future__ import annotations

from functools import cache
from html import escape
from urllib.parse import quote

from bandit_core.export.page import source, style_of
from ui import stylesheet
from ui.learn import answers, classroom, course
from ui.learn.course import Step
from ui.learn.measured import Number
from ui.words import as_html

AGAIN = 4  # seconds between loads of the page where there are no scripts


def now(code: str) -> classroom.Moment | None:
    """Where the class is; None where there is none."""
    return classroom.CLASSES.now(code) if classroom.offered() and len(code) == classroom.LENGTH else None


def version(now: classroom.Moment | None) -> str:
    """What a phone names when it asks whether there is anything new."""
    return "closed" if now is None else f"{now.step}-{now.revealed:d}"


def measured(name: str) -> Number:
    """The number that is guessed in a lesson."""
    step = course.named(name)
    return step.measured(step.content(step.slider.start), step.slider.start)


def take(code: str, phone: str, name: str, text: str) -> str:
    """Hand a guess to the class; why it was not taken, else nothing."""
    if not classroom.offered():
        return "This server holds no classes. Your guess was not counted."
    step = course.named(name)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value not in ((0.0, 1.0) if step.coins else step.guess.values()):
        return f"{text[:20]} is none of the guesses. Yours was not counted."
    if step.coins and classroom.CLASSES.guess_of(code, phone, step.name) is not None:
        return ""  # the first bit stays: a second one would say more about its sender
    try:
        classroom.CLASSES.guess(code, phone, step.name, value)
    except classroom.Refused as refused:
        return str(refused)
    return ""


def part(code: str, now: classroom.Moment | None, phone: str, measured: Number | None, said: str = "") -> str:
    """What changes on a phone; ``measured`` is known once the answer is out, ``said`` a refusal."""
    if now is None:
        return _closed(code)
    step = course.named(now.step)
    guess = classroom.CLASSES.guess_of(code, phone, step.name)
    if step.coins:
        shown = _coins(step, code, phone, guess) if measured is None else _share(step, code)
    else:
        shown = _question(step, code, phone, guess) if measured is None else _answer(step, measured, guess)
    alert = f'<p role="alert">{escape(said)}</p>' if said else ""
    return f'<div data-version="{version(now)}"><h1>{escape(step.title)}</h1>{alert}{shown}</div>'


def _closed(code: str) -> str:
    why = f"There is no class {code} now. Its teacher has closed it, or four hours have passed."
    if not classroom.offered():
        why = "This server holds no classes: its host has switched them off."
    on = '<p><a href="learn">Go on alone</a></p>'
    return f'<div data-version="closed"><h1>No class</h1><p role="alert">{escape(why)}</p>{on}</div>'


def _question(step: Step, code: str, phone: str, guess: float | None) -> str:
    scale = step.scale
    if scale is None:
        controls = "".join(
            f'<button name="value" value="{place}"{" aria-pressed=true" * (guess == place)}>{as_html(label)}</button>'
            for place, label in enumerate(step.options)
        )
    else:
        controls = (
            f"<label>Your guess ({escape(scale.unit)}) "
            f'<input type="number" name="value" min="{scale.low}" max="{scale.high}" step="1" required '
            f'value="{scale.start if guess is None else guess:g}"></label><button>Send your guess</button>'
        )
    sent = ""
    if guess is not None:
        sent = f"<p>Your guess is in: <b>{as_html(step.guess.message(guess))}</b>. You may change it.</p>"
    return (
        f"<p>{as_html(step.asks())}</p>{_form(step, code, phone, controls)}"
        f'{sent}<p class="quiet">Kept without a name until the class ends.</p>'
    )


def _form(step: Step, code: str, phone: str, controls: str, more: str = "") -> str:
    return (
        f'<form method="post" action="?class={quote(code)}"{more}><input type="hidden" name="phone" value="{phone}">'
        f'<input type="hidden" name="step" value="{step.name}">{controls}</form>'
    )


def _coins(step: Step, code: str, phone: str, guess: float | None) -> str:
    """The question of a toss; with scripts the phone tosses, else its owner does."""
    asked = f"<p><b>{as_html(step.coins)}</b> Or answer the question that your teacher asks.</p>"
    if guess is not None:
        return (
            f"{asked}<p>Your phone sent: <b>{'yes' if guess else 'no'}</b>. Nothing else about your answer has left "
            "it. The bit went with the code of the class, the name of the lesson and a random number of this phone. "
            'The server keeps these until the class ends.</p><p class="quiet">Your true answer and your coins were not '
            "sent.</p>"
        )
    controls = (
        '<p class="by-hand">Toss two coins that only you see. Two heads: press the opposite of your answer. Otherwise: '
        'press your answer.</p><p class="by-script" hidden>Press your true answer. It stays on this phone. Two coins '
        'decide what is sent.</p><output></output><button name="value" value="1">Yes</button>'
        '<button name="value" value="0">No</button>'
    )
    return asked + _form(step, code, phone, controls, " data-coins")


def _share(step: Step, code: str) -> str:
    """What the class sent."""
    bits = classroom.Bits(classroom.CLASSES.bits(code, step.name))
    message = f"<p>{as_html(bits.message())}</p>" if bits.bits else "<p>No phone sent a bit.</p>"
    return f"{message}<p><b>So: {as_html(step.so)}</b></p>"


def _answer(step: Step, measured: Number, mine: float | None) -> str:
    verdict = ""
    if mine is not None:
        guess = as_html(step.guess.message(mine))
        verdict = f"<p><b>{answers.verdict(step, mine, measured)}</b> Your guess: {guess}.</p>"
    return f"{verdict}<p>Measured: <b>{escape(step.answer_to(measured))}</b>.</p><p><b>So: {as_html(step.so)}</b></p>"


@cache
def _files() -> dict[str, str]:
    """Style and script of the page, and what allows these two and nothing else."""
    style = style_of(()) + stylesheet.asset("phone.css")
    script = classroom.SCRIPT + stylesheet.asset("phone.js")
    return {
        "style": style, "styles": source(style), "script": script, "scripts": source(script)
    }  # fmt: skip


def page(part: str, code: str) -> str:
    """The whole page around a part."""
    address, code = quote(code), escape(code)
    return stylesheet.filled("phone.html", **_files(), part=part, code=code, address=address, again=AGAIN)
