"""What Your numbers answers, as numbers and in words: what each trust model loses, in the visitor's own unit."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.model import Privacy
from bandit_core.simulation.results import Result
from bandit_core.spec.number_text import number
from bandit_core.studies.best_method import Decision, Question, known_words
from bandit_core.studies.business_case import GOALS, Cost, costs
from bandit_core.studies.goal_search import Found, Kind
from ui import charts, theme, words
from ui.your_numbers.inputs import Asked, Setting
from ui.your_numbers.question import text


@dataclass(frozen=True)
class Reply:
    """The best method of every trust model and what it loses, and what two policies without learning would lose.

    Everything is in the visitor's unit but the decision, which is in rewards between 0 and 1.
    """

    asked: Asked
    chosen: Setting
    question: Question
    decision: Decision
    rows: tuple[Cost, ...]
    blind: float
    first: float

    @property
    def content(self) -> Hashable:
        """What tells two answers apart."""
        return self.asked, self.chosen, self.result.content

    @property
    def result(self) -> Result:
        """One line per trust model."""
        return self.decision.result

    @property
    def experiment(self) -> Experiment:
        """The experiment of these lines."""
        return self.result.experiment

    @property
    def amounts(self) -> str:
        """The unit, safe inside markdown."""
        return words.plain(self.chosen.unit)

    def method(self, row: Cost) -> str:
        """The method that a row speaks of, and those that were tied with it."""
        tied = (each.title for each in self.decision.alternatives(row.privacy))
        return " or ".join((self.decision.chosen(row.privacy).title, *tied))


def amount(value: float, error: float) -> str:
    """A loss with its error; without it where it is below half a percent."""
    return words.number(value) if error < 0.005 * abs(value) else words.with_error(value, error)


def reply(asked: Asked, chosen: Setting, question: Question, decision: Decision) -> Reply:
    """The answer as numbers."""
    gaps = question.horizon * asked.scale * question.gaps
    rows = tuple(costs(decision.result, asked.scale, decision.levels))
    return Reply(asked, chosen, question, decision, rows, float(gaps.mean()), float(gaps[:, 0].mean()))


def verdict(answer: Reply) -> str:
    """The answer in sentences that claim no more than the errors allow."""
    base, *private = answer.rows
    users, unit = f"{words.count(answer.chosen.users)} users", answer.amounts
    if answer.blind == 0:
        return "All options are equally good, so there is nothing to find out and nothing to lose."
    lost, method = number(base.lost.value, 2), words.plain(answer.method(base))
    sentences = [text("plain", lost=lost, unit=unit, users=users, method=method), *_warnings(base, answer)]
    if answer.asked.misled:
        sentences.append(text("limits misled", misled=answer.asked.misled))
    for row in private:
        sentences += [_price(row, answer), *_warnings(row, answer)]
        if row.privacy != "local" and answer.experiment.lines[row.line].entry.privacy == "local":
            sentences.append(text("no curator"))
    return " ".join(sentences)


def _price(row: Cost, answer: Reply) -> str:
    """What one trust model costs beyond no privacy."""
    who, method, unit = f"If you {row.label}", words.plain(answer.method(row)), answer.amounts
    if row.price_of_privacy == "open":
        told = {"who": who, "trials": row.trials, "budget": answer.chosen.budget, "extra": amount(*row.extra[:2])}
        return text("price unknown", **told, unit=unit, method=method)
    if row.price_of_privacy == "less":
        less = number(-row.extra.value, 2)
        return text("price less", who=who, method=method, budget=answer.chosen.budget, less=less, unit=unit)
    times = f": {number(row.price.value, 2)} times as much" if math.isfinite(row.price.value) else ""
    more = f"about **{number(row.extra.value, 2)} {unit} more**{times}"
    return f"{who}, privacy at {answer.chosen.budget} costs {more} ({method})."


def _warnings(row: Cost, answer: Reply) -> list[str]:
    """What a decision must not overlook: nothing is learned, or trying costs more than it brings."""
    message = [f"Its loss is {known}."] if (known := known_words(row.lost).strip(" ()")) else []
    learned = "open" if answer.decision.more else row.learned(answer.blind)  # a few runs conclude nothing
    if learned == "nothing":
        message.append("Within its error that is no better than choosing at random: nothing useful is learned.")
    elif learned == "little":
        message.append("That is hardly better than choosing at random: next to nothing is learned.")
    low = row.lost.low if math.isfinite(row.lost.low) else row.lost.value
    if 0 < answer.first < low:
        lost = words.number(answer.first)
        message.append(text("keep", name=words.plain(answer.asked.names[0]), lost=lost, unit=answer.amounts))
    return message


def rivals(answer: Reply, privacy: Privacy) -> str:
    """Which methods of a trust model cannot be told apart from the chosen one; empty without any."""
    named = answer.decision.alternatives(privacy)
    equal = [each.title for each in answer.decision.equals(privacy) if each not in named]
    return ", ".join(equal[:3]) + (f" and {len(equal) - 3} more" if len(equal) > 3 else "")


def describe(answer: Reply) -> str:
    """The chart as text, for screen readers."""
    parts = [f"{answer.chosen.unit} lost against the number of users, up to {words.count(answer.chosen.users)}."]
    for row in answer.rows:
        title = answer.decision.chosen(row.privacy).title
        parts.append(f"{row.label} ({title}): {amount(*row.lost[:2])} at the end.")
    parts.append(f"Choosing at random: {words.number(answer.blind)}.")
    if answer.first > 0:
        parts.append(f"Keeping {answer.asked.names[0]} for everyone: {words.number(answer.first)}.")
    return " ".join(parts)


def chart(answer: Reply, dark: bool) -> go.Figure:
    """Loss so far against users, with what choosing blindly and keeping the first option would lose."""
    result, scale, curves = answer.result, answer.asked.scale, []
    colours = theme.line_colours(answer.experiment, dark)
    for row in answer.rows:
        line = result.lines[row.line]
        assert line is not None
        method = charts.escape(answer.decision.chosen(row.privacy).title)
        name = f"{theme.TRUST_SIGNS[row.privacy]} {row.label}: {method}"
        low, high = (scale * line.quantile(share) for share in (0.05, 0.95))
        look: dict[str, Any] = {"level": row.privacy, "low": low, "high": high, "group": row.label}
        curves.append(charts.Curve(result.times, scale * line.mean, name, colours[row.line], **look))
    top, ends = max(0.0, *(float(curve.high[-1]) for curve in curves)), [0, answer.question.horizon]
    curves.append(charts.Curve(ends, [0, answer.blind], "choose at random", dash="dot", width=1.3))
    if answer.first > 0:
        name = f"keep {charts.escape(answer.asked.names[0])} for everyone"
        curves.append(charts.Curve(ends, [0, answer.first], name, dash="dash", width=1.3))
    people = "users so far" if answer.chosen.visits == 1 else "visits so far"
    lost = {"title": charts.escape(f"{answer.chosen.unit} lost so far"), "range": [0, 1.1 * max(top, 1e-12)]}
    users = {"title": people, "range": ends, **charts.USERS}
    return charts.draw(curves, users, {**lost, **charts.AMOUNTS}, 440, dark)


def best_rows(answer: Reply) -> list[dict[str, str]]:
    """The best method of each trust model and what it loses, a row of text for each."""
    return [
        {
            "who is trusted": row.label,
            "best method": answer.method(row),
            f"{answer.chosen.unit} lost": amount(*row.lost[:2]) + known_words(row.lost),
            "1 run in 20 loses more than": words.number(row.worst),
            "more than without privacy": amount(*row.extra[:2]) if math.isfinite(row.extra.value) else "–",
            "times": amount(*row.price[:2]) if math.isfinite(row.price.value) else "–",
            "as good within the errors": rivals(answer, row.privacy) or "–",
        }
        for row in answer.rows
    ]


# ---------------------------------------------------------------------------------------------------------------
# The inverse question


def goals(unit: str) -> dict[Kind, str]:
    """What a limit may be set on, after the number."""
    return {kind: text(f"goal {kind}", unit=unit) for kind in GOALS}


def found_words(found: Found, answer: Reply, users: bool = False) -> str:
    """The searched answer of one trust model, safe inside markdown."""
    least, unit = found.answer, answer.amounts
    if least.best is None:
        last = max(least.points)
        reached = f"with {words.count(int(last))} users" if users else f"at ε = {last:.3g}"
        return f"not reached by any method tried, even {reached}"
    scale = answer.asked.scale
    if found.at_random:
        return text("no learning", lost=words.number(scale * found.blind), unit=unit)
    low, high = (_at(at, users) if at is not None else more for at, more in ((least.low, "less"), (least.high, "more")))
    lost = amount(*(found.lost * scale)[:2])
    value = f"**{_at(least.best, True)} users**" if users else f"ε = **{_at(least.best, False)}**"
    return f"{value} ({low} to {high}) with {words.plain(found.method)}, which loses {lost} {unit}"


def _at(value: float, users: bool) -> str:
    return words.count(int(value)) if users else f"{value:.3g}"
