"""The command that measures how often intervals hold, and the numbers that README says of its picture."""

import numpy as np
import pytest

from bandit_core.paths import ROOT
from benchmarks import coverage, pictures


def cells(text, policy):
    return [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith(f"| {policy} ")
    ]


def test_the_command_prints_a_row_for_each_size(capsys):
    coverage.main(["--policy", "ucb", "--trials", "400", "--samples", "50"])
    rows = cells(capsys.readouterr().out, "ucb")
    assert [row[1] for row in rows] == ["50", "200"]
    shares = [float(cell.rstrip("%")) for row in rows for cell in row[2:9] if cell]
    assert len(shares) == 12 and all(75 <= share <= 100 for share in shares)


def test_one_instance_that_fails_marks_the_policy(monkeypatch):
    """Fair coins are covered; where one run of 2,000 loses a thousand times as much, nothing covers."""
    steady = np.arange(2_000) % 2.0
    rare = np.where(np.arange(2_000) == 0, 1_000.0, 0.001 * steady)
    monkeypatch.setattr(coverage, "losses", lambda policy, instance, trials: rare if instance == "rare" else steady)
    for row in coverage.rows_of("dp-imed", 2_000, 300):
        assert int(row[2].rstrip("%")) >= 93 and int(row[4].rstrip("%")) < 50 and row[-1] == "does not hold"
    monkeypatch.setattr(coverage, "losses", lambda policy, instance, trials: steady)
    assert [row[-1] for row in coverage.rows_of("dp-imed", 2_000, 300)] == ["", ""]


@pytest.mark.parametrize("name", ["Student or Hall", *coverage.METHODS])
def test_every_method_covers_the_mean_of_normal_runs_and_moves_with_them(name):
    method = coverage.METHODS.get(name, coverage.interval)
    samples = np.random.default_rng(2).normal(10, 1, (60, 200))
    share, _ = coverage.coverage(method, samples, 10.0)
    assert share >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / 200)
    low, high = method(samples)
    assert np.all(low < samples.mean(axis=0)) and np.all(samples.mean(axis=0) < high)
    np.testing.assert_allclose(method(samples + 100).low, low + 100, rtol=1e-6)


def test_readme_says_what_the_picture_command_prints():
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert all(message in readme for message in pictures.numbers())
