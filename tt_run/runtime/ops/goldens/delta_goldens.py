"""Golden functions of the gated delta rule and of attention to chosen rows, said with torch, token by token.

Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.goldens.attention_goldens import attend, number, seen_keys, sink_of

_NOTHING = 0xFFFFFFFF
"""The index that names no row."""


def _unit(x: Any) -> Any:
    return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()


def _scan(q: Any, k: Any, v: Any, g: Any, beta: Any, scale: float | None, first: Any, unit: bool) -> Any:
    """Outputs (B, T, HV, V), and the state (B, HV, K, V) after every token, one behind the other, in float32."""
    times = v.shape[2] // q.shape[2]
    q, k = ((_unit(t.float()) if unit else t.float()).repeat_interleave(times, 2) for t in (q, k))
    v, decay, beta = v.float(), g.float().exp(), beta.float()
    decay = decay[..., None] if decay.dim() == 3 else decay
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state = q.new_zeros(len(q), v.shape[2], q.shape[-1], v.shape[-1]) if first is None else first.float()
    outputs, states = [], []
    for t in range(q.shape[1]):
        state = state * decay[:, t, ..., None]
        missing = v[:, t] - (k[:, t, ..., None] * state).sum(-2)
        state = state + k[:, t, ..., None] * (beta[:, t, ..., None] * missing)[..., None, :]
        outputs.append((q[:, t, ..., None] * scale * state).sum(-2))
        states.append(state)
    return library().stack(outputs, 1), library().stack(states, 1)


def recurrent(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    *,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    output_per_token_state: bool = False,
    use_qk_l2norm: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """Outputs (B, T, HV, V), and the last state or that after every token if asked for."""
    out, states = _scan(q, k, v, g, beta, scale, initial_state, use_qk_l2norm)
    if output_per_token_state:
        return out, states
    return out, states[:, -1] if output_final_state else None


def chunks(
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    *,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm: bool = False,
    output_head_major: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """The same, heads before tokens (B * HV, T, V) if asked for; how many tokens a chunk has changes nothing."""
    out, states = _scan(q, k, v, g, beta, scale, initial_state, use_qk_l2norm)
    out = out.transpose(1, 2).flatten(0, 1) if output_head_major else out
    return out, states[:, -1] if output_final_state else None


def prepared_chunks(
    L_unit: Any,
    v_beta_sc: Any,
    k_bd_sc: Any,
    intra_attn: Any,
    q_decay: Any,
    k_decay_t: Any,
    dl_exp: Any,
    L_inv: Any,
    *,
    initial_state: Any = None,
    **_: Any,
) -> tuple[Any, Any]:
    """The scan over prepared chunks: outputs (BH, chunks, C, V) and the last state (BH, K, V)."""
    given = (L_unit, v_beta_sc, k_bd_sc, intra_attn, q_decay, k_decay_t, dl_exp)
    lower, values, keys, intra, queries, late, decay = (t.float() for t in given)
    shape = (len(queries), queries.shape[-1], values.shape[-1])
    state = queries.new_zeros(shape) if initial_state is None else initial_state.float()
    outputs = []
    for c in range(queries.shape[1]):
        both = library().cat((values[:, c], keys[:, c]), -1)
        solved = library().linalg.solve_triangular(lower[:, c], both, upper=False)
        new = solved[..., : shape[2]] - solved[..., shape[2] :] @ state
        outputs.append(queries[:, c] @ state + intra[:, c] @ new)
        state = state * decay[:, c] + late[:, c] @ new
    return library().stack(outputs, 1), state


def _unpacked(rows: Any, latent: int, rope: int) -> Any:
    """Rows of bytes: `latent` of float8, a float32 scale for every 128 of them, `rope` of bfloat16. Raises ValueError for other rows."""
    torch = library()
    if rows.dtype not in (torch.uint8, torch.float8_e4m3fn):
        raise ValueError(f"rows of scaled float8 are bytes, not {rows.dtype}")
    scales = latent // 128
    if latent % 128 or rows.shape[-1] != latent + 4 * scales + 2 * rope:
        raise ValueError(
            f"{rows.shape[-1]} bytes are not a row of {latent} float8, scales and {rope} bfloat16"
        )
    parts = rows.contiguous().view(torch.uint8).split([latent, 4 * scales, 2 * rope], -1)
    kinds = (torch.float8_e4m3fn, torch.float32, torch.bfloat16)
    coded, scale, turned = (part.contiguous().view(kind) for part, kind in zip(parts, kinds, strict=True))
    values = (coded.float().unflatten(-1, (scales, 128)) * scale[..., None]).flatten(-2)
    return torch.cat((values.to(torch.bfloat16), turned), -1)


def _dealt(indices: Any, length: int, options: dict[str, Any]) -> Any:
    """Positions as rows of a cache that is dealt in chunks over devices; as they are without such a cache.

    Raises ValueError where an axis comes without its chunk, or nothing says how large the mesh is.
    """
    axis, chunk = options.get("block_cyclic_sp_axis"), options.get("block_cyclic_chunk_local")
    shape = options.get("_ttnn_sparse_sdpa_mesh_shape")
    if (axis is None) != (chunk is None):
        raise ValueError("block_cyclic_sp_axis and block_cyclic_chunk_local must be supplied together")
    if axis is None or chunk is None:
        return indices
    if shape is None:
        raise ValueError("the golden function of a cache over devices needs the shape of the mesh")
    stripes = shape[axis]
    if options.get("block_cyclic_cache_tp_sharded"):
        chunk, stripes = chunk // (math.prod(shape) // stripes), math.prod(shape)
    block = indices // chunk
    row = block % stripes * (length // stripes) + block // stripes * chunk + indices % chunk
    return library().where((indices >= 0) & (indices != _NOTHING), row, indices)


def sparse(
    q: Any,
    kv: Any,
    indices: Any,
    v_dim: int,
    *,
    kv_format: Any = None,
    scale: float | None = None,
    cache_batch_idx: Any = None,
    attention_sink: Any = None,
    **options: Any,
) -> Any:
    """q (1, H, S, D) to the rows of kv (B, 1, T, D) that indices (1, 1, S, K) name: (1, H, S, v_dim)."""
    if getattr(kv_format, "name", kv_format) == "SCALED_FP8":
        kv = _unpacked(options.get("_ttnn_sparse_sdpa_packed_kv", kv), v_dim, q.shape[-1] - v_dim)
    rows = kv[int(number(cache_batch_idx, 0)), 0].to(library().promote_types(q.dtype, kv.dtype))
    places = _dealt(indices.long(), len(rows), options).reshape(q.shape[2], -1)
    named = (places >= 0) & (places != _NOTHING)
    heads = q.shape[1]
    sink = None
    if attention_sink is not None:
        sink = sink_of(attention_sink, heads, 0)
    out = []
    for token in range(q.shape[2]):
        keys = rows[places[token].where(named[token], 0)][None]
        out.append(
            attend(q[0, :, token : token + 1], keys, keys[..., :v_dim], named[token][None], scale, sink)
        )
    return library().cat(out, 1)[None]


def sparse_blocks(
    q: Any,
    k: Any,
    v: Any,
    indices: Any,
    *,
    scale: float | None = None,
    block_size: int = 128,
    cache_batch_idx: Any = None,
    chunk_start_idx: Any = None,
    **_: Any,
) -> Any:
    """q (1, H, S, D) to the blocks of k and v (B, Hkv, T, D) that indices (1, Hkv, S, K) name; a row without any is zero."""
    user, heads, queries, keys = int(number(cache_batch_idx, 0)), q.shape[1], q.shape[2], k.shape[2]
    places = indices[0].long()
    named = (places >= 0) & (places != _NOTHING)
    blocks = library().zeros((*places.shape[:2], keys // block_size + 1), dtype=library().bool)
    blocks.scatter_(-1, places.where(named, keys // block_size), True)
    seen = blocks[..., :-1].repeat_interleave(block_size, -1).repeat_interleave(heads // k.shape[1], 0)
    if chunk_start_idx is not None:
        seen = seen & seen_keys(queries, keys, int(number(chunk_start_idx)), None)
    found = attend(q[0].float(), k[user], v[user], seen, scale)
    return found.where(seen.any(-1, keepdim=True), 0)[None]
