"""Thompson sampling with all draws against few: ``python -m benchmarks.bench_thompson`` (one core, a minute).

Both play the same distribution (`tests/core/test_posterior.py`, `test_lazy_posterior.py`). All draws are made by the
loop for late rewards, where nobody is late. Entries are the time with all draws over that with those that can decide,
and both in nanoseconds a pull.
"""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.simulation.prepared import prepared_lines
from benchmarks.measuring import arms_of, fastest, machine, name_of, print_table, private
from benchmarks.one_by_one import straight_call

INSTANCES = {
    "2 arms: .9, .6": [0.9, 0.6],
    "2 arms: .5, .48": [0.5, 0.48],
    "3 arms: .05, .044, .04": [0.05, 0.044, 0.04],
    "10 arms: .9, .8 to .5": [],
    "10 equal arms": [0.5] * 10,
    "100 arms: .9, .8": [0.9] + [0.8] * 99,
}
LINES = [{"policy": "thompson"}, private("ts-cf", 1.0), private("lazy-dp-ts", 1.0), private("lazy-dp-ts", 0.1)]
HORIZONS = (1_000, 10_000, 100_000, 1_000_000)


def works(means: list[float], line: dict, horizon: int):
    """Measurable runs of both samplers, and their number of pulls."""
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means] or arms_of(10)
    spec = {"arms": arms, "lines": [line], "horizon": horizon, "trials": 1}
    (prepared,) = prepared_lines(Experiment.model_validate(spec))
    trials = max(1, int(3_000_000 / horizon / len(arms)))
    for call in (straight_call(prepared), prepared.call):

        def work(call=call):
            run_kernel(call, streams(1, 0, trials), np.array([horizon]), Signal())

        yield work, horizon * trials


def main() -> None:
    """Print one table per line."""
    print(machine(), end="\n\n")
    for line in LINES:
        rows = []
        for name, means in INSTANCES.items():
            times = [fastest(list(works(means, line, horizon)), 3) for horizon in HORIZONS]
            rows.append([name, *(f"{every / few:.1f} ({every * 1e9:.0f}, {few * 1e9:.0f})" for every, few in times)])
        print_table([name_of(line), *(f"T = {horizon:g}" for horizon in HORIZONS)], rows)


if __name__ == "__main__":
    main()
