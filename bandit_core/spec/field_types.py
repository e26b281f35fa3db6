"""Types of a spec's fields: finite numbers, and text that someone writes and others read."""

from __future__ import annotations

import numbers
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import pydantic
from pydantic import BeforeValidator

from bandit_core.spec.number_text import write_number

# ---------------------------------------------------------------------------------------------------------------------
# The number types of a spec: finite, and never a truth value or a text that happens to look like a number.
#
# A `Number` is 0 or between 1e-6 and 1e12 in size, so that formulas stay in the range of a double. A `Small` one, like
# the chance that a promise fails, may be as small as 1e-12, and an `Observed` value, which is what it is, any small
# one.


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


# ---------------------------------------------------------------------------------------------------------------------
# Text that someone writes and others read: labels, titles, notes, names of columns and options.
#
# It holds no character that is not seen but changes what is: controls (Unicode category Cc), formats (Cf, among them
# those that turn the direction of text, so that 681 reads 186), halves of surrogate pairs (Cs), and the separators of
# lines and paragraphs (Zl, Zp). So an emoji that is joined from several (by U+200D) is refused, too; each by itself is
# not. A note has lines, and line feeds in it.


_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_PLAIN = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u03ff]*")  # visible, and most labels


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN


def _written(character: str) -> str:
    return f"U+{ord(character):04X}"


def why_not(text: str, lines: bool = False) -> str | None:
    r"""What is allowed, where ``text`` holds something else; ``lines`` allows line feeds.

    >>> why_not("\u202e681")
    'no control, formatting or direction characters; character 1 is U+202E (RIGHT-TO-LEFT OVERRIDE)'
    """
    if _PLAIN.fullmatch(text):
        return None
    for place, character in enumerate(text, 1):
        if _is_hidden(character) and not (lines and character == "\n"):
            name = unicodedata.name(character, "")
            which = f"{_written(character)}{f' ({name})' if name else ''}"
            but = " but line feeds" if lines else ""
            return f"no control, formatting or direction characters{but}; character {place} is {which}"
    return None


def visible(text: str) -> str:
    r"""The same text with every hidden character but line feeds written out.

    >>> visible("\u202e681")
    '[U+202E]681'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(f"[{_written(each)}]" if each != "\n" and _is_hidden(each) else each for each in text)


def _check(lines: bool) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, str) and (words := why_not(value, lines)):
            raise ValueError(f"must have {words}")
        return value

    return check


Text = BeforeValidator(_check(lines=False))  # of a field that is a str, named after its length
Lines = BeforeValidator(_check(lines=True))


class Worded(Frozen):
    """A part of a spec with free text. Built without validation, it writes hidden characters out (see `visible`)."""

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:  # type: ignore[override]
        """As pydantic's, with its texts made visible."""
        return super().model_construct(_fields_set, **_seen(values))  # type: ignore[return-value]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, with the texts of ``update`` made visible."""
        return super().model_copy(update=_seen(update or {}), deep=deep)


def _seen(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: visible(value) if isinstance(value, str) else value for name, value in values.items()}
