"""Does every policy still play as it did? ``python -m benchmarks.frozen`` compares it with the stored table.

The table (``benchmarks/frozen.json``) has a row for each policy and each of its variants: the default, one for every
other word that a parameter can be, and those of `MORE`. A row is a hash for each of `WAYS`, of all numbers that are
played so; "-" where the policy is not played so. Of what is believed in a run that is watched, seven digits count.
``--write`` stores the table anew: only where numbers changed on purpose. Libraries of other machines may round
logarithms differently, and then few hashes differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_suffix(".json")
WAYS = ("coins", "long", "mixed", "spread", "late", "visits", "watched", "watched mixed")
COINS = [{"kind": "bernoulli", "mean": mean} for mean in (0.3, 0.7, 0.5, 0.7, 0.1)]
MIXED = [
    {"kind": "beta", "a": 2.0, "b": 3.0},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
    {"kind": "empirical", "values": [0.25, 0.5, 0.875]},
]
USERS = {"dimension": 3, "arms": 4}
SPREAD = {"kind": "discrete", "values": [0.0, 0.5, 3.0], "probs": [0.2, 0.4, 0.4]}
MORE: dict[str, list[dict[str, Any]]] = {
    "gaussian-ts": [{"pre_pulls": 5, "factor": 1.0}, {"pre_pulls": 1, "factor": 0.01}],
    "dp-ucb": [{"counter": counter, "index": "as printed"} for counter in ("k-ary", "square-root")],
    "dp-ucb-bound": [{"counter": counter, "gamma": 0.1} for counter in ("hybrid", "k-ary", "square-root")],
    "private-ucb": [{"counter": counter, "variant": "2015", "margin": 0.1} for counter in ("k-ary", "square-root")],
}


def variants(policy: Any) -> Iterator[dict[str, Any]]:
    """Parameters: none, then each word that one of them can be instead of its default, then `MORE`."""
    yield {}
    for name, field in policy.parameters.model_json_schema()["properties"].items():
        options = [field, *field.get("anyOf", [])]
        words = [word for each in options for word in each.get("enum", [each.get("const")])]
        yield from ({name: word} for word in words if word is not None and word != field.get("default"))
    yield from MORE.get(policy.name, [])


def documents(policy: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The specs of a row by `WAYS`, whether they are valid or not."""
    line: dict[str, Any] = {"policy": policy.name, "params": params}
    if policy.epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": 2.0}
    base = {"lines": [line], "horizon": 600, "trials": 3, "seed": 8}
    contexts = policy.setting == "contexts"
    coins = base | ({"contexts": USERS} if contexts else {"arms": COINS})
    mixed = base | ({"contexts": {**USERS, "structure": "multi"}} if contexts else {"arms": MIXED})
    late = {"feedback": {"batch": 10, "delay": 15}}
    found = {
        "coins": coins,
        "long": coins | {"horizon": 6000, "trials": 2},
        "mixed": mixed,
        "spread": coins | {"lines": [line | {"epsilon": SPREAD}]},
        "late": mixed | late,
        "visits": coins | {"visits": 3},
        "watched": coins,
        "watched mixed": mixed,
    }
    if policy.epsilon == "none":
        del found["visits"]
    return found


def _digest(arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()[:8]


def played(way: str, document: dict[str, Any]) -> str:
    """A hash of all that is played, "-" where it is refused."""
    from bandit_core import Experiment, InputError, simulate
    from bandit_core.studies.one_run import one_run

    try:
        experiment = Experiment.model_validate({"version": 1, **document})
        if way.startswith("watched"):
            run = one_run(experiment)
            beliefs = (each.astype(np.float32) for each in (run.estimates, run.lows, run.highs, run.indices))
            return _digest((run.arms, run.rewards, run.sent, run.epsilons, run.regret, *beliefs))
    except InputError:
        return "-"
    [line] = simulate(experiment).lines
    return _digest(getattr(line, name, None) for name in ("regret", "best_pulls", "pulls", "error"))


def table(only: list[str]) -> dict[str, str]:
    """The rows of all policies, or of some of them."""
    from bandit_core.policies import registry

    found = {}
    for policy in registry().values():
        if only and policy.name not in only:
            continue
        for params in variants(policy):
            rows = {way: played(way, document) for way, document in documents(policy, params).items()}
            if set(rows.values()) != {"-"}:
                message = " ".join(f"{name}={value}" for name, value in params.items())
                found[f"{policy.name} {message}".strip()] = " ".join(rows.get(way, "-") for way in WAYS)
    return found


def differences(before: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """What differs, a line for each row."""
    for name in [*before, *(name for name in now if name not in before)]:
        pair = before.get(name), now.get(name)
        if pair[0] is None or pair[1] is None:
            yield f"{name}: {'new' if pair[0] is None else 'gone'}"
        elif pair[0] != pair[1]:
            several = zip(WAYS, pair[0].split(), pair[1].split(), strict=True)
            yield f"{name}: {', '.join(way for way, old, new in several if old != new)}"


def main() -> int:
    """Compare with the stored table, or write it; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="only these, to be compared")
    parser.add_argument("--write", action="store_true", help="store the table of all anew")
    given = parser.parse_args()
    os.environ["LAB_CACHE_MB"] = "0"
    now = table([] if given.write else given.policies)
    if given.write:
        FILE.write_text(json.dumps(now, indent=0) + "\n")
        return 0
    before = json.loads(FILE.read_text())
    if given.policies:
        before = {name: row for name, row in before.items() if name.split()[0] in given.policies}
    found = list(differences(before, now))
    print("\n".join([*found, f"{len(now)} lines of policies, {len(found)} differ"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
