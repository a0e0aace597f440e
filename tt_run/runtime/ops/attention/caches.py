"""Writing keys and values into caches, in place; counters of positions.

A cache tensor keeps its buffer: what captured a trace or holds the tensor sees the new content. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, cpp
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.mesh import MeshCoordinate
from tt_run.runtime.ops.attention.cache_blocks import Blocks, blocks_of, check_ring
from tt_run.runtime.ops.attention.cache_checks import (
    check_apart,
    check_cut,
    check_fill,
    check_paged_fill,
    check_rows,
    check_tokens,
)
from tt_run.runtime.ops.attention.operand_shapes import refuse, without_four_dims
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import ints, on_device
from tt_run.runtime.ops.goldens import cache_goldens
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.values.dtypes import convert, is_float
from tt_run.runtime.values.shards import Shards, combine

Array = npt.NDArray[Any]


def _rewrite(
    cache: Tensor,
    operands: Sequence[Tensor],
    write: Callable[..., None],
    mesh_coords: Set[MeshCoordinate] | None = None,
) -> Tensor:
    """`write(copy of a device's cache, its shards of the operands…)` on every device, or on those at mesh_coords."""
    on_device(cache, *operands, kind="update cache")

    def compute(stack: Array, *others: Array) -> Array:
        result = stack.copy()
        for row, *parts in zip(result, *others, strict=True):
            write(row, *parts)
        # Block floats: the new rows share exponents among themselves.
        return convert(result, cache.dtype) if is_float(cache.dtype) else result

    before = cache.shards
    after = combine(compute, before, *(t.shards for t in operands))
    if mesh_coords is not None:
        wanted = set(mesh_coords)
        chosen = [
            n if c in wanted else o
            for c, n, o in zip(cache.site.local_coords, after.each(), before.each(), strict=True)
        ]
        after = Shards.from_each(chosen, like=before.data)
    cache.overwrite(after)
    return cache


def _fill(cache: Tensor, input: Tensor, user: int, start: int) -> Tensor:
    refuse(without_four_dims(cache, input))
    check_fill(cache, input, user, start)
    check_rows(cache, input)
    heads, depth, stop = cache.shape[1], cache.shape[3], start + input.shape[-2]

    def write(row: Array, new: Array) -> None:
        row[user, :, start:stop] = new.reshape(heads, -1, depth)

    return _rewrite(cache, (input,), write)


@operation("ttnn.fill_cache", family=families.CACHE, golden=cache_goldens.FILL)
def fill_cache(cache_tensor: Tensor, input_tensor: Tensor, batch_idx: int, *, update_idx: int = 0) -> Tensor:
    """cache[batch_idx, :, update_idx : update_idx + S] = input [1, H, S, D], in place; returns the cache [B, H, length, D]."""
    return _fill(cache_tensor, input_tensor, batch_idx, update_idx)


@operation("ttnn.kv_cache.fill_cache_for_user_", family=families.CACHE, golden=cache_goldens.FILL)
def fill_cache_for_user_(cache: Tensor, input: Tensor, batch_index: int, *, update_idx: int = 0) -> Tensor:
    """cache[batch_index, :, update_idx : update_idx + S] = input [1, H, S, D], in place; returns the cache [B, H, length, D]."""
    return _fill(cache, input, batch_index, update_idx)


def _update(cache: Tensor, input: Tensor, position: int, offset: int) -> Tensor:
    refuse(without_four_dims(cache, input))
    users, heads, length, depth = cache.shape
    check_cut(input)
    batch, given, rows = input.shape[0], input.shape[1], whole_tiles(input.shape[2])
    for fits, words in (
        (
            input.shape[-1] == depth,
            f"Input tensor width ({input.shape[-1]}) must equal cache tensor width ({depth})",
        ),
        (batch == 1, f"Input tensor batch size must be 1 but got {batch}"),
        (given == heads, f"Input tensor height ({given}) must equal cache tensor height ({heads})"),
        (rows >= users, f"Cache tensor batch size ({users}) must be <= input tensor height ({rows})"),
        (
            rows == whole_tiles(users),
            f"Input batch height ({rows}) must equal cache batch ({users}) rounded up to a tile",
        ),
        (
            input.shape[-2] >= offset + users,
            f"update_cache: input {input.shape} does not fit the cache {cache.shape} (expected [1, H, B, D])",
        ),
    ):
        if not fits:
            raise fatal(
                words,
                hint=f"an input of shape [1, {heads}, {users}, {depth}]; ttnn.permute puts the users third",
            )
    if not 0 <= position < length:
        raise fatal(
            f"update_cache: position {position} is outside of the cache's {length}",
            hint=f"update_idx is 0 to {length - 1}",
        )

    def write(row: Array, new: Array) -> None:
        row[:, :, position] = new.reshape(heads, -1, depth)[:, offset : offset + users].transpose(1, 0, 2)

    return _rewrite(cache, (input,), write)


@operation("ttnn.update_cache", family=families.CACHE, golden=cache_goldens.UPDATE)
def update_cache(
    cache: Tensor,
    input: Tensor,
    update_idx: int,
    *,
    batch_offset: int = 0,
    compute_kernel_config: object = None,
) -> Tensor:
    """cache[b, h, update_idx] = input[0, h, batch_offset + b] for every user b, in place; returns the cache [B, H, length, D]."""
    return _update(cache, input, update_idx, batch_offset)


@operation("ttnn.kv_cache.update_cache_for_token_", family=families.CACHE, golden=cache_goldens.UPDATE)
def update_cache_for_token_(
    cache: Tensor,
    input: Tensor,
    update_index: int,
    batch_offset: int = 0,
    compute_kernel_config: object = None,
) -> Tensor:
    """cache[b, h, update_index] = input[0, h, batch_offset + b] for every user b, in place; returns the cache."""
    return _update(cache, input, update_index, batch_offset)


@operation("ttnn.experimental.paged_update_cache", family=families.CACHE)
def paged_update_cache(
    cache_tensor: Tensor,
    input_tensor: Tensor,
    *,
    update_idxs: Sequence[int] = (),
    update_idxs_tensor: Tensor | None = None,
    share_cache: bool | None = None,
    page_table: Tensor | None = None,
    batch_offset: int = 0,
    compute_kernel_config: object = None,
    mesh_coords: Set[MeshCoordinate] | None = None,
    block_size: int | None = None,
    num_kv_heads: int | None = None,
    cache_position_modulo: int | None = None,
) -> Tensor:
    """One token per user into the cache, each at its own position (-1: none), in place: input [1, B, H or more, D].

    The cache is [B, H, length, D], or [blocks, H, block size, D] with a page table [B, blocks per user]; its blocks may be seen with another
    `block_size` and `num_kv_heads`, and as a ring of `cache_position_modulo` positions. Positions [cores, B] and a page table of as many
    copies lie once on each core. Raises RuntimeError when those do not fit.
    """
    if bool(update_idxs) == (update_idxs_tensor is not None):
        raise fatal(
            "paged_update_cache needs one of update_idxs and update_idxs_tensor",
            hint="update_idxs=[…] of one position for each user",
        )
    refuse(without_four_dims(cache_tensor, input_tensor))
    listed = ints(update_idxs)
    check_tokens(
        cache_tensor, input_tensor, listed, update_idxs_tensor, page_table, bool(share_cache), batch_offset
    )
    given = {"positions": update_idxs_tensor, "pages": page_table}
    named = {name: tensor for name, tensor in given.items() if tensor is not None}
    if page_table is None and (block_size or num_kv_heads):
        name = "block_size" if block_size else "num_kv_heads"
        raise fatal(
            f"{name}_override is only supported in paged mode (when page_table is provided)",
            hint=f"give page_table=…, or leave {name}_override out",
        )
    blocks = blocks_of(cache_tensor, input_tensor.shape[-1], num_kv_heads, block_size)
    heads, length, depth = blocks
    check_ring(cache_position_modulo, page_table, length)

    def write(held: Array, new: Array, *others: Array) -> None:
        rest, row = dict(zip(named, others, strict=True)), blocks.seen(held)
        positions = listed or _of_first_core(rest["positions"])
        for user, position in enumerate(positions):
            if position >= 0:
                position %= cache_position_modulo or position + 1
                block, at = _place(rest.get("pages"), user, position, length, bool(share_cache))
                row[block, :, at] = new.reshape(-1, new.shape[-2], depth)[user, :heads]
        _keep(held, row)

    return _rewrite(cache_tensor, (input_tensor, *named.values()), write, mesh_coords)


def _of_first_core(positions: Array) -> list[int]:
    """Positions [B], or [cores, B] where each core has a copy of its own."""
    return [int(p) for p in positions.reshape(-1, positions.shape[-1])[0].astype(np.int32)]


def _keep(held: Array, row: Array) -> None:
    """What was written into the blocks as they were seen, into the cache."""
    if row is not held:
        held[...] = Blocks(*held.shape[1:]).seen(row)


@operation(
    "ttnn.experimental.indexed_fused_update_cache", family=families.CACHE, golden=cache_goldens.indexed_update
)
def indexed_fused_update_cache(
    cache_tensor1: Tensor,
    input_tensor1: Tensor,
    cache_tensor2: Tensor,
    input_tensor2: Tensor,
    physical_update_idxs_tensor: Tensor,
) -> tuple[Tensor, Tensor]:
    """Rows of two inputs [1, H, rows, D] into two caches [pages, H, rows per page, D], each to its row; in place, both are returned.

    physical_update_idxs_tensor [1, rows or more] counts rows over pages; one that is outside of the cache is left out.
    """

    def write(cache: Array, new: Array, places: Array) -> None:
        pages, _, length, _ = cache.shape
        for source, place in enumerate(places.reshape(-1)[: new.shape[2]].astype(np.int64)):
            if 0 <= place < pages * length:
                cache[place // length, :, place % length] = new[0, :, source]

    pairs = ((cache_tensor1, input_tensor1), (cache_tensor2, input_tensor2))
    first, second = (_rewrite(cache, (new, physical_update_idxs_tensor), write) for cache, new in pairs)
    return first, second


def _place(
    pages: Array | None, user: int, position: int, length: int, shared: bool = False
) -> tuple[int, int]:
    """Block (or user) of the cache and the row in it for a user's position."""
    if pages is None:
        if position >= length:
            raise fatal(
                f"position {position} is outside of the cache's {length}",
                hint=f"positions are 0 to {length - 1}",
            )
        return (0 if shared else user), position
    table = pages.reshape(-1, pages.shape[-1])[user]
    if position // length >= len(table):
        raise fatal(
            f"position {position} is outside of the {len(table)} blocks of {length} in the page table",
            hint=f"positions are 0 to {len(table) * length - 1}; a page table with another column has {length} more",
        )
    return int(table[position // length]), position % length


@operation("ttnn.experimental.paged_fill_cache", family=families.CACHE)
def paged_fill_cache(
    cache_tensor: Tensor,
    input_tensor: Tensor,
    page_table: Tensor,
    *,
    batch_idx_tensor: Tensor | None = None,
    batch_idx: int = 0,
    compute_kernel_config: object = None,
    mesh_coords: Set[MeshCoordinate] | None = None,
    block_size: int | None = None,
    cache_position_modulo: int | None = None,
    valid_seq_len_tensor: Tensor | None = None,
) -> Tensor:
    """A user's first S positions into its blocks, in place: input [1, H, S, D], cache [blocks, H, block size, D].

    With a batch_idx_tensor of as many users the input is [B, H, S, D]. The blocks may be seen with another `block_size`, and as a ring, of which the last `cache_position_modulo` positions stay. Raises
    RuntimeError when those do not fit.
    """
    refuse(without_four_dims(cache_tensor, input_tensor))
    if input_tensor.is_sharded():
        raise fatal(
            "Expect input_tensor to have memory layout INTERLEAVED",
            hint="ttnn.sharded_to_interleaved(input_tensor)",
        )
    if input_tensor.dtype is not cache_tensor.dtype:
        raise fatal(
            f"Input tensor dtype ({cpp(input_tensor.dtype)}) must match cache tensor dtype ({cpp(cache_tensor.dtype)}) for paged_fill_cache",
            hint=f"ttnn.typecast(input_tensor, ttnn.{cache_tensor.dtype.name.lower()})",
        )
    given = {"user": batch_idx_tensor, "length": valid_seq_len_tensor}
    named = {name: tensor for name, tensor in given.items() if tensor is not None}
    shape = input_tensor.shape
    blocks = blocks_of(cache_tensor, shape[-1], shape[-3] if block_size else None, block_size)
    heads, size, depth = blocks
    if not block_size and (shape[-3], shape[-1]) != (heads, depth):
        elements, seen = heads * size * depth, shape[-3] * size * shape[-1]
        raise fatal(
            f"paged_fill_cache geometry mismatch: cache has {elements} elems/block (kv_heads={heads}, block_size={size}, head_dim={depth}) "
            f"but input view is {seen} (kv_heads={shape[-3]}, block_size={size}, head_dim={shape[-1]}).",
            hint=f"an input of shape [1, {heads}, S, {depth}], or block_size=… that holds as much",
        )
    check_ring(cache_position_modulo, page_table, size)
    check_paged_fill(input_tensor, page_table, named, batch_idx, size, cache_position_modulo)

    def write(held: Array, new: Array, pages: Array, *others: Array) -> None:
        rest = dict(zip(named, others, strict=True))
        row, stop = blocks.seen(held), int(rest["length"].ravel()[0]) if "length" in rest else None
        users = rest["user"].ravel().tolist() if "user" in rest else [batch_idx]
        for user, rows in zip(users, new, strict=True):
            values = rows.reshape(heads, -1, depth)[:, :stop]
            for start in range(0, values.shape[1], size):
                position = start % (cache_position_modulo or start + 1)
                block, _ = _place(pages, user, position, size)
                piece = values[:, start : start + size]
                row[block, :, : piece.shape[1]] = piece
        _keep(held, row)

    return _rewrite(cache_tensor, (input_tensor, page_table, *named.values()), write, mesh_coords)


@operation("ttnn.plus_one", family=families.MOVEMENT, golden=cache_goldens.plus_one)
def plus_one(
    input_tensor: Tensor, sub_core_grids: CoreRangeSet | None = None, skip_negative_entries: bool = False
) -> Tensor:
    """One added to every element of an integer tensor, in place; negative entries stay if asked for. Returns the tensor."""
    on_device(input_tensor, kind="plus one")
    if input_tensor.dtype not in (DataType.INT32, DataType.UINT32):
        raise fatal("Only INT32 and UINT32 is supported for inputs!", hint=as_type("tensor", "int32"))

    def counted(stack: Array) -> Array:
        signed = stack.view(np.int32) if stack.dtype == np.uint32 else stack
        return (
            np.where(signed < 0, stack, stack + stack.dtype.type(1))
            if skip_negative_entries
            else stack + stack.dtype.type(1)
        )

    input_tensor.overwrite(input_tensor.shards.map(counted))
    return input_tensor


@operation("ttnn.experimental.paged_fused_update_cache", family=families.CACHE)
def paged_fused_update_cache(
    cache_tensor1: Tensor,
    input_tensor1: Tensor,
    cache_tensor2: Tensor,
    input_tensor2: Tensor,
    *,
    update_idxs: Sequence[int] = (),
    update_idxs_tensor: Tensor | None = None,
    share_cache: bool | None = None,
    page_table: Tensor | None = None,
    batch_offset: int = 0,
    compute_kernel_config: object = None,
    mesh_coords: Set[MeshCoordinate] | None = None,
) -> tuple[Tensor, Tensor]:
    """`paged_update_cache` of keys and values at once, in place; returns both caches."""
    words: dict[str, Any] = {
        "update_idxs": update_idxs,
        "update_idxs_tensor": update_idxs_tensor,
        "share_cache": share_cache,
        "page_table": page_table,
        "batch_offset": batch_offset,
        "mesh_coords": mesh_coords,
    }
    check_apart(input_tensor1, input_tensor2)
    pairs = ((cache_tensor1, input_tensor1), (cache_tensor2, input_tensor2))
    first, second = (paged_update_cache.compute(cache, new, **words) for cache, new in pairs)
    return first, second
