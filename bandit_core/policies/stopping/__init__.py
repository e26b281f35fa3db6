"""Policies that stop by themselves and recommend an arm; a registry of their own, each found in a file here.

A line of an experiment plays to a horizon that is the same for all, and its result are curves; these end at times of
their own, and their result are these times and how often the recommendation is wrong. So they have a description, a
registry and a study (`bandit_core.studies.best_arm`) beside those of the others, not flags in them. What they are as
lines, a search and then its recommendation for everyone else, is `bandit_core.policies.search_then_commit`.
"""

from functools import cache

from bandit_core.model import KEPT
from bandit_core.policies.stopping.searches import Rule, StoppingPolicy, StoppingSetup
from bandit_core.spec.found import found


@cache
def stopping_policies() -> dict[str, StoppingPolicy]:
    """Every policy that stops, by name: by promise (`KEPT`), then by file."""
    every: list[StoppingPolicy] = sorted(found(__name__, "POLICY"), key=lambda policy: KEPT.index(policy.privacy))
    return {policy.name: policy for policy in every}
