"""The bytes of a shard as the reference keeps them on the host: rows padded to an alignment, tiles face by face, block floats packed.

An alignment says to what the last dimensions are rounded up, the dimensions before them count as rows. A tile's faces stand row by row,
one after the other; in a transposed tile columns take the place of rows, of faces and inside of them. A tile of block floats begins
with its shared exponents, a byte for each row of a face, filled up to 16. Source: reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, Tile
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.block_bytes import packed_blocks, unpacked_blocks
from tt_run.runtime.values.blockfloat import BLOCK
from tt_run.runtime.values.dtypes import stored_dtype

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

_BITS = {DataType.BFLOAT8_B: 7, DataType.BFLOAT4_B: 3}


def alignment_of(spec: TensorSpec) -> tuple[int, ...]:
    """To what the last dimensions of a shard are rounded up: its tile, or the width of its pieces on the cores."""
    if spec.layout is Layout.TILE:
        return spec.tile.edges
    memory = spec.memory_config
    if memory.shard_spec is not None:
        return (memory.shard_spec.shape[-1],)
    return (1,) if memory.nd_shard_spec is None else (memory.nd_shard_spec.shard_shape[-1],)


def packed(data: Array, spec: TensorSpec) -> Bytes:
    """Shards `(n, *shape)` as rows of bytes, one each; padding is zero."""
    count, form = len(data), _Form.of(spec, alignment_of(spec))
    bits = to_wire(data) if spec.dtype is DataType.BFLOAT16 else data
    kept = bits.reshape(count, form.outer, *form.logical)
    if form.logical != (form.rows, form.columns):
        padded = np.zeros((count, form.outer, form.rows, form.columns), bits.dtype)
        padded[:, :, : form.logical[0], : form.logical[1]] = kept
        kept = padded
    matrix = kept.reshape(count, form.outer * form.rows, form.columns)
    if spec.dtype in _BITS:
        return _blocks(matrix, spec, _BITS[spec.dtype])
    ordered = _in_faces(matrix, spec.tile) if spec.layout is Layout.TILE else matrix
    return np.ascontiguousarray(ordered).reshape(count, -1).view(np.uint8)


def packed_size(spec: TensorSpec, alignment: Sequence[int]) -> int:
    """The bytes of one shard. Raises ValueError for an alignment that is not read."""
    form = _Form.of(spec, alignment)
    elements = form.outer * form.rows * form.columns
    if spec.dtype not in _BITS:
        return elements * (2 if spec.dtype is DataType.BFLOAT16 else stored_dtype(spec.dtype).itemsize)
    tile = math.prod(spec.tile.edges)
    return elements // tile * (_exponents(spec.tile) + tile * (_BITS[spec.dtype] + 1) // 8)


def unpacked(raw: Bytes, spec: TensorSpec, alignment: Sequence[int]) -> Array:
    """Rows of bytes, one for each shard, as shards `(n, *shape)`. Raises ValueError for an alignment that is not read."""
    count, form = len(raw), _Form.of(spec, alignment)
    matrix_shape = (count, form.outer * form.rows, form.columns)
    narrow = spec.dtype is DataType.BFLOAT16
    if spec.dtype in _BITS:
        matrix: Array = _values(raw, matrix_shape, spec.tile, _BITS[spec.dtype])
    else:
        ordered = raw.view(np.uint16 if narrow else stored_dtype(spec.dtype))
        tiled = spec.layout is Layout.TILE
        matrix = _from_faces(ordered, matrix_shape, spec.tile) if tiled else ordered.reshape(matrix_shape)
    whole = matrix.reshape(count, form.outer, form.rows, form.columns)
    kept = np.ascontiguousarray(whole[:, :, : form.logical[0], : form.logical[1]])
    return (from_wire(kept) if narrow else kept).reshape(count, *spec.shape)


class _Form:
    """A shard as `outer` matrices of padded rows and columns, of which `logical` are the tensor's."""

    def __init__(self, shape: Sequence[int], alignment: Sequence[int]) -> None:
        dims = (1, 1, *shape)
        self.logical = (dims[-2], dims[-1])
        self.outer = math.prod(dims[:-2])
        high, wide = (1, 1, *alignment)[-2:]
        self.rows, self.columns = (-(-n // to) * to for n, to in zip(self.logical, (high, wide), strict=True))

    @classmethod
    def of(cls, spec: TensorSpec, alignment: Sequence[int]) -> _Form:
        tiled = spec.layout is Layout.TILE
        if not alignment or min(alignment) < 1 or any(n > 1 for n in alignment[:-2]):
            raise ValueError(f"an alignment of {list(alignment)} is not read")
        if tiled and any(n % to for n, to in zip(alignment[-2:], spec.tile.edges, strict=True)):
            raise ValueError(f"an alignment of {list(alignment)} cuts {spec.tile}")
        return cls(tuple(spec.shape), alignment)


def _in_faces(matrix: Array, tile: Tile, unit: int = 1) -> Array:
    """Matrices `(n, rows, columns)` as `(n, rows of faces)` in the order of a tile; `unit` columns of the tensor are one here."""
    count, rows, columns = matrix.shape
    (height, width), (face_height, face_width) = tile.edges, tile.face_shape
    split = matrix.reshape(
        count, rows // height, height // face_height, face_height,
        columns * unit // width, width // face_width, face_width // unit,
    )  # fmt: skip
    # tile row, tile column, face row, face column, row, column
    order = (0, 1, 4, 5, 2, 6, 3) if tile.transpose_tile else (0, 1, 4, 2, 5, 3, 6)
    return np.ascontiguousarray(split.transpose(order)).reshape(count, -1)


def _from_faces(ordered: Array, shape: tuple[int, int, int], tile: Tile, unit: int = 1) -> Array:
    """Undo `_in_faces`."""
    count, rows, columns = shape
    (height, width), (face_height, face_width) = tile.edges, tile.face_shape
    faces = height // face_height, width // face_width
    grid = count, rows // height, columns * unit // width
    if tile.transpose_tile:
        split = ordered.reshape(*grid, *faces[::-1], face_width // unit, face_height).transpose(
            0, 1, 4, 6, 2, 3, 5
        )
    else:
        split = ordered.reshape(*grid, *faces, face_height, face_width // unit).transpose(0, 1, 3, 5, 2, 4, 6)
    return np.ascontiguousarray(split).reshape(shape)


def _exponents(tile: Tile) -> int:
    rows = math.prod(tile.edges) // BLOCK
    return -(-rows // BLOCK) * BLOCK


def _blocks(matrix: Array, spec: TensorSpec, bits: int) -> Bytes:
    """Matrices in tiles of block floats, whose blocks are rows of a matrix: a tile that is transposed has none of these."""
    count, per_tile = len(matrix), math.prod(spec.tile.edges) // BLOCK
    shared, elements = packed_blocks(np.ascontiguousarray(matrix, np.float32).reshape(-1, BLOCK), bits)
    shared = _in_faces(shared.reshape(*matrix.shape[:2], -1), spec.tile, BLOCK).reshape(-1, per_tile)
    exponents = np.zeros((len(shared), _exponents(spec.tile)), np.uint8)
    exponents[:, :per_tile] = shared
    elements = _in_faces(elements.reshape(matrix.shape), spec.tile).reshape(len(shared), -1)
    if bits == 3:
        elements = elements[:, 0::2] | elements[:, 1::2] << np.uint8(4)
    return np.concatenate([exponents, elements], axis=1).reshape(count, -1)


def _values(raw: Bytes, shape: tuple[int, int, int], tile: Tile, bits: int) -> Array:
    """Undo `_blocks`; in a transposed tile the blocks are columns."""
    elements_of_tile, ahead = math.prod(tile.edges), _exponents(tile)
    tiles = raw.reshape(-1, ahead + elements_of_tile * (bits + 1) // 8)
    shared, elements = tiles[:, : elements_of_tile // BLOCK], tiles[:, ahead:]
    if bits == 3:
        elements = np.stack([elements & np.uint8(15), elements >> np.uint8(4)], axis=-1)
    if tile.transpose_tile:
        blocks = unpacked_blocks(np.ascontiguousarray(shared).reshape(-1), elements.reshape(-1, BLOCK), bits)
        return _from_faces(blocks, shape, tile)
    by_block = (*shape[:2], shape[2] // BLOCK)
    in_rows = _from_faces(np.ascontiguousarray(shared), by_block, tile, BLOCK).reshape(-1)
    return unpacked_blocks(in_rows, _from_faces(elements, shape, tile).reshape(-1, BLOCK), bits).reshape(
        shape
    )
