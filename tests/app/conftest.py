"""Shared by the tests of the pages."""

from __future__ import annotations

import functools
import math

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from ui import background, runner


@pytest.fixture(scope="session", autouse=True)
def one_server() -> None:
    """What a server does once, AppTest does for every visitor and every run: here it is done once, too.

    That is the search of all installed packages for components, and the compilation of the pages.
    """
    manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
    compiled = ScriptCache()
    app_test.ScriptCache = local_script_runner.ScriptCache = lambda: compiled


@pytest.fixture(scope="session", autouse=True)
def nobody_leaves() -> None:
    """A test's visitor has no browser tab, and a slow machine would stop the runs of those who are gone."""
    background.FORGOTTEN_SECONDS = math.inf


@pytest.fixture(autouse=True)
def nobody_has_asked_before() -> None:
    """What other tests' visitors were answered would else be shown without a run."""
    runner.answers.clear()
