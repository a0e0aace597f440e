"""From a mesh graph and described machines to a placement that can be shown, saved and launched, or to the reasons why not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mgd.diagnostics import Diagnostic
from mgd.expanding.connections import InterLink
from mgd.graph import MeshGraph
from mgd.lean import dataclass
from tt_run.errors import RefusedError
from tt_run.plan.placement import explain
from tt_run.plan.placement.assign import assign
from tt_run.plan.placement.demand import MeshDemand, demand_of_meshes, links_between
from tt_run.plan.placement.physical import PhysicalChip, PhysicalGraph
from tt_run.plan.placement.search import Clock, Embedding, OutOfTime, best_embedding

PLACEMENT_SECONDS = 60.0
RULE = "canonical: lexicographically smallest by (host, tray, location), row-major"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A link of a RELAXED mesh whose pair of chips has fewer channels than asked."""

    a: int
    b: int
    channels: int
    wanted: int


@dataclass(frozen=True, slots=True)
class PlacedMesh:
    """One mesh on chips: `nodes[d]` is the chip of device d, row-major."""

    demand: MeshDemand
    nodes: tuple[PhysicalChip, ...]
    shortfalls: tuple[Shortfall, ...]

    @property
    def mesh_id(self) -> int:
        return self.demand.mesh.mesh_id

    def rank_nodes(self, host_rank: int) -> tuple[PhysicalChip, ...]:
        """The chips of one host rank, row-major."""
        return tuple(node for d, node in enumerate(self.nodes) if _rank_of(self.demand, d) == host_rank)

    def host_of(self, host_rank: int) -> str:
        return self.rank_nodes(host_rank)[0].host

    def visible_devices(self, host_rank: int) -> str:
        """TT_VISIBLE_DEVICES of a host rank: its PCIe chips ascending, comma-separated."""
        return ",".join(map(str, sorted({node.chip.pcie_chip for node in self.rank_nodes(host_rank)})))


def _rank_of(demand: MeshDemand, device: int) -> int:
    columns = demand.mesh.dims[1]
    return demand.mesh.host_rank_of(device // columns, device % columns)


@dataclass(frozen=True, slots=True)
class Placed:
    """All meshes on their chips; `proven` is False when fewer hosts might have done but were not ruled out."""

    meshes: tuple[PlacedMesh, ...]
    physical: PhysicalGraph
    proven: bool

    @property
    def unused(self) -> tuple[PhysicalChip, ...]:
        taken = {node.index for mesh in self.meshes for node in mesh.nodes}
        return tuple(node for node in self.physical.nodes if node.index not in taken)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The cables that links of RELAXED meshes lack on these chips, each as `--degrade` takes it."""
        return tuple(
            f"M{mesh.mesh_id}D{lack.a}-D{lack.b}:{lack.wanted - lack.channels}"
            for mesh in self.meshes
            for lack in mesh.shortfalls
        )

    def as_json(self) -> dict[str, object]:
        """Where every device sits, the channels that each link uses, which run short, what stays unused.

        Unique ids are text: they exceed 2^53.
        """
        return {
            "rule": RULE,
            "proven": self.proven,
            "meshes": [_mesh_json(mesh, self.physical) for mesh in self.meshes],
            "unused": [_node_json(node) for node in self.unused],
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.as_json(), indent=1)

    def table(self) -> str:
        """One line per host rank: host, block and chips, then the shortfalls."""
        lines = [f"{'mesh':>4} {'host rank':>9}  {'host':<20} {'visible':<12} chips by mesh coordinate"]
        for placed in self.meshes:
            mesh = placed.demand.mesh
            for rank in range(mesh.host_count):
                block = mesh.host_block(rank)
                rows = [
                    " ".join(
                        str(placed.nodes[r * mesh.dims[1] + c].chip.chip_id)
                        for c in range(block.column, block.column + block.columns)
                    )
                    for r in range(block.row, block.row + block.rows)
                ]
                lines.append(
                    f"{mesh.mesh_id:>4} {rank:>9}  {placed.host_of(rank):<20} {placed.visible_devices(rank):<12} {' / '.join(rows)}"
                )
        for placed in self.meshes:
            lines.extend(
                f"mesh {placed.mesh_id}: link D{s.a}-D{s.b} has {s.channels} of {s.wanted} channels"
                for s in placed.shortfalls
            )
        if self.unused:
            lines.append(f"unused: {len(self.unused)} chips")
        return "\n".join(lines)


def _node_json(node: PhysicalChip) -> dict[str, object]:
    return {
        "host": node.host,
        "chip": node.chip.chip_id,
        "unique_id": str(node.chip.unique_id),
        "tray": node.chip.tray,
        "location": node.chip.location,
    }


def _mesh_json(placed: PlacedMesh, physical: PhysicalGraph) -> dict[str, object]:
    columns = placed.demand.mesh.dims[1]
    return {
        "mesh_id": placed.mesh_id,
        "devices": [
            {
                "coordinate": [d // columns, d % columns],
                "host_rank": _rank_of(placed.demand, d),
                **_node_json(node),
            }
            for d, node in enumerate(placed.nodes)
        ],
        "links": [
            {
                "link": [a, b],
                "channels": min(
                    placed.demand.channels, physical.grid[placed.nodes[a].index].get(placed.nodes[b].index, 0)
                ),
            }
            for a, b in placed.demand.links
        ],
        "shortfalls": [
            {"link": [s.a, s.b], "channels": s.channels, "wanted": s.wanted} for s in placed.shortfalls
        ],
    }


def place(
    graph: MeshGraph,
    physical: PhysicalGraph,
    *,
    seconds: float = PLACEMENT_SECONDS,
    file: str = "",
    hosts: Mapping[int, str] | None = None,
) -> Placed:
    """Place every mesh of a graph on a machine; `hosts` are those of pinned meshes by id.

    Raises RefusedError with the reasons, cheapest first, when there is no placement, and with TTR179 when none was found in
    `seconds`; the two are never mixed.
    """
    wanted = demand_of_meshes(graph, physical, hosts=hosts)
    links = links_between(graph)
    first = explain.sizes(wanted, physical, file)
    if first:
        raise RefusedError(first)
    clock = Clock(seconds)
    try:
        placed, proven = _solve(wanted, links, physical, clock)
    except OutOfTime:
        raise RefusedError(explain.out_of_time(seconds, file)) from None
    if placed is None and not proven:
        raise RefusedError(explain.out_of_patience(file))
    if placed is None:
        raise RefusedError(explain.why_not(wanted, links, physical, file, Clock(seconds / 4)))
    return Placed(
        tuple(_placed_mesh(demand, nodes, physical) for demand, nodes in zip(wanted, placed, strict=True)),
        physical,
        proven,
    )


def _solve(
    wanted: Sequence[MeshDemand],
    links: dict[tuple[int, int], list[InterLink]],
    physical: PhysicalGraph,
    clock: Clock,
) -> tuple[tuple[Embedding, ...] | None, bool]:
    if len(wanted) == 1:
        found = best_embedding(wanted[0], physical, clock)
        return (None if found is None else (found,)), True
    result = assign(wanted, links, physical, clock)
    return result.placed, result.proven


def _placed_mesh(demand: MeshDemand, placed: Embedding, physical: PhysicalGraph) -> PlacedMesh:
    shortfalls = []
    for a, b in demand.links:
        have = physical.grid[placed[a]].get(placed[b], 0)
        if have < demand.channels:
            shortfalls.append(Shortfall(a, b, have, demand.channels))
    return PlacedMesh(demand, tuple(physical.nodes[i] for i in placed), tuple(shortfalls))


def shortfall_findings(placed: Placed, file: str) -> list[Diagnostic]:
    """Shortfalls of RELAXED links as warnings, one per mesh."""
    return explain.shortfalls(
        [(mesh.mesh_id, len(mesh.shortfalls), mesh.shortfalls) for mesh in placed.meshes if mesh.shortfalls],
        file,
    )
