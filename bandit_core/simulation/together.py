"""Several experiments computed one after the other, polled and stopped as one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Arm

Found = TypeVar("Found")
Arms = tuple[Arm, ...]


class Parts:
    """Runs that are polled and stopped as one; of those that were let go only what was told is kept."""

    stopped = False
    _kept = True
    _notices: tuple[str, ...] = ()

    @property
    def _parts(self) -> Sequence[Any]:
        """The runs."""
        raise NotImplementedError

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is not done yet (what several have in common is counted in each)."""
        return float(sum(part.missing_seconds for part in self._parts))

    @property
    def waiting(self) -> bool:
        """Whether what is to be computed next waits for its turn."""
        return any(part.waiting for part in self._parts)

    @property
    def kept(self) -> bool:
        """Whether the store took every block."""
        return self._kept and all(part.kept for part in self._parts)

    @property
    def notices(self) -> list[str]:
        """What the owner of the run should be told, each once."""
        return list(dict.fromkeys([*self._notices, *(notice for part in self._parts for notice in part.notices)]))

    def _let_go(self) -> None:
        """Remember what the present runs tell, before others take their place."""
        self._kept, self._notices = self.kept, tuple(self.notices)

    def stop(self) -> None:
        """Stop soon; what is finished is kept."""
        self.stopped = True
        for part in self._parts:
            part.stop()


class Together(Parts, Generic[Found]):
    """One `Simulation` after the other; ``result``, of a subclass, says what is made of all that is done so far."""

    def __init__(self, points: Sequence[Experiment], store: Store | None = None) -> None:
        self._simulations = [Simulation(point, store) for point in points]
        self._weights = [max(simulation.missing_seconds, 1e-9) for simulation in self._simulations]

    @property
    def _parts(self) -> Sequence[Simulation]:
        return self._simulations

    @property
    def fraction(self) -> float:
        """Share of the work that is done."""
        parts = zip(self._weights, self._simulations, strict=True)
        return min(1.0, sum(weight * simulation.fraction for weight, simulation in parts) / sum(self._weights))

    @property
    def results(self) -> tuple[Result, ...]:
        """What is done so far, one per experiment."""
        return tuple(simulation.result() for simulation in self._simulations)

    def result(self) -> Found:
        """What is made of everything that is done so far."""
        raise NotImplementedError

    def run(self, jobs: int | None = None, on_progress: Callable[[Together[Found]], None] | None = None) -> Found:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block."""
        whole = self.missing_seconds
        for place, simulation in enumerate(self._simulations):
            if self.stopped:
                break
            # What an earlier one has in common with this one (lines without privacy) is found in the store by now.
            fresh = Simulation(simulation.experiment, simulation.store) if simulation.missing_seconds else simulation
            self._simulations[place] = fresh
            fresh.whole_seconds = whole
            if self.stopped:  # it may have been stopped while the new one was made
                break
            fresh.run(jobs, None if on_progress is None else lambda _: on_progress(self))
        return self.result()


class Mixture(Together[Result]):
    """One experiment whose options are not known exactly: trial i plays draw i modulo their number.

    Polled and stopped like a `Simulation`; the result is that of the experiment, over all draws.
    """

    def __init__(self, experiment: Experiment, draws: Sequence[Arms], store: Store | None = None) -> None:
        self.experiment = experiment
        used = draws[: experiment.trials]
        counts = [len(range(place, experiment.trials, len(used))) for place in range(len(used))]
        points = [
            experiment.with_changes(arms=arms, trials=trials, seed=experiment.seed + 2 * place)
            for place, (arms, trials) in enumerate(zip(used, counts, strict=True))
        ]
        self.whole_seconds = 0.0  # as of a `Simulation`
        super().__init__(points, store)

    def result(self) -> Result:
        """Everything that is done so far."""
        found = self.results
        lines = tuple(map(_mixed, zip(*(each.lines for each in found), strict=True)))
        return Result(self.experiment, found[0].times, lines)


def _mixed(parts: Sequence[LineResult | None]) -> LineResult | None:
    """A line over all draws; None as long as one of them has no trial."""
    done = [part for part in parts if part is not None]
    if len(done) < len(parts):
        return None
    trials = np.concatenate([place + len(done) * part.trials for place, part in enumerate(done)])
    order = np.argsort(trials)
    names = ("regret", "best_pulls", "pulls")
    return LineResult(trials[order], *(np.concatenate([getattr(part, name) for part in done])[order] for name in names))
