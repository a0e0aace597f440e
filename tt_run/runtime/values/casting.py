"""`ttnn.typecast`: from one element type to another as a device does it, which is not what a host's conversion does.

A device rounds floats to uint16, lets what does not fit into 8 bits wrap, and keeps what does not fit into 16 or 32 bits at the end of the
range; `convert` in `dtypes` is what happens to the arrays of a program. Source: golden function of the reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert_each, stored_dtype

Array = npt.NDArray[Any]

_COUNTED = (DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.INT8)
BITS = {
    DataType.BFLOAT16: 16,
    DataType.UINT16: 16,
    DataType.FLOAT32: 32,
    DataType.UINT32: 32,
    DataType.INT32: 32,
}
"""The types whose bits may be taken for those of another, and how many they are."""

_FAR = 2.0**62  # beyond every range, and still a 64-bit integer


def cast(values: Array, source: DataType, dtype: DataType, *, on_host: bool = False) -> Array:
    """Stored values of type `source` in the stored form of `dtype`; an array that is in that form already is returned itself.

    What is too large becomes the largest number of the type; of UINT32 infinity becomes 0, as in the golden function.
    """
    if on_host or dtype not in _COUNTED or source is dtype:
        return convert_each(values, dtype)
    rounds = dtype is DataType.UINT16 and source not in BLOCK_FLOATS
    whole = _whole(values, rounds)
    target = stored_dtype(dtype)
    if dtype in (DataType.INT8, DataType.UINT8) or source is DataType.INT8:
        return whole.astype(target)
    limits = np.iinfo(target)
    if dtype is DataType.UINT32 and values.dtype.kind == "f":
        whole[values == np.inf] = 0
    return np.clip(whole, limits.min, limits.max).astype(target)


def _whole(values: Array, rounds: bool) -> npt.NDArray[np.int64]:
    """Values as 64-bit integers: floats rounded half up or cut, NaN 0."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    cut = np.floor(values + np.float32(0.5)) if rounds else np.trunc(values)
    return np.clip(np.nan_to_num(cut.astype(np.float64)), -_FAR, _FAR).astype(np.int64)


def reinterpret(values: Array, source: DataType, dtype: DataType) -> Array:
    """The bits of stored values of type `source` taken for those of `dtype`, which has as many."""
    values = np.ascontiguousarray(values)
    if source is dtype:
        return values.copy()
    if source is DataType.BFLOAT16:
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if dtype is DataType.BFLOAT16:
        return round_bfloat16((values.astype(np.uint32) << np.uint32(16)).view(np.float32))
    kinds = {DataType.FLOAT32: np.float32, DataType.UINT32: np.uint32, DataType.INT32: np.int32}
    return values.view(kinds[dtype]).copy()
