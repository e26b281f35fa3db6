"""One identity for numbers: what changes the key of stored blocks, machine code on disk, and what ships."""

import ast
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numba
import numpy as np
import pytest
import rounding
from helpers import EDITS

from bandit_core import Experiment, Simulation, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.jit import decorators
from bandit_core.jit.decorators import kernel_name, kernel_version
from bandit_core.kernels import contextual, index, kl, streams
from bandit_core.literature import papers
from bandit_core.model import Block
from bandit_core.policies import registry
from bandit_core.policies.contextual import zheng
from bandit_core.simulation import bundled_results, prepared
from bandit_core.simulation.prepared import prepared_line, prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.spec import contexts as users
from bandit_core.studies import benchmark
from benchmarks import frozen, shipped

# ---------------------------------------------------------------------------------------------------------------------
# One identity for numbers: what changes the key of stored blocks, and what does not.


NAMES = list(registry())
WITH_FEATURES = {name for name, policy in registry().items() if policy.setting == "contexts"}

MODULE = '''
"""A kernel file."""
import math
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from bandit_core.jit.decorators import inlined, kernel, device_function

STEP = 2.0
WORD = ir.IntType(64)
CODES = (1, 2)
UNUSED = 1.0
TABLE = np.arange(3.0)

@inlined
def scaled(x):
    return STEP * x

def doubled(builder, value):
    return builder.shl(value, ir.Constant(WORD, 1))

@intrinsic
def twice(typing, x):
    """Two times a whole number."""
    def generate(context, builder, signature, values):
        return doubled(builder, values[0])
    return types.int64(types.int64), generate

@device_function
def longer(x):
    """Adds a little."""
    return scaled(x) + math.sqrt(CODES[0]) + TABLE[1] + twice(3)

@kernel
def play(x):
    # A comment.
    return longer(x)

@kernel
def other(x):
    """Reaches no constant."""
    return -x
'''


@pytest.fixture
def written(tmp_path):
    """Import a version of the kernel file above: (name of the kernel) -> version, always under one module name."""
    numbers = iter(range(100))

    def versions(*changes: tuple[str, str]) -> dict[str, str]:
        text = MODULE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / f"file{next(numbers)}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("kernel_file", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return {name: kernel_version(getattr(module, name)) for name in ("play", "other")}

    return versions


@pytest.mark.parametrize("change", EDITS["versions"]["prose"])
def test_prose_and_layout_change_no_version(written, change):
    assert written(change) == written()


@pytest.mark.parametrize("change", EDITS["versions"]["reached"])
def test_what_a_kernel_reaches_changes_its_version_and_no_other(written, change):
    before, after = written(), written(change)
    assert after["play"] != before["play"]
    assert after["other"] == before["other"]


def test_no_number_that_a_kernel_is_called_with_depends_on_how_a_processor_rounds():
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, rounding.__file__]
    found = subprocess.run(command, env=places, stdout=subprocess.PIPE, text=True, check=True)
    elsewhere = json.loads(found.stdout)
    assert elsewhere.pop("another exponential")
    here = rounding.contents()
    assert {name for name in here if elsewhere[name] != here[name]} == set()


def test_a_file_that_changes_under_a_running_process_is_told(tmp_path):
    path = tmp_path / "changed.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("changed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("# A line more.\n" + MODULE)
    with pytest.raises(RuntimeError, match=str(path)):
        kernel_version(module.play)


def test_the_versions_of_the_project_are_of_what_was_imported(monkeypatch):
    monkeypatch.setattr(decorators.linecache, "getlines", lambda path: [])  # as if the files were gone
    decorators.linecache.clearcache()
    assert fresh_version(index.vectorised) == kernel_version(index.vectorised)


def fresh_version(kernel) -> str:
    return decorators.kernel_version.__wrapped__(kernel)


def line_of(name: str, **changes):
    line = {"policy": name, **changes}
    if registry()[name].epsilon != "none":
        line.setdefault("epsilon", {"kind": "fixed", "value": 1.0})
    users = {"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.8, 0.5, 0.3)]}
    if registry()[name].setting == "contexts":
        users = {"contexts": {"dimension": 2, "arms": 3, "structure": "multi"}}
    return Experiment.model_validate({**users, "lines": [line], "horizon": 500, "trials": 3, "seed": 4})


def identities() -> dict[str, bytes]:
    """The identity of every policy's line, with versions that are not remembered."""
    decorators.kernel_version.cache_clear()
    found = {name: prepared_lines(line_of(name))[0].identity for name in NAMES}
    decorators.kernel_version.cache_clear()
    return found


@pytest.fixture(scope="module")
def before() -> dict[str, bytes]:
    """The identities of the code as it stands."""
    return identities()


@pytest.mark.parametrize(
    ("module", "constant", "policies"),
    [
        (kl, "MARGIN", {"kl-ucb", "kl-ucb-cf"}),
        (contextual, "MAX_TRIES", WITH_FEATURES),
        (users, "POISSON_CAP", WITH_FEATURES),
        (zheng, "IDENTITY", {"ldp-linucb", "ldp-gloc"}),
    ],
)
def test_a_constant_invalidates_exactly_the_policies_that_reach_it(monkeypatch, before, module, constant, policies):
    monkeypatch.setattr(module, constant, getattr(module, constant) + 7)
    after = identities()
    assert {name for name in NAMES if before[name] != after[name]} == policies


def changed(value):
    """The value with one number or one array in it changed, each in turn."""
    if isinstance(value, tuple):
        for place, each in enumerate(value):
            for other in changed(each):
                parts = (*value[:place], other, *value[place + 1 :])
                yield type(value)(*parts) if hasattr(value, "_fields") else parts
    elif isinstance(value, np.ndarray):
        other = np.ones((1, 9)) if value.size == 0 else value.copy()
        other.flat[-1] = not other.flat[-1] if other.dtype == bool else other.flat[-1] + 1
        yield other
    else:
        whole = isinstance(value, int)
        yield not value if isinstance(value, bool) else value + 1 if whole else np.nextafter(value, -np.inf)


@pytest.mark.parametrize("name", NAMES)
def test_an_identity_comes_out_again_and_follows_every_argument(name):
    experiment = line_of(name)
    [line] = prepared_lines(experiment)
    assert prepared_lines(line_of(name))[0].identity == line.identity
    for arguments in changed(line.call.arguments):
        other = replace(registry()[name], prepare=lambda setup, a=arguments: replace(line.call, arguments=a))
        assert prepared_line(other, experiment.setups[0]).identity != line.identity, arguments


def test_whole_numbers_floats_and_flags_are_different_arguments():
    policy, setup = registry()["ucb"], line_of("ucb").setups[0]
    call = policy.prepare(setup)

    def identity(*arguments):
        changed = replace(policy, prepare=lambda setup: replace(call, arguments=arguments))
        return prepared_line(changed, setup).identity

    values = [1, 1.0, True, (1,), np.array([1]), np.array([1.0]), np.array([[1.0]]), 0.0, -0.0, np.float32(1)]
    assert len({identity(value) for value in values}) == len(values)
    assert identity(np.float64(1.0)) == identity(1.0)
    assert identity((1, 2)) != identity(1, 2)
    with pytest.raises(TypeError, match="str"):
        identity("words")


def test_equal_calls_share_blocks_whatever_the_policy_is_called(monkeypatch):
    renamed = replace(registry()["ucb"], name="renamed")
    monkeypatch.setitem(registry(), "renamed", renamed)
    store = Store(None, 2**24)
    first = simulate(line_of("ucb"), store=store)
    again = Simulation(line_of("renamed"), store)
    assert again.missing_seconds == 0
    assert again.result().lines[0].regret.tobytes() == first.lines[0].regret.tobytes()
    both = line_of("ucb").with_changes(lines=[{"policy": "ucb"}, {"policy": "renamed"}], seed=5)
    result = simulate(both, store=store)
    assert result.lines[0].regret.tobytes() == result.lines[1].regret.tobytes()


def test_keys_follow_checkpoints_seed_and_the_code_of_the_streams(monkeypatch):
    [line] = prepared_lines(line_of("ucb"))
    times = checkpoints(500)
    keys = {line.key(times, 4), line.key(times, 5), line.key(times[1:], 4)}
    ships = line.portable_key(times, 4)
    monkeypatch.setattr(prepared, "LIBRARIES", "another NumPy")
    keys.add(line.key(times, 4))
    assert len(keys) == 4
    assert line.portable_key(times, 4) == ships
    monkeypatch.setattr(prepared, "kernel_version", lambda kernel: "other streams")
    assert line.portable_key(times, 4) != ships
    assert kernel_name(streams.streams) == "bandit_core.kernels.streams.streams"


def test_a_wrapped_kernel_has_the_version_of_the_kernel():
    def wrapper(*arguments):
        index.vectorised(*arguments)

    wrapper.__wrapped__ = index.vectorised
    assert kernel_version(wrapper) == kernel_version(index.vectorised)
    assert kernel_name(wrapper) == kernel_name(index.vectorised) == "bandit_core.kernels.index.vectorised"


def test_functions_typed_in_have_versions_too():
    step = 3
    doubled = decorators.kernel(lambda x: x * step)
    tripled = decorators.kernel(lambda x: x * 3)
    assert kernel_version(doubled) != kernel_version(tripled)


def test_a_parser_that_other_threads_confuse_is_asked_again(monkeypatch):
    right, parse, asked = decorators.kernel_version(index.vectorised), ast.parse, []

    def confused(source, *given):
        asked.append(source)
        if len(asked) % 2:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(source, *given)

    monkeypatch.setattr(decorators.ast, "parse", confused)
    monkeypatch.setattr(decorators.numba.config, "CACHE_DIR", "")  # else what was parsed is kept there
    decorators._kept.cache_clear()  # private
    assert decorators.kernel_version.__wrapped__(index.vectorised) == right and len(asked) > 2


def test_a_later_process_reads_no_syntax_of_what_has_not_changed(monkeypatch, tmp_path):
    right, folder = decorators.kernel_version(index.vectorised), tmp_path / "kernels-here"
    folder.mkdir()
    monkeypatch.setattr(decorators.numba.config, "CACHE_DIR", str(folder))

    def read_anew(source):
        raise AssertionError("its syntax is known")

    for parse in (ast.parse, read_anew):
        monkeypatch.setattr(decorators.ast, "parse", parse)
        decorators._kept.cache_clear()  # private
        assert decorators.kernel_version.__wrapped__(index.vectorised) == right
    for file in folder.iterdir():
        file.write_text("{", encoding="utf-8")  # damaged
    decorators._kept.cache_clear()
    with pytest.raises(AssertionError, match="its syntax is known"):
        decorators.kernel_version.__wrapped__(index.vectorised)
    monkeypatch.undo()
    decorators._kept.cache_clear()
    assert decorators.kernel_version.__wrapped__(index.vectorised) == right


# ---------------------------------------------------------------------------------------------------------------------
# Machine code on disk: found again, and a damaged file costs a compilation, never a result.


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


TRIPLED = """
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
    (folder / "program.py").write_text(TRIPLED)
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


# ---------------------------------------------------------------------------------------------------------------------
# The stored table of what every policy plays: complete, and able to tell a difference.


def test_every_policy_is_in_the_table_in_every_variant():
    stored = json.loads(frozen.FILE.read_text())
    names = [policy.name for policy in registry().values() for _ in frozen.variants(policy)]
    assert {name.split()[0] for name in stored} == set(names) >= set(registry())
    assert len(stored) <= len(names)
    assert all(len(row.split()) == len(frozen.WAYS) for row in stored.values())


def test_another_number_is_told(monkeypatch):
    assert frozen.played("coins", {"lines": [{"policy": "nobody"}]}) == "-"
    document = frozen.documents(registry()["thompson"], {})["coins"] | {"horizon": 50}
    assert frozen.played("coins", document) == frozen.played("coins", document)
    assert frozen.played("coins", document) != frozen.played("coins", document | {"seed": 9})
    row = " ".join(["abc", *"-" * (len(frozen.WAYS) - 1)])
    assert list(frozen.differences({"ucb": row, "se": row}, {"ucb": row.replace("abc", "abd"), "new": row})) == [
        "ucb: coins",
        "se: gone",
        "new: new",
    ]


# ---------------------------------------------------------------------------------------------------------------------
# What ships still comes out: an edit that changes no number touches no shipped file, one that does is caught.


NAME, FIGURE = "ucb-cf", "gajane-1"
LINE = {"policy": NAME, "epsilon": {"kind": "fixed", "value": 1.0}}
ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.7, 0.4)]
ASKED = Experiment.model_validate({"arms": ARMS, "lines": [LINE], "horizon": 300, "trials": 40})


def test_what_ships_is_what_the_code_of_today_plays():
    """Where this fails: ``python -m benchmarks.shipped``."""
    policies, _ = shipped.unverified()
    assert (sorted(policies), sorted(shipped.unknown_blocks())) == ([], [])


def test_no_note_is_of_a_policy_or_a_block_that_is_gone():
    noted, file = bundled_results.verified(), bundled_results.open_shipped()
    assert set(noted["policies"]) == set(registry())
    assert set(noted["blocks"].values()) <= set(file.questions())


def portable_key(experiment):
    [line] = prepared_lines(experiment)
    return line.portable_key(checkpoints(experiment.horizon), experiment.seed)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Only one policy's rows, a figure and a block ship, and all of them were seen to come out."""
    path, [line] = tmp_path / "blocks.sqlite", simulate(ASKED, store=Store(None, 0)).lines
    shipped.write(path, [(portable_key(ASKED), ASKED, Block(line.regret, line.best_pulls, line.pulls))])
    monkeypatch.setattr(bundled_results, "VERIFIED", tmp_path / "verified.json")
    monkeypatch.setattr(bundled_results, "open_shipped", partial(bundled_results.open_shipped, path))
    monkeypatch.setattr(shipped, "registry", lambda: {NAME: registry()[NAME]})
    monkeypatch.setattr(papers, "reproducible", lambda: [FIGURE])
    monkeypatch.setattr(sys, "argv", ["shipped"])
    assert shipped.main() == 0
    return path


def edited(monkeypatch, edit):
    """Play the policy by an edited kernel from now on."""
    policy = registry()[NAME]

    def prepare(setup):
        call = policy.prepare(setup)
        return replace(call, kernel=edit(call.kernel))

    monkeypatch.setitem(registry(), NAME, replace(policy, prepare=prepare))


@cache  # one function for each kernel, so that its version is found once
def renamed(kernel):
    def play(state, *given):
        kernel(state, *given)

    return play


@cache
def reseeded(kernel):
    def play(state, *given):
        state ^= np.uint64(6)
        kernel(state, *given)

    return play


def served():
    store = Store(None, 0)
    store.bundled_results = bundled_results.open_shipped()
    return Simulation(ASKED, store).result().complete


def test_an_edit_that_changes_no_number_outdates_nothing(small, monkeypatch, capsys):
    before = small.read_bytes()
    assert served() and shipped.unverified() == ({}, [])
    edited(monkeypatch, renamed)
    assert list(shipped.unverified()[0]) == [NAME] and len(shipped.unknown_blocks()) == 1
    assert not served()  # as long as no one has compared
    capsys.readouterr()
    assert shipped.main() == 0 and capsys.readouterr().out == ""
    assert shipped.unverified() == ({}, []) and shipped.unknown_blocks() == {} and served()
    assert small.read_bytes() == before
    noted = bundled_results.VERIFIED.read_bytes()
    assert shipped.main() == 0 and bundled_results.VERIFIED.read_bytes() == noted


def test_an_edit_that_changes_numbers_is_caught_until_they_are_played_anew(small, monkeypatch, capsys):
    noted = bundled_results.VERIFIED.read_bytes()
    edited(monkeypatch, reseeded)
    capsys.readouterr()
    assert shipped.main() == 1
    commands = [f"bandit_core benchmark {NAME} --play --data presets/benchmark.csv", f"bandit_core reproduce {FIGURE}"]
    wanted = sorted([*commands, "benchmarks.first_pictures"])
    assert capsys.readouterr().out.splitlines() == [f"play anew: python -m {command}" for command in wanted]
    assert bundled_results.VERIFIED.read_bytes() == noted
    assert list(shipped.unverified()[0]) == [NAME] and not served()


def test_other_python_that_finds_the_same_arguments_outdates_nothing(small, monkeypatch):
    policy = registry()[NAME]

    def prepare(setup):
        return policy.prepare(replace(setup))

    monkeypatch.setitem(registry(), NAME, replace(policy, prepare=prepare))
    assert shipped.unverified() == ({}, [])


def test_a_row_that_is_missing_is_not_as_it_ships(small, monkeypatch):
    rows = benchmark.load()
    first = rows.index[rows["policy"] == NAME][0]
    monkeypatch.setattr(benchmark, "load", lambda: rows.drop(first))
    agree = [line.comes_out() for line in list(shipped.rows())[:2]]
    assert agree == [False, True]
