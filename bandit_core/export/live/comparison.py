"""Do compiled kernels give the same numbers in a browser's engine as here? Every bit of every output is compared."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core.export.live.arguments import leaf, leaves
from bandit_core.jit.version import kernel_name
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, KernelCall, Signal, run_kernel

WORKER = Path(__file__).parent.parent / "assets" / "worker.js"
_NODE = """
const [worker, ...rest] = process.argv.slice(1), found = [];
const text = array => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");
globalThis.postMessage = told => found.push(told);
(0, eval)(require("fs").readFileSync(worker, "utf-8"));
(async () => {
  for (const asked of JSON.parse(require("fs").readFileSync(0, "utf-8"))) {
    found.length = 0;
    await globalThis.onmessage({ data: asked });
    for (const { error } of found) if (error) throw new Error(error);
    const told = found.filter(each => each.regret);
    const written = told.map(each => ["regret", "best", "pulls"].map(name => text(each[name])));
    process.stdout.write(JSON.stringify(written) + "\\n");
  }
})().catch(error => { console.error(error); process.exitCode = 1; });
"""
_SEEDS = """
const { wasm, seeds, trials } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const rows = Buffer.alloc(64 * seeds.length);
WebAssembly.instantiate(Buffer.from(wasm, "base64"), {}).then(({ instance: { exports: kernel } }) => {
  const place = kernel.allocate(64);
  seeds.forEach((seed, row) => {
    kernel.streams(BigInt(seed), trials[row], 1, place);
    rows.set(new Uint8Array(kernel.memory.buffer, place, 64), 64 * row);
  });
  require("fs").writeFileSync(1, rows);
});
"""


@dataclass(frozen=True)
class Captured:
    """A call that some line is played with, and how."""

    name: str
    call: KernelCall
    times: np.ndarray
    seed: int
    trials: int

    @property
    def kernel(self) -> str:
        """The name of its kernel."""
        return kernel_name(self.call.kernel)

    def here(self) -> Block:
        """What the kernel gives on this processor."""
        return run_kernel(self.call, streams(self.seed, 0, self.trials), self.times, Signal())

    def request(self, module: bytes) -> dict[str, Any]:
        """The same as a message to the worker, which plays it by ``module``."""
        call = {"line": 0, "kernel": "it", "arms": self.call.arms}
        return {
            "wasm": {"it": b64encode(module).decode()},
            "calls": [call | {"arguments": [each.written for each in leaves(self.call.arguments)]}],
            "times": leaf(self.times).written,
            "seed": str(self.seed),
            "runs": self.trials,
        }


def in_node(requests: Sequence[dict[str, Any]]) -> list[Block]:
    """What the worker of a lesson answers, in Node, which runs WebAssembly by the engine of Chromium.

    Raises
    ------
    RuntimeError
        With its words, where it fails.
    """
    lines = run_node(_NODE, requests, WORKER).splitlines()
    return [block_of(json.loads(line), asked) for line, asked in zip(lines, requests, strict=True)]


def run_node(script: str, asked: Any, *arguments: Path) -> bytes:
    """What a script writes that reads ``asked`` as JSON.

    Raises
    ------
    RuntimeError
        With its words, where it fails.
    """
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("there is no node on PATH")
    command = [node, "-e", script, *map(str, arguments)]
    done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def streams_agree(module: bytes, seeds: Sequence[int], trials: Sequence[int]) -> bool:
    """Whether a module spawns the stream of each seed's trial as NumPy does, to the last bit."""
    asked = {"wasm": b64encode(module).decode(), "seeds": [str(seed) for seed in seeds], "trials": list(trials)}
    here = b"".join(streams(seed, trial, trial + 1).tobytes() for seed, trial in zip(seeds, trials, strict=True))
    return run_node(_SEEDS, asked) == here


def drawn_seeds(number: int) -> tuple[list[int], list[int]]:
    """So many seeds of every size that a spec may have, those at the borders of 32 bits first, each with a trial."""
    draw = np.random.default_rng(number)
    sizes = draw.integers(0, 54, number)
    seeds = [
        0,
        1,
        2**32 - 1,
        2**32,
        2**32 + 1,
        2**53 - 1,
        2**53,
        *(int(draw.integers(0, 2**size + 1)) for size in sizes),
    ]
    return seeds[:number], draw.integers(0, 10**4, number).tolist()


def block_of(parts: list[list[str]], asked: dict[str, Any]) -> Block:
    """The parts of an answer, each array in base 64, put together."""
    columns = (asked["times"][1][0],) * 2 + (asked["calls"][0]["arms"],)
    arrays = [
        np.concatenate([np.frombuffer(b64decode(part[place])).reshape(-1, columns[place]) for part in parts])
        for place in range(3)
    ]
    return Block(*arrays)


def differing(cases: Iterable[Captured], blocks: Iterable[Block]) -> list[str]:
    """The names of those whose outputs are not the same to the last bit as here."""
    found = []
    for case, there in zip(cases, blocks, strict=True):
        here = case.here()
        same = all(
            here.arrays[name].tobytes() == there.arrays[name].tobytes() for name in ("regret", "best_pulls", "pulls")
        )
        if not same:
            found.append(case.name)
    return found
