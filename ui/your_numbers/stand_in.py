"""The answer for other users or another budget, as long as that to the visitor's question waits for the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bandit_core.simulation.warm_up import is_warm
from bandit_core.studies.best_method import Contest, Question
from ui import nearest, theme, words
from ui.your_numbers import answers, drawing
from ui.your_numbers.address import DEFAULTS
from ui.your_numbers.inputs import Asked, Setting


def draw(asked: Asked, chosen: Setting, question: Question) -> None:
    """Show it where it is known for these very options, as it ships for those that the page opens with."""
    if asked.observed is not None or is_warm() or not Contest(question).compiles:
        return
    known = replace(question, horizon=int(DEFAULTS["users"]), epsilon=float(DEFAULTS["eps"]))
    decision, dark = Contest(known).result(), theme.is_dark()
    if known == question or decision is None:
        return
    setting = replace(chosen, users=known.horizon, epsilon=known.epsilon)
    answer = answers.reply(asked, setting, known, decision)
    found = nearest.StandIn(decision.result, tuple(_differences(chosen, setting)))
    nearest.show(found, lambda result: drawing.chart(answer, result, dark))


def _differences(chosen: Setting, shown: Setting) -> Iterator[str]:
    if chosen.epsilon != shown.epsilon:
        yield f"{shown.budget} in place of {chosen.budget.removeprefix('ε = ')}"
    if chosen.users != shown.users:
        yield f"{words.count(shown.users)} users in place of {words.count(chosen.users)}"
