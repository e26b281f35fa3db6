"""Lazy-DP-TS with few draws: its choices have the law of all draws at every step, and so have whole runs."""

import math

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, betaincc

from bandit_core.jit.decorators import inlined
from bandit_core.kernels import lazy_posterior, lazy_updates
from bandit_core.kernels.lazy_posterior import State, look
from bandit_core.kernels.lazy_updates import DOUBLING, Schedule
from bandit_core.kernels.play import Stream, seed_another
from bandit_core.kernels.posterior import UNSETTLED, room
from bandit_core.kernels.streams import streams

SIZE = 1e-3  # of all comparisons of one test together; the seeds are fixed
STEPS = 64  # of one visit to a state: a stretch and part of the next one
PARTS = 2  # of these steps, which are compared by themselves


def known_of(means: list[float], counts: list[int]) -> State:
    """What has been released of every arm; the next releases are far away."""
    number = len(means)
    released = lazy_updates.State(*np.zeros((5, number)), np.full(number, 10**9), np.arange(number))
    released.means[:], released.counts[:] = means, counts
    return State(np.arange(number), released, room(number), np.zeros(3, np.int64))


def posteriors(known: State, epsilon: float, now: int) -> tuple[np.ndarray, np.ndarray]:
    """Parameters as the policy defines them."""
    means, counts = known.released.means, known.released.counts
    clipped = np.clip(means + 3 * math.log2(now) / (epsilon * counts), 0, 1)
    return clipped * counts + 1, (1 - clipped) * counts + 1


def chances_to_win(known: State, epsilon: float, now: int) -> np.ndarray:
    """That each arm has the largest draw at a step, by numerical integration."""
    grid = np.linspace(0, 1, 8001)[:, None]
    a, b = posteriors(known, epsilon, now)
    masses, below = np.diff(betainc(a, b, grid), axis=0), betainc(a, b, (grid[1:] + grid[:-1]) / 2)
    others = [np.delete(below, arm, axis=1).prod(axis=1) for arm in range(len(a))]
    return np.sum(masses * np.array(others).T, axis=0)


def chances_in(known: State, epsilon: float, steps: np.ndarray) -> np.ndarray:
    """Sums of these chances over all of the steps, by a curve through five of them."""
    at = np.linspace(steps[0], steps[-1], 5).astype(int)
    rates = np.array([chances_to_win(known, epsilon, now) for now in at])
    x, places = (steps - steps[0]) / np.ptp(steps), (at - steps[0]) / np.ptp(steps)
    return np.vander(x, 5).sum(axis=0) @ np.linalg.solve(np.vander(places, 5), rates)


choose = inlined(lazy_posterior.choose)


@numba.njit
def chosen(rule, known, state, start, visits):
    """How often each arm is chosen in each part of the steps after ``start``, (parts, arms)."""
    counts = np.zeros((PARTS, known.released.means.shape[0]), np.int64)
    for _ in range(visits):
        known.when[0] = 0  # as after a release
        t = start
        while t < start + STEPS:
            _, length = choose(rule, known, known.released.counts, t, Stream(state, 0))
            arm = known.members[0]
            for _ in range(min(length, start + STEPS - t)):
                counts[(t - start) * PARTS // STEPS, arm] += 1
                t += 1
    return counts


STATES = {  # released means, rewards in them, epsilon, users so far
    "all settled": ([0.9, 0.6, 0.5], [1024, 128, 128], 10.0, 160),
    "hardly settled": ([0.8, 0.66, 0.64], [512, 128, 64], 20.0, 160),
    "rare": ([0.5, 0.3, 0.32, 0.4], [4096, 256, 512, 1024], 8.0, 200),
    "one unsettled": ([0.9, 0.86, 0.5], [2048, 64, 256], 20.0, 160),
    "close": ([0.51, 0.5], [1024, 1024], 5.0, 200),
    "moving fast": ([0.6, 0.1, 0.2], [512, 64, 64], 1.5, 60),
    "clipped": ([0.9, 0.99, -0.3], [64, 32, 64], 2.0, 100),
    "little known": ([0.4, 1.7, -0.9], [2, 1, 4], 1.0, 10),
}


@pytest.mark.parametrize("name", STATES)
def test_each_arm_is_chosen_as_often_as_its_draw_is_the_largest(name):
    means, counts, epsilon, start = STATES[name]
    known, visits = known_of(means, counts), 30_000
    counted = chosen(Schedule(DOUBLING, 1, epsilon, 0.0, 0.0, 0.0), known, streams(5, 0, 1), start, visits)
    for steps, seen in zip(np.split(start + 1 + np.arange(STEPS), PARTS), counted, strict=True):
        expected = visits * chances_in(known, epsilon, steps)
        assert expected.sum() == pytest.approx(seen.sum(), rel=1e-5)
        often = expected >= 5
        rare = (seen[~often].sum(), max(expected[~often].sum(), 1e-300))
        assert stats.poisson.sf(rare[0] - 1, rare[1]) > SIZE / (2 * PARTS * len(STATES))
        if often.sum() > 1:
            scaled = expected[often] * seen[often].sum() / expected[often].sum()
            assert stats.chisquare(seen[often], scaled).pvalue > SIZE / (2 * PARTS * len(STATES))


@pytest.mark.parametrize("seed", range(3))
def test_a_chance_is_never_below_what_it_stands_for_at_any_step_of_its_stretch(seed):
    rng, looked = np.random.default_rng(seed), 0
    for _ in range(60):
        counts = 2 ** rng.integers(0, 12, 4)
        epsilon, now = float(rng.choice([0.2, 1.0, 5.0])), int(rng.integers(5, 10_000))
        known = known_of(list(rng.uniform(-0.1, 1.1, 4)), list(counts))
        look.py_func(Schedule(DOUBLING, 1, epsilon, 0.0, 0.0, 0.0), known, now)
        arms, leader, bar = known.arms, known.arms.lead[0], known.arms.bar[0]
        for step in np.unique(np.linspace(now, known.when[0], 5).astype(int)):
            a, b = posteriors(known, epsilon, step)
            beyond = betaincc(a, b, bar)
            beyond[leader] = betainc(a[leader], b[leader], bar)
            settled = arms.spare > UNSETTLED
            assert (beyond[settled] <= arms.chances[settled]).all()
            looked += settled.sum()
        assert arms.bar[1] == pytest.approx(np.prod(1 - arms.chances), rel=1e-12)
        assert arms.lead[2] == np.sum(arms.spare < 0)
    assert looked > 100


def test_a_seeded_generator_leaves_the_first_as_it_was_and_differs_from_it():
    state, own = streams(0, 0, 2), np.empty((2, 1, 8), np.uint64)
    for row in range(2):
        seed_another(state, row, own[row])
    assert state.tobytes() == streams(0, 0, 2).tobytes()
    assert len(np.unique(np.concatenate([state.ravel(), own.ravel()]))) == 32
