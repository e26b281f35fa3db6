"""The papers: which figures each one has, what it says of them, and which presets draw them again.

One TOML file per paper in ``papers/``, in the order of their ``place``. What a paper says is data; whether it holds is
computed from shipped results by `bandit_core.literature.claims`. Besides the figures, which are played at the paper's
scale, there are studies: the same presets with more trials, or under another reading of what the paper leaves open. A
statement names the study that decides it (else the figure does) and the readings that it is judged under besides.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import load_preset, preset_names
from bandit_core.literature.erratum import Erratum
from bandit_core.spec.errors import Issue, did_you_mean, raise_any, refuse_if, validated
from bandit_core.spec.field_types import Finite, Frozen, Whole

FOLDER = paths.ROOT / "papers"
Reference = str  # "policy or label", or "preset/policy or label" where a figure has several presets
Window = tuple[int, int]  # first and last time over which the regret of every trial is averaged
_JOIN = "--"  # between a preset and a study in the name of a file


class _Claim(Frozen):
    """What a paper says of a figure: ``says`` in our words, ``basis`` whether it is a sentence of the paper, or
    our reading of its theorems and settings. ``study`` decides it (else the figure as drawn); ``readings`` are other
    studies that it is judged by as well."""

    about_a_number: ClassVar[bool] = False  # that the paper prints, in place of an order or a shape

    says: str
    basis: Literal["text", "reading"] = "text"
    study: str = ""
    readings: tuple[str, ...] = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every line that the statement speaks of; none where it is about all lines."""
        return (
            *(getattr(self, name) for name in ("line", "other") if hasattr(self, name)),
            *getattr(self, "lines", ()),
        )

    def windows(self, horizon: int) -> set[Window]:
        """Times at which it needs the regret of every trial, besides the horizon."""
        return {(self.after, self.after)} if hasattr(self, "after") else set()


class Ratio(_Claim):
    """Regret of ``line`` over that of the line without privacy; ``half`` is half a unit of the last printed digit,
    ``runs`` the number of the paper's runs, whose realised regret it plots."""

    about_a_number: ClassVar[bool] = True

    kind: Literal["ratio"]
    line: Reference
    reported: Finite
    half: Finite
    runs: Whole


class Less(_Claim):
    """The first of each pair has the smaller regret, at the horizon or at ``at``; ``rising`` is a chain of pairs.

    ``as_little`` reads "as little as": it has less than `significance.AS_LITTLE` times the regret of the second.
    """

    kind: Literal["less"]
    pairs: tuple[tuple[Reference, Reference], ...] = ()
    rising: tuple[Reference, ...] = ()
    at: Annotated[int, Field(gt=0)] | None = None
    as_little: bool = False

    @property
    def references(self) -> tuple[Reference, ...]:
        return (*(name for pair in self.pairs for name in pair), *self.rising)

    def windows(self, horizon: int) -> set[Window]:
        return {(self.at, self.at)} if self.at is not None and self.at != horizon else set()


class Straight(_Claim):
    """Regret is a straight line in V, or in sqrt(ln(1/delta)) of the lines with a delta: R^2 ``reported``, if the
    paper prints one, and ``at_least`` wanted."""

    kind: Literal["straight"]
    over: Literal["V", "root of ln(1/δ)"] = "V"
    reported: Finite | None = None
    at_least: Finite


class Noise(_Claim):
    """The noise of ``users`` shuffled bits, by the account and not by runs: its standard deviation is a straight line
    in sqrt(ln(1/delta)) over ``deltas``, R^2 ``at_least``."""

    kind: Literal["noise"]
    users: Whole
    epsilon: Finite
    deltas: Annotated[tuple[Finite, ...], Field(min_length=3)]
    at_least: Finite


class Threshold(_Claim):
    """The line with the smallest V has the smallest regret."""

    kind: Literal["threshold"]


class _Pair(_Claim):
    line: Reference
    other: Reference


class Crossing(_Pair):
    """``line`` has less regret than ``other`` early, on average from a thousandth to a tenth of the horizon, and more
    at the end."""

    kind: Literal["crossing"]

    def windows(self, horizon: int) -> set[Window]:
        return {(max(1, horizon // 1000), max(1, horizon // 10))}


class Gap(_Pair):
    """In the typical run the regret of ``line`` above ``other`` does not grow from ``after`` on. The share of runs of
    ``line`` that are stuck is taken from the study ``many``."""

    kind: Literal["gap"]
    after: int
    many: str = ""


class Fading(_Pair):
    """What ``line`` loses beyond ``other``, per user, is less at the horizon than at ``after``."""

    kind: Literal["fading"]
    after: int


class Spread(_Claim):
    """Worst minus best of ``runs`` runs at the horizon: below ``below`` for every line, or ``reaches``, rounded to
    within ``half``."""

    about_a_number: ClassVar[bool] = True

    kind: Literal["spread"]
    lines: tuple[Reference, ...]
    runs: Whole
    below: Finite | None = None
    reaches: Finite | None = None
    half: Finite = 0.0


class Growth(_Claim):
    """In the limit regret grows no faster than t^``at_most``; only the exponent of the last decade can be measured."""

    kind: Literal["growth"]
    line: Reference
    at_most: Finite

    def windows(self, horizon: int) -> set[Window]:
        return {(horizon // 10, horizon // 10)}


class Unchecked(_Claim):
    """No one checked it, and why."""

    kind: Literal["unchecked"]
    why: str


Claim = Annotated[
    Ratio | Less | Straight | Noise | Threshold | Crossing | Gap | Fading | Spread | Growth | Unchecked,
    Field(discriminator="kind"),
]


class Study(Frozen):
    """A change to presets of a paper: other ``trials`` or ``horizon``, the lines of some ``policies`` only, ``params``
    by policy. ``says`` names it; a ``tally`` keeps the final values without their order, which many trials need."""

    name: Annotated[str, Field(pattern="^[a-z0-9-]+$")]
    says: str
    trials: Whole | None = None
    horizon: Whole | None = None
    policies: tuple[str, ...] = ()
    params: dict[str, dict[str, Any]] = {}
    tally: bool = False

    def of(self, preset: str) -> Experiment:
        """The preset with the change made."""
        experiment = load_preset(preset)
        lines = [line for line in experiment.spec()["lines"] if not self.policies or line["policy"] in self.policies]
        for line in lines:
            if line["policy"] in self.params:
                line["params"] = line.get("params", {}) | self.params[line["policy"]]
        changes = {name: value for name in ("trials", "horizon") if (value := getattr(self, name)) is not None}
        title = f"{experiment.title} ({self.says})"[:120]
        return experiment.with_changes(**changes, lines=lines, title=title, note="")


class Figure(Frozen):
    """One figure: ``presets`` draw its panels; ``page`` leads elsewhere where there is nothing to draw."""

    name: str
    title: str
    shows: str
    presets: tuple[str, ...] = ()
    caveat: str = ""
    page: str = ""
    claims: tuple[Claim, ...] = ()

    def presets_for(self, claim: _Claim) -> list[str]:
        """The presets that a statement looks at."""
        named = {name.partition("/")[0] if "/" in name else self.presets[0] for name in claim.references}
        return sorted(named) or list(self.presets[:1])


class Paper(Frozen):
    """One paper and its figures."""

    place: int
    name: str = ""
    short: str
    authors: str
    year: int
    title: str
    where: str
    link: str = ""
    about: str
    studies: tuple[Study, ...] = ()
    figures: Annotated[tuple[Figure, ...], Field(min_length=1)]
    errata: tuple[Erratum, ...] = ()

    @property
    def cited(self) -> str:
        """Surnames and year, as errata name it."""
        *others, last = (name.split()[-1] for name in self.authors.split(", "))
        return f"{', '.join(others)} and {last} {self.year}".removeprefix(" and ")


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper, in the order of ``place``.

    Raises
    ------
    InputError
        When a file says something that is not allowed.
    """
    read = []
    for path in sorted(FOLDER.glob("*.toml")):
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        read.append(validated(Paper, {**content, "name": path.stem}, (path.name,)))
    return tuple(sorted(read, key=lambda paper: paper.place))


@cache
def errata() -> tuple[Erratum, ...]:
    """What is wrong, could be sharper or is left open in the papers, by paper in the order of their years.

    Misprints are there by inspection, without a check; what turned out to be no error stays as withdrawn.
    """
    by_year = sorted(papers(), key=lambda paper: paper.year)
    return tuple(each.model_copy(update={"paper": paper.cited}) for paper in by_year for each in paper.errata)


def erratum_of(name: str) -> Erratum:
    """The erratum of that name.

    Raises
    ------
    InputError
        When there is none.
    """
    by_name = {erratum.name: erratum for erratum in errata()}
    refuse_if(name not in by_name, "name", name, f"no such erratum; allowed: {', '.join(by_name)}")
    return by_name[name]


def figures() -> dict[str, Figure]:
    """Every figure by its name."""
    return {figure.name: figure for paper in papers() for figure in paper.figures}


def paper_of(figure: str) -> Paper:
    """The paper that a figure belongs to."""
    return next(paper for paper in papers() if any(each.name == figure for each in paper.figures))


def study(figure: str, name: str) -> Study:
    """The study of that name of the paper that a figure belongs to."""
    return next(study for study in paper_of(figure).studies if study.name == name)


def file_name(preset: str, study: str = "") -> str:
    """The name of the file with the results of a preset, or of a study of it."""
    return f"{preset}{_JOIN}{study}" if study else preset


@dataclass(frozen=True)
class Played:
    """One file of results: what is played, and when the regret of every trial is kept besides at the end."""

    name: str
    experiment: Experiment
    windows: tuple[Window, ...] = ()
    tally: bool = False


@cache
def played() -> dict[str, Played]:
    """Every file of results by its name, figures before their studies, in the order of the papers."""
    by_name: dict[str, Played] = {}
    for figure in figures().values():
        for preset in figure.presets:
            _add(by_name, preset, load_preset(preset), set(), False)
        for claim in figure.claims:
            if isinstance(claim, Unchecked | Noise):
                continue
            many = (claim.many,) if isinstance(claim, Gap) and claim.many else ()
            for name in dict.fromkeys((claim.study, *claim.readings, *many)):
                for preset in figure.presets_for(claim):
                    chosen = study(figure.name, name) if name else None
                    experiment = load_preset(preset) if chosen is None else chosen.of(preset)
                    tally = chosen is not None and chosen.tally
                    windows = set() if tally else claim.windows(experiment.horizon)
                    _add(by_name, file_name(preset, name), experiment, windows, tally)
    return by_name


def _add(by_name: dict[str, Played], name: str, experiment: Experiment, windows: set[Window], tally: bool) -> None:
    windows |= set(by_name[name].windows) if name in by_name else set()
    by_name[name] = Played(name, experiment, tuple(sorted(windows)), tally)


def reproducible() -> list[str]:
    """Every file that ``reproduce`` computes, in the order of the papers."""
    return list(played())


def files_of(figure: Figure) -> list[str]:
    """The files of a figure: its panels, then the studies of its presets."""
    studies = [name for name in played() if name.partition(_JOIN)[0] in figure.presets and name not in figure.presets]
    return [*figure.presets, *studies]


def readings_of(preset: str) -> dict[str, str]:
    """The files of other readings of a preset that have curves to draw, each with its name in words."""
    figure = next(figure for figure in figures().values() if preset in figure.presets)
    wanted = dict.fromkeys(name for claim in figure.claims for name in claim.readings)
    files = {file_name(preset, name): study(figure.name, name).says for name in wanted}
    return {name: says for name, says in files.items() if name in played() and not played()[name].tally}


def names_of(names: list[str]) -> list[str]:
    """The files that are meant by names of figures, of presets and of files; all of them without names.

    Raises
    ------
    InputError
        When a name is none of these; the message lists what is allowed.
    """
    every = reproducible()
    files = {name: files_of(figure) for name, figure in figures().items() if figure.presets}
    files |= {name: [name] for name in every if name not in files}
    issues = []
    for name in names:
        if name not in files:
            hint = "is a preset, but no figure of a paper;" if name in preset_names() else did_you_mean(name, files)
            issues.append(Issue("name", name, f"{hint} allowed: {', '.join(files)}".lstrip()))
    raise_any(issues)
    return list(dict.fromkeys(file for name in names for file in files[name])) or every
