"""A phone of a class, over the part of the server that answers phones."""

import html
import re
from typing import Any, Self
from urllib.parse import urlencode

from awaiting import awaited

from ui.serving import Phones

Answer = tuple[int, dict[str, str], str]  # status, headers and text


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """What answers everything else."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def asked(
    query: str, body: bytes | None = None, accept: str = "*/*", cookie: str = "", path: str = "/lab/learn",
    around: Phones | None = None,
) -> Answer:  # fmt: skip
    """What the server says to one request."""
    sent: list[Any] = []
    headers = {"accept": accept, "cookie": cookie, "host": "lab"}
    scope = {
        "type": "http", "method": "GET" if body is None else "POST", "path": path, "query_string": query.encode(),
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()], "root_path": "",
        "scheme": "http", "server": ("lab", 80), "http_version": "1.1",
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": body or b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await (around or Phones(nothing))(scope, receive, send)
    found = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]).decode()


class Phone:
    """A browser without scripts: it keeps its cookie, and sends what the form holds."""

    def __init__(self, code: str) -> None:
        self.query, self.cookie = urlencode({"class": code, "controls": "off"}), ""
        self.load()

    def _ask(self, body: bytes | None = None) -> int:
        status, headers, self.page = awaited(asked(self.query, body, "text/html", self.cookie))
        self.cookie = headers.get("set-cookie", self.cookie).split(";")[0]
        return status

    def load(self) -> Self:
        """Open the page, or load it again."""
        assert self._ask() == 200
        return self

    def send(self, value: object, **other: str) -> Self:
        """Press a button of the form, or fill in its number."""
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.page))
        if self._ask(urlencode({**fields, "value": str(value), **other}).encode()) == 303:
            self.load()
        return self

    @property
    def main(self) -> str:
        """What changes on the page."""
        return self.page[self.page.index("<main") : self.page.index("</main>")]

    @property
    def words(self) -> str:
        """What one reads."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.main))

    @property
    def title(self) -> str:
        return html.unescape(re.findall("<h1>(.*?)</h1>", self.main)[0])

    @property
    def alerts(self) -> list[str]:
        return [html.unescape(text) for text in re.findall('<p role="alert">(.*?)</p>', self.main)]

    @property
    def values(self) -> list[str]:
        """What the buttons of the form send."""
        return re.findall('<button name="value" value="([^"]*)"', self.main)

    @property
    def pressed(self) -> list[str]:
        """The buttons that are marked."""
        return re.findall('value="([^"]*)" aria-pressed=true', self.main)
