"""The standing benchmark as a document: its rules, and every score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bandit_core.simulation.tables import markdown
from bandit_core.spec.number_text import count, number, percent
from bandit_core.studies.benchmark import BUDGETS, SEED, TASKS, TRIALS, USERS, VERSION
from bandit_core.studies.benchmark_scores import CONFIDENCE, RESAMPLES, contests, scores

if TYPE_CHECKING:
    import pandas as pd

_HEADS = ("", "policy", "its own promise", "score", "95 % interval", "best in", "price", "times the bound")
_RULES = """\
# The standing benchmark

Made by `python -m bandit_core benchmark --table`; do not edit by hand.

Every policy plays the same tasks, at the same budgets, for the same numbers of users, and is compared with those that
promise at least as much. A policy of one's own is scored by the same command, `bandit-lab benchmark --policy FILE`, and
so is one that another installed package offers, `bandit-lab benchmark NAME`.

## The rules, version {version}

{tasks}

- Numbers of users: {users}. Each is a run of its own, so a policy may be made for it.
- Budgets: {budgets}, the same for all users. Where a promise has a delta, it is 1e-6.
- Parameters are what they are by default; nothing was tuned. What a policy would read off the arms is replaced by what
  holds for any rewards in [0, 1].
- {trials} trials, seed {seed}. Trial by trial all policies meet the same stream of random numbers.
- Who changes any of this gives the benchmark a new version.

## How a score is made

In each case (a task, a budget, a number of users) the mean regret is divided by the least mean regret of any policy
that keeps at least this promise there. The score is the geometric mean over all cases: 1 means that nothing known here
is better anywhere, 2 that twice as much is lost on average. The interval holds {confidence} of {resamples} draws of the
trials with replacement, the same for all policies; it says nothing about other tasks. `=` marks who cannot be told
apart from the first one (level 5 %, split among all that are compared with it). The price is the geometric mean of the
regret over that of the best policy without privacy; the last column that over the largest lower bound that holds at
this number of users for every policy with its promise. These bounds are known to be far too small.

The tasks decide who wins. Where nobody can learn anything (few users, a small budget, a narrow gap) all lose alike, and
such cases pull every score towards 1.
"""


def document(rows: pd.DataFrame) -> str:
    """All of it as Markdown."""
    head = _RULES.format(
        version=VERSION,
        tasks="\n".join(f"- `{task.name}`: {task.words}." for task in TASKS),
        users=", ".join(map(count, USERS)),
        budgets=", ".join(f"epsilon = {budget:g}" for budget in BUDGETS),
        trials=TRIALS,
        seed=SEED,
        confidence=percent(CONFIDENCE),
        resamples=count(RESAMPLES),
    )
    known = {contest.key: contest for contest in contests(rows)}
    parts = [head]
    for key, contest in known.items():
        found = scores(rows, contest)
        told = [_row(row, known[row["promises"]].words) for row in found.to_dict("records")]
        parts.append(f"## {contest.words} (`{key}`)\n\n{markdown(_HEADS, told, None)}")
    return "\n".join(parts)


def _row(row: dict[str, object], own: str) -> list[str]:
    place = "–" if row["rank"] != row["rank"] else f"{row['rank']}{' =' if row['alike'] and row['rank'] != 1 else ''}"
    numbers = {name: _number(row[name]) for name in ("factor", "low", "high", "price", "over_floor")}
    return [
        place, str(row["title"]), own, numbers["factor"], f"{numbers['low']} to {numbers['high']}",
        f"{row['first_in']} of {row['cells']}", numbers["price"], numbers["over_floor"],
    ]  # fmt: skip


def _number(value: object) -> str:
    assert isinstance(value, float)
    return "–" if math.isnan(value) else number(value)
