"""A practitioner's own options: observed rewards from a CSV, or typed rates, and the question they pose.

Reading is strict and explains itself: what cannot be used is a `Trouble` with its row (as a spreadsheet counts), its
column and a repair. A reading leaves troubled cells out, but whoever uses it must have agreed to that first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from bandit_core.data.tables import TRUTH_READ, WORDS, Sheet, Trouble, column_words, read_sheet, refusal
from bandit_core.spec.budgets import LARGEST, Discrete, Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import MAX_OBSERVED, Arm, Bernoulli, Empirical, TwoPoint

MAX_OPTIONS = 100
MAX_DISTINCT = 1000  # more distinct values than that are replaced by as many means of equal weight
CONFIDENCE = 0.95

DRAWN_AGAIN = "Each option's rewards are drawn again, which is right if users were given their options at random."

_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?![\d.])")
_BASELINES = {name: place for place, name in enumerate(WORDS["baseline"])}
NO_LOG_OF_A_LEARNER = (
    "no column of propensities: such a file is a learner's log, whose means mislead, and evaluating logs is not what "
    "this tool does. If these are no chances of being shown an option, give the column another name"
)


# ---------------------------------------------------------------------------------------------------------------
# What was observed


@dataclass(frozen=True)
class Option:
    """Observed rewards of one option: distinct values (ascending) and how often each occurred, shape (distinct,)."""

    name: str
    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, rewards: np.ndarray) -> Option:
        """The option with these rewards, in any order."""
        values, counts = np.unique(np.asarray(rewards, float) + 0.0, return_counts=True)
        return cls(name, values, counts)

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
            return max(0.0, middle - half), min(1.0, middle + half)
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
        _check_limits(low, high)
        return self._moved(np.clip(self.values, low, high))

    def rescaled(self, low: float, high: float) -> Option:
        """The `clipped` observations with ``low`` moved to 0 and ``high`` to 1.

        Raises
        ------
        InputError
            When the limits are none.
        """
        _check_limits(low, high)
        return self._moved(np.clip((np.clip(self.values, low, high) - low) / (high - low), 0.0, 1.0))

    def _moved(self, to: np.ndarray) -> Option:
        """The values at their new places; what meets there (cut, or nearer than rounding) becomes one value."""
        values, places = np.unique(to, return_inverse=True)
        counts = np.zeros(len(values), self.counts.dtype)
        np.add.at(counts, places, self.counts)
        return replace(self, values=values, counts=counts)

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
        if self.summarised and (limits is None or not self.outside(*limits)):
            return Empirical(values=tuple(quantile_means(values, counts, MAX_DISTINCT).tolist()))
        if self.summarised and limits is not None:
            values, counts = _group_means(values, counts, MAX_DISTINCT, limits)
        counts = _small_counts(counts)
        kept = counts > 0
        return Empirical(values=tuple(values[kept].tolist()), counts=tuple(counts[kept].tolist()))


def _check_limits(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError([Issue("limits", [low, high], "the smallest reward must be below the largest one")])


def quantile_means(values: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """Means of ``groups`` equally large parts of a sorted sample; their mean is that of the sample.

    Parameters
    ----------
    values, counts
        Distinct values, ascending, and their frequencies, shape (distinct,).
    groups
        Number of parts; observations on a border are shared between its two parts.
    """
    weight = np.concatenate([[0.0], np.cumsum(counts / counts.sum())])
    weight[-1] = 1.0
    gathered = np.concatenate([[0.0], np.cumsum(values * counts / counts.sum())])
    means = np.diff(np.interp(np.linspace(0, 1, groups + 1), weight, gathered)) * groups
    return np.clip(means, values[0], values[-1])


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
    exact = counts * (MAX_OBSERVED / counts.sum())
    whole = np.floor(exact).astype(int)
    left = MAX_OBSERVED - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole


# ---------------------------------------------------------------------------------------------------------------
# What cutting does to the order of the options

_ROUNDING = 1e-12  # share of the largest mean by which equal means may differ
_TRIED = 200  # upper limits that `harmless_limits` tries


def _best(means: np.ndarray) -> np.ndarray:
    """Which options have the largest mean, but for rounding; ``means`` and result (options, ...)."""
    best = means.max(axis=0)
    return means >= best - _ROUNDING * np.abs(means).max(axis=0)


def best_of(options: Sequence[Option], limits: tuple[float, float] | None = None) -> np.ndarray:
    """Places of the options with the largest mean, of the rewards as they are or cut to ``limits``."""
    seen = options if limits is None else [option.clipped(*limits) for option in options]
    return np.flatnonzero(_best(np.array([option.mean for option in seen])))


def cut_misleads(options: Sequence[Option], limits: tuple[float, float]) -> bool:
    """Whether an option that is not the best has the largest mean, alone or with others, once rewards are cut."""
    return not set(best_of(options, limits)) <= set(best_of(options))


def harmless_limits(options: Sequence[Option], limits: tuple[float, float]) -> tuple[float, float]:
    """Limits around ``limits``, not much wider than needed, which do not mislead (see `cut_misleads`).

    The upper limit moves first, to a number of two digits where one will do; no wider one that was tried misleads.
    """
    lowest, highest = min(option.low for option in options), max(option.high for option in options)
    best = np.isin(np.arange(len(options)), best_of(options))[:, None]
    widest = max(limits[1], highest)
    tried = map(_rounded_up, limits[0] + np.geomspace(limits[1] - limits[0], widest - limits[0], _TRIED))
    highs = np.unique([limits[1], *(high for high in tried if limits[1] < high < highest), widest])
    for low in dict.fromkeys((limits[0], min(limits[0], lowest))):
        means = np.array([_cut_means(option, low, highs) for option in options])
        misled = (_best(means) & ~best).any(axis=0)
        first = int(np.flatnonzero(misled)[-1]) + 1 if misled.any() else 0
        if first < len(highs) and not cut_misleads(options, (low, float(highs[first]))):
            return low, float(highs[first])
    return min(limits[0], lowest), float(highs[-1])


def _rounded_up(number: float) -> float:
    """The next number of two digits."""
    place = math.floor(math.log10(abs(number))) - 1 if number else 0
    return float(f"{math.ceil(number / 10.0**place)}e{place}")


def _cut_means(option: Option, low: float, highs: np.ndarray) -> np.ndarray:
    """Mean of an option's rewards cut to [low, high] for each of ``highs``, shape (highs,)."""
    counts, sums = np.cumsum(option.counts), np.cumsum(np.maximum(option.values, low) * option.counts)
    places = np.searchsorted(option.values, highs, side="right")
    below, total = np.concatenate([[0], counts])[places], np.concatenate([[0.0], sums])[places]
    return (total + (option.count - below) * highs) / option.count


# ---------------------------------------------------------------------------------------------------------------
# Reading a CSV


@dataclass(frozen=True)
class Observations:
    """What a CSV says: its options, how it was read, and what had to be left out."""

    options: tuple[Option, ...]
    rows: int
    layout: str
    notes: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    offered: tuple[str, ...] = ()  # all columns of the file
    used: tuple[str, ...] = ()  # option and reward, or a column per option
    long: bool = False
    far: tuple[Trouble, ...] = ()  # rewards beyond `near`, where they stand

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest observed reward of all options."""
        return min(option.low for option in self.options), max(option.high for option in self.options)

    @property
    def inside_unit(self) -> bool:
        """Whether every reward lies in [0, 1], as the bounded mechanisms need it."""
        low, high = self.limits
        return low >= 0 and high <= 1

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
        return _near(self.options)

    def starting_with(self, name: str) -> Observations:
        """The same with this option first, which tests compare the others with.

        Raises
        ------
        InputError
            Where no option has this name.
        """
        names = [option.name for option in self.options]
        if name not in names:
            raise InputError([Issue("first", name, f"one of {', '.join(names[:20])}")])
        return replace(self, options=tuple(sorted(self.options, key=lambda option: option.name != name)))

    def holding(self, share: float) -> tuple[float, float]:
        """Limits that at least this share of every option's rewards keeps; 0 is one where no reward is below it.

        They depend on the data, so a system that must be private cannot use them: there, limits are fixed before.
        """
        tail = (1 - share) / (1 if self.limits[0] >= 0 else 2)
        low = min(0.0, *(option.quantile(tail) for option in self.options))
        return low, max(option.quantile(1 - tail) for option in self.options)


def _near(options: Sequence[Option]) -> tuple[float, float]:
    low, high = min(0.0, *(option.low for option in options)), max(option.high for option in options)
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


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.strip().lower())


def _is_side(table: Sheet, name: str, numbers: np.ndarray) -> bool:
    """Whether a column numbers or dates the rows instead of holding rewards."""
    if (_plain(name) in WORDS["side"] or _plain(name).endswith(" id")) and not np.isin(numbers, (0.0, 1.0)).all():
        return True
    unnamed = table.headed and name.startswith("column ")
    return len(numbers) >= (2 if unnamed else 10) and bool((np.diff(numbers) == 1).all())


def _is_dated(table: Sheet, name: str) -> bool:
    """Whether most cells of a column are dates, with or without a time."""
    cells = table.frame[name].dropna()
    return len(cells) > 0 and 2 * sum(bool(_DATE.match(str(cell))) for cell in cells) > len(cells)


def _is_long(table: Sheet) -> tuple[str, str] | None:
    """The columns of arm and reward, if the table has that form: known names, or one of words and one of numbers."""
    columns = table.columns
    names = {_plain(name): name for name in reversed(columns)}
    arm = next((names[name] for name in names if name in WORDS["arm"]), None)
    reward = next((names[name] for name in names if name in WORDS["reward"]), None)
    if arm and reward:
        return arm, reward
    spoken, counted = [], []
    for name in columns:
        head = replace(table, frame=table.frame[[name]][~table.blank(name, missing=True)].head(1000))
        numbers = head.numbers(name).values
        share = float((~np.isnan(numbers)).mean()) if len(numbers) else 1.0
        if len(columns) > 2 and (_is_side(head, name, numbers) or _is_dated(head, name)):
            continue
        if share >= 0.5:
            counted.append(name)
        elif len(columns) == 2 or 2 * head.frame[name].nunique() <= len(numbers):
            spoken.append(name)
    return (spoken[0], counted[0]) if len(spoken) == len(counted) == 1 else None


def read_observations(data: bytes, columns: Sequence[str] = (), long: bool = False) -> Observations:
    """Read observed rewards from what `read_sheet` takes: one column per option, or two, with option and reward.

    Parameters
    ----------
    data
        The content of a CSV file.
    columns
        Which columns to use, each an option, or option and reward where ``long``; else they are looked for.

    Raises
    ------
    InputError
        When the file cannot be read as such a table, holds fewer than two options or too many, or is too large, and
        when it has a column of propensities. Every problem names its row or column.
    """
    table = read_sheet(data)
    if chances := [name for name in table.columns if _plain(name) in WORDS["chance"]]:
        raise refusal("columns", chances[0], NO_LOG_OF_A_LEARNER)
    if missing := [name for name in columns if name not in table.columns]:
        raise refusal("columns", ", ".join(missing), f"columns of the file: {', '.join(table.columns[:20])}")
    if long and len(set(columns)) != 2:
        raise refusal("columns", ", ".join(columns), "two different columns: option and reward")
    notes: set[str] = set()
    pair = (columns[0], columns[1]) if long else None if columns else _is_long(table)
    samples, layout, troubles = _long(table, *pair, notes) if pair else _wide(table, columns, notes)
    samples, alike = _merged(table, samples, pair[0] if pair else "")
    samples.sort(key=lambda sample: _BASELINES.get(_plain(sample[0]), len(_BASELINES)))
    troubles += alike
    options = tuple(Option.of(name, rewards) for name, rewards, _ in samples)
    if len(options) < 2:
        message = f"{options[0].name} is the only option" if options else "no option has a number"
        allowed = f"{message}; at least two are needed: one column each, or two columns with option and reward"
        if troubles:
            allowed += f" ({troubles[0]})"
        raise refusal("columns", ", ".join(table.columns), allowed)
    if pair and all(option.count == 1 for option in options):
        notes.add("Each option has one row only: if rows are totals, this is no table of users; type rates instead.")
    limits = _near(options)
    far = [trouble for sample in samples for trouble in _far(table, *sample, limits, pair[1] if pair else "")]
    return Observations(
        options, len(table.frame), layout, (*table.notes, *sorted(notes)), tuple(troubles), tuple(table.columns),
        pair or tuple(option.name for option in options), bool(pair), tuple(far),
    )  # fmt: skip


_Sample = tuple[str, np.ndarray, np.ndarray]  # an option, its rewards, and the places of their rows


def _merged(table: Sheet, samples: Sequence[_Sample], column: str) -> tuple[list[_Sample], list[Trouble]]:
    """Options whose names differ in capitals or spaces only are counted as one, which someone must agree to."""
    merged: dict[str, _Sample] = {}
    troubles = []
    for name, rewards, places in samples:
        first = merged.setdefault(_plain(name), (name, rewards[:0], places[:0]))
        if first[0] != name:
            what, repair = f"may be the same option as {first[0]!r}", f"count {name!r} as {first[0]!r}"
            row = table.row(int(places[0]))
            troubles.append(Trouble(row, column or name, name, len(rewards), what, repair, kept=True))
        whole = np.concatenate([first[1], rewards]), np.concatenate([first[2], places])
        merged[_plain(name)] = (first[0], *whole)
    return list(merged.values()), troubles


def _far(
    table: Sheet, name: str, rewards: np.ndarray, places: np.ndarray, limits: tuple[float, float], column: str
) -> list[Trouble]:
    """The rewards of an option beyond the limits, one by one; ``column`` is that of all rewards, if there is one."""
    what = f"({name[:40]}) lies far from all others" if column else "lies far from all others"
    beyond = np.flatnonzero((rewards < limits[0]) | (rewards > limits[1]))
    return [
        Trouble(table.row(int(places[place])), column or name, f"{rewards[place]:.12g}", 1, what, "")
        for place in beyond
    ]


def _wide(table: Sheet, chosen: Sequence[str], notes: set[str]) -> tuple[list[_Sample], str, list[Trouble]]:
    columns = list(chosen) or table.columns
    if len(columns) > MAX_OPTIONS:
        raise refusal("columns", len(columns), f"at most {MAX_OPTIONS} options; is this the right file?")
    samples: list[_Sample] = []
    troubles: list[Trouble] = []
    units: dict[str, str] = {}
    for column in columns:
        read, blank = table.numbers(column, notes), table.blank(column)
        kept = np.flatnonzero(~np.isnan(read.values))
        if not chosen and _is_side(table, column, read.values):
            notes.add(f"Not used, as it seems to number or date the rows: {column_words(column)}.")
            continue
        if not len(kept):
            first = read.troubles[0] if read.troubles else Trouble(table.row(0), column, "", 1, "", "")
            what = "is no number, and no cell of this column is" if read.troubles else "this column is empty"
            troubles.append(replace(first, count=1, what=what, repair="leave this column out", kept=False))
            continue
        troubles += read.troubles
        if read.values[kept].any():
            units[read.unit] = column
        inside = np.flatnonzero(blank[: np.flatnonzero(~blank)[-1]])  # below its last cell, a column is just shorter
        if len(inside):
            row = table.row(int(inside[0]))
            troubles.append(Trouble(row, column, "", len(inside), "the cell is empty", "leave these cells out"))
        samples.append((column, read.values[kept], kept))
    if len(units) > 1:
        message = ", ".join(f"{column}: {unit or 'no unit'}" for unit, column in units.items())
        raise refusal("columns", message, "all options in the same unit; these cannot be compared")
    return samples, "one column per option", troubles


def _long(table: Sheet, arm: str, reward: str, notes: set[str]) -> tuple[list[_Sample], str, list[Trouble]]:
    codes, names = table.words(arm, MAX_OPTIONS)
    numbers, found, _ = table.numbers(reward, notes)
    notes.add(DRAWN_AGAIN)
    if others := [name for name in table.columns if name not in (arm, reward)]:
        notes.add(f"Other columns were not used: {', '.join(others[:5])}{' …' if len(others) > 5 else ''}.")
    drop = "drop these rows"
    troubles = [trouble if trouble.kept else replace(trouble, repair=drop) for trouble in found]
    for column, missing in ((arm, codes < 0), (reward, table.blank(reward))):
        places = np.flatnonzero(missing)
        if len(places):
            value = table.cell(column, places[0])
            what = "says that the option is missing" if value else "the cell is empty"
            troubles.append(Trouble(table.row(int(places[0])), column, value, len(places), what, drop))
    samples = []
    for code, name in enumerate(names):
        kept = np.flatnonzero((codes == code) & ~np.isnan(numbers))
        if len(kept):
            samples.append((name[:60], numbers[kept], kept))
    return samples, f"two columns: {arm} (option) and {reward} (reward)", troubles


def read_budgets(data: bytes) -> tuple[Epsilon, int, tuple[Trouble, ...]]:
    """Users' own privacy budgets: one number per row, with or without a heading.

    Returns
    -------
    distribution, users, troubles
        Up to 1,000 distinct budgets keep their exact shares; of more, 1,000 equally spaced quantiles are kept.
        ``troubles`` are the cells left out.

    Raises
    ------
    InputError
        When there is no column of budgets, or no one shares anything.
    """
    table = read_sheet(data)
    if len(table.columns) != 1:
        raise refusal("columns", ", ".join(table.columns), "one column only: the ε of one user in each row")
    (column,) = table.columns
    notes: set[str] = set()
    numbers, troubles, unit = table.numbers(column, notes)
    if unit or TRUTH_READ in notes:
        raise refusal(
            column_words(column), unit or "yes or no", "numbers without a unit: the ε of one user in each row"
        )
    wrong = np.flatnonzero(~np.isnan(numbers) & (numbers != 0) & ~((numbers >= SMALLEST) & (numbers <= LARGEST)))
    if len(wrong):
        value = f"{numbers[wrong[0]]:g}"
        what = f"is no budget (0, or {write_number(SMALLEST)} to {write_number(LARGEST)})"
        troubles.append(Trouble(table.row(int(wrong[0])), column, value, len(wrong), what, "drop these rows"))
        numbers[wrong] = math.nan
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if not len(values) or values[-1] <= 0:
        allowed = "at least one budget above 0" + (f" ({troubles[0]})" if troubles else "")
        raise refusal(column_words(column), None, allowed)
    users = int(counts.sum())
    if len(values) > MAX_DISTINCT:
        places = (np.arange(MAX_DISTINCT) + 0.5) / MAX_DISTINCT
        kept = values[np.searchsorted(np.cumsum(counts) / users, places)]
        values, counts = np.unique(kept, return_counts=True)
    shares = counts / counts.sum()
    return Discrete(values=tuple(values.tolist()), probs=tuple(shares.tolist())), users, tuple(troubles)
