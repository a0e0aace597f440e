"""What reductions refuse of memory and cores: shards in DRAM, shards without a specification, cores that a device does not have.

Source: messages of reference library 0.81.1.
"""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


def check_placement(tensor: Tensor, memory_config: MemoryConfig | None, cores: CoreRangeSet | None) -> None:
    """Cores that a program may use, and where its result is to lie."""
    own = tensor.memory_config()
    if cores is not None:
        if not cores.ranges():
            raise fatal(
                "Program core grid must not be empty",
                "!program_grid.ranges().empty()",
                hint="leave sub_core_grids out, or name cores: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
            )
        check_on_grid("Program core grid", cores, tensor, "device grid")
        if own.shard_spec is not None and own.buffer_type is BufferType.L1:
            grid = own.shard_spec.grid
            if not cores.contains(grid):
                raise fatal(
                    f"Input shard grid {grid} must be contained in program core grid {cores}",
                    "program_grid.contains(input_shard_grid)",
                    hint="name the cores of the tensor's shards among them, or leave sub_core_grids out",
                )
    _in_l1("input", own)
    if memory_config is None or not memory_config.is_sharded():
        return
    _in_l1("output", memory_config)
    layout = memory_config.memory_layout
    if memory_config.nameless and not own.is_sharded():
        if layout is TensorMemoryLayout.ND_SHARDED:
            raise fatal(
                "ND_SHARDED memory layout requires nd_shard_spec to be set on the output memory config or the input tensor",
                hint="memory_config=ttnn.MemoryConfig(ttnn.BufferType.L1, nd_shard_spec)",
            )
        raise fatal(
            f"Sharded memory layout {cpp(layout)} requires either nd_shard_spec or shard_spec to be set on the output memory config "
            "or the input tensor",
            hint="ttnn.create_sharded_memory_config(...) makes one with a shard specification",
        )
    spec = memory_config.shard_spec
    if layout is TensorMemoryLayout.BLOCK_SHARDED and spec is not None and len(spec.grid.ranges()) != 1:
        raise fatal(
            f"Block sharding requires a single CoreRange, got {len(spec.grid.ranges())} ranges",
            "grid.ranges().size() == 1",
            hint="one rectangle of cores: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
        )


def _in_l1(side: str, memory: MemoryConfig) -> None:
    """Raises RuntimeError for shards in DRAM, which reductions neither read nor write."""
    if memory.is_sharded() and memory.buffer_type is BufferType.DRAM:
        raise fatal(
            f"Reduce: sharded {side} memory layout {cpp(memory.memory_layout)} is only supported with L1 buffers, got buffer type "
            f"{cpp(memory.buffer_type)}",
            "memory_config.buffer_type() == BufferType::L1",
            hint="ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG), or shards in L1",
        )


def check_on_grid(what: str, cores: CoreRangeSet, tensor: Tensor, where: str = "device compute grid") -> None:
    """Raises RuntimeError for cores that the tensor's device does not have."""
    device = tensor.device()
    assert device is not None
    size = device.compute_with_storage_grid_size()
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(size.x - 1, size.y - 1))])
    if not grid.contains(cores):
        raise fatal(
            f"{what} {cores} must be contained in {where} {grid}",
            "device_grid.contains(program_grid)",
            hint=f"name cores from (0, 0) to ({size.x - 1}, {size.y - 1})",
        )


def check_shards_on_grid(tensor: Tensor, place: MemoryConfig | None) -> None:
    """Raises RuntimeError for a result's shards in L1 on cores that the tensor's device does not have."""
    if place is None or not place.is_sharded() or place.buffer_type is not BufferType.L1:
        return
    for what, spec in (
        ("Output shard grid", place.shard_spec),
        ("Output ND shard grid", place.nd_shard_spec),
    ):
        if spec is not None:
            check_on_grid(what, spec.grid, tensor)
