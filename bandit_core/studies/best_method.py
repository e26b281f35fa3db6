"""The best method known for each trust model, found by simulation on the asker's own options.

A level of trust is everything that keeps at least its promise (`bandit_core.model.promises`): who is trusted with the
rewards may also use a method that needs no trust. So the candidates of "a curator is trusted" are the central, the
distributed, the shuffle and the local policies of the registry, as far as they accept the options, and its best method
cannot lose clearly more than that of "no one is trusted". Without privacy there are only the policies that keep no
promise: what privacy costs is measured against them.

One contest answers for a whole table of budgets and trust models. Everyone plays at least `FEWEST` trials, and more
where trials are cheap: methods whose rare runs are very costly (DP-IMED, A/B tests) are cheap, and few of their runs
say little. Then the leader of each cell, and whoever is not clearly behind it and may be better by more than `CLOSE`,
play twice as many, round by round, as far as `SECONDS` and `PULLS` reach (up to four times as far from `LONGER` users
on, as each of their trials is longer): where these do not reach for all, those with the fewest trials play on. An
interval for skewed losses says so, over pairs of trials where these tell more. Nobody is dropped for good: the leader's
later runs may bring others back. A budget need not be spent: what keeps a smaller one keeps this one, too. So whoever
is not clearly behind also plays at the next smaller usual budget, and so on while that loses least, because some
methods lose more at a larger one (DP-IMED on ten arms, from 1.5 to 2). Of those that are not told from the leader and
surely within `CLOSE` of its loss, the one whose losses differ least from run to run is chosen. A cell chooses by the
trials that it has asked for itself, so that it chooses alike in every table.

What is reported comes from trials with another seed, which had no part in the choice, so that the choice does not
flatter it. They go on until the standard error of every chosen method is at most `PRECISE` of its loss, or the limits
are reached; they are as many in all cells, so that losses may be subtracted. Where they show another finalist to be
clearly better, that one is chosen, and further fresh trials are reported; where one is better by more than `CLOSE`, but
not clearly, they go on within the limits. Last, no cell loses more than a stricter one, with a smaller budget or less
trust: else it takes over what was chosen there. Where that lost clearly more in the screening, they go on first, within
the limits.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import check_fields
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.experiments.trust_table import Method
from bandit_core.model import PROMISES, Policy, Privacy
from bandit_core.policies import registry
from bandit_core.simulation.costs import most_steps, trial_seconds
from bandit_core.simulation.questions import Round, Rounds, Study, answer, over_draws
from bandit_core.simulation.results import (
    CONFIDENCE,
    NOT_KNOWN,
    Estimate,
    LineResult,
    Result,
    Shown,
    interval_of_difference,
)
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import percent
from bandit_core.spec.rewards import Arm, Bernoulli, expand
from bandit_core.studies.sweep import EPSILONS
from bandit_core.theory.threshold import recommended

TRIALS = 100  # that are reported at first
FIRST = 16  # screening trials of everyone, for a first answer
FEWEST = 64  # of everyone before anyone stops; doubled where trials are cheap, up to `MOST_AT_FIRST`
MOST_AT_FIRST = 512
MOST = 4096  # trials of one candidate
CHEAP_SECONDS, CHEAP_PULLS = 0.2, 2.56e7  # of one candidate that plays more than `FEWEST` at first
SECONDS, PULLS = 7.0, 3.5e8  # on one core: of the later screening, and again of the reported trials, for each cell
LONGER, MOST_LONGER = 40_000, 4.0  # users from which on these limits grow with the users, and by how much at most
OPEN = 6  # candidates of one cell, the leader included, that play on
FINALISTS = 3  # candidates of one cell in the reported trials
LESS = 2  # smaller budgets that a finalist is tried at
SHORT, LONG = 50_000, 1_000_000  # users: up to twice as many trials below, down to a quarter of them above
ENOUGH = 400  # reported trials, where the limits allow: rare costly runs may be absent from fewer
CLEARLY = 0.9973  # level of the interval that must leave out 0 before a candidate is said to be worse
CLOSE = 0.03  # share of the leader's loss within which a method is as good
PRECISE = 0.03  # share of a loss that its standard error must not exceed; else it is said how well the loss is known
COMPARED: tuple[Privacy, ...] = ("none", "local", "central")  # the trust models of the contest


@dataclass(frozen=True)
class Question:
    """Options with rewards in [0, 1], the number of users, and one budget or how the budgets are spread.

    ``trials`` are those that are reported; the default spends more on short runs and less on very long ones. ``note``
    goes with the experiments. ``clip`` are the limits to which methods with privacy see the rewards cut (None: to 0 and
    1); what is lost, and so which method is best, is counted in uncut rewards. A person comes ``visits`` times, and
    ``horizon`` counts visits; rewards are counted after every ``batch`` of them. Methods that cannot are no candidates.
    Where the options are not known exactly, ``draws`` of them are played by the reported trials; ``arms`` are those by
    which the methods are chosen.
    """

    arms: tuple[Arm, ...]
    horizon: Annotated[int, Field(ge=1, le=10**9)]
    epsilon: Epsilon | Annotated[float, Field(gt=0)]
    trials: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    note: str = ""
    clip: tuple[float, float] | None = None
    visits: int = 1
    batch: int = 1
    draws: tuple[tuple[Arm, ...], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def effort(self) -> float:
        """How many times the usual number of trials this many users deserve, from 1/4 to 2."""
        return max(min(2.0, max(1.0, SHORT / max(1, self.horizon))) * min(1.0, LONG / max(1, self.horizon)), 0.25)

    @property
    def reported(self) -> int:
        """Trials that are reported, or the first of them."""
        return round(TRIALS * self.effort) if self.trials is None else self.trials

    @property
    def screening_seed(self) -> int:
        """The seed of the trials that methods are chosen by: another one than that of the reported trials."""
        return self.seed ^ 1

    @property
    def fewest(self) -> int:
        """Screening trials of everyone; fewer than `FEWEST` only beyond `LONG` users."""
        return round(FEWEST * min(1.0, self.effort))

    @property
    def most(self) -> int:
        """Screening trials of one candidate at most: `MOST`, or about as many as are asked to be reported."""
        return MOST if self.trials is None else min(MOST, max(self.fewest, self.trials))

    @property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean of each option, shape (draws, options); one draw where all is exact."""
        means = np.array([[arm.expected for arm in expand(arms)] for arms in self.draws or (self.arms,)])
        return means.max(axis=1, keepdims=True) - means

    @property
    def smaller(self) -> tuple[float, ...]:
        """The next usual budgets (nats) below that of the question, which may be spent in its place, largest first."""
        if not isinstance(self.epsilon, int | float):
            return ()
        return tuple(sorted((each for each in EPSILONS if each < self.epsilon), reverse=True)[:LESS])


def candidates(question: Question, privacy: Privacy) -> tuple[Experiment, ...]:
    """One experiment per policy that keeps at least the promise ``privacy`` and accepts options and budget.

    Promises are pure: a policy that keeps its own only up to some delta > 0 is left out. What a policy would read off
    the options themselves (bounds on moments, say) is replaced by what holds for any rewards in [0, 1], because no one
    knows it beforehand.

    Of yes or no, a family for amounts is left out as a whole (`Policy.for_amounts`), so that losses with and without
    privacy are of like methods. Without privacy Normal TS loses 28.3 ± 0.2 on .8, .6, .6, .4, .4 (10,000 users), a
    tenth less than Thompson sampling. At ε = 8 the best private method loses 31.7: a coin that flips one answer in
    3,000 would seem to cost 12%. Played on such bits, Normal TS loses 28.3 ± 0.2, too.

    Raises
    ------
    InputError
        When no policy without privacy accepts the question.
    """
    found: list[Experiment] = []
    yes_or_no = all(isinstance(arm, Bernoulli) for arm in question.arms)
    refusal: InputError | None = None
    for policy in registry().values():
        if not keeps(policy.privacy, privacy) or policy.setting != "arms" or (yes_or_no and policy.for_amounts):
            continue
        try:
            candidate = _candidate(question, policy, privacy)
        except InputError as error:
            refusal = refusal or error
            continue
        if policy.guarantee(candidate.setups[0]).delta == 0:
            found.append(candidate)
    if privacy == "none" and not found and refusal is not None:
        raise refusal
    return tuple(found)


def keeps(promise: Privacy, level: Privacy) -> bool:
    """Whether a policy of that promise belongs to a level of trust: the promise is that one, or implies it.

    Without privacy only those belong that keep none, as they are what the price of privacy is measured against.
    """
    return promise == level if level == "none" else level in PROMISES[promise].implied()


def _candidate(question: Question, policy: Policy, privacy: Privacy) -> Experiment:
    line: dict[str, Any] = {"policy": policy.name, "label": PROMISES[privacy].who}
    if policy.epsilon != "none":
        line["epsilon"] = question.epsilon
    if "eps_min" in policy.parameters.model_fields and not isinstance(question.epsilon, int | float):
        line["params"] = {"eps_min": recommended(question.epsilon, "v_b")}
    document = {
        "arms": tuple(question.arms),
        "clip": question.clip,
        "lines": [line],
        "horizon": question.horizon,
        "visits": question.visits,
        "feedback": {"batch": question.batch},
        "trials": question.reported,
        "seed": question.seed,
        "note": question.note,
        "view": {"bounds": False},
    }
    candidate = Experiment.model_validate(document)
    if not (blind := known_beforehand(policy, candidate)):
        return candidate
    return Experiment.model_validate({**document, "lines": [{**line, "params": {**line.get("params", {}), **blind}}]})


# ---------------------------------------------------------------------------------------------------------------
# The contest

Name = tuple[str, Epsilon | None]  # of a candidate in all cells: its policy, and the budget that it spends
Cell = tuple[int, Privacy]  # of the table: the place of the question, and the level of trust


@dataclass(frozen=True)
class Tried:
    """One candidate's loss over all users in reward units, and how far it is behind the chosen one of its trust model.

    ``finalist`` says whether the trials are the reported ones, else they are of the screening. ``behind`` is positive
    where it loses more, and 0 for the chosen one; that of a finalist is over pairs of trials. Its interval has level
    95% for a finalist and `CLEARLY` for others. ``tied`` says whether the screening left it tied with the leader, so
    that it could have been chosen as well.
    """

    privacy: Privacy
    method: Method
    trials: int
    lost: Estimate
    behind: Estimate
    chosen: bool
    finalist: bool
    tied: bool = False

    @property
    def policy(self) -> str:
        """The policy of the method."""
        return self.method.policy

    @property
    def title(self) -> str:
        """What a reader calls the method."""
        return self.method.title

    @property
    def apart(self) -> bool:
        """Whether the interval tells it apart from the chosen one."""
        return not self.chosen and self.behind.differs()


@dataclass(frozen=True, repr=False)
class Decision(Shown):
    """The chosen method of each trust model, one line each (`result`), and every candidate, best first.

    ``screened`` is the largest number of trials that a candidate was chosen by. ``more`` says that this is a first
    answer, of a contest that still goes on.
    """

    result: Result
    tried: tuple[Tried, ...]
    screened: int = 0
    more: bool = False

    def of(self, privacy: Privacy) -> tuple[Tried, ...]:
        """The candidates of one trust model: the chosen one first, then by loss."""
        return tuple(each for each in self.tried if each.privacy == privacy)

    def _words(self) -> str:
        return "; ".join(f"{level}: {self.chosen(level).title}" for level in self.levels)

    def _shown(self) -> Any:
        return self.result.final[["label", "guarantee", "trials", "regret", "stderr"]]

    def policies(self, privacy: Privacy) -> int:
        """How many policies of a trust model were tried, each at one budget or more."""
        return len({each.policy for each in self.of(privacy)})

    def chosen(self, privacy: Privacy) -> Method:
        """The chosen method of a trust model."""
        return self.of(privacy)[0].method

    def equals(self, privacy: Privacy) -> tuple[Tried, ...]:
        """Policies that cannot be told apart from the chosen one, without it and its other budgets."""
        best, *others = self.of(privacy)
        found: dict[str, Tried] = {}
        for each in others:
            if each.policy != best.policy and not each.apart:
                found.setdefault(each.policy, each)
        return tuple(found.values())

    def alternatives(self, privacy: Privacy) -> tuple[Tried, ...]:
        """Candidates that were tied with the chosen one in the choice, and are in the reported trials."""
        return tuple(each for each in self.equals(privacy) if each.tied)

    @property
    def levels(self) -> tuple[Privacy, ...]:
        """The trust model of each line of the result; a line's policy may keep a stronger promise."""
        return tuple(dict.fromkeys(each.privacy for each in self.tried))


def _behind(line: LineResult, leader: LineResult, level: float, pairs: bool = True) -> Estimate:
    """How much more a line loses: over pairs of trials, or over all trials of both where that has the smaller error.

    Without ``pairs``: as of independent trials.
    """
    paired = line.difference(leader, level) if pairs else NOT_KNOWN
    error = math.hypot(line.stderr[-1], leader.stderr[-1])
    if pairs and not error < paired.stderr:
        return paired
    ends = interval_of_difference(line.regret[:, -1], leader.regret[:, -1], level)
    return Estimate(float(line.mean[-1] - leader.mean[-1]), error, *map(float, ends))


def _ranked(field: Sequence[Name], played: Mapping[Name, LineResult]) -> list[Name]:
    """Who of those that have played is not clearly behind the leader, best first."""
    ranked = sorted((name for name in field if name in played), key=lambda name: played[name].mean[-1])
    return [name for name in ranked if not _behind(played[name], played[ranked[0]], CLEARLY).low > 0]


def _undecided(field: Sequence[Name], played: Mapping[Name, LineResult]) -> list[Name]:
    """The leader, and who may (95% interval) lose less than it by more than the share `CLOSE`: best first, few."""
    leader, *others = _ranked(field, played)
    close = CLOSE * played[leader].mean[-1]
    return [leader, *(name for name in others if _behind(played[name], played[leader], CONFIDENCE).low < -close)][:OPEN]


def _tied(field: Sequence[Name], played: Mapping[Name, LineResult]) -> list[Name]:
    """Those as good as the leader: the 95% interval does not tell them from it, and lies within `CLOSE` of its loss.

    The smallest spread over trials comes first. Of one policy only the largest budget is kept.
    """
    leader, *others = _ranked(field, played)
    best, tied = played[leader], [leader]
    for name in others:
        behind = _behind(played[name], best, CONFIDENCE)
        if not behind.low > 0 and behind.high <= CLOSE * best.mean[-1]:
            tied.append(name)
    largest = {name[0]: name for name in sorted(tied, key=_budget)}
    return sorted(largest.values(), key=lambda name: (played[name].std[-1], tied.index(name)))


def _budget(name: Name) -> float:
    """The budget that a candidate spends (nats), where it is one for everyone."""
    return math.inf if name[1] is None or name[1].fixed is None else name[1].fixed


def _enter(pool: dict[Name, Experiment], candidate: Experiment) -> Name:
    """The name of a candidate, which joins the pool unless it is there."""
    [line] = candidate.lines
    pool.setdefault((line.policy, line.epsilon), candidate)
    return line.policy, line.epsilon


class _Table:
    """The cells of a contest: who takes part in each, what they have played, and what that answers."""

    def __init__(self, questions: Sequence[Question], promises: Sequence[Privacy]) -> None:
        self.questions, self.promises, self.asked = questions, promises, questions[0]
        self.pool, self.fields = dict[Name, Experiment](), dict[Cell, list[Name]]()
        self.screened, self.share, self.versions = dict[Name, LineResult](), 0.0, {""}
        strictest = sorted(promises, key=lambda privacy: -len(PROMISES[privacy].implied()))
        for place, question in enumerate(questions):
            for privacy in strictest if place == 0 else [each for each in strictest if each != "none"]:
                if entered := candidates(question, privacy):
                    self.fields[place, privacy] = [_enter(self.pool, each) for each in entered]
        self.so_far: Callable[[], tuple[Decision, ...]] | None = None
        self.counts: dict[Cell, dict[Name, int]] = {cell: {} for cell in self.fields}
        longer = min(MOST_LONGER, max(1.0, self.asked.horizon / LONGER)) if self.asked.horizon <= LONG else 1.0
        self.limits = np.array([SECONDS * longer, min(PULLS * longer, self.asked.horizon * MOST * OPEN)])  # of a cell
        at_first = sum(self.at_first(name) for name in self.pool)
        self.steps = int(self.asked.horizon * (1 + LESS) * at_first + 2 * len(self.fields) * self.limits[1])
        if self.steps > len(questions) * most_steps():
            allowed = f"at most {most_steps():.3g} steps (users x trials x methods) here; ask for fewer users"
            raise InputError([Issue("horizon", f"{self.steps / len(questions):.3g} steps", allowed)])

    def each(self, name: Name) -> float:
        """Rough seconds of a trial."""
        return trial_seconds(self.pool[name], 0)

    def at_first(self, name: Name) -> int:
        """Screening trials of a candidate before anyone stops."""
        fewest, cheap = self.asked.fewest, min(CHEAP_SECONDS / self.each(name), CHEAP_PULLS / self.asked.horizon)
        return fewest * 2 ** int(math.log2(max(1.0, min(MOST_AT_FIRST, self.asked.most, cheap) / fewest)))

    def cost(self, counts: Mapping[Name, int], known: Mapping[Name, int] = {}) -> np.ndarray:
        """Seconds and pulls of these trials beyond the ``known`` ones, shape (2,)."""
        new = {name: count - known.get(name, 0) for name, count in counts.items()}
        return np.array([sum(new[name] * self.each(name) for name in new), self.asked.horizon * sum(new.values())])

    def playing(
        self, counts: Mapping[Name, int], seed: int, later: float, so_far: Callable[[], Any] | None = None
    ) -> Rounds[dict[Name, LineResult]]:
        """So many trials of each candidate; what follows takes so many seconds at most."""
        drawn = () if seed == self.asked.screening_seed else self.asked.draws
        runs = [self.pool[name].model_copy(update={"trials": count, "seed": seed}) for name, count in counts.items()]
        asked = [over_draws(each, drawn) if drawn else each for each in runs]
        begin, self.share = self.share, self.share + (1 - self.share) / 3 if self.screened else 0.099
        results = yield Round(asked, begin, self.share, later, steps=self.steps, so_far=so_far)
        self.versions.update(each.bundled_results for each in results)
        return {name: each.lines[0] for name, each in zip(counts, results, strict=True)}

    def screening(self) -> Rounds[None]:
        """Play until every leader is known, or the limits are reached."""
        first = {cell: {name: self.at_first(name) for name in field} for cell, field in self.fields.items()}
        few = max(2, self.asked.fewest * FIRST // FEWEST)
        glance = {cell: {name: min(few, count) for name, count in counts.items()} for cell, counts in first.items()}
        later = 2 * len(first) * self.limits[0]
        yield from self.screen(glance, later + self.cost({name: self.at_first(name) for name in self.pool})[0])
        yield from self.screen(first, later)
        left, wanted = dict.fromkeys(self.fields, self.limits), first
        while wanted := {cell: counts for cell in wanted if (counts := self.joining(cell) | self.open(cell))}:
            wanted = {cell: self.within(left[cell], counts, cell) for cell, counts in wanted.items()}
            left = {cell: left[cell] - self.cost(counts, self.counts[cell]) for cell, counts in wanted.items()}
            wanted = {cell: counts for cell, counts in wanted.items() if left[cell].min() >= 0}
            yield from self.screen(wanted, sum(left[cell][0] for cell in wanted) + later / 2)

    def screen(self, wanted: Mapping[Cell, Mapping[Name, int]], later: float) -> Rounds[None]:
        """Screening trials that cells ask for, each once for all cells. Only leaders keep their curves."""
        for cell, counts in wanted.items():
            self.counts[cell] |= counts
        every = {
            name: max(each.get(name, 0) for each in self.counts.values()) for names in wanted.values() for name in names
        }
        self.screened |= yield from self.playing(every, self.asked.screening_seed, later, self.so_far)
        leading = self.leading()
        whole = all(self.screened[name].regret.shape[1] > 1 for name in leading.values())
        if whole:
            self.so_far = self.answer(leading, self.screened, self.asked.screening_seed, True)
        behind = self.screened.keys() - leading.values()
        self.screened |= {name: self.screened[name].at(slice(-1, None)) for name in behind}

    def seen(self, cell: Cell) -> dict[Name, LineResult]:
        """The screening trials that a cell has asked for."""
        return {name: self.screened[name].first(count) for name, count in self.counts[cell].items()}

    def joining(self, cell: Cell) -> dict[Name, int]:
        """Who joins the field: a method in question, at the next smaller budget if it loses least at its smallest yet.

        How many trials each plays.
        """
        (place, privacy), field, played = cell, self.fields[cell], self.seen(cell)
        for policy in dict.fromkeys(policy for policy, _ in _ranked(field, played)[:FINALISTS]):
            *_, last = tried = [name for name in field if name[0] == policy]
            smaller = () if privacy == "none" else self.questions[place].smaller[len(tried) - 1 :]
            if smaller and last == min(tried, key=lambda name: played[name].mean[-1]):
                with contextlib.suppress(InputError):
                    less = _candidate(replace(self.questions[place], epsilon=smaller[0]), registry()[policy], privacy)
                    field.append(_enter(self.pool, less))
        return {name: self.at_first(name) for name in field if name not in played}

    def open(self, cell: Cell) -> dict[Name, int]:
        """Who plays on, and how many trials in all: rivals of the leader, and a leader whose trials are cheap."""
        wanted, played = {}, self.seen(cell)
        names = _undecided(self.fields[cell], played)
        for name in names:
            count = min(self.asked.most, 2 * played[name].count)
            if count > played[name].count and (names[1:] or count * self.each(name) <= CHEAP_SECONDS):
                wanted[name] = count
        return wanted

    def within(self, left: np.ndarray, wanted: dict[Name, int], cell: Cell) -> dict[Name, int]:
        """All ``wanted`` trials; where they exceed the limits, those of who has the fewest, whose errors decide."""
        exceeds = (left - self.cost(wanted, self.counts[cell])).min() < 0
        return {name: count for name, count in wanted.items() if not exceeds or count == min(wanted.values())}

    def leading(self) -> dict[Cell, Name]:
        """The best candidate of each cell by the screening."""
        return {cell: _tied(field, self.seen(cell))[0] for cell, field in self.fields.items()}

    def reporting(self) -> Rounds[tuple[Decision, ...]]:
        """Fresh trials of the leaders, which may choose another finalist, until the losses are precise."""
        chosen, limits, finalists = self.leading(), self.limits * len(self.fields), {}
        for cell, field in self.fields.items():
            tied, rivals = (choose(field, self.seen(cell)) for choose in (_tied, _undecided))
            finalists[cell] = list(dict.fromkeys((*tied, *rivals)))[:FINALISTS]
        for again in range(FINALISTS):  # times that trials have chosen: what is reported is fresh again
            seed, trials, left = self.asked.seed ^ again << 20, self.asked.reported, limits
            while True:
                counts = {name: trials for field in finalists.values() for name in field}
                played = yield from self.playing(counts, seed, left[0], self.so_far)
                better = {cell: _better(chosen[cell], field, played) for cell, field in finalists.items()}
                self.so_far = self.answer(better, played, seed, True)
                needed = max(ENOUGH, *(_needed(played[name], self.screened[name]) for name in chosen.values()))
                if needed <= trials and (_overtaken(better, finalists, played) or self.contradicted(better, played)):
                    needed = 2 * trials
                more = min(2 * trials, MOST, TRIALS * math.ceil(1.1 * needed / TRIALS))
                left = limits - self.cost(dict.fromkeys(counts, more))
                if better != chosen or needed <= trials or self.asked.trials or more <= trials or left.min() < 0:
                    break
                trials = more
            if better == chosen:
                break
            chosen = better
        return self.answer(chosen, played, seed, False)()

    def ordered(self, chosen: Mapping[Cell, Name], played: Mapping[Name, LineResult]) -> dict[Cell, Name]:
        """No cell loses more than a stricter one: it takes over what was chosen there."""
        best: dict[Cell, Name] = {}
        for (place, privacy), own in chosen.items():
            stricter = [name for (at, level), name in best.items() if at <= place and keeps(level, privacy)]
            best[place, privacy] = min((own, *stricter), key=lambda name: played[name].mean[-1])
        return best

    def contradicted(self, chosen: Mapping[Cell, Name], played: Mapping[Name, LineResult]) -> bool:
        """Whether a cell would take over what lost clearly more than its own method in the screening."""
        over = [(name, chosen[cell]) for cell, name in self.ordered(chosen, played).items() if name != chosen[cell]]
        return any(_behind(self.screened[name], self.screened[own], CLEARLY).low > 0 for name, own in over)

    def answer(
        self, chosen: Mapping[Cell, Name], played: Mapping[Name, LineResult], seed: int, more: bool
    ) -> Callable[[], tuple[Decision, ...]]:
        """What makes the decisions from what is known now; ``more`` says that trials follow."""
        seen, best, played = {cell: self.seen(cell) for cell in self.fields}, self.ordered(chosen, played), dict(played)
        most, made = max(max(each.values()) for each in self.counts.values()), max(self.versions)

        def decision(place: int, question: Question) -> Decision:
            lines, done, tried = [], [], list[Tried]()
            for privacy in self.promises:
                cell: Cell = (0 if privacy == "none" else place, privacy)
                if cell not in seen:
                    continue
                own, screened = best[cell], seen[cell]
                whole = getattr(question.epsilon, "fixed", question.epsilon)
                spent = {name: None if name[1] is None else name[1].fixed for name in (*screened, own)}
                methods = {name: Method(name[0], each if each != whole else None) for name, each in spent.items()}
                label = PROMISES[privacy].who + ("" if methods[own].spent is None else ", as at {epsilon}")
                lines.append(self.pool[own].lines[0].model_copy(update={"label": label}))
                done.append(played[own])
                tied, rows = _tied([*screened], screened), []
                for name, method in methods.items():
                    finalist, line = name in played, played.get(name) or screened[name]
                    behind = line.difference(played[own]) if finalist else _behind(line, played[own], CLEARLY, False)
                    lost = line.final()
                    rows.append(Tried(privacy, method, line.count, lost, behind, name == own, finalist, name in tied))
                tried += sorted(rows, key=lambda row: (not row.chosen, row.lost.value))
            trials, times = min(line.count for line in done), checkpoints(self.asked.horizon)
            experiment = next(iter(self.pool.values())).model_copy(update={"trials": trials, "seed": seed})
            result = Result(experiment.with_lines(tuple(lines)), times, tuple(done), bundled_results=made)
            return Decision(result, tuple(tried), most, more)

        return lambda: tuple(map(decision, range(len(self.questions)), self.questions))


def _better(own: Name, field: Sequence[Name], played: Mapping[Name, LineResult]) -> Name:
    """The best of those that are clearly better, or oneself."""
    better = (name for name in field if played[own].difference(played[name], CLEARLY).low > 0)
    return min(better, key=lambda name: played[name].mean[-1], default=own)


def _overtaken(
    chosen: Mapping[Cell, Name], finalists: Mapping[Cell, Sequence[Name]], played: Mapping[Name, LineResult]
) -> bool:
    """Whether a finalist loses less than what is chosen by more than the share `CLOSE`, but not yet clearly."""
    least = {cell: min(played[name].mean[-1] for name in field) for cell, field in finalists.items()}
    return any(played[own].mean[-1] > (1 + CLOSE) * least[cell] for cell, own in chosen.items())


def _needed(line: LineResult, screened: LineResult) -> int:
    """Trials after which a loss is known well enough to be said, by the larger spread: rare losses may be absent."""
    spread, mean = max(line.std[-1], screened.std[-1]), line.mean[-1]
    return math.ceil((spread / (PRECISE * mean)) ** 2) if mean > 0 else 0


def known_words(lost: Estimate) -> str:
    """How well a loss is known, where that is not worth saying without it: `` (known to 8% only)``."""
    share = lost.stderr / lost.value if lost.value else 0.0
    return f" (known to {percent(round(share, 2))} only)" if share > PRECISE else ""


def contests(questions: Sequence[Question], promises: Sequence[Privacy] = COMPARED) -> Rounds[tuple[Decision, ...]]:
    """The best method of each of these trust models for each question; they differ in their budgets only, ascending.

    Raises
    ------
    InputError
        When no policy accepts a question, or one costs more than ``LAB_MAX_STEPS``.
    """
    table = _Table(questions, promises)
    yield from table.screening()
    return (yield from table.reporting())


def contest(question: Question, promises: Sequence[Privacy] = COMPARED) -> Rounds[Decision]:
    """The same for one question."""
    [decision] = yield from contests((question,), promises)
    return decision


class Contest(Study[Decision]):
    """The search for the best method of each trust model; see `contests`. Until it ends it has a first answer."""

    def __init__(self, question: Question, promises: Sequence[Privacy] = COMPARED, store: Store | None = None) -> None:
        super().__init__(contests((question,), promises), store)  # type: ignore[arg-type]

    def result(self) -> Decision | None:
        """The answer, or a first one."""
        found: Any = super().result()
        return None if found is None else found[0]


def best_methods(
    question: Question,
    promises: Sequence[Privacy] = COMPARED,
    jobs: int | None = None,
    store: Store | None = None,
) -> Decision:
    """The best method known of each trust model; see `Contest`."""
    return answer(contest(question, promises), jobs, store)


def known_beforehand(policy: Policy, candidate: Experiment) -> dict[str, Any]:
    """Parameters that were read off the options, as they are for the largest rewards in [0, 1]."""
    [setup] = candidate.setups
    [line] = candidate.lines
    asked = policy.resolve(policy.parameters.model_validate(line.params), line.epsilon)
    largest = (Bernoulli(mean=1.0),) * len(setup.arms)
    settled = policy.settle(replace(setup, arms=largest, parameters=asked))
    return {name: value for name, value in settled.model_dump().items() if value != getattr(setup.parameters, name)}
