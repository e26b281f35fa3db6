"""What can be proved: bounds on the regret that several policies share, and the threshold heuristic."""

from functools import cache

from bandit_core.model.policy import Theorem
from bandit_core.spec.found import found


@cache
def theorems() -> tuple[Theorem, ...]:
    """Every bound with a file of its own here; all others are stated by the policies that they speak of."""
    return tuple(found(__name__, "BOUND"))
