"""SystemMesh: the mesh this process belongs to, which of its devices are here, and which rank hosts each of the others.

A descriptor (TT_MESH_GRAPH_DESC_PATH, with TT_MESH_ID and TT_MESH_HOST_RANK) decides; without one a lone process discovers the
machine named by TT_RUN_SYSTEM (ttnn specification, sections 2 and 11; MGD specification, sections 8 and 10).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from tt_run import contract
from tt_run.runtime import guard
from tt_run.runtime.comm import Peer, World, world
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.coordinate import MeshCoordinate, MeshCoordinateRange, row_major
from tt_run.runtime.mesh.machine import (
    Discovered,
    Machine,
    discover,
    local_numbers,
    machine_of,
    machine_of_system,
    parse_visible,
)
from tt_run.runtime.mesh.shape import MeshShape

if TYPE_CHECKING:
    from mgd.graph import Block, Mesh, MeshGraph

DEFAULT_SYSTEM = "t3000"


@dataclass(frozen=True, slots=True)
class SystemMesh:
    """Devices in row-major order: `ids[i]` is the process-local id of a local device and None for a remote one, `owners[i]` its rank.

    `visible_devices` and `visible_pcie_devices` count what this process sees, in the mesh or not.
    """

    mesh_id: int
    shape: MeshShape
    ids: tuple[int | None, ...]
    owners: tuple[int, ...]
    machine: Machine
    local_range: MeshCoordinateRange
    wraps: tuple[bool, bool] = (False, False)
    channels: int = 1
    visible_devices: int = 0
    visible_pcie_devices: int = 0
    coords: tuple[MeshCoordinate, ...] = field(default=(), compare=False)

    @property
    def local_shape(self) -> MeshShape:
        """The extents of this rank's block."""
        return self.local_range.shape()

    @property
    def all_local(self) -> bool:
        """True when this rank hosts every device."""
        return None not in self.ids

    def position(self, coord: MeshCoordinate) -> int:
        """The row-major number of a device. Raises RuntimeError for a coordinate outside the mesh."""
        inside = coord.dims() == 2 and all(
            0 <= c < extent for c, extent in zip(coord, self.shape, strict=True)
        )
        if not inside:
            raise fatal(
                f"Coordinate {coord} is out of bounds for shape {self.shape}", "coord.dims() == shape.dims()"
            )
        return coord[0] * self.shape[1] + coord[1]

    def device_id(self, coord: MeshCoordinate) -> int:
        """The process-local id of a local device. Raises RuntimeError for a remote one."""
        found = self.ids[self.position(coord)]
        if found is None:
            raise fatal(f"Device at {coord} is remote.", "is_local(coord)")
        return found


class SystemMeshDescriptor:
    """The system mesh as programs ask for it."""

    bound_name = "ttnn._ttnn.multi_device.SystemMeshDescriptor"

    def __init__(self) -> None:
        self._system = system_mesh()

    def shape(self) -> MeshShape:
        """The extents of the whole mesh."""
        return self._system.shape

    def local_shape(self) -> MeshShape:
        """The extents of this rank's block."""
        return self._system.local_shape

    def all_local(self) -> bool:
        """True when every device is here."""
        return self._system.all_local

    def is_local(self, coord: MeshCoordinate) -> bool:
        """True when the device is here. Raises RuntimeError for a coordinate outside the mesh."""
        return self._system.ids[self._system.position(coord)] is not None

    def get_device_id(self, coord: MeshCoordinate) -> int:
        """The process-local id of a device. Raises RuntimeError for a remote one."""
        return self._system.device_id(coord)


@cache
def system_mesh() -> SystemMesh:
    """The system mesh of this process; found once. With several ranks the first call is a meeting of all of them."""
    guard.start()
    return find_system_mesh(os.environ, world())


def find_system_mesh(environment: Mapping[str, str], ranks: World) -> SystemMesh:
    """Build the system mesh from an environment and the ranks of the job.

    Raises RuntimeError when descriptor, environment and ranks do not fit together.
    """
    path = environment.get(contract.MESH_GRAPH_DESC_PATH)
    if path:
        return _from_descriptor(path, environment, ranks)
    from mgd.systems import UnknownSystem, find

    try:
        system = find(environment.get(contract.SYSTEM) or DEFAULT_SYSTEM)
    except UnknownSystem as error:
        raise fatal(f"{contract.SYSTEM}: {error}") from None
    if ranks.size > 1 or system.hosts > 1 or not system.cluster_type or system.mesh_count > 1:
        return _from_descriptor(str(system.path), environment, ranks)
    return _discovered(machine_of_system(system), environment.get(contract.VISIBLE_DEVICES), ranks.rank)


def _discovered(machine: Machine, visible_text: str | None, rank: int) -> SystemMesh:
    visible = parse_visible(visible_text, machine)
    found = discover(machine, visible)
    seen = machine.chips if visible is None else machine.exposed(visible)
    numbers = local_numbers(machine, seen) if visible is not None else {chip: chip for chip in seen}
    shape = MeshShape(found.dims)
    return SystemMesh(
        mesh_id=0,
        shape=shape,
        ids=tuple(numbers[chip] for chip in found.chips),
        owners=(rank,) * len(found.chips),
        machine=replace(machine, cluster_type=_cluster_type(machine, found)),
        local_range=MeshCoordinateRange(shape),
        channels=2,
        visible_devices=len(seen),
        visible_pcie_devices=len(machine.pcie if visible is None else visible),
        coords=tuple(row_major(shape)),
    )


def _cluster_type(machine: Machine, found: Discovered) -> str:
    """What a machine of N300 cards is taken for when only some of its chips are visible."""
    if not machine.partners or len(found.chips) == len(machine.chips):
        return machine.cluster_type
    return "N300_2x2" if found.dims == (2, 2) else "N300"


def _from_descriptor(path: str, environment: Mapping[str, str], ranks: World) -> SystemMesh:
    graph = _graph(path)
    # Sub-contexts number their meshes independently: only the ranks of this one count.
    peers = tuple(peer for peer in ranks.peers if peer.subcontext == ranks.peers[ranks.rank].subcontext)
    places = _places(peers, {mesh.mesh_id: mesh for mesh in graph.meshes if not mesh.is_switch}, path)
    mesh_id, host_rank = places[ranks.rank]
    mesh = graph.mesh(mesh_id)
    owners = _owners(mesh, places, path)
    block = mesh.host_block(host_rank)
    ids, machine, pcie = _local_ids(mesh, block, environment.get(contract.VISIBLE_DEVICES))
    shape = MeshShape(mesh.dims)
    return SystemMesh(
        mesh_id=mesh_id,
        shape=shape,
        ids=ids,
        owners=owners,
        machine=machine,
        local_range=MeshCoordinateRange(MeshCoordinate(block.row, block.column), MeshCoordinate(block.last)),
        wraps=(mesh.wraps(0), mesh.wraps(1)),
        channels=mesh.channels,
        visible_devices=block.rows * block.columns,
        visible_pcie_devices=pcie,
        coords=tuple(row_major(shape)),
    )


def _graph(path: str) -> MeshGraph:
    from mgd import MgdError, expand, load

    try:
        return expand(load(path))
    except MgdError as error:
        raise fatal(f"{contract.MESH_GRAPH_DESC_PATH}={path} cannot be used:\n{error}") from None


def _places(peers: tuple[Peer, ...], meshes: Mapping[int, Mesh], path: str) -> dict[int, tuple[int, int]]:
    """Each rank's (mesh_id, host_rank). What the environment leaves open goes by rank: mesh after mesh, host rank after host rank."""
    slots = [(mesh.mesh_id, host) for mesh in meshes.values() for host in range(mesh.host_count)]
    places: dict[int, tuple[int, int]] = {}
    for peer in peers:
        mesh_id, host_rank = peer.mesh_id, peer.mesh_host_rank
        if mesh_id is None:
            mesh_id = slots[len(places) % len(slots)][0] if len(peers) > 1 else next(iter(meshes))
        if mesh_id not in meshes:
            raise fatal(
                f"rank {peer.rank} has {contract.MESH_ID}={mesh_id}, but {path} has the meshes {sorted(meshes)}"
            )
        if host_rank is None:
            host_rank = sum(1 for other, _ in places.values() if other == mesh_id)
        places[peer.rank] = (mesh_id, host_rank)
    return places


def _owners(mesh: Mesh, places: Mapping[int, tuple[int, int]], path: str) -> tuple[int, ...]:
    """The rank that hosts each device of a mesh. Raises RuntimeError unless every host rank is taken exactly once."""
    ranks: dict[int, int] = {}
    problems = []
    for rank, (mesh_id, host_rank) in places.items():
        if mesh_id != mesh.mesh_id:
            continue
        if not 0 <= host_rank < mesh.host_count:
            problems.append(
                f"rank {rank} has {contract.MESH_HOST_RANK}={host_rank}, the mesh has 0..{mesh.host_count - 1}"
            )
        elif host_rank in ranks:
            problems.append(
                f"ranks {ranks[host_rank]} and {rank} both have {contract.MESH_HOST_RANK}={host_rank}"
            )
        else:
            ranks[host_rank] = rank
    missing = [host for host in range(mesh.host_count) if host not in ranks]
    if missing:
        problems.append(f"no rank has {contract.MESH_HOST_RANK}={', '.join(map(str, missing))}")
    if problems:
        hosts = f"{mesh.host_dims[0]}x{mesh.host_dims[1]}"
        raise fatal(
            f"Mesh {mesh.mesh_id} of {path} is cut over {hosts} hosts and the job has {len(places)} rank(s): {'; '.join(problems)}. "
            "Start it with tt-run and a rank binding that covers every host rank."
        )
    rows, columns = mesh.dims
    return tuple(ranks[mesh.host_rank_of(row, column)] for row in range(rows) for column in range(columns))


def _local_ids(
    mesh: Mesh, block: Block, visible_text: str | None
) -> tuple[tuple[int | None, ...], Machine, int]:
    """Process-local ids of the block's devices (None elsewhere), the machine, and how many PCIe chips the process sees."""
    machine = machine_of(mesh.arch, mesh.dims)
    columns = mesh.dims[1]
    places = [row * columns + column for row, column in block.devices]
    chips = [machine.chips[place] for place in places]
    whole = len(chips) == mesh.device_count
    visible = _visible_somewhere(visible_text, mesh.arch)
    numbers = {chip: chip for chip in chips} if whole and visible is None else local_numbers(machine, chips)
    pcie = sum(1 for chip in chips if chip in machine.pcie) or len(chips)
    if visible is not None:
        exposed = len(visible) * (2 if machine.partners else 1)
        if exposed < len(chips):
            raise fatal(
                f"TT_VISIBLE_DEVICES={visible_text} exposes {exposed} devices, but this rank's block of mesh {mesh.mesh_id} has {len(chips)}."
            )
        pcie = len(visible)
    ids: list[int | None] = [None] * mesh.device_count
    for place, chip in zip(places, chips, strict=True):
        ids[place] = numbers[chip]
    return tuple(ids), machine, pcie


def _visible_somewhere(text: str | None, arch: str) -> tuple[int, ...] | None:
    """The visible devices, numbered on a machine that may be larger than the mesh: only their count matters then."""
    if text is None or not text.strip():
        return None
    largest = 1 + max((int(word) for word in text.split(",") if word.strip().isdigit()), default=0)
    return parse_visible(text, Machine(arch, "CUSTOM", (1, largest), (), tuple(range(largest)), {}))
