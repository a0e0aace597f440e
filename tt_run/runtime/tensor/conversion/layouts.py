"""Layout, element type and memory configuration of existing tensors."""

from __future__ import annotations

import math

from tt_run.runtime.enums import DataType, Layout, TensorMemoryLayout, cpp
from tt_run.runtime.errors import ArgumentMismatch, fatal, in_tiles
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.conversion import kept_cores
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Shape, Tile, padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.casting import cast
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, check_layout, convert, quantize_padded


@public
def to_layout(
    tensor: Tensor,
    layout: Layout,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    sub_core_grids: CoreRangeSet | None = None,
    pad_value: float = 0.0,
) -> Tensor:
    """The tensor in another layout, and on a device in another element type if `dtype` is given: a host tensor keeps its own.

    A tensor that has the layout stays what it is: `dtype` and `memory_config` count only where the layout changes.

    A block float that leaves TILE layout becomes bfloat16 on a device; on the host it cannot leave, and the tensor stays as it is.
    Padding is never stored: `pad_value` counts only in the shared exponents of a block float.
    """
    if not isinstance(layout, Layout):
        raise ArgumentMismatch(f"layout must be a ttnn.Layout, got {layout!r}")
    if tensor.device() is None:
        dtype = None
    if layout is tensor.layout:
        return tensor.alias()
    if layout is not Layout.TILE and tensor.device() is None and tensor.dtype in BLOCK_FLOATS:
        return tensor.alias()
    if memory_config is not None and memory_config.nameless and tensor.device() is not None:
        raise fatal("bad optional access", hint="memory_config=ttnn.create_sharded_memory_config(…)")
    wanted = dtype or tensor.dtype
    _check_type(tensor, wanted, layout)
    if layout is not Layout.TILE and wanted in BLOCK_FLOATS:
        if dtype is not None:
            check_layout(wanted, layout)
        if tensor.dtype is DataType.BFLOAT4_B:
            raise fatal(
                "Only TILE layout is supported for BFLOAT8_B dtype!",
                hint="ttnn.typecast(tensor, ttnn.bfloat16)",
            )
        wanted = DataType.BFLOAT16
    return _converted(tensor, wanted, layout, _place(tensor, layout, memory_config), pad_value)


def check_tiles_filled(tensor: Tensor) -> None:
    """Raises RuntimeError for bytes, of which a device makes no tiles that are filled up."""
    if tensor.dtype is DataType.UINT8:
        raise fatal(
            "Can only tilize bfloat16/float32 or int32/uint32/uint16 or fp8_e4m3 tensors",
            hint="ttnn.from_torch(…, layout=ttnn.TILE_LAYOUT) makes them on the host; or ttnn.typecast(tensor, ttnn.uint16) before",
        )


def check_same_tile(tensor: Tensor, tile: Tile) -> None:
    """Raises RuntimeError for a copy on a device into tiles of another size."""
    if tensor.device() is not None and tensor.layout is Layout.TILE and tensor.tile.edges != tile.edges:
        raise fatal(
            "Input and output tensors must have the same tile shape when layout is TILE",
            hint="ttnn.tilize(ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)) makes tiles of 32 x 32",
        )


def _check_type(tensor: Tensor, wanted: DataType, layout: Layout) -> None:
    """Raises RuntimeError for another element type of what leaves its tiles on a device, and for bytes that are to fill up tiles there."""
    if (
        layout is Layout.TILE
        and tensor.dtype is DataType.UINT8
        and tensor.device() is not None
        and padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile) != tensor.shape
    ):
        check_tiles_filled(tensor)
    leaves = tensor.dtype is DataType.BFLOAT8_B and wanted is DataType.BFLOAT16
    if layout is not Layout.TILE and wanted is not tensor.dtype and not leaves:
        raise fatal(
            "dtype cannot be different from tensor dtype when converting to ROW_MAJOR_LAYOUT on device (allowed exception: BFLOAT8_B -> "
            "BFLOAT16, which untilize handles natively)",
            hint=f"ttnn.typecast(tensor, ttnn.{wanted.name.lower()}) before",
        )


def _place(tensor: Tensor, layout: Layout, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where a tensor in pieces of a matrix lies in another layout: they are whole tiles, and what leaves tiles leaves its padding across the cut.

    Raises RuntimeError for pieces that are no tiles, and for several matrices with padding whose columns are cut.
    """
    own = tensor.memory_config()
    spec = own.shard_spec
    if tensor.device() is None or (asked is None and not own.is_sharded()):
        return asked
    padded = padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile)
    if spec is None:
        check_pieces(own, layout, tensor.tile)
        fills = layout is Layout.TILE or padded == tensor.shape
        return asked if fills else unpadded(tensor, kept_cores.place_of_rows(own, asked))
    if own.created_with_nd_shard_spec and asked is None:
        if layout is Layout.TILE:
            return sharding.of_matrix(own)
        if padded == tensor.shape:
            return None
    if layout is Layout.TILE:
        sharding.check_alignment(spec, layout, tensor.tile.edges)
        sharding.on_cores(own, padded.dims, layout, tensor.tile.edges)
        if padded == tensor.shape:
            return kept_cores.place_of_tiles(own, asked)
        return kept_cores.place_of_filled_tiles(own, asked, padded.dims[-1] != (1, *tensor.shape)[-1])
    check_unbatched(tensor, asked)
    if padded == tensor.shape and asked not in (None, own):
        return asked
    if padded != tensor.shape:
        return kept_cores.place_of_rows(own, asked) or kept_cores.cut_of_rows(tensor, tensor.shape.dims)
    *outer, columns = tensor.shape
    return sharding.reaching(own, math.prod(outer), columns)


def check_pieces(own: MemoryConfig, layout: Layout, tile: Tile) -> None:
    """Raises RuntimeError for rows in pieces of any rank that are to be tiles and are no whole ones."""
    if own.nd_shard_spec is not None:
        sharding.check_any_rank(own, layout, tile.edges)


def unpadded(tensor: Tensor, place: MemoryConfig | None) -> MemoryConfig | None:
    """A place for rows of a tensor that leave the padding of their tiles: pieces of columns have as many rows as there are without it."""
    spec = None if place is None else place.shard_spec
    if (
        place is None
        or spec is None
        or tensor.is_sharded()
        or place.memory_layout is not TensorMemoryLayout.WIDTH_SHARDED
    ):
        return place
    *outer, columns = tensor.shape
    *above, _ = tensor.padded_shape
    return sharding.reaching(place, math.prod(outer), columns) if spec.shape[0] == math.prod(above) else place


def check_unbatched(tensor: Tensor, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError where tiles of several matrices would leave their padding, which pieces of columns do of one alone."""
    own = tensor.memory_config()
    if math.prod(tensor.shape[:-2]) == 1 or tensor.padded_shape == tensor.shape:
        return
    freed = asked is not None and not asked.is_sharded()
    blocks = own.memory_layout is TensorMemoryLayout.BLOCK_SHARDED
    if blocks or (freed and own.memory_layout is TensorMemoryLayout.WIDTH_SHARDED):
        raise fatal(
            "Can only write unbatched output "
            + ("interleaved" if freed else "for BLOCK_SHARDED -> BLOCK_SHARDED"),
            hint="ttnn.sharded_to_interleaved(tensor) before",
        )


@public
def to_dtype(tensor: Tensor, dtype: DataType) -> Tensor:
    """A host tensor in another element type; block floats bring TILE layout with them.

    Raises RuntimeError on a device, and for a block float of a row-major tensor that tiles would pad.
    """
    if tensor.device() is not None:
        raise fatal(
            "to_dtype: Tensor must be on host; use ttnn.typecast for a device tensor",
            hint=f"ttnn.typecast(tensor, ttnn.{dtype.name.lower()}), or ttnn.from_device(tensor) first",
        )
    layout = tensor.layout
    if dtype in BLOCK_FLOATS and layout is not Layout.TILE:
        layout = Layout.TILE
        check_whole_tiles(tensor, "to_dtype")
    return tensor.alias() if dtype is tensor.dtype else _converted(tensor, dtype, layout, None)


def check_whole_tiles(tensor: Tensor, function: str) -> None:
    """Raises RuntimeError for rows that tiles would pad, where nothing fills them up."""
    before, after = tensor.padded_shape, padded_shape(tuple(tensor.shape), Layout.TILE, tensor.tile)
    if before.volume() != after.volume():
        raise fatal(
            f"{function}: Converting layout to {cpp(Layout.TILE)} implicitly changed physical shape from {_rows(before)} to "
            f"{_rows(after)} due to alignment constraints. This is currently unsupported. "
            "Please pad the tensor explicitly before conversion.",
            hint="call to_layout(tensor, ttnn.TILE_LAYOUT) first",
        )


@public
def typecast(
    tensor: Tensor,
    dtype: DataType,
    output_dtype: DataType | None = None,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The tensor in another element type: `(tensor, dtype)` or `(tensor, input_dtype, output_dtype)`.

    Raises RuntimeError when `input_dtype` is not the tensor's, or a block float is not in TILE layout.
    """
    if output_dtype is not None and dtype is not tensor.dtype:
        raise fatal(
            f"typecast: input_dtype {dtype} does not match the tensor's {tensor.dtype}",
            hint=f"leave input_dtype out, or name ttnn.{tensor.dtype.name.lower()}",
        )
    wanted = output_dtype or dtype
    check_layout(wanted, tensor.layout)
    if output_tensor is not None:
        _check_cast(tensor, wanted, output_tensor)
    result = _converted(tensor, wanted, tensor.layout, memory_config)
    if output_tensor is None:
        return result
    output_tensor.overwrite(result.shards)
    return output_tensor


def _check_cast(tensor: Tensor, dtype: DataType, output: Tensor) -> None:
    """Raises RuntimeError for a tensor that has no room for this one's elements in another type."""
    if output.dtype is not dtype:
        raise fatal(
            "If both output dtype and output tensor provided dtype should match",
            f"{output.dtype} and {dtype}",
            hint=f"dtype=ttnn.{output.dtype.name.lower()}, or leave output_tensor out",
        )
    if output.layout is not tensor.layout:
        raise fatal(
            f"Typecast operation requires input and output layouts to match. Input layout: {cpp(tensor.layout)}, "
            f"Output layout: {cpp(output.layout)}",
            hint=f"ttnn.to_layout(tensor, ttnn.{output.layout.name}_LAYOUT)",
        )
    if output.shape != tensor.shape:
        raise fatal(
            f"Typecast operation requires input and preallocated output logical shapes to match. Input shape: {tensor.shape}, "
            f"Preallocated output shape: {output.shape}",
            hint="ttnn.empty_like(tensor, dtype=…), or leave output_tensor out",
        )


def _check_moved(dtype: DataType, memory_config: MemoryConfig, output: Tensor) -> None:
    """Raises RuntimeError for a tensor that lies elsewhere, or has other elements, than what is to be moved into it."""
    if output.memory_config() != memory_config:
        raise fatal(
            "Mismatched output memory config. Check to see if the preallocated output tensor has a different shard spec than the one "
            "specified in the passed-in memory config.",
            hint="memory_config=output_tensor.memory_config()",
        )
    if output.dtype is not dtype:
        raise fatal("Mismatched output dtype", f"{output.dtype} and {dtype}", hint=f"dtype={output.dtype}")


@public
def to_memory_config(
    tensor: Tensor,
    memory_config: MemoryConfig,
    dtype: DataType | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """The tensor under another memory configuration, and in another element type if `dtype` is given; what lies there already stays as it is.

    Raises RuntimeError for a host tensor, which has none, and for a block float outside of TILE layout.
    """
    if tensor.device() is None:
        raise fatal(
            "Device Operations expect device tensors as inputs",
            hint="ttnn.to_device(tensor, device, memory_config) puts it there",
        )
    if memory_config.nameless:
        raise fatal(
            "bad optional access",
            hint=f"{memory_config.memory_layout} names no cores: give a ShardSpec, or use ttnn.create_sharded_memory_config",
        )
    if dtype in BLOCK_FLOATS and tensor.layout is not Layout.TILE:
        raise fatal(f"Only TILE layout is supported for {dtype.name} dtype!", hint=in_tiles("tensor"))
    if output_tensor is None and memory_config == tensor.memory_config():
        return tensor.alias()  # whatever type is asked for
    check_same_tile(tensor, DEFAULT_TILE if output_tensor is None else output_tensor.tile)
    if dtype not in (None, tensor.dtype) and tensor.layout is not Layout.TILE:
        raise fatal(
            "Only tile layout supports dtype conversion",
            "input_tensor_a.layout() == Layout::TILE",
            hint="ttnn.typecast(tensor, dtype) takes rows",
        )
    if output_tensor is not None:
        _check_moved(dtype or tensor.dtype, memory_config, output_tensor)
    result = _converted(tensor, dtype or tensor.dtype, tensor.layout, memory_config)
    if output_tensor is None:
        return result
    output_tensor.overwrite(result.shards)
    return output_tensor


def _rows(shape: Shape) -> str:
    """A physical shape as the reference prints it: rows and columns."""
    *outer, columns = tuple(shape)
    return f"({math.prod(outer)}, {columns})"


def _converted(
    tensor: Tensor,
    dtype: DataType,
    layout: Layout,
    memory_config: MemoryConfig | None,
    pad_value: float = 0.0,
) -> Tensor:
    shards = tensor.shards
    if dtype in BLOCK_FLOATS and pad_value and dtype is not tensor.dtype:
        shards = shards.map(lambda stack: quantize_padded(convert(stack, DataType.FLOAT32), dtype, pad_value))
    elif dtype is not tensor.dtype:
        source, on_host = tensor.dtype, tensor.device() is None
        shards = shards.map(lambda stack: cast(stack, source, dtype, on_host=on_host))
    whole = None if tensor.device() is None or tensor.tile is DEFAULT_TILE else DEFAULT_TILE
    return tensor.derive(shards, dtype=dtype, layout=layout, memory_config=memory_config, tile=whole)
