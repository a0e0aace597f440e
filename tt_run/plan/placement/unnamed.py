"""The mesh that one process makes of a described machine without any descriptor."""

from __future__ import annotations

from mgd.graph import Mesh
from mgd.shapes import discovery_shapes
from tt_run.plan.placement.demand import mesh_demand
from tt_run.plan.placement.physical import PhysicalGraph
from tt_run.plan.placement.search import Clock, embeddings


def discovered_mesh(physical: PhysicalGraph, clock: Clock) -> Mesh:
    """The first shape whose neighbours are linked at all, asking for as many channels as the widest pair of chips has.

    So a machine with one weak pair has a shape and no placement, as in the reference. Raises OutOfTime.
    """
    arch = physical.nodes[0].chip.arch
    widest = max((channels for row in physical.grid for channels in row.values()), default=1)
    for shape in discovery_shapes(len(physical.nodes)):
        pairs = Mesh(0, "M0", arch, shape, (1, 1), ("LINE", "LINE"), 1, "RELAXED")
        demand = mesh_demand(pairs, (), physical, processes=1).without_pins()
        if next(embeddings(demand, physical, clock), None) is not None:
            return Mesh(0, "M0", arch, shape, (1, 1), ("LINE", "LINE"), widest, "STRICT")
    raise AssertionError("a chip alone is a 1x1 mesh")
