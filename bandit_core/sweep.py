"""One experiment over a grid of budgets: regret against epsilon, through the same engine and cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bandit_core.engine import Simulation
from bandit_core.epsilons import LARGEST
from bandit_core.experiment import Experiment
from bandit_core.problems import InvalidInput, Problem
from bandit_core.results import Result
from bandit_core.store import Store

if TYPE_CHECKING:
    import pandas as pd

SWEEP_COLUMNS = ("line", "label", "policy", "epsilon", "t", "mean", "stderr", "q05", "median", "q95", "trials")
MOST_POINTS = 200


def at_budget(experiment: Experiment, epsilon: float, changes: dict[str, Any] | None = None) -> Experiment:
    """``experiment`` with one fixed budget for every private line, and other parameters of those lines changed.

    Thresholds (``eps_min``) go back to automatic: one chosen for another budget would make no sense here.

    Raises
    ------
    InvalidInput
        When a policy refuses the budget or a parameter.
    """
    document = experiment.spec()
    for number, line in enumerate(document["lines"]):
        if "epsilon" not in line:
            continue
        line["epsilon"] = {"kind": "fixed", "value": epsilon}
        known = experiment.lines[number].entry.parameters.model_fields
        params = {name: value for name, value in line.get("params", {}).items() if name != "eps_min"}
        params |= {name: value for name, value in (changes or {}).items() if name in known}
        line["params"] = params
        line["label"] = experiment.lines[number].label or experiment.lines[number].entry.title
    return Experiment.model_validate(document)


def budgets(values: Iterable[Any]) -> tuple[float, ...]:
    """A valid grid of budgets: ascending, each once.

    Raises
    ------
    InvalidInput
        With every value that is no budget.
    """
    grid, problems = set(), []
    for place, value in enumerate(values):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if 0 < number <= LARGEST:
            grid.add(number)
        else:
            problems.append(Problem(f"epsilon[{place}]", value, f"a number above 0, at most {LARGEST:g}"))
    if not problems and not 1 <= len(grid) <= MOST_POINTS:
        problems.append(Problem("epsilon", len(grid), f"between 1 and {MOST_POINTS} budgets"))
    if problems:
        raise InvalidInput(problems)
    return tuple(sorted(grid))


@dataclass(frozen=True)
class SweepResult:
    """The results of a sweep, one per point of the grid: budgets, and values of the second parameter if any."""

    experiment: Experiment
    epsilons: tuple[float, ...]
    seconds: tuple[Any, ...]
    results: tuple[Result, ...]

    def at(self, epsilon: float, second: Any = None) -> Result:
        """The result at one point of the grid."""
        return self.results[self.epsilons.index(epsilon) * len(self.seconds) + self.seconds.index(second)]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """One row per line, point and checkpoint, columns `SWEEP_COLUMNS` (and the second parameter's name)."""
        import pandas as pd

        frames = []
        for place, result in enumerate(self.results):
            frame = result.curves.drop(columns="std", errors="ignore")
            frame.insert(3, "epsilon", self.epsilons[place // len(self.seconds)])
            if self.seconds != (None,):
                frame["second"] = self.seconds[place % len(self.seconds)]
            free = [number for number, line in enumerate(self.experiment.lines) if line.epsilon is None]
            frame.loc[frame["line"].isin(free), "epsilon"] = float("nan")  # without privacy there is no budget
            frames.append(frame)
        everything = pd.concat(frames, ignore_index=True)
        return everything.drop_duplicates(
            [name for name in ("line", "epsilon", "second", "t") if name in everything], ignore_index=True
        )


class Sweep:
    """A sweep being computed; polled and stopped like a `Simulation`.

    Parameters
    ----------
    experiment
        Its private lines are run at every budget; lines without privacy are run once.
    epsilons
        The grid of budgets.
    second
        Name and values of one more parameter of the private lines to vary, for example ``("alpha", (2.0, 3.0))``.

    Raises
    ------
    InvalidInput
        For a wrong grid, a budget or parameter that a policy refuses, or a run beyond ``LAB_MAX_STEPS``.
    """

    def __init__(
        self,
        experiment: Experiment,
        epsilons: Iterable[Any],
        second: tuple[str, Sequence[Any]] | None = None,
        store: Store | None = None,
    ) -> None:
        self.experiment = experiment
        self.epsilons = budgets(epsilons)
        name, self.seconds = second if second is not None else ("", (None,))
        self._simulations = [
            Simulation(at_budget(experiment, epsilon, {name: value} if name else None), store)
            for epsilon in self.epsilons
            for value in self.seconds
        ]
        self.stopped = False
        self._weights = [max(simulation.missing_seconds, 1e-9) for simulation in self._simulations]

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is not done yet (lines without privacy are counted at every budget)."""
        return sum(simulation.missing_seconds for simulation in self._simulations)

    @property
    def fraction(self) -> float:
        """Share of the work that is done."""
        parts = zip(self._weights, self._simulations, strict=True)
        return sum(weight * simulation.fraction for weight, simulation in parts) / sum(self._weights)

    def stop(self) -> None:
        """Stop soon; what is finished is kept."""
        self.stopped = True
        for simulation in self._simulations:
            simulation.stop()

    def result(self) -> SweepResult:
        """Everything that is done so far."""
        return SweepResult(
            self.experiment,
            self.epsilons,
            tuple(self.seconds),
            tuple(simulation.result() for simulation in self._simulations),
        )

    def run(self, jobs: int | None = None, on_progress: Callable[[Sweep], None] | None = None) -> SweepResult:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block."""
        for simulation in self._simulations:
            if self.stopped:
                break
            # A line without privacy is the same at every budget: after the first one it is found in the store.
            fresh = Simulation(simulation.experiment, simulation.store) if simulation.missing_seconds else simulation
            self._simulations[self._simulations.index(simulation)] = fresh
            fresh.run(jobs, None if on_progress is None else lambda _: on_progress(self))
        return self.result()


def sweep(
    experiment: Experiment,
    epsilons: Iterable[Any],
    second: tuple[str, Sequence[Any]] | None = None,
    jobs: int | None = None,
    on_progress: Callable[[Sweep], None] | None = None,
    store: Store | None = None,
) -> SweepResult:
    """Simulate ``experiment`` at every budget of a grid; see `Sweep`."""
    return Sweep(experiment, epsilons, second, store).run(jobs, on_progress)
