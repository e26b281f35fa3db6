"""The part of a live lesson's page that computes: its controls, its words, its data and its worker."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bandit_core.export.document import as_json
from bandit_core.export.page import Addition
from bandit_core.export.positions import Positions
from bandit_core.spec.errors import InputError, Issue
from deploy.live import target

HERE = Path(__file__).parent
LINK = '<p id="live-link" hidden><a href="#live">Compute other settings in this browser ↓</a></p>'
MAX_SEED = 2**53 - 1


def addition(positions: Positions) -> Addition:
    """What makes the lesson of these positions a live one: its methods compiled now, for browsers.

    Raises
    ------
    InputError
        Where packages are missing, and where no line can be played in a browser.
    """
    if wanted := target.missing():
        raise InputError([Issue("live", None, f"needs {', '.join(wanted)}: {target.INSTALL}")])
    from deploy.live.offer import offer

    style, script = ((HERE / f"live.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return Addition(LINK, _section(offer(positions), positions), style, script)


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


def _not_live(offered: Mapping[str, Any], positions: Positions) -> str:
    """Which lines keep their precomputed positions, at some settings at least, and why."""
    label = positions.experiment.label
    lines = "; ".join(f"{html.escape(label(line))} ({why})" for line, why in offered["reasons"].items())
    return f"<p>Not computed here, or not at every setting: {lines}.</p>" if lines else ""


def _section(offered: Mapping[str, Any], positions: Positions) -> str:
    from deploy.live.modules import licence
    from deploy.live.offer import MAX_RUNS

    runs = offered["compared"]
    compared = f"When this file was made, {runs:,} runs were compared with the lab's: every bit was the same. "
    return f"""<section id="live" aria-labelledby="live-head" hidden><h2 id="live-head">Compute it in this browser</h2>
<p>Your device runs the simulations itself, without a network. {compared if runs else ""}Before it computes, this page
plays a few runs whose results it knows, and computes nothing if they differ. The pictures and the table above do not
change.</p>
{_not_live(offered, positions)}
<form id="live-form">{_range("budget", "Privacy budget of every private line")}{_range("users", "Number of users")}
<p class="numbers">{_number("seed", "Seed", 0, MAX_SEED)} {_number("runs", "Runs", 1, MAX_RUNS)}
<button id="live-go">Compute</button> <button type="button" id="live-stop" disabled>Stop</button></p></form>
<p class="quiet" id="live-status" role="status">Nothing is computed yet: press Compute, or move a control.</p>
<progress id="live-progress" max="1" value="0" aria-label="How much is done" hidden></progress>
<div id="live-result" hidden><svg id="live-picture" role="img" aria-label=""></svg>
<p class="quiet" id="live-picture-read" aria-hidden="true">&nbsp;</p>
<p class="quiet" id="live-caption"></p>
<div class="table"><table>
<thead><tr><th scope="col">Line</th><th scope="col" id="live-regret">Regret</th></tr></thead>
<tbody id="live-rows"></tbody></table></div>
<p class="quiet">± is the standard error of the mean.</p></div>
<details><summary>Compiled in: parts of the C library musl (MIT licence)</summary>
<pre>{html.escape(licence())}</pre></details>
<script type="application/json" id="live-data">{as_json(dict(offered))}</script>
<script type="text/plain" id="live-worker">{(HERE / "worker.js").read_text("utf-8")}</script></section>
"""
