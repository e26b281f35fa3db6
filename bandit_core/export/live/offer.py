"""What a live lesson holds beside its precomputed positions: kernels, and every call that a reader may ask for.

Budget and number of users are chosen from grids, and the call of every line at every pair is prepared here, so that
policies which resolve their parameters from both are exact; seed and number of runs are free, because no call depends
on them; for means see `bandit_core.export.live.arms`. What is equal is kept once.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.export.live import arms
from bandit_core.export.live.arguments import Leaf, leaf, leaves
from bandit_core.export.live.comparison import Captured
from bandit_core.export.live.manifest import manifest, obstacle, wasm
from bandit_core.export.positions import AS_GIVEN, Position, Positions, over_budgets, same_numbers
from bandit_core.jit.version import kernel_name
from bandit_core.model import KernelCall
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import count

EPSILONS = tuple(
    round(base * 10.0**power, 4)
    for power in (-2, -1, 0, 1)
    for base in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    if 0.05 <= base * 10.0**power <= 20
)
FEWEST_USERS, USUAL_USERS, MOST_USERS = 100, 100_000, 1_000_000
MOST_RUNS = 1000
CHECKED = 4  # runs by which a browser proves itself
CHECKED_USERS = 2000


class Calls:
    """Calls by number, each argument kept once."""

    def __init__(self) -> None:
        self.calls: list[KernelCall] = []
        self.written: list[dict[str, Any]] = []
        self.leaves: dict[Leaf, int] = {}
        self._places: dict[tuple[Any, ...], int] = {}

    def leaf(self, found: Leaf) -> int:
        """The number of an argument."""
        return self.leaves.setdefault(found, len(self.leaves))

    def __call__(self, call: KernelCall) -> int:
        """The number of a call."""
        arguments = [self.leaf(each) for each in leaves(call.arguments)]
        key = (kernel_name(call.kernel), call.arms, *arguments)
        if key not in self._places:
            self._places[key] = len(self.calls)
            self.calls.append(call)
            self.written.append({"kernel": key[0], "arms": call.arms, "arguments": arguments})
        return self._places[key]


def horizons(experiment: Experiment) -> list[int]:
    """Numbers of users that can be asked for: 100, 200, 500, … and the experiment's own."""
    most = min(MOST_USERS, max(USUAL_USERS, experiment.horizon))
    steps = (base * 10**power for power in range(2, 7) for base in (1, 2, 5))
    return sorted({*(users for users in steps if FEWEST_USERS <= users <= most), min(experiment.horizon, most)})


def budgets(positions: Positions) -> list[Position]:
    """Budgets that can be asked for: the usual ones and those of the slider, and the experiment as given."""
    experiment = positions.experiment
    if all(line.epsilon is None for line in experiment.lines):
        return [Position(None, AS_GIVEN, experiment, tuple(range(len(experiment.lines))))]
    own = {each.value for each in positions.positions if each.value} if positions.slider == "epsilon" else set()
    return over_budgets(experiment, None, {*EPSILONS, *own})


def _at(position: Position, users: int) -> Experiment | None:
    try:
        return position.experiment.with_changes(horizon=users)
    except InputError:
        return None


class _Cells:
    """The calls of all lines that are shown, at every budget and number of users."""

    def __init__(self, positions: Positions) -> None:
        self.calls, self.reasons = Calls(), dict[int, str]()
        self.longest: dict[int, int] = {}  # most users that each call may be played with
        self.budgets, self.horizons = budgets(positions), horizons(positions.experiment)
        self.cells = [[self._cell(budget, users) for users in self.horizons] for budget in self.budgets]

    def _cell(self, budget: Position, users: int) -> list[tuple[int, str, int]] | None:
        """Number in the spec, label and call of every line; call -1 where a browser cannot play it."""
        experiment = _at(budget, users)
        if experiment is None:
            return None
        found = []
        for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
            if number not in experiment.view.hidden:
                call, own = line.entry.prepare(setup), budget.lines[number]
                why = obstacle(call)
                place = -1 if why else self.calls(call)
                if why:
                    self.reasons[own] = why
                else:
                    self.longest[place] = max(users, self.longest.get(place, 0))
                found.append((own, experiment.label(number), place))
        return found

    def start(self, positions: Positions) -> dict[str, Any]:
        """Where the controls stand at first: at the experiment as given, as far as it can be asked for."""
        given = positions.experiment
        same = (place for place, each in enumerate(self.budgets) if same_numbers(each.experiment, given))
        users = max(place for place, each in enumerate(self.horizons) if each <= given.horizon or not place)
        return {"budget": next(same, 0), "users": users, "seed": given.seed, "runs": min(given.trials, MOST_RUNS)}

    def means(self, positions: Positions) -> dict[str, Any] | None:
        """The means of the arms and the lines that can be played with others; None where there are none.

        ``lines`` have the contrast of their coin at every budget, None those without a coin.
        """
        own = arms.own_means(positions.experiment)
        if own is None:
            return None
        some = {self.horizons[place] for place in (0, self.start(positions)["users"], -1)}
        tried = ((_at(budget, users), budget.lines) for budget in self.budgets for users in some)
        found = arms.movable(((each, numbers) for each, numbers in tried if each is not None), len(own))
        lines = {line: self._contrasts(line) if coin else None for line, coin in found.items()}
        return {"means": own, "lines": lines} if lines else None

    def _contrasts(self, line: int) -> list[float | None]:
        """Of a line's coin at every budget; None where the line is absent."""
        places = (each.lines.index(line) if line in each.lines else None for each in self.budgets)
        pairs = zip(places, self.budgets, strict=True)
        return [None if place is None else arms.contrast_of(each.experiment.setups[place]) for place, each in pairs]

    def checks(self) -> list[dict[str, Any]]:
        """For every kernel a few runs, with the exact regrets at their ends."""
        last = {kernel_name(call.kernel): number for number, call in enumerate(self.calls.calls)}  # with most budget
        return [self._check(number) for number in last.values()]

    def _check(self, number: int) -> dict[str, Any]:
        times = checkpoints(min(CHECKED_USERS, self.longest[number]))
        ends = Captured("", self.calls.calls[number], times, number, CHECKED).here().regret[:, -1]
        return {
            "call": number,
            "seed": str(number),
            "runs": CHECKED,
            "times": self.calls.leaf(leaf(times)),
            "ends": leaf(ends).written[2],
        }


def offer(positions: Positions) -> dict[str, Any]:
    """Everything that the script of a live lesson needs; ``cells`` is empty where no line can be played live."""
    made = _Cells(positions)
    if not made.calls.calls:
        return {"cells": [], "reasons": made.reasons}
    kernels = sorted({each["kernel"] for each in made.calls.written})
    times = [made.calls.leaf(leaf(checkpoints(users))) for users in made.horizons]
    checks = made.checks()
    noted = manifest()
    return {
        "budgets": [each.name for each in made.budgets],
        "users": [count(users) for users in made.horizons],
        "horizons": made.horizons,
        "times": times,
        "cells": made.cells,
        "reasons": made.reasons,
        "start": made.start(positions),
        "arms": made.means(positions),
        "checks": checks,
        "calls": made.calls.written,
        "leaves": [each.written for each in made.calls.leaves],
        "wasm": {name: b64encode(wasm(name)).decode() for name in kernels},
        "tested": {
            "date": noted["date"],
            "comparisons": sum(noted["kernels"][name]["comparisons"] for name in kernels),
        },
    }
