"""A run in the background: in a thread of its own, so that controls stay alive, until no one looks any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bandit_core import Simulation
from bandit_core.simulation.engine import lower_priority
from bandit_core.simulation.questions import Study
from bandit_core.spec import own_data

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
