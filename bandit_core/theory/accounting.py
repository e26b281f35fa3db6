"""What releases add up to: pure and advanced composition, and the accounts of DP-UCB-INT."""

from __future__ import annotations

from typing import Literal

import numpy as np

Rule = Literal["calibrated", "as printed"]


def pure_composition(epsilons: np.ndarray) -> float:
    """Sum of the budgets of releases about the same reward."""
    return float(np.sum(epsilons))


def advanced_composition(epsilons: np.ndarray, delta: float) -> float:
    """Epsilon of adaptive releases with ``epsilons``, at failure probability ``delta``."""
    raise NotImplementedError


def input_epsilon(epsilon: float, delta: float, v: float) -> float:
    """Corollary 3.2: the epsilon' to run DP-UCB-INT with for a target ``epsilon``."""
    raise NotImplementedError


def release_interval(epsilon: float, delta: float, v: float, rule: Rule = "calibrated") -> int:
    """Pulls of an arm between two releases of DP-UCB-INT (f) for a target ``epsilon``."""
    raise NotImplementedError


def interval_epsilon(interval: int, v: float, delta: float, pulls: np.ndarray | float = np.inf) -> np.ndarray:
    """Epsilon really spent by releases at interval, 2 interval, ... up to ``pulls`` of one arm (inf: for ever)."""
    raise NotImplementedError
