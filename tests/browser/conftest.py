"""A real server and a real Chromium. Tests are skipped, and said so, where no chromium is on PATH."""

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from server import running_server
from visitor import HANGS, Profiles, Server, Visitor

expect.set_options(timeout=HANGS)
TROUBLE = re.compile(r"Traceback|ScriptRunContext|warning", re.IGNORECASE)
# Where a browser leaves while the server writes to it, Streamlit 1.67 takes Starlette's word of that for a text frame,
# and closes what is closed. No visitor sees it, and no page can prevent it.
LEFT = re.compile(
    r"Traceback((?!Traceback).)*websocket\.receive_bytes\(\)((?!Traceback).)*WebSocketDisconnected((?!Traceback).)*"
    r"Traceback((?!Traceback).)*WebSocketDisconnected: Cannot call .send. once a close message has been sent",
    re.DOTALL,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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


@pytest.fixture(scope="session")
def profiles(chromium: Any) -> Profiles:
    return Profiles(chromium)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Where a test fails, tell what its visitors had before them, and what their servers had printed."""
    report = yield
    visit = getattr(item, "funcargs", {}).get("visits")
    if report.failed and call.when == "call" and visit is not None:
        for number, visitor in enumerate(visit.visitors, 1):
            report.sections.append((f"visitor {number}", visitor.describe()))
    return report


@pytest.fixture
def visits(profiles: Profiles, server: Server) -> Iterator[Callable[..., Visitor]]:
    """A function that lets a visitor (with a browser profile that no one else has meanwhile) open a path.

    Errors fail the test, and so does what no page may do: ask another host for anything, or put trouble into the log.
    """
    visitors: list[Visitor] = []
    message = len(server.output)

    def visit(path: str = "", **options: Any) -> Visitor:
        visitors.append(Visitor(profiles, server, **options))
        if path:
            visitors[-1].open(path)
        return visitors[-1]

    visit.visitors = visitors  # type: ignore[attr-defined]
    yield visit
    for visitor in visitors:
        visitor.leave()
    written = server.output[message:]
    assert not TROUBLE.search(LEFT.sub("", written)), written
    assert [error for visitor in visitors for error in visitor.errors] == []
    assert [address for visitor in visitors for address in visitor.foreign] == []
