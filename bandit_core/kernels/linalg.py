"""Small dense linear systems inside kernels. Only the upper triangle of a symmetric matrix is read and written.

Matrices have shape (size, size), vectors (size,). Inner loops run along a row, over numbers that do not wait for each
other, so that they use the vector units; every number is still the same sum in the same order. Columns are unsigned
there: one that could count from the end is loaded by itself. Nothing here creates an array.
"""

import math

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import device_function, inlined

TOGETHER = 8  # rows of a triangle that are subtracted as one rectangle, with the zeros beside them


@inlined
def add_rows(
    sums: np.ndarray, sign: float, weights: np.ndarray, matrix: np.ndarray, first: int, last: int, start: int
) -> None:
    """Add ``sign`` x weights[i] x row i of ``matrix`` to ``sums``, for i = ``first``, ..., ``last`` - 1 in turn.

    ``sign`` is 1 or -1; of a row the numbers from ``start`` on. Four rows at a time, so that a sum is not stored after
    each of them.
    """
    left, whole = uint64(start), last - (last - first) % 4
    for i in range(first, whole, 4):
        one, two, three, four = uint64(i), uint64(i + 1), uint64(i + 2), uint64(i + 3)
        a, b, c, d = sign * weights[one], sign * weights[two], sign * weights[three], sign * weights[four]
        for j in range(sums.shape[0]):
            column = left + uint64(j)
            total = sums[j] + a * matrix[one, column]
            total += b * matrix[two, column]
            total += c * matrix[three, column]
            sums[j] = total + d * matrix[four, column]
    for i in range(whole, last):
        weight = sign * weights[uint64(i)]
        for j in range(sums.shape[0]):
            sums[j] += weight * matrix[uint64(i), left + uint64(j)]


@inlined
def sum_columns(weights: np.ndarray, matrix: np.ndarray, start: int, sums: np.ndarray) -> None:
    """Fill ``sums`` with the sums over the rows of ``matrix``, times ``weights`` (rows,), from column ``start`` on."""
    for j in range(sums.shape[0]):
        sums[j] = 0.0
    add_rows(sums, 1.0, weights, matrix, 0, weights.shape[0], start)


@device_function
def factorise(matrix: np.ndarray, shift: float, factor: np.ndarray, signal: np.ndarray) -> bool:
    """Cholesky: factor^T factor = matrix + shift I, upper triangle; False where that is not positive definite.

    False also where ``signal`` asks for a stop: large matrices take seconds.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i, size):
            factor[i, uint64(j)] = matrix[i, uint64(j)]
        factor[i, i] += shift
        add_rows(factor[i, i:], -1.0, factor[:, i], factor, 0, i, i)
        pivot = factor[i, i]
        if not pivot > 0.0 or signal[0] != 0:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(i, size):
            factor[i, uint64(j)] *= scale
    return True


@inlined
def _substitute_back(upper: np.ndarray, solution: np.ndarray) -> None:
    """Solve upper s = ``solution`` in place, for an upper triangle."""
    size = upper.shape[0]
    for i in range(size - 1, -1, -1):
        value = solution[i]
        for j in range(i + 1, size):
            value -= upper[i, j] * solution[j]
        solution[i] = value / upper[i, i]


@device_function
def solve_factored(factor: np.ndarray, right: np.ndarray, solution: np.ndarray) -> None:
    """Solve factor^T factor s = ``right`` into ``solution``."""
    size = factor.shape[0]
    for i in range(size):
        solution[i] = right[i]
    for i in range(size):
        value = solution[i] / factor[i, i]
        solution[i] = value
        for j in range(i + 1, size):
            solution[uint64(j)] -= value * factor[i, uint64(j)]
    _substitute_back(factor, solution)


@device_function
def solve_indefinite(
    matrix: np.ndarray, shift: float, right: np.ndarray, work: np.ndarray, solution: np.ndarray
) -> bool:
    """Solve (matrix + shift I) s = ``right`` by elimination with pivots; False where it is singular."""
    size = matrix.shape[0]
    for i in range(size):
        for j in range(size):
            work[i, j] = matrix[i, j] if j >= i else matrix[j, i]
        work[i, i] += shift
        solution[i] = right[i]
    for i in range(size):
        pivot = i
        for k in range(i + 1, size):
            if abs(work[k, i]) > abs(work[pivot, i]):
                pivot = k
        if not abs(work[pivot, i]) > 0.0:
            return False
        if pivot != i:
            for j in range(i, size):
                work[i, j], work[pivot, j] = work[pivot, j], work[i, j]
            solution[i], solution[pivot] = solution[pivot], solution[i]
        for k in range(i + 1, size):
            weight = work[k, i] / work[i, i]
            for j in range(i, size):
                work[k, j] -= weight * work[i, j]
            solution[k] -= weight * solution[i]
    _substitute_back(work, solution)
    return True


@device_function
def invert_factored(factor: np.ndarray, inverse: np.ndarray, block: int, signal: np.ndarray) -> None:
    """The inverse of factor^T factor: its lower triangle, and all of the blocks of size ``block`` on its diagonal.

    What stands to the right of a block is room to work in. A part of the inverse where ``signal`` asks for a stop.
    """
    size = factor.shape[0]
    for i in range(size):  # the columns of the unit matrix, factor^T solved
        for j in range(size):
            inverse[i, uint64(j)] = 1.0 if j == i else 0.0
        for first in range(0, i, TOGETHER):
            last = min(i, first + TOGETHER)
            add_rows(inverse[i, :last], -1.0, factor[:, i], inverse, first, last, 0)
        for j in range(i + 1):
            inverse[i, uint64(j)] /= factor[i, i]
    for i in range(size - 1, -1, -1):  # and then factor, as far as later rows need it
        if signal[0] != 0:
            return
        stop = min(size, (i // block + 1) * block)
        add_rows(inverse[i, :stop], -1.0, factor[i], inverse, i + 1, size, 0)
        for j in range(stop):
            inverse[i, uint64(j)] /= factor[i, i]
