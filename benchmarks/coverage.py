"""How often does a 95% interval of the mean loss hold, policy by policy? ``python -m benchmarks.coverage``.

Each policy for users without features plays 10,000 runs once; their mean counts as the truth. Then 2,000 samples of 50
and of 200 runs are drawn from them with replacement, and every interval is asked whether it holds the truth. The
bootstrap and the empirical likelihood take long and get 200 samples. ``--trials`` and ``--samples`` make it smaller.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from bandit_core import Experiment, simulate
from bandit_core.policies import registry
from bandit_core.simulation.comparisons import Interval, half_width, interval
from benchmarks.measuring import print_table

ARMS = [
    {"kind": "bernoulli", "mean": 0.8},
    {"kind": "bernoulli", "mean": 0.6, "count": 2},
    {"kind": "bernoulli", "mean": 0.4, "count": 2},
]
HORIZON, EPSILON, SEED = 10_000, 1.0, 7
TRIALS, SAMPLES, SLOW_SAMPLES, SIZES = 10_000, 2_000, 200, (50, 200)
RESAMPLES = 400
HOLDS = 0.93  # coverage from which a 95% interval counts as holding
Method = Callable[[np.ndarray], Interval]


def losses(policy: str, trials: int) -> np.ndarray:
    """Regret of every run at the horizon, shape (trials,)."""
    line: dict[str, object] = {"policy": policy}
    if registry()[policy].privacy != "none":
        line["epsilon"] = {"kind": "fixed", "value": EPSILON}
    spec = {"version": 1, "title": "", "arms": ARMS, "lines": [line], "horizon": HORIZON}
    played = simulate(Experiment.model_validate({**spec, "trials": trials, "seed": SEED})).lines[0]
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


def _by_sample(runs: np.ndarray, one: Callable[[np.ndarray, np.ndarray], tuple[float, float]]) -> Interval:
    generator = np.random.default_rng(SEED)
    places = generator.integers(0, len(runs), (RESAMPLES, len(runs)))
    ends = [one(sample, sample[places]) if np.ptp(sample) else (sample[0], sample[0]) for sample in runs.T]
    return Interval(*np.array(ends).T)


def bootstrap_t(runs: np.ndarray) -> Interval:
    """Quantiles of Student's statistic over resamples (Efron 1979)."""

    def one(sample: np.ndarray, again: np.ndarray) -> tuple[float, float]:
        apart, spread = again.mean(axis=1) - sample.mean(), again.std(axis=1, ddof=1)
        statistic = np.where(spread > 0, apart / np.where(spread > 0, spread, 1.0), np.sign(apart) * 1e9)
        low, high = np.quantile(statistic, [0.025, 0.975])
        spread_here = sample.std(ddof=1)
        return float(sample.mean() - high * spread_here), float(sample.mean() - low * spread_here)

    return _by_sample(runs, one)


def bca(runs: np.ndarray) -> Interval:
    """The bias-corrected and accelerated bootstrap (Efron 1987)."""

    def one(sample: np.ndarray, again: np.ndarray) -> tuple[float, float]:
        means, mean = again.mean(axis=1), sample.mean()
        apart = sample - mean
        speed = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
        below = np.mean(means < mean) + np.mean(means == mean) / 2
        bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
        moved = bias + ndtri([0.025, 0.975])
        low, high = np.quantile(means, ndtr(bias + moved / (1 - speed * moved)))
        return float(low), float(high)

    return _by_sample(runs, one)


def _likelihood_ratio(runs: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Owen's statistic -2 ln R of each sample at its ``mean``, shape (samples,); infinite outside the runs' range."""
    apart = runs - mean
    least, most = apart.min(axis=0), apart.max(axis=0)
    inside = (least < 0) & (most > 0)
    low = -1 / np.where(inside, most, 1.0)
    high = -1 / np.where(inside, least, -1.0)
    for _ in range(50):
        middle = (low + high) / 2
        rising = (apart / np.where(inside, 1 + middle * apart, 1.0)).sum(axis=0) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    logs = np.log(np.maximum(1 + middle * apart, 1e-300)).sum(axis=0)
    return np.where(inside, 2 * logs, np.inf)


def empirical_likelihood(runs: np.ndarray) -> Interval:
    """Owen's (1988), with Student's quantile squared as the limit."""
    ends = []
    for edge in (runs.min(axis=0), runs.max(axis=0)):
        inner, outer = runs.mean(axis=0), edge
        for _ in range(40):
            middle = (inner + outer) / 2
            kept = _likelihood_ratio(runs, middle) <= half_width(len(runs)) ** 2
            inner, outer = np.where(kept, middle, inner), np.where(kept, outer, middle)
        ends.append(inner)
    return Interval(*ends)


def median_of_means(runs: np.ndarray) -> Interval:
    """Lowest to highest mean of five blocks: it misses the median of such means in 1 of 16 samples."""
    blocks = runs[: len(runs) // 5 * 5].reshape(5, -1, runs.shape[1]).mean(axis=1)
    return Interval(blocks.min(axis=0), blocks.max(axis=0))


def bernstein(runs: np.ndarray) -> Interval:
    """Maurer and Pontil's (2009) empirical Bernstein bound for losses in [0, horizon x largest gap]: proved."""
    log, most, count = np.log(4 / 0.05), HORIZON * 0.4, len(runs)
    width = np.sqrt(2 * runs.var(axis=0, ddof=1) * log / count) + 7 * most * log / (3 * (count - 1))
    return Interval(runs.mean(axis=0) - width, runs.mean(axis=0) + width)


FAST: dict[str, Method] = {
    "Student": student, "Johnson": johnson, "Student or Hall": interval, "five means": median_of_means,
    "Bernstein": bernstein,
}  # fmt: skip
SLOW: dict[str, Method] = {"bootstrap-t": bootstrap_t, "BCa": bca, "likelihood": empirical_likelihood}


def coverage(method: Method, samples: np.ndarray, truth: float) -> tuple[float, float]:
    """Share of intervals that hold the truth (up to rounding), and their median width divided by the truth."""
    low, high = method(samples)
    slack = 1e-9 * abs(truth)
    return float(np.mean((low - slack <= truth) & (truth <= high + slack))), float(np.median(high - low) / truth)


def rows_of(policy: str, trials: int, samples: int) -> list[list[str]]:
    """A row for each sample size: coverage by every method, what the lab's interval spans, and the mark."""
    runs = losses(policy, trials)
    truth, generator = float(runs.mean()), np.random.default_rng(SEED)
    rows = []
    for size in SIZES:
        drawn = runs[generator.integers(0, trials, (size, samples))]
        found = {name: coverage(method, drawn, truth) for name, method in FAST.items()}
        found |= {name: coverage(method, drawn[:, :SLOW_SAMPLES], truth) for name, method in SLOW.items()}
        held, width = found["Student or Hall"]
        mark = "" if held >= HOLDS else "does not hold"
        rows.append([policy, str(size), *(f"{share:.0%}" for share, _ in found.values()), f"{width:.1%}", mark])
    return rows


def policies() -> list[str]:
    """Every policy that plays on these arms: those for users with features do not."""
    single = Experiment.model_validate({"arms": ARMS, "lines": [{"policy": "ucb"}], "horizon": HORIZON}).single_arms
    return [name for name, policy in registry().items() if policy.accepts(single) is None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", action="append", help="only this one (may be repeated)")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    asked = parser.parse_args(arguments)
    rows = [row for policy in asked.policy or policies() for row in rows_of(policy, asked.trials, asked.samples)]
    print_table(["policy", "runs", *FAST, *SLOW, "width / mean", ""], rows)


if __name__ == "__main__":
    main()
