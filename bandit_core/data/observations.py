"""A practitioner's own options: what was observed of each, as a file says it.

Reading asks and does not guess: see `Reading`. What cannot be used is named with its row (as a spreadsheet counts).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Literal

import numpy as np

from bandit_core.data import reading, tables
from bandit_core.data.columns import MOST, Roles, named, negated, truth_of
from bandit_core.data.reading import ROLES, Questions, Reading, column_words
from bandit_core.data.tables import FEW, MISSING, NO_NUMBERS, WORDS, Numbers, Sheet, Trouble, plain
from bandit_core.spec.budgets import LARGEST, Discrete, Epsilon
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.found import fields_of
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import MAX_OBSERVED, Arm, Bernoulli, Empirical, TwoPoint

MAX_OPTIONS = 100
MAX_DISTINCT = 1000  # more distinct values than that are replaced by as many means of equal weight
CONFIDENCE = 0.95

_SIDES = ("person", "date", "age", "empty")  # kinds of columns that are no options
_BASELINES = {name: place for place, name in enumerate(WORDS["baseline"])}


# ---------------------------------------------------------------------------------------------------------------
# What was observed


@dataclass(frozen=True)
class Option:
    """Observed rewards of one option: distinct values (ascending) and how often each occurred, shape (distinct,)."""

    name: str
    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, rewards: np.ndarray, times: np.ndarray | None = None) -> Option:
        """The option with these rewards, in any order, each of them as many ``times`` as is said (default: once)."""
        rewards = np.asarray(rewards, float) + 0.0
        if times is None:  # as `np.unique` does, in half the memory
            rewards.sort()
            last = np.flatnonzero(np.append(rewards[1:] != rewards[:-1], True)[: len(rewards)])
            rewards = rewards[last]
            return cls(name, rewards, np.diff(last, prepend=-1))
        values, places = np.unique(rewards, return_inverse=True)
        counts = np.bincount(places, times, len(values)).astype(np.int64)  # exact up to 2^53
        return cls(name, values[counts > 0], counts[counts > 0])

    @property
    def count(self) -> int:
        """Number of observations."""
        return int(self.counts.sum())

    @cached_property
    def mean(self) -> float:
        """Mean observed reward."""
        return float(math.fsum(self.values * self.counts) / self.count)

    @cached_property
    def sd(self) -> float:
        """Standard deviation of the observations (NaN for a single one)."""
        if self.count < 2:
            return math.nan
        return math.sqrt(float(self.counts @ (self.values - self.mean) ** 2) / (self.count - 1))

    @property
    def low(self) -> float:
        """Smallest observed reward."""
        return float(self.values[0])

    @property
    def high(self) -> float:
        """Largest observed reward."""
        return float(self.values[-1])

    @property
    def yes_or_no(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """A 95% confidence interval of the mean: Wilson's for yes or no, Student's otherwise.

        None where the data allow none: a single observation, or amounts that are all equal.
        """
        from scipy.special import ndtri, stdtrit  # heavy import, needed by few views

        n, mean = self.count, self.mean
        if self.yes_or_no:
            z = float(ndtri((1 + CONFIDENCE) / 2))
            middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
            half = z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n)) / (1 + z * z / n)
            return (max(0.0, middle - half) if mean else 0.0), (min(1.0, middle + half) if mean < 1 else 1.0)
        if n < 2 or len(self.values) == 1:
            return None
        half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * self.sd / math.sqrt(n)
        return mean - half, mean + half

    def quantile(self, share: float) -> float:
        """The smallest observed reward that at least this share of the observations does not exceed."""
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.count * (1 - 1e-12)))
        return float(self.values[min(place, len(self.values) - 1)])

    def outside(self, low: float, high: float) -> int:
        """Number of observations beyond the limits, which `clipped` cuts to them."""
        return int(self.counts[(self.values < low) | (self.values > high)].sum())

    def clipped(self, low: float, high: float) -> Option:
        """The same observations, those beyond the limits cut to them: what a system sees that fixed them beforehand.

        Raises
        ------
        InputError
            When the limits are none.
        """
        allowed = "the smallest reward must be below the largest one"
        refuse_if(not (math.isfinite(high - low) and low < high), "limits", [low, high], allowed)
        return Option.of(self.name, np.clip(self.values, low, high), self.counts)

    def rescaled(self, low: float, high: float) -> Option:
        """The `clipped` observations with ``low`` moved to 0 and ``high`` to 1.

        Raises
        ------
        InputError
            When the limits are none.
        """
        cut = self.clipped(low, high)
        return Option.of(self.name, (cut.values - low) / (high - low), cut.counts)

    @property
    def summarised(self) -> bool:
        """Whether `arm` keeps the mean but only `MAX_DISTINCT` quantile means of the distribution."""
        return len(self.values) > MAX_DISTINCT

    def arm(self, limits: tuple[float, float] | None = None) -> Arm:
        """The reward distribution that pays what was observed, as often as it was.

        Two values are a two-point distribution (``bernoulli`` for 0 and 1), unless some number of it is too small for
        a spec; up to `MAX_DISTINCT` distinct values keep their exact frequencies (to one in a million where there are
        more observations than that); more are replaced by `MAX_DISTINCT` means of equally large groups of neighbours,
        which keeps the mean. Where ``limits`` will cut the rewards no group reaches across one of them, so that
        the mean of the cut rewards is kept as well.
        """
        share = float(self.counts[-1] / self.count)
        small = any(0 < abs(number) < SMALLEST for number in (self.low, self.high, share))
        if self.yes_or_no and (self.mean == 0 or self.mean >= SMALLEST):
            return Bernoulli(mean=self.mean)
        if len(self.values) == 2 and not small:
            return TwoPoint(low=self.low, high=self.high, p_high=share)
        values, counts = self.values, self.counts
        if self.summarised:
            values, counts = _group_means(values, counts, MAX_DISTINCT, limits or (self.low, self.high))
        counts = _small_counts(counts)
        kept = counts > 0
        return Empirical(values=tuple(values[kept].tolist()), counts=tuple(counts[kept].tolist()))


def _group_means(
    values: np.ndarray, counts: np.ndarray, groups: int, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Means and sizes of about as many groups of neighbours, none of which reaches across a limit; see `Option.arm`."""
    last = np.cumsum(counts)  # observations up to each value
    borders = np.searchsorted(values, limits[0], side="left"), np.searchsorted(values, limits[1], side="right")
    beyond = [last[place - 1] if place else 0 for place in borders]
    ends = np.unique([*np.round(np.linspace(0, last[-1], groups + 1)).astype(np.int64), *beyond])
    sums = np.interp(ends, [0, *last], [0.0, *np.cumsum(values * counts)])
    sizes = np.diff(ends)
    means = np.diff(sums) / sizes
    first, final = (np.searchsorted(last, places, side="right") for places in (ends[:-1], ends[1:] - 1))
    found, places = np.unique(np.clip(means, values[first], values[final]), return_inverse=True)
    return found, np.bincount(places, sizes).astype(np.int64)


def _small_counts(counts: np.ndarray) -> np.ndarray:
    """The same frequencies in the smallest numbers that an empirical distribution takes."""
    counts = counts // reduce(math.gcd, counts.tolist())
    if counts.sum() <= MAX_OBSERVED:
        return counts
    ends = np.round(np.cumsum(counts) * (MAX_OBSERVED / counts.sum()))
    return np.diff(ends, prepend=0).astype(int)


# ---------------------------------------------------------------------------------------------------------------
# What cutting does to the order of the options

_ROUNDING = 1e-12  # share of the largest mean by which equal means may differ
_TRIED = 200  # upper limits that `harmless_limits` tries


def best_of(options: Sequence[Option], limits: tuple[float, float] | None = None) -> np.ndarray:
    """Places of the options with the largest mean, of the rewards as they are or cut to ``limits``."""
    means = [
        option.mean if limits is None else (np.clip(option.values, *limits) * option.counts).sum() / option.count
        for option in options
    ]
    best = max(means) - _ROUNDING * np.abs(means).max()
    return np.flatnonzero(np.array(means) >= best)


def cut_misleads(options: Sequence[Option], limits: tuple[float, float]) -> bool:
    """Whether an option that is not the best has the largest mean, alone or with others, once rewards are cut."""
    return not set(best_of(options, limits)) <= set(best_of(options))


def harmless_limits(options: Sequence[Option], limits: tuple[float, float]) -> tuple[float, float]:
    """Limits around ``limits``, not much wider than needed, which do not mislead (see `cut_misleads`).

    The upper limit moves first, to a number of two digits where one will do; no wider one that was tried misleads.
    """
    widest = min(limits[0], *(option.low for option in options)), max(limits[1], *(option.high for option in options))
    tried = map(_rounded_up, limits[0] + np.geomspace(limits[1] - limits[0], widest[1] - limits[0], _TRIED))
    highs = sorted({limits[1], *(high for high in tried if limits[1] < high < widest[1]), widest[1]}, reverse=True)
    for low in dict.fromkeys((limits[0], widest[0])):
        misled = (place for place, high in enumerate(highs) if cut_misleads(options, (low, high)))
        if (first := next(misled, len(highs))) > 0:
            return low, float(highs[first - 1])
    return widest


def _rounded_up(number: float) -> float:
    """The next number of two digits."""
    place = math.floor(math.log10(abs(number))) - 1 if number else 0
    return float(f"{math.ceil(number / 10.0**place)}e{place}")


# ---------------------------------------------------------------------------------------------------------------
# Reading a file


@dataclass(frozen=True)
class Observations:
    """What a file says: its options, and how many rows it has."""

    options: tuple[Option, ...]
    rows: int
    used: tuple[str, ...] = ()  # option, outcome and what else was used, or a column for each option
    far: tuple[Trouble, ...] = ()  # rewards beyond `near`, where they stand

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest observed reward of all options."""
        return min(option.low for option in self.options), max(option.high for option in self.options)

    @property
    def yes_or_no(self) -> bool:
        """Whether every reward is 0 or 1."""
        return all(option.yes_or_no for option in self.options)

    @cached_property
    def near(self) -> tuple[float, float]:
        """Limits that leave out rewards far from all others; 0 always lies within.

        An end moves inwards where cutting one in a thousand of each option's rewards there (at least one, if the
        option has ten) at least halves the range: a typing error, a stray 2 among 0 and 1.
        """
        (low, high), options = self.limits, self.options
        low = min(0.0, low)
        few = [max(1, option.count // 1000) / option.count if option.count >= 10 else 0.0 for option in options]
        pairs = list(zip(options, few, strict=True))
        inner_high = max(option.quantile(1 - share) for option, share in pairs)
        # a billionth more than the share, as the quantile is the smallest value that holds at least it
        inner_low = min(0.0, *(option.quantile(share + 1e-9 if share else 0.0) for option, share in pairs))
        for _ in range(2):
            if low < inner_high and 2 * (inner_high - low) <= high - low:
                high = inner_high
            if inner_low < high and 2 * (high - inner_low) <= high - low:
                low = inner_low
        return low, high

    def starting_with(self, name: str) -> Observations:
        """The same with this option first, which tests compare the others with.

        Raises
        ------
        InputError
            Where no option has this name.
        """
        names = [option.name for option in self.options]
        refuse_if(name not in names, "first", name, f"one of {', '.join(names[:20])}")
        return replace(self, options=tuple(sorted(self.options, key=lambda option: option.name != name)))

    def holding(self, share: float) -> tuple[float, float]:
        """Limits that at least this share of every option's rewards keeps; 0 is one where no reward is below it.

        They depend on the data, so a system that must be private cannot use them: there, limits are fixed before.
        """
        tail = (1 - share) / (1 if self.limits[0] >= 0 else 2)
        low = min(0.0, *(option.quantile(tail) for option in self.options))
        return low, max(option.quantile(1 - tail) for option in self.options)


_UNFAIR = 1e-6  # p-value of a split


def read_observations(
    data: bytes,
    *,
    option: str | None = None,
    outcome: str | None = None,
    person: str | None = None,
    weight: str | None = None,
    rows: Literal["person", "total", "wide"] | None = None,
    columns: Sequence[str] = (),
    answers: Mapping[str, str] | None = None,
) -> Reading[Observations]:
    """Read observed rewards from a file: CSV, or a sheet of a workbook, of people or of totals.

    Parameters
    ----------
    data
        The content of the file.
    option, outcome
        The columns that say which option each person was given, and what it brought. They are proposed where they are
        not given; where several columns may be meant, there is a doubt.
    person
        The column that names the person; it only serves checks.
    weight
        The column that says how many people a row stands for, or ``none``. With ``rows`` "person" all of them brought
        the outcome, with "total" the outcome is how many of them succeeded.
    rows
        Whether a row is a person, a total, or has a value for each option in a column of its own ("wide").
    columns
        The options, where ``rows`` is "wide" (default: all columns but dates, ages and people).
    answers
        Answers to other doubts, by their keys.

    Raises
    ------
    InputError
        When the file cannot be read as a table, has too many options, is too large, or has a column of propensities.
    """
    given = zip(ROLES, (option, outcome, person, weight, rows), strict=True)
    said: dict[str, str] = {role: name for role, name in given if name is not None}
    return observations_of(tables.read_sheet(data, answers), said, columns)


def observations_of(table: Sheet, answers: Mapping[str, str], columns: Sequence[str] = ()) -> Reading[Observations]:
    """As `read_observations`, of a sheet; among the ``answers`` are those arguments, by their names.

    Raises
    ------
    InputError
        As `read_observations`.
    """
    table = replace(table, questions=Questions(answers, table.questions))
    said = {role: answers[role] for role in ROLES if role in answers}
    for role, name in [*said.items(), *(("columns", name) for name in columns)]:
        if role != "rows" and name not in (*table.columns, *["none", "both"] * (role == "weight")):
            raise tables.refusal(role, name, f"one of the columns: {', '.join(table.columns[:20])}")
    refuse_if(len(table.columns) < 2, "columns", table.columns[0], "at least two columns: the option and the outcome")
    roles = Roles(table, said)
    if chances := roles.of("chance"):
        raise tables.refusal("columns", chances[0].name, WORDS["hints"]["chance"])
    reader, questions = _Reader(roles, "wide" if columns else roles.rows(), columns), table.questions
    possible = "amounts" not in questions.doubts and (reader.form != "person" or bool(roles.pairs))
    found = (each for each in (reader.options() if possible else ()) if each.count)
    options = sorted(found, key=lambda each: _BASELINES.get(plain(each.name), len(_BASELINES) + 1 - negated(each.name)))
    if len(options) < 2 and (possible or not questions.doubts):
        known = f"{options[0].name} is the only one with an outcome" if options else "none has an outcome"
        questions.put("few", found=known)
    elif options and all(option.count == 1 for option in options):
        questions.put("single")
    elif options and reader.form != "wide":
        _check_split(questions, options)

    def made() -> Observations:
        names = tuple(reader.said.values()) or tuple(each.name for each in options)
        seen = Observations(tuple(options), len(table.frame), names)
        low, high = seen.near
        return replace(seen, far=tuple(
            Trouble(reader.table.row(place), column, reader.table.cell(column, place), 1, "lies far from all others")
            for column, values in reader.rewards.items()
            for place in np.flatnonzero((values < low) | (values > high)).tolist()
        ))  # fmt: skip

    shown = {**reader.said, "rows": reader.form}
    used = [*reader.said.values(), *[roles.other] * (reader.said.get("weight") == "both")] or reader.names
    others = [name for name in table.columns if name not in used]
    if others:
        questions.note(f"Not used: {', '.join(others[:5])}{' …' * (len(others) > 5)}.")
    sentence = reader.sentence(options) if options else f"Rows: {len(table.frame):,}."
    return questions.reading(sentence, made, shown)


def _check_split(questions: Questions, options: Sequence[Option]) -> None:
    """Say where the numbers of people are not what equal chances give."""
    from scipy.special import chdtrc  # heavy import

    counts = np.array([option.count for option in options])
    if chdtrc(len(counts) - 1, float(((counts - counts.mean()) ** 2).sum() / counts.mean())) < _UNFAIR:
        questions.say("split", groups=", ".join(f"{option.name} {option.count:,}" for option in options[:5]))


def _ask_to_drop(questions: Questions, column: str, found: list[Trouble], rows: int, never: bool = False) -> None:
    """Ask whether rows that are no use shall be left out, where they are few."""
    count = sum(each.count for each in found)
    kind = "bad" if never or count > FEW * rows else "drop"
    rows_left = f"{count:,} row{'s' * (count > 1)}"
    questions.put(kind, column=column, troubles="; ".join(map(str, found)), rows=rows_left)


class _Reader:
    """The options of a table whose rows are people, totals, or have a value for each option."""

    def __init__(self, roles: Roles, form: str, columns: Sequence[str]) -> None:
        self.roles, self.form, self.questions, self.table = roles, form, roles.questions, roles.table
        self.said: dict[str, str] = {}  # what each column stands for
        self.meaning = ""  # of the words of an outcome
        self.rewards: dict[str, np.ndarray] = {}  # of people, by their columns, NaN where there is none
        self.names = list(columns) or [each.name for each in roles.columns.values() if each.kind not in _SIDES]
        if form == "wide":
            return
        option, outcome, weight = roles.totals() if form == "total" else (*roles.people(), "")
        weight = weight or roles.weight(option, outcome)
        self.said = {"option": option, "outcome": outcome} | ({"weight": weight} if weight else {})
        self.table = self._without_rollups()

    def options(self) -> Iterator[Option]:
        """The options one by one, as all rewards together take much memory."""
        if self.form == "wide":
            yield from self._wide()
            return
        codes, names = self._codes()
        column, weight = self.said["outcome"], self.said.get("weight")
        people = self._counts(self.roles.other if weight == "both" else weight) if weight else None
        values, counts = self._outcomes([column])[0], people
        if self.form == "total" and people is not None:  # of so many people, so many succeeded
            wins = self._shares(column, people) if self.roles.columns[column].is_share else self._counts(column)
            people = people + wins if weight == "both" else people
            codes = self._without_sums(codes, names, people, wins)
            values, codes = np.repeat([1.0, 0.0], len(wins)), np.tile(codes, 2)
            counts = np.concatenate([wins, np.maximum(people - wins, 0)])
            if more := self.table.trouble(column, wins > people, f"is more than {weight}"):
                self.questions.put("bad", column=column, troubles=more[0])
        elif weight and (np.isnan(values) | np.isin(values, (0, 1))).sum() < len(values):
            self.questions.put("amounts", outcome=column)
        else:
            self._check_people(codes)
            values[codes < 0] = math.nan
            self.rewards[column] = values
        for code, name in enumerate(names):
            rows = (codes == code) & ~np.isnan(values)
            yield Option.of(name, values[rows], None if counts is None else counts[rows])

    def _wide(self) -> Iterator[Option]:
        refuse_if(len(self.names) > MAX_OPTIONS, "columns", len(self.names), f"at most {MAX_OPTIONS} options")
        targets, found = self._merged(self.names), self._outcomes(self.names)
        self.rewards = dict(zip(self.names, found, strict=True))
        for target in dict.fromkeys(targets):
            mine = np.concatenate([values for values, name in zip(found, targets, strict=True) if name == target])
            yield Option.of(target[:60], mine[~np.isnan(mine)])

    def _merged(self, names: Sequence[str]) -> list[str]:
        """The names; one that differs from an earlier one in capitals or spaces only is that one, if so answered."""
        first = {plain(name): name for name in reversed(names)}
        merged = [first[plain(name)] for name in names]
        for place, (name, other) in enumerate(zip(names, merged, strict=True)):
            if other != name and self.questions.put("merge", name=name, other=other) == "apart":
                merged[place] = name
        return merged

    def _codes(self) -> tuple[np.ndarray, list[str]]:
        """The option of each row as a code, -1 where there is none, and the names of the codes."""
        codes, names = self.table.words(self.said["option"], MAX_OPTIONS)
        for missing in self.table.trouble(self.said["option"], codes < 0, "has no option"):
            many, column = missing.count > max(1, FEW * len(codes)), self.said["option"]
            if many and self.questions.put("no option", column=column, trouble=missing) == "above":
                codes = codes[np.maximum.accumulate(np.where(codes < 0, 0, np.arange(len(codes))))]
            else:
                self.questions.check(f"Left out: {missing}.")
        merged = [names.index(name) for name in self._merged(names)]
        return np.array([*merged, -1], np.int16)[codes], [name[:60] for name in names]

    def _without_rollups(self) -> Sheet:
        """The rows that do not add up others."""
        rolled = np.zeros(len(self.table.frame), bool)
        for name in self.table.columns:
            rolled |= self.table.says(name, WORDS["rollup"])
        if not rolled.any() or (self.form != "total" and rolled.sum() > max(2, FEW * len(rolled))):
            return self.table
        found = self.table.trouble(self.said["option"], rolled, "adds up others")
        self.questions.note(f"Left out: {found[0]}.")
        return self.table.only(~rolled)

    def _without_sums(self, codes: np.ndarray, names: list[str], people: np.ndarray, wins: np.ndarray) -> np.ndarray:
        """The codes of options, -1 for one of several that is the sum of all others."""
        sums = [np.bincount(codes[codes >= 0], each[codes >= 0], len(names)) for each in (people, wins)]
        for code in range(len(names) if len(names) > 2 else 0):
            if all(each[code] and 2 * each[code] == each.sum() for each in sums):
                self.questions.note(f"Left out, as it adds up all others: {names[code]}.")
                return np.where(codes == code, -1, codes)
        return codes

    def _counts(self, column: str) -> np.ndarray:
        """A column of numbers of people; 0 where it has none."""
        values, found, _ = self.table.numbers(column, whole=True)
        wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
        if found := [*found, *self.table.trouble(column, wrong, "is no number of people")]:
            self.questions.put("bad", column=column, troubles=found[0])
        return np.where(np.isnan(values) | wrong, 0, values).astype(np.int64)

    def _shares(self, column: str, people: np.ndarray) -> np.ndarray:
        """How many people succeeded, where a column has shares of them."""
        values, _, unit = self.table.numbers(column)
        shares = values / 100 if unit != "%" and np.nanmax(values, initial=0.0) > 1 else values
        digits = max(len(f"{share:.12f}".rstrip("0").partition(".")[2]) for share in [0.0, *shares[~np.isnan(shares)]])
        wins = np.round(shares * people)
        broken = np.abs(shares * people - wins) > 0.5000001 * 10.0**-digits * people + 1e-9
        if found := self.table.trouble(column, broken, "of these people is no whole number"):
            self.questions.put("shares", trouble=found[0])
        return np.where(np.isnan(wins), 0, wins).astype(np.int64)

    def _check_people(self, codes: np.ndarray) -> None:
        """Say whether people come in several rows, or were given several options."""
        proposed = [each.name for each in self.roles.of("person") if named(each.name, "id", "person")]
        name = self.roles.said.get("person") or (proposed[0] if proposed else None)
        if name is None:
            return
        self.said["person"] = name
        # A number for each person, with that of the option in its last bits, so that options stand in turn once sorted.
        rows = self.table.hashes(name)
        rows <<= np.uint64(7)
        rows |= np.where(codes < 0, MAX_OPTIONS, codes).astype(np.uint8)
        rows = rows[~self.table.frame[name].isna().to_numpy(bool)]
        rows.sort()
        again = rows[1:] ^ rows[:-1] < 128
        if several := int((again & ~np.append(False, again[:-1])).sum()):
            people = f"{len(rows) - int(again.sum()):,}"
            self.questions.say("several rows", several=f"{several:,}", people=people, column=name)
            other = again & (rows[1:] != rows[:-1]) & (rows[1:] & np.uint64(127) < MAX_OPTIONS)
            if both := len(np.unique(rows[1:][other] >> np.uint64(7))):
                self.questions.say("both", people=f"{both:,}", column=name)

    def sentence(self, options: Sequence[Option]) -> str:
        """What was read, in the words of reading.toml."""
        several = any("several rows" in each for each in self.questions.checks)
        weight, outcome, other = self.said.get("weight"), self.said.get("outcome"), self.roles.other
        row = f"a row is as many people as {weight!r} says" if weight else "one row a person"
        wins = [f"{each.name} {round(each.mean * each.count):,} of {each.count:,}" for each in options[:4]]
        values = {
            "people": f"{sum(option.count for option in options):,} {'rows' if several else 'people'}",
            "names": ", ".join(option.name for option in options[:4]) + " …" * (len(options) > 4),
            "wins": ", ".join(wins + ["…"] * (len(options) > 4)),
            "whole": f"{outcome!r} and {other!r} together" if weight == "both" else repr(weight),
            "row": "several rows a person" if several else row,
        }
        values |= {**self.said, "rows": f"{len(self.table.frame):,}", "meaning": self.meaning}
        return fields_of(reading.__file__, f"read {self.form}", **values)["says"]

    # ---------------------------------------------------------------------------------------------------------------
    # What a person brought

    def _outcomes(self, columns: Sequence[str]) -> list[np.ndarray]:
        """The outcome in each row, NaN where there is none, of columns that are all read alike."""
        if self.form == "total":
            return [np.zeros(0)]
        read = {column: self.table.numbers(column) for column in columns}
        units = {each.unit: name for name, each in read.items() if np.nanmax(np.abs(each.values), initial=0.0) > 0}
        if len(units) > 1:
            message = ", ".join(f"{column}: {unit or 'no unit'}" for unit, column in units.items())
            raise tables.refusal("columns", message, "all options in the same unit; these cannot be compared")
        for column, (values, troubles, _) in read.items():
            texts = 2 * np.isfinite(values).sum() < (~self.table.blank(column)).sum()
            if texts or (troubles and self._says_truth(column)):
                return self._truth(columns)
        return [self._numbers(column, each) for column, each in read.items()]

    def _says_truth(self, column: str) -> bool:
        """Whether a column that has some numbers says yes and no in several ways."""
        found = self.table.different(column)[1]
        words = [word for word in map(str, found[: MOST + 1]) if word.lower() not in NO_NUMBERS]
        return len(found) <= MOST and truth_of(words) is not None

    def _truth(self, columns: Sequence[str]) -> list[np.ndarray]:
        """Columns of words as 1 and 0; asked where anyone may doubt which word is which."""
        cells = [self.table.words(column, MOST) for column in columns]
        words = {word.casefold(): word for _, shown in cells for word in shown if word.lower() not in NO_NUMBERS}
        known = truth_of(list(words.values()))
        if len(words) == 1:  # a mark, or only yes, or only no
            word = next(iter(words))
            known = set() if any(word in no.split() for _, no in WORDS["pairs"]) else {words[word]}, True
        yes = known[0] if known else set[str]()
        ordered = sorted(
            words.values(), key=lambda word: (word not in yes, 2 * negated(word, *words.values()) - named(word, "good"))
        )
        if not (known and known[1]):
            others = {word: ", ".join(each for each in ordered if each != word) for word in ordered}
            choices = {word: f"{word} = 1" + f", {rest} = 0" * bool(rest) for word, rest in others.items()}
            yes = {self.questions.put("yes" if len(words) < 3 else "scale", choices, column=columns[0])}
        self.meaning = f" ({', '.join(sorted(yes))} = 1)" if yes else f" ({next(iter(words.values()), '')} = 0)"
        value = {word: float(shown in yes) for word, shown in words.items()}
        read = []
        for column, (codes, shown) in zip(columns, cells, strict=True):
            values = np.array([*(value.get(word.casefold(), math.nan) for word in shown), math.nan])
            read.append(self._filled(column, values[codes]))
        return read

    def _numbers(self, column: str, read: Numbers) -> np.ndarray:
        """A column of numbers; what is none is left out where that is little, and someone agrees to it."""
        values, found, _ = read
        if found:
            bad = self.table.frame[column][np.isnan(values) & ~self.table.blank(column)]
            _ask_to_drop(self.questions, column, found, len(values), bad.duplicated().any())
        return self._filled(column, self._without_codes(column, values))

    def _without_codes(self, column: str, values: np.ndarray) -> np.ndarray:
        """A column without numbers that say that a value is missing; asked where a number may be such a code."""
        seen = values[~np.isnan(values)]
        low, high = np.min(seen, initial=math.inf), np.max(seen, initial=-math.inf)
        inner = seen[(low < seen) & (seen < high)]
        whole = 0 < low < high and low % 1 == high % 1 == 0
        if whole and not len(inner) and len(values) >= 10:  # such as 1 for yes and 2 for no
            one, two = f"{low:g}", f"{high:g}"
            choices = {one: f"{one} = 1, {two} = 0", two: f"{two} = 1, {one} = 0"}
            said = self.questions.put("two", choices, column=column, low=one, high=two)
            return values if said == "amounts" else np.where(np.isnan(values), values, values == float(said))
        for code, next_one, last in ((low, np.min, high), (high, np.max, low)) if len(inner) else ():
            if code not in WORDS["codes"]:
                continue
            times, gap, span = (seen == code).sum(), abs(code - next_one(inner)), abs(last - next_one(inner))
            told = {"code": f"{code:g}", "times": f"{times:,}"}
            apart = gap >= span or (code < 0 <= next_one(inner) and times > 1)
            if apart and self.questions.put("code", column=column, **told) == "missing":
                values = np.where(values == code, math.nan, values)
        return values

    def _filled(self, column: str, values: np.ndarray) -> np.ndarray:
        """A column whose empty cells are missing; asked where they may mean 0."""
        blank = self.table.blank(column)
        if self.form == "wide":
            last = np.flatnonzero(~blank).max(initial=-1)
            blank = blank & (np.arange(len(blank)) < last)  # below, it is just shorter
        count, seen = int(blank.sum()), values[~np.isnan(values)]
        if not count or not len(seen):
            return values
        unclear = (seen > 0).all() and (count > FEW * len(values) or (seen == seen[0]).all())
        if unclear and self.questions.put("empty", column=column, count=f"{count:,}") == "zero":
            return np.where(blank, 0.0, values)
        left_out = self.table.trouble(column, blank, MISSING)
        self.questions.note(f"Left out: {left_out[0]}.")
        return values


def read_budgets(data: bytes, answers: Mapping[str, str] | None = None) -> Reading[tuple[Epsilon, int]]:
    """Users' own privacy budgets: one number per row, with or without a heading; answers as in `read_observations`.

    Returns
    -------
    distribution, users
        Up to 1,000 distinct budgets keep their exact shares; of more, 1,000 equally spaced quantiles are kept.

    Raises
    ------
    InputError
        When there is no column of budgets, or no one shares anything.
    """
    table = tables.read_sheet(data, answers)
    refuse_if(len(table.columns) != 1, "columns", ", ".join(table.columns), "one column: the ε of one user in each row")
    (column,) = table.columns
    numbers, troubles, unit = table.numbers(column)
    refuse_if(unit, column_words(column), unit, "numbers without a unit: the ε of one user in each row")
    wrong = ~np.isnan(numbers) & (numbers != 0) & ~((numbers >= SMALLEST) & (numbers <= LARGEST))
    what = f"is no budget (0, or {write_number(SMALLEST)} to {write_number(LARGEST)})"
    troubles += table.trouble(column, wrong, what)
    numbers[wrong] = math.nan
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if not len(values) or values[-1] <= 0:
        allowed = "at least one budget above 0" + (f" ({troubles[0]})" if troubles else "")
        raise tables.refusal(column_words(column), None, allowed)
    if troubles:
        _ask_to_drop(table.questions, column, troubles, len(numbers))
    users = int(counts.sum())
    if len(values) > MAX_DISTINCT:
        places = (np.arange(MAX_DISTINCT) + 0.5) / MAX_DISTINCT
        kept = values[np.searchsorted(np.cumsum(counts) / users, places)]
        values, counts = np.unique(kept, return_counts=True)
    law = Discrete(values=tuple(values.tolist()), probs=tuple((counts / counts.sum()).tolist()))
    return table.questions.reading(f"{users:,} users' own budgets.", lambda: (law, users))
