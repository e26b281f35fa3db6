"""What leaves a user's device, or a curator: one mechanism a file, each usable alone.

>>> import numpy as np
>>> from bandit_core.mechanisms import MECHANISMS
>>> MECHANISMS["ctb"].release([0.2, 0.9], 1.0, np.random.default_rng(0)).shape
(2,)
"""

from bandit_core.mechanisms.base import Mechanism
from bandit_core.mechanisms.laplace import CTL
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.mechanisms.sigmoid import CTB_S, CTL_S

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in (CTL, CTB, CTL_S, CTB_S)}

__all__ = ["CTB", "CTB_S", "CTL", "CTL_S", "MECHANISMS", "Mechanism"]
