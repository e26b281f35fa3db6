"""Data that someone brought, and that no one else may meet: what follows from them is remembered nowhere.

Whose numbers are computed is one value of the thread: the store that may keep them while someone's own are, else None.
Simulations take that store, and what is `remembered` is computed anew.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_store: ContextVar[Any] = ContextVar("store", default=None)


def store() -> Any:
    """The store of someone's own data; None while no such data are looked at."""
    return _store.get()


def hold(store: Any) -> None:
    """From now on, and until the `held` around it ends, data are looked at that only this store may keep."""
    _store.set(store)


@contextmanager
def held(store: Any) -> Iterator[None]:
    """The same for what is inside; None ends it for what is inside."""
    before = _store.set(store)
    try:
        yield
    finally:
        _store.reset(before)


def bound(function: Function) -> Function:
    """``function`` for another thread or a later moment, with the data that are looked at now."""
    now = store()

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with held(now):
            return function(*given, **named)

    return call  # type: ignore[return-value]


def remembered(most: int) -> Callable[[Function], Function]:
    """As `functools.lru_cache`, for functions of what may be someone's own data."""

    def decorate(function: Function) -> Function:
        cached = lru_cache(most)(function)

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return (cached if store() is None else function)(*given, **named)

        call.cache_clear, call.cache_info = cached.cache_clear, cached.cache_info  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
