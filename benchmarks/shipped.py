"""Do the results that ship still come out? ``python -m benchmarks.shipped`` asks it of what an edit may have changed.

Results ship as rows of the benchmark, figures of papers, and the blocks of pages' first pictures.
``presets/verified.json`` says with which code they were last seen to come out: for each policy a hash of what its
kernels are called with, and of their code, in all its rows and figures; for the blocks see `bundled_results`. Where
that differs now, the first runs are played: if they give the shipped numbers, this is noted in that file, and no result
that ships is touched. If they do not, the command says what has to be played anew, and the exit code is 1.
Runs are compared to the digits that ship. Libraries of another machine may round logarithms differently: what differs
there may differ before the edit, too.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import lzma
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.jit.decorators import LIBRARIES
from bandit_core.literature import papers, reproductions
from bandit_core.literature.reproductions import Shipped, averaged
from bandit_core.model import Block
from bandit_core.policies import registry
from bandit_core.simulation import bundled_results
from bandit_core.simulation.costs import trial_seconds
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.store import Store
from bandit_core.studies import benchmark

LINE_SECONDS = 0.1  # for the runs of a line of a figure, of which at least one is played
DIGITS = 1e-5  # relative difference of two numbers that a figure or a block shows as the same


def smaller(data: Any) -> bytes:
    """About a third of what the store makes of it; takes longer."""
    return lzma.compress(data, lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "preset": 9}])


def write(path: Path, blocks: Iterable[tuple[str, Experiment, Block]]) -> None:
    """Write such a file anew, from (portable key, experiment of this line, block with all trials from the first)."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE origin (made TEXT NOT NULL)")
        database.execute("CREATE TABLE blocks (key TEXT PRIMARY KEY, spec TEXT, data BLOB) WITHOUT ROWID")
        database.execute("INSERT INTO origin VALUES (?)", (f"version {paths.project_version()} ({LIBRARIES})",))
        database.executemany(
            "INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)",
            sorted(
                (key, json.dumps(asked.spec()), bundled_results.pack(block, smaller)) for key, asked, block in blocks
            ),
        )


@dataclass(frozen=True)
class Line:
    """A line that ships: who plays it, the command that plays it anew, its key now, and what its first runs must be."""

    policy: str
    again: str
    key: str
    experiment: Experiment  # with as many trials as are checked
    number: int
    agrees: Callable[[LineResult], bool]

    def comes_out(self) -> bool:
        """Play the first runs, and compare them."""
        lines = self.experiment.spec()["lines"]
        line = Simulation(self.experiment.with_changes(lines=[lines[self.number]]), Store(None, 0)).run().lines[0]
        assert line is not None
        return self.agrees(line)


def rows() -> Iterator[Line]:
    """The cells of the benchmark; one without a row does not agree."""
    names = ["policy", "task", "epsilon", "users"]
    shipped = benchmark.load().fillna({"epsilon": 0.0}).set_index(names)["checksum"].to_dict()
    for policy in registry().values():
        again = f"bandit_core benchmark {policy.name} --play --data presets/benchmark.csv"
        for cell, experiment in benchmark.cells(policy):
            wanted = shipped.get((policy.name, cell.task.name, cell.epsilon or 0.0, cell.users))
            yield from _lines(experiment.with_changes(trials=benchmark.CHECKED), again, [_has(wanted)])


def _has(wanted: str | None) -> Callable[[LineResult], bool]:
    return lambda line: benchmark.checksum(line) == wanted


def figures() -> Iterator[Line]:
    """The lines of the figures; all of one that is missing do not agree."""
    for name in papers.reproducible():
        shipped = reproductions.load(name)
        experiment = papers.played()[name].experiment if shipped is None else shipped.experiment
        agree = [_as_drawn(shipped, number) for number in range(len(experiment.lines))]
        yield from _lines(_cut(experiment), f"bandit_core reproduce {name}", agree)


def _as_drawn(shipped: Shipped | None, number: int) -> Callable[[LineResult], bool]:
    """Whether the regret of each run at the end and over the windows is what the figure's file says."""

    def agrees(line: LineResult) -> bool:
        if shipped is None:
            return False
        there, final, times = shipped.lines[number], line.regret[:, -1], checkpoints(shipped.experiment.horizon)
        if shipped.tally:  # in no order
            return all(np.isclose(there.final, each, rtol=DIGITS).any() for each in final)
        pairs = [(there.final, final)]
        pairs += [(values, averaged(times, line.regret, window)) for window, values in there.windows.items()]
        return all(np.allclose(old[: line.count], new, rtol=DIGITS) for old, new in pairs)

    return agrees


def blocks() -> Iterator[tuple[str, Line]]:
    """The blocks of first pictures, with the keys that they have in the file."""
    file = bundled_results.open_shipped()
    for key, experiment in {} if file is None else file.questions().items():
        [line] = _lines(_cut(experiment), "benchmarks.first_pictures", [_as_kept(file, key, experiment)])
        yield key, line


def _as_kept(file: bundled_results.Beforehand, key: str, experiment: Experiment) -> Callable[[LineResult], bool]:
    """Whether each number of each run is what the block has."""

    def agrees(line: LineResult) -> bool:
        block = file.get(key, experiment.with_changes(trials=line.count), 0)
        return block is not None and all(
            np.allclose(kept, getattr(line, name), rtol=DIGITS) for name, kept in block.arrays.items()
        )

    return agrees


def _cut(experiment: Experiment) -> Experiment:
    """The experiment with as many of its trials as are checked."""
    seconds = max(trial_seconds(experiment, number) for number in range(len(experiment.lines)))
    trials = min(experiment.trials, benchmark.CHECKED, max(1, int(LINE_SECONDS / seconds)))
    return experiment.with_changes(trials=trials)


def _lines(experiment: Experiment, again: str, agree: Iterable[Callable[[LineResult], bool]]) -> Iterator[Line]:
    times = checkpoints(experiment.horizon)
    for number, (prepared, agrees) in enumerate(zip(prepared_lines(experiment), agree, strict=True)):
        key = prepared.portable_key(times, experiment.seed)
        yield Line(prepared.policy.name, again, key, experiment, number, agrees)


def unverified() -> tuple[dict[str, str], list[Line]]:
    """Policies whose code or arguments are others than noted, each with its hash now, and the lines that they ship."""
    keys: dict[str, list[str]] = {}
    lines = [*rows(), *figures()]
    for line in lines:
        keys.setdefault(line.policy, []).append(line.key)
    now = {name: hashlib.sha256("".join(each).encode()).hexdigest()[:16] for name, each in keys.items()}
    noted = bundled_results.verified().get("policies", {})
    other = {name: each for name, each in now.items() if noted.get(name) != each}
    return other, [line for line in lines if line.policy in other]


def unknown_blocks() -> dict[str, Line]:
    """Blocks that no one would find now, by their key in the file."""
    others = bundled_results.verified().get("blocks", {})
    return {key: line for key, line in blocks() if key not in (line.key, others.get(line.key))}


def main() -> int:
    """Play what may differ, note what comes out, and name what does not; 1 where anything does not."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    (policies, lines), unknown = unverified(), unknown_blocks()
    wrong = [line for line in [*lines, *unknown.values()] if not line.comes_out()]
    other = {line.policy for line in wrong}
    wrong += [line for line in unknown.values() if line.policy in other]  # they are served as if they were computed
    print(f"{len(lines) + len(unknown)} lines played; with other numbers: {sorted(other) or 'none'}", file=sys.stderr)
    for again in sorted({line.again for line in wrong}):
        print(f"play anew: python -m {again}")
    seen = {name: each for name, each in policies.items() if name not in other}
    found = {line.key: key for key, line in blocks() if line.key != key and line.policy not in other}
    noted = {"policies": bundled_results.verified().get("policies", {}) | seen, "blocks": found}
    bundled_results.VERIFIED.write_text(json.dumps(noted, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
