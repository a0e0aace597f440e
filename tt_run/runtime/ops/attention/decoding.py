"""Attention of one query per user against what is in a cache, plain or in pages.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.attention import attend
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention.cache_blocks import blocks_of, check_ring
from tt_run.runtime.ops.attention.decode_checks import Step, check_step
from tt_run.runtime.ops.attention.operand_shapes import check_candidates, refuse, without_four_dims
from tt_run.runtime.ops.attention.prefill import causal_mask, sink_of, tell_of_bias
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import ints, on_device, settle
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import PagedCacheGeometryOverride
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Decode:
    """What one step of decoding needs besides its tensors."""

    is_causal: bool
    scale: float | None
    window: int | None
    positions: tuple[int, ...] | None
    geometry: PagedCacheGeometryOverride | None = None
    modulo: int | None = None
    candidates: int = 1
    share_cache: bool = False


def decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    settings: Decode,
    named: dict[str, Tensor | None],
    memory_config: MemoryConfig | None,
    width: int | None = None,
    program_config: object = None,
    latent: bool = False,
) -> Tensor:
    """One query per user against its cache: q [1, B, H, D] -> [1, B, H, D]. `named`: mask, positions, sink, pages.

    `width`: of the values, where they are the first columns of a wider tensor; `latent`: whether they may be narrower than the queries.
    """
    given = {name: tensor for name, tensor in named.items() if tensor is not None}
    on_device(q, k, v, *given.values(), kind="scaled dot product attention")
    refuse(without_four_dims(q, k, v))
    _, users, heads, depth = q.shape
    geometry = settings.geometry or PagedCacheGeometryOverride()
    blocks = blocks_of(k, depth, geometry.num_kv_heads, geometry.block_size)
    check_ring(settings.modulo, named.get("pages"), blocks.size)
    step = Step(
        q, k, v, blocks.heads, program_config, given.get("mask"), given.get("sink"), given.get("pages"),
        settings.positions or given.get("positions"), settings.is_causal, memory_config, latent, width, settings.share_cache,
        settings.candidates, geometry.active,
    )  # fmt: skip
    check_step(step)
    factor = settings.scale if settings.scale is not None else 1 / math.sqrt(depth)
    tell_of_bias(given.get("mask"), factor)

    wide = width if width is not None else depth if geometry.active else v.shape[-1]

    def compute(qs: Array, ks: Array, vs: Array, *others: Array) -> Array:
        if geometry.active:
            ks, vs = (np.stack([blocks.seen(row) for row in stack]) for stack in (ks, vs))
        out = np.zeros((*qs.shape[:-1], wide), np.float32)
        for device in range(len(qs)):
            rest = dict(zip(given, (o[device] for o in others), strict=True))
            for row in range(users * settings.candidates):
                user, which = divmod(row, settings.candidates)
                keys, values = (cache_of(cache[device], user, rest.get("pages")) for cache in (ks, vs))
                last = _last(settings, rest.get("positions"), row, keys.shape[1])
                if last < 0:
                    continue
                if settings.modulo is not None:
                    keys, values, last = _unrolled(keys, values, last, settings.modulo)
                own = _own(heads, which, settings.candidates)
                sink = sink_of(rest["sink"], heads, user)[own] if "sink" in rest else None
                mask = _decode_mask(settings, rest.get("mask"), user, keys.shape[1], last)
                out[device, 0, user, own] = attend(
                    qs[device, 0, user, own][:, None], keys, values[..., :wide], factor, mask, sink
                )[:, 0]
        return finish(out, q.dtype)

    shards = combine(compute, *(t.shards for t in (q, k, v, *given.values())))
    return settle((q, k, v, *given.values()), shards, q.dtype, memory_config=memory_config or in_dram(q))


def cache_of(cache: Array, user: int, pages: Array | None) -> Array:
    """A user's keys or values (kv heads, S, D): its row of the cache, or its blocks in the order of its page table."""
    if pages is None:
        return cache[user % len(cache)]
    blocks = cache[pages.reshape(-1, pages.shape[-1])[user].astype(np.int64)]
    return np.ascontiguousarray(blocks.transpose(1, 0, 2, 3)).reshape(cache.shape[1], -1, cache.shape[3])


def _own(heads: int, which: int, candidates: int) -> slice:
    """The heads of a candidate for the next token: of those of all candidates, one after the other."""
    share = heads // candidates
    return slice(which * share, (which + 1) * share)


def _unrolled(keys: Array, values: Array, last: int, ring: int) -> tuple[Array, Array, int]:
    """Keys and values out of a ring of positions in the order of time, and where the last one is then."""
    order = np.arange(ring)
    if last >= ring:
        order, last = (order + last + 1) % ring, ring - 1
    return np.ascontiguousarray(keys[:, order]), np.ascontiguousarray(values[:, order]), last


def _last(settings: Decode, positions: Array | None, row: int, keys: int) -> int:
    """The last position that a user's query or a candidate of it sees, -1 for a user that is not there.

    Keys of candidates are read up to the position of the last of them.
    """
    if settings.positions:
        return settings.positions[row]
    if positions is not None:
        end = row - row % settings.candidates + settings.candidates - 1
        own, most = positions.reshape(-1)[[row, end]].astype(np.int32)
        return int(min(own, most))
    return keys - 1


def _decode_mask(settings: Decode, mask: Array | None, user: int, keys: int, last: int) -> Array | None:
    if settings.is_causal:
        return causal_mask(1, keys, settings.window, last)
    if mask is None:
        return None
    # A mask is [1, B, H, S], or [B, 1, H, S]: one row of scores per head.
    users = mask.reshape(-1, *mask.shape[-2:])
    return users[user % len(users)][:, None]


@operation(
    "ttnn.transformer.scaled_dot_product_attention_decode",
    family=families.ATTENTION,
    golden=attention_goldens.decode,
)
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
    settings = Decode(
        is_causal, scale, sliding_window_size, ints(cur_pos) or None, share_cache=bool(share_cache)
    )
    named = {"mask": attn_mask, "positions": cur_pos_tensor, "sink": attention_sink}
    return decode(
        input_tensor_q,
        input_tensor_k,
        input_tensor_v,
        settings,
        named,
        memory_config,
        program_config=program_config,
    )


@operation(
    "ttnn.transformer.paged_scaled_dot_product_attention_decode",
    family=families.ATTENTION,
    golden=attention_goldens.paged_decode,
)
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
    paged_cache_geometry: PagedCacheGeometryOverride | None = None,
    cache_position_modulo: int | None = None,
    spec_multi_pos_tiles: int = 0,
) -> Tensor:
    """As `scaled_dot_product_attention_decode`, caches in blocks [blocks, Hkv, block size, D] that page_table [B, blocks per user] orders.

    The blocks may be seen with other heads and sizes, and as a ring, which holds the last `cache_position_modulo` positions. With
    spec_multi_pos_tiles=T a user has T candidates for its next tokens, each a tile of rows of q [1, B, T*32, D] with a position of its own,
    cur_pos_tensor [B*T]. Raises RuntimeError when those do not fit.
    """
    if spec_multi_pos_tiles:
        check_candidates(
            (input_tensor_q, input_tensor_k, page_table_tensor, cur_pos_tensor), spec_multi_pos_tiles, is_causal,
            (attn_mask, sliding_window_size),
        )  # fmt: skip
    if cache_position_modulo is not None and attn_mask is not None:
        raise fatal(
            "paged attention: cache_position_modulo goes with causal attention, not with a mask",
            hint="leave attn_mask out and is_causal=True",
        )
    settings = Decode(
        is_causal, scale, sliding_window_size, None, paged_cache_geometry, cache_position_modulo,
        spec_multi_pos_tiles or 1,
    )  # fmt: skip
    named = {
        "mask": attn_mask,
        "positions": cur_pos_tensor,
        "sink": attention_sink,
        "pages": page_table_tensor,
    }
    return decode(
        input_tensor_q,
        input_tensor_k,
        input_tensor_v,
        settings,
        named,
        memory_config,
        program_config=program_config,
    )
