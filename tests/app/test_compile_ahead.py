"""A server compiles in one process beside it, which gives way and ends with it."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import joblib
import pytest

from bandit_core.simulation import compile_ahead
from bandit_core.simulation.claims import alone
from ui.compile_ahead import FIRST, beside
from ui.gallery import OPENING
from ui.kinds import KINDS
from ui.menu import pages

SERVER = """
import asyncio
from ui.compile_ahead import beside

async def serve():
    async with beside(None):
        print("serving", flush=True)
        await asyncio.sleep(600)

asyncio.run(serve())
"""


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled, in place of doing so."""
    calls = []
    monkeypatch.setattr(compile_ahead, "warm", lambda *what: calls.append(what))
    return calls


def test_what_pages_show_at_first_is_compiled_first():
    shown = dict.fromkeys([OPENING, *(KINDS[page.shows].example for page in pages())])
    assert tuple(shown) == FIRST


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_of_several_processes_one_compiles(tmp_path, compiled):
    with alone(tmp_path / "compiling.lock") as mine:
        assert mine
        assert not compile_ahead.compile_alone(tmp_path, FIRST)
        assert compiled == []
    assert compile_ahead.compile_alone(tmp_path, FIRST)
    assert compiled == [(1, FIRST)]


@pytest.mark.parametrize(
    ("name", "answer", "works"),
    [
        ("kernel_folder", None, False),
        ("compiled_before", True, False),
        ("compiled_before", False, True),
        ("memory", 1e9, False),
    ],
)
def test_nothing_is_compiled_where_that_is_of_no_use(tmp_path, compiled, monkeypatch, name, answer, works):
    monkeypatch.setattr(compile_ahead, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(compile_ahead, "compiled_before", lambda: False)
    monkeypatch.setattr(compile_ahead, "memory", lambda: 4e9)
    monkeypatch.setattr(compile_ahead.joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr(compile_ahead, name, lambda: answer)
    assert compile_ahead.main(FIRST) == works
    monkeypatch.setattr(compile_ahead.joblib, "cpu_count", lambda: 1)
    assert not compile_ahead.main(FIRST)
    assert len(compiled) == works


def test_a_container_has_less_memory_than_its_machine(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(compile_ahead, "CONTAINER", limit)
    whole = compile_ahead.memory()
    limit.write_text("max\n", encoding="ascii")
    assert compile_ahead.memory() == whole
    limit.write_text("1048576\n", encoding="ascii")
    assert compile_ahead.memory() == 2**20


@pytest.mark.parametrize("setting", ["0", "", "no"])
def test_a_variable_switches_it_off(monkeypatch, setting):
    async def serve():
        async with beside(None):
            return True

    def started(*_, **__):
        raise AssertionError

    monkeypatch.setattr(asyncio, "create_subprocess_exec", started)
    monkeypatch.setenv("LAB_COMPILE_AHEAD", setting)
    assert asyncio.run(serve())


@pytest.mark.skipif(
    joblib.cpu_count() < 2 or sys.platform == "win32" or compile_ahead.memory() < compile_ahead.LEAST_MEMORY,
    reason="a small machine compiles nothing ahead",
)
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_with_the_server(tmp_path, project, end):
    settings = {"LAB_COMPILE_AHEAD": "1", "LAB_CACHE_DIR": str(tmp_path), "LAB_KERNEL_CACHE": "1"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=project,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    last = time.monotonic() + 120
    while not list(tmp_path.glob("kernels-*/compiling.lock")):
        assert time.monotonic() < last
        time.sleep(0.05)
    with alone(next(tmp_path.glob("kernels-*/compiling.lock"))) as free:
        assert not free
    server.send_signal(end)
    assert server.communicate(timeout=120)[0] == "serving\n"  # the other process holds the pipe until it ends
    with alone(next(tmp_path.glob("kernels-*/compiling.lock"))) as free:
        assert free


def test_it_ends_in_peace_while_the_server_lives(project):
    child = [sys.executable, "-m", "bandit_core.simulation.compile_ahead"]
    settings = {**os.environ, "LAB_KERNEL_CACHE": "0"}  # nothing to do
    with subprocess.Popen(
        child, cwd=project, env=settings, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.wait(timeout=120) == 0
        assert process.stderr.read() == ""
