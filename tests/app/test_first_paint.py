"""The style that is in a page from its first byte."""

import re
from typing import Any

import pytest
from awaiting import awaited

from ui import stylesheet

PAGE = b"<html><head></head><body><div id=root></div></body></html>"
HTML = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"58"), (b"etag", b"x")]


def ask(path: str, query: str = "", accept: bytes = b"text/html", kind: bytes = b"text/html") -> Any:
    """What the server was asked for, and what the browser gets."""
    asked: list[dict[bytes, bytes]] = []
    got: list[dict[str, Any]] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        asked.append(dict(scope["headers"]))
        headers = [(b"content-type", kind), *HTML[1:]]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part, more in ((PAGE[:20], True), (PAGE[20:], False)):
            await send({"type": "http.response.body", "body": part, "more_body": more})

    async def keep(message: Any) -> None:
        got.append(message)

    headers = [(b"accept", accept), (b"accept-encoding", b"gzip"), (b"if-none-match", b"x")]
    scope = {"type": "http", "path": path, "query_string": query.encode(), "headers": headers}
    awaited(stylesheet.Styled(server)(scope, None, keep))
    return asked[0], dict(got[0]["headers"]), b"".join(each["body"] for each in got[1:])


@pytest.mark.parametrize(
    ("path", "query", "room"),
    [
        ("/explore", "", True),
        ("/lab/explore", "seed=3", True),
        ("/explore", "controls=off", False),
        ("/glossary", "", False),
        ("/", "", False),
    ],
)
def test_a_page_has_the_style_and_the_room_of_its_sidebar(path, query, room):
    asked, headers, body = ask(path, query)
    head, _, rest = body.partition(b"</head>")
    assert rest.startswith(b"<body><div id=root></div>") and rest.endswith(b"</style></body></html>")
    links = re.findall(rb'<link rel="modulepreload" crossorigin href="./static/js/([^"]+)">', head)
    assert re.sub(rb"<link[^>]*>", b"", head) == b"<html><head>"
    assert ({link.partition(b".")[0].decode() for link in links} >= {*stylesheet.DRAWN}) == ("explore" in path)
    assert all((stylesheet.SCRIPTS / link.decode()).is_file() for link in links)
    assert stylesheet.STYLE.encode() in body and (stylesheet.ROOM_FOR_SIDEBAR.encode() in body) == room
    assert headers[b"content-length"] == str(len(body)).encode()
    assert b"etag" not in headers and set(asked) == {b"accept"}  # else an old copy would be taken for this one


def test_an_address_that_is_no_page_leads_to_the_start() -> None:
    _, headers, body = ask("/lab/heavytails&<b>", "seed=3")
    assert headers[b"location"] == b"./?unknown=heavytails%26%3Cb%3E" and headers[b"content-length"] == b"0"
    assert body == b""


@pytest.mark.parametrize(("accept", "kind"), [(b"*/*", b"text/html"), (b"text/html,*/*", b"application/json")])
def test_everything_else_passes_through(accept, kind):
    _, headers, body = ask("/explore", "", accept, kind)
    assert body == PAGE and headers[b"etag"] == b"x"
