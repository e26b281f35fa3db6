"""What the app adds to the page from its first byte: style, and templates that stand in ``ui/assets``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

import streamlit as st

from ui import menu

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# ---------------------------------------------------------------------------------------------------------------------
# Pages, styles and scripts that stand in files of ui/assets, with blanks such as ``$head`` in those that have some.


ASSETS = Path(__file__).with_name("assets")


@cache
def asset(name: str) -> str:
    """The file of that name, read once."""
    return (ASSETS / name).read_text("utf-8")


def filled(name: str, **parts: object) -> str:
    """The file of that name with its blanks filled in; ``$paper`` is the style of a page that is handed on."""
    return Template(asset(name)).substitute(parts, paper=asset("paper.css"))


def component(name: str, folder: Path, files: str) -> Any:
    """A component of Streamlit whose page, style and script are ``files``.html, .css and .js of a folder."""
    html, css, js = ((folder / f"{files}.{ending}").read_text("utf-8") for ending in ("html", "css", "js"))
    return st.components.v2.component(name, html=html, css=css, js=js)


# ---------------------------------------------------------------------------------------------------------------------
# What the app adds to Streamlit's style, as one text that is in the page from its first byte (ui/stylesheet.py).
#
# A style that a run of the page sends comes after the elements that it is for, and moves all of them.


EDGE = ("#7d8893", "#7b8793")  # of what is drawn by its edge alone: contrast 3 with both grounds of a theme
INK = ("#46525e", "#b3bdc7")  # of words in a picture, on light and on dark ground
WIDE = 620
NARROW = '.annotation [style*="pointer-events: all"]{display:none}'
BROAD = ".legend2{display:none}"
SIDEBAR = 300  # pixels that Streamlit gives it


def _read(name: str, **names: str) -> str:
    """The file of that name without its comments; ``names`` say what stands for the words in capitals."""
    text = re.sub(r"/\*.*?\*/", "", asset(name), flags=re.DOTALL)
    for word, value in names.items():
        text = text.replace(word, value)
    return text


def _both(colours: tuple[str, str]) -> str:
    return f"light-dark({colours[0]},{colours[1]})"


STYLE = _read("app.css", INK=_both(INK), EDGE=_both(EDGE), WIDE=str(WIDE), NARROW=NARROW, BROAD=BROAD)

# Sent by a projected lesson: `html:has(...)` for it made a browser look at all elements of every page, again and again.
PROJECT = f"<style>{_read('project.css')}</style>"

# The room of a sidebar, until it stands there. A style of its own, which goes after the first run of a page
# (ui/theme_watch.py): later a visitor may come to a page without one.
ROOM_FOR_SIDEBAR = f"""
@media (min-width:768px){{[data-testid=stAppViewContainer]>:is(a:first-child+div,div:first-child){{
margin-left:{SIDEBAR}px}}}}
"""


# ---------------------------------------------------------------------------------------------------------------------
# The app's style in the page from its first byte, so that nothing moves when the first run of a page arrives.


# What a browser asks for by them is the page as Streamlit has it, packed or from the browser's cache.
_OF_ANOTHER_TEXT = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
_OF_THE_FILE = (b"content-length", b"etag", b"last-modified", b"accept-ranges")

SCRIPTS = Path(st.__file__).with_name("static") / "static" / "js"  # each element of a page has its own
DRAWN = ("PlotlyChart", "Slider", "Selectbox", "ButtonGroup", "Checkbox", "BidiComponent", "TextArea", "Button")
_IMPORTED = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")

UNKNOWN, MAX_LETTERS = "unknown", 60  # field of the start page's address that holds an address that is no page


def start_page(path: str) -> str | None:
    """Where a browser finds the start page if that path is no page here, relative to the path; else None."""
    last = path.rpartition("/")[2]
    if any(last == page.address for page in menu.pages()):
        return None
    return f"./?{UNKNOWN}={quote(last[:MAX_LETTERS], safe='')}"


@cache
def early_scripts(page: bytes) -> bytes:
    """Links to the scripts that draw a lab page's elements, and to those that these import.

    A browser fetches and compiles them while the server draws the page. Else it asks for each only when its element
    has arrived, and the chart's 5 MB come last. What Streamlit does not call so is fetched as ever.
    """
    found = [file.name for name in DRAWN for file in sorted(SCRIPTS.glob(f"{name}.*.js"))]
    for name in found:  # grows
        imported = _IMPORTED.findall((SCRIPTS / name).read_text("utf-8"))
        found += [each for each in dict.fromkeys(imported) if each not in found and each.encode() not in page]
    return b"".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'.encode() for name in found)


def styled(page: bytes, path: str, query: str) -> bytes:
    """The page of that address with the style at its end, where it wins over what Streamlit adds to the head."""
    stated = {each.address: each for each in menu.pages()}.get(path.rstrip("/").rpartition("/")[2])
    lesson_mode = parse_qs(query).get("controls") == ["off"]
    css = f"<style>{STYLE}</style>"
    if stated is not None and stated.sidebar:
        page = page.replace(b"</head>", early_scripts(page) + b"</head>", 1)
        css += "" if lesson_mode else f'<style id="room">{ROOM_FOR_SIDEBAR}</style>'
    return page.replace(b"</body>", f"{css}</body>".encode(), 1)


class Styled:
    """Around the server: adds the style to every page that a browser opens, or sends an unknown address to the start.

    All else passes through.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope.get("headers", [])
        if scope["type"] != "http" or not any(name == b"accept" and b"text/html" in value for name, value in headers):
            await self.app(scope, receive, send)
            return
        start: dict[str, Any] = {}
        body = b""

        async def changed(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
            elif not start:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    kept = [pair for pair in start["headers"] if pair[0] not in _OF_THE_FILE]
                    elsewhere = start_page(scope["path"])
                    if elsewhere is not None:
                        start["status"], body = 307, b""
                        kept.append((b"location", elsewhere.encode()))
                    else:
                        body = styled(body, scope["path"], scope["query_string"].decode("latin-1"))
                    await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
                    await send({"type": "http.response.body", "body": body})

        plain = [pair for pair in headers if pair[0] not in _OF_ANOTHER_TEXT]
        await self.app({**scope, "headers": plain}, receive, changed)


def _is_page(message: Message) -> bool:
    return message["status"] == 200 and any(
        name == b"content-type" and value.startswith(b"text/html") for name, value in message["headers"]
    )
