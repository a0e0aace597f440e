"""More forms of reduce-scatter and all-reduce, some with what follows them in a model. Source: reference library 0.81.1.

Packets, strides, cores and buffers say how a kernel stages; the values are those of the plain collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.ccl import checks, form_checks
from tt_run.runtime.ccl.collectives import scatter_as, sum_as
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.attention.heads import nlp_create_qkv_heads_decode, users_of
from tt_run.runtime.ops.data_movement.joining import concat
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import convert

Three = tuple[Tensor, Tensor, Tensor]


@operation("ttnn.experimental.strided_reduce_scatter_async", family=families.COLLECTIVE)
@whole_call
def strided_reduce_scatter_async(
    input_tensor: Tensor,
    persistent_output_buffers: Sequence[Tensor] | None = None,
    dim: int | None = None,
    multi_device_global_semaphore: Any = None,
    *,
    mm_block_ht: int,
    mm_block_wt: int,
    barrier_semaphore: Any = None,
    num_links: int = 1,
    memory_config: MemoryConfig | None = None,
    intermediate_memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    mm_cores_y: int | None = None,
    mm_N_full_block_wt: int | None = None,
    chunk_width_in_mm_blocks: int | None = None,
) -> Tensor:
    """`reduce_scatter` in the order of a product's blocks; the last persistent buffer takes the result."""
    if dim is None:
        raise ArgumentMismatch("strided_reduce_scatter_async needs dim")
    device = checks.device_of(input_tensor, "strided_reduce_scatter_async")
    form_checks.check_strided_scatter(
        input_tensor, dim, checks.members_of(input_tensor, device, cluster_axis)
    )
    output = list(persistent_output_buffers)[-1] if persistent_output_buffers else None
    tuning = topology, num_links, memory_config
    return scatter_as("strided_reduce_scatter_async", input_tensor, dim, cluster_axis, tuning, output)


@operation("ttnn.experimental.reduce_scatter_minimal_direct", family=families.COLLECTIVE)
@whole_call
def reduce_scatter_minimal_direct(
    input_tensor: Tensor,
    dim: int,
    *,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    persistent_buffers: Sequence[Tensor] | None = None,
    subdevice_id: Any = None,
    sub_core_grid: Any = None,
) -> Tensor:
    """`reduce_scatter` in one step; the first persistent buffer takes the result. Raises RuntimeError on a 2-D mesh without an axis."""
    device = checks.device_of(input_tensor, "reduce_scatter_minimal_direct")
    if cluster_axis is None and 1 not in device.shape:
        raise fatal(
            f"reduce_scatter_minimal_direct needs cluster_axis on {device.shape}",
            "cluster_axis.has_value()",
            hint="cluster_axis=0 or 1",
        )
    form_checks.check_direct_scatter(input_tensor, dim, checks.members_of(input_tensor, device, cluster_axis))
    output = persistent_buffers[0] if persistent_buffers else None
    tuning = None, num_links, memory_config
    return scatter_as("reduce_scatter_minimal_direct", input_tensor, dim, cluster_axis, tuning, output)


@operation(
    "ttnn.experimental.reduce_scatter_minimal_direct_create_staging_buffer", family=families.COLLECTIVE
)
def reduce_scatter_minimal_direct_create_staging_buffer(
    input_tensor: Tensor, dim: int, *, cluster_axis: int | None = None
) -> Tensor:
    """A buffer for `reduce_scatter_minimal_direct`, which needs none here: bytes in the shape of the input."""
    checks.device_of(input_tensor, "reduce_scatter_minimal_direct_create_staging_buffer")
    empty = input_tensor.shards.map(lambda values: convert(values * 0, DataType.UINT8))
    return input_tensor.derive(empty, dtype=DataType.UINT8, layout=Layout.ROW_MAJOR)


@operation(
    "ttnn.experimental.reduce_scatter_minimal_direct_create_persistent_buffers", family=families.COLLECTIVE
)
def reduce_scatter_minimal_direct_create_persistent_buffers(
    input_tensor: Tensor, dim: int, *, cluster_axis: int | None = None
) -> list[Tensor]:
    """Output and staging buffer for `reduce_scatter_minimal_direct`."""
    device = checks.device_of(input_tensor, "reduce_scatter_minimal_direct_create_persistent_buffers")
    members = checks.members_of(input_tensor, device, cluster_axis)
    dim = checks.scatter_dim(input_tensor, dim, members)
    cut = (slice(None),) * (dim + 1) + (slice(input_tensor.shape[dim] // members),)
    output = input_tensor.derive(input_tensor.shards.map(lambda values: values[cut] * 0))
    staging: Tensor = reduce_scatter_minimal_direct_create_staging_buffer.compute(input_tensor, dim)
    return [output, staging]


@operation(
    "ttnn.experimental.reduce_scatter_minimal_async_create_intermediate_buffer", family=families.COLLECTIVE
)
def reduce_scatter_minimal_async_create_intermediate_buffer(
    input_tensor: Tensor,
    dim: int,
    *,
    topology: Any = Topology.Ring,
    cluster_axis: int | None = None,
    compute_kernel_config: Any = None,
) -> list[Tensor]:
    """The two staging buffers of `reduce_scatter_minimal_async`, which needs none here: zeros in the shape of the input.

    Raises RuntimeError for a line and for dimension 0, which have no such buffers.
    """
    checks.device_of(input_tensor, "reduce_scatter_minimal_async_create_intermediate_buffer")
    if topology is Topology.Linear or dim % input_tensor.shape.rank == 0:
        raise fatal(
            f"the contiguous path needs a ring and a dimension other than 0, got {topology} and {dim}",
            "topology == Topology::Ring && dim != 0",
            hint="topology=ttnn.Topology.Ring",
        )
    return [input_tensor.derive(input_tensor.shards.map(lambda values: values * 0)) for _ in range(2)]


@operation("ttnn.experimental.llama_reduce_scatter", family=families.COLLECTIVE)
@whole_call
def llama_reduce_scatter(
    input_tensor: Tensor,
    intermediate_packet_buffer: Tensor,
    dim: int,
    cross_device_semaphore: Any,
    subdevice_id: Any,
    cluster_axis: int,
    mesh_device: MeshDevice,
    *,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    use_noc1_only: bool = False,
) -> Tensor:
    """`reduce_scatter` along an axis."""
    tuning = topology, num_links, memory_config
    return scatter_as("llama_reduce_scatter", input_tensor, dim, cluster_axis, tuning)


@operation("ttnn.experimental.all_reduce_create_qkv_heads", family=families.COLLECTIVE)
@whole_call
def all_reduce_create_qkv_heads(
    input_tensor: Tensor,
    buffer_tensor: Tensor,
    batch_offset: Tensor,
    cluster_axis: int,
    mesh_device: MeshDevice,
    multi_device_global_semaphore: Any,
    num_heads: int,
    *,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    num_links: int | None = None,
    subdevice_id: Any = None,
    num_kv_heads: int | None = None,
    slice_size: int | None = None,
    final_memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    use_noc1_only: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`all_reduce`, and the query, key and value heads of its sum: (sum, [1, B, H, D], [1, B, Hkv, D], [1, B, Hkv, D]).

    With `slice_size` each device keeps that many users, from its `batch_offset` on. Raises RuntimeError when they are not there.
    """
    tuning = topology, num_links, memory_config
    total = sum_as("all_reduce_create_qkv_heads", input_tensor, cluster_axis, tuning)
    if dtype is not None and dtype is not total.dtype:
        total = total.derive(total.shards.map(lambda values: convert(values, dtype)), dtype=dtype)
    own = total if slice_size is None else users_of(total, batch_offset, slice_size)
    heads: Three = nlp_create_qkv_heads_decode.compute(
        own, num_heads=num_heads, num_kv_heads=num_kv_heads, memory_config=final_memory_config
    )
    return total, *heads


@operation("ttnn.experimental.deepseek_moe_reduce_scatter", family=families.COLLECTIVE)
@whole_call
def deepseek_moe_reduce_scatter(
    input_tensors: Sequence[Tensor],
    output_memory_config: MemoryConfig,
    dim: int,
    *,
    num_links: int | None = None,
    topology: Any = Topology.Ring,
    cluster_axis: int | None = None,
) -> Tensor:
    """`reduce_scatter` of tensors that are one when they are concatenated along `dim`."""
    whole: Tensor = concat.compute(list(input_tensors), dim)
    tuning = topology, num_links, output_memory_config
    return scatter_as("deepseek_moe_reduce_scatter", whole, dim, cluster_axis, tuning)
