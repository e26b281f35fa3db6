"""Studies as files: a spec, axes to vary it along, and what to record; every combination is played once.

    spec = "trust"                     # a preset, a file beside this one, or a table with a whole spec
    policies = ["ucb", "dp-klucb"]     # in place of the spec's lines
    trials = 100
    record = "end"                     # regret at the horizon; "curves": at every checkpoint

    [axes]
    epsilon = [0.3, 1, 3]              # of every private line
    arms = [2, 10]                     # one of the spec's best mean, all others a gap below
    gap = [0.1, 0.2]
    horizon = [1000, 10000]
    seed = [0, 1]
    params.alpha = [2, 3]              # of every line that has such a parameter

Blocks of trials are stored when they are finished, whoever asks for them: a study that was killed goes on where it was.

The table that a study wrote, read again: what varies, and every line at one place of it.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from bandit_core import paths
from bandit_core.data.spreadsheets import read_csv
from bandit_core.experiments.arguments import document_of
from bandit_core.experiments.experiment import MAX_ARMS, Experiment, Line, read_document
from bandit_core.experiments.presets import shared_budget
from bandit_core.policies import registry, unknown_policy
from bandit_core.simulation.costs import estimated_seconds
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.questions import Round, Rounds, Study
from bandit_core.simulation.results import (
    BOLD,
    COMPARISON_COLUMNS,
    LEVEL,
    TRIAL_COLUMNS,
    Bold,
    Result,
    Shown,
    holm,
    latex,
    markdown,
    not_beaten,
    versions,
    with_origin,
    with_title,
)
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import LARGEST, BudgetDistribution
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if, validated
from bandit_core.spec.field_types import Frozen, Number, Whole
from bandit_core.spec.later import pd
from bandit_core.spec.notation import write_value
from bandit_core.spec.number_text import with_error
from bandit_core.studies.best_method import COMPARED
from bandit_core.studies.sweep import at_budget
from bandit_core.studies.tradeoff import first_of, weaker

MAX_POINTS = 10_000
T = TypeVar("T")
Several = Annotated[tuple[T, ...], Field(min_length=1)]


class Axes(Frozen):
    """What is varied; every combination of the values is a point."""

    epsilon: Several[Annotated[Number, Field(gt=0, le=LARGEST)]] = ()
    arms: Several[Annotated[Whole, Field(ge=2, le=MAX_ARMS)]] = ()
    gap: Several[Annotated[Number, Field(gt=0, le=1)]] = ()
    horizon: Several[Annotated[Whole, Field(ge=1, le=10**9)]] = ()
    seed: Several[Annotated[Whole, Field(ge=0, le=2**53)]] = ()
    params: dict[str, Several[Any]] = {}

    def named(self) -> dict[str, tuple[Any, ...]]:
        """The values of every axis that is there, each once, by the name of its column."""
        given = {name: getattr(self, name) for name in ("seed", "arms", "gap", "horizon", "epsilon")}
        given |= {f"params.{name}": values for name, values in self.params.items()}
        return {name: tuple(dict.fromkeys(values)) for name, values in given.items() if values}


class StudyFile(Frozen):
    """What the file of a study says. ``spec`` is a name, or a whole document."""

    spec: Any
    policies: tuple[str, ...] = ()
    trials: Annotated[Whole, Field(ge=1, le=10**4)] | None = None
    record: Literal["end", "curves"] = "end"
    axes: Axes = Axes()


@dataclass(frozen=True)
class Point:
    """One combination: the value on every axis, and the experiment there."""

    at: dict[str, Any]
    experiment: Experiment


def read_study(source: Path | Mapping[str, Any]) -> tuple[StudyFile, Experiment]:
    """A study (a file, or what one would say) and the experiment that it varies.

    Raises
    ------
    InputError
        When a file cannot be read, or says what is no study or no spec.
    """
    study: StudyFile = validated(StudyFile, read_document(source) if isinstance(source, Path) else source)
    try:
        spec = document_of(study.spec, source.parent if isinstance(source, Path) else Path())
    except InputError as error:
        raise InputError([replace(issue, path="spec") for issue in error.issues]) from None
    if study.policies and isinstance(spec, Mapping) and "lines" not in spec:  # the policies make them
        spec = {**spec, "lines": _lines(study, None)}
    base = Experiment.model_validate(spec)
    return study, base if study.trials is None else base.with_changes(trials=study.trials)


def points(study: StudyFile, base: Experiment) -> list[Point]:
    """Every combination of the axes, as an experiment that all policies accept.

    Raises
    ------
    InputError
        With the field of the study, or with the combination, that is wrong.
    """
    if study.policies:
        base = base.with_changes(lines=_lines(study, shared_budget(base)))
    axes = study.axes.named()
    count = math.prod(map(len, axes.values()))
    refuse_if(count > MAX_POINTS, "axes", count, f"at most {MAX_POINTS} combinations; leave out values of an axis")
    _check(study.axes, base)
    made = []
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        try:
            made.append(Point(at, _experiment(base, at)))
        except InputError as error:
            here = ", ".join(f"{name} = {write_value(value)}" for name, value in at.items())
            raise InputError([replace(issue, path=f"at {here}: {issue.path}") for issue in error.issues]) from None
    return made


def _lines(study: StudyFile, budget: BudgetDistribution | None) -> list[dict[str, Any]]:
    """A line for each of the study's policies."""
    policies = registry()
    unknown = [(place, name) for place, name in enumerate(study.policies) if name not in policies]
    if unknown:
        raise InputError([Issue(f"policies[{place}]", name, unknown_policy(name)) for place, name in unknown])
    asked = (study.axes.epsilon or (1.0,))[0] if budget is None or budget.fixed is None else budget.fixed
    epsilon = {"kind": "fixed", "value": asked}
    return [
        {"policy": name} | ({} if policies[name].epsilon == "none" else {"epsilon": epsilon}) for name in study.policies
    ]


def _check(axes: Axes, base: Experiment) -> None:
    """What can be said before any combination is made."""
    issues = []
    if axes.epsilon and not any(line.epsilon for line in base.lines):
        issues.append(Issue("axes.epsilon", list(axes.epsilon), "no line is private; name private policies"))
    issues += [
        Issue(f"axes.params.{name}", None, "no line of this study has such a parameter")
        for name in axes.params
        if not any(name in line.entry.parameters.model_fields for line in base.lines)
    ]
    if axes.arms or axes.gap:
        field = "axes.arms" if axes.arms else "axes.gap"
        others = [arm.kind for arm in base.arms if arm.kind != "bernoulli"]
        if base.contexts is not None or others:
            kind = others[0] if others else "users with features"
            issues.append(Issue(field, kind, "only arms of kind bernoulli can be varied; give them in the spec"))
        elif not axes.gap and not base.largest_gap > 0:
            issues.append(Issue(field, None, "all means of the spec are equal; give axes.gap"))
        issues += [
            Issue(f"axes.gap[{place}]", gap, f"at most the best mean of the spec, {base.means.max():g}")
            for place, gap in enumerate(axes.gap)
            if base.contexts is None and not others and gap > base.means.max()
        ]
    raise_any(issues)


def _experiment(base: Experiment, at: dict[str, Any]) -> Experiment:
    changes: dict[str, Any] = {name: at[name] for name in ("seed", "horizon") if name in at}
    if "arms" in at or "gap" in at:
        best, gaps = float(base.means.max()), base.means.max() - base.means
        gap = at["gap"] if "gap" in at else float(gaps[gaps > 0].min())
        others = at.get("arms", base.arm_count) - 1
        worse = {"kind": "bernoulli", "mean": max(0.0, best - gap), "count": others}
        changes["arms"] = [{"kind": "bernoulli", "mean": best}, worse]
    experiment = base.with_changes(**changes) if changes else base
    if "epsilon" in at:
        experiment = at_budget(experiment, at["epsilon"])
    params = {name.removeprefix("params."): value for name, value in at.items() if name.startswith("params.")}
    if not params:
        return experiment
    lines = experiment.spec()["lines"]
    for document, line in zip(lines, experiment.lines, strict=True):
        own = {name: value for name, value in params.items() if name in line.entry.parameters.model_fields}
        document["params"] = document.get("params", {}) | own
    return experiment.with_changes(lines=lines)


@dataclass(frozen=True, repr=False)
class StudyResult(Shown):
    """What a study found: tidy ``rows``, who has lost least how often, in words, and paired tests.

    ``comparisons`` has one row for every pair of lines at every point: the point, then the columns of
    `Result.comparisons`. ``p_corrected`` is corrected for all rows (Holm). Both frames carry the `metadata`.
    """

    rows: pd.DataFrame
    summary: tuple[str, ...]
    comparisons: pd.DataFrame
    points: tuple[Point, ...]

    @cached_property
    def trials_frame(self) -> pd.DataFrame:
        """One row per point, line and trial at the last checkpoint, or at every one where the study records curves.

        The columns of `Result.trials_frame` stand after those of the point. The runs come from the store when they are
        asked for; what is not there is played again.
        """
        frames, made = [], self.metadata["study"]
        for point in self.points:
            frame = simulate(point.experiment).trials_frame.copy()
            if "record" not in made:
                frame = frame[frame["t"] == point.experiment.horizon]
            frames.append(_placed(point, frame))
        names = [*StudyFile.model_validate(made).axes.named()]
        return with_origin(_joined(frames, [*names, "line", "trial", "t"], TRIAL_COLUMNS), self.metadata)

    @property
    def metadata(self) -> dict[str, Any]:
        """What is needed to get these numbers again; `study` takes ``metadata["study"]``."""
        made: dict[str, Any] = self.rows.attrs["made"]
        return made

    @cached_property
    def table(self) -> StudyTable:
        """The rows at the last checkpoint of each point, and the values of every axis."""
        return table_of(self.rows)

    def plot(self, along: str = "", at: Mapping[str, Any] | None = None, dark: bool = False) -> Any:
        """Mean regret along one axis as a Plotly figure: ε where it varies, else the axis with most values.

        Bars are two standard errors. The other axes are held ``at`` their last values, unless it says otherwise.

        Raises
        ------
        InputError
            For an axis or a value that the study does not have, where nothing varies, or without the app's packages.
        """
        along, held = place_of_picture(self.table.axes, along, at or {})
        figure = paths.app_module("ui.study_view").chart(self.table.along(along, held), along, dark)
        where = ", ".join(f"{name} = {write_value(value)}" for name, value in held.items())
        figure.update_xaxes(title=f"{along} ({where})" if where else along)
        figure.layout.meta = self.metadata | {"along": along, "at": held}
        return figure

    def save(self, path: str | Path, along: str = "", at: Mapping[str, Any] | None = None) -> None:
        """Write that picture: SVG, PDF or PNG for print, or HTML, as the file's ending says."""
        paths.app_module("ui.printing").save(self.plot(along, at), Path(path))

    def to_latex(self, comment: bool = True) -> str:
        """Mean regret ± standard error as a LaTeX table (booktabs): a row for each point, a column for each line.

        Bold is, at each point, the lowest regret of each guarantee that several lines keep, with what a paired test
        does not tell from it. ``comment`` says above the table how it was made.
        """
        return latex(*self._text(), self._comment if comment else None)

    def to_markdown(self, comment: bool = True) -> str:
        """The same as a table of Markdown, with the comment below it."""
        return markdown(*self._text(), self._comment if comment else None)

    @property
    def _comment(self) -> dict[str, Any]:
        return self.metadata | {"cells": "mean regret ± standard error", "bold": BOLD}

    def _text(self) -> tuple[list[str], list[list[str]]]:
        rows, axes = self.table.rows, self.table.axes
        labels = list(dict.fromkeys(rows["label"]))
        cells = []
        for values in itertools.product(*axes.values()):
            at = dict(zip(axes, values, strict=True))
            here = at_point(rows, at)
            lost = {row.label: with_error(row.mean, row.stderr) for row in here.itertuples()}
            lost |= {label: Bold(lost[label]) for label in _best(here, at_point(self.comparisons, at))}
            cells.append([*map(write_value, values), *(lost.get(label, "–") for label in labels)])
        titles = {row.label: registry()[row.policy].title for row in rows.itertuples()}
        return [*axes, *(with_title(label, titles[label]) for label in labels)], cells

    def _words(self) -> str:
        axes = [f"{len(values)} values of {name}" for name, values in self.table.axes.items()]
        return ", ".join([f"of {self.rows['label'].nunique()} lines", *self.summary[:1], *axes])

    def _shown(self) -> pd.DataFrame:
        return self.table.rows[[*self.table.axes, "label", "trials", "mean", "stderr"]]


def place_of_picture(
    axes: Mapping[str, Sequence[Any]], along: str, at: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The axis of a study's picture, and the values at which the others are held (see `StudyResult.plot`).

    Raises
    ------
    InputError
        For an axis or a value that the study does not have, or where nothing varies.
    """
    axes = {name: values for name, values in axes.items() if len(values) > 1}
    along = along or ("epsilon" if "epsilon" in axes else max(axes, key=lambda name: len(axes[name]), default=""))
    refuse_if(along not in axes, "along", along, f"must be what varies: {', '.join(axes) or 'nothing does'}")
    raise_any(
        Issue(f"at.{name}", value, f"must be one of {', '.join(map(str, axes.get(name, ()))) or ', '.join(axes)}")
        for name, value in at.items()
        if value not in axes.get(name, ())
    )
    return along, {name: at.get(name, values[-1]) for name, values in axes.items() if name != along}


def at_point(frame: pd.DataFrame, at: Mapping[str, Any]) -> pd.DataFrame:
    """The rows at one point of a study, and those to which an axis means nothing, whose cell is empty there."""
    for name, value in at.items():
        frame = frame[(frame[name] == value) | frame[name].isna()]
    return frame


def _best(here: pd.DataFrame, tests: pd.DataFrame) -> set[str]:
    """Labels with the `BOLD` numbers of one point."""
    open_ = tests[tests["p_corrected"] > LEVEL]
    groups = here.groupby(["trust", "unit", "guarantee_epsilon", "guarantee_delta"], dropna=False)["label"]
    means = dict(zip(here["label"], here["mean"], strict=True))
    even = set(zip(open_["first_label"], open_["second_label"], strict=True))
    return not_beaten([list(labels) for _, labels in groups], means, even)


class StudyRun(Study[StudyResult]):
    """A study being computed, point after point; polled and stopped like a `Simulation`.

    Two points at most are held in memory. What is finished is in the store, so the same study begins there again.
    """

    looks_ahead = False  # there may be thousands of points, and the rows of each take a moment

    def __init__(self, study: StudyFile, base: Experiment, store: Store | None = None) -> None:
        self.study, self.base, self.points = study, base, points(study, base)
        self._frames: list[pd.DataFrame] = []
        self._tests: list[pd.DataFrame] = []
        self._kernels: dict[str, str] = {}
        self._won: Counter[tuple[str, str]] = Counter()
        super().__init__(self._played(), store)

    def _played(self) -> Rounds[Any]:
        seconds = [estimated_seconds(point.experiment, 1) for point in self.points]
        before, total = 0.0, sum(seconds)
        for point, own in zip(self.points, seconds, strict=True):
            after = before + own
            [result] = yield Round([point.experiment], before / total, after / total, total - after)
            self._frames.append(_rows(point, result, self.study.record))
            self._tests.append(_placed(point, result.comparisons.copy(), "first", "second"))
            self._kernels |= result.metadata["kernels"]
            self._won.update(_winners(result))
            before = after
            del result

    def result(self) -> StudyResult:
        """Everything of the points that are done."""
        names = [*self.study.axes.named()]
        rows = _joined(self._frames, [*names, "line", "t"], COLUMNS)
        tests = _joined(self._tests, [*names, "first", "second"], COMPARISON_COLUMNS)
        tests["p_corrected"] = holm(tests["p_value"].to_list())
        asked = self.study.model_dump(mode="json", exclude_defaults=True) | {"spec": self.base.spec()}
        for frame in (rows, tests):
            frame.attrs["made"] = {"study": asked, "kernels": self._kernels, "versions": dict(versions())}
        done = len(self._frames)
        summary = tuple(_wins_in_words(self._won, done)) if done else ()
        return StudyResult(rows, summary, tests, tuple(self.points[:done]))


def _joined(frames: Sequence[pd.DataFrame], once: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Frames of points as one; what knows no ε, or no parameter, stands ``once``. Without frames, its ``columns``."""
    if not frames:
        return pd.DataFrame(columns=list(dict.fromkeys([*once, *columns])))
    return pd.concat(frames, ignore_index=True).drop_duplicates(once, ignore_index=True)


def _rows(point: Point, result: Result, record: str) -> pd.DataFrame:
    """The rows of one point."""
    frame = result.curves
    if record == "end":
        frame = frame[frame["t"] == result.times[-1]].reset_index(drop=True)
    stated = []
    for line, setup in zip(point.experiment.lines, point.experiment.setups, strict=True):
        kept = line.entry.guarantee(setup)
        epsilon = math.nan if kept.epsilon is None else kept.epsilon
        stated.append((line.entry.privacy, line.entry.unit(setup), epsilon, kept.delta))
    for place, name in enumerate(("trust", "unit", "guarantee_epsilon", "guarantee_delta")):
        frame.insert(3 + place, name, [stated[number][place] for number in frame["line"]])
    return _placed(point, frame)


def _placed(point: Point, frame: pd.DataFrame, *of: str) -> pd.DataFrame:
    """Rows of lines with their point before them; an axis that no line of those in columns ``of`` knows is empty."""
    lines = [*zip(*(frame[name] for name in of or ("line",)), strict=True)]
    for place, (name, value) in enumerate(point.at.items()):
        known = [_knows(line, name) for line in point.experiment.lines]
        frame.insert(place, name, [value if any(known[number] for number in row) else None for row in lines])
    return frame


def _knows(line: Line, axis: str) -> bool:
    """Whether an axis means something to a line."""
    field = axis.removeprefix("params.")
    return line.epsilon is not None if axis == "epsilon" else field in (axis, *line.entry.parameters.model_fields)


def _winners(result: Result) -> Iterator[tuple[str, str]]:
    """Trust model and line of who has lost least at the horizon, at one promise; no line where trials leave it open."""
    experiment, last = result.experiment, len(result.times) - 1
    for privacy in COMPARED:
        numbers = [number for number, line in enumerate(experiment.lines) if line.entry.privacy == privacy]
        numbers = [number for number in numbers if number not in weaker(experiment)]
        alike = len({experiment.lines[number].epsilon for number in numbers}) == 1
        if len(numbers) > 1 and alike and (first := first_of(result, last, numbers)) is not None:
            yield privacy, experiment.label(first.line) if first.clear else ""


def _wins_in_words(won: Counter[tuple[str, str]], done: int) -> Iterator[str]:
    yield f"{done:,} points"
    for privacy in COMPARED:
        wins = {label: count for (trust, label), count in won.items() if trust == privacy}
        if wins:
            parts = [f"{label} {count:,}" for label, count in sorted(wins.items(), key=lambda each: -each[1]) if label]
            parts += [f"open {wins['']:,}"] if wins.get("") else []
            yield f"least regret, {privacy}: {', '.join(parts)}"


def study(
    source: str | Path | Mapping[str, Any],
    jobs: int | None = None,
    on_progress: Callable[[StudyRun], None] | None = None,
) -> StudyResult:
    """Play every combination of a study: a file, or what one would say (the head of this module lists the fields).

    Raises
    ------
    InputError
        When the file or what it names cannot be read, is no study, or asks for something that a policy refuses.
    """
    run = StudyRun(*read_study(Path(source) if isinstance(source, str) else source))
    return run.run(jobs, on_progress)  # type: ignore[return-value]  # no one could stop it


COLUMNS = (
    "line", "label", "policy", "trust", "unit", "guarantee_epsilon", "guarantee_delta",
    "t", "mean", "std", "stderr", "q05", "median", "q95", "trials",
)  # fmt: skip
MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
_NUMBERS = ("t", "mean", "stderr", "trials")


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The ``rows`` of a study at the last checkpoint of each point; ``axes`` are the values of what varies, by name.

    Where an axis means nothing to a line (a budget to one without privacy), its cell is empty there.
    """

    rows: pd.DataFrame
    axes: dict[str, list[Any]]

    def along(self, axis: str, at: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
        """The rows of every line along one axis, by its label, with the other axes held ``at`` their values.

        A line that knows nothing of the axis has one row, whose cell is empty.
        """
        place = {value: number for number, value in enumerate(self.axes[axis])}
        lines = at_point(self.rows, at).groupby("label", sort=False)
        return {str(label): part.sort_values(axis, key=lambda cells: cells.map(place)) for label, part in lines}


def read_study_table(content: bytes) -> StudyTable:
    """What ``study --out FILE.csv`` wrote.

    Raises
    ------
    InputError
        Where it is too large, no CSV, or not the table of a study.
    """
    refuse_if(len(content) > MAX_BYTES, "file", f"{len(content):,} bytes", f"at most {MAX_BYTES:,} bytes")
    try:
        rows = read_csv(io.BytesIO(content))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError([Issue("file", None, f"is no CSV: {' '.join(str(error).split())[:200]}")]) from None
    lacking = [name for name in COLUMNS if name not in rows.columns]
    if lacking:
        words = "a table as the command study writes it (CSV)"
        raise InputError([Issue("columns", ", ".join(map(str, rows.columns))[:200], f"{words}; missing: {lacking[0]}")])
    refuse_if(not 0 < len(rows) <= MAX_ROWS, "rows", len(rows), f"from 1 to {MAX_ROWS:,}")
    wrong = [name for name in _NUMBERS if not pd.api.types.is_numeric_dtype(rows[name]) or rows[name].isna().all()]
    if wrong:
        raise InputError([Issue(f"columns.{wrong[0]}", None, "numbers in every row")])
    return table_of(rows.assign(label=rows["label"].astype(str), policy=rows["policy"].astype(str)))


def table_of(rows: pd.DataFrame) -> StudyTable:
    """The rows of a study."""
    names = [str(name) for name in rows.columns[: list(rows.columns).index("line")]]
    last = rows.groupby([*names, "line", "label"], dropna=False)["t"].transform("max") if names else rows["t"].max()
    rows = rows[rows["t"] == last].reset_index(drop=True)
    return StudyTable(rows, {name: sorted(rows[name].dropna().unique().tolist(), key=_order) for name in names})


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value  # words, such as auto, after all numbers
