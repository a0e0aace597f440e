"""Rounding to bfloat16, kept in float32 arrays.

A bfloat16 value is stored as the float32 of the same value, so arithmetic needs no conversion before it and one rounding after
it. Blocks are rounded by PyTorch where the program has loaded it (`torch_rounding`), else by Veltkamp's split, three wide passes in cache
instead of a cast there and back: with c = x * 65537, c - (c - x) is x with eight significant bits, to nearest with ties to even. That is
not the answer for numbers from 2**111 on, infinity and NaN, which come out as NaN, and for numbers that bfloat16 keeps with fewer bits,
which come out with more bits than it has. Two reductions tell whether a block has any; then `ml_dtypes` rounds it. All three give the same bits.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch
from tt_run.runtime.values.torch_rounding import narrow_into, narrowed

Float32 = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint16]
BFLOAT16: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
"""NumPy's type of elements in their own 16 bits: casting to it rounds to nearest, ties to even."""

_SPLIT = np.float32(65537)
_LOWER = np.uint32(0xFFFF)
_FROM_TWO = np.uint32(0x40000000)  # of the exponent: set in all numbers from 2 on, infinity and NaN
SMALL = 32768
"""Elements up to which a cast there and back takes less than the calls of the others."""
_BUFFER = 4096  # elements that a cast takes at a time: they stay in the nearest cache, which saves an eighth


def round_bfloat16(values: Float32, out: Float32 | None = None, bits: Bits | None = None) -> Float32:
    """Round float32 values to bfloat16, to nearest with ties to even; NaN and infinity stay what they are.

    `out` may be `values` itself. `bits`, contiguous, takes the 16 bits of each.
    """
    if out is None:
        out = empty(values.shape, np.float32)
    before = silence()
    try:
        if values.size <= SMALL or not (values.flags.c_contiguous and out.flags.c_contiguous):
            np.copyto(out, values.astype(BFLOAT16))
            if bits is not None:
                np.copyto(bits, to_wire(out))
        else:
            round_blocks(values.reshape(-1), out.reshape(-1), None if bits is None else bits.reshape(-1))
    finally:
        restore(before)
    return out


def round_blocks(values: Float32, out: Float32, bits: Bits | None = None) -> None:
    """`round_bfloat16` of one row of contiguous values, under the caller's error state."""
    in_place = np.may_share_memory(values, out)
    for start in range(0, values.size, BLOCK):
        source, target = values[start : start + BLOCK], out[start : start + BLOCK]
        kept = None if bits is None else bits[start : start + BLOCK]
        if round_by_torch(source, target, kept):
            continue
        rest = scratch("rounding", 1)[0][: source.size]
        rounded = rest if in_place else target
        if not split(source, rest, rounded):
            np.copyto(target, source.astype(ml_dtypes.bfloat16))
        elif in_place:
            np.copyto(target, rounded)
        if kept is not None:
            take_upper(target, kept)


def round_by_torch(values: Float32, out: Float32, bits: Bits | None = None) -> bool:
    """Round one contiguous block of at most `BLOCK` values if PyTorch is there and there is no NaN; `out` may be `values` itself."""
    short = narrowed(values)
    if short is None:
        return False
    np.copyto(out, short)
    if bits is not None:
        np.copyto(bits, short.view(np.uint16))
    return True


def narrow(values: Float32, halves: npt.NDArray[Any], *, all_numbers: bool = False) -> None:
    """Write contiguous values rounded as bfloat16 elements, under the caller's error state. `all_numbers`: there is no NaN among them."""
    if not narrow_into(values, halves, all_numbers=all_numbers):
        np.copyto(halves, values, casting="unsafe")


def widen(halves: npt.NDArray[Any]) -> Float32:
    """bfloat16 elements in float32."""
    return from_wire(halves.view(np.uint16))


def round_block(
    values: Float32, rest: Float32, out: Float32, *, whole_units: bool = False, bits: Bits | None = None
) -> bool:
    """Round one contiguous block of at most `BLOCK` values; False if the result is not that of `round_bfloat16`.

    `rest` is room for as many numbers, and may be `values` or `out`. `whole_units`: every value is a multiple of 2**-133, the smallest
    bfloat16 number, as sums of such numbers are.
    """
    if round_by_torch(values, out, bits):
        return True
    if not split(values, rest, out, whole_units=whole_units):
        return False
    if bits is not None:
        take_upper(out, bits)
    return True


def split(values: Float32, rest: Float32, out: Float32, *, whole_units: bool = False) -> bool:
    """`round_block` by Veltkamp's split."""
    product = scratch("split", 1)[0]
    if values.size != BLOCK:
        product = product[: values.size]
    np.multiply(values, _SPLIT, product)
    np.subtract(product, values, rest)
    np.subtract(product, rest, out)
    if not whole_units:
        seen = np.bitwise_or.reduce(out.view(np.uint32))
        if seen & _LOWER:
            return False
        if not seen & _FROM_TWO:
            return True  # nothing reaches 2, so nothing is infinite or NaN
    largest = np.maximum.reduce(out)
    return bool(largest == largest)


def take_upper(values: Float32, bits: Bits) -> None:
    """Write the 16 bits of contiguous values that are already rounded."""
    before = np.setbufsize(_BUFFER)
    try:
        np.right_shift(values.view(np.uint32), 16, out=bits, casting="unsafe")
    finally:
        np.setbufsize(before)


def to_wire(values: Float32) -> Bits:
    """The 16 bits of values that are already rounded: half the bytes for a message or a file.

    As they are, those of NaN too: a cast writes that in a way of its own, and a value would differ by whether it went to another rank.
    """
    whole = np.asarray(values, order="C")
    if whole.size <= SMALL and whole.ndim:
        return whole.view(np.uint16)[..., 1::2].copy()
    halves: Bits = empty(whole.shape, np.uint16)
    take_upper(whole, halves)
    return halves


def from_wire(bits: Bits) -> Float32:
    """Undo `to_wire`."""
    wide: Float32 = empty(bits.shape, np.float32)
    np.copyto(wide, bits.view(BFLOAT16))
    return wide
