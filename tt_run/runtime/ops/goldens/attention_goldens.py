"""Golden functions of attention over caches, in blocks or not, of joined sequences and of heads, said with torch.

Each user's keys are gathered by positions and handed to torch's own attention, or, where a sink has part of the softmax, to a plain one.
Source: shapes as the reference library 0.81.1 gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.ops.goldens.common import widened


def attend(q: Any, k: Any, v: Any, mask: Any, scale: float | None, sink: Any = None) -> Any:
    """q (H, Sq, D) against k, v (Hkv, Sk, D), heads repeated, of q's type; computed in float32. `sink` (H, 1, 1) is a score without a value."""
    k, v = (t.to(q.dtype).float().repeat_interleave(len(q) // len(t), 0) for t in (k, v))
    mask = mask.float() if mask is not None and mask.is_floating_point() else mask
    if sink is None:
        found = torch_function("nn.functional.scaled_dot_product_attention")(
            q.float(), k, v, attn_mask=mask, scale=scale
        )
        return found.to(q.dtype)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q.float() @ k.mT * scale
    if mask is not None:
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, -math.inf)
    column = (sink.float() * scale).expand(*scores.shape[:2], 1)
    return (library().cat((scores, column), -1).softmax(-1)[..., :-1] @ v).to(q.dtype)


def seen_keys(queries: int, keys: int, first: int, window: int | None, *, causal: bool = True) -> Any:
    """Which keys query i, at position first + i, sees: those up to its own, `window` of them if there is one; else those about it."""
    torch = library()
    at = torch.arange(first, first + queries)[:, None]
    of = torch.arange(keys)[None]
    if not causal:
        return (of - at).abs() <= window // 2 if window is not None else of >= 0
    seen = of <= at
    return seen if window is None else seen & (of > at - window)


def _of_windows(queries: int, keys: int, first: int, bounds: Any) -> Any:
    """Which keys query first + i sees: those between the same two bounds."""
    torch = library()
    bounds = bounds.reshape(-1).long().contiguous()
    at, of = (
        torch.searchsorted(bounds, torch.arange(start, start + count), right=True)
        for start, count in ((first, queries), (0, keys))
    )
    return (at[:, None] == of[None]) & (at > 0)[:, None] & (at < len(bounds))[:, None]


def sink_of(sink: Any, heads: int, user: int) -> Any:
    """A user's sinks (H, 1, 1): given for each head, in the first column of a tile, last or second of four dimensions."""
    if sink is None:
        return None
    if sink.dim() == 2:
        sink = sink[:, 0]
    elif sink.dim() > 2:
        sink = sink[user % sink.shape[0]]
    return sink.reshape(-1)[:heads].reshape(heads, 1, 1)


def _masked(mask: Any, also: Any) -> Any:
    """A mask of scores or of truth values, where `also` holds too."""
    if mask is None or also is None:
        return also if mask is None else mask
    mask = mask[..., : also.shape[0], : also.shape[1]]
    return mask & also if mask.dtype == library().bool else mask.masked_fill(~also, -math.inf)


def number(value: Any, otherwise: Any = None) -> Any:
    """A number that may be the first element of a tensor."""
    if value is None:
        return otherwise
    return value.reshape(-1)[0].item() if hasattr(value, "reshape") else value


def prefill(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any,
    *,
    attn_mask: Any = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    attention_sink: Any = None,
    cu_window_seqlens: Any = None,
    windowed_q_token_offset: int = 0,
    windowed_q_token_offset_tensor: Any = None,
    output_concat_heads: bool = False,
    **_: Any,
) -> Any:
    """Attention (B, H, S, D), or (B, 1, S, H * D), with one of the masks: causal, a sliding window, windows between bounds, given scores."""
    queries, keys = input_tensor_q.shape[2], input_tensor_k.shape[2]
    if cu_window_seqlens is not None:
        first = int(number(windowed_q_token_offset_tensor, windowed_q_token_offset))
        where = _of_windows(queries, keys, first, cu_window_seqlens)
    elif is_causal or sliding_window_size is not None:
        where = seen_keys(queries, keys, max(0, keys - queries), sliding_window_size, causal=is_causal)
    else:
        where = None
    out = []
    for user, query in enumerate(input_tensor_q):
        mask = _masked(None if attn_mask is None else attn_mask[user % len(attn_mask)], where)
        sink = sink_of(attention_sink, len(query), user)
        out.append(attend(query, input_tensor_k[user], input_tensor_v[user], mask, scale, sink))
    found = library().stack(out)
    return join_heads(found)[:, None] if output_concat_heads else found


def _viewed(cache: Any, geometry: Any, width: int) -> Any:
    """A cache of blocks with other heads and rows in a block."""
    if geometry is None or not (geometry.block_size or geometry.num_kv_heads):
        return cache
    return cache.reshape(len(cache), geometry.num_kv_heads, geometry.block_size, width)


def in_order(cache: Any, pages: Any, user: int) -> Any:
    """A user's keys or values (Hkv, S, D) out of blocks (blocks, Hkv, rows, D)."""
    blocks = cache[pages[user].long().clamp(min=0)]
    return blocks.permute(1, 0, 2, 3).reshape(cache.shape[1], -1, cache.shape[-1])


def _chunk(
    q: Any,
    k: Any,
    v: Any,
    pages: Any,
    start: Any,
    scale: float | None,
    window: int | None = None,
    sink: Any = None,
) -> Any:
    first = int(number(start, 0))
    out = []
    for user, query in enumerate(q):
        keys, values = in_order(k, pages, user), in_order(v, pages, user)
        mask = seen_keys(query.shape[1], keys.shape[1], first, window)
        out.append(attend(query, keys, values, mask, scale, sink_of(sink, len(query), user)))
    return library().stack(out)


def chunked(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any,
    page_table_tensor: Any,
    chunk_start_idx: int | None = None,
    *,
    chunk_start_idx_tensor: Any = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    attention_sink: Any = None,
    paged_cache_geometry: Any = None,
    **_: Any,
) -> Any:
    """A chunk of queries from a position on, causally, against caches in blocks."""
    width = input_tensor_q.shape[-1]
    k, v = (_viewed(cache, paged_cache_geometry, width) for cache in (input_tensor_k, input_tensor_v))
    start = chunk_start_idx if chunk_start_idx_tensor is None else chunk_start_idx_tensor
    return _chunk(input_tensor_q, k, v, page_table_tensor, start, scale, sliding_window_size, attention_sink)


def chunked_latent(
    input_tensor_q: Any,
    input_tensor_k: Any,
    head_dim_v: int,
    page_table_tensor: Any,
    chunk_start_idx: int,
    *,
    scale: float | None = None,
    **_: Any,
) -> Any:
    """As `chunked`, the values being the first columns of the keys."""
    values = input_tensor_k[..., :head_dim_v]
    return _chunk(input_tensor_q, input_tensor_k, values, page_table_tensor, chunk_start_idx, scale)


def latent(
    input_tensor_q: Any,
    input_tensor_k: Any,
    head_dim_v: Any = None,
    *,
    input_tensor_v: Any = None,
    attn_mask: Any = None,
    is_causal: bool = True,
    scale: float | None = None,
    **_: Any,
) -> Any:
    """Attention whose values are the first columns of the keys, or a tensor of their own."""
    v = head_dim_v if hasattr(head_dim_v, "dim") else input_tensor_v
    v = input_tensor_k[..., :head_dim_v] if v is None else v
    queries, keys = input_tensor_q.shape[2], input_tensor_k.shape[2]
    triangle = seen_keys(queries, keys, 0, None) if is_causal else None
    out = []
    for user, query in enumerate(input_tensor_q):
        mask = triangle if attn_mask is None else attn_mask[user % len(attn_mask)]
        out.append(attend(query, input_tensor_k[user], v[user], mask, scale))
    return library().stack(out)


def joint(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any,
    joint_tensor_q: Any,
    joint_tensor_k: Any,
    joint_tensor_v: Any,
    *,
    joint_strategy: str = "rear",
    scale: float | None = None,
    **_: Any,
) -> Any:
    """Attention over two sequences put together, cut again; None for a strategy other than `rear`."""
    if joint_strategy != "rear":
        return None
    pairs = ((input_tensor_q, joint_tensor_q), (input_tensor_k, joint_tensor_k), (input_tensor_v, joint_tensor_v))  # fmt: skip
    q, k, v = (library().cat(pair, 2) for pair in pairs)
    out = library().stack([attend(*user, None, scale) for user in zip(q, k, v, strict=True)])
    return out[:, :, : input_tensor_q.shape[2]], out[:, :, input_tensor_q.shape[2] :]


def decode(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any = None,
    head_dim_v: int | None = None,
    page_table_tensor: Any = None,
    *,
    is_causal: bool = True,
    attn_mask: Any = None,
    cur_pos: Sequence[int] = (),
    cur_pos_tensor: Any = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    attention_sink: Any = None,
    paged_cache_geometry: Any = None,
    cache_position_modulo: int | None = None,
    spec_multi_pos_tiles: int = 0,
    **_: Any,
) -> Any:
    """One query of each user, q (1, B, H, D), against its cache up to its position; a position of -1 gives zeros.

    A ring of blocks holds the last `cache_position_modulo` positions. Each user may have `spec_multi_pos_tiles` candidates, which are
    computed as users of the same blocks.
    """
    if spec_multi_pos_tiles:
        given = input_tensor_q
        input_tensor_q = given.reshape(1, -1, given.shape[2] // spec_multi_pos_tiles, given.shape[3])
        page_table_tensor = page_table_tensor.repeat_interleave(spec_multi_pos_tiles, 0)
    v = input_tensor_k[..., :head_dim_v] if input_tensor_v is None else input_tensor_v
    if page_table_tensor is not None:
        width = input_tensor_q.shape[-1]
        input_tensor_k, v = (_viewed(cache, paged_cache_geometry, width) for cache in (input_tensor_k, v))
    positions = [int(p) for p in (cur_pos_tensor.reshape(-1) if cur_pos_tensor is not None else cur_pos)]
    out = []
    for user in range(input_tensor_q.shape[1]):
        if page_table_tensor is None:
            keys, values = (cache[user % len(cache)] for cache in (input_tensor_k, v))
        else:
            keys, values = (in_order(cache, page_table_tensor, user) for cache in (input_tensor_k, v))
        last = positions[user % len(positions)] if positions else keys.shape[1] - 1
        query = input_tensor_q[0, user][:, None]
        if cache_position_modulo is not None and last >= 0:
            held = library().arange(
                max(0, last + 1 - (sliding_window_size or cache_position_modulo)), last + 1
            )
            keys, values = (t[:, held % cache_position_modulo] for t in (keys, values))
            mask = None
        elif is_causal:
            mask = seen_keys(1, keys.shape[1], last, sliding_window_size)
        elif attn_mask is None:
            mask = None
        else:  # (1, B, H, S) or (B, 1, H, S): a row of scores for each head
            rows = attn_mask.reshape(-1, *attn_mask.shape[-2:])
            mask = rows[user % len(rows)][:, None]
        sink = sink_of(attention_sink, len(query), user)
        there = attend(query, keys, values, mask, scale, sink)[:, 0]
        out.append(there if last >= 0 else library().zeros_like(there))
    found = library().stack(out)[None]
    return found.reshape(*given.shape[:3], -1) if spec_multi_pos_tiles else found


def paged_decode(
    input_tensor_q: Any, input_tensor_k: Any, input_tensor_v: Any, page_table_tensor: Any, **options: Any
) -> Any:
    """As `decode`, with caches in blocks."""
    return decode(input_tensor_q, input_tensor_k, input_tensor_v, None, page_table_tensor, **options)


def masked_softmax(x: Any, scale: float | None = None, mask: Any = None, **_: Any) -> Any:
    """softmax(x * scale + mask) along the last dimension, in float32 at least."""
    x = widened(x) if scale is None else widened(x) * scale
    return library().softmax(x if mask is None else x + mask, -1)


def softmax_of_heads(x: Any, *, head_size: int | None = None, attention_mask: Any = None, **_: Any) -> Any:
    """softmax(x / sqrt(head_size) + mask) along the last dimension."""
    scale = None if head_size is None else 1 / math.sqrt(head_size)
    return masked_softmax(x, scale, attention_mask).to(x.dtype)


def split_heads(
    x: Any,
    kv: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_key: bool = True,
    **_: Any,
) -> Any:
    """(B, S, q | k | v) -> queries (B, H, S, D), keys (B, Hkv, D, S) or (B, Hkv, S, D), values (B, Hkv, S, D)."""
    of_keys = num_heads if num_kv_heads is None else num_kv_heads
    whole = x if kv is None else library().cat((x, kv), -1)
    width = whole.shape[-1] // (num_heads + 2 * of_keys)
    parts = whole.split([num_heads * width, of_keys * width, of_keys * width], -1)
    q, k, v = (part.unflatten(-1, (-1, width)).transpose(-2, -3) for part in parts)
    return q, k.transpose(-1, -2) if transpose_key else k, v


def separate_heads(
    x: Any,
    kv: Any,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    **_: Any,
) -> Any:
    """Heads of queries from one tensor (B, 1, S, columns), of keys and values from another in which they alternate."""
    groups = num_heads if num_kv_heads is None else num_kv_heads
    q = x[:, 0].unflatten(-1, (num_heads, -1)).transpose(1, 2)
    k, v = kv[:, 0].unflatten(-1, (groups, 2, -1)).permute(3, 0, 2, 1, 4)
    return q, k.transpose(-1, -2) if transpose_k_heads else k, v


def grouped_heads(
    x: Any, *, num_heads: int, num_kv_heads: int | None = None, transpose_k_heads: bool = True, **_: Any
) -> Any:
    """Heads of a tensor (B, 1, S, columns) in which each group has its queries, then its key, then its value."""
    groups = num_heads if num_kv_heads is None else num_kv_heads
    pieces = x[:, 0].unflatten(-1, (groups, num_heads // groups + 2, -1))
    q = pieces[..., :-2, :].flatten(2, 3).transpose(1, 2)
    k, v = pieces[..., -2:, :].permute(3, 0, 2, 1, 4)
    return q, k.transpose(-1, -2) if transpose_k_heads else k, v


def join_heads(x: Any, **_: Any) -> Any:
    """(B, H, S, D) -> (B, S, H * D)."""
    return x.transpose(1, 2).flatten(2)


def rotated(x: Any, cos: Any, sin: Any, token_index: int | None = None, *_: Any, **__: Any) -> Any:
    """x cos + rotate_half(x) sin; with a token's index every row by the angle of that position."""
    half = x.shape[-1] // 2
    rows = slice(0, x.shape[-2]) if token_index is None else slice(token_index, token_index + 1)
    turned = library().cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos[..., rows, :] + turned * sin[..., rows, :]
