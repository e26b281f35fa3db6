"""Thompson sampling with all draws against few: ``python -m benchmarks.bench_thompson`` (one core, a minute).

Both play the same distribution (`tests/core/test_thinned_posterior.py`, `test_lazy_posterior.py`). Entries are the time
with all draws over that with those that can decide, and both in nanoseconds a pull.
"""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment
from bandit_core.kernels import lazy_posterior, posterior, release_schedules, thinned_posterior
from bandit_core.kernels.streams import streams
from bandit_core.model import KernelCall, Signal, run_kernel
from bandit_core.policies import registry
from benchmarks.measuring import arms_of, fastest, machine, name_of, print_table, private

INSTANCES = {
    "2 arms: .9, .6": [0.9, 0.6],
    "2 arms: .5, .48": [0.5, 0.48],
    "3 arms: .05, .044, .04": [0.05, 0.044, 0.04],
    "10 arms: .9, .8 to .5": [],
    "10 equal arms": [0.5] * 10,
    "100 arms: .9, .8": [0.9] + [0.8] * 99,
}
FREE = (posterior.thompson, thinned_posterior.thompson)  # kernels with all draws, and with few
LAZY = (release_schedules.thompson, lazy_posterior.thompson)
LINES = [
    ({"policy": "thompson"}, FREE),
    (private("ts-cf", 1.0), FREE),
    (private("lazy-dp-ts", 1.0), LAZY),
    (private("lazy-dp-ts", 0.1), LAZY),
]
HORIZONS = (10_000, 100_000, 1_000_000)


def works(means: list[float], line: dict, kernels: tuple, horizon: int):
    """Measurable runs of both samplers, and their number of pulls."""
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means] or arms_of(10)
    spec = {"arms": arms, "lines": [line], "horizon": horizon, "trials": 1}
    arguments = registry()[line["policy"]].prepare(Experiment.model_validate(spec).setups[0]).arguments
    trials = max(1, int(3_000_000 / horizon / len(arms)))
    for kernel in kernels:
        call = KernelCall(kernel, arguments, len(arms))

        def work(call=call):
            run_kernel(call, streams(1, 0, trials), np.array([horizon]), Signal())

        yield work, horizon * trials


def main() -> None:
    """Print one table per line."""
    print(machine(), end="\n\n")
    for line, kernels in LINES:
        rows = []
        for name, means in INSTANCES.items():
            times = [fastest(list(works(means, line, kernels, horizon)), 3) for horizon in HORIZONS]
            rows.append([name, *(f"{every / few:.1f} ({every * 1e9:.0f}, {few * 1e9:.0f})" for every, few in times)])
        print_table([name_of(line), *(f"T = {horizon:g}" for horizon in HORIZONS)], rows)


if __name__ == "__main__":
    main()
