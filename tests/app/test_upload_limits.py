"""What a tab may upload, what all may, and when it is forgotten."""

from types import SimpleNamespace
from typing import Any

import pytest
from awaiting import awaited

from ui import serving
from ui.serving import ALL_BYTES, CLOSED_SECONDS, TAB_BYTES, Limited, Uploads

MIB = 2**20
SENT = [(b"host", b"lab"), (b"cookie", b"token=1"), (b"x-xsrftoken", b"1"), (b"content-type", b"multipart/form-data")]


class Server:
    """Streamlit's part: takes every file of a session that is open, and notes what it was asked."""

    def __init__(self) -> None:
        self.open, self.asked, self.closed = {"one", "two"}, list[Any](), list[str]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append((scope["method"], scope["path"], dict(scope["headers"])))
        session = scope["path"].split("/")[-2]
        status = 204 if scope["method"] == "DELETE" or session in self.open else 400
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def is_active_session(self, session: str) -> bool:
        return session in self.open

    def close_session(self, session: str) -> None:
        self.closed.append(session)


@pytest.fixture
def server(monkeypatch):
    """A server in place of Streamlit's."""
    found = Server()
    monkeypatch.setattr(serving, "runtime", SimpleNamespace(get_instance=lambda: found))
    return found


@pytest.fixture
def around(server):
    return Limited(server, Uploads())


def ask(around: Limited, address: str, size: int | None, method: str = "PUT", parts: int = 3) -> int:
    """The status of an upload to ``address`` (session/file), sent in ``parts``."""
    length = [] if size is None else [(b"content-length", str(size).encode())]
    scope = {
        "type": "http",
        "method": method,
        "path": f"/lab/_stcore/upload_file/{address}",
        "headers": [*SENT, *length],
    }
    got, left = [], [parts]

    async def receive() -> dict[str, Any]:
        left[0] -= 1
        return {"type": "http.request", "body": b"x", "more_body": left[0] > 0}

    async def send(message: Any) -> None:
        got.append((message, left[0]))

    awaited(around(scope, receive, send))
    assert around.uploads.bytes_of_all() <= ALL_BYTES
    if got[0][0]["status"] == 413 and size is not None and size <= TAB_BYTES:
        assert got[0][1] == 0  # a browser that is still sending does not read an answer
    return got[0][0]["status"]


def test_a_tab_holds_so_many_bytes(around):
    assert ask(around, "one/a", 20 * MIB) == ask(around, "one/b", TAB_BYTES - 20 * MIB) == 204
    assert ask(around, "one/c", 1) == 413
    assert ask(around, "two/a", 1) == 204  # another tab has room of its own
    assert ask(around, "one/a", None, "DELETE") == 204
    assert ask(around, "one/c", 20 * MIB) == 204 and around.uploads.bytes_of("one") == TAB_BYTES
    assert ask(around, "one/d", TAB_BYTES + 1) == 413


def test_all_tabs_together_hold_so_many_bytes(around, server):
    tabs = [f"tab {number}" for number in range(ALL_BYTES // TAB_BYTES)]
    server.open |= {*tabs, "late"}
    assert [ask(around, f"{tab}/a", TAB_BYTES) for tab in tabs] == [204] * len(tabs)
    assert ask(around, "late/a", 1) == 413
    assert ask(around, f"{tabs[0]}/a", None, "DELETE") == ask(around, "late/a", TAB_BYTES) == 204


def test_what_the_server_does_not_keep_does_not_count(around, server):
    assert ask(around, "nobody/a", 20 * MIB) == 400
    assert around.uploads.bytes_of_all() == 0
    assert ask(around, "one/a", 10) == ask(around, "one/a", 30) == 204  # in its own place
    assert around.uploads.bytes_of_all() == 30


def test_a_file_of_unknown_size_is_refused_unread(around, server):
    assert ask(around, "one/a", None) == 411
    assert server.asked == []


def test_while_it_comes_a_file_counts(server):
    uploads = Uploads()
    seen = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        seen.append(uploads.bytes_of("one"))
        raise ConnectionError

    with pytest.raises(ConnectionError):
        ask(Limited(slow, uploads), "one/a", 7)
    assert seen == [7] and uploads.bytes_of_all() == 0


def test_files_are_forgotten_by_a_clock_when_their_tab_is_closed(around, server):
    uploads = around.uploads
    assert ask(around, "one/a", 5) == ask(around, "one/b", 6) == ask(around, "two/a", 7) == 204
    server.asked.clear()

    def look(now: float) -> bool:
        return awaited(uploads.forget_closed(now))

    assert not look(0.0)
    server.open.remove("one")
    assert not look(1.0) and not look(CLOSED_SECONDS)
    server.open.add("one")  # the line was lost for a moment
    assert not look(CLOSED_SECONDS + 1)
    server.open.remove("one")
    assert not look(CLOSED_SECONDS + 2) and not look(2 * CLOSED_SECONDS + 1) and server.asked == []
    assert look(2 * CLOSED_SECONDS + 2)
    assert [(method, path[-5:]) for method, path, _ in server.asked] == [("DELETE", "one/a"), ("DELETE", "one/b")]
    assert all(headers == dict(SENT[:3]) for *_, headers in server.asked)  # as the browser that sent them would
    assert server.closed == ["one"] and uploads.bytes_of_all() == 7
    assert not look(9e9)


def test_everything_else_passes(around, server):
    assert ask(around, "one/a/b", 10**12) in (204, 400)  # no address of a file
    assert around.uploads.bytes_of_all() == 0 and len(server.asked) == 1
