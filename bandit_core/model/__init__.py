"""What the other packages agree on and none of them owns: setup, promise, guarantee, block, bound, policy,
kernel call."""

from bandit_core.model.bound import KIND_WORDS, TRIVIAL, Bound, Curve, Form, Status, Theorem, status_words
from bandit_core.model.guarantee import Guarantee, Release
from bandit_core.model.kernel_call import Block, KernelCall, Record, RuleError, Signal, Stopped, compiling, run_kernel
from bandit_core.model.policy import Acceptor, Described, Policy, Setting, any_rewards, no_privacy, numbers_held
from bandit_core.model.promises import KEPT, MEASURES, PROMISES, Measure, Model, Party, Privacy, Promise
from bandit_core.model.setup import Parameters, RunSetup, Tables
