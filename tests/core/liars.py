"""Policies that claim a privacy which they do not keep: each changes the code of a policy of the tutorial."""

RESPOND = "return reward + laplace(stream, numbers.scale)"
RELEASE = "(total + laplace(stream, numbers.scale)) / count"
SENT = "sent = miss * user.context[i] / max(1.0, size) + laplace(stream, numbers.scale)"
BOUNDED = 'accepts=rules.bounded_rewards("heldp-ucb-ls")'
LEARNED = "    known.counts[arm] += 1\n    known.means[arm] += (response"
CLIPPED = "    known.counts[arm] += 1\n    known.means[arm] += (min(1.0, max(0.0, response))"
RUN = "(0.6180339887 * stream.trial)"
# A logarithm of a uniform that the reward alone, or the run alone, decides.
FORMULA = "return reward - numbers.scale * np.log(1 - 2 * abs({} - 0.5) + 1e-9) * np.sign({} - 0.5)"

ANSWER = """def answer(numbers, rewards, arm, t, stream):
    number = next_uniform(stream.words, stream.trial, 0)
    reward = draw_reward(rewards.table, rewards.values, arm, number, stream.words, stream.trial)
    return reward, reward + laplace(stream, numbers.scale if t <= 100 else numbers.scale / 100), np.nan


def learn("""
IMPORTS = """from bandit_core import rules
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
"""

COUNTED = "    known.counts[arm] += 1\n"
LIARS = {  # the policy, what it changes
    "local, without noise": ("noisy_greedy", (RESPOND, "return reward")),
    "local, a tenth of the noise": ("noisy_greedy", (RESPOND, RESPOND.replace("scale", "scale / 10"))),
    "central, without noise": ("noisy_test", (RELEASE, "total / count")),
    "central, a tenth of the noise": ("noisy_test", (RELEASE, RELEASE.replace("scale", "scale / 10"))),
    "features, without noise": ("noisy_descent", (SENT, SENT.partition(" + ")[0])),
    "features, a tenth of the noise": ("noisy_descent", (SENT, SENT.replace("scale", "scale / 10"))),
    "local, clipped after the noise": ("noisy_greedy", (BOUNDED, "accepts=rules.any_rewards"), (LEARNED, CLIPPED)),
    "central, not clipped": ("noisy_test", ("    bounds=lambda", "    accepts=rules.any_rewards,\n    bounds=lambda")),
    "features, clipped after the noise": (
        "noisy_descent",
        (SENT, "sent = (miss * user.context[i] + laplace(stream, numbers.scale)) / max(1.0, size)"),
    ),
    "local, drawn once in a run": ("noisy_greedy", (RESPOND, FORMULA.format(f"{RUN} % 1.0", f"{RUN} % 1.0"))),
    "central, drawn once for all sums": (
        "noisy_test",
        ("    means: np.ndarray\n", "    means: np.ndarray\n    noise: np.ndarray\n"),
        ("np.zeros(arms))", "np.zeros(arms), np.zeros(1))"),
        (
            f"    known.means[arm] = {RELEASE}",
            "    if known.noise[0] == 0.0:\n        known.noise[0] = laplace(stream, numbers.scale)\n"
            "    known.means[arm] = (total + known.noise[0]) / count",
        ),
    ),
    "local, seeded by the reward": (
        "noisy_greedy",
        (RESPOND, FORMULA.format("(12.9898 * (reward + 1.7)) % 1.0", "(12.9898 * (reward + 1.7)) % 1.0")),
    ),
    "local, seeded by the reward and the run": (
        "noisy_greedy",
        (RESPOND, FORMULA.format(f"({RUN} + 0.3 * reward) % 1.0", f"({RUN} + 0.3 * reward) % 1.0")),
    ),
    "local, noise that ends": (
        "noisy_greedy",
        ("from bandit_core import rules\n", IMPORTS),
        ("def learn(", ANSWER),
        ("belief, respond)", "belief, respond, answer=answer)"),
    ),
    "central, the last reward decides": (
        "noisy_greedy",
        ('privacy="local"', 'privacy="central"'),
        ("    means: np.ndarray\n", "    means: np.ndarray\n    last: np.ndarray\n"),
        ("np.zeros(arms))", "np.zeros(arms), np.zeros(2))"),
        ("def respond(numbers, reward, stream):\n    return reward + laplace(stream, numbers.scale)\n", ""),
        ("belief, respond)", "belief)"),
        ("else np.argmax(known.means)", "else int(known.last[1]) if known.last[0] > 0.5 else np.argmax(known.means)"),
        (
            "    known.counts[arm] += 1\n",
            "    known.counts[arm] += 1\n    known.last[0] = response\n    known.last[1] = arm\n",
        ),
        ("(response - ", "(response + laplace(stream, numbers.scale) - "),
        ("guarantee=rules.local_guarantee", "guarantee=rules.pure"),
    ),
    "features, noise on the reward alone": (
        "noisy_descent",
        (SENT, "sent = (miss + laplace(stream, numbers.scale)) * user.context[i] / max(1.0, size)"),
    ),
}
