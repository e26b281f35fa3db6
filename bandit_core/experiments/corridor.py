"""What is proved of one line on its arms: the area that its expected regret cannot leave, and its rate in the long run.

An edge holds at every number of users, on these arms, for this line's guarantee. Asymptotic rates, shapes, bounds on
the hardest arms, bounds for a class of policies, and bounds whose proof was not seen are no edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bandit_core.experiments.curves import line_bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.model.bound import TRIVIAL, Bound

ABOVE = "proved: never above"
RATE = "in the long run at least this fast"
LATER = np.geomspace(10, 1e12, 331)  # numbers of users at which `says_from` looks


@dataclass(frozen=True, eq=False)
class Corridor:
    """Of one ``line`` at every checkpoint, shape (checkpoints,), reward units.

    ``lower`` is the largest lower bound (0 where none is known) and ``upper`` the smallest upper one, at most users x
    largest gap. ``floor`` and ``proof`` are the bounds that give them at the last checkpoint, None where there is none
    but the trivial one. ``blind`` is what choosing at random loses on average. ``rate`` is the largest asymptotic rate,
    NaN where the measured curve has not passed it for long (see `reached`), and ``slope`` its bound.
    """

    line: int
    lower: np.ndarray
    upper: np.ndarray
    floor: Bound | None
    proof: Bound | None
    blind: np.ndarray
    rate: np.ndarray
    slope: Bound | None

    @property
    def edge(self) -> np.ndarray:
        """The upper bound from where on it says more than what choosing at random loses; before, NaN."""
        silent = np.flatnonzero(~(self.upper < self.blind))
        start = silent[-1] + 1 if len(silent) else 0
        return np.where(np.arange(len(self.upper)) >= start, self.upper, np.nan)

    @property
    def curves(self) -> tuple[tuple[str, np.ndarray], ...]:
        """What is drawn, each with its words: the upper edge, the lower one, and the rate of the long run."""
        return (ABOVE, self.edge), (self.below, self.lower), (RATE, self.rate)

    @property
    def below(self) -> str:
        """What the lower edge is, in words."""
        return f"no {method_words(self.floor)} can be below"


def method_words(bound: Bound | None) -> str:
    """Which methods a lower bound speaks of: ``local method``; ``method`` where it binds them all."""
    return "method" if bound is None or bound.model == "none" else f"{bound.model} method"


def edges(experiment: Experiment, line: int) -> tuple[list[Bound], list[Bound]]:
    """The lower and the upper bounds that may be edges of the line's corridor; the trivial cap is among the upper."""
    bounds = [each for each in line_bounds(experiment, line) if each.binds and each.form == "bound"]
    holds = [each for each in bounds if each.status in ("proved", "derived")]
    return [each for each in holds if each.side == "lower"], [each for each in holds if each.side == "upper"]


def corridor(experiment: Experiment, line: int, times: np.ndarray, mean: np.ndarray | None = None) -> Corridor:
    """The corridor of a line (counted from 0) at ``times`` (users); its rate only beside a measured ``mean``."""
    gap = experiment.largest_gap
    below, above = edges(experiment, line)
    known = [bound for bound in line_bounds(experiment, line) if bound.binds and bound.side == "lower"]
    rates = [bound for bound in known if bound.form == "slope"]
    nothing = np.full(len(times), np.nan)
    (lower, floor), (upper, proof), (height, slope) = (
        _extreme([(bound.values(times, gap), bound) for bound in found], most, start)
        for found, most, start in ((below, 1, 0 * nothing), (above, -1, times * gap), (rates, 1, nothing))
    )
    rate = nothing if slope is None or mean is None else reached(height, times, mean)
    each = gap if experiment.contexts is not None else float((experiment.means.max() - experiment.means).mean())
    return Corridor(line, np.nan_to_num(lower), upper, floor, proof, times * each, rate, slope)


def reached(rate: np.ndarray, times: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The part of an asymptotic rate after the ``mean`` was last below it, if that is the last tenfold of users at
    least, else NaN; shape kept.

    A rate says nothing of any one horizon. A line above a curve reads as something that the curve fails to reach, and
    one that it crosses early, or has only just crossed, shows nothing.
    """
    missing = np.flatnonzero(~(mean >= rate))
    start = missing[-1] + 1 if len(missing) else 0
    shown = start < len(times) and times[start] <= times[-1] / 10
    return np.where(shown & (np.arange(len(times)) >= start), rate, np.nan)


def _extreme(
    found: list[tuple[np.ndarray, Bound]], sign: int, otherwise: np.ndarray
) -> tuple[np.ndarray, Bound | None]:
    """The largest values (the smallest with ``sign`` -1) at every time, and the bound that gives the last of them."""
    if not found:
        return otherwise, None
    _, bound = max(found, key=lambda pair: sign * pair[0][-1] - 1e-12 * (pair[1].name == TRIVIAL))
    every = np.array([each for each, _ in found])
    return sign * (sign * every).max(axis=0), None if bound.name == TRIVIAL else bound


def says_from(experiment: Experiment, line: int) -> float | None:
    """From how many users on the upper edge says more than that one may choose at random; None where it never does.

    Users beyond the horizon count, too, unless the policy is made for the horizon.
    """
    chosen, setup = experiment.lines[line].entry, experiment.setups[line]
    times = LATER[experiment.horizon >= LATER] if chosen.knows_horizon(setup) else LATER
    known = np.flatnonzero(np.isfinite(corridor(experiment, line, times).edge))
    return float(times[known[0]]) if len(known) else None


def in_focus(experiment: Experiment) -> int | None:
    """The line whose corridor is shown at first: the first private one that is drawn, or else the first one drawn."""
    private = (number for number in experiment.drawn if experiment.lines[number].epsilon is not None)
    return next(private, next(iter(experiment.drawn), None))


def further(experiment: Experiment, line: int) -> list[Bound]:
    """Bounds that are drawn on request only: all that apply, but for those of a class of policies.

    No one has proved which policies belong to such a class.
    """
    return [bound for bound in line_bounds(experiment, line) if not (bound.not_applicable or bound.only)]


def asked_by_link(experiment: Experiment, line: int) -> tuple[str, ...]:
    """The labels of those that the view asks for, as old links do: rates and shapes, and bounds on the hardest arms."""
    view = experiment.view
    return tuple(
        bound.label
        for bound in further(experiment, line)
        if bound.form != "bound" or bound.worst_case
        if (view.shapes or bound.form == "bound") and (view.worst_case or not bound.worst_case)
    )
