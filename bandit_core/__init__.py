"""Private Bandit Lab's core: what does privacy cost a learning system?

A simulator of private multi-armed bandits and of the bounds on their regret. It simulates private learning; it is
not a privacy product and protects no one's data. What stands here is the public interface. Its functions check what
they are handed (`experiments.arguments`); each is imported when it is first asked for.

>>> from bandit_core import load_preset, simulate
>>> result = simulate(load_preset("ren-1c").with_changes(horizon=1000, trials=4))
>>> sorted(result.curves["policy"].unique())
['heldp-ucb-b', 'heldp-ucb-l', 'ucb']
"""

import ast
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_core.experiments.arguments import checked
from bandit_core.experiments.experiment import Experiment
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError

if TYPE_CHECKING:  # and for use, when one of them is first asked for
    from bandit_core.auditing.subjects import AuditResult, audit, subjects
    from bandit_core.data.lending import lending_document, read_lending, read_table, synthetic_csv
    from bandit_core.data.observations import read_budgets, read_observations
    from bandit_core.experiments.catalogue import bounds
    from bandit_core.experiments.experiment import read as read_experiment
    from bandit_core.experiments.links import address
    from bandit_core.experiments.presets import load_preset, preset_names
    from bandit_core.export.page import lesson
    from bandit_core.kernels.batch_rule import BatchRule
    from bandit_core.kernels.play import Rule
    from bandit_core.literature.claims import verdicts
    from bandit_core.literature.papers import errata, figures, papers
    from bandit_core.literature.reproductions import load as load_shipped
    from bandit_core.literature.reproductions import reproduce
    from bandit_core.policies import load_policy
    from bandit_core.policies.stopping import stopping_policies
    from bandit_core.simulation.engine import simulate
    from bandit_core.simulation.results import summaries
    from bandit_core.studies.benchmark import benchmark
    from bandit_core.studies.best_arm import StoppingResult, StoppingSpec, StoppingStudy, decide, stopping
    from bandit_core.studies.best_method import Question, best_methods
    from bandit_core.studies.business_case import typed_arms
    from bandit_core.studies.goal_search import BestSearch, Goal, fewest_users, smallest_epsilon
    from bandit_core.studies.policy_check import PolicyTests, check_policy
    from bandit_core.studies.price import price
    from bandit_core.studies.production import budget, build, composed, releases
    from bandit_core.studies.study import StudyResult, study
    from bandit_core.studies.sweep import SweepResult, sweep
    from bandit_core.studies.tradeoff import frontier
    from bandit_core.theory.best_arm import time_bounds
    from bandit_core.theory.power import power_table as power
    from bandit_core.theory.power import sample_size
    from bandit_core.theory.threshold import thresholds


__all__ = [
    "AuditResult", "BatchRule", "BestSearch", "Experiment", "Goal", "InputError", "PolicyTests", "Question",
    "Result", "Rule", "Simulation", "StoppingResult", "StoppingSpec", "StoppingStudy", "StudyResult", "SweepResult",
    "address", "audit", "benchmark", "best_methods", "bounds", "budget", "build", "check_policy", "composed",
    "decide", "errata", "fewest_users", "figures", "frontier", "lending_document", "lesson", "load_policy",
    "load_preset", "load_shipped", "papers", "power", "preset_names", "price", "read_budgets", "read_experiment",
    "read_lending", "read_observations", "read_table", "releases", "reproduce", "sample_size", "simulate",
    "smallest_epsilon", "stopping", "stopping_policies", "study", "subjects", "summaries", "sweep",
    "synthetic_csv", "thresholds", "time_bounds", "typed_arms", "verdicts",
]  # fmt: skip
_PLACES = {  # module and name there of each public name, which is one of those that are imported above
    each.asname or each.name: (str(node.module), each.name)
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom)
    for each in node.names
    if (each.asname or each.name) in __all__
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _PLACES[name]
    value = getattr(import_module(module), original)
    globals()[name] = value = value if isclass(value) else checked(value, name)
    return value


def __dir__() -> list[str]:
    return __all__
