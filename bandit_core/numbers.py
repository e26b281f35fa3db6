"""The number types of a spec: finite, and never a truth value or a text that happens to look like a number."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _is_number(value: Any) -> Any:
    if isinstance(value, bool | str | bytes):
        raise ValueError("must be a number")
    return value


Number = Annotated[float, BeforeValidator(_is_number), Field(allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_is_number)]
Positive = Annotated[Number, Field(gt=0)]
Probability = Annotated[Number, Field(ge=0, le=1)]


class Frozen(BaseModel):
    """A validated, immutable part of a spec; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=False)
