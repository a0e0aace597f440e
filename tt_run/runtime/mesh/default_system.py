"""Which system a process emulates when nobody has named one: the usual one, or the first that has room for the first mesh that is opened."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from tt_run import contract
from tt_run.runtime.mesh.geometry.shape import MeshShape


def choose_system(requested: MeshShape, environment: MutableMapping[str, str]) -> None:
    """Name a system with room for a mesh in the environment of the process; nothing where a system or descriptor is named or none has room."""
    if environment.get(contract.SYSTEM) or environment.get(contract.MESH_GRAPH_DESC_PATH):
        return
    from mgd.systems import find

    [usual] = find(contract.DEFAULT_SYSTEM).parts
    fitting = _fitting(requested)
    if fitting and requested.mesh_size() > usual.dims[0] * usual.dims[1]:
        environment[contract.SYSTEM] = fitting[0]


def larger_systems(requested: MeshShape) -> str | None:
    """For a message: which systems of one mesh have room for the requested one, or what makes a descriptor that has; None without rows
    and columns."""
    if requested.dims() != 2:
        return None
    shape, fitting = "x".join(map(str, requested)), _fitting(requested)
    if fitting:
        return f"{shape} fits --system {', '.join(fitting[:3])}"
    return f"mgd new --shape {shape} -o mesh.textproto, then tt-run --emulate -m mesh.textproto"


def _fitting(requested: MeshShape) -> Sequence[str]:
    """The shipped systems of one mesh in which the requested one fits as it is or turned, the smallest first."""
    from mgd.systems import systems

    if requested.dims() != 2 or requested.mesh_size() == 0:
        return ()
    whole = [
        system
        for system in systems()
        if len(system.parts) == 1 and system.parts[0].count == 1 and system.hosts == 1
    ]
    room = {system.name: sorted(system.parts[0].dims) for system in whole}
    found = [
        name
        for name, dims in room.items()
        if all(a >= b for a, b in zip(dims, sorted(requested), strict=True))
    ]
    return sorted(found, key=lambda name: room[name][0] * room[name][1])
