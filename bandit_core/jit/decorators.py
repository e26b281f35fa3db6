"""How kernels are compiled, where machine code is kept, and which version of the code a number comes from."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import linecache
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from bandit_core.paths import cache_folder

# ---------------------------------------------------------------------------------------------------------------------
# Which version of the code this is: of one kernel, and of everything that is compiled.
#
# The version of a kernel follows from what it can compute with: the syntax tree of its source without comments,
# docstrings, annotations and layout, the flags it is compiled with, the constants of modules that it reads, and the
# same of every function that it calls. An edit of prose changes no version, an edit of a constant that of the kernels
# that reach it.
#
# Reading Python's syntax in several threads.


_COMPILED = (  # what a kernel can reach from the module that it is written in
    "jit",
    "kernels",
    "mechanisms",
    "model/kernel_call.py",
    "spec/rewards",
    "spec/budgets",
    "spec/contexts.py",
)
LIBRARIES = f"Python {sys.version_info[0]}.{sys.version_info[1]}, numba {numba.__version__}, NumPy {np.__version__}"
_WRAPPERS = ("no_cpython_wrapper", "no_cfunc_wrapper")  # who may call it, not what it computes


_RULES = ("policies", "policies/contextual")  # kernels of these have their own version in their name


def sources(core: Path, parts: tuple[str, ...] = _COMPILED) -> dict[str, bytes]:
    """The sources that are compiled, by path."""
    places = [core / place for place in parts]
    paths = (path for place in places for path in (sorted(place.glob("*.py")) if place.is_dir() else [place]))
    return {str(path): path.read_bytes() for path in paths}


_CORE = Path(__file__).parent.parent
SOURCES = sources(_CORE)  # now: a file may change under a process that has imported it
_RULE_SOURCES = sources(_CORE, _RULES)


def code_fingerprint(found: dict[str, bytes] = SOURCES) -> str:
    """Hash of the sources that are compiled, prose included: names the folder of machine code.

    Taking prose out would mean parsing all of them at every start, for machine code that takes seconds to make again.
    """
    digest = hashlib.sha256(LIBRARIES.encode())
    for path, source in found.items():
        digest.update(Path(path).name.encode() + source)
    return digest.hexdigest()[:16]


def kernel_name(kernel: Callable[..., Any]) -> str:
    """Module and name of the function that was compiled, such as ``bandit_core.kernels.index.vectorised``."""
    function = _source_function(kernel)
    return f"{function.__module__}.{function.__name__ if _is_rebound(function) else function.__qualname__}"


_ONE_BY_ONE = threading.RLock()


@cache
def kernel_version(kernel: Callable[..., Any]) -> str:
    """Hash of all code and constants that a compiled function computes with; the same under every Python and numba."""
    found: dict[str, str] = {}
    with _ONE_BY_ONE:  # visitors who come together ask for the same
        _collect(kernel, found)
    text = "\n".join(f"{name} {content}" for name, content in sorted(found.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_rebound(function: Any) -> bool:
    """Whether it is a loop that was compiled for a rule, see `bandit_core.jit.decorators.rebound`."""
    return hasattr(function, "written_as")


def _source_function(kernel: Any) -> Any:
    """The plain function of a compiled one, or of what wraps one."""
    while hasattr(kernel, "__wrapped__"):
        kernel = kernel.__wrapped__
    return kernel


def _collect(kernel: Any, found: dict[str, str]) -> None:
    """Note the content of a function, and that of every function that it reaches."""
    name, function = kernel_name(kernel), _source_function(kernel)
    if name in found:
        return
    while not isinstance(kernel, Dispatcher) and hasattr(kernel, "__wrapped__"):
        kernel = kernel.__wrapped__
    options = kernel.targetoptions.items() if isinstance(kernel, Dispatcher) else []
    flags = sorted(option for option in options if option[0] not in _WRAPPERS)
    found[name] = ""  # functions may call each other in circles
    written = function.written_as if _is_rebound(function) else function
    code = written.__code__
    path = code.co_filename  # or a notebook's cell
    source = SOURCES.get(path) or _RULE_SOURCES.get(path) or "".join(linecache.getlines(path)).encode()
    there = _kept(source, written.__name__ == "<lambda>").get(str(code.co_firstlineno))
    if there is None or there[0] != written.__name__:
        raise RuntimeError(f"{path} has changed since it was imported: start again")
    _, text, names = there
    read = {path: _described(value, found) for path, value in _read_from_outside(function, names)}
    found[name] = f"{text} {flags} {sorted(read.items())}"


@cache
def _kept(source: bytes, nameless: bool) -> dict[str, tuple[str, str, list[list[str]]]]:
    """Name, text and `_names` of the functions of a file, or of its lambdas, by their first line.

    Kept beside the machine code, by the file's content: reading the syntax of all files takes a twentieth of a second.
    """
    folder = Path(numba.config.CACHE_DIR)
    path = folder / f"functions-{hashlib.sha256(source).hexdigest()}-{nameless:d}.json"
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    nodes = _parsed(source, nameless).items()
    found = {str(at): (getattr(node, "name", "<lambda>"), ast.unparse(node), _names(node)) for at, node in nodes}
    if folder.name.startswith("kernels-"):  # one of ours, see `kernel_folder`
        with contextlib.suppress(OSError):
            path.write_text(json.dumps(found), encoding="utf-8")
    return found


def _parsed(source: bytes, nameless: bool) -> dict[int, ast.AST]:
    """The functions of a file, or its lambdas, by their first line, as far as they matter; of statements alone."""
    nodes: list[Any] = [patiently(lambda: ast.parse(source))]
    if nameless:
        return {node.lineno: node for node in reversed([*ast.walk(nodes[0])]) if isinstance(node, ast.Lambda)}
    found: dict[int, ast.AST] = {}
    for node in nodes:  # which grow
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])] = node
            node.decorator_list, node.returns = [], None
            for each in ast.walk(node.args):
                if isinstance(each, ast.arg):
                    each.annotation = None
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            nodes += getattr(node, part, ())
    return found


def _names(tree: ast.AST) -> list[list[str]]:
    """Every name in a function, with its attributes, their attributes, and so on: ``math.pi`` as ["math", "pi"]."""
    attributes: dict[ast.AST, ast.Attribute] = {}
    found = set()
    for node in ast.walk(tree):  # what stands outside comes first
        if isinstance(node, ast.Attribute):
            attributes[node.value] = node
        if isinstance(node, ast.Name):
            path, here = [node.id], attributes.get(node)
            while here is not None:
                path, here = [*path, here.attr], attributes.get(here)
            found.add(tuple(path))
    return [list(path) for path in sorted(found)]


def _read_from_outside(function: FunctionType, names: list[list[str]]) -> Iterator[tuple[str, Any]]:
    """What a function reads of its module and of the functions around it: path and value."""
    code = function.__code__
    around = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    for name, *attributes in names:
        if name not in code.co_varnames and (name in around or name in function.__globals__):
            path, value = [name], around.get(name, function.__globals__.get(name))
            while isinstance(value, ModuleType) and attributes:  # a constant of another module
                path.append(attributes.pop(0))
                value = getattr(value, path[-1])
            yield ".".join(path), value


def _described(value: Any, found: dict[str, str]) -> str:
    """A value that a function reads, as words that change with it."""
    written = getattr(value, "__wrapped__", value)  # of numba's intrinsics, too
    if isinstance(value, Dispatcher) or (isinstance(written, FunctionType) and not _of_a_library(written)):
        _collect(value, found)
        return kernel_name(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(_described(each, found) for each in value)})"
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic | None):
        return f"{type(value).__name__} {value!r}"
    if hasattr(value, "__qualname__"):  # classes and functions of libraries, see `LIBRARIES`
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{kind} {value}" if _of_a_library(type(value)) else kind  # numba's types; what only Python can read


def _of_a_library(value: Any) -> bool:
    """Whether it comes from Python, NumPy, numba or its LLVM."""
    return (value.__module__ or "").partition(".")[0] in {"llvmlite", "numba", "numpy", *sys.stdlib_module_names}


Read = TypeVar("Read")
_TRIES = 20


def patiently(read: Callable[[], Read]) -> Read:
    """What ``read`` returns. Python 3.11 counts the depth of syntax trees for all threads together, and may call two
    that are made at once a SystemError; NumPy makes one for the header of every array that it reads.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(SystemError):
            return read()
    return read()


# ---------------------------------------------------------------------------------------------------------------------
# Where machine code is kept.
#
# Numba's disk cache cannot see a change in a function that a kernel calls, nor most compile flags, so its folder
# carries a fingerprint of every source that is compiled: changed code never meets old machine code.
# ``LAB_KERNEL_CACHE=0`` switches the disk cache off; a path there is a folder of kernels that were compiled before (see
# `bandit_core.simulation.warm_up`), used also where it is read-only.
#
# Numba's files are pickles, and whoever can write them can run code here. A folder is therefore not used if anyone but
# this user and root may write to it, or may put another one in its place (`replaceable_by_others`).


VERSIONS_KEPT = 4  # folders of machine code, of the last versions of the sources


def written_by_others(folder: Path) -> bool:
    """Whether someone other than this user and root owns a part of ``folder`` or may write to it."""
    if not hasattr(os, "getuid"):  # no such owners on Windows; the user's own folder is private there
        return False

    def strange(path: Path) -> bool:
        info = path.stat()
        return info.st_uid not in (os.getuid(), 0) or bool(info.st_mode & 0o022)

    closed = not folder.stat().st_mode & 0o077  # what no one else can enter needs no look inside
    return strange(folder) or (not closed and any(strange(path) for path in folder.rglob("*")))


def replaceable_by_others(folder: Path) -> bool:
    """Whether someone other than this user and root may rename ``folder`` or a folder above it.

    As sshd checks the folder of a user's keys: everyone who may write to a folder may rename what is in it. Folders
    such as ``/tmp`` are fine, where each user can rename only their own (the sticky bit). ``folder`` has no symbolic
    links in it (`Path.resolve`).
    """
    if not hasattr(os, "getuid"):
        return False

    def open_to_others(info: os.stat_result) -> bool:
        return info.st_uid not in (os.getuid(), 0) or (info.st_mode & 0o022 != 0 and not info.st_mode & stat.S_ISVTX)

    return any(open_to_others(above.stat()) for above in folder.parents)


def _create(folder: Path) -> None:
    """Create ``folder``, closed to others, and the missing ones above it, which others may enter and not write to."""
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(mode=0o755, exist_ok=True)  # not by `parents=True`: a lax umask would let a group write
    folder.mkdir(mode=0o700, exist_ok=True)


def _processor() -> str:
    """Machine code is for one model of processor only; numba looks for no other."""
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _usable(folder: Path) -> bool:
    """Whether machine code can be kept in ``folder``, or is there already for this processor."""
    try:
        _create(folder)
        if written_by_others(folder) or any(map(replaceable_by_others, {folder, folder.resolve()})):
            message = (
                "%s is not used for machine code: another user may write to it or to a folder above it "
                "(chmod go-w closes a folder)"
            )
            logging.getLogger(__name__).warning(message, folder)
            return False
        probe = folder / f".probe-{os.getpid()}"
        try:
            probe.touch()
            probe.unlink()
        except OSError:
            return (folder / "processor").read_text() == _processor() and _read_only()
    except (OSError, ValueError):  # ValueError: a file of other bytes than text
        return False
    others = [other for other in folder.parent.glob("kernels-*") if other != folder]
    for old in sorted(others, key=_last_use, reverse=True)[VERSIONS_KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _last_use(folder: Path) -> float:
    try:
        return folder.stat().st_mtime  # the probe of every start moves it
    except OSError:
        return 0.0


def _read_only() -> bool:
    """Let numba load from a folder that it cannot write to; whether that worked."""
    from numba.core import caching

    for name in ("UserProvidedCacheLocator", "_UserProvidedCacheLocator"):  # private, and renamed in between
        if hasattr(caching, name):
            getattr(caching, name).ensure_cache_path = lambda self: None
            return True
    return False


def kernel_folder() -> Path | None:
    """Where machine code is kept in this process, if anywhere."""
    return Path(numba.config.CACHE_DIR) if ON_DISK else None


def compiled_before() -> bool:
    """Whether every kernel was compiled for this processor before this process began."""
    folder = kernel_folder()
    try:
        return folder is not None and (folder / "processor").read_text() == _processor()
    except (OSError, ValueError):
        return False


def _use_disk() -> bool:
    chosen = os.environ.get("LAB_KERNEL_CACHE", "")
    if chosen == "0":
        return False
    places = [cache_folder()] if chosen in ("", "1") else [Path(chosen), cache_folder()]
    for place in places:
        folder = Path(os.path.realpath(place)) / f"kernels-{code_fingerprint()}"  # links are followed once, now
        if _usable(folder):
            numba.config.CACHE_DIR = str(folder)
            return True
    return False


def open_for_reading() -> None:
    """Let other users load the machine code of this process's folder, and note the processor that it is for."""
    folder = kernel_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):  # someone else's folder, who has done it
        (folder / "processor").write_text(_processor())
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


ON_DISK = _use_disk()


def kept_in_folder(kept: Any) -> bool:
    """Whether numba keeps the code of a function in our folder; where it cannot write, it takes others of its own."""
    folder = kernel_folder()
    return folder is not None and folder in Path(kept.cache_path).parents


def forgive_damage(kept: Any) -> None:
    """A damaged file of machine code is forgotten and compiled anew; numba itself would raise for ever after.

    Where none can be written (disk full, folder read-only) the code lives in memory. Two processes that save at once
    may give the code of different arguments one name: what is not for these arguments is not loaded.
    """
    load, save = kept.load_overload, kept.save_overload

    def save_if_possible(signature: Any, code: Any) -> None:
        with contextlib.suppress(OSError):
            save(signature, code)

    def load_or_forget(signature: Any, context: Any) -> Any:
        try:
            code = load(signature, context)
            return code if code is None or code.signature.args == normalize_signature(signature)[0] else None
        except Exception:
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    kept.load_overload = load_or_forget
    kept.save_overload = save_if_possible


# ---------------------------------------------------------------------------------------------------------------------
# How kernels and the pieces that they are built of are compiled.
#
# Pieces of kernels are lowered once and left at that: optimised whole, and made machine code, in each kernel only.
#
# Numba does both for every function it compiles, with all that it calls, in case someone calls it by its address. No
# one calls a piece so; it is linked into kernels. Without this the first picture of users with features is compiled for
# twice as long (`docs/speed.md`). The names that are overridden here are private to numba, hence the tight version
# range.


Function = TypeVar("Function", bound=Callable[..., Any])  # a compiled one is called as the plain one is


def _skip_the_search_for_blas() -> None:
    """Spare every start 0.2 s: numba imports SciPy's linear algebra for one question that only `numpy.cov` asks.

    Products and solvers inside kernels look for it themselves, when they are compiled.
    """
    import numba.np.linalg as linear_algebra

    def not_now() -> None:
        raise ImportError

    search = linear_algebra.ensure_blas
    linear_algebra.ensure_blas = not_now
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linear_algebra.ensure_blas = search


with contextlib.suppress(ImportError, AttributeError):  # private to numba: should it move, starts are slower again
    _skip_the_search_for_blas()

# A piece borrows its caller's arrays. Without this flag (private to numba, hence the tight version range) every call
# in the hot loop counts references atomically, which doubled the time of a step; numba's own inlining
# (inline="always") does the same.
_BORROWED: dict[str, Any] = {"_nrt": False}


class _Piece(CPUDispatcher):
    """What kernels call by its machine code. Ways in from C and Python are left out: a quarter of all compiling.

    Called from Python all the same (tests do), it is compiled once more, with a way in.
    """

    @cached_property
    def _called_from_python(self) -> Callable[..., Any]:
        return numba.njit(nogil=True, error_model="numpy")(self.py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """As numba's, but of a literal number the type alone counts: it would compile the piece again."""
        return super().get_call_template(
            [types.unliteral(each) for each in args], {name: types.unliteral(each) for name, each in kws.items()}
        )

    def __call__(self, *arguments: Any) -> Any:
        return self._called_from_python(*arguments)


def _compiled_piece(function: Function, **flags: Any) -> Function:
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **flags}
    compiled = numba.njit(nogil=True, error_model="numpy", pipeline_class=PieceCompiler, **options)(function)
    compiled.__class__ = _Piece
    return compiled


def kernel(function: Function) -> Function:
    """Compile an entry point: releases the interpreter lock, keeps IEEE arithmetic, cached on disk where possible."""
    if ON_DISK:
        with contextlib.suppress(RuntimeError):  # numba finds no folder that it can write to
            compiled = numba.njit(nogil=True, error_model="numpy", cache=True, no_cfunc_wrapper=True)(function)
            if kept_in_folder(compiled._cache):
                forgive_damage(compiled._cache)
                return compiled
    return numba.njit(nogil=True, error_model="numpy")(function)


def inlined(function: Function) -> Function:
    """Compile a small piece that kernels are built of; LLVM merges it into its caller."""
    return _compiled_piece(function, forceinline=True, **_BORROWED)


def device_function(function: Function) -> Function:
    """Compile a larger piece that kernels call; it must not create arrays."""
    return _compiled_piece(function, **_BORROWED)


def inline_loop(function: Function) -> Function:
    """Compile a loop that several kernels share: numba copies it into each of them.

    Its arguments may be pieces, which are then called directly. Given to a compiled function they would be addresses of
    this process, and a kernel with such addresses is not cached on disk.
    """
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)


def allocating(function: Function) -> Function:
    """Compile a part of kernels that creates their arrays; called from kernels only, at most once a trial."""
    return _compiled_piece(function)


def rebound(loop: Any, place: Any, name: str, **meanings: Any) -> Any:
    """Compile a loop as the kernel ``name`` of the module of ``place``; global names of it have other ``meanings``.

    Numba keeps it beside the code of that module's file. It looks at this file and at the name only, so the version of
    all that the kernel reaches stands in the name: no edit, here or elsewhere, finds old code.
    """
    code = loop.__code__.replace(co_filename=place.__code__.co_filename, co_name=name, co_qualname=name)
    made = FunctionType(code, {**loop.__globals__, **meanings, "__name__": place.__module__}, name)
    made.__module__, made.written_as = place.__module__, loop  # type: ignore[attr-defined]
    made.__qualname__ = f"{name}_{kernel_version(made)}"
    return kernel(made)


class _WithoutAddresses:
    """Numba's generator of machine code, for what has no place in memory."""

    def __init__(self, codegen: JITCPUCodegen) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        """Nothing: a piece reads no Python objects."""


class PieceLibrary(JITCodeLibrary):
    """Code to be linked into other code, never to be called."""

    @property
    def codegen(self) -> Any:
        """What made it."""
        return _WithoutAddresses(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """0, as for functions without the way in from Python."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class PieceCompiler(Compiler):
    """Numba's compiler, for pieces."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        codegen = targetctx.codegen()
        if library is None and isinstance(codegen, JITCPUCodegen):  # the code is for this process
            library = PieceLibrary(codegen, "piece")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)
