"""Functions of bfloat16 tensors by table: such an element is one of 65,536 values, so a function of it need be computed that often at most.

An entry is what the direct computation gives, rounding included, so both ways have the same bits. Reading the table takes a fifth of
the time of a GELU and no rounding after it.
"""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.activations import FUNCTIONS, IN_BFLOAT16, INTEGER_FUNCTIONS, Applied, Function
from tt_run.runtime.kernels.elementwise import BLOCK, evaluate
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire
from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[Any]

# Making a table costs 65,536 evaluations; it pays from twice as many elements on.
SMALLEST = 1 << 17
_CHEAP = INTEGER_FUNCTIONS | frozenset(
    [
        "relu6",
        "floor",
        "ceil",
        "trunc",
        "round",
        "signbit",
        "isnan",
        "isinf",
        "isposinf",
        "isneginf",
        "isfinite",
    ]
)
_TABLED = frozenset(
    [function for name, function in FUNCTIONS.items() if name not in _CHEAP] + list(IN_BFLOAT16.values())
)
_HIGH_HALF = 1 if sys.byteorder == "little" else 0


def table_pays(function: Function, elements: int) -> bool:
    """Whether a table is the faster way to apply `function` to so many bfloat16 elements."""
    if elements < SMALLEST:
        return False
    return isinstance(function, Applied) or function in _TABLED


def key_of(function: Function) -> str:
    """What tells a function from one that is equal to it: numbers are equal to such of another sign or type."""
    return repr(function.params) if isinstance(function, Applied) else ""


@lru_cache(maxsize=64)
def _table(function: Function, key: str) -> Array:
    return evaluate(function, DataType.BFLOAT16, _every_value())


@lru_cache(maxsize=64)
def _short_table(function: Function, key: str) -> Array:
    return to_wire(_table(function, key)).view(BFLOAT16)


def look_up(function: Function, stack: Array) -> Array:
    """`function` of a stack that holds bfloat16 values, rounded to bfloat16; of bfloat16 elements such elements."""
    of_elements = _short_table if stack.dtype == BFLOAT16 else _table
    table = of_elements(function, key_of(function))
    source = np.ascontiguousarray(stack).reshape(-1)
    out: Array = empty(source.shape, table.dtype)
    starts = range(0, source.size, BLOCK)
    pieces = pieces_of(source.size)
    run_tasks([partial(_fill, table, source, out, starts[p::pieces]) for p in range(pieces)])
    return out.reshape(stack.shape)


@dataclass(frozen=True)
class Unrounded:
    """A function of float32 blocks that hold bfloat16 values, which other functions of what it gives follow before anything is rounded."""

    function: Function

    def __call__(self, block: Array) -> Array:
        """The results in float32, of large blocks by table."""
        function = self.function
        if block.dtype != np.float32 or not table_pays(function, block.size):
            return function(block)
        return read(_unrounded_table(function, key_of(function)), np.ascontiguousarray(block))


@lru_cache(maxsize=16)
def _unrounded_table(function: Function, key: str) -> Array:
    return np.asarray(function(_every_value()), np.float32)


def _every_value() -> Array:
    return (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32)


def read(table: Array, block: Array) -> Array:
    """The entries of a table for a block of contiguous bfloat16 values, kept in float32."""
    out = np.empty(block.shape, np.float32)
    _fill(table, block.reshape(-1), out.reshape(-1), range(0, block.size, BLOCK))
    return out


def _fill(table: Array, source: Array, out: Array, starts: range) -> None:
    for start in starts:
        cut = slice(start, start + BLOCK)
        # No index is outside; of the modes that write straight to `out`, this one asks least of each.
        block = source[cut].view(np.uint16)
        np.take(table, block if source.itemsize == 2 else block[_HIGH_HALF::2], out=out[cut], mode="wrap")
