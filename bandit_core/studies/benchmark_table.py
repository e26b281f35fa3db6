"""The standing benchmark as a document: its rules, and every score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bandit_core.simulation.tables import markdown
from bandit_core.spec.number_text import count, number, percent
from bandit_core.studies.benchmark import BUDGETS, LEAST, MOST, PRECISION, TASKS, USERS, VERSION
from bandit_core.studies.benchmark_scores import CONFIDENCE, LEARNED, RESAMPLES, capped, contests, scores

if TYPE_CHECKING:
    import pandas as pd

_HEADS = ("", "policy", "its own guarantee", "score", "95% interval", "clearly best in", "price")
_RULES = """\
# The standing benchmark

Made by `python -m bandit_core benchmark --table`; do not edit by hand.

Every policy plays the same tasks, at the same budgets, for the same numbers of users, and is compared with those that
guarantee at least as much privacy. `bandit-lab benchmark --policy FILE` scores a policy of your own.

## The rules, version {version}

{tasks}

- Numbers of users: {users}. Each is a run of its own, so a policy may be made for it.
- Budgets: {budgets}, the same for all users. Where a guarantee has a delta, it is 1e-6.
- Parameters have their defaults; nothing was tuned. Two exceptions: LDP-SGD projects onto |theta| <= 1, and a warm-up
  takes at most a tenth of the users. What a policy would read off the arms is replaced by what holds for any rewards in
  [0, 1].
- Each case of each policy has random numbers of its own, from a seed derived from its name.
- Each case has at least {least} runs, more where they cost little, and more until the standard error of its mean is at
  most {precision} of the mean, up to {most} runs. {capped}
- Users with features have no task with coins. Only LDP-SGD and LDP-GLOC accept them, and no policy without privacy
  does. There would be no price, and every other policy would lose its rank, which needs all cases of a contest.
- Any change to these rules needs a new version.

## How to read a score

A score of 2 means: on average over all cases this policy loses twice as much as the best policy with at least this
guarantee. The average is the geometric mean. 1 means that nothing known here is better. The best policy of a case is
chosen on one half of the runs and both are compared on the other half, so that luck is not counted twice; a policy as
good as the best may get a little less than 1. A policy without a rival has no score.

- **The first policy is not always the best.** `=` marks policies that the runs cannot tell apart from it (level 5%,
  split among all pairs).
- **Clearly best in**: of the cases where something can be learned, those in which it loses less than every rival, by a
  test at level 5% split among the rivals. In the other cases the best policy is uncertain, or several are equally good.
- **95% interval**: what other runs of the same tasks would give ({resamples} draws of a parametric bootstrap, each of
  which chooses the best policies anew). It says nothing about other tasks.
- Something can be learned where the best policy clearly loses less than {learned} of what a blind choice loses. In the
  other cases all policies lose about alike, and that pulls the score towards 1.
- **Price**: regret divided by that of the best policy without privacy (geometric mean).

`python -m bandit_core benchmark` prints all columns: also the score where something can be learned, the ratio to the
largest lower bound, the tail and the spread of the losses.
"""


def document(rows: pd.DataFrame) -> str:
    """All of it as Markdown."""
    head = _RULES.format(
        version=VERSION,
        tasks="\n".join(f"- `{task.name}`: {task.words}." for task in TASKS),
        users=", ".join(map(count, USERS)),
        budgets=", ".join(f"epsilon = {budget:g}" for budget in BUDGETS),
        least=LEAST,
        most=count(MOST),
        precision=percent(PRECISION),
        capped=capped_words(rows),
        resamples=count(RESAMPLES),
        learned=percent(LEARNED),
    )
    assert CONFIDENCE == 0.95  # as the words above say
    known = {contest.key: contest for contest in contests(rows)}
    parts = [head]
    for key, contest in known.items():
        found = scores(rows, contest)
        message = [_row(row, known[row["promises"]].words) for row in found.to_dict("records")]
        parts.append(f"## {contest.words} (`{key}`)\n\n{markdown(_HEADS, message, None)}")
    return "\n".join(parts)


def capped_words(rows: pd.DataFrame) -> str:
    """How many cases stopped at the most runs before their means were known well enough, and of which policies."""
    short = rows[capped(rows)]
    if not len(short):
        return "Every case got there."
    names = short.groupby("policy", sort=False).size()
    listed = ", ".join(f"`{name}` ({number})" for name, number in names.items())
    return f"{count(len(short))} of {count(len(rows))} cases did not get there: {listed}."


def _row(row: dict[str, object], own: str) -> list[str]:
    place = (
        "–"
        if row["rank"] is None or row["rank"] != row["rank"]
        else f"{row['rank']}{' =' if row['alike'] and row['rank'] != 1 else ''}"
    )
    score, low, high, price = (_number(row[name]) for name in ("factor", "low", "high", "price"))
    scored = score != "–"
    interval = f"{low} to {high}" if scored else "–"
    clear = f"{row['clear_in']} of {row['learned_cells']}" if scored else "–"
    return [place, str(row["title"]), own, score, interval, clear, price]


def _number(value: object) -> str:
    assert isinstance(value, float)
    return "–" if math.isnan(value) else number(value)
