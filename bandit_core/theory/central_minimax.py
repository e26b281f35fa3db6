"""What the hardest instance costs every policy of a trusted curator: as printed, with its range, and derived here."""

import math

import numpy as np

from bandit_core.model import Bound, RunSetup
from bandit_core.theory import classic
from bandit_core.theory.stated import stated

CURATOR = "the actions are epsilon-differentially private in every single reward, with a trusted curator"
_ONE_ARM = "with one arm there is nothing to learn"


def minimax(setup: RunSetup, epsilon: float) -> list[Bound]:
    """Both bounds on the hardest instance with as many arms; what does not apply is hidden.

    None at epsilon = 0, which an account gives where a delta close to 1 promises nothing.
    """
    if epsilon == 0:
        return []
    return [_as_printed(setup, epsilon), _derived(setup, epsilon)]


def _as_printed(setup: RunSetup, epsilon: float) -> Bound:
    others = len(setup.arms) - 1
    start = others * max(1.0, 1 / (3 * epsilon))
    bound = stated(
        "central-minimax",
        lambda t: np.where(t >= start, np.maximum(np.sqrt(others * t) / 27, others / (131 * epsilon)), 0.0),
    )
    if not others:
        return bound.ruled_out(_ONE_ARM)
    if setup.horizon < start:
        return bound.ruled_out(
            f"it can be relied on from t = (K - 1) max(1, 1/(3 epsilon)) = {math.ceil(start):,} on, and there are "
            f"{setup.horizon:,} users; with rewards in [0, 1] it is wrong before t = (K - 1)/(131 epsilon)"
        )
    return bound


def _derived(setup: RunSetup, epsilon: float) -> Bound:
    """Two instances: arm 1 has mean 1/2 and the others 1/2 - D, or one of the others, rarely pulled, has 1/2 + D.

    The rare one is pulled t/(K-1) times at most, so the two are told apart by t/(K-1) d_eps(1/2 - D, 1/2 + D) nats
    (`central.evidence`), and one of them costs t D/8 exp(-that) (Bretagnolle and Huber). d_eps <= 2 D epsilon; at D =
    1/2 and t <= (K-1)/epsilon this is at least t/(16 e), and regret does not fall. The rest is the part without
    privacy."""
    others = len(setup.arms) - 1
    plain = classic.two_point_argument(others + 1, 2 * math.log(3), 0.5, 0.25)
    bound = stated(
        "central-minimax-derived", lambda t: np.maximum(plain(t), np.minimum(t, others / epsilon) / (16 * math.e))
    )
    if not others:
        return bound.ruled_out(_ONE_ARM)
    return bound if classic.unit_rewards(setup) else bound.ruled_out("derived for rewards in [0, 1]")
