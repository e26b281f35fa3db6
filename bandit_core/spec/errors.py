"""What is wrong with an input, told so that its author can mend it."""

import difflib
import json
import math
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pydantic

MAX_TOLD = 20  # problems of one input in a text; the others are counted
_PLAIN_NAME = re.compile(r"[\w-]+")
_NAMED_FIELDS = "must be an object with named fields"
_PLAINER = {  # what pydantic says, and what whoever knows no Python can follow
    r"^Keys should be strings": "names of fields must be text",
    r"^(Input|String|Tuple|List|Set|Dictionary) should": "must",
    r"^must be (iterable|a valid (tuple|list|set|frozenset))$": "must be a list",
    r"^must be a (valid )?(dictionary|mapping).*": _NAMED_FIELDS,
    r"^must be callable$": "must be a function",
    r"^must be None$": "must be null",
    r"a valid string.*": "text", r"a valid integer.*": "a whole number", r"a valid number.*": "a number",
    r"a valid boolean.*": "true or false", r"greater than or equal to": "at least", r"less than or equal to": "at most",
    r" after validation, not \d+$": "",
}  # fmt: skip


class _Excerpt(reprlib.Repr):
    """What is worth repeating of a bad value, however long or deep it is."""

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print integers of thousands of digits
        return super().repr_int(x, level) if abs(x) < 10**100 else "an integer of more than 100 digits"


_SHOWN = _Excerpt()
_SHOWN.maxlevel, _SHOWN.maxstring, _SHOWN.maxother, _SHOWN.maxlong = 3, 80, 80, 40
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxdict = 6


class _Null:
    """JSON's null, which someone wrote; None stands for nothing at all."""

    def __repr__(self) -> str:
        return "null"


@dataclass(frozen=True)
class Issue:
    """One defect: where it is, what stood there (None: nothing), what is allowed. As text it is one line."""

    path: str
    value: Any
    allowed: str

    def __str__(self) -> str:
        stood = "" if self.value is None else f"{_SHOWN.repr(self.value)}: "
        allowed = re.sub(r"\b(most|least|from|to|than) (\d{5,})\b", lambda at: f"{at[1]} {int(at[2]):,}", self.allowed)
        return " ".join(f"{self.path or 'document'}: {stood}{allowed}".split())


def message(issues: Sequence[Issue], most: int = MAX_TOLD) -> list[str]:
    """The first ``most`` problems, a line each, and in one more line how many others there are."""
    more = len(issues) - most
    return [*map(str, issues[:most]), *([f"and {more:,} more"] if more > 0 else [])]


class InputError(ValueError):
    """Every problem of one input at once (attribute ``issues``); as text the first `MAX_TOLD` and a count."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = list(issues)
        super().__init__("\n".join(message(self.issues)))

    def __reduce__(self) -> tuple[type[Self], tuple[list[Issue]]]:
        """Cross to another process with its issues: by itself an exception is made again from its text."""
        return type(self), (self.issues,)


def raise_any(issues: Iterable[Issue]) -> None:
    """Raise `InputError` with all of them, where there are any."""
    if found := list(issues):
        raise InputError(found)


def refuse_if(wrong: object, path: str, value: Any, allowed: str) -> None:
    """Raise `InputError` with this one defect, where there is something wrong."""
    if wrong:
        raise InputError([Issue(path, value, allowed)])


def not_above_0(**numbers: float) -> list[Issue]:
    """What is wrong with those of these numbers that are not above 0, or not finite."""
    return [Issue(name, value, "a number above 0") for name, value in numbers.items() if not 0 < value < math.inf]


def path_of(location: Iterable[str | int]) -> str:
    """``("lines", 1, "epsilon")`` as ``lines[1].epsilon``; names that are no plain words are quoted in brackets."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_NAME.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part[:80])}]"
    return path


def _location(item: Any, document: Any) -> list[str | int]:
    """Where in ``document`` an error of pydantic lies, without the tags of unions and validators in its path."""
    location: list[str | int] = []
    here = document
    for number, part in enumerate(item["loc"]):
        if isinstance(here, Mapping):
            last = number == len(item["loc"]) - 1
            if part not in here and not (last and item["type"] == "missing"):
                continue
            here = here.get(part)
        elif isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        location.append(part)
    return location


def unknown(document: Mapping[Any, Any], names: Collection[str]) -> list[Issue]:
    """A problem for each field of a document that has no such name, with a near name for the first `MAX_TOLD`."""
    issues: list[Issue] = []
    for name, value in document.items():
        if isinstance(name, str) and name not in names:
            # for those that a text shows: comparing 60,000 names would keep other visitors waiting
            near = did_you_mean(name, names) if len(issues) < MAX_TOLD else ""
            words = f"no such field; {near}" if near else "no such field"
            issues.append(Issue(path_of((name,)), _Null() if value is None else value, words))
    return issues


def did_you_mean(name: str, names: Collection[str]) -> str:
    """A question that gives the one of the ``names`` that looks most like a name; empty where none does."""
    near = difflib.get_close_matches(name[:80], names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""


def unreadable(path: str, file: Any, error: Exception) -> Issue:
    """What is wrong with a file that cannot be read; ``path`` is the field or argument that names it."""
    missing = isinstance(error, FileNotFoundError)
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Issue(path, str(file), "there is no such file" if missing else f"cannot be read: {reason}")


def issues_of(
    error: pydantic.ValidationError, document: Any, prefix: tuple[str | int, ...] = (), fields: Iterable[str] = ()
) -> list[Issue]:
    """Translate a pydantic error; what the members of one union say of one value becomes one problem.

    ``fields`` are those that the document may have, for those who name another one.
    """
    names = ", ".join(fields)
    by_path: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for item in error.errors(include_url=False):
        location = _location(item, document)
        kind, value, words = item["type"], item.get("input"), item["msg"]
        value = _Null() if value is None else value
        if kind == "too_short" and isinstance(value, Sequence) and len(value) >= item["ctx"]["min_length"]:
            continue  # only counted as too short because its items are wrong, which is told by itself
        if kind in ("missing", "union_tag_not_found"):
            location += ["kind"] if kind == "union_tag_not_found" else []
            value, words = None, "this field is required"
        elif kind == "extra_forbidden":
            words = "no such field" + (f"; allowed: {names}" if names else "")
        elif kind == "union_tag_invalid":
            location.append("kind")
            value = value.get("kind") if isinstance(value, Mapping) else value
            words = f"allowed: {item['ctx']['expected_tags']}"
        elif kind in ("value_error", "assertion_error"):
            words = words.partition(", ")[2] or words
        for said, plainer in _PLAINER.items():
            words = re.sub(said, plainer, words)
        path = path_of((*prefix, *location))
        values[path] = value
        if words not in by_path.setdefault(path, []):
            by_path[path].append(words)
    for all_words in by_path.values():
        if len(all_words) > 1 and _NAMED_FIELDS in all_words:  # whoever wrote a number meant one
            all_words.remove(_NAMED_FIELDS)
    return [Issue(path, values[path], ", or ".join(all_words)) for path, all_words in by_path.items()]


def validated(annotation: Any, document: Any, prefix: tuple[str | int, ...] = ()) -> Any:
    """``document`` as the annotated type.

    Raises
    ------
    InputError
        With every problem, paths beginning with ``prefix``.
    """
    try:
        return pydantic.TypeAdapter(annotation).validate_python(document)
    except pydantic.ValidationError as error:
        raise InputError(issues_of(error, document, prefix)) from None
