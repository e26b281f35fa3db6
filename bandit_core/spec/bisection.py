"""Bisection: the number up to which something holds."""

import math
from collections.abc import Callable


def bisected(
    low: float, high: float, holds: Callable[[float], bool], close: float = 0.0, steps: int = 200, ratio: bool = False
) -> tuple[float, float]:
    """The ends of what is left of an interval: ``holds`` is true at the lower end and false at the upper one.

    It ends with neighbouring doubles, with ends no farther apart than ``close`` times the upper one, or after so many
    ``steps``. ``ratio``: it halves the ratio of the ends, not their distance.
    """
    for _ in range(steps):
        middle = math.sqrt(low * high) if ratio else (low + high) / 2
        if not low < middle < high or high - low <= close * high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
