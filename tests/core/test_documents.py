"""What the documents promise is true: the policy in one file, links, commands, tables of pages."""

import importlib
import inspect
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

import conformance as suite
import pytest
from helpers import FILES

from bandit_core import Experiment, cli, policies
from bandit_core.experiments import links
from bandit_core.experiments.experiment import View
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_line
from benchmarks import pictures
from ui import menu

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME, FILE = "noisy-greedy", "noisy_greedy"


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
def one_more_policy(policy_file) -> Iterator[None]:
    """The guide followed to the letter: in a folder that counts as bandit_core/policies."""
    folder = policy_file(FILE, FILES[FILE]).parent
    policies.__path__.append(str(folder))
    importlib.invalidate_caches()
    registry.cache_clear()
    yield
    policies.__path__.remove(str(folder))
    sys.modules.pop(f"bandit_core.policies.{FILE}", None)
    importlib.invalidate_caches()
    registry.cache_clear()


@pytest.mark.parametrize("check", [check for _, check in checks()], ids=[title for title, _ in checks()])
def test_the_policy_of_the_guide_conforms(check, one_more_policy):
    function, settings = check
    assert NAME in registry()
    function(NAME, **settings)


def test_the_guide_says_what_the_keys_of_a_view_mean():
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    rows = {
        key: cells
        for keys, cells in re.findall(r"^\| (`.+?`) \| (.*)$", guide, re.MULTILINE)
        for key in keys.split(", ")
    }
    for name, field in View.model_fields.items():
        if name not in {"worst_case", "shapes"}:  # of links of former times
            literal = get_origin(field.annotation) is Literal
            values = get_args(field.annotation) if literal else [field.get_default()]
            assert all(f"`{json.dumps(value)}`" in rows[f"`{name}`"] for value in values), name


def test_most_of_the_conformance_suite_is_run_over_it():
    assert len({title.split(" ")[0] for title, _ in checks()}) >= 12


def test_the_policy_of_the_guide_is_everywhere(one_more_policy, capsys):
    from bandit_core.__main__ import main

    assert main(["list", "policies"]) == 0
    assert NAME in capsys.readouterr().out
    experiment, problems = links.read({"lines": f"ucb,{NAME}(1,explore=0.5)"})
    assert not problems and experiment.lines[1].params == {"explore": 0.5}


SPEC = {"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)], "horizon": 300, "trials": 3}
BUDGET = {"kind": "fixed", "value": 1}


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "POLICY = 1",
        "",
        None,
        "from bandit_core.policies.ucb import POLICY",
        "raise SystemExit",
        "import a_file_beside",
    ],
)
def test_a_file_without_a_policy_of_its_own_is_refused_in_one_line(text, tmp_path, capsys):
    path = tmp_path / "own.py"
    if text is not None:
        path.write_text(text)
    assert cli.main(["run", "default", "--policy", str(path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("policy: ") and message.count("\n") == 1


def test_blocks_of_a_policy_from_a_file_belong_to_its_kernel(tmp_path, monkeypatch):
    def identity(text: str) -> bytes:
        monkeypatch.setattr(policies, "_added", {})
        registry.cache_clear()
        (tmp_path / "own.py").write_text(text.replace(NAME, "own-bits"), encoding="utf-8")
        policies.load_policy(tmp_path / "own.py")
        lines = [{"policy": "own-bits", "epsilon": BUDGET}]
        [setup] = Experiment.model_validate({**SPEC, "lines": lines}).setups
        return prepared_line(registry()["own-bits"], setup).identity

    text = FILES[FILE]
    changed = text.replace("known.counts[arm] += 1", "known.counts[arm] += 2")
    assert identity(text) == identity(text + "# prose\n") != identity(changed)
    monkeypatch.undo()
    registry.cache_clear()


ADDRESSES = re.findall(r"\(http://localhost:8501(/[\w-]*)(?:\?([^)\s]*))?\)", README)


def test_the_readme_has_links_to_try():
    assert len(ADDRESSES) >= 5


@pytest.mark.parametrize(("page", "query"), ADDRESSES)
def test_a_link_of_the_readme_opens_what_it_says(page, query):
    from urllib.parse import parse_qsl

    assert page == "/" or (ROOT / "pages" / f"{page[1:]}.py").exists()
    fields = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    own = {name for each in menu.pages() for name in f"{each.fields} {each.old_fields}".split()} | links.DISPLAY
    _, problems = links.read(fields, ignored=own)
    assert problems == []


def test_the_readme_names_every_page_and_files_that_are_named_exist():
    for path in (ROOT / "pages").glob("*.py"):
        address = "/" if path.stem == "home" else f"/{path.stem}"
        assert f"`{address}`" in README, address
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")):
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), (document, target)


def test_readme_says_what_the_picture_command_prints():
    readme = " ".join(README.split())
    assert all(message in readme for message in pictures.numbers())


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
