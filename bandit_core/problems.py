"""What is wrong with an input, told so that its author can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pydantic

_SHOWN = 80  # characters of a bad value that are worth repeating to its author


@dataclass(frozen=True)
class Problem:
    """One defect: where it is, what stood there, what is allowed."""

    path: str
    value: Any
    allowed: str

    def __str__(self) -> str:
        shown = repr(self.value)
        if len(shown) > _SHOWN:
            shown = shown[: _SHOWN - 1] + "…"
        return f"{self.path or 'document'}: {shown}: {self.allowed}"


class InvalidInput(ValueError):
    """Every problem of one input at once (attribute ``problems``)."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(map(str, self.problems)))


def path_of(location: Iterable[str | int]) -> str:
    """``("lines", 1, "epsilon")`` as ``lines[1].epsilon``."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def problems_of(
    error: pydantic.ValidationError, document: Any, prefix: tuple[str | int, ...] = ()
) -> list[Problem]:
    """Translate a pydantic error, dropping the union tags that pydantic puts into its paths."""
    found = []
    for item in error.errors(include_url=False):
        location: list[str | int] = []
        here = document
        for part in item["loc"]:
            if isinstance(part, str) and isinstance(here, dict) and part not in here and part == here.get("kind"):
                continue  # the tag of a discriminated union is no field of the document
            location.append(part)
            if isinstance(here, dict):
                here = here.get(part)
            elif isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
                here = here[part]
            else:
                here = None
        kind, value, words = item["type"], item.get("input"), item["msg"]
        if kind == "missing":
            value, words = None, "this field is required"
        elif kind == "extra_forbidden":
            words = "no such field"
        elif kind in ("union_tag_invalid", "union_tag_not_found"):
            location.append("kind")
            value = value.get("kind") if isinstance(value, dict) else value
            words = f"allowed: {item['ctx'].get('expected_tags', 'one of the known kinds')}" if "ctx" in item else words
        elif kind in ("value_error", "assertion_error"):
            words = words.partition(", ")[2] or words
        found.append(Problem(path_of((*prefix, *location)), value, words))
    return found
