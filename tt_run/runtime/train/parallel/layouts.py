"""How a tensor lies over the axes of a mesh, as values: `ttml.distributed.Layout`, `Shard` and `Replicate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.tensor.distribution import mappers
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard
from tt_run.runtime.train.autograd.axis_placement import by_axes
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.joint_layout import JointLayout
from tt_run.runtime.train.autograd.operation import naming_faults
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.sharded_parameters import whole_parameter


@dataclass(frozen=True)
class Shard:
    """Cut on a tensor dimension over the axis; negative dimensions count from the end."""

    dim: int

    def __repr__(self) -> str:
        return f"Shard({self.dim})"


@dataclass(frozen=True)
class Replicate:
    """The same on all devices of the axis."""


@dataclass(frozen=True, init=False)
class Layout:
    """One placement for each axis of the mesh: `Layout((…))`, `Layout(placements=(…))`, or `Layout(ndim, {axis: Shard(dim)})` with all other axes replicated.

    Without both it has the axes of the open mesh. Raises TypeError for both, ValueError for an axis that is none.
    """

    placements: tuple[Shard | Replicate, ...]

    def __init__(
        self,
        ndim: int | Sequence[Shard | Replicate] | None = None,
        axis_placements: Mapping[int, Shard | Replicate] | None = None,
        *,
        placements: Sequence[Shard | Replicate] | None = None,
    ) -> None:
        if isinstance(ndim, Sequence) and placements is None and axis_placements is None:
            ndim, placements = None, ndim
        if placements is not None and (ndim is not None or axis_placements is not None):
            raise TypeError("Layout() takes placements, or ndim and axis_placements")
        if placements is None:
            count = AutoContext.get_instance().get_device().shape.dims() if ndim is None else ndim
            if isinstance(count, Sequence):
                raise TypeError("Layout() takes placements, or ndim and axis_placements")
            given = dict(axis_placements or {})
            wrong = [axis for axis in given if not 0 <= axis < count]
            if wrong:
                raise ValueError(f"Layout: axis {wrong[0]} is none of a mesh of {count} dimensions")
            placements = [given.get(axis, Replicate()) for axis in range(count)]
        object.__setattr__(self, "placements", tuple(placements))

    @property
    def ndim(self) -> int:
        """Axes of the mesh."""
        return len(self.placements)

    def is_replicated(self) -> bool:
        """Whether no axis cuts it."""
        return not any(isinstance(placement, Shard) for placement in self.placements)

    def is_sharded_on(self, mesh_axis: int) -> bool:
        """Whether an axis cuts it."""
        return mesh_axis < self.ndim and isinstance(self.placements[mesh_axis], Shard)

    def shard_dim(self, mesh_axis: int) -> int | None:
        """The dimension that an axis cuts, None where it cuts none."""
        placement = self.placements[mesh_axis]
        return placement.dim if isinstance(placement, Shard) else None

    def with_placement(self, mesh_axis: int, placement: Shard | Replicate) -> Layout:
        """The same with another placement for an axis."""
        changed = list(self.placements)
        changed[mesh_axis] = placement
        return Layout(placements=changed)

    def build_mapper(self, mesh_device: Any, tensor_rank: int = 4) -> mappers.TensorToMesh:
        """What lays an array of so many dimensions out over a mesh in this way."""
        return mappers.create_mesh_mapper(mesh_device, layout_to_mapper_config(self, tensor_rank))


def replicated_layout(ndim: int = 2) -> Layout:
    """The same on every device of a mesh of so many dimensions."""
    return Layout(ndim)


def layout_from_topology(topology: Any, mesh_ndim: int | None = None) -> Layout:
    """The layout that a `ttnn` topology says, over as many axes unless `mesh_ndim` says more, which replicate."""
    found = [Shard(p.dim) if isinstance(p, PlacementShard) else Replicate() for p in topology.placements()]
    return Layout(len(found) if mesh_ndim is None else mesh_ndim, dict(enumerate(found)))


def layout_to_mapper_config(layout: Layout, tensor_rank: int | None = None) -> MeshMapperConfig:
    """A layout as `ttnn.create_mesh_mapper` takes it; with `tensor_rank` dimensions are counted from the front."""
    made: list[Placement] = []
    for placement in layout.placements:
        if isinstance(placement, Shard):
            dim = placement.dim
            made.append(PlacementShard(dim + tensor_rank if dim < 0 and tensor_rank else dim))
        else:
            made.append(PlacementReplicate())
    return MeshMapperConfig(made)


@naming_faults
def get_layout(tensor: Tensor) -> Layout:
    """How a tensor lies now. The last two dimensions count from the end, as plans write them, all others from the front."""
    value = tensor.get_value(PreferredPrecision.FULL)
    device, rank = value.device(), len(value.shape)
    ndim = 2 if device is None else device.shape.dims()
    found = layout_from_topology(by_axes(value), ndim)
    return counted(found, rank)


def is_distributed(tensor: Any) -> bool:
    """Whether it is a tensor of `ttml` on a mesh of several devices; False for anything else."""
    device = tensor.get_value().device() if isinstance(tensor, Tensor) else None
    return device is not None and device.get_num_devices() > 1


def bias_layout(weight_layout: Layout) -> Layout:
    """How the bias of a layer lies whose weight lies so: cut where the rows of the weight are, the features that come out."""
    cut = (isinstance(p, Shard) and p.dim in (-2, 2) for p in weight_layout.placements)
    return Layout(placements=[Shard(-1) if each else Replicate() for each in cut])


def counted(layout: Layout, rank: int) -> Layout:
    """A layout as `get_layout` writes it for a tensor of so many dimensions."""
    return Layout(
        placements=[
            Shard(_counted(p.dim % rank, rank)) if isinstance(p, Shard) else p for p in layout.placements
        ]
    )


@naming_faults
def set_layout(tensor: Tensor, layout: Layout) -> None:
    """Confirm a layout. Raises ValueError for another than the tensor has: its shards lie where they are."""
    has = get_layout(tensor)
    if has != counted(layout, len(tensor.shape())):
        raise ValueError(
            f"set_layout: the tensor lies as {has}, not as {layout}; help: distribute_tensor(tensor, mesh_device, layout)"
        )


@naming_faults
def distribute_tensor(
    tensor: Tensor,
    mesh_device: Any,
    layout: Layout,
    requires_grad: bool | None = None,
    *,
    sections: tuple[int, ...] = (1,),
) -> Tensor:
    """A tensor of the same numbers and element type in another layout; `requires_grad` None keeps what it has. Collective over the mesh's ranks.

    Of a dimension that holds `sections` side by side, of such sizes to one another, each device gets its part of every one.
    """
    rank, array = len(tensor.shape()), whole_parameter(tensor)
    cut = [(axis, p.dim % rank) for axis, p in enumerate(layout.placements) if isinstance(p, Shard)]
    joint = (
        JointLayout(cut[0][1], sections, int(mesh_device.shape[cut[0][0]]))
        if cut and len(sections) > 1
        else None
    )
    if joint is not None:
        array = joint.dealt(array)
    made = Tensor.from_numpy(array, new_type=tensor.dtype(), mapper=layout.build_mapper(mesh_device, rank))
    made.joint = joint
    made.set_requires_grad(tensor.get_requires_grad() if requires_grad is None else requires_grad)
    return made


@naming_faults
def distribute_batch(tensor: Tensor, mesh_device: Any, dp_axis: int) -> Tensor:
    """A batch cut on its first dimension over an axis."""
    return distribute_tensor(tensor, mesh_device, Layout(mesh_device.shape.dims(), {dp_axis: Shard(0)}))


def _counted(dim: int, rank: int) -> int:
    return dim - rank if dim >= rank - 2 and dim > 0 else dim
