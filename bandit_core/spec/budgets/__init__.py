"""How the privacy budget epsilon (in nats, per response) is spread over users. A file of your own is found by itself.

It ends in ``DISTRIBUTION = ...``: a class with its atoms or density, and how one user's budget is drawn. The spec,
the notation, the kernels, the sidebar and ``list epsilons`` take it from here.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from bandit_core.spec.budgets.base import DISCRETE, FIXED, LARGEST, BudgetDistribution
from bandit_core.spec.budgets.built_in import (
    ClampedGaussian,
    Discrete,
    EmpiricalEpsilon,
    Fixed,
    Lognormal,
    UniformEpsilon,
)
from bandit_core.spec.found import distributions

DISTRIBUTIONS: dict[str, type[BudgetDistribution]] = distributions(
    __name__, (Fixed, Discrete, ClampedGaussian, UniformEpsilon, Lognormal, EmpiricalEpsilon)
)


def one_for_all(value: Any) -> Any:
    """A plain number is the budget of every user."""
    return {"kind": "fixed", "value": value} if type(value) in (int, float) else value


if TYPE_CHECKING:
    Epsilon = BudgetDistribution
else:
    Epsilon = Annotated[reduce(or_, DISTRIBUTIONS.values()), Field(discriminator="kind"), BeforeValidator(one_for_all)]
