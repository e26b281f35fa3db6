"""What a pull costs, for every policy of the registry, against the other ways to play the same.

``python -m benchmarks.bench_registry`` (one core, some minutes). Ten arms at two horizons, epsilon 1; policies for
users with features with five of them. Beside ours: the straight loop of the same policy (`benchmarks.one_by_one`), for
some also in C++ (`benchmarks.native`), and a loop that draws one reward a pull and adds it up, which is the least that
playing user by user takes. Policies that play batches, or jump over users whose arm is decided, cost less than that.

Last, what Home computes when its slider is moved, end to end.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, Signal, run_kernel
from bandit_core.policies import registry
from bandit_core.simulation.prepared import PreparedLine, prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError
from benchmarks import straight
from benchmarks.measuring import UCB, arms_of, fastest, machine, print_table, private, seconds
from benchmarks.native import native
from benchmarks.one_by_one import straight_call

ARMS, HORIZONS, REPEATS = 10, (10_000, 100_000), 4
ROUNDS = 20  # of what is timed on the clock
TIMED, COMPARED = 0.05, 0.4  # seconds of each way that are timed, and that are compared with ours
FEWEST, SOME, MOST = 4, 20, 400  # trials that are timed at least, compared at least, and both at most
WITH_FEATURES = {"dimension": 5, "arms": ARMS}
PARETO = [{"kind": "pareto", "mean": 1 - place / (2 * ARMS), "shape": 2.5} for place in range(ARMS)]
KINDS: dict[str, dict[str, Any]] = {
    "two-valued": {"arms": arms_of(ARMS)},
    "Pareto": {"arms": PARETO},
    "with features": {"contexts": WITH_FEATURES},
}
BEST, SLIDER = ("thompson", "dp-imed", "ts-cf"), 2.0  # what Home plays, at this epsilon
Runs = tuple[np.ndarray, np.ndarray]  # pulls (trials, arms), final regret (trials,)


class Cost(NamedTuple):
    """Nanoseconds a pull of each way to play (NaN: there is none), and whether it plays the same as ours."""

    ours: float
    plain: float
    native: float
    draws: float
    plain_agrees: str
    native_agrees: str  # empty where there is none

    @property
    def behind(self) -> float:
        """Ours over the best of the others that play the same game."""
        return self.ours / np.nanmin([self.plain, self.native])


def prepared(policy: Policy, horizon: int) -> tuple[str, PreparedLine]:
    """On which rewards the policy is played, and its line, ready to be played.

    Raises
    ------
    LookupError
        Where it accepts none of them.
    """
    line = {"policy": policy.name} | ({} if policy.epsilon == "none" else private(policy.name, 1.0))
    for name, rewards in KINDS.items():
        with contextlib.suppress(InputError):
            spec = {**rewards, "lines": [line], "horizon": horizon, "trials": 1}
            return name, prepared_lines(Experiment.model_validate(spec))[0]
    raise LookupError(policy.name)


def same_pulls(one: Runs, other: Runs) -> int:
    """In how many trials every arm was pulled equally often."""
    return int(np.all(one[0] == other[0], axis=1).sum())


def apart(one: Runs, other: Runs) -> float:
    """By how many standard errors the mean regrets differ."""
    error = math.sqrt(sum(runs[1].var(ddof=1) / len(runs[1]) for runs in (one, other)))
    return (one[1].mean() - other[1].mean()) / error


def agreement(one: Runs, other: Runs) -> str:
    """The trials with the same pulls, or where these are rare how far apart the mean regrets are."""
    same, trials = same_pulls(one, other), len(one[0])
    return f"{same}/{trials}" if 2 * same > trials else f"{apart(one, other):+.1f} s.e."


class Ways(NamedTuple):
    """Ways to play a line, each a function of fresh streams; none in C++ where `native` has it not."""

    ours: Callable[[np.ndarray], Runs]
    plain: Callable[[np.ndarray], Runs]
    native: Callable[[np.ndarray], Runs] | None


def ways(line: PreparedLine, horizon: int) -> Ways:
    """The ways to play a line."""
    times, gaps = checkpoints(horizon), line.setup.gaps if line.setup.contexts is None else np.empty(0)
    call, compiled = straight_call(line), native(line.call)

    def ours(rows: np.ndarray) -> Runs:
        block = line.play(rows.copy(), times, Signal())
        return block.pulls, block.regret[:, -1]

    def plain(rows: np.ndarray) -> Runs:
        block = run_kernel(call, rows.copy(), times, Signal())
        return block.pulls, block.regret[:, -1]

    def in_cpp(rows: np.ndarray) -> Runs:
        assert compiled is not None
        pulls = compiled(rows, horizon)
        return pulls, pulls @ gaps

    return Ways(ours, plain, in_cpp if compiled else None)


def trials_within(limit: float, each: float, least: int) -> int:
    """How many trials take ``limit`` seconds, of ``least`` to MOST."""
    return min(MOST, max(least, int(limit / each)))


def cost(line: PreparedLine, horizon: int) -> Cost:
    """The cost of a pull and the agreement of all ways to play a line."""
    present = [way for way in ways(line, horizon) if way is not None]
    means, rows = np.linspace(0.9, 0.5, ARMS), streams(0, 0, MOST)

    def draws(some: np.ndarray) -> float:
        return straight.bare_draws(some.copy(), means, horizon, False)

    def work(way: Callable[[np.ndarray], Any]) -> tuple[Callable[[], Any], int]:
        way(rows[:FEWEST])  # compiles
        trials = trials_within(TIMED, seconds(lambda: way(rows[:FEWEST])) / FEWEST, FEWEST)
        return (lambda: way(rows[:trials])), horizon * trials

    *spent, least = fastest([work(way) for way in (*present, draws)], REPEATS)
    compared = trials_within(COMPARED, max(spent) * horizon, SOME)
    mine, *others = [way(rows[:compared]) for way in present]
    words = [agreement(other, mine) for other in others]
    nanoseconds = [1e9 * each for each in (*spent, math.nan)]
    return Cost(nanoseconds[0], nanoseconds[1], nanoseconds[2], 1e9 * least, words[0], [*words, ""][1])


def row_of(policy: Policy) -> list[Any]:
    """A policy's row of the table."""
    kinds, lines = zip(*(prepared(policy, horizon) for horizon in HORIZONS), strict=True)
    short, long = (cost(line, horizon) for line, horizon in zip(lines, HORIZONS, strict=True))
    columns: dict[str, list[Any]] = {name: [getattr(each, name) for each in (short, long)] for name in Cost._fields}
    for name in ("plain", "native"):
        pairs = zip(columns[name], columns["ours"], strict=True)
        columns[name] = ["–" if math.isnan(other) else other / mine for other, mine in pairs]
    agree = ["; ".join(columns[name]) if all(columns[name]) else "–" for name in ("plain_agrees", "native_agrees")]
    against = [*columns["plain"], agree[0], *columns["native"], agree[1], long.ours / long.draws]
    return [policy.name, kinds[0], *columns["ours"], *against, max(short.behind, long.behind)]


def on_both_clocks(works: list[Callable[[], Any]]) -> np.ndarray:
    """Shortest seconds on the clock and of the processor, threads and all, after a warm-up; shape (works, 2).

    The works take turns.
    """
    times = np.full((len(works), 2), math.inf)
    for number in range(1 + ROUNDS):
        for place, work in enumerate(works):
            before = time.perf_counter(), time.process_time()
            work()
            spent = np.array([time.perf_counter(), time.process_time()]) - before
            times[place] = np.minimum(times[place], spent) if number else math.inf
    return times


def home() -> None:
    """Three lines, 10,000 users, 50 runs, as Home plays them, against one thread that draws a number for every pull."""
    opening = load_preset("first-look")
    scenes = {
        "ucb and two of heldp-ucb-b": [UCB, private("heldp-ucb-b", SLIDER), private("heldp-ucb-b", SLIDER / 2)],
        "Home's own: thompson, dp-imed, ts-cf": [{"policy": BEST[0]}, *(private(name, SLIDER) for name in BEST[1:])],
    }
    rows = []
    for words, lines in scenes.items():
        experiment = opening.with_changes(lines=lines)
        pulls = len(lines) * experiment.horizon * experiment.trials
        spent, draws = on_both_clocks(
            [
                lambda experiment=experiment: simulate(experiment, store=Store(None, 0)),
                lambda pulls=pulls: straight.bare_draws(streams(0, 0, 1), np.full(ARMS, 0.5), pulls, False),
            ]
        )
        rows.append([words, *(1e3 * spent), *(spent / draws)])
    head = [
        "three lines, 10^4 users, 50 runs",
        "ms on the clock",
        "of the processor",
        "clock / bare draws",
        "processor",
    ]
    print_table(head, rows)


def main() -> None:
    """Print the tables, the most expensive pulls first."""
    print(machine(), end="\n\n")
    rows = []
    for policy in registry().values():
        rows.append(row_of(policy))
        print(".", end="", file=sys.stderr, flush=True)
    short, long = (f"T = {horizon:g}" for horizon in HORIZONS)
    print_table(
        ["policy", "rewards", f"ns a pull, {short}", long, f"straight / ours, {short}", long, "straight plays the same",
         f"C++ / ours, {short}", long, "C++ plays the same", f"ours / bare draws, {long}", "ours / best of these"],
        sorted(rows, key=lambda each: -each[3]),
    )  # fmt: skip
    home()


if __name__ == "__main__":
    main()
