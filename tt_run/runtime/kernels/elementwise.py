"""Elementwise kernels over stacks: computed in float32, rounded once, block by block while a block is in cache.

An element's result may not depend on where it lies, so that a shard gives the same bits alone, stacked, and on any rank:
blocks are contiguous when a kernel sees them (NumPy takes other loops for strided data), and cutting is free because every element stands alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.functions import relu, relu6
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import (
    BFLOAT16,
    SMALL,
    narrow,
    round_bfloat16,
    round_block,
    round_blocks,
    take_upper,
)
from tt_run.runtime.values.dtypes import convert_each
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch
from tt_run.runtime.values.torch_rounding import is_ready

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]

# NumPy's buffer in elements, where functions of one element each broadcast.
BUFFER = 1024


EXACT = frozenset(
    {
        *(
            np.add,
            np.subtract,
            np.multiply,
            np.divide,
            np.maximum,
            np.minimum,
            np.negative,
            np.abs,
            np.square,
            np.sqrt,
        ),
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(
            np.logical_and,
            np.logical_or,
            np.logical_xor,
            np.logical_not,
            np.floor,
            np.ceil,
            np.trunc,
            np.rint,
        ),
        *(relu, relu6),
    }
)
"""Functions whose result is the one correct value: strides cannot change it, so nothing is copied for them. They take `out`."""


ANSWERS = frozenset(
    {
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    }
)
"""Functions that make 1 and 0 of whatever they get: nothing is left to round."""


CLOSED = frozenset(
    {
        *(np.maximum, np.minimum, np.negative, np.abs, np.floor, np.ceil, np.trunc, np.rint, np.positive),
        *ANSWERS,
    }
)
"""Functions that make bfloat16 values of bfloat16 values: nothing is left to round."""


SUMS = frozenset({np.add, np.subtract})
"""Functions whose results on bfloat16 values are whole units, as `evaluate` says."""


def evaluate(
    kernel: Kernel,
    dtype: DataType,
    *operands: Array | float | int,
    rounds: bool = True,
    whole_units: bool = False,
    kept: list[Array] | None = None,
) -> Array:
    """`kernel` over operands that broadcast against each other, in the stored form of `dtype`.

    Arrays are stacks whose first axis counts shards; scalars are passed as they are. `rounds=False`: the results are values of
    `dtype` already. `whole_units`: they are multiples of the smallest bfloat16 number, as in `round_block`.
    `kept` takes the 16 bits of each result where that is worth it: of many in bfloat16.
    """
    size, shape = 0, None
    for operand in operands:
        if isinstance(operand, np.ndarray):
            if shape is None:
                shape, size, real = operand.shape, operand.size, operand.dtype == np.float32
            elif operand.shape != shape:
                shape = np.broadcast_shapes(shape, operand.shape)
                size = math.prod(shape)
    if size <= BLOCK or not real:
        return _whole(kernel, dtype, operands, shape or (), rounds)
    return _blocked(kernel, dtype, operands, shape or (), rounds, whole_units, kept)


def finish(values: Array, dtype: DataType, kept: list[Array] | None = None, *, either: bool = False) -> Array:
    """Results that nobody else holds, in the stored form of `dtype`: the one rounding of an operation. `kept` as in `evaluate`.

    `either`: many bfloat16 elements may come as such, where PyTorch makes them.
    """
    if values.dtype == np.float32:
        if dtype is DataType.FLOAT32:
            return values
        if either and dtype is DataType.BFLOAT16 and values.size > BLOCK and is_ready():
            return _narrowed(np.ascontiguousarray(values))
        if dtype is DataType.BFLOAT16 and values.flags.c_contiguous and values.flags.writeable:
            return _rounded_in_place(values, kept)
    return convert_each(values, dtype)


def _rounded_in_place(values: Array, kept: list[Array] | None) -> Array:
    """bfloat16 rounding of a large or small result, shared among the threads when that pays."""
    bits = None if kept is None or values.size <= BLOCK else empty(values.shape, np.uint16)
    if bits is not None and kept is not None:
        kept.append(bits)
    if pieces_of(values.size) == 1:
        return round_bfloat16(values, values, bits)
    rows = values.reshape(-1)
    halves = None if bits is None else bits.reshape(-1)
    run_tasks(
        [partial(_round, rows[cut], None if halves is None else halves[cut]) for cut in _shares(rows.size)]
    )
    return values


def _round(values: Array, bits: Array | None) -> None:
    round_bfloat16(values, values, bits)


def _narrowed(values: Array) -> Array:
    """bfloat16 elements of a large result, shared among the threads when that pays."""
    out: Array = empty(values.shape, BFLOAT16)
    rows, halves = values.reshape(-1), out.reshape(-1)
    cuts = _shares(rows.size)
    run_tasks([partial(_narrow, rows[cut], halves[cut]) for cut in cuts])
    return out


def _narrow(values: Array, halves: Array) -> None:
    before = silence()
    try:
        narrow(values, halves)
    finally:
        restore(before)


def _shares(length: int) -> list[slice]:
    pieces = pieces_of(length)
    return [slice(length * p // pieces, length * (p + 1) // pieces) for p in range(pieces)]


def _whole(
    kernel: Kernel, dtype: DataType, operands: tuple[Any, ...], shape: tuple[int, ...], rounds: bool
) -> Array:
    """Small results and integers: one call."""
    given: Sequence[Any] = operands
    if kernel not in EXACT:
        given = [np.ascontiguousarray(o) if isinstance(o, np.ndarray) else o for o in operands]
    before = silence()
    try:
        values = kernel(*given)
        if values.shape != shape or not values.flags.c_contiguous:
            values = np.ascontiguousarray(np.broadcast_to(values, shape))
        if dtype is DataType.BFLOAT16:
            if not rounds and values.dtype == np.float32:  # a NaN keeps its bits, as in blocks
                return values.copy() if any(values is o for o in given) else values
            if values.size > SMALL:
                return round_bfloat16(values)
            # A cast there and back: faster than anything else on a small array, and always a new one.
            rounded: Array = values.astype(BFLOAT16).astype(np.float32)
            return rounded
    finally:
        restore(before)
    return finish(values.copy() if any(values is o for o in given) else values, dtype)


def _blocked(
    kernel: Kernel,
    dtype: DataType,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    rounds: bool,
    whole_units: bool,
    kept: list[Array] | None,
) -> Array:
    out: Array = empty(shape, np.float32)
    if all(o.shape == shape and o.flags.c_contiguous for o in operands if isinstance(o, np.ndarray)):
        # Everything lines up: one long row.
        views = [o.reshape(-1) if isinstance(o, np.ndarray) else o for o in operands]
        target: Array = out.reshape(-1)
    else:
        views = [np.broadcast_to(o, shape) if isinstance(o, np.ndarray) else o for o in operands]
        target = out
    short = dtype is DataType.BFLOAT16
    bits = None
    if kept is not None and short and rounds:
        whole = empty(shape, np.uint16)
        kept.append(whole)
        bits = whole.reshape(target.shape)
    fill = _fill if kernel not in EXACT else partial(_fill_exact, whole_units=whole_units)
    places = list(blocks_of(target.shape))
    pieces = pieces_of(out.size)
    run_tasks(
        [
            partial(fill, kernel, views, target, bits, places[p::pieces], short and rounds)
            for p in range(pieces)
        ]
    )
    return out if short or dtype is DataType.FLOAT32 else convert_each(out, dtype)


def _fill(
    kernel: Kernel,
    views: list[Any],
    target: Array,
    bits: Array | None,
    places: list[tuple[int | slice, ...]],
    rounded: bool,
) -> None:
    """Compute the blocks at `places`; threads keep error states of their own."""
    with np.errstate(all="ignore"):
        for place in places:
            values = kernel(
                *(np.ascontiguousarray(v[place]) if isinstance(v, np.ndarray) else v for v in views)
            )
            if rounded and values.dtype == np.float32 and values.flags.c_contiguous:
                own = None if bits is None else bits[place].reshape(-1)
                round_blocks(values.reshape(-1), target[place].reshape(-1), own)
            else:
                np.copyto(target[place], values.astype(BFLOAT16) if rounded else values)
                if bits is not None:
                    take_upper(target[place], bits[place])


def _fill_exact(
    kernel: Kernel,
    views: list[Any],
    target: Array,
    bits: Array | None,
    places: list[tuple[int | slice, ...]],
    rounded: bool,
    whole_units: bool,
) -> None:
    """`_fill` for a function that needs no copies; what is still to be rounded stays in cache meanwhile."""
    room = scratch("elementwise", 1)[0]
    with np.errstate(all="ignore"), Buffers(BUFFER):
        for place in places:
            block = target[place]
            given = [v[place] if isinstance(v, np.ndarray) else v for v in views]
            size = block.size
            own = None if bits is None else bits[place].reshape(-1)
            if not rounded or size > BLOCK:
                kernel(*given, out=block)
                if rounded:
                    round_blocks(block.reshape(-1), block.reshape(-1), own)
                continue
            row = room if size == BLOCK else room[:size]
            line = block.reshape(-1) if block.ndim > 1 else block
            kernel(*given, out=row.reshape(block.shape) if block.ndim > 1 else row)
            if not round_block(row, row, line, whole_units=whole_units, bits=own):
                kernel(*given, out=block)
                np.copyto(block, block.astype(BFLOAT16))
                if own is not None:
                    take_upper(block.reshape(-1), own)


class Buffers:
    """Inside, NumPy's functions gather so many elements at a time, on this thread, where they would copy operands together first.

    They do so with the rows of an operand that broadcasts if those are shorter, at three times the cost of the function itself. A buffer
    that holds a row leaves the bits of its sum alone; a shorter one does not in every release of NumPy.
    """

    __slots__ = ("_before", "_elements")

    def __init__(self, elements: int) -> None:
        self._elements = elements

    def __enter__(self) -> None:
        self._before = np.setbufsize(self._elements)

    def __exit__(self, *_: object) -> None:
        np.setbufsize(self._before)


def blocks_of(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    """Indices that cut an array of `shape` into contiguous blocks of about BLOCK elements."""
    axis, inner = len(shape), 1
    while axis and inner * shape[axis - 1] <= BLOCK:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield ()
        return
    step = max(1, BLOCK // inner)
    cuts = [slice(start, start + step) for start in range(0, shape[axis - 1], step)]
    for outer in itertools.product(*map(range, shape[: axis - 1])):
        for cut in cuts:
            yield (*outer, cut)
