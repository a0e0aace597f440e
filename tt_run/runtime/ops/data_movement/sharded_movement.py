"""Movements whose results lie over cores by a rule of their own: slices with padding, channels first and last.

Source: reference library 0.81.1, its results recorded on mock devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import (
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    DataType,
    Layout,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement import joining
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert

Array = npt.NDArray[Any]

L1_ALIGNMENT = 16
"""Bytes of which each row of a shard has a multiple."""


@operation("ttnn.experimental.padded_slice", family=families.MOVEMENT)
def padded_slice(
    input_tensor: Tensor,
    padded_slice_start: Sequence[int],
    padded_slice_end: Sequence[int],
    padded_slice_step: Sequence[int] | None = None,
    *,
    memory_config: MemoryConfig,
    output_tensor: Tensor | None = None,
    pad_value: float | None = None,
) -> Tensor:
    """A slice of `(N, H, W, C)` as rows `(1, 1, N*H*W, C)` over cores; over the height of it with `pad_value` up to the width of a shard.

    Raises RuntimeError for other ranks, steps, and memory that is not cut over cores.
    """
    if len(input_tensor.shape) != 4:
        raise fatal(
            "Only 4D tensors are supported for padded_slice", hint=f"the input has shape {input_tensor.shape}"
        )
    if any(int(step) != 1 for step in padded_slice_step or ()):
        raise fatal(
            "Steps != 1 are not supported for padded_slice.",
            hint="leave the steps out; ttnn.slice takes them",
        )
    if not memory_config.is_sharded():
        raise fatal(
            "Output Memory Config must be sharded. Use slice for non-sharded outputs.",
            hint="ttnn.slice(…), or ttnn.create_sharded_memory_config(…)",
        )
    if input_tensor.is_sharded():
        raise fatal(
            "padded_slice does not support sharded inputs.", hint="ttnn.sharded_to_interleaved(input_tensor)"
        )
    found = joining.slice.compute(
        input_tensor, padded_slice_start, padded_slice_end, memory_config=DRAM_MEMORY_CONFIG
    )
    spec, width = memory_config.shard_spec, found.shape[-1]
    wide = (
        max(width, int(spec.shape[1]))
        if spec is not None and memory_config.memory_layout is HEIGHT_SHARDED
        else width
    )

    def rows(stack: Array) -> Array:
        flat = stack.reshape(len(stack), 1, 1, -1, width)
        return np.pad(flat, ((0, 0),) * 4 + ((0, wide - width),), constant_values=pad_value or 0)

    dtype = DataType.BFLOAT16 if found.dtype in BLOCK_FLOATS else found.dtype
    return settle(
        (found,), found.shards.map(lambda stack: convert(rows(stack), dtype)), dtype,
        memory_config=memory_config, output_tensor=output_tensor, layout=Layout.ROW_MAJOR,
    )  # fmt: skip


@operation("ttnn.experimental.convert_to_chw", family=families.MOVEMENT)
def convert_to_chw(input: Tensor, *, dtype: DataType | None = None) -> Tensor:
    """`(1, 1, H*W, C)`, its height over cores, as `(1, 1, C, H*W)`, row-major, its width over them.

    Raises RuntimeError for a tensor that lies otherwise.
    """
    on_device(input, kind="convert to chw")
    given = input.memory_config()
    if given.shard_spec is None:
        raise fatal(
            "Input tensor must be sharded to infer output memory config",
            hint="memory_config=…, or cut the tensor: ttnn.to_memory_config(tensor, ttnn.create_sharded_memory_config(...))",
        )
    if given.memory_layout is not HEIGHT_SHARDED:
        raise fatal(
            "Input tensor must be height sharded",
            hint="memory_config=…, or ttnn.create_sharded_memory_config(..., strategy=ttnn.ShardStrategy.HEIGHT) for the tensor",
        )
    target = dtype or input.dtype
    if target in BLOCK_FLOATS:
        raise fatal("Only TILE layout is supported for BFLOAT8_B dtype!", hint="dtype=ttnn.bfloat16")
    spec = given.shard_spec
    piece = ShardSpec(spec.grid, (input.shape[-1], int(spec.shape[0])), spec.orientation)
    return settle(
        (input,), input.shards.map(lambda stack: convert(stack.swapaxes(-1, -2), target)), target,
        memory_config=MemoryConfig(WIDTH_SHARDED, BufferType.L1, piece), layout=Layout.ROW_MAJOR,
    )  # fmt: skip


@operation("ttnn.experimental.convert_to_hwc", family=families.MOVEMENT)
def convert_to_hwc(
    input: Tensor, *, memory_config: MemoryConfig | None = None, dtype: DataType | None = None
) -> Tensor:
    """`(1, B, C, H*W)`, its width over cores, as `(1, 1, B*H*W, C)`, row-major, its height over them; zeros fill rows of 16 bytes.

    Raises RuntimeError for a tensor that lies otherwise, and for one in DRAM without a `memory_config`.
    """
    on_device(input, kind="convert to hwc")
    given = input.memory_config()
    if memory_config is None and given.buffer_type is BufferType.DRAM:
        raise fatal(
            "When input tensor is in DRAM, output memory_config must be explicitly specified",
            hint="memory_config=ttnn.create_sharded_memory_config(…)",
        )
    if given.shard_spec is None:
        asked = "Input tensor must be sharded"
        raise fatal(
            asked if memory_config is not None else f"{asked} to infer output memory config",
            hint="ttnn.to_memory_config(input, ttnn.create_sharded_memory_config(…))",
        )
    if given.memory_layout is not WIDTH_SHARDED:
        raise fatal(
            "Input tensor must be width sharded",
            hint="ttnn.to_memory_config(input, …) with ttnn.WIDTH_SHARDED",
        )
    _, batch, channels, size = input.shape
    target = dtype or input.dtype
    each = L1_ALIGNMENT // (4 if input.dtype in (DataType.FLOAT32, DataType.UINT32, DataType.INT32) else 2)
    wide, spec = -(-channels // each) * each, given.shard_spec
    if memory_config is None:
        piece = ShardSpec(spec.grid, (batch * int(spec.shape[1]), wide), spec.orientation)
        memory_config = MemoryConfig(HEIGHT_SHARDED, BufferType.L1, piece)
    elif memory_config.shard_spec is not None and memory_config.shard_spec.shape[1] % each:
        raise fatal(
            f"Output shard width must be rounded up to next multiple of {each} to satisfy alignment constraints "
            f"(width was {memory_config.shard_spec.shape[1]})",
            hint=f"a shard width of {-(-memory_config.shard_spec.shape[1] // each) * each}",
        )

    def last(stack: Array) -> Array:
        rows = stack.swapaxes(-1, -2).reshape(len(stack), 1, 1, batch * size, channels)
        return convert(np.pad(rows, ((0, 0),) * 4 + ((0, wide - channels),)), target)

    return settle(
        (input,), input.shards.map(last), target, memory_config=memory_config, layout=Layout.ROW_MAJOR
    )
