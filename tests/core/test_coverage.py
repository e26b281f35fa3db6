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
    shares = [float(cell.rstrip("%")) for row in rows for cell in row[2:10]]
    assert len(shares) == 16 and all(75 <= share <= 100 for share in shares)


@pytest.mark.parametrize("name", [*coverage.FAST, *coverage.SLOW])
def test_every_method_covers_the_mean_of_normal_runs_and_moves_with_them(name):
    method = {**coverage.FAST, **coverage.SLOW}[name]
    samples = np.random.default_rng(2).normal(10, 1, (60, 200))
    share, _ = coverage.coverage(method, samples, 10.0)
    assert share >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / 200)
    low, high = method(samples)
    assert np.all(low < samples.mean(axis=0)) and np.all(samples.mean(axis=0) < high)
    np.testing.assert_allclose(method(samples + 100).low, low + 100, rtol=1e-6)


def test_readme_says_what_the_picture_command_prints():
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert all(message in readme for message in pictures.numbers())
