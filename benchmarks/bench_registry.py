"""What a pull costs, for every policy of the registry.

``python -m benchmarks.bench_registry`` (one core, some minutes). Ten arms at two horizons, epsilon 1; policies for
users with features with five of them. Beside it a loop that draws one reward a pull and adds it up, which is the least
that playing user by user takes. Policies that play batches, or jump over users whose arm is decided, cost less.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from bandit_core import Experiment
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, Signal
from bandit_core.policies import registry
from bandit_core.simulation.prepared import PreparedLine, prepared_lines
from bandit_core.spec.errors import InputError
from benchmarks import straight
from benchmarks.measuring import arms_of, fastest, machine, print_table, private

ARMS, HORIZONS, REPEATS = 10, (10_000, 100_000), 3
PULLS = 1_000_000  # of one call
WITH_FEATURES = {"dimension": 5, "arms": ARMS}
PARETO = [{"kind": "pareto", "mean": 1 - place / (2 * ARMS), "shape": 2.5} for place in range(ARMS)]
KINDS: dict[str, dict[str, Any]] = {
    "two-valued": {"arms": arms_of(ARMS)},
    "Pareto": {"arms": PARETO},
    "with features": {"contexts": WITH_FEATURES},
}


def prepared(policy: Policy, horizon: int) -> tuple[str, PreparedLine]:
    """On which rewards the policy is played, and its line, ready to be played.

    Raises
    ------
    LookupError
        Where it accepts none of them.
    """
    line = {"policy": policy.name} | ({} if policy.epsilon == "none" else private(policy.name, 1.0))
    for name, rewards in KINDS.items():
        with contextlib.suppress(InputError):
            spec = {**rewards, "lines": [line], "horizon": horizon, "trials": 1}
            return name, prepared_lines(Experiment.model_validate(spec))[0]
    raise LookupError(policy.name)


def pull(policy: Policy, horizon: int) -> tuple[str, float, float]:
    """On which rewards, nanoseconds a pull, and the ratio to bare draws in the same turns."""
    kind, line = prepared(policy, horizon)
    trials, times = max(1, PULLS // horizon), checkpoints(horizon)
    rows, means = streams(0, 0, trials), np.linspace(0.9, 0.5, ARMS)
    mine, draws = fastest(
        [
            (lambda: line.play(rows.copy(), times, Signal()), horizon * trials),
            (lambda: straight.bare_draws(rows.copy(), means, horizon, False), horizon * trials),
        ],
        REPEATS,
    )
    return kind, mine * 1e9, mine / draws


def main() -> None:
    """Print the table, the most expensive pulls first."""
    print(machine(), end="\n\n")
    rows = []
    for policy in registry().values():
        (kind, short, _), (_, long, ratio) = (pull(policy, horizon) for horizon in HORIZONS)
        rows.append([policy.name, kind, short, long, ratio])
    columns = ["policy", "rewards", *(f"ns a pull, T = {horizon:g}" for horizon in HORIZONS), "the latter x bare draws"]
    print_table(columns, sorted(rows, key=lambda each: -each[3]))


if __name__ == "__main__":
    main()
