"""What a visitor takes away: data, spec, picture, and code that gives the same numbers."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from pprint import pformat
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.data.spreadsheets import to_csv
from bandit_core.experiments.presets import presets
from bandit_core.simulation.results import Result, summaries
from bandit_core.spec import own_data
from bandit_core.studies.production import releases
from ui import charts, figures, stylesheet, theme, words


def snippet(experiment: Experiment) -> str:
    """A Python program that computes this picture's numbers again."""
    spec = pformat(experiment.spec(), width=100, sort_dicts=False)
    return (
        "from bandit_core import Experiment, bounds, simulate\n\n"
        f"experiment = Experiment.model_validate({spec})\n"
        "result = simulate(experiment)\n"
        "print(result.curves.groupby('line').tail(1).to_string(index=False))\n"
        "print(bounds(experiment).groupby(['line', 'side', 'name']).tail(1).to_string(index=False))\n"
    )


def command(experiment: Experiment) -> str:
    """The command that computes this picture elsewhere: from its preset where it has one, else from the saved spec."""
    found = []
    for preset in presets():
        theirs = preset.experiment
        sizes = {"horizon": theirs.horizon, "trials": theirs.trials, "seed": theirs.seed}
        same = experiment.model_copy(update={**sizes, "view": theirs.view, "title": theirs.title, "note": theirs.note})
        if same == theirs:
            changed = [name for name, value in sizes.items() if getattr(experiment, name) != value]
            found.append([preset.name, *(f"--{name} {getattr(experiment, name)}" for name in changed)])
    parts = min(found, key=len, default=["experiment.json"])
    return f"python -m bandit_core run {' '.join(parts)} --out curves.csv"


def lesson_command(slider: str, values: Sequence[float] | None) -> str:
    """The command that writes the lesson of the downloaded spec."""
    at = "" if values is None else f" --at {','.join(f'{value:g}' for value in values)}"
    return f"python -m bandit_core export experiment.json --slider {slider}{at} --out lesson.html"


def sweep_command(epsilons: Sequence[float]) -> str:
    """The same for the downloaded spec at several budgets."""
    grid = ",".join(f"{value:g}" for value in epsilons)
    return f"python -m bandit_core sweep experiment.json --epsilon {grid} --out sweep.csv"


# The part of Plotly that draws curves, a quarter of the whole; ui/assets/README.md says where it is from.
PLOTLY = Path(__file__).parent / "assets" / "plotly-basic.min.js.gz"


def page_of(result: Result, figure: go.Figure) -> str:
    """The chart as one HTML file that needs nothing else."""
    title, _ = words.heading(result.experiment)
    return stylesheet.filled(
        "picture.html",
        title=escape(title),
        ink=theme.ink(False),
        narrow=stylesheet.NARROW,
        broad=stylesheet.BROAD,
        plotly=gzip.decompress(PLOTLY.read_bytes()).decode(),
        swipe=charts.SWIPE,
        chart=figure.to_html(full_html=False, include_plotlyjs=False, config={**charts.CONFIG, "responsive": True}),
    )


def releases_button(experiment: Experiment) -> None:
    """What every private line releases, for an account of one's own."""
    figures.download(
        st, "What is released (CSV)", lambda: to_csv(releases(experiment)), "releases.csv",
        "For every private policy: mechanism, sensitivity, scale of the noise and number of releases. Enough to "
        "compute the privacy loss yourself.",
        width="content",
    )  # fmt: skip


def made(result: Result) -> dict[str, Any]:
    """How the numbers were made, and every private line's price with what it is relative to."""
    prices = [
        {
            "line": row.line,
            "ratio": row.price,
            "stderr": row.price_stderr if math.isfinite(row.price_stderr) else None,
            "against": row.against.policy,
            "played_along": row.against.is_companion,
        }
        for row in summaries(result)
        if row.against is not None and math.isfinite(row.price)
    ]
    return {**result.metadata, "prices": prices}


def telling(draw: Callable[[], go.Figure], report: Callable[[], dict[str, Any]]) -> Callable[[], go.Figure]:
    """``draw``, with what ``report`` says of how it was made in ``layout.meta``; not where it shows someone's own data.

    A picture is published, and what a visitor brought in a file need not be.
    """

    def drawn() -> go.Figure:
        figure = draw()
        figure.layout.meta = report() if own_data.store() is None else None
        return figure

    return own_data.bound(drawn)


DATA_HELP = "Mean, spread and quantiles at every checkpoint."
SPEC_HELP = "All settings. Opens here and on the command line."
FINAL_HELP = (
    "Regret of every policy at the horizon. LaTeX (package booktabs) and Markdown say in a comment how it was made."
)
PICTURE_HELP = "One self-contained page with the interactive chart."
MADE_HELP = "Settings, seed, versions, and every policy's guarantee and price."


def file_name(experiment: Experiment) -> str:
    """The name of the experiment as that of a file, without an ending."""
    name = words.heading(experiment)[0].lower()
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")[:40] or "experiment"


def for_file(result: Result, height: int = 520, direct_labels: bool = False) -> Callable[[], go.Figure]:
    """What draws the chart for a file: its legend names curves and band, and ``layout.meta`` says how it was made."""
    return telling(
        lambda: charts.name_band(charts.regret_chart(result, height=height, direct_labels=direct_labels), result),
        lambda: made(result),
    )


def downloads(result: Result) -> None:
    """The download buttons; each file is built only when it is asked for."""
    name = file_name(result.experiment)
    spec, page = result.experiment.spec, for_file(result, height=640, direct_labels=True)
    first: tuple[tuple[str, Callable[[], str], str, str], ...] = (
        ("Data (CSV)", lambda: to_csv(result.curves), ".csv", DATA_HELP),
        ("Settings file (JSON)", lambda: json.dumps(spec(), indent=2), ".json", SPEC_HELP),
        ("Picture (HTML)", lambda: page_of(result, page()), ".html", PICTURE_HELP),
        ("How it was made", lambda: json.dumps(made(result), indent=2), "-metadata.json", MADE_HELP),
    )
    tables: tuple[tuple[str, Callable[[], str], str, str], ...] = (
        ("Final table (CSV)", lambda: to_csv(result.final), "-final.csv", FINAL_HELP),
        ("Final table (LaTeX)", lambda: result.to_latex(own_data.store() is None), "-final.tex", FINAL_HELP),
        ("Final table (Markdown)", lambda: result.to_markdown(own_data.store() is None), "-final.md", FINAL_HELP),
    )
    for row in (first, tables):
        for column, (label, data, ending, message) in zip(st.columns(len(row)), row, strict=True):
            figures.download(column, label, data, name + ending, message)
    st.markdown("**Picture for a paper or a slide**")
    figures.for_print(for_file(result), name)
