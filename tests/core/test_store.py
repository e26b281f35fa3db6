"""Blocks on disk, shared by processes, and those that ship: exact, bounded, never in the way when the disk is."""

import errno
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers import HANGS, block_of, experiment_of, numbers, same

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.simulation import bundled_results, prepared
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.prepared import PreparedLine, prepared_lines
from bandit_core.simulation.results import with_companions
from bandit_core.simulation.store import FORMAT, PAGE, Store, default_store
from bandit_core.simulation.trial_locks import Claims
from benchmarks.shipped import write

# ---------------------------------------------------------------------------------------------------------------------
# Blocks on disk: exact, bounded, shared by processes, and never in the way when the disk is.


PLENTY = 10**8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "blocks"


@pytest.fixture
def store(path):
    return Store(path, PLENTY)


def files(path: Path) -> list[Path]:
    return sorted(path.glob("??/*"))


def test_a_block_comes_back_bit_for_bit_in_another_store(store, path):
    block = block_of()
    block.regret[0, :4] = -0.0, np.nextafter(1, 2), np.inf, np.nan
    block.pulls[:] = np.arange(5)[:, None]  # whole numbers are packed in another way
    store.put("key", 0, block)
    ((first, found),) = Store(path, PLENTY).get("key", 5)
    assert first == 0
    assert same(found, block)
    assert store.get("another key", 5) == []


def test_get_gives_disjoint_blocks_inside_the_trials_that_were_asked_for(store):
    blocks = {first: block_of(10, first) for first in (0, 5, 10, 30)}
    for first, block in blocks.items():
        store.put("key", first, block)
    found = dict(store.get("key", 15))
    assert list(found) == [0, 10]  # 5-14 overlaps, 30-39 lies beyond
    assert same(found[0], blocks[0])
    assert found[10].trials == 5
    assert found[10].regret.tobytes() == blocks[10].regret[:5].tobytes()
    assert [first for first, _ in store.get("key", 40, since=20)] == [30]


def test_putting_a_block_twice_keeps_one(store):
    store.put("key", 0, block_of(seed=1))
    once = store.bytes_used()
    store.put("key", 0, block_of(seed=1))
    assert store.bytes_used() == once > 0


@pytest.mark.parametrize("on_disk", [True, False])
def test_the_least_recently_used_go_first(path, on_disk):
    store = Store(path if on_disk else None, int(3.5 * PAGE))
    for number in range(3):
        store.put(f"key {number}", 0, block_of(seed=number))
        time.sleep(0.01)  # clocks of file systems are coarse
    assert store.get("key 0", 5)  # used again: now key 1 is the oldest
    store.put("key 3", 0, block_of(seed=3))
    assert [number for number in range(4) if store.get(f"key {number}", 5)] == [0, 2, 3]
    assert 0 < store.bytes_used() <= store.limit_bytes


@pytest.mark.parametrize("trials", [2, 14, 40])  # 1 to 13 kB packed: of pages of 4 kB some are left half empty
def test_files_stay_near_the_limit_whichever_process_writes_them(path, trials):
    limit = 2**20
    stores, used = [Store(path, limit) for _ in range(2)], 0
    for number in range(2 * limit // (320 * trials)):
        stores[number // 300 % 2].put(f"key {number}", 0, block_of(trials, number, times=20))
        if number % 50 == 0:
            used = max(used, stores[0].bytes_used())
    assert 0.8 * limit < used <= limit + limit // 16 + 4096


def test_a_block_above_the_limit_is_not_kept_and_pushes_nothing_out(path):
    store = Store(path, PAGE)
    assert store.put("small", 0, block_of())
    assert not store.put("large", 0, block_of(500))
    assert store.get("small", 5)
    assert store.get("large", 500) == []


def test_no_limit_no_store():
    store = Store(None, 0)
    assert not store.put("key", 0, block_of())
    assert store.get("key", 5) == []


def test_a_damaged_block_is_missing_and_can_be_kept_again(store, path):
    block = block_of(2, 1)
    store.put("key", 0, block)
    store.put("key", 5, block_of(seed=2))
    file = files(path)[0]
    sound = file.read_bytes()
    damaged = [sound[:place] + bytes([sound[place] ^ 0x80]) + sound[place + 1 :] for place in range(len(sound))]
    for data in [*damaged, b"", sound[:50], sound + b"more", os.urandom(5000), zlib.compress(b"text")]:
        file.write_bytes(data)
        assert [first for first, _ in store.get("key", 10)] == [5]
    store.put("key", 0, block)
    assert same(dict(store.get("key", 10))[0], block)


@pytest.mark.parametrize("name", ["other.0.5", "key.5.5", "key.0.4", "key.0.many"])
def test_a_block_that_was_moved_is_not_taken_for_another(store, path, name):
    store.put("key", 0, block_of(seed=1))
    target = path / name[:2] / name
    target.parent.mkdir(exist_ok=True)
    files(path)[0].rename(target)
    assert [store.get(key, 10) for key in ("key", "other")] == [[], []]


def unusable_places(tmp_path: Path) -> list[Path]:
    file = tmp_path / "file"
    file.write_text("not a folder")
    return [Path("/dev/null/x"), file, file / "blocks", Path("/proc/blocks")]


@pytest.mark.parametrize("which", range(4))
def test_without_a_usable_folder_blocks_live_in_memory_with_the_same_limit(tmp_path, which):
    store = Store(unusable_places(tmp_path)[which], 3 * PAGE)
    assert not store.on_disk
    for number in range(20):
        assert store.put(f"key {number}", 0, block_of(seed=number))
        assert len(store.get(f"key {number}", 5)) == 1
    assert 0 < store.bytes_used() <= 3 * PAGE


def test_a_folder_that_cannot_be_written_is_left_alone(path):
    Store(path, PLENTY).put("key", 0, block_of())
    before = files(path)[0].read_bytes()
    # Permissions do not bind root; a process that may write no byte to a file meets the same refusal.
    code = f"""
import resource, signal, sys
from pathlib import Path
from bandit_core.simulation.store import Store
sys.path.insert(0, {str(Path(__file__).parent)!r})
from helpers import block_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
store = Store(Path({str(path)!r}), 10**8)
print(store.put("other", 0, block_of()), store.get("other", 5), len(store.get("key", 5)))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANGS)
    assert done.stdout.strip() == "False [] 1"
    assert [file.read_bytes() for file in files(path)] == [before]


def test_a_full_disk_costs_time_only(store, path, monkeypatch):
    store.put("before", 0, block_of())
    write = Path.write_bytes

    def full(file, data):
        write(file, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert not store.put("key", 0, block_of())
    assert store.on_disk and len(store.get("before", 5)) == 1 and store.get("key", 5) == []
    assert len(files(path)) == 1  # nothing half written is left
    monkeypatch.undo()  # someone made room
    assert store.put("key", 0, block_of())
    assert same(dict(store.get("key", 5))[0], block_of())


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from helpers import block_of
from bandit_core.simulation.store import Store
print("ready", flush=True)
sys.stdin.readline()
store = Store(Path({path!r}), 10**8)
assert store.on_disk
for number in range({count}):
    store.put("key {name} %d" % number, 0, block_of(50, number))
    print(number, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen:
    code = WRITER.format(tests=str(Path(__file__).parent), path=str(path), name=name, count=count)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_may_create_and_fill_one_folder_at_once(store, path):
    processes = [writer(path, name, 60) for name in "ab"]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=HANGS)
        assert process.returncode == 0
    for name in "ab":
        for number in range(60):
            ((_, found),) = store.get(f"key {name} {number}", 50)
            assert same(found, block_of(50, number))


def test_a_killed_writer_leaves_a_usable_folder(path):
    process = writer(path, "a", 10**6)
    process.stdin.write("go\n")
    process.stdin.flush()
    reached = 0
    while reached < 30:
        reached = int(process.stdout.readline())
    time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = Store(path, PLENTY)
    for number in range(reached + 1):
        ((_, found),) = store.get(f"key a {number}", 50)
        assert same(found, block_of(50, number))
    assert store.put("key", 0, block_of())


@pytest.mark.parametrize("on_disk", [True, False])
def test_threads_may_share_a_store(path, on_disk):
    store, problems = Store(path if on_disk else None, 200 * PAGE), []

    def work(name):
        try:
            for number in range(20):
                store.put(f"{name} {number}", 0, block_of(seed=number))
                ((_, found),) = store.get(f"{name} {number}", 5)
                assert same(found, block_of(seed=number))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_block_is_read_again_where_other_threads_confuse_the_reader_of_its_headers(store, monkeypatch):
    read, asked = np.lib.format.read_array, []

    def confused(source, **options):
        asked.append(source.tell())
        if len(asked) % 2:
            source.read(11)
            raise SystemError("AST constructor recursion depth mismatch")  # of Python 3.11
        return read(source, **options)

    store.put("key", 0, block_of())
    monkeypatch.setattr(np.lib.format, "read_array", confused)
    ((_, found),) = store.get("key", 5)
    assert same(found, block_of()) and len(asked) > 2


def test_nothing_is_ever_unpickled(store, path):
    store.put("key", 0, block_of())
    (file,), out = files(path), io.BytesIO()
    for _ in range(6):
        np.lib.format.write_array(out, np.array([["bait"]] * 5, object), allow_pickle=True)
    bait = zlib.compress(out.getvalue())
    assert zlib.decompress(file.read_bytes()[4:]).startswith(b"\x93NUMPY")
    file.write_bytes(zlib.crc32(bait, zlib.crc32(file.name.encode())).to_bytes(4, "big") + bait)
    assert store.get("key", 5) == []


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_closed_store_finds_and_keeps_nothing(path, on_disk):
    store = Store(path if on_disk else None, PLENTY)
    store.put("key", 0, block_of())
    store.close()
    assert not store.put("key", 0, block_of())
    assert store.get("key", 5) == []


@pytest.fixture
def of_the_process(tmp_path, monkeypatch):
    """Makes the process's store anew, in a folder of the test."""
    monkeypatch.setenv("LAB_CACHE_DIR", str(tmp_path))
    default_store.cache_clear()
    yield default_store
    default_store.cache_clear()


@pytest.mark.parametrize(
    ("megabytes", "limit"), [("", 512 * 2**20), ("1", 2**20), ("0", 0), ("-3", 512 * 2**20), ("much", 512 * 2**20)]
)
def test_the_environment_sets_the_process_store(tmp_path, monkeypatch, of_the_process, megabytes, limit):
    monkeypatch.setenv("LAB_CACHE_MB", megabytes)
    assert of_the_process().limit_bytes == limit
    assert (tmp_path / f"blocks-{FORMAT}").exists() == (limit > 0)


def test_blocks_in_an_older_format_are_removed_and_a_newer_one_left_alone(tmp_path, of_the_process):
    old = [tmp_path / f"blocks-4.sqlite{ending}" for ending in ("", "-wal", "-shm")]
    new = [tmp_path / f"blocks-{FORMAT + 1}.sqlite", tmp_path / "blocks-mine.sqlite"]
    for path in (*old, *new):
        path.write_bytes(b"of another version")
    (tmp_path / f"blocks-{FORMAT - 1}" / "ab").mkdir(parents=True)
    assert of_the_process().put("key", 0, block_of())
    assert sorted(tmp_path.iterdir()) == sorted([*new, tmp_path / f"blocks-{FORMAT}"])


# ---------------------------------------------------------------------------------------------------------------------
# What several processes agree on: equal trials are computed once, and places for long runs are counted once.


EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)],
        "lines": [{"policy": "ucb"}],
        "horizon": 40,
        "trials": 6,
    }
)
KEY = prepared_lines(EXPERIMENT)[0].key(checkpoints(EXPERIMENT.horizon), EXPERIMENT.seed)
# Another process: claims all trials of the experiment, says so, and after a word of ours plays and keeps them.
OTHER = """
import sys
from pathlib import Path
from bandit_core import Experiment, simulate
from bandit_core.simulation.store import Store
experiment = Experiment.model_validate_json(sys.argv[1])
store, key = Store(Path(sys.argv[2]), 2**20), sys.argv[3]
with store.claims.trials(key, 0, 6, lambda: False), store.claims.place("long", 1, lambda: False):
    print("mine", flush=True)
    input()
    simulate(experiment, 1, store=store)
"""


@pytest.fixture
def other(tmp_path):
    """A process that holds claims in the folder of the store at ``tmp_path / "blocks"``."""
    command = [sys.executable, "-c", OTHER, EXPERIMENT.model_dump_json(), str(tmp_path / "blocks"), KEY]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "mine\n"
    yield process
    process.kill()
    process.communicate()


def waiting(looks):
    """A stop that is never asked for, and an event that is set once someone has looked at it so often."""
    seen, count = threading.Event(), [0]

    def stopped():
        count[0] += 1
        if count[0] >= looks:
            seen.set()
        return False

    return stopped, seen


def test_trials_that_another_process_computes_are_taken_from_it(tmp_path, other, monkeypatch):
    simulation = Simulation(EXPERIMENT, Store(tmp_path / "blocks", 2**20))

    def no_kernel(*_):
        raise AssertionError("computed twice")

    monkeypatch.setattr(PreparedLine, "play", no_kernel)
    found = []
    run = threading.Thread(target=lambda: found.append(simulation.run(1)))
    run.start()
    assert other.communicate("now\n") == ("", None)
    run.join()
    monkeypatch.undo()
    [line], [wanted] = found[0].lines, simulate(EXPERIMENT, 1, store=Store(None, 0)).lines
    assert np.array_equal(line.regret, wanted.regret) and np.array_equal(line.pulls, wanted.pulls)


def test_who_is_killed_gives_up_what_it_held(tmp_path, other):
    store = Store(tmp_path / "blocks", 2**20)
    stopped, looked = waiting(3)
    simulation, found = Simulation(EXPERIMENT, store), []

    def claim():
        with store.claims.trials(KEY, 2, 3, stopped):
            found.append("trials")
        with store.claims.place("long", 1, stopped):
            found.append("place")

    run = threading.Thread(target=claim)
    run.start()
    assert looked.wait(60) and found == []  # it looked three times, and still waits
    other.send_signal(signal.SIGKILL)
    run.join()
    assert found == ["trials", "place"]
    assert simulation.run(1).complete


def test_other_trials_and_other_places_are_free(tmp_path, other):
    claims, looks = Store(tmp_path / "blocks", 2**20).claims, []

    def looked():
        looks.append(1)
        return len(looks) > 5

    with claims.trials(KEY, 6, 9, looked), claims.trials("another", 0, 6, looked):
        assert looks == []
    with claims.place("middle", 1, looked), claims.place("long", 2, looked):
        assert looks == []  # each was free
        with claims.place("long", 2, looked):
            assert len(looks) > 5  # of two the other process has one, and we have the other: this one gave up


def test_a_stopped_run_waits_no_longer(tmp_path, other):
    simulation = Simulation(EXPERIMENT, Store(tmp_path / "blocks", 2**20))
    simulation.stop()
    assert simulation.run(1).lines == (None,)


def test_without_a_folder_nobody_is_asked(tmp_path):
    def never():
        raise AssertionError("it had to wait")

    for claims in (Claims(None), Claims(tmp_path / "missing")):
        entered = False
        with claims.trials("key", 0, 5, never), claims.place("long", 1, never), claims.place("long", 1, never):
            entered = True
        assert entered


# ---------------------------------------------------------------------------------------------------------------------
# Blocks that ship with the project: found by code and arguments, never believed for other ones, only read.


def bundled_memory(shipped=None) -> Store:
    store = Store(None, 10**8)
    store.bundled_results = shipped
    return store


def portable_keys(experiment) -> list[str]:
    times = Simulation(experiment, bundled_memory()).times
    return [line.portable_key(times, experiment.seed) for line in prepared_lines(experiment)]


@pytest.fixture
def shipped(tmp_path, reference):
    """A file with all lines of the suite's experiment but the last."""
    result = simulate(experiment_of(), store=bundled_memory())
    blocks = [prepared.Block(line.regret, line.best_pulls, line.pulls) for line in result.lines]
    path = tmp_path / "some folder" / "blocks #1.sqlite"
    path.parent.mkdir()
    write(path, list(zip(portable_keys(experiment_of()), itertools.repeat(experiment_of()), blocks))[:-1])
    return bundled_results.open_shipped(path)


def test_what_ships_is_not_computed_again_and_says_so(shipped, reference):
    simulation = Simulation(experiment_of(), bundled_memory(shipped))
    done = [line is not None for line in simulation.result().lines]
    assert done == [True] * (len(done) - 1) + [False]
    result = simulation.run(1)
    assert numbers(result) == reference
    shipping = ", ".join(result.experiment.label(line) for line in range(len(done) - 1))
    assert result.bundled_results == result.metadata["bundled_results"] == f"{shipped.made}, for {shipping}"
    first = experiment_of(lines=experiment_of().spec()["lines"][:1])
    assert Simulation(first, bundled_memory(shipped)).result().bundled_results == shipped.made
    alone = simulate(experiment_of(), store=bundled_memory())
    assert alone.bundled_results == "" and "bundled_results" not in alone.metadata


def test_fewer_and_more_trials_start_from_what_ships(shipped):
    for trials in (3, 200):
        begun = Simulation(experiment_of(trials=trials), bundled_memory(shipped))
        assert begun.result().lines[0].count == min(trials, experiment_of().trials)
        assert numbers(begun.run(1)) == numbers(simulate(experiment_of(trials=trials), store=bundled_memory()))


def test_other_numbers_are_not_found(shipped, monkeypatch):
    for change in ({"seed": 8}, {"horizon": 77}):
        assert Simulation(experiment_of(**change), bundled_memory(shipped)).result().lines[0] is None
    monkeypatch.setattr(prepared, "LIBRARIES", "another numba")
    assert Simulation(experiment_of(), bundled_memory(shipped)).result().lines[0] is not None
    monkeypatch.setattr(prepared, "kernel_version", lambda kernel: "another kernel")
    assert Simulation(experiment_of(), bundled_memory(shipped)).result().lines[0] is None


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0" + bytes(4000)])
def test_a_file_that_is_missing_or_damaged_costs_time_only(tmp_path, content, reference):
    path = tmp_path / "blocks.sqlite"
    if content is not None:
        path.write_bytes(content)
    found = bundled_results.open_shipped(path)
    assert found is None
    broken = bundled_results.Beforehand(path, "made by no one")
    result = simulate(experiment_of(), store=bundled_memory(broken))
    assert numbers(result) == reference and result.bundled_results == ""


def test_the_file_is_only_read(shipped):
    before = shipped.path.read_bytes()
    simulate(experiment_of(trials=200), store=bundled_memory(shipped))
    assert shipped.path.read_bytes() == before
    assert [path.name for path in shipped.path.parent.iterdir()] == [shipped.path.name]


@pytest.mark.parametrize("name", ["default", "wild-rewards", "trust-with-features"])
def test_what_pages_show_at_first_has_nothing_left_to_compute(name):
    """Where this fails, ``python -m benchmarks.first_pictures`` makes the file anew."""
    result = Simulation(with_companions(load_preset(name)), bundled_memory(bundled_results.open_shipped())).result()
    assert result.complete and result.bundled_results
