"""Steps of generators side by side, the ziggurat that they feed, and sums over columns, in LLVM's vectors of numbers.

Of plain loops LLVM makes slower code (see docs/speed.md): it keeps generators in memory between two steps, puts
comparisons together bit by bit, and sums one row after the other through memory. Each number here is the same as in
those loops, and LLVM turns a vector into whatever units a processor has.

Arrays are in C order; words are uint64, numbers double. Where columns are taken together up to `SPARE` more of them are
read or written than are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32  # generators that step together
LAYERS = 1024  # of their ziggurat
TOGETHER = 8  # generators whose words stay in registers
PLACED = 4  # words whose places are computed together
GROUPS = (16, 8, 4)  # columns that are summed together: so many sums do not wait for each other
SPARE = GROUPS[-1] - 1
WHOLE, WHOLE_BITS = 2.0**52, 0x4330000000000000  # a number and its bits, of which the lowest count from there on
_WORD, _NUMBER, _LANE = ir.IntType(64), ir.DoubleType(), ir.IntType(32)

Lowered = tuple[Any, Callable[..., Any]]  # the signature of an intrinsic, and what writes its code


def _whole(value: int) -> ir.Constant:
    return ir.Constant(_WORD, value)


def _vector(value: float, kind: ir.Type, lanes: int) -> ir.Constant:
    """A constant in each lane."""
    return ir.Constant(ir.VectorType(kind, lanes), [value] * lanes)


def _alike(builder: Any, number: Any, lanes: int) -> Any:
    """A number in each lane."""
    room = ir.Constant(ir.VectorType(number.type, lanes), None)
    first = builder.insert_element(room, number, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, first, _vector(0, _LANE, lanes))


class _Array(NamedTuple):
    """An argument of an intrinsic: where its numbers begin, and its shape."""

    start: Any
    shape: list[Any]


def _arguments(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
    """The arguments of an intrinsic, arrays as `_Array`."""
    found = []
    for kind, value in zip(signature.args, values, strict=True):
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            found.append(_Array(array.data, [builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]))
        else:
            found.append(value)
    return found


def _one(builder: Any, array: _Array, place: Any) -> Any:
    """The number at a place, counted along the rows."""
    return builder.load(builder.gep(array.start, [place]))


def _place(builder: Any, array: _Array, row: Any, column: Any) -> Any:
    """The place of a row's column."""
    return builder.add(builder.mul(row, array.shape[1]), column)


def _from(builder: Any, array: _Array, place: Any, kind: ir.Type, lanes: int) -> Any:
    """Where the vector from a place on is."""
    return builder.bitcast(builder.gep(array.start, [place]), ir.VectorType(kind, lanes).as_pointer())


def _load(builder: Any, array: _Array, place: Any, kind: ir.Type, lanes: int) -> Any:
    """The numbers from a place on."""
    return builder.load(_from(builder, array, place, kind, lanes), align=8)


def _store(builder: Any, array: _Array, place: Any, value: Any) -> None:
    """Write numbers from a place on."""
    builder.store(value, _from(builder, array, place, value.type.element, value.type.count), align=8)


def _stepped(builder: Any, words: list[Any]) -> tuple[Any, list[Any]]:
    """`streams.stepped` in each lane: the next words, and the generators' own after that."""

    def turned(value: Any, by: int) -> Any:
        left, right = _vector(by, _WORD, TOGETHER), _vector(64 - by, _WORD, TOGETHER)
        return builder.or_(builder.shl(value, left), builder.lshr(value, right))

    a, b, c, d = words
    mixed = builder.add(turned(builder.add(a, d), 23), a)
    shifted = builder.shl(b, _vector(17, _WORD, TOGETHER))
    c, d = builder.xor(c, a), builder.xor(d, b)
    return mixed, [builder.xor(a, d), builder.xor(b, c), builder.xor(c, shifted), turned(d, 45)]


@intrinsic
def fill_words(typing: Any, lanes: Any, words: Any) -> Lowered:
    """Fill ``words`` (rows, LANES) with the next words of generators: the columns of ``lanes`` (4, LANES)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        states, out = _arguments(context, builder, signature, values)
        every = cgutils.for_range_slice(builder, _whole(0), states.shape[1], _whole(TOGETHER), _WORD)
        with every as (first, _):
            places = [_place(builder, states, _whole(row), first) for row in range(4)]
            kept = [
                cgutils.alloca_once_value(builder, _load(builder, states, place, _WORD, TOGETHER)) for place in places
            ]
            with cgutils.for_range(builder, out.shape[0]) as row:
                mixed, later = _stepped(builder, [builder.load(own) for own in kept])
                for value, own in zip(later, kept, strict=True):
                    builder.store(value, own)
                _store(builder, out, _place(builder, out, row.index, first), mixed)
            for place, own in zip(places, kept, strict=True):
                _store(builder, states, place, builder.load(own))
        return context.get_dummy_value()

    return types.void(lanes, words), generate


@intrinsic
def place_in_layers(typing: Any, words: Any, widths: Any, edges: Any, out: Any) -> Lowered:
    """A signed place in a layer for each of LANES ``words``, into ``out``.

    Returns a bit for each whose place is not below ``edges[layer + 1]``. A word's lowest 10 bits choose the layer, the
    eleventh the sign, the upper 52 the middle of a cell of width ``widths[layer]``.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words, widths, edges, out = _arguments(context, builder, signature, values)

        def looked_up(table: Any, places: list[Any]) -> Any:
            found = ir.Constant(ir.VectorType(_NUMBER, PLACED), None)
            for lane, place in enumerate(places):
                found = builder.insert_element(found, _one(builder, table, place), ir.Constant(_LANE, lane))
            return found

        left = _whole(0)
        for first in range(0, LANES, PLACED):
            word = _load(builder, words, _whole(first), _WORD, PLACED)
            layers = [
                builder.and_(_one(builder, words, _whole(first + lane)), _whole(LAYERS - 1)) for lane in range(PLACED)
            ]
            cells = builder.or_(builder.lshr(word, _vector(12, _WORD, PLACED)), _vector(WHOLE_BITS, _WORD, PLACED))
            number = ir.VectorType(_NUMBER, PLACED)
            middle = builder.fsub(builder.bitcast(cells, number), _vector(WHOLE - 0.5, _NUMBER, PLACED))
            place = builder.fmul(middle, looked_up(widths, layers))
            bounds = looked_up(edges, [builder.add(layer, _whole(1)) for layer in layers])
            above = builder.bitcast(builder.fcmp_ordered(">=", place, bounds), ir.IntType(PLACED))
            left = builder.or_(left, builder.shl(builder.zext(above, _WORD), _whole(first)))
            sign = builder.and_(builder.shl(word, _vector(53, _WORD, PLACED)), _vector(1 << 63, _WORD, PLACED))
            signed = builder.xor(builder.bitcast(place, word.type), sign)
            _store(builder, out, _whole(first), builder.bitcast(signed, number))
        return left

    return types.int64(words, widths, edges, out), generate


@intrinsic
def lowest_bit(typing: Any, value: Any) -> Lowered:
    """The place of the lowest bit of a whole number that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _by_columns(builder: Any, count: Any, write: Callable[[Any, int], None]) -> None:
    """``write(first, lanes)`` for groups of columns until ``count`` of them are done, or up to SPARE more."""
    first, end = _whole(0), builder.and_(builder.add(count, _whole(SPARE)), _whole(-GROUPS[-1]))
    for lanes in GROUPS:
        until = builder.and_(end, _whole(-lanes))
        with cgutils.for_range_slice(builder, first, until, _whole(lanes), _WORD) as (at, _):
            write(at, lanes)
        first = until


def _summed(builder: Any, rows: Any, lanes: int, term: Callable[[Any], Any]) -> Any:
    """The sum of ``term(row)`` over the rows in turn, in each lane."""
    total = cgutils.alloca_once_value(builder, _vector(0.0, _NUMBER, lanes))
    with cgutils.for_range(builder, rows) as row:
        builder.store(builder.fadd(builder.load(total), term(row.index)), total)
    return builder.load(total)


@intrinsic
def sum_columns(typing: Any, weights: Any, matrix: Any, start: Any, count: Any, sums: Any) -> Lowered:
    """``sums[j]`` = the sum over rows i of ``weights[i]`` x ``matrix[i, start + j]``, for ``count`` columns."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        weights, matrix, start, count, sums = _arguments(context, builder, signature, values)

        def write(first: Any, lanes: int) -> None:
            def term(row: Any) -> Any:
                own = _load(builder, matrix, _place(builder, matrix, row, builder.add(start, first)), _NUMBER, lanes)
                return builder.fmul(own, _alike(builder, _one(builder, weights, row), lanes))

            _store(builder, sums, first, _summed(builder, matrix.shape[0], lanes, term))

        _by_columns(builder, count, write)
        return context.get_dummy_value()

    return types.void(weights, matrix, types.int64, types.int64, sums), generate


@intrinsic
def square_columns(typing: Any, inverse: Any, matrix: Any, start: Any, count: Any, squares: Any) -> Lowered:
    """``squares[j]`` = x^T ``inverse`` x for x = column ``start + j`` of ``matrix``, for ``count`` columns."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        inverse, matrix, start, count, squares = _arguments(context, builder, signature, values)
        rows = matrix.shape[0]

        def write(first: Any, lanes: int) -> None:
            def own(row: Any) -> Any:
                return _load(builder, matrix, _place(builder, matrix, row, builder.add(start, first)), _NUMBER, lanes)

            def image(row: Any) -> Any:
                def term(other: Any) -> Any:
                    weight = _one(builder, inverse, _place(builder, inverse, row, other))
                    return builder.fmul(own(other), _alike(builder, weight, lanes))

                return _summed(builder, rows, lanes, term)

            total = _summed(builder, rows, lanes, lambda row: builder.fmul(own(row), image(row)))
            _store(builder, squares, first, total)

        _by_columns(builder, count, write)
        return context.get_dummy_value()

    return types.void(inverse, matrix, types.int64, types.int64, squares), generate


@intrinsic
def divide_by_norms(typing: Any, matrix: Any, count: Any, weights: Any, sums: Any) -> Lowered:
    """Multiply ``count`` columns by 1 / the root of the sum of their squares, row after row; then as `sum_columns`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        matrix, count, weights, sums = _arguments(context, builder, signature, values)

        def write(first: Any, lanes: int) -> None:
            def square(row: Any) -> Any:
                own = _load(builder, matrix, _place(builder, matrix, row, first), _NUMBER, lanes)
                return builder.fmul(own, own)

            kind = ir.VectorType(_NUMBER, lanes)
            name = f"llvm.sqrt.v{lanes}f64"
            root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
            norms = builder.call(root, [_summed(builder, matrix.shape[0], lanes, square)])
            scales = builder.fdiv(_vector(1.0, _NUMBER, lanes), norms)

            def term(row: Any) -> Any:
                place = _place(builder, matrix, row, first)
                own = builder.fmul(_load(builder, matrix, place, _NUMBER, lanes), scales)
                _store(builder, matrix, place, own)
                return builder.fmul(own, _alike(builder, _one(builder, weights, row), lanes))

            _store(builder, sums, first, _summed(builder, matrix.shape[0], lanes, term))

        _by_columns(builder, count, write)
        return context.get_dummy_value()

    return types.void(matrix, types.int64, weights, sums), generate
