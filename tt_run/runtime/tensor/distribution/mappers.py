"""Mappers: cut or replicate a host array over the devices of a mesh.

A one-dimensional distribution may need fewer devices than it has; with more dimensions there must be a chunk for every device
(reference library 0.81.1).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, cpp
from tt_run.runtime.errors import fatal, incompatible, read_to_host
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import with_note
from tt_run.runtime.tensor.conversion.devices import is_distributed, moved_to
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig, rows_and_columns
from tt_run.runtime.tensor.distribution.grid import Distribution, check_dims, chunk_bounds
from tt_run.runtime.tensor.spec.site import HostSite, Site, local_site
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.copying import dense, stacked
from tt_run.runtime.values.dtypes import convert, convert_each, stored_dtype
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Distributed:
    """A host array spread over a mesh: this rank's shards, where they count from, and how the whole is laid out."""

    shards: Shards
    site: HostSite
    topology: TensorTopology


@native("ttnn._ttnn.multi_device.CppTensorToMesh")
class CppTensorToMesh(metaclass=Native):
    """A mapper made by `create_mesh_mapper` and its relatives; `config()` tells what it does. The class has the reference's name."""

    __slots__ = ("_config", "_distribution")
    _bound_name = "ttnn._ttnn.multi_device.CppTensorToMesh"

    def __init__(self, mesh_device: Site, config: MeshMapperConfig) -> None:
        self._distribution = Distribution(mesh_device, config, len(config.placements), "placements")
        self._config = config

    def config(self) -> MeshMapperConfig:
        """The configuration of this mapper."""
        return self._config

    def unwrap(self) -> TensorToMesh:
        """The mapper itself; the legacy wrapper of replication has the same method."""
        return self

    def place(self, array: Array, dtype: DataType) -> Distributed:
        """Spread an array, every rank given the same one, converting each shard to the stored form of `dtype`.

        Raises RuntimeError for a dimension that the array lacks or that is cut twice, and for chunks that do not come out even.
        """
        grid, placements = self._distribution, self._config.placements
        pieces, keys = _cut(array, placements, tuple(grid.shape))
        held = [(p, c, k) for p, c, k in zip(grid.positions, grid.coords, keys, strict=True) if k in pieces]
        shape = MeshShape([len(held)]) if grid.shape.dims() == 1 else grid.shape
        topology = TensorTopology(shape, placements, [coord for _, coord, _ in held])
        return Distributed(_stack({p: k for p, _, k in held}, pieces, grid.site, dtype), grid.site, topology)

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


TensorToMesh = CppTensorToMesh


def _cut(
    array: Array, placements: Sequence[PlacementReplicate | PlacementShard], grid: tuple[int, ...]
) -> tuple[dict[tuple[int, ...], Array], list[tuple[int, ...]]]:
    """The distinct pieces by chunk number along each cut, and the chunk numbers of every point of the grid."""
    cut_axes = [axis for axis, placement in enumerate(placements) if isinstance(placement, PlacementShard)]
    dims = check_dims([placements[axis].dim for axis in cut_axes], array.ndim)  # type: ignore[union-attr]
    chunks = [chunk_bounds(array.shape[dim], grid[axis]) for axis, dim in zip(cut_axes, dims, strict=True)]
    pieces: dict[tuple[int, ...], Array] = {}
    for key in itertools.product(*(range(len(c)) for c in chunks)):
        # The ellipsis keeps a scalar an array.
        where: list[Any] = [*[slice(None)] * array.ndim, ...]
        for number, dim, bounds in zip(key, dims, chunks, strict=True):
            where[dim] = slice(*bounds[number])
        pieces[key] = array[tuple(where)]
    wanted = int(np.prod([grid[axis] for axis in cut_axes], dtype=int))
    if not pieces:
        raise fatal(
            "No chunks were produced",
            hint="the dimension that is cut has no elements: give a tensor with some, or replicate it",
        )
    if len(grid) > 1 and len(pieces) != wanted:
        raise fatal(
            f"ND sharding requires the number of chunks {len(pieces)} to match the mesh dimension size {wanted}",
            hint="; ".join(
                f"dimension {dim} has {array.shape[dim]} elements for {grid[axis]} devices: choose a multiple"
                for axis, dim in zip(cut_axes, dims, strict=True)
                if array.shape[dim] % grid[axis]
            )
            or None,
        )
    _check_even(
        list(pieces.values()),
        [(dim, array.shape[dim], grid[a]) for a, dim in zip(cut_axes, dims, strict=True)],
    )
    points = itertools.product(*map(range, grid))
    return pieces, [tuple(point[axis] for axis in cut_axes) for point in points]


def _check_even(pieces: list[Array], cuts: Sequence[tuple[int, int, int]]) -> None:
    """`cuts`: dimension, its length, and the devices that it is cut over."""
    for piece in pieces:
        if piece.shape != pieces[0].shape:
            uneven = [
                f"dimension {dim} has {length} elements for {devices} devices: pad it to {-(-length // devices) * devices}"
                for dim, length, devices in cuts
                if length % devices
            ]
            raise fatal(
                f"Shard shape mismatch: expected {Shape(pieces[0].shape)} but got {Shape(piece.shape)}",
                hint="; ".join(uneven) or None,
            )


def _stack(
    held: dict[int, tuple[int, ...]], pieces: dict[tuple[int, ...], Array], site: HostSite, dtype: DataType
) -> Shards:
    """Only this rank's pieces are copied and converted, each once however many devices hold it."""
    rows: dict[tuple[int, ...], int] = {}
    index = []
    for position in site.local_positions:
        key = held.get(position)
        index.append(-1 if key is None else rows.setdefault(key, len(rows)))
    if not rows:
        sample = next(iter(pieces.values()))
        return Shards(convert(np.empty((0, *sample.shape), sample.dtype), dtype), tuple(index))
    own = [pieces[key] for key in rows]
    if shapes.active():
        return Shards(shapes.bare(own[0].shape, stored_dtype(dtype)), tuple(index))
    data = own_copy(own[0], dtype)[None] if len(own) == 1 else _settled(stacked(own), dtype)
    return Shards(data, tuple(index))


def own_copy(source: Array, dtype: DataType) -> Array:
    """The stored form of the caller's array, in contiguous memory that is not the caller's."""
    if shapes.active():
        return shapes.zeros(source.shape, stored_dtype(dtype))
    stored = convert(dense(source), dtype)
    return stored.copy() if np.may_share_memory(stored, source) else stored


def _settled(stack: Array, dtype: DataType) -> Array:
    """The stored form of an array that is ours already, rounded in place where that is possible."""
    if dtype is DataType.BFLOAT16 and stack.dtype == np.float32:
        return round_bfloat16(stack, out=stack)
    return convert_each(stack, dtype)


@native("ttnn.distributed.distributed.ReplicateTensorToMeshWrapper")
class ReplicateTensorToMeshWrapper(metaclass=Native):
    """What the legacy `ReplicateTensorToMesh` returns; `unwrap()` gives the mapper."""

    __slots__ = ("_mapper",)
    _bound_name = "ttnn.distributed.distributed.ReplicateTensorToMeshWrapper"

    def __init__(self, mapper: TensorToMesh) -> None:
        self._mapper = mapper

    def unwrap(self) -> TensorToMesh:
        """The mapper inside."""
        return self._mapper

    def config(self) -> MeshMapperConfig:
        """The configuration of the mapper inside."""
        return self._mapper.config()

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


_DISTRIBUTE = (
    "distribute_tensor(tensor: ttnn._ttnn.tensor.Tensor, mapper: ttnn._ttnn.multi_device.CppTensorToMesh, "
    "mesh_device: ttnn._ttnn.multi_device.MeshDevice | None = None) -> ttnn._ttnn.tensor.Tensor"
)
_CREATE = tuple(
    f"create_mesh_mapper({over}, config: ttnn._ttnn.multi_device.MeshMapperConfig) -> ttnn._ttnn.multi_device.CppTensorToMesh"
    for over in (
        "mesh_device: ttnn._ttnn.multi_device.MeshDevice",
        "mesh_shape: ttnn._ttnn.multi_device.MeshShape",
    )
)

Mapper = TensorToMesh | ReplicateTensorToMeshWrapper


@public
def create_mesh_mapper(
    mesh_device: Site | MeshShape | None = None,
    config: MeshMapperConfig | None = None,
    *,
    mesh_shape: MeshShape | None = None,
) -> TensorToMesh:
    """A mapper with one placement per axis of the mesh or of the override in `config`.

    Over a mesh shape (`mesh_shape` by keyword too) instead of a device it makes every shard on the host. Raises TypeError for a configuration of another type, RuntimeError for one that does not fit the mesh.
    """
    over: Any = mesh_device if mesh_shape is None else mesh_shape
    if not isinstance(config, MeshMapperConfig) or not (
        isinstance(over, MeshShape) or hasattr(over, "local_positions")
    ):
        raise incompatible("create_mesh_mapper", _CREATE, (over, config))
    return TensorToMesh(local_site(tuple(over)) if isinstance(over, MeshShape) else over, config)


@public
def shard_tensor_to_mesh_mapper(mesh_device: Site, dim: int) -> TensorToMesh:
    """Cut dimension `dim` over all devices in row-major order."""
    return TensorToMesh(mesh_device, MeshMapperConfig([PlacementShard(dim)], _line(mesh_device)))


@public
def replicate_tensor_to_mesh_mapper(mesh_device: Site) -> TensorToMesh:
    """The whole tensor on every device."""
    return TensorToMesh(mesh_device, MeshMapperConfig([PlacementReplicate()], _line(mesh_device)))


@public
def ShardTensorToMesh(mesh_device: Site, dim: int) -> TensorToMesh:
    """Legacy name of `shard_tensor_to_mesh_mapper`."""
    return shard_tensor_to_mesh_mapper(mesh_device, dim)


@public
def ReplicateTensorToMesh(mesh_device: Site) -> ReplicateTensorToMeshWrapper:
    """Legacy form of `replicate_tensor_to_mesh_mapper`, wrapped."""
    return ReplicateTensorToMeshWrapper(replicate_tensor_to_mesh_mapper(mesh_device))


@public
def ShardTensor2dMesh(
    mesh_device: Site, mesh_shape: Sequence[int] | MeshShape, dims: Sequence[int | None]
) -> TensorToMesh:
    """Cut `dims[0]` over the rows and `dims[1]` over the columns of the mesh; None replicates along that axis."""
    row, column = rows_and_columns(dims)
    return TensorToMesh(mesh_device, MeshMapperConfig(row, column, MeshShape(tuple(mesh_shape))))


@public
def distribute_tensor(
    tensor: Tensor, mapper: Mapper, mesh_device: MeshDevice | None = None, cq_id: int | None = None
) -> Tensor:
    """An un-distributed host tensor spread by a mapper, then moved to a device if one is given.

    Raises RuntimeError for a device tensor and for one that is distributed already.
    """
    if isinstance(mapper, ReplicateTensorToMeshWrapper):
        why = "a wrapper is for from_torch: give ttnn.replicate_tensor_to_mesh_mapper(mesh_device)"
        raise with_note(incompatible("distribute_tensor", (_DISTRIBUTE,), (tensor, mapper)), why)
    if tensor.device() is not None:
        raise fatal(
            f"TensorToMesh only supports host tensors; got storage type: {cpp(tensor.storage_type())}",
            hint=read_to_host("tensor"),
        )
    if is_distributed(tensor):
        raise fatal(
            f"Can't get a single buffer from host storage distributed over mesh shape {tensor.site.shape}",
            hint="it is distributed already: read it together first, ttnn.to_torch(tensor, mesh_composer=…)",
        )
    array = tensor.shards.each()[0]
    assert array is not None
    placed = mapper.unwrap().place(array, tensor.dtype)
    host = Tensor.of(
        placed.shards,
        dtype=tensor.dtype,
        layout=tensor.layout,
        topology=placed.topology,
        memory_config=tensor.memory_config(),
        tile=tensor.tile,
        site=placed.site,
    )
    return host if mesh_device is None else moved_to(host, mesh_device)


def _line(mesh_device: Site) -> MeshShape:
    return MeshShape([mesh_device.shape.mesh_size()])
