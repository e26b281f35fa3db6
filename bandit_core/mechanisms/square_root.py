"""Square root of the counting matrix (Fichtenberger, Henzinger and Upadhyay 2023; Henzinger, Upadhyay, Upadhyay 2023).

The running sums of x are A x, A being the lower triangle of ones, and A = R R for the lower triangle R with the entries
f_(i-j), f_0 = 1 and f_j = f_(j-1) (2j - 1) / (2j): the power series of 1 / (1 - y) is the square of that of
1 / sqrt(1 - y). The curator releases R (R x + Z) = A x + R Z with independent normal Z of standard deviation s. An item
moves R x by a column of R, whose length is at most that of the first, so s = s(|f|, epsilon, delta) of the analytic
Gaussian mechanism. The variance after n items is s^2 (f_0^2 + ... + f_(n-1)^2), about s^2 (1.07 + ln n / pi).

Proof of privacy, for items that may be chosen one by one after what was released. R can be inverted row by row, so
the releases tell the same as the numbers (R x + Z)_t, one by one. Before item i they do not depend on it. Given them,
items x and x' for i are fixed, and whoever knows both and the rule by which later items are chosen can take all other
items out of what follows: what is left is (x f_(t-i) + Z_t) for t >= i, normal noise on a vector that x against x'
moves by at most |f|. So the claim holds given every past before i, and therefore altogether.

Long runs draw the same noise in steps of equal cost. With x = e^-s the coefficients are a mixture of exponentials,

    f_j = (1/pi) integral over 0 < x < 1 of x^j / sqrt(x (1 - x)) dx,

and the trapezoid rule in ln s meets all of f_0, ..., f_(T-1) to ten digits with few terms w_k r_k^j, as many as ln T
times a constant (`exponentials`; sums of exponentials in this place: Dvijotham, McMahan, Pillutla, Steinke and
Thakurta 2024, arXiv 2404.16706). So the noise after t items is the sum over k of h_k(t) = r_k h_k(t-1) + w_k Z_t.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined
from bandit_core.mechanisms.counter import Counter, Noise, checked_horizon, within
from bandit_core.mechanisms.description import described
from bandit_core.mechanisms.gaussian import analytic_sd, checked_target, smallest_epsilon
from bandit_core.spec.portable_math import exp, expm1, log, power

DELTA = 1e-5
_TABLED = 2**16  # sums of squares that are added up; beyond, their expansion is exact to 14 digits
_STEP = 0.36  # of the trapezoid rule, whose error falls like e^(-pi^2 / step)
_CUT = 1e-10  # what the slowest exponentials may be off by, taken as one
_FASTEST = 3.1  # ln s beyond which an exponential is gone after one item


@lru_cache(maxsize=32)
def coefficients(count: int) -> np.ndarray:
    """The first ``count`` coefficients of 1 / sqrt(1 - y), shape (count,): 1, 1/2, 3/8, ..."""
    order = np.arange(1.0, count)
    found = np.concatenate([[1.0], np.cumprod((2 * order - 1) / (2 * order))])
    found.setflags(write=False)
    return found


@lru_cache(maxsize=32)
def squared_lengths(count: int) -> np.ndarray:
    """Sums of the squares of the first 1, 2, ..., ``count`` coefficients, shape (count,)."""
    found = np.cumsum(coefficients(count) ** 2)
    found.setflags(write=False)
    return found


def squared_length(counts: ArrayLike) -> np.ndarray:
    """Sums of the squares of the first ``counts`` (each at least 1) coefficients, in the shape of ``counts``.

    These are Landau's constants: (ln n + 0.5772... + 4 ln 2) / pi - 1/(4 pi n) + 5/(192 pi n^2) + ... (Watson 1930).

    >>> squared_length([1, 2, 3]).tolist()
    [1.0, 1.25, 1.390625]
    """
    n = np.asarray(counts)
    tabled = squared_lengths(_TABLED)[np.minimum(n, _TABLED) - 1]
    large = (log(n) + np.euler_gamma + 4 * math.log(2) - 1 / (4 * n) + 5 / (192 * n**2.0)) / math.pi
    return np.where(n <= _TABLED, tabled, large)


@lru_cache(maxsize=32)
def exponentials(horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights w and rates r, shapes (terms,), with f_j = sum of w r^j for j < ``horizon``, to ten decimals.

    All exponentials that are too slow to be told apart until the horizon are taken as one, with their mean rate; a
    last one that is gone at once mends f_0.

    >>> weights, rates = exponentials(1000)
    >>> [round(float(weights @ rates**lag), 9) for lag in (0, 1, 2)]
    [1.0, 0.5, 0.375]
    """
    slowest = 0.4 * math.log(_CUT / max(1000.0, horizon) ** 2)
    decays = exp(np.arange(_FASTEST, slowest, -_STEP))
    weights = _STEP / math.pi * decays / np.sqrt(expm1(decays))
    shares = exp(-_STEP * np.array([0.5, 1.5]))
    still, moved = _STEP / math.pi * power(decays[-1], [0.5, 1.5]) * shares / (1 - shares)  # all that are slower
    found = (
        np.concatenate([weights, [still, 1 - weights.sum() - still]]),
        np.concatenate([exp(-decays), [math.exp(-moved / still), 0.0]]),
    )
    for array in found:
        array.setflags(write=False)
    return found


@inlined
def spread_noise(held: np.ndarray, row: int, weights: np.ndarray, rates: np.ndarray, fresh: float) -> float:
    """Noise of the sum after one more item, whose normal variable is ``fresh``; ``held`` (rows, terms) starts at 0."""
    noise = 0.0
    for term in range(rates.shape[0]):
        held[row, term] = rates[term] * held[row, term] + weights[term] * fresh
        noise += held[row, term]
    return noise


@lru_cache(maxsize=64)
def _sd(sensitivity: float, epsilon: float, delta: float) -> float:
    return analytic_sd(sensitivity, epsilon, delta)


@dataclass(frozen=True)
class SquareRoot(Counter):
    """The factorisation for at most ``horizon`` items, at (epsilon, delta).

    >>> counter = SquareRoot(epsilon=1.0, horizon=2, delta=0.01)
    >>> round(counter.variance(2) / counter.variance(1), 6)  # 1 + (1/2)^2
    1.25
    """

    epsilon: float
    horizon: int
    delta: float = DELTA
    name: ClassVar[str] = "square-root"

    def __post_init__(self) -> None:
        checked_target(1.0, self.epsilon, self.delta)
        checked_horizon(self.horizon)

    @property
    def total_epsilon(self) -> float:
        return self.epsilon

    @property
    def sensitivity(self) -> float:
        """The farthest that an item moves R x: the length of the first column."""
        return math.sqrt(squared_length(self.horizon))

    @property
    def sd(self) -> float:
        """Standard deviation of each Z, reward units."""
        return _sd(self.sensitivity, self.epsilon, self.delta)

    def spent(self, count: ArrayLike) -> np.ndarray:
        # The first item, whose column has the largest part above any row.
        counts = np.minimum(np.asarray(count), self.horizon)
        levels, places = np.unique(counts, return_inverse=True)
        lengths = np.sqrt(squared_length(np.maximum(levels, 1)))
        found = [
            smallest_epsilon(length, self.sd, self.delta) if one else 0.0
            for one, length in zip(levels, lengths, strict=True)
        ]
        return np.minimum(np.array(found)[places], self.epsilon).reshape(counts.shape)

    def variance(self, count: int) -> float:
        return float(self.sd**2 * squared_length(count))

    def density(self, count: int, places: ArrayLike) -> np.ndarray:
        sd = math.sqrt(self.variance(count))
        return np.exp(-0.5 * (np.asarray(places, float) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))

    def noise(self, rng: np.random.Generator, streams: int) -> Noise:
        drawn, weights = np.empty((streams, self.horizon)), coefficients(self.horizon)[::-1]

        def following(count: int) -> np.ndarray:
            within(count, self.horizon)
            drawn[:, count - 1] = self.sd * rng.standard_normal(streams)
            return drawn[:, :count] @ weights[self.horizon - count :]

        return following

    def evidence(self, item: int) -> np.ndarray:
        """Weights of all released sums, shape (horizon,), whose total tells most about item number ``item``.

        The normal vector R x + Z is R^-1 times the releases, and the item moves it along its column of R: the total
        is the part along that column, in units of the item, with noise of standard deviation s / length.
        """
        column = np.concatenate([np.zeros(item - 1), coefficients(self.horizon - item + 1)])
        order = np.arange(1.0, self.horizon)
        inverse = np.concatenate([[1.0], np.cumprod((2 * order - 3) / (2 * order))])  # series of sqrt(1 - y)
        back = np.array([inverse[: self.horizon - row] @ column[row:] for row in range(self.horizon)])
        return back / (column @ column)


DESCRIPTION = described("square-root", lambda epsilon, *, horizon, delta=DELTA: SquareRoot(epsilon, horizon, delta))
