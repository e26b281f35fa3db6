"""How many bytes of uploads a server holds, for one tab and in all, and when it forgets them.

Streamlit keeps every file that a tab sends until the tab is closed and another visitor comes. `Limited` stands around
the server: it counts what is kept, and refuses a file before it is kept where a limit would be passed. `forgetting`
looks by a clock which tabs are closed, deletes their files as a browser would, and closes their sessions. All of it
runs on the event loop of the server, so there is no lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from streamlit import runtime

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Delete = Callable[[], Awaitable[None]]

TAB_BYTES, ALL_BYTES = 40 * 2**20, 200 * 2**20  # one file has at most 20 MB (`server.maxUploadSize`)
CLOSED_SECONDS = 20.0  # a tab that lost its connection may come back for so long, as for a long run (ui/background.py)
LOOK_SECONDS = 5.0
_ADDRESS = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)$")  # session, file
_SENDER = (b"host", b"cookie", b"x-xsrftoken")  # headers that Streamlit asks for when a file is deleted


class Uploads:
    """What is kept: for each session the files with their bytes, and what deletes them."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, dict[str, tuple[int, Delete]]] = defaultdict(dict)
        self._closed_at: dict[str, float] = {}

    def bytes_of(self, session: str) -> int:
        """Bytes of one session, with those that are on their way."""
        return sum(size for size, _ in self._kept.get(session, {}).values())

    def bytes_of_all(self) -> int:
        """Bytes of all sessions."""
        return sum(map(self.bytes_of, self._kept))

    def begin(self, session: str, file: str, size: int, delete: Delete) -> bool:
        """Whether a file of this size may come; if so, it counts until `forget`."""
        if self.bytes_of(session) + size > TAB_BYTES or self.bytes_of_all() + size > ALL_BYTES:
            return False
        self._kept[session][file] = size, delete
        return True

    def forget(self, session: str, file: str) -> None:
        """The file is deleted, or did not come."""
        files = self._kept.get(session, {})
        files.pop(file, None)
        if not files:
            self._kept.pop(session, None)

    async def forget_closed(self, now: float) -> bool:
        """Forget all that came from tabs that are closed for long enough at ``now``; whether there was something."""
        server = runtime.get_instance()
        gone = [session for session in self._kept if not server.is_active_session(session)]
        self._closed_at = {session: self._closed_at.get(session, now) for session in gone}
        gone = [session for session in gone if now - self._closed_at[session] >= CLOSED_SECONDS]
        for session in gone:
            for file, (_, delete) in list(self._kept[session].items()):
                await delete()
                self.forget(session, file)
            server.close_session(session)  # what the page made of the files; on this thread, as it asks
        return bool(gone)


UPLOADS = Uploads()


class Limited:
    """Around the server: refuses an upload that would pass a limit, and counts the others."""

    def __init__(self, app: ASGIApp, uploads: Uploads = UPLOADS) -> None:
        self.app, self.uploads = app, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = _ADDRESS.search(scope["path"]) if scope["type"] == "http" else None
        if asked is None or scope["method"] not in ("PUT", "DELETE"):
            await self.app(scope, receive, send)
        elif scope["method"] == "DELETE":
            if await self._status(scope, receive, send) == 204:
                self.uploads.forget(asked[1], asked[2])
        else:
            await self._put(asked[1], asked[2], scope, receive, send)

    async def _put(self, session: str, file: str, scope: Scope, receive: Receive, send: Send) -> None:
        size, status = _announced(scope), 0
        deletion = {**scope, "method": "DELETE", "headers": [pair for pair in scope["headers"] if pair[0] in _SENDER]}
        delete = partial(self.app, deletion, _nothing, _unheard)
        if size is None or not self.uploads.begin(session, file, size, delete):
            await _refuse(size, receive, send)
            return
        try:
            status = await self._status(scope, receive, send)
        finally:
            if status != 204:
                self.uploads.forget(session, file)

    async def _status(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Pass a request on; the status of the answer."""
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self.app(scope, receive, noted)
        return status


@contextlib.asynccontextmanager
async def forgetting() -> AsyncIterator[None]:
    """Around the life of a server: look every few seconds which tabs are closed."""

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if await UPLOADS.forget_closed(time.monotonic()):
                gc.collect()  # sessions are circles of objects, and a server without visitors creates nothing new

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()


def _announced(scope: Scope) -> int | None:
    """Bytes of the body, as the browser says before it sends them; the server reads no more than that."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() else None


async def _refuse(size: int | None, receive: Receive, send: Send) -> None:
    """Answer when all has come, and drop it: a browser that is still sending would not read the answer."""
    while size is not None and size <= TAB_BYTES and (await receive()).get("more_body", False):
        pass
    status = 411 if size is None else 413
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Message) -> None:
    """No one asked."""
