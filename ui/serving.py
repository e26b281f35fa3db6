"""Around the life of a server: its open files and memory, the phones of a class, and how many bytes are uploaded."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import logging
import os
import re
import secrets
import socket
import stat
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from streamlit import runtime

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Delete = Callable[[], Awaitable[None]]

# ---------------------------------------------------------------------------------------------------------------------
# Around the server: the phones of a class. A phone gets a small page of its own, and waits in one open request.
#
# Its page is plain HTML. Without scripts it loads again every few seconds. With them, a request with the field
# ``since`` is answered as soon as the class has moved on, and after `HOLD` seconds if it has not.


PAGE, FIELD, COOKIE = "learn", "class", "lab_class"
HOLD, LOOK = 10.0, 0.4  # seconds that a request waits, and between two looks at its class
MAX_WAITING, RETRY = 2000, 3  # requests that wait; further ones are answered at once, to come again so many s later
MAX_BYTES, MAX_SEEN, MAX_LETTERS = 500, 500, 12  # of a guess; classes that are remembered; letters of a code
_TOKEN = re.compile("[0-9a-f]{16}")


class Phones:
    """Answers what phones ask, and passes on everything else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self._waiting = app, 0
        self._seen: dict[str, tuple[float, asyncio.Future[Any]]] = {}  # when a class was looked at, and where it was
        self._done: dict[str, asyncio.Future[Any]] = {}  # what is computed once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = scope["type"] == "http" and scope["path"].rstrip("/").rpartition("/")[2] == PAGE
        fields = parse_qs(scope["query_string"].decode("latin-1")) if here else {}
        if FIELD not in fields or scope["method"] not in ("GET", "POST"):
            await self.app(scope, receive, send)
            return
        code = fields[FIELD][0].strip().upper()[:MAX_LETTERS]
        answer = await self._answer(Request(scope, receive), code, fields.get("since", [""])[0])
        answer.headers["cache-control"] = "no-store"
        await answer(scope, receive, send)

    async def _answer(self, request: Request, code: str, since: str) -> Response:
        written = await self._once("module", _module)
        phone, said = request.cookies.get(COOKIE, ""), ""
        whole = "text/html" in request.headers.get("accept", "")  # a browser opens it; scripts ask for a part
        if request.method == "POST":
            guess = await _form(request)
            if guess is None:
                return Response(status_code=413)
            phone = guess.get("phone", phone)
            if _TOKEN.fullmatch(phone):
                said = await asyncio.to_thread(written.take, code, phone, guess.get("step", ""), guess.get("value", ""))
            if whole and not said:
                return RedirectResponse(f"?{request.url.query}", 303)
        crowded = self._waiting >= MAX_WAITING
        now = await (self._changed(written, code, since) if since and not crowded else self._now(written, code))
        if since == written.version(now):
            return Response(status_code=204, headers={"retry-after": str(RETRY)} if crowded else None)
        new = not _TOKEN.fullmatch(phone)
        phone = secrets.token_hex(8) if new else phone
        answer = None
        if now is not None and now.revealed:
            answer = await self._once(now.step, lambda: written.measured(now.step))
        part = await asyncio.to_thread(written.part, code, now, phone, answer, said)
        found = HTMLResponse(written.page(part, code) if whole else part)
        if new and whole:
            found.set_cookie(COOKIE, phone, path=request.url.path, httponly=True, samesite="lax")
        return found

    async def _changed(self, written: Any, code: str, since: str) -> Any:
        """Where the class is: at once if that is not ``since``, else as soon as it changes, or after a while."""
        until = time.monotonic() + HOLD
        self._waiting += 1
        try:
            while True:
                now = await self._now(written, code)
                if written.version(now) != since or time.monotonic() >= until:
                    return now
                await asyncio.sleep(LOOK)
        finally:
            self._waiting -= 1

    def _now(self, written: Any, code: str) -> asyncio.Future[Any]:
        """Where the class is, or was a moment ago: all of its phones share a look."""
        when, moment = self._seen.get(code, (0.0, None))
        if moment is None or time.monotonic() - when >= LOOK:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            moment = asyncio.ensure_future(asyncio.to_thread(written.now, code))
            self._seen[code] = time.monotonic(), moment
        return asyncio.shield(moment)

    async def _once(self, name: str, work: Callable[[], Any]) -> Any:
        """What ``work`` finds, in a thread of its own, while all who want it wait; once more where it failed."""
        if name not in self._done:
            self._done[name] = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(self._done[name])
        except Exception:
            self._done.pop(name, None)
            raise


def _module() -> Any:
    importlib.import_module("ui.preload")  # before all else, see there
    return importlib.import_module("ui.learn.phone")


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form; None where it is larger than any of ours."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            return None
    return {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}


# ---------------------------------------------------------------------------------------------------------------------
# How many bytes of uploads a server holds, for one tab and in all, and when it forgets them.
#
# Streamlit keeps every file that a tab sends until the tab is closed and another visitor comes. `Limited` stands around
# the server: it counts what is kept, and refuses a file before it is kept where a limit would be passed. `forgetting`
# looks by a clock which tabs are closed, deletes their files as a browser would, and closes their sessions. All of it
# runs on the event loop of the server, so there is no lock.


TAB_BYTES, ALL_BYTES = 40 * 2**20, 200 * 2**20  # one file has at most 20 MB (`server.maxUploadSize`)
CLOSED_SECONDS = 20.0  # a tab that lost its connection may come back for so long, as for a long run (ui/runner.py)
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


# ---------------------------------------------------------------------------------------------------------------------
# Around the life of a server: enough open files, memory given back, uploads and classes forgotten by a clock.


# A tab takes four open files (its web socket and the event loop of its page's thread), a closed one keeps three while
# Streamlit keeps its session. Some systems refuse to raise the limit further than this.
OPEN_FILES = 10_240
CLASS_SECONDS = 300.0  # between looks at classes
# Options of glibc's mallopt. Each thread of a page would else take from a pool of its own, of which there are eight a
# core; a pool keeps what one page needed once. Blocks beyond 128 KiB, as of a file that was read, are no part of pools.
MALLOC = {"M_ARENA_MAX": (-8, 2), "M_MMAP_THRESHOLD": (-3, 2**17), "M_TRIM_THRESHOLD": (-1, 2**17)}


def allow_open_files() -> int | None:
    """Raise how many files this process may have open, as far as the system lets it; the new limit, None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        message = "This server may have %d files open, enough for about %d tabs; see docs/hosting.md, Limits."
        logging.getLogger(__name__).warning(message, soft, soft // 5)
    return soft


def give_memory_back() -> bool:
    """Have the C library return memory to the system, also of text in tables; whether it could be told (glibc only)."""
    import pyarrow  # heavy import

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # its own pool keeps what one file needed
    tell = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return tell is not None and all([tell(*option) for option in MALLOC.values()])


def send_at_once() -> int:
    """Let connections send small messages without a wait; to how many sockets of this process others can connect.

    asyncio does so where a socket names TCP as its protocol, as Streamlit's does not: each message of a run would wait
    up to 40 ms until the browser has said that the one before has come.
    """
    count = 0
    for number in map(int, os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ()):
        with contextlib.suppress(OSError):  # one is closed by now
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as same:
                    if same.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections get it, too
                        count += 1
    return count


async def _close_classes() -> None:
    """Delete classes whose time is over, also where no one else acts on one."""
    while True:
        await asyncio.sleep(CLASS_SECONDS)
        from ui.learn import classroom  # not at the start: it imports the simulator

        if classroom.offered():
            await asyncio.to_thread(classroom.CLASSES.forget)


@contextlib.asynccontextmanager
async def around(_: object) -> AsyncIterator[None]:
    """What `app.py` gives to Streamlit as the life of its server."""
    allow_open_files()
    give_memory_back()
    send_at_once()
    closing = asyncio.create_task(_close_classes())
    try:
        async with forgetting():
            yield
    finally:
        closing.cancel()
