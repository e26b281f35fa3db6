"""The command that measures how often intervals hold, and what it marks."""

import numpy as np

from benchmarks import coverage


def test_one_instance_that_fails_marks_the_policy(monkeypatch):
    """Fair coins are covered; where one run of 2,000 loses a thousand times as much, nothing covers."""
    steady = np.arange(2_000) % 2.0
    rare = np.where(np.arange(2_000) == 0, 1_000.0, 0.001 * steady)
    monkeypatch.setattr(coverage, "losses", lambda policy, instance, trials: rare if instance == "rare" else steady)
    for row in coverage.rows_of("dp-imed", 2_000, 300):
        assert int(row[2].rstrip("%")) >= 93 and int(row[4].rstrip("%")) < 50 and row[-1] == "does not hold"
    monkeypatch.setattr(coverage, "losses", lambda policy, instance, trials: steady)
    assert [row[-1] for row in coverage.rows_of("dp-imed", 2_000, 300)] == ["", ""]
