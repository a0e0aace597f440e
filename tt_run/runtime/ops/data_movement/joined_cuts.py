"""Which operands of a join stay on the cores that they are cut over, and what it refuses then. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    DataType,
    Layout,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement.joined_layouts import check_types, ends_with_a_tile
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, element_size

_ALONG = {HEIGHT_SHARDED: (-1,), WIDTH_SHARDED: (-2,), BLOCK_SHARDED: (-1, -2)}
"""Dimensions along which pieces of a cut are joined where they lie; along others the tensors leave their cores first."""
_REFUSED = {
    -1: "Only support width concat on height-sharded or block-sharded tensors.",
    -2: "Only support height concat on width-sharded or block-sharded tensors.",
}
_LAYOUTS = "ttnn.to_layout(tensor, …) for those that have another"
_LIKE_FIRST = "ttnn.to_memory_config(tensor, first.memory_config())"


def stay_on_cores(parts: Sequence[Tensor], axis: int, asked: MemoryConfig | None) -> bool:
    """True where the tensors are joined on their cores; where they are not, those on cores count as any others.

    Raises RuntimeError for tensors of which some leave their cores and others do not, and for cuts that do not go together.
    """
    first, end = parts[0], axis - len(parts[0].shape)
    staying = [part.is_sharded() and not _leaves(part, end) for part in parts]
    if not any(staying):
        return False
    cut, cores = first.memory_config().memory_layout, asked is not None and asked.is_sharded()
    if not all(staying):
        elsewhere = asked is not None and cores and asked.memory_layout is not HEIGHT_SHARDED
        if staying[0] and first.layout is Layout.ROW_MAJOR and (cut is not HEIGHT_SHARDED or elsewhere):
            return False
        if staying[0]:
            check_layouts(parts)
            check_types(parts)
        raise fatal(
            "All tensors must be sharded or all must be interleaved",
            hint="ttnn.to_memory_config(tensor, ttnn.L1_MEMORY_CONFIG) for those in shards",
        )
    if not cores and end not in _ALONG.get(cut, ()):
        return False
    if not cores and cut is not BLOCK_SHARDED:
        _check_pieces(parts, cut)
    check_layouts(parts)
    check_types(parts)
    _check_alike(parts)
    if asked is not None and cores:
        if asked.memory_layout is not cut:
            raise fatal("Sharded output and inputs must have the same memory layout.", hint=_LIKE_FIRST)
        if end not in _ALONG.get(cut, (end,)):
            raise fatal(
                _REFUSED.get(end, "Only width or height concat on sharded tensors"),
                hint="leave memory_config out, which joins them in DRAM",
            )
    return True


def check_layouts(parts: Sequence[Tensor]) -> None:
    """Raises RuntimeError for tensors of several layouts."""
    if any(part.layout is not parts[0].layout for part in parts):
        raise fatal("All Tensors should have same layouts.", hint=_LAYOUTS)


def _leaves(part: Tensor, end: int) -> bool:
    """Tiles with padding are joined as rows, for which they leave other cuts than by rows."""
    return (
        part.layout is Layout.TILE
        and end >= -2
        and part.padded_shape != part.shape
        and part.memory_config().memory_layout is not HEIGHT_SHARDED
    )


def _check_pieces(parts: Sequence[Tensor], cut: TensorMemoryLayout) -> None:
    """The pieces of all tensors side by side are as wide, or as high, as what they are joined to."""
    side, word = (1, "width") if cut is HEIGHT_SHARDED else (0, "height")
    specs = [part.memory_config().shard_spec for part in parts]
    joined = sum(spec.shape[side] for spec in specs if spec is not None)
    whole = sum(part.padded_shape[-1] if side else math.prod(part.padded_shape[:-1]) for part in parts)
    if parts[0].layout is Layout.ROW_MAJOR and cut is HEIGHT_SHARDED:
        whole = -(-whole // joined) * joined
    if None not in specs and joined != whole:
        raise fatal(
            f"Shard {word} {joined} must match physical {word} {whole} for {cut.name.split('_')[0].lower()} sharded",
            hint=_LIKE_FIRST,
        )


def _check_alike(parts: Sequence[Tensor]) -> None:
    first, *others = (part.memory_config() for part in parts)
    for other in others:
        if first.shard_spec is None or other.shard_spec is None:
            continue
        if other.shard_spec.grid != first.shard_spec.grid:
            raise fatal("Sharded tensors must have the same grid.", hint=_LIKE_FIRST)
        if other.memory_layout is not first.memory_layout:
            raise fatal("Sharded tensors must have the same memory layout.", hint=_LIKE_FIRST)


_NARROWEST_GROUP = 16


def check_groups(parts: Sequence[Tensor], axis: int, groups: int) -> None:
    """Raises RuntimeError for tensors that do not come apart into so many groups, or on cores into groups of too few columns of tiles."""
    if groups == 1:
        return
    for place, part in enumerate(parts):
        length = part.shape[axis]
        if length % groups:
            raise fatal(
                f"Input tensor {place} columns must be evenly divisible by groups (W={length}, groups={groups})",
                hint=f"groups that {length} is a multiple of",
            )
        if part.is_sharded() and part.layout is Layout.TILE and length // groups < _NARROWEST_GROUP:
            raise fatal(
                f"Group size must be at least {_NARROWEST_GROUP} for input{place} (was {length // groups})",
                hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT) of all, or fewer groups",
            )


_READ_AT_ONCE, _WRITTEN_AT_ONCE = 16, 32
"""Bytes that L1 and DRAM have their rows in multiples of."""


def check_rows(parts: Sequence[Tensor], axis: int, asked: MemoryConfig | None) -> None:
    """Raises RuntimeError for rows on cores, joined side by side into banks of memory, that these do not hold at once or one after the other.

    Tiles with padding along the dimension are joined as rows: blocks of one matrix alone.
    """
    first = parts[0]
    tiled = first.layout is Layout.TILE
    if asked is not None and asked.is_sharded():
        return
    if not all(part.is_sharded() and part.layout is first.layout for part in parts):
        return
    cut = first.memory_config().memory_layout
    if tiled and (cut not in _ALONG or all(ends_with_a_tile(part, axis) for part in parts)):
        return
    if tiled and cut is BLOCK_SHARDED and any(math.prod(part.shape[:-2]) > 1 for part in parts):
        raise fatal(
            "Can only write unbatched output for BLOCK_SHARDED -> BLOCK_SHARDED",
            hint="ttnn.sharded_to_interleaved(tensor) of all",
        )
    if axis != len(first.shape) - 1:
        return
    size = element_size(DataType.BFLOAT16 if first.dtype in BLOCK_FLOATS else first.dtype)
    if cut is BLOCK_SHARDED:
        _check_starts([part.shape[-1] for part in parts], size)
        return
    for place, part in enumerate(parts):
        held, kept = part.shape[-1] * size, part.padded_shape[-1] * size
        if tiled and cut is HEIGHT_SHARDED:
            kept = held
        if kept % _READ_AT_ONCE or not held % _WRITTEN_AT_ONCE:
            continue
        step = _WRITTEN_AT_ONCE // size
        hint = f"ttnn.sharded_to_interleaved(tensor) of all, or rows of a multiple of {step} elements"
        memory = part.memory_config()
        spec = memory.shard_spec
        if cut is HEIGHT_SHARDED and memory.created_with_nd_shard_spec:
            continue
        if cut is not HEIGHT_SHARDED or spec is None:
            raise fatal(
                "Current concat implementation requires aligned last dim when concatting on last dim",
                hint=hint,
            )
        rows, entry = spec.shape[0], -(-held // _WRITTEN_AT_ONCE) * _WRITTEN_AT_ONCE
        raise fatal(
            f"DFB 's2s_rm_input_{place}' (entry_size {entry} * num_entries {rows} = {entry * rows} bytes) is larger than the per-bank allocation "
            f"of its borrowed TensorParameter 'input_{place}' ({held * rows} bytes).",
            hint=hint,
        )


def _check_starts(widths: Sequence[int], size: int) -> None:
    """Raises RuntimeError for rows of which one begins where a core does not write."""
    start = 0
    for place, width in enumerate(widths[:-1], 1):
        start += width
        if start * size % _READ_AT_ONCE:
            step = _READ_AT_ONCE // size
            raise fatal(
                f"Width concat: input {place} starts at column {start} ({start * size} bytes), not L1-aligned ({_READ_AT_ONCE} bytes). A ragged "
                "width puts the boundary inside a shard and the NOC cannot write at an unaligned offset. "
                f"Pad each width to a multiple of {step} elements, or concat before sharding.",
                hint=f"ttnn.pad each to a multiple of {step} elements, or ttnn.sharded_to_interleaved(tensor) of all",
            )
