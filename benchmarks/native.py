"""Straight loops in C++ for some of the registry's policies: `native.cpp`, compiled here where there is a compiler.

What is played follows from the call of a line's own kernel: indices of the form mean + width x clock of rewards or
random bits (ucb, ucb-cf, heldp-ucb-b, heldp-ucb-bs), kl indices, and draws from posteriors for every arm at every step.
Index policies read the same streams as the kernels and pull the same arms; posteriors are drawn four at a time from
streams that follow from these, which gives other numbers of the same distribution.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core.kernels import index, kl, normals, posterior
from bandit_core.kernels.labels import labels
from bandit_core.model import KernelCall
from bandit_core.policies import gaussian_ts
from bandit_core.spec.budgets import FIXED
from benchmarks.straight import by_arm

SOURCE = Path(__file__).with_name("native.cpp")
FLAGS = ["-O3", "-march=native", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
AVX2_AT_MOST = ["-mno-avx512f"] if platform.machine().lower() in ("x86_64", "amd64") else []
COINS = (0.0, 1.0)  # what arms pay that `native.cpp` can play
Native = Callable[[np.ndarray, int], np.ndarray]  # streams (trials, 8) and horizon to pulls (trials, arms)
Plan = tuple[str, np.ndarray, np.ndarray, Callable[[int], np.ndarray]]  # function, chances, rule, clocks


@lru_cache
def library(arms: int) -> ctypes.CDLL | None:
    """`native.cpp` for so many arms; None where no compiler is found, or it cannot make it."""
    compiler = next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        built = Path(folder) / "native.so"
        command = [compiler, *FLAGS, *AVX2_AT_MOST, f"-DARMS={arms}", str(SOURCE), "-o", str(built)]
        done = subprocess.run(command, capture_output=True, check=False)
        return ctypes.CDLL(str(built)) if done.returncode == 0 else None


def clocks(kl_clock: bool, horizon: int) -> np.ndarray:
    """ln t, or ln t + 3 max(0, ln ln t), for t = 1, ..., horizon."""
    level = np.log(np.arange(1.0, horizon + 1))
    if kl_clock:
        level[level > 1] += 3 * np.log(level[level > 1])
    return level


def _index_plan(rewards: Any, users: Any, form: Any) -> Plan | None:
    if users.kind != FIXED or form.release == index.LAPLACE or form.forced > 0:
        return None
    noise = 1 / np.tanh(users.form[0] / 2) if form.release == index.BITS else 1.0
    bits = (-1.0, 1.0, noise * noise, 0.5, 0.5 * noise)
    own = bits if form.release == index.BITS else (*COINS, 1.0, 0.0, 1.0)
    chances = 0.5 + (rewards.means - 0.5) / noise
    rule = np.array([*own, form.per_pull, form.per_spread])
    return "index_family", chances, rule, lambda horizon: np.sqrt(clocks(form.clock == index.KL_CLOCK, horizon))


def plan_of(call: KernelCall) -> Plan | None:
    """What `native.cpp` is called with to play what ``call`` plays; None where it cannot."""
    rewards, *rest = call.arguments
    if getattr(rewards, "table", None) is None or set(rewards.table[:, 1:3].ravel()) != set(COINS):
        return None
    tables = [normals.BOUNDS, normals.WIDTHS, normals.HEIGHTS, [normals.EDGE]]
    if call.kernel in (index.lockstep, index.tournament):
        return _index_plan(rewards, *rest)
    if call.kernel is kl.by_index:
        return "divergence_index", rewards.means, np.array([kl.MARGIN]), lambda horizon: clocks(True, horizon)
    if call.kernel is posterior.thompson:
        return "beta_posteriors", rewards.means, np.concatenate([*tables, [0, 0]]), np.zeros
    if call.rule is gaussian_ts.RULE:
        return "normal_posteriors", rewards.means, np.concatenate([*tables, rest[0]]), np.zeros
    return None


def native(call: KernelCall) -> Native | None:
    """The straight loop in C++ of what a kernel is called with; None where there is none."""
    plan = plan_of(call)
    built = None if plan is None else library(call.arms)
    if plan is None or built is None:
        return None
    name, chances, rule, timing = plan

    def play(rows: np.ndarray, horizon: int) -> np.ndarray:
        order, times = labels(rows, call.arms), timing(horizon)
        arranged, pulls = chances[order], np.zeros(order.shape)
        at = [ctypes.c_void_p(each.ctypes.data) for each in (rows, arranged, times, rule, pulls)]
        trials, steps = ctypes.c_int64(len(rows)), ctypes.c_int64(horizon)
        getattr(built, name)(at[0], at[1], trials, at[2], steps, at[3], at[4])
        return by_arm(order, pulls)

    return play
