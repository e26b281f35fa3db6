"""Small dense linear systems inside kernels. Only the upper triangle of a symmetric matrix is read and written.

Matrices have shape (size, size), vectors (size,). Loops run along rows, so that they use the vector units; nothing here
creates an array.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import inlined, piece


@piece
def factorise(matrix: np.ndarray, shift: float, factor: np.ndarray, signal: np.ndarray) -> bool:
    """Cholesky: factor^T factor = matrix + shift I, upper triangle; False where that is not positive definite.

    False also where ``signal`` asks for a stop: large matrices take seconds.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i, size):
            factor[i, j] = matrix[i, j]
        factor[i, i] += shift
    for i in range(size):
        pivot = factor[i, i]
        if not pivot > 0.0 or signal[0] != 0:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(i, size):
            factor[i, j] *= scale
        for k in range(i + 1, size):
            weight = factor[i, k]
            for j in range(k, size):
                factor[k, j] -= weight * factor[i, j]
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


@inlined
def _substitute(factor: np.ndarray, solution: np.ndarray, first: int) -> None:
    """Solve factor^T factor s = ``solution`` in place; its numbers before ``first`` are 0."""
    size = factor.shape[0]
    for i in range(first, size):
        value = solution[i] / factor[i, i]
        solution[i] = value
        for j in range(i + 1, size):
            solution[j] -= value * factor[i, j]
    _substitute_back(factor, solution)


@piece
def solve_factored(factor: np.ndarray, right: np.ndarray, solution: np.ndarray) -> None:
    """Solve factor^T factor s = ``right`` into ``solution``."""
    for i in range(right.shape[0]):
        solution[i] = right[i]
    _substitute(factor, solution, 0)


@piece
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


@piece
def invert_factored(factor: np.ndarray, inverse: np.ndarray, signal: np.ndarray) -> None:
    """The whole inverse of factor^T factor; a part of it where ``signal`` asks for a stop."""
    size = factor.shape[0]
    for column in range(size):
        if signal[0] != 0:
            return
        for j in range(size):
            inverse[column, j] = 1.0 if j == column else 0.0
        _substitute(factor, inverse[column], column)


@inlined
def quadratic(matrix: np.ndarray, x: np.ndarray, at: int) -> float:
    """x^T matrix x, where x is column ``at`` of ``x``."""
    total = 0.0
    for k in range(x.shape[0]):
        part = 0.0
        for j in range(x.shape[0]):
            part += matrix[k, j] * x[j, at]
        total += x[k, at] * part
    return total
