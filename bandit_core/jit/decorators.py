"""How kernels and the pieces that they are built of are compiled.

Pieces of kernels are lowered once and left at that: optimised whole, and made machine code, in each kernel only.

Numba does both for every function it compiles, with all that it calls, in case someone calls it by its address. No one
calls a piece so; it is linked into kernels. Without this the first picture of users with features is compiled for twice
as long (`docs/speed.md`). The names that are overridden here are private to numba, hence the tight version range.
"""

import contextlib
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from bandit_core.jit.machine_code import ON_DISK, forgive_damage, kept_in_folder
from bandit_core.jit.version import kernel_version

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
