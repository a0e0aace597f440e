"""Prefill of mixtures of experts, on each device: tokens of an expert in a buffer of many, sums over a token's experts.

A buffer holds the tokens of all experts of a device one expert after the other, each from a row that is a multiple of 32. What an
operation of the reference leaves uninitialized is zero here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import one_on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts import routing
from tt_run.runtime.ops.experts.prefill_checks import check_counted, check_expert, check_room
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def rows_of_expert(start: Array, counts: Array, table: Array, local_expert_id: int) -> slice:
    """The rows of a local expert's tokens in the buffer, whole tiles of them."""
    expert = int(table.reshape(-1)[local_expert_id])
    first = int(start.reshape(-1)[expert])
    return slice(first, first + whole_tiles(int(counts.reshape(-1)[expert])))


@operation("ttnn.experimental.deepseek_prefill.extract", family=families.EXPERTS)
def extract(
    global_tensor: Tensor,
    start: Tensor,
    counts: Tensor,
    global_expert_idx_table: Tensor,
    *,
    local_expert_id: int,
    max_dispatched_tokens_per_expert: int,
) -> Tensor:
    """The tokens of a local expert: the rows from its start on, whole tiles of them; the rest of the result is zero.

    Raises RuntimeError when they are more than max_dispatched_tokens_per_expert, or that is no multiple of 32.
    """
    given = (global_tensor, start, counts, global_expert_idx_table)
    on_device(*given, kind="extract")
    check_expert(global_tensor, start, counts, global_expert_idx_table, local_expert_id)
    check_room(max_dispatched_tokens_per_expert)

    def take(buffer: Array, first: Array, number: Array, table: Array) -> Array:
        rows = buffer[rows_of_expert(first, number, table, local_expert_id)]
        if len(rows) > max_dispatched_tokens_per_expert:
            raise fatal(
                f"{len(rows)} rows do not fit into max_dispatched_tokens_per_expert={max_dispatched_tokens_per_expert}",
                hint=f"max_dispatched_tokens_per_expert={-(-len(rows) // TILE_SIZE) * TILE_SIZE}",
            )
        out = np.zeros((max_dispatched_tokens_per_expert, buffer.shape[-1]), buffer.dtype)
        out[: len(rows)] = rows
        return out

    return settle(given, one_on_each_device(take, *given), global_tensor.dtype)


@operation("ttnn.experimental.deepseek_prefill.insert", family=families.EXPERTS)
def insert(
    global_tensor: Tensor,
    local_tensor: Tensor,
    start: Tensor,
    counts: Tensor,
    global_expert_idx_table: Tensor,
    *,
    local_expert_id: int,
) -> Tensor:
    """Write the tokens of a local expert back to their rows of `global_tensor`, which is returned: the inverse of `extract`."""
    given = (global_tensor, local_tensor, start, counts, global_expert_idx_table)
    on_device(*given, kind="insert")
    check_expert(global_tensor, start, counts, global_expert_idx_table, local_expert_id, local_tensor)

    def put(buffer: Array, rows: Array, first: Array, number: Array, table: Array) -> Array:
        out = buffer.copy()
        where = rows_of_expert(first, number, table, local_expert_id)
        out[where] = rows[: len(out[where])]
        return out

    global_tensor.overwrite(one_on_each_device(put, *given))
    return global_tensor


@operation("ttnn.experimental.deepseek_prefill.masked_bincount", family=families.EXPERTS)
def masked_bincount(
    input_tensor: Tensor, expert_mask: Tensor, n_routed_experts: int, num_experts_per_token: int
) -> Tensor:
    """How many tokens chose each expert: a row of uint32. Experts whose entry in the mask is negative count zero."""
    given = (input_tensor, expert_mask)
    on_device(*given, kind="bincount")
    check_counted(input_tensor, expert_mask, n_routed_experts, num_experts_per_token)

    def count(chosen: Array, mask: Array) -> Array:
        ids = chosen[..., :num_experts_per_token].reshape(-1).astype(np.int64)
        found = np.bincount(ids[ids < n_routed_experts], minlength=n_routed_experts)
        return np.where(mask.reshape(-1)[:n_routed_experts] >= 0, found, 0).astype(np.uint32)

    return settle(given, one_on_each_device(count, *given), DataType.UINT32, layout=Layout.ROW_MAJOR)


def _check_combined(x: Tensor, weights: Tensor, indices: Tensor | None, table: Tensor | None) -> None:
    """What `post_combine_reduce` refuses of its operands."""
    if len(weights.shape) != len(x.shape):
        raise fatal(
            f"weights rank must match combine_output rank: got weights rank {len(weights.shape)} and combine_output rank {len(x.shape)}",
            hint=f"ttnn.reshape(weights, {[*tuple(x.shape)[:-1], 1]})",
        )
    for dim, (own, wanted) in enumerate(zip(tuple(weights.padded_shape)[:-1], x.padded_shape, strict=False)):
        if own != wanted:
            raise fatal(
                f"weights padded_shape[{dim}] ({own}) must match combine_output padded_shape[{dim}] ({wanted})",
                hint="a weight for each expert of each token, in rows as combine_output",
            )
    kinds: list[tuple[str, Tensor | None, DataType, str]] = [
        ("combine_output", x, DataType.BFLOAT16, ""),
        ("weights", weights, DataType.BFLOAT16, ""),
        ("indices", indices, DataType.UINT16, " (matching moe_grouped_topk output), got {}"),
        ("expert_dispatch_table", table, DataType.INT32, ""),
    ]
    for name, tensor, dtype, more in kinds:
        if tensor is not None and tensor.dtype is not dtype:
            raise fatal(
                f"{name} must be {dtype.name.lower()}{more.format(cpp(tensor.dtype))}",
                hint=f"ttnn.typecast({name}, ttnn.{dtype.name.lower()})",
            )
        if tensor is not None and tensor.layout is not Layout.ROW_MAJOR:
            raise fatal(f"{name} must be ROW_MAJOR", hint=f"ttnn.to_layout({name}, ttnn.ROW_MAJOR_LAYOUT)")


@operation("ttnn.experimental.deepseek_prefill.post_combine_reduce", family=families.EXPERTS)
def post_combine_reduce(
    combine_output: Tensor,
    weights: Tensor,
    indices: Tensor | None = None,
    expert_dispatch_table: Tensor | None = None,
    *,
    expert_dim: int = 3,
    output_memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The weighted sum of a token's experts, as tiles: (…, experts, width) and weights (…, experts) -> (…, width).

    With `indices` and `expert_dispatch_table` experts of other groups (entry -1) do not count. Raises RuntimeError for one of the two.
    """
    if (indices is None) is not (expert_dispatch_table is None):
        raise fatal(
            "indices and expert_dispatch_table must be given together",
            hint="give both, or none to count every expert",
        )
    given = tuple(t for t in (combine_output, weights, indices, expert_dispatch_table) if t is not None)
    on_device(*given, kind="reduce")
    _check_combined(combine_output, weights, indices, expert_dispatch_table)

    def reduce(x: Array, w: Array, *chosen: Array) -> Array:
        weight = w.reshape(x.shape[:-1]).astype(np.float32)
        if chosen:
            ids, table = chosen
            weight = np.where(table.reshape(-1)[ids.reshape(weight.shape)] >= 0, weight, 0)
        # A skipped expert's values may be anything: they are not multiplied by zero but left out.
        kept = np.where(weight[..., None] != 0, x, 0)
        return finish((kept * weight[..., None]).sum(expert_dim), combine_output.dtype)

    return settle(
        given,
        one_on_each_device(reduce, *given),
        combine_output.dtype,
        layout=Layout.TILE,
        memory_config=output_memory_config or L1_MEMORY_CONFIG,
    )


@operation("ttnn.experimental.deepseek_moe_post_combine_tilize", family=families.MOVEMENT)
def deepseek_moe_post_combine_tilize(input_tensor: Tensor, *, output_memory_config: MemoryConfig) -> Tensor:
    """The same values as tiles."""
    on_device(input_tensor, kind="tilize")
    return settle(
        (input_tensor,),
        input_tensor.shards,
        input_tensor.dtype,
        layout=Layout.TILE,
        memory_config=output_memory_config,
    )


@operation("ttnn.experimental.deepseek_moe_fast_reduce_nc_fused", family=families.EXPERTS)
def deepseek_moe_fast_reduce_nc_fused(
    input_tensor: Tensor,
    expert_indices_tensor: Tensor,
    expert_mapping_tensor: Tensor,
    reduce_dim: int,
    *,
    split_size: int,
    cluster_axis: int,
    output_memory_config: MemoryConfig | None = None,
    scores_tensor: Tensor | None = None,
    num_shared_experts: int = 0,
    shared_expert_scale: float = 1.0,
    compute_kernel_config: object = None,
) -> list[Tensor]:
    """The sum over a token's experts (experts, 1, tokens, width), weighted by its scores (tokens, 1, 1, routed experts), split by width.

    The last `num_shared_experts` count with `shared_expert_scale`; without scores all experts count once.
    Raises RuntimeError for scores of another number of experts.
    """
    if scores_tensor is None:
        plain: list[Tensor] = routing.MOE["experimental.deepseek_moe_fast_reduce_nc"].compute(
            input_tensor, reduce_dim, split_size=split_size, output_memory_config=output_memory_config
        )
        return plain
    given = (input_tensor, scores_tensor)
    on_device(*given, kind="reduce")
    experts = input_tensor.shape[reduce_dim]
    if scores_tensor.shape[-1] != experts - num_shared_experts:
        raise fatal(
            f"scores of {scores_tensor.shape[-1]} experts, not of {experts} less {num_shared_experts} shared ones",
            hint=f"num_shared_experts={max(experts - scores_tensor.shape[-1], 0)}, or scores of {experts - num_shared_experts} experts",
        )

    def reduce(x: Array, scores: Array) -> Array:
        weight = scores.reshape(-1, scores.shape[-1]).T.astype(np.float32)
        shared = np.full((num_shared_experts, weight.shape[1]), shared_expert_scale, np.float32)
        weight = np.concatenate([weight, shared]).reshape(experts, 1, -1, 1)
        return finish((np.moveaxis(x, reduce_dim, 0) * weight).sum(0, keepdims=True), input_tensor.dtype)

    whole = one_on_each_device(reduce, *given)
    return [
        settle(
            given,
            _columns(whole, at, split_size),
            input_tensor.dtype,
            memory_config=output_memory_config,
        )
        for at in range(0, input_tensor.shape[-1], split_size)
    ]


def _columns(shards: Shards, start: int, count: int) -> Shards:
    return shards.map(lambda stack: stack[..., start : start + count].copy())
