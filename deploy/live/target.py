"""Numba compiles for WebAssembly instead of for this processor: the same front end, another code generator.

``python target.py LINES`` writes an object beside LINES for the kernel of every line that this file holds: a process of
its own, because in it no compiled function can be called. All that rests on private names of numba and llvmlite stands
here; hence the exact versions of requirements.txt, which `check` asks for.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INSTALL = f"pip install -r {HERE / 'requirements.txt'}"
TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"  # what browsers have had since 2021


def missing() -> list[str]:
    """The packages of requirements.txt that are not here in exactly this version, each with what is here instead."""
    found = []
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for name, wanted in (line.split("==") for line in lines if not line.startswith("#")):
        try:
            here = metadata.version(name)
        except metadata.PackageNotFoundError:
            here = "not installed"
        if here != wanted:
            found.append(f"{name} {wanted} (here: {here})")
    return found


def compile_for_browsers() -> None:
    """From now on this process compiles for WebAssembly. To be called before anything is compiled."""
    import llvmlite.binding as llvm
    from numba import _dynfunc
    from numba.core import codegen, cpu
    from numba.core.registry import cpu_target

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

    context = WasmContext(cpu_target.typing_context, "cpu")
    cpu_target.__dict__["_toplevel_target_context"] = context
    if cpu_target.target_context is not context:
        raise RuntimeError("this version of numba keeps its target elsewhere")


def compiled(call: Any) -> bytes:
    """The object code of a call's kernel, for arguments of its types, exported as ``play``; nothing else is visible."""
    import llvmlite.binding as llvm
    import numba
    import numpy as np

    from bandit_core.kernels.streams import streams
    from bandit_core.model import Record

    flags = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    plain = numba.njit(**flags)(call.kernel.py_func)
    record = Record(np.ones(1, np.int64), *(np.zeros((1, 1)) for _ in range(4)), np.zeros(2, np.int64))
    signature = tuple(numba.typeof(each) for each in (streams(0, 0, 1), *call.arguments, record))
    plain.compile(signature)
    found = plain.overloads[signature]._asdict()
    library = found["library"]
    module = library._final_module.clone()
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "internal"
    entry = module.get_function(found["fndesc"].llvm_func_name)
    entry.linkage, entry.name = "external", "play"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = library.codegen._tm
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return machine.emit_object(module)


def prepared(line: bytes) -> Any:
    """The call of a line: of the name of a policy and a `RunSetup`, pickled."""
    from bandit_core.policies import registry

    policy, setup = pickle.loads(line)
    return registry()[policy].prepare(setup)


def tried(act: Callable[[Any], Any], what: Any) -> Any:
    """What comes of it; None, and why on standard error, for a policy of one's own file and for what numba lacks."""
    try:
        return act(what)
    except Exception as error:
        print(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return None


def main(path: Path) -> None:
    """Compile the kernels of the lines at ``path``; first all are prepared, which may call other compiled functions."""
    calls = [tried(prepared, line) for line in pickle.loads(path.read_bytes())]
    compile_for_browsers()
    for number, call in enumerate(calls):
        made = tried(compiled, call) if call else None
        if made:
            path.with_name(f"{number}.o").write_bytes(made)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
