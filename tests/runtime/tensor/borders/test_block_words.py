"""Words of block floats: the bytes are those of the reference, and come back as tensors of these types hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.tensor.borders import block_words
from tt_run.runtime.values.blockfloat import round_blocks

# What reference library 0.81.1 makes of `sample()`: by (bits, rows, blocks of the A kind).
HASHES = {
    (8, False, False): "17c5b809923e",
    (8, False, True): "92df4473b923",
    (8, True, False): "43b1a06c0b86",
    (4, False, False): "9c25ec105c0e",
    (4, True, True): "4bfd7f3cbf1d",
    (2, False, False): "f0e65b64384e",
    (2, True, True): "12d2ba017047",
}


def sample() -> Any:
    random = np.random.default_rng(0)
    return (random.standard_normal(2048) * np.exp2(random.integers(-9, 9, 2048))).astype(np.float32)


def functions(bits: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return getattr(block_words, f"pack_bfp{bits}"), getattr(block_words, f"unpack_bfp{bits}")


@pytest.mark.parametrize("case", HASHES)
def test_bytes_of_the_reference(case: tuple[int, bool, bool]) -> None:
    bits, by_rows, narrow = case
    words = functions(bits)[0](sample(), by_rows, narrow)
    assert words.dtype == np.uint32
    assert hashlib.sha256(words.tobytes()).hexdigest()[:12] == HASHES[case]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("by_rows", [False, True])
def test_there_and_back_rounds_as_tensors_do(bits: int, by_rows: bool) -> None:
    pack, unpack = functions(bits)
    values = sample()
    # A block is half a row of a tile in either order.
    expected = round_blocks(values.reshape(-1, 32), bits - 1).reshape(-1)
    assert unpack(pack(values, by_rows), by_rows).tobytes() == expected.tobytes()


def test_blocks_of_five_bits_end_at_their_range() -> None:
    values = np.zeros(1024, np.float32)
    values[[0, 1, 16, 32, 48]] = 2.0**20, -(2.0**16), 2.0**-20, np.inf, np.nan
    words = block_words.pack_bfp8(values, is_exp_a=True)
    assert words.view(np.uint8)[:4].tolist() == [31, 0, 31, 31]
    found = block_words.unpack_bfp8(words, is_exp_a=True)
    assert found[[0, 1, 16, 32, 48]].tolist() == [130048.0, -65536.0, 2.0**-15, 130048.0, 130048.0]
    assert not found[2:16].any()


def test_numbers_below_the_normal_ones_are_zeros_without_a_sign() -> None:
    values = np.zeros(1024, np.float32)
    values[:3] = 1e-41, -0.0, -1e-41
    assert not block_words.pack_bfp8(values).any()
    assert not round_blocks(values[:16].reshape(1, 16), 7).any()


def test_parts_of_a_tile_are_left_out_and_tables_refused() -> None:
    assert block_words.pack_bfp8(np.ones(1500, np.float64)).shape == (272,)
    assert block_words.pack_bfp8(np.ones(1000, np.float32)).shape == (0,)
    assert block_words.unpack_bfp8(np.zeros(273, np.uint32)).shape == (1024,)
    with pytest.raises(TypeError, match="of float32 of one dimension, not one of 2"):
        block_words.pack_bfp4(np.ones((32, 32), np.float32))
    with pytest.raises(TypeError, match="of uint32 of one dimension, not a list"):
        block_words.unpack_bfp2([0] * 96)
