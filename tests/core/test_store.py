"""Blocks on disk: exact, bounded, shared by processes, and never in the way when the disk is."""

import errno
import io
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
from helpers import HANGS, block_of, same

from bandit_core.simulation.store import FORMAT, PAGE, Store, default_store

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
