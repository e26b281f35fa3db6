"""What keeping blocks costs and saves: ``python -m benchmarks.bench_store``."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bandit_core import Experiment, simulate
from bandit_core.simulation.store import Store
from benchmarks.measuring import PAPER_ARMS, UCB, machine, print_table, private

LINES = [UCB, private("heldp-ucb-b", 2.0), private("heldp-ucb-l", 2.0)]
REPEATS = 5


def main() -> None:
    """Print the table."""
    print(machine(), end="\n\n")
    rows = []
    for horizon, trials in ((10_000, 50), (100_000, 50), (100_000, 1000)):
        experiment = Experiment.model_validate(
            {"arms": PAPER_ARMS, "lines": LINES, "horizon": horizon, "trials": trials, "seed": 0}
        )
        without, first, again = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            simulate(experiment, store=Store(None, 0))
            for number in range(REPEATS if trials < 1000 else 2):
                path = Path(folder) / f"{number}.sqlite"
                for times, store in (
                    (without, Store(None, 0)),
                    (first, Store(path, 2**30)),
                    (again, Store(path, 2**30)),
                ):
                    start = time.perf_counter()
                    simulate(experiment, store=store)
                    times.append(time.perf_counter() - start)
                size = store.bytes_used()
        fastest = [min(times) for times in (without, first, again)]
        milliseconds = [1000 * seconds for seconds in fastest]
        rows.append([f"{horizon:g}", trials, *milliseconds, fastest[0] / fastest[2], size / 2**20])
    head = ["T", "trials", "no store, ms", "first run, ms", "cached rerun, ms", "no store / cached", "MiB kept"]
    print_table(head, rows)


if __name__ == "__main__":
    main()
