"""DP-TT (Top-Two on noisy sums): derived here; compare Jourdan, Azize 2025.

Top-Two on sums that a curator publishes with noise, batch by batch; no reward is forgotten.

    whenever an arm's batch is full: Y_a += sum of the batch + Laplace(1 / epsilon);  k_a += 1
        its next batch doubles n_a while n_a < 512 or epsilon^2 n_a < 32, then adds 30%
    ask each arm until its first batch is full, max(32, 4 / epsilon) users
    loop:
        B = the arm with the largest Y_a / n_a
        Z_a = how far the two sums contradict equal chances, the noise of k_B and k_a releases allowed for
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest (distance in standard deviations)^2 / 2 + ln(users)
        ask B and C in turns until a batch of one of them is full

Guarantee: epsilon-central DP, pure. Released: one sum per arm and batch; every reward is in at most one of them, and
actions, stopping time and recommendation are computed from these sums and coins alone. The stopping rule and its proof
are derived in `bandit_core.kernels.noisy_stopping`. Jourdan and Azize 2025 (arXiv 2510.17348) have a rule of the same
kind (arm-dependent geometric batches, transportation costs that know the noise); theirs is another one.
"""

import math

from bandit_core.kernels.noisy_stopping import dp_tt
from bandit_core.policies.stopping.base import StoppingPolicy, StoppingSetup, central_privacy, noisy_mean
from bandit_core.spec.budgets import LARGEST


def _budget(setup: StoppingSetup) -> float:
    """The budget; infinite where no double can hold the noise, which is far quicker to play."""
    assert setup.epsilon is not None
    return math.inf if setup.epsilon >= LARGEST else setup.epsilon


POLICY = StoppingPolicy(
    name="dp-tt",
    title="DP-TT (Top-Two on noisy sums)",
    privacy="central",
    guarantee_words="epsilon-central DP (pure): every reward enters one released sum",
    rules={
        "proved": "Z_a >= c + ln((k_B+5)(k_B+6)/6) + ln((k_a+5)(k_a+6)/6) for every other arm, "
        "(K-1) (1+c) e^-c = delta",
        "heuristic": "Z_a >= ln(1/delta) + ln(1 + ln n) + ln(1 + ln m) for every other arm",
    },
    prepare=lambda setup: (dp_tt, (setup.search(epsilon=_budget(setup)),)),
    guarantee=central_privacy,
    releases=noisy_mean("a batch"),
    decisions=False,
    most_decisions=lambda setup: 4.0 * len(setup.means) * max(1.0, math.log(setup.cap / len(setup.means) / 32)),
    parent="top-two",
)
