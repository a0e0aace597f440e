"""What reductions refuse of memory and cores: shards without a specification, cores that a device does not have.

Source: messages of reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import BufferType, DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.operands import axes_of
from tt_run.runtime.ops.declaration.places import check_filled
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import Shape, padded_shape
from tt_run.runtime.tensor.tensor import Tensor

BATCHES_FIRST = (DataType.BFLOAT16, DataType.BFLOAT8_B)
"""Of what a sum takes batch dimensions first, by a program of their own that turns nothing."""


def check_placement(
    tensor: Tensor, memory_config: MemoryConfig | None, cores: CoreRangeSet | None, *, filled: bool = False
) -> None:
    """Cores that a program may use, and where its result is to lie; `filled`: the padding of its tensor is filled first."""
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
    if memory_config.nameless and memory_config.buffer_type is not own.buffer_type:
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


def check_turned(tensor: Tensor, axes: Collection[int], memory_config: MemoryConfig | None) -> None:
    """Raises RuntimeError where the pieces on cores of a tensor, or of its result, do not fit it with a batch dimension where rows are reduced.

    That is where each of them goes, the last first; those behind it are reduced by then.
    """
    own, in_rows = tensor.memory_config(), tensor.layout is not Layout.TILE
    place = memory_config or own
    shape, rows = list(tensor.shape), len(tensor.shape) - 2
    if in_rows and place.nameless and max(axes, default=rows) < rows:
        place = own  # which is what rows keep until they are reduced
    columns = in_rows and own.memory_layout is TensorMemoryLayout.WIDTH_SHARDED  # of which each has all rows
    if not place.is_sharded() or place.nameless or columns:
        return
    for axis in sorted(axes, reverse=True):
        if axis < rows:
            turned = _exchanged(shape, axis, rows)
            held = _turned_pieces(place, tensor, axis, rows)
            padded = padded_shape(tuple(turned), Layout.TILE, tensor.tile).dims
            sharding.settled(held, padded, Layout.TILE, tensor.tile.edges)
        shape[axis] = 1


def kept_pieces(
    name: str,
    tensor: Tensor,
    dim: int | Sequence[int] | None,
    keepdim: bool,
    memory_config: MemoryConfig | None,
) -> MemoryConfig | None:
    """The place of a total whose last step leaves the pieces as they are; None where it is cut anew, as other reductions are.

    That is everything's, one over rows and batch dimensions, and a sum over batch dimensions alone, which is taken before any other. Raises
    RuntimeError for pieces that do not fit such a sum, and for those wider than the tile of a total without dimensions, a view of it.
    """
    rank, own = len(tensor.shape), tensor.memory_config()
    spec = own.shard_spec
    if spec is None or own.created_with_nd_shard_spec or memory_config is not None:
        return None
    axes = axes_of(dim, rank)
    batches = sorted((axis for axis in axes if axis < rank - 2), reverse=True)
    if name == "sum" and tensor.dtype in BATCHES_FIRST:
        high, wide = tensor.tile.edges
        if spec.shape[0] % high or spec.shape[1] % wide:
            return None
        left = list(tensor.shape)
        for axis in batches:
            left[axis] = 1
            padded = padded_shape(tuple(left), Layout.TILE, tensor.tile).dims
            sharding.settled(own, padded, Layout.TILE, tensor.tile.edges)
        return own if batches and len(batches) == len(axes) else None
    if batches and rank - 2 in axes and rank - 1 not in axes:
        return own
    if rank <= 2 or len(axes) < rank:
        return None
    if not keepdim and spec.shape[1] != tensor.tile.edges[1]:
        tile = Shape([*[1] * (rank - 2), *tensor.tile.edges])
        raise fatal(
            "Changing the last dimension of a sharded tensor is not supported unless the shard width matches the input last dimension. "
            f"Input shape: {tile}, New shape: {Shape([])}, Shard width: {spec.shape[1]}",
            hint="keepdim=True, or memory_config=ttnn.L1_MEMORY_CONFIG",
        )
    return own


def _exchanged(lengths: Sequence[int], one: int, other: int) -> list[int]:
    found = list(lengths)
    found[one], found[other] = found[other], found[one]
    return found


def _turned_pieces(place: MemoryConfig, tensor: Tensor, axis: int, rows: int) -> MemoryConfig:
    """Pieces of any rank are turned with their tensor; those of rows without tiles are a matrix's by then."""
    pieces, spec = place.nd_shard_spec, place.shard_spec
    if not place.created_with_nd_shard_spec or pieces is None:
        return place
    if tensor.layout is not Layout.TILE and spec is not None:
        return MemoryConfig(place.memory_layout, place.buffer_type, spec)
    whole = [1] * (rows + 2 - len(pieces.shard_shape)) + list(pieces.shard_shape)
    turned = NdShardSpec(_exchanged(whole, axis, rows), pieces.grid, pieces.orientation)
    return MemoryConfig(buffer_type=place.buffer_type, nd_shard_spec=turned)
