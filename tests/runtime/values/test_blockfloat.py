"""Block floats against the rule applied one element at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.blockfloat import round_blocks


def one_block(values: list[float], magnitude_bits: int) -> list[float]:
    """The largest exponent of the block is everybody's; then nearest, ties to even, saturating."""
    finite = [np.float32(v) for v in values]
    exponents = [(int(v.view(np.uint32)) >> 23) & 0xFF for v in finite]
    shared = max(exponents)
    result = []
    for value, exponent in zip(finite, exponents, strict=True):
        if value == 0:
            result.append(0.0)
            continue
        mantissa = (int(value.view(np.uint32)) & 0x7FFFFF) | 1 << 23
        mantissa >>= shared - exponent
        quantum = 1 << (24 - magnitude_bits)
        whole, rest = divmod(mantissa, quantum)
        if 2 * rest > quantum or (2 * rest == quantum and whole % 2):
            whole += 1
        whole = min(whole, 2**magnitude_bits - 1)
        result.append(
            math.copysign(whole * 2.0 ** (shared - 127 - magnitude_bits + 1), value) if whole else 0.0
        )
    return result


floats = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False).filter(
    lambda v: v == 0 or 2.0**-60 < abs(v) < 2.0**100
)


@pytest.mark.parametrize("magnitude_bits", [7, 3])
@settings(max_examples=examples(50), deadline=None)
@given(block=st.lists(floats, min_size=16, max_size=16))
def test_a_block_follows_the_rule(magnitude_bits: int, block: list[float]) -> None:
    found = round_blocks(np.array(block, np.float32), magnitude_bits)
    assert found.tolist() == one_block(block, magnitude_bits)


@pytest.mark.parametrize("magnitude_bits", [7, 3])
def test_blocks_are_16_consecutive_elements_of_a_row(magnitude_bits: int) -> None:
    values = np.random.default_rng(0).standard_normal((3, 5, 40)).astype(np.float32)
    found = round_blocks(values, magnitude_bits)
    for i in range(3):
        for j in range(5):
            for start in (0, 16, 32):
                row = values[i, j, start : start + 16].tolist()
                padded = one_block(row + [0.0] * (16 - len(row)), magnitude_bits)[: len(row)]
                assert found[i, j, start : start + 16].tolist() == padded


@pytest.mark.parametrize("magnitude_bits", [7, 3])
@settings(max_examples=examples(50), deadline=None)
@given(block=st.lists(floats, min_size=16, max_size=16))
def test_rounding_twice_changes_nothing_more(magnitude_bits: int, block: list[float]) -> None:
    once = round_blocks(np.array(block, np.float32), magnitude_bits)
    assert np.array_equal(round_blocks(once, magnitude_bits), once)


def test_known_values() -> None:
    values = np.zeros(16, np.float32)
    values[:6] = [1.0, 0.5, 1 + 1 / 64, 1.99, -0.004, 1 + 1 / 128]
    assert round_blocks(values, 7)[:6].tolist() == [1.0, 0.5, 1 + 1 / 64, 1.984375, 0.0, 1.0]
    assert round_blocks(values, 3)[:4].tolist() == [1.0, 0.5, 1.0, 1.75]


def test_scalars_empty_arrays_and_non_finite_blocks() -> None:
    assert round_blocks(np.float32(3.0).reshape(()), 7).tolist() == 3.0
    assert round_blocks(np.zeros((0, 4), np.float32), 7).shape == (0, 4)
    assert round_blocks(np.array([np.inf, 1.0], np.float32), 7).tolist() == [np.inf, 0.0]
    assert np.isnan(round_blocks(np.array([np.nan], np.float32), 7)[0])


@pytest.mark.parametrize(("dtype", "quantum"), [(DataType.BFLOAT8_B, 1.0), (DataType.BFLOAT4_B, 16.0)])
def test_a_pad_value_shares_the_exponent_of_the_block_it_fills_up(
    row: MeshDevice, dtype: DataType, quantum: float
) -> None:
    values = np.array(
        [[1.4, 40.0] * 9] * 2, np.float32
    )  # 18 columns: one whole block, two elements of the next
    mapper = ShardTensorToMesh(row, 0)
    own = from_torch(values, dtype)
    for padded in (
        from_torch(values, dtype, pad_value=100.0),
        Tensor(tensor=values, data_type=dtype, pad_value=100.0),
        Tensor(values.ravel().tolist(), values.shape, dtype, Layout.TILE, pad_value=100.0),
        get_device_tensors(from_torch(values, dtype, pad_value=100.0, mesh_mapper=mapper))[1],
    ):
        found = padded.to_numpy()
        assert np.array_equal(found[-1:, :16], own.to_numpy()[-1:, :16])
        wanted = np.round(np.array([1.4, 40.0]) / quantum) * quantum
        assert found[-1, 16:].tolist() == wanted.tolist()
    assert own.to_numpy()[0, 16:].tolist() != found[0, 16:].tolist()
    assert from_torch(values, pad_value=100.0).to_numpy().tolist() == values.tolist()


@pytest.mark.parametrize("bits", [7, 3])
def test_whole_numbers_round_as_bit_patterns_do(bits: int) -> None:
    """The quick way of ordinary blocks against the way of single bits, ties, tiny blocks and infinities among them."""
    from tt_run.runtime.values.blockfloat import decode, encode, round_blocks

    rng = np.random.default_rng(bits)
    for kind in range(6):
        x = rng.standard_normal((37, 96)).astype(np.float32)
        x = {
            1: lambda v: v * np.exp2(rng.integers(-30, 30, v.shape)).astype(np.float32),
            2: lambda v: rng.integers(0, 2**32, v.shape, dtype=np.uint32).view(np.float32),
            3: lambda v: v * np.float32(1e-38),
            4: lambda v: v * (v > 0.5),
            5: lambda v: np.round(v * 64) / np.float32(64),
        }.get(kind, lambda v: v)(x)
        with np.errstate(all="ignore"):
            wanted = decode(*encode(x.reshape(-1, 16).view(np.uint32), bits), bits)
            assert round_blocks(x, bits).tobytes() == wanted.tobytes(), kind
