"""Rounding to bfloat8_b and bfloat4_b, kept in float32 arrays.

Sixteen consecutive elements of a row inside a 16x16 face share the largest of their exponents; each keeps a sign and 7 (3) magnitude
bits, the leading one included (reference library 0.81.1). Faces tile the last dimension from its start, so a block is
16 consecutive elements of the last dimension. Padding of zero cannot raise the exponent of the block that it fills up; another can.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.recycled_arrays import empty

Float32 = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint32]

BLOCK = 16
_PIECE = 32768  # elements that are worked through together
_MANTISSA = np.uint32(23)  # bits of a float32 below its exponent
_WHOLE = np.uint32(127 + 127 + 23)  # less an exponent, that of what makes its numbers whole
_HALVES = (np.uint64, np.uint32, np.uint16, np.uint8)
_LOWEST = np.uint32(25)  # blocks below have no power of two to multiply with
_HIDDEN_BIT = np.uint32(1 << 23)


def round_blocks(values: Float32, magnitude_bits: int, padding: float = 0.0) -> Float32:
    """Round float32 values to blocks of 16 with a shared exponent; `magnitude_bits` is 7 for bfloat8_b, 3 for bfloat4_b.

    An element is first cut to the block's scale and what falls off is forgotten; then it is rounded to nearest, ties to even, and
    saturates at the largest magnitude. A result of zero loses its sign. `padding` fills up the last block of a row.
    """
    if not values.size:
        return values
    shape = values.shape or (1,)
    extra = -shape[-1] % BLOCK
    padded = values
    if extra:
        widths = [(0, 0)] * (len(shape) - 1) + [(0, extra)]
        padded = np.pad(values.reshape(shape), widths, constant_values=np.float32(padding))
    source = np.ascontiguousarray(padded).reshape(-1)
    rounded: Float32 = empty(source.shape, np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, source.size, _PIECE):
            _round_piece(source[start : start + _PIECE], magnitude_bits, rounded[start : start + _PIECE])
    return rounded.reshape((*shape[:-1], shape[-1] + extra))[..., : shape[-1]].reshape(values.shape)


def _round_piece(values: Float32, magnitude_bits: int, out: Float32) -> None:
    """Rounding by multiplications with powers of two, while the elements are in cache.

    Blocks of ordinary numbers; those that hold infinity or NaN, or whose scale is near the smallest numbers, go bit by bit.
    """
    exponent = shared_exponents(values)
    odd = (exponent < _LOWEST) | (exponent == np.uint32(0xFF))
    exponent[odd] = 127
    # To whole numbers below 2**24, cut; then to numbers of so many bits, rounded to even; then back to their scale.
    scale = np.repeat((_WHOLE - exponent) << _MANTISSA, BLOCK)
    np.multiply(values, scale.view(np.float32), out=out)
    np.trunc(out, out=out)
    out *= np.float32(2.0 ** (magnitude_bits - 24))
    np.rint(out, out=out)
    low, high = _limits(magnitude_bits)
    np.minimum(out, high[: out.size], out=out)
    np.maximum(out, low[: out.size], out=out)
    # The unit of a block is 2**(24 - bits) over its scale; exponents of powers of two are subtracted.
    np.subtract((_WHOLE - np.uint32(magnitude_bits - 1)) << _MANTISSA, scale, out=scale)
    out *= scale.view(np.float32)
    out += np.float32(0)  # a zero loses its sign
    if odd.any():
        rows = np.flatnonzero(odd)
        bits = values.reshape(-1, BLOCK)[rows].view(np.uint32)
        out.reshape(-1, BLOCK)[rows] = decode(*encode(bits, magnitude_bits), magnitude_bits)


@lru_cache(maxsize=2)
def _limits(magnitude_bits: int) -> tuple[Float32, Float32]:
    """The smallest and the largest number of units, as often as a piece has elements: NumPy is slower with one number."""
    high = np.full(_PIECE, (1 << magnitude_bits) - 1, np.float32)
    return -high, high


def shared_exponents(values: Float32) -> Bits:
    """The largest exponent of every 16 contiguous values.

    As bytes, of which a processor compares 64 at once; halves of blocks are parted as whole words.
    """
    # The sign falls off.
    found = np.right_shift(values.reshape(-1).view(np.uint32), _MANTISSA).astype(np.uint8)
    for half in _HALVES:
        words = found.view(half)
        first, second = (np.ascontiguousarray(words[side::2]).view(np.uint8) for side in (0, 1))
        found = np.maximum(first, second, out=first)
    return found.astype(np.uint32)


def encode(bits: Bits, magnitude_bits: int) -> tuple[Bits, Bits, Bits]:
    """Sign, magnitude and shared exponent of rows of 16 float32 bit patterns; a zero has no sign."""
    shift = np.uint32(24 - magnitude_bits)
    exponent = (bits >> np.uint32(23)) & np.uint32(0xFF)
    shared = exponent.max(axis=1, keepdims=True)
    # Numbers below the normal ones are zeros.
    mantissa = np.where(exponent == 0, np.uint32(0), (bits & np.uint32(0x7FFFFF)) | _HIDDEN_BIT)
    mantissa >>= np.minimum(shared - exponent, np.uint32(31))
    rest = mantissa & np.uint32((1 << int(shift)) - 1)
    magnitude = mantissa >> shift
    half = np.uint32(1 << (int(shift) - 1))
    magnitude += (rest > half) | ((rest == half) & (magnitude & np.uint32(1) == 1))
    np.minimum(magnitude, np.uint32((1 << magnitude_bits) - 1), out=magnitude)
    return (bits >> np.uint32(31)) * (magnitude != 0), magnitude, shared


def decode(sign: Bits, magnitude: Bits, shared: Bits, magnitude_bits: int) -> Float32:
    """The float32 values of rows of 16 elements."""
    # A block that holds infinity or NaN has no finite scale: its top elements decode to exponent 255.
    infinite = shared == np.uint32(0xFF)
    scale = shared.astype(np.int32) - (127 + magnitude_bits - 1)
    with np.errstate(over="ignore"):
        value = np.ldexp(magnitude.astype(np.float32), scale)
    if infinite.any():
        top = np.uint32(1 << (magnitude_bits - 1))
        value = np.where(infinite & (magnitude > top), np.float32(np.nan), value)
    negative = (sign == 1) & (magnitude != 0)
    return np.where(negative, -value, value).astype(np.float32)
