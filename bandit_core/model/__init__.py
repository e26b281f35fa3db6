"""What the other packages agree on and none of them owns: setup, promise, guarantee, block, bound, policy,
kernel call."""

from bandit_core.model.kernel_call import Block, KernelCall, Record, RuleError, Signal, Stopped, compiling, run_kernel
from bandit_core.model.policy import (
    KIND_WORDS,
    TRIVIAL,
    Acceptor,
    Bound,
    Curve,
    Described,
    Form,
    Policy,
    Setting,
    Status,
    Theorem,
    any_rewards,
    no_privacy,
    numbers_held,
    status_words,
)
from bandit_core.model.promises import (
    KEPT,
    MEASURES,
    PROMISES,
    Guarantee,
    Measure,
    Model,
    Party,
    Privacy,
    Promise,
    Release,
)
from bandit_core.model.setup import Parameters, RunSetup, Tables
