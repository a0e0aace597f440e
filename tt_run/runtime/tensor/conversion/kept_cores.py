"""Cores that a tensor keeps in another layout, whatever cut it is asked to have: a kernel writes each piece where it read it.

Source: memory configurations of results and refusals of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    Layout,
    ShardOrientation,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor

MATRICES = (HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED)
"""How a matrix is cut into pieces."""

_NAMED = "memory_config=ttnn.create_sharded_memory_config(…)"
_MOVED = "ttnn.to_memory_config(tensor, memory_config) before or after"


def place_of_tiles(
    own: MemoryConfig, asked: MemoryConfig | None, kept: Sequence[TensorMemoryLayout] = MATRICES
) -> MemoryConfig | None:
    """Where rows on `own` cores lie as tiles: on them where they are cut as is asked for, in one of the ways that are `kept`; else as asked.

    Raises RuntimeError for shards without cores that are not the tensor's, which are those of the first of these ways.
    """
    if asked is None:
        return None
    stays = own.memory_layout in kept and _alike(own, asked)
    if asked.nameless and not (stays and own.memory_layout is kept[0]):
        raise fatal("bad optional access", hint=_NAMED)
    if not stays:
        return asked
    return MemoryConfig(own.memory_layout, own.buffer_type, own.shard_spec)


def place_of_filled_tiles(own: MemoryConfig, asked: MemoryConfig | None, wider: bool) -> MemoryConfig | None:
    """As `place_of_tiles`, of rows that tiles pad: blocks go where they are asked to, and rows that become `wider` are counted along the cores' rows."""
    place = asked or own
    if (
        wider
        and own.shard_spec is not None
        and own.memory_layout is place.memory_layout is HEIGHT_SHARDED
        and not place.created_with_nd_shard_spec
    ):
        along = ShardSpec(own.shard_spec.grid, list(own.shard_spec.shape), ShardOrientation.ROW_MAJOR)
        return MemoryConfig(HEIGHT_SHARDED, place.buffer_type, along)
    return place_of_tiles(own, asked, (HEIGHT_SHARDED, WIDTH_SHARDED))


def place_of_rows(own: MemoryConfig, asked: MemoryConfig | None) -> MemoryConfig | None:
    """Where tiles on `own` cores lie as rows without padding: None for there, else as asked.

    Raises RuntimeError for what no kernel writes from there, and for pieces of tiles in DRAM.
    """
    if own.shard_spec is None:
        if asked is not None and asked.nameless and own.is_sharded():
            raise _without_cores()
        if asked is not None and asked.is_sharded() and asked.shard_spec is None and not own.is_sharded():
            raise fatal("bad optional access", hint=_NAMED)
        return asked
    if asked is not None and asked.is_sharded():
        _check_asked(own, asked)
    stays = asked is None or asked.memory_layout is own.memory_layout
    if stays and (asked or own).buffer_type is not BufferType.L1:
        word = own.memory_layout.name
        raise fatal(
            f"{word} -> {word} output must be in L1; got buffer_type={cpp((asked or own).buffer_type)}",
            hint="memory_config=ttnn.DRAM_MEMORY_CONFIG, and then ttnn.to_memory_config(tensor, memory_config)",
        )
    if own.buffer_type is not BufferType.L1:
        raise fatal(
            "DFB 'sh_in' borrows memory from TensorParameter 'sh_input', but its TensorSpec is not L1-resident (L1 is required). Both L1 and "
            "L1_SMALL are accepted.",
            hint="ttnn.to_memory_config(tensor, ttnn.L1_MEMORY_CONFIG) before",
        )
    return None if stays else asked


def cut_of_rows(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """How the cores of tiles are cut for the rows of `shape` that they become. None for a tensor that does not lie on cores as a matrix.

    A core that had several whole matrices has as many of them without their padding; else rows, or blocks, are cut anew as evenly as tiles
    allow. Pieces of columns have all rows.
    """
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if spec is None or tensor.device() is None:
        return None
    filled = padded_shape(tuple(shape), Layout.TILE, tensor.tile).dims
    if not math.prod(filled):
        return sharding.of_matrix(memory)
    even = sharding.cut_in_two(
        memory.memory_layout, filled, tensor.tile.edges, memory.buffer_type, spec.grid, spec.orientation
    ).shard_spec
    assert even is not None
    (high, wide), (*outer, columns) = even.shape, shape
    if memory.memory_layout is WIDTH_SHARDED:
        high = math.prod(outer)
    elif memory.memory_layout is HEIGHT_SHARDED:
        matrices, left = divmod(spec.shape[0], (1, *tensor.padded_shape)[-2])
        high = matrices * (1, *shape)[-2] if matrices > 1 and not left else high
        wide = columns
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(even.grid, [high, wide], even.orientation)
    )


def _check_asked(own: MemoryConfig, asked: MemoryConfig) -> None:
    """Raises RuntimeError for another cut than a kernel makes: of a matrix of rows none, of columns and blocks each other's of the same width."""
    if asked.nameless and asked.memory_layout is not own.memory_layout:
        raise _without_cores()
    if asked.created_with_nd_shard_spec:
        raise fatal(
            "Output memory config layout must not be ND_SHARDED when input has a legacy 2d shard_spec",
            hint=_MOVED,
        )
    if asked.memory_layout is own.memory_layout:
        return
    before, after = cpp(own.memory_layout), cpp(asked.memory_layout)
    if own.memory_layout is HEIGHT_SHARDED:
        raise fatal(
            f"Output memory config layout must be HEIGHT_SHARDED when output is sharded but got {after}",
            hint=_MOVED,
        )
    if asked.memory_layout is HEIGHT_SHARDED:
        columns = own.memory_layout is WIDTH_SHARDED
        raise fatal(
            f"Output memory config layout ({after}) must match input tensor memory layout ({before}) (or be BLOCK_SHARDED with a matching "
            "column shard width)"
            if columns
            else f"Output memory config layout ({after}) must be BLOCK_SHARDED (or WIDTH_SHARDED with a matching column shard width) when "
            "input is BLOCK_SHARDED and output is sharded",
            hint=_MOVED,
        )
    assert own.shard_spec is not None and asked.shard_spec is not None
    widths = own.shard_spec.shape[1], asked.shard_spec.shape[1]
    if widths[0] != widths[1]:
        raise fatal(
            f"{own.memory_layout.name} -> {asked.memory_layout.name} requires matching column shard width; got input={widths[0]} "
            f"output={widths[1]}",
            hint=f"pieces of {widths[0]} columns",
        )


def _without_cores() -> RuntimeError:
    return fatal("MemoryConfig must have Shard Spec specified for sharded memory layout", hint=_NAMED)


def _alike(own: MemoryConfig, asked: MemoryConfig) -> bool:
    """Whether pieces of a matrix in L1 are asked for that are cut as those are."""
    return (
        own.shard_spec is not None
        and not asked.created_with_nd_shard_spec
        and own.memory_layout is asked.memory_layout
        and own.buffer_type is asked.buffer_type is BufferType.L1
    )
