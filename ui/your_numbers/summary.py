"""The one-page summary of Your numbers: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from html import escape

import numpy as np

from bandit_core.inverse import Answer
from ui import theme, words
from ui.your_numbers.replying import Reply

_STYLE = """
body{font:16px/1.5 'Source Sans 3','Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1d2733;background:#fff;
max-width:46rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.1rem;margin:1.4rem 0 .3rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem .25rem 0;
border-bottom:1px solid #d5dbe1}.lead{font-size:1.1rem}.small{color:#5a6772;font-size:.85rem}
@media print{body{margin:0}}
"""


def _plain_html(markdown: str) -> str:
    """The few marks of a verdict as HTML: bold, and escapes taken away."""
    text = escape(re.sub(r"\\(.)", r"\1", markdown.replace("**", "\0")))
    return re.sub(r"\0(.*?)\0", r"<b>\1</b>", text).replace("\0", "")


def _bars(answer: Reply) -> str:
    """The losses as horizontal bars with their errors."""
    rows = [
        (row.label, row.lost, 2 * float(np.nan_to_num(row.lost_stderr)), theme.TRUST_COLOURS[row.privacy])
        for row in answer.rows
    ]
    rows.append(("choosing at random", answer.blind, 0.0, "#b9c1c9"))
    if answer.first > 0:
        rows.append((f"keeping {answer.asked.names[0]}", answer.first, 0.0, "#b9c1c9"))
    widest = max(lost + error for _, lost, error, _ in rows) or 1.0
    parts = []
    for place, (label, lost, error, colour) in enumerate(rows):
        y, width = 8 + 34 * place, 330 * lost / widest
        shown = escape(words.with_error(lost, error / 2))
        parts.append(
            f'<text x="0" y="{y + 15}" font-size="14">{escape(label[:28])}</text>'
            f'<rect x="200" y="{y}" width="{width:.1f}" height="20" rx="3" fill="{colour}"/>'
            f'<text x="{206 + width + 330 * error / widest:.1f}" y="{y + 15}" '
            f'font-size="14">{shown}</text>'
        )
        if error > 0:
            left, right = (200 + 330 * max(0.0, lost + sign * error) / widest for sign in (-1, 1))
            parts.append(
                f'<path d="M{left:.1f} {y + 10}H{right:.1f}M{left:.1f} {y + 5}v10M{right:.1f} {y + 5}v10" '
                'stroke="#1d2733" stroke-width="1.3" fill="none"/>'
            )
    height = 12 + 34 * len(rows)
    words_ = "; ".join(f"{label}: {words.with_error(lost, error / 2)}" for label, lost, error, _ in rows)
    return (
        f'<svg viewBox="0 0 680 {height}" width="100%" role="img" aria-label="{escape(words_)}" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="inherit">{"".join(parts)}</svg>'
    )


def summary_page(answer: Reply, verdict: str, found: list[tuple[int, str, Answer]], goal: str, link: str | None) -> str:
    """Question, answer, assumptions and (for typed numbers) the link, as one self-contained HTML page."""
    asked, chosen = answer.asked, answer.chosen
    unit = escape(chosen.unit)
    options = []
    for place, (name, mean) in enumerate(zip(asked.names, asked.means, strict=True)):
        interval = asked.observed[place].interval if asked.observed else None
        sure = f"{words.number(interval[0])} to {words.number(interval[1])}" if interval else "–"
        count = f"{asked.observed[place].count:,}" if asked.observed else "typed"
        options.append(f"<tr><td>{escape(name)}<td>{words.number(float(mean))}<td>{sure}<td>{count}")
    odds = f"<p>{escape(words.odds(chosen.epsilon))}</p>" if isinstance(chosen.epsilon, float) else ""
    searched = ""
    if found:
        rows = "".join(f"<li>{escape(label)}: {_plain_html(tell(each))}" for _, label, each in found)
        searched = f"<h2>Smallest ε for {escape(goal)}</h2><ul>{rows}</ul>"
    origin = (
        f'<p class="small">Open again: <a href="{escape(link)}">{escape(link)}</a></p>'
        if link
        else '<p class="small">Computed from an uploaded file, which is not part of this page.</p>'
    )
    ends = f"<p class='small'>Rewards of one user lie between {asked.low:g} and {asked.high:g}. {escape(asked.cut)}</p>"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>What would privacy cost?</title><style>{_STYLE}</style></head><body>"
        "<h1>What would privacy cost with these numbers?</h1>"
        f"<p class='lead'>{_plain_html(verdict)}</p>"
        f"<h2>{unit} lost among {words.count(chosen.users)} users, {escape(chosen.budget)}</h2>{_bars(answer)}"
        f"<p class='small'>± is one standard error over {answer.rows[0].trials} simulated runs; whiskers show two. "
        f"It does not cover how far the options' means are from the truth.</p>{odds}{searched}"
        "<h2>The options</h2><table><tr><th>option<th>mean per user<th>95 % interval<th>observations"
        f"{''.join(options)}</table>{ends}<p>{_plain_html(asked.sure)}</p>"
        "<h2>What it means</h2><p><b>Nobody is trusted</b>: each answer is randomised on the user's device before it "
        "is sent (local differential privacy). <b>A curator is trusted</b>: somebody sees the answers, and only "
        "private results leave (central). The same ε is a different promise in each.</p>"
        f"{origin}<p class='small'>Private Bandit Lab simulates private learning. It is not a privacy product and "
        "protects nobody's data.</p></body></html>"
    )


def tell(each: Answer) -> str:
    """The searched answer in words (markdown)."""
    from ui.tradeoff_view import answer_words

    return answer_words(each)
