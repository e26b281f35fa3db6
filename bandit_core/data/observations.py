"""A practitioner's own options: observed rewards from a CSV, or typed rates, and the question they pose.

Reading is strict and explains itself: what cannot be used is a `Trouble` with its row (as a spreadsheet counts), its
column and a repair. A reading leaves troubled cells out, but whoever uses it must have agreed to that first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from bandit_core.data.tables import Sheet, Trouble, column_words, read_sheet, refusal
from bandit_core.spec.budgets import LARGEST, Discrete, Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.rewards import MOST_OBSERVED, Arm, Bernoulli, Empirical, TwoPoint

MOST_OPTIONS = 100
MOST_DISTINCT = 1000  # more distinct values than that are replaced by as many means of equal weight
CONFIDENCE = 0.95

_ARM_NAMES = {"arm", "option", "variant", "version", "group", "action", "treatment", "arms", "choice"}
_REWARD_NAMES = {"reward", "value", "outcome", "result", "amount", "success", "converted", "conversion", "rewards"}


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
        """A 95 % confidence interval of the mean: Wilson's for yes or no, Student's otherwise.

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
        """Whether `arm` keeps the mean but only `MOST_DISTINCT` quantile means of the distribution."""
        return len(self.values) > MOST_DISTINCT

    def arm(self) -> Arm:
        """The reward distribution that pays what was observed, as often as it was.

        Two values are a two-point distribution (``bernoulli`` for 0 and 1); up to `MOST_DISTINCT` distinct values keep
        their exact frequencies (to one in a million where there are more observations than that); more are replaced by
        `MOST_DISTINCT` means of equally large groups of neighbours, which keeps the mean.
        """
        if self.yes_or_no:
            return Bernoulli(mean=self.mean)
        if len(self.values) == 2:
            share = float(self.counts[1] / self.count)
            return TwoPoint(low=self.low, high=self.high, p_high=share)
        if self.summarised:
            return Empirical(values=tuple(quantile_means(self.values, self.counts, MOST_DISTINCT).tolist()))
        counts = _small_counts(self.counts)
        kept = counts > 0
        return Empirical(values=tuple(self.values[kept].tolist()), counts=tuple(counts[kept].tolist()))


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


def _small_counts(counts: np.ndarray) -> np.ndarray:
    """The same frequencies in the smallest numbers that an empirical distribution takes."""
    counts = counts // reduce(math.gcd, counts.tolist())
    if counts.sum() <= MOST_OBSERVED:
        return counts
    exact = counts * (MOST_OBSERVED / counts.sum())
    whole = np.floor(exact).astype(int)
    left = MOST_OBSERVED - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole


def chances_of_being_best(options: Sequence[Option], draws: int = 20_000) -> np.ndarray:
    """How likely each option has the largest true mean, given its observations; shape (options,).

    Rates have a uniform prior; amounts are taken as normally distributed around the observed mean. Where an option
    leaves its own error unknown (see `Option.interval`) nothing can be said: all NaN.
    """
    random = np.random.default_rng(0)
    samples = np.empty((len(options), draws))
    for place, option in enumerate(options):
        if option.yes_or_no:
            won = option.mean * option.count
            samples[place] = random.beta(1 + won, 1 + option.count - won, draws)
        elif option.interval is None:
            return np.full(len(options), np.nan)
        else:
            samples[place] = random.normal(option.mean, option.sd / math.sqrt(option.count), draws)
    return np.bincount(samples.argmax(axis=0), minlength=len(options)) / draws


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

    def holding(self, share: float) -> tuple[float, float]:
        """Limits that at least this share of every option's rewards keeps; 0 is one where no reward is below it.

        They depend on the data, so a system that must be private cannot use them: there, limits are fixed before.
        """
        tail = (1 - share) / (1 if self.limits[0] >= 0 else 2)
        low = min(0.0, *(option.quantile(tail) for option in self.options))
        return low, max(option.quantile(1 - tail) for option in self.options)


def _is_long(table: Sheet) -> tuple[str, str] | None:
    """The columns of arm and reward, if the table has that form."""
    columns = table.columns
    names = {name.strip().lower(): name for name in columns}
    arm = next((names[name] for name in names if name in _ARM_NAMES), None)
    reward = next((names[name] for name in names if name in _REWARD_NAMES), None)
    if arm and reward:
        return arm, reward
    if len(columns) != 2:
        return None
    shares = []
    for name in columns:
        head = replace(table, frame=table.frame[[name]].dropna().head(1000))
        shares.append(float((~np.isnan(head.numbers(name))).mean()) if len(head.frame) else 1.0)
    if shares[0] < 0.5 <= shares[1]:
        return columns[0], columns[1]
    if shares[1] < 0.5 <= shares[0]:
        return columns[1], columns[0]
    return None


def read_observations(data: bytes) -> Observations:
    """Read observed rewards from what `read_sheet` takes: one column per option, or two, with option and reward.

    Raises
    ------
    InputError
        When the file cannot be read as such a table, holds fewer than two options or too many, or is too large.
        Every problem names its row or column.
    """
    table = read_sheet(data)
    notes: set[str] = set()
    pair = _is_long(table)
    options, layout, troubles = _long(table, *pair, notes) if pair else _wide(table, notes)
    if len(options) < 2:
        told = f"{options[0].name} is the only option" if options else "no option has a number"
        allowed = f"{told}; at least two are needed: one column each, or two columns with option and reward"
        if troubles:
            allowed += f" ({troubles[0]})"
        raise refusal("columns", ", ".join(table.columns), allowed)
    return Observations(options, len(table.frame), layout, (*table.notes, *sorted(notes)), tuple(troubles))


def _wide(table: Sheet, notes: set[str]) -> tuple[tuple[Option, ...], str, list[Trouble]]:
    columns = table.columns
    if len(columns) > MOST_OPTIONS:
        raise refusal("columns", len(columns), f"at most {MOST_OPTIONS} options; is this the right file?")
    options, troubles = [], []
    for column in columns:
        numbers, blank = table.numbers(column, notes), table.blank(column)
        found = table.trouble(column, numbers)
        rewards = numbers[~np.isnan(numbers)]
        if not len(rewards):
            first = found[0] if found else Trouble(table.first_row, column, "", 1, "", "")
            what = "is no number, and no cell of this column is" if found else "this column is empty"
            troubles.append(replace(first, count=1, what=what, repair="leave this column out"))
            continue
        troubles += found
        filled = np.flatnonzero(~blank)
        inside = np.flatnonzero(blank[: filled[-1]])  # below its last number, a column is just shorter
        if len(inside):
            row = table.row(int(inside[0]))
            troubles.append(Trouble(row, column, "", len(inside), "the cell is empty", "leave these cells out"))
        options.append(Option.of(column, rewards))
    return tuple(options), "one column per option", troubles


def _long(table: Sheet, arm: str, reward: str, notes: set[str]) -> tuple[tuple[Option, ...], str, list[Trouble]]:
    codes, names = table.words(arm, MOST_OPTIONS)
    numbers, blank = table.numbers(reward, notes), table.blank(reward)
    empty = table.blank(arm) & blank  # blank lines
    if len(table.columns) > 2:
        others = [name for name in table.columns if name not in (arm, reward)]
        notes.add(f"Other columns were not used: {', '.join(others[:5])}{' …' if len(others) > 5 else ''}.")
    troubles = [replace(trouble, repair="drop these rows") for trouble in table.trouble(reward, numbers)]
    for column, missing in ((arm, (codes < 0) & ~empty), (reward, blank & ~empty)):
        places = np.flatnonzero(missing)
        if len(places):
            row = table.row(int(places[0]))
            troubles.append(Trouble(row, column, "", len(places), "the cell is empty", "drop these rows"))
    usable = (codes >= 0) & ~np.isnan(numbers)
    codes, numbers = codes[usable], numbers[usable]
    options = [Option.of(name[:60], numbers[codes == code]) for code, name in enumerate(names) if (codes == code).any()]
    return tuple(options), f"two columns: {arm} (option) and {reward} (reward)", troubles


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
        When there is no column of budgets, or nobody shares anything.
    """
    table = read_sheet(data)
    if len(table.columns) != 1:
        raise refusal("columns", ", ".join(table.columns), "one column only: the ε of one user in each row")
    (column,) = table.columns
    numbers = table.numbers(column)
    troubles = table.trouble(column, numbers)
    wrong = np.flatnonzero(~np.isnan(numbers) & ((numbers < 0) | (numbers > LARGEST)))
    if len(wrong):
        value = f"{numbers[wrong[0]]:g}"
        what = f"is no budget (0 to {LARGEST:g})"
        troubles.append(Trouble(table.row(int(wrong[0])), column, value, len(wrong), what, "drop these rows"))
        numbers[wrong] = math.nan
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if not len(values) or values[-1] <= 0:
        allowed = "at least one budget above 0" + (f" ({troubles[0]})" if troubles else "")
        raise refusal(column_words(column), None, allowed)
    users = int(counts.sum())
    if len(values) > MOST_DISTINCT:
        places = (np.arange(MOST_DISTINCT) + 0.5) / MOST_DISTINCT
        kept = values[np.searchsorted(np.cumsum(counts) / users, places)]
        values, counts = np.unique(kept, return_counts=True)
    shares = counts / counts.sum()
    return Discrete(values=tuple(values.tolist()), probs=tuple(shares.tolist())), users, tuple(troubles)
