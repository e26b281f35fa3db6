"""The file of a lesson: its document, and a page that draws it with no more than what every browser has.

No drawing library travels with it: Plotly's smallest bundle is 1.1 MB, the script here a hundredth of that, and the
numbers of a lesson some 100 KB. A policy of its own (``default-src 'none'``) keeps the page from asking anyone for
anything.
"""

import html
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment
from bandit_core.export.document import as_json, document
from bandit_core.export.positions import Positions
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.found import entries

MAX_BYTES = 2 * 10**6
ASSETS = Path(__file__).parent / "assets"
PLAYER = paths.ROOT / "ui" / "player"  # the same script as in the app
Colours = Sequence[tuple[str, str]]  # per line: on light and on dark ground
SHADES = entries(__file__)["shades"]
SLIDERS = {
    "epsilon": ("Privacy budget", "← more private", "less regret →"),
    "horizon": ("Number of users", "← fewer users", "more users →"),
}


def colours_of(experiment: Experiment) -> list[tuple[str, str]]:
    """A colour per line by whom it trusts, on light and on dark ground."""
    met = dict.fromkeys(SHADES, 0)
    colours = []
    for line in experiment.lines:
        trust = line.entry.privacy
        colours.append(SHADES[trust][met[trust] % len(SHADES[trust])])
        met[trust] += 1
    return colours


def style_of(colours: Colours) -> str:
    """The style sheet, with the colours of the lines."""
    light, dark = (
        ":root{" + ";".join(f"--line-{number}:{pair[ground]}" for number, pair in enumerate(colours)) + "}"
        for ground in (0, 1)
    )
    signs = "".join(f".line-{number}{{color:var(--line-{number})}}" for number in range(len(colours)))
    sheet = (ASSETS / "lesson.css").read_text("utf-8")
    return f"{sheet}{light}@media (prefers-color-scheme:dark){{{dark}}}{signs}"


def source(inline: str) -> str:
    """A style or script that stands in a page, as the page's policy allows it (Content-Security-Policy)."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """What the page may do: use this style and this script, ask no one for anything."""
    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _figure(name: str, head: str) -> str:
    return (
        f'<h2>{head}</h2><div class="player" id="{name}"><svg role="img" aria-label=""></svg>'
        '<p class="point" hidden></p><ul class="legend"></ul></div>'
    )


def page(
    positions: Positions, results: Sequence[Result], around: str = "", colours: Colours | None = None, **texts: Any
) -> str:
    """The lesson as the text of one HTML file of at most `MAX_BYTES`, in UTF-8.

    ``colours`` are those of the lines (default: `colours_of`), ``around`` is HTML of links to other lessons; for the
    other texts see `document`. The same arguments give the same text.

    Raises
    ------
    InputError
        Where something is not computed yet, and where no picture of at least 25 checkpoints fits into the file.
    """
    for every in (1, 2, 4, 8):
        content = document(positions, results, every=every, **texts)
        text = _written(content, colours or colours_of(positions.experiment), around)
        size = len(text.encode())
        if size <= MAX_BYTES:
            return text
    words = f"at most {MAX_BYTES / 1e6:g} MB in one file; use fewer lines or positions"
    raise InputError([Issue("lesson", f"{size / 1e6:.1f} MB", words)])


def lesson(experiment: Experiment, slider: str = "epsilon", values: Sequence[float] | None = None) -> str:
    """The lesson of an experiment as one HTML file, everything computed; see `Positions` and `page`.

    Raises
    ------
    InputError
        As `Positions` and `page` do.
    """
    positions = Positions(experiment, slider, values)
    positions.run()
    return page(positions, positions.result())


def _written(content: dict[str, Any], colours: Colours, around: str) -> str:
    style = style_of(colours) + (PLAYER / "player.css").read_text("utf-8")
    script = (PLAYER / "player.js").read_text("utf-8") + (ASSETS / "lesson.js").read_text("utf-8")
    positions, over, start = content["positions"], content["budgets"], content["positions"][content["start"]]
    label, low, high = SLIDERS[content["slider"]]
    users = _figure("users", "Regret as users come")
    budgets = _figure("budgets", f"All budgets at once (shaded: {over['shaded']})") if over else ""
    back = f'<p><a id="back" href="{html.escape(start["link"])}">Open this in the lab</a></p>' if start["link"] else ""
    return Template((ASSETS / "lesson.html").read_text("utf-8")).substitute(
        policy=policy(style, script), title=html.escape(content["title"]), style=style, around=around, label=label,
        name=html.escape(start["name"]), last=len(positions) - 1, start=content["start"], low=low, high=high,
        sentence=start["sentence"], overall=f"<p>{content['overall']}</p>" if content["overall"] else "",
        told="".join(f"<li>{html.escape(each['name'])}: {each['sentence']}</li>" for each in positions),
        figures=budgets + users if content["first"] == "budgets" else users + budgets, legend=content["legend"],
        signs=", ".join(dict.fromkeys(f"{each['sign']} {each['words']}" for each in content["lines"])), back=back,
        made=html.escape(json.dumps(content["provenance"], ensure_ascii=False, indent=1)), document=as_json(content),
        script=script,
    )  # fmt: skip
