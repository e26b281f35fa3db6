"""Shared by all tests: caches of their own, how many processes, and a closing word on browser tests not run."""

import contextlib
import functools
import os
import shutil
import signal
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any

import hypothesis
import pytest

hypothesis.settings.register_profile("lab", deadline=None, derandomize=True)  # neither speed nor luck decides a test
hypothesis.settings.register_profile("search", deadline=None)  # HYPOTHESIS_PROFILE=search: other examples every time
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lab"))


SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")
NIGHTLY_TESTS = SLOW_TESTS.with_name("nightly_tests.txt")
QUICK = "not slow and not nightly"  # as in pyproject.toml
SLOW_SECONDS = 0.2  # of a processor, with everything compiled
SECONDS = "processor seconds"
HALF_OF_THE_BROWSER = {  # of processor time
    f"test_{name}_in_browser" for name in ("controls", "doors", "every_page", "lesson", "links")
}

VERSIONS_KEPT = 4  # of machine code, as in bandit_core.jit.decorators
COMPILES = 300.0  # seconds after which one who waits for another process compiles by itself


def share_machine_code(own: Path, common: Path) -> None:
    """Let the processes of a session compile each kernel once; programs that they start share it without waiting."""
    with contextlib.suppress(ImportError):  # no such locks on Windows
        compile_one_after_the_other(own)  # before any kernel is imported
    from bandit_core.jit.decorators import code_fingerprint

    folder = common / f"kernels-{code_fingerprint()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(folder)
    for old in sorted(common.iterdir(), key=lambda path: path.stat().st_mtime)[:-VERSIONS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    own.mkdir(parents=True, exist_ok=True)
    there = os.path.relpath(folder, own)
    for link in own.glob("kernels-*"):
        if not link.is_symlink():
            shutil.rmtree(link)
        elif os.readlink(link) != there:
            link.unlink(missing_ok=True)
    with contextlib.suppress(FileExistsError):  # another session in this checkout may have made it
        (own / folder.name).symlink_to(there)


def compile_one_after_the_other(own: Path) -> None:
    """Who needs a kernel that another process compiles waits until it is on disk."""
    import fcntl

    from numba.core.caching import FunctionCache

    load, save = FunctionCache.load_overload, FunctionCache.save_overload
    held: dict[Any, IO[str]] = {}

    def load_or_wait(self: Any, *asked: Any) -> Any:
        if not Path(self.cache_path).is_relative_to(own):
            return load(self, *asked)
        if self in held:  # what did not compile is asked for again
            held.pop(self).close()
        held[self] = lock = (Path(self.cache_path) / f"{self._impl.filename_base}.lock").open("w")
        last = time.monotonic() + COMPILES
        while time.monotonic() < last:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.05)
        if (found := load(self, *asked)) is not None:
            held.pop(self).close()
        return found

    def save_and_tell(self: Any, *made: Any) -> None:
        try:
            save(self, *made)
        finally:
            if self in held:
                held.pop(self).close()

    FunctionCache.load_overload, FunctionCache.save_overload = load_or_wait, save_and_tell


def keep_to_caches_of_the_suite() -> None:
    """Compiled kernels are kept from one session to the next, stored blocks are not.

    Done while this file is loaded, since a conftest further down may import bandit_core, which reads the variable then;
    subprocesses inherit it.
    """
    caches = Path(__file__).parents[1] / ".pytest_cache"
    own = caches / f"lab-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    for name in [name for name in os.environ if name.startswith("LAB_")]:
        del os.environ[name]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # where it is set, each process would parse all files anew
    sys.dont_write_bytecode = False
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads of several test processes wait for each other, spinning
    os.environ["LAB_CACHE_DIR"] = str(own)
    for blocks in own.glob("blocks-*"):
        shutil.rmtree(blocks) if blocks.is_dir() else blocks.unlink()
    share_machine_code(own, caches / "machine-code")


keep_to_caches_of_the_suite()


def caches() -> dict[int, Any]:
    """Every cache of a function of the project, by its identity."""
    return caches_of(len(sys.modules))


@functools.lru_cache(maxsize=1)
def caches_of(modules: int) -> dict[int, Any]:
    """Looked for anew when more modules are there: most tests have something replaced."""
    ours = [module for name, module in [*sys.modules.items()] if name.partition(".")[0] in {"bandit_core", "ui"}]
    named = (each for module in ours for each in [*vars(module).values()])
    return {id(each): each for each in named if callable(getattr(each, "cache_clear", None))}


def forget_what_replacements_filled() -> None:
    """What a cache took in while a test had something replaced is true for that test only, and goes when it ends."""
    begin, undo = pytest.MonkeyPatch.__init__, pytest.MonkeyPatch.undo
    before: weakref.WeakKeyDictionary[pytest.MonkeyPatch, dict[int, Any]] = weakref.WeakKeyDictionary()

    def begin_and_look(self: pytest.MonkeyPatch) -> None:
        begin(self)
        before[self] = {number: cache.cache_info() for number, cache in caches().items()}

    def undo_and_empty(self: pytest.MonkeyPatch) -> None:
        undo(self)
        for number, cache in caches().items():
            now, then = cache.cache_info(), before[self].get(number)
            if now.misses != (then.misses if then else 0) or (then and now.hits < then.hits):
                cache.cache_clear()

    pytest.MonkeyPatch.__init__, pytest.MonkeyPatch.undo = begin_and_look, undo_and_empty  # type: ignore[method-assign]


forget_what_replacements_filled()


def pytest_configure() -> None:
    if threading.current_thread() is threading.main_thread():  # a shell's background jobs ignore Ctrl-C, and so would
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the programs that tests start and interrupt


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: one for each core, and one that drives the browser, which mostly waits."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + (shutil.which("chromium") is not None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--marks", choices=["list", "write"], help=f"tell, or note in {SLOW_TESTS.name}, what is slow")


@functools.cache
def listed(file: Path) -> frozenset[str]:
    """Files, tests and single cases that `SLOW_TESTS` or `NIGHTLY_TESTS` name; lines that begin with # say why."""
    return frozenset(line for line in file.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")


def names_of(node: str) -> tuple[str, str, str]:
    """File, test and case of a node, each as it may stand in `SLOW_TESTS`."""
    case = node.removeprefix("tests/").partition("@")[0]  # xdist writes the group behind an @
    return case.partition("::")[0], case.partition("[")[0], case


def mark_of(item: pytest.Item) -> str | None:
    """``nightly``, ``slow``, or None for what the plain command runs."""
    if not listed(NIGHTLY_TESTS).isdisjoint(names_of(item.nodeid)):
        return "nightly"
    if item.path.parent.name == "browser":
        return "slow" if item.get_closest_marker("door") is None else None
    return None if listed(SLOW_TESTS).isdisjoint(names_of(item.nodeid)) else "slow"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file none of whose tests is asked for is not even imported, which takes longer than many small tests."""
    if collection_path.suffix != ".py" or collection_path.parent.name == "browser":
        return None
    name = collection_path.relative_to(Path(__file__).parent).as_posix()
    marks = config.getoption("markexpr")
    if marks == QUICK:
        return True if name in listed(SLOW_TESTS) | listed(NIGHTLY_TESTS) else None
    file = {"slow": SLOW_TESTS, "nightly": NIGHTLY_TESTS}.get(marks)
    return True if file and not any(line.partition("::")[0] == name for line in listed(file)) else None


@pytest.hookimpl(tryfirst=True)  # xdist looks for groups, and pytest for marks, in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs a whole file, so that its fixtures are made and its pieces compiled once.

    Browser tests need a Chromium on PATH. Two processes share them, each with its server, as they mostly wait. They
    start first and slow files next, so that no process runs a long file alone at the end.
    """
    slow = set()
    for item in items:
        if mark := mark_of(item):
            item.add_marker(mark)
            slow.add(item.path)
        if item.path.parent.name == "browser":
            item.add_marker("browser")
            item.add_marker(pytest.mark.xdist_group("pages" if item.path.stem in HALF_OF_THE_BROWSER else "browser"))
            if shutil.which("chromium") is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on PATH"))
        elif "xdist_group" not in item.keywords:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=lambda item: (item.path.parent.name != "browser", item.path not in slow))


def processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


BEGAN, LEFT_OUT = pytest.StashKey[float](), pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEGAN] = processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append((SECONDS, processor_seconds() - item.stash[BEGAN]))


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        session = items[0].session
        session.config.stash[LEFT_OUT] = session.config.stash.get(LEFT_OUT, 0) + len(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a process of xdist: the one that reports knows no test
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def look_at_marks(terminal: pytest.TerminalReporter, write: bool) -> None:
    """Compare `SLOW_TESTS` with the processor seconds that were measured just now.

    A case between the two limits stays as it is, so that a busy machine moves few of them.
    """
    seconds = {
        names_of(report.nodeid)[2]: dict(report.user_properties).get(SECONDS, 0.0)
        for report in terminal.stats.get("", [])
        if report.when == "teardown" and not {"browser", "nightly"} & set(report.keywords)
    }
    marked = {case for case in seconds if not listed(SLOW_TESTS).isdisjoint(names_of(case))}
    missing = {case for case in set(seconds) - marked if seconds[case] > SLOW_SECONDS}
    in_vain = {case for case in marked if seconds[case] < SLOW_SECONDS / 2}
    named = {name for case in seconds for name in names_of(case)}
    unknown = {line for line in listed(SLOW_TESTS) - named if names_of(line)[0] in named}
    for title, cases in (("not marked, but slow", missing), ("marked, but quick", in_vain), ("no test", unknown)):
        for case in sorted(cases, key=lambda case: -seconds.get(case, 0.0)):
            terminal.write_line(f"{title}: {case} ({seconds.get(case, 0.0):.2f} s)")
    if write:
        slow = (marked | missing) - in_vain
        quick_files = {names_of(case)[0] for case in set(seconds) - slow}
        quick_tests = {names_of(case)[1] for case in set(seconds) - slow}
        played = {names_of(case)[0] for case in seconds}
        lines = {line for line in listed(SLOW_TESTS) if names_of(line)[0] not in played}
        for file, test, case in map(names_of, slow):
            lines.add(file if file not in quick_files else test if test not in quick_tests else case)
        SLOW_TESTS.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say last of all what was left out: a green run without it proves less."""
    if config.getoption("marks"):
        look_at_marks(terminalreporter, config.getoption("marks") == "write")
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "browser" in report.keywords]
    if skipped:
        why = "no chromium on PATH" if shutil.which("chromium") is None else "see the reasons above"
        terminalreporter.write_line(f"{len(skipped)} browser tests were SKIPPED: {why}", yellow=True, bold=True)
    if config.getoption("markexpr") == QUICK:
        files = sum("::" not in line for line in listed(SLOW_TESTS) | listed(NIGHTLY_TESTS))
        terminalreporter.write_line(
            f"The slow tests were left out ({config.stash.get(LEFT_OUT, 0)} and {files} whole files): "
            "python -m pytest -m slow runs them, -m nightly what runs every night, -m '' all.",
            yellow=True,
        )


@pytest.fixture
def project() -> Path:
    """The folder of the project."""
    return Path(__file__).parent.parent
