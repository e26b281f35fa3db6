"""Fixtures of the core's tests; assertions in their shared modules are told as those in tests are."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("helpers", "conformance", "spec_strategies")

from helpers import experiment_of, numbers  # noqa: E402

from bandit_core import simulate  # noqa: E402
from bandit_core.simulation.store import Store  # noqa: E402


@pytest.fixture(scope="session")
def reference() -> list[bytes]:
    """The numbers of the small experiment: one worker, nothing cached, uncut."""
    return numbers(simulate(experiment_of(), jobs=1, store=Store(None, 0)))


@pytest.fixture(scope="session")
def policy_file(pytestconfig: pytest.Config) -> Callable[[str, str], Path]:
    """A function that writes a policy of a name: each text at a place of its own, so that it is compiled once for all
    tests and sessions."""

    def written(name: str, text: str) -> Path:
        folder = pytestconfig.cache.mkdir("policies") / hashlib.sha256(text.encode()).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.py"
        if not path.exists():
            new = folder / f"{os.getpid()}.new"
            new.write_text(text, encoding="utf-8")
            os.utime(new, (0, 0))  # numba throws away machine code of an older file
            new.replace(path)
        return path

    return written
