"""Do the printed intervals of the standing benchmark hold? Plays its cells anew, with other streams.

``python -m benchmarks.benchmark_check`` draws ``--rows`` random rows of the whole file (presets/benchmark.csv, one row
for each cell), plays each of these cells with `MORE` times its runs, and asks whether the printed interval of the
row's mean holds the fresh mean.

``--play-with SALT FILE`` plays the whole benchmark with other streams, and ``--against FILE`` asks the same of every
row that both files have.

A fresh mean has an error of its own: an interval holds where the fresh value lies within it, its ends widened by that
error (in quadrature). At least 90% of the rows must hold; the exit code is 1 where fewer do. Not checked: the columns
without an interval (spread, tail, halves), and scores, whose intervals are over tasks.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core.policies import registry
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.store import Store
from bandit_core.studies import benchmark
from benchmarks.measuring import print_table

if TYPE_CHECKING:
    import pandas as pd

CELL = ["policy", "task", "epsilon", "users"]
MORE, MAX_RUNS = 4, 10_000  # times the runs of the row
NEEDED = 0.9
NORMAL = 1.959964


def holds(low: float, high: float, mean: float, fresh: float, fresh_error: float) -> bool:
    """Whether an interval of 95% around ``mean`` agrees with a fresh estimate and its standard error."""
    side = high - mean if fresh > mean else mean - low
    return abs(fresh - mean) <= math.hypot(side, NORMAL * fresh_error) + 1e-9 * abs(mean)


def fresh_losses(row: dict[str, Any], salt: str, jobs: int | None) -> np.ndarray:
    """The losses of a row's cell in `MORE` times its runs, with other streams, shape (runs,)."""
    task = next(task for task in benchmark.TASKS if task.name == row["task"])
    epsilon = None if math.isnan(row["epsilon"]) else float(row["epsilon"])
    cell = benchmark.Cell(registry()[row["policy"]], task, epsilon, int(row["users"]), salt)
    asked = cell.experiment(min(MAX_RUNS, MORE * int(row["runs"])))
    [line] = Simulation(asked, Store(None, 0)).run(jobs).lines
    assert line is not None
    return np.asarray(line.regret[:, -1])


def cells(rows: int, seed: int, jobs: int | None) -> tuple[int, int]:
    """Intervals of random rows that hold, and how many there are; prints each."""
    chosen = benchmark.load().sample(rows, random_state=seed).to_dict("records")
    table, held = [], 0
    for row in chosen:
        losses = fresh_losses(row, f"check {seed}", jobs)
        fresh, error = float(losses.mean()), float(losses.std(ddof=1)) / math.sqrt(len(losses))
        fine = holds(row["low"], row["high"], row["mean"], fresh, error)
        held += fine
        name = f"{row['policy']} {row['task']} {row['epsilon']:g} {row['users']}"
        table.append([name, f"{row['low']:.4g} to {row['high']:.4g}", f"{fresh:.4g} ± {error:.2g}", str(fine)])
    print_table(["row", "interval", "fresh mean", "holds"], table)
    return held, len(table)


def same_rows(rows: pd.DataFrame, other: pd.DataFrame) -> tuple[int, int]:
    """Intervals of rows that hold the mean of the same cell in ``other``, and how many there are; prints the others."""
    both = rows.merge(other, on=CELL, suffixes=("", "_fresh"))
    held = 0
    for row in both.to_dict("records"):
        error = row["sd_fresh"] / math.sqrt(row["runs_fresh"])
        fine = holds(row["low"], row["high"], row["mean"], row["mean_fresh"], error)
        held += fine
        if not fine:
            print(*(row[name] for name in CELL), row["low"], row["high"], "fresh", row["mean_fresh"])
    return held, len(both)


def play_with(salt: str, path: str, jobs: int | None) -> None:
    """Play the whole benchmark with other streams, and write it."""
    rows = None
    for policy in registry().values():
        print(policy.name, file=sys.stderr)
        played = benchmark.Play(policy, salt=salt).run(jobs)
        rows = played if rows is None else benchmark.replaced(rows, played)
        benchmark.write(rows, path)


def main() -> int:
    """Check, print how many intervals hold; 1 where fewer than `NEEDED` of a kind do."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--rows", type=int, default=40)
    options.add_argument("--seed", type=int, default=1, help="of the choice of rows and of the fresh streams")
    options.add_argument("--jobs", type=int, default=None)
    options.add_argument("--against", metavar="FILE")
    options.add_argument("--play-with", nargs=2, metavar=("SALT", "FILE"))
    asked = options.parse_args()
    if asked.play_with:
        play_with(*asked.play_with, asked.jobs)
        return 0
    if asked.against:
        rows, other = benchmark.load(), benchmark.load(asked.against)
        found = {"rows": same_rows(rows, other)}
    else:
        found = {"rows": cells(asked.rows, asked.seed, asked.jobs)}
    for what, (held, number) in found.items():
        print(f"{held} of {number} intervals of {what} hold ({held / max(1, number):.1%})")
    return int(any(held < NEEDED * number for held, number in found.values()))


if __name__ == "__main__":
    sys.exit(main())
