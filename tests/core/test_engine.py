"""No number depends on workers, blocks, order or cache; runs share what is equal, short ones first."""

import errno
import itertools
import os
import random
import threading
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import (
    ARMS,
    HANGS,
    LINES,
    SLOW,
    Counted,
    cut_finely,
    experiment_of,
    keys_of,
    memory,
    numbers,
    refused,
    take_time,
    together,
    wait_for,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bandit_core import Simulation, simulate
from bandit_core.model import Block, KernelCall, Stopped
from bandit_core.policies import registry
from bandit_core.simulation import costs, engine, scheduler
from bandit_core.simulation.scheduler import Job, Scheduler
from bandit_core.simulation.store import Store

# ---------------------------------------------------------------------------------------------------------------------
# No number depends on workers, blocks, order or cache; stopping and failing lose nothing that was finished.


# ---------------------------------------------------------------------------------------------------------------------
# No number depends on workers, blocks, order or cache; stopping and failing lose nothing that was finished.


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("seconds", [1e-9, 5e-4, 10.0])
def test_the_same_bytes_for_any_workers_and_any_cut(monkeypatch, reference, jobs, seconds):
    cut_finely(monkeypatch, seconds)
    counted = Counted(monkeypatch, "ucb")
    assert numbers(simulate(experiment_of(), jobs=jobs, store=memory())) == reference
    assert counted.trials == 13
    assert len(counted.calls) == {1e-9: 13, 5e-4: len(counted.calls), 10.0: 1}[seconds]


def test_the_order_of_lines_and_other_lines_change_nothing(reference):
    turned = simulate(experiment_of(lines=LINES[::-1]), store=memory())
    assert numbers(turned)[::-1] == reference
    labelled = simulate(experiment_of(lines=[{**LINES[1], "label": "mine"}]), store=memory())
    assert numbers(labelled) == reference[1:2]


def test_what_is_only_drawn_or_written_differently_costs_nothing(monkeypatch, reference):
    store = memory()
    simulate(experiment_of(), store=store)
    counted = Counted(monkeypatch, "ucb")
    other = experiment_of(
        arms=[ARMS[0], *[{**ARMS[1], "count": 1}] * 3], title="other", note="words", view={"x": "linear"}
    )
    assert numbers(simulate(other, store=store)) == reference
    assert counted.calls == []


def test_more_trials_cost_only_the_new_ones(monkeypatch):
    counted = Counted(monkeypatch, "ucb")
    store = memory()
    few = simulate(experiment_of(lines=LINES[:1], trials=20), store=store)
    assert counted.trials == 20
    many = simulate(experiment_of(lines=LINES[:1], trials=50), store=store)
    assert counted.trials == 50
    assert many.lines[0].regret[:20].tobytes() == few.lines[0].regret.tobytes()
    alone = simulate(experiment_of(lines=LINES[:1], trials=50), store=memory())
    assert numbers(alone) == numbers(many)
    fewer = simulate(experiment_of(lines=LINES[:1], trials=7), store=store)
    assert counted.trials == 100
    assert fewer.lines[0].regret.tobytes() == many.lines[0].regret[:7].tobytes()


@pytest.mark.parametrize("kept", [[(0, 13)], [(4, 9)], [(0, 2), (5, 6), (12, 13)], [(0, 7), (3, 9)]])
def test_a_partly_filled_store_changes_nothing(monkeypatch, reference, kept):
    experiment, store = experiment_of(), memory()
    full = simulate(experiment, store=memory())
    for line, trials in enumerate(full.lines):
        for first, last in kept:
            rows = slice(first, last)
            block = Block(trials.regret[rows], trials.best_pulls[rows], trials.pulls[rows])
            store.put(keys_of(experiment)[line], first, block)
    counted = Counted(monkeypatch, "ucb")
    assert numbers(simulate(experiment, store=store)) == reference
    assert counted.trials < 13


def test_a_second_visitor_finds_everything_on_disk(monkeypatch, reference, tmp_path):
    path = tmp_path / "blocks.sqlite"
    simulate(experiment_of(), store=Store(path, 10**8))
    counted = Counted(monkeypatch, "ucb")
    simulation = Simulation(experiment_of(), Store(path, 10**8))
    assert simulation.fraction == 1
    assert simulation.missing_seconds == 0
    assert numbers(simulation.result()) == reference
    assert numbers(simulation.run()) == reference
    assert counted.calls == []


def test_blocks_of_a_wrong_shape_are_ignored(reference):
    store = memory()
    store.put(keys_of(experiment_of())[0], 0, Block(np.zeros((13, 3)), np.zeros((13, 3)), np.zeros((13, 4))))
    assert numbers(simulate(experiment_of(), store=store)) == reference


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", [None, KeyboardInterrupt, ValueError])
def test_a_stop_or_an_exception_in_on_progress_keeps_finished_blocks(monkeypatch, reference, jobs, kind):
    cut_finely(monkeypatch)
    take_time(monkeypatch)
    store, seen = memory(), []

    def interrupt(simulation):
        seen.append(simulation.fraction)
        if len(seen) == 9 and kind:
            raise kind
        if len(seen) == 9:
            simulation.stop()

    simulation = Simulation(experiment_of(), store)
    with pytest.raises(kind) if kind else nullcontext():
        simulation.run(jobs, interrupt)
    assert simulation.stopped and not simulation.result().complete
    assert kind is None or len(seen) == 9
    kept = sum(line.count for line in simulation.result().lines if line is not None)
    assert 9 <= kept < 3 * 13
    again = Simulation(experiment_of(), store)
    assert sum(line.count for line in again.result().lines if line is not None) == kept
    assert 0 < again.fraction < 1
    monkeypatch.undo()
    assert numbers(again.run(jobs)) == reference


def test_stopping_from_another_thread_ends_a_kernel_in_the_middle():
    experiment = experiment_of(arms=SLOW, lines=LINES[:1], horizon=10**9, trials=2)
    simulation = Simulation(experiment, memory())
    done = []
    thread = threading.Thread(target=lambda: done.append(simulation.run(jobs=2)))
    thread.start()
    while simulation.fraction == 0:
        time.sleep(0.002)
    simulation.stop()
    thread.join(timeout=HANGS)
    assert len(done) == 1
    assert not done[0].complete
    assert done[0].lines[0] is None  # no trial can be finished by then, and half a trial is none


def test_stopping_before_the_start_computes_nothing(monkeypatch):
    counted = Counted(monkeypatch, "ucb")
    simulation = Simulation(experiment_of(), memory())
    simulation.stop()
    assert simulation.run().lines == (None, None, None)
    assert counted.calls == []


@pytest.mark.parametrize("jobs", [1, 3])
def test_nothing_runs_on_after_a_stop(monkeypatch, jobs):
    cut_finely(monkeypatch)
    busy = []

    def wait(counted, stop):
        busy.append(1)
        while not stop.stopped:
            time.sleep(0.001)
        time.sleep(0.05)
        busy.pop()
        raise Stopped

    Counted(monkeypatch, "heldp-ucb-b", wait)
    simulation = Simulation(experiment_of(lines=LINES[:2], trials=4), memory())
    threading.Timer(0.2, simulation.stop).start()
    result = simulation.run(jobs)
    assert busy == []
    assert result.lines[1] is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_kernel_reaches_the_caller_and_finished_blocks_are_kept(monkeypatch, reference, jobs):
    cut_finely(monkeypatch)
    store, defect = memory(), ZeroDivisionError()

    def fail(counted, stop):
        if len(counted.calls) == 5:
            raise defect

    with monkeypatch.context() as patch:
        Counted(patch, "heldp-ucb-b", fail)
        simulation = Simulation(experiment_of(), store)
        with pytest.raises(ZeroDivisionError) as reached:
            simulation.run(jobs)
        assert reached.value is defect
    assert not simulation.result().complete
    again = Simulation(experiment_of(), store)
    assert again.result().lines[1].count >= 5 - jobs  # what other workers had in hand was stopped
    assert numbers(again.run()) == reference


def test_a_block_of_the_wrong_shape_is_an_error(monkeypatch):
    prepare = registry()["ucb"].prepare

    def too_many_arms(setup):
        return replace(prepare(setup), arms=99)

    monkeypatch.setitem(registry(), "ucb", replace(registry()["ucb"], prepare=too_many_arms))
    with pytest.raises(RuntimeError, match="wrong shape"):
        simulate(experiment_of(), store=memory())


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_grows_from_nothing_to_one_and_results_can_be_read_meanwhile(monkeypatch, jobs):
    cut_finely(monkeypatch)
    simulation, done = Simulation(experiment_of(horizon=20_000), memory()), threading.Event()
    reported, polled, counts = [simulation.fraction], [], []

    def play():
        try:
            return simulation.run(jobs, lambda running: reported.append(running.fraction))
        finally:
            done.set()

    def poll():
        while not done.is_set():
            polled.append(simulation.fraction)
            lines = [line for line in simulation.result().lines if line is not None]
            counts.append(sum(line.count for line in lines))
            assert all(np.all(line.pulls.sum(axis=1) == 20_000) for line in lines)  # no half-written trial is seen
            time.sleep(0.001)

    result, watched = together([play, poll])
    assert watched is None and result.complete
    assert reported[0] == 0 and reported[-1] == 1 == simulation.fraction
    for sequence in (reported, polled, counts):
        assert all(earlier <= later for earlier, later in itertools.pairwise(sequence))
    assert len(reported) == 1 + 3 * 13


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), trials=st.integers(1, 40), horizon=st.integers(1, 10**6))
def test_progress_never_falls_whoever_finishes_what(seed, trials, horizon):
    """Blocks begin, take steps and end in any order, and other runs fill rows in at any time."""
    chance = random.Random(seed)
    simulation = Simulation(experiment_of(trials=trials, horizon=horizon), memory())
    # private: this is what is tested
    tasks = [task for line in range(3) for task in simulation._plan(2) if task.line == line]
    waiting = chance.sample(tasks, len(tasks))
    running, seen = [], [simulation.fraction]
    width = {name: array.shape[1] for name, array in simulation._trials[0].block.arrays.items()}

    def filled(line, first, last):
        block = Block(**{name: np.zeros((last - first, columns)) for name, columns in width.items()})
        simulation._trials[line].fill(first, block)

    while waiting or running:
        move = chance.choice(["begin", "step", "step", "end", "other"])
        if move == "begin" and waiting:
            running.append(waiting.pop())
            simulation._running.add(running[-1])
        elif move == "step" and running:
            chance.choice(running).signal.cells[1] += chance.randrange(1, horizon + 1)
        elif move == "end" and running:
            task = running.pop(chance.randrange(len(running)))
            filled(task.line, task.first, task.last)
            simulation._finish(task, None)
        elif move == "other":
            first = chance.randrange(trials)
            filled(chance.randrange(3), first, chance.randrange(first, trials) + 1)
        seen.append(simulation.fraction)
    assert seen[0] == 0
    assert seen[-1] == 1
    assert all(0 <= earlier <= later <= 1 for earlier, later in itertools.pairwise(seen))


def test_results_cannot_be_changed_by_their_readers():
    result = simulate(experiment_of(), store=memory())
    with pytest.raises(ValueError, match="read-only"):
        result.lines[0].regret[0, 0] = 7.0


@pytest.mark.parametrize(
    ("variable", "call"),
    [("LAB_JOBS", costs.worker_count), ("LAB_MAX_STEPS", costs.most_steps)],
)
@pytest.mark.parametrize("value", ["many", "0", "-2", "1.5", "nan", "1e999"])
def test_a_wrong_setting_is_named(monkeypatch, variable, call, value):
    monkeypatch.setenv(variable, value)
    with refused(variable, value=value):
        call()


def test_settings_are_honoured(monkeypatch):
    monkeypatch.setenv("LAB_JOBS", "3")
    assert costs.worker_count() == 3
    assert costs.worker_count(2) == 2
    monkeypatch.setenv("LAB_JOBS", "")
    assert costs.worker_count() >= 1
    monkeypatch.setenv("LAB_MAX_STEPS", "2e4")
    assert costs.most_steps() == 20_000
    with refused("jobs", value=0):
        costs.worker_count(0)


def test_a_run_beyond_the_limit_is_refused_in_words(monkeypatch):
    monkeypatch.setenv("LAB_MAX_STEPS", str(600 * 13 * 3))
    assert costs.steps(experiment_of()) == 600 * 13 * 3
    Simulation(experiment_of(), memory())
    with refused("horizon", value=f"{600 * 14 * 3:.3g} steps") as issues:
        Simulation(experiment_of(trials=14), memory())
    assert f"{600 * 13 * 3:.3g}" in issues[0].allowed


def test_a_result_beyond_all_memory_is_refused_in_words():
    with refused("trials"):
        Simulation(experiment_of(arms=[{**ARMS[0], "count": 10_000}], trials=10**4, horizon=1), memory())


def test_cost_estimates_grow_with_the_work_and_shrink_with_workers():
    base = costs.estimated_seconds(experiment_of(), 1)
    assert base > 0
    assert costs.estimated_seconds(experiment_of(), 2) == pytest.approx(base / 2)
    assert costs.estimated_seconds(experiment_of(trials=26), 1) == pytest.approx(2 * base)
    assert costs.estimated_seconds(experiment_of(horizon=10**6), 1) > base
    assert costs.estimated_seconds(experiment_of(arms=[{**ARMS[0], "count": 1000}]), 1) > base
    simulation = Simulation(experiment_of(), memory())
    assert simulation.missing_seconds == pytest.approx(base)
    assert simulation.seconds_on(2) == pytest.approx(base / 2)
    longest = max(costs.trial_seconds(experiment_of(), line) for line in range(len(experiment_of().lines)))
    assert simulation.seconds_on(10**6) == longest  # a trial keeps one core
    simulation.run()
    assert simulation.missing_seconds == simulation.seconds_on(2) == 0


def test_a_task_holds_at_least_ten_milliseconds_of_work_and_no_needless_more(monkeypatch):
    experiment = experiment_of(horizon=10**5, trials=200)
    # private: this is what is tested
    tasks = Simulation(experiment, memory())._plan(2)
    covered = np.zeros((3, 200), int)
    for task in tasks:
        covered[task.line, task.first : task.last] += 1
        assert 0.8 * costs.SHORTEST_TASK <= task.seconds <= 1.2 * costs.LONGEST_TASK
    assert np.all(covered == 1)


# ---------------------------------------------------------------------------------------------------------------------
# Whatever happens to the cache in mid-run, the numbers are those of a run without any.


PLENTY = 10**8


def overwrite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in path.glob("??/*"):
        file.write_bytes(os.urandom(500))


def remove(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.rename(path.parent.with_name("taken away"))  # at once, while others write


def forbid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("fault", [overwrite, remove, forbid])
def test_a_fault_of_the_cache_in_mid_run_costs_time_only(monkeypatch, tmp_path, reference, fault, jobs):
    cut_finely(monkeypatch)
    take_time(monkeypatch, 0.01)  # so that much is left to do when it strikes
    path = tmp_path / "folder" / "blocks"
    store = Store(path, PLENTY)
    seen = []

    def strike(simulation: Simulation) -> None:
        seen.append(1)
        if len(seen) == 5:
            fault(path, monkeypatch)

    simulation = Simulation(experiment_of(), store)
    assert numbers(simulation.run(jobs, strike)) == reference
    assert simulation.kept == (fault is not forbid)  # else the app holds on to the result
    del simulation
    assert numbers(simulate(experiment_of(), store=store)) == reference  # by what is left of it
    again = Simulation(experiment_of(), Store(path, PLENTY))  # and after a new start
    if fault is remove:  # another process finds what was kept since
        assert sum(line.count for line in again.result().lines if line is not None) >= (30 if jobs == 1 else 1)
    assert numbers(again.run()) == reference


# ---------------------------------------------------------------------------------------------------------------------
# Many runs in one process: equal ones are computed once, short ones first, long ones in turn.


@pytest.mark.parametrize("limit", [0, 10**8])
@pytest.mark.parametrize("seconds", [1e-9, 10.0])
def test_fifty_visitors_with_one_link_compute_it_once(monkeypatch, reference, seconds, limit):
    cut_finely(monkeypatch, seconds)
    counted = Counted(monkeypatch, "ucb", lambda *_: time.sleep(0.002))
    store = Store(None, limit)  # also where nothing can be kept
    simulations = [Simulation(experiment_of(), store) for _ in range(50)]
    results = together([simulation.run for simulation in simulations])
    assert [numbers(result) == reference for result in results] == [True] * 50
    assert counted.trials == 13
    arrays = {id(result.lines[0].regret.base) for result in results}
    assert len(arrays) == 1  # one copy in memory


def test_runs_that_share_only_a_line_share_it(monkeypatch, reference):
    cut_finely(monkeypatch)
    counted = Counted(monkeypatch, "ucb", lambda *_: time.sleep(0.002))
    store = memory()
    one, other = Simulation(experiment_of(), store), Simulation(experiment_of(lines=LINES[::2]), store)
    results = together([one.run, other.run])
    assert numbers(results[0]) == reference
    assert numbers(results[1]) == reference[::2]
    assert counted.trials == 13


def test_other_stores_and_other_seeds_share_nothing(monkeypatch):
    counted = Counted(monkeypatch, "ucb")
    works = [Simulation(experiment_of(), memory()), Simulation(experiment_of(), memory())]
    works.append(Simulation(experiment_of(seed=6), works[0].store))
    results = together([work.run for work in works])
    assert counted.trials == 3 * 13
    assert numbers(results[0]) == numbers(results[1]) != numbers(results[2])


def test_when_the_one_who_computes_is_stopped_the_next_one_takes_over(monkeypatch, reference):
    cut_finely(monkeypatch, 10.0)  # one block a line
    first_is_in = threading.Event()

    def hang_once(counted, stop):
        if len(counted.calls) == 1:
            first_is_in.set()
            while not stop.stopped:
                time.sleep(0.001)

    Counted(monkeypatch, "ucb", hang_once)
    store = memory()
    leaves, stays = Simulation(experiment_of(), store), Simulation(experiment_of(), store)
    thread = threading.Thread(target=leaves.run)
    thread.start()
    assert first_is_in.wait(HANGS)
    results = []
    other = threading.Thread(target=lambda: results.append(stays.run()))
    other.start()
    leaves.stop()
    thread.join(timeout=HANGS)
    other.join(timeout=HANGS)
    assert not leaves.result().complete or leaves.result().lines[0] is not None
    assert numbers(results[0]) == reference


def test_a_failure_of_one_is_not_a_failure_of_the_others(monkeypatch, reference):
    cut_finely(monkeypatch, 10.0)

    def fail_once(counted, stop):
        if len(counted.calls) == 1:
            time.sleep(0.05)
            raise MemoryError("once")

    Counted(monkeypatch, "ucb", fail_once)
    store = memory()
    simulations = [Simulation(experiment_of(), store) for _ in range(4)]
    results = together([simulation.run for simulation in simulations])
    failed = [result for result in results if isinstance(result, MemoryError)]
    assert len(failed) == 1
    assert all(numbers(result) == reference for result in results if result is not failed[0])


def test_finished_trials_are_not_held_for_nobody():
    store = memory()
    simulation = Simulation(experiment_of(), store)
    simulation.run()
    assert len(store.held) == 3
    del simulation
    assert len(store.held) == 0


def never() -> bool:
    return False


def entered(queue: Scheduler, job: Job, order: list, name: str, count: int) -> threading.Thread:
    def work() -> None:
        for _ in range(count):
            with queue.worker(job, 1.0, 1):
                order.append(name)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("fair", [True, False])
def test_long_runs_take_turns_and_short_ones_go_in_order_of_arrival(fair):
    queue, order = Scheduler("test", fair), []
    with queue.admit(9, never) as guard, queue.admit(9, never) as a, queue.admit(9, never) as b:
        with queue.worker(guard, 0.0, 1):  # all wait until everyone is there
            threads = [entered(queue, job, order, name, 4) for job, name in ((b, "b"), (a, "a"))]
            wait_for(lambda: a.waiting == b.waiting == 1)
        for thread in threads:
            thread.join(timeout=HANGS)
    assert order[0] == "a"  # who came first, whoever asks first
    assert Counter(order) == {"a": 4, "b": 4}
    if fair:  # one who asks again before the other woke up is not preferred for long
        for place in range(1, 8):
            so_far = Counter(order[:place])
            assert abs(so_far["a"] - so_far["b"]) <= 2, order


def test_no_more_blocks_at_once_than_workers():
    queue, inside, most = Scheduler("test"), [], []

    def visit(job):
        for _ in range(5):
            with queue.worker(job, 1.0, 2) as start:
                assert start
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    def run():
        with queue.admit(9, never) as job:
            visit(job)

    assert together([run] * 6) == [None] * 6
    assert max(most) == 2


def test_runs_beyond_the_limit_wait_and_can_be_given_up(monkeypatch, reference):
    monkeypatch.setenv("LAB_MAX_RUNS", "1")
    monkeypatch.setattr(engine, "SHORT_RUN_SECONDS", 0.0)
    monkeypatch.setattr(engine, "MIDDLE_RUN_SECONDS", 0.0)  # everything is long
    hold, held = threading.Event(), threading.Event()

    def wait(counted, stop):
        held.set()
        hold.wait(HANGS)

    Counted(monkeypatch, "heldp-ucb-b", wait)
    first, second, third = (Simulation(experiment_of(seed=seed), memory()) for seed in (1, 5, 3))
    results = {}
    threads = {}
    for name, simulation in (("first", first), ("second", second), ("third", third)):
        threads[name] = threading.Thread(target=lambda n=name, s=simulation: results.update({n: s.run(2)}))
        threads[name].start()
        wait_for(held.is_set if name == "first" else lambda s=simulation: s.waiting)
    assert len(scheduler.LONG.jobs) == 1
    assert not first.waiting
    third.stop()
    threads["third"].join(timeout=HANGS)
    assert results["third"].lines == (None, None, None)
    hold.set()
    for thread in threads.values():
        thread.join(timeout=HANGS)
    assert not second.waiting
    assert numbers(results["second"]) == reference
    assert scheduler.LONG.jobs == []


def test_a_short_run_passes_a_long_one(monkeypatch):
    monkeypatch.setattr(engine, "SHORT_RUN_SECONDS", 0.02)
    monkeypatch.setattr(costs, "LONGEST_TASK", 0.01)
    long_ucb = replace(registry()["ucb"], step_cost=10**4)  # called long by its estimate alone
    release, busy = threading.Event(), threading.Event()

    def hang(*arguments):
        busy.set()
        release.wait(HANGS)
        raise Stopped

    monkeypatch.setitem(
        registry(), "ucb", replace(long_ucb, prepare=lambda setup: KernelCall(hang, (), len(setup.arms)))
    )
    heavy = Simulation(experiment_of(lines=LINES[:1]), memory())
    thread = threading.Thread(target=heavy.run, args=(2,))
    thread.start()
    assert busy.wait(HANGS)
    try:
        monkeypatch.setattr(costs, "SHORTEST_TASK", 1e-9)  # the short one also uses a pool and a scheduler
        assert simulate(experiment_of(lines=LINES[1:2]), jobs=2, store=memory()).complete
        assert thread.is_alive()
    finally:
        heavy.stop()
        release.set()
        thread.join(timeout=HANGS)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_of_seconds_passes_runs_without_an_end_that_have_taken_every_place(monkeypatch, jobs):
    """As many endless runs as there may be hold all workers of their scheduler in the middle of a trial."""
    monkeypatch.setenv("LAB_MAX_RUNS", "2")
    monkeypatch.setattr(engine, "SHORT_RUN_SECONDS", 1e-9)
    monkeypatch.setattr(engine, "MIDDLE_RUN_SECONDS", 1.0)
    monkeypatch.setattr(costs, "SHORTEST_TASK", 1e-9)
    release, busy = threading.Event(), []

    def hang(*arguments):
        busy.append(1)
        release.wait(HANGS)
        raise Stopped

    endless = replace(registry()["ucb"], step_cost=10**7, prepare=lambda setup: KernelCall(hang, (), len(setup.arms)))
    monkeypatch.setitem(registry(), "ucb", endless)
    heavy = [Simulation(experiment_of(lines=LINES[:1], seed=seed), memory()) for seed in (1, 2)]
    threads = [threading.Thread(target=simulation.run, args=(jobs,)) for simulation in heavy]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(busy) == jobs and len(scheduler.LONG.jobs) == 2)
    try:
        counted = Counted(monkeypatch, "heldp-ucb-b")
        middle = Simulation(experiment_of(lines=LINES[1:2]), memory())
        assert middle.missing_seconds > jobs * engine.SHORT_RUN_SECONDS  # no short run
        assert middle.run(jobs).complete
        assert counted.trials == 13
        assert len(busy) == jobs  # not a further endless block began meanwhile
        assert all(thread.is_alive() for thread in threads)
    finally:
        for simulation in heavy:
            simulation.stop()
        release.set()
        for thread in threads:
            thread.join(timeout=HANGS)


def test_the_longer_a_run_the_lower_its_priority():
    niceness = [queue.niceness for queue in (scheduler.SHORT, scheduler.MIDDLE, scheduler.LONG)]
    assert niceness == sorted(set(niceness))


def test_memory_of_one_result_is_limited_in_words(monkeypatch):
    monkeypatch.setenv("LAB_MAX_RESULT_MB", "2")
    Simulation(experiment_of(), memory())
    with refused("trials") as issues:
        Simulation(experiment_of(trials=1000), memory())
    assert "2 MiB" in issues[0].allowed
