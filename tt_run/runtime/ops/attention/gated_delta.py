"""The gated delta rule: attention by a state that decays, is corrected towards each value, and is asked by each query.

The chunks, programs and inverses that a device cuts the rule into give the same values; here it goes token by token in float32.
Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.each_device import on_each_device
from tt_run.runtime.ops.declaration.operands import on_device, settle, write_into
from tt_run.runtime.ops.goldens import delta_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import ChunkGdnWyInverse
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_FLAT_CHUNK = 32


def delta_rule(q: Array, k: Array, v: Array, g: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    """q, k [B, T, H, K], v [B, T, HV, V], g [B, T, HV] (or [B, T, HV, K]), beta [B, T, HV], state [B, HV, K, V].

    Returns the outputs [B, T, HV, V] and the state after every token [B, T, HV, K, V]. Value heads share key heads in order.
    """
    share = v.shape[2] // q.shape[2]
    q, k = np.repeat(q, share, axis=2), np.repeat(k, share, axis=2)
    decay = np.exp(g)[..., None] if g.ndim == 4 else np.exp(g)[..., None, None]
    out = np.empty(v.shape, np.float32)
    states = np.empty((*v.shape[:3], *state.shape[-2:]), np.float32)
    for t in range(v.shape[1]):
        state = state * decay[:, t]
        key = k[:, t, :, :, None]
        change = (v[:, t] - np.add.reduce(state * key, axis=-2)) * beta[:, t, :, None]
        state = state + key * change[..., None, :]
        out[:, t] = np.add.reduce(state * q[:, t, :, :, None], axis=-2)
        states[:, t] = state
    return out, states


def _unit(x: Array) -> Array:
    """Rows of length 1; 1e-6 is added to the square of the length."""
    return x / np.sqrt(np.add.reduce(x * x, axis=-1, keepdims=True) + np.float32(1e-6))


def _check(name: str, q: Tensor, v: Tensor, g: Tensor, beta: Tensor, normalized: bool) -> None:
    if normalized:
        raise fatal(
            f"{name}: use_qk_l2norm must be False; normalize q and k before the call",
            hint="use_qk_l2norm=False after ttnn.rms_norm of q and k, times 1/sqrt(K)",
        )
    if v.shape[2] % q.shape[2]:
        raise fatal(
            f"{name}: the {v.shape[2]} value heads must be a multiple of the {q.shape[2]} key heads",
            hint=f"ttnn.repeat_interleave(v, n, dim=2) to a multiple of {q.shape[2]} heads",
        )
    if tuple(g.shape)[:3] != tuple(v.shape)[:3] or tuple(beta.shape) != tuple(v.shape)[:3]:
        raise fatal(
            f"{name}: g and beta must have the shape {list(v.shape)[:3]}, got {g.shape} and {beta.shape}",
            hint=f"ttnn.reshape(g, {list(v.shape)[:3]})",
        )


def _state_shape(q: Tensor, v: Tensor) -> tuple[int, ...]:
    return (q.shape[0], v.shape[2], q.shape[3], v.shape[3])


def _run(
    given: tuple[Tensor, ...], first: Tensor | None, scale: float | None, *, unit: bool = False
) -> list[Shards]:
    """Outputs and states of the rule on every device, from `first` or zeros."""
    q, _, v = given[:3]
    factor = np.float32(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    shape = _state_shape(q, v)

    def rule(*shards: Array) -> tuple[Array, Array]:
        queries, keys, values, gate, write = (a.astype(np.float32, copy=False) for a in shards[:5])
        if unit:
            queries, keys = _unit(queries), _unit(keys)
        state = shards[5].reshape(shape) if len(shards) > 5 else np.zeros(shape, np.float32)
        return delta_rule(queries * factor, keys, values, gate, write, state)

    return on_each_device(rule, *given, *(() if first is None else (first,)))


@operation(
    "ttnn.transformer.fused_recurrent_gated_delta_rule",
    family=families.ATTENTION,
    golden=delta_goldens.recurrent,
)
def fused_recurrent_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    initial_state_block_idx: Tensor | None = None,
    output_final_state: bool = False,
    output_per_token_state: bool = False,
    use_qk_l2norm: bool = False,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> tuple[Tensor, Tensor | None]:
    """Outputs [B, T, HV, V] in float32 and, if asked for, the state [B, HV, K, V] after the last or [B, T, HV, K, V] after every token.

    q, k [B, T, H, K] of length 1, v [B, T, HV, V], g and beta [B, T, HV]; scale: 1/sqrt(K) unless given. With initial_state_block_idx
    [B*HV] initial_state is a ring [T*B*HV, K, V]: each head begins at its block, and all states are written over the ring.
    """
    given = (q, k, v, g, beta)
    on_device(*given, kind="gated delta rule")
    _check("fused_recurrent_gated_delta_rule", q, v, g, beta, use_qk_l2norm)
    first = initial_state
    if initial_state_block_idx is not None:
        first = _ring_blocks(initial_state, initial_state_block_idx, q, v, output_per_token_state)
    out, states = _run(given, first, scale)
    result = settle(given, out, DataType.FLOAT32, memory_config=memory_config)
    if initial_state_block_idx is not None and initial_state is not None:
        ring = states.map(lambda s: s.reshape(len(s), *initial_state.shape))
        return result, write_into(initial_state, ring, DataType.FLOAT32, q)
    if not output_final_state and not output_per_token_state:
        return result, None
    kept = states if output_per_token_state else states.map(lambda s: s[:, :, -1].copy())
    return result, settle(given, kept, DataType.FLOAT32, memory_config=memory_config)


def _ring_blocks(ring: Tensor | None, blocks: Tensor, q: Tensor, v: Tensor, per_token: bool) -> Tensor:
    """The block of the ring that each head begins from: [B*HV, K, V]."""
    heads = q.shape[0] * v.shape[2]
    shape = (q.shape[1] * heads, q.shape[3], v.shape[3])
    if not per_token or ring is None or tuple(ring.shape) != shape or ring.dtype is not DataType.FLOAT32:
        raise fatal(
            f"initial_state_block_idx needs output_per_token_state and a float32 initial_state of shape {list(shape)}",
            hint=f"output_per_token_state=True, and ttnn.zeros({list(shape)}, dtype=ttnn.float32, device=device) for the ring",
        )

    def taken(held: Array, index: Array) -> tuple[Array]:
        return (held[index.reshape(-1)[:heads].astype(np.int64)],)

    on_device(ring, blocks, kind="gated delta rule")
    return settle((ring,), on_each_device(taken, ring, blocks)[0], DataType.FLOAT32)


@operation("ttnn.transformer.chunk_gated_delta_rule", family=families.ATTENTION, golden=delta_goldens.chunks)
def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    chunk_size: int = 64,
    use_qk_l2norm: bool = False,
    output_head_major: bool = False,
    program_config: object = None,
    wy_inverse: ChunkGdnWyInverse = ChunkGdnWyInverse.AUTO,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
    eye: Tensor | None = None,
    tril: Tensor | None = None,
    ones: Tensor | None = None,
    masks: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Outputs in float32, [B, T, HV, V] in rows or [B*HV, T, V] in tiles if head-major, and the last state [B, HV, K, V] if asked for.

    q, k [B, T, H, K] of length 1 and v [B, T, HV, V]; or flat [B, T, heads * width] with K = V, which are normalized here, in chunks of
    32. g and beta [B, T, HV]; scale: 1/sqrt(K) unless given. The chunk size and the constants given change no value.
    """
    given = (q, k, v, g, beta)
    on_device(*given, kind="gated delta rule")
    if chunk_size not in (32, 64):
        raise fatal(
            f"chunk_gated_delta_rule: chunk_size must be 32 or 64, got {chunk_size}", hint="chunk_size=32"
        )
    flat = len(v.shape) == 3
    if flat:
        q, k, v = _split_heads(q, k, v, beta, chunk_size)
        given = (q, k, v, g, beta)
    _check("chunk_gated_delta_rule", q, v, g, beta, use_qk_l2norm)
    out, states = _run(given, initial_state, scale, unit=flat)
    if output_head_major:
        out = out.map(lambda o: np.ascontiguousarray(o.swapaxes(2, 3)).reshape(len(o), -1, *o.shape[2::2]))
    layout = Layout.TILE if output_head_major else Layout.ROW_MAJOR
    result = settle(given, out, DataType.FLOAT32, layout=layout, memory_config=memory_config)
    if not output_final_state:
        return result, None
    last = states.map(lambda s: s[:, :, -1].copy())
    return result, settle(given, last, DataType.FLOAT32, memory_config=memory_config)


def _split_heads(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, chunk_size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Flat queries, keys and values with their heads apart; keys are as wide as values."""
    from tt_run.runtime.ops.data_movement.movement import reshape

    batch, length, width = v.shape
    depth = width // beta.shape[-1]
    if chunk_size != _FLAT_CHUNK or length % _FLAT_CHUNK:
        raise fatal(
            f"chunk_gated_delta_rule: flat operands need chunk_size 32 and whole chunks, got {chunk_size} and {length} tokens",
            hint=f"chunk_size=32, and ttnn.pad to {-(-length // _FLAT_CHUNK) * _FLAT_CHUNK} tokens",
        )
    first, second, third = (
        reshape.compute(t, [batch, length, t.shape[-1] // depth, depth]) for t in (q, k, v)
    )
    return first, second, third


@operation(
    "ttnn.transformer.gated_delta_attn_seq", family=families.ATTENTION, golden=delta_goldens.prepared_chunks
)
def gated_delta_attn_seq(
    L_unit: Tensor,
    v_beta_sc: Tensor,
    k_bd_sc: Tensor,
    intra_attn: Tensor,
    q_decay: Tensor,
    k_decay_t: Tensor,
    dl_exp: Tensor,
    L_inv: Tensor,
    *,
    initial_state: Tensor | None = None,
    memory_config: MemoryConfig | None = None,
    compute_kernel_config: object = None,
) -> tuple[Tensor, Tensor]:
    """The scan over prepared chunks: outputs [BH, chunks, C, Dv] and the last state [BH, Dk, Dv], both float32.

    L_unit [BH, chunks, C, C] is lower triangular and solved for; its block inverses L_inv [BH, chunks, C, 32] follow from it.
    """
    given = (L_unit, v_beta_sc, k_bd_sc, intra_attn, q_decay, k_decay_t, dl_exp)
    on_device(*given, L_inv, kind="gated delta rule")

    def scan(*shards: Array) -> tuple[Array, Array]:
        from scipy import linalg

        lower, values, keys, intra, queries, late, decay = shards[:7]
        heads, chunks, _, depth = queries.shape
        shape = (heads, depth, values.shape[-1])
        state = shards[7].reshape(shape) if len(shards) > 7 else np.zeros(shape, np.float32)
        out = np.empty(values.shape, np.float32)
        solved = np.empty((heads, *values.shape[2:3], values.shape[-1] + depth), np.float32)
        for chunk in range(chunks):
            for head in range(heads):
                both = np.concatenate([values[head, chunk], keys[head, chunk]], axis=-1)
                solved[head] = (
                    linalg.solve_triangular(lower[head, chunk], both, lower=True) if both.any() else both
                )
            corrected, seen = solved[..., : values.shape[-1]], solved[..., values.shape[-1] :]
            new = corrected - gemm.matmul(np.ascontiguousarray(seen), state)
            out[:, chunk] = gemm.matmul(queries[:, chunk], state) + gemm.matmul(intra[:, chunk], new)
            state = state * decay[:, chunk] + gemm.matmul(late[:, chunk], new)
        return out, state

    first = () if initial_state is None else (initial_state,)
    out, state = on_each_device(scan, *given, *first)
    return (
        settle(given, out, DataType.FLOAT32, memory_config=memory_config),
        settle(given, state, DataType.FLOAT32, memory_config=memory_config),
    )
