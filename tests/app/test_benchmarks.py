"""Every benchmark still runs: small where it can be; else it is imported, and asked for help if it reads arguments."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bandit_core.jit import machine_code
from benchmarks import attack, load, nightly

HELPERS = {"__init__", "measuring", "visitors"}
SMALL = {  # arguments with which each is played here, in seconds on a quiet machine
    "attack": [["--small", "800 equal headings", "30 files of 20 MB in one tab", "40 guesses of 20 MB"]],
    "bench_registry": [["ucb", "linucb"]],
    "load": [["--small"], ["--tabs", "3"], ["--phones", "3"], ["--classes", "2", "--phones", "3"]],
}
HELP = {  # they play for minutes, or write what ships: only their arguments are read
    "bench_pages", "benchmark_check", "best_by_trust", "coverage", "frozen", "nightly", "processes", "stopping_check",
}  # fmt: skip
IMPORTED = {  # the same, without arguments
    "bench_peers", "first_pictures", "pictures", "play_all", "shipped",
}  # fmt: skip


def run(project: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Play a benchmark in a process of its own, with the machine code of the tests."""
    folder = machine_code.kernel_folder()
    assert folder is not None
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *words],
        cwd=project,
        env={**os.environ, "LAB_KERNEL_CACHE": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_benchmark_is_here(project):
    files = {path.stem for path in (project / "benchmarks").glob("*.py")}
    assert files == HELPERS | set(SMALL) | HELP | IMPORTED


def test_every_program_is_run_every_night_but_those_that_only_write_what_ships():
    assert {*nightly.programs()} == {*SMALL, *HELP, *IMPORTED} - nightly.MAKERS - {"nightly"}
    assert set(nightly.WAYS) <= {*nightly.programs()}


@pytest.mark.slow
def test_a_program_that_fails_at_night_is_seen(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(nightly, "WAYS", {"frozen": ["--help", "--no-such-option"]})
    monkeypatch.setattr(sys, "argv", ["nightly", str(tmp_path), "frozen"])
    assert nightly.main() == 1
    table = capsys.readouterr().out
    assert "| frozen --help | 0 |" in table and "| frozen --no-such-option | 2 |" in table
    assert "usage:" in (tmp_path / "frozen-help.txt").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="they read /proc")
@pytest.mark.parametrize(("name", "words"), [(name, words) for name in SMALL for words in SMALL[name]])
def test_a_benchmark_runs(project, name, words):
    done = run(project, name, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "|---|" in done.stdout  # its table


@pytest.mark.parametrize("name", sorted(HELP))
def test_a_benchmark_reads_its_arguments(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"benchmarks.{name}").main()
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage:")


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_a_benchmark_can_be_imported(name):
    assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_every_attack_says_what_it_should_reach():
    assert set(attack.EXPECTED) == set(attack.scenes())


def test_no_attack_is_larger_than_what_the_server_reads():
    for name, text in attack.TABLES.items():
        assert len(text().encode()) <= attack.MAX_BYTES, name


def test_a_visitor_knows_the_options_of_every_kind_of_control():
    from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
    from streamlit.proto.Slider_pb2 import Slider

    from benchmarks.visitors import Visitor

    visitor = Visitor(None, "", "")
    visitor.widgets = {
        "words": Slider(id="1", options=["a", "b"]),
        "row": ButtonGroup(id="2", options=[ButtonGroup.Option(content="c"), ButtonGroup.Option(content="d")]),
    }
    assert visitor.options("words") == ["a", "b"] and visitor.options("row") == ["c", "d"]
    visitor.choose("row", visitor.options("row")[1])
    assert list(visitor.set["2"].string_array_value.data) == ["d"]


def test_the_tabs_are_more_than_the_usual_limit_allows():
    assert 4 * load.MANY_TABS > load.USUAL_FILES
