"""Fewer and larger calls of the BLAS for products that it computes with the same bits either way.

`gemm` defines a product as one call for each matrix and panel. A library that is called once brings an operand into its order once: eight
shards times one replicated weight take a quarter less as a single tall product, panels of one matrix some percent less. Each result is
summed alone, so the wider call has the bits of the narrow ones unless the library takes another routine for it. Whether it does follows
from the shape, not from the numbers: a shape that comes again is tried once, both ways on random numbers, and goes the wide way only
where every bit agrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.workers import Task
from tt_run.runtime.values.float_warnings import restore, silence

Array = npt.NDArray[np.float32]
Panels = Callable[[int, int, int], Iterator[tuple[slice, slice]]]

_ROWS = 16
"""Heights that are no multiple of this end in other inner kernels."""
_TALLEST = 512
"""From so many rows on, one matrix alone is worth the library's preparation."""
_SMALLEST = 1 << 20
_LARGEST = 1 << 30
"""Multiplications: for fewer, libraries have other routines; for more, the trial costs more than it may save."""
_ROUTINE = 3
"""How often a shape comes before it is worth the trial."""

_seen: dict[Shape, int] = {}


class Shape(NamedTuple):
    """So many `products` of M x K and K x N, and whether the operands lie row by row."""

    products: int
    m: int
    k: int
    n: int
    left: bool
    right: bool


def wider_tasks(a: Array, b: Array, out: Array, panels: Panels, threads: int) -> list[Task] | None:
    """The calls of (*batch, M, K) @ (*batch, K, N) -> out, shared by `threads`; None where the narrow calls it is."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    count = math.prod(out.shape[:-2])
    if m % _ROWS or not _SMALLEST <= m * k * n <= _LARGEST:
        return None
    tall = count > 1 and m <= _TALLEST and a.flags.c_contiguous and a.ndim == out.ndim and _one_for_all(b)
    if not tall and (count < threads or len(list(panels(m, k, n))) == 1):
        return None
    pieces = min(count, threads) if tall else count
    cuts = [(count * p // pieces, count * (p + 1) // pieces) for p in range(pieces)]
    order = a.strides[-1] == a.itemsize, b.strides[-1] == b.itemsize
    shapes = {Shape(last - first, m, k, n, *order) for first, last in cuts}
    if not all(_routine(shape) and _agrees(shape, panels) for shape in shapes):
        return None
    if tall:
        rows, target, right = a.reshape(-1, k), out.reshape(-1, n), b[(0,) * (b.ndim - 2)]
        return [
            partial(_into, rows[first * m : last * m], right, target[first * m : last * m])
            for first, last in cuts
        ]
    batch = out.shape[:-2]
    a, b = np.broadcast_to(a, (*batch, m, k)), np.broadcast_to(b, (*batch, k, n))
    return [partial(_into, a[place], b[place], out[place]) for place in np.ndindex(*batch)]


def _one_for_all(b: Array) -> bool:
    """Whether every product of a batch has the same right operand."""
    return not any(stride and size > 1 for stride, size in zip(b.strides[:-2], b.shape[:-2], strict=True))


def _routine(shape: Shape) -> bool:
    times = _seen[shape] = _seen.get(shape, 0) + 1
    return times >= _ROUTINE


@lru_cache(maxsize=1024)
def _agrees(shape: Shape, panels: Panels) -> bool:
    """Whether one call has the bits of one for each matrix and panel."""
    count, m, k, n, left, right = shape
    random = np.random.default_rng(count)
    b = _operand(random, (k, n), right)
    a = random.standard_normal((count * m, k), np.float32) if count > 1 else _operand(random, (m, k), left)
    wide = np.matmul(a, b)
    for start in range(0, count * m, m):
        for rows, columns in panels(m, k, n):
            narrow = np.matmul(a[start : start + m][rows], b[:, columns])
            if not np.array_equal(narrow, wide[start : start + m][rows, columns]):
                return False
    return True


def _operand(random: np.random.Generator, shape: Sequence[int], by_rows: bool) -> Array:
    if by_rows:
        return random.standard_normal(tuple(shape), np.float32)
    return random.standard_normal(tuple(shape)[::-1], np.float32).T


def _into(a: Array, b: Array, out: Array) -> None:
    before = silence()
    try:
        np.matmul(a, b, out=out)
    finally:
        restore(before)
