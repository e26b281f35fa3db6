"""Errata of Tao, Wu, Zhao and Wang 2022, Optimal Rates of (Locally) Differentially Private Heavy-tailed Bandits."""

import math

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.literature.erratum import Check
from bandit_core.mechanisms import Binary
from bandit_core.theory import heavy


def _value(name: str, gap: float, scale: float = 1.0, v: float = 0.5) -> float:
    """A bound of that name at a million users: two arms whose means differ by ``gap``, in units of 1/``scale``."""
    arms = [{"kind": "two-point", "low": 0.0, "high": scale, "p_high": mean} for mean in (0.5, 0.5 - gap)]
    policy = "ldp-robust-se" if "7" in name or "LDP" in name else "dp-robust-se"
    line = {"policy": policy, "epsilon": {"kind": "fixed", "value": 1.0}, "params": {"v": v}}
    experiment = Experiment.model_validate({"arms": arms, "lines": [line], "horizon": 10**6})
    bound = next(each for each in heavy.shapes(experiment.setups[0]) if each.name == name)
    return float(bound.curve(np.array([1e6]))[0])


def line_21() -> Check:
    v, epsilon, depth, log = 0.5, 1.0, 2, 20.0
    width = 4.0**-depth
    pulls = 28 ** (2 * (1 + v) / v) * log / (epsilon**2 * width ** (2 * (1 + v) / v)) + log
    level = (math.sqrt(pulls / log) * epsilon) ** (1 / (1 + v))
    noise = math.sqrt(8 / pulls) * level / epsilon  # standard deviation of the mean of Lap(2B/ε)

    def dropped_beyond(accuracy: float) -> float:
        return 14 * (math.sqrt(log) / (accuracy * epsilon)) ** (v / (1 + v))

    measure = "distance that drops an arm, compared with the noise of one estimate (epoch 2, v = 0.5, ε = 1)"
    return Check(measure, "at least", noise, dropped_beyond, pulls, math.sqrt(pulls))


def powers_of_u() -> Check:
    def growth(name: str) -> float:
        return _value(name, 0.1, 10.0) / _value(name, 0.1)

    measure = "factor on Theorem 4 when every reward is counted in a unit ten times smaller (v = 0.5)"
    return Check(measure, "equal to", 10.0, growth, "Theorem 4 as printed", "Theorem 4, corrected", tolerance=1e-6)


def theorem_7() -> Check:
    def growth(name: str) -> float:
        lower = [_value("Heavy-tailed LDP bound", gap) for gap in (0.01, 0.001)]
        upper = [_value(name, gap) for gap in (0.01, 0.001)]
        return (lower[1] / upper[1]) / (lower[0] / upper[0])

    measure = "growth of (lower bound) / (upper bound) as the gap shrinks from 0.01 to 0.001 (v = 0.5)"
    return Check(measure, "at most", 1.0, growth, "Theorem 7 as printed", "Theorem 7, corrected", tolerance=0.02)


def optimality() -> Check:
    def power(name: str) -> float:
        return math.log10(_value(name, 0.001) / _value(name, 0.01))

    measure = "power of 1/gap in the upper bound, compared with that of the lower bound (v = 0.5)"
    wanted = power("Heavy-tailed LDP bound")
    return Check(measure, "equal to", wanted, power, "Theorem 7 as printed", "Theorem 7, corrected", tolerance=0.01)


def theorem_6_noise() -> Check:
    level, epsilon = 3.0, 1.0

    def loss(scale: float) -> float:  # rewards -B and B, far out on either side
        return abs(abs(-10 * level - level) - abs(-10 * level + level)) / scale

    measure = "largest log-ratio of the answers to rewards −B and B, for ε = 1"
    return Check(measure, "at most", epsilon, loss, level / epsilon, 2 * level / epsilon)


def theorem_7_epochs() -> Check:
    v, epsilon = 0.9, 1.0
    power = 2 * (1 + v) / v

    def pulls(epoch: int) -> float:
        log = math.log(8 * 5 * epoch**2 * 1e6)
        return 28**power * log / (epsilon**2 * 4.0 ** (-epoch * power)) + log

    measure = "factor from the length of epoch 9 to that of epoch 10 (v = 0.9)"
    return Check(measure, "equal to", pulls(10) / pulls(9), lambda sign: 4 ** (sign * power), -1, 1, tolerance=0.05)


def lower_bound_constant() -> Check:
    epsilon = 1.0
    measure = "upper estimate of (e^ε − 1)² at ε = 1"
    exact = math.expm1(epsilon) ** 2
    return Check(measure, "at least", exact, lambda factor: factor * epsilon**2, 1.0, (math.e - 1) ** 2)


def tree_budget() -> Check:
    users, epsilon = 10**6, 1.0

    def spent(parts: float) -> float:  # the first reward lies in every node whose last item is a power of two
        return sum(epsilon / parts for end in range(64) if 2**end <= users)

    measure = "ε that one reward spends in a tree over a million users, for a budget of 1"
    return Check(measure, "at most", epsilon, spent, math.log(users), Binary(epsilon, users).noise_scales(1)[0])
