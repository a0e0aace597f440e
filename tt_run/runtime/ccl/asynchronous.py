"""The experimental collectives with semaphores: the same values as the plain ones. Source: reference library 0.81.1.

Semaphores order kernels on hardware; here every collective is complete when it returns, so they are accepted and left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.ccl import checks, form_checks, memory_checks, semaphore_counts
from tt_run.runtime.ccl.collectives import gather_as, scatter_as, sum_as
from tt_run.runtime.ccl.forms import choose
from tt_run.runtime.ccl.plans import on_subdevice
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, ReduceType, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import convert


def _gather_plain(
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
    return gather_as(
        "all_gather_async",
        input_tensor,
        dim,
        None,
        (
            topology,
            num_links,
            form_checks.place_of_gather(input_tensor, dim, memory_config, None),
            on_subdevice(subdevice_id),
            (None, num_workers_per_link, num_buffers_per_channel),
        ),
        is_result=True,
    )


def _gather_persistent(
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
        raise ArgumentMismatch("all_gather_async needs dim")
    workers = chunks_per_sync, num_workers_per_link, num_buffers_per_channel
    memory = form_checks.place_of_gather(input_tensor, dim, memory_config, persistent_output_buffer)
    given = multi_device_global_semaphore
    semaphore_counts.check_gather(input_tensor, dim, given, broadcast=use_broadcast)
    tuning = topology, num_links, memory, on_subdevice(subdevice_id), workers
    return gather_as(
        "all_gather_async", input_tensor, dim, cluster_axis, tuning, persistent_output_buffer, is_result=True
    )


def _gather_on_axis(
    input_tensor: Tensor,
    dim: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Any = None,
    multi_device_global_semaphore: Any = None,
    *,
    persistent_output_tensor: Tensor | None = None,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    use_optimal_ccl_for_llama: bool = False,
    use_broadcast: bool = False,
    barrier_semaphore: Any = None,
    sub_core_grids: Any = None,
) -> Tensor:
    memory = form_checks.place_of_gather(input_tensor, dim, memory_config, persistent_output_tensor)
    given = multi_device_global_semaphore
    semaphore_counts.check_gather(input_tensor, dim, given, broadcast=use_broadcast)
    tuning = topology, num_links, memory, on_subdevice(subdevice_id)
    return gather_as(
        "all_gather_async",
        input_tensor,
        dim,
        cluster_axis,
        tuning,
        persistent_output_tensor,
        mesh_device,
        is_result=True,
    )


@operation("ttnn.experimental.all_gather_async", family=families.COLLECTIVE)
def all_gather_async(*args: Any, **kwargs: Any) -> Tensor:
    """`all_gather` with semaphores: `(x, dim, semaphores)`, `(x, output or None, dim, semaphores)` or
    `(x, dim, cluster_axis, mesh_device, topology, semaphores)`."""
    return choose(args, kwargs, _gather_plain, _gather_persistent, _gather_on_axis)


@operation("ttnn.experimental.reduce_scatter_minimal_async", family=families.COLLECTIVE)
def reduce_scatter_minimal_async(
    input_tensor: Tensor,
    persistent_output_buffers: Sequence[Tensor] | None = None,
    dim: int | None = None,
    multi_device_global_semaphore: Any = None,
    *,
    barrier_semaphore: Any = None,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    intermediate_memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
    chunks_per_sync: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    compute_kernel_config: Any = None,
) -> Tensor:
    """`reduce_scatter` with semaphores; the last persistent buffer takes the result."""
    if dim is None:
        raise ArgumentMismatch("reduce_scatter_minimal_async needs dim")
    output = list(persistent_output_buffers)[-1] if persistent_output_buffers else None
    device = checks.device_of(input_tensor, "reduce_scatter_minimal_async")
    members = checks.members_of(input_tensor, device, cluster_axis, any_ring=True)
    form_checks.check_scatter(input_tensor, dim, memory_config, output, members)
    semaphore_counts.check_scatter(input_tensor, dim, members, multi_device_global_semaphore)
    workers = (
        chunks_per_sync,
        num_workers_per_link,
        num_buffers_per_channel,
        None,
        intermediate_memory_config,
    )
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id), workers
    return scatter_as("reduce_scatter_minimal_async", input_tensor, dim, cluster_axis, tuning, output)


def _reduce_all(
    input_tensor: Tensor,
    num_devices: int,
    barrier_semaphores: Any,
    rs_global_semaphores: Any,
    ag_global_semaphores: Any,
    math_op: ReduceType,
    *,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    num_links: int | None = None,
    subdevice_id: Any = None,
) -> Tensor:
    _only_sums(math_op)
    device = checks.device_of(input_tensor, "all_reduce_async")
    held = checks.holders(input_tensor, device)
    devices = device.shape.mesh_size() if held is None else len(held)
    if num_devices != devices:
        raise fatal(
            f"num_devices is {num_devices}, the tensor is on {devices} devices",
            "num_devices == devices",
            hint=f"distribute it with ttnn.MeshMapperConfig([...], ttnn.MeshShape(1, {num_devices}))",
        )
    memory_checks.check_summand(input_tensor, devices)
    given = barrier_semaphores, rs_global_semaphores, ag_global_semaphores
    semaphore_counts.check_sum(input_tensor, devices, *given)
    return sum_as(
        "all_reduce_async",
        input_tensor,
        None,
        (topology, num_links, memory_config, on_subdevice(subdevice_id)),
    )


def _reduce_on_axis(
    input_tensor: Tensor,
    cluster_axis: int | None = None,
    mesh_device: MeshDevice | None = None,
    barrier_semaphores: Any = None,
    rs_global_semaphores: Any = None,
    ag_global_semaphores: Any = None,
    math_op: ReduceType = ReduceType.Sum,
    *,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    num_links: int | None = None,
    subdevice_id: Any = None,
) -> Tensor:
    _only_sums(math_op)
    device = checks.device_of(input_tensor, "all_reduce_async")
    members = checks.members_of(input_tensor, device, cluster_axis, any_ring=True)
    memory_checks.check_summand(input_tensor, members)
    given = barrier_semaphores, rs_global_semaphores, ag_global_semaphores
    semaphore_counts.check_sum(input_tensor, members, *given)
    return sum_as(
        "all_reduce_async",
        input_tensor,
        cluster_axis,
        (topology, num_links, memory_config, on_subdevice(subdevice_id)),
    )


@whole_call
def _reduce_buffered(
    input_tensor: Tensor,
    buffer_tensor: Tensor,
    cluster_axis: int,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Any,
    *,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    num_links: int | None = None,
    subdevice_id: Any = None,
    use_noc1_only: bool = False,
    use_optimal_ccl_for_llama: bool = False,
    fp32_dest_acc: bool = False,
) -> Tensor:
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    total = sum_as("all_reduce_async", input_tensor, cluster_axis, tuning)
    if dtype is None or dtype is total.dtype:
        return total
    return total.derive(total.shards.map(lambda values: convert(values, dtype)), dtype=dtype)


@operation("ttnn.experimental.all_reduce_async", family=families.COLLECTIVE)
def all_reduce_async(*args: Any, **kwargs: Any) -> Tensor:
    """`all_reduce` with semaphores, over the whole mesh or an axis; sums only."""
    return choose(args, kwargs, _reduce_buffered, _reduce_all, _reduce_on_axis)


def _only_sums(math_op: ReduceType) -> None:
    if math_op is not ReduceType.Sum:
        raise fatal(
            f"all_reduce_async supports ReduceType.Sum only, got {math_op}",
            hint="math_op=ttnn.ReduceType.Sum",
        )
