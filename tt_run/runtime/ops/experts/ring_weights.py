"""Weights of experts packed on the host for `ttnn.experimental.moe_compute`, and where they lie: `ttnn.experimental.moe_compute_utils`.

Functions of torch tensors [layers, experts, rows, columns]. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.experts.expert_layouts import effective_matmul_ring_size
from tt_run.runtime.ops.experts.ring_layout import (
    WIDE,
    Packing,
    Ring,
    first_columns,
    first_packing,
    pack,
    ring_packings,
    second_columns,
    second_packing,
)
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]


def prepare_w0_w1_tensor_for_moe_compute(
    torch_w0: Any,
    torch_w1: Any,
    L: int,
    E: int,
    K: int,
    N: int,
    shard_map: list[int],
    num_banks: int | None = None,
    tiles_per_txn: int | None = None,
) -> Any:
    """W0 and W1 [L, E, K, N] interleaved by columns, each core of the ring its own: (banks, L, E, blocks, rows, 128).

    Raises ValueError for sizes that are no whole tiles or a ring without cores, RuntimeError for a map that is not the ring's own.
    """
    ring = _ring(K, N, len(shard_map), names=("K dimension", "N dimension"))
    _check_map(shard_map, ring, "W0W1 shard map must match the kernel distribution {own}, got: {given}")
    height = ring.height if tiles_per_txn is None else tiles_per_txn // 2
    packing = first_packing(ring, num_banks or ring.cores, height)
    return _packed([m.reshape(L, E, K, N) for m in (torch_w0, torch_w1)], packing)


def prepare_w0_w1_tensor_with_bias(
    torch_w0: Any,
    torch_w1: Any,
    torch_b0: Any,
    torch_b1: Any,
    L: int,
    E: int,
    K: int,
    N: int,
    shard_map: list[int],
) -> Any:
    """The same with biases [L, E, N], each the first row of one more row of tiles."""
    ring = _ring(K, N, len(shard_map), True, ("K dimension", "N dimension"))
    _check_map(shard_map, ring, "W0W1 shard map must match the kernel distribution {own}, got: {given}")
    pairs = ((torch_w0, torch_b0), (torch_w1, torch_b1))
    packing = first_packing(ring, ring.cores, ring.height)
    return _packed([with_bias_row(m.reshape(L, E, K, N), b) for m, b in pairs], packing)


def prepare_w2_tensor_for_moe_compute(
    torch_w2: Any,
    L: int,
    E: int,
    N: int,
    K: int,
    w2_shard_map: Sequence[tuple[int, int]],
    w0_w1_shard_map: Sequence[int],
    tiles_per_txn: int | None = None,
) -> Any:
    """W2 [L, E, N, K] in columns for the cores of the ring, rows in the order in which they come around: (cores, L, E, groups, rows, 128).

    Raises ValueError for sizes that are no whole tiles.
    """
    ring = _ring(K, N, len(w2_shard_map), names=("K dimension", "N dimension"), second=True)
    height = ring.height if tiles_per_txn is None else tiles_per_txn // 2
    return _packed([torch_w2.reshape(L, E, N, K)], _second(ring, w2_shard_map, w0_w1_shard_map, height))


def prepare_w2_tensor_with_bias(
    torch_w2: Any,
    torch_b2: Any,
    L: int,
    E: int,
    N: int,
    K: int,
    w2_shard_map: Sequence[tuple[int, int]],
    w0_w1_shard_map: Sequence[int],
) -> Any:
    """The same with a bias [L, E, K], which does not go around the ring: its row of tiles is the last of every core."""
    ring = _ring(K, N, len(w2_shard_map), True, ("K dimension", "N dimension"), second=True)
    packing = _second(ring, w2_shard_map, w0_w1_shard_map, ring.height)
    return _packed([with_bias_row(torch_w2.reshape(L, E, N, K), torch_b2)], packing)


def get_weight_core_shard_maps(
    mesh_device: MeshDevice, hidden_size: int, intermediate_size: int
) -> tuple[list[int], list[tuple[int, int]], CoreRangeSet]:
    """The first product's columns of each core, (used, empty) tiles of its last group of the second, and the DRAM banks in the ring's order."""
    ring = Ring(
        hidden_size // TILE_SIZE, intermediate_size // TILE_SIZE, effective_matmul_ring_size(mesh_device)
    )
    first, second = shard_maps(ring)
    return first, second, dram_banks(mesh_device)


def get_weight_mem_configs(
    num_layers: int,
    experts_per_device: int,
    hidden_size: int,
    intermediate_size: int,
    w0_w1_shard_map: list[int],
    w2_shard_map: Sequence[tuple[int, int]],
    dram_core_range_set: CoreRangeSet,
    has_bias: bool = False,
) -> tuple[MemoryConfig, MemoryConfig, int, int]:
    """Where both packed tensors lie, and the rows that an expert's weights are filled up to: of the hidden and of the intermediate size.

    Raises ValueError for sizes that are no whole tiles, RuntimeError for a map that is not the ring's own.
    """
    names = ("hidden_size", "intermediate_size")
    ring = _ring(hidden_size, intermediate_size, len(w0_w1_shard_map), has_bias, names)
    text = "get_weight_mem_configs: w0_w1 shard map {given} does not match the kernel's"
    _check_map(w0_w1_shard_map, ring, text)
    first, second = weight_places(ring, num_layers * experts_per_device, dram_core_range_set)

    def filled(tiles: int) -> int:
        return -(-(tiles + has_bias) // ring.height) * ring.height * TILE_SIZE

    return first, second, filled(ring.hidden), filled(ring.intermediate)


def shard_maps(ring: Ring) -> tuple[list[int], list[tuple[int, int]]]:
    """Columns of each core of the ring, those of the second product by what its last group holds and lacks."""
    room = ring.groups * WIDE
    second = [(own - room + WIDE, room - own) for own in second_columns(ring)]
    return list(first_columns(ring)), second


def dram_banks(mesh_device: MeshDevice) -> CoreRangeSet:
    """The DRAM banks in the order of the ring: that of the cores beside them, from the last row up."""
    beside = mesh_device.dram_bank_workers()
    order = sorted(range(len(beside)), key=lambda bank: (beside[bank].y, beside[bank].x), reverse=True)
    cores = [CoreCoord(bank, 0) for bank in order]
    return CoreRangeSet([CoreRange(core, core) for core in cores])


def weight_places(ring: Ring, experts: int, banks: CoreRangeSet) -> tuple[MemoryConfig, MemoryConfig]:
    """Both packed tensors of so many experts of all layers, in height over the banks."""
    number = banks.num_cores()
    first, second = ring_packings(ring, number)
    rows = [experts * len(packing.places) * TILE_SIZE for packing in (first, second)]
    if rows[1] % number:
        raise RuntimeError(
            f"get_weight_mem_configs: w2 total rows {rows[1]} not divisible by num_banks {number} "
            f"(num_cores={ring.cores}, w2_core_rows={len(second.places) // ring.cores * TILE_SIZE})"
        )
    specs = [ShardSpec(banks, (r // number, WIDE * TILE_SIZE), ShardOrientation.ROW_MAJOR) for r in rows]
    one, other = (MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.DRAM, spec) for spec in specs)
    return one, other


def with_bias_row(matrix: Any, bias: Any) -> Any:
    """A torch matrix with one more row of tiles, whose first row is the bias."""
    row = library().zeros((*matrix.shape[:2], TILE_SIZE, matrix.shape[3]), dtype=bias.dtype)
    row[:, :, 0] = bias
    return library().cat([matrix, row], dim=2)


def _second(ring: Ring, columns: Sequence[tuple[int, int]], rows: Sequence[int], height: int) -> Packing:
    own = tuple((ring.groups - 1) * WIDE + used for used, _ in columns)
    return second_packing(ring, own, tuple(rows), height)


def _ring(
    hidden: int,
    intermediate: int,
    cores: int,
    bias: bool = False,
    names: tuple[str, str] = ("", ""),
    second: bool = False,
) -> Ring:
    given = [(names[0], hidden), (names[1], intermediate)]
    for name, size in reversed(given) if second else given:
        if size % TILE_SIZE:
            raise ValueError(f"{name} ({size}) must be divisible by ttnn.TILE_SIZE ({TILE_SIZE})")
    if not cores:
        raise ValueError("shard_map must contain one entry per ring core")
    return Ring(hidden // TILE_SIZE, intermediate // TILE_SIZE, cores, bias)


def _check_map(given: list[int], ring: Ring, text: str) -> None:
    own = list(first_columns(ring))
    if given != own:
        raise RuntimeError(text.format(own=own, given=given))


def _packed(matrices: Sequence[Any], packing: Packing) -> Any:
    """Torch to torch; NumPy knows no bfloat16, whose bits travel as integers."""
    torch = library()
    dtype = matrices[0].dtype
    bits = dtype is torch.bfloat16
    arrays = [(m.contiguous().view(torch.int16) if bits else m).numpy() for m in matrices]
    found = torch.from_numpy(np.ascontiguousarray(pack(arrays, packing)))
    return found.view(dtype) if bits else found
