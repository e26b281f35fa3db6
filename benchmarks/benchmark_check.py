"""Do the printed intervals of the standing benchmark hold? Plays random cells anew, with other streams and more runs.

Run ``python -m benchmarks.benchmark_check``. For ``--rows`` random rows of the file it prints the interval of the mean,
the mean of fresh runs and whether the interval holds it. Fresh runs leave an error of their own: an interval holds
where the fresh mean lies within it, its ends widened by that error (in quadrature). At least 90 % must hold; the exit
code is 1 where fewer do.

``--against FILE`` compares the intervals of all scores instead, with those of another play of the whole benchmark
(``--play-with SALT FILE`` makes one, with other streams).
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import numpy as np

from bandit_core.policies import registry
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.store import Store
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark_scores import contests, scores
from benchmarks.measuring import print_table

MORE, MOST_RUNS = 4, 10_000  # times the runs of the row
NEEDED = 0.9
NORMAL = 1.959964


def holds(low: float, high: float, mean: float, fresh: float, fresh_error: float) -> bool:
    """Whether an interval of 95 % around ``mean`` agrees with a fresh estimate and its standard error."""
    side = high - mean if fresh > mean else mean - low
    return abs(fresh - mean) <= math.hypot(side, NORMAL * fresh_error) + 1e-9 * abs(mean)


def fresh_losses(row: dict[str, Any], salt: str, jobs: int | None) -> np.ndarray:
    """The losses of a row's cell in `MORE` times its runs, with other streams, shape (runs,)."""
    task = next(task for task in benchmark.TASKS if task.name == row["task"])
    epsilon = None if math.isnan(row["epsilon"]) else float(row["epsilon"])
    cell = benchmark.Cell(registry()[row["policy"]], task, epsilon, int(row["users"]), salt)
    asked = cell.experiment(min(MOST_RUNS, MORE * int(row["runs"])))
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


def whole(path: str) -> tuple[int, int]:
    """Scores of the file whose interval holds the score of another play; prints those whose does not."""
    rows, other = benchmark.load(), benchmark.load(path)
    held, number = 0, 0
    for contest in contests(rows):
        ours, theirs = scores(rows, contest), scores(other, contest).set_index("policy")
        for row in ours.dropna(subset=["factor"]).to_dict("records"):
            fresh = theirs.loc[row["policy"]]
            error = math.log(fresh["high"] / fresh["low"]) / (2 * NORMAL)
            ends = (math.log(row[name]) for name in ("low", "high", "factor"))
            fine = holds(*ends, math.log(fresh["factor"]), error)
            held, number = held + fine, number + 1
            if not fine:
                print(contest.key, row["policy"], row["low"], row["high"], "fresh", fresh["factor"])
    return held, number


def play_with(salt: str, path: str, jobs: int | None) -> None:
    """Play the whole benchmark with other streams, and write it."""
    rows = None
    for policy in registry().values():
        print(policy.name, file=sys.stderr)
        played = benchmark.Play(policy, salt=salt).run(jobs)
        rows = played if rows is None else benchmark.replaced(rows, played)
        benchmark.write(rows, path)


def main() -> int:
    """Check, print how many intervals hold; 1 where fewer than `NEEDED` do."""
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
    held, number = whole(asked.against) if asked.against else cells(asked.rows, asked.seed, asked.jobs)
    print(f"{held} of {number} intervals hold")
    return int(held < NEEDED * number)


if __name__ == "__main__":
    sys.exit(main())
