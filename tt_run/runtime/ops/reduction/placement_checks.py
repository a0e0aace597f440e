"""What reductions refuse of memory and cores: shards without a specification, cores that a device does not have.

Source: messages of reference library 0.81.1.
"""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import BufferType, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.places import check_filled
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


def check_placement(
    tensor: Tensor,
    memory_config: MemoryConfig | None,
    cores: CoreRangeSet | None,
    *,
    filled: bool = False,
    turned: bool = False,
) -> None:
    """Cores that a program may use, and where its result is to lie; `filled`: the padding of its tensor is filled first; `turned`: it is
    brought into another order first, and there.
    """
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
    if own.is_sharded() and filled:
        check_filled(tensor)
    if memory_config is None or not memory_config.is_sharded():
        return
    layout = memory_config.memory_layout
    if memory_config.nameless and not own.is_sharded() and not turned:
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
    if memory_config.nameless and memory_config.buffer_type is not own.buffer_type and not turned:
        raise fatal(
            f"Sharded memory layout {cpp(layout)} on an output with buffer type {cpp(memory_config.buffer_type)} requires an explicit "
            f"shard_spec (cannot fall back to the input tensor's {cpp(own.buffer_type)} shard grid)",
            hint="ttnn.create_sharded_memory_config(...) makes one with a shard specification",
        )
    spec = memory_config.shard_spec
    if layout is TensorMemoryLayout.BLOCK_SHARDED and spec is not None and len(spec.grid.ranges()) != 1:
        raise fatal(
            f"Block sharding requires a single CoreRange, got {len(spec.grid.ranges())} ranges",
            "grid.ranges().size() == 1",
            hint="one rectangle of cores: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
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


def check_within_program(what: str, place: MemoryConfig, tensor: Tensor, units: int) -> None:
    """Raises RuntimeError for pieces on other cores than those of a program that has `units` of work, one for each, column by column."""
    device, spec = tensor.device(), place.shard_spec or place.nd_shard_spec
    if device is None or spec is None:
        return
    grid = device.compute_with_storage_grid_size()
    program = num_cores_to_corerangeset(min(max(units, 1), grid.x * grid.y), grid, row_wise=False)
    if not program.contains(spec.grid):
        raise fatal(
            f"{what} output shard grid {spec.grid} must be contained in program core grid {program}",
            "program_core_grid.contains(output_shard_grid)",
            hint="memory_config=ttnn.L1_MEMORY_CONFIG, or ttnn.sharded_to_interleaved(tensor)",
        )
