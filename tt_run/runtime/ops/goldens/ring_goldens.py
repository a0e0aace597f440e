"""Golden functions of attention over a ring of devices: on whole sequences, as if there were one device.

What a device keeps of running maxima and sums comes back as zeros of its shape. Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

import math
from typing import Any

from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.goldens.attention_goldens import attend, in_order, number, seen_keys, sink_of
from tt_run.runtime.tile import TILE_SIZE


def _statistics(q: Any, joint: Any = None) -> Any:
    """Zeros where a device keeps maxima and sums: (B, H, two for each row of whole tiles, 1)."""
    rows = sum(math.ceil(t.shape[-2] / TILE_SIZE) * TILE_SIZE for t in (q, joint) if t is not None)
    return q.new_zeros((*q.shape[:2], 2 * rows, 1))


def _of_cache(
    caches: tuple[Any, ...], users: int, named: dict[str, Any]
) -> tuple[tuple[Any, ...], int | None]:
    """The rows of a cache that a call names, and how many positions were there before it.

    Raises ValueError where a slot comes without its position, twice, or is not there.
    """
    slot, written = named.get("slot_id"), named.get("kv_actual_isl_tensor")
    row, before = named.get("kv_cache_batch_idx"), named.get("kv_actual_isl")
    if (slot is None) != (written is None):
        raise ValueError("slot_id and kv_actual_isl_tensor must be supplied together")
    if slot is not None:
        if row is not None or before is not None:
            raise ValueError(
                "slot_id and kv_actual_isl_tensor stand in the place of kv_cache_batch_idx and kv_actual_isl"
            )
        layers, layer = (
            int(number(named.get("kv_cache_num_layers"), 1)),
            int(number(named.get("kv_cache_layer_idx"), 0)),
        )
        if not 0 <= layer < layers:
            raise ValueError(f"Invalid cache layer {layer} for {layers} layers")
        row, before = int(number(slot)) * layers + layer, written
    before = None if before is None else int(number(before))
    if row is None and len(caches[0]) == users:
        return caches, before
    row = int(number(row, 0))
    if not 0 <= row < len(caches[0]):
        raise ValueError(f"KV cache batch index {row} is outside cache batch size {len(caches[0])}")
    return tuple(cache[row : row + 1] for cache in caches), before


def _unrolled(cache: Any, chunk: int, before: int | None, causal: bool, window: int | None) -> Any:
    """A circular cache of chunks in the order of positions; what is overwritten is zero. Raises ValueError where the window reaches it."""
    if before is None or window is None:
        raise ValueError("circular_kv_cache requires kv_actual_isl and sliding_window_size")
    length = cache.shape[-2]
    if length % chunk:
        raise ValueError(f"Circular cache length {length} is not a multiple of the chunk length {chunk}")
    groups = math.ceil((before + chunk) / chunk)
    first = max(0, groups - length // chunk) * chunk
    earliest = max(0, before - (window - 1 if causal else window // 2))
    if earliest < first:
        raise ValueError(
            f"The sliding window reaches key {earliest}, which the circular cache already evicted"
        )
    out = cache.new_zeros((*cache.shape[:-2], groups * chunk, cache.shape[-1]))
    held = library().arange(first, groups * chunk)
    out[..., held, :] = cache[..., held % length, :]
    return out


def joint(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any,
    joint_tensor_q: Any = None,
    joint_tensor_k: Any = None,
    joint_tensor_v: Any = None,
    *,
    joint_strategy: str = "rear",
    logical_n: Any = None,
    logical_l: Any = 0,
    is_causal: bool = False,
    scale: float | None = None,
    attention_sink: Any = None,
    sliding_window_size: int | None = None,
    is_cross: bool = False,
    circular_kv_cache: bool = False,
    **named: Any,
) -> tuple[Any, Any, Any]:
    """Attention over a sequence and a joint one behind it: the results of both, and room for statistics.

    Of keys the first `logical_n` count, of the joint sequence the first `logical_l`. Raises ValueError for arguments that exclude each other.
    """
    if joint_strategy != "rear":
        raise ValueError(f"Only joint_strategy='rear' is supported, got {joint_strategy!r}")
    if is_cross and is_causal:
        raise ValueError("is_cross=True requires non-causal attention")
    q, length = input_tensor_q, input_tensor_q.shape[-2]
    (k, v), before = _of_cache((input_tensor_k, input_tensor_v), len(q), named)
    if circular_kv_cache:
        k, v = (_unrolled(t, length, before, is_causal, sliding_window_size) for t in (k, v))
    count = int(number(logical_n, k.shape[-2]))
    k, v = k[..., :count, :], v[..., :count, :]
    behind = joint_tensor_q is not None and joint_tensor_q.shape[-2] > 0
    if before is not None and before + length > count:
        raise ValueError(f"kv_actual_isl ({before}) plus query length ({length}) exceeds logical_n ({count})")
    if behind:
        if before is not None:
            raise NotImplementedError("kv_actual_isl with joint tensors has no golden function")
        more = int(number(logical_l, 0)) or joint_tensor_q.shape[-2]
        pairs = ((q, joint_tensor_q), (k, joint_tensor_k), (v, joint_tensor_v))
        q, k, v = (library().cat((one, other[..., :more, :]), -2) for one, other in pairs)
    rows, keys = q.shape[-2], k.shape[-2]
    mask = None
    if is_causal or sliding_window_size is not None:
        first = max(0, keys - rows) if before is None else before
        mask = seen_keys(rows, keys, first, sliding_window_size, causal=is_causal)
    out = library().stack(
        [
            attend(query, k[user], v[user], mask, scale, sink_of(attention_sink, len(query), user))
            for user, query in enumerate(q)
        ]
    )
    return out[..., :length, :], out[..., length:, :], _statistics(input_tensor_q, joint_tensor_q)


def latent(
    input_tensor_q: Any,
    input_tensor_kv: Any,
    *,
    head_dim_v: int,
    logical_n: Any,
    scale: float | None = None,
    _ttnn_ring_mla_kv_sources: int | None = None,
    **named: Any,
) -> tuple[Any, Any]:
    """Causal attention whose values are the first columns of the keys, and room for statistics.

    `_ttnn_ring_mla_kv_sources` says over how many devices the cache goes round, a region of each after the other.
    """
    kv, length = input_tensor_kv, input_tensor_q.shape[-2]
    if _ttnn_ring_mla_kv_sources is not None:
        region = length // _ttnn_ring_mla_kv_sources
        kv = kv.unflatten(-2, (_ttnn_ring_mla_kv_sources, -1, region)).transpose(-4, -3).flatten(-4, -2)
    (kv,), before = _of_cache((kv,), len(input_tensor_q), named)
    count = int(number(logical_n, kv.shape[-2]))
    if before is not None:
        count = min(count, before + length)
        if before + length > count:
            raise ValueError(
                f"kv_actual_isl ({before}) plus query length ({length}) exceeds logical_n ({count})"
            )
    kv = kv[..., :count, :]
    mask = seen_keys(length, kv.shape[-2], max(0, kv.shape[-2] - length) if before is None else before, None)
    out = [
        attend(q, kv[user], kv[user][..., :head_dim_v], mask, scale) for user, q in enumerate(input_tensor_q)
    ]
    return library().stack(out), _statistics(input_tensor_q)


def distributed(
    input_tensor_q: Any,
    input_tensor_k: Any,
    input_tensor_v: Any,
    ring_size: int,
    ring_id: int | None = None,
    *,
    scale: float | None = None,
    page_table: Any = None,
    chunk_start_idx: Any = None,
    **_: Any,
) -> Any:
    """One device's chunks of causal attention: its own from the front, and as many from the end."""
    first, rows = int(number(chunk_start_idx, 0)), input_tensor_q.shape[-2]
    out = []
    for user, query in enumerate(input_tensor_q):
        k, v = (
            cache[user] if page_table is None else in_order(cache, page_table, user)
            for cache in (input_tensor_k, input_tensor_v)
        )
        out.append(attend(query, k, v, seen_keys(rows, k.shape[-2], first, None), scale))
    place = int(number(ring_id, 0))
    chunks = library().stack(out).split(rows // (2 * int(ring_size)), -2)
    return library().cat((chunks[place], chunks[2 * int(ring_size) - 1 - place]), -2)
