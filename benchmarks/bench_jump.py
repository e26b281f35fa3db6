"""Jump simulation against the step kernels: what `bandit_core.policies.index_family.sampler` should say.

``python -m benchmarks.bench_jump`` (one core, several minutes; the step kernels take most of it, and are left out where
they would take minutes alone). Entries are processor time a trial. ``python -m benchmarks.bench_jump preset`` plays the
preset ren-1c with 10^7 users instead.
"""

from __future__ import annotations

import os
import sys
import time

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import index_family, registry
from bandit_core.simulation import costs
from bandit_core.simulation.store import Store
from benchmarks.measuring import PAPER_ARMS, UCB, instance_of, machine, name_of, print_table, private, seconds

HORIZONS = (100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
TRIALS = (32, 8, 4, 1, 1)  # the step kernels play fewer where a trial takes seconds
GROUPS = {"kind": "discrete", "values": [0.0, 0.2, 1.0, 2.0, 100.0]}
LINES = [
    UCB,
    private("heldp-ucb-b", 2.0),
    private("heldp-ucb-b", 0.2),
    private("heldp-ucb-l", 2.0),
    private("heldp-ucb-b", GROUPS, 1.0),
    private("heldp-ucb-l", GROUPS, 1.0),
]


def player(line: dict, arms: int, horizon: int, trials: int, sampler: str):
    """A measurable run of one sampler."""
    instance, rows, times = instance_of(line, arms, horizon), streams(0, 0, trials), checkpoints(horizon)

    def work(times=times):
        chosen, index_family.sampler = index_family.sampler, lambda instance, release: sampler
        try:
            registry()[line["policy"]].play(instance, rows.copy(), times, Signal())
        finally:
            index_family.sampler = chosen

    return work


def compare() -> None:
    """One row per line and horizon."""
    rows = []
    for line in LINES:
        for horizon, trials in zip(HORIZONS, TRIALS, strict=True):
            times = {}
            too_long = horizon == HORIZONS[-1] and line.get("epsilon", {}).get("kind") == "discrete"
            for sampler, count in (("jump", max(4, trials)), ("step", trials)):
                if too_long and sampler == "step":
                    continue
                work = player(line, 20, horizon, count, sampler)
                player(line, 20, min(horizon, 300_000), 1, sampler)()  # compile
                repeats = 3 if horizon <= 10**7 else 1
                times[sampler] = min(seconds(work) for _ in range(repeats)) / count
            spec = {"arms": PAPER_ARMS, "lines": [line], "horizon": horizon}
            experiment = Experiment.model_validate(spec)
            chosen = experiment.lines[0].entry.sampler(experiment.setups[0])
            step, ratio = (times["step"] * 1e3, times["step"] / times["jump"]) if "step" in times else ("", "")
            per_pull = times["jump"] / horizon * 1e9
            rows.append([name_of(line), f"{horizon:g}", times["jump"] * 1e3, per_pull, step, ratio, chosen])
            print(rows[-1], file=sys.stderr, flush=True)
    head = ["20 arms", "T", "jump, ms a trial", "jump, ns a pull", "step, ms a trial", "step / jump", "chosen"]
    print_table(head, rows)


def preset() -> None:
    """Wall-clock and processor time of a whole preset with two workers."""
    experiment = load_preset("ren-1c").with_changes(horizon=10**7)
    for line, instance in zip(experiment.lines, experiment.setups, strict=True):
        line.entry.play(instance, streams(1, 0, 1), checkpoints(1000), Signal())  # compile
    start, used = time.perf_counter(), time.process_time()
    result = simulate(experiment, jobs=2, store=Store(None, 0))
    wall, used = time.perf_counter() - start, time.process_time() - used
    print_table(
        ["ren-1c", "pulls", "processor, s", "processor / 2, s", "wall, s", "load", "estimate, s"],
        [["3 lines", f"{costs.steps(experiment):.3g}", used, used / 2, wall, f"{os.getloadavg()[0]:.1f}",
          costs.estimated_seconds(experiment, 2)]],
    )  # fmt: skip
    print_table(
        ["line", "sampler", "final regret", "standard error", "to UCB"],
        [
            [experiment.label(number), result.metadata["samplers"][number], line.mean[-1], line.stderr[-1],
             line.mean[-1] / result.lines[0].mean[-1]]
            for number, line in enumerate(result.lines)
        ],
    )  # fmt: skip


def main() -> None:
    """Print the machine, how busy it is, and the tables."""
    print(f"{machine()}; load average {os.getloadavg()[0]:.1f}", end="\n\n")
    preset() if "preset" in sys.argv[1:] else compare()


if __name__ == "__main__":
    main()
