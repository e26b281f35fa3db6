"""Saved runs side by side: what differs between experiments, their curves in one picture, and paired tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment
from bandit_core.simulation.comparisons import holm, least_p, paired_test
from bandit_core.simulation.costs import cost, refuse
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.tables import Shown, with_origin
from bandit_core.simulation.together import Together
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue

if TYPE_CHECKING:
    import pandas as pd

MAX_RUNS = 6
STREAMS = ("arms", "contexts", "clip", "horizon", "seed", "feedback", "visits", "visits_delta")  # the same: paired
TEST_COLUMNS = (
    "first_run", "first_label", "second_run", "second_label", "pairs", "difference", "low", "high", "p_value",
    "p_corrected", "p_floor",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Compared(Shown):
    """The results of several experiments, by name."""

    names: tuple[str, ...]
    results: tuple[Result, ...]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per field that decides numbers and is not the same in all runs, one column per run."""
        import pandas as pd

        documents = [_document(result.experiment) for result in self.results]
        fields = dict.fromkeys(name for document in documents for name in document)
        rows = {name: [document.get(name, "default") for document in documents] for name in fields}
        rows = {name: values for name, values in rows.items() if any(value != values[0] for value in values)}
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(self.names))

    @cached_property
    def final(self) -> pd.DataFrame:
        """`Result.final` of every run, with its name in the column ``run``."""
        import pandas as pd

        frames = [result.final.assign(run=name) for name, result in zip(self.names, self.results, strict=True)]
        found = pd.concat(frames, ignore_index=True)
        return with_origin(found[["run", *(name for name in found.columns if name != "run")]], self.metadata)

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Paired tests of lines of different runs, columns `TEST_COLUMNS`: see `Result.comparisons`.

        Only runs whose trials meet the same users can be paired: the settings in `STREAMS` are the same. Lines that
        are the same in both runs are left out. ``p_corrected`` is corrected for all rows (Holm).
        """
        import pandas as pd

        rows = []
        for (first, mine), (second, theirs) in combinations(zip(self.names, self.results, strict=True), 2):
            if any(getattr(mine.experiment, name) != getattr(theirs.experiment, name) for name in STREAMS):
                continue
            for here, line in enumerate(mine.lines):
                for there, other in enumerate(theirs.lines):
                    same = mine.experiment.played[here] == theirs.experiment.played[there]
                    if line is not None and other is not None and not same:
                        labels = mine.experiment.label(here), theirs.experiment.label(there)
                        rows.append((first, labels[0], second, labels[1], *paired_test(line, other)))
        corrected = holm([row[-1] for row in rows])
        found = [(*row, p, least_p(row[4])) for row, p in zip(rows, corrected, strict=True)]
        return with_origin(pd.DataFrame(found, columns=list(TEST_COLUMNS)), self.metadata)

    @property
    def metadata(self) -> dict[str, Any]:
        """What is needed to get the numbers of every run again."""
        return {name: run.metadata for name, run in zip(self.names, self.results, strict=True)}

    @cached_property
    def together(self) -> Result:
        """All curves as one result, for a picture: at the checkpoints of the longest run, without bounds."""
        longest = max(self.results, key=lambda result: result.experiment.horizon)
        lines, setups, curves = [], [], []
        for name, result in zip(self.names, self.results, strict=True):
            own = result.experiment
            for number, line in enumerate(own.lines):
                lines.append(line.model_copy(update={"label": f"{name}: {own.label(number)}"}))
                setups.append(own.setups[number])
                curves.append(_at(result.lines[number], result.times, longest.times))
        view = longest.experiment.view.model_copy(update={"bounds": False, "hidden": (), "quantity": "regret"})
        experiment = longest.experiment.with_lines(tuple(lines)).model_copy(update={"view": view})
        experiment.__dict__["setups"] = tuple(setups)  # each of its own run
        return Result(experiment, longest.times, tuple(curves))

    def plot(self, dark: bool = False, height: int = 520) -> Any:
        """The curves of all runs in one Plotly figure; a run for fewer users ends earlier."""
        figure = self.together.plot(dark, height)
        figure.layout.meta = self.metadata
        return figure

    def save(self, path: str | Path) -> None:
        """Write that picture: SVG, PDF or PNG for print, or HTML, as the file's ending says."""
        paths.app_module("ui.printing").save(self.plot(), Path(path))

    def _words(self) -> str:
        runs = zip(self.names, self.results, strict=True)
        return "of " + ", ".join(f"{name}: {run.experiment!r}" for name, run in runs)

    def _shown(self) -> pd.DataFrame:
        return self.final[["run", "label", "guarantee", "trials", "regret", "stderr"]]


def _document(experiment: Experiment) -> dict[str, Any]:
    """What decides the numbers, arms and lines in the notation of links."""
    document = experiment.spec() | {"lines": notation.write_lines(experiment.lines)}
    if "arms" in document:
        document["arms"] = notation.write_arms(experiment.arms)
    return {name: value for name, value in document.items() if name not in ("title", "note", "view")}


def _at(line: LineResult | None, times: np.ndarray, wanted: np.ndarray) -> LineResult | None:
    """The curves of a line read at other times; NaN after its end."""
    if line is None or np.array_equal(times, wanted):
        return line
    regret = np.array([np.interp(wanted, times, run, right=np.nan) for run in line.regret])
    return LineResult(line.trials, regret, line.best_pulls, line.pulls)


class Comparison(Together[Compared]):
    """Several experiments being computed; polled and stopped like a `Simulation`.

    Raises
    ------
    InputError
        For fewer than two or more than `MAX_RUNS` experiments, or where they take more than is allowed here.
    """

    def __init__(self, names: Sequence[str], experiments: Sequence[Experiment], store: Store | None = None) -> None:
        if not 2 <= len(experiments) <= MAX_RUNS:
            raise InputError([Issue("experiments", len(experiments), f"from 2 to {MAX_RUNS} experiments")])
        self.names, costs = tuple(names), [*map(cost, experiments)]
        whole = sum(costs[1:], costs[0])
        refuse(whole, "experiments", "horizon x trials x lines x experiments", "experiments, ")
        self.steps = whole.steps
        super().__init__(experiments, store)

    def result(self) -> Compared:
        """Everything that is done so far."""
        return Compared(self.names, self.results)


def names_of(sources: Sequence[str]) -> list[str]:
    """Short names of presets, files and links: the name of the file where no other has it, else A, B, ..."""
    stems = ["" if "?" in source else Path(source).stem for source in sources]
    named = [len(stem) > 1 and stems.count(stem) == 1 for stem in stems]
    return [stem if known else chr(65 + place) for place, (stem, known) in enumerate(zip(stems, named, strict=True))]


def compare(
    experiments: Sequence[Experiment],
    jobs: int | None = None,
    on_progress: Callable[[Together[Compared]], None] | None = None,
    store: Store | None = None,
) -> Compared:
    """Simulate two to six experiments and put them side by side, by the names A, B, ...; see `Compared`."""
    return Comparison("ABCDEF"[: len(experiments)], experiments, store).run(jobs, on_progress)
