"""Tiles of block floats as the words of a buffer and back: `ttnn._ttnn.bfp_utils`.

A tile of 32x32 is 64 bytes of exponents, then its elements face by face: bytes, halves of bytes or quarters of bytes, the first in the lowest
bits. Blocks of the A kind have exponents of five bits: what is too large for them is their largest number, what is too small their
smallest. Source: reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.blockfloat import BLOCK, Float32, decode, encode

Words = npt.NDArray[np.uint32]

_TILE, _FACE = 32 * 32, 16
_ROWS = _TILE // BLOCK
_NARROW = np.uint32(127 - 15)  # between an exponent of eight bits and one of five
_SIGN, _FRACTION = np.uint32(1 << 31), np.uint32((1 << 23) - 1)


def pack_bfp8(input: Any, row_major_input: bool = False, is_exp_a: bool = False) -> Words:
    """Tiles of 1024 float32 each, in faces or by rows, as words of bfloat8_b; a last part of a tile is left out."""
    return _packed(input, row_major_input, is_exp_a, 7)


def pack_bfp4(input: Any, row_major_input: bool = False, is_exp_a: bool = False) -> Words:
    """As `pack_bfp8`, of bfloat4_b."""
    return _packed(input, row_major_input, is_exp_a, 3)


def pack_bfp2(input: Any, row_major_input: bool = False, is_exp_a: bool = False) -> Words:
    """As `pack_bfp8`, of elements that are a sign and one bit."""
    return _packed(input, row_major_input, is_exp_a, 1)


def unpack_bfp8(input: Any, row_major_output: bool = False, is_exp_a: bool = False) -> Float32:
    """The float32 of words of bfloat8_b, tile by tile, in faces or by rows; a last part of a tile is left out."""
    return _unpacked(input, row_major_output, is_exp_a, 7)


def unpack_bfp4(input: Any, row_major_output: bool = False, is_exp_a: bool = False) -> Float32:
    """As `unpack_bfp8`, of bfloat4_b."""
    return _unpacked(input, row_major_output, is_exp_a, 3)


def unpack_bfp2(input: Any, row_major_output: bool = False, is_exp_a: bool = False) -> Float32:
    """As `unpack_bfp8`, of elements that are a sign and one bit."""
    return _unpacked(input, row_major_output, is_exp_a, 1)


def _packed(input: Any, by_rows: bool, narrow: bool, bits: int) -> Words:
    tiles = _whole(_vector(input, np.dtype(np.float32)), _TILE)
    if by_rows:
        tiles = tiles.reshape(-1, 2, _FACE, 2, _FACE).transpose(0, 1, 3, 2, 4)
    patterns = np.ascontiguousarray(tiles).reshape(-1, BLOCK).view(np.uint32)
    if narrow:
        patterns = _within_five_bits(patterns)
    if not len(patterns):
        return np.zeros(0, np.uint32)
    sign, magnitude, shared = encode(patterns, bits)
    if narrow:
        shared = np.maximum(shared, _NARROW) - _NARROW
    parts = ((sign << np.uint32(bits)) | magnitude).astype(np.uint8).reshape(-1, 8 // (bits + 1))
    places = np.arange(parts.shape[1], dtype=np.uint8) * np.uint8(bits + 1)
    elements = np.bitwise_or.reduce(parts << places, axis=1).reshape(len(tiles), -1)
    exponents = shared.astype(np.uint8).reshape(len(tiles), _ROWS)
    return np.concatenate([exponents, elements], axis=1).reshape(-1).view(np.uint32)


def _unpacked(input: Any, by_rows: bool, narrow: bool, bits: int) -> Float32:
    size = _ROWS + _TILE * (bits + 1) // 8
    tiles = _whole(_vector(input, np.dtype(np.uint32)).view(np.uint8), size)
    shared = tiles[:, :_ROWS].reshape(-1, 1).astype(np.uint32) + (_NARROW if narrow else np.uint32(0))
    places = np.arange(8 // (bits + 1), dtype=np.uint8) * np.uint8(bits + 1)
    elements = (tiles[:, _ROWS:, None] >> places).astype(np.uint32) & np.uint32((1 << (bits + 1)) - 1)
    elements = elements.reshape(-1, BLOCK)
    values = decode(elements >> np.uint32(bits), elements & np.uint32((1 << bits) - 1), shared, bits).reshape(
        len(tiles), _TILE
    )
    if by_rows:
        values = values.reshape(-1, 2, 2, _FACE, _FACE).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(values).reshape(-1)


def _vector(values: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        given = f"one of {values.ndim}" if isinstance(values, np.ndarray) else f"a {type(values).__name__}"
        raise TypeError(
            f"incompatible function arguments: expected an array of {dtype} of one dimension, not {given}"
        )
    return np.ascontiguousarray(values, dtype)


def _whole(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    count = len(values) // size
    return values[: count * size].reshape(count, size)


def _within_five_bits(patterns: Words) -> Words:
    """Each number moved to the nearest end of the range that exponents of five bits have; zeros stay."""
    exponent = (patterns >> np.uint32(23)) & np.uint32(255)
    sign = patterns & _SIGN
    large = sign | ((_NARROW + np.uint32(31)) << np.uint32(23)) | _FRACTION
    small = sign | (_NARROW << np.uint32(23))
    moved = np.where(exponent > _NARROW + 31, large, np.where(exponent < _NARROW, small, patterns))
    return np.where(exponent == 0, np.uint32(0), moved).astype(np.uint32)
