"""Pieces of kernels are lowered once and left at that: optimised and turned into machine code in each kernel only.

Numba does both for every function it compiles, in case someone calls it by its address. No one calls a piece so; it is
linked into kernels, where LLVM starts from the same text and knows more. Loops keep their length: with their bodies
written out several times kernels were a sixth longer, took a tenth more to compile, and were slower.

The names that are overridden here are private to numba, hence the tight version range.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from llvmlite import binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, Flags
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


class KernelLibrary(JITCodeLibrary):
    """Code that is optimised as numba's, but for loops, which keep their length once all pieces are merged.

    Those whose number of steps is known are written out before, in each function by itself: without that some kernels
    were a third slower. Functions that are only named here, numba passes over as well.
    """

    def _optimize_functions(self, ll_module: llvm.ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                builder = self._pass_builder(int(config.OPT), unrolled=True)
                passes = builder.getFunctionPassManager()
                passes.add_refprune_pass()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        self._run(0, "add_loop_rotate_pass", "add_instruction_combine_pass", "add_jump_threading_pass")
        self._run(int(config.OPT))

    def _run(self, level: int, *more: str) -> None:
        """LLVM's passes of a level and some more, and the one by which needless counts of references go."""
        builder = self._pass_builder(level, unrolled=False)
        passes = builder.getModulePassManager()
        for name in (*more, "add_refprune_pass"):
            getattr(passes, name)()
        passes.run(self._final_module, builder)

    def _pass_builder(self, level: int, unrolled: bool) -> llvm.PassBuilder:
        tuning = llvm.create_pipeline_tuning_options(level)
        tuning.loop_vectorization, tuning.slp_vectorization, tuning.loop_unrolling = level > 0, False, unrolled
        return llvm.create_pass_builder(self._codegen._tm, tuning)


class OptimisedPieceLibrary(KernelLibrary):
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


class Options(Flags):
    """Numba's options of a compilation, which are compared some hundred thousand times: all of them one by one, but
    where the same were set.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flags) and self._values.keys() == other._values.keys():
            return bool(self._values == other._values)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return _HASH


_HASH = hash(Flags())  # of all: numba's follows from the names of its options


class _LeanCompiler(Compiler):
    """Numba's compiler, without passes that kernels do not need."""

    kind: type[JITCodeLibrary]

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Flags, names: Any
    ) -> None:
        codegen = targetctx.codegen()
        if library is None and isinstance(codegen, JITCPUCodegen):  # the code is for this process
            library = self.kind(codegen, self.kind.__name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, args, return_type, Options(flags), names)

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

    kind = KernelLibrary

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """The compiled function, made without a stop."""
        with _no_search_for_garbage():
            return super().compile_extra(func)


class AllocatingCompiler(_LeanCompiler):
    """For pieces that create arrays."""

    kind = PieceLibrary


class PieceCompiler(AllocatingCompiler):
    """For pieces that create none."""

    def _has_functions_within(self) -> bool:
        return any(isinstance(each, CodeType) for each in self.state.func_id.code.co_consts)


class OptimisedPieceCompiler(PieceCompiler):
    """For pieces of which LLVM knows more while they stand alone."""

    kind = OptimisedPieceLibrary
