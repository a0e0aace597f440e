"""Opening the mesh of a training program: which descriptor, and whether the shape fits it.

A shape fits when it is a rectangle inside the descriptor's, as it is or turned; a line that ttnn would lay out as a snake is refused,
as the "Distributed Training Guide" says ([1, 32] on 4x8). Where no descriptor is named, 8 devices mean the 1x8 T3000 and 32 the
1x32 Galaxy; there only the number of devices must match, for the guide's own example opens [4, 8] on it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_run import contract
from tt_run.runtime.mesh.shape import MeshShape

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice


def pair(mesh_shape: Any) -> tuple[int, int]:
    """(rows, columns) of what a program gives as a mesh shape. Raises RuntimeError for anything but two ints."""
    if mesh_shape is None:
        return (1, 1)
    try:
        sides = [int(side) for side in mesh_shape]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or min(sides) < 1:
        raise RuntimeError(f"mesh_shape must be a list/tuple of 2 integers: [rows, cols], got {mesh_shape!r}")
    return sides[0], sides[1]


def fits(shape: tuple[int, int], system: tuple[int, int]) -> bool:
    """Whether a shape is a rectangle inside the system's, as it is or turned."""
    return any(rows <= system[0] and columns <= system[1] for rows, columns in (shape, shape[::-1]))


def open_mesh(mesh_shape: Any, device_ids: Sequence[int] | None) -> MeshDevice:
    """Open a mesh of this shape on the system of the process.

    Raises RuntimeError, with both shapes, when it does not fit.
    """
    from tt_run.runtime.mesh import open_mesh_device, system_mesh

    shape = pair(mesh_shape)
    automatic = _choose_descriptor(shape[0] * shape[1])
    system = system_mesh().shape
    whole = (system[0], system[1])
    wanted = shape[0] * shape[1]
    if device_ids:
        return open_mesh_device(MeshShape(shape), physical_device_ids=list(device_ids))
    if wanted > whole[0] * whole[1]:
        raise RuntimeError(
            f"Physical chip id {whole[0] * whole[1]} not found in control plane chip mapping. You are calling for a chip outside of the "
            f"fabric cluster: mesh_shape [{shape[0]}, {shape[1]}] wants {wanted} devices, the descriptor has "
            f"{whole[0]}x{whole[1]}. help: choose a larger system with tt-run --system, or a smaller mesh_shape"
        )
    if not automatic and not fits(shape, whole):
        raise RuntimeError(
            f"mesh_shape [{shape[0]}, {shape[1]}] does not fit the mesh graph descriptor's device topology [{whole[0]}, {whole[1]}]: "
            f"it is no rectangle inside it, as it is or turned. help: use a mesh_shape of at most [{whole[0]}, {whole[1]}], or a "
            f"descriptor of {shape[0]}x{shape[1]} in {contract.MESH_GRAPH_DESC_PATH}"
        )
    return open_mesh_device(MeshShape(shape))


def _choose_descriptor(devices: int) -> bool:
    """Name the system that the guide gives 8 and 32 devices; False for other numbers and when a descriptor or system is named."""
    if os.environ.get(contract.MESH_GRAPH_DESC_PATH) or os.environ.get(contract.SYSTEM):
        return False
    from mgd.systems import UnknownSystem, for_device_count

    try:
        os.environ[contract.SYSTEM] = for_device_count(devices).name
    except UnknownSystem:
        return False
    return True
