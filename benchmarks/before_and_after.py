"""Users with features in another version of the code and in this one.

    python -m benchmarks.before_and_after DIRECTORY

DIRECTORY is a working tree of the other version (``git worktree add``), run by this interpreter. Each version plays in
processes of its own, several of them one after the other, since how arrays happen to lie in memory can cost a process a
fifth; within a process plays take turns with those of the other version. Nanoseconds a user, one parameter on the
sphere, ten arms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
POLICIES = ("greedy-ols", "ldp-ols", "ldp-sgd", "linucb", "ldp-linucb", "ldp-gloc")
DIMENSIONS = (5, 20)
PLAYS = 6  # of a policy in one process


def play(tree: str, horizon: int) -> None:
    """Play what standard input asks for, ``dimension policy`` a line, with the code of ``tree``; print nanoseconds."""
    sys.path[0] = tree  # not this file's folder
    from benchmarks.bench_contextual import player

    made = {}
    for line in sys.stdin:
        dimension, policy = line.split()
        if line not in made:
            made[line] = player(policy, {"dimension": int(dimension), "arms": 10}, horizon)
            made[line]()  # compiled now
        start = time.perf_counter()
        made[line]()
        print((time.perf_counter() - start) / horizon * 1e9, flush=True)


def _started(tree: Path, horizon: int) -> subprocess.Popen[str]:
    """A process that plays with the code of ``tree``."""
    command = [sys.executable, __file__, str(tree), "--play", "--horizon", str(horizon)]
    places = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree, env=places)


def _asked(process: subprocess.Popen[str], question: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(question)
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(other: Path, horizon: int, processes: int) -> None:
    """Print a table: the shortest time and the median over processes of each one's shortest, of both versions."""
    questions = [f"{dimension} {policy}\n" for dimension in DIMENSIONS for policy in POLICIES]
    found: dict[str, list[list[float]]] = {question: [] for question in questions}
    for _ in range(processes):
        both = [_started(tree, horizon) for tree in (other, HERE)]
        for question in questions:
            rounds = [[_asked(each, question) for each in both] for _ in range(PLAYS)]
            found[question].append([min(times) for times in zip(*rounds, strict=True)])
        for each in both:
            each.kill()
            each.wait()
    print("| | before, after: shortest | ratio | before, after: median | ratio |\n|---|---|---|---|---|")
    for question, times in found.items():
        dimension, policy = question.split()
        cells = []
        for of_processes in (min, statistics.median):
            before, after = (of_processes(column) for column in zip(*times, strict=True))
            cells += [f"{before:.0f}, {after:.0f}", f"{after / before:.2f}"]
        print(f"| {policy}, d = {dimension} | {' | '.join(cells)} |")


def main() -> None:
    """Read the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="a working tree of the other version")
    parser.add_argument("--horizon", type=int, default=100_000, help="users of a play")
    parser.add_argument("--processes", type=int, default=5, help="of each version, one after the other")
    parser.add_argument("--play", action="store_true", help="not for people: play with the code of the directory")
    chosen = parser.parse_args()
    if chosen.play:
        play(str(chosen.directory), chosen.horizon)
    else:
        compare(chosen.directory.resolve(), chosen.horizon, chosen.processes)


if __name__ == "__main__":
    main()
