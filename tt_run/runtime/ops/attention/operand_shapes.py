"""Shapes that attention refuses, beside those of heads. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Wrong = Iterator[tuple[str, str]]
"""What is wrong with a call, the first of it first: the words, and what to type instead."""


def refuse(*rules: Wrong) -> None:
    """Raises RuntimeError for the first fault that the rules find; a rule may take for granted what those before it ask for."""
    for words, hint in chain(*rules):
        raise fatal(words, hint=hint)


def without_four_dims(*tensors: Tensor) -> Wrong:
    """Tensors of attention have users or blocks, heads, rows and columns."""
    for tensor in tensors:
        count = len(tensor.shape)
        if count != 4:
            yield (
                f"ShapeBase[] index out of range. 3 not in [-4, {count})"
                if count < 4
                else f"Expected 4 dimensions, got {tensor.shape}",
                f"tensors of four dimensions; this one is {tensor.shape}",
            )


def beyond_device(asked: CoreCoord, most: CoreCoord) -> Wrong:
    """A rectangle of cores that is not too many, and does not lie on the device."""
    if asked.x > most.x or asked.y > most.y:
        core = (most.x, 0) if asked.x > most.x else (0, most.y)
        yield (
            f"Persistent L1 core {core[0]}-{core[1]} is outside the worker grid {most.x}x{most.y}",
            f"compute_with_storage_grid_size=({min(asked.x, most.x)}, {min(asked.y, most.y)})",
        )


def check_candidates(
    tensors: tuple[Tensor, Tensor, Tensor, Tensor | None],
    candidates: int,
    is_causal: bool,
    others: tuple[Tensor | None, int | None],
) -> None:
    """Raises RuntimeError unless queries, keys, pages and positions are those of `candidates` per user. `others`: a mask and a window."""
    q, k, pages, positions = tensors
    mask, window = others
    word, users, rows = "spec_multi_pos_tiles", q.shape[1], candidates * TILE_SIZE
    given = 0 if positions is None else positions.shape[-1]
    wrong = [
        (not is_causal, f"{word} requires is_causal", "leave is_causal out"),
        (mask is not None, f"{word} is not supported with an explicit attn_mask", "leave attn_mask out"),
        (bool(window), f"{word} is not supported with sliding_window_size", "leave sliding_window_size out"),
        (
            q.dtype is not DataType.BFLOAT16,
            f"{word} requires a BFLOAT16 Q tensor, got {cpp(q.dtype)}",
            "ttnn.typecast(q, ttnn.bfloat16)",
        ),
        (
            q.layout is not Layout.TILE,
            f"{word} requires a TILE layout Q tensor, got {cpp(q.layout)}",
            "ttnn.to_layout(q, ttnn.TILE_LAYOUT)",
        ),
        (k.shape[1] != 1, f"{word} requires num_kv_heads == 1, got {k.shape[1]}", "a cache of one head"),
        (
            q.shape[2] != rows,
            f"{word}={candidates}: Q must have {rows} padded rows per batch (one 32-row tile per candidate), got {q.shape[2]}",
            f"q of shape [1, {users}, {rows}, {q.shape[-1]}], or {word}={q.shape[2] // TILE_SIZE}",
        ),
        (
            pages.shape[0] != users,
            f"{word}: page_table must have one row per Q batch group, got {pages.shape[0]} rows for Q batch {users}",
            f"a page table of {users} rows",
        ),
        (positions is None, f"{word} requires a cur_pos tensor", f"cur_pos_tensor=… of {users * candidates}"),
        (
            given != users * candidates,
            f"{word}={candidates}: cur_pos must have {users * candidates} entries (B={users} groups of {candidates}), got {given}",
            "a position for each candidate of each user",
        ),
    ]  # fmt: skip
    for found, message, hint in wrong:
        if found:
            raise fatal(message, hint=hint)


def check_block_map(
    blocks: Tensor, mask: Tensor | None, lengths: tuple[int, int], program_config: object, windows: bool
) -> tuple[int, int]:
    """The chunks of queries and keys that a map of a mask's blocks counts. Raises RuntimeError for one that does not fit."""
    word = "attn_mask_block_map"
    if windows:
        raise fatal(
            f"{word} cannot be combined with cu_window_seqlens, sliding_window_size or chunked prefill",
            hint=f"leave {word} out",
        )
    if mask is None:
        raise fatal(f"{word} needs attn_mask", hint=f"attn_mask=…, or leave {word} out")
    chunks = tuple(int(getattr(program_config, name, 0) or 0) for name in ("q_chunk_size", "k_chunk_size"))
    if not all(chunks):
        raise fatal(
            f"{word} needs a program_config with the chunk sizes",
            hint="program_config=ttnn.SDPAProgramConfig(…, q_chunk_size=…, k_chunk_size=…)",
        )
    if blocks.layout is not Layout.ROW_MAJOR or blocks.dtype not in (DataType.INT32, DataType.UINT32):
        raise fatal(
            f"{word} must be a ROW_MAJOR int32 or uint32 tensor",
            hint="ttnn.from_torch(blocks, dtype=ttnn.int32, device=device)",
        )
    wanted = [*tuple(mask.shape)[:2], *(-(-n // size) for n, size in zip(lengths, chunks, strict=True))]
    if list(blocks.shape) != wanted:
        raise fatal(
            f"{word} must be {wanted}, got {blocks.shape}", hint="one number for each chunk of the mask"
        )
    return chunks[0], chunks[1]
