"""`ttml.Mesh`: a mesh shape whose axes have names; opened once, asked for anywhere."""

from __future__ import annotations

import gc
import math
import numbers
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mgd.lean import dataclass
from tt_run.runtime.ccl.collectives import all_reduce
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.axis_placement import is_replicated
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.observation import trained
from tt_run.runtime.train.autograd.parallelism import Axis, ParallelismContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.distributed import (
    enable_fabric,
    release_metal_env,
    shard_tensor_to_mesh_mapper,
)

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice


@dataclass(frozen=True)
class Mesh:
    """Sides of a mesh, (rows, columns) for one that can be opened, and the names of its axes. Raises ValueError without a name of its own for each."""

    shape: tuple[int, ...]
    axis_names: tuple[str, ...] = ("dp", "tp")

    def __post_init__(self) -> None:
        for name, given in (("shape", self.shape), ("axis_names", self.axis_names)):
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise TypeError(
                    f"Mesh: {name} must be a tuple, not {type_name(given)}; help: ttml.Mesh((2, 4), ('dp', 'tp'))"
                )
        for name in self.axis_names:
            if not isinstance(name, str):
                raise TypeError(
                    f"Mesh: the name of an axis is a str, not {type_name(name)}: {name!r}; help: ttml.Mesh((2, 4), ('dp', 'tp'))"
                )
        if not all(isinstance(side, numbers.Integral) and side > 0 for side in self.shape):
            raise ValueError(
                f"Mesh: each side must be a number of devices, at least 1, got {self.shape}; help: ttml.Mesh((2, 4), ('dp', 'tp'))"
            )
        if len(self.shape) != len(self.axis_names) or len(set(self.axis_names)) != len(self.axis_names):
            raise ValueError(
                f"each axis in a mesh must have an assigned name of its own, got {self.shape} and {self.axis_names}; help: ttml.Mesh((2, 4), ('dp', 'tp'))"
            )

    def num_devices(self) -> int:
        """Devices of the mesh."""
        return math.prod(self.shape)

    def has_axis(self, name: str) -> bool:
        """Whether an axis has this name."""
        return name in self.axis_names

    def axis(self, name: str) -> int:
        """The number of a named axis. Raises ValueError listing the names."""
        if name not in self.axis_names:
            raise ValueError(
                f"the mesh has no axis {name!r}; its axes are {', '.join(self.axis_names)}; help: one of those"
            )
        return self.axis_names.index(name)

    def size(self, name: str) -> int:
        """Devices along a named axis."""
        return self.shape[self.axis(name)]

    def axis_index(self, name: str) -> int:
        """The number of a named axis. Raises RuntimeError listing the names."""
        if name not in self.axis_names:
            raise RuntimeError(
                f"Mesh has no axis named {name!r}. Shape: {self.shape}, axis names: {', '.join(self.axis_names)}; help: ttml.Mesh({self.shape}, (…, {name!r}))"
            )
        return self.axis(name)

    axis_pos = axis_index  # Programs of before it had that name.

    def axis_size(self, name: str) -> int:
        """Devices along a named axis. Raises RuntimeError listing the names."""
        return self.shape[self.axis_index(name)]

    def axis_mapper(self, name: str, tdim: int) -> Any:
        """What cuts tensor dimension `tdim` over a named axis, for `Tensor.from_numpy` and initialisers."""
        device = AutoContext.get_instance().get_device()
        return shard_tensor_to_mesh_mapper(device, tdim, self.axis_index(name))

    def parallelism(self) -> ParallelismContext | None:
        """What the names `dp`, `cp` and `tp` say about the axes; None without any."""
        names = [name for name in ("dp", "cp", "tp") if self.has_axis(name)]
        axes = {name: Axis(self.axis(name), self.size(name)) for name in names}
        return ParallelismContext.of_axes(axes.get("dp"), axes.get("tp"), axes.get("cp")) if axes else None


@dataclass(frozen=True)
class OpenMesh:
    """A mesh with names and the devices that it stands for, by which it ends."""

    mesh: Mesh
    device: weakref.ref[MeshDevice]


_open: OpenMesh | None = None


def open_device_mesh(
    mesh: Mesh | Sequence[int], device_ids: Sequence[int] | None = None, num_command_queues: int = 1
) -> None:
    """Open the devices of a mesh, with the fabric they need. A plain shape has axes without names of their own.

    An axis `dp` then carries data and `tp` tensor parallelism, unless the program initialises that otherwise. Raises RuntimeError as
    `AutoContext.open_device` does.
    """
    global _open
    if not isinstance(mesh, Mesh):
        if isinstance(mesh, str) or not isinstance(mesh, Iterable):
            raise TypeError(
                f"open_device_mesh: a ttml.Mesh or its sides are wanted, not {type_name(mesh)}; help: open_device_mesh((1, 2))"
            )
        sides = tuple(int(side) for side in mesh)
        mesh = Mesh(sides, tuple(f"_{axis}" for axis in range(len(sides))))
    context = AutoContext.get_instance()
    enable_fabric(mesh.num_devices())
    context.open_device(mesh.shape, list(device_ids or ()) or None, num_command_queues)
    context.imply_parallelism(mesh.parallelism())
    _open = OpenMesh(mesh, weakref.ref(context.get_device()))


def close_device_mesh() -> None:
    """Close the devices and forget the mesh; what the names of its axes implied is forgotten with it. Nothing happens when none is open."""
    global _open
    AutoContext.get_instance().close_device()
    _open = None


def reset_metal_env() -> None:
    """Close the devices and read the system anew when the next mesh is opened; tensors that only wait for Python's collector go first."""
    gc.collect()
    close_device_mesh()
    release_metal_env()


def maybe_mesh() -> Mesh | None:
    """The mesh opened last, None when none was and when its devices were closed since, in whatever way."""
    if _open is None:
        return None
    device = AutoContext.get_instance().live_device
    return _open.mesh if device is not None and _open.device() is device else None


def mesh() -> Mesh:
    """The mesh opened last. Raises RuntimeError when none was."""
    found = maybe_mesh()
    if found is None:
        raise RuntimeError('no mesh is open; help: ttml.open_device_mesh(ttml.Mesh((1, 2), ("dp", "tp")))')
    return found


def sync_gradients(parameters: Mapping[str, Tensor], axis_names: str | Iterable[str] = ("dp",)) -> None:
    """Replace every gradient by its mean over one or several named axes of the open mesh; names that it has not are passed over.

    Along the axis over which `fully_shard` cut a parameter its gradient is the mean already. Parameters are visited by name, so that all
    ranks reduce in one order. Raises TypeError for what is no mapping of names to tensors.
    """
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"sync_gradients: parameters must be those of a model by name, not {type_name(parameters)}; help: sync_gradients(model.parameters())"
        )
    trained(parameters)
    found = maybe_mesh()
    if found is None:
        return
    names = (axis_names,) if isinstance(axis_names, str) else axis_names
    axes = [found.axis(name) for name in names if found.has_axis(name) and found.size(name) > 1]
    for name in sorted(parameters):
        parameter = parameters[name]
        if not parameter.is_grad_initialized():
            continue
        own = [axis for axis in axes if axis != parameter.fsdp_axis]
        gradient, count = parameter.get_grad(), 1
        for axis in own:
            # What is the same along an axis is its mean already.
            if not is_replicated(gradient, axis):
                gradient, count = all_reduce(gradient, cluster_axis=axis), count * found.shape[axis]
        if count > 1:
            share = np.float32(1.0 / count)
            parameter.set_grad(stacks.compute(lambda stack, share=share: stack * share, gradient))


def sync_sequence_parallel_gradients(parameters: Mapping[str, Tensor], axis_name: str = "tp") -> None:
    """Make sure that gradients of parameters which meet other positions on each device are sums over an axis of the open mesh.

    They are summed as they arrive, so this only looks. Raises RuntimeError for an axis that the mesh has not, and, naming the parameter, for a
    gradient that differs along it.
    """
    axis = mesh().axis_index(axis_name)
    for name in sorted(parameters):
        parameter = parameters[name]
        if not (parameter.sequence_parallel and parameter.is_grad_initialized()):
            continue
        if not is_replicated(parameter.get_grad(), axis):
            raise RuntimeError(
                f"sync_sequence_parallel_gradients: the gradient of {name!r} differs along {axis_name!r}; it was replaced after backward()"
            )
