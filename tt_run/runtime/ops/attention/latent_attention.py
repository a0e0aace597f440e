"""Attention in chunks against a paged cache, and with values that are part of the keys (latent attention).

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention.cache_blocks import blocks_of
from tt_run.runtime.ops.attention.decoding import Decode, cache_of, decode
from tt_run.runtime.ops.attention.operand_shapes import refuse, without_four_dims
from tt_run.runtime.ops.attention.prefill import causal_mask, prefill, tell_of_bias
from tt_run.runtime.ops.attention.prefill_checks import PrefillCall, check_chunk, check_whole, enough_keys
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import ints
from tt_run.runtime.ops.goldens import attention_goldens
from tt_run.runtime.ops.normalisation.softmaxes import scale_mask_softmax_in_place
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import PagedCacheGeometryOverride

Array = npt.NDArray[Any]


def _chunk(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pages: Tensor,
    start: int | Tensor | None,
    scale: float | None,
    memory_config: MemoryConfig | None,
    *,
    width: int | None = None,
    window: int | None = None,
    sink: Tensor | None = None,
    geometry: PagedCacheGeometryOverride | None = None,
    program_config: object = None,
) -> Tensor:
    """Causal attention of queries that begin at position `start` against the blocks that the page table orders, seen as `geometry` says."""
    if start is None:
        raise fatal(
            "chunked attention needs chunk_start_idx or chunk_start_idx_tensor",
            hint="chunk_start_idx=0 for the first chunk",
        )
    refuse(without_four_dims(q, k, v))
    named = {"pages": pages, "sink": sink, "start": start if isinstance(start, Tensor) else None}
    seen = geometry or PagedCacheGeometryOverride()
    blocks = blocks_of(k, q.shape[-1], seen.num_kv_heads, seen.block_size)
    latent = width is not None
    call = PrefillCall(q, k, v, program_config, sink=sink, width=width, latent=latent)
    check_chunk(call, pages, start, blocks.heads, blocks.size, seen.active)
    if seen.active:
        width = q.shape[-1]
    length = pages.shape[-1] * blocks.size

    def mask_of(rest: dict[str, Array], user: int) -> Array:
        if isinstance(start, Tensor):  # its position is known only where there are values
            first = int(rest["start"].ravel()[0])
            refuse(enough_keys(length, q.shape[2], first))
        else:
            first = start
        return causal_mask(q.shape[2], length, window, first)

    def of_user(held: Array, rest: dict[str, Array], user: int) -> Array:
        return cache_of(blocks.seen(held) if seen.active else held, user, rest["pages"])

    return prefill((q, k, v), named, mask_of, scale, memory_config, width=width, of_user=of_user)


@operation(
    "ttnn.transformer.chunked_scaled_dot_product_attention",
    family=families.ATTENTION,
    golden=attention_goldens.chunked,
)
def chunked_scaled_dot_product_attention(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    page_table_tensor: Tensor,
    chunk_start_idx: int | None = None,
    *,
    chunk_start_idx_tensor: Tensor | None = None,
    scale: float | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
    paged_cache_geometry: PagedCacheGeometryOverride | None = None,
    sliding_window_size: int | None = None,
    attention_sink: Tensor | None = None,
) -> Tensor:
    """A chunk of queries [B, H, Sq, D] from position chunk_start_idx on, causally, against caches in blocks [blocks, Hkv, block size, D].

    page_table [B, blocks per user] orders the blocks, which may be seen with other heads and sizes. Raises RuntimeError for positions that
    it does not have, and for blocks that do not fit.
    """
    start = chunk_start_idx_tensor if chunk_start_idx_tensor is not None else chunk_start_idx
    return _chunk(
        input_tensor_q, input_tensor_k, input_tensor_v, page_table_tensor, start, scale, memory_config,
        window=sliding_window_size, sink=attention_sink, geometry=paged_cache_geometry, program_config=program_config,
    )  # fmt: skip


@operation(
    "ttnn.transformer.chunked_flash_mla_prefill",
    family=families.ATTENTION,
    golden=attention_goldens.chunked_latent,
)
def chunked_flash_mla_prefill(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    head_dim_v: int,
    page_table_tensor: Tensor,
    chunk_start_idx: int,
    *,
    scale: float | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """As `chunked_scaled_dot_product_attention`, the values being the first head_dim_v columns of the keys."""
    return _chunk(
        input_tensor_q, input_tensor_k, input_tensor_k, page_table_tensor, chunk_start_idx, scale, memory_config,
        width=head_dim_v, program_config=program_config,
    )  # fmt: skip


@operation("ttnn.transformer.flash_mla_prefill", family=families.ATTENTION, golden=attention_goldens.latent)
def flash_mla_prefill(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    head_dim_v: int | Tensor | None = None,
    *,
    input_tensor_v: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    memory_config: MemoryConfig | None = None,
    program_config: object = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """Attention whose values are the first head_dim_v columns of the keys, or a tensor of their own in its place.

    q [B, H, Sq, D], k [B, Hkv, Sk, D] -> [B, H, Sq, head_dim_v]; values of their own may have other heads. A mask is added to the scores
    and excludes is_causal; with that queries see keys up to their own position.
    """
    v = head_dim_v if isinstance(head_dim_v, Tensor) else input_tensor_v
    if v is None and not isinstance(head_dim_v, int):
        raise fatal(
            "flash_mla_prefill needs head_dim_v or a tensor of values",
            hint="head_dim_v=…, the first columns of the keys that are values",
        )
    width = None if v is not None else int(head_dim_v)  # type: ignore[arg-type]
    tensors = (input_tensor_q, input_tensor_k, input_tensor_k if v is None else v)
    check_whole(PrefillCall(*tensors, program_config, attn_mask, None, is_causal, width=width, latent=True))
    queries, keys = input_tensor_q.shape[2], input_tensor_k.shape[2]
    triangle = causal_mask(queries, keys) if is_causal else None

    def mask_of(rest: dict[str, Array], user: int) -> Array | None:
        return rest["mask"][user % len(rest["mask"])] if "mask" in rest else triangle

    tell_of_bias(attn_mask, scale if scale is not None else 1 / math.sqrt(input_tensor_q.shape[-1]))
    return prefill(tensors, {"mask": attn_mask}, mask_of, scale, memory_config, width=width)


@operation(
    "ttnn.transformer.flash_multi_latent_attention_decode",
    family=families.ATTENTION,
    golden=attention_goldens.decode,
)
def flash_multi_latent_attention_decode(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor | None = None,
    head_dim_v: int | None = None,
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
) -> Tensor:
    """As `scaled_dot_product_attention_decode`, the values being the first head_dim_v columns of the keys unless given."""
    settings = Decode(is_causal, scale, sliding_window_size, ints(cur_pos) or None)
    named = {"mask": attn_mask, "positions": cur_pos_tensor, "sink": attention_sink}
    return _latent(
        input_tensor_q,
        input_tensor_k,
        input_tensor_v,
        head_dim_v,
        settings,
        named,
        memory_config,
        program_config,
    )


@operation(
    "ttnn.transformer.paged_flash_multi_latent_attention_decode",
    family=families.ATTENTION,
    golden=attention_goldens.decode,
)
def paged_flash_multi_latent_attention_decode(
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor | None = None,
    head_dim_v: int | None = None,
    page_table_tensor: Tensor | None = None,
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
) -> Tensor:
    """As `flash_multi_latent_attention_decode`, with a cache in blocks that page_table [B, blocks per user] orders."""
    if page_table_tensor is None:
        raise fatal(
            "paged_flash_multi_latent_attention_decode needs page_table_tensor",
            hint="page_table_tensor=… of [users, blocks], int32; without pages it is flash_multi_latent_attention_decode",
        )
    settings = Decode(is_causal, scale, sliding_window_size, None)
    named = {
        "mask": attn_mask,
        "positions": cur_pos_tensor,
        "sink": attention_sink,
        "pages": page_table_tensor,
    }
    return _latent(
        input_tensor_q,
        input_tensor_k,
        input_tensor_v,
        head_dim_v,
        settings,
        named,
        memory_config,
        program_config,
    )


def _latent(
    q: Tensor, k: Tensor, v: Tensor | None, width: int | None, settings: Decode,
    named: dict[str, Tensor | None], memory_config: MemoryConfig | None, program_config: object,
) -> Tensor:  # fmt: skip
    if v is None and width is None:
        raise fatal(
            "latent attention needs head_dim_v or a tensor of values",
            hint="head_dim_v=…, the first columns of the keys that are values",
        )
    return decode(
        q,
        k,
        k if v is None else v,
        settings,
        named,
        memory_config,
        width,
        program_config,
        latent=True,
    )


@operation(
    "ttnn.transformer.attention_softmax_",
    family=families.ATTENTION,
    golden=attention_goldens.softmax_of_heads,
)
def attention_softmax_(
    tensor: Tensor,
    *,
    head_size: int | None = None,
    attention_mask: Tensor | None = None,
    program_config: object = None,
    causal_mask: bool | None = False,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """`attention_softmax` in the place of its operand, which it returns."""
    if attention_mask is None:
        raise fatal(
            "Cannot apply divide by sqrt(head_size) using in-place version when attention_mask is not set.",
            hint="ttnn.transformer.attention_softmax, or an attention_mask",
        )
    scale = None if head_size is None else 1 / math.sqrt(head_size)
    scale_mask_softmax_in_place.compute(
        tensor, scale, attention_mask, program_config=program_config, is_causal_mask=bool(causal_mask)
    )
    return tensor
