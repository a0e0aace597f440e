"""Which expert is where: what programs compute on the host before they call mixtures of experts.

Functions of plain numbers and torch tensors, from `ttnn.experimental.moe_compute_utils`; `ring_weights` packs weights for a ring of cores.
Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.hardware import Arch

W2_TILES_PER_A2A_ITER_W = 4
"""Width in tiles of what a core of the ring passes on at once."""

_RING = 12  # cores of the ring on Wormhole, one for each bank


def cluster_distance(d0: int, d1: int, mesh_shape: Sequence[int], cluster_axis: int) -> int | None:
    """Steps between two devices, numbered row-major, along an axis; None when they are not on one line of it."""
    one, other = divmod(d0, mesh_shape[1]), divmod(d1, mesh_shape[1])
    if one[1 - cluster_axis] != other[1 - cluster_axis]:
        return None
    return abs(one[cluster_axis] - other[cluster_axis])


def get_shared_experts_per_device(
    shared_expert_ids_to_devices: Mapping[int, Sequence[int]], devices: int
) -> list[int]:
    """How many shared experts each device holds."""
    found = [0] * devices
    for holders in shared_expert_ids_to_devices.values():
        for device in holders:
            found[device] += 1
    return found


def map_shared_experts(
    expert_mapping_tensor: Any,
    shared_expert_ids_to_devices: Mapping[int, Sequence[int]],
    mesh_shape: Sequence[int],
    cluster_axis: int,
) -> Any:
    """A map (devices, routed experts) of the device that holds each expert, with columns for the shared ones: the nearest on the axis.

    A shared expert that no device on the axis holds goes to its first. Raises RuntimeError for a map of other dimensions, shared
    experts that are not spread evenly, or whose numbers do not follow the routed ones.
    """
    if expert_mapping_tensor.dim() != 2:
        raise RuntimeError(
            f"Invalid shape of mapping tensor. Expected: 2. Got: {expert_mapping_tensor.dim()}"
        )
    devices, routed = expert_mapping_tensor.shape
    if len(set(get_shared_experts_per_device(shared_expert_ids_to_devices, devices))) > 1:
        raise RuntimeError(
            "Shared Experts must be distributed such that all devices have an equal number of experts"
        )
    shared = sorted(shared_expert_ids_to_devices)
    if shared != list(range(routed, routed + len(shared))):
        raise RuntimeError("Shared expert IDs should be a contiguous continuation of routed expert IDs ")

    def nearest(device: int, holders: Sequence[int]) -> int:
        steps = {holder: cluster_distance(device, holder, mesh_shape, cluster_axis) for holder in holders}
        reachable = [(step, place) for place, step in enumerate(steps.values()) if step is not None]
        return holders[min(reachable)[1]] if reachable else holders[0]

    added = [[nearest(d, shared_expert_ids_to_devices[e]) for e in shared] for d in range(devices)]
    columns = library().tensor(added, dtype=expert_mapping_tensor.dtype).reshape(devices, len(shared))
    return library().cat([expert_mapping_tensor, columns], dim=1)


def add_shared_expert_weights(
    routed_w0: Any,
    routed_w1: Any,
    routed_w2: Any,
    shared_w0: Mapping[int, Any],
    shared_w1: Mapping[int, Any],
    shared_w2: Mapping[int, Any],
    shared_expert_ids_to_device: Mapping[int, Sequence[int]],
    num_devices: int,
) -> tuple[Any, Any, Any]:
    """The weights (layers, experts, …) in the order of the devices: the routed experts of each, then its shared ones."""

    def ordered(routed: Any, shared: Mapping[int, Any]) -> Any:
        each = routed.shape[1] // num_devices
        parts = []
        for device in range(num_devices):
            parts.append(routed[:, device * each : (device + 1) * each])
            held = [e for e in sorted(shared) if device in shared_expert_ids_to_device[e]]
            parts.extend(shared[e] for e in held)
        return library().cat(parts, dim=1)

    return ordered(routed_w0, shared_w0), ordered(routed_w1, shared_w1), ordered(routed_w2, shared_w2)


def shard_tiles(n_tiles: int, core_id: int, n_cores: int) -> int:
    """Tiles of a core of the ring, the larger shares spread evenly over it."""
    each, more = divmod(n_tiles, n_cores)
    return each + (core_id * more % n_cores < more)


def w2_shard_tiles(Ht: int, core_id: int, Nt: int, n_cores: int) -> int:
    """Tiles of the second product of a core: the larger shares on the cores with the smaller ones of the first, where that comes out even."""
    if Nt % n_cores + Ht % n_cores != n_cores:
        return shard_tiles(Ht, core_id, n_cores)
    larger = shard_tiles(Nt, core_id, n_cores) > Nt // n_cores
    return Ht // n_cores + (not larger)


def auto_output_width_shard_dim(hidden_size: int, tile_size: int = 32, max_dim: int = 4) -> int:
    """The largest number up to `max_dim` that divides the hidden size in tiles."""
    tiles = hidden_size // tile_size
    return next(d for d in range(max(max_dim, 1), 0, -1) if d == 1 or tiles % d == 0)


def effective_matmul_ring_size(mesh_device: MeshDevice, bh_ring_size: int = 8) -> int:
    """Cores of the ring on the mesh's chips."""
    return len(mesh_device.dram_bank_workers()) if mesh_device.arch() is Arch.BLACKHOLE else _RING
