"""What the columns of a table can be: which one names the option, which one is the outcome, and what a row is.

What cells hold decides what a column can be; its name only decides which reading is proposed first. Where more than
one reading is possible, it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from bandit_core.data.reading import Questions
from bandit_core.data.tables import WORDS, Sheet, plain
from bandit_core.spec.field_types import visible
from bandit_core.spec.later import pd

MOST = 20  # different options of a column that is proposed
ROWS = {"person": "one person, or one visit", "total": "a total of many people", "wide": "one value for each option"}
_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})(?![\d.])")
_PART = 100_000  # cells that are looked at to see what columns are


def named(name: str, *kinds: str, inside: bool = False) -> bool:
    """Whether a column is called so; ``inside``: also where the word is not the last one of its name."""
    called = plain(name)
    return any(
        called == word or called.endswith(f" {word}") or (inside and f" {word} " in f" {called} ")
        for kind in kinds
        for word in WORDS[kind]
    )


def truth_of(words: Sequence[str]) -> tuple[set[str], bool] | None:
    """Which words say yes, and whether everyone reads them so; None where they are not known to say yes and no."""
    folded = {word.casefold(): word for word in words}
    for place, pair in enumerate(WORDS["pairs"]):
        yes, no = (folded.keys() & {*each.split()} for each in pair)
        if yes and no and len(yes | no) == len(folded):
            return {folded[word] for word in yes}, place == 0
    return None


def negated(word: str, *others: str) -> bool:
    """Whether a word denies something, such as another of the words."""
    said, rest = plain(word), {*map(plain, others)}
    return any(
        said.startswith(no) and (no.endswith(" ") or said.removeprefix(no).strip() in rest) for no in WORDS["negation"]
    )


@dataclass(frozen=True)
class Column:
    """What is known of a column from some of its rows."""

    name: str
    kind: Literal["empty", "chance", "person", "date", "age", "coin", "number", "truth", "words", "constant", "text"]
    whole: bool = False  # numbers without decimals, none of them below 0
    words: tuple[str, ...] = ()  # the different ones, where there are few
    strange: str = ""  # what it looks like that is no outcome
    unit: str = ""  # of its numbers
    low: float = 0.0  # the smallest number, if one is below 0
    high: float = 0.0  # the largest one

    @property
    def is_share(self) -> bool:
        """Whether it seems to have shares of people: it is called so, or is not whole and at most 1."""
        if self.kind != "number" or self.low < 0 or self.high > 100 or named(self.name, "mean", inside=True):
            return False
        return named(self.name, "rate", inside=True) or (self.high <= 1 and not self.whole)

    @property
    def few(self) -> bool:
        """Whether it has few enough different words, or numbers, to be a column of options."""
        return 2 <= len(self.words) <= MOST


def _column(table: Sheet, name: str) -> Column:
    alone = replace(table, frame=table.frame[[name]], questions=Questions())
    first = replace(alone, frame=alone.frame.iloc[:1000]).numbers(name).values
    some = max(_PART // len(table.columns), 1000)
    if len(table.frame) > some:  # of the whole file, which may be sorted by its options or take turns
        long = some // 50
        places = np.linspace(0, len(table.frame) - long, 50).astype(int)
        alone = replace(alone, frame=pd.concat([alone.frame.iloc[at : at + long] for at in places]))
    filled = ~alone.blank(name)
    alone = alone.only(filled)
    rows = len(alone.frame)
    if named(name, "chance"):
        return Column(name, "chance")
    if not rows:
        return Column(name, "empty")
    values, _, unit = alone.numbers(name)
    numbers = values[~np.isnan(values)]
    numeric = 2 * len(numbers) >= rows
    shown = alone.distinct(name)
    words = tuple({word.casefold(): word for word in shown}.values()) if len(shown) <= 3 * MOST else ()
    if numeric and np.isin(numbers, (0.0, 1.0)).all():
        return Column(name, "coin", True, words)
    dates = sum(bool(_DATE.match(word)) for word in shown[:200]) * 2 > len(shown[:200])
    whole = numeric and bool((numbers >= 0).all() and (numbers == np.floor(numbers)).all())
    different = len(shown)
    many = different > MOST or (numeric and 2 * different > rows)
    group = named(name, "arm", inside=True) and different <= MOST
    called = named(name, "id") or (named(name, "person") and many)
    unnamed = table.headed and name.startswith("column ")
    counts = whole and rows >= (2 if unnamed else 10) and bool((np.diff(first) == 1).all())
    if group and numeric and different > 1 and any(map(str.isalpha, "".join(words))):  # such as 5 mg and 10 mg
        return Column(name, "words", words=words)
    if dates or (named(name, "date") and (whole or not numeric)):
        return Column(name, "date", words=words)
    if (called or counts) and not group:
        return Column(name, "person")
    if numeric:
        counted = whole and rows >= MOST and different > 0.95 * rows and alone.frame[name].dtype.kind in "if"
        kinds = (f"a {kind}" for kind in ("price", "cost") if named(name, kind))
        looks = next(kinds, "a number of the row" if counted else "")
        kind: Literal["age", "number"] = "age" if named(name, "age") else "number"
        ends = np.min(numbers, initial=0.0), np.max(numbers, initial=0.0)
        return Column(name, kind, whole, words if different <= MOST else (), looks, unit, *map(float, ends))
    if different == 1 and rows == len(filled):
        return Column(name, "constant", words=words)
    denied = len(words) == 2 and negated(*words) != negated(*words[::-1])
    if truth_of(words) or denied or different == 1:  # also a mark that stands in some cells
        return Column(name, "truth", words=words)
    return Column(name, "words" if 2 <= len(words) <= MOST else "text", words=words)


class Roles:
    """The columns of a table, and what each of them stands for: as someone said, or as is proposed."""

    def __init__(self, table: Sheet, said: Mapping[str, str]) -> None:
        self.table, self.said, self.questions = table, said, table.questions
        self.other = ""  # what counts people beside the successes, where a row is a total
        self.columns = {name: _column(table, name) for name in table.columns}

    def of(self, *kinds: str) -> list[Column]:
        """The columns of these kinds."""
        return [each for each in self.columns.values() if each.kind in kinds]

    def choose(self, question: str, role: str, found: Sequence[Column], looks: str = "") -> str:
        """The column of a role: the said one, the only one there is, or the proposal of several."""
        if role not in self.said and len(found) == 1 and found[0].kind != "date" and not looks:
            return found[0].name
        every = sorted(self.columns.values(), key=lambda each: named(each.name, "person", inside=True))
        choices = {each.name: ", ".join(map(visible, each.words[:4])) for each in found or every}
        return self.questions.put(question, choices, self.columns, looks=looks)

    # ---------------------------------------------------------------------------------------------------------------
    # A row is a person

    @cached_property
    def pairs(self) -> list[tuple[Column, Column]]:
        """Every pair of a column of options and one of outcomes, the likeliest one first."""
        options = self.of("words", "truth", "coin")
        numbers = [each for each in self.of("number") if each.few]
        arms = [each for each in options + numbers if named(each.name, "arm", inside=True)]
        rewards = [each for each in options if each.kind == "coin" and named(each.name, "reward", inside=True)]
        only = not any(each in arms for each in options) or len(rewards) == len(options)
        options += [each for each in numbers if only or each in arms]
        known = self.of("coin", "truth", "number")
        outcomes = [each for each in known if len(each.words) != 1] or known
        pairs = self._joined(options, outcomes)
        if not pairs:  # an outcome in words that no one knows, or options in numbers or dates
            dates = [each for each in self.of("date") if each.few]
            pairs = self._joined(options, self.of("words")) or self._joined([*numbers, *dates], outcomes)
        return sorted(pairs, key=self._score, reverse=True)

    def _joined(self, options: Sequence[Column], outcomes: Sequence[Column]) -> list[tuple[Column, Column]]:
        option, outcome = (self.columns.get(self.said.get(role, "")) for role in ("option", "outcome"))
        return [
            (each, other)
            for each in ([option] if option else options[:MOST])
            for other in ([outcome] if outcome else outcomes[:MOST])
            if each.name != other.name
        ]

    def _score(self, pair: tuple[Column, Column]) -> int:
        option, outcome = pair
        score = 4 * named(option.name, "arm", inside=True) + 2 * (option.kind == "words")
        score -= 2 * (option.kind == "number")
        score += 3 * any(named(word, "baseline") or negated(word) for word in option.words) * (option.kind == "words")
        score -= 3 * named(option.name, "trait", inside=True) + 2 * named(option.name, "reward")
        score += 4 * named(outcome.name, "reward", inside=True) + 2 * (outcome.kind in ("coin", "truth"))
        score -= 3 * named(outcome.name, "trait", inside=True)
        return score - 3 * named(outcome.name, "price", "cost") - 3 * named(outcome.name, "arm", "person", "people")

    def people(self) -> tuple[str, str]:
        """The columns of option and outcome where a row is a person."""
        coins = [each.name for each in self.of("coin") if not named(each.name, "reward", inside=True)]
        if len(coins) > 2 and "option" not in self.said:
            ones = self.table.frame[coins].apply(pd.to_numeric, errors="coerce").sum(axis=1)
            if (ones == 1).all():
                self.questions.put("indicators", columns=", ".join(coins))
        options = list({option.name: option for option, _ in self.pairs}.values()) or self.of("words", "truth")
        option = self.choose("option", "option", options)
        outcomes = [outcome for each, outcome in self.pairs if each.name == option]
        if not outcomes:
            others = [each for each in self.columns.values() if each.name != option]
            outcomes = [each for each in others if each.kind != "person"] or others
            outcomes.sort(key=lambda each: not named(each.name, "reward", inside=True))
            if len(outcomes) == 1 and outcomes[0].kind in ("date", "text"):
                name, kind = outcomes[0].name, outcomes[0].kind
                self.questions.put("times" if kind == "date" else "unread", column=name, cell=self.table.cell(name, 0))
        looks = ""
        if len(outcomes) == 1 and outcomes[0].strange:
            looks = f"{outcomes[0].name} looks like {outcomes[0].strange}. "
            outcomes += [each for each in self.columns.values() if each.name not in (option, outcomes[0].name)]
        return option, self.choose("outcome", "outcome", outcomes, looks)

    # ---------------------------------------------------------------------------------------------------------------
    # A row is a total

    @cached_property
    def labels(self) -> list[Column]:
        """The columns that can say which option a total is of: words, or numbers that are called so, such as doses."""
        doses = [each for each in self.of("number") if each.few and named(each.name, "arm", inside=True)]
        return self.of("words", "truth", "text", "constant", "coin") or doses

    @cached_property
    def counts(self) -> list[tuple[str, str]]:
        """Every pair of columns that can be a number of people and how many of them succeeded, the likeliest first.

        Where there is none, of people and which share of them succeeded.
        """
        numbers = [each for each in self.of("number") if each.whole and not each.is_share]
        quiet = replace(self.table, questions=Questions(self.questions.answers))  # most of these columns are not used
        values = {each.name: quiet.numbers(each.name, whole=True).values for each in numbers[:MOST]}
        found = []
        for people in numbers[:MOST]:
            for wins in numbers[:MOST]:
                inside = values[wins.name] <= values[people.name]
                known = bool(inside[~np.isnan(values[wins.name] + values[people.name])].all())
                counts = named(wins.name, "successes") or not named(wins.name, "people")
                if people is not wins and counts and known and values[people.name].max(initial=0) > 1:
                    found.append((people.name, wins.name))
        if not found:
            shares = [each.name for each in self.of("number") if each.is_share]
            found = [(each.name, share) for each in numbers if named(each.name, "people") for share in shares]
        return sorted(found, key=self._named_counts, reverse=True)

    @property
    def means(self) -> list[str]:
        """The columns of numbers that are called means."""
        return [each.name for each in self.of("number") if named(each.name, "mean", inside=True)]

    def _named_counts(self, pair: tuple[str, str]) -> int:
        people, wins = (named(name, kind) for name, kind in zip(pair, ("people", "successes"), strict=True))
        return 2 * people + wins - named(pair[1], "people") - named(pair[0], "successes", "price", "cost")

    def totals(self) -> tuple[str, str, str]:
        """The columns of option, successes and people where a row is a total."""
        found = [each for each in self.labels if len(each.words) != 1]
        words = [each for each in found if each.kind != "coin"] or found
        ordered = sorted(words, key=lambda each: not named(each.name, "arm", inside=True))
        option = self.choose("option", "option", ordered)
        pairs = [pair for pair in self.counts if option not in pair and self._as_said(*pair)]
        if not pairs:
            numbers = [each.name for each in self.of("number", "coin") if each.name != option]
            outcome = self.said.get("outcome", [option, *numbers, *self.means[:1]][-1])
            self.questions.put("amounts", outcome=outcome)
            weight = self.said.get("weight", outcome)
            return option, outcome, weight if weight in self.columns else outcome
        wins = dict.fromkeys(wins for _, wins in pairs if not named(wins, "people")) or dict.fromkeys(pairs[0][1:])
        outcome = self.choose("successes", "outcome", [self.columns[name] for name in (*wins, *self.means)])
        people = dict.fromkeys(people for people, wins in pairs if wins == outcome) or dict.fromkeys(pairs[0][:1])
        people = {name: None for name in people if named(name, "people")} or people
        self.other = first = next(iter(people))
        if "weight" not in self.said and len(people) == 1 and named(first, "people") and named(outcome, "successes"):
            return option, outcome, first
        shown = {name: self.table.cell(name, 0) for name in (option, outcome, *people)}
        of = "is the share that succeeded of" if self.columns[outcome].is_share else "succeeded of"
        choices = {name: f"{shown[option]}: {shown[outcome]} {of} {shown[name]}" for name in people}
        if len(people) == 1 and not named(first, "people"):
            both = {"both": f"{outcome} and {first} together are all people"}
            choices = both | choices if named(first, "failures") else choices | both
        asked = self.questions.put("weight", choices, self.columns)
        return option, outcome, asked

    def _as_said(self, people: str, wins: str) -> bool:
        return self.said.get("weight", people) in (people, "both") and self.said.get("outcome", wins) == wins

    def weight(self, option: str, outcome: str) -> str:
        """The column that says how many people brought the outcome of a row; empty where a row is a person."""
        others = [each.name for each in self.of("number") if each.whole and each.name not in (option, outcome)]
        likely = [name for name in others if named(name, "people")]
        if "weight" not in self.said and not (likely and self.distinct_rows(outcome)):
            return ""
        choices = {name: "each row is so many people" for name in likely} | {"none": "a row is a person"}
        said = self.questions.put("people", choices, self.columns)
        return "" if said == "none" else said

    def distinct_rows(self, *others: str) -> bool:
        """Whether no two rows agree in all words, dates and ``others``, so that each may stand for many people."""
        names = [each.name for each in (*self.labels, *self.of("date"))]
        names += [name for name in others if name not in names]
        return bool(names) and not pd.DataFrame(self.table.frame[names]).duplicated().any()

    # ---------------------------------------------------------------------------------------------------------------
    # What a row is

    @property
    def alike(self) -> bool:
        """Whether every column has the same kind, and none looks like a person, an age or a date."""
        used = [each for each in self.columns.values() if each.kind != "empty"]
        kinds, units = {each.kind.replace("coin", "number") for each in used}, {each.unit for each in used}
        return len(self.columns) > 1 and len(units) == 1 and kinds in ({"number"}, {"truth"}, {"number", "truth"})

    def rows(self) -> str:
        """What a row is: ``person``, ``total`` or ``wide``; asked where more than one is possible."""
        if "rows" in self.said:
            return self.questions.ask("rows", "", ROWS)
        likely: list[str] = []
        pairs = [each for each in self.counts if self._as_said(*each) and self.said.get("option") not in each]
        measures = ("people", "successes")
        turned = self.of("words")
        turned = [each for each in turned if all(any(named(word, kind) for word in each.words) for kind in measures)]
        if turned and not self.said:
            self.questions.put("turned", column=turned[0].name)
        counts = self.of("number", "person", "age")
        both = [[each.name for each in counts if named(each.name, kind)] for kind in measures]
        common = set.intersection(*({*plain(" ".join(names)).split()} for names in both))
        if min(map(len, both)) > 1 and len(common) > 1:  # such as A visitors, A orders, B visitors, B orders
            self.questions.put("several", columns=", ".join(both[0] + both[1]))
        if self.said.get("weight"):
            return "total" if self._totals_likely(pairs) else "person"
        if both[0] and self.means and self.distinct_rows():
            return "total"
        if pairs and (level := self._totals_likely(pairs)):
            likely += ["total", *(["person"] if level == 1 else [])]
        if self.alike and not {"option", "outcome"} & {*self.said} and "total" not in likely:
            clear = bool(self.pairs) and all(named(each.name, "arm", "reward") for each in self.pairs[0])
            likely += [] if clear else ["wide", *(["person"] if self.pairs else [])]
        if likely in ([], ["total"]):
            return likely[0] if likely else "person"
        return self.questions.put("rows", {each: ROWS[each] for each in likely}, ROWS)

    def _totals_likely(self, counts: Sequence[tuple[str, str]]) -> int:
        """0: a row is no total, 1: it may be one, 2: its columns are called so, and no two rows say the same."""
        if not counts or not self.labels:
            return 0
        known, apart = self._named_counts(counts[0]), self.distinct_rows()
        if known == 3 and apart:
            return 2
        return 1 if apart or known == 3 else 0
