"""Opening and closing meshes and single devices, and the default device (reference library 0.81.1)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tt_run.hardware.files import load, shipped
from tt_run.runtime import events, guard
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.default_system import choose_system
from tt_run.runtime.mesh.device import MeshDevice, Regions
from tt_run.runtime.mesh.fabric import lost_chips
from tt_run.runtime.mesh.geometry.arrange import places_in
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.system import SystemMesh, system_mesh
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.refusals import with_note

MAX_QUEUES = 2
_OPEN = (
    "open_mesh_device(mesh_shape: ttnn.MeshShape | None = None, l1_small_size: int = 0, trace_region_size: int = 0, "
    "num_command_queues: int = 1, dispatch_core_config: ttnn.DispatchCoreConfig | None = None, "
    "offset: ttnn.MeshCoordinate | None = None, physical_device_ids: collections.abc.Sequence[int] = [], "
    "worker_l1_size: int = 0) -> ttnn.MeshDevice"
)

_default: MeshDevice | None = None


@public
def open_mesh_device(
    mesh_shape: MeshShape | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: object = None,
    offset: MeshCoordinate | None = None,
    physical_device_ids: Sequence[int] = (),
    worker_l1_size: int = 0,
) -> MeshDevice:
    """Open devices of the system mesh as one mesh; the whole system mesh when no shape is given.

    `physical_device_ids` picks devices by process-local id instead of by place. `trace_region_size` (bytes of all banks of DRAM) and `l1_small_size` (of each
    bank of L1, of which the program has `worker_l1_size`, if given) tensors cannot have, which the account of memory knows; dispatch settings say which cores are left to programs. Ranks that host devices of the mesh must all call it. Raises RuntimeError for a shape that does not fit, for
    more than two command queues and for more L1 than a core has for programs, TypeError for a shape that is no MeshShape.
    """
    if mesh_shape is not None and not isinstance(mesh_shape, MeshShape):
        raise incompatible("open_mesh_device", (_OPEN,), (mesh_shape,))
    if offset is not None and not isinstance(offset, MeshCoordinate):
        raise incompatible("open_mesh_device", (_OPEN,), (mesh_shape, offset))
    if not 1 <= num_command_queues <= MAX_QUEUES:
        raise fatal(
            f"Number of command queues must be 1 or {MAX_QUEUES}, got {num_command_queues}",
            "num_hw_cqs > 0 and num_hw_cqs <= MAX_NUM_HW_CQS",
            hint="num_command_queues=1 or 2",
        )
    if mesh_shape is not None and not system_mesh.cache_info().currsize:
        choose_system(mesh_shape, os.environ)
    system = system_mesh()
    events.attach_listeners()
    shape = mesh_shape if mesh_shape is not None else system.shape
    if physical_device_ids:
        positions = _chosen(system, shape, physical_device_ids)
    else:
        columns = system.shape[1]
        positions = tuple(r * columns + c for r, c in places_in(system.shape, shape, offset))
    _check_lost_chips(system, shape, positions)
    _check_worker_l1(worker_l1_size)
    regions = Regions(int(trace_region_size), int(l1_small_size), int(worker_l1_size))
    device = MeshDevice(
        system,
        shape,
        positions,
        queues=num_command_queues,
        regions=regions,
        dispatch=dispatch_core_config,
    )
    if device.group.is_member:
        _agree_on_mesh(device, shape, positions, num_command_queues, regions)
    return device


def _agree_on_mesh(
    device: MeshDevice, shape: MeshShape, positions: Sequence[int], queues: int, regions: Regions
) -> None:
    """Lets the ranks agree on the call: where one sets more memory aside, its tensors and signals lie elsewhere than the others look for them."""
    apart = {
        "num_command_queues": queues - 1 and queues,
        "trace_region_size": regions.trace,
        "l1_small_size": regions.l1_small,
        "worker_l1_size": regions.worker_l1,
    }
    words = [f"devices {','.join(map(str, positions))}", *(f"{n} {v}" for n, v in apart.items() if v)]
    guard.collective(
        device.group, guard.Signature("open_mesh_device", shape=tuple(shape), detail=", ".join(words))
    )


def _check_lost_chips(system: SystemMesh, shape: MeshShape, positions: Sequence[int]) -> None:
    """Raise RuntimeError for a mesh with a chip that `--degrade` took away."""
    for position, text in lost_chips(system).items():
        if position in positions:
            raise fatal(
                f"Device {position} of the mesh is lost (--degrade {text}), and a mesh of {shape} at {positions[0]} needs it.",
                hint="open a smaller mesh beside it: open_mesh_device(MeshShape(…), offset=MeshCoordinate(…))",
            )


def _check_worker_l1(size: int) -> None:
    """Raise RuntimeError for more L1 than programs may have of a core."""
    if not size:
        return
    name = "blackhole" if get_arch_name() == "blackhole" else "wormhole"
    most = int(load(shipped(name)).common["memory.l1_most"].base)
    if size > most:
        raise fatal(
            f"Worker L1 size {size} is larger than max size {most}",
            "worker_l1_size <= max_worker_l1_size",
            hint=f"worker_l1_size={most} or less; 0 takes what the chip has",
        )


def _chosen(system: SystemMesh, shape: MeshShape, ids: Sequence[int]) -> tuple[int, ...]:
    if len(ids) != shape.mesh_size():
        raise fatal(
            f"Shape and values size mismatch; shape mesh_size: {shape.mesh_size()}, values size: {len(ids)}",
            hint=f"physical_device_ids needs {shape.mesh_size()} ids for {shape}",
        )
    known = {number: position for position, number in enumerate(system.ids) if number is not None}
    unknown = [number for number in ids if number not in known]
    if unknown:
        raise fatal(
            f"Chip to board mapping for chip {unknown[0]} not found.",
            hint=f"the system mesh has the chips {', '.join(map(str, sorted(known)))}",
        )
    if len(set(ids)) != len(ids):
        raise fatal(
            f"physical_device_ids names a device twice: {list(ids)}",
            hint=f"name {shape.mesh_size()} different ones of {', '.join(map(str, sorted(known)))}",
        )
    return tuple(known[number] for number in ids)


@public
def close_mesh_device(mesh_device: MeshDevice) -> None:
    """Close a mesh and its submeshes; closing twice does nothing."""
    mesh_device.close()


@public
def close_device(device: MeshDevice) -> None:
    """Finish the work of a device and close it."""
    device.close()


@contextmanager
def create_mesh_device(
    mesh_shape: MeshShape | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: object = None,
    offset: MeshCoordinate | None = None,
    physical_device_ids: Sequence[int] = (),
) -> Iterator[MeshDevice]:
    """A mesh that is closed at the end of the block."""
    device = open_mesh_device(
        mesh_shape,
        l1_small_size,
        trace_region_size,
        num_command_queues,
        dispatch_core_config,
        offset,
        physical_device_ids,
    )
    try:
        yield device
    finally:
        device.close()


@public
def open_device(
    device_id: int,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    dispatch_core_config: object = None,
    worker_l1_size: int = 0,
    num_command_queues: int = 1,
) -> MeshDevice:
    """Open one device by its process-local id, as a 1x1 mesh. Raises RuntimeError for an unknown id."""
    return _single_devices(
        (device_id,),
        l1_small_size,
        trace_region_size,
        num_command_queues,
        dispatch_core_config,
        worker_l1_size,
    )[device_id]


def create_device(
    device_id: int,
    num_command_queues: int = 1,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    dispatch_core_config: object = None,
    *,
    worker_l1_size: int = 0,
) -> MeshDevice:
    """`open_device` by its older name, with the queues first."""
    return open_device(
        device_id,
        l1_small_size,
        trace_region_size,
        dispatch_core_config,
        worker_l1_size,
        num_command_queues,
    )


def create_devices(
    device_ids: Sequence[int],
    num_command_queues: int = 1,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    dispatch_core_config: object = None,
    *,
    worker_l1_size: int = 0,
) -> dict[int, MeshDevice]:
    """Open several single devices: id -> device."""
    return _single_devices(
        device_ids, l1_small_size, trace_region_size, num_command_queues, dispatch_core_config, worker_l1_size
    )


def _single_devices(
    ids: Sequence[int], l1_small: int, trace: int, queues: int, dispatch: object, worker_l1: int
) -> dict[int, MeshDevice]:
    """One mesh for each device. The mesh that the reference opens over all of them first only uses up a number."""
    MeshDevice.skip_number()
    return {
        number: open_mesh_device(
            MeshShape(1, 1),
            l1_small,
            trace,
            queues,
            dispatch,
            physical_device_ids=(number,),
            worker_l1_size=worker_l1,
        )
        for number in ids
    }


def close_devices(devices: dict[int, MeshDevice]) -> None:
    """Close what `create_devices` opened."""
    for device in devices.values():
        device.close()


@contextmanager
def manage_device(device_id: int) -> Iterator[MeshDevice]:
    """A single device that is closed at the end of the block."""
    device = open_device(device_id)
    try:
        yield device
    finally:
        device.close()


def set_default_device(device: MeshDevice | None = None) -> None:
    """The device that operations use when none is named."""
    global _default
    if device is not None and not isinstance(device, MeshDevice):
        signature = "SetDefaultDevice(device: ttnn._ttnn.multi_device.MeshDevice | None = None) -> None"
        error = incompatible("SetDefaultDevice", (signature,), (device,))
        raise with_note(error, "help: write the device itself, which ttnn.open_device has given")
    _default = device


def get_default_device() -> MeshDevice | None:
    """The default device, None until one is set, and once that is closed."""
    global _default
    if _default is not None and not _default.is_open:
        _default = None
    return _default


def get_num_devices() -> int:
    """How many devices this process sees, PCIe and remote."""
    return system_mesh().visible_devices


def get_num_pcie_devices() -> int:
    """How many PCIe devices this process sees."""
    return system_mesh().visible_pcie_devices


def get_device_ids() -> list[int]:
    """The ids of the devices this process sees."""
    return list(range(get_num_devices()))


def get_pcie_device_ids() -> list[int]:
    """The ids of the PCIe devices this process sees."""
    return list(range(get_num_pcie_devices()))


def get_arch_name() -> str:
    """The chip architecture: `wormhole_b0` or `blackhole`."""
    return system_mesh().machine.arch.lower()
