"""The promises of privacy, and in which measure each is kept: one object for each, which everyone else reads.

Which lower bound speaks of which policy
----------------------------------------
A lower bound is stated for every policy that keeps some promise P. It binds a policy that keeps Q exactly if whatever
can be played under Q can be played under P with the same budget: then Q is at least as strong. Each step of the chain

    local  >=  shuffle  >=  distributed  >=  central  >=  none

is one such simulation (`Promise.weaker`, with the reason in `why`), and none of them goes back with the same answers
(`not_back`). So a bound for a curator also binds those who trust a shuffler or no one, and one of local privacy binds
local policies alone.

Joint DP stands beside central DP, below distributed DP (`Promise.also`). It hides a user's features and reward from
everyone else, central DP hides the reward from everyone who sees all choices. Neither implies the other. Central DP
may show the features. For the other direction: a curator tosses a coin, plays it for user t, and shows user t + 1 the
exclusive or of the coin and user t's reward. What user t + 1 sees is a fair coin, whatever the reward; with user t's
own choice beside it the reward is plain.

Two promises that no policy of the lab keeps stand beside the chain: central DP implies them with
a larger budget only, so their bounds are drawn beside no one's curve.

The same for the measures: epsilon-DP gives epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4), and rho-zCDP gives
(rho + 2 sqrt(rho ln(1/delta)), delta)-DP for every delta (Proposition 1.3). Neither goes back: one Gaussian release is
zCDP and has no pure epsilon. A bound that is stated for pure privacy says nothing of a run that keeps less.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from bandit_core.spec.found import all_fields

Privacy = Literal["none", "local", "shuffle", "distributed", "joint", "central"]  # what a policy can keep
Model = Literal["none", "local", "shuffle", "distributed", "joint", "central", "instantaneous", "environment"]
Measure = Literal["pure", "concentrated", "approximate"]


@dataclass(frozen=True)
class Party:
    """Whom a reward passes on its way, and what they see; ``private`` if it is hidden from them. ``on_the_way`` is what
    happens to it just before."""

    name: str
    sees: str
    private: bool
    on_the_way: str = ""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """One promise of privacy.

    ``key`` is what specs, tables and files say; ``name`` stands within a sentence, ``who`` is trusted in a few words.
    ``says`` is the promise, ``formula`` the same in LaTeX: x_1, x_2, ... are the rewards of the users, z_t is what a
    device sends in place of x_t, a_1, a_2, ... are the arms that are played, theta their means. ``neighbouring`` are
    the tables that must look alike, ``unit`` is what they differ in. ``weaker`` is the next promise that it implies
    with the same budget, ``also`` are others beside that one, ``why`` the reason, and ``not_back`` why none of them
    implies this. ``lower`` says which
    lower bounds bind it where none is known that speaks of this promise itself. ``sign`` stands before the names of
    lines.
    """

    key: Model
    title: str
    name: str
    who: str
    sign: str = ""
    says: str
    formula: str = ""
    neighbouring: str = ""
    unit: str = "one user's reward"
    trusted: str = ""
    seen: str
    example: str = ""
    parties: tuple[Party, ...] = ()
    weaker: Model | None = "none"
    also: tuple[Model, ...] = ()
    why: str = "A bound for every policy binds the private ones, too."
    not_back: str = ""
    lower: str = ""

    @property
    def words(self) -> str:
        """Name and what is said, as one sentence."""
        return f"{self.name}: {self.says[0].lower()}{self.says[1:].rstrip('.')}"

    @property
    def short(self) -> str:
        """Who is trusted, with the name of the promise where there is one."""
        return self.who if self.key == "none" else f"{self.who} ({self.name})"

    def implied(self) -> tuple[Model, ...]:
        """Itself and every promise that it implies with the same budget, the strongest first."""
        return (self.key, *self.also, *(PROMISES[self.weaker].implied() if self.weaker else ()))


def _promise(key: Model, fields: dict[str, Any]) -> Promise:
    parties = tuple(Party(*each) for each in fields.pop("parties", ()))
    also, weaker = tuple(fields.pop("also", ())), fields.pop("weaker", "none") or None
    return Promise(key=key, parties=parties, also=also, weaker=weaker, **fields)


_FIELDS = all_fields(__file__)
PROMISES: dict[Model, Promise] = {key: _promise(key, _FIELDS[key]) for key in get_args(Model)}
# By policies, in the order of lists.
KEPT: tuple[Privacy, ...] = ("none", "local", "shuffle", "distributed", "joint", "central")


@dataclass(frozen=True, kw_only=True)
class MeasureWords:
    """In what a privacy budget is counted. ``weaker`` is the next measure it converts into, ``conversion`` how."""

    key: Measure
    name: str
    symbol: str
    says: str
    weaker: Measure | None = None
    conversion: str = ""

    def implied(self) -> tuple[Measure, ...]:
        """Itself and what it converts into; the budget changes on the way."""
        return (self.key, *(MEASURES[self.weaker].implied() if self.weaker else ()))


MEASURES: dict[Measure, MeasureWords] = {key: MeasureWords(key=key, **_FIELDS[key]) for key in get_args(Measure)}
