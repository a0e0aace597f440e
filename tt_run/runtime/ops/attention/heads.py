"""Splitting fused projections into attention heads; `joined_heads` puts them together again.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.attention import head_counts
from tt_run.runtime.ops.attention.head_counts import four_dims
from tt_run.runtime.ops.data_movement.movement import in_c_order
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.placement.head_shards import of_heads, of_split
from tt_run.runtime.ops.placement.sharded_results import in_dram, on_first_cores
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
Arrange = Callable[[Array, int, bool], Array]
"""Shapes the columns of so many heads, which are keys or not."""
Place = MemoryConfig | Callable[[int, int], MemoryConfig | None] | None
"""Where results lie, or what says it of one of so many rows and columns."""
Three = tuple[Tensor, Tensor, Tensor]


def split_columns(
    x: Tensor,
    kv: Tensor | None,
    heads: int,
    kv_heads: int,
    arrange: Arrange,
    memory_config: Place,
    outputs: Sequence[Tensor | None] | None = None,
    tied: bool = False,
    groups: int = 1,
) -> Three:
    """Query, key and value out of [q | k | v], or out of q and [k | v]. `arrange(columns, heads, is_key)` shapes one of them.

    With `groups` the columns are [q | k | v] of the first group of heads, then of the second, and so on. A function says where a result of
    so many rows and columns lies, instead of the place itself.
    """
    operands = (x,) if kv is None else (x, kv)
    on_device(*operands, kind="create heads")
    columns = heads if kv is not None else heads + (1 if tied else 2) * kv_heads
    width = x.shape[-1]
    if width % columns:
        raise fatal(
            f"Unsupported input shape = {x.shape}: the width {width} is not that of {heads} query heads and {kv_heads} key and value heads",
            hint=f"{columns} heads in all: a width such as {max(width // columns, 1) * columns}, or other numbers of heads",
        )
    depth = width // columns
    rest, start = (x, heads * depth) if kv is None else (kv, 0)
    if rest.shape[-1] - start != (1 if tied else 2) * kv_heads * depth:
        raise fatal(
            f"key and value need {2 * kv_heads * depth} columns, got {rest.shape[-1] - start}",
            hint=f"num_kv_heads is that of the tensor's columns: {(1 if tied else 2) * kv_heads * depth} of them",
        )
    stop = start + kv_heads * depth
    cuts = [(x, slice(0, heads * depth), heads, False), (rest, slice(start, stop), kv_heads, True)]
    cuts.append((rest, slice(start, stop) if tied else slice(stop, None), kv_heads, False))
    places: Sequence[Tensor | None] = outputs or (None, None, None)
    made = []
    for (source, cut, count, is_key), place in zip(cuts, places, strict=True):
        if not count:  # a result without heads has their width nevertheless
            source, cut = x, slice(0, depth)

        def shaped(s: Array, c: slice = cut, n: int = count, key: bool = is_key) -> Array:
            arranged = arrange(_of_groups(s, c, groups), n or 1, key)
            return in_c_order(arranged if n else arranged[:, :, :0], x.dtype)

        shards = source.shards.map(shaped)
        *rows, deep = shards.shape
        if callable(memory_config):
            at: MemoryConfig | None = memory_config(math.prod(rows), deep)
        else:
            at = of_split(x, memory_config, math.prod(rows), deep)
        made.append(settle(operands, shards, x.dtype, memory_config=at, output_tensor=place))
    return made[0], made[1], made[2]


def _of_groups(stack: Array, cut: slice, groups: int) -> Array:
    """The columns of queries, keys or values, which `cut` says as if all queries came first."""
    if groups == 1:
        return stack[..., cut]
    width = stack.shape[-1] // groups
    start, stop = (cut.start or 0) // groups, width if cut.stop is None else cut.stop // groups
    pieces = stack.reshape(*stack.shape[:-1], groups, width)[..., start:stop]
    return pieces.reshape(*stack.shape[:-1], groups * (stop - start))


def by_sequence(transpose_key: bool) -> Arrange:
    """(shards, B, …, S, heads * D) -> (shards, B, heads, S, D); keys (…, D, S) if transposed."""

    def arrange(columns: Array, heads: int, is_key: bool) -> Array:
        shards, batch, length, width = len(columns), columns.shape[1], columns.shape[-2], columns.shape[-1]
        split = columns.reshape(shards, batch, length, heads, width // heads)
        return split.transpose(0, 1, 3, 4, 2) if is_key and transpose_key else split.transpose(0, 1, 3, 2, 4)

    return arrange


def in_whole_rows(arrange: Arrange) -> Arrange:
    """`arrange` of as many rows as whole tiles have."""

    def padded(columns: Array, heads: int, is_key: bool) -> Array:
        spare = whole_tiles(columns.shape[-2]) - columns.shape[-2]
        rows = np.pad(columns, (*[(0, 0)] * (columns.ndim - 2), (0, spare), (0, 0))) if spare else columns
        return arrange(rows, heads, is_key)

    return padded


def in_whole_columns(arrange: Arrange) -> Arrange:
    """`arrange` with each head as wide as whole tiles."""

    def padded(columns: Array, heads: int, is_key: bool) -> Array:
        depth = columns.shape[-1] // heads
        spare = whole_tiles(depth) - depth
        if spare:
            split = columns.reshape(*columns.shape[:-1], heads, depth)
            wide = np.pad(split, (*[(0, 0)] * (split.ndim - 1), (0, spare)))
            columns = wide.reshape(*columns.shape[:-1], heads * (depth + spare))
        return arrange(columns, heads, is_key)

    return padded


@operation("ttnn.experimental.nlp_create_qkv_heads", family=families.HEADS)
def nlp_create_qkv_heads(
    input: Tensor,
    input_kv: Tensor | None = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    kv_tied: bool = False,
    memory_config: MemoryConfig | None = None,
    output_tensors: Sequence[Tensor | None] | None = None,
) -> Three:
    """[B, 1, S, q | k | v] -> query [B, H, S, D], key [B, Hkv, D, S] (or [B, Hkv, S, D]), value [B, Hkv, S, D].

    Each core of a tensor that is cut has the queries, keys and values of its own heads, and each head of the results a core of its own.
    """
    head_counts.check_sequences(input)
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    head_counts.check_create(*widths_of(input, input_kv), num_heads, kv_heads, tied=kv_tied)
    arrange = by_sequence(transpose_k_heads)
    if input_kv is None:
        head_counts.check_whole_width(input)
    groups = head_counts.check_cut(
        input, input_kv, num_heads, kv_heads, transpose_k_heads, memory_config, tied=kv_tied
    )
    place: Place = memory_config
    if groups:
        place = partial(of_heads, input, memory_config)
    else:
        arrange = in_whole_columns(arrange)
    return split_columns(
        input, input_kv, num_heads, kv_heads, arrange, place, output_tensors, kv_tied, groups or 1
    )


@operation("ttnn.experimental.nlp_create_qkv_heads_decode", family=families.HEADS)
def nlp_create_qkv_heads_decode(
    input_tensor: Tensor,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    output_tensors: Sequence[Tensor] | None = None,
    overlap_qk_coregrid: bool | None = True,
    batch_offset: Tensor | None = None,
    slice_size: int | None = None,
    memory_config: MemoryConfig | None = None,
) -> Three:
    """[1, 1, B, q | k | v] -> query [1, B, H, D], key and value [1, B, Hkv, D].

    With `slice_size` of that many users, on each device from its `batch_offset` on. Raises RuntimeError when they are not there.
    """
    if (batch_offset is None) != (slice_size is None):
        raise fatal(
            "nlp_create_qkv_heads_decode: batch_offset and slice_size go together", hint="give both, or none"
        )
    if batch_offset is not None and slice_size is not None:
        input_tensor = users_of(input_tensor, batch_offset, slice_size)

    def arrange(columns: Array, heads: int, is_key: bool) -> Array:
        return columns.reshape(len(columns), 1, columns.shape[-2], heads, columns.shape[-1] // heads)

    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    together = bool(overlap_qk_coregrid) or not input_tensor.is_sharded()
    head_counts.check_tokens(input_tensor, num_heads, kv_heads, memory_config, together)
    # Wherever they come from and are asked to be, results lie by user.
    found = split_columns(
        input_tensor, None, num_heads, kv_heads, arrange, DRAM_MEMORY_CONFIG, output_tensors
    )
    if output_tensors is not None:
        return found
    query, key, value = found
    users = query.shape[1]
    return _by_user(query), _by_user(key, 0 if together else users), _by_user(value)


def users_of(tensor: Tensor, offsets: Tensor, count: int) -> Tensor:
    """`count` rows of each device from its own offset on. Raises RuntimeError when they are not there."""
    on_device(tensor, offsets, kind="create heads")

    def chosen(stack: Array, starts: Array) -> Array:
        rows = []
        for row, own in zip(stack, starts, strict=True):
            start = int(own.reshape(-1)[0])
            if not 0 <= start <= row.shape[-2] - count:
                raise fatal(
                    f"batch_offset: position {start} is outside of what {row.shape[-2]} users have for slice_size {count}",
                    hint=f"batch_offset is 0 to {row.shape[-2] - count}",
                )
            rows.append(row[..., start : start + count, :])
        return np.stack(rows) if rows else stack[..., :count, :].copy()

    shards = combine(chosen, tensor.shards, offsets.shards)
    return settle((tensor,), shards, tensor.dtype, memory_config=in_dram(tensor))


def _by_user(tensor: Tensor, behind: int = 0) -> Tensor:
    """[1, B, H, D] with the heads of each user on a core of its own `behind` so many, whatever memory was asked for."""
    _, users, heads, depth = four_dims(tensor)
    layout, piece = TensorMemoryLayout.HEIGHT_SHARDED, (whole_tiles(heads), depth)
    config = on_first_cores(on_device(tensor), users, layout, piece, behind)
    return tensor if config is None else tensor.derive(tensor.shards, memory_config=config)


def widths_of(x: Tensor, kv: Tensor | None) -> tuple[int, int | None]:
    """Columns of a projection, and of keys and values where they are a tensor of their own."""
    return x.shape[-1], None if kv is None else kv.shape[-1]
