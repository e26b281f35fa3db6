"""docs/tutorial.md is true: its files are saved and its commands run, in their order, in a fresh folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^Save it as `([^`]+)`:\n\n```\w+\n(.*?)```|^```(python)\n(.*?)```|^    (python -m [^\n]*)$",
    TUTORIAL,
    re.DOTALL | re.MULTILINE,
)
FEWER = "from bandit_core.studies import benchmark; benchmark.LEAST = benchmark.MOST = 20; "  # runs of a task


def words_of(command: str) -> list[str]:
    """What runs a command of the tutorial; the benchmark plays fewer runs of every task, else it would take minutes."""
    _, _, *words = command.split()
    if words[1] != "benchmark":
        return [sys.executable, "-m", *words]
    return [sys.executable, "-c", f"{FEWER}from bandit_core.cli import main; raise SystemExit(main({words[1:]}))"]


def test_every_policy_of_the_tutorial_takes_at_most_45_lines() -> None:
    files = [text for name, text, *_ in STEPS if name.endswith(".py")]
    assert len(files) == 3
    assert [text for text in files if sum(bool(line.strip()) for line in text.splitlines()) > 45] == []


def test_the_tutorial_is_followed_to_the_letter(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = {}
    for name, text, python, code, command in STEPS:
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        words = [sys.executable, "-c", code] if python else words_of(command)
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        printed[code or command] = done.stdout
    assert len(printed) == 13
    checked = [text for command, text in printed.items() if "check-policy" in command]
    assert len(checked) == 3 and all("does not hold" not in text and ": holds" in text for text in checked)
    for picture in ("curves.pdf", "study.pdf"):
        assert (tmp_path / picture).read_bytes().startswith(b"%PDF")
    assert (tmp_path / "study.tex").read_text(encoding="utf-8").count(r"\pm") >= 3 * 2 * 2 * 2
    [tests] = [text for command, text in printed.items() if "study.toml" in command and "--compare" in command]
    assert "p_corrected" in tests and "Noisy greedy" in tests
    assert "Noisy greedy" in (tmp_path / "final.tex").read_text(encoding="utf-8")
    rank = pd.read_csv(tmp_path / "rank.csv")
    mine = rank[rank["policy"] == "noisy-greedy"]
    assert len(mine) >= 1 and (mine["factor"] > 1).all() and rank["policy"].nunique() > 5
    study = pd.read_csv(tmp_path / "study.csv")
    assert len(study[study["policy"] == "noisy-greedy"]) == 3 * 2 * 2 * 2
