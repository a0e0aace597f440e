"""Where the result of an operation lies: the topology that follows from those of its operands.

Per distribution axis Shard wins over Replicate, of two Shards the first operand's, and no dimension is told of two axes; the distribution is
as large along each as the larger. Between distributions of different rank the sharded one wins, of two sharded ones that with more axes, and the
first of two that are not, unless an operand is of a class that tells its place by the axes of the mesh: then a line
over all devices is told by them, too, and nothing of either is lost. Dimensions are not adjusted: transposing a tensor sharded on dimension 3 still says so.
A result counts every device of the mesh among its coordinates, also those without a shard. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.spec.topology import (
    Placement,
    PlacementReplicate,
    PlacementShard,
    TensorTopology,
    holders,
    leaves_out,
    of_one_shard,
    on_part,
    only_shard,
)
from tt_run.runtime.tensor.tensor import Tensor


def result_topology(operands: Sequence[Tensor]) -> TensorTopology:
    """The topology of what an operation makes of device tensors on one mesh."""
    first = operands[0]
    topology, coords = first.tensor_topology(), first.site.coords
    somewhere = leaves_out(topology, len(coords))
    for other in operands[1:]:
        theirs = other.tensor_topology()
        if theirs is not topology:
            somewhere = somewhere or leaves_out(theirs, len(coords))
            topology = merged(topology, theirs, _told_axes(operands))
    if not somewhere:
        return topology
    found = TensorTopology(topology.distribution_shape(), topology.placements(), coords)
    parts = [holders(operand.tensor_topology()) for operand in operands]
    for operand in operands:
        alone = only_shard(operand.tensor_topology())
        if alone is not None and all(alone in part for part in parts):
            return of_one_shard(found, alone)
    return on_part(found, [coord for coord in coords if all(coord in part for part in parts)])


def merged(one: TensorTopology, other: TensorTopology, mesh: MeshShape | None = None) -> TensorTopology:
    """The topology of a result of two operands; with a `mesh`, distributions of different rank are told by its axes."""
    ours, theirs = one.placements(), other.placements()
    if len(ours) != len(theirs) and mesh is not None:
        one, other = by_axes(one, mesh), by_axes(other, mesh)
        ours, theirs = one.placements(), other.placements()
    if len(ours) != len(theirs):
        if _is_sharded(ours) == _is_sharded(theirs):
            return one if not _is_sharded(ours) or len(ours) > len(theirs) else other
        return one if _is_sharded(ours) else other
    shape = _larger(one.distribution_shape(), other.distribution_shape())
    if shape == one.distribution_shape() and not _is_sharded(theirs):
        return one
    if shape == other.distribution_shape() and not _is_sharded(ours):
        return other
    return TensorTopology(shape, _along_each(ours, theirs, twice=mesh is not None), one.mesh_coords())


def _larger(one: MeshShape, other: MeshShape) -> MeshShape:
    if one == other:
        return one
    return MeshShape([max(extents) for extents in zip(one, other, strict=True)])


def _along_each(ours: Sequence[Placement], theirs: Sequence[Placement], twice: bool) -> list[Placement]:
    """Ours, and theirs along axes where we replicate; a dimension is told of two axes only where that loses nothing: `twice`."""
    found = list(ours)
    cut = {each.dim for each in ours if isinstance(each, PlacementShard)}
    for axis, their in enumerate(theirs):
        if not isinstance(their, PlacementShard) or not isinstance(found[axis], PlacementReplicate):
            continue
        if twice or their.dim not in cut:
            found[axis] = their
            cut.add(their.dim)
    return found


def by_axes(topology: TensorTopology, mesh: MeshShape) -> TensorTopology:
    """A topology with one placement for each axis of a mesh: a line over all devices is its placement along every axis longer than 1.

    What lies on some devices only stays as it is.
    """
    placements = topology.placements()
    if len(placements) == mesh.dims() or len(placements) != 1:
        return topology
    if topology.distribution_shape().mesh_size() != mesh.mesh_size():
        return topology
    along: list[Placement] = [placements[0] if extent > 1 else PlacementReplicate() for extent in mesh]
    return TensorTopology(mesh, along, topology.mesh_coords())


def cut_axes(topology: TensorTopology, mesh: MeshShape) -> set[int]:
    """The axes of a mesh along which devices hold different shards; a distribution over all of it as one line differs along each."""
    placements, extents = topology.placements(), list(mesh)
    if len(placements) != len(extents):
        placements = placements[:1] * len(extents)
    return {
        axis
        for axis, placement in enumerate(placements)
        if extents[axis] > 1 and not isinstance(placement, PlacementReplicate)
    }


def _told_axes(operands: Sequence[Tensor]) -> MeshShape | None:
    device = operands[0].device()
    told = device is not None and any(operand.tells_axes for operand in operands)
    return device.shape if told and device is not None else None


def _is_sharded(placements: Sequence[Placement]) -> bool:
    return any(not isinstance(p, PlacementReplicate) for p in placements)
