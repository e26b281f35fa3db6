"""A question that takes many runs is a generator: it yields what it wants played, and is sent the results.

    def better(experiment, trials):
        [result] = yield Round([experiment.with_changes(trials=trials)])
        return result.lines[0].mean[-1] < result.lines[1].mean[-1]

    Study(better(experiment, 100)).run()

`Study` plays any question: it polls, stops and reports progress as a `Simulation` does. Whatever the store holds is not
played again, so a question that was stopped goes on where it was.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.simulation.costs import Cost, cost
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError
from bandit_core.spec.rewards import Arm

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Round:
    """What a question wants played before it goes on: experiments, questions, or runs of another kind.

    A question is sent the result of each. ``begin`` and ``end`` are the shares of its work that are about done before
    and after; ``later`` are the seconds on one core that follow at most. All that comes ``times`` so often. The first
    round says how many ``steps`` (pulls) the whole question takes at most. ``so_far`` makes a first answer.
    """

    runs: Sequence[Any]
    begin: float = 0.0
    end: float = 1.0
    later: float = 0.0
    times: int = 1
    steps: int = 0
    so_far: Callable[[], Any] | None = None


Rounds = Generator[Round, list[Any], Answer]


def within(rounds: Rounds[Answer], begin: float, end: float, times: int = 1, steps: int = 0) -> Rounds[Answer]:
    """A question as a part of another one of so many ``steps``: from ``begin`` to ``end`` of its work.

    ``times`` is how many parts like this one are left, this one included.
    """
    results, width = None, end - begin
    while True:
        try:
            asked = rounds.send(results)  # type: ignore[arg-type]
        except StopIteration as answered:
            return answered.value
        first, last = begin + width * asked.begin, begin + width * asked.end
        results = yield replace(asked, begin=first, end=last, times=times, steps=steps, so_far=None)


class Study(Generic[Answer]):
    """A question being answered; polled and stopped like a `Simulation`.

    Raises
    ------
    InputError
        What the question refuses, or what takes more than `costs.refuse` allows here.
    """

    looks_ahead = True  # to what the store holds, as soon as it is made

    def __init__(self, rounds: Rounds[Answer], store: Store | None = None) -> None:
        self.store, self.stopped, self.finished, self.whole_seconds = store, False, False, 0.0
        self._rounds, self._answer = rounds, None
        self._present: tuple[Round, list[Any], list[float]] = Round(()), [], []  # what is played, and its weights
        self._past: tuple[bool, tuple[str, ...]] = True, ()  # what earlier rounds report
        self._ask(rounds.send, None)
        asked, runs, _ = self._present
        self.steps: int = asked.steps or sum(run.steps for run in runs if isinstance(run, Study))
        if self.looks_ahead:
            self._go_on()

    def _ask(self, step: Callable[[Any], Round], value: Any) -> None:
        """Hand the question something, and prepare what it wants played then."""
        try:
            asked = step(value)
        except StopIteration as answered:
            self._answer, self.finished = answered.value, True
            return
        try:
            runs = [self._run_of(each) for each in asked.runs]
        except InputError as error:
            self._ask(self._rounds.throw, error)
        else:
            self._past = self.kept, tuple(self.notices)
            self._present = asked, runs, [max(run.missing_seconds, 1e-9) for run in runs]

    def _run_of(self, asked: Any) -> Any:
        if isinstance(asked, Experiment):
            return Simulation(asked, self.store)
        return Study(asked, self.store) if isinstance(asked, Generator) else asked

    def _go_on(self) -> None:
        """Close every round whose runs are all done."""
        while not self.finished and not self.stopped and all(run.missing_seconds == 0 for run in self._runs):
            self._ask(self._rounds.send, [run.result() for run in self._runs])

    @property
    def _runs(self) -> list[Any]:
        return self._present[1]

    @property
    def results(self) -> tuple[Any, ...]:
        """What is done so far of each run of the present round, which is the last one once the question is answered."""
        return tuple(run.result() for run in self._runs)

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is at most left (what several have in common is counted in each)."""
        asked, runs, _ = self._present
        now = sum(run.missing_seconds for run in runs)
        # Another run may have played the last block before this question was handed it: then no answer is there yet.
        return float(now if self.finished else max(asked.times * (asked.later + now), 1e-9))

    @property
    def fraction(self) -> float:
        """Share of the work that is done."""
        asked, runs, weights = self._present
        if self.finished:
            return 1.0
        done = sum(weight * run.fraction for weight, run in zip(weights, runs, strict=True)) / (sum(weights) or 1.0)
        return min(1.0, asked.begin + (asked.end - asked.begin) * done)

    @property
    def waiting(self) -> bool:
        """Whether what is to be computed next waits for its turn."""
        return any(run.waiting for run in self._runs)

    @property
    def kept(self) -> bool:
        """Whether the store took every block."""
        return self._past[0] and all(run.kept for run in self._runs)

    @property
    def notices(self) -> list[str]:
        """What the owner of the run should be told, each once."""
        return list(dict.fromkeys([*self._past[1], *(notice for run in self._runs for notice in run.notices)]))

    def stop(self) -> None:
        """Stop soon; what is finished is kept."""
        self.stopped = True
        for run in self._runs:
            run.stop()

    def run(self, jobs: int | None = None, on_progress: Callable[[Any], None] | None = None) -> Answer | None:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block."""
        total = max(self.missing_seconds, self.whole_seconds)
        while not self.finished and not self.stopped:
            for run in self._runs:
                run.whole_seconds = total
                if not self.stopped:
                    run.run(jobs, None if on_progress is None else lambda _: on_progress(self))
            self._go_on()
        return self.result()

    def result(self) -> Answer | None:
        """The answer, or a first one, once there is one."""
        so_far = self._present[0].so_far
        return self._answer if self.finished or so_far is None else so_far()


def answer(rounds: Rounds[Answer], jobs: int | None = None, store: Store | None = None) -> Answer:
    """The answer to a question, on ``jobs`` worker threads."""
    study = Study(rounds, store)
    study.run(jobs)
    return study.result()  # type: ignore[return-value]  # no one could stop it


def taken_by(points: Sequence[Experiment], same_budgets: bool = False) -> Cost:
    """What several experiments take; at several budgets a line without privacy is played once for all of them."""
    total = cost(points[0])
    for point in points[1:]:
        private = [number for number, line in enumerate(point.lines) if line.epsilon is not None]
        total += cost(point, None if same_budgets else private)
    return total


def once(experiments: Sequence[Experiment]) -> Rounds[list[Result]]:
    """Several experiments as one run."""
    return (yield Round(experiments))


def over_draws(experiment: Experiment, draws: Sequence[tuple[Arm, ...]]) -> Rounds[Result]:
    """One experiment whose options are not known exactly: trial i plays draw i modulo their number."""
    used = draws[: experiment.trials]
    counts = [len(range(place, experiment.trials, len(used))) for place in range(len(used))]
    results = yield Round(
        [
            experiment.with_changes(arms=arms, trials=trials, seed=experiment.seed + 2 * place)
            for place, (arms, trials) in enumerate(zip(used, counts, strict=True))
        ]
    )
    lines = tuple(map(_mixed, zip(*(each.lines for each in results), strict=True)))
    return Result(experiment, results[0].times, lines)


def _mixed(parts: Sequence[LineResult]) -> LineResult:
    """A line over all draws."""
    trials = np.concatenate([place + len(parts) * part.trials for place, part in enumerate(parts)])
    order = np.argsort(trials)
    names = ("regret", "best_pulls", "pulls")
    return LineResult(
        trials[order], *(np.concatenate([getattr(part, name) for part in parts])[order] for name in names)
    )
