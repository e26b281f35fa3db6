"""What a result says in a sentence or two, with ``**`` around what weighs.

Names that someone wrote (labels of lines) go through ``escape``: what is safe depends on where the words will stand.
"""

import math
from collections.abc import Callable

import numpy as np

from bandit_core.experiments.catalogue import Corridor, method_words, says_from
from bandit_core.experiments.experiment import Band, Experiment, View
from bandit_core.policies import registry
from bandit_core.simulation.results import PRICE_BAND, Reference, Result, Summary, local_wins, summaries
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.budgets.built_in import Discrete
from bandit_core.spec.number_text import count, number, with_error

Escape = Callable[[str], str]
MAX_GROUPS = 5  # of users, that a sentence names one by one
NOT_ALIKE = "the two explore differently, and with more users or on other arms their order may change"
COULD_TRUST_NOBODY = (
    "Here the policy that trusts no one loses less than the curator's; a curator could use it, too, because it also "
    "keeps the curator's promise"
)
BAND_WORDS: dict[Band, str] = {
    "middle-90": "middle 90% of",
    "range": "lowest to highest of",
    "interval-95": "95% interval of the mean over",
    "half-sd": "mean ± half a standard deviation over",
    "quarter-sd": "mean ± a quarter of a standard deviation over",
}


def sentence(text: str) -> str:
    """The same words with a capital at their beginning."""
    return text[:1].upper() + text[1:]


def band(trials: int, view: View, least: int = 0) -> str:
    """What the shaded band is; ``least`` where some curves have fewer runs."""
    priced = PRICE_BAND if view.quantity == "price" else ""
    runs = f"{least:,} to {trials:,}" if 0 < least < trials else f"{trials:,}"
    return f"shaded: {BAND_WORDS[view.band]} {runs} runs{priced}" if trials > 1 else "a single run, so no band"


def called(label: str, escape: Escape = str) -> str:
    """A line's label as a name within a sentence: in quotation marks, as it may say anything; titles need none."""
    titles = {policy.title for policy in registry().values()}
    return escape(label) if label in titles else f"“{escape(label)}”"


def surest(epsilon: float) -> float:
    """How sure, in percent, an observer can become who was 50% sure of a response."""
    return 100 / (1 + math.exp(-min(epsilon, 700.0)))


def odds(epsilon: float) -> str:
    """What one response at this budget can teach an observer."""
    sure = surest(epsilon)
    shown = f"{sure:.0f}" if 51 < sure < 99 else f"{sure:.4g}"
    shown = "almost 100%" if sure > 99.99 else f"about {shown}%"
    return f"An observer who was 50% sure of someone's answer can become {shown} sure at most."


def budget(distribution: BudgetDistribution | None) -> str:
    """A budget in a few words."""
    if distribution is None:
        return "no privacy"
    if distribution.fixed is not None:
        return f"ε = {distribution.fixed:g}"
    if isinstance(distribution, Discrete):
        values, shares = distribution.atoms
        if len(values) <= MAX_GROUPS:
            groups = [f"{value:g} for {share:.3g}%" for value, share in zip(values, 100 * shares, strict=True)]
            return (
                f"ε of {', '.join(groups[:-1])} and {groups[-1]} of the users" if groups[1:] else f"ε = {values[0]:g}"
            )
    return f"budgets ε that differ from user to user ({distribution.words})"


def reference(against: Reference, escape: Escape = str) -> str:
    """What a price is relative to."""
    how = ["run for comparison, not shown"] if against.is_companion else []
    if against.among != 1:
        rank = f"the best of {against.among} methods without privacy"
        how.insert(0, rank if against.among else "the same method without privacy")
    return called(against.label, escape) + (f" ({'; '.join(how)})" if how else "")


def below_one(row: Summary, result: Result, escape: Escape = str) -> str:
    """How a private line can surely lose less than what it is compared with; empty where it does not."""
    if row.against is None or not row.differs or row.price > 1:
        return ""
    name, other, line = called(row.label, escape), called(row.against.label, escape), result.lines[row.line]
    assert line is not None
    if row.against.among:
        return f"A price below 1 does not mean that privacy helps: without privacy {name} could be used as well"
    missed = [1 - float(each.best_pulls[:, -1].mean()) / result.times[-1] for each in (line, row.against.played)]
    shares = [f"{number(100 * share)}%" for share in missed]
    if missed[0] < missed[1]:
        how = f"{name} explores less at this horizon (it gave {shares[0]} of the users another arm than the best one, "
        how += f"{other} {shares[1]}); with more users or on other arms that may change"
    else:
        how = NOT_ALIKE
    return f"A price below 1 does not mean that privacy helps: {how}"


def below_its_floor(name: str, mean: float, floor: float, where: str = "") -> str:
    """What it means that a line loses clearly less than every policy with its guarantee must."""
    return (
        f"**{name}** loses {number(mean)} rewards{where}, clearly fewer than the {number(floor)} that every policy "
        "with its guarantee must lose: its code does not keep what it claims, or it knows these arms"
    )


def refuted(result: Result, escape: Escape = str) -> list[str]:
    """A sentence for each line that loses clearly less than its guarantee allows."""
    return [
        below_its_floor(called(result.experiment.label(at), escape), float(line.mean[-1]), result.refuted[at])
        for at, line in enumerate(result.lines)
        if line is not None and at in result.refuted
    ]


def distances(experiment: Experiment, found: Corridor, regret: float, escape: Escape = str) -> str:
    """How far a line's ``regret`` at the last checkpoint of its corridor stands from what its proofs allow."""
    if not regret > 0:
        return ""
    name, users = called(experiment.label(found.line), escape), count(experiment.horizon)
    parts = [f"After {users} users **{name}** has lost about {number(regret, 2)}."]
    since = None if found.proof is None else says_from(experiment, found.line)
    if found.proof is None:
        parts.append("No upper bound is proved for it here.")
    elif np.isfinite(found.edge[-1]):
        parts.append(f"Its proof allows {_times(found.upper[-1], regret)} as much.")
    else:
        parts.append("Its proof allows more than choosing at random loses.")
    if since is not None:
        parts.append(f"From about {number(since, 2)} users on, the proof allows less than choosing at random.")
    if found.slope is not None and found.rate[-1] > 0:
        times = _times(regret, found.rate[-1])
        parts.append(f"The regret is {times} the long-run rate that no {method_words(found.slope)} beats.")
    elif found.lower[-1] > 0:
        times, low = _times(regret, found.lower[-1]), number(found.lower[-1], 2)
        parts.append(f"No {method_words(found.floor)} can lose less than {low}; the regret is {times} that.")
    return " ".join(parts)


def _times(more: float, less: float) -> str:
    return f"**{number(more / less, 2)} times**"


def _cost(row: Summary, escape: Escape) -> str:
    assert row.against is not None
    name, other = called(row.label, escape), reference(row.against, escape)
    times = f"{number(row.price, 2)} times"
    if row.trials > 1 and not row.differs:
        return f"**{name}** is statistically tied with {other} ({times} its regret, in {count(row.trials)} trials)"
    return f"**{name}** has about **{times}** the regret of {other}"


def verdict(result: Result, escape: Escape = str) -> str:
    """One or two sentences that say what the picture shows and claim no more than the errors allow."""
    experiment = result.experiment
    rows = summaries(result)
    if not rows:
        return "Nothing computed yet."
    private = [row for row in rows if math.isfinite(row.price)]
    users = f"{count(experiment.horizon)} users"
    if not private:
        ends = [pick(rows, key=lambda row: row.regret) for pick in (min, max)]
        lost = [
            f"**{called(row.label, escape)}** loses {with_error(row.regret, row.stderr)}" for row in ends[: len(rows)]
        ]
        first = f"{lost[0]} rewards in {users}{', '.join(['', *lost[1:]])}"
        return f"{'. '.join([first, *refuted(result, escape)])}."
    cheapest, costliest = (pick(private, key=lambda row: row.price) for pick in (min, max))
    named = [cheapest] if cheapest is costliest else [cheapest, costliest]
    costs = [_cost(row, escape) for row in named]
    extra = cheapest.extra
    distribution = experiment.lines[cheapest.line].epsilon
    same = all(experiment.lines[row.line].epsilon == distribution for row in private)
    head = f"at {budget(distribution)}, " if same else ""
    if cheapest.trials == 1:
        head = f"in a single run of {users}, which proves little, {head}"
    if cheapest.differs:
        costs[0] += f", {number(abs(extra), 2)} {'more' if extra > 0 else 'fewer'} lost rewards in {users}"
    elif cheapest.trials > 1:
        costs[0] += f", over {users}"
    sentences = ["; ".join(costs)]
    sentences += [why for row in named if (why := below_one(row, result, escape))]
    sentences += [COULD_TRUST_NOBODY] if local_wins(result) else []
    sentences += refuted(result, escape)
    message = f"{head}{'. '.join(sentences)}."
    return f"{message[0].upper()}{message[1:]}"
