"""Delta attention with a decay for each key (KDA), in chunks of 32 tokens: `ttnn.experimental.kda`.

Chunks are prepared at once, a scan then carries the state from one to the next. Computed in float64 and rounded once. A sequence may be
cut over devices; `chronology.py` says how it lies there. Source: reference library 0.81.1 and its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention import delta_checks as checks
from tt_run.runtime.ops.attention.chronology import Chronology, on_each_rank
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
_CHUNK = 32
_HALVES = (0, 1, 2, 4, 5)
"""Prepared terms that may be bfloat16, by their bits in a mask."""


def _given(start: Tensor | None, end: Tensor | None) -> tuple[Tensor, ...]:
    if end is not None and start is None:
        raise fatal("prepare_chunk_recurrence: actual_end requires actual_start", hint="actual_start=…")
    return tuple(t for t in (start, end) if t is not None)


@operation("ttnn.experimental.kda.prepare_chunk_recurrence", family=families.ATTENTION)
def prepare_chunk_recurrence(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    num_heads: int,
    *,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    output_bf16_mask: int = 0,
    actual_start: Tensor | None = None,
    actual_end: Tensor | None = None,
    sequence_parallel_axis: int = 0,
    gate_scale: float = 1.0,
    beta_logits_column_offset: int = 0,
) -> list[Tensor]:
    """The terms of `recurrent_chunk_scan` from q, k, g [1, T, H K], v [1, T, H V] and logits beta [1, T, …]: seven tensors [H, T/32, …].

    q and k are scaled to length one, g sums up inside of a chunk. Rows behind actual_end change nothing. output_bf16_mask chooses results in
    bfloat16, the others are float32. Raises RuntimeError for shapes that do not fit.
    """
    named = _given(actual_start, actual_end)
    given = (q, k, v, g, beta, *named)
    on_device(*given, kind="kda")
    offset = beta_logits_column_offset
    checks.check_chunks(
        (q, k, v, g, beta), num_heads, output_bf16_mask, sum(1 << bit for bit in _HALVES), gate_scale, offset
    )
    rows = q.shape[-2]
    kinds = [DataType.BFLOAT16 if output_bf16_mask >> i & 1 else DataType.FLOAT32 for i in range(7)]

    def prepare(at: Chronology, *shards: Array) -> list[Array]:
        real = at.valid
        queries, keys, values, gates = (
            _by_head(a, num_heads, None if i == 0 else real) for i, a in enumerate(shards[:4])
        )
        logits = _by_head(shards[4][..., offset : offset + num_heads], num_heads, real)
        terms = _terms(queries, keys, values, gates * gate_scale, 1 / (1 + np.exp(-logits)))
        return [
            finish(np.ascontiguousarray(t, np.float32), kind) for t, kind in zip(terms, kinds, strict=True)
        ]

    prepared = on_each_rank(
        "prepare_chunk_recurrence", sequence_parallel_axis, rows, named, prepare, *given[:5]
    )
    return [
        settle(given, shards, kind, layout=Layout.TILE, memory_config=memory_config)
        for shards, kind in zip(prepared, kinds, strict=True)
    ]


def _by_head(flat: Array, heads: int, real: int | None) -> Array:
    """[1, T, H D] as [H, T/32, 32, D] in float64; rows from `real` on are zero."""
    rows = flat.reshape(flat.shape[-2], -1).astype(np.float64)
    if real is not None:
        rows[real:] = 0
    return rows.reshape(-1, _CHUNK, heads, rows.shape[-1] // heads).transpose(2, 0, 1, 3)


def _terms(q: Array, k: Array, v: Array, g: Array, beta: Array) -> tuple[Array, ...]:
    q = q / np.sqrt((q * q).sum(-1, keepdims=True) + 1e-6) / np.sqrt(q.shape[-1])
    k = k / np.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)
    total = np.cumsum(g, axis=2)
    decay, last = np.exp(total), total[:, :, -1:]
    kd, q_decay = beta * k * decay, q * decay
    grown = np.swapaxes(k * np.exp(-total), -1, -2)
    lower = np.tril(kd @ grown, -1)
    return (
        beta * v,
        kd,
        q_decay,
        np.tril(q_decay @ grown),
        np.swapaxes(k * np.exp(last - total), -1, -2),
        np.swapaxes(np.exp(last), -1, -2),
        np.linalg.inv(np.eye(_CHUNK) + lower),
    )


@operation("ttnn.experimental.kda.recurrent_chunk_scan", family=families.ATTENTION)
def recurrent_chunk_scan(
    v_beta: Tensor,
    kd: Tensor,
    q_decay: Tensor,
    intra: Tensor,
    k_dec_t: Tensor,
    final_decay: Tensor,
    t_inv: Tensor,
    group_entry_states: Tensor,
    *,
    actual_start: Tensor,
    tail_entry_states: Tensor,
    groups_per_head: int = 1,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    sequence_parallel_axis: int = 0,
    actual_end: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Chunk after chunk: u = t_inv (v - kd S), y = q S + intra u, S = decay S + k u; bfloat16 y [B*H*G, N, 32, V] and the last S [B*H*G, K, V].

    Groups of chunks begin with their own states, a tail inside of a group with tail_entry_states [B*H, K, V]. With actual_end the last group
    that has tokens tells its state in the head's last place too. Raises RuntimeError for shapes that do not fit.
    """
    terms = (v_beta, kd, q_decay, intra, k_dec_t, final_decay, t_inv, group_entry_states)
    named = _given(actual_start, actual_end)
    on_device(*terms, *named, tail_entry_states, kind="kda")
    groups, chunks = tuple(v_beta.shape)[:2]
    state = (groups, kd.shape[-1], v_beta.shape[-1])
    if (
        groups % max(groups_per_head, 1)
        or tuple(group_entry_states.shape) != state
        or any(tuple(t.shape)[:2] != (groups, chunks) for t in terms[:7])
    ):
        raise fatal(
            f"{', '.join(str(t.shape) for t in terms)} do not fit each other and {groups_per_head} groups a head",
            hint=f"the first two dimensions of all are {[groups, chunks]}, and the states {list(state)}",
        )
    rows = groups_per_head * chunks * _CHUNK
    if tuple(tail_entry_states.shape) != (groups // groups_per_head, *state[1:]):
        raise fatal(
            f"recurrent_chunk_scan: tail_entry_states {tail_entry_states.shape} must be {[groups // groups_per_head, *state[1:]]}",
            hint="the state [K, V] of each head",
        )

    def scan(at: Chronology, *shards: Array) -> list[Array]:
        v, k, q, mixed, turned, decay, inverse, held, seed = (a.astype(np.float64) for a in shards)
        out = np.empty(v.shape)
        group, place = divmod(at.head // _CHUNK, chunks) if at.tail else (-1, 0)
        for n in range(chunks):
            if place and n == place:
                held[group::groups_per_head] = seed
            u = inverse[:, n] @ (v[:, n] - k[:, n] @ held)
            out[:, n] = q[:, n] @ held + mixed[:, n] @ u
            held = decay[:, n] * held + turned[:, n] @ u
        used = -(-at.valid // (chunks * _CHUNK))
        if 0 < used < groups_per_head:
            by_head = held.reshape(-1, groups_per_head, *held.shape[1:])
            by_head[:, -1] = by_head[:, used - 1]
            held = by_head.reshape(held.shape)
        return [finish(out.astype(np.float32), DataType.BFLOAT16), held.astype(np.float32)]

    tokens, last = on_each_rank(
        "recurrent_chunk_scan", sequence_parallel_axis, rows, named, scan, *terms, tail_entry_states
    )
    words: dict[str, Any] = {"layout": Layout.TILE, "memory_config": memory_config}
    return (
        settle(terms, tokens, DataType.BFLOAT16, **words),
        settle(terms, last, DataType.FLOAT32, **words),
    )


@operation("ttnn.experimental.kda.sigmoid_gated_rms_norm", family=families.NORM)
def sigmoid_gated_rms_norm(
    input: Tensor,
    gate: Tensor,
    weight: Tensor,
    num_heads: int,
    *,
    epsilon: float = 1e-05,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    output_dtype: DataType = DataType.FLOAT32,
    gate_column_offset: int = 0,
) -> Tensor:
    """RMS norm of each head's rows times weight [V] and the sigmoid of the gate: [B*H, T, V] and gate [B, T, W] -> [B, T, H V].

    The gate's columns begin at gate_column_offset. Raises RuntimeError for shapes that do not fit, and results of other types than
    float32 and bfloat16.
    """
    given = (input, gate, weight)
    on_device(*given, kind="kda")
    checks.check_gated(given, num_heads, epsilon, gate_column_offset, output_dtype, memory_config)
    joined, rows, width = tuple(input.shape)
    batch, columns = joined // num_heads, num_heads * width

    def gated(x: Array, switch: Array, scale: Array) -> list[Array]:
        wide = x.astype(np.float64)
        normed = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + epsilon) * scale.reshape(-1)[:width]
        flat = normed.reshape(batch, num_heads, rows, width).swapaxes(1, 2).reshape(batch, rows, columns)
        cut = switch[..., gate_column_offset : gate_column_offset + columns].astype(np.float64)
        return [finish((flat / (1 + np.exp(-cut))).astype(np.float32), output_dtype)]

    (shards,) = on_each_device(gated, *given)
    return settle(given, shards, output_dtype, layout=Layout.TILE, memory_config=memory_config)
