"""The one-page summary of Your numbers: one HTML file that needs nothing else.

It is made when someone asks for it, by a thread without a session: nothing here may ask the session for anything.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

from bandit_core import paths
from bandit_core.model import PROMISES
from bandit_core.spec import own_data
from bandit_core.studies.goal_search import Found
from bandit_core.studies.price import Price
from ui import printing, templates, words
from ui.your_numbers.answers import Reply, best_rows, chart, describe, found_words
from ui.your_numbers.planned import correction, looks_words, table
from ui.your_numbers.question import text

SIZE = printing.Size(17.0, 8.0, 9)  # of the picture


def plain_html(markdown: str) -> str:
    """The few marks of a verdict as HTML: bold, and escapes taken away."""
    text = escape(re.sub(r"\\(.)", r"\1", markdown.replace("**", "\0")))
    return re.sub(r"\0(.*?)\0", r"<b>\1</b>", text).replace("\0", "")


def shareable(link: str | None) -> bool:
    """Whether a link opens on other machines: not where it names this one, or a private network."""
    host = urlsplit(link or "").hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".localhost", ".internal", ".lan"))


def _origin(answer: Reply, made: datetime) -> str:
    """Where the numbers came from: methods, promises, seeds, trials, versions, date."""
    meta, rows = answer.result.metadata, []
    for row, guarantee in zip(answer.rows, meta["guarantees"], strict=True):
        chosen = guarantee["parameters"]  # a test's length says all of the numbers that it was planned with
        told = {name: chosen[name] for name in ({"users"} if "baseline" in chosen else chosen)}
        method = f"{answer.decision.chosen(row.privacy).title}, the best of {answer.decision.policies(row.privacy)}"
        method = "; ".join((method, *(f"{name} = {value}" for name, value in told.items())))
        shown = {"who is trusted": PROMISES[row.privacy].who, "method": method}
        rows.append({**shown, "what it promises": guarantee["words"]})
    kernels = {name.rpartition("kernels.")[2]: version for name, version in meta["kernels"].items()}
    used = {"Private Bandit Lab": paths.project_version(), **meta["versions"], **kernels}
    said = text(
        "origin", trials=answer.experiment.trials, seed=answer.experiment.seed, screened=answer.decision.screened,
        other=answer.question.screening_seed, made=f"{made:%Y-%m-%d %H:%M}",
        used=", ".join(f"{name} {version}" for name, version in used.items()),
    )  # fmt: skip
    return f"{table_html(rows)}<p class='small'>{escape(said)}</p>"


def table_html(rows: list[dict[str, str]]) -> str:
    """Rows of text as a table, which scrolls where it is wider than the page."""
    head = "".join(f"<th>{escape(name)}" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row.values()) for row in rows)
    return f"<div style='overflow-x:auto'><table><tr>{head}{body}</table></div>"


def summary_page(
    answer: Reply,
    verdict: str,
    found: dict[str, list[Found]],
    limit: str,
    link: str | None,
    made: datetime | None = None,
    price: Price | None = None,
) -> str:
    """Question, answer, assumptions, origin and (for typed numbers) the link, as one self-contained HTML page.

    ``found`` are the answers of the searches by what was searched, ``limit`` what they were to meet, in words;
    ``made`` is the date that the page bears (default: now), ``price`` has the rows of tests.
    """
    asked, chosen, searched, tests = answer.asked, answer.chosen, "", ""
    if price is not None:
        tests = f"<h2>Tests</h2>{table_html(table(price.question, price.rows).to_dict('records'))}"
        tests += f"<p class='small'>{escape(correction(price.question))} {escape(looks_words(price.question))}</p>"
    for axis, rows in found.items():
        message = "".join(
            f"<li>{escape(PROMISES[each.privacy].who)}: {plain_html(found_words(each, answer, axis == 'users'))}"
            for each in rows
        )
        what = "Fewest users" if axis == "users" else "Smallest ε"
        searched += f"<h2>{what} for {escape(limit)}</h2><ul>{message}</ul>"
    if shareable(link):
        again = f'<p class="small">Open again: <a href="{escape(link or "")}">{escape(link or "")}</a></p>'
    elif own_data.store():
        again = '<p class="small">Computed from an uploaded file, which is not part of this page.</p>'
    else:
        again = f"<pre style='white-space:pre-wrap'>{escape(json.dumps(answer.experiment.spec(), indent=1))}</pre>"
        again = f"<details class='small'><summary>Settings file of the learners</summary>{again}</details>"
    ends = f"<p class='small'>One user's reward: {asked.low:g} to {asked.high:g}. {escape(asked.cut)}</p>"
    return templates.filled(
        "summary.html",
        verdict=plain_html(verdict),
        unit=escape(words.sentence(chosen.unit)),
        users=words.count(chosen.users),
        budget=escape(chosen.budget),
        picture=printing.image(chart(answer, False), SIZE, describe(answer)),
        learners=table_html(best_rows(answer)),
        trials=answer.rows[0].trials,
        covered="cover draws of the means" if asked.draws else "do not cover how far the means are from the truth",
        odds=f"<p>{escape(words.odds(chosen.epsilon))}</p>" if isinstance(chosen.epsilon, float) else "",
        tests=tests,
        searched=searched,
        options=table_html(asked.rows),
        ends="" if asked.unit == "%" else ends,
        sure=plain_html(asked.sure),
        origin=_origin(answer, made or datetime.now(UTC)),
        again=again,
    )
