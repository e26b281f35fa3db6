"""What a reader asks of a result: the final numbers, the price of privacy, and the curve in another unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pydantic

from bandit_core.experiments.curves import beside, in_the_long_run, line_bounds, may_be_drawn
from bandit_core.experiments.experiment import Experiment, Line, Quantity
from bandit_core.model import Guarantee, Policy
from bandit_core.model.bound import TRIVIAL, Bound
from bandit_core.policies import registry
from bandit_core.simulation.results import Curve, Drawable, LineResult, Result
from bandit_core.spec.errors import InputError

QUANTITY_WORDS: dict[Quantity, str] = {
    "regret": "lost reward so far (regret)",
    "regret-per-log": "regret / ln t",
    "regret-per-user": "lost reward per user",
    "price": "price of privacy (ratio of regrets)",
}


PRICE_BAND = " (of the regret; what it is divided by counts as exact)"


# Methods without privacy that are run for comparison where none is drawn: of the first row that accepts the arms those
# that do. For rewards in [0, 1]; for rewards without limits; for users with features.
FIELDS = (("thompson", "kl-ucb"), ("ucb", "robust-ucb"), ("linucb", "greedy-ols"))


def counterpart(policy: Policy) -> Policy | None:
    """The same method without privacy: the nearest ancestor that is not private; None for one that is not private."""
    ancestor = policy
    while ancestor.privacy != "none":
        if ancestor.parent is None:
            return None
        ancestor = registry()[ancestor.parent]
    return None if ancestor is policy else ancestor


def _shown_free(experiment: Experiment) -> list[int]:
    """Lines without privacy that are drawn."""
    lines = enumerate(experiment.lines)
    return [number for number, line in lines if line.entry.privacy == "none" and number not in experiment.view.hidden]


def _field(experiment: Experiment) -> tuple[Line, ...]:
    """The methods without privacy, with their usual parameters, that are run where none is drawn (see `FIELDS`)."""
    setting = "arms" if experiment.contexts is None else "contexts"
    for names in FIELDS:
        found = [policy for name in names if (policy := registry()[name]).setting == setting]
        if able := [policy for policy in found if policy.accepts(experiment.single_arms) is None]:
            return tuple(Line(policy=policy.name) for policy in able)
    return ()


def _companion(line: Line, other: Policy) -> Line:
    """The counterpart of a line with the parameters that both know; with its own where those are out of its range."""
    common = {name: value for name, value in line.params.items() if name in other.parameters.model_fields}
    try:
        other.parameters.model_validate(common)
    except pydantic.ValidationError:
        common = {}
    return Line(policy=other.name, params=common)


def companions(experiment: Experiment) -> tuple[Line, ...]:
    """Lines without privacy that the experiment lacks: what must be run for comparison to state every line's price."""
    private = [number for number, line in enumerate(experiment.lines) if line.entry.privacy != "none"]
    if experiment.view.against == "best":
        return _field(experiment) if private and not _shown_free(experiment) else ()
    found: dict[str, Line] = {}
    for number in private:
        line = experiment.lines[number]
        other = counterpart(line.entry)
        if other is not None and baseline(experiment, number) is None and other.accepts(experiment.single_arms) is None:
            found.setdefault(other.name, _companion(line, other))
    return tuple(found.values())


def has_price(experiment: Experiment, line: int) -> bool:
    """Whether there is something that a private line can be compared with, on the chart or run for comparison."""
    other = counterpart(experiment.lines[line].entry)
    if other is None:
        return False
    if experiment.view.against == "best":
        return bool(_shown_free(experiment) or companions(experiment))
    return baseline(experiment, line) is not None or any(each.policy == other.name for each in companions(experiment))


def with_companions(experiment: Experiment) -> Experiment:
    """The experiment, and after its own lines its `companions`; itself where nothing can be added."""
    more = [line.model_dump(mode="json", exclude_none=True) for line in companions(experiment)]
    if not more:
        return experiment
    try:
        return experiment.with_changes(lines=[*experiment.spec()["lines"], *more])
    except InputError:  # too many lines
        return experiment


def split(played: Result, experiment: Experiment) -> Result:
    """The result of ``experiment``, from that of `with_companions`: what was run for comparison stands by itself."""
    own = len(experiment.lines)
    return replace(played, experiment=experiment, lines=played.lines[:own], along=played.lines[own:])


@dataclass(frozen=True)
class Reference:
    """What a private line is compared with: its label and policy, its trials, and whether it is not drawn (``along``).

    ``among`` is the number of methods without privacy that it is the best of; 0 for the line's own counterpart.
    """

    label: str
    policy: str
    played: LineResult
    along: bool
    among: int


def reference(result: Result, line: int, place: int = -1) -> Reference | None:
    """What the price of a private line is relative to; None where there is nothing, or where it is not computed.

    By itself the line without privacy that has lost least at the checkpoint at ``place``, of those that are drawn, else
    of `FIELDS`; of equal ones the first. The least of several means can only be too small by chance, so the choice
    makes no price look smaller than it is. Its own counterpart where the view asks for that.
    """
    experiment = result.experiment
    if experiment.lines[line].entry.privacy == "none":
        return None
    if experiment.view.against == "best":
        return _best_free(result, place)
    base, other = baseline(experiment, line), counterpart(experiment.lines[line].entry)
    if base is not None and other is not None:
        played = result.lines[base]
        return None if played is None else Reference(experiment.label(base), other.name, played, False, 0)
    for companion, played in zip(companions(experiment), result.along, strict=False):
        if other is not None and companion.policy == other.name and played is not None:
            return Reference(other.title, other.name, played, True, 0)
    return None


def _best_free(result: Result, place: int = -1) -> Reference | None:
    """The line without privacy that has lost least, as `reference` says."""
    experiment = result.experiment
    if drawn := _shown_free(experiment):
        every = [(experiment.label(number), experiment.lines[number], result.lines[number]) for number in drawn]
    else:
        every = [(each.entry.title, each, run) for each, run in zip(companions(experiment), result.along, strict=False)]
    done = [(label, chosen, played) for label, chosen, played in every if played is not None]
    if not done:
        return None
    label, chosen, played = min(done, key=lambda each: float(each[2].mean[place]))
    return Reference(label, chosen.policy, played, not drawn, len(done))


@dataclass(frozen=True)
class Summary:
    """One line at the horizon. Errors are standard errors of the mean, ``extra_low`` and ``extra_high`` the ends of the
    95% interval of the extra regret over pairs of trials; NaN where they cannot be had.
    """

    line: int
    label: str
    policy: str
    trials: int
    regret: float
    stderr: float
    price: float
    price_stderr: float
    extra: float
    extra_stderr: float
    extra_low: float
    extra_high: float
    against: Reference | None
    best_share: float
    guarantee: Guarantee
    bound_name: str | None
    bound: float

    @property
    def differs(self) -> bool:
        """Whether the price is surely not 1: the 95% interval of the extra regret over pairs of trials leaves out 0.

        (A ratio's own error says little where the other regret is near 0.) Never where the error is unknown.
        """
        return self.extra_low > 0 or self.extra_high < 0

    @property
    def regret_over_bound(self) -> float:
        """Regret as a share of the smallest proved upper bound that says something of the policy (NaN without one)."""
        return self.regret / self.bound if self.bound > 0 else float("nan")


def baseline(experiment: Experiment, line: int) -> int | None:
    """The line of the experiment that plays the counterpart of a private one; None where there is none.

    Of several those with the parameters that the private line shares come first.
    """
    chosen = experiment.lines[line]
    other = counterpart(chosen.entry)
    if other is None:
        return None
    found = [number for number, each in enumerate(experiment.lines) if each.policy == other.name]
    wanted = _companion(chosen, other).params

    def differences(number: int) -> int:
        params = experiment.lines[number].params
        return sum(params.get(name) != value for name, value in wanted.items())

    return min(found, key=differences, default=None)


def best_share_at_end(line: LineResult, times: np.ndarray) -> float:
    """Share of the best arms among the pulls of the last half of the run, averaged over trials."""
    start = int(np.searchsorted(times, times[-1] / 2))
    start = min(start, len(times) - 2) if len(times) > 1 else -1
    if start < 0:
        return float(line.best_pulls[:, -1].mean() / times[-1])
    won = line.best_pulls[:, -1] - line.best_pulls[:, start]
    return float(won.mean() / (times[-1] - times[start]))


def summaries(result: Result) -> list[Summary]:
    """One `Summary` per finished (or partly finished) line."""
    experiment = result.experiment
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = experiment.lines[number]
        against = reference(result, number)
        unknown = (float("nan"), float("nan"))
        price, price_stderr = unknown if against is None else line.ratio_to(against.played)
        extra, extra_stderr = unknown if against is None else line.difference_to(against.played)
        extra_low, extra_high = unknown if against is None else line.difference_interval(against.played)
        proved = [
            (float(bound.values(result.times[-1:], experiment.largest_gap)[0]), bound.label)
            for bound in line_bounds(experiment, number)
            if bound.side == "upper"
            and bound.status == "proved"
            and not bound.not_applicable
            and not bound.worst_case
            and bound.name != TRIVIAL  # it holds for choosing blindly, too
        ]
        value, name = min(proved) if proved else (float("nan"), None)
        rows.append(
            Summary(
                line=number,
                label=experiment.label(number),
                policy=chosen.policy,
                trials=line.count,
                regret=float(line.mean[-1]),
                stderr=float(line.stderr[-1]),
                price=price,
                price_stderr=price_stderr,
                extra=extra,
                extra_stderr=extra_stderr,
                extra_low=extra_low,
                extra_high=extra_high,
                against=against,
                best_share=best_share_at_end(line, result.times),
                guarantee=chosen.entry.guarantee(experiment.setups[number]),
                bound_name=name,
                bound=value,
            )
        )
    return rows


def scale(result: Drawable, line: int, quantity: Quantity) -> np.ndarray | None:
    """What regret is divided by at every checkpoint to give ``quantity``; None where it cannot be had."""
    times = result.times.astype(float)
    if quantity == "regret":
        return np.ones_like(times)
    if quantity == "regret-per-user":
        return times
    if quantity == "regret-per-log":
        return np.where(times > 1, np.log(np.maximum(times, 2)), np.nan)
    free = result.experiment.lines[line].entry.privacy == "none"
    other: Curve | None = result.lines[line] if free else None
    if isinstance(result, Result):
        best = free and result.experiment.view.against == "best"
        against = _best_free(result) if best else reference(result, line)
        other = against.played if against is not None else other
    if other is None:
        return None
    return np.where(other.mean > 0, other.mean, np.nan)


def drawn_bounds(
    result: Drawable, visible: Sequence[int], shown: Callable[[np.ndarray], np.ndarray]
) -> list[tuple[Bound, np.ndarray, list[int]]]:
    """Every bound to draw beside the curves of the ``visible`` lines, once, and the lines that it speaks of.

    Its values (checkpoints,) are those of the view's quantity, as ``shown`` makes them; bounds that look the same there
    are one. Of a slope there is the end that its curve has reached, or all of it where the view asks for slopes.
    """
    experiment, view = result.experiment, result.experiment.view
    found: dict[tuple[str, bytes], tuple[Bound, np.ndarray, list[int]]] = {}
    for number in visible:
        line, divisor = result.lines[number], scale(result, number, view.quantity)
        if line is None or divisor is None:
            continue
        for bound in line_bounds(experiment, number):
            if not may_be_drawn(bound, view.shapes, view.worst_case):
                continue  # before its values, which may take long
            values = bound.values(result.times, experiment.largest_gap)
            drawn = beside(bound, values, line.mean, view.shapes, view.worst_case)
            if drawn is not None and bound.form == "slope" and not view.shapes:
                drawn = in_the_long_run(drawn, result.times)
                drawn = None if np.isnan(drawn).all() else drawn
            if drawn is not None:
                message = shown(drawn / divisor)
                found.setdefault((bound.label, message.tobytes()), (bound, message, []))[2].append(number)
    return list(found.values())


def local_wins(result: Result) -> bool:
    """Whether a drawn policy that trusts no one surely loses less than every one of a curator, at one budget for all.

    At the horizon: the 95% interval of the difference over pairs of trials lies above 0.
    """
    experiment = result.experiment
    if len({line.epsilon for line in experiment.lines if line.epsilon is not None}) != 1:
        return False
    best: dict[str, LineResult] = {}
    for number, played in enumerate(result.lines):
        if played is None or number in experiment.view.hidden:
            continue
        trust = experiment.lines[number].entry.privacy
        if trust not in best or played.mean[-1] < best[trust].mean[-1]:
            best[trust] = played
    if "local" not in best or "central" not in best:
        return False
    low, _ = best["central"].difference_interval(best["local"])
    return low > 0
