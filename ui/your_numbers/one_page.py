"""The page for a meeting: question, advice, one picture and one table on one sheet, from a `Price` alone.

It is made when someone asks for it, by a thread without a session: nothing here may ask the session for anything.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html import escape

from bandit_core import paths
from bandit_core.studies.business_case import ranges_of
from bandit_core.studies.price import PRIVATE, Price, PriceQuestion, advise
from ui import charts, printing, templates, words
from ui.your_numbers.planned import correction, looks_words, picture, table
from ui.your_numbers.question import spans, text
from ui.your_numbers.summary import SIZE, plain_html, shareable, table_html

TITLE = "What would privacy cost?"


def one_page(price: Price, title: str = "", link: str | None = None, made: datetime | None = None) -> str:
    """One self-contained HTML page; ``made`` is the date that it bears (default: now)."""
    question, rate = price.question, price.question.scale == 1
    named = question.names or [f"option {place}" for place, _ in enumerate(question.arms, 1)]
    options = "; ".join(f"{escape(name)} {span}" for name, span in zip(named, spans(question, rate), strict=True))
    address, drawn = escape(link or ""), picture(question, question.epsilons, False)
    return templates.filled(
        "meeting.html",
        title=escape(title or TITLE),
        options=options,
        people=f"{words.count(question.users)} people, {words.count(question.weekly)} a week",
        advice=plain_html(advise(question, price.rows, words.plain).words),
        picture=printing.image(drawn, SIZE, charts.read_aloud(drawn, "Weeks of a planned A/B test against ε")),
        table=table_html(table(question, price.rows).to_dict("records")),
        assumptions=_assumptions(price),
        again=f'Open again: <a href="{address}">{address}</a>.' if shareable(link) else _settings(price),
        version=escape(paths.project_version()),
        seed=question.seed,
        date=f"{made or datetime.now(UTC):%Y-%m-%d}",
    )


def _assumptions(price: Price) -> str:
    question = price.question
    message = [
        price.unknown or "The means above are taken as exact.",
        f"Error {words.number(100 * question.delta)}%, power {words.number(100 * question.power)}%.",
        correction(question),
        looks_words(question),
        "In tests each person counts once.",
        f"A person comes {question.visits} times, and ε covers all visits." if question.visits > 1 else "",
        f"A learner learns after every {words.count(question.batch)} visits." if question.batch > 1 else "",
        "Tests are sized for larger differences than the ignored one." if question.zone else "",
        text("assumptions"),
    ]
    return escape(" ".join(filter(None, message)))


def _settings(price: Price) -> str:
    """The command that makes these numbers again; empty where they came from a file or are amounts."""
    question = price.question
    ranges = ranges_of(question.beliefs)
    (first, _), *others = ranges or [(mean, mean) for mean in question.tests.means]
    if question.scale != 1 or not first or question.clip is not None or (question.draws and not ranges):
        return ""
    ends = [dict.fromkeys(f"{100 * (mean / first - 1):.6g}%" for mean in pair) for pair in others]
    lifts = ",".join("..".join(pair) for pair in ends)
    learned = dict.fromkeys(row.epsilon for row in price.rows[1:] if not math.isnan(row.loss.value))
    budgets = ",".join(f"{epsilon:g}" for epsilon in learned or question.epsilons)
    command = f"bandit-lab price --baseline {100 * first:.10g}% --lifts={lifts} --epsilon {budgets}"
    names = ("visits", "batch", "delta", "power", "looks", "sides", "split")
    numbers = {"weekly": question.weekly, "weeks": question.weeks}
    said = {name: getattr(question, name) for name in names}
    numbers |= {name: value for name, value in said.items() if value != getattr(PriceQuestion, name)}
    command += f" --trust {','.join(question.trusts)}" if question.trusts != PRIVATE else ""
    command += "".join(f" --{name} {value:.10g}" for name, value in numbers.items())
    command += f" --zone {100 * question.zone / first:.10g}%" if question.zone else ""
    return f"The same numbers again: <code>{escape(command)}</code>."
