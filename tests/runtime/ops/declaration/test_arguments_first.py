"""What fits no signature is a TypeError whatever else an operation refuses; what it refuses then, in the order and words of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, put
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice

pytestmark = pytest.mark.torch
U8, U16 = DataType.UINT8, DataType.UINT16


@pytest.mark.parametrize(
    ("name", "dtype", "layout", "rest"),
    [
        ("addcmul", BF16, ROW, ()),
        ("addcdiv", I32, TILE, (1.5,)),
        ("abs_bw", I32, TILE, (1.5,)),
        ("layer_norm_post_all_gather", BF16, ROW, ()),
        ("addmm", I32, TILE, ()),
        ("update_cache", I32, TILE, ()),
        ("assign_bw", BF16, TILE, (1.5,)),
        ("trunc_bw", BF16, TILE, (1,)),
        ("isclose", BF16, TILE, (np.ones((32, 32)),)),
        ("where", BF16, TILE, (None, 2.0)),
        ("where", BF16, TILE, ([1.5], 2.0)),
        ("prelu", BF16, TILE, (None,)),
        ("gcd", BF16, TILE, (3,)),
        ("bitwise_and", BF16, TILE, (1.5,)),
    ],
)
def test_what_fits_no_signature(one: MeshDevice, name: str, dtype: Any, layout: Any, rest: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\): incompatible function arguments"):
        named(name)(put(one, np.ones((32, 32)), dtype, layout), *rest)


@pytest.mark.parametrize(
    ("name", "dtype", "rest", "words"),
    [
        (
            "add",
            I32,
            (1.5,),
            "Binary operation BinaryOpType::ADD with a DataType::INT32 tensor cannot represent",
        ),
        ("subtract", I32, (1.5,), "Binary operation BinaryOpType::SUB with a"),
        ("xlogy", I32, (1.5,), "Binary operation BinaryOpType::XLOGY with a"),
        ("xlogy", I32, (3,), "not supported for binary operation BinaryOpType::XLOGY"),
        ("bias_gelu", I32, (3,), "Unary: UnaryOpType::GELU does not support integer input dtype"),
        ("bitwise_and", BF16, (3,), "op_type UnaryOpType::BITWISE_AND: expected Int32, UInt32, or UInt16"),
        ("logical_right_shift", BF16, (3,), "not supported for binary operation BinaryOpType::LOGICAL_RIGHT"),
        ("polygamma", I32, (0,), r"polygamma order must be in range \[1, 11\], got 0"),
        ("polygamma", I32, (3,), "Unary: UnaryOpType::POLYGAMMA does not support integer input dtype"),
        ("glu", I32, (0,), "glu-family ops only support the last dimension, got dim=0"),
        ("glu", I32, (-1,), "Unary: UnaryOpType::SIGMOID does not support integer input dtype"),
        ("rad2deg", I32, (), "Unary: UnaryOpType::MUL_UNARY_SFPU does not support"),
        ("ema", I32, (0.5,), "Input tensor must be BFLOAT16, got: DataType::INT32"),
        ("split", F32, (0,), "split_size must be greater than 0, but got: 0"),
    ],
)
def test_what_is_refused(one: MeshDevice, name: str, dtype: Any, rest: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        named(name)(put(one, np.ones((1, 1, 32, 64)), dtype, TILE), *rest)


@pytest.mark.parametrize(
    ("name", "dtype", "native"),
    [
        ("bitwise_right_shift", U8, "RIGHT_SHIFT"),
        ("bitwise_right_shift", F32, "RIGHT_SHIFT"),
        ("logical_left_shift", U8, "LEFT_SHIFT"),
        ("logical_left_shift", BF16, "LEFT_SHIFT"),
        ("logical_right_shift", U16, "LOGICAL_RIGHT_SHIFT"),
    ],
)
def test_shifts_of_other_bits(one: MeshDevice, name: str, dtype: Any, native: str) -> None:
    tensor = put(one, np.ones((32, 32)), dtype, TILE)
    with pytest.raises(RuntimeError, match=f"not supported for binary operation BinaryOpType::{native}"):
        named(name)(tensor, tensor)


def test_the_truth_of_numpy_is_a_whole_number(one: MeshDevice) -> None:
    tensor = put(one, np.ones((2, 32, 32)), I32, TILE)
    assert ops.multiply(tensor, np.bool_(True)).dtype is I32
    assert ops.sum(put(one, np.ones((2, 32, 64)), F32), np.bool_(True)).shape == (2, 64)
