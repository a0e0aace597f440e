"""Matrix products with a collective before or behind them, in one call. Source: reference library 0.81.1 and its programs.

The reference overlaps the two; the values are those of one after the other, each rounded to its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.ccl import semaphore_counts
from tt_run.runtime.ccl.collectives import gather_as, scatter_as
from tt_run.runtime.ccl.fused.product_parts import (
    Gathered,
    added_to_sums,
    check_gathered,
    fused_product,
    in_chunks,
)
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.data_movement.movement import seen_as
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.products.minimal import in_parts
from tt_run.runtime.ops.products.minimal_checks import MinimalCall
from tt_run.runtime.ops.products.product import fused_activation, product
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]


@operation("ttnn.experimental.all_gather_matmul_async", family=families.COLLECTIVE)
@whole_call
def all_gather_matmul_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_output_buffer: Tensor | None = None,
    dim: int = 3,
    multi_device_global_semaphore: Any = None,
    all_gather_core_grid_offset: Any = None,
    *,
    bias: Tensor | None = None,
    num_links: int = 1,
    memory_config_ag: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    barrier_semaphore: Any = None,
    subdevice_id: Any = None,
    memory_config_mm: MemoryConfig | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    dtype: DataType | None = None,
    program_config: Any = None,
    activation: str | None = None,
    compute_kernel_config: Any = None,
    core_grid: Any = None,
    chunks_per_sync: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
) -> list[Tensor]:
    """[gathered input, gathered input @ weight + bias]."""
    semaphore_counts.check_gather(input_tensor, dim, multi_device_global_semaphore)
    tuning = topology, num_links, memory_config_ag
    gathered = gather_as("all_gather_matmul_async", input_tensor, dim, None, tuning, persistent_output_buffer)
    return [
        gathered,
        product(
            gathered,
            weight_tensor,
            bias=bias,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            memory_config=memory_config_mm,
            dtype=dtype,
            program_config=program_config,
            function=fused_activation(activation, program_config),
        ),
    ]


@operation("ttnn.experimental.llama_all_gather_matmul_async", family=families.COLLECTIVE)
@whole_call
def llama_all_gather_matmul_async(
    input_tensor0: Tensor,
    input_tensor1: Tensor,
    intermediate_tensor: Tensor,
    dim: int,
    cluster_axis: int,
    mesh_device: MeshDevice,
    topology: Any,
    multi_device_global_semaphore: Any,
    *,
    num_links: int | None = None,
    ag_memory_config: MemoryConfig | None = None,
    mm_memory_config: MemoryConfig | None = None,
    subdevice_id: Any = None,
    program_config: Any = None,
    compute_kernel_config: Any = None,
    dtype: DataType | None = None,
    global_cb: Any = None,
) -> Tensor:
    """gathered first input @ second input."""
    tuning, name = (topology, num_links, ag_memory_config), "llama_all_gather_matmul_async"
    gathered = gather_as(name, input_tensor0, dim, cluster_axis, tuning, None, mesh_device)
    return product(
        gathered, input_tensor1, dtype=dtype, memory_config=mm_memory_config, program_config=program_config
    )


@operation("ttnn.experimental.all_gather_minimal_matmul_async", family=families.COLLECTIVE)
@whole_call
def all_gather_minimal_matmul_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    *,
    multi_device_global_semaphore: Any,
    bias_tensor: Tensor | None = None,
    scalar: float | None = None,
    addcmul_input_tensor1: Tensor | None = None,
    addcmul_input_tensor2: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: Any = None,
    topology: Any = Topology.Ring,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: Any = None,
    persistent_output_buffer: Tensor | None = None,
    num_links: int = 1,
    cluster_axis: int | None = None,
    barrier_semaphore: Any = None,
    force_transpose: bool = True,
    num_workers_per_link: int = 1,
    num_buffers_per_channel: int = 1,
    chunks: int = 1,
    dim: int = -1,
    fsdp_cluster_axis: int | None = None,
    fsdp_multi_device_global_semaphore: Any = (),
    persistent_weight_buffer: Tensor | None = None,
    fsdp_topology: Any = None,
    fuse_swiglu: bool = False,
    chunk_sizes: Sequence[int] = (),
) -> list[Tensor]:
    """The product of the input, gathered along its last dimension, cut along N into `chunks` tensors.

    With `scalar` it is `tensor1 + scalar * product * tensor2`; with `fuse_swiglu` pairs of tiles of N are gate and up of a SwiGLU. With
    `fsdp_cluster_axis` the weight is gathered along that axis too.
    """
    name = "all_gather_minimal_matmul_async"
    tuning = topology, num_links, None
    gathered = gather_as(name, input_tensor, -1, cluster_axis, tuning, persistent_output_buffer)
    weight = weight_tensor
    if fsdp_cluster_axis is not None:
        buffer = persistent_weight_buffer
        if buffer is not None:  # programs keep the whole matrix as [1, 1, K, N]
            missing = len(buffer.shape) - len(weight.shape)
            weight = seen_as(weight, (*(1,) * missing, *weight.shape))
        weight = gather_as(name, weight, -2, fsdp_cluster_axis, (fsdp_topology, num_links, None), buffer)
    call = MinimalCall(
        gathered,
        weight,
        bias_tensor,
        None,
        fused_activation,
        (addcmul_input_tensor1, addcmul_input_tensor2, scalar),
        config,
        compute_kernel_config,
        dtype,
        fuse_swiglu,
        name=name,
    )
    turned, held = force_transpose, input_tensor.shape[-1]
    check_gathered(call, Gathered(held, dim, chunks, chunk_sizes, num_links, num_workers_per_link, turned))
    whole = fused_product(call, memory_config or input_tensor.memory_config())
    return in_chunks(whole, chunks, chunk_sizes)


@operation("ttnn.experimental.strided_all_gather_minimal_matmul_async", family=families.COLLECTIVE)
@whole_call
def strided_all_gather_minimal_matmul_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_output_buffer: Tensor | None,
    dim: int,
    multi_device_global_semaphore: Any,
    strided_all_gather_core_grid_offset: Any,
    *,
    num_links: int = 1,
    memory_config_ag: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    cluster_axis: int | None = None,
    bias: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: Any = None,
    memory_config_mm: MemoryConfig | None = None,
    compute_kernel_config: Any = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    read_local_slice_from_input: bool | None = None,
    fused_ternary_input_a: Tensor | None = None,
    fused_ternary_input_b: Tensor | None = None,
    fused_ternary_scalar: float | None = None,
    chunks: int = 1,
    mm_signal_aggregator_mode: Any = None,
    fuse_swiglu: bool = False,
) -> list[Tensor]:
    """[gathered input, then its product with the weight, cut along N into `chunks` tensors]."""
    tuning, name = (topology, num_links, memory_config_ag), "strided_all_gather_minimal_matmul_async"
    gathered = gather_as(name, input_tensor, dim, cluster_axis, tuning, persistent_output_buffer)
    ternary = (fused_ternary_input_a, fused_ternary_input_b, fused_ternary_scalar)
    call = MinimalCall(gathered, weight_tensor, bias, None, fused_activation, ternary, gated=fuse_swiglu)
    whole = fused_product(call, memory_config_mm)
    return [gathered, *in_chunks(whole, chunks, ())]


@operation("ttnn.experimental.matmul_reduce_scatter_async", family=families.COLLECTIVE)
@whole_call
def matmul_reduce_scatter_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_intermediate_buffer: Tensor | None = None,
    persistent_output_buffer: Tensor | None = None,
    dim: int = 3,
    multi_device_global_semaphore: Any = None,
    reduce_scatter_core_grid_offset: Any = None,
    *,
    barrier_semaphore: Any = None,
    bias: Tensor | None = None,
    num_links: int | None = None,
    memory_config_rs: MemoryConfig | None = None,
    intermediate_memory_config_rs: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
    memory_config_mm: MemoryConfig | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    dtype: DataType | None = None,
    program_config: Any = None,
    activation: str | None = None,
    compute_kernel_config: Any = None,
    core_grid: Any = None,
) -> list[Tensor]:
    """[input @ weight + bias, its reduce-scatter]."""
    whole = product(
        input_tensor,
        weight_tensor,
        bias=bias,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        memory_config=memory_config_mm,
        dtype=dtype,
        program_config=program_config,
        function=fused_activation(activation, program_config),
    )
    tuning = topology, num_links, memory_config_rs
    return [
        whole,
        scatter_as("matmul_reduce_scatter_async", whole, dim, None, tuning, persistent_output_buffer),
    ]


@operation("ttnn.experimental.minimal_matmul_strided_reduce_scatter_async", family=families.COLLECTIVE)
@whole_call
def minimal_matmul_strided_reduce_scatter_async(
    input_tensor: Tensor | Sequence[Tensor],
    weight_tensor: Tensor,
    dim: int,
    multi_device_global_semaphore: Any,
    reduce_scatter_core_grid_offset: Any,
    *,
    compute_kernel_config: Any,
    num_links: int = 1,
    memory_config_mm: MemoryConfig | None = None,
    rs_output_mem_config: MemoryConfig | None = None,
    rs_intermediate_mem_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    cluster_axis: int | None = None,
    bias: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: Any = None,
    barrier_semaphore: Any = None,
    using_persistent_buffers: bool = False,
    sub_device_id: Any = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    chunk_width_in_mm_blocks: int | None = None,
    optional_rs_output_tensor: Tensor | None = None,
    fused_ternary_scalar: float | None = None,
    addcmul_input_tensor1: Tensor | None = None,
    addcmul_input_tensor2: Tensor | None = None,
    dtype: DataType | None = None,
    mm_progress_counters: Tensor | None = None,
    mm_window_blocks: int | None = None,
    mm_credit_counters: Tensor | None = None,
) -> list[Tensor]:
    """[input @ weight + bias, its reduce-scatter]; two inputs lie side by side, as in `minimal_matmul`.

    With `addcmul_input_tensor1` and `2` the second is `tensor1 + fused_ternary_scalar * reduce-scatter * tensor2`.
    """
    first, second = in_parts(input_tensor)
    call = MinimalCall(first, weight_tensor, bias, second, fused_activation, dtype=dtype)
    out = fused_product(call, memory_config_mm)
    tuning, name = (topology, num_links, rs_output_mem_config), "minimal_matmul_strided_reduce_scatter_async"
    output = optional_rs_output_tensor
    if addcmul_input_tensor1 is None and addcmul_input_tensor2 is None:
        return [out, scatter_as(name, out, dim, cluster_axis, tuning, output)]
    sums = scatter_as(name, out, dim, cluster_axis, tuning)
    return [
        out,
        added_to_sums(sums, addcmul_input_tensor1, addcmul_input_tensor2, fused_ternary_scalar, output),
    ]


@operation("ttnn.experimental.llama_rs_matmul", family=families.COLLECTIVE)
@whole_call
def llama_rs_matmul(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    intermediate_packet_buffer: Tensor,
    dim: int,
    cross_device_semaphore: Any,
    cluster_axis: int,
    mesh_device: MeshDevice,
    num_links: int | None = None,
    subdevice_id: Any = None,
    *,
    second_weight_tensor: Tensor | None = None,
    rs_tensor: Tensor | None = None,
    topology: Any = Topology.Linear,
    memory_config_rs: MemoryConfig | None = None,
    memory_config_mm: MemoryConfig | None = None,
    compute_kernel_config: Any = None,
    global_cb: Any = None,
    core_grid: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    dtype: DataType | None = None,
    program_config: Any = None,
    activation: str | None = None,
    output_tile: Tile | None = None,
    optional_output_tensor: Tensor | None = None,
    use_noc1_only: bool = False,
) -> list[Tensor]:
    """[input @ weight, reduce-scatter of `rs_tensor`]; with a second weight [both products, reduce-scatter of the first].

    Raises RuntimeError without `rs_tensor` and without a second weight: there is nothing to scatter.
    """

    def times(weight: Tensor, output: Tensor | None = None) -> Tensor:
        out: Tensor = product(
            input_tensor,
            weight,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            memory_config=memory_config_mm,
            dtype=dtype,
            program_config=program_config,
            function=fused_activation(activation, program_config),
            output_tensor=output,
        )
        return out

    products = [times(weight_tensor, optional_output_tensor)]
    if second_weight_tensor is not None:
        products.append(times(second_weight_tensor))
    summed = rs_tensor if rs_tensor is not None else products[0] if len(products) == 2 else None
    if summed is None:
        raise fatal(
            "llama_rs_matmul needs rs_tensor or second_weight_tensor",
            "rs_tensor.has_value()",
            hint="rs_tensor= the tensor to be summed, or second_weight_tensor= for two products of which the first is",
        )
    tuning = topology, num_links, memory_config_rs
    return [*products, scatter_as("llama_rs_matmul", summed, dim, cluster_axis, tuning)]
