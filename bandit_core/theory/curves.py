"""The curves of theory beside a simulation: every bound of every line, at the times the simulation records."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bandit_core.contextual.contexts import Table
from bandit_core.theory import classic, contextual
from bandit_core.theory.bound import Bound

if TYPE_CHECKING:
    import pandas as pd

    from bandit_core.experiment import Experiment

COLUMNS = ("line", "label", "side", "name", "source", "status", "t", "value")


@lru_cache(maxsize=128)
def _line_bounds(experiment: Experiment, line: int) -> tuple[Bound, ...]:
    instance = experiment.instances[line]
    cap = classic.trivial_cap(instance) if instance.contexts is None else contextual.trivial_cap(instance)
    return (*experiment.lines[line].entry.bounds(instance), cap)


def line_bounds(experiment: Experiment, line: int) -> list[Bound]:
    """Every bound of one line (counted from 0), also those that do not apply, with the reason in ``hidden``."""
    if experiment.contexts is not None and isinstance(experiment.contexts.law, Table):
        return list(_line_bounds.__wrapped__(experiment, line))  # data of one's own outlive no session
    return list(_line_bounds(experiment, line))


def bounds(experiment: Experiment) -> pd.DataFrame:
    """All bounds that apply, at the checkpoints of the experiment.

    Returns
    -------
    DataFrame
        One row per line, bound and checkpoint with the columns line, label, side ("upper" or "lower"), name (which
        repeats what must not be lost: derived, asymptotic, order-only, worst case), source, status, t and value
        (expected regret in reward units, never above t x largest gap).
    """
    import pandas as pd  # heavy import, not needed to simulate

    from bandit_core.experiment import checkpoints  # it finds the policies, which import theory

    times = checkpoints(experiment.horizon)
    frames = [
        pd.DataFrame(
            {
                "line": line,
                "label": experiment.label(line),
                "side": bound.side,
                "name": bound.label,
                "source": bound.source,
                "status": bound.status,
                "t": times,
                "value": bound.values(times, experiment.largest_gap),
            }
        )
        for line in range(len(experiment.lines))
        for bound in line_bounds(experiment, line)
        if bound.hidden is None
    ]
    return pd.concat(frames, ignore_index=True)
