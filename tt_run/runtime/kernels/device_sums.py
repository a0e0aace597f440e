"""Sums in device order, so that the bits do not depend on which rank holds which device.

Elements are added one device after the other, ((d0 + d1) + d2) + …, in float32 for every floating-point type (bfloat16 and the block
formats are stored as float32), and rounded once to the type at the end. The reference reduces bfloat16 hop by hop, in an order that
depends on its ring; one rounding per operation is what all operations of this emulation do, and it is the more accurate of the two.
A shard that several devices hold is added once for each of them, not multiplied: float32 addition is not associative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.workers import run_tasks, thread_count

Array = npt.NDArray[Any]
Rounding = Callable[[Array], None]

# Elements that are summed over all devices before the next ones: operand and result blocks stay in the second-level cache.
BLOCK = 131072
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
    else:
        np.add(rows[0], rows[1], out)
        if len(rows) > 2:
            for row in rows[2:]:
                np.add(out, row, out)
    if round_in_place is not None:
        round_in_place(out)


def slices(elements: int, parts: int, align: int = 64) -> tuple[slice, ...]:
    """Cut a range of elements into `parts` contiguous slices of nearly equal size whose borders are multiples of `align`.

    Late slices are empty when there are not enough elements.
    """
    step = -(-elements // (parts * align)) * align
    borders = [min(i * step, elements) for i in range(parts + 1)]
    return tuple(slice(a, b) for a, b in itertools.pairwise(borders))
