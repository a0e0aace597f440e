"""What attention of a device's share of the queries refuses, in the order and the words of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.enums import BufferType, DataType, cpp
from tt_run.runtime.ops.attention.operand_shapes import Wrong, refuse, without_four_dims
from tt_run.runtime.ops.attention.prefill_checks import (
    device_cores,
    enough_keys,
    same_heads,
    shared_heads,
    whole_chunks,
    whole_tiles,
)
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


@dataclass(frozen=True)
class Share:
    """A call: operands, devices of the ring, the place in it and where the queries begin, if it says so, and its program's configuration."""

    q: Tensor
    k: Tensor
    v: Tensor
    ring: int
    place: int | None
    pages: Tensor | None
    start: int | None
    program: Any = None

    @property
    def keys(self) -> int:
        """Positions of keys."""
        return self.k.shape[2] * (1 if self.pages is None else self.pages.shape[-1])


def check_share(share: Share) -> None:
    """Raises RuntimeError for a call that a ring does not take."""
    tensors = (share.q, share.k, share.v)
    refuse(
        _ring(share), without_four_dims(*tensors), _alike(share), _pages(share), _lengths(share), same_heads(share.k, share.v),
        shared_heads(share.q, share.k.shape[1]), _parts(share), whole_tiles(*tensors), device_cores(share.q, share.program),
    )  # fmt: skip


def _ring(share: Share) -> Wrong:
    if share.ring < 1 or share.ring % 2:
        yield (
            f"ring_size must be even for balanced distribution, got {share.ring}",
            f"ring_size={share.ring // 2 * 2 + 2}, or attention of the whole sequence",
        )
    if share.place is not None and not 0 <= share.place < share.ring:
        yield (
            f"ring_id must be less than ring_size, got ring_id={share.place}, ring_size={share.ring}",
            f"ring_id=0 to {share.ring - 1}",
        )


def _alike(share: Share) -> Wrong:
    q, k, v = share.q, share.k, share.v
    for tensor in (k, v):
        if tensor.dtype is not q.dtype:
            yield (
                f"All tensors must have the same dtype. Expected {cpp(q.dtype)}, got {cpp(tensor.dtype)}",
                f"ttnn.typecast(tensor, ttnn.{q.dtype.name.lower()})",
            )
    for tensor in (q, k, v):
        if tensor.memory_config().is_sharded() or tensor.memory_config().buffer_type is not BufferType.DRAM:
            yield (
                "Operands to ring-distributed SDPA need to be in DRAM",
                "ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)",
            )
    if not q.shape[3] == k.shape[3] == v.shape[3]:
        yield (
            f"Head dimensions must match. Got Q: {q.shape[3]}, K: {k.shape[3]}, V: {v.shape[3]}",
            f"heads of {q.shape[3]} columns",
        )
    if share.pages is None and not q.shape[0] == k.shape[0] == v.shape[0]:
        yield (
            f"Batch sizes must match. Got Q: {q.shape[0]}, K: {k.shape[0]}, V: {v.shape[0]}",
            "ttnn.repeat the keys and values for each user",
        )


def _pages(share: Share) -> Wrong:
    pages, start = share.pages, share.start
    if start is not None and pages is None:
        yield (
            f"page_table must be provided when chunk_start_idx is set. chunk_start_idx: {start}",
            "page_table=… of [users, blocks], int32, or leave chunk_start_idx out",
        )
    if pages is not None and pages.dtype is not DataType.INT32:
        yield (
            f"page_table tensor must have INT32 dtype. Got {cpp(pages.dtype)}",
            "ttnn.typecast(page_table, ttnn.int32)",
        )
    if pages is not None and pages.shape[0] != share.q.shape[0]:
        yield (
            f"page_table batch size must match input batch size. Got page_table batch: {pages.shape[0]}, input batch: {share.q.shape[0]}",
            "a row of the page table for each user",
        )
    if start is not None and start < 0:
        yield f"chunk_start_idx must be non-negative. Got chunk_start_idx: {start}", "chunk_start_idx=0"


def _lengths(share: Share) -> Wrong:
    length = share.q.shape[2]
    if share.k.shape[2] != share.v.shape[2]:
        yield (
            f"K and V sequence length must match. Got K: {share.k.shape[2]}, V: {share.v.shape[2]}",
            "a value for each key",
        )
    if share.start is not None:
        yield from enough_keys(share.keys, length, share.start)
    elif length != share.k.shape[2]:
        yield (
            "Ring-distributed SDPA is causal and requires Q and K to have the same sequence length when not using prefix caching. "
            f"Got Q: {length}, K: {share.k.shape[2]}",
            "a key for each query, or page_table and chunk_start_idx",
        )


def _parts(share: Share) -> Wrong:
    """Each device has two parts of the sequence, of whole chunks of queries."""
    length, parts = share.q.shape[2], 2 * share.ring
    if share.q.padded_shape[2] // TILE_SIZE < parts:
        yield (
            f"Sequence length tiles must be at least 2*ring_size for ring distribution. Got seq_len: {length}, ring_size: {share.ring}",
            f"ttnn.pad the sequence to {parts * TILE_SIZE} positions",
        )
    if length % parts:
        yield (
            f"{length} queries: the sequence must be divisible by 2 * ring_size = {parts}",
            f"ttnn.pad it to {-(-length // parts) * parts} positions",
        )
    yield from whole_chunks(share.program)
    size, each = getattr(share.program, "q_chunk_size", TILE_SIZE), length // parts
    if size > each:
        yield (
            f"q_chunk_size must be less than or equal to per-device sequence length. Got q_chunk_size: {size}, per-device sequence length: "
            f"{each}, global sequence length: {length}, ring size: {share.ring}",
            f"q_chunk_size={each // TILE_SIZE * TILE_SIZE}",
        )
    if each % size:
        yield (
            f"per-device sequence length must be divisible by q_chunk_size. Got per-device sequence length: {each}, q_chunk_size: {size}",
            f"a q_chunk_size that divides {each}, or a sequence of {parts * -(-each // size) * size} positions",
        )
    if share.start is not None and share.start % size:
        yield (
            f"chunk_start_idx must be a multiple of q_chunk_size. Got chunk_start_idx: {share.start}, q_chunk_size: {size}",
            f"chunk_start_idx={share.start // size * size}",
        )
