"""The kernels that are compiled for browsers: which there are, of which code, and what they were compared with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from bandit_core.export.live import arguments
from bandit_core.jit.version import kernel_name, kernel_version
from bandit_core.kernels.streams import streams
from bandit_core.model import KernelCall

FOLDER = Path(__file__).parent / "compiled"
COMMAND = "python deploy/wasm/build.py"


@cache
def manifest() -> dict[str, Any]:
    """What `COMMAND` noted.

    ``date`` and ``tools`` of the build; ``streams`` and ``kernels`` by name: the ``version`` of the code that was
    compiled and the number of ``comparisons`` that it passed; of a kernel also its ``file`` and the ``types`` of its
    arguments. Empty where nothing was built.
    """
    path = FOLDER / "manifest.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {"streams": {}, "kernels": {}}


def wasm(name: str) -> bytes:
    """The module of a kernel."""
    return (FOLDER / manifest()["kernels"][name]["file"]).read_bytes()


def obstacle(call: KernelCall) -> str | None:
    """Why a browser cannot play a call, in words that follow a line's name; None where it can."""
    noted = manifest()["kernels"].get(kernel_name(call.kernel))
    if noted is None or call.error:
        return "its method is not compiled for browsers"
    if noted["types"] != arguments.types(call):
        return "its method takes other numbers here than what was compiled for browsers"
    stale = noted["version"] != kernel_version(call.kernel) or manifest()["streams"]["version"] != kernel_version(
        streams
    )
    return "its method was changed after it was compiled for browsers" if stale else None
