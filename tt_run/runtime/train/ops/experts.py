"""`ttml.ops.moe` and the kernels below it: tokens in the order of the experts that they are routed to, what the experts make of them, and back.

    grouped [1, 1, rows, H]      tokens of expert 0, of expert 1, …, each block filled up to whole tiles with rows of zeros
    plan    [1, 1, 1, rows]      which token a row holds, EMPTY where none
    offsets [1, 1, 1, experts+1] where each block starts

A device's cores each write the tokens of their slice, a block's pieces padded to whole reads; the rows lie here as they lie there. `local_expert_ids` may
differ on each device: each groups the tokens of its own experts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels import functions, gemm
from tt_run.runtime.ops.declaration.result_topology import result_topology
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import combine_all

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

EMPTY, NO_SLOT = 0xFFFFFFFF, 0xFFFF
READ = 8
"""Rows of a core's piece are a multiple of this: 16 bytes of the narrowest of the tensors that go with them."""


@dataclass(frozen=True)
class MoEGroupOutputs:
    """What `moe_group_op` gives: two autograd tensors, and four mesh tensors that the operations after it read."""

    grouped: Tensor
    grouped_scores: Tensor
    k_slot: Value
    counts: Value
    offsets: Value
    plan: Value


def moe_group(
    dispatched: Value, metadata: Value, scores: Value, local_expert_ids: Value, e_local: int, k: int
) -> tuple[Value, Value, Value, Value, Value, Value]:
    """(grouped, grouped_scores, k_slot, counts, offsets, plan) of tokens [D, B, S, H] whose K experts and weights are [D, B, S, K].

    Raises RuntimeError for shapes that do not fit.
    """
    *lead, width = dispatched.shape
    if [*metadata.shape] != [*lead, k] or [*scores.shape] != [*lead, k]:
        raise RuntimeError(
            f"moe_group: metadata {[*metadata.shape]} and scores {[*scores.shape]} are [D, B, S, K] = {[*lead, k]}"
        )
    device = dispatched.device()
    grid = device.compute_with_storage_grid_size() if device is not None else None
    cores = grid.x * grid.y if grid is not None else 64
    rows = min(e_local, k) * math.prod(lead) + e_local * (TILE_SIZE + (READ - 1) * cores)
    workers = min(rows // TILE_SIZE, cores)

    def kernel(x: Array, ids: Array, weights: Array, own: Array) -> tuple[Array, ...]:
        count = len(x)
        grouped = np.zeros((count, 1, 1, rows, width), np.float32)
        picked = np.zeros((count, 1, 1, 1, rows), np.float32)
        slots = np.full((count, 1, 1, 1, rows), NO_SLOT, np.uint16)
        counts = np.zeros((count, 1, 1, 1, e_local), np.uint32)
        offsets = np.zeros((count, 1, 1, 1, e_local + 1), np.uint32)
        plan = np.full((count, 1, 1, 1, rows), EMPTY, np.uint32)
        for i in range(count):
            place = _placed(ids[i].reshape(-1, k), own[i].reshape(-1), workers)
            counts[i, 0, 0, 0], offsets[i, 0, 0, 0] = place.counts, place.offsets
            plan[i, 0, 0, 0, place.rows], slots[i, 0, 0, 0, place.rows] = place.tokens, place.slots
            grouped[i, 0, 0, place.rows] = x[i].reshape(-1, width)[place.tokens]
            picked[i, 0, 0, 0, place.rows] = weights[i].reshape(-1, k)[place.tokens, place.slots]
        return convert(grouped, dispatched.dtype), convert(picked, scores.dtype), slots, counts, offsets, plan

    operands = dispatched, metadata, scores, local_expert_ids
    shards = combine_all(kernel, *(value.shards for value in operands))
    kinds = (
        (dispatched.dtype, Layout.TILE),
        (scores.dtype, Layout.ROW_MAJOR),
        (DataType.UINT16, Layout.ROW_MAJOR),
        *((DataType.UINT32, Layout.ROW_MAJOR),) * 3,
    )
    topology = result_topology(operands)
    grouped, picked, slots, counts, offsets, plan = (
        dispatched.derive(shard, dtype=dtype, layout=layout, topology=topology)
        for shard, (dtype, layout) in zip(shards, kinds, strict=True)
    )
    return grouped, picked, slots, counts, offsets, plan


@dataclass(frozen=True)
class _Places:
    """Row, token and place among its experts of everything that is routed here, and where each expert's block starts."""

    rows: Array
    tokens: Array
    slots: Array
    counts: Array
    offsets: Array


def _placed(ids: Array, own: Array, workers: int) -> _Places:
    """Where tokens with experts `ids` (tokens, K) go on a device with the experts `own`."""
    tokens = len(ids)
    matches = ids[None] == own.astype(ids.dtype)[:, None, None]
    hits = matches.any(axis=2)
    each = -(-tokens // workers)
    filled = np.zeros((len(own), workers * each), np.int64)
    filled[:, :tokens] = hits
    by_core = filled.reshape(len(own), workers, each)
    pieces = -(-by_core.sum(axis=2) // READ) * READ
    offsets = np.concatenate([[0], np.cumsum(-(-pieces.sum(axis=1) // TILE_SIZE) * TILE_SIZE)])
    starts = offsets[:-1, None] + np.cumsum(pieces, axis=1) - pieces
    within = np.cumsum(by_core, axis=2) - by_core
    rows = (starts[:, :, None] + within).reshape(len(own), -1)[:, :tokens]
    expert, token = np.nonzero(hits)
    return _Places(
        rows[expert, token], token, matches.argmax(axis=2)[expert, token], hits.sum(axis=1), offsets
    )


def moe_ungroup(
    expert_out: Value,
    plan: Value,
    offsets: Value,
    metadata: Value,
    scores: Value,
    local_expert_ids: Value,
    e_local: int,
    k: int,
    d: int,
    b: int,
    s: int,
) -> Value:
    """[D, B, S, H]: of each token the sum over its rows of weight * row. `scores` holds a weight for each row, or those of tokens [D, B, S, K]."""
    width, by_token = expert_out.shape[-1], [*scores.shape] == [d, b, s, k]

    def kernel(y: Array, p: Array, o: Array, ids: Array, w: Array, own: Array) -> Array:
        out = np.zeros((len(y), d * b * s, width), np.float32)
        for i in range(len(y)):
            rows, tokens = _held(p[i])
            weights = w[i].reshape(-1)[rows] if not by_token else None
            if weights is None:
                expert = np.searchsorted(o[i].reshape(-1), rows, side="right") - 1
                chosen = ids[i].reshape(-1, k)[tokens] == own[i].reshape(-1)[expert, None].astype(ids.dtype)
                weights = w[i].reshape(-1, k)[tokens, chosen.argmax(axis=1)]
            _add_rows(out[i], tokens, y[i].reshape(-1, width)[rows] * weights[:, None])
        return out.reshape(-1, d, b, s, width)

    operands = expert_out, plan, offsets, metadata, scores, local_expert_ids
    return stacks.compute(kernel, *operands, dtype=expert_out.dtype, layout=Layout.ROW_MAJOR)


def _held(plan: Array) -> tuple[Array, Array]:
    """The rows that hold tokens, and which."""
    flat = plan.reshape(-1)
    rows = np.nonzero(flat != EMPTY)[0]
    return rows, flat[rows].astype(np.int64)


def _add_rows(out: Array, tokens: Array, rows: Array) -> None:
    """Add rows to those of their tokens, in the order of the rows."""
    order = np.argsort(tokens, kind="stable")
    found, first = np.unique(tokens[order], return_index=True)
    if len(found):
        out[found] += np.add.reduceat(rows[order], first, axis=0, dtype=np.float32)


@recorded
def moe_group_op(
    dispatched: Tensor, metadata: Value, scores: Tensor, local_expert_ids: Value, e_local: int, k: int
) -> MoEGroupOutputs:
    """`moe_group` in the graph: gradients of grouped rows go back to their tokens, those of their weights to the weights."""
    x, w = dispatched.get_value(), scores.get_value()
    grouped, picked, slots, counts, offsets, plan = moe_group(x, metadata, w, local_expert_ids, e_local, k)

    def to_tokens(g: Array, p: Array) -> Array:
        out = np.zeros((len(g), math.prod(tuple(x.shape)[:-1]), x.shape[-1]), np.float32)
        for i in range(len(g)):
            rows, tokens = _held(p[i])
            _add_rows(out[i], tokens, g[i].reshape(-1, x.shape[-1])[rows])
        return out.reshape(-1, *x.shape)

    def to_weights(g: Array, p: Array, s: Array) -> Array:
        out = np.zeros((len(g), math.prod(tuple(w.shape)[:-1]), k), np.float32)
        for i in range(len(g)):
            rows, tokens = _held(p[i])
            out[i, tokens, s[i].reshape(-1)[rows]] = g[i].reshape(-1)[rows]
        return out.reshape(-1, *w.shape)

    return MoEGroupOutputs(
        result(
            grouped,
            (dispatched,),
            lambda g: dispatched.add_grad(stacks.compute(to_tokens, g, plan, dtype=x.dtype)),
        ),
        result(
            picked,
            (scores,),
            lambda g: scores.add_grad(stacks.compute(to_weights, g, plan, slots, dtype=w.dtype)),
        ),
        slots,
        counts,
        offsets,
        plan,
    )


@recorded
def moe_ungroup_op(
    expert_out: Tensor,
    grouped_scores: Tensor,
    metadata: Value,
    local_expert_ids: Value,
    plan: Value,
    offsets: Value,
    e_local: int,
    k: int,
    d: int,
    b: int,
    s: int,
) -> Tensor:
    """`moe_ungroup` in the graph, with a weight for each row."""
    y, w = expert_out.get_value(), grouped_scores.get_value()
    value = moe_ungroup(y, plan, offsets, metadata, w, local_expert_ids, e_local, k, d, b, s)
    width = y.shape[-1]

    def to_rows(g: Array, p: Array, weights: Array) -> Array:
        out = np.zeros((len(g), 1, 1, y.shape[-2], width), np.float32)
        for i in range(len(g)):
            rows, tokens = _held(p[i])
            out[i, 0, 0, rows] = g[i].reshape(-1, width)[tokens] * weights[i].reshape(-1)[rows, None]
        return out

    def to_weights(g: Array, p: Array, made: Array) -> Array:
        out = np.zeros((len(g), 1, 1, 1, y.shape[-2]), np.float32)
        for i in range(len(g)):
            rows, tokens = _held(p[i])
            products = g[i].reshape(-1, width)[tokens] * made[i].reshape(-1, width)[rows]
            out[i, 0, 0, 0, rows] = products.sum(axis=1, dtype=np.float32)
        return out

    def rule(gradient: Value) -> None:
        if expert_out.get_requires_grad():
            expert_out.add_grad(stacks.compute(to_rows, gradient, plan, w, dtype=y.dtype))
        if grouped_scores.get_requires_grad():
            grouped_scores.add_grad(stacks.compute(to_weights, gradient, plan, y, dtype=w.dtype))

    return result(value, (expert_out, grouped_scores), rule)


@recorded
def moe_ffn_swiglu_fw(
    grouped: Tensor,
    offsets: Value,
    w_gate: Sequence[Tensor],
    w_up: Sequence[Tensor],
    w_down: Sequence[Tensor],
) -> Tensor:
    """Each expert's block of rows x as w_down(silu(w_gate x) * w_up x); weights [1, 1, out, in] as linear layers hold them.

    Raises RuntimeError for lists of different length and widths that do not fit.
    """
    experts, width = len(w_gate), grouped.shape()[-1]
    if not experts or len(w_up) != experts or len(w_down) != experts:
        raise RuntimeError(
            f"moe_ffn_swiglu_fw: w_gate, w_up and w_down have {experts}, {len(w_up)} and {len(w_down)} experts"
        )
    weights = [tensor for three in zip(w_gate, w_up, w_down, strict=True) for tensor in three]
    inner = w_gate[0].shape()[-2]
    for number, tensor in enumerate(weights):
        wanted = (width, inner) if number % 3 == 2 else (inner, width)
        if tuple(tensor.shape()[-2:]) != wanted:
            raise RuntimeError(
                f"moe_ffn_swiglu_fw: the weight of expert {number // 3} has {tensor.shape()}, not {list(wanted)}"
            )
    x, values = grouped.get_value(), [tensor.get_value() for tensor in weights]

    def forward(u: Array, o: Array, *parts: Array) -> Array:
        out = np.zeros(u.shape, np.float32)
        for i in range(len(u)):
            for expert, rows in _blocks(o[i]):
                gate, up, down = (part[i, 0, 0] for part in parts[3 * expert : 3 * expert + 3])
                block = u[i, 0, 0, rows]
                hidden = functions.silu(gemm.matmul(block, gate.T)) * gemm.matmul(block, up.T)
                out[i, 0, 0, rows] = gemm.matmul(hidden, down.T)
        return out

    def backward(g: Array, u: Array, o: Array, *parts: Array) -> tuple[Array, ...]:
        for_x = np.zeros(u.shape, np.float32)
        for_parts = [np.zeros(part.shape, np.float32) for part in parts]
        for i in range(len(u)):
            for expert, rows in _blocks(o[i]):
                gate, up, down = (part[i, 0, 0] for part in parts[3 * expert : 3 * expert + 3])
                block, upstream = u[i, 0, 0, rows], g[i, 0, 0, rows]
                opened, raised = gemm.matmul(block, gate.T), gemm.matmul(block, up.T)
                share = functions.sigmoid(opened)
                active, slope = opened * share, share * (np.float32(1) + opened * (np.float32(1) - share))
                inside = gemm.matmul(upstream, down)
                for_gate, for_up = inside * raised * slope, inside * active
                for_x[i, 0, 0, rows] = gemm.matmul(for_gate, gate) + gemm.matmul(for_up, up)
                for place, left, right in (
                    (0, for_gate, block),
                    (1, for_up, block),
                    (2, upstream, active * raised),
                ):
                    for_parts[3 * expert + place][i, 0, 0] = gemm.matmul(left.T, right)
        return for_x, *for_parts

    def rule(gradient: Value) -> None:
        found = stacks.compute_several(backward, gradient, x, offsets, *values)
        for tensor, own in zip((grouped, *weights), found, strict=True):
            tensor.add_grad(own)

    return result(stacks.compute(forward, x, offsets, *values, dtype=x.dtype), (grouped, *weights), rule)


def _blocks(offsets: Array) -> list[tuple[int, slice]]:
    """The experts that have rows, and which."""
    ends = offsets.reshape(-1).astype(np.int64)
    return [(e, slice(int(ends[e]), int(ends[e + 1]))) for e in range(len(ends) - 1) if ends[e + 1] > ends[e]]
