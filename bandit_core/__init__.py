"""Private Bandit Lab's core: what does privacy cost a learning system?

A simulator of private multi-armed bandits and of the bounds on their regret. It simulates private learning; it is
not a privacy product and protects nobody's data.

>>> from bandit_core import load_preset, simulate
>>> result = simulate(load_preset("ren-1c").with_changes(horizon=1000, trials=4))
>>> sorted(result.curves["policy"].unique())
['heldp-ucb-b', 'heldp-ucb-l', 'ucb']
"""

from bandit_core.auditing.auditor import AuditResult, audit
from bandit_core.experiments.curves import bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.simulation.engine import Simulation, simulate
from bandit_core.spec.errors import InputError
from bandit_core.theory.threshold import thresholds

__all__ = [
    "AuditResult",
    "Experiment",
    "InputError",
    "Simulation",
    "audit",
    "bounds",
    "load_preset",
    "simulate",
    "thresholds",
]
