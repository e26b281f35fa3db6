"""What trust saves: the lines of an experiment in the order of their promises, step by step.

Promises are counted in measures: pure, or less than that, at a delta. A step from a line with a delta to a pure one
would change two things at once and could go either way, so each measure has a ladder of its own. At the foot of every
one stands a pure line with less trust than all of it, as pure privacy keeps every weaker measure, too; at the top of
every one stands the line without privacy.

Whoever is trusted may also use a method that needs less trust: a level whose own line clearly loses more than a line
that keeps at least its promise stands on that one (`standing`), so no step of trust clearly costs anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bandit_core.experiments import trust_table
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import MEASURES, PROMISES, Guarantee, Measure, Privacy
from bandit_core.simulation.comparisons import Estimate
from bandit_core.simulation.results import Result

CLEARLY = 0.9973  # level of the interval that must leave out 0 (three standard errors of a normal): many are looked at


@dataclass(frozen=True)
class Ladder:
    """Lines whose promises are counted in one measure, least trust first; the last one may be without privacy."""

    measure: Measure
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """Two lines that follow each other on a ladder: what the level with more trust loses less at the horizon (rewards).

    ``saved`` is over pairs of trials, its interval of level `CLEARLY`. ``played`` are the lines that the two levels
    stand on, see `standing`; ``same`` says that these play the same, so that the additional trust is of no use.
    """

    stronger: int
    weaker: int
    saved: Estimate
    measure: Measure
    played: tuple[int, int]
    same: bool

    @property
    def clear(self) -> bool:
        """Whether the sign of what is saved is beyond doubt."""
        return self.saved.differs()


def kept(experiment: Experiment, line: int) -> Guarantee:
    """What a line really promises."""
    return experiment.lines[line].entry.guarantee(experiment.setups[line])


def level_of(experiment: Experiment, line: int) -> Privacy:
    """The level of trust that a line stands for: that of its promise; in Home's picture a curator may need no trust."""
    at_home = trust_table.position(experiment) is not None
    return trust_table.LEVELS[line] if at_home else experiment.lines[line].entry.privacy


def levels(experiment: Experiment) -> set[Privacy]:
    """The levels of trust that lines stand for."""
    return {level_of(experiment, line) for line in range(len(experiment.lines))}


def _trust(experiment: Experiment, line: int) -> int:
    """The larger, the more trust a line asks for."""
    return -len(PROMISES[level_of(experiment, line)].implied())


def ladder(experiment: Experiment) -> tuple[int, ...]:
    """The first visible line of each promise in each measure, the strongest promise (least trust) first."""
    first: dict[tuple[Privacy, Measure], int] = {}
    for number in experiment.drawn:
        first.setdefault((level_of(experiment, number), kept(experiment, number).measure), number)
    measures = list(MEASURES)
    return tuple(
        first[key] for key in sorted(first, key=lambda key: (_trust(experiment, first[key]), measures.index(key[1])))
    )


def ladders(experiment: Experiment, lines: Sequence[int] | None = None) -> tuple[Ladder, ...]:
    """A ladder for each measure in which a line is private; of ``lines`` only, else of all in `ladder`."""
    rungs = [line for line in ladder(experiment) if lines is None or line in lines]
    open_ = [line for line in rungs if kept(experiment, line).model == "none"]
    private = {
        measure: [line for line in rungs if line not in open_ and kept(experiment, line).measure == measure]
        for measure in MEASURES
    }
    every = []
    for measure, mine in private.items():
        if not mine:
            continue
        below = [line for line in private["pure"] if _trust(experiment, line) < _trust(experiment, mine[0])]
        every.append(Ladder(measure, (*below[-1:], *mine, *open_)))
    return tuple(every)


def _keeps(experiment: Experiment, line: int, level: int) -> bool:
    """Whether a line keeps at least what another one promises, in its measure and at no larger budget."""
    mine, theirs = kept(experiment, line), kept(experiment, level)
    if theirs.model not in PROMISES[mine.model].implied() or mine.measure not in ("pure", theirs.measure):
        return False
    if theirs.model == "none":
        return True
    units = [experiment.lines[each].entry.unit(experiment.setups[each]) for each in (line, level)]
    if units[0] == "one reward" != units[1]:
        return False
    if mine.epsilon is None or theirs.epsilon is None:  # budgets of the users' own
        return experiment.lines[line].epsilon == experiment.lines[level].epsilon
    if theirs.rho is not None:
        return (mine.epsilon**2 / 2 if mine.rho is None else mine.rho) <= theirs.rho
    return mine.epsilon <= theirs.epsilon and mine.delta <= theirs.delta


def best_lines(result: Result) -> dict[int, int]:
    """The line that each level of `ladder` stands on: its own, or the best of those that clearly lose less than that
    (95% interval at the horizon) and keep at least its promise.
    """
    experiment, hidden = result.experiment, result.experiment.view.hidden
    played = {number: line for number, line in enumerate(result.lines) if line is not None and number not in hidden}
    best = {}
    for level in ladder(experiment):
        own = played.get(level)
        better = [
            number
            for number, line in played.items()
            if own is not None
            and number != level
            and _keeps(experiment, number, level)
            and own.difference(line).low > 0
        ]
        best[level] = min(better, key=lambda number: played[number].mean[-1], default=level)
    return best


def by_level(result: Result) -> Result:
    """The result with the line that each level stands on in the place of its own, named as such."""
    experiment, moved = result.experiment, best_lines(result)
    stated, played = list(experiment.lines), list(result.lines)
    for level, line in moved.items():
        if level != line:
            used = experiment.lines[line]
            label = f"{PROMISES[level_of(experiment, level)].who}: {used.entry.title} is best"
            stated[level], played[level] = used.model_copy(update={"label": label}), result.lines[line]
    if stated == list(experiment.lines):
        return result
    return replace(result, experiment=experiment.with_lines(tuple(stated)), lines=tuple(played))


def steps(result: Result) -> tuple[Step, ...]:
    """The steps of every ladder between lines that are played; needs two trials for an error."""
    played = [number for number, line in enumerate(result.lines) if line is not None]
    stand, pairs = best_lines(result), []
    for each in ladders(result.experiment, played):
        for stronger, weaker in pairwise(each.lines):
            used = stand[stronger], stand[weaker]
            mine, theirs = (result.lines[line] for line in used)
            if mine is not None and theirs is not None:
                one, other = (result.experiment.played[line] for line in used)
                pairs.append(Step(stronger, weaker, mine.difference(theirs, CLEARLY), each.measure, used, one == other))
    return tuple(pairs)
