"""Questions about chips and calls to their profiler, delay and memory reports, as fixtures and tools of programs make them.

What only a chip can do (a profiler's records, a delay in cycles, reports of its allocator) is checked and then does nothing: the
emulation has its own timeline and ledger. Source: reference library 0.81.1.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.hardware import Arch, DispatchCoreAxis
from tt_run.runtime.mesh.opening import get_arch_name, get_device_ids, get_num_devices
from tt_run.runtime.mesh.system import system_mesh

FABRIC_PAYLOAD_BYTES = 4352
"""Largest payload of a fabric packet: four tiles of bfloat8_b."""

DEFAULT_L1_SMALL_SIZE = DEFAULT_TRACE_REGION_SIZE = DEFAULT_WORKER_L1_SIZE = 0
"""What meshes are opened with unless a program says otherwise, in bytes."""

_DRAM_ALIGNMENT = {Arch.WORMHOLE_B0: 32, Arch.BLACKHOLE: 64}
_L1_ALIGNMENT = 16


def is_blackhole(device: MeshDevice | None = None) -> bool:
    """True when the device, or else the machine, has Blackhole chips."""
    return _arch(device) is Arch.BLACKHOLE


def is_wormhole_b0(device: MeshDevice | None = None) -> bool:
    """True when the device, or else the machine, has Wormhole chips."""
    return _arch(device) is Arch.WORMHOLE_B0


def _arch(device: MeshDevice | None) -> Arch:
    return device.arch() if device is not None else Arch[get_arch_name().upper()]


def pcie_device_id(device_id: int) -> int:
    """The PCIe device through which a device is reached. Raises RuntimeError for an unknown id."""
    devices, hosts = get_num_devices(), system_mesh().visible_pcie_devices
    if not 0 <= device_id < devices:
        raise fatal(
            f"Device {device_id} not found; there are {get_device_ids()}",
            hint=f"the ids are 0 to {devices - 1}",
        )
    return device_id if device_id < hosts else (device_id - hosts) % max(hosts, 1)


def read_device_profiler(device: MeshDevice) -> None:
    """Accepted: no chip writes profiler records here; `tt-run --timeline FILE` has the times of a run."""
    device.require_open("ReadDeviceProfiler")


def apply_device_delay(
    mesh_device: MeshDevice, delays: Sequence[Sequence[int]], *, subdevice_id: object = None
) -> None:
    """Check one delay in cycles for each device; results do not depend on time, so nothing waits.

    All delays of a mesh are one program in its cache. Raises RuntimeError when the delays do not have the shape of the mesh.
    """
    rows, columns = tuple(mesh_device.shape)
    if len(delays) != rows or any(len(row) != columns for row in delays):
        given = f"{len(delays)} rows of {sorted({len(row) for row in delays})}"
        raise fatal(
            f"delays must have the shape of the mesh, {rows} rows of {columns}, not {given}",
            hint=f"[[0] * {columns} for _ in range({rows})] delays nothing",
        )
    mesh_device.program_cache.use(("apply_device_delay", subdevice_id))


def enable_memory_reports() -> None:
    """Accepted: the allocator of a chip writes reports; there is none here."""


def disable_memory_reports() -> None:
    """Accepted, as `enable_memory_reports` is."""


def dispatch_core_axis(device: MeshDevice) -> DispatchCoreAxis:
    """Along which edge dispatching cores lie: the last column on Blackhole, the last row on Wormhole."""
    return DispatchCoreAxis.COL if is_blackhole(device) else DispatchCoreAxis.ROW


def dram_alignment() -> int:
    """Bytes to which addresses in DRAM are aligned."""
    return _DRAM_ALIGNMENT[_arch(None)]


def l1_alignment() -> int:
    """Bytes to which addresses in L1 are aligned."""
    return _L1_ALIGNMENT


@contextmanager
def setup_fast_dispatch(device: MeshDevice, *, allow_destructive: bool = False) -> Iterator[None]:
    """Accepted: work is done when it is issued, so there is no other dispatch to change to."""
    device.require_open("setup_fast_dispatch")
    yield


def begin_fast_dispatch(device: MeshDevice, *, allow_destructive: bool = False) -> None:
    """Accepted, as `setup_fast_dispatch` is."""
    device.require_open("initialize_fast_dispatch")


def end_fast_dispatch(device: MeshDevice) -> None:
    """Accepted, as `setup_fast_dispatch` is."""
    device.require_open("terminate_fast_dispatch")


def dram_bank_workers(device: MeshDevice, noc: object) -> list[CoreCoord]:
    """A worker core for each DRAM bank; see `MeshDevice.get_optimal_dram_bank_to_logical_worker_assignment`."""
    return device.dram_bank_workers()


def physical_mesh_shapes() -> dict[int, tuple[int, int]]:
    """The shape of this rank's mesh by its number: what `open_mesh_device` takes before anything is open."""
    system = system_mesh()
    rows, columns = system.shape
    return {system.mesh_id: (rows, columns)}


def latest_programs_perf_data() -> dict[int, object]:
    """Nothing for any device: no chip writes profiler records here; `tt-run --timeline FILE` has the times of a run."""
    return {}


def fabric_payload_bytes() -> int:
    """The largest payload of a fabric packet, in bytes."""
    return FABRIC_PAYLOAD_BYTES


_slow: weakref.WeakSet[MeshDevice] = weakref.WeakSet()


def enable_asynchronous_slow_dispatch(device: MeshDevice) -> None:
    """Accepted and remembered: there is no slow dispatch here."""
    device.require_open("enable_asynchronous_slow_dispatch")
    _slow.add(device)


def disable_asynchronous_slow_dispatch(device: MeshDevice) -> None:
    """Accepted and remembered: there is no slow dispatch here."""
    device.require_open("disable_asynchronous_slow_dispatch")
    _slow.discard(device)


def is_asynchronous_slow_dispatch_enabled(device: MeshDevice) -> bool:
    """What `enable_asynchronous_slow_dispatch` or `disable_asynchronous_slow_dispatch` was told last."""
    return device in _slow


def clear_kernel_cache() -> None:
    """Forget compiled kernels: the emulation compiles none, so that it never has any."""
