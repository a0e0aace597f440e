"""Operations that join tensors and cut them up.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import torch_cpu
from tt_run.runtime.ops.data_movement import device_bounds
from tt_run.runtime.ops.data_movement.joined_cuts import check_groups, check_rows, stay_on_cores
from tt_run.runtime.ops.data_movement.joined_layouts import (
    AS_BFLOAT16,
    ONLY_TILES,
    as_bfloat16,
    ends_with_a_tile,
    in_one_layout,
)
from tt_run.runtime.ops.data_movement.movement import in_c_order, moved, unmoved, unsqueeze
from tt_run.runtime.ops.declaration import families, small_tiles
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import axis_of, ints, on_device, place_of, settle
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.placement import asked_shards, fitted_shards
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.tensor.conversion import framing, layouts
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, CoreRangeSet, MemoryConfig
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import BLOCK_FLOATS
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.concat", family=families.MOVEMENT, golden=goldens.concat)
def concat(
    tensors: Sequence[Tensor],
    dim: int = 0,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    groups: int = 1,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """Tensors one after the other along `dim`; groups > 1 takes a group's part of each in turn."""
    if output_tensor is not None:
        raise fatal(
            "optional output tensor currently unsupported!",
            hint="leave output_tensor out; ttnn.copy(joined, output_tensor) writes into it",
        )
    parts = _listed(tensors, "concat")
    if groups < 1:
        raise fatal("groups must be greater than 0", hint=f"groups is {groups}")
    first = parts[0]
    if len(parts) == 1:
        asked = memory_config or DRAM_MEMORY_CONFIG  # as several do
        if unmoved(first, asked):
            return first.alias()
        memory_config = memory_config if first.is_sharded() else asked

    axis = place_of(dim, len(first.shape))
    for other in parts[1:]:
        rest = [d for d in range(len(first.shape)) if d != axis]
        if len(other.shape) != len(first.shape) or any(other.shape[d] != first.shape[d] for d in rest):
            raise fatal(
                "All dimensions must be the same size except for the dimension along which the contenation is taking place.",
                hint=_unlike(first.shape, other.shape),
            )

    check_groups(parts, axis, groups)
    check_rows(parts, axis, memory_config)
    if not stay_on_cores(parts, axis, memory_config) or not all(ends_with_a_tile(t, axis) for t in parts):
        parts = in_one_layout(parts, axis)
    first = parts[0]

    def joined(*stacks: Array) -> Array:
        if groups == 1:
            return in_c_order(np.concatenate(stacks, axis=axis + 1), first.dtype)
        pieces = [np.split(s, groups, axis=axis + 1) for s in stacks]
        return in_c_order(
            np.concatenate([p[g] for g in range(groups) for p in pieces], axis=axis + 1), first.dtype
        )

    # NumPy widens bfloat16 elements beside float32.
    either = all(t.shards.bfloat16 is not None for t in parts)
    shards = combine(joined, *(t.shards for t in parts), either=either)
    if memory_config is None:
        memory_config = in_dram(first)
    return settle(parts, shards, first.dtype, memory_config=memory_config)


@operation(
    "ttnn.stack",
    family=families.MOVEMENT,
    golden=lambda tensors, dim, **_: torch_cpu.library().stack(list(tensors), dim),
)
def stack(input_tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors of one shape along a new dimension at `dim`: each gets it, and then they are joined."""
    parts = _listed(input_tensors, "stack")
    rank = len(parts[0].shape) + 1
    axis = axis_of(
        dim, rank, f"Dimension out of range (expected to be in range of [{-rank},{rank - 1}], but got {dim})"
    )
    if any(t.shape != parts[0].shape for t in parts):
        raise fatal(
            f"stack expects tensors of one shape, got {[list(t.shape) for t in parts]}",
            hint="ttnn.reshape or ttnn.pad them to one shape; ttnn.concat joins tensors that differ along its dimension",
        )
    joined: Tensor = concat.compute([unsqueeze.compute(t, axis) for t in parts], axis)
    return joined


def _unlike(first: Shape, other: Shape) -> str:
    """What would join two shapes that differ in another dimension than the one that is joined."""
    both = f"{first} and {other}"
    if len(first) != len(other):
        return f"{both}: ttnn.reshape gives both {len(first)} dimensions"
    axes = [d for d, (one, two) in enumerate(zip(first, other, strict=True)) if one != two]
    if len(axes) == 1:
        return f"{both}: dim={axes[0]} joins them"
    return f"{both}: ttnn.pad or ttnn.slice makes all dimensions but one alike"


def _listed(tensors: Sequence[Tensor], name: str) -> list[Tensor]:
    if isinstance(tensors, Tensor) and len(tensors.shape):
        tensors = [tensors[place] for place in range(tensors.shape[0])]
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise ArgumentMismatch(f"expected a sequence of tensors, got {type(tensors).__name__}")
    parts = list(tensors)
    if not parts:
        raise fatal(f"ttnn.{name}: expected a non-empty list of Tensors!", hint=f"ttnn.{name}([a, b], dim)")
    on_device(*parts, kind=name)
    return parts


@operation("ttnn.slice", family=families.MOVEMENT, golden=goldens.cut)
def slice(
    input_tensor: Tensor,
    starts: Sequence[int] | Tensor | None = None,
    ends: Sequence[int] | Tensor | None = None,
    steps: Sequence[int] | None = None,
    *,
    slice_start: Sequence[int] | None = None,
    slice_end: Sequence[int] | None = None,
    slice_step: Sequence[int] | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    pad_value: float | None = None,
    slice_dim: int | None = None,
    num_devices: int | None = None,
    sub_core_grids: CoreRangeSet | None = None,
) -> Tensor:
    """Elements from starts up to, not including, ends; negative bounds count from the end.

    Bounds given as tensors may differ from device to device; the pieces must have one shape. `num_devices` of them share the
    elements along `slice_dim`. Raises RuntimeError for bounds that do not fit.
    """
    on_device(input_tensor, kind="data movement")
    shape = tuple(input_tensor.shape)
    if isinstance(starts, Tensor) or isinstance(ends, Tensor):
        device_bounds.check(input_tensor, (starts, ends), slice_dim, num_devices)
    if device_bounds.differ(starts) or device_bounds.differ(ends):
        return device_bounds.slice_each(
            input_tensor, starts, ends, slice_dim, num_devices, memory_config, output_tensor
        )
    begin, end = _bounds(starts, slice_start), _bounds(ends, slice_end)
    step = _bounds(steps, slice_step, (1,) * len(shape))
    if not len(begin) == len(end) == len(step) == len(shape):
        raise fatal(
            f"Input rank {len(shape)} and begins {len(begin)} must have the same size",
            hint=f"ends has {len(end)} entries and step {len(step)}",
        )
    if min(step, default=1) < 1:
        begin, end, step = _backwards(shape, begin, end, step)
    _check_blocks(input_tensor, begin, step)
    index = _index(input_tensor, begin, end, step)
    if any(i.stop > n for i, n in zip(index, shape, strict=True)):
        # A part that begins with a tile may reach into what pads the last one.
        input_tensor = input_tensor.derive(framing.frame_of(input_tensor))
    everything = all(i == builtins.slice(0, n, 1) for i, n in zip(index, shape, strict=True))
    if everything and output_tensor is None and unmoved(input_tensor, memory_config):
        return input_tensor.alias()
    small_tiles.check("slice", input_tensor)
    whole = (builtins.slice(None), *index)
    if all(i.start < i.stop for i in index):
        input_tensor = _of_rows(input_tensor, [i.start for i in index])
    if output_tensor is None:
        lengths = [len(range(i.start, i.stop, i.step)) for i in index]
        by_rows = _by_rows(input_tensor, [i.start for i in index], step)
        if by_rows and 0 not in lengths and framing.tile_multiple(tuple(lengths)) != tuple(lengths):
            layouts.check_tiles_filled(input_tensor)
        if memory_config is None and by_rows:
            fitted_shards.of_rows(input_tensor, lengths)
        stepped = any(length != 1 for length in step)
        if input_tensor.layout is Layout.TILE and stepped:
            _check_rows_of(input_tensor, memory_config)
        memory_config = asked_shards.of_part(input_tensor, memory_config, lengths, stepped)
    return moved(input_tensor, lambda s: s[whole], memory_config, output_tensor)


def _backwards(
    shape: Sequence[int], begin: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Bounds with steps back, by which the reference takes the one element that there is between them, or none of several.

    Raises RuntimeError for a step of 0, and for an end before the beginning.
    """
    if 0 in step:
        raise fatal("Slice step must be greater than 0", hint=f"step is {list(step)}")
    found = []
    for first, last, stride, length in zip(begin, end, step, shape, strict=True):
        if stride > 0:
            found.append((first, last, stride))
            continue
        start, stop = ((bound + length if bound < 0 else bound) % _WRAPPED for bound in (first, last))
        if stop < start:
            raise _reversed(start, stop, f"nothing is taken from the end: steps of 1 or more, not {stride}")
        found.append((start, stop, _STEPPED) if stop - start == 1 else (0, 0, _STEPPED))
    begin, end, step = zip(*found, strict=True)
    return begin, end, step


_STEPPED = 2
"""A step that takes one element of one, and that block floats refuse."""


def _reversed(start: int, stop: int, hint: str) -> RuntimeError:
    return fatal(f"End {stop} must be greater than or equal to start {start}", hint=hint)


_WRAPPED = 1 << 32
"""Bounds are 32-bit numbers without a sign: one before the beginning is a large one."""


def _index(
    tensor: Tensor, begin: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> tuple[builtins.slice, ...]:
    """The bounds from the front. Raises RuntimeError for those that leave the tensor, or the whole tiles that it lies in where the part begins
    with one.
    """
    shape = tuple(tensor.shape)
    front = [
        tuple(bound + length if bound < 0 else bound for bound in each)
        for *each, length in zip(begin, end, shape, strict=True)
    ]
    starts = [first for first, _ in front]
    in_tiles = tensor.layout is Layout.TILE and len(shape) > 1 and not _by_rows(tensor, starts, step)
    # A row of tiles has two padded dimensions.
    limits = tuple(tensor.padded_shape)[-len(shape) :] if in_tiles else shape
    edges = (*(1 for _ in shape[2:]), *(tensor.tile.edges if in_tiles else (1, 1)))[-len(shape) :]
    for d, ((first, last), limit, length) in enumerate(zip(front, limits, shape, strict=True)):
        inside = builtins.min(max(last, 0), length)
        where = (
            f"slice [{begin[d]}:{end[d]}] of dimension {d}, which has length {length}: "
            f"write {first if 0 <= first <= inside else 0}:{inside}"
        )
        start, stop = first % _WRAPPED, last % _WRAPPED
        if stop < start:
            raise _reversed(start, stop, where)
        if limit <= start < stop:
            raise fatal(
                f"Slice start[{d}] ({start}) must be less than input tensor shape[{d}] ({limit})", hint=where
            )
        reached = -(-stop // edges[d]) * edges[d] if last > 0 else stop
        if reached > limit:
            raise fatal(
                f"Ends {reached} must be less than or equal to the shape of the tensor {limit}", hint=where
            )
    return tuple(builtins.slice(first, last, s) for (first, last), s in zip(front, step, strict=True))


def _check_rows_of(tensor: Tensor, memory_config: MemoryConfig | None) -> None:
    """Raises RuntimeError for pieces that do not fit all rows of a tensor of tiles, which lie there before every so many are taken."""
    if memory_config is None or not memory_config.is_sharded():
        return
    if memory_config.nameless:
        if tensor.memory_config().memory_layout is memory_config.memory_layout:
            raise fatal("bad optional access", hint="memory_config=ttnn.create_sharded_memory_config(…)")
        return
    sharding.settled(memory_config, tuple(tensor.shape), Layout.ROW_MAJOR, tensor.tile.edges)


def _by_rows(tensor: Tensor, starts: Sequence[int], step: Sequence[int]) -> bool:
    """Whether a part of a tensor of tiles is cut out row by row: it does not begin with a tile, or leaves some out."""
    return tensor.layout is Layout.TILE and (_inside(tensor, starts) or any(length != 1 for length in step))


def _inside(tensor: Tensor, starts: Sequence[int]) -> bool:
    """Whether a cut begins where no tile does."""
    return any(start % edge for start, edge in zip(starts[-2:], tensor.tile.edges, strict=False))


def _check_blocks(tensor: Tensor, begin: Sequence[int], step: Sequence[int]) -> None:
    """Raises RuntimeError for steps through block floats, and for BFLOAT4_B cut within a tile."""
    if tensor.dtype not in BLOCK_FLOATS:
        return
    starts = [start + n if start < 0 else start for start, n in zip(begin, tensor.shape, strict=True)]
    stepped = any(length != 1 for length in step)
    if tensor.dtype is DataType.BFLOAT4_B and (stepped or _inside(tensor, starts)):
        raise fatal(ONLY_TILES, hint=AS_BFLOAT16)
    if stepped:
        raise fatal("Strided slice is not supported for BFLOAT8 tensors", hint=AS_BFLOAT16)


def _of_rows(tensor: Tensor, starts: Sequence[int]) -> Tensor:
    """A tensor of block floats as its rows, BFLOAT16, where a cut does not begin with a tile or it has one dimension; others as they are.

    Raises RuntimeError for BFLOAT4_B, which are no rows.
    """
    if tensor.dtype not in BLOCK_FLOATS or not (len(starts) == 1 or _inside(tensor, starts)):
        return tensor
    if tensor.dtype is DataType.BFLOAT4_B:
        raise fatal(ONLY_TILES, hint=AS_BFLOAT16)
    return as_bfloat16(tensor)


def _bounds(
    given: Sequence[int] | Tensor | None, alias: Sequence[int] | None, default: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    if given is not None and alias is not None:
        raise ArgumentMismatch(f"a bound of slice is given twice, under two names: {given!r} and {alias!r}")
    value = alias if given is None else given
    if value is None:
        if default is not None:
            return default
        raise ArgumentMismatch("slice needs its starts and ends")
    if isinstance(value, Tensor):
        if shapes.active():
            raise fatal(
                "the bounds of slice are values of a tensor, and this run has shapes only",
                hint="give the bounds as integers",
            )
        return ints(value.shards.data[0].ravel())
    return ints(value)


@operation(
    "ttnn.split", family=families.MOVEMENT, golden=lambda x, size, dim=0, **_: list(x.split(size, dim))
)
def split(
    input_tensor: Tensor,
    split_size: int | Sequence[int],
    dim: int = 0,
    *,
    memory_config: MemoryConfig | None = None,
) -> list[Tensor]:
    """Pieces of `split_size` along `dim`, the last one possibly shorter, or pieces of the sizes listed."""
    on_device(input_tensor, kind="data movement")
    axis = place_of(dim, len(input_tensor.shape))
    length = input_tensor.shape[axis]
    if isinstance(split_size, int):
        if split_size < 1:
            raise fatal(
                f"split_size must be greater than 0, but got: {split_size}",
                hint="split_size=1 or more, or a list of sizes",
            )
        sizes = [min(split_size, length - start) for start in range(0, length, split_size)]
    else:
        sizes = list(ints(split_size))
        _check_sizes(sizes, axis, length)
    if memory_config is None:
        places = fitted_shards.of_pieces(input_tensor, axis, sizes)
    else:
        parts = [_part(input_tensor, axis, size) for size in sizes]
        places = [asked_shards.of_part(input_tensor, memory_config, part) for part in parts]
    by_columns = input_tensor.layout is Layout.TILE and axis == len(input_tensor.shape) - 1
    if len(sizes) == 1 and not by_columns and unmoved(input_tensor, places[0]):
        return [input_tensor.alias()]
    return _pieces(input_tensor, axis, sizes, places)


def _check_sizes(sizes: Sequence[int], axis: int, length: int) -> None:
    """Raises RuntimeError unless sizes of pieces are lengths that add up to that of a dimension."""
    listed, total = f"{{{', '.join(map(str, sizes))}}}", sum(sizes)
    if not sizes:
        raise fatal(
            "split_sizes must not be empty", hint=f"sizes that add up to {length}, or one size for all"
        )
    if min(sizes) < 1:
        raise fatal(
            f"split_size should be greater than 0, instead got: {listed}",
            hint=f"sizes of 1 or more that add up to {length}",
        )
    if total != length:
        covers = "over-cover it" if total > length else f"under-cover it by {length - total}"
        raise fatal(
            f"split_sizes must sum exactly to the size of dimension {axis} ({length}), but sizes {listed} {covers}",
            hint=f"sizes that add up to {length}, or one size for all",
        )


@operation(
    "ttnn.chunk", family=families.MOVEMENT, golden=lambda x, chunks, dim, **_: list(x.chunk(chunks, dim))
)
def chunk(input_tensor: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """At most `chunks` pieces of equal size along `dim`; the last one may be shorter."""
    on_device(input_tensor, kind="data movement")
    rank = len(input_tensor.shape)
    axis = axis_of(
        dim, rank, f"... Invalid dimension for chunk operation, {dim} needs to be greater than {rank}"
    )
    length = input_tensor.shape[axis]
    if chunks < 1:
        raise fatal(f"chunk needs a positive number of chunks, got {chunks}", hint="chunks=1 or more")
    if chunks > 1:
        small_tiles.check("slice", input_tensor)
    size = max(1, -(-length // chunks))
    sizes = [min(size, length - start) for start in range(0, length, size)]
    if len(sizes) == 1:
        return [input_tensor.alias()]
    for piece, each in enumerate(sizes):
        starts = [piece * size * (d == axis) for d in range(len(input_tensor.shape))]
        if _by_rows(input_tensor, starts, (1,)):
            fitted_shards.of_rows(input_tensor, _part(input_tensor, axis, each))
    places = [asked_shards.of_part(input_tensor, None, _part(input_tensor, axis, each)) for each in sizes]
    return _pieces(input_tensor, axis, sizes, places)


def _part(tensor: Tensor, axis: int, size: int) -> list[int]:
    return [size if d == axis else length for d, length in enumerate(tensor.shape)]


def _pieces(
    tensor: Tensor, axis: int, sizes: Sequence[int], places: Sequence[MemoryConfig | None]
) -> list[Tensor]:
    ahead = (builtins.slice(None),) * (axis + 1)
    found, start = [], 0
    for size, place in zip(sizes, places, strict=True):
        cut = builtins.slice(start, start + size)
        starts = [start if d == axis else 0 for d in range(len(tensor.shape))]
        part = _of_rows(tensor, starts) if len(sizes) > 1 else tensor
        found.append(moved(part, lambda s, at=(*ahead, cut): s[at], place))  # type: ignore[misc]
        start += size
    return found
