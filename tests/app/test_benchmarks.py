"""Every benchmark can be imported and read its arguments; `benchmarks.nightly` runs them whole."""

import importlib
import sys

import pytest

from benchmarks import nightly

HELPERS = {"__init__", "measuring", "visitors"}
HELP = {  # they play for minutes: only their arguments are read
    "attack", "bench_pages", "bench_registry", "benchmark_check", "best_by_trust", "contest_check", "coverage",
    "frozen", "load", "nightly", "policy_seeds", "power_check", "processes", "stopping_check",
}  # fmt: skip
IMPORTED = {  # the same, without arguments
    "bench_peers", "drag", "first_pictures", "pictures", "play_all", "positions", "shipped",
}  # fmt: skip


def test_every_benchmark_is_here(project):
    files = {path.stem for path in (project / "benchmarks").glob("*.py")}
    assert files == HELPERS | HELP | IMPORTED


def test_every_program_is_run_every_night_but_those_that_only_write_what_ships():
    assert {*nightly.programs()} == {*HELP, *IMPORTED} - nightly.MAKERS - {"nightly"}
    assert set(nightly.WAYS) <= {*nightly.programs()}


def test_a_program_that_fails_at_night_is_seen(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(nightly, "WAYS", {"frozen": ["--help", "--no-such-option"]})
    monkeypatch.setattr(sys, "argv", ["nightly", str(tmp_path), "frozen"])
    assert nightly.main() == 1
    table = capsys.readouterr().out
    assert "| frozen --help | 0 |" in table and "| frozen --no-such-option | 2 |" in table
    assert "usage:" in (tmp_path / "frozen-help.txt").read_text()


@pytest.mark.parametrize("name", sorted(HELP))
def test_a_benchmark_reads_its_arguments(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"benchmarks.{name}").main()
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage:")


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_a_benchmark_can_be_imported(name):
    assert callable(importlib.import_module(f"benchmarks.{name}").main)
