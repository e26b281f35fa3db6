"""One compiled function out of many: what a registry found, chosen by its code."""

from __future__ import annotations

from bandit_core.jit.decorators import inlined


def _link(code, draw, others):
    def link(asked, *numbers):
        if asked == code:
            return draw(*numbers)
        return others(asked, *numbers)

    link.__qualname__ += f".{draw.py_func.__qualname__}"  # names of compiled code come from it; each is another
    return inlined(link)


def _last(draw):
    def last(asked, *numbers):
        return draw(*numbers)

    last.__qualname__ += f".{draw.py_func.__qualname__}"
    return inlined(last)


def chain(draws):
    """``draw(code, *numbers)`` for plain functions ``draws`` by code, which is compared with theirs in order."""
    *others, (_, draw) = sorted(draws.items())
    chosen = _last(inlined(draw))
    for code, draw in reversed(others):
        chosen = _link(code, inlined(draw), chosen)
    return chosen
