"""Many runs in one process: equal ones are computed once, short ones first, long ones in turn."""

import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from helpers import HANGS, LINES, Counted, cut_finely, experiment_of, memory, numbers, refused, together, wait_for

from bandit_core import Simulation, simulate
from bandit_core.model import KernelCall, Stopped
from bandit_core.policies import registry
from bandit_core.simulation import costs, engine, scheduler
from bandit_core.simulation.scheduler import Job, Scheduler
from bandit_core.simulation.store import Store


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


@pytest.mark.parametrize("variable", ["LAB_MAX_RUNS", "LAB_MAX_RESULT_MB"])
def test_limits_of_a_server_are_read_and_wrong_ones_named(monkeypatch, variable):
    call = {name: lambda name=name: costs.setting(name) for name in ("LAB_MAX_RUNS", "LAB_MAX_RESULT_MB")}[variable]
    monkeypatch.setenv(variable, "3")
    assert call() == 3
    monkeypatch.setenv(variable, "few")
    with refused(variable, value="few"):
        call()


def test_memory_of_one_result_is_limited_in_words(monkeypatch):
    monkeypatch.setenv("LAB_MAX_RESULT_MB", "2")
    Simulation(experiment_of(), memory())
    with refused("trials") as issues:
        Simulation(experiment_of(trials=1000), memory())
    assert "2 MiB" in issues[0].allowed
