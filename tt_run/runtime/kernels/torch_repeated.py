"""A stack of many bfloat16 elements beside a few, which are repeated over it as a row or as a column, by PyTorch in 16 bits.

The functions are those of `torch_bfloat16`, compared there with the kernels; a row of them is whole steps of the wide loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import torch_twins as twins
from tt_run.runtime.kernels.torch_bfloat16 import STEP, WIDE, Oddity, fit, tensor_over, twin_of_pair
from tt_run.runtime.kernels.torch_twins import Twin
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.torch_rounding import PIECE, is_ready, threads_of_torch

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]


def spread(kernel: Kernel, large: Array, small: Array, *, swapped: bool) -> Array | None:
    """`kernel` of a stack of many bfloat16 elements and one of a few, which are repeated over them as a row or as a column, and come first if
    `swapped`; None where it is not for PyTorch, and where a NaN comes out. Both have as many dimensions.
    """
    if kernel is f.subtract_from:
        kernel, swapped = np.subtract, not swapped
    if kernel not in twins.PAIRS or large.dtype != BFLOAT16 or not fit(large) or not is_ready():
        return None
    each = len(large) == len(small) > 1  # shards with a row or a column of their own
    shaped = _as_matrix(large.shape[each:], small.shape[each:])
    twin, odd = twin_of_pair(kernel)
    if shaped is None or twin is None:
        return None
    if swapped:
        twin = partial(_swapped, twin)
    few = small if small.dtype == BFLOAT16 else to_wire(np.ascontiguousarray(small)).view(BFLOAT16)
    out: Array = empty(large.shape, BFLOAT16)
    stacks = zip(large, few, out, strict=True) if each else [(large, few, out)]
    for many, beside, made in stacks:
        width, form = shaped
        rows, numbers, to = (
            tensor_over(np.ascontiguousarray(array).reshape(-1)).view(shape)
            for array, shape in ((many, (-1, width)), (beside, form), (made, (-1, width)))
        )
        if not _filled(twin, odd, rows, numbers, to, made.reshape(-1, width).view(np.uint16)):
            return None
    return out


def _swapped(twin: Twin, a: Any, b: Any, *, out: Any) -> None:
    twin(b, a, out=out)


def _filled(twin: Twin, odd: Oddity, rows: Any, numbers: Any, out: Any, bits: Array) -> bool:
    """Compute rows beside one row of numbers, or beside one number each, unless any result is odd; whether none was."""
    step = (STEP if threads_of_torch() == 1 else PIECE) // bits.shape[1]
    if not step:
        return False
    oddities: list[int] = []

    def fill(starts: Sequence[int]) -> None:
        for start in starts:
            cut = slice(start, start + step)
            twin(rows[cut], numbers if len(numbers) == 1 else numbers[cut], out=out[cut])
            if odd(bits[cut]):
                oddities.append(start)
                return

    starts, pieces = range(0, len(bits), step), pieces_of(bits.size)
    run_tasks([partial(fill, starts[p::pieces]) for p in range(pieces)])
    return not oddities


def _as_matrix(large: Sequence[int], small: Sequence[int]) -> tuple[int, tuple[int, int]] | None:
    """The width of rows of a large stack over which a small one is a row or a column, and its form; None where it is neither, or rows are
    not for the wide loops.
    """
    for place in range(len(large) + 1):
        width, count = math.prod(large[place:]), math.prod(large[:place])
        if width % WIDE:
            return None
        ones = (1,) * place, (1,) * (len(large) - place)
        if tuple(small) == (*ones[0], *large[place:]):
            return width, (1, width)
        if tuple(small) == (*large[:place], *ones[1]):
            return width, (count, 1)
    return None
