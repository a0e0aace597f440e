"""Scaled dot-product attention of whole sequences, and the masks and sums that decoding shares (`decoding`).

Scores are kept in float32 from the first product to the rounding of the result. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events
from tt_run.runtime.kernels.attention import attend
from tt_run.runtime.kernels.elementwise import finish
from tt_run.runtime.ops.attention.operand_shapes import check_block_map
from tt_run.runtime.ops.attention.prefill_checks import PrefillCall, check_whole, check_windows
from tt_run.runtime.ops.data_movement.movement import unsqueeze_to_4D
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.normalisation.softmaxes import (
    check_alike,
    check_height,
    check_users,
    mask_of_rows,
    masked_softmax,
    softmax,
)
from tt_run.runtime.ops.placement.sharded_results import in_dram
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]

_MINUS_INFINITY = np.float32(-np.inf)
_KEPT = 1 << 21
"""Elements of a mask up to which it is kept for the next call."""
# A score that is lower by this weighs nothing in float32.
_VANISHES = 88


def tell_of_bias(mask: Tensor | None, factor: float) -> None:
    """Warns of a mask that is a bias: what is added to the scores here, kernels of 0.81.1 multiply by the scale of the scores first."""
    if mask is None or factor in (0, 1):
        return
    values: Any = mask.shards.data
    weigh = values[(values != 0) & (values > -_VANISHES / abs(factor)) & (values < np.inf)]
    if weigh.size:
        events.warn(
            f"attn_mask holds {weigh.size} finite elements such as {weigh[0]:g} that are added to scores times scale={factor:g}, as the golden "
            f"function does; a kernel multiplies them by the scale, too, and adds {weigh[0] * factor:g}\nhelp: a mask of zeros and -inf, which is the same in both"
        )


def sink_of(given: Array, heads: int, user: int) -> Array:
    """A score per head: [heads, a tile's width] has them in its first column, [users, …] each user's own, others list them."""
    if given.ndim == 2 and len(given) == heads:
        return np.asarray(given[:, 0])
    if given.ndim > 2 and len(given) > 1:
        given = given[user]
    return np.asarray(given.reshape(-1)[:heads])


def band_mask(queries: int, keys: int, window: int) -> Array:
    """0 where a key is at most half a window before or after a query, the last query being at the last key; -inf elsewhere."""
    position = np.arange(queries)[:, None] + max(0, keys - queries)
    seen = np.abs(np.arange(keys)[None] - position) <= window // 2
    return np.where(seen, np.float32(0), _MINUS_INFINITY)[None]


def causal_mask(queries: int, keys: int, window: int | None = None, first: int = 0) -> Array:
    """0 where query i (at position first + i) may see key j, -inf elsewhere: j up to its position, within `window` keys. Read it only."""
    of = _kept_causal_mask if queries * keys <= _KEPT else _causal_mask
    return of(queries, keys, window, first)


def _causal_mask(queries: int, keys: int, window: int | None, first: int) -> Array:
    position, key = np.arange(queries)[:, None] + first, np.arange(keys)[None]
    seen = key <= position
    if window:
        seen &= key > position - window
    return np.where(seen, np.float32(0), _MINUS_INFINITY)[None]


@lru_cache(maxsize=4)
def _kept_causal_mask(queries: int, keys: int, window: int | None, first: int) -> Array:
    """Every layer of a model asks for the same one, which takes a tenth of its attention to make."""
    mask = _causal_mask(queries, keys, window, first)
    mask.flags.writeable = False
    return mask


def window_mask(queries: int, keys: int, bounds: Array, first: int = 0) -> Array:
    """0 where query i (at position first + i) and key j lie in the same window, -inf elsewhere."""
    of_query = np.searchsorted(bounds, np.arange(queries) + first, side="right")
    of_key = np.searchsorted(bounds, np.arange(keys), side="right")
    return np.where(of_query[:, None] == of_key[None], np.float32(0), _MINUS_INFINITY)[None]


def hidden_blocks(blocks: Array, chunks: tuple[int, int], queries: int, keys: int) -> Array:
    """-inf where a block of a mask is said to hide every key, 0 elsewhere; a row of such blocks alone is left to the mask."""
    seen = (blocks != 0) | ~(blocks != 0).any(-1, keepdims=True)
    spread = np.repeat(np.repeat(seen, chunks[0], -2), chunks[1], -1)[..., :queries, :keys]
    return np.where(spread, np.float32(0), _MINUS_INFINITY)


@operation(
    "ttnn.transformer.scaled_dot_product_attention",
    family=families.ATTENTION,
    golden=attention_goldens.prefill,
)
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

    The mask [B or 1, H or 1, Sq, Sk] is added to the scores and excludes is_causal. cu_window_seqlens [windows + 1] holds the bounds of
    windows that see themselves only, counted from 0; it replaces is_causal. Without is_causal a query sees half a sliding window on either
    side. scale: 1/sqrt(D) unless given; the sink's scores are times scale too. attn_mask_block_map is 0 for chunks of the mask that hide all.
    """
    windows = cu_window_seqlens is not None
    tensors = (input_tensor_q, input_tensor_k, input_tensor_v)
    call = PrefillCall(
        *tensors, program_config, attn_mask, attention_sink, is_causal and not windows, sliding_window_size
    )
    if cu_window_seqlens is not None:
        check_windows(call, cu_window_seqlens, windowed_q_token_offset)
    else:
        check_whole(call)
    queries, keys = input_tensor_q.shape[2], input_tensor_k.shape[2]
    chunks = None
    if attn_mask_block_map is not None:
        chunks = check_block_map(
            attn_mask_block_map,
            attn_mask,
            (queries, keys),
            program_config,
            windows or bool(sliding_window_size),
        )
    triangle = None
    if is_causal and not windows:
        triangle = causal_mask(queries, keys, sliding_window_size)
    elif sliding_window_size and not windows:
        triangle = band_mask(queries, keys, sliding_window_size)

    def mask_of(rest: dict[str, Array], user: int) -> Array | None:
        if "windows" in rest:
            first = int(rest["offset"].ravel()[0]) if "offset" in rest else windowed_q_token_offset
            return window_mask(queries, keys, rest["windows"].ravel(), first)
        if "mask" not in rest:
            return triangle
        mask: Array = rest["mask"][user % len(rest["mask"])]
        if chunks is not None:
            blocks = rest["blocks"][user % len(rest["blocks"])]
            return mask[..., :queries, :keys] + hidden_blocks(blocks, chunks, queries, keys)
        return mask

    named = {"mask": attn_mask, "sink": attention_sink, "windows": cu_window_seqlens}
    named |= {"offset": windowed_q_token_offset_tensor, "blocks": attn_mask_block_map}
    return prefill(tensors, named, mask_of, scale, memory_config, concat_heads=output_concat_heads)


def prefill(
    tensors: tuple[Tensor, Tensor, Tensor],
    named: dict[str, Tensor | None],
    mask_of: Callable[[dict[str, Array], int], Array | None],
    scale: float | None,
    memory_config: MemoryConfig | None,
    *,
    concat_heads: bool = False,
    width: int | None = None,
    of_user: Callable[[Array, dict[str, Array], int], Array] = lambda held, rest, user: held[user],
) -> Tensor:
    """Attention of every user's queries; `mask_of` gives the mask of a user from a device's shards of `named`.

    `width`: of the values, where they are the first columns of a wider tensor. `of_user`: a user's keys or values (heads, S, D) of
    what a device holds.
    """
    q, k, v = tensors
    given = {name: tensor for name, tensor in named.items() if tensor is not None}
    on_device(q, k, v, *given.values(), kind="scaled dot product attention")
    batch, heads, queries, depth = q.shape
    factor = scale if scale is not None else 1 / math.sqrt(depth)
    wide = v.shape[-1] if width is None else width

    def compute(qs: Array, ks: Array, vs: Array, *others: Array) -> Array:
        out = np.empty((*qs.shape[:-1], wide), np.float32)
        for device in range(len(qs)):
            rest = dict(zip(given, (o[device] for o in others), strict=True))
            for user in range(batch):
                sink = sink_of(rest["sink"], heads, user) if "sink" in rest else None
                mask = mask_of(rest, user)
                keys, values = (of_user(held[device], rest, user) for held in (ks, vs))
                attend(qs[device, user], keys, values[..., :wide], factor, mask, sink, out[device, user])
        if concat_heads:
            out = out.transpose(0, 1, 3, 2, 4).reshape(len(out), batch, 1, queries, heads * wide)
        return finish(np.ascontiguousarray(out), q.dtype)

    operands = (*tensors, *given.values())
    shards = combine(compute, *(t.shards for t in operands))
    return settle(operands, shards, q.dtype, memory_config=memory_config or in_dram(q))


@operation(
    "ttnn.transformer.attention_softmax", family=families.ATTENTION, golden=attention_goldens.softmax_of_heads
)
def attention_softmax(
    tensor: Tensor,
    *,
    head_size: int | None = None,
    attention_mask: Tensor | None = None,
    program_config: object = None,
    causal_mask: bool | None = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """softmax(scores / sqrt(head_size) + mask) along the last dimension; without head_size the scores are not scaled.

    The result has four dimensions at least.
    """
    if len(tensor.shape) < 4:
        tensor = unsqueeze_to_4D.compute(tensor)
    if head_size is None and attention_mask is None:
        plain: Tensor = softmax.compute(tensor, -1, memory_config=memory_config)
        return plain
    scale = None if head_size is None else 1 / math.sqrt(head_size)
    check_users(tensor, attention_mask)
    check_alike(tensor, attention_mask, in_place=False)
    check_height(tensor, attention_mask)
    mask = mask_of_rows(attention_mask, tensor, bool(causal_mask))
    return masked_softmax(tensor, scale, mask, memory_config)
