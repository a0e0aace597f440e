"""What a mesh asks of the machine, as plain data for the search: links with channels, host blocks, pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph, PinGroup
from mgd.lean import dataclass, replace
from tt_run.plan.placement.physical import PhysicalGraph

Slot = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MeshDemand:
    """One mesh: `earlier[d]` lists the lower-numbered neighbours of device d, `degree[d]` all its neighbours.

    `host` is the one host that the mesh may take (None: any). Every link wants `channels`; a STRICT mesh refuses less, a RELAXED one counts the shortfall. `pins[d]` is the set of
    (tray, location) slots that device d may take.
    """

    mesh: Mesh
    earlier: tuple[tuple[int, ...], ...]
    degree: tuple[int, ...]
    host_rank: tuple[int, ...]
    pins: dict[int, frozenset[Slot]]
    strict: bool
    host: str | None = None

    @property
    def channels(self) -> int:
        return self.mesh.channels

    @property
    def size(self) -> int:
        return self.mesh.device_count

    @property
    def links(self) -> list[tuple[int, int]]:
        return [(a, b) for b, earlier in enumerate(self.earlier) for a in earlier]

    def without_pins(self) -> MeshDemand:
        return replace(self, pins={})

    def without_hosts(self) -> MeshDemand:
        return replace(self, host_rank=(-1,) * self.size)

    def shape_key(self) -> tuple[object, ...]:
        """Meshes with equal keys fit the same regions of the machine."""
        mesh = self.mesh
        pins = tuple(sorted((device, tuple(sorted(slots))) for device, slots in self.pins.items()))
        return (
            mesh.arch,
            mesh.dims,
            mesh.dim_types,
            self.host_rank,
            mesh.channels,
            self.strict,
            pins,
            self.host,
        )


def demand_of_meshes(
    graph: MeshGraph,
    physical: PhysicalGraph,
    *,
    processes: int | None = None,
    hosts: Mapping[int, str] | None = None,
) -> list[MeshDemand]:
    """The demand of every mesh in id order.

    `processes` tells whether the single-process corner rule applies; `hosts` are those of pinned meshes by id.
    """
    pinned = hosts or {}
    ordered = sorted(graph.meshes, key=lambda mesh: mesh.mesh_id)
    total = (
        processes if processes is not None else sum(mesh.host_count for mesh in ordered if not mesh.is_switch)
    )
    return [
        replace(mesh_demand(mesh, graph.pins, physical, processes=total), host=pinned.get(mesh.mesh_id))
        for mesh in ordered
    ]


def mesh_demand(
    mesh: Mesh, pins: Sequence[PinGroup], physical: PhysicalGraph, *, processes: int
) -> MeshDemand:
    """The demand of one mesh with its pins resolved against the slots and board revisions of the machine."""
    earlier: list[list[int]] = [[] for _ in range(mesh.device_count)]
    degree = [0] * mesh.device_count
    for link in mesh.grid_links():
        low, high = sorted((link.a, link.b))
        earlier[high].append(low)
        degree[low] += 1
        degree[high] += 1
    hosts = tuple(mesh.host_rank_of(d // mesh.dims[1], d % mesh.dims[1]) for d in range(mesh.device_count))
    allowed: dict[int, frozenset[Slot]] = {}
    for devices, slots in [*_user_pins(mesh, pins, physical), *corner_pins(mesh, physical, processes)]:
        for device in devices:
            allowed[device] = allowed[device] & slots if device in allowed else slots
    return MeshDemand(
        mesh,
        tuple(tuple(sorted(row)) for row in earlier),
        tuple(degree),
        hosts,
        allowed,
        mesh.policy == "STRICT",
    )


def _user_pins(
    mesh: Mesh, pins: Sequence[PinGroup], physical: PhysicalGraph
) -> list[tuple[tuple[int, ...], frozenset[Slot]]]:
    present = {node.slot for node in physical.nodes}
    revisions = _board_revisions(physical)
    return [
        (group.devices, frozenset(slot for slot in group.slots if slot in present))
        for group in pins
        if group.mesh_id == mesh.mesh_id
        and group.board_revision in ("", "BOARD_REVISION_UNSPECIFIED", *revisions)
    ]


def _board_revisions(physical: PhysicalGraph) -> set[str]:
    """WH, BH_REV_AB or BH_REV_C: bits 35..32 of a Blackhole board's id are its revision, 3 and above is C."""
    found = set()
    for node in physical.nodes:
        if node.chip.arch == "WORMHOLE_B0":
            found.add("WH")
        elif node.chip.arch == "BLACKHOLE":
            found.add("BH_REV_C" if (node.chip.board_id >> 32) & 0xF >= 3 else "BH_REV_AB")
    return found


def corner_pins(
    mesh: Mesh, physical: PhysicalGraph, processes: int
) -> list[tuple[tuple[int, ...], frozenset[Slot]]]:
    """On Galaxies the corners of whole-Galaxy meshes sit on the trays' cable corners, so that a torus is not folded."""
    rows, columns = mesh.dims
    if not physical.is_galaxy or min(mesh.dims) == 1 or mesh.device_count % 32:
        return []
    corners = (0, columns - 1, (rows - 1) * columns, rows * columns - 1)
    pins: list[tuple[tuple[int, ...], frozenset[Slot]]] = [
        (corners, frozenset((tray, 1) for tray in range(1, 5)))
    ]
    if processes == 1:
        pins.append(((0,), frozenset({(1, 1)})))
    return pins


def links_between(graph: MeshGraph) -> dict[tuple[int, int], list[InterLink]]:
    """Requested inter-mesh links by ordered pair of mesh ids (low, high)."""
    found: dict[tuple[int, int], list[InterLink]] = {}
    for link in graph.links:
        if link.a != link.b:
            found.setdefault((min(link.a, link.b), max(link.a, link.b)), []).append(link)
    return found
