"""What it costs to wait: the loop for late feedback against the kernels for rewards that are counted at once.

``python -m benchmarks.bench_feedback`` (one core, some minutes), or with the names of policies. 20 arms, or 5 features
and 5 arms; epsilon = 1 where there is one. Who asks for no lateness is played by the other kernels, whose code knows
nothing of it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import RunSetup, Signal
from bandit_core.policies import registry
from bandit_core.spec.feedback import Feedback
from benchmarks.measuring import fastest, instance_of, machine, print_table, private

HORIZON, TRIALS, REPEATS = 100_000, 4, 3
LATE = Feedback(batch=1000, delay=100)


def _with_features(line: dict[str, Any]) -> RunSetup:
    users = {"dimension": 5, "arms": 5}
    return Experiment.model_validate({"contexts": users, "lines": [line], "horizon": HORIZON, "trials": 1}).setups[0]


def main() -> None:
    """Print one row per policy."""
    print(machine(), end="\n\n")
    rows = []
    for policy in registry().values():
        if not policy.late or policy.name not in (sys.argv[1:] or registry()):
            continue
        line = {"policy": policy.name} if policy.epsilon == "none" else private(policy.name, 1.0)
        plain = instance_of(line, 20, HORIZON) if policy.setting == "arms" else _with_features(line)

        def play(setup, policy=policy):
            policy.play(setup, streams(0, 0, TRIALS), checkpoints(HORIZON), Signal())

        late = replace(plain, feedback=LATE)
        works = [(lambda setup=setup, play=play: play(setup), HORIZON * TRIALS) for setup in (plain, late)]
        at_once, waiting = fastest(works, REPEATS)
        rows.append([policy.name, at_once * 1e9, waiting * 1e9, waiting / at_once, f"{1e-6 / waiting:.1f}"])
    print_table(["policy", "ns a pull at once", "late", "late / at once", "million pulls a second, late"], rows)


if __name__ == "__main__":
    main()
