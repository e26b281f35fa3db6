"""Reading an uploaded CSV of a million rows, and files made to be slow, against pandas alone and an honest file.

``python -m benchmarks.bench_observations`` (one core, seconds).
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pandas as pd

from bandit_core import InputError
from bandit_core.data.observations import chances_of_being_best, read_observations
from benchmarks.measuring import fastest, machine, print_table

ROWS = 1_000_000


def files() -> dict[str, bytes]:
    """A million rows as visitors have them."""
    random = np.random.default_rng(0)
    yes, amounts = random.integers(0, 2, (ROWS, 2)), random.gamma(2.0, 20.0, ROWS).round(2)
    arms = random.choice(["control", "new"], ROWS)
    wide = pd.DataFrame(yes, columns=["control", "new"])
    long = pd.DataFrame({"arm": arms, "reward": amounts})
    return {
        "two columns of 0 and 1": wide.to_csv(index=False).encode(),
        "arm and amount": long.to_csv(index=False).encode(),
    }


def hostile() -> dict[str, bytes]:
    """Files that cost most for their size: each is read or refused in about the time of an honest one."""
    bad = b"A,B" + b"\n1,1" * 1000 + b"\n" + b"\n".join(b"x%07d,%d" % (row, row % 2) for row in range(ROWS))
    return {
        "a million bad cells": bad,
        "a million names": b"arm,reward\n" + b"\n".join(b"x%07d,1" % row for row in range(ROWS)),
        "20 MB of line ends": b"A,B\n1,0" + b"\n" * (20 * 2**20 - 10) + b"1",
        "a row of nine million cells": b"A,B\n" + b"," * 9_000_000,
        "a heading of a million columns": b",".join(b"c%d" % column for column in range(ROWS)),
    }


def _read(data: bytes) -> None:
    with contextlib.suppress(InputError):
        read_observations(data)


def main() -> None:
    """Print the tables."""
    print(machine(), end="\n\n")
    rows = []
    for name, data in files().items():

        def summarise(data: bytes = data) -> None:
            seen = read_observations(data)
            chances_of_being_best(seen.options)
            for option in seen.options:
                option.arm()

        ours, alone = fastest([(summarise, 1), (lambda data=data: pd.read_csv(io.BytesIO(data)), 1)], 3)
        rows.append([name, len(data) / 2**20, ours, alone, ours / alone])
    print_table(["file", "MiB", "read and summarised, s", "pandas.read_csv alone, s", "ratio"], rows)
    print()
    honest, rows = files()["arm and amount"], []
    for name, data in hostile().items():
        theirs, ours = fastest([(lambda data=data: _read(data), 1), (lambda: _read(honest), 1)], 2)
        rows.append([name, len(data) / 2**20, theirs, theirs / ours])
    print_table(["file", "MiB", "read or refused, s", "of an honest file's time"], rows)


if __name__ == "__main__":
    main()
