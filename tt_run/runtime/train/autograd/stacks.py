"""Kernels on stacks of shards become mesh tensors, rounded once: what every training operation is written with.

A kernel sees float32 stacks (distinct shards, *shard shape) and is computed once for each distinct combination of shards, so
what is replicated over a mesh costs as much as on one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.ops.declaration.result_topology import result_topology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.at_rest import dense
from tt_run.runtime.values.dtypes import convert, is_float
from tt_run.runtime.values.recycled_arrays import contiguous
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]


def common_dtype(*values: Tensor) -> DataType:
    """FLOAT32 as soon as one operand is, else the type of the first floating operand."""
    floats = [value.dtype for value in values if is_float(value.dtype)]
    if DataType.FLOAT32 in floats or not floats:
        return DataType.FLOAT32
    return floats[0]


def compute(
    kernel: Callable[..., Array], *values: Tensor, dtype: DataType | None = None, layout: Layout = Layout.TILE
) -> Tensor:
    """One result of a kernel, in the place of its operands; `dtype` defaults to their common type."""
    _require_one_mesh(values)
    dtype = dtype or common_dtype(*values)
    kept = _keeping(dtype)
    shards = combine(
        lambda *stacks: _rounded(kernel(*stacks), dtype, stacks, kept), *(value.shards for value in values)
    )
    return values[0].derive(
        _with_bits(shards, kept), dtype=dtype, layout=layout, topology=result_topology(values)
    )


def elementwise(kernel: Callable[..., Array], *values: Tensor, dtype: DataType | None = None) -> Tensor:
    """As `compute` for a kernel whose elements stand alone: evaluated and rounded block by block while a block is in cache."""
    _require_one_mesh(values)
    dtype = dtype or common_dtype(*values)
    kept = _keeping(dtype)
    shards = combine(
        lambda *stacks: evaluate(kernel, dtype, *stacks, kept=kept), *(value.shards for value in values)
    )
    return values[0].derive(
        _with_bits(shards, kept), dtype=dtype, layout=Layout.TILE, topology=result_topology(values)
    )


def moved(kernel: Callable[[Array], Array], value: Tensor) -> Tensor:
    """A tensor whose elements are those of another in new places: nothing is rounded."""
    return value.derive(value.shards.map(lambda stack: contiguous(kernel(stack))))


def compute_several(
    kernel: Callable[..., tuple[Array, ...]], *values: Tensor, dtype: DataType | None = None
) -> tuple[Tensor, ...]:
    """As `compute`, for a kernel with several results of which each is rounded once."""
    _require_one_mesh(values)
    dtype = dtype or common_dtype(*values)
    made: list[tuple[tuple[Array, list[Array] | None], ...]] = []

    def rounded(array: Array, stacks: tuple[Array, ...]) -> tuple[Array, list[Array] | None]:
        kept = _keeping(dtype)
        return _rounded(array, dtype, stacks, kept), kept

    def first(*stacks: Array) -> Array:
        made.append(tuple(rounded(array, stacks) for array in kernel(*stacks)))
        return made[0][0][0]

    index = combine(first, *(value.shards for value in values)).index
    topology = result_topology(values)
    return tuple(
        values[0].derive(
            _with_bits(Shards(array, index), kept), dtype=dtype, layout=Layout.TILE, topology=topology
        )
        for array, kept in made[0]
    )


def _keeping(dtype: DataType) -> list[Array] | None:
    """Where the 16 bits of results go: what is packed soon is not rounded for that once more."""
    return [] if dense.is_tight and dtype is DataType.BFLOAT16 else None


def _with_bits(shards: Shards, kept: list[Array] | None) -> Shards:
    return Shards.unchecked(shards.data, shards.index, kept[0]) if kept else shards


def _require_one_mesh(values: tuple[Tensor, ...]) -> None:
    """Raises RuntimeError for tensors on different meshes, as a model on one that was closed and its input on the next."""
    first = values[0].device()
    for value in values[1:]:
        device = value.device()
        if device is first or device is None or first is None:
            continue
        for mesh in (first, device):
            mesh.require_open("ttml")
        raise fatal(
            f"Operands to ttml need to be on the same device: {first}, {device}",
            hint="make the model, its optimizer and its inputs after open_device, and again after the next",
        )


def _rounded(
    array: Array, dtype: DataType, operands: tuple[Array, ...], kept: list[Array] | None = None
) -> Array:
    """A result in the stored form of its type; rounded where it lies unless it is an operand's own memory."""
    array = contiguous(array)
    if any(np.may_share_memory(array, operand) for operand in operands):
        return convert(array, dtype)
    return finish(array, dtype, kept)


def as_dtype(value: Tensor, dtype: DataType) -> Tensor:
    """The tensor in another floating type; itself when it has it already."""
    if value.dtype is dtype:
        return value
    return value.derive(value.shards.map(lambda stack: convert(stack, dtype)), dtype=dtype)


def full_like(value: Tensor, number: float) -> Tensor:
    """A tensor of one number in the shape and place of another; stored once however many devices hold it."""
    stack = np.full((1, *value.shards.shape), number, np.float32)
    index = tuple(-1 if row < 0 else 0 for row in value.shards.index)
    return value.derive(Shards(convert(stack, value.dtype), index))


def zeros_of(value: Tensor) -> Tensor:
    """Zeros in the shape and place of another tensor, which take no memory until somebody computes with them."""
    shape = (1, *value.shape)
    index = tuple(-1 if row < 0 else 0 for row in value.shard_index)
    return value.derive(Shards(np.broadcast_to(np.float32(0), shape), index))


def scaled_in_place(value: Tensor, factor: float) -> Tensor:
    """A tensor that nobody else holds, times a number: computed in its own memory."""
    stack = value.shards.data
    if stack.dtype != np.float32 or not stack.flags.writeable:
        return compute(lambda held: held * np.float32(factor), value)
    np.multiply(stack, np.float32(factor), out=stack)
    return value.derive(Shards(finish(stack, value.dtype), value.shards.index))


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b of equal shapes, in the type of a."""
    return elementwise(np.add, a, b, dtype=a.dtype)
