"""The elements of a function of two operands: of stacks that broadcast, or of a stack and a number, in whichever form large ones are held."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.kernels import torch_float32, torch_near
from tt_run.runtime.kernels.activations import Applied
from tt_run.runtime.kernels.elementwise import ANSWERS, CLOSED, SUMS, evaluate
from tt_run.runtime.kernels.short_stacks import of_several, spread, spreads
from tt_run.runtime.kernels.torch_bfloat16 import of_number, of_one, of_pair
from tt_run.runtime.ops.declaration.broadcast import align, check_broadcast
from tt_run.runtime.ops.elementwise.binary_functions import Kernel, xlogy_in_steps
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]
Operand = Tensor | float | int

_EITHER_WAY = frozenset({np.add, np.multiply})
"""Kernels of two operands in any order."""
_COSTLY = frozenset(
    {
        *(f.power, short.floor_divide, f.trunc_divide, short.remainder, short.fmod),
        *(short.log_of_sum, short.log2_of_sum, xlogy_in_steps),
    }
)
"""Kernels of bfloat16 that take longer than reading a table, which has all of them beside one number."""


@dataclass(frozen=True)
class _After:
    """A kernel whose number comes first."""

    kernel: Kernel

    def __call__(self, x: Array, number: Any) -> Array:
        return self.kernel(number, x)


def computed(kernel: Kernel, dtype: DataType, compute: np.dtype[Any], a: Operand, b: Operand) -> Shards:
    """A kernel of two operands in the stored form of `dtype`, computed in the element type `compute`.

    A small tensor beside a number is asked for nothing but its size: both orders stand here, since a call more is a part of its time.
    """
    if not isinstance(b, Tensor):
        value, left = _scalar(b, compute), a.shards  # type: ignore[union-attr]
        if left.bfloat16 is not None or left.data.size > BLOCK:
            made = _beside(kernel, dtype, a, value, first=False)  # type: ignore[arg-type]
            if made is not None:
                return made
        return left.holding(
            evaluate(kernel, dtype, _cast(left.data, compute), value, rounds=kernel not in ANSWERS)
        )
    if not isinstance(a, Tensor):
        value, right = _scalar(a, compute), b.shards
        if right.bfloat16 is not None or right.data.size > BLOCK:
            made = _beside(kernel, dtype, b, value, first=True)
            if made is not None:
                return made
        return right.holding(
            evaluate(kernel, dtype, value, _cast(right.data, compute), rounds=kernel not in ANSWERS)
        )
    left, right = a.shards, b.shards
    ours, theirs = left.shape, right.shape
    if ours != theirs:
        check_broadcast(ours, theirs)
    narrow = a.dtype is b.dtype is DataType.BFLOAT16
    rounds, whole = not (kernel in ANSWERS or (narrow and kernel in CLOSED)), narrow and kernel in SUMS
    short = narrow and dtype is DataType.BFLOAT16
    if len(ours) == len(theirs) and (left.index is right.index or left.index == right.index):
        if short and left.stack.size > BLOCK:
            made = _of_large(kernel, left, right)
            if made is not None:
                return made
        first, second = _cast(left.data, compute), _cast(right.data, compute)
        return left.holding(evaluate(kernel, dtype, first, second, rounds=rounds, whole_units=whole))
    rank = max(len(ours), len(theirs))
    if short and spreads(left, right) and not _chooses(kernel):
        return combine(lambda x, y: spread(kernel, align(x, rank), align(y, rank)), left, right, either=True)

    def on_stacks(x: Array, y: Array) -> Array:
        x, y = align(_cast(x, compute), rank), align(_cast(y, compute), rank)
        return evaluate(kernel, dtype, x, y, rounds=rounds, whole_units=whole)

    return combine(on_stacks, left, right)


def _of_large(kernel: Kernel, left: Shards, right: Shards) -> Shards | None:
    """A kernel of large shards of BFLOAT16 as such shards; None where to compute it in float32 takes less, or what it chooses stays as it is."""
    made = of_pair(kernel, left, right)
    if made is None:
        made = torch_near.of_pair(kernel, left, right)
    return of_several(kernel, (left, right)) if made is None and not _chooses(kernel) else made


def _chooses(kernel: Kernel) -> bool:
    """Whether a result is one of the operands, whose bits stay as they are."""
    return kernel in CLOSED and kernel not in ANSWERS


def _beside(kernel: Kernel, dtype: DataType, tensor: Tensor, value: Any, *, first: bool) -> Shards | None:
    """A kernel of a large tensor and a number, which comes `first` or second; None where to compute every element takes less."""
    shards = tensor.shards
    if tensor.dtype is dtype is DataType.FLOAT32:
        return None if first else torch_float32.of_one(Applied(kernel, (value,)), shards)
    if not tensor.dtype is dtype is DataType.BFLOAT16:
        return None
    made = of_number(kernel, shards, value) if not first or kernel in _EITHER_WAY else None
    if made is None and kernel in _COSTLY:
        return of_one(Applied(_After(kernel) if first else kernel, (value,)), shards)
    return made


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    return values if values.dtype == dtype else values.astype(dtype)


def _scalar(value: Operand, dtype: np.dtype[Any]) -> Any:
    """A scalar operand in the type that the operation computes in; integers wrap."""
    if dtype.kind == "f":
        return dtype.type(value)
    return np.array(int(value)).astype(dtype)[()]  # type: ignore[arg-type]
