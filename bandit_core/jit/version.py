"""Which version of the code this is: of one kernel, and of everything that is compiled.

The version of a kernel follows from what it can compute with: the syntax tree of its source without comments,
docstrings, annotations and layout, the flags it is compiled with, the constants of modules that it reads, and the same
of every function that it calls. An edit of prose changes no version, an edit of a constant that of the kernels that
reach it.

Reading Python's syntax in several threads.
"""

import ast
import contextlib
import hashlib
import json
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

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
    if folder.name.startswith("kernels-"):  # one of ours, see `machine_code`
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
