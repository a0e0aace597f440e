"""Heads of projections that lie in blocks: each core has whole groups of heads, and keeps them. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    BufferType,
    ShardOrientation,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention import head_counts
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.attention.heads import Three, by_sequence, in_whole_rows, split_columns
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]
_CUT = "ttnn.to_memory_config(tensor, a BLOCK_SHARDED configuration with a row of cores for each user)"


@operation(
    "ttnn.experimental.create_qkv_heads", family=families.HEADS, golden=attention_goldens.grouped_heads
)
def create_qkv_heads(
    input: Tensor,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    memory_config: MemoryConfig | None = None,
    output_tensors: Sequence[Tensor] | None = None,
) -> Three:
    """Heads of a tensor in blocks in which each group has its queries, its key and its value.

    The results are cut by height over the cores of the input, and have the rows of whole tiles, in their shapes too.
    """
    groups = num_heads if num_kv_heads is None else num_kv_heads
    head_counts.check_grouped(input.shape[-1], None, num_heads, groups)
    on_device(input, kind="create heads")
    spec = _block(input, "Input tensor")
    batch, width = _users(input), input.padded_shape[-1]
    tall, wide = _cores(spec)
    _require_heights(input, memory_config)
    if num_heads % groups:
        raise fatal(
            f"Number of q heads {num_heads} must fit evenly into number of kv heads {groups}",
            hint=f"num_kv_heads={np.gcd(num_heads, groups)}, or another divisor of {num_heads}",
        )
    if width % (num_heads + 2 * groups):
        raise fatal(
            f"Flattened hidden dimension {width} must be a multiple of the combined Q {num_heads}, K {groups} and V {groups} heads",
            hint="other numbers of heads, or ttnn.pad the projection",
        )
    if groups % wide:
        raise fatal(
            f"number of groups {groups} must be a multiple of the number of width cores {wide}",
            hint=f"a tensor in blocks on {groups} columns of cores or fewer",
        )
    _check_users(batch, tall)
    arrange = in_whole_rows(by_sequence(transpose_k_heads))
    place = _by_height(input, memory_config)
    found = split_columns(
        input, None, num_heads, groups, arrange, place, _written(output_tensors), groups=groups
    )
    layout = (memory_config or input.memory_config()).memory_layout
    if layout is not HEIGHT_SHARDED:
        raise _no_heights(layout)
    return found


@operation(
    "ttnn.experimental.create_qkv_heads_from_separate_tensors",
    family=families.HEADS,
    golden=attention_goldens.separate_heads,
)
def create_qkv_heads_from_separate_tensors(
    input: Tensor,
    input_kv: Tensor,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    memory_config: MemoryConfig | None = None,
    output_tensors: Sequence[Tensor] | None = None,
) -> Three:
    """Heads of queries (B, 1, S, H D) and of keys and values that alternate in a second tensor, both in blocks.

    The results are cut by height over the cores of the queries, and have the rows of whole tiles, in their shapes too.
    """
    groups = num_heads if num_kv_heads is None else num_kv_heads
    head_counts.check_grouped(input.shape[-1], input_kv.shape[-1], num_heads, groups)
    on_device(input, input_kv, kind="create heads")
    if input_kv.dtype is not input.dtype:
        raise fatal(
            f"Unsupported data format: queries of {cpp(input.dtype)}, keys and values of {cpp(input_kv.dtype)}",
            hint="ttnn.typecast(input_kv, input.dtype)",
        )
    spec = _block(input, "Q input tensor")
    other = _block(input_kv, "KV input tensor")
    if other.grid != spec.grid:
        raise fatal(
            f"Q and KV input tensors must lie on the same cores but got Q: {spec.grid}, KV: {other.grid}",
            hint=_CUT,
        )
    batch, users = _users(input), _users(input_kv)
    tall, wide = _cores(spec)
    _require_heights(input, memory_config)
    for word, count in (("q", num_heads), ("kv", groups)):
        if count % wide:
            raise fatal(
                f"Number of {word} heads {count} must fit evenly into cores {wide}",
                hint=f"tensors in blocks on {np.gcd(num_heads, groups)} columns of cores",
            )
    if batch != users:
        raise fatal(
            f"Q {batch} and KV {users} batch size must match",
            hint="ttnn.repeat keys and values for each user",
        )
    widths = input.padded_shape[-1], input_kv.padded_shape[-1]
    if widths[0] // num_heads != widths[1] // (2 * groups):
        raise fatal(
            f"Head dims must be equal in size! Q {widths[0]} num_heads {num_heads} KV {widths[1]} num_heads {groups}",
            hint="num_kv_heads is that of the second tensor",
        )
    if batch * input.padded_shape[-2] < wide * TILE_SIZE:
        raise fatal(
            "0 height shards on Q",
            f"{batch} x {input.padded_shape[-2]} rows on {wide} columns of cores",
            hint="as many tiles of rows as columns of cores: a longer sequence, or fewer columns",
        )
    _check_users(batch, tall)
    arrange = in_whole_rows(by_sequence(transpose_k_heads))
    place = _by_height(input, memory_config)
    return split_columns(
        input, input_kv, num_heads, groups, arrange, place, _written(output_tensors), groups=groups
    )


def _block(tensor: Tensor, what: str) -> ShardSpec:
    """How a tensor is cut. Raises RuntimeError for one that is not in blocks."""
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if spec is None:
        raise fatal("Unsharded input is invalid for create_qkv_heads", "bad optional access", hint=_CUT)
    if memory.memory_layout is not BLOCK_SHARDED:
        raise fatal(
            f"{what} memory layout must be BLOCK_SHARDED but got {cpp(memory.memory_layout)}", hint=_CUT
        )
    return spec


def _users(tensor: Tensor) -> int:
    """How many users a projection (B, 1, S, columns) is of. Raises RuntimeError for other shapes."""
    batch, one, _, _ = four_dims(tensor)
    if one != 1:
        raise fatal("Unsupported input shape", f"{tensor.shape}", hint="[batch, 1, length, columns]")
    return batch


def _cores(spec: ShardSpec) -> tuple[int, int]:
    """Over how many cores rows and columns are cut."""
    end = spec.grid.bounding_box().end
    found = end.y + 1, end.x + 1
    return found if spec.orientation is ShardOrientation.ROW_MAJOR else (found[1], found[0])


def _require_heights(tensor: Tensor, memory_config: MemoryConfig | None) -> None:
    """Raises RuntimeError for results that are not to lie on cores, and for those of a tensor that does not."""
    own = tensor.memory_config()
    asked = memory_config or own
    if BufferType.DRAM in (own.buffer_type, asked.buffer_type) and asked.is_sharded():
        raise fatal(
            "Only L1 buffers can have an associated circular buffer!",
            hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG, and a tensor in blocks in L1",
        )
    if not asked.is_sharded():
        raise _no_heights(asked.memory_layout)


def _no_heights(layout: TensorMemoryLayout) -> RuntimeError:
    return fatal(
        f"Output memory config layout must be HEIGHT_SHARDED but got {cpp(layout)}",
        hint="memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    )


def _check_users(batch: int, tall: int) -> None:
    if batch != tall:
        raise fatal(
            f"Batch size {batch} must be equal to num cores {tall}",
            hint=f"a tensor in blocks on {batch} rows of cores, one for each user",
        )


def _written(outputs: Sequence[Tensor] | None) -> Sequence[Tensor] | None:
    """Tensors that results may be written into. Raises RuntimeError for those that are not on cores."""
    for tensor in outputs or ():
        if not tensor.is_sharded():
            raise fatal(
                "Only L1 buffers can have an associated circular buffer!",
                hint="output_tensors by height on the cores of the input",
            )
    return outputs


def _by_height(tensor: Tensor, memory_config: MemoryConfig | None) -> Any:
    """Where a result of `rows` and `columns` lies: on the cores of `tensor`, as many rows on each, whichever cores are asked for."""
    spec, asked = tensor.memory_config().shard_spec, memory_config or tensor.memory_config()
    assert spec is not None
    cores, orientation = spec.grid.bounding_box(), spec.orientation
    count = (cores.end.x - cores.start.x + 1) * (cores.end.y - cores.start.y + 1)

    def place(rows: int, columns: int) -> MemoryConfig:
        piece = ShardSpec(spec.grid, (rows // count, columns), orientation)
        return MemoryConfig(asked.memory_layout, asked.buffer_type, piece)

    return place
