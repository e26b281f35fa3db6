"""Which eps_min should a thresholding policy take? The heuristic of Ren et al. 2020, section 4.2.

A low threshold lets users in whose noise drowns the rest, a high one throws most responses away. The leading terms
of the regret of HeLDP-UCB-L and HeLDP-UCB-B are proportional to

    V_L = E[(1 + 4/eps)^2 | eps >= eps_min] / p_0,    V_B = E[beta(eps) | eps >= eps_min] / p_0,

with p_0 = P(eps >= eps_min) and beta(eps) = coth(eps/2)^2; the threshold with the smallest V is recommended. The
paper prints both without the condition, which would make them infinite as soon as someone has epsilon = 0.

Both weigh all answers alike. Where each bit is weighed by its noise, the leading term is proportional to

    V_w = 1 / E[tanh(eps/2)^2; eps >= eps_min],

which is at most V_B and only rises with the threshold: nobody need be ignored (see `policies.heldp_ucb_w`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import pydantic

from bandit_core.spec.budgets import BudgetDistribution, Epsilon
from bandit_core.spec.errors import refuse_if, validated
from bandit_core.spec.field_types import Finite
from bandit_core.spec.later import pd
from bandit_core.spec.notation import read_epsilon
from bandit_core.spec.own_data import remembered
from bandit_core.theory.divergences import beta, contrast

Rule = Literal["v_l", "v_b", "v_w"]


def _laplace_factor(epsilon: np.ndarray) -> np.ndarray:
    """(1 + 4/eps)^2; infinite at 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return (1 + 4 / np.asarray(epsilon, float)) ** 2


_FACTORS: dict[Rule, Callable[[np.ndarray], np.ndarray]] = {
    "v_l": _laplace_factor, "v_b": beta, "v_w": lambda epsilon: contrast(epsilon) ** 2,
}  # fmt: skip


def shares(budget: BudgetDistribution, eps_mins: np.ndarray) -> np.ndarray:
    """``p_0 = P(eps >= eps_min)`` for each threshold; shape of ``eps_mins``."""
    return budget.expect_above_each(np.ones_like, eps_mins)


def _values(budget: BudgetDistribution, eps_mins: np.ndarray, rule: Rule) -> np.ndarray:
    """V for each threshold; infinite where no one is left."""
    kept = shares(budget, eps_mins)
    total = budget.expect_above_each(_FACTORS[rule], eps_mins)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(kept > 0, 1 / total if rule == "v_w" else total / kept / kept, np.inf)


def _at(budget: BudgetDistribution, eps_min: float = 0.0, *, rule: Rule) -> float:
    """V at one threshold (by itself of everyone); infinite if no user reaches it."""
    return float(_values(budget, np.array([eps_min]), rule)[0])


# For the Laplace mechanism, for the Bernoulli mechanism, and for bits that are weighed by their noise.
v_l, v_b, v_w = partial(_at, rule="v_l"), partial(_at, rule="v_b"), partial(_at, rule="v_w")


@remembered(512)
def recommended(budget: BudgetDistribution, rule: Rule) -> float:
    """The threshold with the smallest V_L (``rule="v_l"``) or V_B (``"v_b"``).

    For one fixed epsilon exactly that epsilon; for groups of users the budget of a group; the lower one of equals.
    Over a continuous distribution the minimum is refined and then kept to four digits: V is flat there, and further
    digits would differ between machines and with them every simulated number.
    """
    if budget.fixed is not None:
        return budget.fixed
    grid = budget.candidates()
    heights = _values(budget, grid, rule)
    place = int(np.argmin(heights))
    best, height = float(grid[place]), heights[place]
    if budget.interval is None or place in (0, len(grid) - 1):
        return best
    low, high = grid[place - 1], grid[place + 1]
    for _ in range(4):
        finer = np.linspace(low, high, 41)
        finer_heights = _values(budget, finer, rule)
        nearest = int(np.argmin(finer_heights))
        low, high = finer[max(nearest - 1, 0)], finer[min(nearest + 1, 40)]
    rounded = float(f"{finer[nearest]:.4g}")
    # An atom or the end of the support is better met exactly than by a rounded neighbour.
    return rounded if _values(budget, np.array([rounded]), rule)[0] < height else best


def search(budget: BudgetDistribution, grid: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Thresholds, p_0, V_L, V_B and V_w, each of shape (thresholds,): for the ``grid``, or the whole searched curve."""
    grid = budget.candidates() if grid is None else grid
    return grid, shares(budget, grid), *(_values(budget, grid, rule) for rule in _FACTORS)


def _distribution(epsilon: Any) -> BudgetDistribution:
    found: BudgetDistribution = validated(
        Epsilon, read_epsilon(epsilon) if isinstance(epsilon, str) else epsilon, ("epsilon",)
    )
    return found


def _numbers(eps_mins: Any) -> np.ndarray:
    wrong = isinstance(eps_mins, str | bytes) or not isinstance(eps_mins, Iterable)
    refuse_if(wrong, "eps_min", eps_mins, "a list of numbers above 0")
    above_0 = tuple[Annotated[Finite, pydantic.Field(gt=0)], ...]
    return np.minimum(validated(above_0, tuple(eps_mins), ("eps_min",)), 1e300)


def thresholds(epsilon: BudgetDistribution | Any, eps_mins: Iterable[float] | None = None) -> pd.DataFrame:
    """p_0, V_L, V_B and V_w for several thresholds.

    Parameters
    ----------
    epsilon
        One ε for all users, or how it is spread: a distribution of `bandit_core.spec.budgets`, its document or its
        text, such as ``"uniform(0, 2)"``.
    eps_mins
        Thresholds to look at (numbers above 0); the searched grid when left out.

    Returns
    -------
    DataFrame
        Columns eps_min, p0, v_l, v_b, v_w, in the given order; V is infinite where no one is left. ``attrs`` holds
        under "recommended" the best thresholds for "v_l" and "v_b".

    Raises
    ------
    InputError
        When the distribution or a threshold is not valid.
    """
    distribution = _distribution(epsilon)
    curve = search(distribution, None if eps_mins is None else _numbers(eps_mins))
    frame = pd.DataFrame(dict(zip(("eps_min", "p0", "v_l", "v_b", "v_w"), curve, strict=True)))
    frame.attrs["recommended"] = {"v_l": recommended(distribution, "v_l"), "v_b": recommended(distribution, "v_b")}
    return frame
