"""Memory configurations that cut a tensor over cores: by height, width, blocks, or along chosen dimensions.

Where the pieces of an n-dimensional cut are the same as those of a cut by height or width, the result is that one.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import (
    BufferType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardShapeAlignment,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import fatal, in_range, throw
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec, memory_of


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def cut_in_two(
    kind: TensorMemoryLayout,
    padded: Sequence[int],
    steps: tuple[int, int],
    buffer_type: BufferType,
    grid: CoreRange | CoreRangeSet,
    orientation: ShardOrientation,
) -> MemoryConfig:
    """Rows, columns or blocks of a tensor seen as a matrix, as evenly over the cores as whole tiles allow.

    Raises RuntimeError for blocks over cores that are no rectangle.
    """
    cores = CoreRangeSet([grid]) if isinstance(grid, CoreRange) else grid
    height, width = math.prod(padded[:-1]), padded[-1]
    rows, columns = {
        TensorMemoryLayout.HEIGHT_SHARDED: (cores.num_cores(), 1),
        TensorMemoryLayout.WIDTH_SHARDED: (1, cores.num_cores()),
    }.get(kind) or _rectangle(cores, orientation)
    piece = [_up(-(-height // rows), steps[0]), _up(-(-width // columns), steps[1])]
    return in_pieces(MemoryConfig(kind, buffer_type, ShardSpec(cores, piece, orientation)))


def in_pieces(config: MemoryConfig) -> MemoryConfig:
    """The configuration that names pieces of a matrix, as one that was made of pieces of any rank."""
    pieces = _as_pieces(config, 2)
    return memory_of(
        config.memory_layout, config.buffer_type, config.shard_spec, pieces, made_of_any_rank=True
    )


@lru_cache(maxsize=1024)
def completed(
    wanted: MemoryConfig, like: MemoryConfig, padded: tuple[int, ...], steps: tuple[int, int], grid: CoreCoord
) -> MemoryConfig:
    """What an operation makes of a sharded configuration that does not name the cores: those of its operand, or else as many of `grid`
    as there are pieces when it is cut over all of it.
    """
    spec = like.shard_spec if like.memory_layout is wanted.memory_layout else None
    whole = CoreRange(CoreCoord(0, 0), CoreCoord(grid.x - 1, grid.y - 1))
    cores = spec.grid if spec is not None else CoreRangeSet([whole])
    orientation = spec.orientation if spec is not None else ShardOrientation.ROW_MAJOR
    made = cut_in_two(wanted.memory_layout, padded, steps, wanted.buffer_type, cores, orientation).shard_spec
    if spec is None and made is not None and 0 not in padded:
        height, width = made.shape
        down, across = -(-math.prod(padded[:-1]) // height), -(-padded[-1] // width)
        if wanted.memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
            used = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(across - 1, down - 1))])
        else:
            used = num_cores_to_corerangeset(down * across, grid, row_wise=True)
        made = ShardSpec(used, made.shape, orientation)
    return MemoryConfig(wanted.memory_layout, wanted.buffer_type, made)


def _rectangle(cores: CoreRangeSet, orientation: ShardOrientation) -> tuple[int, int]:
    if cores.size() != 1:
        raise fatal("Block sharding requires a single CoreRange", "grid.size() == 1", hint=f"got {cores}")
    return _room(cores, orientation)


def cut(
    layout: Layout,
    steps: tuple[int, int],
    buffer_type: BufferType,
    spec: NdShardSpec,
    alignment: ShardShapeAlignment,
    row_step: int,
) -> MemoryConfig:
    """Pieces of a shape over cores; `row_step` is what rows without tiles are rounded up to where it is recommended. Raises RuntimeError for a shape that is not aligned when nothing may be rounded."""
    wanted = list(spec.shard_shape)
    piece = list(wanted)
    if layout is Layout.TILE:
        piece[-2:] = [
            _up(length, step) for length, step in zip(piece[-2:], steps[-len(piece) :], strict=False)
        ]
        if alignment is ShardShapeAlignment.NONE and (len(piece) < 2 or piece != wanted):
            raise _unaligned(f"Shape({wanted})", steps)
    elif alignment is ShardShapeAlignment.RECOMMENDED and piece:
        piece[-1] = _up(piece[-1], row_step)
    if 0 in piece:
        raise _unfit(f"Shard shape must be greater than 0 in each sharded dim, got {piece}", _POSITIVE)
    found = NdShardSpec(piece, spec.grid, spec.orientation, spec.shard_distribution_strategy)
    return MemoryConfig(buffer_type=buffer_type, nd_shard_spec=found)


def of_matrix(config: MemoryConfig) -> MemoryConfig:
    """The configuration that names pieces as those of a matrix, where pieces of any rank are such; others are themselves."""
    if not config.created_with_nd_shard_spec or config.shard_spec is None:
        return config
    return MemoryConfig(config.memory_layout, config.buffer_type, config.shard_spec)


def in_both_forms(config: MemoryConfig, padded: Sequence[int], layout: Layout) -> MemoryConfig:
    """The configuration with the pieces of a matrix as pieces of any rank, and with those of any rank as pieces of a matrix where there are such.

    One that names both, as that of another tensor does, keeps its pieces of a matrix where those of any rank are none of this shape.
    """
    if not config.created_with_nd_shard_spec:
        fitted = config.shard_spec is None or config.nd_shard_spec is not None
        return config if fitted else config.recast(nd_shard_spec=_as_pieces(config, len(padded)))
    pieces = config.nd_shard_spec
    same = _as_matrix(pieces, padded, layout) if pieces is not None and len(pieces.shard_shape) else None
    if same is None and config.shard_spec is not None:
        return config
    if pieces is None or same is None:
        return config.recast(memory_layout=TensorMemoryLayout.ND_SHARDED, shard_spec=None)
    kind, shape = same
    spec = ShardSpec(pieces.grid, shape, pieces.orientation)
    return config.recast(memory_layout=kind, shard_spec=spec)


def _as_matrix(
    spec: NdShardSpec, padded: Sequence[int], layout: Layout
) -> tuple[TensorMemoryLayout, list[int]] | None:
    """The cut of a matrix that has the same pieces on the same cores, and the height and width of one; None when there is none."""
    piece, whole = _aligned(list(spec.shard_shape), list(padded), layout)
    # Rows of a piece lie one after the other where everything between the dimension that is cut and the last one is whole.
    cut_at = next((i for i, part in enumerate(piece[:-1]) if part != 1), len(piece) - 2)
    even = math.prod(whole[:cut_at]) == 1 or whole[cut_at] % piece[cut_at] == 0
    if not even or piece[cut_at + 1 : -1] != whole[cut_at + 1 : -1]:
        return None
    shape = [math.prod(piece[:-1]), piece[-1]]
    down, across = -(-math.prod(whole[:-1]) // shape[0]), -(-whole[-1] // shape[1])
    kind = _kind(spec, down, across, piece[:-1] == whole[:-1], piece[-1] == whole[-1])
    return None if kind is None else (kind, shape)


def _aligned(piece: list[int], whole: list[int], layout: Layout) -> tuple[list[int], list[int]]:
    """A piece and the tensor in as many dimensions as the piece has, but two or more; rows without tiles are whole pieces."""
    if layout is not Layout.TILE:
        whole[-1] = _up(whole[-1], piece[-1])
    piece = [1] * (2 - len(piece)) + piece
    whole = [1] * (len(piece) - len(whole)) + whole
    # A piece of fewer dimensions cuts the tensor whose first ones are joined.
    joined = len(whole) - len(piece) + 1
    return piece, [math.prod(whole[:joined]), *whole[joined:]]


def _kind(
    spec: NdShardSpec, down: int, across: int, whole_height: bool, whole_width: bool
) -> TensorMemoryLayout | None:
    """Which cut of a matrix `down` by `across` pieces over cores are."""
    one_rectangle = spec.grid.size() == 1
    if spec.shard_distribution_strategy is ShardDistributionStrategy.GRID_2D:
        rows, columns = _room(spec.grid, spec.orientation)
        blocks = one_rectangle and down <= rows and across <= columns
        return TensorMemoryLayout.BLOCK_SHARDED if blocks else None
    if down * across > spec.grid.num_cores():
        return None
    if whole_height:
        return TensorMemoryLayout.WIDTH_SHARDED
    if whole_width:
        return TensorMemoryLayout.HEIGHT_SHARDED
    # Pieces in turn over a rectangle are blocks when they fill it from one side to the other.
    filling = across if spec.orientation is ShardOrientation.ROW_MAJOR else down
    blocks = one_rectangle and filling == spec.grid.bounding_box().grid_size().x
    return TensorMemoryLayout.BLOCK_SHARDED if blocks else None


def _room(grid: CoreRangeSet, orientation: ShardOrientation) -> tuple[int, int]:
    """How many pieces a rectangle of cores takes along height and along width."""
    size = grid.bounding_box().grid_size()
    return (size.y, size.x) if orientation is ShardOrientation.ROW_MAJOR else (size.x, size.y)


def settled(
    config: MemoryConfig, padded: Sequence[int], layout: Layout, tile: tuple[int, int]
) -> MemoryConfig:
    """The configuration as a tensor of a shape has it: pieces of any rank and pieces of a matrix, where both say the same.

    Raises RuntimeError when the shape does not fit the pieces or the pieces do not fit the cores.
    """
    if not config.is_sharded():
        return config
    if config.created_with_nd_shard_spec and config.shard_spec is None:
        check_any_rank(config, layout, tile)
    elif config.shard_spec is None:
        raise fatal(
            "bad optional access",
            hint=f"{config.memory_layout} names no cores: give a ShardSpec, or use ttnn.create_sharded_memory_config",
        )
    else:
        _check_pieces(config.memory_layout, config.shard_spec, padded, layout, tile)
    return in_both_forms(config, padded, layout)


def reaching(config: MemoryConfig, rows: int, columns: int) -> MemoryConfig:
    """The same cut of a matrix of so many rows and columns: pieces of rows have all columns, pieces of columns all rows."""
    spec = config.shard_spec
    if (
        spec is None
        or config.created_with_nd_shard_spec
        or config.memory_layout is TensorMemoryLayout.BLOCK_SHARDED
    ):
        return config
    high, wide = spec.shape
    piece = [rows, wide] if config.memory_layout is TensorMemoryLayout.WIDTH_SHARDED else [high, columns]
    return MemoryConfig(
        config.memory_layout, config.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )


def on_cores(
    config: MemoryConfig, padded: Sequence[int], layout: Layout, tile: tuple[int, int]
) -> MemoryConfig:
    """The configuration as a tensor on devices has it: `settled`, and its pieces have no more dimensions than it.

    Raises RuntimeError as `settled` does, for pieces of more dimensions, and for those that a rectangle of cores does not hold.
    """
    found = settled(config, padded, layout, tile)
    if found.created_with_nd_shard_spec and found.nd_shard_spec is not None:
        _check_rectangle(found.nd_shard_spec, padded)
    rank = 0 if found.nd_shard_spec is None else len(found.nd_shard_spec.shard_shape)
    if found.created_with_nd_shard_spec and rank > len(padded):
        raise fatal(
            f"Tensor shape rank ({len(padded)}) can't be less than shard shape rank ({rank})!",
            "tensor_shape.rank() >= shard_shape.rank()",
            hint=f"give the pieces {len(padded)} dimensions, or the tensor {rank}",
        )
    return found


def _check_rectangle(spec: NdShardSpec, padded: Sequence[int]) -> None:
    """Raises RuntimeError for a matrix of pieces that a rectangle of cores does not hold, one on each."""
    if spec.shard_distribution_strategy is not ShardDistributionStrategy.GRID_2D:
        return
    piece = [*(1,) * (2 - len(spec.shard_shape)), *spec.shard_shape]
    if spec.grid.size() != 1:
        raise fatal(
            "2D grid distribution is only supported for one contiguous core grid!",
            hint="one rectangle: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)]), or ROUND_ROBIN_1D",
        )
    if len(piece) != 2:
        raise fatal(
            "2D grid distribution is only supported for 2D sharding!",
            hint=f"a shard shape of 2 dimensions, not {piece}, or ROUND_ROBIN_1D",
        )
    size = spec.grid.bounding_box().grid_size()
    down, across = -(-math.prod(padded[:-1]) // piece[0]), -(-padded[-1] // piece[1])
    if spec.orientation is ShardOrientation.COL_MAJOR:
        down, across = across, down  # the reference names the sides of the grid
    for name, count, room in (("width", across, size.x), ("height", down, size.y)):
        if count > room:
            raise fatal(
                f"Number of shards along {name} must not exceed core grid {name}!",
                hint=f"{count} shards on {room} cores: larger shards, a larger grid, or ROUND_ROBIN_1D",
            )


def _as_pieces(config: MemoryConfig, rank: int) -> NdShardSpec:
    """The pieces of a matrix as pieces of any rank; those of a tensor of one dimension have one."""
    spec = config.shard_spec
    assert spec is not None
    blocks = config.memory_layout is TensorMemoryLayout.BLOCK_SHARDED
    strategy = ShardDistributionStrategy.GRID_2D if blocks else ShardDistributionStrategy.ROUND_ROBIN_1D
    return NdShardSpec(list(spec.shape)[-rank:], spec.grid, spec.orientation, strategy)


def check_any_rank(config: MemoryConfig, layout: Layout, tile: tuple[int, int]) -> None:
    """Raises RuntimeError for pieces of any rank that are no whole tiles, or empty."""
    assert config.nd_shard_spec is not None
    shape = list(config.nd_shard_spec.shard_shape)
    if layout is Layout.TILE and (len(shape) < 2 or shape[-2] % tile[0] or shape[-1] % tile[1]):
        raise _unaligned(f"Shape({shape})", tile)
    if 0 in shape:
        raise _unfit(f"Shard shape must be greater than 0 in each sharded dim, got {shape}", _POSITIVE)


def check_alignment(spec: ShardSpec, layout: Layout, tile: tuple[int, int]) -> None:
    """Raises RuntimeError for pieces of a matrix that are no whole tiles."""
    height, width = spec.shape
    if layout is Layout.TILE and (height % tile[0] or width % tile[1]):
        raise _unaligned(f"({height}, {width})", tile)


def _check_pieces(
    kind: TensorMemoryLayout, spec: ShardSpec, padded: Sequence[int], layout: Layout, tile: tuple[int, int]
) -> None:
    """Raises RuntimeError in the order and the words of the reference."""
    height, width = spec.shape
    check_alignment(spec, layout, tile)
    if min(height, width) <= 0:
        raise _unfit(
            f"Shard shape must be greater than 0 in each sharded dim, got [{height}, {width}]", _POSITIVE
        )
    rows, columns = math.prod(padded[:-1]), padded[-1]
    if layout is not Layout.TILE:
        columns = _up(columns, width)  # rows are padded to whole pieces
    down, across = -(-rows // height), -(-columns // width)
    cores = spec.grid.num_cores()
    if kind is TensorMemoryLayout.HEIGHT_SHARDED:
        if width != columns:
            raise _unfit(
                f"Shard width {width} must match physical width {columns} for height sharded",
                f"a shard shape of [{height}, {columns}]",
            )
        if down > cores:
            raise _unfit(
                f"Number of shards along height {down} must not exceed number of cores {cores}",
                f"a grid of {down} cores, or shards of {_whole(rows, cores, tile[0] if layout is Layout.TILE else 1)} rows",
            )
    elif kind is TensorMemoryLayout.WIDTH_SHARDED:
        if height != rows:
            raise _unfit(
                f"Shard height {height} must match physical height {rows} for width sharded",
                f"a shard shape of [{rows}, {width}]",
            )
        if across > cores:
            raise _unfit(
                f"Number of shards along width {across} must not exceed number of cores {cores}",
                f"a grid of {across} cores, or shards of {_whole(columns, cores, tile[1] if layout is Layout.TILE else 1)} columns",
            )
    elif kind is TensorMemoryLayout.BLOCK_SHARDED:
        _check_blocks(spec, down, across)
    if len(padded) == 1 and height != 1:
        raise fatal(
            "Shard shape must be 1D for 1D tensor!", "shard_shape[0] == 1", hint="a shard shape of [1, width]"
        )


def _check_blocks(spec: ShardSpec, down: int, across: int) -> None:
    if spec.grid.size() != 1:
        raise _unfit(
            "Shard grid must be one full rectangular grid for block sharded!",
            "name one rectangle: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
        )
    rows, columns = _room(spec.grid, spec.orientation)
    by_row = spec.orientation is ShardOrientation.ROW_MAJOR
    major = f"{'row' if by_row else 'column'} major orientation!"
    for word, count, room, name in (
        ("height", down, rows, "rows" if by_row else "columns"),
        ("width", across, columns, "columns" if by_row else "rows"),
    ):
        if count > room:
            raise _unfit(
                f"Number of shards along {word} {count} must not exceed number of {name} {room} for {major}",
                f"a grid of {count} {name}, or shards of a larger {word}",
            )


def _unaligned(shape: str, tile: tuple[int, int]) -> RuntimeError:
    return fatal(
        f"Physical shard shape {shape} must be tile {{{tile[0]}, {tile[1]}}} sized!",
        "!shard_align_error.has_value()",
        hint=f"a shard of whole tiles: multiples of {tile[0]} and {tile[1]}",
    )


_POSITIVE = "give the shard 1 or more in each dimension"


def _whole(length: int, parts: int, step: int) -> int:
    """The least length of a shard, in whole steps, of which `parts` hold it all."""
    return _up(-(-length // max(parts, 1)), step)


def _unfit(message: str, hint: str) -> RuntimeError:
    return fatal(message, "!shard_grid_fit_error.has_value()", hint=hint)


def dimension(dim: int, rank: int) -> int:
    """A dimension counted from the front. Raises RuntimeError for one that a shape of `rank` does not have."""
    if not -rank <= dim < rank:
        raise throw(
            f"ShapeBase[] index out of range. {dim} not in [-{max(rank, 4)}, {rank})",
            hint=in_range("the dimension", rank),
        )
    return dim % rank


def smallest_piece(padded: Sequence[int], dims: Sequence[int], steps: tuple[int, int]) -> list[int]:
    """The shape of a piece when a tensor is cut along `dims` as far as tiles allow and nowhere else."""
    rank = len(padded)
    cut_dims = {dimension(dim, rank) for dim in dims}
    finest = [1] * (rank - 2) + list(steps)
    return [finest[d] if d in cut_dims else padded[d] for d in range(rank)]
