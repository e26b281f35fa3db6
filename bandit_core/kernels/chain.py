"""One compiled function out of many: what a registry found, chosen by its code."""

from typing import Any

from bandit_core.jit.decorators import inlined


def _link(code: int, draw: Any, others: Any) -> Any:
    def link(asked: int, *numbers: Any) -> float:
        if asked == code:
            return draw(*numbers)
        return others(asked, *numbers)

    link.__qualname__ += f".{draw.py_func.__qualname__}"  # names of compiled code come from it; each is another
    return inlined(link)


def _last(draw: Any) -> Any:
    def last(asked: int, *numbers: Any) -> float:
        return draw(*numbers)

    last.__qualname__ += f".{draw.py_func.__qualname__}"
    return inlined(last)


def chain(draws: dict[int, Any]) -> Any:
    """``draw(code, *numbers)`` for plain functions ``draws`` by code, which is compared with theirs in order."""
    *others, (_, draw) = sorted(draws.items())
    chosen = _last(inlined(draw))
    for code, draw in reversed(others):
        chosen = _link(code, inlined(draw), chosen)
    return chosen
