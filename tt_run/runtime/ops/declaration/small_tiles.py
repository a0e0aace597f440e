"""Tiles that are smaller than 32 x 32: products, views and moves have them, other operations refuse them or make whole ones.

Source: reference library 0.81.1, asked for each of them.
"""

from __future__ import annotations

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile
from tt_run.runtime.tensor.tensor import Tensor

_HINT = "ttnn.tilize(ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)) makes tiles of 32 x 32"
_STANDARD = "{} requires standard 32x32 tiles, got "
_WORDS = {
    "interleaved_to_sharded": _STANDARD.format("interleaved_to_sharded"),
    "norm": "LayerNorm TILE input requires tile shape 32x32, got: ",
    "reshard": _STANDARD.format("reshard"),
    "sharded_to_interleaved": _STANDARD.format("sharded_to_interleaved"),
    "slice": "slice does not currently support tiles other than 32x32, got ",
    "spread": "Std/Var TILE input requires tile shape 32x32, got: ",
}


def has_small(tensor: Tensor) -> bool:
    tile = tensor.spec.tile
    return tile is not DEFAULT_TILE and tensor.layout is Layout.TILE and tile.edges != DEFAULT_TILE.edges


def check(name: str, tensor: Tensor) -> None:
    """Raises RuntimeError for small tiles, in the words of an operation that takes whole ones alone."""
    if has_small(tensor):
        raise fatal(_WORDS[name] + _sides(tensor.tile), hint=_HINT)


def check_pair(*tensors: Tensor) -> None:
    """Raises RuntimeError for an operand of an elementwise operation that has small tiles."""
    for letter, tensor in zip("AB", tensors, strict=False):
        if has_small(tensor):
            raise fatal(
                f"Eltwise binary supports only 32x32 tiles, but input tensor {letter} has a {_sides(tensor.tile)} tile",
                hint=_HINT,
            )


def _sides(tile: Tile) -> str:
    return "x".join(map(str, tile.edges))
