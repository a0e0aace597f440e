"""Conversions between element types (reference library 0.81.1)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.values.dtypes import (
    check_layout,
    chosen_dtype,
    convert,
    convert_each,
    default_layout,
    element_size,
    float_text,
    is_float,
    quantize,
    quantize_padded,
    stored_dtype,
    tile_bytes,
)

FLOATS = np.array([-1.5, -0.4, 0.0, 0.9, 2.5, 254.9, 255.9, 256.5, 65535.9, 70000.0, 1e10], np.float32)


def test_floats_are_cut_and_clamped_to_small_unsigned_types() -> None:
    assert convert(FLOATS, DataType.UINT8).tolist() == [0, 0, 0, 0, 2, 254, 255, 255, 255, 255, 0]
    assert convert(FLOATS, DataType.UINT16).tolist()[5:] == [254, 255, 256, 65535, 65535, 0]
    assert convert(np.array([np.nan, np.inf, -np.inf], np.float32), DataType.UINT8).tolist() == [0, 0, 0]


def test_floats_are_cut_to_int32_and_wrapped_to_uint32() -> None:
    assert convert(FLOATS[:5], DataType.INT32).tolist() == [-1, 0, 0, 0, 2]
    values = np.array([-1.5, -1.0, 2.9, 4294967296.0], np.float32)
    assert convert(values, DataType.UINT32).tolist() == [4294967295, 4294967295, 2, 0]


def test_integers_wrap() -> None:
    values = np.array([-1, 256, 65537], np.int32)
    assert convert(values, DataType.UINT8).tolist() == [255, 0, 1]
    assert convert(values, DataType.UINT16).tolist() == [65535, 256, 1]
    assert convert(np.array([2**32 + 5, -1], np.int64), DataType.UINT32).tolist() == [5, 2**32 - 1]


def test_integers_to_floats_are_rounded() -> None:
    assert convert(np.array([257, 259], np.int32), DataType.BFLOAT16).tolist() == [256.0, 260.0]
    assert convert(np.array([True, False]), DataType.UINT8).tolist() == [1, 0]


def test_fp8_is_rounded() -> None:
    values = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    expected = values.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    assert np.array_equal(convert(values, DataType.FP8_E4M3), expected)


def test_bfloat16_arrays_are_taken_as_they_are() -> None:
    values = np.array([1.0, 3.14], ml_dtypes.bfloat16)
    found = convert(values, DataType.BFLOAT16)
    assert found.dtype == np.float32
    assert found.tolist() == [1.0, 3.140625]


def test_an_array_in_stored_form_is_not_copied() -> None:
    values = np.zeros(3, np.float32)
    assert convert(values, DataType.FLOAT32) is values


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float32", DataType.FLOAT32),
        ("bfloat16", DataType.BFLOAT16),
        ("int64", DataType.UINT32),
        ("int32", DataType.INT32),
        ("int16", DataType.UINT16),
        ("bool", DataType.UINT8),
        ("int8", DataType.INT8),
    ],
)
def test_default_types(name: str, dtype: DataType) -> None:
    assert chosen_dtype(name, None) is dtype
    assert chosen_dtype(name, DataType.FLOAT32) is DataType.FLOAT32


def test_types_without_counterpart() -> None:
    with pytest.raises(RuntimeError, match="ndarray_import failed"):
        chosen_dtype("complex64", DataType.FLOAT32)
    assert chosen_dtype("float16", None) is DataType.BFLOAT16
    with pytest.raises(RuntimeError, match="float64 has no counterpart"):
        chosen_dtype("float64", None)
    assert chosen_dtype("float64", DataType.BFLOAT16) is DataType.BFLOAT16
    with pytest.raises(RuntimeError, match="Unsupported data type"):
        stored_dtype(DataType.INVALID)


def test_layouts_of_block_floats() -> None:
    assert default_layout(DataType.BFLOAT8_B) is Layout.TILE
    assert default_layout(DataType.BFLOAT16) is Layout.ROW_MAJOR
    with pytest.raises(RuntimeError, match="Layout must be Layout::TILE for bfloat8_b or bfloat4_b!"):
        check_layout(DataType.BFLOAT4_B, Layout.ROW_MAJOR)


SIZES = {
    DataType.FLOAT32: (4, 4096),
    DataType.UINT32: (4, 4096),
    DataType.INT32: (4, 4096),
    DataType.BFLOAT16: (2, 2048),
    DataType.UINT16: (2, 2048),
    DataType.UINT8: (1, 1024),
    DataType.INT8: (1, 1024),
    DataType.FP8_E4M3: (1, 1024),
    DataType.BFLOAT8_B: (1, 1088),
    DataType.BFLOAT4_B: (1, 576),
}


@pytest.mark.parametrize("dtype", SIZES, ids=str)
def test_sizes(dtype: DataType) -> None:
    """Of an element and of a tile, with the exponents that 16 elements of a block float share."""
    assert (element_size(dtype), tile_bytes(1024, dtype)) == SIZES[dtype]
    floats = {DataType.FLOAT32, DataType.BFLOAT16, DataType.FP8_E4M3, DataType.BFLOAT8_B, DataType.BFLOAT4_B}
    assert is_float(dtype) == (dtype in floats)


def test_what_is_no_type_and_no_layout() -> None:
    with pytest.raises(
        TypeError, match=r"dtype must be a ttnn.DataType such as ttnn.bfloat16, got 'float32'"
    ):
        stored_dtype("float32")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got \\[1]"):
        stored_dtype([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"layout must be ttnn.TILE_LAYOUT or ttnn.ROW_MAJOR_LAYOUT, got 1"):
        check_layout(DataType.BFLOAT16, 1)  # type: ignore[arg-type]
    for dtype, layout in ((DataType.BFLOAT8_B, Layout.TILE), (DataType.UINT8, Layout.ROW_MAJOR)):
        check_layout(dtype, layout)


def test_shards_that_are_numbers_share_no_exponent() -> None:
    numbers = np.array([1.40625, 40.0], np.float32)
    assert convert(numbers, DataType.BFLOAT8_B).tolist() == [1.5, 40.0]
    assert convert_each(numbers, DataType.BFLOAT8_B).tolist() == numbers.tolist()
    assert convert_each(numbers[None], DataType.BFLOAT8_B).tolist() == [[1.5, 40.0]]
    assert convert_each(np.array([1.001, 40.0], np.float32), DataType.BFLOAT16).tolist() == [1.0, 40.0]


def test_results_are_rounded_to_floating_types_and_left_in_others() -> None:
    values = np.array([1.40625, 40.0, 1000.0], np.float32)
    assert quantize(values, DataType.FLOAT32) is values
    assert quantize(values, DataType.BFLOAT8_B).tolist() == [0, 40, 1000]
    assert quantize(values, DataType.BFLOAT4_B).tolist() == [0, 0, 896]  # at most 7 units of 128
    assert quantize(values[:2], DataType.BFLOAT4_B).tolist() == [0, 40]
    assert quantize_padded(values[:2], DataType.BFLOAT8_B, 1000.0).tolist() == [0, 40]
    assert np.isnan(quantize(np.array([1e6], np.float32), DataType.FP8_E4M3)).all()


def test_floats_to_a_signed_byte() -> None:
    values = np.array([-300.0, -128.9, -1.5, 126.9, 300.0], np.float32)
    found = convert(values, DataType.INT8).tolist()
    assert found == [-128, -128, -1, 126, 127]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (3.0, "3"),
        (-0.0, "-0"),
        (1e6, "1000000"),
        (9999999.0, "9999999"),
        (1e7, "1e+07"),
        (123456789.0, "1.2345679e+08"),
        (1 << 31, "2.1474836e+09"),
        (-2.5e9, "-2.5e+09"),
        (1e-4, "0.0001"),
        (1.5e-5, "1.5e-05"),
        (1e-40, "1e-40"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_the_text_of_a_number_is_the_references(value: float, text: str) -> None:
    """As `repr(ttnn.UnaryWithParam(…, value))` shows it there, whichever NumPy is here."""
    assert float_text(value) == text
