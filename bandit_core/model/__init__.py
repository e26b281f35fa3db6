"""What the other packages agree on and none of them owns: setup, guarantee, block, bound, policy, kernel call."""

from bandit_core.model.block import Block, Signal, Stopped
from bandit_core.model.bound import Bound, Theorem
from bandit_core.model.guarantee import PRIVACY_WORDS, Guarantee, Privacy, Release
from bandit_core.model.kernel_call import KernelCall, Record, run_kernel
from bandit_core.model.policy import Acceptor, Policy, Setting, any_rewards, numbers_held
from bandit_core.model.setup import Parameters, RunSetup, Tables

__all__ = [
    "PRIVACY_WORDS",
    "Acceptor",
    "Block",
    "Bound",
    "Guarantee",
    "KernelCall",
    "Parameters",
    "Policy",
    "Privacy",
    "Record",
    "Release",
    "RunSetup",
    "Setting",
    "Signal",
    "Stopped",
    "Tables",
    "Theorem",
    "any_rewards",
    "numbers_held",
    "run_kernel",
]  # fmt: skip
