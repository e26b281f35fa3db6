"""A server of the app in a process of its own, and visitors that speak its protocol as a browser does, without drawing.

A browser opens the web socket ``/_stcore/stream`` and exchanges protobuf messages: BackMsg (run the page at this
address, with these widgets) for ForwardMsg (elements, and when the page is done). So does `Visitor`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Server:
    """A running server: its port, its process, and the folder of its cache."""

    port: int
    process: int
    folder: Path
    log: Path

    def megabytes(self, field: str = "VmRSS") -> float:
        """Resident memory now (``VmRSS``) or at its highest so far (``VmHWM``), in MiB; Linux only."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))

    def seconds(self) -> float:
        """Processor time of all threads so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def disk_megabytes(self) -> float:
        """Bytes of the files with finished blocks, in MiB."""
        return sum(path.stat().st_size for path in self.folder.glob("blocks-*/*/*")) / 2**20

    def healthy(self) -> bool:
        """Whether it says within a few seconds that it is well."""
        with (
            contextlib.suppress(OSError),
            urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=30) as answer,
        ):
            return bool(answer.read() == b"ok")
        return False

    def open_files(self) -> int:
        """Files, sockets and event loops that the process holds open."""
        return len(list(Path(f"/proc/{self.process}/fd").iterdir()))

    def threads(self) -> int:
        """Threads of the process."""
        return len(list(Path(f"/proc/{self.process}/task").iterdir()))


@contextmanager
def running_server(
    folder: Path, kernels: Path, open_files: int = 0, app: Path = ROOT / "app.py", **settings: str
) -> Iterator[Server]:
    """A fresh server with an empty cache of blocks and the compiled kernels of ``kernels``.

    ``open_files`` is the soft limit that it starts with, as a shell's ``ulimit -Sn`` (0: the one of this process).
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"server.port": port, "server.headless": "true", "server.fileWatcherType": "none"}
    command = [sys.executable, "-m", "streamlit", "run", str(app)]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    if open_files:
        command = ["sh", "-c", f'ulimit -Sn {open_files} && exec "$@"', "sh", *command]
    environment = {**os.environ, "LAB_CACHE_DIR": str(folder), "LAB_KERNEL_CACHE": str(kernels), **settings}
    log = folder / f"server-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        last = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
                if answer.read() == b"ok":
                    break
            if process.poll() is not None or time.monotonic() > last:
                raise RuntimeError(log.read_text())
            time.sleep(0.1)
        yield Server(port, process.pid, folder, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def phone_asks(server: Server, query: str, body: bytes | None = None, accept: str = "*/*") -> tuple[int, str]:
    """Status and text that the server answers to a phone of a class; each request has a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"{'GET' if body is None else 'POST'} /learn?{query} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    head += f"Accept: {accept}\r\nConnection: close\r\nContent-Length: {len(body or b'')}\r\n\r\n"
    writer.write(head.encode() + (body or b""))
    answer = b""
    with contextlib.suppress(ConnectionError):  # a body that is refused is not read to its end
        while part := await reader.read(65_536):
            answer += part
    writer.close()
    start, _, text = answer.decode().partition("\r\n\r\n")
    return int(start.split()[1]), text


_FRAGMENT = ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY


class Visitor:
    """One tab: it knows the address it opened, the widgets on the page and the last picture."""

    def __init__(self, connection: Any, page: str, address: str) -> None:
        self.connection, self.page, self.address = connection, page, address
        self.hash = self.session = ""
        self.widgets: dict[str, Any] = {}  # label -> protobuf of the widget
        self.set: dict[str, WidgetState] = {}  # by id, as a browser repeats it with every message
        self.metrics: dict[str, str] = {}  # label -> number
        self.words: set[str] = set()  # markdown since the page was asked for
        self.fragments: dict[str, float] = {}  # what a browser runs again by itself, and after how many seconds
        self.picture = ""
        self.bars: list[int] = []  # of a class
        self.picture_at = 0.0  # when it came, by time.perf_counter
        self.drawn_at = 0.0  # the same of the first chart of any kind
        self.errors: list[str] = []
        self.refusals: list[str] = []  # errors and warnings, in words

    def options(self, label: str) -> list[str]:
        """The words that a slider or a row of words offers; none for other widgets."""
        return [getattr(each, "content", each) for each in getattr(self.widgets[label], "options", ())]

    async def run(self, trigger: str | None = None) -> None:
        """Ask for the page as the widgets stand, with one button pressed or none."""
        self.words, self.fragments = set(), {}
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.page_name = self.address, self.hash, self.page
        state.widget_states.widgets.extend(self.set.values())
        if trigger is not None:
            state.widget_states.widgets.add(id=trigger).trigger_value = True
        await self.connection.send(message.SerializeToString())

    async def look(self) -> None:
        """Run again what a browser runs by itself, and the page where that asks for it."""
        for fragment in tuple(self.fragments):
            message = BackMsg()
            state = message.rerun_script
            state.query_string, state.page_script_hash, state.page_name = self.address, self.hash, self.page
            state.fragment_id, state.is_auto_rerun = fragment, True
            await self.connection.send(message.SerializeToString())
            await self.settle(fragment=True)

    async def settle(self, until_picture: bool = False, fragment: bool = False) -> None:
        """Take messages until the page is done (with a picture, where one is waited for)."""
        seen = False
        while True:
            message = await self._next()
            kind = message.WhichOneof("type")
            if kind == "navigation":  # which page it became; before, the address alone decides
                self.hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.address = message.page_info_changed.query_string
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                seen = self._take(message.delta.new_element) or seen
            elif kind == "auto_rerun":
                self.fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            elif (fragment and kind == "script_finished" and message.script_finished == _FRAGMENT) or (
                kind == "script_finished"
                and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                and (seen or not until_picture)
            ):
                return

    async def _next(self) -> ForwardMsg:
        message = ForwardMsg.FromString(await self.connection.recv())
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id
        return message

    def _take(self, element: Any) -> bool:
        kind = element.WhichOneof("type")
        if kind == "alert" and element.alert.format in (element.alert.ERROR, element.alert.WARNING):
            self.refusals.append(element.alert.body)
        if kind == "plotly_chart" or (kind == "bidi_component" and "player" in element.bidi_component.component_name):
            self.drawn_at = self.drawn_at or time.perf_counter()
        if kind in ("slider", "button", "button_group", "file_uploader", "checkbox"):
            widget = getattr(element, kind)
            self.widgets[widget.label] = widget
        elif kind == "exception" or (kind == "alert" and element.alert.format == element.alert.ERROR):
            self.errors.append(str(element)[:500])
        elif kind == "markdown":
            self.words.add(element.markdown.body)
        elif kind == "metric":
            self.metrics[element.metric.label] = element.metric.body
        elif kind == "html" and "guesses" in element.html.body:
            self.bars = [int(count) for count in re.findall(r"<b>(\d+)</b>", element.html.body)]
        elif kind == "plotly_chart" and ("regret-chart" in element.plotly_chart.id):
            self.picture, self.picture_at = element.plotly_chart.spec, time.perf_counter()
            return True
        return False

    def choose(self, label: str, option: str) -> None:
        """Set a slider or a row of words to ``option``; the page hears of it with the next `run`."""
        number = self.widgets[label].id
        self.set[number] = WidgetState(id=number)
        self.set[number].string_array_value.data.append(option)

    def turn_on(self, label: str) -> None:
        """Turn a switch on; the page hears of it with the next `run`."""
        number = self.widgets[label].id
        self.set[number] = WidgetState(id=number, bool_value=True)

    async def find(self, label: str) -> None:
        """Turn on the switch behind which the page has this control, where it is not on the page."""
        if label not in self.widgets:
            self.turn_on("More")
            await self.run()
            await self.settle()

    async def move(self, label: str, option: str) -> None:
        """Move a slider of words to ``option``; returns at once, if the slider is on the page."""
        await self.find(label)
        self.choose(label, option)
        await self.run()

    async def upload(self, label: str, name: str, content: bytes) -> None:
        """Hand a file to the server as a browser does, and choose it; returns before the page has read it."""
        await self.find(label)
        message = BackMsg()
        asked = message.file_urls_request
        asked.request_id, asked.session_id = "1", self.session
        asked.file_names.append(name)
        await self.connection.send(message.SerializeToString())
        while (answer := await self._next()).WhichOneof("type") != "file_urls_response":
            pass
        urls = answer.file_urls_response.file_urls[0]
        port = self.connection.remote_address[1]
        await asyncio.to_thread(put_file, f"http://127.0.0.1:{port}", urls.upload_url, name, content)
        number = self.widgets[label].id
        self.set[number] = WidgetState(id=number)
        chosen = self.set[number].file_uploader_state_value.uploaded_file_info
        chosen.add(name=name, size=len(content), file_id=urls.file_id, file_urls=urls)
        await self.run()

    async def press(self, label: str) -> None:
        """Press a button; returns at once."""
        await self.run(self.widgets[label].id)

    def curves(self) -> list[np.ndarray]:
        """Vertical values of every trace of the last picture."""
        return curves_of(self.picture)


def put_file(base: str, place: str, name: str, content: bytes) -> None:
    """Send a file to its place, with the token of a cookie that an upload needs.

    Raises
    ------
    HTTPError
        Where the server does not take it.
    """
    with urlopen(f"{base}/_stcore/health", timeout=60) as answer:
        cookie = answer.headers["Set-Cookie"].split(";")[0]
    mark = "the-end-of-this-file"
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    headers = {
        "Cookie": cookie,
        "X-Xsrftoken": cookie.partition("=")[2],
        "Content-Type": f"multipart/form-data; boundary={mark}",
    }
    body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
    with urlopen(Request(base + place, body, headers, method="PUT"), timeout=60):
        pass


def curves_of(picture: str, axis: str = "y") -> list[np.ndarray]:
    """Values of every trace of a Plotly figure in JSON, the vertical ones or those along ``x``."""
    found = []
    for trace in json.loads(picture)["data"]:
        y = trace.get(axis, [])
        raw = isinstance(y, dict)
        found.append(
            np.frombuffer(base64.b64decode(y["bdata"]), y["dtype"]).astype(float) if raw else np.array(y, float)
        )
    return found


@asynccontextmanager
async def visiting(server: Server, page: str = "", address: str = "", cookies: str = "") -> AsyncIterator[Visitor]:
    """A tab that is open; closed like a tab, without a word, in the end."""
    url = f"ws://127.0.0.1:{server.port}/_stcore/stream"
    async with websockets.connect(
        url,
        subprotocols=["streamlit"],
        additional_headers={"Cookie": cookies} if cookies else None,
        max_size=2**26,
        ping_timeout=None,
        close_timeout=1,
        open_timeout=60,
    ) as connection:
        yield Visitor(connection, page, address)


async def opened(server: Server, page: str, address: str) -> tuple[float, str]:
    """Seconds until the picture of an address is there, and the picture as it is when the page is done."""
    start = time.perf_counter()
    async with visiting(server, page, address) as visitor:
        await visitor.run()
        await visitor.settle(until_picture=True)
        seconds = visitor.picture_at - start
        if visitor.errors:
            raise RuntimeError(visitor.errors)
        return seconds, visitor.picture
