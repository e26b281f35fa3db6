"""The promise of privacy that a run keeps, and the releases that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Privacy = Literal["none", "local", "central"]
PRIVACY_WORDS: dict[Privacy, str] = {
    "none": "no privacy: the learner sees every reward as it is",
    "local": "local DP: nobody is trusted, each reward is randomised before it leaves its user",
    "central": "central DP: a trusted curator sees the rewards, what it publishes is private",
}


@dataclass(frozen=True)
class Guarantee:
    """The privacy that a run really has. ``epsilon`` None means one budget per user, from the distribution of the
    spec.
    """

    model: Privacy
    words: str
    epsilon: float | None = None
    delta: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Release:
    """What leaves users or the curator, as one reward's (or one user's) account sees it, so that anyone can add it up.

    ``times`` counts the releases of this kind that one ``unit`` is in, at most; ``at`` says when they are made.
    ``sensitivity`` is the farthest that one unit moves what is released, in ``norm``, and ``scale`` that of the noise
    in the same units (Laplace: its scale; Gaussian: its standard deviation). Mechanisms whose budget is not the
    quotient of the two have ``budget`` (nats) instead. Where users have budgets of their own it is that of the largest.
    """

    mechanism: Literal["laplace", "gaussian", "randomised response", "l2-ball"]
    released: str
    unit: Literal["one reward", "one user's context, choice and reward", "one person"]
    at: str
    times: int = 1
    norm: Literal["L1", "L2"] | None = None
    sensitivity: float | None = None
    scale: float | None = None
    budget: float | None = None

    @property
    def epsilon(self) -> float | None:
        """Pure epsilon (nats) of one such release; None where there is none (Gaussian)."""
        if self.mechanism == "gaussian":
            return None
        if self.budget is not None:
            return self.budget
        assert self.sensitivity is not None and self.scale is not None
        return self.sensitivity / self.scale if self.scale > 0 else np.inf
