"""What a tensor file holds, whichever of the two formats it has."""

from __future__ import annotations

from dataclasses import dataclass

from tt_run.runtime.enums import BufferType, TensorMemoryLayout
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.values.shards import Shards


@dataclass(frozen=True)
class StoredTensor:
    """Shards counted over all positions of a mesh shape, their spec and their topology."""

    spec: TensorSpec
    shards: Shards
    mesh: tuple[int, ...]
    topology: TensorTopology


def memory_of(
    layout: TensorMemoryLayout, buffer: BufferType, matrix: ShardSpec | None, any_rank: NdShardSpec | None
) -> MemoryConfig:
    """The configuration that was taken apart into these pieces."""
    memory = MemoryConfig(layout, buffer, matrix)
    if any_rank is None:
        return memory
    if matrix is None:
        return MemoryConfig(layout, buffer, None, any_rank)
    return memory.recast(nd_shard_spec=any_rank)
