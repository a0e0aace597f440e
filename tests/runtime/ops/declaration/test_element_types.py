"""Element types that elementwise operations refuse, alone and side by side."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, TILE, U8, U16, U32, near, put
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration.element_types import PAIRS

# An operation, the types of its operands, and the sentence or the type of the result: as reference library 0.81.1 answers.
ANSWERS: list[tuple[str, tuple[DataType, ...], str | DataType]] = [
    ("add", (U8, U8), "Input tensor A dtype DataType::UINT8 is not supported for binary operation BinaryOpType::ADD"),
    ("add", (I32, BF16), "Mixed dtype is not supported for binary operation BinaryOpType::ADD, dtype A: DataType::INT32, dtype B: DataType::BFLOAT16"),
    ("add", (BF16, F32), BF16),
    ("multiply", (I32, BF16), BF16),
    ("multiply", (U32, I32), "Mixed dtype is not supported for binary operation BinaryOpType::MUL"),
    ("divide", (I32, BF16), BF16),
    ("divide", (I32, I32), F32),
    ("divide", (U16, U16), "Input tensor A dtype DataType::UINT16 is not supported for binary operation BinaryOpType::DIV"),
    ("floor_div", (U32, I32), "Input tensor A dtype DataType::UINT32 is not supported for binary operation BinaryOpType::DIV"),
    ("maximum", (BF16, F32), "Mixed dtype is not supported for binary operation BinaryOpType::MAXIMUM"),
    ("maximum", (I32, I32), I32),
    ("pow", (BF16, I32), "Input tensor B dtype DataType::INT32 is not supported for binary operation BinaryOpType::POWER"),
    ("atan2", (BFP8, BF16), "Mixed dtype is not supported for binary operation BinaryOpType::ATAN2"),
    ("eq", (U8, U8), U16),
    ("bitwise_and", (I32, BF16), "Input tensor B dtype DataType::BFLOAT16 is not supported for binary operation BinaryOpType::BITWISE_AND"),
    ("gcd", (U32, U32), "Input tensor A dtype DataType::UINT32 is not supported for binary operation BinaryOpType::GCD"),
    ("nextafter", (BFP8, BFP8), "Input tensor A dtype DataType::BFLOAT8_B is not supported for binary operation BinaryOpType::NEXTAFTER"),
    ("isclose", (U16, U16), "Input tensor A dtype DataType::UINT16 is not supported for binary operation BinaryOpType::ISCLOSE"),
    ("sign", (I32,), "Unary: UnaryOpType::SIGN does not support integer input dtype DataType::INT32"),
    ("neg", (U16,), "Unary: UnaryOpType::NEG does not support integer input dtype DataType::UINT16"),
    ("neg", (I32,), I32),
    ("logical_not", (U8,), "Unary: UnaryOpType::LOGICAL_NOT_UNARY does not support integer input dtype DataType::UINT8"),
    ("bitwise_not", (U16,), "Unary: UnaryOpType::BITWISE_NOT does not support integer input dtype DataType::UINT16"),
    ("relu", (U8,), U8),
    ("clamp", (U16,), "Unary: UnaryOpType::CLAMP_TSS does not support integer input dtype DataType::UINT16"),
    ("clamp", (I32,), F32),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "answer"), ANSWERS)
def test_element_types(one: MeshDevice, name: str, types: tuple[DataType, ...], answer: str | DataType):
    operands: list[Any] = [put(one, np.ones((32, 32)), dtype, TILE) for dtype in types]
    operands += [-0.5, 0.5] if name == "clamp" else []
    if isinstance(answer, str):
        with pytest.raises(RuntimeError, match=re.escape(answer)):
            getattr(ops, name)(*operands)
    else:
        assert getattr(ops, name)(*operands).dtype is answer


def test_each_pair_takes_some_type():
    assert all(pair.takes for pair in PAIRS.values())


@pytest.mark.parametrize("floats", [BF16, F32])
def test_unsigned_integers_are_divided_beside_floats(one: MeshDevice, floats: DataType):
    whole, real = put(one, [[7, 9]], U32), put(one, [[2, 4]], floats)
    for found, values in (
        (ops.div(whole, real), [[3.5, 2.25]]),
        (ops.div(real, whole), [[2 / 7, 4 / 9]]),
        (ops.floor_div(whole, real), [[3, 2]]),
    ):
        assert found.dtype is floats
        near(found, values)
    with pytest.raises(RuntimeError, match="Input tensor B dtype DataType::UINT32 is not supported"):
        ops.div(put(one, [[7, 9]], I32), whole)
