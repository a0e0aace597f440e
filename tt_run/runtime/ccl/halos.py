"""Borders of a cut image or volume from the neighbouring devices, and slices of a cut tensor cut anew. Source: reference library 0.81.1 and its tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, form_checks, result_topology
from tt_run.runtime.ccl.calls import run
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.exchange import gather
from tt_run.runtime.ccl.exchange.shard_locations import ShardRows
from tt_run.runtime.ccl.plans import Tuning, planned
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import borders
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.attention.padded_caches import on_each_place
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]
MODES = ("zeros", "replicate")


@operation("ttnn.experimental.neighbor_pad_async", family=families.COLLECTIVE)
@whole_call
def neighbor_pad_async(
    input_tensor: Tensor,
    dim: Sequence[int],
    padding_left: Sequence[int],
    padding_right: Sequence[int],
    padding_mode: str,
    cluster_axis: Sequence[int],
    neighbor_semaphore: Any,
    barrier_semaphore: Any,
    *,
    num_links: Sequence[int] | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    persistent_output_buffer: Tensor | None = None,
    logical_h: int = 0,
    t_front_pad: int = 0,
) -> Tensor:
    """Each shard with the last rows of the device before and the first rows of the one after; one or two dimensions, one after the other.

    At the ends of the axis there are zeros, or the outermost row again with `padding_mode="replicate"`. Rows of the first dimension from
    `logical_h` on, counted over the devices, are zeros, and `t_front_pad` frames of zeros come before the dimension in front of it. Raises
    RuntimeError for tiles, for the last dimension, for a padding longer than a shard, and for frames of more than one batch.
    """
    lists = (dim, padding_left, padding_right, cluster_axis)
    if any(not isinstance(each, Sequence) or len(each) != len(dim) for each in lists) or len(dim) not in (
        1,
        2,
    ):
        raise ArgumentMismatch(
            "dim, padding_left, padding_right and cluster_axis must be lists of one or two numbers"
        )
    form_checks.check_neighbor_pad(input_tensor, dim)
    padded = _masked(input_tensor, dim[0], cluster_axis[0], logical_h) if logical_h else input_tensor
    links = num_links or [None] * len(dim)  # type: ignore[list-item]
    for at, before, after, axis, count in zip(
        dim, padding_left, padding_right, cluster_axis, links, strict=True
    ):
        padded = _padded(padded, (at, before, after, padding_mode), axis, (topology, count, None))
    if t_front_pad:
        padded = _with_frames(padded, dim[0], t_front_pad)
    return result(padded, padded.shards, padded.tensor_topology(), memory_config, persistent_output_buffer)


def _masked(tensor: Tensor, dim: int, axis: int, rows: int) -> Tensor:
    """Zeros for the rows of a cut dimension from `rows` on, counted over the devices of an axis."""
    length = tensor.shape[dim]

    def masked(device: int, at: MeshCoordinate, shard: Array) -> Array:
        left = min(max(rows - at[axis] * length, 0), length)
        if left == length:
            return shard
        out = shard.copy()
        np.moveaxis(out, dim, 0)[left:] = 0
        return out

    return tensor.derive(on_each_place(tensor, (), masked))


def _with_frames(tensor: Tensor, dim: int, frames: int) -> Tensor:
    """That many frames of zeros before what the dimension in front of `dim` holds."""
    dim %= len(tensor.shape)
    if dim < 1:
        raise fatal(
            f"t_front_pad requires dim >= 1 (T dim is dim-1), got dim={dim}", hint="leave t_front_pad out"
        )
    if math.prod(tuple(tensor.shape)[: dim - 1]) != 1:
        raise fatal(
            f"t_front_pad only supports B=1 tensors, got B={math.prod(tuple(tensor.shape)[: dim - 1])}",
            hint="one batch at a time",
        )

    def led(stack: Array) -> Array:
        front = np.zeros((*stack.shape[:dim], frames, *stack.shape[dim + 1 :]), stack.dtype)
        return np.concatenate([front, stack], dim)

    return tensor.derive(combine(led, tensor.shards))


def _padded(tensor: Tensor, asked: tuple[int, int, int, str], axis: int, tuning: Tuning) -> Tensor:
    plan = planned(NEIGHBOR_PAD, tensor, axis, asked, tuning, "neighbor_pad_async")
    return tensor.successor(run(plan, tensor), plan.spec, plan.topology)


def _check_pad(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int, int, str]
) -> Intent:
    dim, before, after, mode = asked
    dim = checks.gather_dim(tensor, dim)
    checks.members_of(tensor, device, cluster_axis)
    if mode not in MODES:
        raise fatal(
            f"padding_mode must be one of {', '.join(MODES)}, got {mode!r}", hint="padding_mode='zeros'"
        )
    length = tensor.shape[dim]
    if min(before, after) < 0 or max(before, after) > length:
        raise fatal(
            f"padding {before} and {after} of dimension {dim} must be between 0 and the {length} rows of a shard",
            "padding <= input_shape[dim]",
            hint=f"pad with at most {length}, or distribute over fewer devices",
        )
    shape = list(tensor.shape)
    shape[dim] += before + after
    row = math.prod(tensor.shape) // max(length, 1)
    # The next device gets `before` of its last rows, the one before it `after` of its first.
    return Intent(
        tuple(shape),
        dim,
        (dim, before, after, mode),
        f"padding {before}+{after} {mode}",
        (before + after) * row,
        traffic.borders(before, after),
    )


def _with_neighbours(source: ShardRows, dim: int, before: int, after: int, mode: str) -> Shards:
    def build(shards: Sequence[Array], place: int) -> Array:
        own = shards[place]
        length = own.shape[dim]
        parts = [
            _rows(shards[place - 1], dim, length - before, length)
            if place
            else _edge(own, dim, 0, before, mode),
            own,
            _rows(shards[place + 1], dim, 0, after)
            if place + 1 < len(shards)
            else _edge(own, dim, length - 1, after, mode),
        ]
        return np.concatenate(parts, dim)

    return gather.rearranged(source, build)


def _rows(shard: Array, dim: int, start: int, stop: int) -> Array:
    return shard[(slice(None),) * dim + (slice(start, stop),)]


def _edge(shard: Array, dim: int, at: int, count: int, mode: str) -> Array:
    """What lies beyond the end of the axis."""
    row = np.repeat(_rows(shard, dim, at, at + 1), count, dim)
    return row if mode == "replicate" else np.zeros_like(row)


NEIGHBOR_PAD = Collective(
    "neighbor_pad", _check_pad, _with_neighbours, traffic.BOTH_NEIGHBOURS, result_topology.unchanged
)


@operation("ttnn.experimental.neighbor_pad_halo", family=families.COLLECTIVE)
@whole_call
def neighbor_pad_halo(
    input: Tensor,
    halo_buffer: Tensor,
    np_padding_h: int,
    np_padding_w: int,
    np_cluster_axis: int,
    np_num_links: int,
    np_topology: Any,
    h_neighbor_semaphore: Any,
    barrier_semaphore: Any,
    w_neighbor_semaphore: Any,
    np_pad_dim2: int,
    np_pad2_left: int,
    np_pad2_right: int,
    np_pad2_cluster_axis: int,
    np_pad2_num_links: int,
    *,
    padding_mode: str = "zeros",
    memory_config: MemoryConfig | None = None,
    input_pad_h: int = 0,
    input_pad_w: int = 0,
    padded_output: Tensor | None = None,
    border_only: bool = False,
) -> Tensor:
    """The borders of [B, T, H, W, C] alone, in `halo_buffer` [rows, C]: above, below, left, right, the last two with the corners.

    With `padded_output` the whole padded tensor goes there and is returned, with `border_only` its border alone.
    """
    if np_pad2_left != np_padding_w or np_pad2_right != np_padding_w:
        raise fatal(
            f"np_pad2_left {np_pad2_left} and np_pad2_right {np_pad2_right} must be np_padding_w {np_padding_w}",
            hint=f"np_pad2_left={np_padding_w}, np_pad2_right={np_padding_w}",
        )
    if np_pad_dim2 < 1:
        raise fatal(
            f"np_pad_dim2 must be greater than 0, got {np_pad_dim2}", "np_pad_dim2 > 0", hint="np_pad_dim2=1"
        )
    height, width = np_pad_dim2 - 1, np_pad_dim2
    interior = _interior(input, height, width, input_pad_h, input_pad_w)
    high, wide = (np_topology, np_num_links, None), (np_topology, np_pad2_num_links, None)
    padded = _padded(interior, (height, np_padding_h, np_padding_h, padding_mode), np_cluster_axis, high)
    padded = _padded(padded, (width, np_padding_w, np_padding_w, padding_mode), np_pad2_cluster_axis, wide)
    border = partial(
        borders.without_interior, height=height, width=width, above=np_padding_h, beside=np_padding_w
    )
    halo_buffer.overwrite(padded.shards.map(lambda stack: np.stack([border(row) for row in stack])))
    if padded_output is None:
        return halo_buffer
    fold = partial(_folded, height=height, above=np_padding_h, beside=np_padding_w, keep=border_only)
    padded_output.overwrite(combine(_each(fold), padded.shards, padded_output.shards))
    return padded_output


@operation("ttnn.experimental.halo_scatter", family=families.MOVEMENT)
def halo_scatter(
    compact_buffer: Tensor,
    interior_src: Tensor,
    np_padding_h: int,
    np_padding_w: int,
    *,
    memory_config: MemoryConfig | None = None,
    border_only: bool = False,
) -> Tensor:
    """[B, T, H, W, C] with the borders of a `neighbor_pad_halo` around it: [B, T, H+2h, W+2w, C], without talking to anybody.

    With `border_only` the tensor has its borders already, and they are written in place. Raises RuntimeError for a buffer that does not
    hold the rows of these borders.
    """
    checks.device_of(interior_src, "halo_scatter")
    _check_rows(compact_buffer, interior_src, np_padding_h, np_padding_w, inside=border_only)
    put = partial(borders.with_borders, above=np_padding_h, beside=np_padding_w, inside=border_only)
    shards = combine(_each(put), compact_buffer.shards, interior_src.shards)
    if border_only:
        interior_src.overwrite(shards)
        return interior_src
    return interior_src.derive(shards, memory_config=memory_config)


def _check_rows(compact: Tensor, source: Tensor, above: int, beside: int, *, inside: bool) -> None:
    """RuntimeError unless a compact buffer holds the rows of the borders that are in a tensor, or else around it."""
    *outer, rows, columns, depth = source.shape
    if inside:
        rows, columns = rows - 2 * above, columns - 2 * beside
    needed = borders.rows_around(math.prod(outer), rows, columns, above, beside)
    if math.prod(compact.shape) < needed * depth:
        raise fatal(
            f"halo_scatter: the borders of {tuple(source.shape)} are {needed} rows of {depth}, and the compact buffer is "
            f"{tuple(compact.shape)}",
            hint="give the tensor that neighbor_pad_halo read, without borders, and the buffer that it filled",
        )


def _each(function: Any) -> Any:
    """A function of single shards, for stacks of them."""
    return lambda *stacks: np.stack([function(*rows) for rows in zip(*stacks, strict=True)])


def _interior(tensor: Tensor, height: int, width: int, above: int, beside: int) -> Tensor:
    """A tensor without the borders that it carries."""
    if not above and not beside:
        return tensor
    cut: list[slice] = [slice(None)] * (height + 1)
    cut += [slice(above, tensor.shape[height] - above), slice(beside, tensor.shape[width] - beside)]
    return tensor.derive(tensor.shards.map(lambda stack: stack[tuple(cut)]))


def _folded(padded: Array, before: Array, height: int, above: int, beside: int, keep: bool) -> Array:
    """A padded shard, with the interior of the one before if that is to be kept."""
    if not keep:
        return padded
    out = padded.copy()
    inner = (*(slice(None),) * height, slice(above, -above or None), slice(beside, -beside or None))
    out[inner] = before[inner]
    return out


@operation("ttnn.experimental.slice_reshard_async", family=families.COLLECTIVE)
@whole_call
def slice_reshard_async(
    input_tensor: Tensor,
    dim: int,
    output_dim_offset: int,
    output_dim_shape: int,
    cluster_axis: int,
    final_semaphore: Any,
    barrier_semaphore: Any,
    *,
    num_links: int | None = 1,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
) -> Tensor:
    """Of rows that are cut along `dim`, the first one, over an axis, `output_dim_shape` rows from `output_dim_offset` on, cut over the axis anew.

    Offset and length count in the whole tensor; rows after its last are zeros. Raises RuntimeError when the offset is not inside of it or
    the length does not divide by the devices.
    """
    form_checks.check_slice_reshard(input_tensor, dim)
    asked, tuning = (dim, output_dim_offset, output_dim_shape), (topology, num_links, memory_config)
    plan = planned(SLICE_RESHARD, input_tensor, cluster_axis, asked, tuning, "slice_reshard_async")
    return result(input_tensor, run(plan, input_tensor), plan.topology, memory_config)


def _check_slice(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int, int]
) -> Intent:
    dim, offset, length = checks.gather_dim(tensor, asked[0]), int(asked[1]), int(asked[2])
    members = checks.members_of(tensor, device, cluster_axis)
    whole = tensor.shape[dim] * members
    if not 0 <= offset < whole or length < 1 or length % members:
        raise fatal(
            f"rows {offset} to {offset + length} must begin inside of the {whole} rows of dimension {dim} "
            f"and divide by {members} devices",
            "output_dim_offset < input_dim && output_dim_shape % num_devices == 0",
            hint=f"an offset of 0 to {whole - 1} and a length of {members}, {2 * members}, …",
        )
    shape = list(tensor.shape)
    shape[dim] = length // members
    return Intent(
        tuple(shape),
        dim,
        (dim, offset, shape[dim]),
        f"rows {offset}+{length}",
        math.prod(shape),
        traffic.cut_anew(tensor.shape[dim], offset, shape[dim]),
    )


def _sliced(source: ShardRows, dim: int, offset: int, length: int) -> Shards:
    def build(shards: Sequence[Array], place: int) -> Array:
        extent = shards[0].shape[dim]
        start = offset + place * length
        parts = [
            _rows(shard, dim, max(start - i * extent, 0), min(start + length - i * extent, extent))
            for i, shard in enumerate(shards)
            if i * extent < start + length and (i + 1) * extent > start
        ]
        missing = length - sum(part.shape[dim] for part in parts)
        if missing:
            frame = list(shards[0].shape)
            frame[dim] = missing
            parts.append(np.zeros(frame, shards[0].dtype))
        return np.concatenate(parts, dim)

    return gather.rearranged(source, build)


SLICE_RESHARD = Collective(
    "slice_reshard", _check_slice, _sliced, traffic.EXCHANGE, result_topology.scattered
)
