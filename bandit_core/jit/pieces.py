"""Pieces of kernels are lowered once and left at that: optimised whole, and made machine code, in each kernel only.

Numba does both for every function it compiles, with all that it calls, in case someone calls it by its address. No one
calls a piece so; it is linked into kernels. Without this the first picture of users with features is compiled for twice
as long (`docs/speed.md`). The names that are overridden here are private to numba, hence the tight version range.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler


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
