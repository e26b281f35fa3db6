"""DP-UCB's noise is found exactly only where it decides; the arms are those of test_trees and test_one_run."""

from __future__ import annotations

import numpy as np

from bandit_core.kernels.common_counters import AHEAD, NEARLY, nearly, room
from bandit_core.kernels.streams import UNIT
from bandit_core.mechanisms.laplace import laplace_noise


def test_noise_is_nearly_what_its_uniform_stands_for():
    ends = [0.0, UNIT, 0.25 - UNIT, 0.25, 0.5 - UNIT, 0.5, 0.5 + UNIT, 0.75, 1.0 - UNIT]
    powers = 2.0 ** -np.arange(1, 53)
    uniforms = np.concatenate([ends, powers, 1.0 - powers, np.random.default_rng(0).integers(0, 2**52, 20_000) * UNIT])
    ahead = room(-(-len(uniforms) // AHEAD)).ahead
    ahead.drawn[:] = 1.5
    ahead.drawn[: len(uniforms)] = 1.0 + uniforms
    nearly(ahead, len(ahead.drawn))
    exactly = np.array([laplace_noise.py_func(uniform, 1.0) for uniform in uniforms])
    missed = np.abs(ahead.noise[: len(uniforms)] - exactly).max()
    assert 0.5 * NEARLY < missed < NEARLY
