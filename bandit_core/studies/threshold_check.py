"""Does V predict regret? The threshold heuristic held against simulation (Ren et al. 2020, section 4.2, Figure 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.simulation.results import Drawable
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.later import pd
from bandit_core.theory import threshold

WEIGHED = "heldp-ucb-bw"  # ignores no one
MECHANISMS = {
    "heldp-ucb-l": ("Laplace", threshold.v_l),
    "heldp-ucb-b": ("Bernoulli", threshold.v_b),
    WEIGHED: ("Bernoulli, weighed", threshold.v_w),
}
MAX_THRESHOLDS = 8
# Users from which on the check is fair: before, small budgets have not begun to separate the arms. With the default
# arms and five groups of users R² is 0.57 at 10^4 users, 0.95 at 10^6 and 0.998 at 10^7.
ENOUGH_USERS = 10**7
STRAIGHT = 0.99  # an R² from which on the points are called a straight line


def spread_thresholds(distribution: BudgetDistribution, count: int = MAX_THRESHOLDS) -> np.ndarray:
    """At most ``count`` thresholds worth simulating: every positive atom, or quantiles of a continuous distribution."""
    values, probabilities = distribution.atoms
    atoms = values[(values > 0) & (probabilities > 1e-9)]
    if distribution.interval is None:
        keep = np.unique(np.linspace(0, len(atoms) - 1, min(count, len(atoms))).round().astype(int))
        return atoms[keep]
    grid = distribution.candidates()
    shares = np.array([distribution.share_above(value) for value in grid])
    wanted = np.linspace(0.97 * shares.max(), 0.08 * shares.max(), count)
    return np.unique(grid[[int(np.argmin(np.abs(shares - share))) for share in wanted]].round(3))


def experiment_of(base: Experiment, distribution: BudgetDistribution, thresholds: np.ndarray) -> Experiment:
    """``base`` with a line per mechanism and threshold, and weighed bits (arms, horizon, trials and seed are kept)."""
    epsilon = distribution.model_dump(mode="json", exclude_none=True)
    lines: list[dict[str, Any]] = [
        {
            "policy": policy,
            "epsilon": epsilon,
            "params": {"eps_min": float(value)},
            "label": f"{name}, ε_min = {value:g}",
        }
        for policy, (name, _) in MECHANISMS.items()
        for value in thresholds
        if policy != WEIGHED
    ]
    lines.append({"policy": WEIGHED, "epsilon": epsilon, "label": MECHANISMS[WEIGHED][0]})
    return base.with_changes(lines=lines, title="Regret against the threshold", note="")


def points(result: Drawable) -> pd.DataFrame:
    """One row per finished line: ``line, label, policy, eps_min, v, regret, stderr`` (regret at the horizon).

    ``eps_min`` is 0 where no one is ignored.
    """
    rows = []
    for number, (line, setup) in enumerate(zip(result.lines, result.experiment.setups, strict=True)):
        policy = result.experiment.lines[number].policy
        if line is None or policy not in MECHANISMS or setup.epsilon is None:
            continue
        eps_min = getattr(setup.parameters, "eps_min", 0.0)
        named = (number, result.experiment.label(number), policy, eps_min)
        v = MECHANISMS[policy][1](setup.epsilon, eps_min)
        rows.append((*named, v, float(line.mean[-1]), float(line.stderr[-1])))
    return pd.DataFrame(rows, columns=["line", "label", "policy", "eps_min", "v", "regret", "stderr"])
