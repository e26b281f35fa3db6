"""The noise of one release as a program that runs where people use it: OpenDP draws, with the release's own numbers.

Every program ends with the names ``epsilon`` (what OpenDP says that the release costs, nats; for normal noise at the
line's delta) and ``answer`` (what is sent), and prints both.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace

from bandit_core.mechanisms.base import Mechanism
from bandit_core.mechanisms.gaussian import GaussianNoise
from bandit_core.mechanisms.l2_ball import BallAlong
from bandit_core.mechanisms.randomised_response import RandomisedResponse
from bandit_core.mechanisms.sigmoid import SigmoidFirst
from bandit_core.model import Release

LIBRARIES = {
    "laplace": "OpenDP, make_laplace",
    "gaussian": "OpenDP, make_gaussian",
    "randomised response": "OpenDP, make_randomized_response_bool",
    "l2-ball": "OpenDP, make_randomized_response_bool, for the one private bit of a message (no library that this lab "
    "knows has the ball itself)",
    "shuffled bits": "OpenDP, make_randomized_response_bool, draws each bit; the chance of the truth follows from the "
    "size of the batch by this lab's account of the shuffle, for which no library was found",
    "discrete laplace": "no library that this lab knows draws a user's share of it (the difference of two Polya "
    "variables), so there is no program here",
    "skellam": "no library that this lab has tried draws a user's share of it (the difference of two Poisson "
    "variables), so there is no program here",
}

_START = """{comment}
{imports}import opendp.prelude as dp

dp.enable_features("contrib")  # constructors that OpenDP has not finished vetting
"""

_LAPLACE = """sensitivity, scale = {sensitivity!r}, {scale!r}
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
release = dp.m.make_laplace(*space, scale=scale)
epsilon = release.map(sensitivity)

answer = release(0.25)  # in place of this number: what is released
"""

_GAUSSIAN = """sensitivity, scale, delta = {sensitivity!r}, {scale!r}, {delta!r}
space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
release = dp.m.make_gaussian(*space, scale=scale)
rho = release.map(sensitivity)  # zero-concentrated: (sensitivity / scale)^2 / 2
# By way of rho: an upper bound. The exact condition (Balle and Wang 2018) shows that this noise keeps a smaller one.
epsilon = dp.c.make_zCDP_to_approxDP(release).map(sensitivity).epsilon(delta)

answer = release([0.5, -0.25, 0.0])  # in place of these numbers: what is released
"""

_BIT = """bit = dp.m.make_randomized_response_bool(prob={truth!r})
epsilon = bit.map(1)


def release(value):
    \"\"\"One bit for a number in [0, 1]: a coin with that chance of heads, then its randomised response.\"\"\"
    return bit(secrets.randbelow(2**53) < value * 2**53)


answer = release(0.25)  # in place of this number: the reward, or its sigmoid
"""

_BALL = """bit = dp.m.make_randomized_response_bool(prob={truth!r})
epsilon = bit.map(1)
draw = secrets.SystemRandom()


def release(vector, bound):
    \"\"\"A point of a sphere whose mean is the vector, of length at most bound.\"\"\"
    size, length = len(vector), math.hypot(*vector)
    direction = [draw.gauss(0.0, 1.0) for _ in vector]  # may be known to everyone
    ahead = sum(a * b for a, b in zip(direction, vector)) > 0
    rounded_up = draw.random() < 0.5 + length / (2 * bound)
    sign = 1 if bit(ahead == rounded_up) else -1  # all privacy is in this draw
    shape = math.sqrt(math.pi) * math.exp(math.lgamma((size + 1) / 2) - math.lgamma(size / 2))
    radius = sign * bound * shape / math.tanh(epsilon / 2) / math.hypot(*direction)
    return [radius * number for number in direction]


answer = release([0.5, -0.25, 0.0], bound=1.0)  # in place of these: what is released, and its public bound
"""

PROGRAMS = {"laplace": _LAPLACE, "gaussian": _GAUSSIAN, "randomised response": _BIT, "l2-ball": _BALL}
_IMPORTS = {"randomised response": "import secrets\n\n", "l2-ball": "import math\nimport secrets\n\n"}


def truth_of(epsilon: float) -> float:
    """Chance below 1 that randomised response tells the truth: of all doubles about the largest that keeps epsilon.

    >>> round(truth_of(1.0), 6), truth_of(1000.0) < 1
    (0.731059, True)
    """
    truth = min(1 / (1 + math.exp(-epsilon)), 1 - 2**-53)
    while truth > 0.5 and math.log(truth) - math.log1p(-truth) > epsilon:
        truth = math.nextafter(truth, 0.5)
    return truth


def program(release: Release, delta: float = 0.0) -> str:
    """Python that draws the noise of ``release`` once; ``delta`` is that of the line's promise (normal noise only)."""
    truth = None if release.budget is None else truth_of(release.budget)
    numbers = {"sensitivity": release.sensitivity, "scale": release.scale, "delta": delta, "truth": truth}
    comment = "\n".join(f"# {line}" for line in textwrap.wrap(f"Released: {release.released}.", 96))
    start = _START.format(comment=comment, imports=_IMPORTS.get(release.mechanism, ""))
    end = 'print("released:", answer, "at epsilon:", epsilon)\n'
    return start + PROGRAMS[release.mechanism].format(**numbers) + end


def release_of(mechanism: Mechanism, epsilon: float) -> Release:
    """What one answer of a mechanism is for the account of its user."""
    inner = mechanism.inner if isinstance(mechanism, SigmoidFirst) else mechanism
    answer = Release(
        mechanism="laplace",
        released="the reward" if inner is mechanism else "the sigmoid of the reward",
        unit="one reward",
        at="once, by its user",
        sensitivity=inner.sensitivity,
        scale=inner.sensitivity / epsilon,
    )
    if isinstance(inner, GaussianNoise):
        return replace(answer, mechanism="gaussian", scale=float(inner.sd(epsilon)))
    bits = replace(answer, mechanism="randomised response", sensitivity=None, scale=None, budget=epsilon)
    if isinstance(inner, BallAlong):
        return replace(bits, mechanism="l2-ball", released="a vector of length at most 1")
    return bits if isinstance(inner, RandomisedResponse) else answer
