"""Block floats as bytes: the same as bit by bit, for every size of number."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.values.block_bytes import packed_blocks, unpacked_blocks
from tt_run.runtime.values.blockfloat import decode, encode, round_blocks


@pytest.mark.parametrize("bits", [3, 7])
def test_bytes_are_those_of_the_bits(bits: int) -> None:
    random = np.random.default_rng(5)
    values = random.standard_normal((5000, 16)).astype(np.float32)
    values *= 2.0 ** random.integers(-126, 123, (5000, 1)).astype(np.float32)
    values[0], values[1], values[2, 3], values[3, 4] = 0, 1e-42, np.inf, np.nan
    with np.errstate(all="ignore"):
        rounded = round_blocks(values, bits)
    sign, magnitude, exponent = encode(rounded.view(np.uint32), bits)
    shared, elements = packed_blocks(rounded, bits)
    assert np.array_equal(shared, exponent[:, 0])
    # Rounding again bit by bit would round the smallest numbers twice. A zero has no sign left, and what stands beside infinity and NaN in its block keeps its bits.
    ordinary = exponent[:, 0] >= bits
    bit_by_bit = np.where(magnitude > 0, sign << np.uint32(bits), 0) | magnitude
    assert np.array_equal(elements[ordinary], bit_by_bit[ordinary])
    back = unpacked_blocks(shared, elements, bits)
    assert np.array_equal(back[ordinary], decode(sign, magnitude, exponent, bits)[ordinary], equal_nan=True)
    assert not np.signbit(back[back == 0]).any()
    finite = exponent[:, 0] < 255
    assert ordinary.sum() < 5000 > finite.sum()
    assert np.array_equal(back[finite], rounded[finite])
