"""What nginx is told: one process or several, and where a visitor goes."""

import runpy
import shutil
import socket
import subprocess
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

NGINX = "worker_processes 1; daemon off; pid {0}/pid; events {{ }} http {{ access_log off; {1} include {0}/lab.conf; }}"
PLACES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def configuration(project: Path):
    return runpy.run_path(str(project / "deploy" / "proxy.py"))["configuration"]


class Process(BaseHTTPRequestHandler):
    """An app server that answers with its port."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(self.server.server_address[1]).encode())

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def front(configuration, tmp_path):
    """Asks nginx before two servers: path and cookie in, port of the one that answered and the new cookie out."""
    if shutil.which("nginx") is None:
        pytest.skip("no nginx on PATH")
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Process) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ports = [server.server_port for server in servers]
    (tmp_path / "lab.conf").write_text(
        configuration("localhost", [f"127.0.0.1:{each}" for each in ports], f"127.0.0.1:{port}")
    )
    paths = " ".join(f"{place}_temp_path {tmp_path}/{place};" for place in PLACES)
    (tmp_path / "nginx.conf").write_text(NGINX.format(tmp_path, paths))
    process = subprocess.Popen(["nginx", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "log")])

    def ask(path: str, cookie: str = "", agent: str = "") -> tuple[int, str]:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("GET", path, headers={"Cookie": cookie and f"lab={cookie}", "User-Agent": agent})
            answer = connection.getresponse()
            body, new = answer.read().decode(), answer.headers.get("Set-Cookie", "")
        return ports.index(int(body)) + 1, new.partition(";")[0].removeprefix("lab=")

    for _ in range(200):
        try:
            ask("/")
            break
        except OSError:
            time.sleep(0.05)
    yield ask, servers
    process.terminate()
    process.wait()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_visitor_stays_and_is_led_on_when_a_process_is_gone(front):
    ask, servers = front
    for number in (1, 2):
        assert ask("/explore", f"{number}") == (number, "")
        assert ask("/_stcore/stream", f"{number}") == (number, "")
    assert {ask("/explore")[1] for _ in range(60)} == {"1", "2"}  # new visitors are shared out (all to one: 2^-59)
    assert len({ask("/media/x", agent="one browser")[0] for _ in range(9)}) == 1  # without cookies, too, one stays
    servers[0].shutdown()
    servers[0].server_close()
    assert ask("/explore", "1") == (2, "")
    assert ask("/_stcore/stream", "1") == (2, "2")  # and stays there
