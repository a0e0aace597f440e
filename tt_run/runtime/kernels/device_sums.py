"""Sums in device order, so that the bits do not depend on which rank holds which device.

Elements are added one device after the other, ((d0 + d1) + d2) + …, in float32 for every floating-point type (bfloat16 and the block
formats are stored as float32), and rounded once to the type at the end. The reference reduces bfloat16 hop by hop, in an order that
depends on its ring; one rounding per operation is what all operations of this emulation do, and it is the more accurate of the two.
A shard that several devices hold is added once for each of them, not multiplied: float32 addition is not associative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.workers import run_tasks, thread_count

Array = npt.NDArray[Any]
Rounding = Callable[[Array], None]

# Elements that are summed over all devices before the next ones: operand and result blocks stay in the second-level cache.
BLOCK = 131072
# Up to as many, what a call of NumPy costs is more than what it adds.
FEW = 4096
_NOTHING = np.float32(-0.0)  # what leaves every number as it is when it is added, -0.0 too
# From this many elements on, the threads of the rank share the blocks.
SPREAD = 1 << 19


def ordered_sum(rows: Sequence[Array] | Array, out: Array, round_in_place: Rounding | None = None) -> None:
    """Sum equally shaped, contiguous one-dimensional arrays in the given order into `out`.

    `round_in_place` rounds a block of the result to the tensor's data type; it must work element by element.
    """
    if out.size <= BLOCK:
        sum_block(rows, out, round_in_place)
        return
    blocks = [slice(start, start + BLOCK) for start in range(0, out.size, BLOCK)]
    threads = thread_count() if out.size >= SPREAD else 1

    def share(number: int) -> None:
        for block in blocks[number::threads]:
            sum_block([row[block] for row in rows], out[block], round_in_place)

    if threads == 1:
        share(0)
    else:
        run_tasks([partial(share, number) for number in range(threads)])


def sum_block(rows: Sequence[Array] | Array, out: Array, round_in_place: Rounding | None) -> None:
    """Like `ordered_sum` for as few elements as fit the cache, of any shape."""
    if len(rows) == 1:
        out[...] = rows[0]
    elif (
        len(rows) > 2
        and 1 < out.size <= FEW
        and isinstance(rows, np.ndarray)
        and out.dtype == rows.dtype == np.float32
        and _reduces_in_order()
    ):
        np.add.reduce(rows, 0, np.float32, out=out, initial=_NOTHING)
    else:
        np.add(rows[0], rows[1], out)
        if len(rows) > 2:
            for row in rows[2:]:
                np.add(out, row, out)
    if round_in_place is not None:
        round_in_place(out)


@cache
def _reduces_in_order() -> bool:
    """Whether NumPy reduces the first axis row after row, as it does wherever rows have two elements or more. It promises no order."""
    shapes = ((3, 2), (8, 2), (8, 7), (9, 64), (32, 33), (33, 1024), (128, 2), (128, 257))
    for rows in (np.random.default_rng(0).lognormal(0, 9, shape).astype(np.float32) for shape in shapes):
        rows[:, 0] = -0.0
        total = rows[0].copy()
        for row in rows[1:]:
            np.add(total, row, total)
        if np.add.reduce(rows, 0, initial=_NOTHING).tobytes() != total.tobytes():
            return False
    return True


def slices(elements: int, parts: int, align: int = 64) -> tuple[slice, ...]:
    """Cut a range of elements into `parts` contiguous slices of nearly equal size whose borders are multiples of `align`.

    Late slices are empty when there are not enough elements.
    """
    step = -(-elements // (parts * align)) * align
    borders = [min(i * step, elements) for i in range(parts + 1)]
    return tuple(slice(a, b) for a, b in itertools.pairwise(borders))
