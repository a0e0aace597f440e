"""Distributed norms fused with what attention does next: the split into heads and the rotation. Source: reference library 0.81.1.

Made of the operations that a program could call itself, so the values are theirs.
"""

from __future__ import annotations

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention.rotary import turned_pairs
from tt_run.runtime.ops.data_movement.movement import permute, reshape
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.normalisation.distributed_norms import (
    normalised_by,
    statistics_of,
)
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


@operation("ttnn.experimental.wan_fused_rmsnorm_pre_allgather", family=families.NORM)
def wan_fused_rmsnorm_pre_allgather(
    input_tensor: Tensor,
    *,
    dtype: DataType = DataType.BFLOAT16,
    compute_kernel_config: object = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Statistics of each shard for `wan_fused_rmsnorm_post_allgather`: (…, W) -> (…, 32), the sum of squares in column 0.

    They lie in the memory of their input, whatever memory is asked for.
    """
    found: Tensor = statistics_of(input_tensor, None, dtype, None, False)
    return found


@operation("ttnn.experimental.wan_fused_rmsnorm_post_allgather", family=families.NORM)
def wan_fused_rmsnorm_post_allgather(
    input_tensor: Tensor,
    stats: Tensor,
    *,
    epsilon: float = 1e-05,
    num_heads_per_device: int = 1,
    weight: Tensor | None = None,
    transformation_mat: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    dtype: DataType | None = None,
) -> Tensor:
    """RMS norm by gathered statistics, split into heads and rotated: (1, 1, S, H) -> (1, heads, S, H/heads).

    Raises RuntimeError for another shape, for heads that do not divide H, and for a part of the three tensors of the rotation.
    """
    *outer, rows, width = input_tensor.shape
    if len(outer) != 2 or outer != [1, 1] or width % num_heads_per_device:
        raise fatal(
            f"wan_fused_rmsnorm: {input_tensor.shape} is not (1, 1, S, H) with H in {num_heads_per_device} heads",
            hint=f"ttnn.reshape(tensor, [1, 1, rows, columns]), with columns a multiple of {num_heads_per_device}",
        )
    rotation = [tensor for tensor in (rope_cos, rope_sin, transformation_mat) if tensor is not None]
    if len(rotation) not in (0, 3):
        raise fatal(
            "wan_fused_rmsnorm: transformation_mat, rope_cos and rope_sin go together",
            hint="give all three, or none",
        )
    normed = normalised_by(input_tensor, stats, epsilon, weight, None, dtype, memory_config, False)
    split = (1, rows, num_heads_per_device, width // num_heads_per_device)
    heads: Tensor = permute.compute(reshape.compute(normed, split), (0, 2, 1, 3))
    if not rotation:
        return heads
    cos, sin, turn = rotation
    return turned_pairs(heads, cos, sin, turn)
