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
from bandit_core.experiments.experiment import Experiment as Experiment
from bandit_core.simulation.engine import Simulation as Simulation
from bandit_core.simulation.results import Result as Result
from bandit_core.spec.errors import InputError as InputError

if TYPE_CHECKING:  # and for use, when one of them is first asked for
    from bandit_core.auditing.auditor import AuditResult as AuditResult
    from bandit_core.auditing.auditor import audit as audit
    from bandit_core.auditing.subjects import subjects as subjects
    from bandit_core.data.lending import lending_document as lending_document
    from bandit_core.data.lending import read_lending as read_lending
    from bandit_core.data.lending import read_table as read_table
    from bandit_core.data.lending import write_synthetic_csv as write_synthetic_csv
    from bandit_core.data.observations import read_budgets as read_budgets
    from bandit_core.data.observations import read_observations as read_observations
    from bandit_core.experiments.curves import bounds as bounds
    from bandit_core.experiments.experiment import read as read_experiment
    from bandit_core.experiments.links import address as address
    from bandit_core.experiments.presets import load_preset as load_preset
    from bandit_core.experiments.presets import preset_names as preset_names
    from bandit_core.export.page import lesson as lesson
    from bandit_core.kernels.batch_rule import BatchRule as BatchRule
    from bandit_core.kernels.play import Rule as Rule
    from bandit_core.literature.claims import verdicts as verdicts
    from bandit_core.literature.papers import errata as errata
    from bandit_core.literature.papers import figures as figures
    from bandit_core.literature.papers import papers as papers
    from bandit_core.literature.reproductions import load as load_shipped
    from bandit_core.literature.reproductions import reproduce as reproduce
    from bandit_core.policies import load_policy as load_policy
    from bandit_core.policies.stopping import stopping_policies as stopping_policies
    from bandit_core.simulation.engine import simulate as simulate
    from bandit_core.simulation.results import summaries as summaries
    from bandit_core.studies.accounts import budget as budget
    from bandit_core.studies.accounts import composed as composed
    from bandit_core.studies.accounts import releases as releases
    from bandit_core.studies.benchmark import benchmark as benchmark
    from bandit_core.studies.best_arm import StoppingResult as StoppingResult
    from bandit_core.studies.best_arm import StoppingSpec as StoppingSpec
    from bandit_core.studies.best_arm import StoppingStudy as StoppingStudy
    from bandit_core.studies.best_arm import decide as decide
    from bandit_core.studies.best_arm import stopping as stopping
    from bandit_core.studies.best_method import Question as Question
    from bandit_core.studies.best_method import best_methods as best_methods
    from bandit_core.studies.business_case import typed_arms as typed_arms
    from bandit_core.studies.goal_search import BestSearch as BestSearch
    from bandit_core.studies.goal_search import Goal as Goal
    from bandit_core.studies.goal_search import fewest_users as fewest_users
    from bandit_core.studies.goal_search import smallest_epsilon as smallest_epsilon
    from bandit_core.studies.policy_check import PolicyTests as PolicyTests
    from bandit_core.studies.policy_check import check_policy as check_policy
    from bandit_core.studies.price import price as price
    from bandit_core.studies.production import build as build
    from bandit_core.studies.study import StudyResult as StudyResult
    from bandit_core.studies.study import study as study
    from bandit_core.studies.sweep import SweepResult as SweepResult
    from bandit_core.studies.sweep import sweep as sweep
    from bandit_core.studies.tradeoff import frontier as frontier
    from bandit_core.theory.best_arm import time_bounds as time_bounds
    from bandit_core.theory.power import power_table as power
    from bandit_core.theory.power import sample_size as sample_size
    from bandit_core.theory.threshold import thresholds as thresholds


_HERE = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
_PLACES = {  # module and name there of each public name, which is one that is imported above "as" something
    each.asname: (str(node.module), each.name)
    for node in _HERE
    if isinstance(node, ast.ImportFrom)
    for each in node.names
    if each.asname
}
__all__ = ["load_shipped", "power", "read_experiment"]  # for checkers of types; "X as X" tells them of all others
__all__ += sorted(_PLACES.keys() - {*__all__})  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _PLACES[name]
    value = getattr(import_module(module), original)
    globals()[name] = value = value if isclass(value) else checked(value, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
