"""The collectives of `ttnn` that gather and reduce. Source: reference library 0.81.1.

Groups, order and placement of results are the reference's. What tunes hardware (links, workers, buffers, sub-devices, semaphores) is
accepted and changes nothing; Ring and Linear give the same values.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, memory_checks, result_topology
from tt_run.runtime.ccl.calls import merge, pieces, run
from tt_run.runtime.ccl.exchange import gather, sums
from tt_run.runtime.ccl.plans import NOTHING_TUNED, Plan, Tuning, on_subdevice, planned, written_into
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.enums import DataType, Topology, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import mesh_goldens
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.dtypes import quantize
from tt_run.runtime.values.shards import Shards


@operation("ttnn.all_gather", family=families.COLLECTIVE, golden=mesh_goldens.all_gather)
def all_gather(
    input_tensor: Tensor,
    dim: int,
    *,
    cluster_axis: int | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    subdevice_id: Any = None,
    sub_core_grids: Any = None,
    num_links: int | None = None,
    topology: Any = None,
    chunks_per_sync: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    use_l1_small_for_semaphores: bool = False,
    mesh_device: Any = None,
) -> Tensor:
    """Concatenate the shards of each group along `dim`, on every device of the group: dim grows by the size of the group.

    Replicated shards are concatenated like any others. `mesh_device` is the documents' form and must be the tensor's mesh.
    Raises RuntimeError for a bad dimension or axis and for groups of one device.
    """
    return gather_as(
        "all_gather",
        input_tensor,
        dim,
        cluster_axis,
        (
            topology,
            num_links,
            memory_config,
            on_subdevice(subdevice_id),
            (chunks_per_sync, num_workers_per_link, num_buffers_per_channel, use_l1_small_for_semaphores),
        ),
        output_tensor,
        mesh_device,
        is_result=True,
    )


def gather_as(
    name: str,
    tensor: Tensor,
    dim: int,
    cluster_axis: int | None = None,
    tuning: Tuning = NOTHING_TUNED,
    output: Tensor | None = None,
    mesh_device: Any = None,
    is_result: bool = False,
) -> Tensor:
    """An all-gather under the name of one of its forms; `is_result`: the program gets it, so it has to fit where it lies."""
    asked = tuning if output is None else written_into(tuning, output)
    plan = planned(ALL_GATHER, tensor, cluster_axis, dim, asked, name)
    if mesh_device is not None and mesh_device is not plan.device:
        raise fatal(
            f"mesh_device {mesh_device} is not the mesh of the tensor: {plan.device}",
            hint="leave mesh_device out",
        )
    if is_result and plan.sharded and tuning[2] is None and output is None:
        sharding.settled(
            plan.spec.memory_config, plan.spec.padded_shape.dims, tensor.layout, tensor.tile.edges
        )
    return _result(plan, tensor, run(plan, tensor), tuning[2], output)


def _check_all_gather(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: Any) -> Intent:
    dim = checks.gather_dim(tensor, dim)
    members = checks.members_of(tensor, device, cluster_axis)
    if members < 2:
        raise fatal(
            f"all_gather collective will only work for num_devices > 1, got {members}",
            "num_devices > 1" + _other_axis(device.shape, cluster_axis),
            hint="leave the gather out: one device along the axis has it all already",
        )
    shape = list(tensor.shape)
    shape[dim] *= members
    return Intent(tuple(shape), dim, (dim,))


ALL_GATHER = Collective(
    "all_gather", _check_all_gather, gather.all_gather, traffic.RING_GATHER, result_topology.replicated
)


@operation("ttnn.reduce_scatter", family=families.COLLECTIVE, golden=mesh_goldens.reduce_scatter)
def reduce_scatter(
    input_tensor: Tensor,
    dim: int,
    *,
    cluster_axis: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    intermediate_memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    num_links: int | None = None,
    topology: Any = None,
    chunks_per_sync: int | None = None,
    num_workers_per_link: int | None = None,
    num_buffers_per_channel: int | None = None,
    compute_kernel_config: Any = None,
    use_l1_small_for_semaphores: bool = False,
) -> Tensor:
    """Sum the shards of floats of each group in device order; device i of the group keeps slice i of `dim`.

    Raises RuntimeError when `dim` does not divide by the size of the group, for tensors of rank 1 and for integers.
    """
    workers = (
        chunks_per_sync,
        num_workers_per_link,
        num_buffers_per_channel,
        use_l1_small_for_semaphores,
        intermediate_memory_config,
    )
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id), workers
    return scatter_as("reduce_scatter", input_tensor, dim, cluster_axis, tuning, output_tensor)


def scatter_as(
    name: str,
    tensor: Tensor,
    dim: int,
    cluster_axis: int | None = None,
    tuning: Tuning = NOTHING_TUNED,
    output: Tensor | None = None,
) -> Tensor:
    """A reduce-scatter under the name of one of its forms."""
    asked = tuning if output is None else written_into(tuning, output)
    plan = planned(REDUCE_SCATTER, tensor, cluster_axis, dim, asked, name)
    shards = run(plan, tensor)
    return _result(
        plan, tensor, _rounded(shards, plan.spec.dtype) if plan.by_rows else shards, tuning[2], output
    )


def _check_reduce_scatter(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, dim: Any) -> Intent:
    members = checks.members_of(tensor, device, cluster_axis, any_ring=True)
    dim = checks.scatter_dim(tensor, dim, members)
    shape = list(tensor.shape)
    shape[dim] //= members
    return Intent(tuple(shape), dim, (dim, _ROUNDING.get(tensor.dtype)))


REDUCE_SCATTER = Collective(
    "reduce_scatter",
    _check_reduce_scatter,
    sums.reduce_scatter,
    traffic.RING_SCATTER,
    result_topology.scattered,
    fitting=memory_checks.check_scatter,
)


@operation("ttnn.all_reduce", family=families.COLLECTIVE, golden=mesh_goldens.all_reduce)
def all_reduce(
    input_tensor: Tensor,
    *,
    cluster_axis: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    num_links: int | None = None,
    topology: Any = None,
) -> Tensor:
    """Sum the shards of each group in device order, on every device of the group.

    Replicas count once per device: a tensor that is replicated over n devices is multiplied by n.
    """
    return sum_as(
        "all_reduce",
        input_tensor,
        cluster_axis,
        (topology, num_links, memory_config, on_subdevice(subdevice_id)),
    )


def sum_as(
    name: str, tensor: Tensor, cluster_axis: int | None = None, tuning: Tuning = NOTHING_TUNED
) -> Tensor:
    """An all-reduce under the name of one of its forms."""
    plan = planned(ALL_REDUCE, tensor, cluster_axis, None, tuning, name)
    shards = run(plan, tensor)
    return _result(plan, tensor, _rounded(shards, plan.spec.dtype) if plan.by_rows else shards, tuning[2])


def _check_all_reduce(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, _: Any) -> Intent:
    checks.members_of(tensor, device, cluster_axis, any_ring=True)
    return Intent(arguments=(_ROUNDING.get(tensor.dtype),))


ALL_REDUCE = Collective(
    "all_reduce",
    _check_all_reduce,
    sums.all_reduce,
    traffic.RING_REDUCE,
    result_topology.summed,
    fitting=memory_checks.check_sum,
)


@operation("ttnn.all_broadcast", family=families.COLLECTIVE, golden=mesh_goldens.all_broadcast)
def all_broadcast(
    input_tensor: Tensor,
    *,
    cluster_axis: int | None = None,
    subdevice_id: Any = None,
    memory_config: MemoryConfig | None = None,
    num_links: int | None = 1,
    topology: Any = Topology.Linear,
    use_l1_small_for_semaphores: bool = False,
) -> list[Tensor]:
    """One tensor per member of the groups: the i-th holds the shard of member i on every device of its group."""
    plan = planned(
        ALL_BROADCAST,
        input_tensor,
        cluster_axis,
        None,
        (
            topology,
            num_links,
            memory_config,
            on_subdevice(subdevice_id),
            (None, None, None, use_l1_small_for_semaphores),
        ),
    )
    found = pieces(plan, input_tensor)
    return [
        _result(plan, input_tensor, merge([each[i] for each in found], plan), memory_config)
        for i in range(plan.lanes.members)
    ]


def _check_all_broadcast(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, _: Any) -> Intent:
    checks.members_of(tensor, device, cluster_axis, any_ring=True)
    return Intent()


ALL_BROADCAST = Collective(
    "all_broadcast",
    _check_all_broadcast,
    gather.all_broadcast,
    traffic.RING_GATHER,
    result_topology.summed,
    several=True,
    fitting=memory_checks.check_broadcast,
)


def _result(
    plan: Plan,
    source: Tensor,
    shards: Shards,
    memory_config: MemoryConfig | None,
    output: Tensor | None = None,
) -> Tensor:
    """The result as the plan says it is."""
    if memory_config is None and output is None:
        return source.successor(shards, plan.spec, plan.topology)
    return result(source, shards, plan.topology, memory_config, output)


def result(
    source: Tensor,
    shards: Shards,
    topology: TensorTopology,
    memory_config: MemoryConfig | None = None,
    output: Tensor | None = None,
) -> Tensor:
    """A new tensor, or the preallocated one with the values written into it."""
    if output is None:
        return source.derive(shards, memory_config=memory_config, topology=topology)
    _check_output(source, Shape(shards.shape), output)
    output.overwrite(shards)
    return output


def _check_output(source: Tensor, shape: Shape, output: Tensor) -> None:
    """Raises RuntimeError for a tensor that cannot take the result."""
    hint = (
        "leave the output tensor out, or make it with ttnn.empty of the shape, type and layout of the result"
    )
    same_as = "should be same as input tensor"
    if output.dtype is not source.dtype:
        raise fatal(f"Output tensor dtype {cpp(output.dtype)} {same_as} dtype {cpp(source.dtype)}", hint=hint)
    if output.layout is not source.layout:
        raise fatal(
            f"Output tensor layout {cpp(output.layout)} {same_as} layout {cpp(source.layout)}", hint=hint
        )
    if output.shape != shape:
        raise fatal(f"Output tensor shape must be {shape}, got {output.shape}", hint=hint)


def _round_bfloat16(block: Any) -> None:
    round_bfloat16(block, out=block)


# Sums are rounded element by element, block floats as whole rows afterwards.
_ROUNDING = {DataType.BFLOAT16: _round_bfloat16}


def _rounded(shards: Shards, dtype: DataType) -> Shards:
    return shards.map(partial(quantize, dtype=dtype))


def _other_axis(shape: MeshShape, cluster_axis: int | None) -> str:
    """What to type instead when the group is one device but the mesh is a line along its other axis."""
    if cluster_axis is None:
        return ""
    other = 1 - cluster_axis % 2
    return (
        f" (cluster_axis={other} runs along {shape[other]} devices of this {shape})"
        if shape[other] > 1
        else ""
    )
