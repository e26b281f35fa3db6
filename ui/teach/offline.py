"""Lessons as one file that opens without a network: every position of a slider as a picture and a sentence."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from ui import printing
from ui.learn.course import title
from ui.learn.step import Step
from ui.site import learn
from ui.site.frame import SIZE, Site, document

MAX_BYTES = 4 * 2**20
MAX_STOPS = 5  # positions of a slider


class _OneFile(Site):
    """A site whose pictures stand in the page itself, with one digit behind the point."""

    def picture(self, place: str, figure: go.Figure, alt: str, first: bool = False) -> str:
        drawn = printing.file_of(figure, "svg", SIZE, "sans serif", SIZE.points).decode()
        # Letters have small scales, which must stay.
        rounded = re.sub(r"scale\([^)]*\)|(\d\.\d)\d+", lambda found: found[1] or found[0], drawn)
        small = re.sub(r"\s+", " ", rounded)
        message = escape(alt.replace("**", ""))
        return f'<img src="data:image/svg+xml;base64,{b64encode(small.encode()).decode()}" alt="{message}">'


def page(lessons: Sequence[Step]) -> str:
    """The file. Its numbers are computed here and now."""
    site = _OneFile()
    parts = []
    for step in lessons:
        parts.append(f'<h2 id="{step.name}">{escape(title(step))}</h2>{learn.part(site, step, False, MAX_STOPS)}')
        if step.second is not None:
            parts.append(f"<h3>{escape(step.second.title)}</h3>{learn.part(site, step.second, False, MAX_STOPS)}")
    contents = "".join(f'<li><a href="#{step.name}">{escape(title(step))}</a></li>' for step in lessons)
    head = f'<nav aria-label="Lessons"><ul>{contents}</ul></nav>' if len(lessons) > 1 else ""
    return document("What does privacy cost?", head + "".join(parts), "data:")
