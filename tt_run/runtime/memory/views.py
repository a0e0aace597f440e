"""What programs ask about the memory of a mesh: banks, buffers and their pages, from the tensors that live on it now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tt_run.runtime.cores import CoreCoord, corerange_to_cores
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.memory.footprint import (
    DRAM,
    L1,
    Footprint,
    banks_beside,
    cores_of,
    footprint,
    hardware_number,
    kept_of_bank,
)
from tt_run.runtime.memory.listen import running_account
from tt_run.runtime.memory.space import Space
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.opening import get_arch_name
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.storage import Buffer


@native("ttnn._ttnn.device.MemoryView")
@dataclass(frozen=True, repr=False)
class MemoryView(metaclass=Native):
    """One kind of memory: its banks, bytes of the fullest, and its blocks by address. Without an account, what is free counts as one block."""

    num_banks: int
    total_bytes_per_bank: int
    total_bytes_allocated_per_bank: int
    block_table: list[dict[str, str]] = field(default_factory=list)

    @property
    def total_bytes_free_per_bank(self) -> int:
        """What is left in the fullest bank."""
        return max(self.total_bytes_per_bank - self.total_bytes_allocated_per_bank, 0)

    @property
    def largest_contiguous_bytes_free_per_bank(self) -> int:
        """Bytes of the largest piece that is free."""
        free = [int(block["size"]) for block in self.block_table if block["allocated"] == "no"]
        return max(free, default=self.total_bytes_free_per_bank)


def _living(device: MeshDevice) -> Iterator[tuple[Tensor, Footprint, int]]:
    """Each buffer on the device once: a tensor over it, what it takes, where it begins in its banks."""
    seen: set[int] = set()
    ends = {DRAM: 0, L1: 0}
    for resident in device.residents:
        if not isinstance(resident, Tensor) or not resident.is_allocated():
            continue
        storage = resident.storage
        if not isinstance(storage, Buffer) or id(storage.place) in seen:
            continue
        seen.add(id(storage.place))
        size = footprint(resident.spec, device.arch().name, cores_of(device))
        yield resident, size, ends[size.kind]
        ends[size.kind] += size.per_bank


def get_memory_view(device: MeshDevice, buffer_type: BufferType) -> MemoryView:
    """The memory of each chip of a mesh: that of its fullest chip, with addresses and holes, where `--memory`, `--enforce-memory` or
    `--timeline` keep an account; else what lives on it now, closed up. Raises KeyError for memories that hold no tensors here."""
    banks = banks_beside(device.arch().name, device.regions, cores_of(device))
    kept = kept_of_bank(device.arch().name, device.regions)
    if buffer_type is BufferType.TRACE:
        return MemoryView(banks[DRAM].count, kept[DRAM], 0)
    if buffer_type is BufferType.L1_SMALL:
        return MemoryView(banks[L1].count if kept[L1] else 0, kept[L1], 0)
    kind = {BufferType.DRAM: DRAM, BufferType.L1: L1}[buffer_type]
    bank, account = banks[kind], running_account()
    held = None if account is None else account.fullest(frozenset(device.positions), kind)
    if held is not None:
        return MemoryView(bank.count, bank.size, held.bank_now, _blocks(held.space, bank.size))
    blocks = [_block(start, size.per_bank, True) for _, size, start in _living(device) if size.kind == kind]
    return MemoryView(bank.count, bank.size, sum(int(block["size"]) for block in blocks), blocks)


def _blocks(space: Space, end: int) -> list[dict[str, str]]:
    """What is taken and what is free of a bank, by address."""
    taken = [_block(start, size, True) for start, size in space.taken.values() if size]
    free = [_block(start, int(min(to, end)) - start, False) for start, to in space.holes if start < end]
    return sorted(taken + free, key=lambda block: int(block["address"]))


def _block(address: int, size: int, allocated: bool) -> dict[str, str]:
    return {"address": str(address), "size": str(size), "allocated": "yes" if allocated else "no"}


def max_worker_l1_bytes() -> int:
    """The most L1 of a core that a program may ask for (`worker_l1_size`), in bytes."""
    return hardware_number(get_arch_name(), "memory.l1_most")


def allocator_base_address(device: MeshDevice, buffer_type: BufferType) -> int:
    """The lowest address of a memory's part for tensors. Raises KeyError for memories that hold no tensors here."""
    memory, arch = {BufferType.DRAM: DRAM, BufferType.L1: L1}[buffer_type], device.arch().name
    if memory == DRAM:
        return hardware_number(arch, "memory.dram_begin")
    # Small buffers lie between those of tensors and the end, so what is kept for them counts.
    return hardware_number(arch, "memory.l1_end") - _l1_of(device)


def _l1_of(device: MeshDevice) -> int:
    """Bytes of a bank of L1 that the program has, those kept for small buffers among them."""
    arch, regions = device.arch().name, device.regions
    return banks_beside(arch, regions, cores_of(device))[L1].size + kept_of_bank(arch, regions)[L1]


def dump_memory_state(device: MeshDevice, prefix: str = "") -> None:
    """Write the buffers on a mesh to `generated/reports/{prefix}memory_state.csv`: memory, address and bytes per bank of each."""
    folder = Path("generated", "reports")
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{size.kind},{start},{size.per_bank},{size.banks}" for _, size, start in _living(device)]
    text = "\n".join(["memory,address,bytes_per_bank,banks", *rows]) + "\n"
    (folder / f"{prefix}memory_state.csv").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class BufferInfo:
    """A buffer on a device."""

    device_id: int
    address: int
    max_size_per_bank: int
    buffer_type: BufferType
    buffer_layout: TensorMemoryLayout


@dataclass(frozen=True)
class BufferPageInfo:
    """A page of a buffer: a tile or a row."""

    device_id: int
    address: int
    core_y: int
    core_x: int
    bank_id: int
    page_index: int
    page_address: int
    page_size: int
    buffer_type: BufferType


def get_buffers(devices: MeshDevice | Sequence[MeshDevice]) -> list[BufferInfo]:
    """The buffers on one mesh or several."""
    return [
        BufferInfo(
            device.id(),
            tensor.buffer_address(),
            size.deep * size.page,
            tensor.memory_config().buffer_type,
            tensor.memory_config().memory_layout,
        )
        for device in _listed(devices)
        for tensor, size, _ in _living(device)
    ]


def get_buffer_pages(devices: MeshDevice | Sequence[MeshDevice]) -> list[BufferPageInfo]:
    """The pages of those buffers that lie in L1, on the cores that hold them; of DRAM the reference tells none.

    Interleaved pages are dealt to the cores one after the other, row by row; of a tensor that is cut each core has a whole piece.
    """
    found = []
    for device in _listed(devices):
        for tensor, size, _ in _living(device):
            if size.kind != L1:
                continue
            memory, start = tensor.memory_config(), tensor.buffer_address()
            cores = _cores(memory, device)
            for number in range(size.pages):
                if memory.is_sharded():
                    bank, place = divmod(number, size.deep)
                else:
                    place, bank = divmod(number, size.banks)
                found.append(
                    BufferPageInfo(
                        device.id(),
                        start,
                        cores[bank].y,
                        cores[bank].x,
                        bank,
                        number,
                        start + place * size.padded,
                        size.page,
                        memory.buffer_type,
                    )
                )
    return found


def _cores(memory: MemoryConfig, device: MeshDevice) -> list[CoreCoord]:
    """The cores of L1 in the order in which they get pages or pieces."""
    shard = memory.shard_spec or memory.nd_shard_spec
    if shard is None:
        grid = device.core_grid
        return [CoreCoord(x, y) for y in range(grid.y) for x in range(grid.x)]
    return corerange_to_cores(shard.grid, row_wise=shard.orientation is ShardOrientation.ROW_MAJOR)


@dataclass(frozen=True)
class DeviceInfo:
    """Cores and L1 of a device."""

    num_x_cores: int
    num_y_cores: int
    num_x_compute_cores: int
    num_y_compute_cores: int
    num_compute_cores: int
    num_storage_cores: int
    l1_num_banks: int
    num_banks_per_storage_core: int
    l1_bank_size: int
    cb_limit: int
    worker_l1_size: int
    total_l1_memory: int
    total_l1_for_tensors: int
    total_l1_for_interleaved_buffers: int
    total_l1_for_sharded_buffers: int
    address_at_first_l1_bank: int
    address_at_first_l1_cb_buffer: int


def get_device_info(device: MeshDevice) -> DeviceInfo:
    """What the chips of a mesh have, in bytes and cores. None of them only stores, so what they would hold is 0, as the reference counts it."""
    arch = device.arch().name
    bank, size = banks_beside(arch, device.regions, cores_of(device))[L1], _l1_of(device)
    grid, end = device.compute_with_storage_grid_size(), hardware_number(arch, "memory.l1_end")
    return DeviceInfo(
        num_x_cores=hardware_number(arch, "chip.grid_columns"),
        num_y_cores=hardware_number(arch, "chip.grid_rows"),
        num_x_compute_cores=grid.x,
        num_y_compute_cores=grid.y,
        num_compute_cores=grid.x * grid.y,
        num_storage_cores=0,
        l1_num_banks=bank.count,
        num_banks_per_storage_core=end // bank.size if bank.size else 0,
        l1_bank_size=bank.size,
        cb_limit=size,
        worker_l1_size=end,
        total_l1_memory=bank.count * end,
        total_l1_for_tensors=0,
        total_l1_for_interleaved_buffers=bank.count * bank.size,
        total_l1_for_sharded_buffers=bank.count * bank.size,
        address_at_first_l1_bank=0,
        address_at_first_l1_cb_buffer=end - size,
    )


def _listed(devices: MeshDevice | Sequence[MeshDevice]) -> Sequence[MeshDevice]:
    return [devices] if isinstance(devices, MeshDevice) else devices
