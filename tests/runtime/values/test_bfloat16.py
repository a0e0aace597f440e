"""Rounding to bfloat16, against the rule on bit patterns and against ml_dtypes."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.train.pytorch import torch_or_skip
from tests.sweep import sweep
from tt_run.runtime.values import torch_rounding
from tt_run.runtime.values.bfloat16 import (
    SMALL,
    from_wire,
    narrow,
    round_bfloat16,
    round_block,
    split,
    to_wire,
    widen,
)
from tt_run.runtime.values.scratch_arrays import BLOCK


@pytest.fixture(params=["PyTorch", "NumPy"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test once for each way of rounding."""
    if request.param == "PyTorch":
        torch_or_skip()
        assert torch_rounding.narrowed(np.ones(BLOCK, np.float32)) is not None, "PyTorch is not taken"
    else:
        monkeypatch.setattr(torch_rounding, "_from_numpy", None)
        monkeypatch.setattr(torch_rounding, "_is_refused", True)
    return str(request.param)


def by_bits(values: np.ndarray) -> np.ndarray:
    """Add half of the dropped part, less one if the kept part is even, and cut; NaN becomes the quiet NaN of its sign."""
    bits = values.view(np.uint32).astype(np.uint64)
    cut = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
    nan = np.isnan(values)
    cut[nan] = (values.view(np.uint32)[nan] & 0x80000000) | 0x7FC00000
    return cut.view(np.float32)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize("low", [0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_every_upper_half_at_the_boundaries_of_the_lower_half(low: int) -> None:
    values = ((np.arange(1 << 16, dtype=np.uint32) << 16) | np.uint32(low)).view(np.float32)
    result = round_bfloat16(values)
    assert same_bits(result, by_bits(values))
    with np.errstate(all="ignore"):
        assert same_bits(result, values.astype(ml_dtypes.bfloat16).astype(np.float32))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200))
def test_any_bit_pattern(patterns: list[int]) -> None:
    values = np.array(patterns, np.uint32).view(np.float32)
    assert same_bits(round_bfloat16(values), by_bits(values))


def test_large_arrays_are_rounded_in_blocks_like_small_ones() -> None:
    values = np.random.default_rng(1).standard_normal(3 * BLOCK + 17).astype(np.float32)
    assert same_bits(round_bfloat16(values), by_bits(values))
    strided = values[::2]
    assert same_bits(round_bfloat16(strided), by_bits(np.ascontiguousarray(strided)))
    in_place = values.copy()
    assert round_bfloat16(in_place, out=in_place) is in_place
    assert same_bits(in_place, by_bits(values))


_LOWER = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)


@pytest.mark.parametrize("exponent", [0, 1, 2, 9, 126, 127, 128, 237, 238, 239, 254, 255])
def test_every_mantissa_of_an_exponent_alone_in_its_block(exponent: int) -> None:
    """Blocks of one exponent are rounded by the split or, as a whole, by the cast; mixed ones by the cast if they must."""
    upper = np.arange(128, dtype=np.uint32) | np.uint32(exponent << 7)
    upper = np.concatenate([upper, upper | 0x8000])
    values = np.tile(((upper[:, None] << 16) | _LOWER).view(np.float32).reshape(-1), 30)
    assert SMALL < values.size <= BLOCK
    assert same_bits(round_bfloat16(values), by_bits(values))
    in_place = values.copy()
    assert same_bits(round_bfloat16(in_place, out=in_place), by_bits(values))


def test_one_number_that_the_split_cannot_round_is_rounded_in_its_block() -> None:
    values = np.random.default_rng(2).standard_normal(SMALL + 12345).astype(np.float32)
    for odd in (np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -1.5e-39, 2.0**-126 * 0.999):
        values[12345] = odd
        assert same_bits(round_bfloat16(values), by_bits(values)), odd


def test_sums_of_bfloat16_numbers_are_whole_units_down_to_the_smallest() -> None:
    bits = np.random.default_rng(4).integers(0, 0x0200, (2, 20000), np.uint32)
    bits[:, ::2] |= 0x8000
    a, b = (bits << 16).view(np.float32)
    rest, out = np.empty((2, 20000), np.float32)
    assert split(a + b, rest, out, whole_units=True)
    assert same_bits(out, by_bits(a + b))


def test_overflow_rounds_to_infinity_and_ties_go_to_even() -> None:
    values = np.array([3.4e38, -3.4e38, 1 + 2**-8, 1 + 3 * 2**-8], np.float32)
    assert round_bfloat16(values).tolist() == [np.inf, -np.inf, 1.0, 1 + 2**-6]


def test_wire_form_is_half_the_bytes_and_loses_nothing() -> None:
    values = round_bfloat16(np.random.default_rng(3).standard_normal((4, 5)).astype(np.float32))
    wire = to_wire(values)
    assert (wire.dtype, wire.shape, wire.nbytes * 2) == (np.uint16, values.shape, values.nbytes)
    assert same_bits(from_wire(wire), values)


@pytest.mark.parametrize("shape", [(5,), (), (0, 4), (4, 0), (3, 5), (70, 300)])
def test_the_wire_keeps_every_bit_of_nan_and_of_the_smallest(shape: tuple[int, ...]) -> None:
    bits = np.random.default_rng(5).choice([0xFFFF, 0x7F81, 0xFFC0, 0x7FC0, 0x8000, 0x0001, 0xFF80], shape)
    bits = np.asarray(bits, np.uint16)
    values = np.asarray(np.asarray(bits, np.uint32) << np.uint32(16)).view(np.float32)
    assert np.array_equal(to_wire(values), bits) and to_wire(values).shape == shape
    assert same_bits(from_wire(to_wire(values)), values)
    turned = np.swapaxes(values, 0, -1) if values.ndim else values
    assert np.array_equal(to_wire(turned), np.swapaxes(bits, 0, -1) if values.ndim else bits)


@pytest.mark.parametrize(
    "size",
    sweep(
        [BLOCK, BLOCK - 1, BLOCK - 32768, SMALL + 1, SMALL + 31, 2 * BLOCK + 256], quick=[BLOCK, SMALL + 1]
    ),
)
@pytest.mark.parametrize("payload", [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_nan_anywhere_keeps_its_sign_and_nothing_else(size: int, payload: int) -> None:
    for place in (0, size // 2, size - 1):
        values = np.random.default_rng(6).standard_normal(size).astype(np.float32)
        values.view(np.uint32)[place] = payload
        assert same_bits(round_bfloat16(values), by_bits(values))


def test_every_upper_half_beside_critical_lower_ones_without_a_nan_among_them() -> None:
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    numbers = upper[(upper & 0x7F800000) != 0x7F800000]
    for low in _LOWER:
        values = (numbers | low).view(np.float32)
        assert same_bits(round_bfloat16(values), by_bits(values))
        fewer = values[: BLOCK - 1000 - int(low) % 7]
        assert same_bits(round_bfloat16(fewer), by_bits(fewer))


def test_arrays_that_may_not_be_written_are_rounded_too() -> None:
    values = np.random.default_rng(7).standard_normal(BLOCK).astype(np.float32)
    values.flags.writeable = False
    assert same_bits(round_bfloat16(values), by_bits(values))


@pytest.mark.parametrize("engine", ["PyTorch"], indirect=True)
def test_modes_of_pytorch_change_nothing(engine: str) -> None:
    torch = torch_or_skip()
    from torch._subclasses.fake_tensor import FakeTensorMode

    values = np.random.default_rng(8).standard_normal(3 * BLOCK).astype(np.float32)
    torch_rounding._here.__dict__.clear()
    for mode in (torch.inference_mode(), FakeTensorMode(), torch.device("meta"), torch.no_grad()):
        with mode:
            assert same_bits(round_bfloat16(values), by_bits(values))
        assert same_bits(round_bfloat16(values), by_bits(values))


def test_pytorch_is_never_imported_for_it() -> None:
    program = "import sys, numpy; from tt_run.runtime.values.bfloat16 import round_bfloat16; round_bfloat16(numpy.ones(1 << 20, 'f')); print('torch' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("size", [100, SMALL, SMALL + 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("odd", [1.0, np.nan, 1e-40])
def test_the_16_bits_come_along(size: int, odd: float) -> None:
    values = np.random.default_rng(9).standard_normal((2, size)).astype(np.float32)
    values[1, size // 2] = odd
    wanted = by_bits(values).view(np.uint32) >> np.uint32(16)
    bits = np.zeros(values.shape, np.uint16)
    assert same_bits(round_bfloat16(values, bits=bits), by_bits(values))
    assert np.array_equal(bits, wanted)
    in_place = values.copy()
    round_bfloat16(in_place, out=in_place, bits=bits)
    assert same_bits(in_place, by_bits(values)) and np.array_equal(bits, wanted)
    halves = np.zeros(values.size, ml_dtypes.bfloat16)
    narrow(values.reshape(-1), halves)
    assert np.array_equal(halves.view(np.uint16), wanted.reshape(-1))
    assert same_bits(widen(halves), by_bits(values).reshape(-1))


@pytest.mark.parametrize("odd", [1.0, 3e38, np.inf, np.nan, 1e-40])
def test_a_block_is_rounded_or_left_to_the_cast(engine: str, odd: float) -> None:
    values = np.random.default_rng(10).standard_normal(BLOCK - 5).astype(np.float32)
    values[7] = odd
    rest, out, bits = np.empty_like(values), np.empty_like(values), np.zeros(values.size, np.uint16)
    with np.errstate(all="ignore"):
        done = round_block(values, rest, out, bits=bits)
    assert done == ((engine == "PyTorch" and odd == odd) or odd == 1.0)
    if done:
        assert same_bits(out, by_bits(values)) and np.array_equal(bits, to_wire(by_bits(values)))
