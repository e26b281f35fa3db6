"""A fresh server process of the app."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from visitor import HANGS, SECONDS, Server

# A run whose visitor has gone is stopped soon, so that no test computes for nobody, nor waits for it.
STREAMLIT = "from streamlit.web import cli; from ui import runner; runner.FORGOTTEN_SECONDS = 2.0; cli.main()"


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """A server process with a cache of its own, that plays one run at a time; kernels come from the suite's cache."""
    from bandit_core.jit.decorators import code_fingerprint
    from bandit_core.paths import cache_folder

    kernels = f"kernels-{code_fingerprint()}"
    cache = folder / "cache"
    cache.mkdir()
    (cache / kernels).symlink_to(cache_folder().resolve() / kernels)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    options = {"server.port": port, "server.headless": "true", "server.fileWatcherType": "none"}
    command = [sys.executable, "-c", STREAMLIT, "run", "app.py"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with log.open("wb") as output:  # never a pipe: an unread one would stall the server
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "LAB_CACHE_DIR": str(cache), "LAB_JOBS": "1", "LAB_MAX_RUNS": "1"},
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
    last = time.monotonic() + HANGS / SECONDS
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
