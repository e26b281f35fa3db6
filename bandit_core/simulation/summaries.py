"""What a reader asks of a result: the final numbers, the price of privacy, and the curve in another unit."""

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import pydantic

from bandit_core.experiments.corridor import Corridor, corridor
from bandit_core.experiments.curves import line_bounds
from bandit_core.experiments.experiment import Experiment, Line, Quantity
from bandit_core.model import TRIVIAL, Guarantee, Policy
from bandit_core.policies import registry
from bandit_core.simulation.comparisons import NOT_KNOWN, Estimate
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


def _free(experiment: Experiment) -> list[int]:
    """Lines without privacy that are drawn."""
    return [number for number in experiment.drawn if experiment.lines[number].entry.privacy == "none"]


def _field(experiment: Experiment) -> tuple[Line, ...]:
    """The methods without privacy, with their usual parameters, that are run where none is drawn (see `FIELDS`)."""
    setting = "arms" if experiment.contexts is None else "contexts"
    for names in FIELDS:
        policies = [policy for name in names if (policy := registry()[name]).setting == setting]
        if able := [policy for policy in policies if policy.accepts(experiment.single_arms) is None]:
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
        return _field(experiment) if private and not _free(experiment) else ()
    by_policy: dict[str, Line] = {}
    for number in private:
        line = experiment.lines[number]
        other = counterpart(line.entry)
        if other is not None and baseline(experiment, number) is None and other.accepts(experiment.single_arms) is None:
            by_policy.setdefault(other.name, _companion(line, other))
    return tuple(by_policy.values())


def _rivals(experiment: Experiment, line: int) -> list[tuple[str, str, int, bool]]:
    """What a private line may be compared with: label, policy, place, and whether that is among the `companions`."""
    best = experiment.view.against == "best"
    base, other = baseline(experiment, line), counterpart(experiment.lines[line].entry)
    drawn = _free(experiment) if best else [] if base is None else [base]
    if drawn:
        return [(experiment.label(each), experiment.lines[each].policy, each, False) for each in drawn]
    more = [(each.entry.title, each.policy, place, True) for place, each in enumerate(companions(experiment))]
    if best:
        return more
    return [each for each in more if other is not None and each[1] == other.name]


def has_price(experiment: Experiment, line: int) -> bool:
    """Whether there is something that a private line can be compared with, on the chart or run for comparison."""
    return counterpart(experiment.lines[line].entry) is not None and bool(_rivals(experiment, line))


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
    return replace(played, experiment=experiment, lines=played.lines[:own], companions=played.lines[own:])


@dataclass(frozen=True)
class Reference:
    """What a private line is compared with: label, policy and trials; a companion (see `companions`) is not drawn.

    ``among`` is the number of methods without privacy that it is the best of; 0 for the line's own counterpart.
    """

    label: str
    policy: str
    played: LineResult
    is_companion: bool
    among: int


def reference(result: Result, line: int, place: int = -1) -> Reference | None:
    """What the price of a private line is relative to; None where there is nothing, or where it is not computed.

    By itself the line without privacy that has lost least at the checkpoint at ``place``, of those that are drawn, else
    of `FIELDS`; of equal ones the first. The least of several means can only be too small by chance, so the choice
    makes no price look smaller than it is. Its own counterpart where the view asks for that.
    """
    private = result.experiment.lines[line].entry.privacy != "none"
    return _reference(result, line, place) if private else None


def _reference(result: Result, line: int, place: int = -1) -> Reference | None:
    done = []
    for label, policy, number, is_companion in _rivals(result.experiment, line):
        played = dict(enumerate(result.companions if is_companion else result.lines)).get(number)
        if played is not None:
            done.append((label, policy, played, is_companion))
    if not done:
        return None
    best = min(done, key=lambda each: float(each[2].mean[place]))
    return Reference(*best, len(done) if result.experiment.view.against == "best" else 0)


@dataclass(frozen=True)
class Summary:
    """One line at the horizon: what it has ``lost``, that as a ``ratio`` to what it is compared with, and how much it
    is ``behind`` that, both over pairs of trials. The single numbers have names, too, such as ``price_stderr``.
    """

    line: int
    label: str
    policy: str
    trials: int
    lost: Estimate
    ratio: Estimate
    behind: Estimate
    against: Reference | None
    best_share: float
    guarantee: Guarantee
    bound: float

    regret, stderr = property(attrgetter("lost.value")), property(attrgetter("lost.stderr"))
    price, price_stderr = property(attrgetter("ratio.value")), property(attrgetter("ratio.stderr"))
    extra, extra_stderr = property(attrgetter("behind.value")), property(attrgetter("behind.stderr"))
    extra_low, extra_high = property(attrgetter("behind.low")), property(attrgetter("behind.high"))

    @property
    def differs(self) -> bool:
        """Whether the price is surely not 1: the 95% interval of the extra regret over pairs of trials leaves out 0.

        (A ratio's own error says little where the other regret is near 0.) Never where the error is unknown.
        """
        return self.behind.differs()

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
    same_policy = [number for number, each in enumerate(experiment.lines) if each.policy == other.name]
    wanted = _companion(chosen, other).params

    def differences(number: int) -> int:
        params = experiment.lines[number].params
        return sum(params.get(name) != value for name, value in wanted.items())

    return min(same_policy, key=differences, default=None)


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
        proved = [
            float(bound.values(result.times[-1:], experiment.largest_gap)[0])
            for bound in line_bounds(experiment, number)
            if bound.binds and bound.side == "upper" and bound.status == "proved"
            if bound.name != TRIVIAL  # it holds for choosing blindly, too
        ]
        rows.append(
            Summary(
                line=number,
                label=experiment.label(number),
                policy=chosen.policy,
                trials=line.count,
                lost=line.final(),
                ratio=NOT_KNOWN if against is None else line.ratio(against.played),
                behind=NOT_KNOWN if against is None else line.difference(against.played),
                against=against,
                best_share=best_share_at_end(line, result.times),
                guarantee=chosen.entry.guarantee(experiment.setups[number]),
                bound=min(proved, default=float("nan")),
            )
        )
    return rows


def line_corridor(result: Drawable, line: int | None) -> tuple[Corridor, np.ndarray] | None:
    """The corridor of a played line, and what the view's quantity divides it by; None where either is missing."""
    played = None if line is None else result.lines[line]
    if line is None or played is None or (divisor := scale(result, line, result.experiment.view.quantity)) is None:
        return None
    return corridor(result.experiment, line, result.times, played.mean), divisor


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
        against = (_reference if best else reference)(result, line)
        other = against.played if against is not None else other
    if other is None:
        return None
    return np.where(other.mean > 0, other.mean, np.nan)


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
    return bool(best["central"].difference(best["local"]).low > 0)
