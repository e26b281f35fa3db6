"""What steps without an experiment draw: people behind coins, noisy sums, an audit. Each is called as its step.

Of a step they know the stops of its slider and its ``epsilon``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bandit_core import AuditResult
from bandit_core.auditing.subjects import audit
from bandit_core.mechanisms.laplace import CTL
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.simulation.sentences import surest
from ui import charts, theme
from ui.learn import classroom, pictures
from ui.learn.measured import Number, spread

# ---------------------------------------------------------------------------------------------------------------
# One answer behind a coin flip

PEOPLE = 10_000
CHANCES = (0.1, 1.0, 3.0)  # budgets whose chance of the truth stands in the picture


@dataclass(frozen=True)
class Coin:
    """The share of people, in percent, about whom an observer who believes every answer is right."""

    right: Number
    stops: tuple[float, ...]

    def numbers(self, at: float) -> dict[str, Number | str]:
        """The share, what the coin allows, and what is more than blind luck."""
        limit = round(surest(at), 1 if surest(at) < 99 else 2)
        return {"right": self.right, "limit": f"{limit:g}", "luck": Number(self.right.value - 50, self.right.error)}

    def draw(self, at: float, dark: bool, height: int) -> go.Figure:
        """The share on the curve of what the coin allows."""
        grid, quiet = np.geomspace(self.stops[0], self.stops[-1], 60), theme.quiet(dark)
        named = [epsilon for epsilon in CHANCES if epsilon != at]
        sure = [surest(epsilon) for epsilon in named]
        texts = {"mode": "markers+text", "text": [f"{each:.0f}%" for each in sure], "textposition": "top left"}
        marks = texts | {"marker": {"color": quiet, "size": 6}}
        shade = pictures.colour(pictures.PRIVATE, dark)
        curves = [
            charts.Curve(grid, [*map(surest, grid)], "what the coin allows", quiet, "%{y:.3~g}%", width=2),
            charts.Curve(named, sure, "chances", quiet, "", listed=False, more=marks),
            pictures.dots([at], [self.right], "this observer", shade, at, joined=False),
        ]
        across = {"title": "privacy budget ε", "type": "log", "tickvals": [0.1, 0.2, 0.5, 1, 2, 4, 8]}
        return pictures.draw(curves, across, {"title": "right about (% of people)", "range": [45, 103]}, dark, height)


def _coin(at: float, seed: int, stops: tuple[float, ...], epsilon: float) -> Coin:
    rng = np.random.default_rng([seed, 2])
    laughed = rng.integers(0, 2, PEOPLE).astype(float)
    right = float(np.mean(CTB.release(laughed, at, rng) == laughed))
    return Coin(Number(100 * right, 100 * math.sqrt(right * (1 - right) / PEOPLE)), stops)


# ---------------------------------------------------------------------------------------------------------------
# Errors of many people's answers, at every position of the slider

SHARE, REPEATS = 0.6, 1000


class Table(dict[float, dict[str, Number]]):
    """Numbers by position and name."""

    def numbers(self, at: float) -> dict[str, Number]:
        """Those of a position."""
        return self[at]


def _times(one: Number, other: Number, power: int = 1) -> tuple[Number, Number]:
    """How many times as large the first is, to a power, and that beyond 1."""
    times = (one.value / other.value) ** power
    error = power * times * math.hypot(one.error / one.value, other.error / other.value)
    return Number(times, error), Number(times - 1, error)


@lru_cache(maxsize=64)
def _crowds(stops: tuple[float, ...], epsilon: float, seed: int) -> Table:
    """Typical errors of an estimated share, in points of a hundred; they fall with the root of the users."""
    rng, table = np.random.default_rng([seed, 3]), Table()
    users = np.array(stops, int)[:, None]
    ones = rng.binomial(users, float(CTB.mean(SHARE, epsilon)), (len(stops), REPEATS))
    behind = 100 * np.asarray(CTB.estimate(ones / users, epsilon))
    openly = 100 * rng.binomial(users, SHARE, (len(stops), REPEATS)) / users
    for stop, *rows in zip(stops, behind, openly, strict=True):
        hidden, told = (spread(row, 100 * SHARE) for row in rows)
        times, more = _times(hidden, told, 2)
        table[stop] = {"hidden": hidden, "open": told, "times": times, "more": more}
    return table


@lru_cache(maxsize=64)
def _counts(stops: tuple[float, ...], epsilon: float, seed: int) -> Table:
    """Typical errors of a counted number. They are drawn at ε = 1, as Laplace noise grows with 1/ε."""
    rng, table = np.random.default_rng([seed, 11]), Table()
    for people in stops:
        yes = rng.integers(0, 2, int(people)).astype(float)
        noisy = CTL.release(np.tile(yes, (REPEATS, 1)), 1.0, rng).sum(axis=1)
        noise = CTL.release(np.zeros(REPEATS), 1.0, rng)  # what a curator adds to a sum that one answer moves by 1
        errors = spread(noisy, float(yes.sum())), spread(yes.sum() + noise, float(yes.sum()))
        times, more = _times(*errors)
        many, one = (Number(each.value / epsilon, each.error / epsilon) for each in errors)
        table[people] = {"many": many, "one": one, "times": times, "more": more}
    return table


# ---------------------------------------------------------------------------------------------------------------
# One reward like a thousand

TIPS, SUMS = 1000, 4000


@dataclass(frozen=True)
class Tips:
    """All tips, the largest first; how much a cut-off takes away, and the typical size of the noise behind it."""

    tips: tuple[float, ...]
    cut: float
    noise: Number

    def numbers(self, at: float) -> dict[str, Number | str]:
        """Sum, noise, the share of the noise, and the percentage that is cut away."""
        total = sum(self.tips)
        share = Number(self.noise.value / total, self.noise.error / total)
        return {
            "total": f"{total:,.0f}",
            "noise": self.noise,
            "share": share,
            "cut": Number(round(100 * self.cut / total)),
        }

    def draw(self, at: float, dark: bool, height: int) -> go.Figure:
        """The tips, the cut-off, and what it costs."""
        quiet, shade, curves = theme.quiet(dark), pictures.colour(pictures.CENTRAL, dark), []
        ranks = np.unique(np.geomspace(1, TIPS, classroom.POINTS).round().astype(int))
        sizes = np.array(self.tips)[ranks - 1]
        for kept, colour in ((sizes <= at, shade), (sizes > at, quiet)):
            marker = {"color": colour, "size": 7}
            curves.append(pictures.marks(ranks[kept], sizes[kept], "", marker, "%{y:,.2~f}", listed=False))
        levels = [("cut-off", at, None, shade), ("noise on the sum", self.noise.value, "dash", theme.ink(dark))]
        if self.cut:
            levels.append(("cut away", self.cut, "dot", quiet))
        for name, level, dash, colour in levels:
            curves.append(charts.Curve([1, TIPS], [level, level], name, colour, "%{y:,.3~g}", dash, width=2))
        across = {"title": "tips, the largest first", "type": "log", "dtick": 1, "range": [-0.1, 3.05]}
        up = {"title": "size", "type": "log", "tickvals": [0.1, 1, 10, 100, 1000], "range": [-1.3, 3.5]}
        return pictures.draw(curves, across, up, dark, height)


def tips(seed: int) -> np.ndarray:
    """999 tips of 1 on average, and one that is as large as these together."""
    small = np.random.default_rng([seed, 12]).exponential(1.0, TIPS - 1)
    small *= (TIPS - 1) / small.sum()
    return np.sort(np.append(small, small.sum()))[::-1]


def _outlier(at: float, seed: int, stops: tuple[float, ...], epsilon: float) -> Tips:
    all_tips = tips(seed)
    noise = at * CTL.release(np.zeros(SUMS), epsilon, np.random.default_rng([seed, 13]))
    return Tips(tuple(all_tips), float(all_tips[all_tips > at].sum()), spread(noise, 0.0))


# ---------------------------------------------------------------------------------------------------------------
# The audit of a mechanism that is broken on purpose

SUBJECT, CLAIM, SURE = "ctl-half-noise", 0.1, 0.999


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    result: AuditResult

    def numbers(self, at: float) -> dict[str, Number]:
        """The real epsilon at least, what was seen of it, and how much the bound exceeds the claim."""
        low, seen, high = self.result.event_loss
        return {
            "bound": Number(float(f"{self.result.lower_bound:.3g}")),
            "seen": Number(seen, (high - low) / 6),  # 99.9% limits lie about three standard errors away
            "excess": Number(self.result.lower_bound - CLAIM),
        }

    def draw(self, at: float, dark: bool, height: int) -> go.Figure:
        """Claim, bound and what was seen on one line."""
        seen, top, least = self.numbers(at)["seen"], 0.5, self.result.lower_bound
        shade, ink, quiet = pictures.colour(pictures.PRIVATE, dark), theme.ink(dark), theme.quiet(dark)
        pale, hover = theme.transparent(shade, 0.35), "claimed %{x:.3~g}<extra></extra>"
        bound = {"color": shade, "size": 14, "symbol": "triangle-right"}
        was_seen = {"color": ink, "size": 12, "symbol": "diamond"}
        curves = [
            charts.Curve([least, top], [1, 1], "where the real ε can be", pale, "", width=18),
            pictures.marks([least], [1], f"at least {least:.3g}", bound, "at least %{x:.3~g}"),
            pictures.marks([seen.value], [1], f"seen: {seen}", was_seen, "seen %{x:.3~g}"),
            charts.Curve([CLAIM] * 2, [0.4, 1.6], f"claimed: {CLAIM:g}", quiet, hover, "dash", width=2),
        ]
        across = {"title": "ε", "range": [0, top], "zeroline": False}
        return pictures.draw(curves, across, {"visible": False, "range": [0.3, 1.8]}, dark, height)


SAMPLES: dict[str, Callable[[float, int, tuple[float, ...], float], Any]] = {
    "coin": _coin, "outlier": _outlier,
    "crowd": lambda at, seed, stops, epsilon: _crowds(stops, epsilon, seed),
    "noises": lambda at, seed, stops, epsilon: _counts(stops, epsilon, seed),
    "promise": lambda at, seed, *_: Audit(audit(SUBJECT, CLAIM, samples=int(at), confidence=SURE, seed=seed)),
    "toss": lambda at, seed, *_: classroom.sample(at, seed),
}  # fmt: skip
