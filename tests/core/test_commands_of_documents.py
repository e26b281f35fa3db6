"""Every command of the lab that a document shows is run, in a fresh folder, with the files that documents show."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import own_policies_forgotten

from bandit_core.cli import main

ROOT = Path(__file__).resolve().parents[2]
FOLLOWED = ("tutorial.md", "extending.md")  # by tests of their own: test_tutorial.py, test_extending.py
TEXTS = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
SHOWN = {
    line: shlex.split(line, comments=True)
    for name, text in TEXTS.items()
    if name not in FOLLOWED
    for line in re.findall(r"^    (?:\.venv/bin/)?(?:python -m bandit_core|bandit-lab) ([^\n]*)$", text, re.MULTILINE)
}
SHORTER = {  # than minutes, or hours
    "reproduce": ["--trials", "2", "--out", "mine"],
    "export": ["--at", "0.5,2", "--trials", "4"],
    "run": ["--trials", "4"],
    "sweep": ["--trials", "4"],
    "price": ["--weekly", "40"],
}
ELSEWHERE = {  # run by another test
    "benchmark": "test_tutorial.py",
    "warm": "test_deploy.py",
}


def elsewhere(words: list[str]) -> str | None:
    return next((test for name, test in ELSEWHERE.items() if name in words), None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A fresh folder with the files of the guide; a policy that is loaded in it is known here only."""
    settings, study = re.findall(r"```toml\n(.*?)```", TEXTS["guide.md"], re.DOTALL)
    assert "trials = 100\n" in study
    stops = settings.replace('"ucb"', '"top-two"').replace('"heldp-ucb-b"', '"ctb-tt"').replace("10_000", "1_000_000")
    files = {
        "my-experiment.toml": settings, "my-own.toml": settings, "my-question.toml": stops,
        "my-study.toml": study.replace("trials = 100\n", "trials = 2\n"),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with own_policies_forgotten():
        yield tmp_path


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_of_a_document_runs(shown, folder, policy_file, capsys):
    policy = policy_file("noisy_greedy", re.findall(r"```python\n(.*?)```", TEXTS["tutorial.md"], re.DOTALL)[0])
    words = [str(policy) if word == "my_policy.py" else word for word in SHOWN[shown]]
    if (test := elsewhere(words)) is not None:
        assert list(ROOT.glob(f"tests/*/{test}"))
        return
    refuted = words[0] == "audit" and "ctb-as-printed" in words
    assert main([*words, *SHORTER.get(words[0], [])]) == int(refuted)
    written = words[words.index("--out") + 1] if "--out" in words else None
    assert (folder / written).exists() if written else capsys.readouterr().out


def test_the_documents_show_nearly_every_command():
    from bandit_core.export.command_options import COMMANDS

    assert {each.name for each in COMMANDS} - {words[0] for words in SHOWN.values()} <= {"app"}
