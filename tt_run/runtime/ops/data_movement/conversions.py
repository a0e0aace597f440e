"""Operations that change how a tensor is kept, not its values: dtype, layout, memory configuration, copies.

The work is done by the tensor layer; entered as operations, traces record them. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.cores import core_of, num_cores_to_corerangeset
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, cpp
from tt_run.runtime.errors import as_type, fatal, in_rows, in_tiles
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, Operation, no_tensor, operation
from tt_run.runtime.ops.declaration.operands import ints, on_device, replaced, settle, write_into
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.ops.placement import row_widths
from tt_run.runtime.tensor.conversion import framing, kept_cores, layouts
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    CoreCoord,
    CoreRangeSet,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, check_layout, convert_each
from tt_run.runtime.values.shards import Shards

to_layout: Operation = operation("ttnn.to_layout", family=families.CONVERSION, golden=goldens.same)(
    layouts.to_layout
)
to_memory_config: Operation = operation(
    "ttnn.to_memory_config", family=families.CONVERSION, golden=goldens.same
)(layouts.to_memory_config)


@operation(
    "ttnn.typecast",
    family=families.CONVERSION,
    golden=creation_goldens.typecast,
)
def typecast(
    input_tensor: Tensor,
    dtype: DataType | None = None,
    output_dtype: DataType | None = None,
    *,
    input_dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The tensor in another element type: `(x, dtype)` or `(x, input_dtype, output_dtype)`, the first of which must be the tensor's."""
    if not isinstance(input_tensor, Tensor):
        raise no_tensor("input_tensor", input_tensor)
    first = dtype if input_dtype is None else input_dtype
    if first is None:
        raise ArgumentMismatch("typecast needs a dtype")
    _check_rows(input_tensor, output_dtype or first)
    found = layouts.typecast(
        input_tensor, first, output_dtype, memory_config=memory_config, output_tensor=output_tensor
    )
    return found if output_tensor is None else replaced(found, input_tensor)


def _check_rows(tensor: Tensor, wanted: DataType) -> None:
    """Raises RuntimeError for rows on a device that are to be blocks, or that lie in pieces narrower than what is read at once."""
    if tensor.layout is Layout.TILE or tensor.device() is None:
        return
    if wanted in BLOCK_FLOATS:
        raise fatal(
            "Only TILE layout is supported for BFLOAT8_B dtype!",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT) first, or dtype=ttnn.bfloat16",
        )
    row_widths.check_cast(tensor)


@operation("ttnn.experimental.typecast", family=families.CONVERSION, golden=creation_goldens.typecast)
def typecast_tiles(
    input_tensor: Tensor,
    dtype: DataType,
    memory_config: MemoryConfig | None = None,
    optional_output_tensor: Tensor | None = None,
) -> Tensor:
    """The tensor, in tiles on a device, in another element type."""
    on_device(input_tensor, kind="data movement")
    if dtype is not input_tensor.dtype and input_tensor.layout is not Layout.TILE:
        raise fatal(
            "Only tile layout supports dtype conversion", hint="ttnn.typecast(tensor, dtype) takes rows"
        )
    if optional_output_tensor is not None:
        _check_type(optional_output_tensor, dtype)
    return _copied(input_tensor, dtype, memory_config, optional_output_tensor)


def _typed(tensor: Tensor, dtype: DataType) -> Shards:
    """The shards in another element type; those of the tensor's own are shared, since nothing writes into shards."""
    shards = tensor.shards
    return shards if dtype is tensor.dtype else shards.map(lambda stack: convert_each(stack, dtype))


def _copied(
    tensor: Tensor,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    tile: Tile | None = None,
) -> Tensor:
    on_device(tensor, kind="copy")
    target = dtype or tensor.dtype
    check_layout(target, tensor.layout)
    shards = _typed(tensor, target)
    if output_tensor is not None:
        if tensor.shape != output_tensor.shape:
            raise fatal(
                f"Input tensor shape {tensor.shape} does not match output tensor shape {output_tensor.shape}",
                hint="ttnn.empty_like(tensor)",
            )
        if tensor.layout is not output_tensor.layout:
            raise fatal(
                f"Input tensor layout ({cpp(tensor.layout)}) must equal output tensor layout ({cpp(output_tensor.layout)})",
                hint=f"ttnn.to_layout(tensor, ttnn.{output_tensor.layout.name}_LAYOUT)",
            )
        return replaced(write_into(output_tensor, shards, target, tensor), tensor)
    tile = None if tile is DEFAULT_TILE else tile
    return settle((tensor,), shards, target, memory_config=memory_config, tile=tile)


def check_copy(tensor: Tensor, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for a copy into shards or out of them, and into other shards than the tensor's."""
    if asked is None:
        return
    own = tensor.memory_config()
    hint = "ttnn.to_memory_config(tensor, memory_config)"
    if asked.is_sharded() is not own.is_sharded():
        raise fatal(
            "Clone: mixed sharded/interleaved layout not currently supported. Both input and output must have the same layout.",
            hint=hint,
        )
    if asked.is_sharded() and asked.memory_layout is not own.memory_layout:
        raise fatal(
            "Clone: input and output must have the same memory layout when both are sharded", hint=hint
        )
    if asked.shard_spec is not None and own.shard_spec is not None and asked.shard_spec != own.shard_spec:
        raise fatal(
            "Clone: input and output shard specs must be identical (same grid, shape, and orientation)",
            hint=hint,
        )


@operation("ttnn.clone", family=families.CONVERSION, golden=goldens.same)
def clone(
    input: Tensor,
    *,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """A tensor of its own with the same values. Raises RuntimeError for another element type in rows, and for shards made or undone."""
    on_device(input, kind="data movement")
    if dtype not in (None, input.dtype) and input.layout is not Layout.TILE:
        raise fatal(
            "Clone: data type conversion is only supported with tile layout",
            hint="ttnn.typecast(tensor, dtype) takes rows",
        )
    check_copy(input, memory_config)
    return _copied(input, dtype, memory_config)


@operation("ttnn.reallocate", family=families.CONVERSION, golden=goldens.same)
def reallocate(tensor: Tensor, memory_config: MemoryConfig | None = None) -> Tensor:
    """The values in a new buffer; the old one is given back, unless another tensor has it: then everything stays where it is."""
    return _moved(tensor, memory_config)


@operation("ttnn.move", family=families.CONVERSION, golden=goldens.same)
def move(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None) -> Tensor:
    """The values in a new buffer; the old one is given back, unless another tensor has it: then everything stays where it is."""
    return _moved(input_tensor, memory_config)


def _moved(tensor: Tensor, memory_config: MemoryConfig | None) -> Tensor:
    if tensor.is_allocated() and tensor.shared():
        if tensor.is_sharded():
            raise fatal(
                "Expect input tensor to be deallocated after move op. Cannot deallocate before there is probably another consumer.",
                hint="del what reshape, to_layout, … made of it without moving it, or leave it where it is",
            )
        return tensor.alias()
    result = _copied(tensor, None, memory_config, tile=tensor.tile)
    tensor.deallocate(True)
    return result if memory_config else framing.filled_as(result, tensor)


@operation("ttnn.assign", family=families.CONVERSION, golden=creation_goldens.assign)
def assign(
    input: Tensor,
    output_tensor: Tensor | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
) -> Tensor:
    """A copy of the values, in `output_tensor` if there is one, else where `memory_config` says."""
    if output_tensor is None and memory_config is None:
        raise ArgumentMismatch("expected one of 'output_tensor' and 'memory_config'")
    if output_tensor is not None and memory_config is None:
        dtype = output_tensor.dtype
    elif output_tensor is not None:
        _check_type(output_tensor, dtype or input.dtype)
    _check_conversion(input, dtype or input.dtype)
    layouts.check_same_tile(input, DEFAULT_TILE if output_tensor is None else output_tensor.tile)
    return _copied(input, dtype, memory_config, output_tensor)


def _check_conversion(tensor: Tensor, dtype: DataType) -> None:
    """Raises RuntimeError for rows that are copied into another element type."""
    if tensor.device() is not None and tensor.layout is not Layout.TILE and tensor.dtype is not dtype:
        raise fatal(
            "Only tile layout supports dtype conversion", hint="ttnn.typecast(tensor, dtype) takes rows"
        )


def _check_type(output_tensor: Tensor, dtype: DataType) -> None:
    if output_tensor.dtype is not dtype:
        raise fatal(
            "Mismatched output dtype",
            f"{output_tensor.dtype} and {dtype}",
            hint=f"dtype={output_tensor.dtype}",
        )


@operation("ttnn.copy", family=families.CONVERSION, golden=creation_goldens.copy)
def copy(input_a: Tensor, input_b: Tensor) -> Tensor:
    """The values of a written into b; returns b."""
    _check_conversion(input_a, input_b.dtype)
    return _copied(input_a, input_b.dtype, None, input_b)


@operation("ttnn.interleaved_to_sharded", family=families.CONVERSION, golden=goldens.same)
def interleaved_to_sharded(
    input_tensor: Tensor,
    grid: MemoryConfig | CoreCoord | CoreRangeSet | Sequence[int] | None = None,
    shard_shape: Sequence[int] | DataType | None = None,
    shard_scheme: TensorMemoryLayout | None = None,
    shard_orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
    output_dtype: DataType | None = None,
    *,
    sharded_memory_config: MemoryConfig | None = None,
    keep_l1_aligned: bool | None = False,
    preallocated_output: Tensor | None = None,
) -> Tensor:
    """The tensor spread over cores: `(x, memory_config[, dtype])`, or `(x, grid, shard_shape, shard_scheme, shard_orientation[, dtype])`."""
    on_device(input_tensor, kind="data movement")
    if input_tensor.memory_config().is_sharded():
        raise fatal(
            f"Input tensor memory layout must be INTERLEAVED, but got {cpp(input_tensor.memory_config().memory_layout)}",
            hint="ttnn.reshard(tensor, memory_config)",
        )
    small_tiles.check("interleaved_to_sharded", input_tensor)
    config = sharded_memory_config or (grid if isinstance(grid, MemoryConfig) else None)
    if config is not None:
        if not config.is_sharded():
            raise fatal(
                "Output memory config must be sharded", hint="ttnn.to_memory_config(tensor, memory_config)"
            )
        if config.shard_spec is not None and min(config.shard_spec.shape) < 1:
            raise fatal("shard_shape must be greater than 0", hint=f"{list(config.shard_spec.shape)}")
        dtype = shard_shape if isinstance(shard_shape, DataType) else output_dtype
        _check_matrix(input_tensor, config)
        row_widths.check_cut(input_tensor, config)
        return _copied(input_tensor, dtype, config, preallocated_output)
    if isinstance(grid, (tuple, list)):
        grid = core_of(grid)
    if (
        not isinstance(grid, (CoreCoord, CoreRangeSet))
        or shard_scheme is None
        or isinstance(shard_shape, (DataType, type(None)))
    ):
        raise ArgumentMismatch("expected a sharded memory config, or grid, shard_shape and shard_scheme")
    if min(ints(shard_shape), default=0) < 1:
        raise fatal("shard_shape must be greater than 0", hint=f"shard_shape is {list(shard_shape)}")
    piece = list(ints(shard_shape))
    if isinstance(grid, CoreCoord):
        grid = _first_cores(input_tensor, grid, piece, shard_scheme, shard_orientation)
    spec = ShardSpec(grid, piece, shard_orientation)
    config = MemoryConfig(shard_scheme, BufferType.L1, spec)
    row_widths.check_cut(input_tensor, config)
    return _copied(input_tensor, output_dtype, config, preallocated_output)


def _check_matrix(tensor: Tensor, config: MemoryConfig) -> None:
    """Raises RuntimeError for pieces that are none of a matrix."""
    if config.created_with_nd_shard_spec:
        padded = tuple(tensor.padded_shape)
        config = sharding.settled(config, padded, tensor.layout, tensor.tile.edges)
    if config.nd_shard_spec is not None and config.shard_spec is None:
        raise fatal(
            "interleaved_to_sharded does not support ND sharding. Please use ttnn.to_memory_config or ttnn.copy instead.",
            hint="ttnn.to_memory_config(tensor, memory_config)",
        )


def _first_cores(
    tensor: Tensor,
    grid: CoreCoord,
    piece: Sequence[int],
    scheme: TensorMemoryLayout,
    orientation: ShardOrientation,
) -> CoreRangeSet:
    """As many cores of a grid as there are pieces, the first ones along the orientation: of blocks, too, which then lie on a rectangle where
    they fill whole lines of the grid.
    """
    *rows, columns = tensor.padded_shape.dims
    down, across = -(-math.prod(rows) // piece[0]), -(-columns // piece[-1])
    lone = {TensorMemoryLayout.HEIGHT_SHARDED: down, TensorMemoryLayout.WIDTH_SHARDED: across}
    by_row = orientation is ShardOrientation.ROW_MAJOR
    return num_cores_to_corerangeset(lone.get(scheme, down * across), grid, row_wise=by_row)


@operation("ttnn.sharded_to_interleaved", family=families.CONVERSION, golden=goldens.same)
def sharded_to_interleaved(
    input_tensor: Tensor, memory_config: MemoryConfig | None = None, output_dtype: DataType | None = None
) -> Tensor:
    """The tensor spread over memory banks again; one that is not sharded stays what it is, and so does one in pieces that are none of a matrix.

    Raises RuntimeError for another element type in rows.
    """
    on_device(input_tensor, kind="data movement")
    if input_tensor.memory_config().shard_spec is None:
        return input_tensor.alias()
    small_tiles.check("sharded_to_interleaved", input_tensor)
    if output_dtype not in (None, input_tensor.dtype) and input_tensor.layout is not Layout.TILE:
        raise fatal(
            "If diff output type, tensor must be TILED", hint="ttnn.typecast(tensor, dtype) takes rows"
        )
    row_widths.check_joined(input_tensor)
    return _copied(input_tensor, output_dtype, memory_config or DRAM_MEMORY_CONFIG)


def in_layout(
    tensor: Tensor,
    layout: Layout,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    tile: Tile | None = None,
) -> Tensor:
    """The same elements in a layout, and in an element type if `dtype` is given."""
    on_device(tensor, kind="data movement")
    if tensor.dtype is DataType.BFLOAT4_B and layout is Layout.ROW_MAJOR:
        raise fatal("Only TILE layout is supported for BFLOAT8_B dtype!", hint=as_type("tensor", "bfloat16"))
    dtype = dtype or tensor.dtype
    check_layout(dtype, layout)
    shards = _typed(tensor, dtype)
    return settle((tensor,), shards, dtype, memory_config=memory_config, layout=layout, tile=tile)


@operation("ttnn.tilize", family=families.CONVERSION, golden=goldens.same)
def tilize(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    use_multicore: bool = True,
    use_low_perf: bool = False,
    tile: Tile = DEFAULT_TILE,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The same elements in TILE layout, in `dtype` if given."""
    on_device(input_tensor, kind="data movement")
    if input_tensor.layout is not Layout.ROW_MAJOR:
        raise fatal(
            "Can only tilize row major data",
            "input_tensor.layout() == Layout::ROW_MAJOR",
            hint=in_rows("tensor"),
        )
    shape = (1, 1, *input_tensor.padded_shape.dims)[-2:]
    for what, edge in (("width", 1), ("height", 0)):
        if shape[edge] % tile.edges[edge]:
            raise _not_whole(what, shape[edge], tile.edges[edge])
    if not use_multicore and input_tensor.is_sharded():
        raise fatal("Multicore must be enabled for sharded input", hint="use_multicore=True")
    own = input_tensor.memory_config()
    place = kept_cores.place_of_tiles(own, memory_config) or sharding.of_matrix(own)
    return in_layout(input_tensor, Layout.TILE, dtype, place, tile)


def _not_whole(what: str, size: int, whole: int) -> RuntimeError:
    return fatal(
        f"Input tensor {what} ({size}) must be divisible by tile {what} ({whole})",
        hint="ttnn.tilize_with_zero_padding(tensor), or ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)",
    )


@operation("ttnn.untilize", family=families.CONVERSION, golden=goldens.same)
def untilize(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    use_multicore: bool = True,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The same elements in ROW_MAJOR layout; block floats become bfloat16, which they need to leave their tiles."""
    on_device(input_tensor, kind="data movement")
    if input_tensor.layout is not Layout.TILE:
        raise fatal(
            "Can only untilize tile major data",
            "input_tensor.layout() == Layout::TILE",
            hint=in_tiles("tensor"),
        )
    own = input_tensor.memory_config()
    if sub_core_grids is not None:
        _check_untilized_on(input_tensor, memory_config or own)
    if not own.is_sharded():
        if input_tensor.padded_shape != input_tensor.shape:
            memory_config = layouts.unpadded(input_tensor, kept_cores.place_of_rows(own, memory_config))
        return elements_in_rows(input_tensor, memory_config)
    rows = elements_in_rows(input_tensor, memory_config or own)
    if rows.memory_config().shard_spec is not None:
        return rows
    # What leaves its cores takes the padding along, and so do pieces that are none of a matrix.
    filled = map(max, rows.padded_shape, input_tensor.padded_shape)
    return framing.fill_padding(rows, 0.0, tuple(filled))


def _check_untilized_on(tensor: Tensor, place: MemoryConfig) -> None:
    """Raises RuntimeError for tiles that cores of the caller's choice do not take apart."""
    for word, memory in (("Input", tensor.memory_config()), ("Output", place)):
        if memory.is_sharded():
            raise fatal(
                f"{word} memory layout must be interleaved when sub_core_grid argument provided",
                hint="leave sub_core_grids out: a sharded tensor's own cores do it",
            )
    height, tile = math.prod(tensor.padded_shape.dims[:-1]), tensor.tile.edges[0]
    if height > tile:
        raise fatal(
            f"sub_core_grid untilize only supports tensors one tile row tall, got height {height} with tile height {tile}",
            hint="leave sub_core_grids out",
        )


def elements_in_rows(tensor: Tensor, memory_config: MemoryConfig | None) -> Tensor:
    """The elements of tiles in rows; block floats become bfloat16."""
    dtype = DataType.BFLOAT16 if tensor.dtype in BLOCK_FLOATS else None
    return in_layout(tensor, Layout.ROW_MAJOR, dtype, memory_config)
