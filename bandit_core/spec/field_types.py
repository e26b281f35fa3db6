"""The number types of a spec: finite, and never a truth value or a text that happens to look like a number."""

from __future__ import annotations

import numbers
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def _number(value: Any) -> float:
    # Real takes NumPy's scalars in; adding 0.0 turns -0.0 into 0.0, for equal specs must have equal texts.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("must be a number")
    try:
        return float(value) + 0.0
    except OverflowError:
        raise ValueError("must be a number that a double can hold") from None


def _whole(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError("must be a whole number")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_whole)]
Positive = Annotated[Number, Field(gt=0)]
Probability = Annotated[Number, Field(ge=0, le=1)]


def _ascending(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise ValueError("the first number must be below the second one")
    return limits


Limits: TypeAlias = Annotated[tuple[Number, Number], AfterValidator(_ascending)]


class Frozen(BaseModel):
    """A validated, immutable part of a spec; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=False)
