"""What a live lesson holds beside its precomputed positions: kernels, and every call that a reader may ask for.

Budget and number of users are chosen from grids, and the call of every line at every pair is prepared here, so that
policies which resolve their parameters from both are exact; seed and number of runs are free, because no call depends
on them. What is equal is kept once.
"""

from __future__ import annotations

import pickle
import shutil
import sys
import time
from base64 import b64encode
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.export.positions import AS_GIVEN, Position, Positions, over_budgets, same_numbers
from bandit_core.model import KernelCall, Policy, RunSetup
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import count
from deploy.live import modules
from deploy.live.modules import Leaf, Played, leaf, leaves

EPSILONS = (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5)
EPSILONS += (2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
FEWEST_USERS, USUAL_USERS, MAX_USERS = 100, 100_000, 1_000_000
MAX_RUNS = 1000
CHECKED_RUNS, CHECKED_USERS = 4, 2000  # by which a browser proves itself
COMPARED_CALLS, COMPARED_RUNS, COMPARED_USERS = 60, 2, 100_000  # at most, for each kernel
SEEDS = (0, 1, 2**32 - 1, 2**32, 2**53 - 1, 77, 123_456_789_012)
CANNOT = "its method cannot be compiled for browsers"
DIFFERS = "its compiled method does not give the lab's numbers"


class Calls:
    """Calls by number, each argument and each kernel kept once; kernels are told apart by the types they take, too."""

    def __init__(self) -> None:
        self.calls: list[KernelCall] = []
        self.lines: list[bytes] = []  # of each call, see `target.prepared`
        self.users: list[int] = []  # the most that each call may be played with
        self.written: list[dict[str, Any]] = []
        self.leaves: dict[Leaf, int] = {}
        self.kernels: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[Any, ...], int] = {}

    def leaf(self, found: Leaf) -> int:
        """The number of an argument."""
        return self.leaves.setdefault(found, len(self.leaves))

    def __call__(self, policy: Policy, setup: RunSetup, users: int) -> int:
        """The number of a line's call that may be played with so many users; -1 where a browser cannot play it."""
        call = policy.prepare(setup)
        try:
            given, line = list(leaves(call.arguments)), pickle.dumps((policy.name, setup))
        except (AttributeError, TypeError, pickle.PicklingError):  # no plain numbers; a file of one's own
            return -1
        if call.error:
            return -1
        types = ((each.kind, each.shape and len(each.shape)) for each in given)
        kernel = self.kernels.setdefault((call.kernel, *types), len(self.kernels))
        arguments = [self.leaf(each) for each in given]
        place = self._places.setdefault((kernel, call.arms, *arguments), len(self.calls))
        if place == len(self.calls):
            self.calls.append(call)
            self.lines.append(line)
            self.users.append(users)
            self.written.append({"kernel": kernel, "arms": call.arms, "arguments": arguments})
        self.users[place] = max(users, self.users[place])
        return place

    def of_kernel(self, kernel: int) -> list[int]:
        """The numbers of its calls."""
        return [number for number, call in enumerate(self.written) if call["kernel"] == kernel]

    def check(self, kernel: int) -> dict[str, Any]:
        """A few runs by which a browser proves itself, with the exact regrets at their ends."""
        number = self.of_kernel(kernel)[-1]  # that with most budget
        users = min(CHECKED_USERS, self.users[number])
        ends = Played(self.calls[number], users, number, CHECKED_RUNS).here().regret[:, -1].tolist()
        times = self.leaf(leaf(checkpoints(users)))
        return {"call": number, "seed": str(number), "runs": CHECKED_RUNS, "times": times, "ends": ends}

    def compared(self, kernel: int) -> list[Played]:
        """What a kernel is compared on: its calls from the first to the last, with seeds of all sizes."""
        numbers = self.of_kernel(kernel)
        chosen = np.unique(np.linspace(0, len(numbers) - 1, COMPARED_CALLS).astype(int))
        seeds = zip((numbers[place] for place in chosen), cycle(SEEDS), strict=False)
        return [
            Played(self.calls[number], min(COMPARED_USERS, self.users[number]), seed, COMPARED_RUNS)
            for number, seed in seeds
        ]


def horizons(experiment: Experiment) -> list[int]:
    """Numbers of users that can be asked for: 100, 200, 500, … and the experiment's own."""
    most = min(MAX_USERS, max(USUAL_USERS, experiment.horizon))
    steps = (base * 10**power for power in range(2, 7) for base in (1, 2, 5))
    return sorted({*(users for users in steps if FEWEST_USERS <= users <= most), min(experiment.horizon, most)})


def budgets(positions: Positions) -> list[Position]:
    """Budgets that can be asked for: the usual ones and those of the slider, and the experiment as given."""
    experiment = positions.experiment
    if all(line.epsilon is None for line in experiment.lines):
        return [Position(None, AS_GIVEN, experiment, tuple(range(len(experiment.lines))))]
    own = {each.value for each in positions.positions if each.value} if positions.slider == "epsilon" else set()
    return over_budgets(experiment, None, {*EPSILONS, *own})


def cell(budget: Position, users: int, calls: Calls) -> list[tuple[int, str, int]] | None:
    """Number in the spec, label and call of every line that is shown; None where nothing can be played."""
    try:
        experiment = budget.experiment.with_changes(horizon=users)
    except InputError:
        return None
    lines = enumerate(zip(experiment.lines, experiment.setups, strict=True))
    return [
        (budget.lines[number], experiment.label(number), calls(line.entry, setup, users))
        for number, (line, setup) in lines
        if number not in experiment.view.hidden
    ]


def built(calls: Calls) -> tuple[list[bytes | None], list[str | None], int]:
    """The module of each kernel, why it cannot be used if it cannot, and how many runs were compared; all is said."""
    began, runs = time.monotonic(), 0
    found = modules.build([calls.lines[calls.of_kernel(kernel)[0]] for kernel in calls.kernels.values()])
    why = [CANNOT if module is None else None for module in found]
    words = [f"{why.count(None)} of {len(why)} methods compiled for browsers in {time.monotonic() - began:.0f} s"]
    if not shutil.which("node"):
        words.append("no node on PATH, so not compared with the lab's numbers; the page does so before it computes")
    else:
        for kernel, module in enumerate(found):
            if module is not None:
                played = calls.compared(kernel)
                runs += COMPARED_RUNS * len(played)
                why[kernel] = None if modules.same_in_node(module, played) else DIFFERS
        words.append(f"{runs} runs compared with the lab's, methods that differ in a bit: {why.count(DIFFERS)}")
    print("; ".join(words), file=sys.stderr)
    return found, why, runs


def start(positions: Positions, asked: Sequence[Position], users: Sequence[int]) -> dict[str, Any]:
    """Where the controls stand at first: at the experiment as given, as far as it can be asked for."""
    given = positions.experiment
    same = (place for place, each in enumerate(asked) if same_numbers(each.experiment, given))
    most = max(place for place, each in enumerate(users) if each <= given.horizon or not place)
    return {"budget": next(same, 0), "users": most, "seed": given.seed, "runs": min(given.trials, MAX_RUNS)}


def offer(positions: Positions) -> dict[str, Any]:
    """Everything that the script of a live lesson needs.

    Raises
    ------
    InputError
        Where no line can be played in a browser.
    """
    calls, asked, users = Calls(), budgets(positions), horizons(positions.experiment)
    cells = [[cell(budget, each, calls) for each in users] for budget in asked]
    found, why, runs = built(calls)
    reasons: dict[int, str] = {}
    for each in (each for row in cells for each in row if each):
        for place, (line, label, call) in enumerate(each):
            reason = CANNOT if call < 0 else why[calls.written[call]["kernel"]]
            if reason:
                reasons[line] = reason
                each[place] = (line, label, -1)
    if None not in why:
        raise InputError([Issue("live", None, "no line of this lesson can be computed in a browser; leave it out")])
    times = [calls.leaf(leaf(checkpoints(each))) for each in users]
    checks = [calls.check(kernel) for kernel, reason in enumerate(why) if reason is None]
    return {
        "budgets": [each.name for each in asked],
        "users": [count(each) for each in users],
        "times": times,
        "cells": cells,
        "reasons": reasons,
        "start": start(positions, asked, users),
        "checks": checks,
        "calls": calls.written,
        "leaves": list(calls.leaves),
        "wasm": ["" if reason else b64encode(module).decode() for module, reason in zip(found, why, strict=True)],
        "compared": runs,
    }
