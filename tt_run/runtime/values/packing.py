"""Stacks in the bytes that their element type takes on a device, and back with the same bits: for tensors that nobody computes with.

Which form fits is seen from the numbers: 16 that share an exponent take 17 bytes (bfloat8_b), numbers without a lower half two bytes each
(bfloat16 and everything narrower). What fits neither stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.values.bfloat16 import from_wire, take_upper
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.torch_rounding import narrowed

Array = npt.NDArray[Any]

_BLOCK = 16
_PIECE = 1 << 16  # elements that are worked through together
_PROBE = 1 << 10  # elements that tell most stacks of other types
_EXPONENT = np.uint32(0x7F800000)
_LOWEST, _INFINITE = np.uint32(25), np.uint32(0xFF)
_DIGITS = 6  # binary digits of a magnitude behind the leading one


@dataclass(frozen=True, slots=True)
class Packed:
    """A stack: two bytes an element, or a byte an element and an exponent for each 16."""

    shape: tuple[int, ...]
    elements: Array
    exponents: Array | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.elements.nbytes + (0 if self.exponents is None else self.exponents.nbytes)


def pack(stack: Array, *, smallest: bool = True) -> Packed | None:
    """The smallest form that gives the same bits again; None for one of another type or with numbers that fit none.

    Without `smallest` that of 16 bits, which takes a tenth of the time.

    A view that shows the same memory several times takes less as it is, and is left so.
    """
    repeated = any(step == 0 and length > 1 for step, length in zip(stack.strides, stack.shape, strict=True))
    if stack.dtype != np.float32 or not stack.size or repeated:
        return None
    flat = np.ascontiguousarray(stack).reshape(-1)
    if smallest and stack.shape[-1] % _BLOCK == 0 and _begins_shared(flat[:_PROBE]):
        digits, exponents = np.empty(flat.size, np.int8), np.empty(flat.size // _BLOCK, np.uint8)
        if all(
            _shared(flat[s : s + _PIECE], digits[s : s + _PIECE], exponents[s // _BLOCK :])
            for s in range(0, flat.size, _PIECE)
        ):
            return Packed(stack.shape, digits, exponents)
    halves: Array = empty((flat.size,), np.uint16)
    if all(_upper(flat[s : s + _PIECE], halves[s : s + _PIECE]) for s in range(0, flat.size, _PIECE)):
        return Packed(stack.shape, halves)
    return None


def unpack(packed: Packed) -> Array:
    """The stack as it was."""
    if packed.exponents is None:
        return from_wire(packed.elements).reshape(packed.shape)
    out = empty((packed.elements.size,), np.float32)
    for start in range(0, out.size, _PIECE):
        piece = slice(start, start + _PIECE)
        _scaled(packed.elements[piece], packed.exponents[start // _BLOCK :], out[piece])
    return out.reshape(packed.shape)


def _upper(values: Array, halves: Array) -> bool:
    """Take the upper halves; whether the lower ones are empty."""
    bits = values.view(np.uint32)
    if np.bitwise_or.reduce(bits) & np.uint32(0xFFFF):
        return False
    # Rounding changes nothing any more, and a NaN is left to the shift, which keeps its bits.
    short = narrowed(values)
    if short is not None:
        np.copyto(halves, short.view(np.uint16))
    else:
        take_upper(values, halves)
    return True


def _begins_shared(values: Array) -> bool:
    """Whether the first numbers share exponents: those of other types are found out before the whole stack is tried."""
    return _shared(values, np.empty(values.size, np.int8), np.empty(values.size // _BLOCK, np.uint8))


def _shared(values: Array, digits: Array, exponents: Array) -> bool:
    """Take digits and exponents; whether they give the same bits again."""
    largest = values.view(np.uint32) & _EXPONENT
    for _ in range(4):
        largest = np.maximum(largest[0::2], largest[1::2])
    exponent = largest >> np.uint32(23)
    exponent[exponent == 0] = _LOWEST
    if ((exponent < _LOWEST) | (exponent == _INFINITE)).any():
        return False
    scale = ((np.uint32(254 + _DIGITS) - exponent) << np.uint32(23)).view(np.float32)
    np.copyto(digits, values * np.repeat(scale, _BLOCK), casting="unsafe")
    own = exponents[: exponent.size]
    np.copyto(own, exponent, casting="unsafe")
    again = np.empty(values.size, np.float32)
    _scaled(digits, own, again)
    return np.array_equal(again.view(np.uint32), values.view(np.uint32))


def _scaled(digits: Array, exponents: Array, out: Array) -> None:
    """Digits times the unit of their block."""
    own = exponents[: digits.size // _BLOCK].astype(np.uint32)
    unit = ((own - np.uint32(_DIGITS)) << np.uint32(23)).view(np.float32)
    np.multiply(digits, np.repeat(unit, _BLOCK), out=out)
