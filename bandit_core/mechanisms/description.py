"""What a mechanism tells about itself, beside the code that computes it: promise, formulas, source.

Every file here ends in ``DESCRIPTION`` (or ``DESCRIPTIONS``), which `bandit_core.mechanisms.registry` finds by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bandit_core.mechanisms.base import Mechanism
from bandit_core.mechanisms.counter import Counter
from bandit_core.model import Privacy

Setting = Literal["delta", "dimension", "horizon", "users"]


@dataclass(frozen=True, kw_only=True)
class Formulas:
    """LaTeX; ``density`` of the output, ``loss`` = ln of the ratio of two densities, ``mean`` and ``variance``."""

    density: str
    loss: str
    mean: str
    variance: str


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What an audit of a counter looks at: item number ``item`` of a stream of so many ``items`` is told apart.

    ``nodes`` are pairs (late, early) of counts: the released sum at the first less that at the second is one noisy
    node with the item in it. None where the noise is normal: there one weighted total of all sums tells everything.
    ``words`` say what that misses.
    """

    items: int
    item: int
    nodes: tuple[tuple[int, int], ...] = ()
    words: str = ""
    seen: str = "the noisy sums of which the item is part, each cut to [0, 1], added up"

    @property
    def inputs(self) -> str:
        """The two inputs, in words."""
        return f"item {self.item} of {self.items} is 0 or 1, all others are 0"


@dataclass(frozen=True, kw_only=True)
class Description:
    """One mechanism: who is trusted, what is promised, its formulas, and how to get one that runs.

    ``make(epsilon, **settings)`` builds it; ``settings`` are the names of those it takes besides epsilon.
    ``inputs`` are two inputs that show it well, in units of its domain; ``symbol`` says what an input is.
    ``pure`` is False where the promise may fail with probability delta. Counters say what of them is ``audited``.
    """

    name: str
    title: str
    paper: str
    words: str
    guarantee: str
    trust: Privacy
    kind: Literal["answer", "batch", "counter"]
    sensitivity: str
    formulas: Formulas
    make: Callable[..., Any]
    settings: tuple[Setting, ...] = ()
    pure: bool = True
    inputs: tuple[float, float] = (0.0, 1.0)
    symbol: str = "reward"
    remark: str = ""
    audited: Audited | None = None

    def started(self, epsilon: float, horizon: int, delta: float | None = None) -> Any:
        """A counter that runs: for ``horizon`` items where it must know their number, at ``delta`` where it has one."""
        given = {"horizon": horizon, "delta": delta}
        return self.make(epsilon, **{name: given[name] for name in self.settings if given.get(name) is not None})


def answer(
    mechanism: Mechanism, make: Callable[..., Mechanism] | None = None, name: str | None = None, **described: Any
) -> Description:
    """Describe what a user's device answers; name, title, words, guarantee and paper are the mechanism's own."""
    return Description(
        name=name or mechanism.name,
        title=mechanism.title,
        paper=mechanism.paper,
        words=mechanism.words,
        guarantee=mechanism.guarantee_words,
        trust="local",
        kind="answer",
        make=make or (lambda epsilon: mechanism),
        **described,
    )


def batch(**described: Any) -> Description:
    """Describe what a batch of users sends together; ``make`` builds a `bandit_core.mechanisms.batch.Batch`."""
    return Description(kind="batch", symbol="reward of one user of the batch", **described)


def counter(kind: type[Counter], make: Callable[..., Counter], audited: Audited, **described: Any) -> Description:
    """Describe a curator's counter; name, title, words, guarantee and paper are the class's own."""
    return Description(
        name=kind.name,
        title=kind.title,
        paper=kind.paper,
        words=kind.words,
        guarantee=kind.guarantee_words,
        trust="central",
        kind="counter",
        make=make,
        audited=audited,
        symbol="item of the stream",
        **described,
    )
