"""Shared by the policies of Ren, Zhou, Liu, Shroff 2020: users with budgets of their own, rewards or sigmoids."""

from collections.abc import Callable
from typing import Any, Literal

from bandit_core.model import Bound, KernelCall, Policy, RunSetup, any_rewards
from bandit_core.policies import index_family
from bandit_core.policies.local_family import (
    ThresholdParameters,
    bounded_rewards,
    local_guarantee,
    refuse_if_nobody_is_left,
    resolve_threshold,
)
from bandit_core.theory import local


def policy(
    upper: Callable[[RunSetup], list[Bound]],
    index: Callable[[float], dict[str, Any]],
    *,
    release: int,
    rule: Literal["v_l", "v_b"],
    squash: bool = False,
    step: float = 1.0,
    **fields: Any,
) -> Policy:
    """An entry: ``index(eps_min)`` gives the numbers of its index, ``step`` is the cost of one pull.

    ``squash``: for rewards without limits, of which users answer with the sigmoid.
    """

    def prepare(setup: RunSetup) -> KernelCall:
        eps_min = setup.parameters.eps_min
        return index_family.prepare(setup, release=release, squash=squash, eps_min=eps_min, **index(eps_min))

    return Policy(
        privacy="local",
        guarantee_words="epsilon-local DP for every reward (pure, each user's own epsilon)",
        epsilon="any",
        anytime=True,
        parameters=ThresholdParameters,
        accepts=any_rewards if squash else bounded_rewards(fields["name"] + "s"),
        prepare=prepare,
        bounds=lambda setup: [*local.lower_bounds(setup), *upper(setup)],
        guarantee=local_guarantee,
        resolve=lambda parameters, epsilon: resolve_threshold(parameters, epsilon, rule),
        refuses=refuse_if_nobody_is_left,
        parent="ucb",
        step_cost=index_family.cost(step),
        late=True,
        **fields,
    )
