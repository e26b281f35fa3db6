"""Policies that stop, over a given number of users: they search for the best arm, then show it to everyone else.

`top-two`, `ctb-tt` and `adap-tt` of `bandit_core.policies.stopping`, by the same thresholds and from the same streams:
what a line plays is the search that `bandit_core.studies.best_arm` times, followed by its recommendation. With
probability delta the recommendation may be wrong, and is shown for good: so regret grows without end, as that of an A/B
test does. Elimination needs no entry of its own: `se`, `ldp-se` and `dp-se` search until one arm is left and keep it.
`dp-tt` is timed only; it has no entry here yet.

Guarantee: that of the search. Who comes after it sends nothing.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.kernels.batch_rule import NEVER
from bandit_core.kernels.play import rewards_of
from bandit_core.kernels.stopping import search
from bandit_core.model import Bound, KernelCall, Parameters, Policy, RunSetup
from bandit_core.policies.batch_family import refuse_tiny_budget
from bandit_core.policies.central_family import unit_rewards
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.policies.stopping import Rule, StoppingPolicy, StoppingSetup, stopping_policies
from bandit_core.spec.field_types import Number, Small
from bandit_core.theory.explore_commit import lower_bounds, wrong_for_good

_RULE = "proved: wrong with probability delta at most. heuristic: as public code stops, without a proof."


class SearchParameters(Parameters):
    """How sure a search must be before it ends, and how often it asks."""

    delta: Annotated[Small, Field(gt=0, lt=1)] = 0.05
    """Probability with which the arm that is recommended may be wrong."""
    growth: Annotated[Number, Field(ge=1, le=2)] = 1.02
    """Users grow by this factor from one decision to the next; 1 decides every time."""


class BitsParameters(SearchParameters):
    """The thresholds on bits."""

    rule: Annotated[Literal["proved", "heuristic"], Field(description=f"Threshold to stop by. {_RULE}")] = "proved"


class PhasesParameters(SearchParameters):
    """The thresholds on noisy means of phases."""

    rule: Annotated[
        Rule, Field(description=f"Threshold to stop by. {_RULE} paper: as its paper proves it, stricter than needed.")
    ] = "proved"


def stopping_setup(setup: RunSetup) -> StoppingSetup:
    """The search of a line."""
    chosen, epsilon = setup.parameters, None if setup.epsilon is None else setup.fixed_epsilon
    return StoppingSetup(setup.means, chosen.delta, epsilon, chosen.rule, chosen.growth, setup.horizon)


def _prepare(setup: RunSetup, entry: StoppingPolicy) -> KernelCall:
    asked = replace(stopping_setup(setup), cap=NEVER)
    chances = asked.randomised if entry.privacy == "local" else None
    noise = asked.epsilon if entry.privacy == "central" and asked.epsilon is not None else 0.0
    arguments = (rewards_of(setup, chances), asked.search(epsilon=noise))
    return KernelCall(search, arguments, len(setup.arms))


def _cost(setup: RunSetup) -> float:
    """The time of a run goes into its decisions, and hardly into the users between them."""
    return stopping_setup(setup).decisions * (20 + 2.8 * len(setup.arms)) / setup.horizon


def _bounds(setup: RunSetup, entry: StoppingPolicy) -> list[Bound]:
    chosen = setup.parameters
    return [
        *lower_bounds(setup, entry.privacy),
        wrong_for_good(setup, chosen.delta, chosen.rule != "heuristic", entry.privacy),
    ]


def _policy(name: str, **fields: Any) -> Policy:
    entry = stopping_policies()[name]
    later = "" if entry.privacy == "none" else "; who comes after the search sends nothing"
    return Policy(
        **{
            "name": name,
            "title": entry.title,
            "paper": entry.paper,
            "summary": f"{entry.summary} Then everyone gets the arm that it recommends.",
            "privacy": entry.privacy,
            "guarantee_words": entry.guarantee_words + later,
            "stops": True,
            "cannot_wait": "is proved to err rarely where the rewards of everyone before are counted",
            "parameters": BitsParameters,
            "refuses": refuse_tiny_budget,
            "prepare": lambda setup: _prepare(setup, entry),
            "step_cost": _cost,
            "bounds": lambda setup: _bounds(setup, entry),
            "guarantee": lambda setup: entry.guarantee(stopping_setup(setup)),
            "releases": lambda setup: entry.releases(stopping_setup(setup)),
            "parent": entry.parent,
            "pseudo_code": f"{entry.pseudo_code}\nonce it has stopped: show everyone else what it recommends",
            **fields,
        }
    )


POLICIES = (
    _policy(
        "top-two",
        accepts=bounded_rewards("ucb", "its threshold"),
        refuses=lambda setup: None,
    ),
    _policy("ctb-tt", accepts=bounded_rewards("heldp-ucb-bs")),
    _policy("adap-tt", accepts=unit_rewards, parameters=PhasesParameters),
)
