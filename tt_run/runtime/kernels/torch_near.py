"""Functions of two bfloat16 elements that PyTorch computes in float32 almost as NumPy does, in a fraction of its time.

Rounding to 16 bits takes the difference away but for results about the middle between two bfloat16 numbers. Those, very small ones, and what is
infinite or no number, NumPy computes: one of two thousand. So the bits are the kernel's, as long as both are within `_APART` units in the last
place of each other; over random pairs of all sizes it is one. PyTorch is never imported for this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.elementwise import evaluate
from tt_run.runtime.kernels.torch_bfloat16 import elements_of
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire, widen
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.torch_rounding import PIECE, is_ready, threads_of_torch

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]

PAIRS: dict[Kernel, str] = {np.arctan2: "atan2", np.hypot: "hypot"}
"""Of two elements; none whose result may be the small difference of large numbers."""

_APART = 8
_MIDDLE = np.uint16(0x8000 - _APART)
_SMALL, _INFINITE = np.uint32(27 << 23), np.uint32(255 << 23)  # 2**-100
_SIZE = np.uint32(0x7FFFFFFF)
_LOW = 0 if sys.byteorder == "little" else 1


def of_pair(kernel: Kernel, a: Shards, b: Shards) -> Shards | None:
    """`kernel` of large shards of BFLOAT16, of one shape and in the same places, as such shards; None where it is not for PyTorch."""
    if kernel not in PAIRS or a.stack.size <= BLOCK or a.stack.shape != b.stack.shape or not is_ready():
        return None
    if not _is_near(kernel):
        return None
    first, second = (np.ascontiguousarray(elements_of(each)).reshape(-1) for each in (a, b))
    out: Array = empty(a.stack.shape, BFLOAT16)
    step = BLOCK if threads_of_torch() == 1 else PIECE
    starts, pieces = range(0, out.size, step), pieces_of(out.size)
    fill = partial(_fill, kernel, first, second, out.reshape(-1), step)
    run_tasks([partial(fill, starts[p::pieces]) for p in range(pieces)])
    return a.holding(out)


def _fill(kernel: Kernel, a: Array, b: Array, out: Array, step: int, starts: Sequence[int]) -> None:
    torch = sys.modules["torch"]
    function = getattr(torch, PAIRS[kernel])
    short = [torch.from_numpy(row.view(np.int16)).view(torch.bfloat16) for row in (a, b, out)]
    for start in starts:
        cut = slice(start, start + step)
        first, second, to = (tensor[cut] for tensor in short)
        found = function(first.float(), second.float())
        to.copy_(found)
        odd = _undecided(found.numpy())
        if odd.size:
            given = (widen(row[cut][odd]) for row in (a, b))
            out[cut][odd] = to_wire(evaluate(kernel, DataType.BFLOAT16, *given)).view(BFLOAT16)


def _undecided(values: Array) -> npt.NDArray[np.intp]:
    """Places of results that may round to another number, or are too small or too large to tell."""
    bits = values.view(np.uint32)
    about = bits.view(np.uint16)[_LOW::2] - _MIDDLE < np.uint16(2 * _APART)
    np.logical_or(about, np.bitwise_and(bits, _SIZE) - _SMALL >= _INFINITE - _SMALL, about)
    return np.flatnonzero(about)


@lru_cache(maxsize=8)
def _is_near(kernel: Kernel) -> bool:
    """Whether both are as near to each other as is relied on, tried with pairs of all sizes and of about the same size."""
    torch, random = sys.modules["torch"], np.random.default_rng(0)
    every = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16).astype(np.float32)
    same = random.standard_normal(1 << 16).astype(BFLOAT16).astype(np.float32)
    before = silence()
    try:
        for a in (every, same):
            b = random.permutation(a)
            wanted = np.asarray(kernel(a, b), np.float32)
            found: Array = getattr(torch, PAIRS[kernel])(torch.from_numpy(a), torch.from_numpy(b)).numpy()
            told = np.isfinite(wanted) & (np.abs(wanted) > 2.0**-100)
            apart = np.abs(wanted[told].view(np.int32).astype(np.int64) - found[told].view(np.int32))
            if not np.isfinite(found[told]).all() or apart.max() > _APART // 2:
                return False
    finally:
        restore(before)
    return True
