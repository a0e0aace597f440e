"""Block floats as bytes and back: a shared exponent for 16 elements, each of which is its sign above its magnitude.

Values that are rounded already are whole multiples of their block's unit, so one multiplication by a power of two gives the magnitudes.
Blocks that hold infinity or NaN go bit by bit.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.blockfloat import Float32, decode, encode, shared_exponents

Bytes = npt.NDArray[np.uint8]

_PIECE = 2048  # blocks that are worked through together
_LAST = 254  # the largest exponent of a finite number


def packed_blocks(rows: Float32, bits: int) -> tuple[Bytes, Bytes]:
    """Exponents `(n,)` and elements `(n, 16)` of blocks `(n, 16)` that are rounded to `bits` bits of magnitude."""
    shared, elements = np.empty(len(rows), np.uint8), np.empty(rows.shape, np.uint8)
    for start in range(0, len(rows), _PIECE):
        part = slice(start, start + _PIECE)
        _pack_piece(rows[part], bits, shared[part], elements[part])
    return shared, elements


def _pack_piece(rows: Float32, bits: int, shared: Bytes, elements: Bytes) -> None:
    exponent = shared_exponents(rows)
    shared[:] = exponent
    infinite = exponent > _LAST
    exponent[infinite] = 127
    # Near the smallest numbers a power of two that makes a unit 1 is larger than float32 has.
    to_units = np.ldexp(
        1.0 if (exponent < bits).any() else np.float32(1), 126 + bits - exponent.astype(np.int32)
    )
    with np.errstate(invalid="ignore"):
        units = (rows * to_units[:, None]).astype(np.int16)
    np.copyto(elements, np.abs(units) | (units < 0).astype(np.int16) << bits, casting="unsafe")
    if infinite.any():
        sign, magnitude, _ = encode(np.ascontiguousarray(rows[infinite]).view(np.uint32), bits)
        elements[infinite] = (sign << np.uint32(bits)) | magnitude


def unpacked_blocks(shared: Bytes, elements: Bytes, bits: int) -> Float32:
    """The values `(n, 16)` of exponents `(n,)` and elements `(n, 16)`."""
    values = np.empty(elements.shape, np.float32)
    for start in range(0, len(elements), _PIECE):
        part = slice(start, start + _PIECE)
        exponent = shared[part].astype(np.uint32)
        odd = (exponent < bits) | (exponent > _LAST)
        exponent[odd] = 127
        unit = ((exponent + np.uint32(1) - np.uint32(bits)) << np.uint32(23)).view(np.float32)
        np.multiply(_units(bits)[elements[part]], unit[:, None], out=values[part])
        if odd.any():
            rows = np.flatnonzero(odd) + start
            words = elements[rows].astype(np.uint32)
            values[rows] = decode(
                words >> np.uint32(bits), words & np.uint32((1 << bits) - 1), shared[rows, None].astype(np.uint32), bits
            )  # fmt: skip
    return values


@lru_cache(maxsize=2)
def _units(bits: int) -> Float32:
    """How many units of its block each element is."""
    elements = np.arange(1 << (bits + 1))
    magnitudes = elements & ((1 << bits) - 1)
    return np.where(elements >> bits, -magnitudes, magnitudes).astype(np.float32)
