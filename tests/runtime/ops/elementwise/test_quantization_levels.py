"""Levels of quantization along an axis and alone, and what is refused of them, as in reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice


def call(name: str, *given: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found(*given, **words)


def values(one: MeshDevice, name: str, layout: Layout = TILE) -> Any:
    return put(one, np.full((4, 6), 8.0), BF16 if name == "quantize" else I32, layout)


@pytest.mark.parametrize("name", ["quantize", "dequantize"])
def test_along_an_axis_scales_are_tensors_of_its_length(one: MeshDevice, name: str):
    tensor, scales, zeros = values(one, name), put(one, np.full(6, 2.0), F32), put(one, np.full(6, 1), I32)
    wanted = 5.0 if name == "quantize" else 14.0
    for zero in (zeros, 1):
        assert (held(call(name, tensor, scales, zero, axis=1)) == wanted).all()
    lone, matrix = put(one, [2.0], F32), put(one, np.ones((1, 6)), F32)
    for given, said in (
        ((2.0, 1), "Per-channel quantization expects 1D scale tensors"),
        ((matrix, 1), "Per-channel quantization expects 1D scale tensors"),
        ((lone, 1), "Size of the scale tensor doesn't match"),
        ((scales, put(one, [1], I32)), "Size of the zero-point tensor doesn't match"),
    ):
        with pytest.raises(RuntimeError, match=said):
            call(name, tensor, *given, axis=1)


def test_of_two_pairs_one_may_be_numbers(one: MeshDevice):
    tensor, scales = values(one, "requantize"), put(one, np.full(6, 2.0), F32)
    assert (held(call("requantize", tensor, scales, 0, 4.0, 1, axis=1)) == 5).all()
    # Single levels have no axis.
    assert (held(call("requantize", tensor, 2.0, 0, 4.0, 1, axis=1)) == 5).all()
    with pytest.raises(RuntimeError, match="Per-tensor quantization only takes scalar-tensor zero-points"):
        call("requantize", tensor, scales, 0, 4.0, put(one, np.ones(6), I32), axis=1)


def test_rows_beside_levels_in_tiles_go_into_tiles(one: MeshDevice):
    rows = values(one, "quantize", ROW)
    assert call("quantize", rows, 2.0, 1).layout is ROW
    assert call("quantize", rows, put(one, [2.0], F32), 1).layout is TILE


def test_types_that_are_not_made(one: MeshDevice):
    with pytest.raises(RuntimeError, match="Output tensor must be Float32 or Bfloat16"):
        call("randn", (32, 32), one, dtype=DataType.BFLOAT8_B)
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        call("arange", 0, 5, 1, dtype=DataType.UINT8, device=one)
