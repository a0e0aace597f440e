"""All-to-all: cut one dimension over the devices of a group while another comes together. Source: reference library 0.81.1 and its tests.

The documentation of the generic form names the two dimensions the other way round; the reference's programs (heads to rows and back)
and this module take `in_dim` for the one that comes together and `out_dim` for the one that is cut, in both forms.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, form_checks, result_topology
from tt_run.runtime.ccl.calls import run
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.exchange import gather
from tt_run.runtime.ccl.plans import planned, written_into
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


@operation("ttnn.experimental.all_to_all_async", family=families.COLLECTIVE)
@whole_call
def all_to_all_async(
    input_tensor: Tensor,
    persistent_intermediate_buffer: Tensor,
    persistent_output_buffer: Tensor,
    in_dim: int,
    out_dim: int,
    multi_device_global_semaphore: Any,
    *,
    num_links: int = 1,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Ring,
    subdevice_id: Any = None,
) -> Tensor:
    """Device i gets slice i of `out_dim` of every shard of the mesh, joined along `in_dim` in device order, in the output buffer.

    Raises RuntimeError when `out_dim` does not divide by the devices.
    """
    asked, tuning = (out_dim, in_dim), (topology, num_links, memory_config)
    plan = planned(ALL_TO_ALL, input_tensor, None, asked, tuning, "all_to_all_async")
    return result(
        input_tensor, run(plan, input_tensor), plan.topology, memory_config, persistent_output_buffer
    )


@operation("ttnn.experimental.all_to_all_async_generic", family=families.COLLECTIVE)
@whole_call
def all_to_all_async_generic(
    input_tensor: Tensor,
    in_dim: int,
    out_dim: int,
    *,
    persistent_output_buffer: Tensor | None = None,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = None,
    subdevice_id: Any = None,
    cluster_axis: int | None = None,
) -> Tensor:
    """Device i of each group gets slice i of `out_dim` of every shard of the group, joined along `in_dim` in device order."""
    asked = (out_dim, in_dim)
    device = checks.device_of(input_tensor, "all_to_all_async_generic")
    if checks.gather_dim(input_tensor, in_dim) != checks.gather_dim(input_tensor, out_dim):
        form_checks.check_all_to_all(
            input_tensor, in_dim, out_dim, checks.members_of(input_tensor, device, cluster_axis)
        )
    tuning = written_into((topology, num_links, memory_config), persistent_output_buffer)
    plan = planned(ALL_TO_ALL, input_tensor, cluster_axis, asked, tuning, "all_to_all_async_generic")
    return result(
        input_tensor, run(plan, input_tensor), plan.topology, memory_config, persistent_output_buffer
    )


def _check(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, asked: tuple[int, int]) -> Intent:
    split, join = (checks.gather_dim(tensor, dim) for dim in asked)
    members = checks.members_of(tensor, device, cluster_axis)
    if split == join:
        raise fatal(
            f"in_dim and out_dim must be different dimensions, got {join} and {split}",
            "in_dim != out_dim",
            hint="to move nothing leave the call out",
        )
    if tensor.shape[split] % members:
        raise fatal(
            f"out_dim {split} of {tensor.shape} must be divisible by the {members} devices of a group",
            "input_shape[out_dim] % num_devices == 0",
            hint=f"ttnn.pad dimension {split} to a multiple of {members}",
        )
    shape = list(tensor.shape)
    shape[split] //= members
    shape[join] *= members
    return Intent(tuple(shape), split, (split, join), f"join {join}")


ALL_TO_ALL = Collective("all_to_all", _check, gather.all_to_all, traffic.EXCHANGE, result_topology.exchanged)
