"""More forms of the all-gather: reversed, strided, into given buffers, several tensors at once. Source: reference library 0.81.1.

Strides, cores and buffers say how a kernel reads and where it stages; the values are those of the plain all-gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime import traffic
from tt_run.runtime.ccl import form_checks, result_topology, semaphore_counts
from tt_run.runtime.ccl.calls import run
from tt_run.runtime.ccl.collectives import ALL_GATHER, gather_as, result
from tt_run.runtime.ccl.exchange import gather
from tt_run.runtime.ccl.forms import choose
from tt_run.runtime.ccl.plans import planned, written_into
from tt_run.runtime.ccl.record import Collective
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.attention.joined_heads import joined_users
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

REVERSED = Collective(
    "all_gather_reversed",
    ALL_GATHER.check,
    gather.all_gather_reversed,
    traffic.RING_GATHER,
    result_topology.interleaved,
)


def _reversed(
    tensor: Tensor, dim: int, cluster_axis: int | None, tuning: Any, output: Tensor | None = None
) -> Tensor:
    memory = form_checks.place_of_gather(tensor, dim, tuning[2], output)
    tuning = (*tuning[:2], memory, *tuning[3:])
    plan = planned(
        REVERSED, tensor, cluster_axis, dim, written_into(tuning, output), "all_gather_async_reversed"
    )
    return result(tensor, run(plan, tensor), plan.topology, memory or plan.spec.memory_config, output)


def _reversed_plain(
    input_tensor: Tensor,
    dim: int,
    multi_device_global_semaphore: Any,
    *,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
    use_optimal_ccl_for_llama: bool = False,
    barrier_semaphore: Any = None,
    sub_core_grids: Any = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
) -> Tensor:
    semaphore_counts.check_gather(input_tensor, dim, multi_device_global_semaphore)
    return _reversed(input_tensor, dim, None, (topology, num_links, memory_config))


def _reversed_persistent(
    input_tensor: Tensor,
    persistent_output_buffer: Tensor | None = None,
    dim: int | None = None,
    multi_device_global_semaphore: Any = None,
    *,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
    use_optimal_ccl_for_llama: bool = False,
    use_broadcast: bool = False,
    barrier_semaphore: Any = None,
    chunks_per_sync: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    sub_core_grids: Any = None,
) -> Tensor:
    if dim is None:
        raise ArgumentMismatch("all_gather_async_reversed needs dim")
    given = multi_device_global_semaphore
    semaphore_counts.check_gather(input_tensor, dim, given, broadcast=use_broadcast)
    tuning = topology, num_links, memory_config
    return _reversed(input_tensor, dim, cluster_axis, tuning, persistent_output_buffer)


def _reversed_on_axis(
    input_tensor: Tensor,
    dim: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Any,
    multi_device_global_semaphore: Any,
    *,
    persistent_output_tensor: Tensor | None = None,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    use_optimal_ccl_for_llama: bool = False,
    use_broadcast: bool = False,
    barrier_semaphore: Any = None,
    sub_core_grids: Any = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
) -> Tensor:
    given = multi_device_global_semaphore
    semaphore_counts.check_gather(input_tensor, dim, given, broadcast=use_broadcast)
    tuning = topology, num_links, memory_config
    return _reversed(input_tensor, dim, cluster_axis, tuning, persistent_output_tensor)


@operation("ttnn.experimental.all_gather_async_reversed", family=families.COLLECTIVE)
def all_gather_async_reversed(*args: Any, **kwargs: Any) -> Tensor:
    """`all_gather_async` with the last device's shard first; the same three forms of arguments."""
    return choose(args, kwargs, _reversed_plain, _reversed_persistent, _reversed_on_axis)


@operation("ttnn.experimental.strided_all_gather_async", family=families.COLLECTIVE)
@whole_call
def strided_all_gather_async(
    input_tensor: Tensor,
    persistent_output_buffer: Tensor | None,
    dim: int,
    multi_device_global_semaphore: Any,
    *,
    num_links: int = 1,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    cluster_axis: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    mm_cores_y: int | None = None,
    mm_block_ht: int | None = None,
    mm_block_wt: int | None = None,
) -> Tensor:
    """`all_gather` read in the order of a following product's blocks."""
    semaphore_counts.check_pair(multi_device_global_semaphore)
    tuning = topology, num_links, memory_config
    name = "strided_all_gather_async"
    return gather_as(name, input_tensor, dim, cluster_axis, tuning, persistent_output_buffer)


@operation("ttnn.experimental.ring_attention_all_gather_async", family=families.COLLECTIVE)
@whole_call
def ring_attention_all_gather_async(
    input_tensor: Sequence[Tensor],
    persistent_output_buffer: Sequence[Tensor],
    dim: int,
    *,
    multi_device_global_semaphore: Any,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Any,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
) -> list[Tensor]:
    """`all_gather` of several tensors, each into its own output buffer."""
    if len(input_tensor) != len(persistent_output_buffer):
        raise fatal(
            f"{len(input_tensor)} tensors need as many output buffers, got {len(persistent_output_buffer)}",
            hint="leave persistent_output_buffer out, or give one for each tensor",
        )
    form_checks.check_ring_gather(input_tensor, persistent_output_buffer, memory_config)
    semaphore_counts.check_pair(multi_device_global_semaphore)
    tuning, name = (topology, num_links, memory_config), "ring_attention_all_gather_async"
    return [
        gather_as(name, tensor, dim, cluster_axis, tuning, output, mesh_device)
        for tensor, output in zip(input_tensor, persistent_output_buffer, strict=True)
    ]


@operation("ttnn.experimental.all_gather_concat", family=families.COLLECTIVE)
@whole_call
def all_gather_concat(
    input_tensor: Tensor,
    buffer_tensor: Tensor,
    dim: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Any,
    num_heads: int,
    memory_config: MemoryConfig,
    *,
    use_noc1_only: bool = False,
    num_links: int | None = 1,
    topology: Any = Topology.Linear,
    subdevice_id: Any = None,
) -> Tensor:
    """`all_gather` along `dim`, then the heads of each user side by side: [1, B, H, D] per device becomes [1, 1, n*B, num_heads*D]."""
    tuning = topology, num_links, None
    gathered = gather_as("all_gather_concat", input_tensor, dim, cluster_axis, tuning, None, mesh_device)
    joined: Tensor = joined_users(gathered, num_heads=num_heads)
    # Tiles where they are asked for, of rows as well.
    return joined.derive(joined.shards, layout=Layout.TILE, memory_config=memory_config)
