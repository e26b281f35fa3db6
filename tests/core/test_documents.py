"""What the documents promise is true: the policy in one file, links, commands, tables of pages."""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import conformance as suite
import pytest

from bandit_core import policies
from bandit_core.experiments import links
from bandit_core.policies import registry
from ui import menu

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "adding-a-policy.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = "bold-bits"


def checks() -> Iterator[tuple[str, object]]:
    """Every check of the conformance suite that is made for each policy, with all its other settings."""
    for title, check in vars(suite).items():
        marks = {mark.args[0]: mark.args[1] for mark in getattr(check, "pytestmark", []) if mark.name == "parametrize"}
        wanted = list(inspect.signature(check).parameters) if marks else []
        if title.startswith("test_") and "name" in wanted and set(wanted) <= set(marks):
            others = [name for name in wanted if name != "name"]
            for values in itertools.product(*(marks[name] for name in others)):
                settings = dict(zip(others, values, strict=True))
                yield f"{title} {settings}", (check, settings)


@pytest.fixture(scope="module")
def one_more_policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The guide followed to the letter, in a folder of its own that counts as bandit_core/policies for a while."""
    place = re.search(r"Save it as `bandit_core/policies/(\w+)\.py`", GUIDE)
    code = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert place and code
    folder = tmp_path_factory.mktemp("policies")
    (folder / f"{place[1]}.py").write_text(code[1], encoding="utf-8")
    policies.__path__.append(str(folder))
    importlib.invalidate_caches()
    registry.cache_clear()
    yield
    policies.__path__.remove(str(folder))
    sys.modules.pop(f"bandit_core.policies.{place[1]}", None)
    registry.cache_clear()


@pytest.mark.parametrize("check", [check for _, check in checks()], ids=[title for title, _ in checks()])
def test_the_policy_of_the_guide_conforms(check, one_more_policy):
    function, settings = check
    assert NAME in registry()
    function(NAME, **settings)


def test_most_of_the_conformance_suite_is_run_over_it():
    assert len({title.split(" ")[0] for title, _ in checks()}) >= 15


def test_the_policy_of_the_guide_is_everywhere(one_more_policy, capsys):
    from bandit_core.__main__ import main

    assert main(["list", "policies"]) == 0
    assert NAME in capsys.readouterr().out
    experiment, problems = links.read({"lines": f"ucb,{NAME}(1,exploration=0.5)"})
    assert not problems and experiment.lines[1].params == {"exploration": 0.5}


ADDRESSES = re.findall(r"\(http://localhost:8501(/[\w-]*)(?:\?([^)\s]*))?\)", README)


def test_the_readme_has_links_to_try():
    assert len(ADDRESSES) >= 5


@pytest.mark.parametrize(("page", "query"), ADDRESSES)
def test_a_link_of_the_readme_opens_what_it_says(page, query):
    from urllib.parse import parse_qsl

    assert page == "/" or (ROOT / "pages" / f"{page[1:]}.py").exists()
    fields = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    own = {name for each in menu.pages() for name in each.fields.split()} | {"controls"} | links.STREAMLIT_OWN
    _, problems = links.read(fields, ignored=own)
    assert problems == []


def test_the_readme_names_every_page_and_its_files_exist():
    for path in (ROOT / "pages").glob("*.py"):
        address = "/" if path.stem == "home" else f"/{path.stem}"
        assert f"`{address}`" in README, address
    for target in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_two_commands_stand_alone_in_the_readme():
    for command in (
        ".venv/bin/pip install -r requirements.txt && .venv/bin/streamlit run app.py",
        ".venv/bin/pip install -r tests/requirements.txt && .venv/bin/python -m pytest",
    ):
        assert f"\n    python3 -m venv .venv && {command}\n" in README


def test_versions_agree():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version
    assert f"version: {version[1]}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_test_that_the_notes_on_security_name_exists(project):
    named = set(re.findall(r"`(test_\w+)`", (project / "docs" / "security.md").read_text()))
    there = {path.stem for path in (project / "tests").rglob("test_*.py")}
    assert named and named <= there
