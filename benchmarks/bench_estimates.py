"""What runs take over what was estimated: ``python -m benchmarks.bench_estimates [POLICY ...]`` (one core, minutes).

Every policy plays on a grid of arms (or features) and horizons; the table has processor time over
`bandit_core.simulation.costs.trial_seconds`, which no test can hold to a clock. Estimates are meant to be right within
a factor of `FAR`; what is further off is marked.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from bandit_core import Experiment, InputError
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, Signal
from bandit_core.policies import registry
from bandit_core.simulation.costs import trial_seconds
from benchmarks.measuring import arms_of, machine, print_table, private, seconds

ARMS, HORIZONS = (2, 100, 1000, 10_000), (100, 1000, 10_000, 100_000, 1_000_000)
USERS = ("single(5,10,noise=0.1)", "single(50,100,noise=0.1)", "multi(5,10,noise=0.1)", "multi(20,100,noise=0.1)")
SHORTEST, LONGEST = 0.02, 1.0  # seconds of estimated work to measure, and beyond which one trial is left out
FAR = 5.0


def settings(policy: Policy) -> list[tuple[str, dict[str, Any]]]:
    """What the policy plays on, by its name in the table."""
    if policy.setting == "contexts":
        from bandit_core.spec import notation

        return [(users, {"contexts": notation.read_contexts(users)}) for users in USERS]
    return [(f"{count} arms", {"arms": arms_of(count)}) for count in ARMS]


def ratio(policy: Policy, users: dict[str, Any], horizon: int) -> float | None:
    """Processor time over estimated time; None where the policy refuses the setting, or one trial takes too long."""
    line = {"policy": policy.name} if policy.epsilon == "none" else private(policy.name, 1.0)
    try:
        experiment = Experiment.model_validate({**users, "lines": [line], "horizon": horizon, "trials": 1})
    except InputError:
        return None
    one = trial_seconds(experiment, 0)
    if one > LONGEST:
        return None
    instance, times = experiment.setups[0], checkpoints(horizon)
    trials = max(1, math.ceil(SHORTEST / one))

    def play(trials: int = trials) -> None:
        policy.play(instance, streams(0, 0, trials), times, Signal())

    play(1)  # compile
    return min(seconds(play) for _ in range(2)) / (one * trials)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="policies to measure (default: all)")
    names = parser.parse_args().policies or list(registry())
    print(machine(), end="\n\n")
    rows, found = [], []
    for name in names:
        for users, document in settings(registry()[name]):
            ratios = [ratio(registry()[name], document, horizon) for horizon in HORIZONS]
            cells = ["" if each is None else f"{each:.2g}" for each in ratios]
            found += [each for each in ratios if each is not None]
            far = any(each is not None and not 1 / FAR <= each <= FAR for each in ratios)
            rows.append([name, users, *cells, "far off" if far else ""])
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print_table(["measured / estimated", "setting", *(f"T = {each:g}" for each in HORIZONS), ""], rows)
    print(f"{len(found)} places, from {min(found):.2g} to {max(found):.2g}")


if __name__ == "__main__":
    main()
