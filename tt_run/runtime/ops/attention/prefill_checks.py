"""What attention of whole sequences refuses, in the order and the words of reference library 0.81.1: the first fault of a call is told."""

from __future__ import annotations

from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.cores import core_of
from tt_run.runtime.enums import BufferType, DataType, Layout, cpp
from tt_run.runtime.ops.attention.operand_shapes import Wrong, beyond_device, refuse, without_four_dims
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_LONGEST = 1024
"""Bounds of windows that a kernel reads at once."""


@dataclass(frozen=True)
class PrefillCall:
    """A call's operands; `width`: of values that are the first columns of the keys, else None; `program`: its configuration."""

    q: Tensor
    k: Tensor
    v: Tensor
    program: Any = None
    mask: Tensor | None = None
    sink: Tensor | None = None
    is_causal: bool = False
    window: int | None = None
    width: int | None = None
    latent: bool = False

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.q, self.k) if self.latent else (self.q, self.k, self.v)


def check_whole(call: PrefillCall) -> None:
    """Raises RuntimeError for what attention of whole sequences does not take."""
    refuse(
        without_four_dims(*call.tensors),
        _mask(call),
        _shapes(call),
        _sink(call),
        _padding(call),
        _cores(call),
    )


def check_windows(call: PrefillCall, bounds: Tensor, offset: int) -> None:
    """Raises RuntimeError for what attention within windows does not take, whose bounds a tensor holds."""
    refuse(
        without_four_dims(*call.tensors), _windows(call), _shapes(call), _bounds(call, bounds, offset), _padding(call), _cores(call),
    )  # fmt: skip


def check_chunk(
    call: PrefillCall, pages: Tensor, start: int | Tensor, heads: int, rows: int, reshaped: bool
) -> None:
    """Raises RuntimeError for a chunk of queries that does not go with the blocks of a cache.

    `heads` and `rows`: of a block as the call sees it; `reshaped`: whether it says so.
    """
    refuse(
        without_four_dims(*call.tensors), _start(start), _pages(call, pages), _blocks(call, heads, reshaped), _chunks(call),
        _within(call, start, pages.shape[-1] * rows), _sink(call), _padding(call), _cores(call), _stick(pages, start),
    )  # fmt: skip


def _mask(call: PrefillCall) -> Wrong:
    mask, q = call.mask, call.q
    if mask is None:
        return
    if call.is_causal:
        yield (
            "is_causal and attn_mask cannot both be present. Got is_causal: true, attn_mask: true",
            "is_causal=False, or leave attn_mask out",
        )
    if call.window:
        yield (
            "sliding_window_size and attn_mask cannot both be present; bake the sliding-window mask into attn_mask. "
            f"Got sliding_window_size: {call.window}, attn_mask: true",
            "leave sliding_window_size out, and put -inf into the mask where a key is out of the window",
        )
    yield from without_four_dims(mask)
    if mask.layout is not Layout.TILE:
        yield (
            "When mask is provided to SDPA, it must be tilized",
            "ttnn.to_layout(attn_mask, ttnn.TILE_LAYOUT)",
        )
    if mask.memory_config().buffer_type is not BufferType.DRAM:
        yield (
            "When mask is provided to SDPA, it must be in DRAM",
            "ttnn.to_memory_config(attn_mask, ttnn.DRAM_MEMORY_CONFIG)",
        )
    users, heads, rows, columns = mask.shape
    if users not in (1, q.shape[0]):
        yield (
            "Mask batch dim must either be 1 (to be broadcasted across all batches) or must match Q batch dimension. "
            f"Got mask: {users}, Q: {q.shape[0]}",
            f"a mask of 1 or {q.shape[0]} users",
        )
    if heads not in (1, q.shape[1]):
        yield (
            "Mask num_heads must either be 1 (to be broadcasted across all heads) or must match Q heads dimension. "
            f"Got mask: {heads}, Q: {q.shape[1]}",
            f"a mask of 1 or {q.shape[1]} heads",
        )
    if rows != q.shape[2]:
        yield (
            f"Mask sequence length must match Q sequence length. Got mask: {rows}, Q: {q.shape[2]}",
            f"ttnn.repeat the mask to {q.shape[2]} rows",
        )
    if columns != call.k.shape[2]:
        yield (
            f"Mask sequence length must match K sequence length. Got mask: {columns}, K: {call.k.shape[2]}",
            f"a mask of {call.k.shape[2]} columns",
        )


def _shapes(call: PrefillCall) -> Wrong:
    q, k, v = call.q, call.k, call.v
    if call.is_causal and q.shape[2] != k.shape[2]:
        yield (
            f"Causal SDPA requires Q and K to have the same sequence length. Got Q: {q.shape[2]}, K: {k.shape[2]}",
            "is_causal=False with a mask, or ttnn.transformer.chunked_scaled_dot_product_attention for a later part of a sequence",
        )
    if call.latent:
        yield from _latent(call)
    else:
        if not k.shape[0] == v.shape[0] == q.shape[0]:
            yield (
                f"K and V batch must match. Got K: {k.shape[0]}, V: {v.shape[0]}. Q has {q.shape[0]}",
                "ttnn.repeat the keys and values for each user",
            )
        yield from same_heads(k, v)
        if k.shape[2] != v.shape[2]:
            yield (
                f"K and V sequence length must match. Got K: {k.shape[2]}, V: {v.shape[2]}",
                "a value for each key",
            )
        yield from _same_width(call)
    yield from shared_heads(q, k.shape[1])
    yield from _chunks(call)


def _latent(call: PrefillCall) -> Wrong:
    """Values are columns of the keys, or a tensor of their own whose heads may be others."""
    q, k, v = call.q, call.k, call.v
    wide = v.shape[-1] if call.width is None else call.width
    for word, most in (("Q", q.shape[3]), ("K", k.shape[3])):
        if wide > most:
            yield (
                f"Head dimension of V must be less than or equal to head dim of {word}, got {wide} and {most}",
                f"head_dim_v={most} or less",
            )
    if k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        yield (
            f"K must have the users and the width of Q. Got K: {list(k.shape)}, Q: {list(q.shape)}",
            f"keys of shape [{q.shape[0]}, {k.shape[1]}, {k.shape[2]}, {q.shape[3]}]",
        )
    if call.width is None and (v.shape[0], v.shape[2]) != (k.shape[0], k.shape[2]):
        yield (
            f"K and V must have the same users and length, got {list(k.shape)} and {list(v.shape)}",
            "a value for each key",
        )
    if call.width is None and (v.shape[1] == 0 or q.shape[1] % v.shape[1]):
        yield (
            f"Q num_heads must be divisible by V num_heads. Got Q: {q.shape[1]}, V: {v.shape[1]}",
            "a number of value heads that divides the query heads",
        )


def same_heads(k: Tensor, v: Tensor) -> Wrong:
    """A head of values for each of keys."""
    if k.shape[1] != v.shape[1]:
        yield (
            f"K and V num_heads must match. Got K: {k.shape[1]}, V: {v.shape[1]}",
            "as many heads of values as of keys",
        )


def _same_width(call: PrefillCall) -> Wrong:
    wide = call.q.shape[3]
    if not call.k.shape[3] == call.v.shape[3] == wide:
        yield (
            f"K and V hidden dim must match. Got K: {call.k.shape[3]}, V: {call.v.shape[3]}. Q has {wide}",
            f"heads of {wide} columns; ttnn.transformer.flash_mla_prefill takes values of fewer",
        )


def shared_heads(q: Tensor, heads: int) -> Wrong:
    """Each head of keys serves as many heads of queries."""
    mine = q.shape[1]
    if heads == 0 or mine < heads or mine % heads:
        yield (
            "Q num_heads must be >= K num_heads and divisible by K num_heads, and K num_heads must be greater than 0. "
            f"Got Q: {mine}, K: {heads}",
            "a number of key heads that divides the query heads",
        )


def _chunks(call: PrefillCall) -> Wrong:
    yield from whole_chunks(call.program)


def whole_chunks(program: Any) -> Wrong:
    """Chunks of a program configuration are whole tiles."""
    for word in ("q_chunk_size", "k_chunk_size"):
        size = getattr(program, word, None)
        if size is not None and (size <= 0 or size % TILE_SIZE):
            yield (
                f"{word} must be a positive multiple of TILE_SIZE. Got {word}: {size}, TILE_SIZE: {TILE_SIZE}",
                f"{word}={TILE_SIZE} or a multiple of it",
            )


def _sink(call: PrefillCall) -> Wrong:
    sink, heads = call.sink, call.q.shape[1]
    if sink is None:
        return
    right = f"a sink of shape [1, {heads}, 1, 1]"
    if sink.layout is not Layout.TILE:
        yield "Attention sink must be tilized", "ttnn.to_layout(attention_sink, ttnn.TILE_LAYOUT)"
    if sink.memory_config().buffer_type is not BufferType.DRAM:
        yield (
            "Attention sink must be in DRAM",
            "ttnn.to_memory_config(attention_sink, ttnn.DRAM_MEMORY_CONFIG)",
        )
    yield from without_four_dims(sink)
    if sink.shape[0] != 1:
        yield f"Attention sink batch dimension must be 1. Got {sink.shape[0]}", right
    if sink.shape[1] != heads:
        yield f"Attention sink num_heads must match Q num_heads. Got sink: {sink.shape[1]}, Q: {heads}", right
    for word, place in (("sequence", 2), ("hidden", 3)):
        if sink.shape[place] != 1:
            yield f"Attention sink {word} dimension must be 1. Got {sink.shape[place]}", right


def _padding(call: PrefillCall) -> Wrong:
    yield from whole_tiles(*call.tensors)


def whole_tiles(*tensors: Tensor) -> Wrong:
    """Heads are whole tiles wide."""
    for tensor in tensors:
        wide = tensor.shape[-1]
        if wide % TILE_SIZE:
            yield (
                f"Padding is not supported on the head_dim dimension, which is {wide}",
                f"ttnn.pad the heads to {-(-wide // TILE_SIZE) * TILE_SIZE} columns, and give scale=…",
            )


def _cores(call: PrefillCall) -> Wrong:
    yield from device_cores(call.q, call.program)


def device_cores(q: Tensor, program: Any) -> Wrong:
    """A program configuration names cores that the device has."""
    grid, device = getattr(program, "compute_with_storage_grid_size", None), q.device()
    if grid is None or device is None:
        return
    asked, most = core_of(grid), device.compute_with_storage_grid_size()
    if asked.x * asked.y > most.x * most.y:
        yield (
            f"Provided grid must not contain more cores than the device. Got {asked.x * asked.y} cores, expected at most {most.x * most.y} "
            "cores.",
            f"compute_with_storage_grid_size=({most.x}, {most.y})",
        )
    yield from beyond_device(asked, most)


def _windows(call: PrefillCall) -> Wrong:
    if call.mask is not None:
        yield (
            "Windowed SDPA builds its mask from cu_window_seqlens; attn_mask must not be provided.",
            "leave attn_mask or cu_window_seqlens out",
        )
    if call.window:
        yield "Windowed SDPA does not support sliding_window_size.", "leave sliding_window_size out"
    if call.sink is not None:
        yield "Windowed SDPA does not support attention_sink.", "leave attention_sink out"


def _bounds(call: PrefillCall, bounds: Tensor, offset: int) -> Wrong:
    word = "cu_window_seqlens"
    if bounds.dtype not in (DataType.INT32, DataType.UINT32):
        yield f"{word} must be INT32/UINT32, got {cpp(bounds.dtype)}.", f"ttnn.typecast({word}, ttnn.int32)"
    if bounds.layout is not Layout.ROW_MAJOR:
        yield f"{word} must be ROW_MAJOR.", f"ttnn.to_layout({word}, ttnn.ROW_MAJOR_LAYOUT)"
    if len(bounds.shape) != 1:
        yield f"{word} must be 1-D, got rank {len(bounds.shape)}.", f"{word} of shape [windows + 1]"
    if not 2 <= bounds.shape[-1] <= _LONGEST:
        yield (
            f"{word} must have between 2 and {_LONGEST} elements, got {bounds.shape[-1]}.",
            f"{word} of shape [windows + 1]: 0, the end of each window",
        )
    queries, keys = call.q.shape[2], call.k.shape[2]
    if offset + queries > keys:
        yield (
            f"windowed Q shard [{offset}, {offset} + {queries}) does not fit in the K sequence length {keys}.",
            f"windowed_q_token_offset is at most {max(keys - queries, 0)}",
        )


def _start(start: int | Tensor) -> Wrong:
    if isinstance(start, Tensor):
        if start.dtype is not DataType.INT32:
            yield (
                f"chunk_start_idx tensor must be int32. Got {cpp(start.dtype)}",
                "ttnn.typecast(chunk_start_idx_tensor, ttnn.int32)",
            )
        if list(start.shape) != [1]:
            yield f"chunk_start_idx tensor must have shape [1]. Got {start.shape}", "a tensor of one position"
    elif start < 0:
        yield (
            f"chunk_start_idx must be non-negative. Got chunk_start_idx: {start}",
            "chunk_start_idx=0 for the first chunk",
        )


def _pages(call: PrefillCall, pages: Tensor) -> Wrong:
    k, v = call.k, call.v
    if not call.latent and k.shape[2] != v.shape[2]:
        yield (
            f"K page size must match V page size. Got K: {k.shape[2]}, V: {v.shape[2]}",
            "one block size for keys and values",
        )
    if pages.shape[0] != call.q.shape[0]:
        yield (
            f"Page table batch size must match input batch size. Got Page table: {pages.shape[0]}, Input: {call.q.shape[0]}",
            "a row of the page table for each user",
        )


def _blocks(call: PrefillCall, heads: int, reshaped: bool) -> Wrong:
    if not call.latent:
        yield from same_heads(call.k, call.v)
        if not reshaped:
            yield from _same_width(call)
    elif call.width is not None and call.width > call.k.shape[3]:
        yield (
            f"Head dimension of V must be less than or equal to head dim of K, got {call.width} and {call.k.shape[3]}",
            f"head_dim_v={call.k.shape[3]} or less",
        )
    yield from shared_heads(call.q, heads)


def _within(call: PrefillCall, start: int | Tensor, length: int) -> Wrong:
    """The chunk begins where chunks do, and ends within the positions of the page table."""
    queries = call.q.shape[2]
    if isinstance(start, Tensor):
        if length < queries:
            yield (
                f"K's sequence length must be >= Q's sequence length. Got K: {length}, Q: {queries}",
                "a page table of more columns",
            )
        return
    for word in ("q_chunk_size", "k_chunk_size"):
        size = getattr(call.program, word, None)
        if size and start % size:
            yield (
                f"chunk_start_idx must be a multiple of {word}. Got chunk_start_idx: {start}, {word}: {size}",
                f"chunk_start_idx={start // size * size}, or a {word} that divides {start}",
            )
    yield from enough_keys(length, queries, start)


def enough_keys(length: int, queries: int, start: int) -> Wrong:
    """Keys reach as far as the queries."""
    if length < queries + start:
        yield (
            "K's sequence length must be >= Q's sequence length + chunk_start_idx. "
            f"Got K: {length}, Q: {queries}, chunk_start_idx: {start}",
            f"chunk_start_idx is at most {length - queries}, or the page table needs more columns",
        )


def _stick(pages: Tensor, start: int | Tensor) -> Wrong:
    """Where the position is not known before, a user's pages are read in pieces of 32 bytes."""
    each = 32 // 4
    if isinstance(start, Tensor) and pages.shape[-1] % each:
        yield (
            f"page table stick size must be a multiple of 32 bytes, got {pages.shape[-1]} columns of 4",
            f"ttnn.pad the page table to {-(-pages.shape[-1] // each) * each} columns, or chunk_start_idx=…",
        )
