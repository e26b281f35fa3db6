"""Shared by the tests of the pages."""

import contextlib
import functools
import math
from collections.abc import Iterator

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from bandit_core.policies import registry
from bandit_core.studies import best_method
from ui import runner
from ui.your_numbers import inputs

FEW_METHODS = ("ucb", "thompson", "ts-cf", "heldp-ucb-b", "dp-se", "dp-imed")  # some for each level of trust


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
    runner.FORGOTTEN_SECONDS = math.inf


@pytest.fixture(autouse=True)
def nobody_has_asked_before() -> None:
    """What other tests' visitors were answered would else be shown without a run."""
    runner.answers.clear()


QUICK_SEARCH = {
    "registry": lambda: {name: registry()[name] for name in FEW_METHODS},
    "FEWEST": 8,
    "MOST": 8,
    "LESS": 0,
    "ENOUGH": 0,
    "PRECISE": 1e9,
}
WHOLE_SEARCH = {name: getattr(best_method, name) for name in QUICK_SEARCH}


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    runner.answers.clear()
    with pytest.MonkeyPatch.context() as replaced:
        for name, value in QUICK_SEARCH.items():
            replaced.setattr(best_method, name, value)
        replaced.setattr(runner, "LIVE_SECONDS", math.inf)
        replaced.setattr(inputs, "TRIALS", 60)
        yield
    runner.answers.clear()


@pytest.fixture
def quick_answers() -> Iterator[None]:
    """Your numbers answers on the spot, with few runs and a short search for the best method."""
    with _quick():
        yield


@pytest.fixture(scope="module")
def quick_answers_in_the_file() -> Iterator[None]:
    """The same for all tests of a file, so that caches keep what they took in."""
    with _quick():
        yield


@pytest.fixture
def whole_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The search for the best method is that of a visitor."""
    runner.answers.clear()
    for name, value in WHOLE_SEARCH.items():
        monkeypatch.setattr(best_method, name, value)
    yield
    runner.answers.clear()
