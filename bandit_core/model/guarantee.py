"""The promise of privacy that a run keeps, and the releases that it is made of."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandit_core.model.promises import Measure, Privacy
from bandit_core.spec.number_text import write_number


@dataclass(frozen=True)
class Guarantee:
    """The privacy that a run really has. ``epsilon`` None means one budget per user, from the distribution of the
    spec. Where the budget is concentrated, ``rho`` is it, and ``epsilon`` and ``delta`` are what it gives.
    """

    model: Privacy
    words: str
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    @property
    def measure(self) -> Measure:
        """What its budget is counted in."""
        if self.rho is not None:
            return "concentrated"
        return "approximate" if self.delta > 0 else "pure"

    @property
    def failure(self) -> str:
        """The delta as a label: ``δ = 1e-6``; empty where the budget is pure."""
        return f"δ = {write_number(float(f'{self.delta:.2g}'))}" if self.delta > 0 else ""

    @property
    def budget(self) -> str:
        """The budget as a label that tells its measure: ``ε = 1, δ = 1e-6``; empty without one number for all."""
        if self.epsilon is None or self.model == "none":
            return ""
        stated = ", ".join(filter(None, (f"ε = {self.epsilon:.4g}", self.failure)))
        return stated if self.rho is None else f"ρ = {self.rho:.3g}, so {stated}"


@dataclass(frozen=True, kw_only=True)
class Release:
    """What leaves users or the curator, as one reward's (or one user's) account sees it, so that anyone can add it up.

    ``times`` counts the releases of this kind that one ``unit`` is in, at most; ``at`` says when they are made.
    ``sensitivity`` is the farthest that one unit moves what is released, in ``norm``, and ``scale`` that of the noise
    in the same units (Laplace: its scale; Gaussian and Skellam: its standard deviation, of a Skellam sum in rewards;
    l2-ball: the radius of the sphere of responses, for vectors of one model). Mechanisms whose budget is not the
    quotient of the two have ``budget`` (nats) instead, which may fail with chance ``delta`` where that is not 0. Where
    users have budgets of their own it is that of the largest.
    """

    mechanism: Literal[
        "laplace", "gaussian", "randomised response", "l2-ball", "shuffled bits", "discrete laplace", "skellam"
    ]
    released: str
    unit: Literal["one reward", "one user's context, choice and reward", "one person"]
    at: str
    times: int = 1
    norm: Literal["L1", "L2"] | None = None
    sensitivity: float | None = None
    scale: float | None = None
    budget: float | None = None
    delta: float = 0.0

    @property
    def epsilon(self) -> float | None:
        """Epsilon (nats) of one such release, pure unless it has a ``delta``; None where there is none (Gaussian)."""
        if self.mechanism == "gaussian":
            return None
        if self.budget is not None:
            return self.budget
        assert self.sensitivity is not None and self.scale is not None
        return self.sensitivity / self.scale if self.scale > 0 else np.inf
