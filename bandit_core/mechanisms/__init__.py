"""What leaves a user's device, or a curator: one mechanism a file, each usable alone.

>>> import numpy as np
>>> from bandit_core.mechanisms import MECHANISMS
>>> MECHANISMS["ctb"].release([0.2, 0.9], 1.0, np.random.default_rng(0)).shape
(2,)

Counters are the curator's: they take a stream of rewards and release its noisy sums as it goes.

>>> from bandit_core.mechanisms import Hybrid
>>> Hybrid.calibrated(1.0).release([1, 0, 1, 1], np.random.default_rng(0)).shape
(4,)

What each tells about itself, formulas included, is found by itself:

>>> registry()["l2-ball"].pure
True
"""

from functools import cache

from bandit_core.mechanisms import description
from bandit_core.mechanisms.binary import Binary
from bandit_core.mechanisms.counter import Counter, laplace_sum_bound
from bandit_core.mechanisms.description import Description, Mechanism
from bandit_core.mechanisms.hybrid import Hybrid
from bandit_core.mechanisms.laplace import CTL
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.mechanisms.sigmoid import CTB_S, CTL_S
from bandit_core.mechanisms.signed_digits import SignedDigits
from bandit_core.mechanisms.square_root import SquareRoot
from bandit_core.spec.found import entries, found

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in (CTL, CTB, CTL_S, CTB_S)}
COUNTERS: dict[str, type[Counter]] = {counter.name: counter for counter in (Binary, Hybrid, SignedDigits, SquareRoot)}


@cache
def registry() -> dict[str, Description]:
    """Every mechanism by name: what users answer, batches of them, then counters, each in the order of the table."""
    every: list[Description] = found(__name__, "DESCRIPTION")
    place = list(entries(description.__file__))  # the kinds are its first tables
    every.sort(key=lambda one: (place.index(one.kind), place.index(one.name) if one.name in place else len(place)))
    return {one.name: one for one in every}
