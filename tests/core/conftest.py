"""Fixtures of the core's tests; assertions in their shared modules are told as those in tests are."""

import pytest

pytest.register_assert_rewrite("helpers", "conformance", "spec_strategies")

from helpers import experiment_of, numbers  # noqa: E402

from bandit_core import simulate  # noqa: E402
from bandit_core.simulation.store import Store  # noqa: E402


@pytest.fixture(scope="session")
def reference() -> list[bytes]:
    """The numbers of the small experiment: one worker, nothing cached, uncut."""
    return numbers(simulate(experiment_of(), jobs=1, store=Store(None, 0)))
