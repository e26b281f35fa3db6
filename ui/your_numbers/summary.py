"""The one-page summary of Your numbers: one HTML file that needs nothing else.

It is made when someone asks for it, by a thread without a session: nothing here may ask the session for anything.
"""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

import numpy as np

from bandit_core import paths
from bandit_core.model import PROMISES
from bandit_core.spec import own_data
from bandit_core.studies.goal_search import Found
from bandit_core.studies.price import Price
from ui import templates, theme, words
from ui.your_numbers.answers import Reply, amount, found_words
from ui.your_numbers.planned import correction, looks_words, table


def _colours(answer: Reply, dark: bool) -> str:
    """The page's colours as variables of a style sheet: ground, words, and a shade for each line."""
    page = tomllib.loads((paths.ROOT / ".streamlit" / "config.toml").read_text())["theme"]["dark" if dark else "light"]
    shades = {
        "ground": page["backgroundColor"],
        "ink": page["textColor"],
        "soft": theme.ink(dark),
        "link": page["primaryColor"],
        "rule": page["borderColor"],
        "none": theme.quiet(dark),
        **{f"line{place}": shade for place, shade in enumerate(theme.line_colours(answer.experiment, dark))},
    }
    return ";".join(f"--{name}:{shade}" for name, shade in shades.items())


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


def _bars(answer: Reply) -> str:
    """The losses as horizontal bars with their errors."""
    rows = [
        (
            f"{theme.TRUST_SIGNS[row.privacy]} {row.label}",
            answer.decision.chosen(row.privacy).title,
            (row.lost.value, *row.lost[2:]),
            amount(*row.lost[:2]),
            f"line{row.line}",
        )
        for row in answer.rows
    ]
    exact = {"choosing at random": answer.blind}
    if answer.first > 0:
        exact[f"keeping {answer.asked.names[0]}"] = answer.first
    rows += [(label, "", (lost,) * 3, words.number(lost), "none") for label, lost in exact.items()]
    widest = float(np.nanmax([row[2] for row in rows])) or 1.0
    parts = []
    for label, method, (lost, low, high), shown, colour in rows:
        ends = [100 * max(0.0, end) / widest for end in (low, high)]
        whisker = (
            f'<path d="M{ends[0]:.2f} 10H{ends[1]:.2f}M{ends[0]:.2f} 5v10M{ends[1]:.2f} 5v10" stroke="var(--ink)" '
            'stroke-width="1.3" vector-effect="non-scaling-stroke" fill="none"/>'
        )
        parts.append(
            f"<div class='bar'><div>{escape(label)}{f'<br>{escape(method)}' if method else ''}</div><div>"
            f'<svg viewBox="0 0 100 20" preserveAspectRatio="none" width="100%" height="20" aria-hidden="true" '
            f'xmlns="http://www.w3.org/2000/svg"><rect width="{100 * lost / widest:.2f}" height="20" '
            f'fill="var(--{colour})"/>{whisker if high > low else ""}</svg>'
            f"{escape(shown)}</div></div>"
        )
    return "".join(parts)


def _options(answer: Reply) -> str:
    """The options as a table."""
    asked, rows = answer.asked, []
    rate = asked.observed is None and asked.unit == "%"
    spans = asked.spans(100, "%") if rate else asked.spans()
    for place, (name, shown) in enumerate(zip(asked.names, spans, strict=True)):
        interval = asked.observed[place].interval if asked.observed else None
        sure = f"{words.number(interval[0])} to {words.number(interval[1])}" if interval else "–"
        count = f"{asked.observed[place].count:,}" if asked.observed else "typed"
        cut = ""
        if asked.limits and asked.observed:
            cut = f"<td>{words.number(asked.observed[place].clipped(*asked.limits).mean)}"
        first, mean = asked.means[0], asked.means[place]
        lift = f"{words.number(100 * (mean - first) / abs(first), 3)}%" if place and first else "–"
        rows.append(f"<tr><td>{escape(name)}<td>{shown}<td>{lift}<td>{sure}<td>{count}{cut}")
    head = "<tr><th>option<th>mean per user<th>lift<th>95% interval<th>observations" + "<th>mean after the cut" * bool(
        asked.limits
    )
    return f"<table>{head}{''.join(rows)}</table>"


def _origin(answer: Reply, made: datetime) -> str:
    """Where the numbers came from: methods, promises, seeds, trials, versions, date."""
    meta = answer.result.metadata
    rows = []
    for row, guarantee in zip(answer.rows, meta["guarantees"], strict=True):
        screened = answer.decision.policies(row.privacy)
        chosen = guarantee["parameters"]  # a test's length says all of the numbers that it was planned with
        told = {name: chosen[name] for name in ({"users"} if "baseline" in chosen else chosen)}
        params = ", ".join(f"{name} = {value}" for name, value in told.items())
        title = answer.decision.chosen(row.privacy).title
        rows.append(
            f"<tr><td>{escape(PROMISES[row.privacy].who)}<td>{escape(title)}, the best of {screened}"
            f"{f'<br>{escape(params)}' if params else ''}<td>{escape(guarantee['words'])}"
        )
    kernels = {name.rpartition("kernels.")[2]: version for name, version in meta["kernels"].items()}
    version = paths.project_version()
    used = ", ".join(f"{name} {number}" for name, number in {**meta["versions"], **kernels}.items())
    asked, played = answer.question, answer.experiment
    return (
        "<h2>Where these numbers come from</h2><table><tr><th>who is trusted<th>method<th>what it promises"
        f"{''.join(rows)}</table><p class='small'>Simulated {played.trials} times with seed {played.seed}; the methods "
        f"were chosen by other runs, up to {answer.decision.screened} each, with seed {asked.screening_seed}. Private "
        f"Bandit Lab {escape(version)}, {escape(used)}. "
        f"Made on {made:%Y-%m-%d %H:%M} UTC.</p>"
    )


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
        searched += (
            f"<h2>{'Fewest users' if axis == 'users' else 'Smallest ε'} for {escape(limit)}</h2><ul>{message}</ul>"
        )
    again = (
        f'<p class="small">Open again: <a href="{escape(link)}">{escape(link)}</a></p>'
        if link and shareable(link)
        else '<p class="small">Computed from an uploaded file, which is not part of this page.</p>'
        if own_data.store()
        else "<details class='small'><summary>Settings file of the learners</summary><pre style='white-space:pre-wrap'>"
        f"{escape(json.dumps(answer.experiment.spec(), indent=1))}</pre></details>"
    )
    ends = f"<p class='small'>One user's reward: {asked.low:g} to {asked.high:g}. {escape(asked.cut)}</p>"
    covered = "cover draws of the means" if asked.draws else "do not cover how far the means are from the truth"
    return templates.filled(
        "summary.html",
        light=_colours(answer, False),
        dark=_colours(answer, True),
        verdict=plain_html(verdict),
        unit=escape(words.sentence(chosen.unit)),
        users=words.count(chosen.users),
        budget=escape(chosen.budget),
        bars=_bars(answer),
        trials=answer.rows[0].trials,
        covered=covered,
        odds=f"<p>{escape(words.odds(chosen.epsilon))}</p>" if isinstance(chosen.epsilon, float) else "",
        tests=tests,
        searched=searched,
        options=_options(answer),
        ends="" if asked.unit == "%" else ends,
        sure=plain_html(asked.sure),
        origin=_origin(answer, made or datetime.now(UTC)),
        again=again,
    )
