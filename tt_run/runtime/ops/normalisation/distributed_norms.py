"""Norms over a dimension that is sharded across devices, in three steps: statistics of each shard, all_gather, normalise.

The statistics of one device are whole tiles whose first column counts, as on the device: the sum of squares, for layer norms followed by a tile
with the sum. Those of a tensor that is cut over cores are means in place of sums, and that of the elements comes before that of their
squares; a residual is added to such a tensor itself. Source: reference library 0.81.1 and its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.kernels import ordered_sums
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import norm_goldens
from tt_run.runtime.ops.normalisation.distributed_norm_checks import (
    check_normalised,
    check_statistics,
    place_of,
)
from tt_run.runtime.ops.normalisation.norms import check_residual_shape, flat, row_of
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
_TAKEN = (DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B)


def statistics_of(
    x: Tensor, residual: Tensor | None, dtype: DataType, memory_config: MemoryConfig | None, centre: bool
) -> Tensor:
    operands = (x,) if residual is None else (x, residual)
    on_device(*operands, kind="layernorm")
    if x.dtype not in _TAKEN:
        raise fatal("Input data format not supported.", hint=as_type("tensor", "bfloat16"))
    check_residual_shape(x, residual)
    tiles = 2 if centre else 1
    means = x.memory_config().is_sharded()
    if means and residual is not None:
        both = combine(lambda a, b: finish(a.astype(np.float32) + b, x.dtype), x.shards, residual.shards)
        x = settle(operands, both, x.dtype, output_tensor=x)
        operands = (x,)
    count = np.float32(x.shape[-1] if means else 1)

    def compute(stack: Array, other: Array | None = None) -> Array:
        values = np.ascontiguousarray(stack if other is None else stack + other, dtype=np.float32)
        found = np.zeros((*values.shape[:-1], tiles * TILE_SIZE), np.float32)
        squares, plain = _places(centre, means)
        found[..., squares] = ordered_sums.total(np.square(values)) / count
        if centre:
            found[..., plain] = ordered_sums.total(values) / count
        return finish(found, dtype)

    shards = combine(compute, *(t.shards for t in operands))
    return settle(operands, shards, dtype, memory_config=memory_config, layout=Layout.TILE)


def _places(centre: bool, means: bool) -> tuple[int, int]:
    """In which columns the statistics of squares and of the elements themselves are."""
    return (TILE_SIZE, 0) if centre and means else (0, TILE_SIZE)


def normalised_by(
    x: Tensor,
    stats: Tensor,
    epsilon: float,
    weight: Tensor | None,
    bias: Tensor | None,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    centre: bool,
) -> Tensor:
    per_device = (2 if centre else 1) * TILE_SIZE
    width, found = x.shape[-1], stats.shape[-1]
    if found % per_device:
        raise fatal(
            f"statistics are {per_device} columns for each device, got {found}",
            hint="give what ttnn.rms_norm_pre_all_gather or layer_norm_pre_all_gather returned, after ttnn.all_gather(…, dim=3)",
        )
    row_of(weight, width, "weight"), row_of(bias, width, "bias")
    given = [t for t in (weight, bias) if t is not None]
    on_device(x, stats, *given, kind="layernorm")
    if x.dtype not in _TAKEN:
        raise fatal(
            f"Input tensor must be BFLOAT16, BFLOAT8_B, or FLOAT32, got: {cpp(x.dtype)}",
            hint=as_type("tensor", "bfloat16"),
        )
    means = x.memory_config().is_sharded()
    count = np.float32((1 if means else width) * (found // per_device))
    squares, plain = _places(centre, means)
    target = dtype or x.dtype

    def compute(stack: Array, sums: Array, *others: Array) -> Array:
        tiles = sums.reshape(*sums.shape[:-1], found // per_device, per_device)
        power = ordered_sums.total(np.ascontiguousarray(tiles[..., squares])) / count
        values = stack.astype(np.float32)
        if centre:
            mean = ordered_sums.total(np.ascontiguousarray(tiles[..., plain])) / count
            power = power - mean * mean  # below zero where rounded sums leave nothing of it
            values -= mean[..., None]
        with np.errstate(invalid="ignore"):
            values /= np.sqrt(power + np.float32(epsilon))[..., None]
        sides = iter([flat(o, stack.ndim - 1, width) for o in others])
        if weight is not None:
            values *= next(sides)
        if bias is not None:
            values += next(sides)
        return finish(values, target)

    shards = combine(compute, *(t.shards for t in (x, stats, *given)))
    return settle((x, stats, *given), shards, target, memory_config=memory_config)


@operation(
    "ttnn.rms_norm_pre_all_gather", family=families.NORM, golden=norm_goldens.statistics(centred=False)
)
def rms_norm_pre_all_gather(
    input_tensor: Tensor,
    *,
    dtype: DataType = DataType.BFLOAT16,
    residual_input_tensor: Tensor | None = None,
    compute_kernel_config: object = None,
    program_config: object = None,
    memory_config: MemoryConfig | None = None,
    use_2d_core_grid: bool | None = None,
    fast_and_approximate_mode: bool = False,
) -> Tensor:
    """Statistics of each shard for `rms_norm_post_all_gather`: (…, W) -> (…, 32), the sum of squares in column 0."""
    check_statistics(
        "rms_norm_pre_all_gather", input_tensor, residual_input_tensor, program_config, compute_kernel_config
    )
    place = memory_config or place_of(input_tensor, 1)
    return statistics_of(input_tensor, residual_input_tensor, dtype, place, False)


@operation(
    "ttnn.rms_norm_post_all_gather", family=families.NORM, golden=norm_goldens.normalised(centred=False)
)
def rms_norm_post_all_gather(
    input_tensor: Tensor,
    stats: Tensor,
    *,
    epsilon: float = 1e-12,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    program_config: object = None,
    dtype: DataType | None = None,
    use_2d_core_grid: bool | None = None,
) -> Tensor:
    """`rms_norm` of each shard by the gathered statistics of all of them: stats (…, 32 * devices)."""
    check_normalised(
        input_tensor, stats, (weight, bias), program_config, compute_kernel_config, memory_config
    )
    return normalised_by(input_tensor, stats, epsilon, weight, bias, dtype, memory_config, False)


@operation(
    "ttnn.layer_norm_pre_all_gather", family=families.NORM, golden=norm_goldens.statistics(centred=True)
)
def layer_norm_pre_all_gather(
    input_tensor: Tensor,
    *,
    dtype: DataType = DataType.BFLOAT16,
    residual_input_tensor: Tensor | None = None,
    compute_kernel_config: object = None,
    program_config: object = None,
    memory_config: MemoryConfig | None = None,
    recip_tensor: Tensor | None = None,
    fast_and_approximate_mode: bool = False,
) -> Tensor:
    """Statistics of each shard for `layer_norm_post_all_gather`: (…, W) -> (…, 64), sum of squares in column 0, sum in 32."""
    check_statistics(
        "layer_norm_pre_all_gather",
        input_tensor,
        residual_input_tensor,
        program_config,
        compute_kernel_config,
    )
    place = memory_config or place_of(input_tensor, 2)
    return statistics_of(input_tensor, residual_input_tensor, dtype, place, True)


@operation(
    "ttnn.layer_norm_post_all_gather", family=families.NORM, golden=norm_goldens.normalised(centred=True)
)
def layer_norm_post_all_gather(
    input_tensor: Tensor,
    stats: Tensor,
    *,
    epsilon: float = 1e-12,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    program_config: object = None,
    dtype: DataType | None = None,
) -> Tensor:
    """`layer_norm` of each shard by the gathered statistics of all of them: stats (…, 64 * devices)."""
    check_normalised(
        input_tensor, stats, (weight, bias), program_config, compute_kernel_config, memory_config
    )
    return normalised_by(input_tensor, stats, epsilon, weight, bias, dtype, memory_config, True)


@operation("ttnn.experimental.dit_layernorm_pre_allgather", family=families.NORM)
def dit_layernorm_pre_allgather(
    input_tensor: Tensor,
    recip_tensor: Tensor,
    *,
    dtype: DataType = DataType.BFLOAT16,
    compute_kernel_config: object = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """`layer_norm_pre_all_gather`; the reciprocals only save a device divisions."""
    return statistics_of(input_tensor, None, dtype, memory_config, True)


@operation("ttnn.experimental.dit_layernorm_post_allgather", family=families.NORM)
def dit_layernorm_post_allgather(
    input_tensor: Tensor,
    stats: Tensor,
    *,
    epsilon: float = 1e-05,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    dtype: DataType | None = None,
) -> Tensor:
    """`layer_norm_post_all_gather` with the statistics of `dit_layernorm_pre_allgather`."""
    return normalised_by(input_tensor, stats, epsilon, weight, bias, dtype, memory_config, True)
