"""Does every benchmark still run, and do the nightly tests pass? Runs one after the other, and says how each ended.

``python -m benchmarks.nightly FOLDER`` (some hours; Linux with nginx and chromium) writes what each prints to a file of
FOLDER, and prints a table: the exit code and the minutes of each. The exit code is 1 where one of them is not 0.
``python -m benchmarks.nightly FOLDER load attack`` runs only these; ``tests`` are those of tests/nightly_tests.txt.

Programs of this folder are found by their last lines, so a new one is run without a word here. `WAYS` has the arguments
of those that are run in other ways than without any; `MAKERS` only write what ships, and are left out.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measuring import machine, print_table

HERE = Path(__file__).resolve().parent
WAYS = {
    "bench_pages": ["", "--browser"],
    "bench_registry": ["", "--rules"],
    "best_by_trust": ["--check"],
    "contest_check": ["--seconds 600"],
    "load": ["", "--phones 300", "--classes 100 --phones 10", "--soak 30"],
    "pictures": ["--numbers"],
    "positions": ["--check"],
}
MAKERS = {"first_pictures", "play_all"}
TESTS = "tests"  # comes first: the suite's tests that CI leaves to the night
HOURS = 2.0  # after which one that has not ended counts as failed


def programs() -> list[str]:
    """What is run, by name: the nightly tests, and the programs of this folder but for this one and the makers."""
    found = {path.stem for path in HERE.glob("*.py") if '\nif __name__ == "__main__":' in path.read_text()}
    return [TESTS, *sorted(found - MAKERS - {Path(__file__).stem})]


def run(name: str, words: str, into: Path) -> list[object]:
    """Run one program in one way, what it prints to a file of ``into``: a row of the table."""
    file, begin = into / f"{'-'.join([name, *words.replace('-', '').split()])}.txt", time.monotonic()
    module = ["pytest", "-m", "nightly"] if name == TESTS else [f"benchmarks.{name}"]
    command = [sys.executable, "-m", *module, *shlex.split(words)]
    with file.open("w") as output:
        try:
            code = subprocess.run(
                command, cwd=HERE.parent, check=False, stdout=output, stderr=subprocess.STDOUT, timeout=3600 * HOURS
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
    row: list[object] = [f"{name} {words}".strip(), code, (time.monotonic() - begin) / 60, file.name]
    print(*row, sep="\t", file=sys.stderr, flush=True)
    return row


def main() -> int:
    """Print the table; 0 where every program ended with 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the files go that have what each program prints")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(programs()):
        parser.error(f"no such program: {', '.join(sorted(unknown))}; there are: {', '.join(programs())}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    print(machine(), end="\n\n", flush=True)
    rows = [run(name, way, asked.folder) for name in asked.names or programs() for way in WAYS.get(name, [""])]
    print_table(["program", "exit code", "minutes", "file"], rows)
    return int(any(row[1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
