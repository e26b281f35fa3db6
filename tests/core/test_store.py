"""Blocks on disk: exact, bounded, shared by processes, and never in the way when the disk is."""

import gc
import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers import HANGS, block_of, database_of, same

from bandit_core.simulation.store import FORMAT, JOURNAL, Store, _checksum, default_store

PLENTY = 10**8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "blocks.sqlite"


@pytest.fixture
def store(path):
    opened = Store(path, PLENTY)
    yield opened
    opened.close()


def reopened(path) -> Store:
    return Store(path, PLENTY)


def test_a_block_comes_back_bit_for_bit_in_another_store(store, path):
    block = block_of()
    block.regret[0, 0] = -0.0
    block.regret[0, 1] = np.nextafter(1, 2)
    store.put("key", 0, block)
    other = reopened(path)
    ((first, found),) = other.get("key", 5)
    other.close()
    assert other is not store
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


def test_putting_a_block_twice_keeps_one(store):
    store.put("key", 0, block_of(seed=1))
    once = store.bytes_used()
    store.put("key", 0, block_of(seed=1))
    assert store.bytes_used() == once
    assert once > 0


def test_the_least_recently_used_go_first(path):
    probe = Store(None, PLENTY)
    probe.put("probe", 0, block_of())
    size = probe.bytes_used()
    store = Store(path, int(3.5 * size))
    for number in range(3):
        store.put(f"key {number}", 0, block_of(seed=number))
    assert store.get("key 0", 5)  # used again: now key 1 is the oldest
    store.put("key 3", 0, block_of(seed=3))
    kept = [number for number in range(4) if store.get(f"key {number}", 5)]
    assert kept == [0, 2, 3]
    assert 0 < store.bytes_used() <= store.limit_bytes
    store.close()


def test_the_file_stays_near_the_limit(path):
    limit = 2**20
    store = Store(path, limit)
    for number in range(300):
        store.put(f"key {number}", 0, block_of(50, number, times=20))
    assert store.bytes_used() <= limit
    store.close()
    assert path.stat().st_size < 1.5 * limit


@pytest.mark.parametrize("trials", [2, 12, 14, 40])  # 0.9 to 13 kB packed: of pages of 4 kB some are left half empty
def test_the_files_together_stay_near_the_limit_while_it_is_written(path, trials):
    limit = 2**20
    store = Store(path, limit)
    largest = 0
    for number in range(2 * limit // (320 * trials)):
        store.put(f"key {number}", 0, block_of(trials, number, times=20))
        if number % 50 == 0:
            largest = max(largest, sum(file.stat().st_size for file in path.parent.iterdir()))
    assert 0.8 * limit < store.bytes_used() <= limit
    assert largest < limit + 2.2 * JOURNAL
    store.close()


def test_a_block_above_the_limit_is_not_kept_and_pushes_nothing_out(path):
    store = Store(path, 3000)
    store.put("small", 0, block_of())
    store.put("large", 0, block_of(500))
    assert store.get("small", 5)
    assert store.get("large", 500) == []
    store.close()


def test_no_limit_no_store():
    store = Store(None, 0)
    store.put("key", 0, block_of())
    assert store.get("key", 5) == []


@pytest.mark.parametrize("where", ["flipped", "cut", "gone", "lie"])
def test_a_damaged_block_is_dropped_and_can_be_kept_again(store, path, where):
    store.put("key", 0, block_of(seed=1))
    store.put("key", 5, block_of(seed=2))
    with sqlite3.connect(path) as database:
        (number,) = database.execute("SELECT id FROM blocks WHERE first = 0").fetchone()
        (data,) = database.execute("SELECT data FROM contents WHERE id = ?", (number,)).fetchone()
        if where == "flipped":
            data = data[:40] + bytes([data[40] ^ 255]) + data[41:]
            database.execute("UPDATE contents SET data = ? WHERE id = ?", (data, number))
        elif where == "cut":
            database.execute("UPDATE contents SET data = ? WHERE id = ?", (data[:50], number))
        elif where == "gone":
            database.execute("DELETE FROM contents WHERE id = ?", (number,))
        else:
            database.execute("UPDATE blocks SET trials = 4 WHERE id = ?", (number,))
    database.close()
    assert [first for first, _ in store.get("key", 10)] == [5]
    store.put("key", 0, block_of(seed=1))
    found = dict(store.get("key", 10))
    assert same(found[0], block_of(seed=1))
    assert same(found[5], block_of(seed=2))


@pytest.mark.parametrize("column, value", [("key", "other"), ("first", 5), ("first", b"\xff"), ("trials", "many")])
def test_a_block_that_was_moved_is_not_taken_for_another(store, path, column, value):
    store.put("key", 0, block_of(seed=1))
    database_of(store).execute(f"UPDATE blocks SET {column} = ?", (value,))
    assert [store.get(key, 10) for key in ("key", "other")] == [[], []]
    store.put("key", 0, block_of(seed=1))
    assert same(dict(store.get("key", 10))[0], block_of(seed=1))


def test_a_damaged_byte_anywhere_costs_only_time(path):
    blocks = {"key": block_of(2, 1), "other": block_of(2, 2)}
    store = Store(path, PLENTY)
    for key, block in blocks.items():
        store.put(key, 0, block)
    store.close()
    sound, schema = path.read_bytes(), 2**12
    places = [place for place, byte in enumerate(sound) if byte]
    within = [place for place in places if place < schema]  # names of tables: an error of Python's own, not SQLite's
    rarely = [place for place in places if place >= schema][::40]
    assert len(within) > 400
    for place in [*within[:100], *within[100::4], *rarely]:
        for beside in path.parent.glob("blocks.sqlite*"):
            beside.unlink()
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x80]) + sound[place + 1 :])
        store = Store(path, PLENTY)
        for key, block in blocks.items():
            assert all(same(found, block) for _, found in store.get(key, 2)), place
        kept = [store.put("new", 0, blocks["key"]) for _ in range(2)]  # the first one may have met the damage
        if place != 18:  # there SQLite takes the file for one of a later version, which no one may write to
            assert store.on_disk and kept[-1] and same(dict(store.get("new", 2))[0], blocks["key"]), place
        store.close()


def test_a_store_that_is_left_alone_closes_its_file(path):
    store = Store(path, PLENTY)
    connection = database_of(store)
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.parametrize(
    "content",
    [b"", os.urandom(5000), b"SQLite format 3\0" + os.urandom(200), b"text"],
    ids=["empty", "noise", "beginning", "text"],
)
def test_a_file_that_is_no_database_is_replaced(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    store = Store(path, PLENTY)
    store.put("key", 0, block_of())
    store.close()
    other = reopened(path)
    assert other.on_disk
    assert len(other.get("key", 5)) == 1
    other.close()


def test_somebody_elses_tables_are_replaced(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE blocks (something TEXT)")
    database.close()
    store = Store(path, PLENTY)
    store.put("key", 0, block_of())
    assert store.on_disk
    assert len(store.get("key", 5)) == 1
    store.close()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_or_overwritten_file_costs_only_time(path, share):
    store = Store(path, PLENTY)
    for number in range(40):
        store.put(f"key {number}", 0, block_of(50, number))
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(size * share))
    other = reopened(path)
    for number in range(40):
        for _, found in other.get(f"key {number}", 50):
            assert same(found, block_of(50, number))
    other.put("key", 0, block_of())
    other.put("key", 0, block_of())  # the first one may have met the damage and replaced the file
    assert len(other.get("key", 5)) == 1
    other.close()


def test_damage_while_the_file_is_open_costs_only_time(path):
    store = Store(path, PLENTY)
    for number in range(40):
        store.put(f"key {number}", 0, block_of(50, number))
    store.close()
    store = Store(path, PLENTY)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    for number in range(40):
        for _, found in store.get(f"key {number}", 50):
            assert same(found, block_of(50, number))
    for _ in range(2):
        store.put("key", 0, block_of())
    assert len(store.get("key", 5)) == 1
    store.close()


def unusable_places(tmp_path: Path) -> list[Path]:
    file = tmp_path / "file"
    file.write_text("not a folder")
    folder = tmp_path / "a folder in place of the file"
    folder.mkdir()
    return [Path("/dev/null/x/blocks.sqlite"), file / "blocks.sqlite", Path("/proc/blocks.sqlite"), folder]


@pytest.mark.parametrize("which", range(4))
def test_without_a_usable_folder_blocks_live_in_memory_with_the_same_limit(tmp_path, which):
    store = Store(unusable_places(tmp_path)[which], 3000)
    assert not store.on_disk
    store.put("key", 0, block_of())
    assert len(store.get("key", 5)) == 1
    for number in range(20):
        store.put(f"key {number}", 0, block_of(seed=number))
    assert 0 < store.bytes_used() <= 3000


def test_a_file_that_cannot_be_written_is_left_alone(path):
    store = Store(path, PLENTY)
    store.put("key", 0, block_of())
    store.close()
    before = path.read_bytes()
    # Permissions do not bind root; a process that may write no byte to a file meets the same refusal.
    code = f"""
import resource, signal, sys
from pathlib import Path
from bandit_core.simulation.store import Store
sys.path.insert(0, {str(Path(__file__).parent)!r})
from helpers import HANGS, block_of, database_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
store = Store(Path({str(path)!r}), 10**8)
store.put("other", 0, block_of())
store.get("other", 5)
print("alive")
"""
    assert run(code).stdout.strip() == "alive"
    assert path.read_bytes() == before
    other = reopened(path)
    assert len(other.get("key", 5)) == 1
    other.close()


def test_a_busy_file_is_passed_over(store, path, monkeypatch):
    store.put("key", 0, block_of())
    database_of(store).execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.put("other", 0, block_of())
    assert len(store.get("key", 5)) == 1  # reading goes on beside a writer
    other.execute("ROLLBACK")
    other.close()
    assert store.get("other", 5) == []
    store.put("other", 0, block_of())
    assert len(store.get("other", 5)) == 1


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=HANGS)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from helpers import HANGS, block_of, database_of, same
from bandit_core.simulation.store import Store
print("ready", flush=True)
sys.stdin.readline()
store = Store(Path({path!r}), 10**8)
assert store.on_disk
for number in range({count}):
    store.put("key {name} %d" % number, 0, block_of(50, number))
    print(number, flush=True)
store.close()
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen:
    code = WRITER.format(tests=str(Path(__file__).parent), path=str(path), name=name, count=count)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_may_create_and_fill_one_file_at_once(path):
    processes = [writer(path, name, 60) for name in "ab"]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=HANGS)
        assert process.returncode == 0
    store = reopened(path)
    for name in "ab":
        for number in range(60):
            ((_, found),) = store.get(f"key {name} {number}", 50)
            assert same(found, block_of(50, number))
    store.close()


def test_a_killed_writer_leaves_a_usable_file(path):
    process = writer(path, "a", 10**6)
    process.stdin.write("go\n")
    process.stdin.flush()
    reached = 0
    while reached < 30:
        reached = int(process.stdout.readline())
    time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = reopened(path)
    assert store.on_disk
    for number in range(reached + 1):
        ((_, found),) = store.get(f"key a {number}", 50)
        assert same(found, block_of(50, number))
    store.put("key", 0, block_of())
    assert len(store.get("key", 5)) == 1
    store.close()


def test_threads_may_share_a_store(store):
    problems = []

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
    out = io.BytesIO()
    for _ in range(3):
        np.lib.format.write_array(out, np.array([["bait"]] * 5, object), allow_pickle=True)
    bait = zlib.compress(out.getvalue())
    with sqlite3.connect(path) as database:
        (data,) = database.execute("SELECT data FROM contents").fetchone()
        database.execute("UPDATE contents SET data = ?", (bait,))
        database.execute("UPDATE blocks SET checksum = ?", (_checksum(bait, ("key", 0, 5)),))
    database.close()
    assert zlib.decompress(data).startswith(b"\x93NUMPY")
    assert store.get("key", 5) == []


def test_a_closed_store_finds_and_keeps_nothing(store):
    store.put("key", 0, block_of())
    store.close()
    store.put("key", 0, block_of())
    assert store.get("key", 5) == []


@pytest.mark.parametrize(
    ("megabytes", "limit"), [("", 512 * 2**20), ("1", 2**20), ("0", 0), ("-3", 512 * 2**20), ("much", 512 * 2**20)]
)
def test_the_environment_sets_the_process_store(tmp_path, monkeypatch, megabytes, limit):
    monkeypatch.setenv("LAB_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("LAB_CACHE_MB", megabytes)
    default_store.cache_clear()
    try:
        store = default_store()
        assert store.limit_bytes == limit
        assert (tmp_path / f"blocks-{FORMAT}.sqlite").exists() == (limit > 0)
        store.close()
    finally:
        default_store.cache_clear()


def test_blocks_in_an_older_format_are_removed_and_a_newer_one_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE_DIR", str(tmp_path))
    old = [tmp_path / f"blocks-{FORMAT - 1}.sqlite{ending}" for ending in ("", "-wal", "-shm")]
    new = [tmp_path / f"blocks-{FORMAT + 1}.sqlite", tmp_path / "blocks-mine.sqlite"]
    for path in (*old, *new):
        path.write_bytes(b"of another version")
    default_store.cache_clear()
    try:
        store = default_store()
        store.put("key", 0, block_of())
        assert len(store.get("key", 5)) == 1
        store.close()
    finally:
        default_store.cache_clear()
    assert not any(path.exists() for path in old)
    assert all(path.read_bytes() == b"of another version" for path in new)


def test_a_full_disk_costs_time_only(path):
    store = Store(path, PLENTY)
    store.put("before", 0, block_of())
    (pages,) = database_of(store).execute("PRAGMA page_count").fetchone()
    database_of(store).execute(f"PRAGMA max_page_count = {pages + 2}")  # SQLite then says what it says of a full disk
    for number in range(10):
        store.put(f"key {number}", 0, block_of(500, number))
    assert store.on_disk
    assert len(store.get("before", 5)) == 1
    assert store.get("key 9", 500) == []
    database_of(store).execute("PRAGMA max_page_count = 100000")  # someone made room
    store.put("key 9", 0, block_of(500, 9))
    ((_, found),) = store.get("key 9", 500)
    assert same(found, block_of(500, 9))
    store.close()
