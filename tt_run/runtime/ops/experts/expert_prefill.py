"""Prefill of mixtures of experts, on each device: tokens of an expert in a buffer of many, gates, sums over a token's experts.

A buffer holds the tokens of all experts of a device one expert after the other, each from a row that is a multiple of 32. What an
operation of the reference leaves uninitialized is zero here. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.experts import routing
from tt_run.runtime.ops.experts.per_token import SCORES
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.tuning.choices import RoutedExpertActivation
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]


def _each(function: Callable[..., Array], *given: Tensor) -> Shards:
    """`function` of the shards of each device; devices that hold the same ones share the result."""

    def compute(*stacks: Array) -> Array:
        if not len(stacks[0]):  # a run in shapes: what comes of zeros has the shape
            return function(*(np.zeros(stack.shape[1:], stack.dtype) for stack in stacks))[None][:0]
        return np.stack([function(*rows) for rows in zip(*stacks, strict=True)])

    return combine(compute, *(t.shards for t in given))


def _rows(start: Array, counts: Array, table: Array, local_expert_id: int) -> slice:
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
    if max_dispatched_tokens_per_expert % TILE_SIZE:
        raise fatal(
            f"max_dispatched_tokens_per_expert {max_dispatched_tokens_per_expert} is no multiple of {TILE_SIZE}"
        )

    def take(buffer: Array, first: Array, number: Array, table: Array) -> Array:
        rows = buffer[_rows(first, number, table, local_expert_id)]
        if len(rows) > max_dispatched_tokens_per_expert:
            raise fatal(
                f"{len(rows)} rows do not fit into max_dispatched_tokens_per_expert={max_dispatched_tokens_per_expert}"
            )
        out = np.zeros((max_dispatched_tokens_per_expert, buffer.shape[-1]), buffer.dtype)
        out[: len(rows)] = rows
        return out

    return settle(given, _each(take, *given), global_tensor.dtype)


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

    def put(buffer: Array, rows: Array, first: Array, number: Array, table: Array) -> Array:
        out = buffer.copy()
        where = _rows(first, number, table, local_expert_id)
        out[where] = rows[: len(out[where])]
        return out

    global_tensor.overwrite(_each(put, *given))
    return global_tensor


@operation("ttnn.experimental.deepseek_prefill.masked_bincount", family=families.EXPERTS)
def masked_bincount(
    input_tensor: Tensor, expert_mask: Tensor, n_routed_experts: int, num_experts_per_token: int
) -> Tensor:
    """How many tokens chose each expert: a row of uint32. Experts whose entry in the mask is negative count zero."""
    given = (input_tensor, expert_mask)
    on_device(*given, kind="bincount")

    def count(chosen: Array, mask: Array) -> Array:
        ids = chosen[..., :num_experts_per_token].reshape(-1).astype(np.int64)
        found = np.bincount(ids[ids < n_routed_experts], minlength=n_routed_experts)
        return np.where(mask.reshape(-1)[:n_routed_experts] >= 0, found, 0).astype(np.uint32)

    return settle(given, _each(count, *given), DataType.UINT32, layout=Layout.ROW_MAJOR)


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
        raise fatal("indices and expert_dispatch_table must be given together")
    given = tuple(t for t in (combine_output, weights, indices, expert_dispatch_table) if t is not None)
    on_device(*given, kind="reduce")

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
        _each(reduce, *given),
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
            f"scores of {scores_tensor.shape[-1]} experts, not of {experts} less {num_shared_experts} shared ones"
        )

    def reduce(x: Array, scores: Array) -> Array:
        weight = scores.reshape(-1, scores.shape[-1]).T.astype(np.float32)
        shared = np.full((num_shared_experts, weight.shape[1]), shared_expert_scale, np.float32)
        weight = np.concatenate([weight, shared]).reshape(experts, 1, -1, 1)
        return finish((np.moveaxis(x, reduce_dim, 0) * weight).sum(0, keepdims=True), input_tensor.dtype)

    whole = _each(reduce, *given)
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


@operation("ttnn.experimental.deepseek_prefill.moe_grouped_topk", family=families.EXPERTS)
def moe_grouped_topk(
    scores: Tensor,
    bias: Tensor,
    *,
    n_groups: int = 8,
    summed_experts_per_group: int = 2,
    topk_groups: int = 4,
    n_activated_experts: int = 8,
    route_scale: float = 1.0,
    epsilon: float = 1e-20,
    stable_sort: bool = False,
    score_func: str = "sigmoid",
    memory_config: MemoryConfig | None = None,
    padding_config: Tensor | None = None,
    biased_scores: Tensor | None = None,
    weights_layout: Layout = Layout.TILE,
) -> list[Tensor]:
    """The experts of each token, chosen from its best groups, and their weights: bfloat16 weights and uint16 indices.

    As `deepseek_grouped_gate`, computed in float32. Raises RuntimeError for `padding_config`, `biased_scores`, and a score function
    other than sigmoid or sqrtsoftplus.
    """
    on_device(scores, bias, kind="gate")
    if padding_config is not None or biased_scores is not None:
        raise fatal(
            "moe_grouped_topk: padding_config and biased_scores are not emulated; give it real tokens only"
        )
    if score_func not in SCORES:
        raise fatal(f"score_func must be one of {', '.join(SCORES)}, not {score_func!r}")

    def gate(x: Array, b: Array) -> Array:
        plain = SCORES[score_func](x.astype(np.float32))
        biased = (plain + b).reshape(*x.shape[:-1], n_groups, -1)
        ranks = np.sort(biased, -1)[..., -summed_experts_per_group:].sum(-1)
        best = np.argsort(-ranks, -1, kind="stable")[..., :topk_groups]
        allowed = np.full_like(biased, -np.inf)
        np.put_along_axis(allowed, best[..., None], np.take_along_axis(biased, best[..., None], -2), -2)
        chosen = np.argsort(-allowed.reshape(x.shape), -1, kind="stable")[..., :n_activated_experts]
        weight = np.take_along_axis(plain, chosen, -1)
        weight = weight / (weight.sum(-1, keepdims=True) + epsilon) * route_scale
        return np.stack([weight, chosen.astype(np.float32)])

    both = _each(gate, scores, bias)
    weights = both.map(lambda stack: stack[:, 0].copy())
    indices = both.map(lambda stack: stack[:, 1].copy())
    return [
        settle(
            (scores, bias),
            weights.map(lambda stack: finish(stack, DataType.BFLOAT16)),
            DataType.BFLOAT16,
            layout=weights_layout,
            memory_config=memory_config,
        ),
        settle(
            (scores, bias),
            indices.map(lambda stack: stack.astype(np.uint16)),
            DataType.UINT16,
            layout=Layout.TILE,
            memory_config=memory_config,
        ),
    ]


_OAI_LIMIT, _OAI_SLOPE = np.float32(7), np.float32(1.702)


def _swiglu_oai(gate: Array, up: Array) -> Array:
    """The gate of GPT-OSS and MiniMax-M3: both sides limited, a steeper sigmoid, one added to the other side."""
    gate = np.minimum(gate, _OAI_LIMIT)
    return np.asarray(gate / (1 + np.exp(-_OAI_SLOPE * gate)) * (np.clip(up, -_OAI_LIMIT, _OAI_LIMIT) + 1))


def _activated(kind: RoutedExpertActivation) -> Callable[[Array, Array], Array]:
    def silu(x: Array) -> Array:
        return x / (1 + np.exp(-x))

    known: dict[RoutedExpertActivation, Callable[[Array, Array], Array]] = {
        RoutedExpertActivation.Silu: lambda gate, up: silu(gate) * up,
        RoutedExpertActivation.ClampedSiluGlu: lambda gate, up: (
            silu(np.minimum(gate, 10)) * np.clip(up, -10, 10)
        ),
        RoutedExpertActivation.SwiGluOai: _swiglu_oai,
    }
    if kind not in known:
        raise fatal(f"activation {kind} is not emulated; these are: {', '.join(map(str, known))}")
    return known[kind]


def _expert(
    x: Array, gate: Array, up: Array, down: Array, kind: RoutedExpertActivation, biases: Sequence[Array] = ()
) -> Array:
    sides = [x @ matrix.reshape(matrix.shape[-2:]) for matrix in (gate, up)]
    if biases:
        sides = [side + bias.reshape(-1) for side, bias in zip(sides, biases[:2], strict=True)]
    with np.errstate(over="ignore"):  # of a sigmoid far below zero: its result is right
        hidden = _activated(kind)(*sides)
    out: Array = hidden @ down.reshape(down.shape[-2:])
    return out + biases[2].reshape(-1) if biases else out


@operation("ttnn.experimental.deepseek_prefill.routed_expert_ffn", family=families.EXPERTS)
def routed_expert_ffn(
    x: Tensor,
    gate_proj: Tensor,
    up_proj: Tensor,
    down_proj: Tensor,
    *,
    compute_kernel_config: object = None,
    output: Tensor | None = None,
) -> Tensor:
    """One expert: silu(x @ gate_proj) * (x @ up_proj) @ down_proj, rounded once."""
    given = (x, gate_proj, up_proj, down_proj)
    on_device(*given, kind="expert")

    def compute(rows: Array, gate: Array, up: Array, down: Array) -> Array:
        return finish(_expert(rows, gate, up, down, RoutedExpertActivation.Silu), x.dtype)

    shards = _each(compute, *given)
    return settle(given, shards, x.dtype, output_tensor=output)


@operation("ttnn.experimental.deepseek_prefill.unified_routed_expert_moe", family=families.EXPERTS)
def unified_routed_expert_moe(
    dispatched_buffer: Tensor,
    expert_region_offsets: Tensor,
    expert_token_counts: Tensor,
    global_expert_idx_table: Tensor,
    gate_projs: Sequence[Tensor],
    up_projs: Sequence[Tensor],
    down_projs: Sequence[Tensor],
    max_dispatched_tokens_per_expert: int,
    *,
    compute_kernel_config: object = None,
    activation: RoutedExpertActivation = RoutedExpertActivation.Silu,
    gate_biases: Sequence[Tensor] | None = None,
    up_biases: Sequence[Tensor] | None = None,
    down_biases: Sequence[Tensor] | None = None,
    min_active_tokens: int = 0,
    max_active_tokens: int = 4294967295,
) -> Tensor:
    """Every local expert on its own rows of the buffer; rows of no expert are zero.

    Biases, all three or none, are rows for each expert. Raises RuntimeError for an activation that is not emulated.
    """
    return every_expert(
        dispatched_buffer, (expert_region_offsets, expert_token_counts, global_expert_idx_table),
        (gate_projs, up_projs, down_projs), (gate_biases, up_biases, down_biases), activation,
        (min_active_tokens, max_active_tokens), dispatched_buffer.dtype,
    )  # fmt: skip


Triples = tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]
Biases = tuple[Sequence[Tensor] | None, Sequence[Tensor] | None, Sequence[Tensor] | None]


def every_expert(
    x: Tensor,
    regions: tuple[Tensor, Tensor, Tensor],
    weights: Triples,
    biases: Biases,
    activation: RoutedExpertActivation,
    active: tuple[int, int],
    dtype: DataType,
    memory_config: MemoryConfig | None = None,
    output: Tensor | None = None,
) -> Tensor:
    """Each local expert on its own rows; `regions`: where they begin, how many they are, and the experts that a device has."""
    local = len(weights[0])
    told = [b for b in biases if b]
    if len(told) not in (0, 3) or any(len(group) != local for group in (*weights, *told)):
        raise fatal(f"weights and biases must be of the same {local} experts, and biases all three or none")
    given = (x, *regions, *(t for group in (*weights, *told) for t in group))
    on_device(*given, kind="experts")

    def compute(buffer: Array, first: Array, number: Array, table: Array, *matrices: Array) -> Array:
        out = np.zeros(buffer.shape, np.float32)
        for i in range(local):
            tokens = int(number.reshape(-1)[int(table.reshape(-1)[i])])
            if not active[0] <= tokens <= active[1]:
                continue
            where = _rows(first, number, table, i)
            own = [matrices[group * local + i] for group in range(3 + len(told))]
            out[..., where, :] = _expert(buffer[..., where, :], own[0], own[1], own[2], activation, own[3:])
        return finish(out, dtype)

    layout = None if dtype is x.dtype else Layout.TILE
    return settle(
        given, _each(compute, *given), dtype, layout=layout, memory_config=memory_config, output_tensor=output
    )


@operation("ttnn.experimental.deepseek_prefill.moe_fused_swiglu", family=families.EXPERTS)
def moe_fused_swiglu(
    input: Tensor,
    w_gates: Sequence[Tensor],
    w_ups: Sequence[Tensor],
    w_downs: Sequence[Tensor],
    counts: Tensor,
    global_expert_idx_table: Tensor,
    *,
    input_m_tiles: int | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    core_grid: Any = None,
    output: Tensor | None = None,
    expert_region_offsets: Tensor | None = None,
    read_x_at_offset: bool = False,
    activation: RoutedExpertActivation = RoutedExpertActivation.Silu,
    gate_biases: Sequence[Tensor] | None = None,
    up_biases: Sequence[Tensor] | None = None,
    down_biases: Sequence[Tensor] | None = None,
    min_active_tokens: int = 0,
    max_active_tokens: int = 4294967295,
) -> Tensor:
    """`unified_routed_expert_moe` by its other kernel: the same values, as bfloat8_b tiles unless `dtype` or `output` says otherwise.

    Raises RuntimeError without expert_region_offsets and read_x_at_offset: which rows are an expert's is not documented then.
    """
    if expert_region_offsets is None or not read_x_at_offset:
        raise fatal(
            "moe_fused_swiglu is emulated for rows at their regions only",
            hint="expert_region_offsets=…, read_x_at_offset=True",
        )
    target = output.dtype if output is not None else dtype or DataType.BFLOAT8_B
    return every_expert(
        input, (expert_region_offsets, counts, global_expert_idx_table), (w_gates, w_ups, w_downs),
        (gate_biases, up_biases, down_biases), activation, (min_active_tokens, max_active_tokens), target,
        memory_config, output,
    )  # fmt: skip
