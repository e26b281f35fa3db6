"""How often does a 95% interval of the mean loss hold, policy by policy? ``python -m benchmarks.coverage``.

Each policy for users without features plays 10,000 runs of each of the `INSTANCES`; their mean counts as the truth.
Then 2,000 samples of 50 and of 200 runs are drawn from them with replacement, and every interval is asked whether it
holds the truth. A policy is marked as soon as the lab's interval fails on one instance. ``--trials`` and ``--samples``
make it smaller.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from bandit_core import Experiment, simulate
from bandit_core.policies import registry
from bandit_core.simulation.results import Interval, half_width, interval
from benchmarks.measuring import print_table

FIVE, RARE = (0.8, 0.6, 0.6, 0.4, 0.4), (0.05, 0.044, 0.04)
INSTANCES = {"five": (FIVE, 1.0), "five, ε 0.2": (FIVE, 0.2), "rare": (RARE, 1.0)}  # means, and ε where private
HORIZON, SEED = 10_000, 7
TRIALS, SAMPLES, SIZES = 10_000, 2_000, (50, 200)
HOLDS = 0.93  # coverage from which a 95% interval counts as holding
Method = Callable[[np.ndarray], Interval]


def experiment(policy: str, instance: str, trials: int = 1) -> Experiment:
    """One policy on an instance."""
    means, epsilon = INSTANCES[instance]
    line: dict[str, object] = {"policy": policy}
    if registry()[policy].privacy != "none":
        line["epsilon"] = {"kind": "fixed", "value": epsilon}
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
    document = {"arms": arms, "lines": [line], "horizon": HORIZON, "trials": trials, "seed": SEED}
    return Experiment.model_validate(document)


def losses(policy: str, instance: str, trials: int) -> np.ndarray:
    """Regret of every run at the horizon, shape (trials,)."""
    [played] = simulate(experiment(policy, instance, trials)).lines
    assert played is not None
    return played.regret[:, -1]


def student(runs: np.ndarray) -> Interval:
    """Student's, of samples of shape (runs, samples), as all below."""
    width = half_width(len(runs)) * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return Interval(runs.mean(axis=0) - width, runs.mean(axis=0) + width)


def johnson(runs: np.ndarray) -> Interval:
    """Student's moved by third moment / (6 sd^2 n) (Johnson 1978, J. Am. Statist. Ass. 73)."""
    low, high = student(runs)
    third = ((runs - runs.mean(axis=0)) ** 3).mean(axis=0)
    variance = runs.var(axis=0, ddof=1)
    shift = third / np.where(variance > 0, 6 * len(runs) * variance, 1.0)
    return Interval(low + shift, high + shift)


def median_of_means(runs: np.ndarray) -> Interval:
    """Lowest to highest mean of five blocks: it misses the median of such means in 1 of 16 samples."""
    blocks = runs[: len(runs) // 5 * 5].reshape(5, -1, runs.shape[1]).mean(axis=1)
    return Interval(blocks.min(axis=0), blocks.max(axis=0))


def bernstein(runs: np.ndarray) -> Interval:
    """Maurer and Pontil's (2009) empirical Bernstein bound for losses in [0, horizon x largest gap]: proved."""
    log, most, count = np.log(4 / 0.05), HORIZON * (max(FIVE) - min(FIVE)), len(runs)
    width = np.sqrt(2 * runs.var(axis=0, ddof=1) * log / count) + 7 * most * log / (3 * (count - 1))
    return Interval(runs.mean(axis=0) - width, runs.mean(axis=0) + width)


METHODS: dict[str, Method] = {
    "Student": student, "Johnson": johnson, "five means": median_of_means, "Bernstein": bernstein,
}  # fmt: skip


def coverage(method: Method, samples: np.ndarray, truth: float) -> tuple[float, float]:
    """Share of intervals that hold the truth (up to rounding), and their median width divided by the truth."""
    low, high = method(samples)
    slack = 1e-9 * abs(truth)
    return float(np.mean((low - slack <= truth) & (truth <= high + slack))), float(np.median(high - low) / truth)


def rows_of(policy: str, trials: int, samples: int) -> list[list[str]]:
    """A row for each sample size: coverage by the lab's interval on each instance, the lowest of
    every other method, how wide the lab's interval is at most, and the mark.
    """
    same = registry()[policy].privacy == "none"  # at every ε
    runs = {name: losses(policy, name, trials) for name in INSTANCES if not (same and "ε" in name)}
    generator, rows = np.random.default_rng(SEED), []
    for size in SIZES:
        drawn = {name: each[generator.integers(0, trials, (size, samples))] for name, each in runs.items()}
        held = {name: coverage(interval, each, float(runs[name].mean())) for name, each in drawn.items()}
        others = [
            min(coverage(method, each, float(runs[name].mean()))[0] for name, each in drawn.items())
            for method in METHODS.values()
        ]
        shares = [f"{held[name][0]:.0%}" if name in held else "" for name in INSTANCES]
        mark = "" if min(share for share, _ in held.values()) >= HOLDS else "does not hold"
        width = max(width for _, width in held.values())
        rows.append([policy, str(size), *shares, *(f"{each:.0%}" for each in others), f"{width:.1%}", mark])
    return rows


def policies() -> list[str]:
    """Every policy that plays on these arms: those for users with features do not."""
    single = experiment("ucb", "five").single_arms
    return [name for name, policy in registry().items() if policy.accepts(single) is None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", action="append", help="only this one (may be repeated)")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    asked = parser.parse_args(arguments)
    rows = [row for policy in asked.policy or policies() for row in rows_of(policy, asked.trials, asked.samples)]
    print_table(["policy", "runs", *INSTANCES, *METHODS, "width / mean", ""], rows)


if __name__ == "__main__":
    main()
