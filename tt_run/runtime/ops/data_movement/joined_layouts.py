"""Operands of a join in one layout and of one type, as its kernel takes them. Source: behaviour of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert

ONLY_TILES = "Only TILE layout is supported for BFLOAT8_B dtype!"
AS_BFLOAT16 = "ttnn.typecast(tensor, ttnn.bfloat16)"


def in_one_layout(parts: Sequence[Tensor], axis: int) -> list[Tensor]:
    """The tensors in one layout: that of the first, or rows where one in rows fills no whole tiles.

    Tiles that have padding along the axis are joined as rows and become tiles again, which leaves block floats as BFLOAT16, and so does
    whatever leaves its tiles. Raises RuntimeError for tensors of several types, for rows beside tiles
    with padding along the axis, and for BFLOAT4_B that would leave its tiles.
    """
    first = parts[0]
    mixed = any(part.layout is not first.layout for part in parts)
    if not all(ends_with_a_tile(part, axis) for part in parts):
        # Along the last dimension tiles of other types are turned over, not taken apart.
        if not mixed and axis == len(first.shape) - 1 > 0 and first.dtype not in BLOCK_FLOATS:
            check_types(parts)
        formed = [_out_of_tiles(_tiles(part)) for part in parts]
    elif mixed:
        rows = first.layout is Layout.ROW_MAJOR or not all(map(_fills_tiles, parts))
        layout = Layout.ROW_MAJOR if rows else Layout.TILE
        formed = [_in_layout(part, layout) for part in parts]
    else:
        formed = list(parts)
    check_types(formed)
    return formed


def ends_with_a_tile(part: Tensor, axis: int) -> bool:
    """False of tiles with padding along the axis."""
    return part.layout is not Layout.TILE or part.padded_shape[axis] == part.shape[axis]


def _fills_tiles(part: Tensor) -> bool:
    """True of tiles, and of rows that would be tiles without padding."""
    if part.layout is Layout.TILE:
        return True
    held = part.shape[-2:]
    return len(held) == 2 and not any(n % edge for n, edge in zip(held, part.tile.edges, strict=True))


def _tiles(part: Tensor) -> Tensor:
    if part.layout is not Layout.TILE:
        raise fatal(
            "ttnn.concat: expected all input tensors to be in tile layout",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)",
        )
    return part


def _in_layout(part: Tensor, layout: Layout) -> Tensor:
    if part.layout is layout:
        return part
    part = part if layout is Layout.TILE else _out_of_tiles(part)
    return part.derive(part.shards, layout=layout)


def _out_of_tiles(part: Tensor) -> Tensor:
    """Block floats as BFLOAT16, which they are outside of their tiles; others as they are."""
    if part.dtype is DataType.BFLOAT4_B:
        raise fatal(ONLY_TILES, hint=AS_BFLOAT16)
    return as_bfloat16(part) if part.dtype in BLOCK_FLOATS else part


def as_bfloat16(tensor: Tensor) -> Tensor:
    """The tensor's values as BFLOAT16."""
    shards = tensor.shards.map(lambda stack: convert(stack, DataType.BFLOAT16))
    return tensor.derive(shards, dtype=DataType.BFLOAT16)


def check_types(parts: Sequence[Tensor]) -> None:
    """Raises RuntimeError for tensors of several types."""
    types = [part.dtype for part in parts]
    if any(dtype is not types[0] for dtype in types):
        raise fatal(
            "All Tensors should have same dtypes.",
            ", ".join(str(dtype) for dtype in types),
            hint=as_type("tensor", types[0].name.lower()),
        )
