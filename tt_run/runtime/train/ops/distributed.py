"""`ttml.ops.distributed`: collectives over a mesh axis with exact gradients; without an axis over all devices as one line.

The exact gradient depends on what arrives. A gradient that is replicated along the axis is already the whole one: summing it again
would make it as many times too large as the axis is long (AdamW hides that, SGD does not). So the backward rules look at the placement that
the gradient records; `noop_backward` and `GradOutputType` keep their meaning for code that says it itself.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tt_run.runtime.ccl import collectives, single_shards
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd.axis_placement import by_axes, is_replicated, members
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


class GradOutputType(enum.Enum):
    """What a gathered tensor's gradient is: SHARDED differs from device to device and is summed, REPLICATED is the same everywhere."""

    SHARDED = 0
    REPLICATED = 1


class RingShiftDirection(enum.Enum):
    """Where a device's shard goes: Forward to the next device of the line, Backward to the one before; both wrap."""

    Forward = 1
    Backward = -1


@recorded
def all_reduce(tensor: Tensor, noop_backward: bool = False, cluster_axis: int | None = None) -> Tensor:
    """The sum over the axis, on every device. Raises TypeError for an axis in the place of `noop_backward`: its gradients would be wrong."""
    if not isinstance(noop_backward, bool):
        raise TypeError(
            f"'noop_backward' must be a bool, not {type_name(noop_backward)}; help: cluster_axis={noop_backward!r}"
        )
    x = _by_axes(tensor.get_value())
    if members(x, cluster_axis) == 1:
        return tensor

    def rule(gradient: Value) -> None:
        tensor.add_grad(gradient if noop_backward else _summed(gradient, cluster_axis))

    return result(collectives.all_reduce(x, cluster_axis=cluster_axis), (tensor,), rule)


@recorded
def broadcast(tensor: Tensor, cluster_axis: int | None = None) -> Tensor:
    """The tensor as it is; its gradient is summed over the axis."""
    x = tensor.get_value()
    if members(x, cluster_axis) == 1:
        return tensor
    return result(x, (tensor,), lambda gradient: tensor.add_grad(_summed(gradient, cluster_axis)))


@recorded
def all_gather(
    tensor: Tensor,
    dim: int,
    cluster_axis: int | None = None,
    grad_output_type: GradOutputType = GradOutputType.SHARDED,
) -> Tensor:
    """Shards of the axis side by side on `dim`, on every device. Raises TypeError for a type of gradient that is none."""
    if not isinstance(grad_output_type, GradOutputType):
        raise TypeError(
            f"'grad_output_type' must be a GradOutputType, not {grad_output_type!r}; help: ttml.ops.distributed.GradOutputType.REPLICATED"
        )
    x = tensor.get_value()
    if members(x, cluster_axis) == 1:
        return tensor

    def rule(gradient: Value) -> None:
        if grad_output_type is GradOutputType.REPLICATED:
            tensor.add_grad(_own_slice(gradient, dim, cluster_axis))
        else:
            tensor.add_grad(own_part(gradient, dim, cluster_axis))

    return result(_gathered(x, dim, cluster_axis), (tensor,), rule)


@recorded
def reduce_scatter(tensor: Tensor, dim: int, cluster_axis: int | None = None) -> Tensor:
    """The sum over the axis, of which each device keeps its slice of `dim`."""
    x = tensor.get_value()
    if members(x, cluster_axis) == 1:
        return tensor
    value = _scattered_sum(x, dim, cluster_axis)
    return result(value, (tensor,), lambda gradient: tensor.add_grad(_gathered(gradient, dim, cluster_axis)))


@recorded
def scatter(tensor: Tensor, dim: int, cluster_axis: int | None = None) -> Tensor:
    """Each device's own slice of a tensor that all devices of the axis hold."""
    x = tensor.get_value()
    if members(x, cluster_axis) == 1:
        return tensor
    value = _own_slice(x, dim, cluster_axis)
    return result(value, (tensor,), lambda gradient: tensor.add_grad(_gathered(gradient, dim, cluster_axis)))


@recorded
def ring_shift(
    tensor: Tensor,
    cluster_axis: int | None = None,
    direction: RingShiftDirection = RingShiftDirection.Forward,
) -> Tensor:
    """Every shard moves one device along the axis, the last to the first; gradients move the other way."""
    x = tensor.get_value()
    if members(x, cluster_axis) == 1:
        return tensor
    step = direction.value
    return result(
        _shifted(x, cluster_axis, step),
        (tensor,),
        lambda gradient: tensor.add_grad(_shifted(gradient, cluster_axis, -step)),
    )


def own_part(gradient: Value, dim: int, axis: int | None) -> Value:
    """What each device's part of a gathered tensor gets of its gradient: a slice where all have the whole one, else a slice of the sum."""
    whole = is_replicated(gradient, axis)
    return _own_slice(gradient, dim, axis) if whole else _scattered_sum(gradient, dim, axis)


def _summed(gradient: Value, axis: int | None) -> Value:
    if is_replicated(gradient, axis):
        return gradient
    return collectives.all_reduce(_by_axes(gradient), cluster_axis=axis)


def _scattered_sum(value: Value, dim: int, axis: int | None) -> Value:
    return _by_axes(collectives.reduce_scatter(_by_axes(value), dim, cluster_axis=axis))


def _own_slice(value: Value, dim: int, axis: int | None) -> Value:
    return _by_axes(single_shards.partition_of_any_size(_by_axes(value), dim, axis))


def _by_axes(value: Value) -> Value:
    """A dimension that two axes cut is told as one line over all devices, which other operands' axes would win over."""
    topology = by_axes(value)
    return value if topology is value.tensor_topology() else value.derive(value.shards, topology=topology)


def _gathered(value: Value, dim: int, axis: int | None) -> Value:
    return collectives.all_gather(_by_axes(value), dim, cluster_axis=axis)


def _shifted(value: Value, axis: int | None, step: int) -> Value:
    """Gather the axis, then each device takes its neighbour's part."""
    device, value = value.device(), _by_axes(value)
    assert device is not None
    count, extent = members(value, axis), value.shape[0]
    gathered = collectives.all_gather(value, 0, cluster_axis=axis).shards
    place = {position: number for group in device.axis_groups(axis) for number, position in enumerate(group)}
    parts = []
    for own, position in enumerate(device.local_positions):
        whole = gathered.of(own)
        start = ((place[position] - step) % count) * extent
        parts.append(None if whole is None else whole[start : start + extent])
    return value.derive(Shards.from_each(parts))
