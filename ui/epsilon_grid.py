"""The budgets that sliders offer and curves are drawn at: one grid for all pages."""

from __future__ import annotations

import numpy as np

from bandit_core.studies.sweep import EPSILONS
from ui.page_fields import Field

SLIDER = Field(
    "eps", "Privacy budget ε: ← more private · less regret →", 1.0,
    "How much one answer may tell about the person who gave it.", allowed=EPSILONS,
)  # fmt: skip


def between(low: float, high: float) -> tuple[float, ...]:
    """The budgets of the grid from ``low`` to ``high``, both included."""
    return tuple(epsilon for epsilon in EPSILONS if low <= epsilon <= high)


def curve(low: float, high: float, points: int) -> tuple[float, ...]:
    """So many budgets from ``low`` to ``high`` in equal ratios, to three digits."""
    return tuple(float(f"{value:.3g}") for value in np.geomspace(low, high, points))
