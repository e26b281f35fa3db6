"""Pieces of kernels are lowered once and left at that: optimised and turned into machine code in each kernel only.

Numba does both for every function it compiles, in case somebody calls it by its address. Nobody calls a piece so; it is
linked into kernels, where LLVM starts from the same text and knows more. The names that are overridden here are private
to numba, hence the tight version range.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.typed_passes import AnnotateTypes
from numba.core.untyped_passes import InlineClosureLikes


class _WithoutAddresses:
    """Numba's generator of machine code, for what has no place in memory."""

    def __init__(self, codegen: JITCPUCodegen) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        """Nothing: a piece reads no Python objects."""


class OptimisedPieceLibrary(JITCodeLibrary):
    """Code to be linked into other code, never to be called, and optimised by itself before."""

    @property
    def codegen(self) -> Any:
        """What made it."""
        return _WithoutAddresses(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """0, as for functions without the way in from Python."""
        self._ensure_finalized()
        return 0

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class PieceLibrary(OptimisedPieceLibrary):
    """Code to be linked into other code, where it is optimised."""

    def _optimize_final_module(self) -> None:
        pass


class _LeanCompiler(Compiler):
    """Numba's compiler, without passes that kernels do not need."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes, but for the list of all types, which is for people to read, and the search for functions
        within functions, where there are none.
        """
        managers = super().define_pipelines()
        spared = [AnnotateTypes, *([] if self._has_functions_within() else [InlineClosureLikes])]
        for manager in managers:
            manager.passes = [step for step in manager.passes if step[0] not in spared]
            manager.finalize()
        return managers

    def _has_functions_within(self) -> bool:
        return True


@contextlib.contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """A search passes over all that was compiled before; what is left over meanwhile is found by the next one."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


class KernelCompiler(_LeanCompiler):
    """For kernels, and by that for all the pieces that they call."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """The compiled function, made without a stop."""
        with _no_search_for_garbage():
            return super().compile_extra(func)


class AllocatingCompiler(_LeanCompiler):
    """For pieces that create arrays."""

    kind: type[OptimisedPieceLibrary] = PieceLibrary

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        codegen = targetctx.codegen()
        if library is None and isinstance(codegen, JITCPUCodegen):  # the code is for this process
            library = self.kind(codegen, "piece")
        super().__init__(typingctx, targetctx, library, *rest)


class PieceCompiler(AllocatingCompiler):
    """For pieces that create none."""

    def _has_functions_within(self) -> bool:
        return any(isinstance(each, CodeType) for each in self.state.func_id.code.co_consts)


class OptimisedPieceCompiler(PieceCompiler):
    """For pieces of which LLVM knows more while they stand alone."""

    kind = OptimisedPieceLibrary
