"""What a mesh answers about its chips: architecture, cores, numbers of the vector unit, compiled programs, sub-devices."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRangeSet, corerange_to_cores
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.hardware import Arch, arch_of, dram_grid, worker_places
from tt_run.runtime.mesh.system import SystemMesh
from tt_run.runtime.mesh.view import ProgramCache, SubDeviceManagerId, SubDevices

WORKER_ROWS = 10  # of a chip without harvested rows


class Chips:
    """The chips under a mesh: all alike. Layouts of sub-devices are kept and checked and change nothing."""

    system: SystemMesh
    program_cache: ProgramCache
    sub_devices: SubDevices
    workers: CoreGrid

    def arch(self) -> Arch:
        """The chip architecture."""
        return arch_of(self.system.machine.arch)

    @property
    def core_grid(self) -> CoreGrid:
        """The worker cores of each device."""
        return self.workers

    def compute_with_storage_grid_size(self) -> CoreCoord:
        """The worker cores of each device, as a coordinate: columns, rows."""
        return CoreCoord(self.workers.x, self.workers.y)

    def dram_grid_size(self) -> CoreCoord:
        """The DRAM channels of each device."""
        return dram_grid(self.arch())

    def check_cores(self, cores: CoreRangeSet, in_dram: bool) -> None:
        """Raises RuntimeError for a core that a device has no memory bank for: beyond the chip, or a row of DRAM banks other than 0.

        Rows that only some boards keep for workers are allowed: a program for another board may name them.
        """
        ends = [each.end for each in cores.ranges()]
        if not ends:
            return
        right, bottom = max(end.x for end in ends), max(end.y for end in ends)
        if in_dram and bottom:
            raise fatal(
                f"Invalid DRAM shard grid: shard core {_first_beyond(cores, None, 1)} is not on row 0. DRAM banks are 1D "
                "(bank_id == logical x-coordinate), so every shard core must have y == 0.",
                "core.y == 0",
                hint=f"ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord({right}, 0))",
            )
        grid = self.dram_grid_size() if in_dram else self.workers
        rows = grid.y if in_dram else max(grid.y, WORKER_ROWS)
        if right >= grid.x or bottom >= rows:
            kind = "DRAM" if in_dram else "L1"
            raise fatal(
                f"Invalid shard grid: shard core {_first_beyond(cores, grid.x, rows)} has no {kind} bank on this device, which has "
                f"{grid.x * grid.y} of them. Derive the shard grid from the device (dram_grid_size() for DRAM, "
                "compute_with_storage_grid_size() for L1) rather than assuming a fixed size -- a harvested device exposes fewer banks "
                "than an unharvested one of the same type. An L1 shard core outside the compute grid is legal only while it is claimed "
                "via ServiceCoreManager.",
                "allocator.has_bank(bank_type, core) || is_claimed_service_core(core)",
                hint=f"ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord({grid.x - 1}, {grid.y - 1})) is all of it",
            )

    def worker_core_from_logical_core(self, logical_core: CoreCoord) -> CoreCoord:
        """Where the core is on the chip's network, as translated: harvested rows are not counted. Raises RuntimeError outside the grid."""
        grid = self.workers
        if not (0 <= logical_core.x < grid.x and 0 <= logical_core.y < grid.y):
            raise fatal(
                f"No core coordinate found at location: ({logical_core.x}, {logical_core.y}, TENSIX, LOGICAL)",
                hint=f"the grid of workers is {grid.x}-{grid.y}",
            )
        columns, first_row = worker_places(self.arch())
        return CoreCoord(columns[logical_core.x], logical_core.y + first_row)

    def logical_core_from_worker_core(self, virtual_core: CoreCoord) -> CoreCoord:
        """The inverse of `worker_core_from_logical_core`. Raises RuntimeError for what is no worker."""
        columns, first_row = worker_places(self.arch())
        grid = self.workers
        if virtual_core.x not in columns or not 0 <= virtual_core.y - first_row < grid.y:
            raise fatal(
                f"No core coordinate found at location: ({virtual_core.x}, {virtual_core.y}, TENSIX, TRANSLATED)",
                hint="mesh_device.worker_core_from_logical_core(core) gives the coordinates that there are",
            )
        return CoreCoord(columns.index(virtual_core.x), virtual_core.y - first_row)

    def dram_core_from_logical_core(self, logical_core: CoreCoord) -> CoreCoord:
        """The same coordinate, x the bank. Raises RuntimeError for a bank that does not exist."""
        banks = dram_grid(self.arch()).x
        if not 0 <= logical_core.x < banks or logical_core.y:
            raise fatal(
                f"Bounds-Error -- Logical_core={logical_core} is outside of logical_grid_size={banks}-1",
                hint=f"ttnn.CoreCoord(0, 0) to ttnn.CoreCoord({banks - 1}, 0)",
            )
        return logical_core

    def get_optimal_dram_bank_to_logical_worker_assignment(
        self, noc: object, coord: MeshCoordinate | None = None
    ) -> list[CoreCoord] | dict[int, CoreCoord]:
        """A worker core for each DRAM bank: two columns of the grid from the top. By bank where a device's `coord` is given, else a list.

        Which cores lie near a bank is a matter of one chip's wires and no result depends on it.
        """
        cores = self.dram_bank_workers()
        return cores if coord is None else dict(enumerate(cores))

    def dram_bank_workers(self) -> list[CoreCoord]:
        """A worker core for each DRAM bank."""
        grid, banks = self.workers, dram_grid(self.arch()).x
        half = -(-banks // 2)
        return [CoreCoord(0 if bank < half else grid.x // 2, bank % half) for bank in range(banks)]

    def create_sub_device_manager(self, sub_devices: object, local_l1_size: int = 0) -> SubDeviceManagerId:
        """Keep a layout of sub-devices and name it."""
        return self.sub_devices.create(sub_devices, local_l1_size)

    def load_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        """Make a layout of sub-devices the active one."""
        self.sub_devices.load(sub_device_manager_id)

    def clear_loaded_sub_device_manager(self) -> None:
        """Go back to whole devices."""
        self.sub_devices.clear()

    def remove_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        """Forget a layout of sub-devices."""
        self.sub_devices.remove(sub_device_manager_id)

    def set_sub_device_stall_group(self, sub_device_ids: Sequence[object]) -> None:
        """Which sub-devices a synchronization waits for: kept, since emulated work is done when it is issued."""
        self.sub_devices.stall(sub_device_ids)

    def reset_sub_device_stall_group(self) -> None:
        """Wait for all sub-devices again."""
        self.sub_devices.stall_group = ()

    def sfpu_eps(self) -> float:
        """Smallest step of the vector unit around 1."""
        return 1.1920899822825959e-07

    def sfpu_inf(self) -> float:
        """What the vector unit takes for infinity."""
        return 1.7013999693950742e38

    def sfpu_nan(self) -> float:
        """What the vector unit takes for not-a-number."""
        return float("nan")

    def enable_program_cache(self) -> None:
        """Accepted: the cache is always on."""
        self.program_cache.enabled = True

    def disable_and_clear_program_cache(self) -> None:
        """Forget compiled programs and keep none."""
        self.program_cache.clear()
        self.program_cache.enabled = False

    def clear_program_cache(self) -> None:
        """Forget compiled programs."""
        self.program_cache.clear()

    def num_program_cache_entries(self) -> int:
        """How many programs are compiled."""
        return len(self.program_cache)

    def set_program_cache_misses_allowed(self, allowed: bool) -> None:
        """Whether a program may be compiled from now on; if not, a new one raises RuntimeError."""
        self.program_cache.misses_allowed = allowed


def _first_beyond(cores: CoreRangeSet, columns: int | None, rows: int) -> str:
    """The first core outside of a grid, as the reference prints it."""
    beyond = (
        core
        for core in corerange_to_cores(cores, row_wise=True)
        if core.y >= rows or (columns is not None and core.x >= columns)
    )
    core = next(beyond)
    return f"({core.x}, {core.y})"
