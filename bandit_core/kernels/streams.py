"""Random numbers inside kernels: one xoshiro256++ stream (Blackman and Vigna 2019) per trial.

A stream is seeded by the trial's own child of ``SeedSequence(seed)``. The eight words of a row of ``streams`` are
two generators: words 0-3 feed the fixed number of uniforms that every step takes, words 4-7 feed samplers that
take as many as they need (rejection), so that a step's uniforms never depend on the arms pulled before it.
"""

import math
from typing import Any

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import device_function, inlined

UNIT = 2.0**-52  # spacing of the uniforms
HALF_UNIT = 2.0**-53  # added where a uniform must not be 0


def streams(seed: int, first: int, last: int) -> np.ndarray:
    """Fresh streams of trials ``first`` to ``last - 1``: shape (trials, 8), uint64."""
    children = (np.random.SeedSequence(seed, spawn_key=(trial,)) for trial in range(first, last))
    return np.array([child.generate_state(8, np.uint64) for child in children], np.uint64).reshape(-1, 8)


@inlined
def stepped(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The next 64 random bits of a generator of these four words, and its words after that: they stay in registers."""
    total = a + d
    mixed = ((total << uint64(23)) | (total >> uint64(41))) + a
    shifted = b << uint64(17)
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    return mixed, a, b, c, (d << uint64(45)) | (d >> uint64(19))


@inlined
def next_word(state: np.ndarray, row: int, at: int) -> Any:
    """The next 64 random bits of the generator whose four words start at column ``at``."""
    word, a, b, c, d = stepped(state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3])
    state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3] = a, b, c, d
    return word


@inlined
def uniform_of(word: Any) -> float:
    """The uniform in [0, 1) that 64 random bits make."""
    return (word >> uint64(12)) * UNIT


@inlined
def next_uniform(state: np.ndarray, row: int, at: int) -> float:
    """The next uniform in [0, 1) of the generator whose four words start at column ``at``."""
    return uniform_of(next_word(state, row, at))


@inlined
def fill_words(lanes: np.ndarray, words: np.ndarray) -> None:
    """Fill ``words`` (lanes,) with the next one of many generators, the columns of ``lanes`` (4, lanes), at once."""
    first, second, third, fourth = lanes[0], lanes[1], lanes[2], lanes[3]
    for lane in range(words.shape[0]):
        word, a, b, c, d = stepped(first[lane], second[lane], third[lane], fourth[lane])
        words[lane], first[lane], second[lane], third[lane], fourth[lane] = word, a, b, c, d


@device_function
def normal_quantile(probability: float) -> float:
    """Inverse of the standard normal distribution function (Wichura 1988, algorithm AS 241, about 1e-16)."""
    q = probability - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        above = (((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r
            + 4.5921953931549871457e4) * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
            + 1.3314166789178437745e2) * r + 3.3871328727963666080e0) * q  # fmt: skip
        below = ((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r
            + 2.1213794301586595867e4) * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
            + 4.2313330701600911252e1) * r + 1.0  # fmt: skip
        return above / below
    r = math.sqrt(-math.log(probability if q < 0 else 1.0 - probability))
    if r <= 5.0:
        r -= 1.6
        above = ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r
            + 1.27045825245236838258e0) * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r
            + 4.63033784615654529590e0) * r + 1.42343711074968357734e0  # fmt: skip
        below = ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r
            + 1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r
            + 2.05319162663775882187e0) * r + 1.0  # fmt: skip
    else:
        r -= 5.0
        above = ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r
            + 2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r
            + 5.46378491116411436990e0) * r + 6.65790464350110377720e0  # fmt: skip
        below = ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r
            + 7.86869131145613259100e-4) * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
            + 5.99832206555887937690e-1) * r + 1.0  # fmt: skip
    return math.copysign(above / below, q)


@device_function
def gamma(state: np.ndarray, row: int, shape: float) -> float:
    """A gamma variable of the given shape, scale 1 (Marsaglia and Tsang 2000), from the generator at column 4."""
    boost = 1.0
    if shape < 1.0:
        boost = (next_uniform(state, row, 4) + HALF_UNIT) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = normal_quantile(next_uniform(state, row, 4) + HALF_UNIT)
        v = 1.0 + c * z
        if v <= 0.0:
            continue
        v = v * v * v
        u = next_uniform(state, row, 4) + HALF_UNIT
        if u < 1.0 - 0.0331 * (z * z) * (z * z):  # inside the region below, without its logarithms
            return boost * d * v
        if math.log(u) < 0.5 * z * z + d - d * v + d * math.log(v):
            return boost * d * v


@device_function
def beta(state: np.ndarray, row: int, a: float, b: float) -> float:
    """A beta(a, b) variable, from the generator at column 4."""
    x = gamma(state, row, a)
    y = gamma(state, row, b)
    return x / (x + y) if x + y > 0.0 else 0.5
