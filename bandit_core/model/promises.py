"""The promises of privacy, what implies what, and what a run guarantees: its promise and its releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bandit_core.spec.found import all_fields
from bandit_core.spec.number_text import write_number

# ---------------------------------------------------------------------------------------------------------------------
# The promises of privacy, and in which measure each is kept: one object for each, which everyone else reads.
#
# Which lower bound speaks of which policy
# ----------------------------------------
# A lower bound is stated for every policy that keeps some promise P. It binds a policy that keeps Q exactly if whatever
# can be played under Q can be played under P with the same budget: then Q is at least as strong. Each step of the chain
#
#     local  >=  shuffle  >=  distributed  >=  central  >=  none
#
# is one such simulation (`Promise.weaker`, with the reason in `why`), and none of them goes back with the same answers
# (`not_back`). So a bound for a curator also binds those who trust a shuffler or no one, and one of local privacy binds
# local policies alone.
#
# Joint DP stands beside central DP, below distributed DP (`Promise.also`). It hides a user's features and reward from
# everyone else, central DP hides the reward from everyone who sees all choices. Neither implies the other. Central DP
# may show the features. For the other direction: a curator tosses a coin, plays it for user t, and shows user t + 1 the
# exclusive or of the coin and user t's reward. What user t + 1 sees is a fair coin, whatever the reward; with user t's
# own choice beside it the reward is plain.
#
# Two promises that no policy of the lab keeps stand beside the chain: central DP implies them with
# a larger budget only, so their bounds are drawn beside no one's curve.
#
# The same for the measures: epsilon-DP gives epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4), and rho-zCDP
# gives (rho + 2 sqrt(rho ln(1/delta)), delta)-DP for every delta (Proposition 1.3). Neither goes back: one Gaussian
# release is zCDP and has no pure epsilon. A bound that is stated for pure privacy says nothing of a run that keeps
# less.


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


# ---------------------------------------------------------------------------------------------------------------------
# The promise of privacy that a run keeps, and the releases that it is made of.


@dataclass(frozen=True)
class Guarantee:
    """The privacy that a run really has. ``epsilon`` None means one budget per user, from the distribution of the
    spec. Where the budget is concentrated, ``rho`` is it, and ``epsilon`` and ``delta`` are what it gives.
    """

    model: Privacy
    words: str
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    @property
    def measure(self) -> Measure:
        """What its budget is counted in."""
        if self.rho is not None:
            return "concentrated"
        return "approximate" if self.delta > 0 else "pure"

    @property
    def failure(self) -> str:
        """The delta as a label: ``δ = 1e-6``; empty where the budget is pure."""
        return f"δ = {write_number(float(f'{self.delta:.2g}'))}" if self.delta > 0 else ""

    @property
    def budget(self) -> str:
        """The budget as a label that tells its measure: ``ε = 1, δ = 1e-6``; empty without one number for all."""
        if self.epsilon is None or self.model == "none":
            return ""
        stated = ", ".join(filter(None, (f"ε = {self.epsilon:.4g}", self.failure)))
        return stated if self.rho is None else f"ρ = {self.rho:.3g}, so {stated}"


@dataclass(frozen=True, kw_only=True)
class Release:
    """What leaves users or the curator, as one reward's (or one user's) account sees it, so that anyone can add it up.

    ``times`` counts the releases of this kind that one ``unit`` is in, at most; ``at`` says when they are made.
    ``sensitivity`` is the farthest that one unit moves what is released, in ``norm``, and ``scale`` that of the noise
    in the same units (Laplace: its scale; Gaussian and Skellam: its standard deviation, of a Skellam sum in rewards;
    l2-ball: the radius of the sphere of responses, for vectors of one model). Mechanisms whose budget is not the
    quotient of the two have ``budget`` (nats) instead, which may fail with chance ``delta`` where that is not 0. Where
    users have budgets of their own it is that of the largest.
    """

    mechanism: Literal[
        "laplace", "gaussian", "randomised response", "l2-ball", "shuffled bits", "discrete laplace", "skellam"
    ]
    released: str
    unit: Literal["one reward", "one user's context, choice and reward", "one person"]
    at: str
    times: int = 1
    norm: Literal["L1", "L2"] | None = None
    sensitivity: float | None = None
    scale: float | None = None
    budget: float | None = None
    delta: float = 0.0

    @property
    def epsilon(self) -> float | None:
        """Epsilon (nats) of one such release, pure unless it has a ``delta``; None where there is none (Gaussian)."""
        if self.mechanism == "gaussian":
            return None
        if self.budget is not None:
            return self.budget
        assert self.sensitivity is not None and self.scale is not None
        return self.sensitivity / self.scale if self.scale > 0 else np.inf
