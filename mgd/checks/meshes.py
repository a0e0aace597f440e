"""What the mesh graph refuses: shapes, ids, express links (reference library 0.81.1)."""

from __future__ import annotations

from mgd.checks.grids import shape
from mgd.checks.references import Reached
from mgd.checks.report import Report
from mgd.descriptor import Architecture, GraphRef, MeshDescriptor, NodeRef
from mgd.expanding.resolution import dims_of, kind_and_name, local_id, reference_of
from mgd.text.problems import quoted


def check_meshes(report: Report, reached: Reached) -> None:
    """Rules MGD025, MGD028 and MGD029 of what is instantiated."""
    descriptor = report.descriptor
    if not descriptor.mesh_descriptors and descriptor.switch_descriptors:
        report.add(
            "MGD028", "the file describes switches and no mesh", report.at(descriptor.switch_descriptors[0]),
            help='add mesh_descriptors { name: "M0" … }',
        )  # fmt: skip
    for grid in reached.grids:
        dims = dims_of(grid)
        if not isinstance(grid, MeshDescriptor) or len(dims) != 2 or min(dims) < 1:
            continue
        rows, columns = dims
        if grid.arch == Architecture.WORMHOLE_B0 and rows % 2 and columns % 2 and (rows, columns) != (1, 1):
            report.add(
                "MGD025", f"{quoted(grid.name)} is {shape((rows, columns))}; a Wormhole mesh has an even side",
                report.at(grid.device_topology, "dims"), help="make one dimension even",
            )  # fmt: skip
        _express_links(report, grid, (rows, columns))


def _express_links(report: Report, grid: MeshDescriptor, dims: tuple[int, int]) -> None:
    for link in grid.express_links:
        name = quoted(grid.name)
        if link.dim_idx > 1:
            report.add(
                "MGD029", f"express links of {name} run along dimension {link.dim_idx}; it has 0 and 1",
                report.at(link, "dim_idx"), help="write dim_idx: 0 for rows or dim_idx: 1 for columns",
            )  # fmt: skip
            continue
        length, step = dims[link.dim_idx], link.pattern.step if link.pattern else 0
        if step < 2 or length % step:
            steps = ", ".join(str(n) for n in range(2, min(length, 64) + 1) if length % n == 0)
            told = f"express links of {name} have step {step}; dimension {link.dim_idx} has {length} devices"
            place = report.at(link.pattern, "step") if link.pattern else report.at(link)
            help = f"write a step of {steps}" if steps else "remove them: the dimension is too short"
            report.add("MGD029", told, place, help=help)


def check_ids(report: Report, top: NodeRef, reached: Reached, instances: int) -> None:
    """Rule MGD027: ids of meshes and switches lie in 0..N-1, N being how many there are.

    Ids may repeat across instances of nested graphs; within a flat descriptor this makes them exactly 0..N-1.
    """
    nodes = [top]
    for graph in reached.graphs:
        nodes += graph.instances
    for node in nodes:
        reference = reference_of(node)
        assert reference is not None, "what is counted is sound"
        if isinstance(reference, GraphRef):
            continue
        number, kind = local_id(reference), kind_and_name(reference)[0]
        if not 0 <= number < instances:
            whole = "only mesh_id 0" if instances == 1 else f"ids 0 to {instances - 1} without gaps"
            many = "1 mesh or switch" if instances == 1 else f"{instances} meshes and switches"
            report.add(
                "MGD027",
                f"{kind}_id {number} in a descriptor of {many}",
                report.at(reference, f"{kind}_id"),
                help=f"use {whole}",
            )
