"""Composers: concatenate the shards of a tensor into one host array.

Pure concatenation: replicas are repeated, not merged; a smaller override drops them (reference library 0.81.1).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig, rows_and_columns
from tt_run.runtime.tensor.distribution.gathering import every_shard
from tt_run.runtime.tensor.distribution.grid import Distribution, check_dims
from tt_run.runtime.tensor.spec.site import Site
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@native("ttnn._ttnn.multi_device.CppMeshToTensor")
class CppMeshToTensor(metaclass=Native):
    """A composer made by `create_mesh_composer` and its relatives; `config()` tells what it does. The class has the reference's name."""

    __slots__ = ("_config", "_distribution")
    _bound_name = "ttnn._ttnn.multi_device.CppMeshToTensor"

    def __init__(self, mesh_device: Site, config: MeshComposerConfig) -> None:
        self._distribution = Distribution(mesh_device, config, len(config.dims), "dimensions")
        self._config = config

    def config(self) -> MeshComposerConfig:
        """The configuration of this composer."""
        return self._config

    def compose(self, tensor: Tensor) -> Array:
        """The concatenated array in stored form, on every rank; a collective over the ranks of the tensor's mesh.

        Raises RuntimeError for dimensions that the tensor lacks or that repeat, and for a grid with missing shards.
        """
        shards = every_shard(tensor, self._purpose(len(tensor.shape)))
        grid = tuple(self._distribution.shape)
        if len(shards) == 1:
            # An un-distributed tensor, or the shard of one device.
            found: list[Array] = [s for s in shards if s is not None]
        else:
            found = [
                s for p in self._distribution.positions if p < len(shards) and (s := shards[p]) is not None
            ]
        if not found:
            raise fatal(
                "The tensor holds no shard at the coordinates that the composer reads",
                hint="give the composer the mesh, and the mesh_shape, that the tensor was distributed over",
            )
        dims = check_dims(self._config.dims, found[0].ndim)
        if len(found) == 1:
            return found[0]
        if len(grid) == 1:
            grid = (len(found),)
        elif len(found) != self._distribution.shape.mesh_size():
            raise fatal(
                f"ND composition requires the number of tensors {len(found)} to match the mesh shape {self._distribution.shape}",
                hint=f"ttnn.MeshComposerConfig(dims, mesh_shape_override=…) of {len(found)} devices, or ttnn.ConcatMeshToTensor(mesh, dim) for all in a row",
            )
        return _concatenate(found, grid, dims)

    def _purpose(self, ndim: int) -> str:
        """What is made of the shards of a tensor of so many dimensions, in words that are equal for equal results."""
        shape, first = self._distribution.shape, self._distribution.positions[0]
        along = [
            (dim % ndim if -ndim <= dim < 0 else dim, size)
            for dim, size in zip(self._config.dims, shape, strict=True)
            if size > 1
        ]
        dims, sizes = " and ".join(str(dim) for dim, _ in along), "x".join(str(size) for _, size in along)
        return f"composed along {dims} of {sizes}" + (f" from device {first}" if first else "")

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


MeshToTensor = CppMeshToTensor


def _concatenate(shards: list[Array], grid: tuple[int, ...], dims: list[int]) -> Array:
    shape = list(shards[0].shape)
    for count, dim in zip(grid, dims, strict=True):
        shape[dim] *= count
    if shapes.active():
        return shapes.zeros(shape, shards[0].dtype)
    out = np.empty(shape, shards[0].dtype)
    for shard, point in zip(shards, itertools.product(*map(range, grid)), strict=True):
        where: list[slice] = [slice(None)] * len(shape)
        for number, dim in zip(point, dims, strict=True):
            where[dim] = slice(number * shard.shape[dim], (number + 1) * shard.shape[dim])
        out[tuple(where)] = shard
    return out


_CREATE = (
    "create_mesh_composer(mesh_device: ttnn._ttnn.multi_device.MeshDevice, "
    "config: ttnn._ttnn.multi_device.MeshComposerConfig) -> ttnn._ttnn.multi_device.CppMeshToTensor"
)


@public
def create_mesh_composer(mesh_device: Site, config: MeshComposerConfig) -> MeshToTensor:
    """A composer with one dimension per axis of the mesh or of the override in `config`.

    Raises TypeError for a configuration of another type, RuntimeError for one that does not fit the mesh.
    """
    if not isinstance(config, MeshComposerConfig):
        raise incompatible("create_mesh_composer", (_CREATE,), (mesh_device, config))
    return MeshToTensor(mesh_device, config)


@public
def concat_mesh_to_tensor_composer(mesh_device: Site, dim: int) -> MeshToTensor:
    """Concatenate the shards of all devices in row-major order along `dim`."""
    return MeshToTensor(mesh_device, MeshComposerConfig([dim], MeshShape([mesh_device.shape.mesh_size()])))


@public
def ConcatMeshToTensor(mesh_device: Site, dim: int) -> MeshToTensor:
    """Legacy name of `concat_mesh_to_tensor_composer`."""
    return concat_mesh_to_tensor_composer(mesh_device, dim)


@public
def ConcatMesh2dToTensor(
    mesh_device: Site, mesh_shape: Sequence[int] | MeshShape, dims: Sequence[int]
) -> MeshToTensor:
    """Concatenate along `dims[0]` over the rows and `dims[1]` over the columns of the mesh."""
    row, column = rows_and_columns(dims)
    return MeshToTensor(mesh_device, MeshComposerConfig(row, column, MeshShape(tuple(mesh_shape))))


@public
def aggregate_tensor(tensor: Tensor, composer: MeshToTensor) -> Tensor:
    """The composed tensor as an un-distributed host tensor."""
    array = composer.compose(tensor)
    return Tensor.of(
        Shards.replicated(array, 1),
        dtype=tensor.dtype,
        layout=tensor.layout,
        memory_config=tensor.memory_config(),
        tile=tensor.tile,
    )
