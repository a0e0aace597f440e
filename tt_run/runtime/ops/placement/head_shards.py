"""Where heads lie that are split or joined on the cores of a sharded tensor. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import TensorMemoryLayout
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

_HEIGHT, _BLOCK = TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.BLOCK_SHARDED


def of_split(
    tensor: Tensor, memory_config: MemoryConfig | None, rows: int, columns: int
) -> MemoryConfig | None:
    """Rows on the cores of `tensor`, as many on each, where a call asks for rows on cores and names none."""
    held = tensor.memory_config().shard_spec
    if memory_config is None or held is None or not memory_config.nameless:
        return memory_config
    cores = held.grid.num_cores()
    if memory_config.memory_layout is not _HEIGHT or rows % cores:
        return memory_config
    return memory_config.recast(shard_spec=ShardSpec(held.grid, (rows // cores, columns), held.orientation))


def of_join(tensor: Tensor, memory_config: MemoryConfig | None) -> MemoryConfig | None:
    """Blocks on the cores of `tensor`, each the heads that a core has beside one another, where a call asks for blocks and names no cores."""
    memory = tensor.memory_config()
    held = memory.shard_spec
    if memory_config is None or held is None or not memory_config.nameless:
        return memory_config
    length, depth = tensor.padded_shape[-2:]
    if (
        memory_config.memory_layout is not _BLOCK
        or memory.memory_layout is not _HEIGHT
        or held.shape[0] % length
    ):
        return memory_config
    piece = (length, held.shape[0] // length * depth)
    return memory_config.recast(shard_spec=ShardSpec(held.grid, piece, held.orientation))
