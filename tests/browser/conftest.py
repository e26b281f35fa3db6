"""A real server and a real Chromium. Tests are skipped, and said so, where no chromium is on PATH."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from visitor import Server, Visitor

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """A fresh server process with a cache of its own; compiled kernels come from the suite's cache."""
    from bandit_core.kernels.compiled import cache_folder, fingerprint

    kernels = f"kernels-{fingerprint()}"
    cache = folder / "cache"
    cache.mkdir()
    (cache / kernels).symlink_to(cache_folder().resolve() / kernels)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    options = {"server.port": port, "server.headless": "true", "server.fileWatcherType": "none"}
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with log.open("wb") as output:  # never a pipe: an unread one would stall the server
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "LAB_CACHE_DIR": str(cache), "LAB_JOBS": "2"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_healthy(f"http://localhost:{port}", process, log)
        yield Server(f"http://localhost:{port}", log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    last = time.monotonic() + 60
    while time.monotonic() < last:
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"{url}/_stcore/health", timeout=5) as answer:
                if answer.read() == b"ok":  # every path answers 200, so only the body tells
                    return
        except (URLError, OSError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def kernels_compiled() -> None:
    """Fill the suite's kernel cache once, so that servers start fast."""
    from bandit_core import load_preset, simulate

    simulate(load_preset("default").with_changes(horizon=50, trials=1))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, kernels_compiled: None) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visits(chromium: object, server: Server) -> Iterator[Callable[..., Visitor]]:
    """A function that lets a new visitor (with a browser profile of its own) open a path; errors fail the test."""
    visitors: list[Visitor] = []
    told = len(server.output)

    def visit(path: str, *, at: Server = server, **options: object) -> Visitor:
        visitors.append(Visitor(chromium, at, **options))
        visitors[-1].open(path)
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.leave()
    assert "Traceback" not in server.output[told:], server.output[told:]
    assert [error for visitor in visitors for error in visitor.errors] == []
