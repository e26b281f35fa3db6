"""docs/tutorial.md is true: its files are saved and its commands run, in their order, in a fresh folder."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from helpers import own_policies_forgotten

from bandit_core.cli import main
from bandit_core.studies import benchmark

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^Save it as `([^`]+)`:\n\n```\w+\n(.*?)```|^```(python)\n(.*?)```|^    (python -m [^\n]*)$",
    TUTORIAL,
    re.DOTALL | re.MULTILINE,
)


def test_every_policy_of_the_tutorial_takes_at_most_45_lines() -> None:
    files = [text for name, text, *_ in STEPS if "POLICY = " in text]
    assert len(files) == 3
    assert [text for text in files if sum(bool(line.strip()) for line in text.splitlines()) > 45] == []


@pytest.fixture
def fresh_folder(pytestconfig: pytest.Config, worker_id: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here the reader works, always at the same place, so that its kernels are compiled once.

    The benchmark plays fewer runs of every task, else it would take minutes.
    """
    folder = Path(pytestconfig.cache.mkdir(f"tutorial-{worker_id}")) / "mine"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(benchmark, "LEAST", 8)
    monkeypatch.setattr(benchmark, "MOST", 8)
    return folder


def test_the_tutorial_is_followed_to_the_letter(fresh_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = {}
    for name, text, _, code, command in STEPS:
        if name:
            (fresh_folder / name).write_text(text, encoding="utf-8")
            os.utime(fresh_folder / name, (0, 0))  # numba throws away machine code of an older file
            continue
        with own_policies_forgotten():  # each command starts with what it names itself
            if code:
                exec(compile(code, "tutorial", "exec"), {})
            else:
                _, _, package, *words = command.split()
                if package == "pytest":
                    tried = [sys.executable, "-m", package, "-c", os.devnull, "-p", "no:cacheprovider", *words]
                    print(subprocess.check_output(tried, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}))
                else:
                    assert package == "bandit_core" and main(words) == 0, capsys.readouterr().err
        printed[code or command] = capsys.readouterr().out
    assert len(printed) == 15
    assert "10 passed, 3 skipped" in printed["python -m pytest test_noisy_greedy.py"]
    checked = [text for command, text in printed.items() if "check-policy" in command]
    assert len(checked) == 3 and not any("does not hold" in text for text in checked)
    for check, text in itertools.product(("description", "numbers", "plain Python", "guarantee", "account"), checked):
        assert f": {check}: holds. " in text
    for picture in ("curves.pdf", "study.pdf"):
        assert (fresh_folder / picture).read_bytes().startswith(b"%PDF")
    assert (fresh_folder / "study.tex").read_text(encoding="utf-8").count(r"\pm") >= 3 * 2 * 2 * 2
    [tests] = [text for command, text in printed.items() if "study.toml" in command and "--compare" in command]
    assert "p_corrected" in tests and "Noisy greedy" in tests
    assert "Noisy greedy" in (fresh_folder / "final.tex").read_text(encoding="utf-8")
    rank = pd.read_csv(fresh_folder / "rank.csv")
    mine = rank[rank["policy"] == "noisy-greedy"]
    assert len(mine) >= 1 and (mine["factor"] > 1).all() and rank["policy"].nunique() > 5
    study = pd.read_csv(fresh_folder / "study.csv")
    assert len(study[study["policy"] == "noisy-greedy"]) == 3 * 2 * 2 * 2
