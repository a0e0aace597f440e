"""SystemMesh: the mesh this process belongs to, which of its devices are here, and which rank hosts each of the others.

A descriptor (TT_MESH_GRAPH_DESC_PATH, with TT_MESH_ID and TT_MESH_HOST_RANK) decides; without one a lone process discovers the
machine named by TT_RUN_SYSTEM (reference library 0.81.1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mgd.lean import dataclass, field, replace
from tt_run import contract
from tt_run.runtime import guard
from tt_run.runtime.comm.world import World, world
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint, row_major
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.hosting import described_ids, local_ids, owners_of, places_of
from tt_run.runtime.mesh.machine import (
    Machine,
    discover,
    local_numbers,
    machine_of_system,
    parse_visible,
)
from tt_run.runtime.native.classes import Native, native

if TYPE_CHECKING:
    from mgd.graph import Mesh, MeshGraph
    from mgd.systems import System


@dataclass(frozen=True, slots=True)
class SystemMesh:
    """Devices in row-major order: `ids[i]` is the process-local id of a local device and None for a remote one, `owners[i]` its rank.

    `visible_devices` and `visible_pcie_devices` count what this process sees, in the mesh or not; `channels` those of
    a link as the descriptor has them, 0 without one.
    """

    mesh_id: int
    shape: MeshShape
    ids: tuple[int | None, ...]
    owners: tuple[int, ...]
    machine: Machine
    local_range: MeshCoordinateRange
    wraps: tuple[bool, bool] = (False, False)
    visible_devices: int = 0
    visible_pcie_devices: int = 0
    coords: tuple[MeshCoordinate, ...] = field(default=(), compare=False)
    channels: int = 0

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
                f"Coordinate {coord} is out of bounds for shape {self.shape}",
                "coord.dims() == shape.dims()",
                hint=coordinate_hint(self.shape),
            )
        return coord[0] * self.shape[1] + coord[1]

    def device_id(self, coord: MeshCoordinate) -> int:
        """The process-local id of a local device. Raises RuntimeError for a remote one."""
        found = self.ids[self.position(coord)]
        if found is None:
            raise fatal(
                f"Device at {coord} is remote.",
                "is_local(coord)",
                hint="ask is_local(coord) first: another rank hosts this device",
            )
        return found


@native("ttnn._ttnn.multi_device.SystemMeshDescriptor")
class SystemMeshDescriptor(metaclass=Native):
    """The system mesh as programs ask for it."""

    _bound_name = "ttnn._ttnn.multi_device.SystemMeshDescriptor"

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
    source = _source(environment, ranks)
    if isinstance(source, str):
        return _from_descriptor(source, environment, ranks)
    return _discovered(machine_of_system(source), environment.get(contract.VISIBLE_DEVICES), ranks.rank)


def described_meshes(environment: Mapping[str, str], ranks: World) -> dict[int, str]:
    """The meshes that ranks can host, also those of other ranks: their ids, and along which axes they close to rings, as TORUS_XY."""
    source = _source(environment, ranks)
    if isinstance(source, str):
        from mgd.expanding.topology import fabric_type

        return {number: fabric_type(mesh) for number, mesh in sorted(_by_id(_graph(source), source).items())}
    return {0: "MESH"}


def _source(environment: Mapping[str, str], ranks: World) -> str | System:
    """The path of the descriptor that decides, or the machine that a lone process discovers."""
    path = environment.get(contract.MESH_GRAPH_DESC_PATH)
    if path:
        return path
    from mgd.systems import UnknownSystem, find

    try:
        system = find(environment.get(contract.SYSTEM) or contract.DEFAULT_SYSTEM)
    except UnknownSystem as error:
        raise fatal(f"{contract.SYSTEM}: {error}", hint="mgd systems lists them") from None
    if ranks.size > 1 or system.hosts > 1 or not system.cluster_type:
        return str(system.path)
    return system


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
        machine=replace(machine, cluster_type=_cluster_type(machine, found.dims)),
        local_range=MeshCoordinateRange(shape),
        visible_devices=len(seen),
        visible_pcie_devices=len(machine.pcie if visible is None else visible),
        coords=tuple(row_major(shape)),
    )


def _cluster_type(machine: Machine, dims: tuple[int, int]) -> str:
    """What a machine of N300 cards is taken for when only some of its chips, in a block of `dims`, are visible."""
    if not machine.partners or dims[0] * dims[1] == len(machine.chips):
        return machine.cluster_type
    return "N300_2x2" if dims == (2, 2) else "N300"


def _kind_of_shipped(path: str) -> str | None:
    """The kind of machine of a system that is shipped with this descriptor; its shape alone may be that of another's."""
    from mgd.systems import systems

    file = Path(path).resolve()
    # To resolve the paths of all takes a millisecond.
    named = (system for system in systems() if system.path.name == file.name)
    return next((system.cluster_type for system in named if system.path.resolve() == file), None)


def _from_descriptor(path: str, environment: Mapping[str, str], ranks: World) -> SystemMesh:
    graph = _graph(path)
    # Sub-contexts number their meshes independently: only the ranks of this one count.
    peers = tuple(peer for peer in ranks.peers if peer.subcontext == ranks.peers[ranks.rank].subcontext)
    meshes = _by_id(graph, path)
    places = places_of(peers, meshes, path)
    mesh_id, host_rank = places[ranks.rank]
    mesh = meshes[mesh_id]
    owners = owners_of(mesh, places, path)
    block = mesh.host_block(host_rank)
    visible = environment.get(contract.VISIBLE_DEVICES)
    ids, machine, pcie = local_ids(mesh, block, visible)
    kind = environment.get(contract.CLUSTER_TYPE) or _kind_of_shipped(path)
    if kind:
        machine = replace(machine, cluster_type=kind)
    if environment.get(contract.DEVICE_IDS):
        ids = described_ids(mesh, block, environment[contract.DEVICE_IDS])
    if visible:
        machine = replace(machine, cluster_type=_cluster_type(machine, (block.rows, block.columns)))
    shape = MeshShape(mesh.dims)
    return SystemMesh(
        mesh_id=mesh_id,
        shape=shape,
        ids=ids,
        owners=owners,
        machine=machine,
        local_range=MeshCoordinateRange(MeshCoordinate(block.row, block.column), MeshCoordinate(block.last)),
        wraps=(mesh.wraps(0), mesh.wraps(1)),
        visible_devices=block.rows * block.columns,
        visible_pcie_devices=pcie,
        coords=tuple(row_major(shape)),
        channels=mesh.channels,
    )


def _by_id(graph: MeshGraph, path: str) -> dict[int, Mesh]:
    """The meshes that ranks can host. Pods may repeat each other's ids: a rank is in one pod, and there the id is its own.

    Raises RuntimeError when meshes of one id differ, for then it matters which is meant.
    """
    found: dict[int, Mesh] = {}
    for mesh in graph.meshes:
        if mesh.is_switch:
            continue
        first = found.setdefault(mesh.mesh_id, mesh)
        if (first.dims, first.host_dims) != (mesh.dims, mesh.host_dims):
            raise fatal(
                f"{path} has several meshes with the id {mesh.mesh_id} and of different shape: {first.dims} and {mesh.dims}",
                hint="give each of them a mesh_id of its own in the descriptor",
            )
    return found


def _graph(path: str) -> MeshGraph:
    from mgd import MgdError, expand, load

    try:
        return expand(load(path))
    except MgdError as error:
        raise fatal(
            f"{contract.MESH_GRAPH_DESC_PATH}={path} cannot be used:\n{error}",
            hint="mgd check FILE tells every mistake in it",
        ) from None
