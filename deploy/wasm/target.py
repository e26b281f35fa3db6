"""Numba compiles for WebAssembly instead of for this processor: the same front end, another code generator.

For processes that do nothing else: after `compile_for_browsers` no compiled function can be called here. Rests on
private names of numba and llvmlite, hence the exact versions in requirements.txt.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba
from numba import _dynfunc
from numba.core import codegen, cpu
from numba.core.registry import cpu_target

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"  # what browsers have had since 2021


class WasmCodegen(codegen.AOTCPUCodegen):
    """Emits objects for wasm32; nothing is loaded into this process."""

    def _init(self, llvm_module: Any) -> None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(TRIPLE)
        self._engine = None
        self._tm_features = FEATURES
        self._tm = target.create_target_machine(opt=3, features=FEATURES, reloc="static", codemodel="default")
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)
        self._loopvect, self._opt_level = False, 0

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = TRIPLE
        return module


class WasmContext(cpu.CPUContext):
    """Lowers to the types of a machine of 64 bits, with pointers of 32."""

    def init(self) -> None:
        self.is32bit = False
        self._internal_codegen = WasmCodegen("numba.wasm")

    def declare_env_global(self, module: Any, envname: str) -> Any:
        found = super().declare_env_global(module, envname)
        found.linkage = "internal"  # objects of wasm know no common symbols
        return found

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """Something to tell functions apart by, which must never be called."""
        library._ensure_finalized()
        return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", id(self), env, (library,))


def compile_for_browsers() -> None:
    """From now on this process compiles for WebAssembly. To be called before anything is compiled."""
    context = WasmContext(cpu_target.typing_context, "cpu")
    cpu_target.__dict__["_toplevel_target_context"] = context
    if cpu_target.target_context is not context:
        raise RuntimeError("this version of numba keeps its target elsewhere: see requirements.txt")


def compiled(kernel: Any, arguments: tuple[Any, ...], name: str) -> bytes:
    """The object code of a kernel for arguments of these types, exported as ``name``; nothing else is visible."""
    plain = numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(kernel.py_func)
    signature = tuple(numba.typeof(each) for each in arguments)
    plain.compile(signature)
    found = plain.overloads[signature]._asdict()
    library = found["library"]
    module = library._final_module.clone()
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "internal"
    entry = module.get_function(found["fndesc"].llvm_func_name)
    entry.linkage, entry.name = "external", name
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = library.codegen._tm
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return machine.emit_object(module)
