"""Shapes that attention refuses, beside those of heads. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def check_width(*tensors: Tensor) -> None:
    """Raises RuntimeError for heads that are not whole tiles wide."""
    for tensor in tensors:
        if tensor.shape[-1] % TILE_SIZE:
            raise fatal(
                f"Padding is not supported on the head_dim dimension, which is {tensor.shape[-1]}",
                hint=f"ttnn.pad the heads to {-(-tensor.shape[-1] // TILE_SIZE) * TILE_SIZE} columns, and give scale=…",
            )


def check_prefill(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, sink: Tensor | None) -> None:
    """Raises RuntimeError for users, widths, masks and sinks that do not go with the queries."""
    if k.shape[0] != q.shape[0] or v.shape[0] != q.shape[0]:
        raise fatal(
            f"K and V batch must match. Got K: {k.shape[0]}, V: {v.shape[0]} for Q: {q.shape[0]}",
            hint="ttnn.repeat the keys and values for each user",
        )
    check_width(q, k, v)
    if mask is not None and mask.shape[-2] != q.shape[2]:
        raise fatal(
            f"Mask sequence length must match Q sequence length. Got mask: {mask.shape[-2]}, Q: {q.shape[2]}",
            hint=f"ttnn.repeat the mask to {q.shape[2]} rows",
        )
    if sink is None or len(sink.shape) != 4:
        return
    if sink.shape[1] != q.shape[1]:
        raise fatal(
            f"Attention sink num_heads must match Q num_heads. Got sink: {sink.shape[1]}, Q: {q.shape[1]}",
            hint=f"a sink of shape [1, {q.shape[1]}, 1, 1]",
        )
    if sink.shape[3] != 1:
        raise fatal(
            f"Attention sink hidden dimension must be 1. Got {sink.shape[3]}",
            hint=f"a sink of shape [1, {q.shape[1]}, 1, 1]",
        )
    if sink.shape[2] != 1:
        raise fatal(
            f"Attention sink sequence dimension must be 1. Got {sink.shape[2]}",
            hint=f"a sink of shape [1, {q.shape[1]}, 1, 1]",
        )


def check_decode(q: Tensor, k: Tensor, positions: bool, cut: bool, paged: bool, key_heads: int) -> None:
    """Raises RuntimeError for queries, caches and results that decoding does not take.

    `positions`: whether the call needs none or has them; `cut`: whether its result is to lie in pieces; `key_heads`: of a cache.
    """
    if q.layout is Layout.ROW_MAJOR and not q.is_sharded():
        raise fatal(
            "ROW_MAJOR Q is only supported when Q is HEIGHT_SHARDED in L1; interleaved ROW_MAJOR Q is not supported",
            hint="ttnn.to_layout(q, ttnn.TILE_LAYOUT)",
        )
    if not positions:
        raise fatal(
            "causal decoding needs the users' positions",
            hint=f"cur_pos=[…] of {q.shape[1]} positions, cur_pos_tensor=…, or is_causal=False",
        )
    if not paged and k.shape[2] % TILE_SIZE:
        most = k.shape[2] & -k.shape[2]
        raise fatal(
            f"Chunk size must be multiple of {TILE_SIZE}, but the maximum calculated k_chunk_size is: {most}",
            hint=f"a cache of {-(-k.shape[2] // TILE_SIZE) * TILE_SIZE} positions",
        )
    if key_heads > 1 and q.dtype in (DataType.BFLOAT8_B, DataType.BFLOAT4_B):
        raise fatal(
            f"GQA expects BFLOAT16 input tensor, but got {cpp(q.dtype)}",
            hint="ttnn.typecast(q, ttnn.bfloat16)",
        )
    if key_heads > 1 and cut:
        raise fatal("Sharded output not supported for GQA", hint="memory_config=ttnn.DRAM_MEMORY_CONFIG")


def check_decode_mask(q: Tensor, k: Tensor, mask: Tensor, paged: bool, program_config: object) -> None:
    """Raises RuntimeError for a mask [1, B, H, S] that does not go with queries [1, B, H, D] and a cache of S positions."""
    rows, wanted = mask.padded_shape[min(2, len(mask.shape) - 1)], q.padded_shape[2]
    if q.layout is Layout.TILE and (len(mask.shape) != 4 or rows != wanted):
        raise fatal(
            f"Expect same number of padded heads in mask as in Q, got {rows} and {wanted}",
            hint="attn_mask of shape [1, B, H, S] in ttnn.TILE_LAYOUT",
        )
    if mask.shape[-2] != q.shape[2]:
        raise fatal(
            f"Expect same number of heads in mask as in Q, got {mask.shape[-2]} and {q.shape[2]}",
            hint=f"a mask of {q.shape[2]} rows: one per head",
        )
    if not paged and mask.padded_shape[-1] != k.padded_shape[2]:
        raise fatal(
            f"Expect same sequence length in mask as in K, got {mask.padded_shape[-1]} and {k.padded_shape[2]}",
            hint=f"a mask of {k.shape[2]} columns: the whole cache",
        )
    if paged and getattr(program_config, "k_chunk_size", None) == 0:
        raise fatal(
            "Must provide k_chunk_size if using attention mask!", hint="SDPAProgramConfig(k_chunk_size=32, …)"
        )


def check_decode_program(users: int, program_config: object, length: int | None) -> None:
    """Raises RuntimeError for a program configuration whose chunks or cores decoding does not take; `length`: of a cache without pages."""
    size = getattr(program_config, "k_chunk_size", None)
    if size and size & (size - 1):
        raise fatal(
            f"User provided k_chunk_size must be power of 2, got: {size}", hint="k_chunk_size=32, 64, 128, …"
        )
    if size and length is not None and length % size:
        raise fatal(
            f"K sequence length must be multiple of chunk size, got: {length} and {size}",
            hint=f"k_chunk_size={length & -length}, or 0 for one that fits",
        )
    grid = getattr(program_config, "compute_with_storage_grid_size", None)
    if grid is None:
        return
    cores = grid[0] * grid[1] if isinstance(grid, tuple) else grid.x * grid.y
    if cores < users:
        raise fatal(
            f"Cores available ({cores}) must be >= batch size ({users})",
            hint="compute_with_storage_grid_size=device.compute_with_storage_grid_size()",
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
