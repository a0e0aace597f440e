"""Opening the mesh of a training program: which descriptor, and whether the shape fits it.

A shape fits when it is a rectangle inside the descriptor's, as it is or turned; a line that ttnn would lay out as a snake is refused,
as the "Distributed Training Guide" says ([1, 32] on 4x8). Where no descriptor is named, 8 devices mean the 1x8 T3000 and 32 the
1x32 Galaxy; there only the number of devices must match, with a warning, for the guide's own example opens [4, 8] on it. With
TT_RUN_MESH_SHAPE=any that holds for every descriptor.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_run import contract
from tt_run.runtime.mesh.geometry.shape import MeshShape

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice

_chosen: str | None = None
"""The system that was chosen for the number of devices; the process keeps it, as a machine keeps its chips."""


def pair(mesh_shape: Any) -> tuple[int, int]:
    """(rows, columns) of what a program gives as a mesh shape. Raises RuntimeError for anything but two ints."""
    if mesh_shape is None:
        return (1, 1)
    try:
        sides = [int(side) for side in mesh_shape]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or min(sides) < 1:
        raise RuntimeError(
            f"mesh_shape must be a list/tuple of 2 integers: [rows, cols], got {mesh_shape!r}; help: mesh_shape=[1, 8]"
        )
    return sides[0], sides[1]


def fits(shape: tuple[int, int], system: tuple[int, int]) -> bool:
    """Whether a shape is a rectangle inside the system's, as it is or turned."""
    return any(rows <= system[0] and columns <= system[1] for rows, columns in (shape, shape[::-1]))


def open_mesh(mesh_shape: Any, device_ids: Sequence[int] | None, queues: int = 1) -> MeshDevice:
    """Open a mesh of this shape on the system of the process.

    Raises RuntimeError, with both shapes, when it does not fit, and when `device_ids` are not as many as the shape has.
    """
    from tt_run.runtime.mesh import open_mesh_device, system_mesh

    shape = pair(mesh_shape)
    wanted = shape[0] * shape[1]
    automatic = _choose_descriptor(wanted)
    system = system_mesh().shape
    whole = (system[0], system[1])
    if device_ids and len(device_ids) != wanted:
        raise RuntimeError(
            f"mesh_shape [{shape[0]}, {shape[1]}] has {wanted} devices, device_ids names {len(device_ids)}: {list(device_ids)}; help: name {wanted} of them, or leave device_ids out"
        )
    if wanted > whole[0] * whole[1]:
        wish = f"mesh_shape [{shape[0]}, {shape[1]}] wants {wanted} devices"
        raise RuntimeError(_outside(whole[0] * whole[1], wish, whole))
    absent = [
        chip for chip in device_ids or () if None not in system_mesh().ids and chip not in system_mesh().ids
    ]
    if absent:
        raise RuntimeError(_outside(absent[0], f"device_ids names {list(device_ids or ())}", whole))
    if not fits(shape, whole):
        what = f"mesh_shape [{shape[0]}, {shape[1]}] does not fit the mesh graph descriptor's device topology [{whole[0]}, {whole[1]}]"
        chips = [number for number in system_mesh().ids if number is not None]
        if not (automatic or _any_shape()) or (not device_ids and len(chips) < wanted):
            raise RuntimeError(
                f"{what}: it is no rectangle inside it, as it is or turned. help: use a mesh_shape of at most [{whole[0]}, {whole[1]}], "
                f"or a descriptor of {shape[0]}x{shape[1]} in {contract.MESH_GRAPH_DESC_PATH}; {contract.MESH_SHAPE}=any lays the chips "
                "of one host out row by row, which hardware refuses"
            )
        if not device_ids:
            warnings.warn(
                f"{what}: its chips are laid out row by row, which hardware may refuse", stacklevel=3
            )
            device_ids = chips[:wanted]
    if device_ids:
        return open_mesh_device(
            MeshShape(shape), physical_device_ids=list(device_ids), num_command_queues=queues
        )
    return open_mesh_device(MeshShape(shape), num_command_queues=queues)


def forget_system() -> None:
    """Look for the system of the process anew when the next mesh is opened. Ranks of a job keep theirs: they met over it."""
    global _chosen
    from tt_run.runtime.comm.world import world
    from tt_run.runtime.mesh import system_mesh

    if world().size > 1:
        return
    if _chosen is not None and os.environ.get(contract.SYSTEM) == _chosen:
        del os.environ[contract.SYSTEM]
    _chosen = None
    system_mesh.cache_clear()


def _any_shape() -> bool:
    wish = os.environ.get(contract.MESH_SHAPE, "fit")
    if wish not in ("fit", "any"):
        raise ValueError(
            f"{contract.MESH_SHAPE}={wish!r} is not one of fit, any; help: {contract.MESH_SHAPE}=fit"
        )
    return wish == "any"


def _outside(chip: int, wish: str, whole: tuple[int, int]) -> str:
    """The guide's words for a chip that the system does not have."""
    text = (
        f"Physical chip id {chip} not found in control plane chip mapping. You are calling for a chip outside of the fabric cluster. "
        f"Check that your mesh graph descriptor specifies the correct topology: {wish}, "
    )
    if _chosen is not None:
        return (
            f"{text}this process chose {_chosen} ({whole[0]}x{whole[1]}) when it first opened a device. "
            "help: tt-run --emulate --system NAME chooses one that is large enough for every mesh of the program"
        )
    return (
        f"{text}the descriptor has {whole[0]}x{whole[1]}. "
        "help: choose a larger system with tt-run --system, or a smaller mesh_shape"
    )


def _choose_descriptor(devices: int) -> bool:
    """Name the system that the guide gives 8 and 32 devices, once in a process; whether the system was chosen so.

    A descriptor or system that is named, and another number of devices, leave the choice to them.
    """
    global _chosen
    if _chosen is not None and os.environ.get(contract.SYSTEM) == _chosen:
        return True
    if os.environ.get(contract.MESH_GRAPH_DESC_PATH) or os.environ.get(contract.SYSTEM):
        return False
    from mgd.systems import UnknownSystem, for_device_count
    from tt_run.runtime.mesh import system_mesh

    if system_mesh.cache_info().currsize:
        # The process has met its system already, by another mesh; it cannot change now.
        return False
    try:
        _chosen = os.environ[contract.SYSTEM] = for_device_count(devices).name
    except UnknownSystem:
        return False
    return True
