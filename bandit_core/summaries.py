"""What a reader asks of a result: the final numbers, the price of privacy, and the curve in another unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bandit_core.experiment import Experiment, Quantity
from bandit_core.policies.base import Guarantee
from bandit_core.results import LineResult, Result
from bandit_core.theory.bound import TRIVIAL
from bandit_core.theory.curves import line_bounds

QUANTITY_WORDS: dict[Quantity, str] = {
    "regret": "lost reward so far (regret)",
    "regret-per-log": "regret / ln t",
    "regret-per-user": "lost reward per user",
    "price": "regret relative to no privacy",
}


@dataclass(frozen=True)
class Summary:
    """One line at the horizon. Errors are standard errors of the mean; NaN where they cannot be had."""

    line: int
    label: str
    policy: str
    trials: int
    regret: float
    stderr: float
    price: float
    price_stderr: float
    best_share: float
    guarantee: Guarantee
    bound_name: str | None
    bound: float

    @property
    def regret_over_bound(self) -> float:
        """Regret as a share of the smallest proved upper bound that says something of the policy (NaN without one)."""
        return self.regret / self.bound if self.bound > 0 else float("nan")


def baseline(experiment: Experiment, line: int) -> int | None:
    """The line without privacy to compare with: the policy's own non-private parent, else the first non-private one."""
    policy = experiment.lines[line].entry
    free = [number for number, other in enumerate(experiment.lines) if other.entry.privacy == "none"]
    if policy.privacy == "none" or not free:
        return None
    parents = [number for number in free if experiment.lines[number].policy == policy.parent]
    return (parents or free)[0]


def best_share_at_end(line: LineResult, times: np.ndarray) -> float:
    """Share of the best arms among the pulls of the last half of the run, averaged over trials."""
    start = int(np.searchsorted(times, times[-1] / 2))
    start = min(start, len(times) - 2) if len(times) > 1 else -1
    if start < 0:
        return float(line.best_pulls[:, -1].mean() / times[-1])
    won = line.best_pulls[:, -1] - line.best_pulls[:, start]
    return float(won.mean() / (times[-1] - times[start]))


def summaries(result: Result) -> list[Summary]:
    """One `Summary` per finished (or partly finished) line."""
    experiment = result.experiment
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = experiment.lines[number]
        base = baseline(experiment, number)
        other = result.lines[base] if base is not None else None
        price, price_stderr = line.ratio_to(other) if other is not None else (float("nan"), float("nan"))
        proved = [
            (float(bound.values(result.times[-1:], experiment.largest_gap)[0]), bound.label)
            for bound in line_bounds(experiment, number)
            if bound.side == "upper"
            and bound.status == "proved"
            and not bound.hidden
            and not bound.worst_case
            and bound.name != TRIVIAL  # it holds for choosing blindly, too
        ]
        value, name = min(proved) if proved else (float("nan"), None)
        rows.append(
            Summary(
                line=number,
                label=experiment.label(number),
                policy=chosen.policy,
                trials=line.count,
                regret=float(line.mean[-1]),
                stderr=float(line.stderr[-1]),
                price=price,
                price_stderr=price_stderr,
                best_share=best_share_at_end(line, result.times),
                guarantee=chosen.entry.guarantee(experiment.instances[number]),
                bound_name=name,
                bound=value,
            )
        )
    return rows


def scale(result: Result, line: int, quantity: Quantity) -> np.ndarray | None:
    """What regret is divided by at every checkpoint to give ``quantity``; None where it cannot be had."""
    times = result.times.astype(float)
    if quantity == "regret":
        return np.ones_like(times)
    if quantity == "regret-per-user":
        return times
    if quantity == "regret-per-log":
        return np.where(times > 1, np.log(np.maximum(times, 2)), np.nan)
    base = baseline(result.experiment, line)
    if base is None:
        base = line if result.experiment.lines[line].entry.privacy == "none" else None
    other = result.lines[base] if base is not None else None
    if other is None:
        return None
    return np.where(other.mean > 0, other.mean, np.nan)
