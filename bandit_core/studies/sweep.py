"""One experiment over a grid of budgets: regret against epsilon; and does V predict it?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.simulation.costs import refuse
from bandit_core.simulation.questions import Study, once, taken_by
from bandit_core.simulation.results import Drawable, Result, Shown, split
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import LARGEST, BudgetDistribution
from bandit_core.spec.errors import InputError, Issue, raise_any
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import write_number
from bandit_core.theory import threshold

# ---------------------------------------------------------------------------------------------------------------------
# One experiment over a grid of budgets: regret against epsilon, through the same engine and cache.


# Usual budgets, nats.
EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0)
SWEEP_COLUMNS = ("line", "label", "policy", "epsilon", "t", "mean", "stderr", "q05", "median", "q95", "trials")
MAX_POINTS = 200


_BLANK_IN_LABEL = re.compile(r"[,;:]?\s*(?:as at )?\{(?:epsilon|eps_min)(?::value)?\}")
_BUDGET_IN_LABEL = re.compile(r"[,;:]?\s*\(?\b(?:ε|eps|epsilon)\s*=?\s*[\d.]+\)?\s*$", re.IGNORECASE)


def swept_label(line: Line) -> str:
    """What a line is called where its budget varies: its label without a budget at the end, else its policy's title.

    Thresholds are chosen anew at every budget (see `at_budget`), so neither do they stay in a label; and what was said
    of a distribution of budgets is not true of one budget for everyone.
    """
    labelled = line.model_copy(update={"label": _kept_label(line)})
    return labelled.written_label or line.entry.title


def _kept_label(line: Line) -> str:
    if line.epsilon is not None and line.epsilon.fixed is None:
        return ""
    return _BUDGET_IN_LABEL.sub("", _BLANK_IN_LABEL.sub("", line.label or ""))


def distinct_lines(experiment: Experiment) -> Experiment:
    """The experiment without private lines that a sweep would make equal to an earlier one."""
    places: dict[str, int] = {}
    for number, line in enumerate(experiment.lines):
        same = {name: value for name, value in line.params.items() if name != "eps_min"}
        places.setdefault(repr((line.policy, sorted(same.items())) if line.epsilon is not None else number), number)
    if len(places) == len(experiment.lines):
        return experiment
    lines = [experiment.spec()["lines"][number] for number in places.values()]
    for line in lines:  # the label told apart what is now one
        line.pop("label", None)
    hidden = [place for place, number in enumerate(places.values()) if number in experiment.view.hidden]
    view = experiment.view.model_dump(mode="json") | {"hidden": hidden}
    return experiment.with_changes(lines=lines, view=view)


def at_budget(experiment: Experiment, epsilon: float, changes: dict[str, Any] | None = None) -> Experiment:
    """``experiment`` with one fixed budget for every private line, and other parameters of those lines changed.

    Thresholds (``eps_min``) go back to automatic: one chosen for another budget would make no sense here.

    Raises
    ------
    InputError
        When a policy refuses the budget or a parameter.
    """
    document = experiment.spec()
    for number, line in enumerate(document["lines"]):
        if "epsilon" not in line:
            continue
        line["epsilon"] = {"kind": "fixed", "value": epsilon}
        parameters = experiment.lines[number].entry.parameters.model_fields
        params = {name: value for name, value in line.get("params", {}).items() if name != "eps_min"}
        params |= {name: value for name, value in (changes or {}).items() if name in parameters}
        line["params"] = params
        line["label"] = _kept_label(experiment.lines[number]) or experiment.lines[number].entry.title
    return Experiment.model_validate(document).after(experiment)


def budgets(values: Iterable[Any]) -> tuple[float, ...]:
    """A valid grid of budgets: ascending, each once.

    Raises
    ------
    InputError
        With every value that is no budget.
    """
    grid, issues = set(), []
    for place, value in enumerate(values):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if SMALLEST <= number <= LARGEST:
            grid.add(number)
        else:
            allowed = f"a number from {write_number(SMALLEST)} to {write_number(LARGEST)}"
            issues.append(Issue(f"epsilon[{place}]", value, allowed))
    if not issues and not 1 <= len(grid) <= MAX_POINTS:
        issues.append(Issue("epsilon", len(grid), f"between 1 and {MAX_POINTS} budgets"))
    raise_any(issues)
    return tuple(sorted(grid))


@dataclass(frozen=True, repr=False)
class SweepResult(Shown):
    """The results of a sweep, one per point of the grid: budgets, and values of the second parameter if any."""

    experiment: Experiment
    epsilons: tuple[float, ...]
    seconds: tuple[Any, ...]
    results: tuple[Result, ...]
    second_name: str = ""

    def without_companions(self, experiment: Experiment) -> SweepResult:
        """The same of ``experiment``, where this one also played its `companions`."""
        count = len(experiment.lines)
        own = (point.experiment.with_changes(lines=point.experiment.spec()["lines"][:count]) for point in self.results)
        return replace(self, experiment=experiment, results=tuple(map(split, self.results, own)))

    def save(self, path: str | Path) -> None:
        """Write regret against the budget: SVG, PDF or PNG for print, or HTML, as the file's ending says.

        Raises
        ------
        InputError
            For another ending, a file that cannot be written, or where the packages of the app are not installed.
        """
        figure = paths.app_module("ui.tradeoff_view").chart(self, dark=False)
        figure.layout.meta = self.metadata
        paths.app_module("ui.printing").save(figure, Path(path))

    @property
    def metadata(self) -> dict[str, Any]:
        """What is needed to get these numbers again."""
        made = self.results[0].metadata
        origin = {name: made[name] for name in ("seed", "kernels", "versions")}
        second = {self.second_name: list(self.seconds)} if self.second_name else {}
        return {"spec": self.experiment.spec(), "epsilons": list(self.epsilons), **second, **origin}

    def _words(self) -> str:
        return f"of {self.experiment!r} at ε = {', '.join(f'{epsilon:g}' for epsilon in self.epsilons)}"

    def _shown(self) -> pd.DataFrame:
        name = [self.second_name] if self.second_name else []
        last = self.curves.groupby(["line", "epsilon", *name], sort=False, dropna=False).tail(1)
        return last[["label", "epsilon", *name, "trials", "mean", "stderr"]]

    @property
    def begun(self) -> bool:
        """Whether any trial of any point is done."""
        return any(line is not None for result in self.results for line in result.lines)

    @property
    def content(self) -> tuple[bytes, ...]:
        """What tells two sweeps apart: the experiments of all points and which of their trials are done."""
        return tuple(result.content for result in self.results)

    def at(self, epsilon: float, second: Any = None) -> Result:
        """The result at one point of the grid."""
        return self.results[self.epsilons.index(epsilon) * len(self.seconds) + self.seconds.index(second)]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """One row per line, point and checkpoint, columns `SWEEP_COLUMNS` (and the second parameter's name)."""
        lines, name = self.experiment.lines, self.second_name
        free = [number for number, line in enumerate(lines) if line.epsilon is None]
        lacking = [number for number, line in enumerate(lines) if name not in line.entry.parameters.model_fields]
        frames = []
        for place, result in enumerate(self.results):
            frame = result.curves.drop(columns="std", errors="ignore")
            frame.insert(3, "epsilon", self.epsilons[place // len(self.seconds)])
            frame.loc[frame["line"].isin(free), "epsilon"] = float("nan")  # without privacy there is no budget
            if name:
                frame[name] = self.seconds[place % len(self.seconds)]
                frame[name] = frame[name].mask(frame["line"].isin([*free, *lacking]))
            frames.append(frame)
        everything = pd.concat(frames, ignore_index=True)
        same = ["line", "epsilon", "t", *([name] if name else [])]  # what knows neither budget nor parameter, once
        everything = everything.drop_duplicates(same, ignore_index=True)
        everything.attrs["made"] = self.metadata  # Parquet keeps it
        return everything


class Sweep(Study[SweepResult]):
    """A sweep being computed; polled and stopped like a `Simulation`.

    Parameters
    ----------
    experiment
        Its private lines are run at every budget; lines without privacy are run once.
    epsilons
        The grid of budgets.
    second
        Name and values of one more parameter of the private lines to vary, for example ``("alpha", (2.0, 3.0))``.

    Raises
    ------
    InputError
        For a wrong grid, a budget or parameter that a policy refuses, or a run beyond what `costs.refuse` allows.
    """

    def __init__(
        self,
        experiment: Experiment,
        epsilons: Iterable[Any],
        second: tuple[str, Sequence[Any]] | None = None,
        store: Store | None = None,
    ) -> None:
        self.experiment = experiment
        self.epsilons = budgets(epsilons)
        self.seconds: Sequence[Any]
        self.second_name, self.seconds = second if second is not None else ("", (None,))
        name = self.second_name
        if name and not any(name in line.entry.parameters.model_fields for line in experiment.lines if line.epsilon):
            raise InputError([Issue("vary", name, "no private line of this experiment has this parameter")])
        points = [
            at_budget(experiment, epsilon, {name: value} if name else None)
            for epsilon in self.epsilons
            for value in self.seconds
        ]
        refuse(taken_by(points), "epsilon", "horizon x trials x lines x budgets", "budgets, ")  # one sweep is one run
        super().__init__(once(points), store)  # type: ignore[arg-type]  # of which `result` makes its own

    def result(self) -> SweepResult:
        """Everything that is done so far."""
        return SweepResult(self.experiment, self.epsilons, tuple(self.seconds), self.results, self.second_name)


def sweep(
    experiment: Experiment,
    epsilons: Iterable[Any],
    second: tuple[str, Sequence[Any]] | None = None,
    jobs: int | None = None,
    on_progress: Callable[[Sweep], None] | None = None,
    store: Store | None = None,
) -> SweepResult:
    """Simulate ``experiment`` at every budget of a grid; see `Sweep`."""
    swept = Sweep(experiment, epsilons, second, store)
    swept.run(jobs, on_progress)
    return swept.result()


# ---------------------------------------------------------------------------------------------------------------------
# Does V predict regret? The threshold heuristic held against simulation (Ren et al. 2020, section 4.2, Figure 2).


WEIGHED = "heldp-ucb-bw"  # ignores no one
MECHANISMS = {
    "heldp-ucb-l": ("Laplace", threshold.v_l),
    "heldp-ucb-b": ("Bernoulli", threshold.v_b),
    WEIGHED: ("Bernoulli, weighed", threshold.v_w),
}
MAX_THRESHOLDS = 8
# Users from which on the check is fair: before, small budgets have not begun to separate the arms. With the default
# arms and five groups of users R² is 0.57 at 10^4 users, 0.95 at 10^6 and 0.998 at 10^7.
ENOUGH_USERS = 10**7
STRAIGHT = 0.99  # an R² from which on the points are called a straight line


def spread_thresholds(distribution: BudgetDistribution, count: int = MAX_THRESHOLDS) -> np.ndarray:
    """At most ``count`` thresholds worth simulating: every positive atom, or quantiles of a continuous distribution."""
    values, probabilities = distribution.atoms
    atoms = values[(values > 0) & (probabilities > 1e-9)]
    if distribution.interval is None:
        keep = np.unique(np.linspace(0, len(atoms) - 1, min(count, len(atoms))).round().astype(int))
        return atoms[keep]
    grid = distribution.candidates()
    shares = np.array([distribution.share_above(value) for value in grid])
    wanted = np.linspace(0.97 * shares.max(), 0.08 * shares.max(), count)
    return np.unique(grid[[int(np.argmin(np.abs(shares - share))) for share in wanted]].round(3))


def experiment_of(base: Experiment, distribution: BudgetDistribution, thresholds: np.ndarray) -> Experiment:
    """``base`` with a line per mechanism and threshold, and weighed bits (arms, horizon, trials and seed are kept)."""
    epsilon = distribution.model_dump(mode="json", exclude_none=True)
    lines: list[dict[str, Any]] = [
        {
            "policy": policy,
            "epsilon": epsilon,
            "params": {"eps_min": float(value)},
            "label": f"{name}, ε_min = {value:g}",
        }
        for policy, (name, _) in MECHANISMS.items()
        for value in thresholds
        if policy != WEIGHED
    ]
    lines.append({"policy": WEIGHED, "epsilon": epsilon, "label": MECHANISMS[WEIGHED][0]})
    return base.with_changes(lines=lines, title="Regret against the threshold", note="")


def points(result: Drawable) -> pd.DataFrame:
    """One row per finished line: ``line, label, policy, eps_min, v, regret, stderr`` (regret at the horizon).

    ``eps_min`` is 0 where no one is ignored.
    """
    rows = []
    for number, (line, setup) in enumerate(zip(result.lines, result.experiment.setups, strict=True)):
        policy = result.experiment.lines[number].policy
        if line is None or policy not in MECHANISMS or setup.epsilon is None:
            continue
        eps_min = getattr(setup.parameters, "eps_min", 0.0)
        named = (number, result.experiment.label(number), policy, eps_min)
        v = MECHANISMS[policy][1](setup.epsilon, eps_min)
        rows.append((*named, v, float(line.mean[-1]), float(line.stderr[-1])))
    return pd.DataFrame(rows, columns=["line", "label", "policy", "eps_min", "v", "regret", "stderr"])
