"""What stands in a result's place until it is there: the Run button, progress with Cancel, and why a run is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, Simulation
from bandit_core.simulation.costs import worker_count
from bandit_core.simulation.results import Result
from bandit_core.simulation.warm_up import is_warm
from bandit_core.spec import own_data
from ui import background, exports, figures, words
from ui.background import Computation, Request, Run

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
            on_click=own_data.bound(background.start),
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
