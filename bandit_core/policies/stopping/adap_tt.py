"""AdaP-TT: Azize, Jourdan, Al Marjani, Basu 2023.

Top-Two on averages that a curator publishes with noise, each arm's at phases that double.

    ask each arm once; when an arm's fresh rewards are as many as all before them:
        M_a = mean of the n_a fresh rewards + Laplace(1 / (epsilon n_a));  k_a += 1
    for t = K, K+1, ...:
        stop and recommend the arm with the largest M if it is far enough above every other one
        B = the arm with the largest M_a + ln t / (epsilon n_a) + sqrt(ln t / (2 n_a))
        C = the arm with the smallest (M_B - M_a + 1 / (1 + sqrt t)) / sqrt(1/N_B + 1/N_a)
        ask B with probability 1/2, else C; once t is large, many users before the next decision

Guarantee: epsilon-central DP, pure. Released: one mean per arm and phase; every reward is in at most one of them, and
actions, stopping time and recommendation are computed from these means and coins alone.
"""

from bandit_core.kernels.stopping import top_two
from bandit_core.policies.stopping.base import StoppingPolicy, central_privacy, noisy_mean

POLICY = StoppingPolicy(
    name="adap-tt",
    title="AdaP-TT",
    privacy="central",
    guarantee_words="epsilon-central DP (pure): every reward enters one released mean",
    rules={
        "proved": "M_B - M_a >= sqrt((1/n + 1/m) ln(3/d)/2) + (1/n + 1/m) ln(3/(2d))/epsilon for every other arm, "
        "d = delta/((K-1) k_B (k_B+1) k_a (k_a+1))",
        "paper": "(M_B - M_a)^2/(2(1/n + 1/m)) >= 2 C(ln((K-1) zeta(2) k^2/delta)/2) + 2 ln(4 + ln n) + 2 ln(4 + ln m) "
        "+ (1/n + 1/m) ln^2(2 K zeta(2) k^2/delta)/epsilon^2 for every other arm, C(x) = x + ln x",
        "heuristic": "(M_B - M_a)^2/(2(1/n + 1/m)) >= ln(1/delta) + ln(1 + ln n) + ln(1 + ln m) "
        "+ (1/n + 1/m) ln^2(1/delta)/epsilon^2 for every other arm; its variance is four times that of proved, so it "
        "often stops later",
    },
    prepare=lambda setup: (top_two, (setup.search(epsilon=setup.epsilon or 0.0),)),
    guarantee=central_privacy,
    releases=noisy_mean("a phase"),
    parent="top-two",
)
