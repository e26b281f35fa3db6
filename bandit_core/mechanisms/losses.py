"""What one answer gives away about two inputs: privacy loss, its distribution, and the odds of a guesser after many
answers.

The loss of a response y is ln p(y | first) / p(y | second). A pure mechanism keeps it within +-epsilon. Where it may
exceed epsilon, delta is what has to be paid for it: delta(e) = E[(1 - exp(e - loss))+] under the first input, which is
at most the chance of a loss above e.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.description import Mechanism

_POINTS = 20_001
_SPREADS = 30.0  # standard deviations on each side that count; beyond lies less than e^-40 of any distribution here
_ROUNDING = 1e-9  # nats


def span(
    mechanism: Mechanism, inputs: tuple[float, float], epsilon: float, spreads: float = 3.0
) -> tuple[float, float]:
    """Responses worth drawing: ``spreads`` standard deviations around both means, or all there are."""
    means = [float(mechanism.mean(value, epsilon)) for value in inputs]
    sd = max(math.sqrt(float(mechanism.variance(value, epsilon))) for value in inputs)
    low, high = min(means) - spreads * sd, max(means) + spreads * sd
    reach = mechanism.reach(epsilon)
    return (-reach, reach) if math.isfinite(reach) else (low, high)


def nodes(mechanism: Mechanism, inputs: tuple[float, float], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Responses and weights whose weighted densities integrate over all responses; bits have weight 1 each."""
    if mechanism.outputs == "bit":
        return np.array([0.0, 1.0]), np.ones(2)
    low, high = span(mechanism, inputs, epsilon, _SPREADS)
    if math.isfinite(mechanism.reach(epsilon)):  # densities that may be infinite at the ends: y = reach sin(angle)
        angles = (np.arange(_POINTS - 1) + 0.5) / (_POINTS - 1) * math.pi - math.pi / 2
        return high * np.sin(angles), high * np.cos(angles) * math.pi / (_POINTS - 1)
    # Middles of cells, so that a kink at an input costs no more than the square of a cell.
    width = (high - low) / (_POINTS - 1)
    return low + width * (np.arange(_POINTS - 1) + 0.5), np.full(_POINTS - 1, width)


def profile(
    mechanism: Mechanism, inputs: tuple[float, float], epsilon: float, levels: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """The real delta at each epsilon of ``levels``, and the chance of a loss above it; the larger of both orders.

    By summation over `nodes`: exact for bits, to about six digits for numbers.

    >>> from bandit_core.mechanisms import CTB
    >>> delta, above = profile(CTB, (0.0, 1.0), 1.0, [0.0, 0.5, 1.0])
    >>> delta.round(3), above.round(3)  # a pure mechanism needs no delta at its epsilon
    (array([0.462, 0.288, 0.   ]), array([0.731, 0.731, 0.   ]))
    """
    levels = np.asarray(levels, float)
    responses, weights = nodes(mechanism, inputs, epsilon)
    deltas, aboves = np.zeros(levels.shape), np.zeros(levels.shape)
    for first, second in (inputs, inputs[::-1]):
        mass = weights * np.exp(mechanism.log_density(responses, first, epsilon))
        loss = np.asarray(mechanism.log_ratio(responses, first, second, epsilon))
        for place, level in enumerate(levels.ravel()):
            over = loss > level + _ROUNDING
            excess = float(mass[over] @ -np.expm1(level - loss[over]))
            deltas.flat[place] = max(deltas.flat[place], excess)
            aboves.flat[place] = max(aboves.flat[place], float(mass[over].sum()))
    return deltas, aboves


@dataclass(frozen=True)
class Round:
    """A guessing game: one of two inputs was drawn by a fair coin and answered for again and again.

    ``truth``: 0 for the first input, 1 for the second. ``log_odds``: ln of the odds for the first input after 0, 1, 2,
    ... responses, as the best possible guesser reckons them; ``most``: what they can never exceed if the mechanism is
    pure, n epsilon.
    """

    truth: int
    responses: np.ndarray
    log_odds: np.ndarray
    most: np.ndarray


def play_round(mechanism: Mechanism, inputs: tuple[float, float], epsilon: float, answers: int, seed: int) -> Round:
    """A round of ``answers`` responses; a longer round with the same seed begins with a shorter one.

    >>> from bandit_core.mechanisms import CTB
    >>> game = play_round(CTB, (1.0, 0.0), 0.5, 8, seed=3)
    >>> bool(np.all(np.abs(game.log_odds) <= game.most + 1e-12))
    True
    """
    rng = np.random.default_rng([seed, 0])
    truth = int(rng.integers(2))
    # A generator for each answer: how many a release draws at once must not change them.
    drawn = [mechanism.release(inputs[truth], epsilon, np.random.default_rng([seed, 1, n])) for n in range(answers)]
    responses = np.array(drawn, float)
    steps = mechanism.log_ratio(responses, inputs[0], inputs[1], epsilon) if answers else np.zeros(0)
    log_odds = np.concatenate([[0.0], np.cumsum(steps)])
    return Round(truth, responses, log_odds, epsilon * np.arange(answers + 1))


def chance_of_right_guess(log_odds: float) -> float:
    """How often the likelier input is the true one at these odds, if both were equally likely before."""
    return 1 / (1 + math.exp(-abs(log_odds)))


def noise_density(scales: ArrayLike, places: ArrayLike) -> np.ndarray:
    """Density at ``places`` of a sum of independent Laplace variables with these ``scales`` (at least one).

    By the inverse of the characteristic function, the product of 1 / (1 + b^2 w^2), on a fine grid: good to about
    1e-4 of the peak within a few standard deviations, where a kink of few terms is a little rounded.

    >>> round(float(noise_density([2.0], [0.5])[0]), 4), round(0.25 * math.exp(-0.25), 4)
    (0.1947, 0.1947)
    """
    scales, places = np.asarray(scales, float), np.asarray(places, float)
    sd = math.sqrt(2 * float(np.sum(scales**2)))
    count, half = 2**16, 40 * sd
    step = 2 * half / count
    frequencies = 2 * math.pi * np.fft.rfftfreq(count, step)
    transform = np.exp(-np.log1p((scales[:, None] * frequencies) ** 2).sum(axis=0))
    density = np.fft.fftshift(np.fft.irfft(transform, count)) / step
    grid = (np.arange(count) - count // 2) * step
    return np.interp(places, grid, np.maximum(density, 0.0))
