"""What kernels are called with; as a program: on a machine where NumPy rounds its elementary functions otherwise."""

import functools
import json
from typing import Any

import numba
import numpy as np

FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh"
)


def contents() -> dict[str, str]:
    """A digest of the kernel and of its arguments of every line of every preset and of many cells of the benchmark."""
    from bandit_core.experiments.presets import presets
    from bandit_core.policies import registry
    from bandit_core.simulation.prepared import prepared_lines
    from bandit_core.studies import benchmark

    experiments = {preset.name: preset.experiment for preset in presets()}
    for policy in registry().values():
        for cell, experiment in benchmark.cells(policy):
            if cell.users == 1_000 and cell.epsilon in (None, 1.0):
                experiments[f"{cell.task.name} {cell.users}: {policy.name}"] = experiment
    return {
        f"{name}: {number} {line.policy.name}": line.content.hex()
        for name, experiment in experiments.items()
        for number, line in enumerate(prepared_lines(experiment))
    }


@numba.njit
def _anything(x: float) -> float:
    return np.exp(x)


def round_otherwise(name: str) -> None:
    """Let NumPy's function of this name give a neighbour of every number that is not whole."""
    function = getattr(np, name)

    @functools.wraps(function, updated=())
    def other(*numbers: Any, **options: Any) -> Any:
        found = np.asarray(function(*numbers, **options))
        if found.dtype != np.float64:
            return found[()]
        return np.where(np.isfinite(found) & (found != np.rint(found)), np.nextafter(found, np.inf), found)[()]

    setattr(np, name, other)


if __name__ == "__main__":
    _anything(1.0)  # from here on numba knows NumPy's own functions
    before = np.exp(0.5)
    for name in FUNCTIONS.split():
        round_otherwise(name)
    print(json.dumps({"another exponential": bool(np.exp(0.5) != before), **contents()}))
