"""Functions of several stacks of bfloat16 elements, from 16 bits to 16 bits: by PyTorch where it makes the same, else block by block.

What a program holds in 16 bits stays in them: widened as a whole, each operand would take twice its memory from then on. The bits are those
of `elementwise.evaluate`, which computes small stacks, those of different shapes and what lies in float32 already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import torch_bfloat16, torch_repeated
from tt_run.runtime.kernels.elementwise import BUFFER, EXACT, Buffers, blocks_of
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, narrow, widen
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]

_SMALLER = 8
_MAGNITUDE = np.uint16(0x7FFF)
_ONE = np.uint16(0x3F80)


def of_several(kernel: Kernel, operands: Sequence[Any]) -> Shards | None:
    """`kernel` of shards of BFLOAT16 and numbers as such shards; None where they do not line up, or are not worth it."""
    shards = [operand for operand in operands if isinstance(operand, Shards)]
    if not _line_up(shards):
        return None
    numbers = operands[len(shards) :]
    tensors_first = all(isinstance(operand, Shards) for operand in operands[: len(shards)])
    if tensors_first and torch_bfloat16.has_several(kernel, len(shards), numbers):
        made = torch_bfloat16.several(kernel, [torch_bfloat16.elements_of(each) for each in shards], numbers)
    else:
        made = _computed(kernel, [o.stack if isinstance(o, Shards) else o for o in operands])
    return shards[0].holding(made)


def chosen(predicate: Shards, yes: Shards, no: Shards) -> Shards | None:
    """Elements of `yes` where the predicate is not zero, else of `no`, all of BFLOAT16; None as in `of_several`."""
    if not _line_up([predicate, yes, no]):
        return None
    asked, first, second = (
        torch_bfloat16.elements_of(each).view(np.uint16).reshape(-1) for each in (predicate, yes, no)
    )
    out = empty(yes.stack.shape, np.uint16)
    row = out.reshape(-1)
    for start in range(0, row.size, BLOCK):
        cut = slice(start, start + BLOCK)
        np.copyto(row[cut], second[cut])
        np.copyto(row[cut], first[cut], where=(asked[cut] & _MAGNITUDE) != 0)
    return yes.holding(out.view(BFLOAT16))


def spreads(a: Shards, b: Shards) -> bool:
    """Whether one of two shards is large and in 16 bits, and the other one small beside it, so that only that one is repeated."""
    large, small = (b, a) if b.stack.size > a.stack.size else (a, b)
    return (
        large.bfloat16 is not None
        and large.stack.size > BLOCK
        and large.stack.flags.c_contiguous
        and small.stack.size * _SMALLER <= large.stack.size
        and len(large.shape) >= len(small.shape)
        and all(n in (1, m) for n, m in zip(small.shape[::-1], large.shape[::-1], strict=False))
    )


def spread(kernel: Kernel, a: Array, b: Array) -> Array:
    """`kernel` of two stacks with shards of as many dimensions, of which the smaller one is repeated over the other, as bfloat16 elements."""
    swapped = b.size > a.size
    large, small = (b, a) if swapped else (a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    if large.shape != shape:  # one of them is on fewer devices
        large = np.ascontiguousarray(np.broadcast_to(large, shape))
    made = torch_repeated.spread(kernel, large, small, swapped=swapped)
    if made is not None:
        return made
    repeated = np.broadcast_to(widen(small) if small.dtype == BFLOAT16 else small, shape)
    out: Array = empty(shape, BFLOAT16)
    places = list(blocks_of(shape))
    pieces = pieces_of(out.size)
    fill = partial(_fill_beside, kernel, large, repeated, out, swapped)
    run_tasks([partial(fill, places[p::pieces]) for p in range(pieces)])
    return out


def _fill_beside(
    kernel: Kernel,
    large: Array,
    repeated: Array,
    out: Array,
    swapped: bool,
    places: Sequence[tuple[int | slice, ...]],
) -> None:
    room = scratch("short stacks", 1)[0]
    exact = kernel in EXACT
    with np.errstate(all="ignore"), Buffers(BUFFER):
        for place in places:
            wide, beside = _wide(large[place], room), repeated[place]
            if not exact:
                beside = np.ascontiguousarray(beside)
            given = (beside, wide) if swapped else (wide, beside)
            if exact:
                made = room[: wide.size].reshape(wide.shape)  # never what `wide` is where that needed no room
                _put(kernel(*given, out=made), out[place])
            else:
                _put(kernel(*given), out[place])


def _line_up(shards: Sequence[Shards]) -> bool:
    """Whether shards are stacks of one shape in the same places, large, and some of them in 16 bits."""
    first = shards[0]
    stack = first.stack
    return (
        stack.size > BLOCK
        and any(each.bfloat16 is not None for each in shards)
        and all(
            each.stack.shape == stack.shape and each.index == first.index and each.stack.flags.c_contiguous
            for each in shards
        )
    )


def _computed(kernel: Kernel, operands: Sequence[Any]) -> Array:
    rows = [operand.reshape(-1) if isinstance(operand, np.ndarray) else operand for operand in operands]
    shape = next(operand.shape for operand in operands if isinstance(operand, np.ndarray))
    out: Array = empty(shape, BFLOAT16)
    starts = range(0, out.size, BLOCK)
    pieces = pieces_of(out.size)
    run_tasks([partial(_fill, kernel, rows, out.reshape(-1), starts[p::pieces]) for p in range(pieces)])
    return out


def _fill(kernel: Kernel, rows: Sequence[Any], out: Array, starts: Sequence[int]) -> None:
    """Compute the blocks that begin at `starts`; threads keep error states of their own."""
    rooms = iter(scratch("short stacks", len(rows)))
    given = [next(rooms) if isinstance(row, np.ndarray) else row for row in rows]
    with np.errstate(all="ignore"):
        for start in starts:
            cut = slice(start, start + BLOCK)
            operands = [
                _wide(row[cut], room) if isinstance(row, np.ndarray) else room
                for row, room in zip(rows, given, strict=True)
            ]
            _put(kernel(*operands), out[cut])


def _put(values: Array, halves: Array) -> None:
    """Write what a kernel has made, rounded."""
    if values.dtype == np.float32 and values.flags.c_contiguous:
        narrow(values.reshape(-1), halves.reshape(-1))
    elif values.dtype == np.bool_:
        np.multiply(values, _ONE, out=halves.view(np.uint16))
    else:
        np.copyto(halves, values.astype(BFLOAT16))


def _wide(block: Array, room: Array) -> Array:
    """The block in float32: in the room, unless it is that already."""
    if block.dtype == np.float32:
        return block
    wide = room[: block.size].reshape(block.shape)
    np.copyto(wide, block)
    return wide
