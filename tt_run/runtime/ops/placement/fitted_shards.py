"""Where a sharded tensor lies once its shape is another, and the call does not say: on the same cores, cut anew as evenly as tiles allow.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    Layout,
    ShardOrientation,
    ShardShapeAlignment,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement import row_widths, scaled_shards
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size

_SPREAD = "ttnn.sharded_to_interleaved(input_tensor) before, or pieces of whole tiles"
_ROW_STEP = 64  # bytes that the rows of a block without tiles are cut by


def _sharded(tensor: Tensor) -> MemoryConfig | None:
    """The configuration of a tensor whose rows, columns or blocks lie on cores; None for any other."""
    memory = tensor.memory_config()
    return None if memory.shard_spec is None or tensor.device() is None else memory


def _steps(tensor: Tensor, layout: Layout | None = None) -> tuple[int, int]:
    return tensor.tile.edges if (layout or tensor.layout) is Layout.TILE else (1, 1)


def _even(
    tensor: Tensor,
    memory: MemoryConfig,
    shape: Sequence[int],
    kind: TensorMemoryLayout | None = None,
    layout: Layout | None = None,
) -> MemoryConfig:
    spec = memory.shard_spec
    assert spec is not None
    padded = padded_shape(tuple(shape), layout or tensor.layout, tensor.tile).dims
    if not math.prod(padded):
        return memory  # of nothing
    kind = kind or memory.memory_layout
    return sharding.cut_in_two(
        kind, padded, _steps(tensor, layout), memory.buffer_type, spec.grid, spec.orientation
    )


def _flat(padded: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of a tensor as one matrix."""
    return math.prod(padded[:-1]), padded[-1]


def of_part(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """What `slice` makes of its operand's cores, blocks by rows of the rectangle whatever their order. None for a tensor that is not sharded."""
    memory = _sharded(tensor)
    spec = None if memory is None else memory.shard_spec
    if memory is None or spec is None:
        return None
    by_row = memory.recast(shard_spec=ShardSpec(spec.grid, spec.shape, ShardOrientation.ROW_MAJOR))
    cut = _even(tensor, by_row, shape)
    assert cut.shard_spec is not None
    found = ShardSpec(spec.grid, cut.shard_spec.shape, spec.orientation)
    return MemoryConfig(cut.memory_layout, cut.buffer_type, found)


def of_rows(tensor: Tensor, shape: Sequence[int]) -> None:
    """Raises RuntimeError where a part that is cut out row by row is no whole tiles on its operand's cores."""
    memory = _sharded(tensor)
    if memory is None or memory.shard_spec is None:
        return
    spec = memory.shard_spec
    by_row = memory.recast(shard_spec=ShardSpec(spec.grid, spec.shape, ShardOrientation.ROW_MAJOR))
    cut = _even(tensor, by_row, shape, layout=Layout.ROW_MAJOR).shard_spec
    if cut is not None:
        sharding.check_alignment(cut, Layout.TILE, tensor.tile.edges)


def _shares(tensor: Tensor, memory: MemoryConfig) -> tuple[int, int]:
    """How many cores a tensor's rows, and columns, are cut over."""
    spec = memory.shard_spec
    assert spec is not None
    across, count = spec.grid.bounding_box().grid_size(), spec.grid.num_cores()
    turned = tensor.layout is not Layout.TILE and spec.orientation is ShardOrientation.COL_MAJOR
    blocks = (across.x, across.y) if turned else (across.y, across.x)
    return {HEIGHT_SHARDED: (count, 1), WIDTH_SHARDED: (1, count)}.get(memory.memory_layout, blocks)


def _uneven(tensor: Tensor, memory: MemoryConfig, axis: int, sizes: Sequence[int]) -> bool:
    """Whether the cores along an axis would not have rows of each of `sizes`, all as many."""
    spec, rank = memory.shard_spec, len(tensor.shape)
    assert spec is not None
    down, over = _shares(tensor, memory)
    last = axis == rank - 1
    full = over * spec.shape[1] if last else down * spec.shape[0]
    if len(set(sizes)) > 1 or _flat(tuple(tensor.shape))[last] != full:
        return True
    if last:
        return any(size % over for size in sizes)
    whole = math.prod(tensor.shape[:-1]) // tensor.shape[axis]
    return any(whole * size % down for size in sizes)


def of_pieces(tensor: Tensor, axis: int, sizes: Sequence[int]) -> list[MemoryConfig | None]:
    """What `split` does: as `slice` does, but all pieces go to DRAM when the cores cannot share one's tiles evenly along the axis of the cut.

    Rows keep their pieces' extent along the other axis.
    """
    memory = _sharded(tensor)
    if (
        list(sizes) != [tensor.shape[axis]]
        and tensor.memory_config().nd_shard_spec is not None
        and memory is None
    ):
        return [None if tensor.device() is None else DRAM_MEMORY_CONFIG] * len(sizes)
    if memory is None or memory.shard_spec is None or list(sizes) == [tensor.shape[axis]]:
        return [memory] * len(sizes)
    if tensor.layout is Layout.TILE:
        return [_of_tiled_piece(tensor, memory, axis, sizes)] * len(sizes)
    if _uneven(tensor, memory, axis, sizes):
        return [DRAM_MEMORY_CONFIG] * len(sizes)
    parts = [[size if d == axis else n for d, n in enumerate(tensor.shape)] for size in sizes]
    found = [sharding.of_matrix(_even(tensor, memory, part)) for part in parts]
    kept = int(axis != len(tensor.shape) - 1)
    return [_with_length(place, kept, memory.shard_spec.shape[kept]) for place in found]


def _of_tiled_piece(
    tensor: Tensor, memory: MemoryConfig, axis: int, sizes: Sequence[int]
) -> MemoryConfig | None:
    """Where each of the pieces of tiles lies: what the tensor has with its padding, over their number.

    Raises RuntimeError for pieces that have more padding of their own, and for those cut within a tile that are not cut out as rows.
    """
    rank, count = len(tensor.shape), len(sizes)
    side = int(axis == rank - 1)
    share, step = _shares(tensor, memory)[side], tensor.tile.edges[side]
    length = _flat(tensor.padded_shape.dims)[side]
    broken = axis >= rank - 2 and any(start % step for start in itertools.accumulate(sizes[:-1]))
    several = math.prod(tensor.shape[:-2]) > 1
    if len(set(sizes)) > 1 or length % (count * share * step):
        pair = broken and several and count == 2 and tensor.padded_shape != tensor.shape
        if pair and memory.memory_layout is not HEIGHT_SHARDED:
            raise fatal("Can only write unbatched output interleaved", hint=_SPREAD)
        return DRAM_MEMORY_CONFIG
    shape = [sizes[0] if d == axis else n for d, n in enumerate(tensor.shape)]
    place = _with_length(sharding.of_matrix(_even(tensor, memory, shape)), side, length // count // share)
    tiled = padded_shape(tuple(shape), Layout.TILE, tensor.tile).dims
    sharding.settled(place, tiled, Layout.TILE, tensor.tile.edges)
    if broken:
        _check_rows(tensor, place, shape, tiled[-1], several)
    return place


def _check_rows(tensor: Tensor, place: MemoryConfig, shape: Sequence[int], wide: int, several: bool) -> None:
    """Raises RuntimeError for tiles, so wide with their padding, that are cut out as rows of another width or of several matrices."""
    rows, columns = _flat(shape)
    if place.memory_layout is WIDTH_SHARDED:
        sharding.settled(place, tuple(shape), Layout.ROW_MAJOR, tensor.tile.edges)
    elif place.memory_layout is BLOCK_SHARDED and several:
        raise fatal("Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED", hint=_SPREAD)
    elif place.memory_layout is BLOCK_SHARDED and wide != columns:
        whole, spec = [*shape[:-1], wide], place.shard_spec
        assert spec is not None
        raise fatal(
            "Changing the last dimension of a sharded tensor is not supported unless the shard width matches the input last dimension. "
            f"Input shape: Shape({whole}), New shape: Shape({list(shape)}), Shard width: {spec.shape[1]}",
            hint=_SPREAD,
        )
    elif rows * wide % columns:
        page, held = (n * element_size(tensor.dtype) for n in (columns, rows * wide))
        raise fatal(
            f"For valid non-interleaved buffers page size {page} must equal buffer size {held}. For interleaved-buffers, buffer size should be "
            "divisible by the page size",
            hint=_SPREAD,
        )


def _with_length(place: MemoryConfig, dim: int, length: int) -> MemoryConfig:
    """The same cores with pieces of another height, or width."""
    spec = place.shard_spec
    assert spec is not None
    piece = [length if d == dim else n for d, n in enumerate(spec.shape)]
    return MemoryConfig(place.memory_layout, place.buffer_type, ShardSpec(spec.grid, piece, spec.orientation))


def at_least_a_tile(tensor: Tensor, place: MemoryConfig | None) -> MemoryConfig | None:
    """A place, or the tensor's own, with pieces that are no smaller than a tile. None for what is not cut, or by pieces of any rank."""
    memory = place or tensor.memory_config()
    spec = memory.shard_spec
    if spec is None or tensor.device() is None or memory.created_with_nd_shard_spec:
        return place
    piece = [max(length, edge) for length, edge in zip(spec.shape, tensor.tile.edges, strict=True)]
    if piece == list(spec.shape):
        return place
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )


def in_dram_if_sharded(tensor: Tensor) -> MemoryConfig | None:
    """The device's DRAM for a sharded operand, None for another: the operation follows only operands that are not sharded."""
    return DRAM_MEMORY_CONFIG if tensor.is_sharded() and tensor.device() is not None else None


def of_reduction(
    tensor: Tensor,
    kept: Sequence[int],
    layout: Layout,
    asked: MemoryConfig | None = None,
    reduced: Collection[int] = (-2, -1),
    held: MemoryConfig | None = None,
) -> MemoryConfig | None:
    """What a reduction of rows, columns or both to `kept`, with its ones, makes of its operand's cores or those `asked` for.

    A matrix is cut anew, and says so in pieces of any rank; such pieces keep their lengths but for one tile where it is `reduced`.
    """
    memory = asked or tensor.memory_config()
    if not memory.is_sharded() or tensor.device() is None:
        return None
    pieces = memory.nd_shard_spec or (held or tensor.memory_config()).nd_shard_spec
    if memory.memory_layout is not TensorMemoryLayout.ND_SHARDED or pieces is None:
        on = memory.shard_spec or pieces
        assert on is not None
        one = ShardSpec(on.grid, (1, 1), on.orientation)
        return _even(tensor, MemoryConfig(memory.memory_layout, memory.buffer_type, one), kept, layout=layout)
    rank, lengths = len(pieces.shard_shape), list(pieces.shard_shape)
    for axis in reduced:
        if -axis <= rank:
            lengths[axis] = 1
    spec = NdShardSpec(lengths, pieces.grid, pieces.orientation, pieces.shard_distribution_strategy)
    return sharding.cut(layout, tensor.tile.edges, memory.buffer_type, spec, ShardShapeAlignment.REQUIRED, 1)


def of_reshape(
    tensor: Tensor, shape: Sequence[int], asked: MemoryConfig | None = None
) -> MemoryConfig | None:
    """What `reshape` makes of its operand's cores or those `asked` for. None for a tensor that is not sharded.

    Raises RuntimeError when the rows of a piece would not be whole multiples of L1's alignment.
    """
    memory = asked or _sharded(tensor)
    if memory is None:
        return None
    if tensor.is_sharded() and tensor.layout is not Layout.TILE:
        row_widths.check_joined(tensor)
    if memory.memory_layout is BLOCK_SHARDED:
        return _reshaped(tensor, _blocks(tensor, memory, shape, tensor.layout), shape)
    fitted = _even(tensor, memory, shape)
    spec = fitted.shard_spec
    assert spec is not None
    if (
        tensor.layout is not Layout.TILE
        and spec.shape[1] * element_size(tensor.dtype) % scaled_shards.ALIGNMENT
    ):
        raise fatal(
            "Shard page size must currently have L1 aligned page size",
            hint=f"rows of a piece are {spec.shape[1]} elements of {tensor.dtype.name}, and {scaled_shards.ALIGNMENT} bytes must divide them",
        )
    return _reshaped(tensor, fitted, shape)


def _reshaped(tensor: Tensor, place: MemoryConfig, shape: Sequence[int]) -> MemoryConfig:
    """Tiles of three dimensions say in pieces of any rank where they lie, rows and other tiles in pieces of a matrix."""
    padded = padded_shape(tuple(shape), tensor.layout, tensor.tile).dims
    named = sharding.in_both_forms(place, padded, tensor.layout) if math.prod(padded) else place
    return named if tensor.layout is Layout.TILE and len(shape) == 3 else sharding.of_matrix(named)


def _blocks(tensor: Tensor, memory: MemoryConfig, shape: Sequence[int], layout: Layout) -> MemoryConfig:
    """Blocks over as many rows and columns of the rectangle as share the tiles evenly; memory banks where rows are too short."""
    spec = memory.shard_spec
    assert spec is not None
    padded = padded_shape(tuple(shape), layout, tensor.tile).dims
    high, wide = math.prod(padded[:-1]), padded[-1]
    steps = _steps(tensor, layout) if layout is Layout.TILE else (1, _ROW_STEP // element_size(tensor.dtype))
    if high % steps[0] or wide % steps[1] or not high * wide:
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, memory.buffer_type)
    box = spec.grid.bounding_box()
    size, by_row = box.grid_size(), spec.orientation is ShardOrientation.ROW_MAJOR
    rows = _sharers(high // steps[0], size.y if by_row else size.x)
    columns = _sharers(wide // steps[1], size.x if by_row else size.y)
    across, down = (columns, rows) if by_row else (rows, columns)
    start = box.start
    cores = CoreRangeSet([CoreRange(start, CoreCoord(start.x + across - 1, start.y + down - 1))])
    made = ShardSpec(cores, [high // rows, wide // columns], spec.orientation)
    return sharding.in_pieces(MemoryConfig(BLOCK_SHARDED, memory.buffer_type, made))


def _sharers(units: int, most: int) -> int:
    return next(count for count in range(min(units, most), 0, -1) if units % count == 0)
