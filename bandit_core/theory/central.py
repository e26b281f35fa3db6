"""Bounds under central privacy, where a trusted curator sees the rewards and what it publishes is private."""

from __future__ import annotations

import numpy as np

from bandit_core.policies.base import Instance
from bandit_core.theory import classic
from bandit_core.theory.bound import Bound


def d_eps(x: np.ndarray | float, y: np.ndarray | float, epsilon: np.ndarray | float) -> np.ndarray:
    """inf over z between x and y of epsilon |z - x| + d(z, y)."""
    raise NotImplementedError


def lower_bounds(instance: Instance) -> list[Bound]:
    """What every centrally private policy must lose on this instance."""
    return classic.lower_bounds(instance)


def private_ucb(instance: Instance) -> list[Bound]:
    """Mishra and Thakurta 2015; parameter ``variant`` ("2015" | "modern")."""
    return []


def dp_ucb_bound(instance: Instance) -> list[Bound]:
    """Tossou and Dimitrakakis 2016, Theorem 3.2; parameters ``accounting`` and ``index``."""
    return []


def dp_ucb(instance: Instance) -> list[Bound]:
    """Tossou and Dimitrakakis 2016, Theorem 3.3; parameters ``accounting`` and ``index``."""
    return []


def dp_ucb_int(instance: Instance) -> list[Bound]:
    """Tossou and Dimitrakakis 2016, Theorem 3.5; parameters ``accounting``, ``delta`` and ``v``."""
    return []


def dp_se(instance: Instance) -> list[Bound]:
    """Sajed and Sheffet 2019; parameter ``beta`` ("auto" = 1/T)."""
    return []


def adap_ucb(instance: Instance) -> list[Bound]:
    """Azize and Basu 2022, AdaP-UCB; parameter ``alpha``."""
    return []


def adap_klucb(instance: Instance) -> list[Bound]:
    """Azize and Basu 2022, AdaP-KLUCB; parameter ``alpha``."""
    return []


def lazy(instance: Instance) -> list[Bound]:
    """Lazy-DP-TS and Anytime-Lazy-UCB: the order of both."""
    return []


def dp_klucb(instance: Instance) -> list[Bound]:
    """DP-KLUCB (arXiv 2505.05613); parameter ``growth``."""
    return []


def dp_imed(instance: Instance) -> list[Bound]:
    """DP-IMED (arXiv 2505.05613); parameter ``growth``."""
    return []
