"""Users until a decision: batches of users at once against a decision for every user, and against bare draws.

``python -m benchmarks.bench_stopping`` (one core, about half a minute). Three price pages (5, 4.4 and 4 % buy) at local
epsilon 1, 1,000 runs of each policy by its proved rule; "one by one" is the same policy with a decision for every user,
on fewer runs and a smaller cap, per user. A bare draw is one user's bit from the stream.
"""

from __future__ import annotations

import time

import numpy as np

from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies.stopping import stopping_policies
from bandit_core.studies.best_arm import StoppingSpec, play, stopping
from benchmarks import straight
from benchmarks.measuring import fastest, machine, print_table

ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.05, 0.044, 0.04)]
RUNS = 1000


def spec_of(name: str, **fields: float) -> StoppingSpec:
    """One policy on the three pages."""
    budget = {} if stopping_policies()[name].privacy == "none" else {"epsilon": 1.0}
    return StoppingSpec.of(arms=ARMS, policy=name, **{**budget, "trials": RUNS, **fields})


def main() -> None:
    """Print the tables."""
    print(machine(), end="\n\n")
    means = np.array([0.05, 0.044, 0.04])
    rows = []
    for name in stopping_policies():
        spec, single = spec_of(name), spec_of(name, growth=1.0, cap=20_000)
        (result,) = stopping([spec], jobs=1)
        users = float(result.users.sum())
        many, few = streams(0, 0, RUNS), streams(0, 0, 20)
        works = [
            (lambda spec=spec, many=many: play(spec, many, Signal()), users),
            (lambda single=single, few=few: play(single, few, Signal()), 20 * 20_000.0),
            (lambda few=few: straight.bare_draws(few.copy(), means, 20_000, False), 20 * 20_000.0),
        ]
        mine, one_by_one, draw = fastest(works, 3)
        rows.append([name, f"{users:.3g}", mine * users, one_by_one / mine, draw / mine])
    head = ["policy, proved rule", f"users in {RUNS} runs", "s on one core", "one by one / ours", "bare draws / ours"]
    print_table(head, rows)
    wall = []
    for name in ("top-two", "ctb-tt", "dp-tt", "adap-tt"):
        start = time.perf_counter()
        stopping([spec_of(name)], jobs=2)
        wall.append([name, time.perf_counter() - start])
    print_table(["two workers", "wall, s"], wall)


if __name__ == "__main__":
    main()
