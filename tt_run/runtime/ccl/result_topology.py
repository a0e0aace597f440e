"""How the result of a collective is spread over the mesh, as placements that say what each device holds.

A tensor says it per axis of the mesh, or, from a one-dimensional mapper, with one placement over all devices in row-major order. The
latter is written out per axis, the axis of the collective is changed, and the result is written with one placement again where only that
says it. What no placements can say, such as a gather that puts shards side by side which do not follow each other, keeps the
tensor's placements, or raises when `ttnn.CONFIG.strict_ccl_topology` is set. Source: the reference's tests of these placements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt_run.runtime import settings
from tt_run.runtime.errors import throw
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard, TensorTopology

if TYPE_CHECKING:
    from tt_run.runtime.mesh import MeshDevice
    from tt_run.runtime.tensor.tensor import Tensor


def unchanged(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """As the tensor was spread."""
    return tensor.tensor_topology()


def replicated(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After an all-gather of `dim`, or an all-reduce or broadcast without one: the axis of the group holds the same everywhere."""
    topology, rank = tensor.tensor_topology(), tensor.shape.rank
    shape, placements = topology.distribution_shape(), topology.placements()
    same = PlacementReplicate()
    if cluster_axis is None:
        return TensorTopology(shape, [same] * len(placements), topology.mesh_coords())
    axis = cluster_axis % device.shape.dims()
    if _is_line_along(topology, device, axis):
        return TensorTopology(shape, [same], topology.mesh_coords())
    per_axis = _per_axis(topology, device)
    if per_axis is None:
        return _refuse(f"the placements {topology} do not follow the axes of mesh {device.shape}", topology)
    extents, found = per_axis
    if dim is not None and _shards(found[axis], dim, rank):
        inner = range(axis + 1, len(found))
        if any(extents[i] > 1 and _shards(found[i], dim, rank) for i in inner):
            return _refuse(
                f"all_gather of tensor dim {dim} along mesh axis {axis} would interleave the shards of a tensor with the "
                f"placements {topology} on mesh {device.shape}: gather along the innermost axis that shards it first",
                topology,
            )
    found[axis] = same
    return _settled(topology, extents, found, rank, None) or topology


def summed(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None) -> TensorTopology:
    """After an all-reduce: over a whole mesh of two axes it sums along one after the other, and says so per axis."""
    topology = tensor.tensor_topology()
    across = sum(length > 1 for length in device.shape) > 1
    if cluster_axis is None and across and topology.mesh_coords() == list(device.coords):
        return TensorTopology(device.shape, [PlacementReplicate()] * device.shape.dims(), device.coords)
    return replicated(tensor, device, cluster_axis, dim)


def scattered(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After a reduce-scatter: dimension `dim` is cut over the axis of the group."""
    assert dim is not None
    topology, rank = tensor.tensor_topology(), tensor.shape.rank
    cut, coords = PlacementShard(dim), topology.mesh_coords()
    if cluster_axis is None:
        return TensorTopology(MeshShape([len(coords)]), [cut], coords)
    axis = cluster_axis % device.shape.dims()
    if _is_line_along(topology, device, axis):
        return TensorTopology(topology.distribution_shape(), [cut], coords)
    per_axis = _per_axis(topology, device)
    if per_axis is None:
        _refuse(f"the placements {topology} do not follow the axes of mesh {device.shape}", topology)
        return TensorTopology(MeshShape([len(coords)]), [cut], coords)
    extents, found = per_axis
    before, found[axis] = found[axis], cut
    said = _settled(topology, extents, found, rank, axis)
    if said is not None:
        return said
    # As the tensor was spread, like the reference; but never calling replicated what now differs: whoever reads it would lose pieces.
    return TensorTopology(extents, found, coords) if isinstance(before, PlacementReplicate) else topology


def partitioned(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After a partition: `dim` is cut over the group if its devices held the same before, or cuts of `dim`; else as it was spread."""
    assert dim is not None
    topology, rank = tensor.tensor_topology(), tensor.shape.rank
    cut, coords = PlacementShard(dim), topology.mesh_coords()
    if cluster_axis is None:
        spread = zip(topology.distribution_shape(), topology.placements(), strict=True)
        if all(extent < 2 or _takes(placement, dim, rank) for extent, placement in spread):
            return TensorTopology(MeshShape([len(coords)]), [cut], coords)
        return _refuse(_mixed(dim, "the whole mesh", topology), topology)
    axis = cluster_axis % device.shape.dims()
    if _is_line_along(topology, device, axis):
        return TensorTopology(topology.distribution_shape(), [cut], coords)
    per_axis = _per_axis(topology, device)
    if per_axis is None:
        return _refuse(f"the placements {topology} do not follow the axes of mesh {device.shape}", topology)
    extents, found = per_axis
    if not _takes(found[axis], dim, rank):
        return _refuse(_mixed(dim, f"axis {axis}", topology), topology)
    found[axis] = cut
    return _settled(topology, extents, found, rank, axis) or topology


def _takes(placement: Placement, dim: int, rank: int) -> bool:
    """Whether a cut of `dim` can be written in place of this."""
    return isinstance(placement, PlacementReplicate) or _shards(placement, dim, rank)


def _mixed(dim: int, where: str, topology: TensorTopology) -> str:
    return (
        f"tensor dim {dim} cut over {where}, which is cut along another dim already, is a layout no TensorTopology can express: "
        f"the placements before are {topology}"
    )


def _per_axis(topology: TensorTopology, device: MeshDevice) -> tuple[MeshShape, list[Placement]] | None:
    """The extents of the distribution and its placements per axis of the mesh; None where they do not follow its axes."""
    shape, placements = topology.distribution_shape(), topology.placements()
    if shape.dims() == device.shape.dims():
        fits = all(extent <= length for extent, length in zip(shape, device.shape, strict=True))
        return (shape, placements) if fits else None
    if shape.dims() != 1 or topology.mesh_coords() != list(device.coords):
        return None
    (everywhere,) = placements
    each: list[Placement] = [everywhere if length > 1 else PlacementReplicate() for length in device.shape]
    return device.shape, each


def _is_line_along(topology: TensorTopology, device: MeshDevice, axis: int) -> bool:
    """Whether one placement stands for devices that lie along this axis alone."""
    if topology.distribution_shape().dims() != 1 or device.shape.dims() == 1:
        return False
    coords = topology.mesh_coords()
    return all(len({coord[i] for coord in coords}) <= 1 for i in range(device.shape.dims()) if i != axis)


def _settled(
    topology: TensorTopology, extents: MeshShape, placements: list[Placement], rank: int, new: int | None
) -> TensorTopology | None:
    """Placements as they can be said: per axis, or as one where several axes cut one dimension in row-major order.

    None, or an error in strict mode, for anything else. `new` is the axis that was cut just now: what the outer axes held is cut
    further only if it is the innermost.
    """
    cuts: dict[int, list[int]] = {}
    for i, placement in enumerate(placements):
        if isinstance(placement, PlacementShard):
            cuts.setdefault(placement.dim % rank, []).append(i)
    for dim, axes in cuts.items():
        if len(axes) < 2:
            continue
        long = [i for i in axes if extents[i] > 1]
        for i in set(axes) - set(long):
            placements[i] = PlacementReplicate()
        if len(long) < 2:
            continue
        everything = [i for i in range(len(placements)) if extents[i] > 1]
        alone = len(cuts) == 1 and long == everything
        if not alone or (new is not None and any(i > new for i in range(len(placements)))):
            shown = TensorTopology(extents, placements, topology.mesh_coords())
            _refuse(
                f"tensor dim {dim} cut on axes {long} is a layout no TensorTopology can express: it would be {shown}",
                topology,
            )
            return None
        return TensorTopology(MeshShape([extents.mesh_size()]), [PlacementShard(dim)], topology.mesh_coords())
    return TensorTopology(extents, placements, topology.mesh_coords())


def _shards(placement: Placement, dim: int, rank: int) -> bool:
    return isinstance(placement, PlacementShard) and placement.dim % rank == dim


def _refuse(reason: str, instead: TensorTopology) -> TensorTopology:
    """Raise RuntimeError in strict mode, else go on with the placements of the tensor."""
    if settings.CONFIG.strict_ccl_topology:
        raise throw(reason, hint="ttnn.CONFIG.strict_ccl_topology = False keeps the placements of the tensor")
    return instead


def interleaved(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After a gather in another than device order: the axis holds the same everywhere, of `dim` as no mapper would cut it."""
    return replicated(tensor, device, cluster_axis, None)


def exchanged(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After an all-to-all: `dim` is cut over the axis of the group, in place of the dimension that came together."""
    return scattered(tensor, device, cluster_axis, dim)
