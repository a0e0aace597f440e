"""`ttml.core.distributed`: mappers and composers by tensor dimension, averaging of gradients, and facts about placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from tt_run.runtime.ccl import collectives
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution import composers, mappers
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig, MeshMapperConfig
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated, members
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.observation import trained
from tt_run.runtime.train.autograd.operation import naming_faults

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.tensor.tensor import Tensor as Value
    from tt_run.runtime.train.autograd.tensor import Tensor

Array = npt.NDArray[Any]


@naming_faults
def enable_fabric(num_devices: int) -> None:
    """Set the fabric that collectives over `num_devices` devices need; call it before the device is opened."""
    from tt_run.runtime.ccl.exchange.fabric import choose
    from tt_run.runtime.enums import FabricConfig

    if num_devices > 1:
        choose(FabricConfig.FABRIC_2D)


def disable_fabric() -> None:
    """Take the fabric away again."""
    from tt_run.runtime.ccl.exchange.fabric import set_fabric_config
    from tt_run.runtime.enums import FabricConfig

    set_fabric_config(FabricConfig.DISABLED)


def release_metal_env() -> None:
    """Give back what the process holds of the machine, so that a mesh may be opened on another descriptor.

    Closes the devices; the descriptor is read again when the next mesh is opened.
    """
    from tt_run.runtime.train.autograd.device import forget_system

    AutoContext.get_instance().close_device()
    forget_system()


@naming_faults
def shard_tensor_to_mesh_mapper(
    device: MeshDevice, dim: int | None = None, cluster_axis: int | None = None, *, rank: int | None = None
) -> mappers.TensorToMesh:
    """Cut tensor dimension `dim` over a mesh axis and replicate over the other; over all devices without an axis.

    `rank` is what the reference called `dim` before. Raises TypeError without either and with both, ValueError for an axis that the mesh has not.
    """
    if (dim is None) is (rank is None):
        raise TypeError(
            "shard_tensor_to_mesh_mapper() takes the tensor dimension once: dim, which older programs call rank; help: shard_tensor_to_mesh_mapper(device, 0)"
        )
    dim = rank if dim is None else dim
    assert dim is not None
    if cluster_axis is None:
        return mappers.shard_tensor_to_mesh_mapper(device, dim)
    placements: list[Placement] = [PlacementReplicate() for _ in range(device.shape.dims())]
    if not 0 <= cluster_axis < len(placements):
        raise ValueError(
            f"shard_tensor_to_mesh_mapper: the mesh {list(device.shape)} has no axis {cluster_axis}; help: cluster_axis from 0 to {len(placements) - 1}"
        )
    placements[cluster_axis] = PlacementShard(dim)
    return mappers.create_mesh_mapper(device, MeshMapperConfig(placements))


@naming_faults
def replicate_tensor_to_mesh_mapper(device: MeshDevice) -> mappers.TensorToMesh:
    """The same tensor on every device."""
    return mappers.replicate_tensor_to_mesh_mapper(device)


@naming_faults
def concat_mesh_to_tensor_composer(mesh_device: MeshDevice, dim: int) -> composers.MeshToTensor:
    """Concatenate the shards of all devices in row-major order on `dim`; replicas come once for each device."""
    return composers.concat_mesh_to_tensor_composer(mesh_device, dim)


@naming_faults
def create_mesh_composer_config(
    dims: Sequence[int], mesh_shape_override: MeshShape | Sequence[int] | None = None
) -> MeshComposerConfig:
    """Which tensor dimension each mesh axis is concatenated on; the shape may be given by its sides."""
    if mesh_shape_override is not None and not isinstance(mesh_shape_override, MeshShape):
        mesh_shape_override = MeshShape(list(mesh_shape_override))
    return MeshComposerConfig(list(dims), mesh_shape_override)


@naming_faults
def create_mesh_composer(mesh_device: MeshDevice, config: MeshComposerConfig) -> composers.MeshToTensor:
    """The composer of a configuration."""
    return composers.create_mesh_composer(mesh_device, config)


# --- collectives on mesh tensors -----------------------------------------------------------------------------------


@naming_faults
def all_reduce(tensor: Value, cluster_axis: int | None = None) -> Value:
    """The sum of a `ttnn.Tensor` over an axis, on every device; nothing enters the graph."""
    return collectives.all_reduce(tensor, cluster_axis=cluster_axis)


@naming_faults
def all_gather(tensor: Value, dim: int, cluster_axis: int | None = None) -> Value:
    """Shards of a `ttnn.Tensor` side by side on `dim`, on every device; nothing enters the graph."""
    return collectives.all_gather(tensor, dim, cluster_axis=cluster_axis)


@naming_faults
def reduce_scatter(tensor: Value, dim: int, cluster_axis: int | None = None) -> Value:
    """The sum of a `ttnn.Tensor`, of which each device keeps its slice of `dim`; nothing enters the graph."""
    return collectives.reduce_scatter(tensor, dim, cluster_axis=cluster_axis)


# --- data parallelism ----------------------------------------------------------------------------------------------


@naming_faults
def synchronize_gradients(
    parameters: Mapping[str, Tensor], cluster_axes: int | Sequence[int] | None = None
) -> None:
    """Replace every gradient by its mean over the axes of data (also fully sharded) and of context parallelism; over all devices where no axis was initialised.

    `cluster_axes` says the mesh axes instead. Parameters are visited by name, so that all ranks reduce in one order.
    """
    trained(parameters)
    context = AutoContext.get_instance()
    axes: list[int | None] = [None]
    if cluster_axes is not None:
        axes = [cluster_axes] if isinstance(cluster_axes, int) else list(cluster_axes)
    elif context.is_parallelism_context_initialized():
        parallelism = context.get_parallelism_context()
        data = parallelism.get_ddp_axis(), parallelism.get_ddp_size()
        positions = parallelism.get_cp_axis(), parallelism.get_cp_size()
        sharded = parallelism.get_fsdp_axis(), parallelism.get_fsdp_size()
        axes = [axis for axis, size in (data, sharded, positions) if size > 1]
    for name in sorted(parameters):
        parameter = parameters[name]
        if not parameter.is_grad_initialized():
            continue
        for axis in axes:
            if parameter.fsdp_axis is None or axis not in (
                None,
                parameter.fsdp_axis,
            ):  # else the mean already
                _average(parameter, axis)


def summed_over_devices(value: Value) -> Value:
    """The sum of a value over every mesh axis along which its devices hold different ones; the same on all of them."""
    for axis in range(0 if (device := value.device()) is None else device.shape.dims()):
        if members(value, axis) > 1 and not is_replicated(value, axis):
            value = collectives.all_reduce(value, cluster_axis=axis)
    return value


@naming_faults
def set_tensor_placements(tensor: Tensor, placements: Sequence[Placement]) -> None:
    """Say otherwise how a tensor lies over the mesh, one placement for each axis; its shards stay as they are.

    Raises RuntimeError for another number of placements than the mesh has axes.
    """
    value = tensor.get_value(PreferredPrecision.NATIVE)
    device = value.device()
    if device is None or len(placements) != device.shape.dims():
        axes = "no mesh" if device is None else f"a mesh of {device.shape.dims()} axes"
        raise RuntimeError(
            f"set_tensor_placements: {len(placements)} placements for a tensor on {axes}; help: one for each axis of the mesh"
        )
    coords = value.tensor_topology().mesh_coords()
    value.update_tensor_topology(TensorTopology(device.shape, list(placements), coords))


def _average(parameter: Tensor, axis: int | None) -> None:
    """Replace a gradient by its mean over an axis, or over all devices."""
    gradient = parameter.get_grad()
    count = members(gradient, axis)
    # What is the same along the axis is its mean already.
    if count > 1 and not is_replicated(gradient, axis):
        total = collectives.all_reduce(gradient, cluster_axis=axis)
        parameter.set_grad(stacks.scaled_in_place(total, 1.0 / count))
