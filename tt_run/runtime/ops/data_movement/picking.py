"""Operations that pick elements along a dimension by an index, and put them where one says.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.data_movement.movement import in_c_order
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.composites import compile_scatter
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import axis_of, on_device, settle
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import scaled_shards
from tt_run.runtime.ops.placement.turned_shards import check_turned
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.sharding import of_matrix
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
_MATRICES = 4
"""Dimensions of a tensor that needs no other shape to be gone through row by row."""


@operation(
    "ttnn.gather", family=families.MOVEMENT, golden=lambda x, dim, index, **_: x.gather(dim, index.long())
)
def gather(
    input: Tensor,
    dim: int,
    index: Tensor,
    *,
    sparse_grad: bool = False,
    memory_config: MemoryConfig | None = None,
    out: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """out[…, i, …] = input[…, index[…, i, …], …] along `dim`; shape of the index."""
    on_device(input, index, kind="gather")
    rank = len(input.shape)
    if not rank and dim in (0, -1) and out is None:
        return settle((input,), input.shards, input.dtype, memory_config=memory_config)
    axis = axis_of(dim, rank, f"gather: dim {dim} is out of range for tensor rank {rank}") + 1
    if rank == 1 and input.layout is Layout.TILE:
        raise fatal("Can't convert shape rank", hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT), of both")
    if input.layout is not index.layout:
        raise fatal(
            "Input tensor and index tensor must have the same layout. "
            f"Got input layout: {cpp(input.layout)} and index layout: {cpp(index.layout)}",
            hint=f"ttnn.to_layout(index, ttnn.{input.layout.name}_LAYOUT)",
        )
    if len(input.shape) != len(index.shape):
        raise fatal(
            "Input and index tensor must have the same number of dimensions. "
            f"Got input dim: {len(input.shape)} and index dim: {len(index.shape)}",
            hint=f"ttnn.reshape(index, …) to {len(input.shape)} dimensions",
        )
    for d, (length, room) in enumerate(zip(index.shape, input.shape, strict=True)):
        if d != axis - 1 and length > room:
            raise fatal(
                f"Ends {length} must be less than or equal to the shape of the tensor {room}",
                hint=f"the index is larger along dimension {d}: ttnn.slice {index.shape} to {input.shape}",
            )
    _check_places(input, index, axis - 1)
    check_turned(input, axis - 1, high=False)
    check_turned(index, axis - 1)

    def picked(values: Array, places: Array) -> Array:
        region = tuple(
            builtins.slice(0, n) if d != axis else builtins.slice(None) for d, n in enumerate(places.shape)
        )
        if axis == places.ndim - 1:
            return _of_rows(np.ascontiguousarray(values[region]), places)
        return in_c_order(np.take_along_axis(values[region], places.astype(np.int64), axis=axis), input.dtype)

    shards = combine(picked, input.shards, index.shards, either=True)
    if axis < rank and out is None:
        place: MemoryConfig | None = index.memory_config()  # to where it is turned back, whatever is asked
    else:
        place = memory_config if out is not None else _place(input, index, memory_config)
    return settle((input, index), shards, input.dtype, memory_config=place, output_tensor=out)


def _of_rows(values: Array, places: Array) -> Array:
    """Elements of rows by their places in them: by places in all rows, which takes half of the time. Raises IndexError as NumPy does."""
    width = values.shape[-1]
    if places.size and (places.max() >= width or places.min() < -width):
        np.take_along_axis(values, places.astype(np.int64), axis=-1)  # for its words
    rows = math.prod(places.shape[:-1])
    flat = places.reshape(rows, places.shape[-1]).astype(np.int64)
    if places.dtype.kind == "i":  # from the end
        flat %= width
    flat += np.arange(0, rows * width, width)[:, None]
    return np.take(values, flat).reshape(places.shape)


def _place(input: Tensor, index: Tensor, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where a result lies whose rows were padded on the way: pieces of any rank are tiles over the device, or those of a matrix that they are."""
    place = asked or (input.memory_config() if input.is_sharded() else None)
    if place is None or not place.created_with_nd_shard_spec:
        return place
    if place.shard_spec is None:
        pieces = place.recast(nd_shard_spec=None, created_with_nd_shard_spec=False)
        return scaled_shards.spread_in_tiles(input, pieces, tuple(index.shape))
    return place if len(input.shape) == _MATRICES else of_matrix(place)


@operation("ttnn.scatter", family=families.MOVEMENT, golden=goldens.scatter)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    reduce: str | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """A copy of input with out[…, index[…, i, …], …] = src[…, i, …] along `dim`; later ones win.

    reduce `add` or `multiply` combines with what is there, in the order of the index.
    """
    on_device(input, index, src, kind="scatter")
    combine_with = {
        None: None,
        "add": np.add,
        "multiply": np.multiply,
    }
    if reduce not in combine_with:
        raise fatal(
            f"reduce must be either 'add' or 'multiply' (case-sensitive), got {reduce}",
            hint="leave reduce out to overwrite",
        )
    axis = (
        axis_of(
            dim, len(input.shape), f"scatter: dim {dim} is out of range for tensor rank {len(input.shape)}"
        )
        + 1
    )
    if is_float(index.dtype):
        raise fatal(
            f"index_dtype is not integer, it is {index.dtype.name}.", hint="ttnn.typecast(index, ttnn.uint32)"
        )
    _check_scattered(input, index, src)
    _check_rank(input, index, "index")
    _check_rank(input, src, "source")
    _check_reach(index, input, "input", axis - 1)
    _check_reach(index, src, "source")
    _check_places(input, index, axis - 1)
    compile_scatter(input, index, src, axis - 1)
    function = combine_with[reduce]
    dtype = _in_rows(input.dtype)

    def placed(values: Array, places: Array, source: Array) -> Array:
        result = values.copy()
        where: list[Array] = list(np.indices(places.shape, sparse=True))
        for position in range(places.shape[axis]):
            # One slice at a time: an index may name a place twice, and the order decides.
            at = [
                w
                if w.shape[axis] == 1
                else w[(builtins.slice(None),) * axis + (builtins.slice(position, position + 1),)]
                for w in where
            ]
            at[axis] = np.take(places, [position], axis=axis).astype(np.int64)
            new = np.take(source[tuple(map(builtins.slice, places.shape))], [position], axis=axis)
            new = new.astype(result.dtype)
            result[tuple(at)] = new if function is None else function(result[tuple(at)], new)
        return finish(result, dtype)

    shards = combine(placed, input.shards, index.shards, src.shards)
    return settle((input, index, src), shards, dtype, memory_config=memory_config)


def _check_scattered(input: Tensor, index: Tensor, src: Tensor) -> None:
    for word, tensor in (("index", index), ("src", src)):
        if tensor.is_sharded():
            raise fatal(
                f"Sharded tensors are not supported - {word}_tensor is sharded.",
                f"!{word}_tensor.is_sharded()",
                hint=f"ttnn.sharded_to_interleaved({word})",
            )
    for word, tensor in (("input", input), ("source", src)):
        if tensor.dtype is DataType.FLOAT32 and tensor.layout is Layout.TILE:
            raise fatal(
                f"Scatter doesn't work for fp32 tiled tensors yet (see to_layout issue #) - {word} tensor is {cpp(tensor.dtype)} "
                f"{cpp(tensor.layout)}.",
                hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)",
            )
    if _in_rows(input.dtype) is not _in_rows(src.dtype):
        raise fatal(
            f"input_dtype differs from src_dtype (input_dtype: {input.dtype.name}, src_dtype: {src.dtype.name}).",
            hint=f"ttnn.typecast(src, {input.dtype})",
        )


def _in_rows(dtype: DataType) -> DataType:
    """The type in which blocks are scattered: as rows, in which they are none."""
    return DataType.BFLOAT16 if dtype is DataType.BFLOAT8_B else dtype


def _check_rank(input: Tensor, other: Tensor, word: str) -> None:
    ranks = len(input.shape), len(other.shape)
    if ranks[0] != ranks[1]:
        raise fatal(
            f"input_rank must be equal to {word}_rank (input_rank == {ranks[0]}, {word}_rank == {ranks[1]})",
            hint=f"ttnn.reshape(…) to {ranks[0]} dimensions",
        )


def _check_reach(index: Tensor, tensor: Tensor, word: str, along: int | None = None) -> None:
    """Raises RuntimeError for an index that is longer than a tensor in a dimension that it does not count."""
    for d, (length, room) in enumerate(zip(index.shape, tensor.shape, strict=True)):
        if d != along and length > room:
            raise fatal(
                f"index_shape[{d}] <= {word}_shape[{d}] == false (index_shape: {index.shape}, {word}_shape: {tensor.shape})",
                hint=f"ttnn.slice the index to {room} along dimension {d}",
            )


def _check_places(input: Tensor, index: Tensor, axis: int) -> None:
    """Raises RuntimeError for indices that the dimension does not have."""
    data = index.shards.data
    if data.size and not (data.min() >= 0 and data.max() < input.shape[axis]):
        beyond = int(data.min() if data.min() < 0 else data.max())
        raise fatal(
            f"index {beyond} is out of range for dimension {axis} of length {input.shape[axis]}",
            hint=f"indices are 0 to {input.shape[axis] - 1}",
        )
