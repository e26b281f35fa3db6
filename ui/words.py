"""Plain-language sentences: numbers with their error, epsilon as odds, the verdict above a chart."""

from __future__ import annotations

import math
import re
from functools import cache, partial
from html import escape
from typing import TYPE_CHECKING

from bandit_core import Experiment
from bandit_core.experiments import trust_table
from bandit_core.experiments.catalogue import corridor
from bandit_core.experiments.experiment import Against
from bandit_core.experiments.presets import presets
from bandit_core.model import MEASURES, Privacy
from bandit_core.simulation import sentences
from bandit_core.simulation.costs import steps
from bandit_core.simulation.results import Difference, Drawable, Result, Summary
from bandit_core.spec.errors import Issue, message
from bandit_core.spec.number_text import count, number, with_error, write_number
from bandit_core.studies import production

if TYPE_CHECKING:
    import pandas as pd

    from bandit_core.studies.sweep import SweepResult

HOME_LABELS = ("no privacy", "trust a curator", "trust no one")
FORMER_LABELS = tuple(  # of pictures that were shared before
    f"{who} is trusted{rest}"
    for who in ("nobody", "a shuffler", "a secure sum", "a curator")
    for rest in ("", ", {epsilon}", ", {epsilon} for a person", ", {epsilon}, δ = {delta:value}")
)
AGAINST_WORDS: dict[Against, str] = {
    "own": "the same method without privacy",
    "best": "the best method without privacy",
}
PRICE = (
    "The price of privacy is the ratio of a policy's regret to that of the best method without privacy that is shown. "
    "Where none is shown, a few are run for comparison, with the same random numbers. (The sidebar, under View, also "
    "offers the same method without privacy.)"
)

PUBLIC = production.PUBLIC
NEAR_ZERO = 0.1  # of the highest curve: on linear axes a bound below that may be too low to be drawn


def lines_of_start(experiment: Experiment) -> dict[int, Privacy]:
    """The lines that have the labels of Start's picture, and their levels; empty where it has not two of them."""
    levels = dict(zip(HOME_LABELS, trust_table.LEVELS, strict=True))
    named = {number: levels[line.label] for number, line in enumerate(experiment.lines) if line.label in levels}
    return named if len(named) > 1 else {}


def unbroken(text: str) -> str:
    """The text with ε and its value on one line."""
    return text.replace("ε = ", "ε\u00a0=\u00a0")


def as_html(text: str) -> str:
    """Plain words with **bold** and `code` parts as HTML."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(unbroken(text), quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", bold)


# Addresses and short codes (:smile:, :material/home:) are looked for in finished text, where a backslash is gone by
# then. An invisible word joiner in the middle of them is not: after a colon, after www, before an at sign.
_JOINER = "\u2060"
_ACTIVE = re.compile(r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)


def plain(text: str) -> str:
    """Text that a visitor wrote, safe inside markdown: shown as it is on one line, never as markup or as a link."""
    text = _ACTIVE.sub(_JOINER, re.sub(r"\s+", " ", text))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])", r"\\\1", text)


def table(rows: pd.DataFrame) -> str:
    """A small table as markdown, whatever its cells say. A browser needs no code for it, unlike for one to sort."""
    shown = [[plain(f"{cell:g}" if isinstance(cell, float) else str(cell)) for cell in row] for row in rows.values]
    return "\n".join(f"| {' | '.join(row)} |" for row in (map(plain, rows), ["---"] * rows.shape[1], *shown))


def issue(problem: Issue) -> str:
    """What is wrong with an input, safe inside markdown."""
    return plain(str(problem))


def issues(found: list[Issue], most: int = 8) -> str:
    """The first problems as a markdown list, and how many more there are."""
    return "\n".join(f"- {plain(line)}" for line in message(found, most))


odds, budget, band, sentence = sentences.odds, sentences.budget, sentences.band, sentences.sentence
BAND_WORDS = sentences.BAND_WORDS
NOT_ALIKE, COULD_TRUST_NOBODY = sentences.NOT_ALIKE, sentences.COULD_TRUST_NOBODY
# The same sentences, safe inside markdown whatever the labels in them say.
called, reference = partial(sentences.called, escape=plain), partial(sentences.reference, escape=plain)
below_one, verdict = partial(sentences.below_one, escape=plain), partial(sentences.verdict, escape=plain)


def price(row: Summary) -> str:
    """The price of privacy of a line, what it is relative to, and no more than its error allows."""
    assert row.against is not None
    ratio = f"{with_error(row.price, row.price_stderr)} × the regret of {sentences.reference(row.against)}"
    return f"no clear one ({ratio})" if row.trials > 1 and not row.differs else ratio


def heading(experiment: Experiment) -> tuple[str, str]:
    """Title and note; an edited experiment has lost those that it had."""
    return experiment.title or "What does privacy cost here?", experiment.note


@cache
def _shipped_words() -> frozenset[str]:
    """Titles, notes and labels of the presets and of Home, which are this lab's own."""
    shipped = [preset.experiment for preset in presets()]
    labels = {line.label for experiment in shipped for line in experiment.lines}
    titles = {text for each in shipped for text in (each.title, each.note)}
    return frozenset({"", *HOME_LABELS, *FORMER_LABELS, *filter(None, labels), *titles})


def of_the_link(experiment: Experiment) -> str:
    """What of the words on screen whoever made the link wrote, as a sentence; empty where all words are the lab's."""
    title, note = heading(experiment)
    written = [
        name
        for name, text in (("the title", experiment.title), ("the note", experiment.note))
        if text in (title, note) and text not in _shipped_words()
    ]
    foreign = [line.label for line in experiment.lines if line.label and line.label not in _shipped_words()]
    if foreign:
        written.append("a label" if len(foreign) == 1 else f"{len(foreign)} labels")
    return f"Written by the author of this link, not by this lab: {', '.join(written)}." if written else ""


def arms_summary(experiment: Experiment) -> str:
    """``20 arms, best 0.9, smallest gap 0.1``, or ``10 arms with one parameter, 2 features``."""
    if experiment.contexts is not None:
        users = experiment.contexts
        each = "a parameter each" if users.structure == "multi" else "one parameter"
        features = "1 feature" if users.dimension == 1 else f"{users.dimension} features"
        return f"{users.arms} arms with {each}, {features}"
    means = experiment.means
    gaps = means.max() - means
    positive = gaps[gaps > 0]
    gap = f", smallest gap {number(float(positive.min()))}" if len(positive) else ", all equal"
    plural = "arm" if len(means) == 1 else "arms"
    return f"{len(means)} {plural}, best {number(float(means.max()))}{gap}"


def budgets(experiment: Experiment) -> str:
    """The budgets of the private lines in a few words: ``ε = 2``, ``ε from 0.5 to 2``; empty without any."""
    distributions = {line.epsilon for line in experiment.lines if line.epsilon is not None}
    fixed = sorted(each.fixed for each in distributions if each.fixed is not None)
    if len(fixed) < len(distributions):
        return "budgets that differ from user to user"
    if not fixed:
        return ""
    return f"ε = {fixed[0]:g}" if len(fixed) == 1 else f"ε from {fixed[0]:g} to {fixed[-1]:g}"


def coming(batch: int, delay: int, visits: int, visits_delta: float = 0.0) -> str:
    """Arrivals and feedback: ``update after every 500 users, feedback 20 users late, 3 visits each``."""
    message = [
        f"update after every {count(batch)} users" if batch > 1 else "",
        f"feedback {count(delay)} {'user' if delay == 1 else 'users'} late" if delay else "",
        f"{count(visits)} visits each" if visits > 1 else "",
        f"composed at δ = {write_number(visits_delta)}" if visits > 1 and visits_delta > 0 else "",
    ]
    return ", ".join(filter(None, message)) or "one at a time, one visit each"


def cut(experiment: Experiment) -> str:
    """How rewards are cut: ``private policies see rewards cut to between 0 and 3``; empty without a cut."""
    if experiment.clip is None:
        return ""
    low, high = (number(limit, 6) for limit in experiment.clip)
    return f"private policies see rewards cut to between {low} and {high}"


def summary(experiment: Experiment) -> str:
    """The whole experiment in one line: ``20 arms, best 0.9, smallest gap 0.1; ε = 2; 10,000 users, 50 trials``."""
    sizes = f"{count(experiment.horizon)} users, {count(experiment.trials)} " + (
        "trial" if experiment.trials == 1 else "trials"
    )
    feedback, usual = experiment.feedback, experiment.feedback.immediate and experiment.visits == 1
    people = "" if usual else coming(feedback.batch, feedback.delay, experiment.visits, experiment.visits_delta)
    return "; ".join(filter(None, (arms_summary(experiment), cut(experiment), budgets(experiment), people, sizes)))


def duration(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 1:
        return "under a second"
    units = ((90, 1, "s"), (5400, 60, "min"), (48 * 3600, 3600, "h"), (math.inf, 86400, "days"))
    unit, name = next((unit, name) for limit, unit, name in units if seconds < limit)
    return f"about {seconds / unit:.0f} {name}"


def measures(experiment: Experiment) -> str:
    """Which lines' budgets are not pure, so that an ε in one picture is not read as another; empty where all are."""
    found = [
        f"“{plain(experiment.label(number))}” keeps {MEASURES[guarantee.measure].name}, at {plain(guarantee.failure)}"
        for number in experiment.drawn
        if (guarantee := experiment.lines[number].entry.guarantee(experiment.setups[number])).measure != "pure"
    ]
    return (
        f"Not every ε here is pure: {'; '.join(found)}. That is a weaker guarantee than the same ε without a δ."
        if found
        else ""
    )


def luck(difference: Difference) -> str:
    """Whether the difference of two lines is clear."""
    if math.isnan(difference.p_corrected):
        return "unknown"
    return "clear" if difference.clear else "could be luck"


def interval(low: float, high: float) -> str:
    """``−1.5 to 20``, or a dash where there is none; with a sign of minus that begins no formula of a spreadsheet."""
    return f"{number(low)} to {number(high)}".replace("-", "−") if math.isfinite(low) else "–"


def chance(p_value: float) -> str:
    """A p-value: ``0.031``, ``< 0.0001``."""
    return "< 0.0001" if p_value < 1e-4 else number(p_value, 2)


def legend(result: Result) -> str:
    """What the shading means."""
    trials = max((line.count for line in result.lines if line), default=0)
    return f"{sentence(band(trials, result.experiment.view))}."


def distances(result: Drawable, line: int | None) -> str:
    """How far a line stands from what is proved of it; empty without one."""
    played, experiment = None if line is None else result.lines[line], result.experiment
    if line is None or played is None:
        return ""
    found = corridor(experiment, line, result.times, played.mean)
    message = sentences.distances(experiment, found, float(played.mean[-1]), plain)
    highest = max(float(each.mean[-1]) for each in result.lines if each is not None)
    low = float(found.lower[-1] if math.isnan(found.rate[-1]) else found.rate[-1])
    unseen = experiment.view.y == "linear" and 0 < low < NEAR_ZERO * highest
    return f"{message} Log axes show bounds near zero." if message and unseen else message


def cost(done: Result, time: str) -> str:
    """What an expensive picture (still) needs."""
    experiment = done.experiment
    pulls = count(steps(experiment))
    trials = min(0 if line is None else line.count for line in done.lines)
    if not trials:
        return f"This picture takes **{pulls} pulls, {time}** on this machine. You can cancel; finished runs are kept."
    return (
        f"Based on {count(trials)} of {count(experiment.trials)} trials. "
        f"The rest of the {pulls} pulls takes **{time}** on this machine."
    )


def preview(result: Result | SweepResult, experiment: Experiment) -> str:
    """What a preview leaves out."""
    shown = result.experiment
    short = shown.horizon < experiment.horizon
    users = f"the first {count(shown.horizon)} of {count(experiment.horizon)} users, " if short else ""
    return f"A preview: {users}{count(shown.trials)} of {count(experiment.trials)} trials."
