"""Means that a reader may move: of arms that pay 1 or 0, for lines whose calls hold them in plain sight.

A kernel's first four arguments are the arms (`bandit_core.kernels.records.Rewards`). What its mechanism is fed with is
the mean or, where answers go through a coin (`bandit_core.mechanisms.randomised_response`), what the coin makes of it.
That other means change these arguments only, and only as `moved` says, is not believed of any line: Python prepares
every line for several instances at every budget and at few, some and many users, and a line can be moved if each of
these calls is the moved one, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.export.live.arguments import Leaf, leaf, leaves
from bandit_core.jit.version import kernel_name
from bandit_core.model import RunSetup
from bandit_core.spec.errors import InputError

TABLE, MEANS, GAPS = 0, 2, 3  # places of these arrays among the arguments
TYPES = ["f8[2]", "f8[1]", "f8[1]", "f8[1]"]  # of arguments that begin with the arms
CHANCE = 3  # the column of the table that says how often an arm pays its higher amount
MOST_ARMS = 20
Moved = dict[int, bool]  # lines that can be moved, and whether their answers go through a coin


def contrast_of(setup: RunSetup) -> float | None:
    """tanh(epsilon / 2), of the coin of a line: 1 without privacy, None where users have different budgets."""
    if setup.epsilon is None:
        return 1.0
    return None if setup.epsilon.fixed is None else math.tanh(setup.epsilon.fixed / 2)  # as the coin has it


def moved(given: Sequence[Leaf], means: Sequence[float], contrast: float | None) -> list[Leaf]:
    """The arguments of a call with other means (arms,), and a coin's contrast, if any; worker.js does the same."""
    found, there = list(given), np.array(means, float)
    table = np.frombuffer(given[TABLE].content).reshape(given[TABLE].shape or ()).copy()
    table[:, CHANCE] = there
    fed = there if contrast is None else 0.5 + contrast * (there - 0.5)
    found[TABLE], found[MEANS], found[GAPS] = leaf(table), leaf(fed), leaf(there.max() - there)
    return found


def instances(arms: int) -> list[list[float]]:
    """Means to ask for: extreme, equal and drawn ones."""
    draw = np.random.default_rng(arms)
    drawn = [draw.random(arms).round(digits).tolist() for digits in (1, 2, 6)]
    return [[0.0] * (arms - 1) + [1.0], [0.5] * arms, *drawn]


def _right(experiment: Experiment, means: Sequence[float]) -> set[tuple[int, bool]]:
    """Lines of an experiment whose calls with these means are their own calls, moved; without or with a coin."""
    other = experiment.with_changes(arms=[{"kind": "bernoulli", "mean": mean} for mean in means])
    found = set()
    for number, line in enumerate(experiment.lines):
        call, there = (line.entry.prepare(each.setups[number]) for each in (experiment, other))
        given, wanted = list(leaves(call.arguments)), list(leaves(there.arguments))
        if [each.type for each in given[: GAPS + 1]] != TYPES or kernel_name(call.kernel) != kernel_name(there.kernel):
            continue
        for coin in (False, True):
            contrast = contrast_of(experiment.setups[number]) if coin else None
            if moved(given, means, contrast) == wanted and (contrast is not None) == coin:
                found.add((number, coin))
    return found


def own_means(experiment: Experiment) -> list[float] | None:
    """The means of its arms, if all pay 1 or 0 and are not too many to be moved one by one."""
    if experiment.contexts is not None or len(experiment.single_arms) > MOST_ARMS:
        return None
    return experiment.means.tolist() if all(arm.kind == "bernoulli" for arm in experiment.arms) else None


def movable(experiments: Iterable[tuple[Experiment, Sequence[int]]], arms: int) -> Moved:
    """Lines that are right with other means in all experiments; each comes with the numbers of its lines."""
    right, wrong = set[tuple[int, bool]](), set[tuple[int, bool]]()
    for experiment, numbers in experiments:
        for means in instances(arms):
            try:
                here = {(numbers[line], coin) for line, coin in _right(experiment, means)}
            except InputError:  # somebody refuses these means
                return {}
            right |= here
            wrong |= {(line, coin) for line in numbers for coin in (False, True)} - here
    return dict(sorted(right - wrong))
