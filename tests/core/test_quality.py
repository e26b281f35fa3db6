"""Doctests and version ranges: checked with the tests, so that no one has to remember them."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import bandit_core

ROOT = Path(__file__).parent.parent.parent


MODULES = [
    module.name
    for module in pkgutil.walk_packages(bandit_core.__path__, "bandit_core.")
    if not module.name.endswith("__main__")
]


def test_examples_in_docstrings_and_that_every_module_has_one():
    assert len(MODULES) > 100
    modules = [importlib.import_module(name) for name in ("bandit_core", *MODULES)]
    assert [module.__name__ for module in modules if not (module.__doc__ or "").strip()] == []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert [module.__name__ for module in modules if doctest.testmod(module, optionflags=options).failed] == []


def test_some_docstrings_do_hold_examples():
    assert doctest.DocTestFinder().find(bandit_core)[0].examples


@pytest.mark.parametrize("name", ["requirements.txt", "tests/requirements.txt"])
def test_requirements_have_a_lower_and_an_upper_bound(name):
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    packages = [line for line in lines if line and not line.startswith(("#", "-r "))]
    assert packages
    for line in packages:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+>=\d+(\.\d+)*,<\d+(\.\d+)*", line), line


def test_the_test_requirements_include_those_of_the_app():
    assert "-r ../requirements.txt" in (ROOT / "tests" / "requirements.txt").read_text().splitlines()
