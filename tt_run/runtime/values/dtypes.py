"""Element types: how values of each are stored, and the conversions between them, bit for bit.

bfloat16, fp8 and the block floats are stored as float32 that is already rounded; integers and float32 as themselves.
Source: reference library 0.81.1 (conversions on host).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.blockfloat import round_blocks
from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[Any]

_STORED: dict[DataType, np.dtype[Any]] = {
    DataType.FLOAT32: np.dtype(np.float32),
    DataType.BFLOAT16: np.dtype(np.float32),
    DataType.BFLOAT8_B: np.dtype(np.float32),
    DataType.BFLOAT4_B: np.dtype(np.float32),
    DataType.FP8_E4M3: np.dtype(np.float32),
    DataType.UINT32: np.dtype(np.uint32),
    DataType.INT32: np.dtype(np.int32),
    DataType.UINT16: np.dtype(np.uint16),
    DataType.UINT8: np.dtype(np.uint8),
    DataType.INT8: np.dtype(np.int8),
}

_DEFAULTS = {
    "float32": DataType.FLOAT32,
    "bfloat16": DataType.BFLOAT16,
    "float16": DataType.BFLOAT16,
    "int32": DataType.INT32,
    "int64": DataType.UINT32,
    "int16": DataType.UINT16,
    "uint8": DataType.UINT8,
    "bool": DataType.UINT8,
    "int8": DataType.INT8,
    "uint16": DataType.UINT16,
    "uint32": DataType.UINT32,
}

_MAGNITUDE_BITS = {DataType.BFLOAT8_B: 7, DataType.BFLOAT4_B: 3}
BLOCK_FLOATS = tuple(_MAGNITUDE_BITS)
# Bytes per element; the block floats count their shared exponents apart, as a device does.
_ELEMENT_SIZE = {DataType.BFLOAT16: 2, DataType.BFLOAT8_B: 1, DataType.BFLOAT4_B: 1, DataType.FP8_E4M3: 1}


def stored_dtype(dtype: DataType) -> np.dtype[Any]:
    """The NumPy type of a shard's array. Raises RuntimeError for INVALID, TypeError for what is no DataType."""
    try:
        return _STORED[dtype]
    except (KeyError, TypeError):
        if not isinstance(dtype, DataType):
            raise TypeError(f"dtype must be a ttnn.DataType such as ttnn.bfloat16, got {dtype!r}") from None
        raise fatal(f"Unsupported data type: {dtype}", hint="dtype=ttnn.bfloat16") from None


def is_float(dtype: DataType) -> bool:
    """Whether shards of this type are stored as float32."""
    return stored_dtype(dtype) == np.float32


def element_size(dtype: DataType) -> int:
    """Bytes of one element on a device."""
    return _ELEMENT_SIZE.get(dtype) or stored_dtype(dtype).itemsize


def tile_bytes(elements: int, dtype: DataType) -> int:
    """Bytes of a tile on a device: block floats keep one shared exponent, a byte, for each 16 elements."""
    if dtype in _MAGNITUDE_BITS:
        return elements * (_MAGNITUDE_BITS[dtype] + 1) // 8 + elements // 16
    return elements * element_size(dtype)


def chosen_dtype(name: str, wanted: DataType | None) -> DataType:
    """The DataType for a NumPy or torch element type: `wanted`, or the type's counterpart when that is None.

    float64 has no counterpart and is converted only on request. Raises RuntimeError for a type that cannot be taken.
    """
    if name in _DEFAULTS:
        return wanted or _DEFAULTS[name]
    if name == "float64":
        if wanted is not None:
            return wanted
        raise fatal(
            "parse_py_tensor: ndarray_import failed.",
            hint="float64 has no counterpart; convert it to float32 or pass dtype=",
        )
    raise fatal(
        "parse_py_tensor: ndarray_import failed.",
        hint=f"element type {name} is not supported; convert it to one of {', '.join(_DEFAULTS)}",
    )


def default_layout(dtype: DataType) -> Layout:
    """The layout of a tensor for which none is asked: the block floats exist in tiles only."""
    return Layout.TILE if dtype in BLOCK_FLOATS else Layout.ROW_MAJOR


def check_layout(dtype: DataType, layout: Layout) -> None:
    """Raises RuntimeError for a block float outside of TILE layout, TypeError for what is no Layout."""
    if not isinstance(layout, Layout):
        raise TypeError(
            f"layout must be ttnn.TILE_LAYOUT or ttnn.ROW_MAJOR_LAYOUT, got {layout!r}; help: layout=ttnn.TILE_LAYOUT"
        )
    if dtype in BLOCK_FLOATS and layout is not Layout.TILE:
        raise fatal(
            "Layout must be Layout::TILE for bfloat8_b or bfloat4_b!",
            hint="layout=ttnn.TILE_LAYOUT, or dtype=ttnn.bfloat16",
        )


def quantize(values: npt.NDArray[np.float32], dtype: DataType) -> npt.NDArray[np.float32]:
    """Round float32 results to a floating DataType: what every operation does once, at its end. FLOAT32 passes through."""
    return _ROUND[dtype](values) if dtype in _ROUND else values


def quantize_padded(
    values: npt.NDArray[np.float32], dtype: DataType, padding: float
) -> npt.NDArray[np.float32]:
    """`quantize` to a block float whose tiles are filled up with `padding`, which shares the exponent of the last block of each row."""
    return round_blocks(values, _MAGNITUDE_BITS[dtype], padding)


def convert(values: Array, dtype: DataType) -> Array:
    """Any NumPy array to the stored form of `dtype`; an array that is in that form already is returned itself.

    Floats to uint8 and uint16 are cut and clamped, to int32 cut, to uint32 cut and wrapped modulo 2**32; integers wrap. In the small
    types a float that no signed integer of 32 bits holds is 0, NaN too (reference library 0.81.1, measured).
    """
    target = stored_dtype(dtype)
    if values.dtype == ml_dtypes.bfloat16 and dtype is DataType.BFLOAT16:
        wide = empty(values.shape, np.float32)
        np.copyto(wide, values)
        return wide
    if target == np.float32:
        with np.errstate(over="ignore"):
            return quantize(values.astype(np.float32, copy=False), dtype)
    if values.dtype.kind in "iub":
        return values.astype(target, copy=False)
    return _truncate(values, dtype, target)


def convert_each(stack: Array, dtype: DataType) -> Array:
    """`convert` of a stack of shards: shards that are numbers do not lie in one row, so that each is a block of its own."""
    if stack.ndim == 1 and dtype in BLOCK_FLOATS:
        return convert(stack[:, None], dtype)[:, 0]
    return convert(stack, dtype)


def _truncate(values: Array, dtype: DataType, target: np.dtype[Any]) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype in (DataType.UINT8, DataType.UINT16, DataType.INT8):
            limits = np.iinfo(target)
            signed = np.where(np.abs(values) < 2.0**31, values, -(2.0**31))
            return np.clip(signed, limits.min, limits.max).astype(target)
        if dtype is DataType.UINT32:
            return values.astype(np.int64).astype(np.uint32)
        return values.astype(target)


def _round_fp8(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)


_ROUND: dict[DataType, Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]] = {
    DataType.BFLOAT16: round_bfloat16,
    DataType.BFLOAT8_B: lambda values: round_blocks(values, _MAGNITUDE_BITS[DataType.BFLOAT8_B]),
    DataType.BFLOAT4_B: lambda values: round_blocks(values, _MAGNITUDE_BITS[DataType.BFLOAT4_B]),
    DataType.FP8_E4M3: _round_fp8,
}


def float_text(value: float) -> str:
    """A number as texts of the reference have a float32: the fewest digits that tell it, with an exponent from 1e+07 on and below 0.0001.

    NumPy's own text is another one in other versions.
    """
    number = np.float32(value)
    if not np.isfinite(number) or not number:
        return str(float(number)).removesuffix(".0")
    text = np.format_float_scientific(number, trim="-", exp_digits=2)
    if -4 <= int(text.partition("e")[2]) < 7:
        return np.format_float_positional(number, trim="-")
    return text
