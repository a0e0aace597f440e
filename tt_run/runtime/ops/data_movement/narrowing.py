"""Part of a tensor as a view of its buffer: whole pages of memory banks from the first bank on, or whole pieces on cores.

Source: memory configurations and refusals of reference library 0.81.1.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, corerange_to_cores
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    Layout,
    ShardOrientation,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement.movement import moved
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, place_of
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size

Array = npt.NDArray[Any]
_ALIGNMENT = {BufferType.DRAM: 32, BufferType.L1: 16}  # bytes
_COPY = "ttnn.slice(tensor, starts, ends) makes a tensor of its own of any part"


@operation("ttnn.narrow", family=families.MOVEMENT, golden="narrow")
def narrow(input_tensor: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` entries of dimension `dim` from `start` on, in the tensor's own buffer.

    Raises RuntimeError for a part that is no run of whole pages from the first DRAM bank on, and no whole pieces on cores or part of one.
    """
    on_device(input_tensor, kind="data movement")
    axis = place_of(dim, len(input_tensor.shape))
    # Tiles are narrowed with their padding.
    held = (input_tensor.padded_shape if input_tensor.layout is Layout.TILE else input_tensor.shape)[axis]
    start += held if start < 0 else 0
    _check_bounds(axis, start, length, held)
    _check_units(input_tensor, axis, start, length)
    place = None
    if length == held == input_tensor.shape[axis]:
        return input_tensor.alias()
    if length < held:
        place = _of_pieces(input_tensor, axis, start, length) if input_tensor.is_sharded() else None
        if place is None:
            _check_pages(input_tensor, axis, start)
    part = (builtins.slice(None),) * (axis + 1) + (builtins.slice(start, start + length),)

    def seen(stack: Array) -> Array:
        return stack[part]

    return moved(input_tensor, seen, place, view=True)


def _check_bounds(axis: int, start: int, length: int, held: int) -> None:
    if not 0 <= start < held:
        raise fatal(
            f"Narrow start index {start} out of bounds for dimension {axis} with size {held}",
            hint=f"start is 0 to {held - 1}",
        )
    if not 0 < length <= held - start:
        raise fatal(
            f"Narrow length {length} out of bounds for dimension {axis} with start index {start} and size {held}",
            hint=f"length is 1 to {held - start}",
        )


def _check_units(tensor: Tensor, axis: int, start: int, length: int) -> None:
    """Raises RuntimeError for parts of tiles, and for rows that would begin where a buffer's pages do not."""
    behind = len(tensor.shape) - 1 - axis
    if len(tensor.shape) == 1 and length < tensor.padded_shape[-1] and tensor.layout is Layout.TILE:
        # The reference takes the one dimension for the rows of a tile.
        raise fatal("ShapeBase[] index out of range. 1 not in [-4, 1)", hint=_COPY)
    if tensor.layout is Layout.TILE:
        for distance, side in ((0, "width"), (1, "height")):
            edge = tensor.tile.edges[1 - distance]
            if behind == distance and (start % edge or length % edge):
                raise fatal(
                    f"Narrowing on {side} for TILE layout requires start and length to be multiples of TILE_{side.upper()} ({edge}), "
                    f"got start {start} and length {length}",
                    hint=_COPY,
                )
    elif not behind and start % _ALIGNMENT[tensor.memory_config().buffer_type]:
        raise fatal(
            f"Narrowing on width for ROW_MAJOR layout requires start ({start}) to be aligned to buffer alignment "
            f"({_ALIGNMENT[tensor.memory_config().buffer_type]})",
            "!narrow_width || start % buffer->alignment() == 0",
            hint=_COPY,
        )


def _check_pages(tensor: Tensor, axis: int, start: int) -> None:
    """Raises RuntimeError for what is no run of pages of DRAM's banks from the first of them on."""
    memory, device = tensor.memory_config(), tensor.device()
    if memory.is_sharded() or memory.buffer_type is not BufferType.DRAM or device is None:
        raise fatal(
            "Narrowing for the given tensor configuration is not yet implemented. "
            "Supported: DRAM INTERLEAVED tensors on first non-trivial dimension, L1 sharded tensors with restrictions.",
            hint=_COPY,
        )
    padded = list(tensor.padded_shape)
    units = [1] * (len(padded) - 2) + list(tensor.tile.edges) if tensor.layout is Layout.TILE else None
    pages = [n // e for n, e in zip(padded, units[-len(padded) :], strict=True)] if units else padded[:-1]
    if math.prod(padded[:axis]) != 1:
        raise fatal(
            f"Narrowing on dimension {axis} for DRAM INTERLEAVED tensors requires all preceding dimensions to be trivial (size 1). "
            f"Got non-trivial dimensions before dimension {axis}.",
            hint=_COPY,
        )
    if axis >= len(pages):
        size = element_size(tensor.dtype)
        raise fatal(
            f"Narrowing part of a row of {padded[-1] * size} bytes is not supported: a row is one page of its buffer",
            hint=_COPY,
        )
    banks, unit = device.dram_grid_size().x, units[axis] if units else 1
    if start // unit * math.prod(pages[axis + 1 :]) % banks:
        raise fatal(
            f"Start page ID must be aligned with number of banks for INTERLEAVED DRAM buffers: page "
            f"{start // unit * math.prod(pages[axis + 1 :])} of {banks} banks",
            "start_page_id % num_banks == 0",
            hint=_COPY,
        )


def _of_pieces(tensor: Tensor, axis: int, start: int, length: int) -> MemoryConfig | None:
    """The place of a part on cores, of whole pieces or of one; None for a tensor whose pieces are no rows, columns or blocks in L1."""
    memory, padded = tensor.memory_config(), list(tensor.padded_shape)
    spec, last = memory.shard_spec, axis == len(padded) - 1
    if spec is None or memory.buffer_type is not BufferType.L1:
        return None
    high, wide = spec.shape
    unit = 1 if last else math.prod(padded[axis + 1 : -1])
    edge = wide if last else high
    first, many, span = start * unit, length * unit, padded[axis] * unit
    # Dimensions in front repeat the part: once in every piece of as many rows as the dimension has, else there is none.
    alone = last or math.prod(padded[:axis]) == 1
    inside = first // edge == (first + many - 1) // edge
    if alone and not (first % edge or many % edge):
        cores = _taken(spec, memory, first // edge, many // edge, last)
        return MemoryConfig(
            memory.memory_layout, memory.buffer_type, ShardSpec(cores, [high, wide], spec.orientation)
        )
    if not alone and memory.memory_layout is HEIGHT_SHARDED and not span % edge:
        whole = not (first % edge or many % edge)
        if whole or inside:
            places = [
                front * (span // edge) + first // edge + each
                for front in range(math.prod(padded[:axis]))
                for each in range(many // edge if whole else 1)
            ]
            piece = [high if whole else many, wide]
            return MemoryConfig(
                memory.memory_layout,
                memory.buffer_type,
                ShardSpec(_at(spec, places), piece, spec.orientation),
            )
    contiguous = not last or (tensor.layout is Layout.TILE and high == tensor.tile.edges[0])
    if not (inside and contiguous and (alone or span == edge)):
        word = "last" if last else "non-last"
        raise fatal(
            f"Narrowing on {word} dimension for L1 sharded tensor only supports full shards or splitting within single shard. "
            f"Got start {start} and length {length} of pieces {list(spec.shape)}",
            hint=_COPY,
        )
    cores = spec.grid if not alone else _taken(spec, memory, first // edge, 1, last)
    piece = [high, many] if last else [many, wide]
    return MemoryConfig(memory.memory_layout, memory.buffer_type, ShardSpec(cores, piece, spec.orientation))


def _taken(spec: ShardSpec, memory: MemoryConfig, first: int, many: int, last: bool) -> CoreRangeSet:
    """The cores of `many` pieces from the `first` on, along the columns (`last`) or the rows of pieces."""
    by_row = spec.orientation is ShardOrientation.ROW_MAJOR
    if memory.memory_layout is BLOCK_SHARDED:
        box = spec.grid.bounding_box()
        along_x = last == by_row
        begin = (
            CoreCoord(box.start.x + first, box.start.y)
            if along_x
            else CoreCoord(box.start.x, box.start.y + first)
        )
        end = (
            CoreCoord(begin.x + many - 1, box.end.y) if along_x else CoreCoord(box.end.x, begin.y + many - 1)
        )
        return CoreRangeSet([CoreRange(begin, end)])
    if last != (memory.memory_layout is WIDTH_SHARDED):
        return spec.grid if by_row else _at(spec, range(spec.grid.num_cores()))
    return _at(spec, range(first, first + many))


def _at(spec: ShardSpec, places: Iterable[int]) -> CoreRangeSet:
    """The cores of these pieces. Those that are counted by columns stay apart."""
    by_row = spec.orientation is ShardOrientation.ROW_MAJOR
    cores = corerange_to_cores(spec.grid, None, by_row)
    ranges = CoreRangeSet([CoreRange(cores[place], cores[place]) for place in places if place < len(cores)])
    return CoreRangeSet().merge(ranges) if by_row else ranges
