"""A sum over a row of devices as the heads of each device's own users. Source: reference library 0.81.1, by its mock devices and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import checks
from tt_run.runtime.ccl.collectives import scatter_as
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.core_work import num_cores_to_corerangeset_in_subcoregrids
from tt_run.runtime.enums import Layout, ShardOrientation, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
Three = tuple[Tensor, Tensor, Tensor]
USERS = 32


@operation("ttnn.experimental.llama_rs_create_heads", family=families.COLLECTIVE)
@whole_call
def llama_rs_create_heads(
    input_tensor: Tensor,
    intermediate_packet_buffer: Tensor,
    dim: int,
    cross_device_semaphore: Any,
    subdevice_id: Any,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Any,
    *,
    num_heads: int,
    num_kv_heads: int,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    qkv_memory_config: MemoryConfig | None = None,
    use_noc1_only: bool = False,
    use_optimal_ccl_for_llama: bool = False,
) -> Three:
    """The sum of a row of devices as query, key and value heads of each device's own users: [1, 1, 32, q | k | v] to [1, B, H, D].

    Keys and values have as many rows as queries, of which the first `num_kv_heads` count. Raises RuntimeError for what no device takes.
    """
    members = _check(
        input_tensor, intermediate_packet_buffer, dim, cluster_axis, mesh_device, qkv_memory_config
    )
    assert qkv_memory_config is not None
    tuning = topology if topology is not None else Topology.Linear, num_links, DRAM_MEMORY_CONFIG
    part = scatter_as("llama_rs_create_heads", input_tensor, -2, cluster_axis, tuning)
    users, heads = USERS // members, num_heads + 2 * num_kv_heads
    depth = int(part.shape[-1]) // heads
    results = []
    starts = 0, num_heads, num_heads + num_kv_heads
    for number, (start, count) in enumerate(
        zip(starts, (num_heads, num_kv_heads, num_kv_heads), strict=True)
    ):

        def own(stack: Array, start: int = start, count: int = count) -> Array:
            rows = stack.reshape(*stack.shape[:-3], users, heads, depth)
            found = np.zeros((*rows.shape[:-2], num_heads, depth), stack.dtype)
            found[..., :count, :] = rows[..., start : start + count, :]
            return found

        place = _place(qkv_memory_config, number, users, (num_heads, depth))
        results.append(
            part.derive(part.shards.map(own), memory_config=place, topology=input_tensor.tensor_topology())
        )
    return results[0], results[1], results[2]


def _place(asked: MemoryConfig, number: int, users: int, piece: tuple[int, int]) -> MemoryConfig:
    """A user's heads on a core each: queries on the first of the cores asked for, keys and values on those that follow."""
    spec = asked.shard_spec
    assert spec is not None
    start = spec.grid.bounding_box().start
    if number:
        start = (
            num_cores_to_corerangeset_in_subcoregrids(start, number * users + 1, spec.grid, row_wise=True)
            .ranges()[-1]
            .end
        )
    cores = num_cores_to_corerangeset_in_subcoregrids(start, users, spec.grid, row_wise=True)
    return MemoryConfig(
        asked.memory_layout, asked.buffer_type, ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR)
    )


def _check(
    tensor: Tensor, packets: Tensor, dim: int, axis: int, mesh: MeshDevice, asked: MemoryConfig | None
) -> int:
    """Of how many devices a row is; raise RuntimeError for what the reference refuses."""
    checks.device_of(tensor, "llama_rs_create_heads")
    members = tuple(mesh.shape)[1]
    rank = len(tensor.shape)
    dim = dim + rank if dim < 0 else dim
    facts = (
        (dim == 3, f"dim must be 3, got {dim}", "attributes.dim == 3"),
        (axis == 1, f"cluster_axis must be 1, got {axis}", "attributes.cluster_axis == 1"),
        (members in (2, 4), f"ring_devices must be 4 or 2, got {members}", "ring_devices == 4 or ring_devices == 2"),
    )  # fmt: skip
    for holds, words, condition in facts:
        if not holds:
            raise fatal(words, condition, hint="a mesh of 2 or 4 columns: cluster_axis=1, dim=3")
    configs = (
        ("input_tensor", tensor.memory_config()),
        ("intermediate_packet_buffer", packets.memory_config()),
        ("qkv_memory_config", asked),
    )
    for name, config in configs:
        spec = None if config is None else config.shard_spec
        if spec is None:
            raise fatal(
                f"{name} must have a shard spec",
                hint="cut it over cores: a ttnn.MemoryConfig with a ttnn.ShardSpec",
            )
        if spec.shape[0] != USERS:
            raise fatal(
                f"{name} shard height must be {USERS} but got {spec.shape[0]}",
                hint=f"ttnn.ShardSpec(grid, ({USERS}, {spec.shape[1]}), orientation)",
            )
    if tensor.layout is Layout.TILE:
        raise fatal(
            "Physical shard shape must be tile {32, 32} sized!",
            hint="the heads of a user are rows: give row-major values, as a matmul with untilize_out=True does",
        )
    return members
