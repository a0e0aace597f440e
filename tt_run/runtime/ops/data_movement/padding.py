"""Layouts with padding, shards of a part, bits taken for another type. Source: reference library 0.81.1.

Padding is never stored (it cannot leak into a result), so what only fills it gives the same logical tensor.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, ShardOrientation, TensorMemoryLayout, cpp
from tt_run.runtime.errors import fatal, in_tiles, throw
from tt_run.runtime.ops.data_movement import conversions, joining, movement
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.dispatch import no_tensor, operation
from tt_run.runtime.ops.declaration.operands import ints, keep_label, on_device, settle, volume
from tt_run.runtime.ops.declaration.places import check_filled, like_operand
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.ops.placement import row_widths, viewed_shards
from tt_run.runtime.tensor.conversion import copies, framing, kept_cores, layouts
from tt_run.runtime.tensor.questions import elements_on
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.casting import BITS, reinterpret
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.tilize_with_zero_padding", family=families.CONVERSION, golden=lambda x, **_: x)
def tilize_with_zero_padding(
    input_tensor: Tensor,
    *,
    memory_config: MemoryConfig | None = None,
    output_dtype: DataType | None = None,
    use_multicore: bool = True,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The same elements in TILE layout, whole tiles filled up with zeros; a tensor that has it already stays as it is."""
    if input_tensor.layout is Layout.TILE:
        return input_tensor.alias()
    result: Tensor = conversions.in_layout(
        input_tensor, Layout.TILE, output_dtype, _in_tiles(input_tensor, memory_config)
    )
    return result


def _in_tiles(tensor: Tensor, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where rows lie once they are filled up to tiles: pieces of columns have the rows of the padding, too. Raises RuntimeError for bytes."""
    layouts.check_tiles_filled(tensor)
    own = tensor.memory_config()
    if asked is None and own.created_with_nd_shard_spec:
        layouts.check_pieces(own, Layout.TILE, tensor.tile)
    asked = kept_cores.place_of_tiles(own, asked, (TensorMemoryLayout.WIDTH_SHARDED,))
    if asked not in (None, own) or own.shard_spec is None or own.created_with_nd_shard_spec:
        return asked
    *outer, columns = framing.tile_multiple((1, 1, *tensor.shape))
    kept = own.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED
    return own if kept else sharding.reaching(own, math.prod(outer), columns)


@operation("ttnn.tilize_with_val_padding", family=families.CONVERSION, golden=lambda x, *_, **__: x)
def tilize_with_val_padding(
    input_tensor: Tensor,
    output_tensor_shape: Sequence[int],
    pad_value: float,
    *,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    use_multicore: bool = True,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The same elements in TILE layout; `output_tensor_shape` is the shape with padding, which must hold them and is `pad_value` elsewhere.

    A tensor that is in TILE layout already stays as it is.
    """
    if input_tensor.layout is Layout.TILE:
        return input_tensor.alias()
    padded, shape = ints(output_tensor_shape), tuple(input_tensor.shape)
    if len(padded) < len(shape):
        raise throw(
            f"ShapeBase[] index out of range. {len(padded)} not in [-{max(4, len(padded))}, {len(padded)})",
            hint=f"give {len(shape)} lengths, one for each dimension of the tensor",
        )
    ahead = len(padded) - len(shape) if len(shape) == 1 else 0
    for dim, (room, length) in enumerate(zip(padded[ahead:], shape, strict=False)):
        if room < length:
            raise fatal(
                f"Output tensor shape {Shape(padded)} must be greater than or equal to input shape {input_tensor.shape} "
                f"in each dimension, but is smaller in dimension {dim}",
                "input_shape[i] <= operation_attributes.output_padded_shape[i]",
                hint=f"at least {length} along dimension {dim}",
            )
    if len(padded) < 2 or framing.tile_multiple(padded) != padded:
        raise fatal(
            f"To be tilizable output tensor shape {Shape(padded)} must be divisible by tile size (32, 32)",
            "inner_dim % TILE_WIDTH == 0 && num_rows % TILE_HEIGHT == 0",
            hint=f"{list(framing.tile_multiple((1, *padded) if len(padded) < 2 else padded))} are whole tiles",
        )
    place = _in_tiles(input_tensor, memory_config)
    result: Tensor = conversions.in_layout(input_tensor, Layout.TILE, dtype, place)
    # A tensor cut into two-dimensional pieces is padded as far as its tiles reach.
    extent = None if result.memory_config().shard_spec is not None else padded
    return framing.fill_padding(result, pad_value, extent)


def _golden_unpadded(x: Any, output_tensor_end: Sequence[int], **_: Any) -> Any:
    return x[tuple(slice(0, int(end) + 1) for end in output_tensor_end)]


@operation("ttnn.untilize_with_unpadding", family=families.CONVERSION, golden=_golden_unpadded)
def untilize_with_unpadding(
    input_tensor: Tensor,
    output_tensor_end: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    use_multicore: bool = True,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The elements up to and with `output_tensor_end` in ROW_MAJOR layout."""
    on_device(input_tensor, kind="data movement")
    if input_tensor.layout is not Layout.TILE:
        raise fatal(
            "Can only untilize tile major data",
            "input_tensor.layout() == Layout::TILE",
            hint=in_tiles("tensor"),
        )
    ends = [end + 1 for end in ints(output_tensor_end)]
    shape = tuple(input_tensor.shape)
    room = tuple(input_tensor.padded_shape)
    if len(shape) < 2:  # a row or a number: what is beyond its dimensions is not read
        if len(ends) < len(shape):
            raise throw(
                "ShapeBase[] index out of range. 0 not in [-4, 0)",
                hint="the last element of the row, counted from 0",
            )
        ends, room = ends[: len(shape)], shape
    inside = f"ends count up to {[n - 1 for n in room]}, included"
    if len(ends) != len(shape):
        raise fatal(
            f"untilize_with_unpadding: end {list(ints(output_tensor_end))} is outside of shape {list(room)}",
            hint=inside,
        )
    for dimension, (end, extent) in enumerate(zip(ends, room, strict=True)):
        if end > extent:
            raise fatal(
                f"untilize_with_unpadding: output extent {end} exceeds the padded input extent {extent} in dimension {dimension}",
                hint=inside,
            )
    layouts.check_unbatched(input_tensor, memory_config)
    cut = input_tensor.memory_config().shard_spec is not None
    rows = conversions.elements_in_rows(input_tensor, DRAM_MEMORY_CONFIG if cut else None)
    if any(map(operator.gt, ends, shape)):  # the padding is asked for as well
        rows = rows.derive(framing.frame_of(input_tensor))
    place = layouts.unpadded(
        input_tensor, kept_cores.place_of_rows(input_tensor.memory_config(), memory_config)
    )
    if place is None:
        place = kept_cores.cut_of_rows(input_tensor, ends)
    result: Tensor = joining.slice.compute(rows, [0] * len(shape), ends, memory_config=place)
    return result


@operation("ttnn.fill_implicit_tile_padding", family=families.CONVERSION, golden=lambda x, *_, **__: x)
def fill_implicit_tile_padding(
    input_tensor: Tensor, fill_value: float, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """The same tensor, the padding of its tiles being `fill_value`: no operation reads it, `to_torch_with_padded_shape` shows it.

    It stays where it lies, whatever `memory_config` says. Raises RuntimeError for several matrices that are cut over cores.
    """
    on_device(input_tensor, kind="data movement")
    result = input_tensor.alias()
    edges = input_tensor.tile.edges
    *_, high, wide = (1, 1, *result.shape)
    padded = bool(high % edges[0] or wide % edges[1])
    if result.layout is not Layout.TILE and padded:
        raise fatal(
            "FillPad should only be used for tile layout",
            "input_tensor.layout() == TILE_LAYOUT",
            hint=in_tiles("tensor"),
        )
    if padded and result.dtype is DataType.UINT8:
        raise fatal(
            f"Unsupported datatype {cpp(result.dtype)}", hint="ttnn.typecast(input_tensor, ttnn.uint16)"
        )
    check_filled(result)
    return framing.fill_padding(result, fill_value) if padded else result


@operation("ttnn.reshard", family=families.CONVERSION, golden=lambda x, *_, **__: x)
def reshard(
    input_tensor: Tensor, output_memory_config: MemoryConfig, output_tensor: Tensor | None = None
) -> Tensor:
    """The same elements spread over cores in another way."""
    if not output_memory_config.is_sharded():
        raise fatal("output must be sharded", hint="ttnn.sharded_to_interleaved(tensor, memory_config)")
    small_tiles.check("reshard", input_tensor)
    row_widths.check_moved(input_tensor, output_memory_config)
    if output_tensor is None and output_memory_config == input_tensor.memory_config():
        copied: Tensor = conversions.clone.compute(input_tensor)
        return copied
    result: Tensor = conversions.to_memory_config.compute(
        input_tensor, output_memory_config, output_tensor=output_tensor
    )
    return result


def _slice_rows(tensor: Tensor, num_slices: int, slice_index: int) -> tuple[int, int]:
    """First and last-but-one row of a slice of a tensor taken as rows of its width."""
    rows = volume(tuple(tensor.shape)[:-1])
    if num_slices < 1:
        raise fatal("num_slices must be greater than 0", hint=f"num_slices is {num_slices}")
    if rows % num_slices or not 0 <= slice_index < num_slices:
        raise fatal(
            f"slice {slice_index} of {num_slices} does not cut {rows} rows evenly",
            hint="give a num_slices that divides the rows, and a slice_index from 0 to below it",
        )
    length = rows // num_slices
    return slice_index * length, (slice_index + 1) * length


@operation(
    "ttnn.interleaved_to_sharded_partial", family=families.CONVERSION, golden=creation_goldens.partial_slice
)
def interleaved_to_sharded_partial(
    input_tensor: Tensor,
    grid: CoreCoord | CoreRangeSet | Sequence[int],
    shard_shape: Sequence[int],
    num_slices: int,
    slice_index: int,
    shard_scheme: TensorMemoryLayout,
    shard_orientation: ShardOrientation,
    *,
    output_dtype: DataType | None = None,
) -> Tensor:
    """Slice `slice_index` of `num_slices` of the rows, [1, 1, rows, width], spread over cores."""
    first, last = _slice_rows(input_tensor, num_slices, slice_index)
    if min(shard_shape) < 1:
        raise fatal("shard_shape must be greater than 0", hint=f"shard_shape is {list(shard_shape)}")
    rows = movement.reshape.compute(input_tensor, [1, 1, -1, input_tensor.shape[-1]])
    part = joining.slice.compute(rows, [0, 0, first, 0], [1, 1, last, input_tensor.shape[-1]])
    result: Tensor = conversions.interleaved_to_sharded.compute(
        part, grid, shard_shape, shard_scheme, shard_orientation, output_dtype
    )
    return result


@operation(
    "ttnn.sharded_to_interleaved_partial", family=families.CONVERSION, golden=creation_goldens.partial_write
)
def sharded_to_interleaved_partial(
    input_tensor: Tensor,
    cache_tensor: Tensor,
    num_slices: int,
    slice_index: int,
    *,
    memory_config: MemoryConfig | None = None,
    output_dtype: DataType | None = None,
) -> Tensor:
    """Write a sharded tensor over slice `slice_index` of `num_slices` of the rows of `cache_tensor`; returns that."""
    on_device(input_tensor, cache_tensor, kind="data movement")
    first, last = _slice_rows(cache_tensor, num_slices, slice_index)
    width = cache_tensor.shape[-1]

    def placed(whole: Array, part: Array) -> Array:
        result = whole.copy()
        part = convert(part, cache_tensor.dtype).reshape(len(part), last - first, width)
        result.reshape(len(whole), -1, width)[:, first:last] = part
        return result

    cache_tensor.overwrite(combine(placed, cache_tensor.shards, input_tensor.shards))
    return keep_label(cache_tensor, (input_tensor,))


@operation("ttnn.copy_host_to_device_tensor_partial", family=families.BORDER, direct=True)
def copy_host_to_device_tensor_partial(
    host_tensor: Tensor, device_tensor: Tensor, logical_core_filter: CoreRangeSet, cq_id: int | None = None
) -> None:
    """Copy of a host tensor what the cores named hold of a device tensor that is cut over cores; what others hold stays.

    Raises RuntimeError for a device tensor that is not cut over cores, and where the two differ in shape, type or layout.
    """
    for name, tensor in (("host_tensor", host_tensor), ("device_tensor", device_tensor)):
        if not isinstance(tensor, Tensor):
            raise no_tensor(name, tensor)
    if logical_core_filter.empty():
        return
    if not device_tensor.memory_config().is_sharded():
        raise fatal(
            "copy_host_to_device_tensor_partial needs a device tensor with a sharded buffer",
            hint="ttnn.copy_host_to_device_tensor(host_tensor, device_tensor) writes it whole",
        )
    copies.copy_elements(host_tensor, device_tensor, elements_on(device_tensor, logical_core_filter), cq_id)


@operation(
    "ttnn.reshape_on_device",
    family=families.MOVEMENT,
    golden=lambda x, w, z, y, last, **_: x.reshape(w, z, y, last),
)
def reshape_on_device(
    input_tensor: Tensor, W: int, Z: int, Y: int, X: int, *, memory_config: MemoryConfig | None = None
) -> Tensor:
    """The same elements as [W, Z, Y, X]; one of them may be -1. The buffer itself, where it lies, if rows are as long as they were."""
    movement.placed(input_tensor)
    asked, padded = [W, Z, Y, X], input_tensor.padded_shape
    if input_tensor.device() is None:
        found: Tensor = movement.reshape.compute(input_tensor, asked)
        return found
    last = padded[sharding.dimension(3, len(padded))]
    wanted = movement.resolve_shape(asked, tuple(input_tensor.shape))
    if wanted[3] == last:
        return movement.seen_as(input_tensor, wanted)
    viewed_shards.check_moved(input_tensor, memory_config, wanted)
    return movement.moved(input_tensor, lambda s: s.reshape(len(s), *wanted), memory_config)


@operation("ttnn.bitcast", family=families.CONVERSION, golden=creation_goldens.bitcast)
def bitcast(
    input_tensor: Tensor,
    dtype: DataType,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """The same bits taken for elements of another type of the same size: UINT16 and BFLOAT16, UINT32, INT32 and FLOAT32."""
    on_device(input_tensor, kind="bitcast")
    old = input_tensor.dtype
    if old is not dtype and (BITS.get(old) is None or BITS.get(old) != BITS.get(dtype)):
        raise fatal(
            f"bitcast: {old} and {dtype} are not types of the same size",
            hint="ttnn.typecast(tensor, dtype) converts the values instead",
        )

    return settle(
        (input_tensor,),
        input_tensor.shards.map(lambda stack: stack if old is dtype else reinterpret(stack, old, dtype)),
        dtype,
        memory_config=like_operand(input_tensor, memory_config),
        output_tensor=output_tensor,
    )
