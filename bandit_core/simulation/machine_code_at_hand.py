"""Is a kernel's machine code at hand for a call, in this process or on disk? Without compiling, loading or playing.

Numba tells this by attributes of its own only; where they are missing the answer is yes, and nobody is told to wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_core.model import KernelCall, Signal
from bandit_core.model.kernel_call import Record


def at_hand(call: KernelCall) -> bool:
    """Whether the call would be played at once."""
    kernel: Any = call.kernel
    if not hasattr(kernel, "typeof_pyval"):  # no kernel of numba's
        return True
    signature = tuple(kernel.typeof_pyval(each) for each in (np.zeros((1, 8), np.uint64), *call.arguments, _record()))
    return signature in kernel.overloads or _on_disk(kernel, signature)


def _record() -> Record:
    """Arrays of the types that `run_kernel` makes."""
    table = np.zeros((1, 1))
    return Record(np.ones(1, np.int64), table, table, table, table, Signal().cells)


def _on_disk(kernel: Any, signature: tuple[Any, ...]) -> bool:
    try:
        kept = kernel._cache
        if not hasattr(kept, "_cache_file"):  # none is kept on disk
            return False
        return kept._index_key(signature, kernel.targetctx.codegen()) in kept._cache_file._load_index()
    except AttributeError:
        return True
    except Exception:  # whatever pickle raises of a damaged file, which is compiled anew
        return False
