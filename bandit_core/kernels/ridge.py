"""Inverses of regularised sums of x x^T, by rank-one updates."""

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined
from bandit_core.kernels.contexts import Users
from bandit_core.kernels.linalg import sum_columns


class Inverses(NamedTuple):
    """The inverse of each model (models, dimension, dimension), and the ``image`` (dimension,), one of them times x."""

    inverses: np.ndarray
    image: np.ndarray


@allocating
def inverses_of(ridge: float, users: Users) -> Inverses:
    """Those of ``ridge`` x I."""
    models, d = users.theta.shape
    inverses = np.zeros((models, d, d))
    for model in range(models):
        for i in range(d):
            inverses[model, i, i] = 1.0 / ridge
    return Inverses(inverses, np.empty(d))


@inlined
def add_context(known: Inverses, model: int, context: np.ndarray) -> float:
    """Add x x^T to the matrix behind an inverse (Sherman and Morrison). Afterwards ``known.image`` times what is
    returned is the new inverse times x.
    """
    inverse, image, share = known.inverses[model], known.image, 1.0
    sum_columns(context, inverse, 0, image)  # along rows, as it is symmetric
    for k in range(image.shape[0]):
        share += context[k] * image[k]
    share = 1.0 / share
    for i in range(image.shape[0]):
        own, weight = inverse[i], image[i]
        for j in range(image.shape[0]):
            own[j] -= weight * image[j] * share
    return share
