"""Does `check-policy` refuse a right policy by chance? ``python -m benchmarks.policy_seeds``.

Every policy of the lab goes through the checks that depend on a seed (`CHANCE`), under new seeds each day; their count
and the first one are options. The table has a row for each policy, and every refusal is printed as a sentence. The
chance that a check of samples errs is bounded by construction (docs/audit.md), so one refusal is a fault to look into.
"""

from __future__ import annotations

import argparse
import sys
import time

from bandit_core.policies import registry
from bandit_core.studies.policy_check import CHANCE, findings
from benchmarks.measuring import machine, print_table

DAY = 86_400  # seconds


def main() -> int:
    """Print the table; 0 where no policy was refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="POLICY", help="only these")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="how many (2)")
    parser.add_argument("--first", type=int, metavar="SEED", help="the first one (days since 1970, times N)")
    asked = parser.parse_args()
    if unknown := set(asked.names) - registry().keys():
        parser.error(f"no such policy: {', '.join(sorted(unknown))}")
    first = int(time.time()) // DAY * asked.seeds if asked.first is None else asked.first
    print(f"{machine()}; seeds {first} to {first + asked.seeds - 1}", end="\n\n", flush=True)
    rows = []
    for name in asked.names or registry():
        seeds = range(first, first + asked.seeds)
        found = [each for seed in seeds for each in findings(registry()[name], CHANCE, seed)]
        refused = [str(each) for each in found if each.holds is False]
        print(*refused, sep="\n", end="\n" if refused else "", flush=True)
        rows.append([name, *(sum(each.holds is verdict for each in found) for verdict in (True, None, False))])
    print_table(["policy", "held", "not checked", "refused"], rows)
    return int(any(row[-1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
