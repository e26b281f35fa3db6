"""What is written in LLVM's vectors, against plain Python on the same numbers, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import vectors
from bandit_core.kernels.normal_blocks import EDGES
from bandit_core.kernels.vectors import LANES, LAYERS, SPARE

MASK = 2**64 - 1


def random_words(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 2**64, shape, np.uint64, endpoint=False)


@kernel
def _fill_words(lanes, words):
    vectors.fill_words(lanes, words)


@kernel
def _place(words, widths, edges, out):
    return vectors.place_in_layers(words, widths, edges, out)


@kernel
def _lowest_bit(value):
    return vectors.lowest_bit(value)


@kernel
def _sum(weights, matrix, start, count, sums):
    vectors.sum_columns(weights, matrix, start, count, sums)


@kernel
def _square(inverse, matrix, start, count, squares):
    vectors.square_columns(inverse, matrix, start, count, squares)


@kernel
def _divide(matrix, count, weights, sums):
    vectors.divide_by_norms(matrix, count, weights, sums)


def next_word(generator: list[int]) -> int:
    """xoshiro256++ by its published steps."""

    def turned(value: int, by: int) -> int:
        return (value << by | value >> 64 - by) & MASK

    a, b, c, d = generator
    word = (turned((a + d) & MASK, 23) + a) & MASK
    c, d = c ^ a, d ^ b
    generator[:] = [a ^ d, b ^ c, c ^ (b << 17 & MASK), turned(d, 45)]
    return word


@pytest.mark.parametrize("rows", [1, 2, 37])
def test_every_lane_is_a_generator_of_its_own(rows):
    lanes = random_words(4, LANES)
    generators = [[int(word) for word in lanes[:, lane]] for lane in range(LANES)]
    words = np.empty((rows, LANES), np.uint64)
    _fill_words(lanes, words)
    assert words.tolist() == [[next_word(generator) for generator in generators] for _ in range(rows)]
    assert lanes.T.tolist() == generators


def test_places_lie_in_their_layers_and_those_above_the_curve_are_marked():
    widths = EDGES * 2.0**-52
    marked = 0
    for words in random_words(2000, LANES):
        out = np.empty(LANES)
        left = _place(words, widths, EDGES, out)
        for lane, word in enumerate(int(each) for each in words):
            layer = word % LAYERS
            place = ((word >> 12) + 0.5) * widths[layer]
            assert out[lane] == (-place if word & LAYERS else place)
            assert bool(left >> lane & 1) == (place >= EDGES[layer + 1])
            marked += place >= EDGES[layer + 1]
        assert 0 <= left < 2**LANES
    assert marked > 100


def test_the_lowest_bit():
    assert [_lowest_bit(value) for value in (1, 2, 12, 2**31, 2**40 + 2**33)] == [0, 1, 2, 31, 33]


SIZES = [(rows, count) for rows in (1, 2, 5, 20) for count in (1, 3, 4, 5, 10, 16, 17, 28, 51)]


@pytest.mark.parametrize(("rows", "count"), SIZES)
def test_sums_over_columns_are_those_of_one_row_after_the_other(rows, count):
    draw = np.random.default_rng(rows * 100 + count)
    start = 7
    matrix, weights = draw.normal(size=(rows, start + count + SPARE)), draw.normal(size=rows)
    inverse = draw.normal(size=(rows, rows))
    sums, squares = np.full((2, count + SPARE + 5), np.nan)
    _sum(weights, matrix, start, count, sums)
    _square(inverse, matrix, start, count, squares)
    for j in range(count):
        x, total, square = matrix[:, start + j], 0.0, 0.0
        for i in range(rows):
            image = 0.0
            for k in range(rows):
                image += x[k] * inverse[i, k]
            total += weights[i] * x[i]
            square += x[i] * image
        assert (sums[j], squares[j]) == (total, square)
    for written in (sums, squares):
        assert np.isnan(written[count + SPARE :]).all()


@pytest.mark.parametrize(("rows", "count"), SIZES)
def test_columns_are_divided_by_their_norms(rows, count):
    draw = np.random.default_rng(count)
    matrix, weights = draw.normal(size=(rows, count + SPARE + 6)), draw.normal(size=rows)
    before, sums = matrix.copy(), np.full(count + SPARE + 5, np.nan)
    _divide(matrix, count, weights, sums)
    for j in range(count):
        square = 0.0
        for i in range(rows):
            square += before[i, j] * before[i, j]
        assert matrix[:, j].tolist() == (before[:, j] * (1.0 / math.sqrt(square))).tolist()
        total = 0.0
        for i in range(rows):
            total += weights[i] * matrix[i, j]
        assert sums[j] == total
    assert np.isnan(sums[count + SPARE :]).all()
    np.testing.assert_array_equal(matrix[:, count + SPARE :], before[:, count + SPARE :])
