"""The doors of the library: what is handed to a public function is checked before anything is computed.

The signature says what is allowed. A preset's name, a file or a document stands for an experiment, a file's name for
its bytes; NumPy's arrays and numbers stand for lists and numbers.
"""

import collections.abc
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import numpy as np
import pydantic
from pydantic import BeforeValidator, PlainValidator

from bandit_core.experiments import links
from bandit_core.experiments.experiment import Experiment, read_document
from bandit_core.experiments.presets import load_preset, preset_names
from bandit_core.spec.errors import InputError, Issue, issues_of, raise_any, unreadable
from bandit_core.spec.field_types import Finite, Whole

P = ParamSpec("P")
T = TypeVar("T")
_MANY = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, list, tuple)


SOURCES = "an experiment, a preset's name, a link of the app, a document or a .json or .toml file"


def document_of(source: Any, folder: Path = Path()) -> Any:
    """An experiment, or a document that nobody has checked yet, which ``source`` is, has (a result), names (a preset),
    opens (a link of the app) or holds (a file, from ``folder`` on).

    Raises
    ------
    InputError
        Where it is none of these.
    """
    own = getattr(source, "experiment", source)
    if isinstance(own, Experiment | Mapping):
        return own
    if isinstance(source, str) and "?" in source:
        return links.opened(source)
    is_file = isinstance(source, str) and source not in preset_names() and (Path(source).suffix or os.sep in source)
    if isinstance(source, Path) or is_file:
        return read_document(folder / source)
    if isinstance(source, str):
        return load_preset(source)
    raise InputError([Issue("", source, f"must be {SOURCES}")])


def experiment_of(source: Any) -> Experiment:
    """The experiment that `document_of` finds.

    Raises
    ------
    InputError
        Where there is none, or it is not valid.
    """
    document = document_of(source)
    return document if isinstance(document, Experiment) else Experiment.model_validate(document)


def _experiment_or_document(value: Any) -> Any:
    return value if isinstance(value, Mapping) else experiment_of(value)


def _path(value: Any) -> Any:
    return Path(value) if isinstance(value, str) else value


def _bytes(value: Any) -> Any:
    if not isinstance(value, str | Path):
        return value
    try:
        return Path(value).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError([unreadable("", value, error)]) from None


_KINDS: dict[type, str] = {Path: "a file's name", collections.abc.Mapping: "a document"}  # of what people hand over
_READERS: dict[Any, Callable[[Any], Any]] = {Path: _path, bytes: _bytes}
_PLAIN: dict[Any, Any] = {
    int: Whole,
    float: Finite,
    bool: pydantic.StrictBool,
    str: pydantic.StrictStr,
    Experiment: Annotated[Any, PlainValidator(_experiment_or_document)],
}


def _list_of(value: Any) -> Any:
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        return np.asarray(value).tolist()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, collections.abc.Iterable):
        raise ValueError("must be a list")
    return tuple(value)


def _instance(kind: type) -> Any:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(_KINDS.get(kind, f"must be of the type {kind.__name__}"))
        return value

    return Annotated[Any, PlainValidator(check)]


def _called(value: Any) -> Any:
    if not callable(value):
        raise ValueError("must be a function")
    return value


def _allowed(hint: Any) -> Any:
    """What pydantic should hold a value to: an annotation in its words."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(_allowed(parts[0]), *hint.__metadata__)]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(_allowed, parts))]  # noqa: UP007 (of parts that are found here)
    if origin is Literal or hint in (None, type(None), Any) or isinstance(hint, typing.TypeVar):
        return hint
    if (origin or hint) in _MANY:
        fixed = origin is tuple and parts[-1] is not Ellipsis
        kept = tuple(map(_allowed, parts)) if fixed else (_allowed(parts[0] if parts else Any), ...)
        return Annotated[types.GenericAlias(tuple, kept), BeforeValidator(_list_of)]
    if origin is collections.abc.Callable:
        return Annotated[Any, PlainValidator(_called)]
    if hint in _PLAIN:
        return _PLAIN[hint]
    kind = origin or hint
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return Any
    if issubclass(kind, pydantic.BaseModel):
        return hint
    read = _READERS.get(kind)
    return _instance(kind) if read is None else Annotated[_instance(kind), BeforeValidator(read)]


def _adapters(hints: Mapping[str, Any]) -> dict[str, pydantic.TypeAdapter[Any]]:
    given = Annotated[Any, PlainValidator(experiment_of)]
    return {name: pydantic.TypeAdapter(given if hint is Experiment else _allowed(hint)) for name, hint in hints.items()}


def _of_function(function: Callable[..., Any]) -> dict[str, pydantic.TypeAdapter[Any]]:
    unwrapped = inspect.unwrap(function)  # since Python 3.14 a cached function has no annotations of its own
    arguments = {name: hint for name, hint in unwrapped.__annotations__.items() if name != "return"}
    named = types.SimpleNamespace(__annotations__=arguments)
    return _adapters(typing.get_type_hints(named, unwrapped.__globals__, None, True))


@functools.cache
def _of_fields(kind: Any) -> dict[str, pydantic.TypeAdapter[Any]]:
    return _adapters(typing.get_type_hints(kind, include_extras=True))


def _validated(adapters: Mapping[str, pydantic.TypeAdapter[Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as their annotations say.

    Raises
    ------
    InputError
        With every problem; paths begin with the argument's name.
    """
    issues, validated_values = list[Issue](), {}
    for name, value in values.items():
        try:
            validated_values[name] = adapters[name].validate_python(value) if name in adapters else value
        except pydantic.ValidationError as error:
            errors = [each.get("ctx", {}).get("error") for each in error.errors(include_url=False)]
            inner = [issue for each in errors if isinstance(each, InputError) for issue in each.issues]
            issues += [replace(each, path=each.path or name) for each in inner] or issues_of(error, value, (name,))
    raise_any(issues)
    return validated_values


def checked(function: Callable[P, T], name: str = "") -> Callable[P, T]:
    """``function`` behind a check of its arguments; ``name`` is what the package calls it.

    What it raises for a wrong argument is an `InputError` with the argument's name, its value and what is allowed.
    """
    signature, adapters = inspect.signature(function), functools.cache(functools.partial(_of_function, function))

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> T:
        bound = signature.bind(*given, **named)
        bound.arguments.update(_validated(adapters(), bound.arguments))
        return function(*bound.args, **bound.kwargs)

    if name:
        call.__module__, call.__name__, call.__qualname__ = "bandit_core", name, name
    return call


def check_fields(thing: Any) -> None:
    """Check the fields of a frozen dataclass, in its ``__post_init__``; numbers become plain ones.

    Raises
    ------
    InputError
        With every field that is not what its annotation says.
    """
    kind: Any = type(thing)
    for name, value in _validated(_of_fields(kind), vars(thing)).items():
        object.__setattr__(thing, name, value)
