"""What programs ask about the memory of a mesh: banks, buffers and their pages, from the tensors that live on it now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tt_run.runtime.enums import BufferType, TensorMemoryLayout
from tt_run.runtime.memory.footprint import (
    DRAM,
    L1,
    Footprint,
    banks_beside,
    banks_of,
    cores_of,
    footprint,
    kept_of_bank,
)
from tt_run.runtime.memory.listen import running_account
from tt_run.runtime.memory.space import Space
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.opening import get_arch_name
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.storage import Buffer

_L1_BYTES = 1536 * 1024


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
    """L1 of a core that programs may use, in bytes."""
    return banks_of(get_arch_name())[L1].size


def allocator_base_address(device: MeshDevice, buffer_type: BufferType) -> int:
    """The lowest address of a memory's part for tensors. Raises KeyError for memories that hold no tensors here."""
    memory = {BufferType.DRAM: DRAM, BufferType.L1: L1}[buffer_type]
    return _L1_BYTES - banks_of(device.arch().name)[L1].size if memory == L1 else 0


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
            start,
            size.deep * size.page,
            tensor.memory_config().buffer_type,
            tensor.memory_config().memory_layout,
        )
        for device in _listed(devices)
        for tensor, size, start in _living(device)
    ]


def get_buffer_pages(devices: MeshDevice | Sequence[MeshDevice]) -> list[BufferPageInfo]:
    """The pages of those buffers that lie in L1, dealt to the banks one after the other; of DRAM the reference tells none."""
    found = []
    for device in _listed(devices):
        for tensor, size, start in _living(device):
            for number in range(size.pages if size.kind == L1 else 0):
                place = number % size.banks
                found.append(
                    BufferPageInfo(
                        device.id(),
                        start,
                        place // 8,
                        place % 8,
                        place,
                        number,
                        start + number // size.banks * size.padded,
                        size.page,
                        tensor.memory_config().buffer_type,
                    )
                )
    return found


@dataclass(frozen=True)
class DeviceInfo:
    """Cores and L1 of a device."""

    num_x_compute_cores: int
    num_y_compute_cores: int
    num_compute_cores: int
    l1_num_banks: int
    l1_bank_size: int
    worker_l1_size: int
    total_l1_memory: int
    total_l1_for_tensors: int


def get_device_info(device: MeshDevice) -> DeviceInfo:
    """What the chips of a mesh have. What belongs to kernels (circular buffers, storage cores) is not emulated and has no field."""
    bank = banks_of(device.arch().name, cores_of(device))[L1]
    grid = device.compute_with_storage_grid_size()
    total = bank.count * bank.size
    return DeviceInfo(grid.x, grid.y, grid.x * grid.y, bank.count, bank.size, bank.size, total, total)


def _listed(devices: MeshDevice | Sequence[MeshDevice]) -> Sequence[MeshDevice]:
    return [devices] if isinstance(devices, MeshDevice) else devices
