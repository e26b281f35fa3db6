"""From the shared experiment to a result: at once, or in a thread with a Run button, progress and Cancel."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bandit_core import Experiment, InputError, Simulation
from bandit_core.simulation.bundled_results import open_shipped
from bandit_core.simulation.costs import estimated_seconds, most_steps, refuse_if_too_large, steps, worker_count
from bandit_core.simulation.engine import lower_priority
from bandit_core.simulation.questions import Study
from bandit_core.simulation.results import Result, split, with_companions
from bandit_core.simulation.store import default_store
from bandit_core.simulation.warm_up import is_warm
from bandit_core.spec import own_data
from bandit_core.studies.best_arm import RollOut
from bandit_core.studies.best_method import Decision
from bandit_core.studies.sweep import Sweep, SweepResult, sweep
from ui import exports, figures, page_lock, shared, words

# ---------------------------------------------------------------------------------------------------------------------
# A run in the background: in a thread of its own, so that controls stay alive, until no one looks any more.


FORGOTTEN_SECONDS = 20.0  # a run whose visitor has been gone for so long is stopped
LOOK_SECONDS = 1.0  # how often a run asks whether its visitor is there


def presence() -> Callable[[], bool]:
    """A question that any thread may ask later: has the visitor of this script run still a browser tab open?

    Looks of the page at its run would not do: browsers slow the timers of hidden tabs down to one tick a minute.
    """
    context = get_script_run_ctx()
    session = context.session_id if context is not None else ""
    return lambda: runtime.exists() and runtime.get_instance().is_active_session(session)


Computation = Simulation | Study[Any]


@dataclass(frozen=True)
class Request:
    """What a page wants to draw: how to compute it, and what is said of it."""

    name: str  # of the page's place for it
    what: Hashable  # what is computed, so that another question is not answered with it
    build: Callable[[], Any]  # the computation, nothing computed yet
    cost: int  # pulls
    command: Callable[[], str] = str  # for a machine without this server's limits

    @property
    def slot(self) -> str:
        """Where the session keeps the run."""
        return f"run-{self.name}"

    @property
    def run(self) -> Run | None:
        """The run in the background; one that computes something else is stopped and forgotten."""
        run: Run | None = st.session_state.get(self.slot)
        if run is not None and run.what != self.what:
            forget(self.name)
            return None
        return run


@dataclass
class Run:
    """An expensive simulation in its own thread; it stops by itself when its visitor is gone."""

    simulation: Computation
    what: Hashable  # what it computes, so that another question is not answered with it
    present: Callable[[], bool] = field(default_factory=presence)
    seen: float = field(default_factory=time.monotonic)
    error: BaseException | None = None
    drawn: int = 0
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to compute."""
        self.thread = threading.Thread(target=own_data.bound(self._work), daemon=True, name="simulation")
        self.thread.start()
        threading.Thread(target=self._guard, daemon=True, name="guard of a simulation").start()

    def _work(self) -> None:
        lower_priority()  # this thread ends with the run
        try:
            self.simulation.run()
        except BaseException as error:
            self.error = error

    def _guard(self) -> None:
        """Stop the run once its visitor is gone, also in the middle of a block or while it waits for its turn."""
        assert self.thread is not None
        while self.thread.is_alive():
            self.thread.join(LOOK_SECONDS)
            if self.present():
                self.seen = time.monotonic()
            elif time.monotonic() - self.seen > FORGOTTEN_SECONDS:
                self.simulation.stop()
                return

    def cancel(self) -> None:
        """Stop soon and wait for it; finished blocks are kept."""
        self.simulation.stop()
        if self.thread is not None:
            self.thread.join(timeout=5)

    @property
    def alive(self) -> bool:
        """Whether it still computes."""
        return self.thread is not None and self.thread.is_alive()


def start(request: Request) -> None:
    """Callback of the Run button; a second click changes nothing."""
    if request.run is None or not request.run.alive:
        replace(request, request.build())


def replace(request: Request, simulation: Computation) -> None:
    """Start a run in place of the one before."""
    if request.run is not None:
        request.run.simulation.stop()
    run = st.session_state[request.slot] = Run(simulation, request.what)
    run.start()


def forget(name: str) -> None:
    """Stop the run of that name, if there is one."""
    run = st.session_state.pop(f"run-{name}", None)
    if run is not None:
        run.simulation.stop()


# ---------------------------------------------------------------------------------------------------------------------
# What stands in a result's place until it is there: the Run button, progress with Cancel, and why a run is refused.


LONG_SECONDS, MANY_CORES = 90.0, 16  # for longer runs it is said what more cores would gain
MOMENT_SECONDS = 0.3  # what is done by then shows no bar
REDRAW_AT = (0.1, 0.25, 0.5, 0.75, 0.92)  # each redraw resets zoom, so there are few

_played_here: set[str] = set()  # policies and studies that this process has played: their machine code is loaded


def bar(place: DeltaGenerator, text: str) -> Callable[[float], None]:
    """Shows the share that is done in ``place``, once that takes more than a moment.

    It is also the point where a newer change of a control may cut the page's run short.
    """
    started = time.monotonic()

    def show(done: float) -> None:
        if time.monotonic() - started > MOMENT_SECONDS:
            place.progress(done, text)

    return show


@contextmanager
def compiling(simulation: Computation, place: DeltaGenerator) -> Iterator[DeltaGenerator]:
    """Says how long the compiler takes, where what is missing is played for the first time since the server began.

    Gives the place that is left for a progress bar: one in place of the spinner would end the page.
    """
    experiment = simulation.experiment if isinstance(simulation, Simulation) else None
    names = {type(simulation).__name__} if experiment is None else {line.policy for line in experiment.lines}
    if is_warm() or names <= _played_here or simulation.missing_seconds == 0:
        yield place
        return
    seconds = 8 if experiment is None or experiment.contexts is None else 25
    said = f"Computing. A new machine compiles first: about {seconds} s."
    with place.container(), st.spinner(said, show_time=True):
        yield st.empty()
    _played_here.update(names)


def elsewhere(experiment: Experiment, command: str, name: str) -> None:
    """How to get these numbers where this server's limits do not hold."""
    st.markdown(
        "These limits keep the server fast for everyone. On your own machine, with the project installed, you set "
        "the limits: save the settings file as `experiment.json` and run"
    )
    st.code(command, language="bash")
    label, data, key = "Settings file (JSON)", lambda: json.dumps(experiment.spec(), indent=2), f"spec-{name}"
    figures.download(st, label, data, "experiment.json", exports.SPEC_HELP, "content", key=key)


def offered(request: Request, simulation: Computation) -> Any:
    run = request.run
    if run is not None and run.alive:
        _watch(request.slot, request.command())
        return run.simulation.result()
    if run is not None and run.error is not None:
        st.error("The run failed and was stopped. Finished runs are kept. Press Run to try again.")
    if run is not None and run.simulation.missing_seconds <= simulation.missing_seconds:
        simulation = run.simulation  # without a store, only the run itself remembers what it did
        if simulation.missing_seconds == 0:
            return simulation.result()
    seconds = simulation.missing_seconds / worker_count()
    with st.container(border=True):
        left, right = st.columns([4, 1], vertical_alignment="center")
        done, time_words = simulation.result(), words.duration(seconds)
        if isinstance(done, Result):
            left.markdown(words.cost(done, time_words) + _on_more_cores(simulation, seconds))
        else:
            left.markdown(
                f"This takes up to **{words.count(request.cost)} pulls, {time_words}** on this machine. "
                "You can cancel; finished runs are kept."
            )
        right.button(
            "Run",
            type="primary",
            key=f"start-{request.name}",
            on_click=own_data.bound(start),
            args=(request,),
            help="Start. You can cancel at any time.",
            width="stretch",
        )
    return simulation.result()


def _on_more_cores(simulation: Computation, seconds: float) -> str:
    """What a long run would take where there are more cores; empty where that says nothing."""
    if not isinstance(simulation, Simulation) or seconds < LONG_SECONDS or worker_count() >= MANY_CORES:
        return ""
    time_words = words.duration(simulation.seconds_on(MANY_CORES))
    return f" With {MANY_CORES} cores it would take {time_words}."


@st.fragment(run_every=0.5)
def _watch(slot: str, command: str) -> None:
    run: Run | None = st.session_state.get(slot)
    if run is None:
        return
    run.seen = time.monotonic()
    fraction = run.simulation.fraction
    with st.container(border=True):  # of the same size as the panel that it replaces
        left, right = st.columns([4, 1], vertical_alignment="center")
        waiting = run.simulation.waiting
        left.progress(fraction, "waiting for its turn …" if waiting else f"computing … {100 * fraction:.0f}%")
        if right.button("Cancel", key=f"cancel-{slot}", help="Stop. Finished runs are kept.", width="stretch"):
            run.cancel()
            st.rerun()
        if waiting:
            st.caption(
                "Other long runs use this server now. Yours starts by itself, in order of arrival. You can use all "
                "controls while you wait."
                + f" To avoid the wait, save the settings file on your own machine and run `{command}`."
                * bool(command)
            )
        for notice in run.simulation.notices:
            st.caption(words.plain(notice))
    reached = sum(fraction >= limit for limit in REDRAW_AT)
    if not run.alive or reached > run.drawn:
        run.drawn = reached
        st.rerun()


# ---------------------------------------------------------------------------------------------------------------------
# From the shared experiment to a result on screen: at once where it is cheap, else behind a Run button.
#
# An expensive run works in the background (ui/runner.py); its panel (ui/runner.py) looks at it twice a second,
# redraws the partial picture a few times, and can cancel it.


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
        st.caption(f"The first numbers on this page were precomputed with {words.plain(made)}.")


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
