"""How much of a device's memory a tensor takes: its pages over the banks of its memory, padded and aligned as its configuration says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from tt_run.hardware.files import load, shipped
from tt_run.runtime.enums import BufferType, Layout
from tt_run.runtime.mesh.device import MeshDevice, Regions
from tt_run.runtime.tensor.spec.memory_config import ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.values.dtypes import tile_bytes

DRAM, L1 = "DRAM", "L1"


@dataclass(frozen=True)
class Bank:
    """One kind of memory of a chip: how many banks, bytes of each for tensors, and to what a page and what a buffer takes are rounded up."""

    kind: str
    count: int
    size: int
    alignment: int
    step: int


@dataclass(frozen=True)
class Footprint:
    """What one tensor takes on each device that holds a shard, in bytes; `banks` of them are used, `per_bank` of the fullest.

    It has so many `pages` of `page` bytes, of which the fullest bank holds `deep`; each lies at a multiple of an alignment (`padded`).
    """

    kind: str
    total: int
    per_bank: int
    banks: int
    page: int
    pages: int
    deep: int
    padded: int


def cores_of(device: MeshDevice) -> int:
    """The worker cores of each chip of a mesh, each of which is a bank of L1."""
    return device.core_grid.x * device.core_grid.y


@lru_cache(maxsize=32)
def banks_of(arch: str, cores: int | None = None) -> dict[str, Bank]:
    """The memories of a chip of so many worker cores by name, from the hardware file of its architecture; as many as are usual without them."""
    numbers = load(shipped(_file(arch))).common

    def number(key: str) -> int:
        return int(numbers[key].base)

    return {
        DRAM: Bank(
            DRAM, number("dram.banks"), number("memory.dram_bank"), *[number("memory.dram_alignment")] * 2
        ),
        L1: Bank(
            L1,
            cores or number("chip.cores_used"),
            number("memory.l1_bank"),
            number("memory.l1_alignment"),
            number("memory.dram_alignment"),
        ),
    }


@lru_cache(maxsize=64)
def banks_beside(arch: str, regions: Regions, cores: int | None = None) -> dict[str, Bank]:
    """The same without what a program keeps of each bank when it opens its mesh (`trace_region_size`, `l1_small_size`), or in the L1 that it asks for (`worker_l1_size`)."""
    kept, banks = kept_of_bank(arch, regions), dict(banks_of(arch, cores))
    if regions.worker_l1:
        step = banks[L1].step
        banks[L1] = replace(banks[L1], size=regions.worker_l1 // step * step)
    return {kind: replace(bank, size=max(bank.size - kept[kind], 0)) for kind, bank in banks.items()}


@lru_cache(maxsize=64)
def kept_of_bank(arch: str, regions: Regions) -> dict[str, int]:
    """What a program keeps of each bank: its share of the region for traces, in whole pieces; small buffers of L1."""
    banks = banks_of(arch)
    piece = hardware_number(arch, "memory.trace_piece")
    share = _up(-(-regions.trace // banks[DRAM].count), piece)
    return {DRAM: share, L1: _up(regions.l1_small, banks[L1].step)}


def hardware_number(arch: str, key: str) -> int:
    """A whole number of the hardware file of an architecture, by its dotted key: `memory.l1_end`."""
    return int(load(shipped(_file(arch))).common[key].base)


def _file(arch: str) -> str:
    return "blackhole" if arch.lower().startswith("blackhole") else "wormhole"


def semaphore_footprint(cores: int, arch: str) -> Footprint:
    """A global semaphore: a word on each of its cores, rounded up as a buffer of L1 is."""
    bank = banks_of(arch)[L1]
    word = bank.alignment
    return Footprint(L1, cores * word, _up(word, bank.step), cores, word, cores, 1, word)


@lru_cache(maxsize=4096)
def footprint(spec: TensorSpec, arch: str, cores: int | None = None) -> Footprint:
    """The memory of a shard of `spec` on a chip of so many cores: whole tiles, or rows of a row-major tensor, dealt to the banks in turn.

    A tensor that is cut over cores takes a whole piece on each of them, whether it is full or not.
    """
    memory = spec.memory_config
    bank = banks_of(arch, cores)[DRAM if memory.buffer_type is BufferType.DRAM else L1]
    page = _page(spec, spec.padded_shape[-1])
    shard = memory.shard_spec or memory.nd_shard_spec
    if shard is None:
        pages = -(-_volume(spec) // _page_elements(spec, spec.padded_shape[-1]))
        return _dealt(bank, page, pages, -(-pages // bank.count), min(bank.count, pages))
    piece = list(shard.shape if isinstance(shard, ShardSpec) else shard.shard_shape)
    page = _page(spec, piece[-1])
    held = -(-math.prod(_tiled(spec, piece)) // _page_elements(spec, piece[-1]))
    held_by = shard.grid.num_cores()
    pieces = math.prod(
        -(-have // cut) for have, cut in zip(_matrix(spec, len(piece)), _tiled(spec, piece), strict=True)
    )
    used = max(min(held_by, pieces), 1)
    each = -(-pieces // held_by) * held if pieces else 0
    return _dealt(bank, page, each * used, each, used)


def _dealt(bank: Bank, page: int, pages: int, deep: int, used: int) -> Footprint:
    padded = _up(page, bank.alignment)
    return Footprint(
        bank.kind, pages * padded, _up(deep * padded, bank.step), used, page, pages, deep, padded
    )


def _matrix(spec: TensorSpec, rank: int) -> tuple[int, ...]:
    """The padded shape in as many dimensions as a piece has: what is too many lies in the first."""
    dims = (1,) * (rank - len(spec.padded_shape)) + spec.padded_shape.dims
    return (math.prod(dims[: len(dims) - rank + 1]), *dims[len(dims) - rank + 1 :])


def _tiled(spec: TensorSpec, piece: list[int]) -> tuple[int, ...]:
    if spec.layout is not Layout.TILE:
        return tuple(piece)
    height, width = spec.tile.edges
    rows = [_up(piece[-2], height)] if len(piece) > 1 else []
    return (*piece[:-2], *rows, _up(piece[-1], width))


def _volume(spec: TensorSpec) -> int:
    return spec.padded_shape.volume()


def _page_elements(spec: TensorSpec, width: int) -> int:
    return math.prod(spec.tile.edges) if spec.layout is Layout.TILE else max(width, 1)


def _page(spec: TensorSpec, width: int) -> int:
    """Bytes of a page: a tile, or a row."""
    return tile_bytes(_page_elements(spec, width), spec.dtype)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
