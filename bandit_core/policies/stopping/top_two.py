"""Top-Two: Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022 (EB-TCI).

Shows the leader and its closest rival in turns until the leader is surely the best.

    ask each arm once
    for t = K, K+1, ...:
        B = the arm with the largest mean
        Z_a = n_B kl(m_B, x) + n_a kl(m_a, x),  x the mean of both together
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest Z_a + ln n_a
        ask B with probability 1/2, else C; once t is large, many users before the next decision

CTB-TT (Top-Two on randomised bits): Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022 (EB-TCI), on randomised bits.

Top-Two, but every user answers with one coin-flipped bit.

    ask each arm once; every answer is one randomised bit, m the share of ones
    for t = K, K+1, ...:
        B = the arm with the largest mean
        Z_a = n_B kl(m_B, x) + n_a kl(m_a, x),  x the mean of both together
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest Z_a + ln n_a
        ask B with probability 1/2, else C; once t is large, many users before the next decision

Top-Two: half of the users get the leader, half the arm that is hardest to tell from it. On rewards or on bits.

EB-TCI of Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022; on randomised bits it is CTB-TT. Rewards in [0, 1] count
as bits that are 1 with this chance.
"""

from bandit_core.kernels.stopping import top_two
from bandit_core.policies.stopping.base import Rule, StoppingPolicy, local_privacy, random_bit

_RULES: dict[Rule, str] = {
    "proved": "Z_a >= ln((K-1)/delta) + ln(n m)/2 + 2 ln 2 for every other arm",
    "heuristic": "Z_a >= ln(1/delta) + ln(1 + ln n) + ln(1 + ln m) for every other arm",
}
POLICIES = (
    StoppingPolicy(
        name="top-two",
        title="Top-Two",
        rules=_RULES,
        prepare=lambda setup: (top_two, (setup.search(),)),
    ),
    StoppingPolicy(
        name="ctb-tt",
        title="CTB-TT (Top-Two on randomised bits)",
        privacy="local",
        guarantee_words="epsilon-local DP for every reward (pure)",
        rules=_RULES,
        prepare=lambda setup: (top_two, (setup.search(setup.randomised, setup.contrast),)),
        guarantee=local_privacy,
        releases=random_bit,
        parent="top-two",
    ),
)
