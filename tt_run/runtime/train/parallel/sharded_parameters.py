"""Whole arrays of sharded parameters, and back: what saving, and comparing one mesh with another, needs.

A parameter is replicated, or cut evenly along one or both axes of the mesh, as its topology says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.distribution import composers, mappers
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig, MeshMapperConfig
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.train.autograd.axis_placement import by_axes, first_shard
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.variable import Variable
from tt_run.runtime.values.dtypes import convert, is_float
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


def whole_parameter(tensor: Variable, stack: Array | None = None, *, verify: bool = True) -> Array:
    """As `whole_array`, in the order of the model on one device."""
    array = whole_array(tensor.get_value(PreferredPrecision.FULL), stack, verify=verify)
    return array if tensor.joint is None else tensor.joint.gathered(array)


def restore_parameter(tensor: Variable, array: Array, name: str, *, rounded: bool = True) -> Value:
    """As `restore`, from the order of the model on one device."""
    if tensor.joint is not None and array.ndim > tensor.joint.dim:
        array = tensor.joint.dealt(array)
    return restore(tensor.get_value(PreferredPrecision.FULL), array, name, rounded=rounded)


def cuts(value: Value) -> dict[int, int]:
    """Tensor dimension (counted from the front) by mesh axis, for every axis along which the value is cut."""
    topology = by_axes(value)
    rank, extents = len(value.shape), topology.distribution_shape()
    return {
        axis: placement.dim % rank
        for axis, placement in enumerate(topology.placements())
        if isinstance(placement, PlacementShard) and extents[axis] > 1
    }


def whole_shape(tensor: Variable) -> list[int]:
    """The shape of a parameter as it is on one device."""
    return whole_sides(tensor.get_value(PreferredPrecision.FULL))


def whole_sides(value: Value) -> list[int]:
    """The shape of the array that a value is a distribution of."""
    shape, extents = list(value.shape), by_axes(value).distribution_shape()
    for axis, dim in cuts(value).items():
        shape[dim] *= extents[axis]
    return shape


def differing_copy(value: Value) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The coordinates of two devices of this rank that hold different numbers where the value's placements say that they hold copies; None without any."""
    along, device = cuts(value), value.device()
    if device is None or (by_axes(value).distribution_shape().dims() == 1 and along):
        return None
    first: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
    data, extents = value.shards.data, tuple(device.shape)
    for position, row in zip(device.local_positions, value.shards.index, strict=True):
        if row < 0 or value.shards.bare:
            continue
        coord = tuple(int(part) for part in np.unravel_index(position, extents))
        at, known = first.setdefault(tuple(coord[axis] for axis in along), (coord, row))
        if known != row and not np.array_equal(data[known], data[row], equal_nan=is_float(value.dtype)):
            return at, coord
    return None


def whole_array(value: Value, stack: Array | None = None, *, verify: bool = True) -> Array:
    """The array that a value is a distribution of; `stack` replaces its shards by others in the same places.

    Collective over the ranks of the mesh when the value is cut. Raises RuntimeError when copies of a whole value differ, which without
    `verify` the first stands for; of a cut value the first device's count.
    """
    if stack is not None:
        # State of an optimizer is float32 beside a parameter of any type, and goes over the wire so.
        value = value.derive(
            Shards(np.asarray(stack, np.float32), value.shards.index), dtype=DataType.FLOAT32
        )
    placed = cuts(value)
    if not placed:
        return first_shard(value) if verify or value.shards.bare else np.array(value.shards.data[0])
    topology = by_axes(value)
    device = value.device()
    assert device is not None
    if topology.distribution_shape().dims() == 1 or (len(placed) == 2 and placed[0] == placed[1]):
        # One dimension over both axes is dealt to the devices in row-major order.
        return composers.concat_mesh_to_tensor_composer(device, placed[0]).compose(value)
    # Along an axis that is not cut only the first device counts; its dimension may be any that is still free.
    free = next(d for d in range(len(value.shape)) if d not in placed.values())
    dims = [placed.get(axis, free) for axis in range(2)]
    composed = composers.create_mesh_composer(device, MeshComposerConfig(dims)).compose(value)
    for axis in range(2):
        if axis not in placed:
            composed = np.take(composed, range(value.shape[free]), axis=free)
    return composed


def restore(value: Value, array: Array, name: str, *, rounded: bool = True) -> Value:
    """A whole array in the place of a value. Raises ValueError, with both shapes, when it is not of its size.

    `rounded` brings it to the value's type; state of an optimizer stays float32.
    """
    placed, topology, expected = cuts(value), by_axes(value), whole_sides(value)
    if list(array.shape) != expected:
        raise ValueError(
            f"{name}: saved with shape {list(array.shape)}, the model has {expected}; help: load it into a model of the same configuration"
        )
    array = np.asarray(array, np.float32)
    if placed:
        device = value.device()
        assert device is not None
        config = MeshMapperConfig(topology.placements(), topology.distribution_shape())
        shards = (
            mappers.create_mesh_mapper(device, config)
            .place(array, value.dtype if rounded else DataType.FLOAT32)
            .shards
        )
    else:
        index = tuple(-1 if row < 0 else 0 for row in value.shards.index)
        shards = Shards(convert(array[None], value.dtype) if rounded else array[None], index)
    return value.derive(shards)
