"""Casts between element types as a device does them, against what the reference's golden function says."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.values.casting import cast, reinterpret

F32, BF16, BFP8 = DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B
I32, U32, U16, U8, I8 = (
    DataType.INT32,
    DataType.UINT32,
    DataType.UINT16,
    DataType.UINT8,
    DataType.INT8,
)
FLOATS = [-300.0, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5, 255.7, 256.0, 65535.4, 70000.0]
INTEGERS = [-300, -1, 0, 255, 256, 65535, 65536, 70000]


@pytest.mark.parametrize(
    ("source", "dtype", "wanted"),
    [
        (F32, U16, [0, 0, 0, 0, 1, 2, 3, 256, 256, 65535, 65535]),
        (BF16, U16, [0, 0, 0, 0, 1, 2, 3, 256, 256, 65535, 65535]),
        (BFP8, U16, [0, 0, 0, 0, 0, 1, 2, 255, 256, 65535, 65535]),
        (F32, U8, [212, 255, 0, 0, 0, 1, 2, 255, 0, 255, 112]),
        (F32, U32, [0, 0, 0, 0, 0, 1, 2, 255, 256, 65535, 70000]),
        (F32, I32, [-300, -1, 0, 0, 0, 1, 2, 255, 256, 65535, 70000]),
        (F32, I8, [-44, -1, 0, 0, 0, 1, 2, -1, 0, -1, 112]),
    ],
)
def test_floats(source: DataType, dtype: DataType, wanted: list[int]):
    assert cast(np.array(FLOATS, np.float32), source, dtype).tolist() == wanted


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (U16, [0, 0, 0, 255, 256, 65535, 65535, 65535]),
        (U8, [212, 255, 0, 255, 0, 255, 0, 112]),
        (U32, [0, 0, 0, 255, 256, 65535, 65536, 70000]),
    ],
)
def test_integers(dtype: DataType, wanted: list[int]):
    assert cast(np.array(INTEGERS, np.int32), I32, dtype).tolist() == wanted


def test_small_integers_keep_their_sign_bits():
    assert cast(np.array([-1, 5], np.int8), I8, U32).tolist() == [4294967295, 5]


def test_a_host_keeps_what_does_not_fit_at_the_ends():
    values = np.array([-300.0, 2.6, 300.0], np.float32)
    assert cast(values, F32, U8, on_host=True).tolist() == [0, 2, 255]
    far = np.array([3e9, 5e9, -3.5, np.nan], np.float32)
    assert cast(far, F32, U16, on_host=True).tolist() == [0, 0, 0, 0]
    assert cast(far[:3], F32, DataType.UINT32, on_host=True).tolist() == [
        3_000_000_000,
        705_032_704,
        2**32 - 3,
    ]
    assert cast(np.array([70000, 300], np.uint32), DataType.UINT32, U8, on_host=True).tolist() == [112, 44]
    assert cast(values, F32, U16, on_host=True).tolist() == [0, 2, 300]


def test_what_is_no_number():
    odd = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert cast(odd, F32, U32).tolist() == [0, 0, 0]
    assert cast(odd, F32, U16).tolist() == [0, 65535, 0]


def test_nothing_is_copied_without_need():
    values = np.array([1, 2], np.uint16)
    assert cast(values, U16, U16) is values


def test_bits_of_one_type_are_those_of_another() -> None:
    numbers = np.array([1.0, -2.0, 0.0], np.float32)
    halves = reinterpret(numbers, DataType.BFLOAT16, DataType.UINT16)
    assert halves.tolist() == [0x3F80, 0xC000, 0]
    assert reinterpret(halves, DataType.UINT16, DataType.BFLOAT16).tolist() == numbers.tolist()
    words = reinterpret(numbers, DataType.FLOAT32, DataType.UINT32)
    assert words.tolist() == [0x3F800000, 0xC0000000, 0]
    assert reinterpret(words, DataType.UINT32, DataType.FLOAT32).tolist() == numbers.tolist()
    assert reinterpret(words, DataType.UINT32, DataType.INT32).tolist() == [0x3F800000, -0x40000000, 0]
    same = reinterpret(numbers[::2], DataType.FLOAT32, DataType.FLOAT32)
    assert same.tolist() == [1, 0] and not np.may_share_memory(same, numbers)


def test_what_lies_beyond_every_range() -> None:
    far = np.array([1e30, -1e30, 2**32, 2.0**31], np.float32)
    assert cast(far, F32, U32).tolist() == [2**32 - 1, 0, 2**32 - 1, 2**31]
    assert cast(far[:2], F32, U16).tolist() == [65535, 0]
    assert cast(np.array([True, False]), U8, U16).tolist() == [1, 0]
    assert cast(np.array([200, 5], np.uint8), U8, I8).tolist() == [-56, 5]
    assert cast(np.array([-3], np.int8), I8, U8).tolist() == [253]
