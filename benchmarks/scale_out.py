"""What a Dask cluster gains: ``python -m benchmarks.scale_out [--workers 1,2,4] [--trials 600]``.

Starts a scheduler and worker processes of one thread each on this machine, and times one long run on 1, 2, ... of them
against the threads of this process (the same number, and one). More workers than cores cannot be faster here, so the
cost of shipping blocks is measured as well: the same run with all but nothing to compute. From both the last column
foretells the time on as many machines of one core each, were the network as quick as this one's loopback.
"""

from __future__ import annotations

import argparse
import os
import time

from bandit_core import Experiment, simulate
from bandit_core.simulation import cluster, costs, engine
from bandit_core.simulation.store import Store
from benchmarks.measuring import arms_of, machine, print_table


def experiment(horizon: int, trials: int) -> Experiment:
    """One line of UCB on twenty arms."""
    spec = {"arms": arms_of(20), "lines": [{"policy": "ucb"}], "horizon": horizon, "trials": trials}
    return Experiment.model_validate(spec)


def timed(work: Experiment, jobs: int) -> float:
    """Seconds of a run that finds nothing in any store."""
    start = time.perf_counter()
    simulation = engine.Simulation(work, Store(None, 0))
    simulation.run(jobs)
    if simulation.notices:
        raise RuntimeError(simulation.notices[0])
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    from dask.distributed import LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers to try (default 1,2,4)")
    parser.add_argument("--trials", type=int, default=600, help="trials of a million pulls (default 600)")
    options = parser.parse_args()
    numbers = [int(text) for text in options.workers.split(",")]
    print(machine(), end="\n\n")
    long, empty = experiment(10**6, options.trials), experiment(100, options.trials)
    engine.SHORT_RUN_SECONDS = 0.0  # send everything
    simulate(long.with_changes(trials=2), store=Store(None, 0))
    threads = {jobs: timed(long, jobs) for jobs in (1, 2)}
    pieces = len(engine.Simulation(long, Store(None, 0))._plan(2))
    rows = []
    for count in numbers:
        with LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as local:
            os.environ["LAB_DASK_SCHEDULER"] = local.scheduler_address
            timed(long.with_changes(trials=20 * count), 2)  # workers load their machine code
            seconds = timed(long, 2)
            longest, shortest = costs.LONGEST_TASK, costs.SHORTEST_TASK
            costs.LONGEST_TASK = costs.SHORTEST_TASK = costs.trial_seconds(empty, 0) * options.trials / pieces
            shipping = min(timed(empty, 2) for _ in range(3))  # the first one loads another kernel
            costs.LONGEST_TASK, costs.SHORTEST_TASK = longest, shortest
            cluster.forget()
            del os.environ["LAB_DASK_SCHEDULER"]
        rows.append([count, seconds, threads[1] / seconds, shipping, max(threads[1] / count, shipping)])
    print(f"{pieces} blocks. Threads of this process: one {threads[1]:.1f} s, two {threads[2]:.1f} s.\n")
    columns = ["workers", "seconds here", "x one thread", "shipping only, s", "foretold on as many cores, s"]
    print_table(columns, rows)


if __name__ == "__main__":
    main()
