"""What the locally private policies share: domain checks, the threshold eps_min, and their guarantee."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.model import Acceptor, Guarantee, Parameters, Policy, Release, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import LARGEST, BudgetDistribution
from bandit_core.spec.field_types import Positive
from bandit_core.spec.notation import write_epsilon
from bandit_core.theory import threshold


class ThresholdParameters(Parameters):
    """The threshold below which a response is discarded."""

    eps_min: Annotated[Positive, Field(le=LARGEST)] | Literal["auto"] = "auto"
    """Responses of users with a smaller epsilon are discarded. auto: the minimiser of V_L or V_B; for one fixed
    epsilon, that epsilon."""


def resolve_threshold(
    parameters: ThresholdParameters, epsilon: BudgetDistribution | None, rule: Literal["v_l", "v_b"]
) -> ThresholdParameters:
    """Replace ``eps_min = "auto"`` by the minimiser of V_L or V_B."""
    if parameters.eps_min != "auto" or epsilon is None:
        return parameters
    return parameters.model_copy(update={"eps_min": threshold.recommended(epsilon, rule)})


def refuse_if_nobody_is_left(setup: RunSetup) -> str | None:
    """Words of refusal when the threshold discards everyone."""
    if setup.budgets.share_above(setup.parameters.eps_min) > 0:
        return None
    return f"no user has epsilon >= eps_min; allowed: eps_min up to {setup.budgets.largest:g}"


def bounded_rewards(instead: str, whose: str = "its mechanism") -> Acceptor:
    """An acceptor of rewards in [0, 1] that says what needs them and names the policy to use ``instead``."""

    def accepts(arms: Sequence[distributions.RewardDistribution]) -> str | None:
        for arm in distributions.distinct(arms):
            if not arm.inside(0.0, 1.0):
                number, (low, high) = arms.index(arm), arm.support
                return (
                    f"{whose} needs rewards in [0, 1], but arm {number} ({arm.kind}) pays in "
                    f"[{low:g}, {high:g}]; use {instead} for such rewards"
                )
        return None

    return accepts


def local_guarantee(setup: RunSetup) -> Guarantee:
    """Pure local DP: every user's reward is private with that user's own epsilon, whatever the learner does."""
    fixed = setup.budgets.fixed
    if fixed is not None:
        return Guarantee("local", f"every reward is {fixed:g}-locally differentially private", fixed)
    spread = write_epsilon(setup.budgets)
    return Guarantee("local", f"every reward is locally private with its user's own epsilon ~ {spread}")


def policy(epsilon: Literal["one", "any"] = "any", **fields: Any) -> Policy:
    """An entry of a policy that only sees noisy rewards, of users with one budget or any."""
    whose = "each user's own epsilon" if epsilon == "any" else "the same epsilon for all"
    given = {"privacy": "local", "epsilon": epsilon, "guarantee": local_guarantee, "parent": "ucb", "late": True}
    words = f"epsilon-local DP for every reward (pure, {whose})"
    return Policy(**{**given, "anytime": True, "guarantee_words": words, **fields})


def _of_each_user(released: str, stated: Callable[[float], dict[str, Any]]) -> Callable[[RunSetup], list[Release]]:
    """What every user sends once; ``stated`` are its fields at the largest budget of a user."""

    def releases(setup: RunSetup) -> list[Release]:
        own = "" if setup.budgets.fixed is not None else "; users have budgets of their own, this row has the largest"
        said: dict[str, Any] = {"released": released, "unit": "one reward", "at": f"once, by its user{own}"}
        return [Release(**said, **stated(setup.budgets.largest))]

    return releases


def noisy_answers(released: str) -> Callable[[RunSetup], list[Release]]:
    """Every user sends a number, which one reward moves by 1 at most, with Laplace(1/epsilon) noise, once."""
    noise = {"mechanism": "laplace", "norm": "L1", "sensitivity": 1.0}
    return _of_each_user(released, lambda epsilon: {**noise, "scale": 1 / epsilon})


def random_bits(released: str) -> Callable[[RunSetup], list[Release]]:
    """Every user sends one bit, the randomised response to a number of [0, 1], once."""
    return _of_each_user(released, lambda epsilon: {"mechanism": "randomised response", "budget": epsilon})
