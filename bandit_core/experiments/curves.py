"""The curves of theory beside a simulation: every bound of every line, at the times the simulation records."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import TRIVIAL, Bound, Curve, Policy, RunSetup
from bandit_core.spec.later import pd
from bandit_core.spec.own_data import remembered
from bandit_core.theory import classic, contextual, theorems

NOT_FINITE = "it is too large to be computed here: a gap, a budget or a parameter is too small for its formula"
COLUMNS = ("line", "name", "label", "side", "source", "status", "t", "value")


@remembered(128)
def _line_bounds(alone: Experiment, policy: Policy) -> tuple[Bound, ...]:
    """The bounds of an experiment's only line."""
    [setup] = alone.setups
    cap = classic.trivial_cap(setup) if setup.contexts is None else contextual.trivial_cap(setup)
    own_files = (theorem.state(setup) for theorem in theorems() if theorem.speaks_of(policy))
    guarantee = policy.guarantee(replace(setup, visits=1))  # by every answer, whose epsilon the bounds speak of
    stated = [bound for bound in (*policy.bounds(setup), *own_files) if bound.name != cap.name]  # which all have
    bounds = [_as_people_come(bound.judged(guarantee), setup) for bound in stated]
    if setup.uncut is not None and not np.array_equal(setup.gaps, setup.regret_gaps):
        why = "it speaks of cut rewards, as this learner sees them; the regret here counts uncut rewards"
        bounds = [bound if bound.not_applicable else bound.ruled_out(why) for bound in bounds]
    return tuple(_if_finite(bound.with_curve(_once(bound.curve)), setup) for bound in (*bounds, cap))


def _if_finite(bound: Bound, setup: RunSetup) -> Bound:
    """The bound, ruled out where a double cannot hold it: small gaps, budgets and parameters stand in denominators.

    Those that are never drawn are only computed for who asks for their values.
    """
    if bound.not_applicable or bound.only:
        return bound
    with np.errstate(all="ignore"):
        ends = bound.curve(np.array([1.0, max(10.0, setup.horizon)]))
    finite = bool(np.isfinite(ends).all()) or bound.name == TRIVIAL
    return bound if finite else bound.ruled_out(NOT_FINITE)


def _as_people_come(bound: Bound, setup: RunSetup) -> Bound:
    """A bound that is stated for feedback without delay and for people who come once, as far as it holds here.

    From below it holds with late feedback, too: a policy may wait before it uses what it knows.
    """
    if bound.side == "upper" and not setup.feedback.immediate and not bound.not_applicable:
        return bound.ruled_out("proved for rewards that are counted before the next user comes; here they are late")
    if setup.visits > 1 and bound.model != "none":
        part = f"one part in {setup.visits}" if setup.visits_delta == 0 else f"{setup.fixed_epsilon:.4g}"
        return replace(bound, assumptions=f"{bound.assumptions}; epsilon is what one answer of a person spends, {part}")
    return bound


def _once(curve: Curve) -> Curve:
    """The same curve, which remembers its values at the times (and at the horizon) that it was asked for last."""

    @lru_cache(maxsize=2)
    def values(times: bytes) -> np.ndarray:
        flat = np.frombuffer(times)
        heights = np.broadcast_to(np.asarray(curve(flat), float), flat.shape).copy()
        heights.flags.writeable = False
        return heights

    return lambda t: values(np.asarray(t, float).tobytes()).reshape(np.shape(t))


def line_bounds(experiment: Experiment, line: int) -> list[Bound]:
    """Every bound of one line (counted from 0), also those that do not apply, with the reason in ``hidden``."""
    chosen = experiment.lines[line]
    # Bounds know nothing of these fields and of other lines: whoever changes them finds the bounds here.
    other = {"view": type(experiment.view)(), "title": "", "note": "", "seed": 0, "trials": 1}
    alone = experiment.model_copy(update=other).with_lines((chosen.model_copy(update={"label": None}),))
    return list(_line_bounds(alone, chosen.entry))  # a policy's file may be loaded again, with other bounds


def floor(experiment: Experiment, line: int) -> float:
    """The largest lower bound on the expected regret that binds, at this number of users, every policy that keeps the
    line's guarantee on this very task; NaN where none is known. In reward units.
    """
    values = [
        float(bound.values(np.array([experiment.horizon]), experiment.largest_gap)[0])
        for bound in line_bounds(experiment, line)
        if bound.binds and bound.side == "lower" and bound.form == "bound"
    ]
    return max(values, default=math.nan)


def bounds(experiment: Experiment) -> pd.DataFrame:
    """All bounds that apply, at the checkpoints of the experiment.

    Returns
    -------
    DataFrame
        One row per line, bound and checkpoint with the columns line, name (which repeats what must not be lost:
        derived, as printed, asymptotic, order-only, worst case), label, side ("upper" or "lower"), source, status, t
        and value (expected regret in reward units, never above t x largest gap).
    """
    times = checkpoints(experiment.horizon)
    rows = [
        (line, bound.label, experiment.label(line), bound.side, bound.source, bound.status, *at)
        for line in range(len(experiment.lines))
        for bound in line_bounds(experiment, line)
        if bound.not_applicable is None
        for at in zip(times.tolist(), bound.values(times, experiment.largest_gap).tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
