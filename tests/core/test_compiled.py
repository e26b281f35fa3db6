"""Machine code on disk: found again, and a damaged file costs a compilation, never a result."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

from bandit_core.jit import decorators


def tripled(number):
    return 3.0 * number


ONE_AFTER_THE_OTHER = pytest.mark.xdist_group("machine code")  # these damage files that all processes share


def fresh():
    """A new dispatcher of the same function, as another process would have it."""
    return decorators.kernel(tripled)


def files(ending: str) -> list[Path]:
    # private: this is what is tested
    return sorted(Path(fresh()._cache.cache_path).glob(f"*tripled*.{ending}"))


@ONE_AFTER_THE_OTHER
def test_machine_code_is_found_on_disk():
    assert fresh()(2.0) == 6.0
    again = fresh()
    assert again(2.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1


@ONE_AFTER_THE_OTHER
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: os.urandom(99)])
def test_damaged_machine_code_is_compiled_anew(ending, damage):
    assert fresh()(2.0) == 6.0
    assert files(ending)
    for file in files(ending):
        file.write_bytes(damage(file.read_bytes()))
    assert fresh()(2.0) == 6.0
    again = fresh()
    assert again(2.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1


@ONE_AFTER_THE_OTHER
def test_machine_code_for_other_arguments_is_compiled_anew():
    """Two processes that save at once may give both the same file."""
    assert (fresh()(2.0), fresh()(2)) == (6.0, 6.0)
    one, other = files("nbc")
    other.write_bytes(one.read_bytes())
    for argument in (2.0, 2):
        again = fresh()
        assert again(argument) == 6.0
        assert [kind.args for kind in again.nopython_signatures] == [(numba.typeof(argument),)]


def test_a_piece_of_kernels_is_called_from_python_too():
    doubled = decorators.device_function(lambda number: 2.0 * number)
    assert decorators.kernel(lambda number: doubled(number) + 1.0)(4.0) == 9.0
    assert doubled(4.0) == 8.0


def test_a_literal_compiles_no_piece_twice():
    added = decorators.device_function(lambda number, more: number + more)

    def sums(number):
        return added(number, 1) + added(number, 2) + added(number, number)

    assert decorators.kernel(sums)(5) == 6 + 7 + 10
    assert [str(each) for each in added.overloads] == ["(int64, int64)"]


def test_all_processes_of_the_suite_share_their_machine_code(project):
    folder = decorators.kernel_folder()
    assert folder is not None and folder.resolve().parent == (project / ".pytest_cache" / "machine-code").resolve()


def test_the_fingerprint_follows_what_is_compiled(tmp_path):
    here = decorators.code_fingerprint()
    core = tmp_path / "bandit_core"
    for folder in ("jit", "kernels", "mechanisms", "model", "spec/rewards", "spec/budgets", "theory"):
        (core / folder).mkdir(parents=True)
    for name in ("model/kernel_call", "spec/rewards/built_in", "spec/budgets/built_in", "spec/contexts"):
        (core / f"{name}.py").write_text("one")
    first = decorators.code_fingerprint(decorators.sources(core))
    (core / "mechanisms" / "new.py").write_text("changed")
    second = decorators.code_fingerprint(decorators.sources(core))
    assert len({here, first, second}) == 3
    (core / "spec" / "errors.py").write_text("reads a file, is not compiled")
    (core / "theory" / "accounting.py").write_text("another interval between releases, an argument of a kernel")
    assert decorators.code_fingerprint(decorators.sources(core)) == second


def printed(code: str, **settings: str) -> list[str]:
    """The words that a program prints, in a process with these settings."""
    environment = {**os.environ, **settings}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("settings", [{"LAB_CACHE_DIR": "/dev/null/x"}, {"LAB_KERNEL_CACHE": "0"}])
def test_without_a_place_on_disk_kernels_are_compiled_in_memory(settings):
    code = (
        "from bandit_core.jit import decorators; print(decorators.ON_DISK, decorators.kernel(lambda x: x + 1)(1) == 2)"
    )
    assert printed(code, **settings) == ["False", "True"]


def test_a_user_without_a_home_gets_no_cache_instead_of_an_error(monkeypatch):
    monkeypatch.delenv("LAB_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(decorators.Path, "home", homeless)
    with pytest.raises(NotADirectoryError):
        decorators.cache_folder().mkdir(parents=True)


def test_a_start_does_not_load_linear_algebra_and_kernels_can_still_use_it():
    code = """
import sys
import tempfile
import numpy as np
from bandit_core.jit.decorators import kernel
loaded = "scipy.linalg" in sys.modules
product = kernel(lambda a, b: a @ b)
print(loaded, product(np.eye(2), np.full((2, 2), 7.0))[0, 0])
"""
    assert printed(code, LAB_KERNEL_CACHE="0") == ["False", "7.0"]


MODULE = """
import sys
import tempfile
from bandit_core.jit import decorators
def tripled(number):
    return 3.0 * number
kernel = decorators.kernel(tripled)
if "full" in sys.argv:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
value = kernel(2.0)
if "share" in sys.argv:
    decorators.open_for_reading()
print(decorators.kernel_folder(), value, sum(kernel.stats.cache_hits.values()))
"""


@pytest.fixture(scope="module")
def program():
    """A folder that every user may enter (pytest's own are closed to others): a program, and its code for others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "program.py").write_text(MODULE)
    assert played(folder, "share")[:3] == (str(kept_code(folder)), 6.0, 0)
    (folder / "machine").rename(folder / "made")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def shared_place(program):
    """The program's folder without machine code."""
    yield program
    for name in ("machine", "own", "mark"):
        left = program / name
        left.unlink() if left.is_file() else shutil.rmtree(left, ignore_errors=True)


@pytest.fixture
def played_once(shared_place):
    """Another user's program has run here, and left its machine code for all."""
    shutil.copytree(shared_place / "made", shared_place / "machine")
    return shared_place


# Permissions do not bind root, unless it gives up the capability to override them.
UNPRIVILEGED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); os.execv(sys.executable, sys.argv[1:])"


def played(place: Path, *words: str, bound: bool = False) -> tuple[str, float, int, str]:
    """Run the program with machine code in ``place/machine``: folder it used, value, hits of the disk cache, errors."""
    settings = {"LAB_KERNEL_CACHE": str(place / "machine"), "LAB_CACHE_DIR": str(place / "own")}
    done = subprocess.run(
        [
            *([sys.executable, "-c", UNPRIVILEGED] if bound else []),
            *(sys.executable, "-B", str(place / "program.py"), *words),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(decorators.__file__).parents[2]), **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    folder, value, hits = done.stdout.split()
    return folder, float(value), int(hits), done.stderr


def kept_code(place: Path) -> Path:
    return place / "machine" / f"kernels-{decorators.code_fingerprint()}"


def test_a_folder_that_can_only_be_read_serves_its_processor(played_once):
    shared_place, folder = played_once, str(kept_code(played_once))
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in kept_code(shared_place).rglob("*"))
    folders = [kept_code(shared_place), *(path for path in kept_code(shared_place).iterdir() if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    before = sorted((path, path.stat().st_mtime) for path in kept_code(shared_place).rglob("*"))
    assert played(shared_place, bound=True) == (folder, 6.0, 1, "")
    assert sorted((path, path.stat().st_mtime) for path in kept_code(shared_place).rglob("*")) == before
    (kept_code(shared_place) / "processor").write_text("another processor")
    folder, value, hits, _ = played(shared_place, bound=True)
    assert folder.startswith(str(shared_place / "own"))  # where a start can keep what it compiles
    assert (value, hits) == (6.0, 0)
    kept_code(shared_place).chmod(0o755)
    (kept_code(shared_place) / "processor").write_bytes(b"\xff\xfe")  # a damaged note does not end the import
    kept_code(shared_place).chmod(0o555)
    assert played(shared_place, bound=True)[1:3] == (6.0, 1)  # what was compiled in its own folder
    for path in folders:
        path.chmod(0o755)


def test_machine_code_that_others_can_write_is_never_loaded(played_once):
    shared_place = played_once
    (index,) = kept_code(shared_place).rglob("*.nbi")
    mark = shared_place / "mark"

    class Bait:
        def __reduce__(self):
            return Path.touch, (mark,)

    index.write_bytes(pickle.dumps(Bait()))
    kept_code(shared_place).chmod(0o777)
    folder, value, hits, message = played(shared_place)
    assert folder.startswith(str(shared_place / "own"))
    assert (value, hits) == (6.0, 0)
    assert str(kept_code(shared_place)) in message  # the log names the folder that is not used
    assert not mark.exists()
    kept_code(shared_place).chmod(0o700)
    played(shared_place)
    assert mark.exists()  # so the file is one that numba runs: trust in the folder is all that protects


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such owners here")
def test_who_may_write(tmp_path):
    folder = tmp_path / "machine"
    (folder / "inside").mkdir(parents=True, mode=0o755)
    (folder / "inside" / "file").write_text("")
    for mode, strange in ((0o755, False), (0o700, False), (0o775, True), (0o757, True)):
        folder.chmod(mode)
        assert decorators.written_by_others(folder) == strange
    folder.chmod(0o755)
    for path, mode in ((folder / "inside", 0o777), (folder / "inside" / "file", 0o666)):
        kept = path.stat().st_mode
        path.chmod(mode)
        assert decorators.written_by_others(folder)
        folder.chmod(0o700)  # behind a closed door
        assert not decorators.written_by_others(folder)
        folder.chmod(0o755)
        path.chmod(kept)
    assert not decorators.written_by_others(folder)
    if os.getuid() == 0:
        os.chown(folder / "inside" / "file", 65534, 65534)
        assert decorators.written_by_others(folder)


def test_a_new_folder_is_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        # private: this is what is tested
        assert decorators._usable(tmp_path / "above" / "kernels-new")
    finally:
        os.umask(before)
    assert (tmp_path / "above" / "kernels-new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "above").stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such owners here")
def test_a_folder_below_one_that_others_can_write_is_never_used(tmp_path):
    above, folder = tmp_path / "above", tmp_path / "above" / "closed" / "kernels-1"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    for mode, strange in ((0o755, False), (0o777, True), (0o775, True), (0o1777, False)):
        above.chmod(mode)  # the last as /tmp: everyone may write, and rename only their own
        assert decorators.replaceable_by_others(folder) == strange
        # private: this is what is tested
        assert decorators._usable(folder) != strange
    if os.getuid() == 0:
        os.chown(above, 65534, 65534)
        assert decorators.replaceable_by_others(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such owners here")
def test_links_lead_to_where_the_folders_above_are_looked_at(tmp_path):
    real, link = tmp_path / "open" / "kernels-1", tmp_path / "kernels-1"
    real.mkdir(parents=True, mode=0o700)
    link.symlink_to(real)
    real.parent.chmod(0o755)
    # private: this is what is tested
    assert decorators._usable(link)
    real.parent.chmod(0o777)
    assert not decorators._usable(link)


def test_a_folder_in_it_that_cannot_be_written_does_not_end_the_import(played_once):
    shared_place = played_once
    folders = [path for path in kept_code(shared_place).iterdir() if path.is_dir()]
    for path in folders:
        shutil.rmtree(path)
        path.mkdir(mode=0o555)
    assert played(shared_place, bound=True) == (str(kept_code(shared_place)), 6.0, 0, "")
    assert not any(any(path.iterdir()) for path in folders)
    assert not list((shared_place / "__pycache__").glob("*.nb*"))  # nor does numba keep it beside the sources


def test_on_a_full_disk_machine_code_lives_in_memory(shared_place):
    folder, value, hits, message = played(shared_place, "full")
    assert (folder, value, hits, message) == (str(kept_code(shared_place)), 6.0, 0, "")
    assert played(shared_place)[1:] == (6.0, 0, "")  # nothing half-written was left that another start would meet


def test_folders_of_older_versions_are_removed(tmp_path):
    for number in range(8):
        (tmp_path / f"kernels-{number}" / "inside").mkdir(parents=True)
        os.utime(tmp_path / f"kernels-{number}", (number, number))
    # private: this is what is tested
    assert decorators._usable(tmp_path / "kernels-now")
    assert {path.name for path in tmp_path.iterdir()} == {"kernels-now", "kernels-7", "kernels-6", "kernels-5"}


def test_a_folder_of_somebody_else_is_left_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "processor").write_text("theirs")

    def refuse(*_, **__):
        raise PermissionError("not yours")

    monkeypatch.setattr(decorators, "kernel_folder", lambda: tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", refuse)
        decorators.open_for_reading()
    assert (tmp_path / "processor").read_text() == "theirs"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "chmod", refuse)
        decorators.open_for_reading()
