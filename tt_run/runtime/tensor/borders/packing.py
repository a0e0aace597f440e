"""Tiles of block floats as bytes: 64 exponents of a tile, one for each row of a face of 16x16, then its elements face by face.

An element of bfloat8_b is a byte, its sign on top; one of bfloat4_b is half a byte, the first of a pair below. Source: reference
library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.blockfloat import BLOCK, decode, encode
from tt_run.runtime.values.shards import Shards

_TILE, _FACE = 32, 16
Float32 = npt.NDArray[np.float32]


def _faces(values: Float32, height: int, width: int) -> Float32:
    """Rows of 16 elements in the order of tiles, their faces, and the rows of those."""
    rows, columns = values.shape
    tiles = values.reshape(rows // height, height // _FACE, _FACE, columns // width, width // _FACE, _FACE)
    return np.ascontiguousarray(tiles.transpose(0, 3, 1, 4, 2, 5)).reshape(-1, BLOCK)


def _packed(data: Float32, H: int, W: int, tile_h: int, tile_w: int, bits: int) -> bytes:
    if H % tile_h or W % tile_w or tile_h % _FACE or tile_w % _FACE:
        raise fatal(
            f"{H}x{W} elements are not whole tiles of {tile_h}x{tile_w}, in faces of {_FACE}x{_FACE}",
            hint=f"pad both to whole tiles: {-(-H // tile_h) * tile_h}x{-(-W // tile_w) * tile_w}"
            if tile_h % _FACE == 0 == tile_w % _FACE
            else f"tile_h and tile_w are multiples of {_FACE}",
        )
    blocks = _faces(np.asarray(data, np.float32).reshape(H, W), tile_h, tile_w)
    sign, magnitude, shared = encode(blocks.view(np.uint32), bits)
    per_tile = tile_h * tile_w // BLOCK
    exponents = shared.astype(np.uint8).reshape(-1, per_tile)
    elements = ((sign << np.uint32(bits)) | magnitude).astype(np.uint8).reshape(len(exponents), -1)
    if bits == 3:
        elements = elements[:, 0::2] | elements[:, 1::2] << 4
    return np.concatenate([exponents, elements], axis=1).tobytes()


def tilize_and_pack_bfp8_b(data: Float32, H: int, W: int, tile_h: int = _TILE, tile_w: int = _TILE) -> bytes:
    """A matrix of float32 as tiles of bfloat8_b. Raises RuntimeError for a part of a tile."""
    return _packed(data, H, W, tile_h, tile_w, 7)


def tilize_and_pack_bfp4_b(data: Float32, H: int, W: int, tile_h: int = _TILE, tile_w: int = _TILE) -> bytes:
    """A matrix of float32 as tiles of bfloat4_b. Raises RuntimeError for a part of a tile."""
    return _packed(data, H, W, tile_h, tile_w, 3)


def tensor_from_bfp8_bytes(raw_bytes: bytes, shape: Sequence[int]) -> Tensor:
    """Tiles of bfloat8_b as a host tensor of a shape, not rounded again. Raises RuntimeError for another number of bytes."""
    dims = tuple(shape)
    rows, columns = int(np.prod(dims[:-1])), dims[-1]
    tiles = rows * columns // _TILE**2
    size = _TILE**2 + _TILE**2 // BLOCK
    if rows % _TILE or columns % _TILE or len(raw_bytes) != tiles * size:
        raise fatal(
            f"{len(raw_bytes)} bytes are not the {tiles * size} of the tiles of shape {list(dims)}",
            hint=f"give {tiles * size} bytes, and rows and columns of whole tiles",
        )
    words = np.frombuffer(raw_bytes, np.uint8).reshape(tiles, size).astype(np.uint32)
    shared = words[:, : _TILE**2 // BLOCK].reshape(-1, 1)
    elements = words[:, _TILE**2 // BLOCK :].reshape(-1, BLOCK)
    blocks = decode(elements >> np.uint32(7), elements & np.uint32(127), shared, 7)
    grid = blocks.reshape(rows // _TILE, columns // _TILE, 2, 2, _FACE, _FACE).transpose(0, 2, 4, 1, 3, 5)
    values = np.ascontiguousarray(grid).reshape(dims)
    return Tensor.of(Shards.replicated(values, 1), dtype=DataType.BFLOAT8_B, layout=Layout.TILE)
