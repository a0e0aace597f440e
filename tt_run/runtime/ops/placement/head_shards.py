"""Where heads lie that are split or joined on the cores of a sharded tensor. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import HEIGHT_SHARDED, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement.sharded_results import on_first_cores
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def of_split(
    tensor: Tensor, memory_config: MemoryConfig | None, rows: int, columns: int
) -> MemoryConfig | None:
    """Rows on the cores of `tensor`, as many on each, where a call asks for rows on cores and names none."""
    held = tensor.memory_config().shard_spec
    if memory_config is None or held is None or not memory_config.nameless:
        return memory_config
    cores = held.grid.num_cores()
    if memory_config.memory_layout is not HEIGHT_SHARDED or rows % cores:
        return memory_config
    return memory_config.recast(shard_spec=ShardSpec(held.grid, (rows // cores, columns), held.orientation))


def of_join(
    tensor: Tensor, memory_config: MemoryConfig | None, rows: int | None = None
) -> MemoryConfig | None:
    """On the cores of `tensor`, each with the heads that it has beside one another, whichever cores are asked for; pages are pages.

    A head has `rows`, if they are not those of a matrix. Raises RuntimeError for pieces that are less than one.
    """
    memory = tensor.memory_config()
    held = memory.shard_spec
    if held is None or (memory_config is not None and not memory_config.is_sharded()):
        return memory_config
    length, depth = rows or tensor.padded_shape[-2], held.shape[1]
    heads = held.shape[0] // length
    if not heads:
        raise fatal(
            f"pieces of {held.shape[0]} rows hold no whole head, which has {length}",
            hint=f"pieces of {length} rows, or ttnn.sharded_to_interleaved(tensor)",
        )
    asked = memory_config or memory
    spec = ShardSpec(held.grid, (length, heads * depth), held.orientation)
    place = MemoryConfig(asked.memory_layout, asked.buffer_type, spec)
    if asked.memory_layout is HEIGHT_SHARDED and heads == tensor.padded_shape[1]:
        raise fatal(
            f"Output memory config layout must not be HEIGHT_SHARDED but got {cpp(HEIGHT_SHARDED)}",
            hint="memory_config=ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG",
        )
    return place


def of_heads(
    tensor: Tensor, memory_config: MemoryConfig | None, rows: int, columns: int
) -> MemoryConfig | None:
    """Each head of a user of up to a tile of rows on a core of its own, where they come out of a tensor on cores."""
    asked = memory_config or tensor.memory_config()
    device = tensor.device()
    assert device is not None
    heads = rows // (tensor.shape[0] * tensor.shape[-2])
    return on_first_cores(device, heads, asked.memory_layout, (TILE_SIZE, columns)) or memory_config


def of_own_heads(
    tensor: Tensor, memory_config: MemoryConfig | None, heads: int, rows: int, columns: int
) -> MemoryConfig:
    """On the cores of `tensor`, whichever are asked for: on each `heads` of one user."""
    held, asked = tensor.memory_config().shard_spec, memory_config or tensor.memory_config()
    assert held is not None
    total = tensor.shape[0] * heads * (tensor.padded_shape[-1] // held.shape[1])
    spec = ShardSpec(held.grid, (heads * rows // total, columns), held.orientation)
    return MemoryConfig(asked.memory_layout, asked.buffer_type, spec)
