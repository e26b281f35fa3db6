"""The part of a live lesson's page that computes: its controls, its words, its data and its worker."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bandit_core.export.document import as_json
from bandit_core.export.live.offer import MOST_RUNS

WORKER = Path(__file__).parent.parent / "assets" / "worker.js"
MOST_SEED = 2**53 - 1


def _range(name: str, words: str) -> str:
    return (
        f'<div class="slider" id="live-{name}-row"><label for="live-{name}">{words}: '
        f'<output id="live-{name}-value" for="live-{name}"></output></label>'
        f'<input type="range" id="live-{name}" min="0" step="1"></div>'
    )


def _number(name: str, words: str, low: int, high: int) -> str:
    return (
        f'<label for="live-{name}">{words} <input type="number" id="live-{name}" min="{low}" max="{high}" step="1" '
        f'inputmode="numeric" required></label>'
    )


def _not_live(offered: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """Which lines keep their precomputed positions, everywhere or at some settings, and why."""
    cells = (each for row in offered["cells"] for cell in row if cell for each in cell)
    played = {line for line, _, call in cells if call >= 0}
    told: dict[str, list[str]] = {"Precomputed only": [], "Computed here at some settings only": []}
    for line, why in offered["reasons"].items():
        if line in names:
            place = "Computed here at some settings only" if line in played else "Precomputed only"
            told[place].append(f"{html.escape(names[line])} ({why})")
    return "".join(f"<p>{words}: {'; '.join(lines)}.</p>" for words, lines in told.items() if lines)


def link(offered: Mapping[str, Any] | None) -> str:
    """HTML of a link from the top of the page to the section, where it computes; the script shows both."""
    found = '<p id="live-link" hidden><a href="#live">Compute other settings in this browser ↓</a></p>'
    return found if offered and offered["cells"] else ""


def section(offered: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """HTML of the section. ``offered`` is that of `offer`, ``rows`` name the lines of the precomputed table.

    Where a browser can play no line, this says so and why.
    """
    missing = _not_live(offered, {row["line"]: row["label"] for row in rows})
    if not offered["cells"]:
        return f"<section><h2>Nothing to compute here</h2>{missing}</section>"
    tested, day = offered["tested"], date.fromisoformat(offered["tested"]["date"])
    return f"""<section id="live" aria-labelledby="live-head" hidden><h2 id="live-head">Compute it in this browser</h2>
<p>Your device plays the simulations itself, without a network. The same numbers as in the lab, tested on {day.day}
{day:%B %Y}: in {tested["comparisons"]:,} simulations by the compiled methods in this file every bit was the lab's.
Before it computes, this page plays a few runs whose results it knows, and computes nothing if they differ. The pictures
and the table above are not changed by it.</p>
{missing}
<form id="live-form">{_range("budget", "Privacy budget of every private line")}{_range("users", "Number of users")}
<p class="numbers">{_number("seed", "Seed", 0, MOST_SEED)} {_number("runs", "Runs", 1, MOST_RUNS)}
<button id="live-go">Compute</button> <button type="button" id="live-stop" disabled>Stop</button></p>
<details id="live-arms" hidden><summary>Means of the arms</summary><p>How often each arm pays 1.</p>
<div class="numbers" id="live-means"></div></details></form>
<p class="quiet" id="live-status" role="status">Nothing is computed yet: press Compute, or move a control.</p>
<progress id="live-progress" max="1" value="0" aria-label="How much is done" hidden></progress>
<div id="live-result" hidden><svg id="live-picture" role="img" aria-label=""></svg>
<p class="quiet" id="live-picture-read" aria-hidden="true">&nbsp;</p>
<p class="quiet" id="live-caption"></p>
<div class="table"><table>
<thead><tr><th scope="col">Line</th><th scope="col" id="live-regret">Regret</th></tr></thead>
<tbody id="live-rows"></tbody></table></div>
<p class="quiet">± is the standard error of the mean. <span id="live-absent"></span></p></div>
<p class="quiet">Compiled in: parts of the C library musl, © 2005-2020 Rich Felker et al. (MIT licence).</p>
<script type="application/json" id="live-data">{as_json(dict(offered))}</script>
<script type="text/plain" id="live-worker">{WORKER.read_text("utf-8")}</script></section>
"""
