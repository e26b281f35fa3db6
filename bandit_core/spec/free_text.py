"""Text that someone writes and others read: labels, titles, notes, names of columns and options.

It holds no character that is not seen but changes what is: controls (Unicode category Cc), formats (Cf, among them
those that turn the direction of text, so that 681 reads 186), halves of surrogate pairs (Cs), and the separators of
lines and paragraphs (Zl, Zp). So an emoji that is joined from several (by U+200D) is refused, too; each by itself is
not. A note has lines, and line feeds in it.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Self

from pydantic import BeforeValidator

from bandit_core.spec.field_types import Frozen

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
