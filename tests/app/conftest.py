"""Shared by the tests of the pages."""

from __future__ import annotations

import math

import pytest

from ui import runner


@pytest.fixture(autouse=True)
def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's visitor has no browser tab, and a slow machine would stop the runs of those who are gone."""
    monkeypatch.setattr(runner, "FORGOTTEN_SECONDS", math.inf)


@pytest.fixture(autouse=True)
def nobody_has_asked_before() -> None:
    """What other tests' visitors were answered would else be shown without a run."""
    runner.answers.clear()
