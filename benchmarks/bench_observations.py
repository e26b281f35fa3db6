"""Reading an uploaded CSV of a million rows: a column per option, and arm with reward, against pandas alone.

``python -m benchmarks.bench_observations`` (one core, seconds).
"""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from bandit_core.observations import chances_of_being_best, read_observations
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


def main() -> None:
    """Print the table."""
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


if __name__ == "__main__":
    main()
