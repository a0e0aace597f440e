"""Delta attention with a decay for each key (KDA), in chunks of 32 tokens: `ttnn.experimental.kda` for sequences that lie whole on each device.

Chunks are prepared at once, a scan then carries the state from one to the next. Computed in float64 and rounded once. A sequence that is
cut over devices begins anywhere in a rank and wraps around; what follows its chronology is refused. Source: reference library 0.81.1 and its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention import delta_checks as checks
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import REFUSED, Operation, operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]
_CHUNK = 32
_HALVES = (0, 1, 2, 4, 5)
"""Prepared terms that may be bfloat16, by their bits in a mask."""


def whole(name: str, tensor: Tensor, axis: int) -> None:
    """Raises RuntimeError where the mesh cuts a sequence along the axis."""
    extents = tuple(on_device(tensor, kind="kda").shape)
    if not 0 <= axis < len(extents) or extents[axis] > 1:
        raise fatal(
            f"{name} is emulated for sequences that lie whole on each device: axis {axis} of the mesh has {extents[axis : axis + 1]}",
            hint="sequence_parallel_axis=… of an axis with one device",
        )


def bounds(name: str, numbers: tuple[Array, ...], rows: int) -> int:
    """How many of the rows are tokens, from [start] or [start, end]."""
    start = int(numbers[0].reshape(-1)[0]) if numbers else 0
    if rows and start % rows:
        raise fatal(
            f"{name} is emulated for chunks that begin at a multiple of their {rows} rows, not at {start}",
            hint=f"actual_start={start // rows * rows}, or {start // rows * rows + rows}",
        )
    return min(rows, int(numbers[1].reshape(-1)[0]) - start) if len(numbers) > 1 else rows


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
    bfloat16, the others are float32. Raises RuntimeError for shapes that do not fit and sequences that are cut over devices.
    """
    named = _given(actual_start, actual_end)
    given = (q, k, v, g, beta, *named)
    on_device(*given, kind="kda")
    offset = beta_logits_column_offset
    checks.check_chunks(
        (q, k, v, g, beta), num_heads, output_bf16_mask, sum(1 << bit for bit in _HALVES), gate_scale, offset
    )
    rows = q.shape[-2]
    if named:
        whole("prepare_chunk_recurrence", q, sequence_parallel_axis)
    kinds = [DataType.BFLOAT16 if output_bf16_mask >> i & 1 else DataType.FLOAT32 for i in range(7)]

    def prepare(*shards: Array) -> list[Array]:
        real = bounds("prepare_chunk_recurrence", shards[5:], rows)
        queries, keys, values, gates = (
            _by_head(a, num_heads, None if i == 0 else real) for i, a in enumerate(shards[:4])
        )
        logits = _by_head(shards[4][..., offset : offset + num_heads], num_heads, real)
        terms = _terms(queries, keys, values, gates * gate_scale, 1 / (1 + np.exp(-logits)))
        return [
            finish(np.ascontiguousarray(t, np.float32), kind) for t, kind in zip(terms, kinds, strict=True)
        ]

    return [
        settle(given, shards, kind, layout=Layout.TILE, memory_config=memory_config)
        for shards, kind in zip(on_each_device(prepare, *given), kinds, strict=True)
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

    Groups of chunks begin with their own states. With actual_end the last group that has tokens tells its state in the head's last place too.
    Raises RuntimeError for shapes that do not fit and sequences that are cut over devices.
    """
    terms = (v_beta, kd, q_decay, intra, k_dec_t, final_decay, t_inv, group_entry_states)
    named = _given(actual_start, actual_end)
    on_device(*terms, *named, kind="kda")
    whole("recurrent_chunk_scan", v_beta, sequence_parallel_axis)
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

    def scan(*shards: Array) -> list[Array]:
        real = bounds("recurrent_chunk_scan", shards[8:], rows)
        v, k, q, mixed, turned, decay, inverse, held = (a.astype(np.float64) for a in shards[:8])
        out = np.empty(v.shape)
        for n in range(chunks):
            u = inverse[:, n] @ (v[:, n] - k[:, n] @ held)
            out[:, n] = q[:, n] @ held + mixed[:, n] @ u
            held = decay[:, n] * held + turned[:, n] @ u
        used = -(-real // (chunks * _CHUNK)) if chunks else 0
        if 0 < used < groups_per_head:
            by_head = held.reshape(-1, groups_per_head, *held.shape[1:])
            by_head[:, -1] = by_head[:, used - 1]
            held = by_head.reshape(held.shape)
        return [finish(out.astype(np.float32), DataType.BFLOAT16), held.astype(np.float32)]

    tokens, last = on_each_device(scan, *terms, *named)
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


_CHRONOLOGY = "it follows the chronology of a sequence that is cut over devices; the scan of a sequence that lies whole on each device is emulated"
_NAMES = {
    "select_final_carry": _CHRONOLOGY,
    "summarize_chunk_recurrence": _CHRONOLOGY,
    "qkv_causal_conv1d_silu_with_carry": "it exchanges what the devices of a cut sequence hold; qkv_causal_conv1d_silu is emulated",
}


def _refused(name: str, why: str) -> Operation:
    def compute(*args: Any, **kwargs: Any) -> None:
        raise fatal(
            f"ttnn.experimental.kda.{name} is not emulated: {why}",
            hint="run this part of the program on hardware",
        )

    compute.__doc__ = f"Refused: {why}."
    return operation(f"ttnn.experimental.kda.{name}", family=families.ATTENTION, state=REFUSED)(compute)


REFUSALS = {name: _refused(name, why) for name, why in _NAMES.items()}
