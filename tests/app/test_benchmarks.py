"""Every benchmark can be imported and read its arguments; `benchmarks.nightly` runs them whole."""

import importlib
import sys
from types import SimpleNamespace

import pytest

from benchmarks import nightly

HELPERS = {"__init__", "measuring", "visitors"}
PROGRAMS = {  # they play for minutes: only their arguments are read
    "attack", "bench_pages", "bench_peers", "bench_registry", "benchmark_check", "best_by_trust", "contest_check",
    "coverage", "drag", "first_pictures", "frozen", "load", "nightly", "pictures", "play_all", "policy_seeds",
    "positions", "power_check", "processes", "shipped", "stopping_check",
}  # fmt: skip


def test_every_benchmark_is_here(project):
    files = {path.stem for path in (project / "benchmarks").glob("*.py")}
    assert files == HELPERS | PROGRAMS


def test_every_program_is_run_every_night_but_those_that_only_write_what_ships():
    assert {*nightly.programs()} == PROGRAMS - nightly.MAKERS - {"nightly"} | {nightly.TESTS}
    assert set(nightly.WAYS) <= {*nightly.programs()}


def test_a_program_that_fails_at_night_is_seen(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(nightly, "WAYS", {"frozen": ["--help", "--no-such-option"]})
    monkeypatch.setattr(sys, "argv", ["nightly", str(tmp_path), "frozen"])
    assert nightly.main() == 1
    table = capsys.readouterr().out
    assert "| frozen --help | 0 |" in table and "| frozen --no-such-option | 2 |" in table
    assert "usage:" in (tmp_path / "frozen-help.txt").read_text()


def test_the_nightly_tests_are_run_by_their_mark_and_fail_the_night(monkeypatch, tmp_path):
    commands = []

    def run(command, **_):
        commands.append(command)
        return SimpleNamespace(returncode=1)

    monkeypatch.setattr(nightly.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["nightly", str(tmp_path), "tests"])
    assert nightly.main() == 1
    assert commands == [[sys.executable, "-m", "pytest", "-m", "nightly"]]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_benchmark_reads_its_arguments_before_it_plays_or_writes(name, monkeypatch, capsys):
    program = importlib.import_module(f"benchmarks.{name}")
    for words, code in (["--help"], 0), (["--no-such-option"], 2):
        monkeypatch.setattr(sys, "argv", [name, *words])
        with pytest.raises(SystemExit) as ended:
            program.main()
        assert ended.value.code == code
    assert capsys.readouterr().out.startswith("usage:")
