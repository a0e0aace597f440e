"""Norms of diffusion transformers over rows, or images, that are cut over devices, with what attention does next. Source: reference library 0.81.1.

Each device tells the others along the axis what its own part sums to; means and deviations are merged pairwise, so that a large mean costs no
digits. Everything behind the statistics is computed in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.plans import on_subdevice
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.attention.rotary import turned_pairs
from tt_run.runtime.ops.data_movement.conversions import typecast
from tt_run.runtime.ops.data_movement.movement import permute, reshape
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.tensor.model_parameters.group_norm import channel_values
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.experimental.dit_fused_distributed_rmsnorm", family=families.COLLECTIVE)
@whole_call
def dit_fused_distributed_rmsnorm(
    input_tensor: Tensor,
    cluster_axis: int | None,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Sequence[Any],
    *,
    topology: Topology = Topology.Ring,
    epsilon: float = 1e-05,
    num_heads_per_device: int = 1,
    per_head_norm: bool = False,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    transformation_mat: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    dtype: DataType | None = None,
    persistent_output_buffer: Tensor | None = None,
    num_preferred_links: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    affine_tile_row_map: Tensor | None = None,
) -> Tensor:
    """RMS norm of rows that are cut along cluster_axis (None: whole on each device), split into heads and rotated.

    x [..., S, W]; with several heads [1, B, S, W] -> [B, heads, S, W/heads]. Weight and bias are a row, or rows for each token, which
    affine_tile_row_map picks from a table of tile rows. persistent_output_buffer is scratch. Raises RuntimeError for shapes that do not fit.
    """
    heads = max(num_heads_per_device, 1) if per_head_norm else 1
    affine = _affine_of(input_tensor, weight, bias, affine_tile_row_map, heads)
    x = _in_heads(input_tensor, num_heads_per_device) if per_head_norm else input_tensor
    tuning = topology, num_preferred_links, None, on_subdevice(subdevice_id)
    axis = None if per_head_norm else _cut(x, mesh_device, cluster_axis)
    sums = _statistics(x, False, axis, "dit_fused_distributed_rmsnorm", tuning)
    normed = _normalised(x, sums, np.float32(epsilon), False)
    return _finished(
        normed, affine, num_heads_per_device, per_head_norm, (rope_cos, rope_sin, transformation_mat),
        dtype or input_tensor.dtype, memory_config,
    )  # fmt: skip


@operation("ttnn.experimental.dit_fused_distributed_layernorm", family=families.COLLECTIVE)
@whole_call
def dit_fused_distributed_layernorm(
    input_tensor: Tensor,
    cluster_axis: int | None,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Sequence[Any],
    *,
    topology: Topology = Topology.Ring,
    epsilon: float = 1e-05,
    num_heads_per_device: int = 1,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    transformation_mat: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    dtype: DataType | None = None,
    persistent_output_buffer: Tensor | None = None,
    num_preferred_links: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    reciprocals: Tensor | None = None,
) -> Tensor:
    """As `dit_fused_distributed_rmsnorm` with a layer norm: (x - mean) / sqrt(variance + epsilon). Reciprocals only save divisions."""
    affine = _affine_of(input_tensor, weight, bias, None, 1)
    tuning = topology, num_preferred_links, None, on_subdevice(subdevice_id)
    axis = _cut(input_tensor, mesh_device, cluster_axis)
    sums = _statistics(input_tensor, True, axis, "dit_fused_distributed_layernorm", tuning)
    normed = _normalised(input_tensor, sums, np.float32(epsilon), True)
    return _finished(
        normed, affine, num_heads_per_device, False, (rope_cos, rope_sin, transformation_mat),
        dtype or input_tensor.dtype, memory_config,
    )  # fmt: skip


def _cut(x: Tensor, mesh_device: MeshDevice, cluster_axis: int | None) -> int | None:
    """The axis along which rows are cut, None where each device holds them whole. Raises RuntimeError for another mesh than the tensor's."""
    device = on_device(x, kind="layernorm")
    floating("layernorm", x)
    if mesh_device is not device:
        raise fatal(
            f"mesh_device {mesh_device} is not the mesh of the tensor: {device}",
            hint="mesh_device=tensor.device()",
        )
    if cluster_axis is None:
        return None
    if not 0 <= cluster_axis < len(tuple(device.shape)):
        raise fatal(
            f"Invalid cluster axis {cluster_axis}. Must be 0 or 1",
            hint="cluster_axis=0 or 1; None where every device has whole rows",
        )
    return cluster_axis if tuple(device.shape)[cluster_axis] > 1 else None


def _statistics(x: Tensor, centre: bool, axis: int | None, name: str, tuning: Any) -> Tensor:
    """Of each row of each part: the mean (when centred) and the sum of squares, in float32; of all devices side by side."""

    def sums(stack: Array) -> Array:
        rows = np.ascontiguousarray(stack, np.float32)
        if not centre:
            return ordered_sums.total(np.square(rows))[..., None]
        mean = ordered_sums.mean(rows)
        return np.stack([mean, ordered_sums.total(np.square(rows - mean[..., None]))], -1)

    own = settle((x,), combine(sums, x.shards), DataType.FLOAT32, layout=Layout.ROW_MAJOR)
    return own if axis is None else gather_as(name, own, len(own.shape) - 1, axis, tuning)


def _merged(stats: Array, count: int) -> tuple[Array, Array]:
    """Mean and mean squared distance from it, of parts of `count` elements: stats (..., 2 a part)."""
    means, squares = (np.ascontiguousarray(stats[..., i::2]) for i in (0, 1))
    mean = ordered_sums.mean(means)
    apart = ordered_sums.total(np.square(means - mean[..., None])) * np.float32(count)
    return mean, (ordered_sums.total(squares) + apart) / np.float32(count * means.shape[-1])


def _normalised(x: Tensor, stats: Tensor, epsilon: np.float32, centre: bool) -> Tensor:
    width = x.shape[-1]

    def compute(stack: Array, sums: Array) -> Array:
        values = stack.astype(np.float32)
        if centre:
            mean, power = _merged(sums, width)
            values -= mean[..., None]
        else:
            power = ordered_sums.total(np.ascontiguousarray(sums)) / np.float32(width * sums.shape[-1])
        return np.asarray(values / np.sqrt(power + epsilon)[..., None])

    return settle((x, stats), combine(compute, x.shards, stats.shards), DataType.FLOAT32)


def _affine_of(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, rows: Tensor | None, heads: int
) -> tuple[Tensor | None, Tensor | None]:
    """Weight and bias as rows of float32: one, or one for each token, as wide as those of x or as one of the heads that are normed by themselves."""
    tokens, width = tuple(x.shape)[-2:]

    def laid_out(table: Array, *chosen: Array) -> Array:
        values = table.reshape(len(table), -1, table.shape[-1]).astype(np.float32)
        if chosen:
            tiles = values.reshape(len(values), -1, TILE_SIZE, values.shape[-1])
            picked = [
                t[c.reshape(-1)[: -(-tokens // TILE_SIZE)].astype(np.int64)]
                for t, c in zip(tiles, chosen[0], strict=True)
            ]
            values = np.stack(picked).reshape(len(values), -1, values.shape[-1])[:, :tokens]
        return values[:, None]

    made: list[Tensor | None] = []
    for tensor in (weight, bias):
        if tensor is None:
            made.append(None)
            continue
        given = (tensor,) if rows is None else (tensor, rows)
        on_device(x, *given, kind="layernorm")
        shards = combine(laid_out, *(t.shards for t in given))
        if shards.shape[-1] not in (width, width // heads) or shards.shape[-2] not in (1, tokens):
            raise fatal(
                f"weight or bias {tensor.shape} is no row of {width} values, nor one for each of {tokens} tokens",
                hint=f"[1, 1, 1, {width}] is a row for all tokens, [1, 1, {tokens}, {width}] one for each",
            )
        made.append(settle(given, shards, DataType.FLOAT32))
    return made[0], made[1]


def _in_heads(x: Tensor, heads: int) -> Tensor:
    """[1, B, S, W] as [B, heads, S, W/heads]."""
    shape = tuple(x.shape)
    if heads < 1 or len(shape) != 4 or shape[0] != 1 or shape[-1] % heads:
        raise fatal(
            f"{x.shape} is not (1, B, S, W) with W in {heads} heads",
            hint=f"ttnn.reshape(x, (1, B, S, W)) with W a multiple of {max(heads, 1)}, or another num_heads_per_device",
        )
    split: Tensor = permute.compute(
        reshape.compute(x, (*shape[1:3], heads, shape[-1] // heads)), (0, 2, 1, 3)
    )
    return split


def _finished(
    normed: Tensor,
    affine: tuple[Tensor | None, Tensor | None],
    heads: int,
    split: bool,
    rotation: tuple[Tensor | None, Tensor | None, Tensor | None],
    dtype: DataType,
    memory_config: MemoryConfig | None,
) -> Tensor:
    """Weight, bias, heads, rotation and one rounding."""
    named = [t for t in affine if t is not None]

    def scaled(values: Array, *sides: Array) -> Array:
        rest = iter(sides)
        for number, side in enumerate(affine):
            if side is not None:
                values = (
                    values * _beside(next(rest), values)
                    if number == 0
                    else values + _beside(next(rest), values)
                )
        return values

    if named:
        normed = settle(
            (normed, *named), combine(scaled, *(t.shards for t in (normed, *named))), DataType.FLOAT32
        )
    if heads > 1 and not split:
        normed = _in_heads(normed, heads)
    turned = [t for t in rotation if t is not None]
    if len(turned) not in (0, 3):
        raise fatal(
            "transformation_mat, rope_cos and rope_sin go together",
            hint="give all three of transformation_mat=…, rope_cos=… and rope_sin=…, or none",
        )
    if turned:
        cos, sin, turn = turned
        normed = turned_pairs(normed, cos, sin, turn)
    done: Tensor = typecast.compute(normed, dtype, memory_config=memory_config)
    return done


def _beside(rows: Array, values: Array) -> Array:
    """Rows (devices, 1, tokens or 1, width) beside values (devices, B, heads, S, width): those of a head where heads are split."""
    width = values.shape[-1]
    if rows.shape[-1] == width:
        return rows.reshape(len(rows), *(1,) * (values.ndim - 3), *rows.shape[-2:])
    parts = rows.reshape(len(rows), 1, rows.shape[-2], -1, width)
    return np.asarray(parts.transpose(0, 1, 3, 2, 4))


@operation("ttnn.experimental.dit_fused_distributed_rmsnorm_create_stats_buffer", family=families.CREATION)
def dit_fused_distributed_rmsnorm_create_stats_buffer(
    input_tensor: Tensor,
    cluster_axis: int | None,
    mesh_device: MeshDevice,
    *,
    num_heads_per_device: int = 1,
    per_head_norm: bool = False,
    num_links: int = 1,
    weight: Tensor | None = None,
    transformation_mat: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
) -> Tensor | None:
    """Scratch for the statistics of all devices along the axis; None where each device has its rows whole or norms by head."""
    axis = _cut(input_tensor, mesh_device, cluster_axis)
    return None if axis is None or per_head_norm else _scratch(input_tensor, mesh_device, axis, 1)


@operation("ttnn.experimental.dit_fused_distributed_layernorm_create_stats_buffer", family=families.CREATION)
def dit_fused_distributed_layernorm_create_stats_buffer(
    input_tensor: Tensor,
    cluster_axis: int | None,
    mesh_device: MeshDevice,
    *,
    num_heads_per_device: int = 1,
    num_links: int = 1,
    weight: Tensor | None = None,
    transformation_mat: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
) -> Tensor | None:
    """Scratch for the statistics of all devices along the axis, twice that of an RMS norm; None where each device has its rows whole."""
    axis = _cut(input_tensor, mesh_device, cluster_axis)
    return None if axis is None else _scratch(input_tensor, mesh_device, axis, 2)


def _scratch(x: Tensor, mesh_device: MeshDevice, axis: int, each: int) -> Tensor:
    shape = (*tuple(x.shape)[:-1], each * tuple(mesh_device.shape)[axis])
    shards = x.shards.map(lambda stack: np.zeros((len(stack), *shape), np.float32))
    return settle((x,), shards, DataType.FLOAT32, layout=Layout.ROW_MAJOR)


@operation("ttnn.experimental.dit_fused_distributed_groupnorm", family=families.COLLECTIVE)
@whole_call
def dit_fused_distributed_groupnorm(
    input_tensor: Tensor,
    *,
    num_groups: int,
    epsilon: float = 1e-05,
    cluster_axis: int,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Sequence[Any],
    topology: Topology = Topology.Ring,
    input_mask: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    persistent_output_buffer: Tensor | None = None,
    subdevice_id: Any = None,
    activation: str | None = None,
) -> Tensor:
    """`group_norm` of images [N, 1, H*W, C] whose positions are cut along cluster_axis, with an activation before the one rounding."""
    axis = _cut(input_tensor, mesh_device, cluster_axis)
    channels = input_tensor.shape[-1]
    if num_groups < 1 or channels % num_groups:
        raise fatal(
            f"channel must be divisible by num_groups: {channels} channels, {num_groups} groups",
            hint=f"num_groups={math.gcd(channels, max(num_groups, 1))} divides {channels} channels",
        )
    rows = combine(lambda stack: _by_group(stack, num_groups), input_tensor.shards)
    grouped = settle((input_tensor,), rows, DataType.FLOAT32)
    tuning = topology, 1, None, on_subdevice(subdevice_id)
    stats = _statistics(grouped, True, axis, "dit_fused_distributed_groupnorm", tuning)
    named = [t for t in (weight, bias) if t is not None]
    on_device(input_tensor, *named, kind="groupnorm")
    fused = (lambda x: x) if activation is None else function_of(activation)
    small = np.float32(epsilon)

    def compute(stack: Array, sums: Array, *sides: Array) -> Array:
        values = _by_group(stack, num_groups)
        mean, power = _merged(sums, values.shape[-1])
        values = (values - mean[..., None]) / np.sqrt(power + small)[..., None]
        shape = (*stack.shape[:2], num_groups, -1, channels // num_groups)
        back = values.reshape(shape).swapaxes(2, 3).reshape(stack.shape)
        rest = [
            channel_values(s, channels).reshape(len(s), *(1,) * (stack.ndim - 2), channels) for s in sides
        ]
        if weight is not None:
            back = back * rest.pop(0)
        if bias is not None:
            back = back + rest.pop(0)
        return finish(np.ascontiguousarray(fused(back), np.float32), input_tensor.dtype)

    given = (input_tensor, stats, *named)
    return settle(
        given, combine(compute, *(t.shards for t in given)), input_tensor.dtype, memory_config=memory_config
    )


def _by_group(stack: Array, groups: int) -> Array:
    """Images (devices, N, 1, positions, C) as (devices, N, groups, positions of a group's channels)."""
    images = stack.reshape(*stack.shape[:2], -1, groups, stack.shape[-1] // groups).swapaxes(2, 3)
    return np.ascontiguousarray(images, np.float32).reshape(*stack.shape[:2], groups, -1)


@operation("ttnn.experimental.dit_fused_distributed_groupnorm_create_stats_buffer", family=families.CREATION)
def dit_fused_distributed_groupnorm_create_stats_buffer(
    input_tensor: Tensor, num_groups: int, cluster_axis: int, mesh_device: MeshDevice
) -> Tensor | None:
    """Scratch for the statistics of all devices along the axis; None where there is one device."""
    axis = _cut(input_tensor, mesh_device, cluster_axis)
    if axis is None:
        return None
    shape = (input_tensor.shape[0], num_groups, 2 * tuple(mesh_device.shape)[axis])
    shards = input_tensor.shards.map(lambda stack: np.zeros((len(stack), *shape), np.float32))
    return settle((input_tensor,), shards, DataType.FLOAT32, layout=Layout.ROW_MAJOR)
