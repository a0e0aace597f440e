"""Scaled dot-product attention: prefill, decode with a cache, decode with a paged cache.

Scores are kept in float32 from the first product to the rounding of the result. Source: ttnn specification, section 8, and the
signatures of 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops import gemm
from tt_run.runtime.ops.dispatch import operation
from tt_run.runtime.ops.elementwise import finish
from tt_run.runtime.ops.norms import masked_softmax
from tt_run.runtime.ops.operands import ints, on_device, settle
from tt_run.runtime.ops.rows import along_last
from tt_run.runtime.tensor.memory import MemoryConfig
from tt_run.runtime.tensor.shards import combine
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]

# Scores of more than this many elements are made for one head at a time.
_SCORES = 1 << 24
_MINUS_INFINITY = np.float32(-np.inf)


def attend(q: Array, k: Array, v: Array, scale: float, mask: Array | None, sink: Array | None) -> Array:
    """softmax(scale q k^T + mask) v of one user: q (heads, Sq, D), k and v (kv heads, Sk, D) -> (heads, Sq, D).

    Query heads share key heads in order. `mask` (1 or heads, Sq, Sk) is added; `sink` (heads) is a score that takes weight and gives nothing.
    """
    heads = len(q)
    if heads * q.shape[-2] * k.shape[-2] > _SCORES and heads > 1:
        share = heads // len(k)
        parts = [
            attend(
                q[h : h + 1],
                k[h // share : h // share + 1],
                v[h // share : h // share + 1],
                scale,
                _of(mask, h),
                _of(sink, h),
            )
            for h in range(heads)
        ]
        return np.concatenate(parts)
    if len(k) != heads:
        k, v = np.repeat(k, heads // len(k), axis=0), np.repeat(v, heads // len(v), axis=0)
    scores = gemm.matmul(q, k.swapaxes(-1, -2))
    factor = np.float32(scale)
    extra = [] if mask is None else [mask]
    if sink is not None:
        extra.append(np.broadcast_to(sink[:, None, None], (heads, 1, scores.shape[-1])))
    weights = along_last(
        lambda rows, *rest: _weights(rows * factor, rest, mask is not None, sink is not None),
        DataType.FLOAT32,
        scores,
        *extra,
    )
    return gemm.matmul(weights, np.ascontiguousarray(v))


def _of(values: Array | None, head: int) -> Array | None:
    return values if values is None or len(values) == 1 else values[head : head + 1]


def _weights(rows: Array, rest: tuple[Array, ...], masked: bool, sunk: bool) -> Array:
    """Softmax of rows of scores; rows that may attend to nothing give zeros."""
    if masked:
        rows = rows + rest[0]
    top = rows.max(axis=-1, keepdims=True)
    if sunk:
        top = np.maximum(top, rest[-1][:, :1])
    top = np.where(np.isneginf(top), np.float32(0), top)
    values = np.exp(rows - top)
    sums = np.add.reduce(values, axis=-1, keepdims=True)
    if sunk:
        sums = sums + np.exp(rest[-1][:, :1] - top)
    return np.divide(values, np.where(sums == 0, np.float32(1), sums), out=values)


def causal_mask(queries: int, keys: int, window: int | None = None, first: int = 0) -> Array:
    """0 where query i (at position first + i) may see key j, -inf elsewhere: j up to its position, within `window` keys."""
    position, key = np.arange(queries)[:, None] + first, np.arange(keys)[None]
    seen = key <= position
    if window:
        seen &= key > position - window
    return np.where(seen, np.float32(0), _MINUS_INFINITY)[None]


def _check_heads(q: int, k: Tensor, v: Tensor) -> None:
    if k.shape != v.shape:
        raise fatal(f"K and V must have the same shape, got {k.shape} and {v.shape}")
    if q % k.shape[1]:
        raise fatal(f"Q num_heads must be divisible by K num_heads. Q: {q}, K: {k.shape[1]}")


@operation("ttnn.transformer.scaled_dot_product_attention")
def scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    attention_sink: Tensor | None = None,
    cu_window_seqlens: Tensor | None = None,
    windowed_q_token_offset: int = 0,
    windowed_q_token_offset_tensor: Tensor | None = None,
    output_concat_heads: bool = False,
    attn_mask_block_map: Tensor | None = None,
) -> Tensor:
    """q [B, H, Sq, D], k and v [B, Hkv, Sk, D] -> [B, H, Sq, D], or [B, 1, Sq, H*D] with output_concat_heads.

    The mask [B or 1, H or 1, Sq, Sk] is added to the scores and excludes is_causal. scale: 1/sqrt(D) unless given.
    """
    if cu_window_seqlens is not None or attn_mask_block_map is not None:
        raise fatal(
            "scaled_dot_product_attention: windows by cu_window_seqlens and block maps are not emulated; give an attn_mask"
        )
    if is_causal and attn_mask is not None:
        raise fatal("attn_mask must not be provided when is_causal is true")
    q, k, v = input_tensor_q, input_tensor_k, input_tensor_v
    given = [t for t in (attn_mask, attention_sink) if t is not None]
    on_device(q, k, v, *given, kind="scaled dot product attention")
    batch, heads, queries, depth = q.shape
    _check_heads(heads, k, v)
    if is_causal and queries != k.shape[2]:
        raise fatal(
            f"Causal SDPA requires Q and K to have the same sequence length. Got Q: {queries}, K: {k.shape[2]}"
        )
    factor = scale if scale is not None else 1 / math.sqrt(depth)
    triangle = causal_mask(queries, k.shape[2], sliding_window_size) if is_causal else None

    def compute(qs: Array, ks: Array, vs: Array, *others: Array) -> Array:
        rest = list(others)
        masks = rest.pop(0) if attn_mask is not None else None
        sinks = rest.pop(0) if attention_sink is not None else None
        out = np.empty(qs.shape, np.float32)
        for device in range(len(qs)):
            sink = None if sinks is None else sinks[device].reshape(-1)[:heads]
            for user in range(batch):
                mask = triangle if masks is None else masks[device][user % masks.shape[1]]
                out[device, user] = attend(
                    qs[device, user], ks[device, user], vs[device, user], factor, mask, sink
                )
        if output_concat_heads:
            out = out.transpose(0, 1, 3, 2, 4).reshape(len(out), batch, 1, queries, heads * depth)
        return finish(np.ascontiguousarray(out), q.dtype)

    shards = combine(compute, *(t.shards for t in (q, k, v, *given)))
    return settle((q, k, v, *given), shards, q.dtype, memory_config=memory_config)


@dataclass(frozen=True)
class Decode:
    """What one step of decoding needs besides its tensors."""

    is_causal: bool
    scale: float | None
    window: int | None
    positions: tuple[int, ...] | None


def _decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    settings: Decode,
    named: dict[str, Tensor | None],
    memory_config: MemoryConfig | None,
) -> Tensor:
    """One query per user against its cache: q [1, B, H, D] -> [1, B, H, D]. `named`: mask, positions, sink, pages."""
    given = {name: tensor for name, tensor in named.items() if tensor is not None}
    on_device(q, k, v, *given.values(), kind="scaled dot product attention")
    _, users, heads, depth = q.shape
    _check_heads(heads, k, v)
    factor = settings.scale if settings.scale is not None else 1 / math.sqrt(depth)

    def compute(qs: Array, ks: Array, vs: Array, *others: Array) -> Array:
        out = np.zeros(qs.shape, np.float32)
        for device in range(len(qs)):
            rest = dict(zip(given, (o[device] for o in others), strict=True))
            for user in range(users):
                keys, values = (_cache_of(cache[device], user, rest.get("pages")) for cache in (ks, vs))
                last = _last(settings, rest.get("positions"), user, keys.shape[1])
                if last < 0:
                    continue
                sink = rest["sink"].reshape(-1)[:heads] if "sink" in rest else None
                mask = _decode_mask(settings, rest.get("mask"), user, keys.shape[1], last)
                out[device, 0, user] = attend(qs[device, 0, user][:, None], keys, values, factor, mask, sink)[
                    :, 0
                ]
        return finish(out, q.dtype)

    shards = combine(compute, *(t.shards for t in (q, k, v, *given.values())))
    return settle((q, k, v, *given.values()), shards, q.dtype, memory_config=memory_config)


def _cache_of(cache: Array, user: int, pages: Array | None) -> Array:
    """A user's keys or values (kv heads, S, D): its row of the cache, or its blocks in the order of its page table."""
    if pages is None:
        return cache[user % len(cache)]
    blocks = cache[pages.reshape(-1, pages.shape[-1])[user].astype(np.int64)]
    return np.ascontiguousarray(blocks.transpose(1, 0, 2, 3)).reshape(cache.shape[1], -1, cache.shape[3])


def _last(settings: Decode, positions: Array | None, user: int, keys: int) -> int:
    """The last position that a user's query sees, -1 for a user that is not there."""
    if settings.positions:
        return settings.positions[user]
    if positions is not None:
        return int(positions.reshape(-1)[user].astype(np.int32))
    return keys - 1


def _decode_mask(settings: Decode, mask: Array | None, user: int, keys: int, last: int) -> Array | None:
    if settings.is_causal:
        return causal_mask(1, keys, settings.window, last)
    # A mask is [B, 1, H, S]: one row of scores per head.
    return None if mask is None else mask[user % len(mask)].transpose(1, 0, 2)


@operation("ttnn.transformer.scaled_dot_product_attention_decode")
def scaled_dot_product_attention_decode(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    *,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos: Sequence[int] = (),
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    share_cache: bool | None = None,
) -> Tensor:
    """q [1, B, H, D] against caches [B, Hkv, S, D], keys up to each user's cur_pos -> [1, B, H, D]; a position of -1 gives zeros."""
    settings = Decode(is_causal, scale, sliding_window_size, ints(cur_pos) or None)
    named = {"mask": attn_mask, "positions": cur_pos_tensor, "sink": attention_sink}
    return _decode(input_tensor_q, input_tensor_k, input_tensor_v, settings, named, memory_config)


@operation("ttnn.transformer.paged_scaled_dot_product_attention_decode")
def paged_scaled_dot_product_attention_decode(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    page_table_tensor: Tensor,
    *,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    paged_cache_geometry: object = None,
    cache_position_modulo: int | None = None,
    spec_multi_pos_tiles: int = 0,
) -> Tensor:
    """As `scaled_dot_product_attention_decode`, caches in blocks [blocks, Hkv, block size, D] that page_table [B, blocks per user] orders."""
    if paged_cache_geometry is not None or cache_position_modulo is not None or spec_multi_pos_tiles:
        raise fatal(
            "paged attention: cache geometry overrides, position modulo and speculative positions are not emulated"
        )
    settings = Decode(is_causal, scale, sliding_window_size, None)
    named = {
        "mask": attn_mask,
        "positions": cur_pos_tensor,
        "sink": attention_sink,
        "pages": page_table_tensor,
    }
    return _decode(input_tensor_q, input_tensor_k, input_tensor_v, settings, named, memory_config)


@operation("ttnn.transformer.attention_softmax")
def attention_softmax(
    tensor: Tensor,
    *,
    head_size: int | None = None,
    attention_mask: Tensor | None = None,
    program_config: object = None,
    causal_mask: bool | None = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """softmax(scores / sqrt(head_size) + mask) along the last dimension; without head_size the scores are not scaled."""
    scale = None if head_size is None else 1 / math.sqrt(head_size)
    return masked_softmax(tensor, scale, attention_mask, memory_config)
