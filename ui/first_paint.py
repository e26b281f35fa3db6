"""The app's style in the page from its first byte, so that nothing moves when the first run of a page arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from ui import menu, stylesheet

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What a browser asks for by them is the page as Streamlit has it, packed or from the browser's cache.
_OF_ANOTHER_TEXT = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
_OF_THE_FILE = (b"content-length", b"etag", b"last-modified", b"accept-ranges")

UNKNOWN, MAX_LETTERS = "unknown", 60  # field of the start page's address that holds an address that is no page


def start_page(path: str) -> str | None:
    """Where a browser finds the start page if that path is no page here, relative to the path; else None."""
    last = path.rpartition("/")[2]
    if any(last == page.address for page in menu.pages()):
        return None
    return f"./?{UNKNOWN}={quote(last[:MAX_LETTERS], safe='')}"


def styled(page: bytes, path: str, query: str) -> bytes:
    """The page of that address with the style at its end, where it wins over what Streamlit adds to the head."""
    stated = {each.address: each for each in menu.pages()}.get(path.rstrip("/").rpartition("/")[2])
    lesson_mode = parse_qs(query).get("controls") == ["off"]
    css = f"<style>{stylesheet.STYLE}</style>"
    if stated is not None and stated.sidebar and not lesson_mode:
        css += f'<style id="room">{stylesheet.ROOM_FOR_SIDEBAR}</style>'
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
