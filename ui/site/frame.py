"""What every page of the site has: its frame, its links, and pictures that need no script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import plotly.graph_objects as go

from bandit_core.export.page import style_of
from ui import printing

PLACES = {"index.html": "Start", "learn/index.html": "Learn", "lessons/index.html": "Lessons"} | {
    "papers/index.html": "Papers", "benchmark.html": "Benchmark",
}  # fmt: skip
SIZE = printing.Size(12.0, 8.0, 12)  # letters that a phone shows large enough
MAX_STOPS = 12  # positions of a slider that a page can show
_ASSET = Path(__file__).resolve().parent.parent / "assets" / "site.css"


def words(text: str) -> str:
    """Plain words with **bold** and `code` parts as HTML."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", bold)


def style() -> str:
    """The style sheet of every page: that of the lessons, the site's own, and which radio button shows what."""
    shown = "".join(f".at{place}:checked~.shows{place}{{display:block}}" for place in range(MAX_STOPS))
    return style_of(()) + _ASSET.read_text("utf-8") + shown


@dataclass
class Site:
    """The files of the site by their place, and the address of an app for what needs one (empty for none)."""

    base: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    def add(self, place: str, title: str, body: str) -> None:
        """A page; links in ``body`` are relative to its place."""
        up = "../" * place.count("/")
        links = "".join(
            f'<a href="{up}{to}"{" aria-current=page" if to == place else ""}>{name}</a>' for to, name in PLACES.items()
        )
        around = f'<nav aria-label="Site">{links}</nav>'
        self.files[place] = document(title, body, "'self' file:", around).encode()

    def picture(self, place: str, figure: go.Figure, alt: str, first: bool = False) -> str:
        """A figure as a file beside the page, and the HTML that shows it; only the ``first`` is loaded at once."""
        self.files[place] = printing.file_of(figure, "svg", SIZE, "sans serif", SIZE.points)
        lazy = "" if first else ' loading="lazy"'
        message = escape(re.sub(r"\*\*", "", alt))
        return f'<img src="{place.rpartition("/")[2]}" alt="{message}" width="600" height="400"{lazy}>'

    def hosted(self, address: str, fields: Mapping[str, str], message: str) -> str:
        """A link into the app; nothing where none is known."""
        if not self.base:
            return ""
        query = f"?{urlencode(fields)}" if fields else ""
        return f'<p><a href="{escape(f"{self.base}/{address}{query}")}">{escape(message)}</a></p>'


def document(title: str, body: str, pictures: str, above: str = "") -> str:
    """A whole page without a script; ``pictures`` says where they may come from, ``above`` stands before the title."""
    sheet = style()
    allowed = b64encode(sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; img-src {pictures}; base-uri 'none'"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}; form-action 'none'">
<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{sheet}</style></head>
<body>{above}<main><h1>{escape(title)}</h1>
{body}
</main><footer class="quiet">Private Bandit Lab simulates private learning. It is not a privacy product and protects
no one's data.</footer></body></html>
"""
