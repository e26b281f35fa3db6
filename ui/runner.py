"""From the shared experiment to a result on screen: at once where it is cheap, else behind a Run button.

An expensive run works in the background (ui/background.py); its panel (ui/run_panel.py) looks at it twice a second,
redraws the partial picture a few times, and can cancel it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import streamlit as st

from bandit_core import Experiment, InputError, Simulation
from bandit_core.simulation.bundled_results import open_shipped
from bandit_core.simulation.costs import estimated_seconds, most_steps, refuse_if_too_large, steps, worker_count
from bandit_core.simulation.questions import Study
from bandit_core.simulation.results import Result, split, with_companions
from bandit_core.simulation.store import default_store
from bandit_core.studies.best_method import Decision
from bandit_core.studies.roll_out import RollOut
from bandit_core.studies.sweep import Sweep, SweepResult, sweep
from ui import exports, page_lock, shared, words
from ui.background import Computation, Request, forget, replace
from ui.run_panel import bar, compiling, elsewhere, offered

LIVE_SECONDS = 0.8  # cheaper runs are computed on every change
SHORT_SECONDS = 60.0  # shorter studies begin by themselves (their estimates count the worst case)
PREVIEW_SECONDS = 0.3
MAX_PREVIEW = 4  # times as many seconds: a preview that is still more expensive at the shortest horizon is not drawn

default_store().bundled_results = open_shipped()  # the first pictures need no compiler


def numbers_of(experiment: Experiment) -> Experiment:
    """The experiment without what only concerns the drawing, so that a view change never restarts a run."""
    return experiment.model_copy(update={"view": type(experiment.view)(), "title": "", "note": ""})


def _played(experiment: Experiment) -> Experiment:
    """The experiment and what its prices are relative to; alone where the server's limits leave no room."""
    played = with_companions(experiment)
    try:
        refuse_if_too_large(played)
    except InputError:
        return experiment
    return played


answers = shared.Memory(32 * 2**20)  # whole ones, for every visitor who asks the same


def _results(answer: Any) -> tuple[Result, ...]:
    """The results that an answer consists of."""
    if isinstance(answer, SweepResult):
        return answer.results
    if isinstance(answer, Decision):
        return (answer.result,)
    return (answer,) if isinstance(answer, Result) else ()


def _bytes(answer: Any) -> int:
    if isinstance(answer, tuple):
        return sum(row.nbytes for row in answer)
    lines = [line for result in _results(answer) for line in (*result.lines, *result.companions) if line is not None]
    return sum(part.nbytes for line in lines for part in (line.trials, line.regret, line.best_pulls, line.pulls))


def _cached(name: str, asked: Hashable) -> Any:
    """The whole answer to what is ``asked``, where any visitor has got it before; no run is needed then."""
    answer = answers.get(asked)
    if answer is None:
        return None
    forget(name)
    st.empty()  # in the place of the progress bar: what follows stays the element that it was
    _note_origin(answer)
    return answer


def _remembered(asked: Hashable, answer: Any) -> Any:
    """The answer, which is remembered for all visitors where it is complete."""
    results = _results(answer)
    is_complete = bool(results) and all(result.complete for result in results) and not getattr(answer, "more", False)
    if is_complete or (isinstance(answer, tuple) and all(isinstance(row, RollOut) for row in answer)):
        answers.get_or_make(asked, lambda: answer, _bytes)
    return answer


def result_of(experiment: Experiment, name: str = "main", with_companions: bool = False) -> Result | None:
    """The result to draw now: complete, partial, or None; draws the Run panel and progress where needed.

    ``with_companions`` also plays what the prices are relative to, where the experiment lacks it.
    """
    asked = experiment, with_companions
    if (answer := _cached(name, asked)) is not None:
        return answer
    played = _played(experiment) if with_companions else experiment

    command = partial(exports.command, experiment)
    request = Request(name, numbers_of(played), partial(Simulation, played), steps(played), command)
    result = _computed(request, experiment)
    if result is None or all(line is None for line in result.lines):
        return None
    return _remembered(asked, split(result, experiment))


def sweep_of(experiment: Experiment, epsilons: tuple[float, ...]) -> SweepResult | None:
    """The same for a sweep over budgets."""
    asked = experiment, epsilons
    if (answer := _cached("sweep", asked)) is not None:
        return answer
    played = _played(experiment)

    def build() -> Sweep:
        try:
            return Sweep(played, epsilons)
        except InputError:
            return Sweep(experiment, epsilons)

    cost = steps(played) * len(epsilons)
    what, command = (numbers_of(played), epsilons), partial(exports.sweep_command, epsilons)
    result = _computed(Request("sweep", what, build, cost, command), experiment)
    if result is None or not result.begun:
        return None
    return _remembered(asked, result.without_companions(experiment))


def _computed(request: Request, experiment: Experiment) -> Any:
    """What is requested: at once where it is cheap, else from a run in the background (partial, or None)."""
    try:
        simulation = request.build()
    except InputError as error:
        forget(request.name)
        for issue in error.issues:
            st.error(words.issue(issue), icon=":material/speed:")
        elsewhere(experiment, request.command(), request.name)
        return None
    return _answer(request, simulation)


def study_of(build: Callable[[], Study[Any]], what: Hashable, name: str) -> Any:
    """What a study of many runs finds, or None until it is finished; short ones begin by themselves, in the background.

    Raises
    ------
    InputError
        What ``build`` refuses.
    """
    if (answer := _cached(name, what)) is not None:
        return answer
    study = build()
    request = Request(name, what, build, study.steps)
    if request.run is None and LIVE_SECONDS < study.missing_seconds / worker_count() <= SHORT_SECONDS:
        replace(request, study)
    return _remembered(what, _answer(request, study))


def _answer(request: Request, simulation: Computation) -> Any:
    run = request.run
    alive = run is not None and run.alive  # near its end, what is left is little
    if alive or simulation.missing_seconds / worker_count() > LIVE_SECONDS:
        return offered(request, simulation)
    if run is not None:
        for notice in run.simulation.notices:
            st.info(words.plain(notice), icon=":material/lan:")
        if run.simulation.kept:
            forget(request.name)  # what it made is in the store; its memory belongs to all
    place = st.empty()
    with page_lock.computing(), compiling(simulation, place) as inside:
        show = bar(inside, "computing …")
        result = simulation.run(on_progress=lambda running: show(running.fraction))
    place.empty()
    _note_origin(result)
    return result


def _note_origin(found: Any) -> None:
    """Remember for the foot of the page which version made numbers that came with the lab (`origin`)."""
    made = max((result.bundled_results for result in _results(found)), default="")
    if made:
        st.session_state["bundled_results"] = made


def origin() -> None:
    """Say, once for each run of a page, which of its numbers were not computed here."""
    made = st.session_state.pop("bundled_results", "")
    if made:
        st.caption(f"The first numbers on this page were precomputed with {made}.")


def _too_expensive(small: Experiment, seconds: float) -> bool:
    return estimated_seconds(small) > seconds or steps(small) > most_steps()


def _small(experiment: Experiment, seconds: float) -> Experiment | None:
    """The experiment cut down to fewer users and trials until it takes about so long; None where no cut is enough."""
    small = experiment.with_changes(trials=min(experiment.trials, 10))
    while small.horizon > 100 and _too_expensive(small, seconds):
        if small.contexts is not None:
            fewer = small.with_changes(trials=min(3, small.trials))
            if not _too_expensive(fewer, MAX_PREVIEW * seconds):  # else all is warm-up
                return fewer
        tenths = max(1, int(math.log10(max(1.0, estimated_seconds(small) / seconds))))
        small = small.with_changes(horizon=max(100, small.horizon // 10**tenths))
    return None if _too_expensive(small, MAX_PREVIEW * seconds) else small


def preview_of(experiment: Experiment) -> Result | None:
    """The same experiment, small enough to be live: something to look at before Run.

    None where even that is more than this server computes.
    """
    with contextlib.suppress(InputError):
        small = _small(with_companions(experiment), PREVIEW_SECONDS)
        if small is not None:
            own = small.with_changes(lines=small.spec()["lines"][: len(experiment.lines)])
            simulation = Simulation(small)
            with page_lock.computing(), compiling(simulation, st.empty()):
                return split(simulation.run(), own)
    return None


def sweep_preview(experiment: Experiment, epsilons: tuple[float, ...]) -> SweepResult | None:
    """The same for a sweep."""
    with contextlib.suppress(InputError):
        small = _small(_played(experiment), PREVIEW_SECONDS / len(epsilons))
        if small is not None:
            with page_lock.computing():
                swept = sweep(small, epsilons)
            return swept.without_companions(experiment.with_changes(trials=small.trials, horizon=small.horizon))
    return None
