"""Shared by all tests: a cache of their own, and a closing word on browser tests that could not run."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("lab", deadline=None, derandomize=True)  # neither speed nor luck decides a test
hypothesis.settings.register_profile("search", deadline=None)  # HYPOTHESIS_PROFILE=search: other examples every time
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lab"))


def pytest_configure(config: pytest.Config) -> None:
    """Compiled kernels are kept from one session to the next, stored blocks are not.

    Runs before anything imports bandit_core, which reads the variable then; subprocesses inherit it.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")  # two processes never write one cache of machine code
    folder = config.rootpath / ".pytest_cache" / f"lab-{worker}"
    os.environ["LAB_CACHE_DIR"] = str(folder)
    for name in [name for name in os.environ if name.startswith("LAB_") and name != "LAB_CACHE_DIR"]:
        del os.environ[name]
    if threading.current_thread() is threading.main_thread():  # a shell's background jobs ignore Ctrl-C, and so would
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the programs that tests start and interrupt
    for blocks in folder.glob("blocks-*"):
        blocks.unlink(missing_ok=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests need a Chromium on PATH, and one process with its one server is enough for all of them."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))
            if shutil.which("chromium") is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on PATH"))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it last of all when browser tests were skipped: a green run without them proves less."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "browser" in report.keywords]
    if skipped:
        why = "no chromium on PATH" if shutil.which("chromium") is None else "see the reasons above"
        terminalreporter.write_line(f"{len(skipped)} browser tests were SKIPPED: {why}", yellow=True, bold=True)


@pytest.fixture
def project() -> Path:
    """The folder of the project."""
    return Path(__file__).parent.parent
