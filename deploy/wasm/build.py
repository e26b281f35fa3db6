"""Compiles kernels for browsers, compares them with the native ones, and writes what lessons take along.

    pip install -r tests/requirements.txt -r deploy/wasm/requirements.txt
    python deploy/wasm/build.py

Writes bandit_core/export/live/compiled: a module for each kernel that presets and single policies play (but for users
with features), and manifest.json. A kernel of which one bit of one comparison differs stays out, and the command ends
with exit code 1; so it does, with nothing live, where the streams of a million seeds are not NumPy's. Needs Node, which
has the WebAssembly engine of Chromium; some minutes on one core.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import pickle
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np  # noqa: E402
import target  # noqa: E402
import ziglang  # noqa: E402

from bandit_core.export.live import arguments, cases, comparison, manifest  # noqa: E402
from bandit_core.jit.version import kernel_version  # noqa: E402
from bandit_core.kernels.streams import streams  # noqa: E402
from bandit_core.model import KernelCall  # noqa: E402
from bandit_core.model.kernel_call import Record  # noqa: E402

MUSL = Path(ziglang.__path__[0]) / "lib" / "libc" / "musl"
# The functions of the C library that kernels call, by files of musl's src/math; what nobody calls is left out.
LIBM = (
    *("exp", "exp_data", "expm1", "log", "log_data", "log1p", "pow", "pow_data", "tanh", "sinh", "cosh", "__expo2"),
    *(
        "sin",
        "cos",
        "tan",
        "__sin",
        "__cos",
        "__tan",
        "__rem_pio2",
        "__rem_pio2_large",
        "floor",
        "scalbn",
        "ldexp",
        "fmod",
    ),
    *("lgamma", "lgamma_r", "signgam", "exp2", "log10", "log2", "log2_data"),
    *("__math_divzero", "__math_invalid", "__math_oflow", "__math_uflow", "__math_xflow"),
)
C_FLAGS = ("-target", "wasm32-wasi", "-O2", "-ffp-contract=off", "-mbulk-memory", "-Dhidden=", "-Dweak_alias(old,new)=")
SEEDS = 1_000_000
LICENCE = "musl-copyright.txt"


def zig(folder: Path, *arguments: str | Path) -> None:
    """Run a part of the pinned compiler, whose cache dies with ``folder``."""
    caches = {f"ZIG_{which}_CACHE_DIR": str(folder / "cache") for which in ("GLOBAL", "LOCAL")}
    command = [sys.executable, "-m", "ziglang", *map(str, arguments)]
    subprocess.run(command, check=True, env={**os.environ, **caches})


def sample(call: KernelCall) -> tuple[Any, ...]:
    """Everything that the kernel of a call takes, of the right types."""
    record = Record(np.ones(1, np.int64), *(np.zeros((1, 1)) for _ in range(4)), np.zeros(2, np.int64))
    return (streams(0, 0, 1), *call.arguments, record)


def compile_kernels(calls: dict[str, KernelCall], folder: Path) -> None:
    """Write an object for each kernel; in another process, where numba compiles for nothing else."""
    samples = {name: sample(call) for name, call in calls.items()}
    path = folder / "samples"
    path.write_bytes(pickle.dumps(samples))
    environment = {**os.environ, "LAB_KERNEL_CACHE": "0"}
    subprocess.run([sys.executable, __file__, str(path)], check=True, env=environment)


def compile_samples(path: Path) -> None:
    """That other process."""
    target.compile_for_browsers()
    for name, given in pickle.loads(path.read_bytes()).items():
        module, _, function = name.rpartition(".")
        kernel = getattr(importlib.import_module(module), function)
        (path.parent / f"{name}.o").write_bytes(target.compiled(kernel, given, "play"))


def compile_runtime(folder: Path) -> list[Path]:
    """The objects of the C library and of runtime.c."""
    found = []
    headers = ("-I", MUSL / "src" / "internal", "-I", MUSL / "arch" / "generic")
    for source in (HERE / "runtime.c", *(MUSL / "src" / "math" / f"{name}.c" for name in LIBM)):
        found.append(folder / f"c-{source.stem}.o")
        zig(folder, "cc", *C_FLAGS, *headers, "-c", source, "-o", found[-1])
    return found


def link(name: str, folder: Path, runtime: list[Path]) -> bytes:
    """The module of a kernel, with those parts of the C library that it calls."""
    out = folder / f"{name}.wasm"
    flags = ("--no-entry", "--export=play", "--gc-sections", "--strip-all", "-z", "stack-size=1048576", "-O2")
    zig(folder, "wasm-ld", *flags, folder / f"{name}.o", *runtime, "-o", out)
    return without_places(out.read_bytes())


def without_places(module: bytes) -> bytes:
    """The module without the folders of this machine, which compiled exceptions name; as long as before."""
    for place in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(ROOT)):
        module = module.replace(place.encode(), b"." * len(place.encode()))
    return module


def libm_version() -> str:
    """Which C library is linked: a hash of its sources as they were compiled."""
    digest = hashlib.sha256()
    for name in LIBM:
        digest.update((MUSL / "src" / "math" / f"{name}.c").read_bytes())
    return f"musl of ziglang {version('ziglang')}, sha256 {digest.hexdigest()[:16]}"


def build(calls: dict[str, KernelCall]) -> dict[str, bytes]:
    """A module for the kernel of each call, by its name; those that need what runtime.c lacks are told and left out."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        compile_kernels(calls, folder)
        runtime = compile_runtime(folder)
        found = {}
        for name in calls:
            with contextlib.suppress(subprocess.CalledProcessError):  # the linker has said why
                found[name] = link(name, folder, runtime)
        return found


def differing(name: str, module: bytes, played: list[comparison.Captured]) -> list[str]:
    """The simulations in which a module gives other numbers than the kernel does here; all are told."""
    wrong = comparison.differing(played, comparison.in_node([case.request(module) for case in played]))
    print(f"{name}: {len(module):,} bytes, {len(played)} comparisons, {len(wrong)} differ", *wrong[:9], sep="\n  ")
    return wrong


def main() -> int:
    """Build, compare, write; 1 where a kernel stays out."""
    played: dict[str, list[comparison.Captured]] = defaultdict(list)
    for case in cases.every():
        of_type = (played[case.kernel] or [case])[0].call
        if not case.call.error and arguments.types(case.call) == arguments.types(of_type):
            played[case.kernel].append(case)
    calls = {name: found[0].call for name, found in sorted(played.items()) if found}
    modules = build(calls)
    agree = comparison.streams_agree(next(iter(modules.values())), *comparison.drawn_seeds(SEEDS))
    print(f"streams of {SEEDS:,} seeds", "agree" if agree else "differ: nothing is live", flush=True)
    noted: dict[str, Any] = {}
    manifest.FOLDER.mkdir(exist_ok=True)
    for name, module in modules.items() if agree else ():
        if not differing(name, module, played[name]):
            file = f"{name.removeprefix('bandit_core.kernels.')}.wasm"
            (manifest.FOLDER / file).write_bytes(module)
            noted[name] = {
                "file": file,
                "version": kernel_version(calls[name].kernel),
                "types": arguments.types(calls[name]),
                "comparisons": len(played[name]),
            }
    write(noted)
    return 0 if len(noted) == len(calls) else 1


def write(noted: dict[str, Any]) -> None:
    """The manifest; modules that it does not name are deleted."""
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    tools = {name: version(name) for name in ("numba", "llvmlite", "numpy", "ziglang")}
    found = {
        "date": datetime.now(UTC).date().isoformat(),
        "tools": {**tools, "python": platform.python_version(), "node": node, "libm": libm_version()},
        "streams": {"version": kernel_version(streams), "comparisons": SEEDS},
        "kernels": noted,
    }
    (manifest.FOLDER / "manifest.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    shutil.copy(MUSL / "COPYRIGHT", manifest.FOLDER / LICENCE)  # of what is linked into every module
    kept = {each["file"] for each in noted.values()} | {"manifest.json", LICENCE}
    for path in manifest.FOLDER.iterdir():
        if path.name not in kept:
            path.unlink()


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_samples(Path(sys.argv[1]))
    else:
        sys.exit(main())
