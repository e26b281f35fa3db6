"""Does another version of the code give the same numbers, bit for bit? ``python -m benchmarks.same_numbers``.

Plays every preset, cut to a small and a smaller size, and a hundred random specs, and prints a hash of every line's
trials as JSON. ``--against FILE`` compares them with what another version printed on the same machine (libraries of
other machines may round logarithms differently), and names what differs; exit code 1 where anything does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

SIZES = ((3000, 3), (20_000, 2))  # users and trials
SPECS = 100
FAR = 2_500_000  # users, beyond which some policies are jumped
ARMS: tuple[str, ...] = ("bernoulli", "beta", "uniform", "two-point", "gaussian", "pareto", "student", "empirical")


def _arm(kind: str, draw: random.Random) -> dict[str, Any]:
    mean = round(draw.uniform(0.1, 0.9), 3)
    fields = {
        "bernoulli": {"mean": mean},
        "beta": {"a": draw.randint(1, 4), "b": draw.randint(1, 4)},
        "uniform": {"low": 0.1, "high": round(draw.uniform(0.3, 1), 2)},
        "two-point": {"low": 0.0, "high": round(draw.uniform(0.3, 1), 2), "p_high": mean},
        "gaussian": {"mean": mean, "sd": 0.3},
        "pareto": {"mean": 0.1 + mean, "shape": 2.5},
        "student": {"mean": mean, "scale": 0.3, "df": 3.0},
        "empirical": {"values": [round(draw.random(), 2) for _ in range(draw.randint(1, 9))]},
    }[kind]
    return {"kind": kind, **fields, "count": draw.choice((1, 1, 1, 3))}


def _budget(draw: random.Random, one: bool) -> dict[str, Any]:
    fixed = {"kind": "fixed", "value": draw.choice((0.05, 0.3, 1.0, 2.0, 8.0))}
    others = (
        {"kind": "discrete", "values": [0, 0.5, 2], "probs": [0.2, 0.3, 0.5]},
        {"kind": "clamped-gaussian", "mean": 1.0, "sd": 0.5, "low": 0.1, "high": 3.0},
        {"kind": "uniform", "low": 0.2, "high": 3.0},
        {"kind": "lognormal", "median": 1.0, "sigma": 0.5},
        {"kind": "empirical", "values": [0.1, 0.5, 0.5, 2.0]},
    )
    return fixed if one or draw.random() < 0.4 else draw.choice(others)


def random_specs() -> list[dict[str, Any]]:
    """A hundred specs, the same in every version: each policy stands in several of them."""
    listing = subprocess.run(
        [sys.executable, "-m", "bandit_core", "list", "policies", "--json"], capture_output=True, text=True, check=True
    )
    policies = [each["name"] for each in json.loads(listing.stdout)]
    draw, specs = random.Random(7), []
    contextual = {"ldp-ols", "ldp-sgd", "ldp-linucb", "ldp-gloc", "linucb", "greedy-ols"}
    plain = sorted(set(policies) - contextual)
    for number in range(SPECS):
        document: dict[str, Any] = {"version": 1, "seed": number, "trials": 2}
        if number % 8 == 0:
            document |= {"contexts": {"dimension": draw.randint(2, 4), "arms": draw.randint(2, 5)}}
            document |= {"horizon": 400, "names": sorted(contextual)}
        else:
            kinds = ["bernoulli"] if number % 3 else [draw.choice(ARMS) for _ in range(4)]
            document["arms"] = [_arm(kind, draw) for kind in kinds for _ in range(draw.randint(2, 4))][:12]
            far = number % 20 == 5
            document["horizon"] = FAR if far else draw.choice((60, 500, 4000))
            document["names"] = ["ucb", "heldp-ucb-b", "heldp-ucb-l"] if far else draw.sample(plain, 6)
        document["budgets"] = [_budget(draw, one) for one in (True, False)]
        specs.append(document)
    return specs


def _lines(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Lines of the spec that are valid: each policy with the distribution of budgets, else one budget, else none."""
    from bandit_core import Experiment, InputError

    one, many = document["budgets"]
    rest = {name: value for name, value in document.items() if name not in ("names", "budgets")}
    lines = []
    for name in document["names"]:
        for epsilon in (many, one, None):
            line = {"policy": name} | ({"epsilon": epsilon} if epsilon else {})
            try:
                Experiment.model_validate({**rest, "lines": [line]})
            except InputError:
                continue
            lines.append(line)
            break
    return lines


def _hashes(experiment: Any) -> list[str]:
    from bandit_core import simulate

    found = []
    for line in simulate(experiment).lines:
        digest = hashlib.sha256()
        for name in ("trials", "regret", "best_pulls", "pulls", "error"):
            array = getattr(line, name, None)
            digest.update(b"" if array is None else array.tobytes())
        found.append(digest.hexdigest()[:16])
    return found


def everything() -> dict[str, list[str]]:
    """Hashes of all lines, by experiment."""
    from bandit_core import Experiment, load_preset

    found = {}
    for path in sorted(Path("presets").glob("*.toml")):
        for horizon, trials in SIZES:
            preset = load_preset(path.stem)
            found[f"{path.stem} {horizon}"] = _hashes(
                preset.with_changes(horizon=min(horizon, preset.horizon), trials=min(trials, preset.trials))
            )
    for number, document in enumerate(random_specs()):
        if lines := _lines(document):
            rest = {name: value for name, value in document.items() if name not in ("names", "budgets")}
            found[f"random {number}"] = _hashes(Experiment.model_validate({**rest, "lines": lines}))
    return found


def main() -> int:
    """Print the hashes, or what differs; 0 where nothing does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="FILE", help="what another version printed")
    against = parser.parse_args().against
    os.environ["LAB_CACHE_MB"] = "0"
    found = everything()
    if against is None:
        print(json.dumps(found, indent=0))
        return 0
    before = json.loads(against.read_text())
    different = sorted(name for name in before.keys() | found.keys() if before.get(name) != found.get(name))
    print(f"{len(found)} experiments, {sum(map(len, found.values()))} lines; different: {different or 'none'}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
