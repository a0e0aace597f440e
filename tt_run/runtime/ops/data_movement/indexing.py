"""Elements placed and taken by index tensors: fills, scatters, the TOSA forms; and parts of a tensor by position. NumPy computes them.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import BLOCK_SHARDED, WIDTH_SHARDED, DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement import picking
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import axis_of, on_device, settle, volume
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare, stacks
from tt_run.runtime.tensor.conversion.layouts import check_whole_tiles
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


def _places(index: Array, length: int, name: str) -> Array:
    """An index tensor as places. Raises RuntimeError for one that lies outside."""
    places = index.astype(np.int64)
    if places.size and not (places.min() >= 0 and places.max() < length):
        worst = int(places.max() if places.max() >= length else places.min())
        raise fatal(
            f"{name}: index {worst} is out of range for a dimension of length {length}",
            hint=f"indices are 0 to {length - 1}",
        )
    return places


def _index_fill(x: Array, dim: int, index: Array, value: float) -> Array:
    axis = axis_of(dim, x.ndim - 1)
    result = x.copy()
    for shard, own in zip(result, index, strict=True):
        np.moveaxis(shard, axis, 0)[_places(own.reshape(-1), shard.shape[axis], "index_fill")] = value
    return result


def _indexed_fill(batch_id: Array, a: Array, b: Array, dim: int) -> Array:
    axis = axis_of(dim, a.ndim - 1)
    result = a.copy()
    count = batch_id[0].size if len(batch_id) else 0
    if len(batch_id) and b.shape[axis + 1] != count:
        raise fatal(
            f"indexed_fill: input_b.size({axis}) = {b.shape[axis + 1]} must equal the number of indices (batch_id count = {count})",
            hint=f"ttnn.slice(input_b, …) to {count} along dimension {axis}, or as many indices",
        )
    for shard, source, own in zip(result, b, batch_id, strict=True):
        places = _places(own.reshape(-1), shard.shape[axis], "indexed_fill")
        np.moveaxis(shard, axis, 0)[places] = np.moveaxis(source, axis, 0)[: len(places)]
    return result


def _check_value(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises for a dimension counted from the end, and for a value that is not of the kind of the elements."""
    if arguments["dim"] < 0:
        raise ArgumentMismatch(f"dim must be 0 or more, not {arguments['dim']}")
    dtype, value = given[0].dtype, arguments["value"]
    fits = (
        dtype in (DataType.BFLOAT16, DataType.FLOAT32)
        if isinstance(value, float)
        else dtype is DataType.INT32
    )
    if not fits:
        word = "float" if isinstance(value, float) else "int"
        raise fatal(
            f"Index fill: Value type must match input tensor dtype. Got {cpp(dtype)} input dtype with {word} value type",
            "(is_float_dtype && value_is_float) || (is_int_dtype && value_is_int)",
            hint="a whole number for int32, 1.0 for bfloat16 and float32",
        )
    if len(given[1].shape) != 1:
        raise fatal("Index fill: Index tensor must be 1D", hint="ttnn.reshape(index, (-1,))")
    _check_columns(given[0], arguments.get("memory_config"))


def _check_columns(tensor: Tensor, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for rows that are parted elsewhere in the result than in the operand."""
    own = tensor.memory_config()
    parted = (WIDTH_SHARDED, BLOCK_SHARDED)
    if asked is None or own.memory_layout not in parted or asked.memory_layout not in parted:
        return
    if own.shard_spec is None or asked.shard_spec is None:
        return
    widths = own.shard_spec.shape[1], asked.shard_spec.shape[1]
    if widths[0] != widths[1]:
        raise fatal(
            "Index fill: When input and output are both column-sharded (WIDTH/BLOCK), their column shard width (shard_spec.shape[1]) "
            f"must match; got input={widths[0]} output={widths[1]}",
            hint=f"shards of {widths[0]} columns",
        )


def _channels(x: Array, index: Array, name: str) -> Array:
    """Places [devices, N, W] of whole channels [devices, N, W, 1]."""
    if x.ndim != 4 or index.ndim != 3:
        raise fatal(
            f"{name} takes values [N, K, C] and indices [N, W]",
            hint="ttnn.reshape(values, (N, K, C)) and ttnn.reshape(indices, (N, W))",
        )
    return _places(index, x.shape[2], name)[..., None]


def _tosa_gather(x: Array, index: Array) -> Array:
    return np.take_along_axis(x, _channels(x, index, "tosa_gather"), axis=2)


def _tosa_scatter(x: Array, index: Array, source: Array) -> Array:
    result = x.copy()
    np.put_along_axis(
        result, np.broadcast_to(_channels(x, index, "tosa_scatter"), source.shape), source, axis=2
    )
    return result


def _check_whole(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    if given[0].layout is not Layout.TILE:
        check_whole_tiles(given[0], "to_layout")


def _triangle(*, lower: bool) -> Any:
    def compute(x: Array, diagonal: int) -> Array:
        # A vector is a matrix of one row, a number one of one element.
        matrix = np.ascontiguousarray(x).reshape(len(x), *(1,) * (3 - x.ndim), *x.shape[1:])
        height, width = matrix.shape[-2:]
        columns = np.arange(width, dtype=np.int32)
        ends = np.arange(height, dtype=np.int32)[:, None] + min(max(diagonal, -height), width)
        kept = columns <= ends if lower else columns >= ends
        # All bits or none: to copy where a condition holds takes several times as long.
        whole = np.negative(kept.view(np.int8)).astype(f"i{x.itemsize}").view(f"u{x.itemsize}")
        return (matrix.view(whole.dtype) & whole).view(x.dtype).reshape(x.shape)

    return compute


def _rotated(x: Array) -> Array:
    rows = x.reshape(-1, x.shape[-1] if x.ndim > 1 else 1)  # numbers are rows of one
    found = np.zeros((len(rows), rows.shape[-1] + rows.shape[-1] % 2), x.dtype)
    found[:, : rows.shape[-1]] = rows  # an odd width pairs with the padding
    pairs = found.reshape(-1, 2)
    turned = np.stack([-pairs[:, 1], pairs[:, 0]], axis=-1).reshape(found.shape)
    return np.ascontiguousarray(turned[:, : rows.shape[-1]]).reshape(x.shape)


def _fill_rm(
    n: int, c: int, h: int, w: int, rows: int, columns: int, like: Array, high: float = 1, low: float = 0
) -> Array:
    result = np.full((len(like), n, c, h, w), low, like.dtype)
    result[..., :rows, :columns] = high
    return result


def _golden_fill_rm(
    n: int, c: int, h: int, w: int, rows: int, columns: int, like: Any, high: float = 1, low: float = 0
) -> Any:
    result = like.new_full((n, c, h, w), low)
    result[..., :rows, :columns] = high
    return result


def _golden_indexed_fill(batch_id: Any, a: Any, b: Any, dim: int = 0, **_: Any) -> Any:
    return a.clone().index_copy(dim, batch_id.flatten().long(), b.narrow(dim, 0, batch_id.numel()))


def _golden_rotated(x: Any, **_: Any) -> Any:
    real, imaginary = x.unflatten(-1, (-1, 2)).unbind(-1)
    return (
        (-imaginary)
        .unsqueeze(-1)
        .repeat_interleave(2, -1)
        .index_copy(-1, x.new_ones(1).long(), real.unsqueeze(-1))
        .flatten(-2)
    )


_FILL = f"(input: Tensor, dim: int, index: Tensor, value: float, *, {PLACED})"
_RM = "(N: int, C: int, H: int, W: int, hOnes: int, wOnes: int, any: Tensor"

INDEXED = declare(
    families.MOVEMENT,
    Row("index_fill", _FILL, _index_fill, "A copy with one value at the places `index` along `dim`.",
        golden=lambda x, dim, index, value, **_: x.index_fill(dim, index.long(), value), check=_check_value),
    Row("index_fill_new", _FILL, _index_fill, "A copy with one value at the places `index` along `dim`.",
        golden=lambda x, dim, index, value, **_: x.index_fill(dim, index.long(), value), check=_check_value),
    Row("tosa_gather", f"(input: Tensor, index: Tensor, *, {PLACED})", _tosa_gather,
        "Rows of channels [N, K, C] by places [N, W]: [N, W, C].",
        golden=lambda x, i, **_: x.gather(1, i.long().unsqueeze(-1).expand(-1, -1, x.shape[-1]))),
    Row("tosa_scatter", f"(input: Tensor, index: Tensor, src: Tensor, *, {PLACED})", _tosa_scatter,
        "A copy of [N, K, C] with rows of channels [N, W, C] at places [N, W].",
        golden=lambda x, i, s, **_: x.scatter(1, i.long().unsqueeze(-1).expand(-1, -1, x.shape[-1]), s)),
    Row("tril", f"(input_tensor: Tensor, *, diagonal: int = 0, {PLACED})", _triangle(lower=True),
        "The lower triangle of every matrix, zeros above the diagonal.", golden="tril", layout=Layout.TILE,
        check=_check_whole),
    Row("triu", f"(input_tensor: Tensor, *, diagonal: int = 0, {PLACED})", _triangle(lower=False),
        "The upper triangle of every matrix, zeros below the diagonal.", golden="triu", layout=Layout.TILE,
        check=_check_whole),
    Row("alt_complex_rotate90", "(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None, "
        "output_tensor: Tensor | None = None, sub_core_grids: CoreRangeSet | None = None)", _rotated,
        "Pairs (a, b) along the last dimension become (-b, a).", golden=_golden_rotated),
    engine=stacks,
)  # fmt: skip

# The dtype of the result is that of the first tensor, which here is not the index.
FILLED = declare(
    families.MOVEMENT,
    Row("fill_rm", f"{_RM}, val_hi: float, val_lo: float, *, {PLACED})", _fill_rm,
        "[N, C, H, W] with val_hi in the first hOnes rows and wOnes columns, val_lo elsewhere; dtype of `any`.",
        golden=_golden_fill_rm, layout=Layout.ROW_MAJOR),
    Row("fill_ones_rm", f"{_RM}, *, {PLACED})", _fill_rm,
        "[N, C, H, W] with ones in the first hOnes rows and wOnes columns, zeros elsewhere; dtype of `any`.",
        golden=_golden_fill_rm, layout=Layout.ROW_MAJOR),
    engine=stacks,
)  # fmt: skip


def _check_filled(batch_id: Tensor, a: Tensor, b: Tensor, dim: int) -> None:
    if a.layout is not b.layout:
        raise fatal("Inputs must be same layout", hint="ttnn.to_layout one of them to the other's")
    if len(a.shape) != len(b.shape):
        raise fatal(
            "indexed_fill: input_a and input_b must have the same rank; "
            f"got input_a.rank() = {len(a.shape)} and input_b.rank() = {len(b.shape)}",
            hint="ttnn.reshape one of them",
        )
    axis = axis_of(dim, len(a.shape), f"indexed_fill: dim {dim} is out of bounds for rank {len(a.shape)}")
    for d, (n, m) in enumerate(zip(a.shape, b.shape, strict=True)):
        if d != axis and n != m:
            raise fatal(
                f"indexed_fill: input_a and input_b must have the same size along every dimension except dim {axis}; "
                f"mismatch at dim {d}: input_a.size({d}) = {n}, input_b.size({d}) = {m}",
                hint=f"ttnn.slice or ttnn.pad one of them along dimension {d}",
            )
    if b.shape[axis] != (count := volume(tuple(batch_id.shape))):
        raise fatal(
            f"indexed_fill: input_b.size({axis}) = {b.shape[axis]} must equal the number of indices (batch_id count = {count})",
            hint="one entry of input_b for each of batch_id",
        )
    if len(a.shape) != 4:
        raise fatal(
            f"indexed_fill: only rank-4 tensors are supported; got rank {len(a.shape)}",
            hint="ttnn.unsqueeze_to_4D(tensor)",
        )
    if batch_id.dtype not in (DataType.UINT32, DataType.INT32):
        raise fatal(
            f"indexed_fill: batch_id must be UINT32 or INT32, got {cpp(batch_id.dtype)}",
            hint="ttnn.typecast(batch_id, ttnn.uint32)",
        )


@operation("ttnn.indexed_fill", family=families.MOVEMENT, golden=_golden_indexed_fill)
def indexed_fill(
    batch_id: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    dim: int = 0,
) -> Tensor:
    """A copy of a in which entry batch_id[i] along `dim` is entry i of b."""
    given = (batch_id, input_tensor_a, input_tensor_b)
    on_device(*given, kind="indexed_fill")
    _check_filled(*given, dim)
    shards = combine(lambda ids, a, b: _indexed_fill(ids, a, b, dim), *(t.shards for t in given))
    return settle((input_tensor_a, input_tensor_b), shards, input_tensor_a.dtype, memory_config=memory_config)


@operation(
    "ttnn.scatter_add",
    family=families.MOVEMENT,
    golden=lambda x, dim, i, s, **_: x.scatter_add(dim, i.long(), s),
)
def scatter_add(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """A copy of input to which src[…, i, …] is added at index[…, i, …] along `dim`, in the order of the index."""
    if input.is_sharded():
        raise fatal(
            "Sharded tensors are not supported - input_tensor is sharded.",
            hint="ttnn.sharded_to_interleaved(input)",
        )
    result: Tensor = picking.scatter.compute(
        input, dim, index, src, memory_config=memory_config, reduce="add"
    )
    return result
