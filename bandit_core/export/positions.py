"""The positions of a lesson's slider, each an experiment of its own: computed by the engine, never interpolated."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bandit_core.experiments import trust_table
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.shared_budget import shared_budget
from bandit_core.simulation.costs import refuse
from bandit_core.simulation.questions import Study, once, taken_by
from bandit_core.simulation.results import Result, split, with_companions
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError, Issue, refuse_if, validated
from bandit_core.spec.field_types import Whole
from bandit_core.spec.number_text import count, write_number
from bandit_core.studies.sweep import EPSILONS, at_budget, budgets, distinct_lines, swept_label

Slider = Literal["epsilon", "horizon"]
MAX_POSITIONS = 40
FEWEST_USERS = 100
AS_GIVEN = "as given"
_BUDGET_IN_TITLE = re.compile(r"[,;:]?\s*(?:\b(?:at|with)\s+)?(?:ε|\beps(?:ilon)?\b)\s*=?\s*\d[\d.]*", re.IGNORECASE)


@dataclass(frozen=True)
class Position:
    """One place of the slider: its value (None for the experiment as it was given) and what is played there.

    ``lines[i]`` is the number, in the experiment as given, of line i of ``experiment``.
    """

    value: float | None
    name: str
    experiment: Experiment
    lines: tuple[int, ...]


def _users(horizon: int) -> list[int]:
    """1, 2, 5, 10, … users, at least `FEWEST_USERS`, up to the horizon."""
    every = (base * 10**power for power in range(10) for base in (1, 2, 5))
    return [*(value for value in every if FEWEST_USERS <= value < horizon), horizon]


def _distinct_horizons(values: Iterable[Any]) -> list[int]:
    """Distinct horizons, ascending; whether they can be played is the experiment's to say."""
    return sorted({*validated(tuple[Whole, ...], tuple(values), ("horizon",))})


def over_budgets(experiment: Experiment, values: Iterable[Any] | None) -> list[Position]:
    """A position per budget of every private line; before them the experiment as given, where it is none of those.

    Without ``values`` the usual budgets, as far as they can be played.
    """
    if not any(line.epsilon is not None for line in experiment.lines):
        raise InputError([Issue("slider", "epsilon", "no line has a budget here; the slider can be horizon")])
    shared = shared_budget(experiment)
    here = {shared.fixed} if shared is not None and shared.fixed else set()
    swept = distinct_lines(experiment)
    numbers = experiment.played
    lines = tuple(map(numbers.index, swept.played))
    positions = []
    refused: InputError | None = None
    for epsilon in budgets({*EPSILONS, *here} if values is None else values):
        name = f"ε = {write_number(epsilon)}"
        try:
            if trust_table.position(experiment) is not None and epsilon in trust_table.table():
                labels = [swept_label(line) for line in experiment.lines]
                levels = experiment.with_changes(lines=trust_table.lines(epsilon, labels))
                positions.append(Position(epsilon, name, levels, tuple(range(len(levels.lines)))))
            else:
                positions.append(Position(epsilon, name, at_budget(swept, epsilon), lines))
        except InputError as error:
            refused = error
            if values is not None:
                raise
    if refused is not None and not positions:
        raise refused
    if any(same_numbers(position.experiment, experiment) for position in positions):
        return positions
    return [Position(None, AS_GIVEN, experiment, tuple(range(len(experiment.lines)))), *positions]


def same_numbers(one: Experiment, other: Experiment) -> bool:
    """Whether both play the same, whatever is stated and whatever follows by itself."""
    return len(one.lines) == len(other.lines) and all(
        mine.entry is theirs.entry and mine_is == theirs_is
        for mine, theirs, mine_is, theirs_is in zip(one.lines, other.lines, one.setups, other.setups, strict=True)
    )


def _over_users(experiment: Experiment, values: Iterable[Any] | None) -> list[Position]:
    lines = tuple(range(len(experiment.lines)))
    return [
        Position(horizon, f"{count(horizon)} users", experiment.with_changes(horizon=horizon), lines)
        for horizon in (_users(experiment.horizon) if values is None else _distinct_horizons(values))
    ]


class Positions(Study[tuple[Result, ...]]):
    """All positions of a slider being computed; polled and stopped like a `Simulation`.

    Parameters
    ----------
    experiment
        What the lesson is about.
    slider
        "epsilon": one budget for every private line, as on the page Trade-off, and first of all the experiment as given
        where it is none of these; "horizon": each number of users is a run of its own, so it is exact for policies that
        know the horizon, too, and all of them together cost about twice the longest.
    values
        Budgets or numbers of users (default: the budgets of the pages' sliders, or 1, 2, 5, 10, … users).

    Raises
    ------
    InputError
        For an unknown slider, for values that cannot be played, and for more than `costs.refuse` allows here.
    """

    def __init__(
        self,
        experiment: Experiment,
        slider: str = "epsilon",
        values: Iterable[Any] | None = None,
        store: Store | None = None,
    ) -> None:
        refuse_if(slider not in get_args(Slider), "slider", slider, f"one of {', '.join(get_args(Slider))}")
        self.experiment, self.slider = experiment, slider
        self.positions = (over_budgets if slider == "epsilon" else _over_users)(experiment, values)
        if len(self.positions) > MAX_POSITIONS:
            raise InputError([Issue(slider, len(self.positions), f"at most {MAX_POSITIONS} positions")])
        own = [position.experiment for position in self.positions]
        try:
            played = [with_companions(point) for point in own]
            steps = self._affordable(played)
        except InputError:
            played, steps = own, self._affordable(own)
        super().__init__(once(played), store)  # type: ignore[arg-type]  # of which `result` makes its own
        self.steps = steps

    def _affordable(self, points: Sequence[Experiment]) -> int:
        """Steps of all positions; refuses more than is allowed."""
        taken = taken_by(points, same_budgets=self.slider == "horizon")
        refuse(taken, "slider", "horizon x trials x lines x positions", "positions, ")
        return taken.steps

    @property
    def start(self) -> int:
        """The position at which the slider stands at first: the experiment as given."""
        same = (
            place
            for place, position in enumerate(self.positions)
            if position.value is None or same_numbers(position.experiment, self.experiment)
        )
        return next(same, len(self.positions) - 1)

    @property
    def title(self) -> str:
        """The title, without a budget that the slider would belie."""
        named = self.experiment.title
        title = _BUDGET_IN_TITLE.sub("", named).strip() if self.slider == "epsilon" else named
        return title or "What does privacy cost here?"

    def result(self) -> tuple[Result, ...]:
        """The results of all positions, what was only run for comparison apart."""
        own = (position.experiment for position in self.positions)
        return tuple(map(split, self.results, own))
