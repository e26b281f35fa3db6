"""Around the server: the phones of a class. A phone gets a small page of its own, and waits in one open request.

Its page is plain HTML. Without scripts it loads again every few seconds. With them, a request with the field ``since``
is answered as soon as the class has moved on, and after `HOLD` seconds if it has not.
"""

from __future__ import annotations

import asyncio
import importlib
import re
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
