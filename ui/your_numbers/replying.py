"""What Your numbers answers, as numbers and in words: what each trust model loses, in the visitor's own unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bandit_core import Experiment, tradeoff
from bandit_core.own_question import Cost, costs
from bandit_core.results import Result
from ui import words
from ui.your_numbers.asking import Asked, Setting


@dataclass(frozen=True)
class Reply:
    """Costs of every trust model, and what two policies without learning would lose, all in the visitor's unit."""

    asked: Asked
    chosen: Setting
    experiment: Experiment
    rows: tuple[Cost, ...]
    blind: float
    first: float

    @property
    def amounts(self) -> str:
        """The unit, safe inside markdown."""
        return words.plain(self.chosen.unit)


def reply(asked: Asked, chosen: Setting, result: Result) -> Reply:
    """The answer as numbers."""
    experiment = result.experiment
    stay = chosen.users * float(experiment.means.max() - experiment.means[0])
    rows = tuple(costs(result, asked.scale))
    blind = tradeoff.blind_regret(experiment) * asked.scale
    return Reply(asked, chosen, experiment, rows, blind, stay * asked.scale)


def verdict(answer: Reply) -> str:
    """The answer in sentences that claim no more than the errors allow."""
    base, *private = answer.rows
    users, unit = f"{words.count(answer.chosen.users)} users", answer.amounts
    if answer.blind == 0:
        return "All options bring the same, so there is nothing to find out and nothing to lose."
    if base.privacy != "none":
        return "Press Run for the answer."
    sentences = [
        f"Without privacy, finding the best option costs **{words.with_error(base.lost, base.lost_stderr)} {unit}** "
        f"among {users}."
    ]
    for row in private:
        who = f"If {row.label}" if row.privacy != "none" else row.label
        ratio = words.with_error(row.price, row.price_stderr)
        extra = words.with_error(row.extra, row.extra_stderr)
        if row.certain:
            sentences.append(
                f"{who}, privacy at {answer.chosen.budget} costs **{extra} {unit} more**: {ratio} times as much."
            )
        else:
            sentences.append(
                f"{who}, the cost of privacy at {answer.chosen.budget} cannot be told apart from nothing with "
                f"{row.trials} simulated runs ({extra} {unit})."
            )
        sentences += _warnings(row, answer)
    losses = {row.privacy: row for row in private}
    if "local" in losses and "central" in losses:
        local, central = losses["local"], losses["central"]
        if central.lost - local.lost > 2 * math.hypot(central.lost_stderr, local.lost_stderr):
            sentences.append(
                "Here the method that trusts nobody loses less, and it protects where a curator is trusted, too."
            )
    return " ".join(sentences)


def _warnings(row: Cost, answer: Reply) -> list[str]:
    """What a decision must not overlook: nothing is learned, or trying costs more than it brings."""
    told = []
    error = row.lost_stderr if math.isfinite(row.lost_stderr) else 0.0
    if row.lost >= tradeoff.NOISE_SHARE * answer.blind:
        told.append("That is hardly better than choosing at random: with so few users, next to nothing is learned.")
    if 0 < answer.first < row.lost - 2 * error:
        name = words.plain(answer.asked.names[0])
        told.append(
            f"Keeping **{name}** for everybody would lose less ({words.number(answer.first)} {answer.amounts})."
        )
    return told


def describe(answer: Reply) -> str:
    """The chart as text, for screen readers."""
    parts = [f"{answer.chosen.unit} lost against the number of users, up to {words.count(answer.chosen.users)}."]
    parts += [f"{row.label}: {words.with_error(row.lost, row.lost_stderr)} at the end." for row in answer.rows]
    parts.append(f"Choosing at random: {words.number(answer.blind)}.")
    if answer.first > 0:
        parts.append(f"Keeping {answer.asked.names[0]} for everybody: {words.number(answer.first)}.")
    return " ".join(parts)
