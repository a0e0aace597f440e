"""A tensor written into a part of another, in place. NumPy copies it.

Source: reference library 0.81.1, its refusals recorded on mock devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy.typing as npt

from tt_run.runtime.enums import WIDTH_SHARDED, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import keep_label, on_device
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


def _check_bounds(target: Tensor, start: Sequence[int], end: Sequence[int], step: Sequence[int]) -> None:
    if target.is_sharded():
        raise fatal(
            "Slice Write currently doesn't support sharded output tensors.",
            hint="ttnn.sharded_to_interleaved(output_tensor)",
        )
    for first, last in zip(start, end, strict=True):
        if last < first:
            raise fatal(
                f"End {last} must be greater than or equal to start {first}",
                hint=f"the part begins at {list(start)} and ends before {list(end)}",
            )
    if min(map(int, step), default=1) < 1:
        raise fatal("Step must be greater than 0", hint=f"step is {list(step)}")


def _check_ends(target: Tensor, end: Sequence[int]) -> None:
    for last, length in zip(end, target.shape, strict=False):
        if last > length:
            raise fatal(
                f"Ends {last} must be less than or equal to the shape of the tensor {length}",
                hint=f"ends of at most {list(target.shape)}",
            )


def _check_interleaved(tensor: Tensor, target: Tensor, part: tuple[int, ...]) -> None:
    shape = tuple(tensor.shape)
    for axis, (wanted, length) in enumerate(zip(part, shape, strict=False)):
        if wanted != length:
            raise fatal(
                f"Size of the slice being written {wanted} should match the size of the input tensor {length} at dim {axis}. "
                f"Got Shape({list(part)}), expected Shape({list(shape)}) , Shape({list(part)})",
                "actual_shape[i] == input_shape[i]",
                hint=f"ttnn.reshape or ttnn.slice the input to {list(part)}, or other begins and ends",
            )
    if len(part) != len(shape):
        raise fatal(
            f"slice_write: {list(shape)} does not fit a part of {list(part)}",
            hint=f"ttnn.reshape the input to {list(part)}",
        )
    if element_size(tensor.dtype) != element_size(target.dtype):
        raise fatal(
            "Input & output should have the same element size",
            hint=f"ttnn.typecast(input, {cpp(target.dtype)}); the input is {cpp(tensor.dtype)}",
        )


def _check_on_cores(tensor: Tensor, target: Tensor, start: Sequence[int], step: Sequence[int]) -> None:
    """What programs that read shards from cores refuse."""
    ranks = (len(tensor.shape), len(target.shape), len(start), len(step))
    if len(set(ranks)) > 1:
        raise fatal(
            "Ranks of input tensor, output_tensor, slice start and slice end should be equal. "
            f"Got {' '.join(map(str, ranks))}",
            hint="ttnn.unsqueeze_to_4D of both, and bounds of four numbers",
        )
    if any(int(s) != 1 for s in step):
        raise fatal(
            "Step is not supported for sharded slice_write operation",
            hint="ttnn.sharded_to_interleaved(input) may be written with steps",
        )
    tiles = tensor.layout is Layout.TILE
    if tiles and target.layout is not Layout.TILE:
        raise fatal(
            f"Slice write expects output tensor to be in TILE layout, got {cpp(target.layout)}",
            hint="ttnn.to_layout(output_tensor, ttnn.TILE_LAYOUT)",
        )
    if not tiles and tensor.memory_config().memory_layout is WIDTH_SHARDED:
        raise fatal(
            "Input tensor should be height or block sharded",
            hint="ttnn.to_layout(input, ttnn.TILE_LAYOUT), or shards of other heights",
        )
    if tensor.dtype is not target.dtype:
        raise fatal(
            "Input & output should have the same dtype"
            if tiles
            else f"Input & output should have the same data format, {cpp(tensor.dtype)} , {cpp(target.dtype)}",
            hint=f"ttnn.typecast(input, {cpp(target.dtype)})",
        )
    if start[-1]:
        raise fatal(
            f"slice_write expects output start for the last dimension to be 0. Got {start[-1]}",
            hint="a part of whole rows",
        )
    if tiles and start[-2] % TILE_SIZE:
        raise fatal(
            "Slice write expects output start for the second last dimension to be a multiple of tile height",
            hint=f"{start[-2]} is not a multiple of {TILE_SIZE}",
        )


def _rows(values: Array, part: tuple[int, ...], tiles: bool) -> Array:
    """The rows of tensors on cores as a part: they may go on behind it, and be wider. Rows of tiles begin at whole tiles."""
    *outer, rows, width = part
    held = whole_tiles(rows) if tiles else rows
    flat = values.reshape(len(values), -1, values.shape[-1])
    needed = prod(outer) * held
    if flat.shape[1] < needed or flat.shape[2] < width:
        raise fatal(
            f"slice_write: {list(values.shape[1:])} does not fit a part of {list(part)}",
            hint=f"{needed} rows of {width} elements"
            + (": ttnn.reshape(input, input.padded_shape) first" if held != rows else ""),
        )
    return flat[:, :needed, :width].reshape(len(values), *outer, held, width)[..., :rows, :]


@operation("ttnn.experimental.slice_write", family=families.MOVEMENT, golden=creation_goldens.written_slice)
def slice_write(
    input_tensor: Tensor, output_tensor: Tensor, start: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> Tensor:
    """The input into a part of the output tensor, in place; returns the output tensor. One that lies on cores may be flat, rows below rows."""
    on_device(input_tensor, output_tensor, kind="slice write")
    _check_bounds(output_tensor, start, end, step)
    part = tuple(len(range(int(a), int(b), int(s))) for a, b, s in zip(start, end, step, strict=True))
    if not prod(part):
        return output_tensor
    on_cores = input_tensor.is_sharded()
    if on_cores:
        _check_on_cores(input_tensor, output_tensor, start, step)
    else:
        _check_interleaved(input_tensor, output_tensor, part)
    _check_ends(output_tensor, end)
    tiles = input_tensor.layout is Layout.TILE
    everywhere = (
        slice(None),
        *(slice(int(a), int(b), int(s)) for a, b, s in zip(start, end, step, strict=True)),
    )

    def write(values: Array, held: Array) -> Array:
        result = held.copy()
        as_they_are = not on_cores or values.shape[1:] == part
        result[everywhere] = values if as_they_are else _rows(values, part, tiles)
        return result

    output_tensor.overwrite(combine(write, input_tensor.shards, output_tensor.shards))
    return keep_label(output_tensor, (input_tensor,))
