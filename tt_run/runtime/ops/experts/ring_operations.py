"""What programs ask around `ttnn.experimental.moe_compute` on a device: weights packed there, where they lie, which cores do what.

Which core does what is a matter of one chip and no result depends on it. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import one_on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts.expert_layouts import effective_matmul_ring_size
from tt_run.runtime.ops.experts.ring_layout import Packing, Ring, pack, ring_packings
from tt_run.runtime.ops.experts.ring_weights import dram_banks, shard_maps, weight_places
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]
_NO_CORES = CoreRangeSet()


@native("ttnn._ttnn.operations.experimental.ccl_experimental.WeightCoreShardMaps")
@dataclass(frozen=True, eq=False, repr=False)
class WeightCoreShardMaps(metaclass=Native):
    """How the columns of both products are shared out over the ring, and its DRAM banks."""

    w0_w1_shard_map: list[int]
    w2_shard_map: list[tuple[int, int]]
    dram_core_range_set: CoreRangeSet


@native("ttnn._ttnn.operations.experimental.ccl_experimental.WeightMemoryConfigs")
@dataclass(frozen=True, eq=False, repr=False)
class WeightMemoryConfigs(metaclass=Native):
    """Where both packed tensors lie."""

    w0_w1: MemoryConfig
    w2: MemoryConfig


@operation("ttnn.experimental.get_weight_core_shard_maps", family=families.EXPERTS, direct=True)
def get_weight_core_shard_maps(
    mesh_device: MeshDevice, hidden_size: int, intermediate_size: int
) -> WeightCoreShardMaps:
    """The first product's columns of each core, (used, empty) tiles of its last group of the second, and the DRAM banks in the ring's order."""
    ring = ring_of(mesh_device, hidden_size, intermediate_size)
    return WeightCoreShardMaps(*shard_maps(ring), dram_banks(mesh_device))


@operation("ttnn.experimental.get_weight_mem_configs", family=families.EXPERTS, direct=True)
def get_weight_mem_configs(
    mesh_device: MeshDevice,
    *,
    num_layers: int,
    experts_per_device: int,
    hidden_size: int,
    intermediate_size: int,
    has_bias: bool = False,
) -> WeightMemoryConfigs:
    """Where both packed tensors of so many layers and experts lie. Raises RuntimeError for sizes that are no whole tiles."""
    ring = ring_of(mesh_device, hidden_size, intermediate_size, has_bias)
    return WeightMemoryConfigs(*weight_places(ring, num_layers * experts_per_device, dram_banks(mesh_device)))


@operation("ttnn.experimental.prepare_w0_w1_tensor_for_moe_compute", family=families.EXPERTS)
def prepare_w0_w1_tensor_for_moe_compute(
    tt_w0: Tensor, tt_w1: Tensor, *, L: int, E: int, K: int, N: int
) -> Tensor:
    """W0 and W1 [L, E, K, N] of each device interleaved by columns, each core of the ring its own. Raises RuntimeError for other shapes."""
    ring = ring_of(on_device(tt_w0, tt_w1, kind="experts"), K, N)
    return _packed((tt_w0, tt_w1), (), (L, E, K, N), ring_packings(ring)[0])


@operation("ttnn.experimental.prepare_w0_w1_tensor_with_bias", family=families.EXPERTS)
def prepare_w0_w1_tensor_with_bias(
    tt_w0: Tensor, tt_w1: Tensor, tt_b0: Tensor, tt_b1: Tensor, *, L: int, E: int, K: int, N: int
) -> Tensor:
    """The same with biases [L, E, N], each the first row of one more row of tiles."""
    ring = ring_of(on_device(tt_w0, tt_w1, tt_b0, tt_b1, kind="experts"), K, N, True)
    return _packed((tt_w0, tt_w1), (tt_b0, tt_b1), (L, E, K, N), ring_packings(ring)[0])


@operation("ttnn.experimental.prepare_w2_tensor_for_moe_compute", family=families.EXPERTS)
def prepare_w2_tensor_for_moe_compute(tt_w2: Tensor, *, L: int, E: int, N: int, K: int) -> Tensor:
    """W2 [L, E, N, K] of each device in columns for the cores of the ring, rows in the order in which they come around."""
    ring = ring_of(on_device(tt_w2, kind="experts"), K, N)
    return _packed((tt_w2,), (), (L, E, N, K), ring_packings(ring)[1])


@operation("ttnn.experimental.prepare_w2_tensor_with_bias", family=families.EXPERTS)
def prepare_w2_tensor_with_bias(tt_w2: Tensor, tt_b2: Tensor, *, L: int, E: int, N: int, K: int) -> Tensor:
    """The same with a bias [L, E, K], whose row of tiles is the last of every core."""
    ring = ring_of(on_device(tt_w2, tt_b2, kind="experts"), K, N, True)
    return _packed((tt_w2,), (tt_b2,), (L, E, N, K), ring_packings(ring)[1])


@operation("ttnn.experimental.add_shared_expert_weights", family=families.EXPERTS)
def add_shared_expert_weights(
    routed_w0: Tensor,
    routed_w1: Tensor,
    routed_w2: Tensor,
    shared_w0: Tensor,
    shared_w1: Tensor,
    shared_w2: Tensor,
    cluster_axis: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Each device's shared experts after its routed ones: weights [L, E, …] joined along the experts.

    Raises RuntimeError where the other axis of the mesh has several devices, over which the reference splits shared experts.
    """
    pairs = ((routed_w0, shared_w0), (routed_w1, shared_w1), (routed_w2, shared_w2))
    device = on_device(*(tensor for pair in pairs for tensor in pair), kind="experts")
    others = device.shape.mesh_size() // device.shape[cluster_axis]
    if others != 1:
        raise fatal(
            f"shared experts that are split over {others} devices of the other axis are not emulated",
            hint="a mesh whose other axis has one device, or the shared experts by themselves with ttnn.linear",
        )
    for routed, shared in pairs:
        if routed.shape[0] != shared.shape[0] or routed.shape[2:] != shared.shape[2:]:
            raise fatal(
                f"routed weights {routed.shape} and shared ones {shared.shape} must differ in the number of experts alone",
                hint="[layers, experts, rows, columns] for both, alike but for the experts",
            )
    first, second, third = (
        settle(
            (routed, shared),
            one_on_each_device(lambda a, b: np.concatenate([a, b], axis=1), routed, shared),
            routed.dtype,
        )
        for routed, shared in pairs
    )
    return first, second, third


@operation("ttnn.experimental.get_moe_combine_cores", family=families.EXPERTS, direct=True)
def get_moe_combine_cores(
    mesh_device: MeshDevice,
    combine_token_parallel_cores: int,
    combine_data_parallel_cores: int,
    hidden_size: int,
    mux_core_range_set: CoreRangeSet = _NO_CORES,
) -> list[CoreCoord]:
    """The cores that combine, those with the same tokens side by side. Raises RuntimeError where the grid has not so many."""
    wanted = combine_token_parallel_cores * combine_data_parallel_cores
    free = _free(mesh_device, mux_core_range_set)[:-1]
    if not 0 < wanted <= len(free):
        raise fatal(
            f"no room for {combine_token_parallel_cores} x {combine_data_parallel_cores} combine cores: {len(free)} are free",
            hint="a smaller output_height_shard_dim, or fewer cores in mux_core_range_set",
        )
    return free[:wanted]


@operation("ttnn.experimental.get_moe_tilize_drain_core", family=families.EXPERTS, direct=True)
def get_moe_tilize_drain_core(
    mesh_device: MeshDevice,
    combine_token_parallel_cores: int,
    combine_data_parallel_cores: int,
    hidden_size: int,
    mux_core_range_set: CoreRangeSet = _NO_CORES,
) -> CoreCoord:
    """The core that reads the experts' indices and scores: the last that no mux has."""
    return _free(mesh_device, mux_core_range_set)[-1]


@operation("ttnn.experimental.get_moe_worker_mcast_bounding_box", family=families.EXPERTS, direct=True)
def get_moe_worker_mcast_bounding_box(
    mesh_device: MeshDevice,
    combine_token_parallel_cores: int,
    combine_data_parallel_cores: int,
    hidden_size: int,
    mux_core_range_set: CoreRangeSet = _NO_CORES,
) -> CoreRange:
    """The range that holds every core that works: the whole grid."""
    grid = mesh_device.compute_with_storage_grid_size()
    return CoreRange(CoreCoord(0, 0), CoreCoord(grid.x - 1, grid.y - 1))


def ring_of(device: MeshDevice, hidden: int, intermediate: int, bias: bool = False) -> Ring:
    """The ring of a mesh's chips. Raises RuntimeError for sizes that are no whole tiles."""
    for name, size in (("K", hidden), ("N", intermediate)):
        if size <= 0 or size % TILE_SIZE:
            raise fatal(
                f"{name} dimension ({size}) must be divisible by TILE_SIZE ({TILE_SIZE})",
                f"{name} % TILE_SIZE == 0",
                hint=f"fill the weights up with zeros to {-(-max(size, 1) // TILE_SIZE) * TILE_SIZE}: ttnn.pad",
            )
    return Ring(hidden // TILE_SIZE, intermediate // TILE_SIZE, effective_matmul_ring_size(device), bias)


def _free(device: MeshDevice, taken: CoreRangeSet) -> list[CoreCoord]:
    grid = device.compute_with_storage_grid_size()
    cores = (CoreCoord(x, y) for y in range(grid.y) for x in range(grid.x))
    free = [core for core in cores if not taken.contains(core)]
    if not free:
        raise fatal(
            f"mux_core_range_set {taken} leaves no core of the grid {grid.x}x{grid.y}",
            hint="fewer cores in mux_core_range_set",
        )
    return free


def _packed(
    matrices: tuple[Tensor, ...], biases: tuple[Tensor, ...], shape: tuple[int, ...], packing: Packing
) -> Tensor:
    wanted = [(tensor, shape) for tensor in matrices] + [(b, (*shape[:2], shape[3])) for b in biases]
    for tensor, dims in wanted:
        if tuple(tensor.shape) != dims:
            raise fatal(
                f"weights have shape {tensor.shape}, not {list(dims)} as L, E, K and N say",
                hint="the sizes of the shard of one device",
            )

    def compute(*given: Array) -> Array:
        sides = list(given[: len(matrices)])
        for number, bias in enumerate(given[len(matrices) :]):
            row = np.zeros((*shape[:2], TILE_SIZE, shape[3]), bias.dtype)
            row[:, :, 0] = bias
            sides[number] = np.concatenate([sides[number], row], axis=2)
        return pack(sides, packing)

    shards = one_on_each_device(compute, *matrices, *biases)
    return settle((*matrices, *biases), shards, matrices[0].dtype, layout=Layout.TILE)
