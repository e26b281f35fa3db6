"""How many files a server may have open, what its C library is told, and that small messages do not wait."""

import platform
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from awaiting import awaited

from ui import serving

resource = pytest.importorskip("resource")
CODE = """
import resource, sys
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from ui import serving
print(serving.allow_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def allowed(project, soft: int, hard: int) -> tuple[str, str]:
    """What is allowed in the end, twice, and what the log says, for a process that starts with these limits."""
    command = [sys.executable, "-c", CODE, str(soft), str(hard)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_the_usual_limit_is_raised(project):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < serving.OPEN_FILES:
        pytest.skip("this machine allows fewer")
    out, log = allowed(project, 1024, serving.OPEN_FILES)
    assert out.split() == [str(serving.OPEN_FILES)] * 2 and "files open" not in log


def test_a_limit_that_cannot_be_raised_enough_is_in_the_log(project):
    out, log = allowed(project, 512, 2048)
    assert out.split() == ["2048", "2048"] and "2048 files open" in log


def test_a_server_tells_its_c_library_to_give_memory_back(monkeypatch):
    assert serving.give_memory_back() == (platform.libc_ver()[0] == "glibc")
    told = []
    library = SimpleNamespace(mallopt=lambda *option: told.append(option) or 1)
    monkeypatch.setattr(serving.ctypes, "CDLL", lambda _: library)

    async def live():
        async with serving.around(None):
            pass

    awaited(live())
    assert told == [(-8, 2), (-3, 131072), (-1, 131072)]


@pytest.mark.skipif(sys.platform == "win32", reason="no folder of open files")
def test_a_connection_to_the_server_sends_small_messages_at_once():
    def answers_wait(listening: socket.socket) -> bool:
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as connection:
            return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0

    with socket.socket(socket.AF_INET) as listening:  # as Streamlit makes its own
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        assert answers_wait(listening)
        assert serving.send_at_once() >= 1
        assert not answers_wait(listening)
