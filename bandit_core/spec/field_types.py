"""The number types of a spec: finite, and never a truth value or a text that happens to look like a number.

A `Number` is 0 or between 1e-6 and 1e12 in size, so that formulas stay in the range of a double. A `Small` one, like
the chance that a promise fails, may be as small as 1e-12, and an `Observed` value, which is what it is, any small one.
"""

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import pydantic

from bandit_core.spec.number_text import write_number

SMALLEST, LARGEST = 1e-6, 1e12  # sizes of a number that is not 0
SMALLEST_OF_ALL = 1e-12


def _number(value: Any) -> float:
    # Real takes NumPy's scalars in; adding 0.0 turns -0.0 into 0.0, for equal specs must have equal texts.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("must be a number")
    try:
        return float(value) + 0.0
    except OverflowError:
        raise ValueError("must be a number that a double can hold") from None


def _as_number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("must be a whole number")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _between(smallest: float) -> Callable[[float], float]:
    def check(value: float) -> float:
        if abs(value) > LARGEST:
            raise ValueError(f"must be at most {write_number(LARGEST)} in size")
        if 0 < abs(value) < smallest:
            raise ValueError(f"must be 0, or at least {write_number(smallest)} in size")
        return value

    return check


Finite = Annotated[float, pydantic.BeforeValidator(_number), pydantic.Field(allow_inf_nan=False)]
Observed = Annotated[Finite, pydantic.AfterValidator(_between(0.0))]
Number = Annotated[Finite, pydantic.AfterValidator(_between(SMALLEST))]
Small = Annotated[Finite, pydantic.AfterValidator(_between(SMALLEST_OF_ALL))]
Whole = Annotated[int, pydantic.BeforeValidator(_as_number)]
Positive = Annotated[Number, pydantic.Field(gt=0)]
Probability = Annotated[Number, pydantic.Field(ge=0, le=1)]


def _ascending(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise ValueError("the first number must be below the second one")
    return limits


Limits: TypeAlias = Annotated[tuple[Number, Number], pydantic.AfterValidator(_ascending)]


class Frozen(pydantic.BaseModel):
    """A validated, immutable part of a spec; unknown fields are errors."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=False)


class Kind(Frozen):
    """One of several distributions, which its field ``kind`` tells apart."""

    if TYPE_CHECKING:
        kind: str

    @pydantic.model_serializer(mode="wrap")
    def _with_kind(
        self, write: pydantic.SerializerFunctionWrapHandler
    ) -> dict[str, Any]:  # also where defaults are left out
        return {"kind": self.kind, **write(self)}

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values of its fields, but for what it is and how often it stands."""
        return tuple(value for name, value in self if name not in ("kind", "count"))

    @property
    def parameters(self) -> tuple[float, ...]:
        """What its sampler reads: at most four numbers, those of the spec if nothing else is said."""
        return self.numbers


def low_below_high(range_of: Any) -> Any:
    """A check of models with the fields ``low`` and ``high``."""
    if not range_of.low < range_of.high:
        raise ValueError("low must be below high")
    return range_of
