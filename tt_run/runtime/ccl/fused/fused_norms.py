"""Norms whose statistics are gathered over devices in the same operation. Source: reference library 0.81.1.

Made of the three operations that a program could call itself, so the values are theirs.
"""

from __future__ import annotations

from typing import Any

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.elementwise import binary
from tt_run.runtime.ops.goldens import norm_goldens
from tt_run.runtime.ops.normalisation import distributed_norms
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


@operation("ttnn.fused_rms_minimal", family=families.COLLECTIVE, golden=norm_goldens.fused_rms)
@whole_call
def fused_rms_minimal(
    input_tensor: Tensor,
    program_config: object,
    cluster_axis: int,
    mesh_device: MeshDevice,
    global_semaphore: object,
    *,
    persistent_output_tensor: Tensor | None = None,
    num_links: int | None = None,
    topology: Topology = Topology.Linear,
    subdevice_id: Any = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    memory_config: MemoryConfig | None = None,
    residual_input_tensor: Tensor | None = None,
    epsilon: float = 1e-12,
    weight: Tensor | None = None,
    stats: Tensor | None = None,
    use_noc1_only: bool = False,
) -> Tensor:
    """RMS norm over the shards of all devices along `cluster_axis`: statistics, their all-gather and the norm in one.

    A residual is added first and the sum written over it, as the device does. Raises RuntimeError without a weight.
    """
    if weight is None:
        raise fatal(
            "fused_rms_minimal: weight is required",
            hint="weight=ttnn.ones([1, 1, 1, W], …) leaves the values as they are",
        )
    x = input_tensor
    if residual_input_tensor is not None:
        x = binary.add.compute(x, residual_input_tensor)
        residual_input_tensor.overwrite(x.shards)
    sums = distributed_norms.statistics_of(x, None, DataType.FLOAT32, None, False)
    gathered = gather_as("fused_rms_minimal", sums, 3, cluster_axis, (topology, num_links, None))
    found = distributed_norms.normalised_by(x, gathered, epsilon, weight, None, dtype, memory_config, False)
    if persistent_output_tensor is None:
        return found
    persistent_output_tensor.overwrite(found.shards)
    return persistent_output_tensor
