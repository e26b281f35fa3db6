"""Kernels compiled for browsers, and compared with the native ones: every bit of every output.

Numba compiles a kernel (target.py); Zig compiles runtime.c and adds what the kernel calls of its C library for
WebAssembly, whose mathematics are musl's. Node plays the result by the script of the page, worker.js.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import sysconfig
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandit_core import paths
from bandit_core.experiments.experiment import checkpoints
from bandit_core.jit.machine_code import cache_folder
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, KernelCall, Signal, run_kernel

HERE = Path(__file__).parent
LINK = ("-target", "wasm32-wasi", "-mexec-model=reactor", "-O2", "-lm")
LINK_FLAGS = ("--no-entry", "--export=play", "--gc-sections", "--strip-all", "-z,stack-size=1048576")
NODE = """
const text = array => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64"), found = [];
globalThis.postMessage = answer => found.push(answer);
(0, eval)(require("fs").readFileSync(process.argv[1], "utf-8"));
(async () => {
  for (const asked of JSON.parse(require("fs").readFileSync(0, "utf-8"))) {
    found.length = 0;
    await globalThis.onmessage({ data: asked });
    for (const { error } of found) if (error) throw new Error(error);
    const parts = found.filter(each => each.regret).map(each => [each.regret, each.best, each.pulls].map(text));
    process.stdout.write(JSON.stringify(parts) + "\\n");
  }
})().catch(error => { console.error(error); process.exitCode = 1; });
"""


class Leaf(NamedTuple):
    """A number or an array of a call: NumPy's code of its type, its shape (None for a number), its bytes in base 64."""

    kind: str
    shape: tuple[int, ...] | None
    content: str


def leaf(value: Any) -> Leaf:
    """A number or an array as a `Leaf`.

    Raises
    ------
    TypeError
        For what a page could not hand over.
    """
    array = np.asarray(value)
    kind = array.dtype.str[1:]
    if kind not in ("f8", "i8", "b1"):
        raise TypeError(kind)
    content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return Leaf(kind, array.shape if isinstance(value, np.ndarray) else None, b64encode(content).decode())


def leaves(value: Any) -> Iterator[Leaf]:
    """The numbers and arrays of nested tuples, in order."""
    if isinstance(value, tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield leaf(value)


class Played(NamedTuple):
    """A call, and how it is played."""

    call: KernelCall
    users: int
    seed: int
    runs: int

    def here(self) -> Block:
        """What the kernel gives on this processor."""
        return run_kernel(self.call, streams(self.seed, 0, self.runs), checkpoints(self.users), Signal())

    def request(self, module: bytes) -> dict[str, Any]:
        """The same as a message to the worker, which plays it by ``module``."""
        call = {"line": 0, "kernel": 0, "arms": self.call.arms, "arguments": list(leaves(self.call.arguments))}
        times = leaf(checkpoints(self.users))
        return {"wasm": [b64encode(module).decode()], "calls": [call], "times": times, "seed": str(self.seed),
                "runs": self.runs}  # fmt: skip


def same_in_node(module: bytes, played: Sequence[Played]) -> bool:
    """Whether a module gives in Node what its kernel gives here, to the last bit."""
    command = ["node", "-e", NODE, str(HERE / "worker.js")]
    asked = json.dumps([each.request(module) for each in played]).encode()
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return False
    for each, line in zip(played, done.stdout.splitlines(), strict=True):
        block, parts = each.here(), json.loads(line)
        there = [b"".join(map(b64decode, column)) for column in zip(*parts, strict=True)]
        if there != [array.tobytes() for array in (block.regret, block.best_pulls, block.pulls)]:
            return False
    return True


def build(lines: Sequence[bytes]) -> list[bytes | None]:
    """A module for the kernel of each line, which another process prepares (`target.prepared`) and compiles; None for
    what cannot be compiled, where the reason is printed.
    """
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "lines"
        path.write_bytes(pickle.dumps(list(lines)))
        environment = {**os.environ, "LAB_KERNEL_CACHE": "0", "PYTHONPATH": str(Path(paths.__file__).parents[1])}
        subprocess.run([sys.executable, HERE / "target.py", path], check=False, env=environment)
        return [_linked(path.with_name(f"{number}.o")) for number in range(len(lines))]


def _linked(kernel: Path) -> bytes | None:
    """The module of an object. Zig builds its C library once (some 12 s) and keeps it in the folder of caches."""
    if not kernel.exists():
        return None
    out = kernel.with_suffix(".wasm")
    caches = {f"ZIG_{which}_CACHE_DIR": str(cache_folder() / "zig") for which in ("GLOBAL", "LOCAL")}
    flags = [f"-Wl,{flag}" for flag in LINK_FLAGS]
    command = [sys.executable, "-m", "ziglang", "cc", *LINK, *flags, HERE / "runtime.c", kernel, "-o", out]
    if subprocess.run(command, check=False, env={**os.environ, **caches}).returncode:
        return None
    module = out.read_bytes()
    for place in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(paths.ROOT)):
        module = module.replace(place.encode(), b"." * len(place.encode()))  # compiled exceptions name files
    return module


def licence() -> str:
    """That of the C library that is linked into every module."""
    import ziglang

    return (Path(ziglang.__path__[0]) / "lib" / "libc" / "musl" / "COPYRIGHT").read_text(encoding="utf-8")
