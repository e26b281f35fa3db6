"""The public interface: everything that is promised is there, is documented, and what the README shows runs."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bandit_core
from bandit_core import cli, policies
from bandit_core.literature.papers import errata
from bandit_core.policies import registry

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README + GUIDE + AUDIT, re.DOTALL)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in bandit_core.__all__ if not inspect.getdoc(getattr(bandit_core, name))] == []
    assert dir(bandit_core) == sorted(bandit_core.__all__)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        bandit_core.no_such_name  # noqa: B018


def test_the_start_imports_neither_studies_nor_papers() -> None:
    code = "import sys, bandit_core; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "bandit_core.simulation.engine" in loaded
    assert not {"bandit_core.studies", "bandit_core.literature", "bandit_core.auditing"} & loaded


def test_every_command_that_computes_has_its_function() -> None:
    commands = set(re.findall(r"^    python -m bandit_core ([\w-]+)", GUIDE, re.MULTILINE))
    same = {
        "run": "simulate",
        "check": "Experiment",
        "link": "address",
        "export": "lesson",
        "check-policy": "check_policy",
    }
    assert {"run", "sweep", "bounds", "releases", "errata", "thresholds", "audit", "reproduce"} <= commands
    assert {same.get(name, name) for name in commands - {"list"}} <= set(bandit_core.__all__)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_an_example_of_readme_or_guide_runs_on_public_names_alone(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {node.module: node.names for node in ast.walk(ast.parse(example)) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in modules if module and module.startswith("bandit_core")}
    assert ours == {"bandit_core"}
    assert {alias.name for alias in modules["bandit_core"]} <= set(bandit_core.__all__)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {})


def test_the_document_of_the_guide_is_a_valid_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (document,) = [text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "[axes]" not in text]
    (tmp_path / "mine.toml").write_text(document, encoding="utf-8")
    assert cli.main(["check", str(tmp_path / "mine.toml")]) == 0
    assert capsys.readouterr().out == "ok\n"


def test_readme_and_changelog_count_what_there_is() -> None:
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    ships = sum(policies.source_of(name) is None for name in registry())
    assert f"beside {ships} others" in README and f"- {ships} policies: " in changes
    checked = sum(erratum.evidence is not None for erratum in errata())
    assert f" {checked} errata with checks, " in changes
