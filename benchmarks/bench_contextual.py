"""Cost of one user with features: the engine's kernels against plain NumPy, and what ``refresh`` saves and changes.

``python -m benchmarks.bench_contextual`` (one core, a few minutes). NumPy plays a short horizon: a user costs the same
at any. The times per trial are those of T = 10^6.
"""

from __future__ import annotations

import numpy as np

from bandit_core import Experiment, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.simulation.store import Store
from benchmarks import plain_contextual
from benchmarks.measuring import fastest, machine, print_table, seconds

HORIZON, SHORT = 10**6, 2000
PLACES = [
    ({"dimension": 2, "arms": 10}, "single, d = 2, K = 10"),
    ({"dimension": 20, "arms": 10}, "single, d = 20, K = 10"),
]
MULTI = {"dimension": 20, "arms": 3, "structure": "multi", "law": {"kind": "gaussian"}, "noise": 0.05}
REFRESHES = (0.0, 0.001, 0.01, 0.05)


def experiment_of(policy: str, users: dict, horizon: int, trials: int = 1, **params) -> Experiment:
    """One line at epsilon = 1."""
    line: dict = {"policy": policy, "params": params}
    if registry()[policy].epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": 1.0}
    return Experiment.model_validate({"contexts": users, "lines": [line], "horizon": horizon, "trials": trials})


def player(policy: str, users: dict, horizon: int, **params):
    """A call that plays one trial."""
    experiment = experiment_of(policy, users, horizon, **params)
    instance, times = experiment.setups[0], checkpoints(horizon)
    return lambda: registry()[policy].play(instance, streams(0, 0, 1), times, Signal())


def against_numpy() -> None:
    """Microseconds per user: NumPy, the same policy compiled with a fresh solution for every user, and by default."""
    rows = []
    for users, words in PLACES:
        for policy, plain in plain_contextual.POLICIES.items():
            fresh = {"refresh": 0} if policy != "ldp-sgd" else {"gradient_bound": 1}
            default = {} if policy != "ldp-sgd" else fresh

            def numpy_run(plain=plain, users=users):
                return plain(users["dimension"], users["arms"], SHORT, 1.0)

            works = [
                (numpy_run, SHORT),
                (player(policy, users, 20_000, **fresh), 20_000),
                (player(policy, users, HORIZON // 5, **default), HORIZON // 5),
            ]
            times = [1e6 * time for time in fastest(works, 5)]
            rows.append([words, policy, *times, times[0] / times[1], times[0] / times[2]])
    head = [
        "users",
        "policy",
        "NumPy, µs",
        "compiled, fresh, µs",
        "compiled, default, µs",
        "ratio fresh",
        "ratio default",
    ]
    print_table(head, rows)


def per_trial() -> None:
    """Seconds of one trial of a million users, by default."""
    rows = []
    for users, words in [*PLACES, (MULTI, "multi, d = 20, K = 3")]:
        for policy in (name for name, policy in registry().items() if policy.setting == "contexts"):
            player(policy, users, 10)()
            cost = seconds(player(policy, users, HORIZON))
            estimate = registry()[policy].cost(experiment_of(policy, users, HORIZON).setups[0]) * 25e-9 * HORIZON
            rows.append([words, policy, cost, estimate])
    print_table(["users", "policy", "s per trial, T = 10^6", "what the engine estimates, s"], rows)


def refreshing() -> None:
    """What solving at growing intervals saves, and whether it changes the regret."""
    rows = []
    users, horizon = {"dimension": 20, "arms": 10}, 200_000
    for policy, trials in (("ldp-ols", 200), ("ldp-linucb", 10)):  # runs of LDP-OLS differ much from each other
        base = None
        for refresh in REFRESHES:
            cost = seconds(player(policy, users, horizon, refresh=refresh)) / horizon * 1e6
            result = simulate(
                experiment_of(policy, users, horizon, trials, refresh=refresh), store=Store(None, 0)
            ).lines[0]
            regret = result.regret[:, -1]
            base = regret if base is None else base
            change = (regret - base).mean() / base.mean()
            error = (regret - base).std(ddof=1) / np.sqrt(trials) / base.mean()
            rows.append(
                [
                    policy,
                    trials,
                    f"{refresh:g}",
                    cost,
                    float(regret.mean()),
                    f"{100 * change:+.1f} ± {100 * error:.1f} %",
                ]
            )
    head = ["policy", "runs", "refresh", "µs per user", "regret at 200,000", "change against refresh 0"]
    print_table(head, rows)


def main() -> None:
    """Print the tables."""
    print(machine(), end="\n\n")
    against_numpy()
    per_trial()
    refreshing()


if __name__ == "__main__":
    main()
