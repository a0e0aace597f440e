"""Matrix products of stacks: the same bits on any split over ranks, for any thread count, alone or stacked.

Measured with NumPy's OpenBLAS on AVX2 (tests/runtime/ops/test_same_bits.py repeats it where it runs):
- a matrix of a stack gives the bits of the same matrix alone: NumPy calls the BLAS once for each;
- another leading dimension or address of an operand changes nothing for products of at least 2x2 results;
- one row, one column or one addend goes to other routines (gemv, dot), which do follow the order in memory;
- fusing shards into one wider product changes bits, and so does a second BLAS thread (see `blas`).
So: one call per shard and panel, the panels follow from the shape of the product alone, one BLAS thread per call, operands of
the special shapes brought into C order. The threads of the rank share the calls. `wider_calls` makes one call of several where it has
found the bits to be the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.blas import single_threaded
from tt_run.runtime.kernels.wider_calls import wider_tasks
from tt_run.runtime.kernels.workers import Task, run_tasks, thread_count
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[np.float32]

# Products with fewer multiplications than this are one call for each matrix: a fact of the shape, it decides about bits.
_PANEL_WORK = 1 << 26
# Stacks with fewer multiplications than this are not worth a second thread; it decides about nothing but time.
_SPREAD_WORK = 1 << 25
_PANEL_WIDTH = 1024


def matmul(a: Array, b: Array) -> Array:
    """Stacks (shards, *batch, M, K) @ (shards, *batch, K, N) -> (shards, *batch, M, N) in float32; batch dimensions broadcast.

    Operands may be transposed views. The result is C-contiguous.
    """
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        batch = np.broadcast_shapes(batch, b.shape[:-2])
    out: Array = empty((*batch, m, n), np.float32)
    if not out.size:
        return out
    special = m == 1 or n == 1 or k == 1
    a, b = _callable(a, special), _callable(b, special)
    with single_threaded():
        threads = thread_count() if out.size * k >= _SPREAD_WORK else 1
        if wide := wider_tasks(a, b, out, _calls, threads):
            run_tasks(wide)
        elif m * k * n < _PANEL_WORK and out.size * k < _SPREAD_WORK:
            _into(a, b, out)
        else:
            run_tasks(_tasks(np.broadcast_to(a, (*batch, m, k)), np.broadcast_to(b, (*batch, k, n)), out))
    return out


def _callable(operand: Array, special: bool) -> Array:
    """The operand in an order that BLAS reads itself; NumPy would multiply others with its own loop."""
    if special:
        return np.ascontiguousarray(operand)
    if operand.itemsize in operand.strides[-2:]:
        return operand
    return np.ascontiguousarray(operand)


def _tasks(a: Array, b: Array, out: Array) -> list[Task]:
    """The calls of a product, cut for the threads: between matrices anywhere, inside a matrix only by its shape."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    if m * k * n >= _PANEL_WORK:
        places = itertools.product(*map(range, out.shape[:-2]))
        return [
            partial(_into, a[i][rows], b[i][:, columns], out[i][rows, columns])
            for i in places
            for rows, columns in panels(m, n)
        ]
    count = len(out)
    pieces = min(count, thread_count())
    cuts = [slice(count * p // pieces, count * (p + 1) // pieces) for p in range(pieces)]
    return [partial(_into, a[cut], b[cut], out[cut]) for cut in cuts]


def _calls(m: int, k: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the results that one call makes."""
    return panels(m, n) if m * k * n >= _PANEL_WORK else iter([(slice(0, m), slice(0, n))])


def panels(m: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the results that one call of a large product makes."""
    return itertools.product(_cuts(m, n <= _PANEL_WIDTH), _cuts(n, True))


def _cuts(length: int, cut: bool) -> list[slice]:
    pieces = -(-length // _PANEL_WIDTH) if cut else 1
    # Multiples of 16 keep the inner kernels of common BLAS libraries off their edges.
    width = -(-length // pieces // 16) * 16 if pieces > 1 else length
    return [slice(start, min(start + width, length)) for start in range(0, length, width)]


def _into(a: Array, b: Array, out: Array) -> None:
    before = silence()  # an infinity times 0 is NaN, as on a device, which warns of nothing
    try:
        np.matmul(a, b, out=out)
    finally:
        restore(before)
