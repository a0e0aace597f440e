"""Formulas of torch tensors, element by element, over large shards of bfloat16: without a copy of them in float32 for good, half of the time.

A formula that says so runs on the elements in their 16 bits, once it has been compared with itself in float32, rounded, over all 65,536
elements. Another one, and every result with a NaN, of which PyTorch makes one of its own, is computed in float32 block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.kernels.torch_bfloat16 import elements_of, has_nan, tensor_over
from tt_run.runtime.kernels.torch_cpu import array_of, on_each, quiet, tensor_of
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.torch_rounding import is_ready

Array = npt.NDArray[Any]
Numbers = tuple[Any, ...]

_TRIALS = 8
_MAGNITUDE, _INFINITE = np.uint16(0x7FFF), np.uint16(0x7F80)


@dataclass(frozen=True, eq=False)
class ByElement:
    """A function of torch tensors, then numbers, that gives several tensors: of tensors of one shape each element follows from those in its place."""

    formula: Callable[..., Sequence[Any]]
    counts: tuple[int, ...]
    """Of how many tensors of one shape it is such a formula, without automatic differentiation, which costs too much for a block."""
    short: Callable[..., bool] | None = None
    """Whether it rounds once at most with these numbers, so that bfloat16 tensors may go through it as they are."""

    def __call__(self, *values: Any) -> Sequence[Any]:
        return self.formula(*values)


def of_elements(
    function: ByElement, operands: Sequence[Shards], numbers: Sequence[Any]
) -> list[Shards] | None:
    """The function of large shards of BFLOAT16 and of numbers, as such shards; None where they do not line up, or PyTorch is not there."""
    first = operands[0]
    if first.stack.size <= BLOCK or len(operands) not in function.counts or not _line_up(operands):
        return None
    if not is_ready():
        return None
    given = tuple(numbers)
    found = _in_16_bits(function, operands, given) if any(o.bfloat16 is not None for o in operands) else None
    if found is None:
        found = _in_blocks(function, [o.stack for o in operands], given)
    return [first.holding(each) for each in found]


def _line_up(operands: Sequence[Shards]) -> bool:
    first = operands[0]
    return all(
        o.stack.shape == first.stack.shape and o.index == first.index and o.stack.flags.c_contiguous
        for o in operands
    )


def _in_16_bits(function: ByElement, operands: Sequence[Shards], numbers: Numbers) -> list[Array] | None:
    """What the formula makes of the elements as they are, of blocks with a NaN in float32; None if it rounds otherwise than there."""
    if function.short is None or not function.short(*numbers):
        return None
    elements = [elements_of(operand) for operand in operands]
    alike = partial(_rounds_alike, function, len(operands), numbers, repr(numbers))
    if alike(beside_nan=True):
        odd = []
    elif alike(beside_nan=False):
        odd = elements
    else:
        return None
    found = on_each(function.formula, elements, *numbers, keeps_bfloat16=True)
    if any(map(has_nan, (*found, *odd))):
        return _in_blocks(function, elements, numbers, found, odd)
    return list(found)


def _in_blocks(
    function: ByElement,
    stacks: Sequence[Array],
    numbers: Numbers,
    made: Sequence[Array] = (),
    odd: Sequence[Array] = (),
) -> list[Array]:
    """What the formula makes in float32, rounded, shard by shard: what it makes on the way stays in the cache.

    `made`: the results but for blocks with a NaN in them or in what is `odd`, which are written over.
    """
    outs = list(made)
    before = silence()
    try:
        with quiet() as torch:
            rooms = [tensor_of(room) for room in scratch("torch elements", len(stacks))]
            for row in range(len(stacks[0])):
                split = [tensor_of(stack[row].reshape(-1)).split(BLOCK) for stack in stacks]
                for number, blocks in enumerate(zip(*split, strict=True)):
                    cut = slice(number * BLOCK, (number + 1) * BLOCK)
                    if made and not any(has_nan(each[row].reshape(-1)[cut]) for each in (*made, *odd)):
                        continue
                    given = [
                        block if block.dtype is torch.float32 else room[: len(block)].copy_(block)
                        for block, room in zip(blocks, rooms, strict=False)
                    ]
                    found = function.formula(*given, *numbers)
                    outs = outs or [empty(stacks[0].shape, BFLOAT16) for _ in found]
                    for out, values in zip(outs, found, strict=True):
                        _put(values, out[row].reshape(-1)[cut])
    finally:
        restore(before)
    return outs


def _put(values: Any, elements: Array) -> None:
    """Write values rounded; PyTorch forgets the sign of what is no number."""
    tensor_over(elements).copy_(values)
    if has_nan(elements):
        np.copyto(elements, array_of(values), casting="unsafe")


@lru_cache(maxsize=256)
def _rounds_alike(
    function: ByElement, count: int, numbers: Numbers, written: str, *, beside_nan: bool
) -> bool:
    """Whether PyTorch makes the same of elements as of float32 that is rounded: of each beside some others, and beside one of its size.

    `beside_nan`: also numbers, of operands of which one is none. `written`: the numbers, since zeros of both signs are equal, but not to a formula.
    """
    random = np.random.default_rng(0)
    each = np.arange(1 << 16, dtype=np.uint16)
    near = (each, each ^ np.uint16(1), each ^ np.uint16(0x8000))
    for first in (*near, *(random.permutation(each) for _ in range(_TRIALS))):
        rest = [each, random.permutation(each)][: count - 1]
        if not _agrees(function, [first, *rest], numbers, beside_nan):
            return False
    return True


def _agrees(
    function: ByElement, operands: Sequence[npt.NDArray[np.uint16]], numbers: Numbers, beside_nan: bool
) -> bool:
    """Whether both make the same numbers, and no number of the same operands, in the wide loops and in those for what they leave over."""
    wanted = _in_blocks(function, [bits.view(BFLOAT16)[None] for bits in operands], numbers)
    kept = np.all([(bits & _MAGNITUDE <= _INFINITE) | beside_nan for bits in operands], axis=0)
    for step in (1, 2):  # elements that lie apart are for the others
        with quiet():
            given = [tensor_over(np.repeat(bits, step).view(BFLOAT16))[::step] for bits in operands]
            found = [array_of(made, keeps_bfloat16=True) for made in function.formula(*given, *numbers)]
        if not all(_is_alike(each[kept], due[0, kept]) for each, due in zip(found, wanted, strict=True)):
            return False
    return True


def _is_alike(found: Array, wanted: Array) -> bool:
    if found.dtype != wanted.dtype:
        return False
    made, due = found.view(np.uint16), wanted.view(np.uint16)
    numeric = (due & _MAGNITUDE) <= _INFINITE
    return (
        np.array_equal(made[numeric], due[numeric]) and not (made[~numeric] & _MAGNITUDE <= _INFINITE).any()
    )
